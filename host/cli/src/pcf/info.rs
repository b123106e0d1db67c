//! `warpsmith pcf info`.

use std::path::PathBuf;

use clap::Args;

use super::files::{Inputs, SetArgs, Summary};
use crate::{Global, failure::Failure, progress::Progress, terminal};

#[derive(Args, Debug)]
#[command(
    long_about = "Say what is in a file of functions: how many there are, their shape and type, how many breakpoints they have, the \
        time of the last one, how many functions don't end on 0, and the memory that they take.",
    after_help = "Examples:\n  \
        warpsmith pcf info set.npz           a table\n  \
        warpsmith pcf info set.csv --json    one JSON object; memory in bytes"
)]
pub struct InfoArgs {
    /// The functions: .npz, .npy or a table
    #[arg(value_name = "SET", required = true)]
    set: Vec<PathBuf>,
    #[command(flatten)]
    options: SetArgs,
    /// Print one JSON object instead of a table; memory in bytes
    #[arg(long)]
    json: bool,
}

pub fn run(global: &Global, arguments: &InfoArgs) -> Result<(), Failure> {
    let progress = Progress::new(arguments.json || global.verbose > 0);
    let inputs = Inputs(&arguments.set);
    let data = arguments.options.load(inputs, None, progress)?;
    let summary = Summary::of(inputs, &data);
    if arguments.json { terminal::print_json(&summary) } else { summary.print() }
}
