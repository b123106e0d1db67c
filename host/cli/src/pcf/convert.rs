//! `warpsmith pcf convert`.

use std::path::PathBuf;

use clap::Args;

use super::{
    Dtype,
    files::{Inputs, SetArgs, Target},
};
use crate::{Global, failure::Failure, progress::Progress};

#[derive(Args, Debug)]
#[command(
    long_about = "Write functions in another format or precision.\n\n\
        The names' extensions tell the formats: .npz, .npy (functions of one number of breakpoints alone) or .csv. Any other file is read \
        as a table with a row for each breakpoint, in any order: the function's name (id), the time (t: a number or a time of RFC 3339) \
        and the value (v). Tables may be compressed by gzip or Zstandard.\n\n\
        --repair is for sets that other programs take and this one refuses. It puts breakpoints in order of time, shifts a function \
        by its first time if that isn't 0, keeps the last of several breakpoints at the same time, and makes functions without \
        breakpoints zero.",
    after_help = "Examples:\n  \
        warpsmith pcf convert set.csv --output set.npz                 from text\n  \
        warpsmith pcf convert data.csv --columns id=sensor,t=when,v=reading --from 2024-05-01 --until 2024-06-01 --output set.npz\n  \
        warpsmith pcf convert set.npz --dtype f32 --output single.npz  to single precision\n  \
        warpsmith pcf convert set.npz --repair --output right.npz      breakpoints in order, from t = 0 on"
)]
pub struct ConvertArgs {
    /// The functions: .npz, .npy or a table; - for a table from the standard input
    #[arg(value_name = "SET", required = true)]
    set: Vec<PathBuf>,
    #[command(flatten)]
    options: SetArgs,
    /// Type of times and values [default: the file's; f64 from text]
    #[arg(long, value_enum)]
    dtype: Option<Dtype>,
    /// Write the functions: .npz, .npy or .csv
    #[arg(long, value_name = "SET.NPZ")]
    output: PathBuf,
    /// Put breakpoints in order, merge those at the same time, and let functions start at 0
    #[arg(long, conflicts_with = "curve")]
    repair: bool,
    /// Print one JSON object instead of a line
    #[arg(long)]
    json: bool,
}

pub fn run(global: &Global, arguments: &ConvertArgs) -> Result<(), Failure> {
    let target = Target::prepare(&arguments.output, &arguments.set)?;
    let progress = Progress::new(arguments.json || global.verbose > 0);
    let ConvertArgs { set, options, dtype, json, .. } = arguments;
    if !arguments.repair {
        return target.save(&options.load(Inputs(set), *dtype, progress)?, None, *json);
    }
    let [set] = &set[..] else { return Err(Failure::error("--repair is for one file")) };
    let (data, repairs) = options.load_repaired(set, *dtype, progress)?;
    target.save(&data, Some(repairs), *json)
}
