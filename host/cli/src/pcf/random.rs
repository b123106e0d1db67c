//! `warpsmith pcf random`.

use std::path::PathBuf;

use clap::Args;
use warpsmith::pcf::{PcfError, PcfReal, PcfSet, Point, io::PcfData, random};

use super::{Dtype, files::Target};
use crate::{Global, count, failure::Failure, format, progress::Progress, size};

/// The most functions, and the most breakpoints of each.
const MOST: usize = count::MAX as usize;

#[derive(Args, Debug)]
#[command(
    override_usage = "warpsmith pcf random [OPTIONS] --count <N> --points <M>\n       --output <SET.NPZ>",
    long_about = "Draw random functions.\n\n\
        Times are 0 and numbers drawn uniformly from (0, 1), in their order; values are drawn uniformly from [0, 1), and the last \
        is 0. A seed gives the same functions everywhere.",
    after_help = "Examples:\n  \
        warpsmith pcf random --count 10_000 --points 100 --output set.npz\n  \
        warpsmith pcf random --count 1e4 --points 5000 --uneven --seed 7 --dtype f64 --output uneven.npz\n  \
        warpsmith pcf random --count 3 --points 4 --output small.csv"
)]
pub struct RandomArgs {
    /// Number of functions: 10000, 10_000, 1e4 or 10k
    #[arg(long, value_name = "N", value_parser = count::up_to(MOST))]
    count: usize,
    /// Breakpoints of each function; with --uneven at most
    #[arg(long, value_name = "M", value_parser = count::up_to(MOST))]
    points: usize,
    /// Numbers of breakpoints from 1 to M, whose logarithms are uniform
    #[arg(long)]
    uneven: bool,
    /// Seed of the generator
    #[arg(long, value_name = "S", default_value_t = 0)]
    seed: u64,
    /// Type of times and values
    #[arg(long, value_enum, default_value_t = Dtype::F32)]
    dtype: Dtype,
    /// Write the functions: .npz, .npy (not with --uneven) or .csv
    #[arg(long, value_name = "SET.NPZ")]
    output: PathBuf,
    /// Print one JSON object instead of a line
    #[arg(long)]
    json: bool,
}

pub fn run(global: &Global, arguments: &RandomArgs) -> Result<(), Failure> {
    let target = Target::prepare(&arguments.output, &[])?;
    let progress = Progress::new(arguments.json || global.verbose > 0);
    let data = match arguments.dtype {
        Dtype::F32 => arguments.draw(progress).map(PcfData::F32),
        Dtype::F64 => arguments.draw(progress).map(PcfData::F64),
    }?;
    target.save(&data, None, arguments.json)
}

impl RandomArgs {
    fn draw<T: PcfReal>(&self, progress: Progress) -> Result<PcfSet<T>, Failure> {
        let Self { count, points, .. } = *self;
        // Means of log-uniform lengths are smaller.
        let mean = if self.uneven { points as f64 / (points as f64 + 1.0).ln() } else { points as f64 };
        let needed = count as f64 * (mean * size_of::<Point<T>>() as f64 + 4.0 * size_of::<usize>() as f64);
        size::check_memory(format::counted(count, "function", "functions"), needed)?;
        let _work = progress.spinner(count.saturating_mul(points), "drawing functions");
        let draw: fn(usize, usize, u64) -> Result<PcfSet<T>, PcfError> =
            if self.uneven { random::uneven } else { random::uniform };
        Ok(draw(count, points, self.seed)?)
    }
}
