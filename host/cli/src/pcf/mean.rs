//! `warpsmith pcf mean`.

use std::path::PathBuf;

use clap::Args;
use warpsmith::pcf::{PcfSet, io::PcfData};

use super::{
    Dtype,
    files::{Inputs, SetArgs, Target},
};
use crate::{Global, failure::Failure, progress::Progress};

#[derive(Args, Debug)]
#[command(
    long_about = "Make the pointwise mean of functions: a function that has a breakpoint wherever one of them changes the mean.",
    after_help = "Examples:\n  \
        warpsmith pcf mean set.npz --output mean.npz\n  \
        warpsmith pcf mean set.npz --dtype f64 --output mean.csv"
)]
pub struct MeanArgs {
    /// The functions: .npz, .npy or a table
    #[arg(value_name = "SET", required = true)]
    set: Vec<PathBuf>,
    #[command(flatten)]
    options: SetArgs,
    /// Type of times and values [default: the file's; f64 from text]
    #[arg(long, value_enum)]
    dtype: Option<Dtype>,
    /// Write the mean: .npz, .npy or .csv
    #[arg(long, value_name = "MEAN.NPZ")]
    output: PathBuf,
    /// Print one JSON object instead of a line
    #[arg(long)]
    json: bool,
}

pub fn run(global: &Global, arguments: &MeanArgs) -> Result<(), Failure> {
    let target = Target::prepare(&arguments.output, &arguments.set)?;
    let inputs = Inputs(&arguments.set);
    let progress = Progress::new(arguments.json || global.verbose > 0);
    let data = arguments.options.load(inputs, arguments.dtype, progress)?;
    let mean = match &data {
        PcfData::F32(set) => set.mean().map(|mean| PcfData::F32(PcfSet::from_functions([mean]))),
        PcfData::F64(set) => set.mean().map(|mean| PcfData::F64(PcfSet::from_functions([mean]))),
    };
    target.save(&mean.map_err(|error| inputs.fail(error))?, None, arguments.json)
}
