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
        The names' extensions tell the formats: .npz, .npy (functions of one number of breakpoints alone) or .csv.\n\n\
        --repair is for sets that other programs take and this one refuses. It puts breakpoints in order of time, shifts a function \
        by its first time if that isn't 0, keeps the last of several breakpoints at the same time, and makes functions without \
        breakpoints zero.",
    after_help = "Examples:\n  \
        warpsmith pcf convert set.csv --output set.npz                 from text\n  \
        warpsmith pcf convert set.npz --dtype f32 --output single.npz  to single precision\n  \
        warpsmith pcf convert set.npz --repair --output right.npz      breakpoints in order, from t = 0 on"
)]
pub struct ConvertArgs {
    /// The functions: .npz, .npy or .csv
    #[arg(value_name = "SET")]
    set: PathBuf,
    /// Type of times and values [default: the file's; f64 from text]
    #[arg(long, value_enum)]
    dtype: Option<Dtype>,
    /// Write the functions: .npz, .npy or .csv
    #[arg(long, value_name = "SET.NPZ")]
    output: PathBuf,
    /// Put breakpoints in order, merge those at the same time, and let functions start at 0
    #[arg(long)]
    repair: bool,
    /// Print one JSON object instead of a line
    #[arg(long)]
    json: bool,
}

/// Runs the command.
pub fn run(global: &Global, arguments: &ConvertArgs) -> Result<(), Failure> {
    let target = Target::prepare(&arguments.output, &[&arguments.set])?;
    let progress = Progress::new(arguments.json || global.verbose > 0);
    if !arguments.repair {
        return target.save(&files::load(&arguments.set, arguments.dtype, progress)?, None, arguments.json);
    }
    let (data, repairs) = files::load_repaired(&arguments.set, arguments.dtype, progress)?;
    target.save(&data, Some(repairs), arguments.json)
}
