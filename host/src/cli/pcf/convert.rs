//! `warpsmith pcf convert`.

use std::path::PathBuf;

use clap::Args;

use super::{
    Dtype,
    files::{self, Target},
};
use crate::cli::{Global, failure::Failure, progress::Progress};

/// Options of `pcf convert`.
#[derive(Args, Debug)]
#[command(
    long_about = "Write functions in another format or precision.\n\n\
        The names' extensions tell the formats: .npz, .npy (functions of one number of breakpoints alone) or .csv.",
    after_help = "Examples:\n  \
        warpsmith pcf convert set.csv --output set.npz                 from text\n  \
        warpsmith pcf convert set.npz --dtype f32 --output single.npz  to single precision"
)]
pub struct Arguments {
    /// The functions: .npz, .npy or .csv
    #[arg(value_name = "SET")]
    set: PathBuf,
    /// Type of times and values [default: the file's; f64 from text]
    #[arg(long, value_enum)]
    dtype: Option<Dtype>,
    /// Write the functions: .npz, .npy or .csv
    #[arg(long, value_name = "SET.NPZ")]
    output: PathBuf,
    /// Print one JSON object instead of a line
    #[arg(long)]
    json: bool,
}

/// Runs the command.
pub fn run(global: &Global, arguments: &Arguments) -> Result<(), Failure> {
    let target = Target::prepare(&arguments.output, &[&arguments.set])?;
    let progress = Progress::new(arguments.json || global.verbose > 0);
    let data = files::load(&arguments.set, arguments.dtype, progress)?;
    target.save(&data, arguments.json)
}
