//! `warpsmith rules draw`.

use std::{
    io::Write as _,
    path::PathBuf,
    process::{Command, Stdio},
};

use clap::Args;
use warpsmith::design_rules::emit;

use super::program::Choice;
use crate::cli::{failure::Failure, output::Files, terminal};

/// Options of `rules draw`.
#[derive(Args, Debug)]
#[command(
    long_about = "Draw a program: boxes are operations of the GPU, ellipses those of the host, and a choice has a frame around its \
        alternatives. The picture is in Graphviz's language; for OUT.svg, Graphviz's `dot` draws it, which has to be installed.",
    after_help = "Examples:\n  \
        warpsmith rules draw spmv                        print it in Graphviz's language\n  \
        warpsmith rules draw mine.json --output mine.svg\n  \
        warpsmith rules draw mine.json --output mine.dot"
)]
pub struct DrawArgs {
    #[command(flatten)]
    choice: Choice,
    /// Write it here, as .svg or .dot, instead of printing it
    #[arg(long, value_name = "OUT.SVG")]
    output: Option<PathBuf>,
}

/// Runs the command.
pub fn run(arguments: &DrawArgs) -> Result<(), Failure> {
    let text = emit::program(&arguments.choice.program.dag()?);
    let Some(path) = &arguments.output else { return terminal::print(text.trim_end()) };
    let is_svg = match path.extension().and_then(|extension| extension.to_str()) {
        Some("dot" | "gv") => false,
        Some("svg") => true,
        _ => return Err(Failure::error(format_args!("{}: a drawing's name ends in .svg or .dot", path.display()))),
    };
    let destination = Files::reading(arguments.choice.program.file()).write(path)?;
    let bytes = if is_svg { svg(&text)? } else { text.into_bytes() };
    Ok(destination.write(|file| file.write_all(&bytes))?)
}

/// The picture that Graphviz makes.
fn svg(text: &str) -> Result<Vec<u8>, Failure> {
    let cannot = |error: &dyn std::fmt::Display| {
        Failure::error(format_args!(
            "Graphviz's `dot` can't be run: {error}; install Graphviz, or write OUT.dot, which other programs draw"
        ))
    };
    let mut command = Command::new("dot");
    command.arg("-Tsvg").stdin(Stdio::piped()).stdout(Stdio::piped());
    let mut child = command.spawn().map_err(|error| cannot(&error))?;
    // It reads all before it writes.
    let written = child.stdin.take().map_or(Ok(()), |mut input| input.write_all(text.as_bytes()));
    let output = child.wait_with_output().map_err(|error| cannot(&error))?;
    written.map_err(|error| cannot(&error))?;
    if output.status.success() { Ok(output.stdout) } else { Err(cannot(&output.status)) }
}
