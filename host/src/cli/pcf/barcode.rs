//! `warpsmith pcf betti` and `warpsmith pcf stable-rank`.

use std::path::PathBuf;

use clap::Args;
use warpsmith::pcf::{
    barcode::{Filtration, betti_curves, stable_ranks},
    io::{self, BarcodeOptions, PcfData},
};

use super::{
    Dtype,
    files::{Target, in_file},
};
use crate::cli::failure::Failure;

/// Options of both commands.
#[derive(Args, Debug)]
#[command(
    long_about = "Make functions of persistence barcodes, one of each barcode.\n\n\
        betti: at t, the number of bars with birth <= t < death. stable-rank: at t, the number of bars with death - birth > t. With \
        --superlevel, deaths are below births and change places with them in this.\n\n\
        One barcode is read from .csv with the header birth,death, or from .npy of shape (bars, 2). Any number of barcodes are read \
        from .csv with the header barcode,birth,death, numbered from 0, in which a row like `3,,` stands for a barcode without bars, \
        or from .npz with the arrays offsets (n + 1 whole numbers) and bars (rows of birth and death). Text may have a column \
        dimension in front of birth. A death may be inf, or -inf with --superlevel.",
    after_help = "Examples:\n  \
        warpsmith pcf betti bars.csv --output curves.npz\n  \
        warpsmith pcf betti bars.csv --dimension 1 --output loops.npz       of several dimensions one\n  \
        warpsmith pcf stable-rank bars.npy --dtype f32 --output ranks.csv"
)]
pub struct BarcodeArgs {
    /// The barcodes: .csv, .npz or .npy
    #[arg(value_name = "BARS")]
    bars: PathBuf,
    /// Only the bars of this dimension; needed if the file has several
    #[arg(long, value_name = "D")]
    dimension: Option<u32>,
    /// The bars are of a superlevel filtration: deaths are below births
    #[arg(long)]
    superlevel: bool,
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

/// The function to make of each barcode.
#[derive(Clone, Copy, Debug)]
pub enum Curve {
    Betti,
    StableRank,
}

/// Runs the command.
pub fn run(arguments: &BarcodeArgs, curve: Curve) -> Result<(), Failure> {
    let target = Target::prepare(&arguments.output, &[&arguments.bars])?;
    let filtration = if arguments.superlevel { Filtration::Superlevel } else { Filtration::Sublevel };
    let options = BarcodeOptions { dimension: arguments.dimension, filtration };
    let barcodes = io::load_barcodes(&arguments.bars, options)?;
    let functions = match (curve, arguments.dtype) {
        (Curve::Betti, Dtype::F32) => betti_curves(&barcodes).map(PcfData::F32),
        (Curve::Betti, Dtype::F64) => betti_curves(&barcodes).map(PcfData::F64),
        (Curve::StableRank, Dtype::F32) => stable_ranks(&barcodes).map(PcfData::F32),
        (Curve::StableRank, Dtype::F64) => stable_ranks(&barcodes).map(PcfData::F64),
    };
    target.save(&functions.map_err(in_file(&arguments.bars))?, None, arguments.json)
}
