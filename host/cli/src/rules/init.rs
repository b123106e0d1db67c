//! `warpsmith rules init`.

use std::{io::Write as _, path::PathBuf};

use clap::Args;
use warpsmith::design_rules::{Dag, program::Draft};

use crate::{failure::Failure, format, output::Files, terminal};

#[derive(Args, Debug)]
#[command(
    long_about = "Write a program's file, PROGRAM.json, to start from.\n\n\
        In an export of NVIDIA Nsight Systems (`nsys export --type sqlite`), kernels, copies and calls of MPI and NCCL \
        become operations. The order that was observed becomes their dependences. These are guesses, and comments in the file say \
        why each was made: remove those that nothing requires, since the search tries only orders that the file allows.",
    after_help = "Examples:\n  \
        nsys profile --trace cuda,nvtx,mpi --output run ./mine && nsys export --type sqlite run.nsys-rep\n  \
        warpsmith rules init run.sqlite --output mine.json                    the last period of its operations\n  \
        warpsmith rules init run.sqlite --range step --output mine.json       the last NVTX range `step`\n  \
        warpsmith rules check mine.json"
)]
pub struct InitArgs {
    /// Export of Nsight Systems
    #[arg(value_name = "EXPORT.sqlite")]
    export: PathBuf,
    /// Text of the NVTX range around the operations; the last such range is taken [default: the last period of the sequence]
    #[arg(long, value_name = "TEXT")]
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
    let destination = Files::reading([&arguments.export]).write(path)?;
    if path.exists() && !arguments.force {
        return Err(Failure::error(format_args!("{} exists: replace it with --force", path.display())));
    }
    let draft = Draft::from_nsys(&arguments.export, arguments.range.as_deref())?;
    let text = draft.json();
    let dag = Dag::parse(&text, path)?;
    destination.write(|file| file.write_all(text.as_bytes()))?;
    let operations = format::counted(dag.len() - 1, "operation", "operations");
    let guesses: usize = draft.operations.iter().map(|operation| operation.after.len()).sum();
    terminal::print(format_args!("Written: {}, {operations}", path.display()))?;
    let guesses = format::counted(guesses, "dependence is a guess", "dependences are guesses");
    terminal::print(format_args!("{guesses}: remove those that nothing requires."))
}
