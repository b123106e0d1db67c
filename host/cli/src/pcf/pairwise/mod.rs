//! `warpsmith pcf pdist`, `warpsmith pcf cdist` and `warpsmith pcf l2-kernel`: their options. [`job`] does the work, and
//! [`show`] prints what came of it.

mod job;
mod show;
mod task;
mod text;

use std::{ops::Range, path::PathBuf, slice};

use clap::Args;
use task::Job;
use warpsmith::pcf::{Layout, Measure, PcfError};

use super::{
    Dtype,
    files::{Inputs, SetArgs},
};
use crate::{Global, count, failure::Failure, processes::MOST_GPUS, size};

/// The most nearest functions that can be asked for.
const MOST_NEAREST: usize = 1 << 20;
/// Notes at the end of each command's help.
const NOTES: &str = "\
    --rows and --cols are for jobs of a batch system that compute a part each; entries are those of the whole matrix, bit for bit.\n\n\
    Under mpirun (in builds with the feature mpi) the ranks compute one matrix together, each on a GPU of its host, in a file system that \
    they share. Where one fails, all end, and what there is of the matrix stays in OUT.NPY.partial for --resume.\n\n\
    --memory-budget is what may be used of each GPU's memory (on the CPU, for each worker of --gpus): half of it for blocks of the \
    matrix, half for the functions. The sets may be larger than that, and the matrix larger than the host's memory. Entries don't depend \
    on the budget or on the number of GPUs, bit for bit.\n\n\
    With --nearest, --below or --row-sums the matrix is not stored: 10^6 functions, whose matrix has 2 TB, are a matter of seconds on one \
    GPU. --nearest takes 8 bytes of each GPU's memory for a neighbour, in f64 12, beside the budget. No function counts as its own neighbour.\n\n\
    Ctrl-C (or SIGTERM) stops after the blocks under way, a second one at once. Nothing is written then, and the exit code is 130 (143). With \
    --resume, what was computed stays in OUT.NPY.partial, also where the process is killed, and the same command goes on from it. The \
    result is the same, bit for bit.";

#[derive(Args, Debug)]
#[command(
    long_about = "Compute the L^p distance of every pair of functions of a set: the p-th root of the integral of |f - g|^p from 0 to \
        infinity. It is infinite where two functions differ for ever, of which a line on stderr warns.\n\n\
        The condensed layout is SciPy's: entry (i, j), i < j, of n functions is element n i - i (i + 1) / 2 + j - i - 1 of n (n - 1) / 2 \
        (scipy.spatial.distance.squareform reads it). The dense one has the set's shape twice: (n, n) for a set of shape (n,). The \
        packed one is that of `warpsmith pcf l2-kernel`, with zeros on the diagonal.",
    after_help = format!(
        "Examples:\n  \
        warpsmith pcf pdist set.npz --output d.npy                         L^1 distances, condensed\n  \
        warpsmith pcf pdist set.npz --p 2 --layout dense --output d.npy    L^2, all entries\n  \
        warpsmith pcf pdist set.npz --dtype f64 --gpus 4 --output d.npy    in double precision, on 4 GPUs\n  \
        warpsmith pcf pdist set.npz --nearest 10 --output nearest.npz      each function's 10 nearest\n  \
        warpsmith pcf pdist data.csv --columns id=sensor,t=when,v=reading --from 2024-05-01 --until 2024-06-01 --output d.csv\n  \
        warpsmith pcf pdist set.npz --memory-budget 2GiB --trace t.json --output d.npy\n\n{NOTES}"
    )
)]
pub struct PdistArgs {
    /// The functions: .npz, .npy or tables; - for a table from the standard input
    #[arg(value_name = "A", required = true)]
    set: Vec<PathBuf>,
    /// The exponent, a number of at least 1, or inf; multiples of 1/2 up to 32 are fastest
    #[arg(long, value_name = "P", value_parser = exponent, default_value = "1")]
    p: f64,
    /// Layout of the entries in the file [default: condensed]
    #[arg(long, value_enum)]
    layout: Option<Layout>,
    #[command(flatten)]
    matrix: MatrixArgs,
}

#[derive(Args, Debug)]
#[command(
    long_about = "Compute the L^2 inner product of every pair of functions of a set, and of each with itself: the integral of f g from 0 \
        to infinity. It is infinite where neither of the two ends on 0.\n\n\
        The dense layout has the set's shape twice: (n, n) for a set of shape (n,). The packed one is the lower triangle by rows, with its \
        diagonal: entry (i, j), j <= i, of n functions is element i (i + 1) / 2 + j of n (n + 1) / 2. So that it isn't taken for a \
        condensed matrix, which may be as long, its elements have a field: numpy.load(\"k.npy\")[\"packed\"].",
    after_help = format!(
        "Examples:\n  \
        warpsmith pcf l2-kernel set.npz --output k.npy                    all entries\n  \
        warpsmith pcf l2-kernel set.npz --layout packed --output k.npy    the lower triangle\n  \
        warpsmith pcf plot k.npy --output heat.png                        a picture of either\n\n{NOTES}"
    )
)]
pub struct L2KernelArgs {
    /// The functions: .npz, .npy or tables; - for a table from the standard input
    #[arg(value_name = "A", required = true)]
    set: Vec<PathBuf>,
    /// Layout of the entries in the file [default: dense]
    #[arg(long, value_enum)]
    layout: Option<Layout>,
    #[command(flatten)]
    matrix: MatrixArgs,
}

#[derive(Args, Debug)]
#[command(
    long_about = "Compute the L^p distance, or with --inner the L^2 inner product, of every function of one set and every function of \
        another.\n\n\
        The matrix is dense, and its shape the two sets' shapes joined: (n, m) for sets of shape (n,) and (m,).",
    after_help = format!(
        "Examples:\n  \
        warpsmith pcf cdist a.npz b.npz --output d.npy            L^1 distances\n  \
        warpsmith pcf cdist a.npz b.npz --p 2 --output d.npy      L^2 distances\n  \
        warpsmith pcf cdist a.npz b.npz --inner --output k.npy    inner products\n\n{NOTES}"
    )
)]
pub struct CdistArgs {
    /// The rows' functions: .npz, .npy or a table
    #[arg(value_name = "A")]
    rows: PathBuf,
    /// The columns' functions
    #[arg(value_name = "B")]
    columns: PathBuf,
    /// The exponent, a number of at least 1, or inf; multiples of 1/2 up to 32 are fastest
    #[arg(long, value_name = "P", value_parser = exponent, default_value = "1")]
    p: f64,
    /// Inner products instead of distances
    #[arg(long, conflicts_with = "p")]
    inner: bool,
    /// Layout of the entries in the file; a matrix between two sets is always dense
    #[arg(long, value_enum)]
    layout: Option<Layout>,
    #[command(flatten)]
    matrix: MatrixArgs,
}

// Options of all three. (As a doc comment it would become the text about each of them.)
#[derive(Args, Debug)]
pub struct MatrixArgs {
    #[command(flatten)]
    pub set: SetArgs,
    /// Type of times, values and entries [default: the file's, f64 from text; of two files the wider]
    #[arg(long, value_enum)]
    pub dtype: Option<Dtype>,
    /// Compute only these rows, such as 0..1000 (without the 1000th); the matrix is dense
    #[arg(id = "range of rows", long = "rows", value_name = "A..B", value_parser = range, allow_hyphen_values = true, conflicts_with_all = ["layout", "kept"])]
    pub rows: Option<Range<usize>>,
    /// Compute only these columns; the matrix is dense
    #[arg(id = "range of columns", long = "cols", value_name = "A..B", value_parser = range, allow_hyphen_values = true, conflicts_with_all = ["layout", "kept"])]
    pub cols: Option<Range<usize>>,
    /// Keep only the K nearest functions of each, in an .npz of `indices` and `distances`
    #[arg(long, value_name = "K", value_parser = count::up_to(MOST_NEAREST), conflicts_with = "layout", group = "kept")]
    pub nearest: Option<usize>,
    /// Keep only the distances less than R, in an .npz that scipy.sparse.load_npz reads
    #[arg(long, value_name = "R", value_parser = bound, conflicts_with = "layout", group = "kept")]
    pub below: Option<f64>,
    /// Keep only the sum of each row's entries, in f64
    #[arg(long, conflicts_with = "layout", group = "kept")]
    pub row_sums: bool,
    /// Go on from an earlier run's OUT.NPY.partial, if it exists; leave one if this run ends early
    #[arg(long, conflicts_with = "kept")]
    pub resume: bool,
    /// Use the first N GPUs; on the CPU, N workers that each stand for one [default: 1, that of --device]
    #[arg(long, value_name = "N", value_parser = count::up_to(MOST_GPUS))]
    pub gpus: Option<usize>,
    /// Limit on the memory used of each GPU: 500M, 2GiB or a number of bytes [default: 80 % of the
    /// free memory]
    #[arg(long, value_name = "SIZE", value_parser = size::parse)]
    pub memory_budget: Option<usize>,
    /// Write a timeline of the work, in Chrome's trace-event format (ui.perfetto.dev opens it)
    #[arg(long, value_name = "T.JSON")]
    pub trace: Option<PathBuf>,
    /// Write the matrix, which may be larger than the memory, or what is kept of it (.npz of --nearest and --below); .csv for a
    /// table with the functions' names
    #[arg(long, value_name = "OUT.NPY")]
    pub output: PathBuf,
    /// Print one JSON object instead of a table; times in ms
    #[arg(long)]
    pub json: bool,
}

impl MatrixArgs {
    /// True if only some rows or columns are computed.
    pub fn is_part(&self) -> bool {
        self.rows.is_some() || self.cols.is_some()
    }
}

impl PdistArgs {
    pub fn run(&self, global: &Global) -> Result<(), Failure> {
        Job::new("pdist", vec![Inputs(&self.set)], Measure::Lp(self.p), (self.layout, Layout::Condensed), &self.matrix)
            .run(global)
    }
}

impl L2KernelArgs {
    pub fn run(&self, global: &Global) -> Result<(), Failure> {
        Job::new("l2-kernel", vec![Inputs(&self.set)], Measure::Inner, (self.layout, Layout::Dense), &self.matrix).run(global)
    }
}

impl CdistArgs {
    pub fn run(&self, global: &Global) -> Result<(), Failure> {
        let measure = if self.inner { Measure::Inner } else { Measure::Lp(self.p) };
        Job::new(
            "cdist",
            [&self.rows, &self.columns].map(|path| Inputs(slice::from_ref(path))).into(),
            measure,
            (self.layout, Layout::Dense),
            &self.matrix,
        )
        .run(global)
    }
}

/// Reads a range of rows or columns.
fn range(text: &str) -> Result<Range<usize>, String> {
    let number = |text: &str| text.parse::<usize>().ok();
    match text.split_once("..").map(|(start, end)| (number(start), number(end))) {
        Some((Some(start), Some(end))) if start < end => Ok(start..end),
        _ => Err("write two whole numbers as 0..1000, the second one larger".to_owned()),
    }
}

/// Reads the bound of distances.
fn bound(text: &str) -> Result<f64, String> {
    let bound: f64 = text.parse().map_err(|_| "not a number".to_owned())?;
    if bound.is_nan() { Err("it must be a number".to_owned()) } else { Ok(bound) }
}

/// Reads the exponent of a norm.
pub fn exponent(text: &str) -> Result<f64, String> {
    let p = text.parse().map_err(|_| "not a number".to_owned())?;
    if p >= 1.0 { Ok(p) } else { Err(PcfError::Exponent { p }.to_string()) }
}
