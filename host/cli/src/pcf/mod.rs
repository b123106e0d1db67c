//! `warpsmith pcf`: piecewise constant functions.

mod barcode;
mod cluster;
mod convert;
mod files;
mod info;
mod mean;
mod pairwise;
mod plot;
mod random;

use clap::{Args, Subcommand, ValueEnum};

use super::{Global, failure::Failure};

/// Commands of `pcf`.
#[derive(Args, Debug)]
#[command(
    long_about = "Piecewise constant functions: sets of them, matrices of their distances, and pictures of these.\n\n\
        A function has the value v_k from breakpoint t_k to the next one; the first is at t = 0, and the last value holds to \
        infinity. Files: .npz with the arrays offsets (n + 1 whole numbers) and points (rows of t and v), .npy of shape \
        (functions, breakpoints, 2), or tables with a row for each breakpoint: the function's name, the time and the value.",
    after_help = "Examples:\n  \
        warpsmith pcf random --count 1e4 --points 100 --output set.npz    10,000 random functions\n  \
        warpsmith pcf info set.npz                                        what is in a file\n  \
        warpsmith pcf betti bars.csv --output set.npz                     Betti curves of barcodes\n  \
        warpsmith pcf pdist set.npz --output d.npy                        distances of all pairs\n  \
        warpsmith pcf pdist data.csv --from 0 --until 60 --output d.csv   of series, with their names\n  \
        warpsmith pcf cluster clouds/*.txt --curve betti --dimension 1 --clusters 3 --output groups.csv\n  \
        warpsmith pcf plot d.npy --output heat.png                        a heat map of them"
)]
pub struct Arguments {
    #[command(subcommand)]
    command: Command,
}

// Their one-line descriptions in `--help`. Doc comments would replace the longer texts of the
// arguments, too.
#[derive(Debug, Subcommand)]
enum Command {
    #[command(about = "Draw random functions")]
    Random(random::RandomArgs),
    #[command(about = "Say what is in a file of functions")]
    Info(info::InfoArgs),
    #[command(about = "Write functions in another format or precision")]
    Convert(convert::ConvertArgs),
    #[command(about = "Make the Betti curves of barcodes")]
    Betti(barcode::BarcodeArgs),
    #[command(about = "Make the stable ranks of barcodes")]
    StableRank(barcode::BarcodeArgs),
    #[command(about = "Make the pointwise mean of functions")]
    Mean(mean::MeanArgs),
    #[command(about = "Compute the distances of all pairs of functions of a set")]
    Pdist(pairwise::PdistArgs),
    #[command(about = "Compute the distances or inner products of the functions of two sets")]
    Cdist(pairwise::CdistArgs),
    #[command(about = "Compute the inner products of all pairs of functions of a set")]
    L2Kernel(pairwise::L2KernelArgs),
    #[command(about = "Group functions by their distances")]
    Cluster(cluster::ClusterArgs),
    #[command(about = "Draw a matrix as a heat map")]
    Plot(plot::PlotArgs),
}

/// The type of times and values.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Dtype {
    /// Single precision
    F32,
    /// Double precision
    F64,
}

pub fn run(global: &Global, arguments: &Arguments) -> Result<(), Failure> {
    match &arguments.command {
        Command::Random(arguments) => random::run(global, arguments),
        Command::Info(arguments) => info::run(global, arguments),
        Command::Convert(arguments) => convert::run(global, arguments),
        Command::Betti(arguments) => barcode::run(arguments, files::Curve::Betti),
        Command::StableRank(arguments) => barcode::run(arguments, files::Curve::StableRank),
        Command::Mean(arguments) => mean::run(global, arguments),
        Command::Pdist(arguments) => arguments.run(global),
        Command::Cdist(arguments) => arguments.run(global),
        Command::L2Kernel(arguments) => arguments.run(global),
        Command::Cluster(arguments) => cluster::run(global, arguments),
        Command::Plot(arguments) => plot::run(global, arguments),
    }
}
