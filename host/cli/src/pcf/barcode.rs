//! `warpsmith pcf betti` and `warpsmith pcf stable-rank`.

use std::path::PathBuf;

use clap::Args;

use super::{
    Dtype,
    files::{BarsArgs, Curve, Inputs, Target},
};
use crate::{failure::Failure, table::TableArgs};

/// Options of both commands.
#[derive(Args, Debug)]
#[command(
    long_about = "Make functions of persistence barcodes, one of each barcode.\n\n\
        betti: at t, the number of bars with birth <= t < death. stable-rank: at t, the number of bars with death - birth > t. With \
        --superlevel, deaths are below births and change places with them in this.\n\n\
        A file's content tells its format:\n  \
        what ripser prints, GUDHI's persistence files, JSON as of ripser.py\n  \
        a table with the columns birth and death, and optionally barcode and dimension\n  \
        .npy of shape (bars, 2), or (bars, 3) with dimensions last, or (barcodes, bars, 3) as of giotto-tda\n  \
        .npz with an array for each barcode\n\n\
        Of several files, functions have the files' names. A death may be \
        inf, or -inf with --superlevel.",
    after_help = "Examples:\n  \
        warpsmith pcf betti bars.csv --output curves.npz\n  \
        warpsmith pcf betti clouds/*.txt --dimension 1 --output loops.npz       what ripser printed of many clouds\n  \
        warpsmith pcf stable-rank bars.npy --dtype f32 --output ranks.csv"
)]
pub struct BarcodeArgs {
    /// The barcodes; - for the standard input
    #[arg(value_name = "BARS", required = true)]
    bars: Vec<PathBuf>,
    #[command(flatten)]
    options: BarsArgs,
    #[command(flatten)]
    table: TableArgs,
    /// Type of times and values
    #[arg(long, value_enum, default_value_t = Dtype::F64)]
    dtype: Dtype,
    /// Write the functions: .npz, .npy or .csv
    #[arg(long, value_name = "SET.NPZ")]
    output: PathBuf,
    /// Print one JSON object instead of a line
    #[arg(long)]
    json: bool,
}

pub fn run(arguments: &BarcodeArgs, curve: Curve) -> Result<(), Failure> {
    let BarcodeArgs { bars, options, table, dtype, output, json } = arguments;
    let target = Target::prepare(output, bars)?;
    let inputs = Inputs(bars);
    let functions = options.functions(inputs, table, curve, *dtype).map_err(|error| inputs.fail(error))?;
    target.save(&functions, None, *json)
}
