//! `warpsmith rules init`.

use std::{
    io::{self, BufRead, IsTerminal as _, Write as _},
    path::PathBuf,
};

use clap::Args;
use warpsmith::design_rules::{
    Dag, Kind,
    program::{Draft, DraftOperation},
};

use crate::cli::{failure::Failure, format, output::Files, terminal};

#[derive(Args, Debug)]
#[command(
    long_about = "Write a program's file, PROGRAM.json, to start from.\n\n\
        With EXPORT.sqlite, an export of NVIDIA Nsight Systems (`nsys export --type sqlite`), kernels, copies and calls of MPI and NCCL \
        become operations. The order that was observed becomes their dependences. These are guesses, and comments in the file say \
        why each was made: remove those that nothing requires, since the search tries only orders that the file allows.\n\n\
        Without it, the program is described by answers to questions, which are read from the standard input: for each operation its \
        name, what runs it, the operations that it comes after, and the data that it reads and writes.",
    after_help = "Examples:\n  \
        nsys profile --trace cuda,nvtx,mpi --output run ./mine && nsys export --type sqlite run.nsys-rep\n  \
        warpsmith rules init run.sqlite --output mine.json                    the last period of its operations\n  \
        warpsmith rules init run.sqlite --range step --output mine.json       the last NVTX range `step`\n  \
        warpsmith rules init --output mine.json                               by questions\n  \
        warpsmith rules check mine.json"
)]
pub struct InitArgs {
    /// Export of Nsight Systems [default: ask questions]
    #[arg(value_name = "EXPORT.sqlite")]
    export: Option<PathBuf>,
    /// Text of the NVTX range around the operations; the last such range is taken [default: the last period of the sequence]
    #[arg(long, value_name = "TEXT", requires = "export")]
    range: Option<String>,
    /// Replace PROGRAM.json if it exists
    #[arg(long)]
    force: bool,
    /// The program's file
    #[arg(long, value_name = "PROGRAM.json")]
    output: PathBuf,
}

pub fn run(arguments: &InitArgs) -> Result<(), Failure> {
    let path = &arguments.output;
    if path.extension().is_none_or(|extension| extension != "json") {
        return Err(Failure::error(format_args!("{}: the name of a program's file ends in .json", path.display())));
    }
    let destination = Files::reading(&arguments.export).write(path)?;
    if path.exists() && !arguments.force {
        return Err(Failure::error(format_args!("{} exists: replace it with --force", path.display())));
    }
    let draft = match &arguments.export {
        Some(export) => Draft::from_nsys(export, arguments.range.as_deref())?,
        None => {
            let name = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
            Questions { lines: io::stdin().lock(), number: 0, is_shown: io::stdin().is_terminal() }.draft(name)?
        }
    };
    let text = draft.json();
    let dag = Dag::parse(&text, path)?;
    destination.write(|file| file.write_all(text.as_bytes()))?;
    let operations = format::counted(dag.len() - 1, "operation", "operations");
    let guesses: usize = draft.operations.iter().map(|operation| operation.after.len()).sum();
    terminal::print(format_args!("Written: {}, {operations}", path.display()))?;
    if arguments.export.is_some() {
        let guesses = format::counted(guesses, "dependence is a guess", "dependences are guesses");
        terminal::print(format_args!("{guesses}: remove those that nothing requires."))?;
    }
    Ok(())
}

/// Questions, and their answers by lines.
struct Questions<R> {
    lines: R,
    number: usize,
    is_shown: bool,
}

impl<R: BufRead> Questions<R> {
    fn draft(mut self, name: String) -> Result<Draft, Failure> {
        let mut draft = Draft { name, ..Draft::default() };
        let names =
            |text: &str| -> Vec<String> { text.split([',', ' ']).map(str::to_owned).filter(|name| !name.is_empty()).collect() };
        while let Some(name) = self.answer("Name of an operation, or nothing at the end: ")?.filter(|name| !name.is_empty()) {
            let kind = match self.answer("  Does a stream of the GPU run it, or the host? (gpu, cpu) ")?.as_deref() {
                Some("gpu") => Kind::Gpu,
                Some("cpu") => Kind::Cpu,
                other => return Err(self.error(format_args!("`{}` is neither gpu nor cpu", other.unwrap_or_default()))),
            };
            let after = names(&self.answer("  What must be done before? (names of operations) ")?.unwrap_or_default());
            let is_known = |name: &&String| draft.operations.iter().any(|operation| operation.name == **name);
            if let Some(unknown) = after.iter().find(|name| !is_known(name)) {
                return Err(self.error(format_args!("there is no operation `{unknown}` before this one")));
            }
            let reads = names(&self.answer("  Which data does it read? (names of your choice) ")?.unwrap_or_default());
            let writes = names(&self.answer("  Which data does it write? ")?.unwrap_or_default());
            draft.operations.push(DraftOperation { name, kind, after, reads, writes, comment: String::new() });
        }
        if draft.operations.is_empty() {
            return Err(self.error("there are no operations"));
        }
        Ok(draft)
    }

    /// Returns the next line, if there is one.
    fn answer(&mut self, question: &str) -> Result<Option<String>, Failure> {
        if self.is_shown {
            eprint!("{question}");
        }
        let mut line = String::new();
        let read = self.lines.read_line(&mut line).map_err(|error| Failure::error(format_args!("standard input: {error}")))?;
        self.number += 1;
        Ok((read > 0).then(|| line.trim().to_owned()))
    }

    fn error(&self, reason: impl std::fmt::Display) -> Failure {
        Failure::error(format_args!("standard input, line {}: {reason}", self.number))
    }
}
