//! `warpsmith rules draw`.

use std::{io::Write as _, path::PathBuf};

use clap::Args;
use warpsmith::design_rules::emit;

use super::program::Choice;
use crate::{
    failure::Failure,
    output::{Files, Format},
    terminal,
};

#[derive(Args, Debug)]
#[command(
    long_about = "Draw a program: boxes are operations of the GPU, ellipses those of the host, and a choice has a frame around its \
        alternatives. OUT.dot has it in Graphviz's language.",
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

pub fn run(arguments: &DrawArgs) -> Result<(), Failure> {
    let dag = arguments.choice.program.dag()?;
    let Some(path) = &arguments.output else { return terminal::print(emit::program(&dag).trim_end()) };
    let text = match Format::of(path, &[Format::Svg, Format::Dot])? {
        Format::Svg => emit::picture(&dag),
        _ => emit::program(&dag),
    };
    let destination = Files::reading(arguments.choice.program.file()).write(path)?;
    destination.write(|file| file.write_all(text.as_bytes()))?;
    terminal::print(format_args!("Written: {}", path.display()))
}
