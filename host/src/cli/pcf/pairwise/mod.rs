//! `warpsmith pcf pdist`, `warpsmith pcf cdist` and `warpsmith pcf l2-kernel`.

mod ranks;
mod show;

use std::{
    borrow::Cow,
    hash::{DefaultHasher, Hash, Hasher as _},
    ops::Range,
    path::{Path, PathBuf},
    sync::Arc,
    thread,
    time::{Duration, Instant},
};

use clap::{Args, ValueEnum};
use ranks::Ranks;
use rayon::prelude::*;
use show::Shown;
use warpsmith::{
    engine::{Checkpoint, Control, Engine, NpyFile, Queue, Report, Settings, Trace, condensed_len, dense_len},
    io::{
        files::Destination,
        npy::{self, Kind},
    },
    pcf::{Layout, Measure, Pairwise, PairwiseError, PcfError, PcfReal, PcfSet, io::PcfData},
};

use super::{
    Dtype,
    files::{self, in_file},
};
use crate::cli::{
    Global, count,
    failure::Failure,
    format,
    interrupt::Interrupt,
    opening::Opening,
    output::Files,
    processes::{self, MOST_GPUS},
    progress::Progress,
    size, terminal,
    timeline::Timeline,
};

/// The most nearest functions that can be asked for.
const MOST_NEAREST: usize = 1 << 20;
/// What is said of all three at the end of their help.
const NOTES: &str = "\
    --rows and --columns are for jobs of a batch system that compute a part each; entries are those of the whole matrix, bit for bit.\n\n\
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

/// Options of `pcf pdist`.
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
        warpsmith pcf pdist set.npz --memory-budget 2GiB --trace t.json --output d.npy\n\n{NOTES}"
    )
)]
pub struct Pdist {
    /// The functions: .npz, .npy or .csv
    #[arg(value_name = "A")]
    set: PathBuf,
    /// The exponent, a number of at least 1; 1 and 2 are fastest
    #[arg(long, value_name = "P", value_parser = exponent, default_value = "1", allow_negative_numbers = true)]
    p: f64,
    /// How the entries lie in the file
    #[arg(long, value_enum, default_value_t = Order::Condensed)]
    layout: Order,
    #[command(flatten)]
    common: Common,
}

/// Options of `pcf l2-kernel`.
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
        warpsmith pcf plot k.npy heat.png                                 a picture of either\n\n{NOTES}"
    )
)]
pub struct L2Kernel {
    /// The functions: .npz, .npy or .csv
    #[arg(value_name = "A")]
    set: PathBuf,
    /// How the entries lie in the file
    #[arg(long, value_enum, default_value_t = Order::Dense)]
    layout: Order,
    #[command(flatten)]
    common: Common,
}

/// Options of `pcf cdist`.
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
pub struct Cdist {
    /// The rows' functions: .npz, .npy or .csv
    #[arg(value_name = "A")]
    rows: PathBuf,
    /// The columns' functions
    #[arg(value_name = "B")]
    columns: PathBuf,
    /// The exponent, a number of at least 1; 1 and 2 are fastest
    #[arg(long, value_name = "P", value_parser = exponent, default_value = "1", allow_negative_numbers = true)]
    p: f64,
    /// Inner products instead of distances
    #[arg(long, conflicts_with = "p")]
    inner: bool,
    /// How the entries lie in the file; a matrix that isn't symmetric has no other layout than dense
    #[arg(long, value_enum, default_value_t = Order::Dense)]
    layout: Order,
    #[command(flatten)]
    common: Common,
}

// Options of all three. (As a doc comment it would become the text about each of them.)
#[derive(Args, Debug)]
struct Common {
    /// Type of times, values and entries [default: the file's, f64 from text; of two files the wider]
    #[arg(long, value_enum)]
    dtype: Option<Dtype>,
    /// Compute these rows alone, such as 0..1000 (without the 1000th); the matrix is dense
    #[arg(id = "range of rows", long = "rows", value_name = "A..B", value_parser = range, allow_hyphen_values = true, conflicts_with_all = ["layout", "kept"])]
    rows: Option<Range<usize>>,
    /// Compute these columns alone; the matrix is dense
    #[arg(id = "range of columns", long = "columns", value_name = "A..B", value_parser = range, allow_hyphen_values = true, conflicts_with_all = ["layout", "kept"])]
    columns: Option<Range<usize>>,
    /// Keep the K nearest functions of each alone, in an .npz of `indices` and `distances`
    #[arg(long, value_name = "K", value_parser = count::up_to(MOST_NEAREST), allow_negative_numbers = true, conflicts_with = "layout", group = "kept")]
    nearest: Option<usize>,
    /// Keep the distances less than R alone, in an .npz that scipy.sparse.load_npz reads
    #[arg(long, value_name = "R", value_parser = bound, allow_negative_numbers = true, conflicts_with = "layout", group = "kept")]
    below: Option<f64>,
    /// Keep the sum of each row's entries alone, in f64
    #[arg(long, conflicts_with = "layout", group = "kept")]
    row_sums: bool,
    /// Go on from what an earlier run left in OUT.NPY.partial, if it did; leave it there if this one ends early
    #[arg(long, conflicts_with = "kept")]
    resume: bool,
    /// Use the first N GPUs; on the CPU, N workers that each stand for one [default: 1, that of --device]
    #[arg(long, value_name = "N", value_parser = count::up_to(MOST_GPUS), allow_negative_numbers = true)]
    gpus: Option<usize>,
    /// How much of each GPU's memory may be used: 500M, 2GiB or a number of bytes [default: 80 % of what is free]
    #[arg(long, value_name = "SIZE", value_parser = size::parse, allow_negative_numbers = true)]
    memory_budget: Option<usize>,
    /// Write a timeline of the work, in Chrome's trace-event format (ui.perfetto.dev opens it)
    #[arg(long, value_name = "T.JSON")]
    trace: Option<PathBuf>,
    /// Write the matrix, which may be larger than the memory, or what is kept of it (.npz of --nearest and --below)
    #[arg(long, value_name = "OUT.NPY")]
    output: PathBuf,
    /// Print one JSON object instead of a table; times in ms
    #[arg(long)]
    json: bool,
}

impl Common {
    /// Whether only some rows or columns are computed.
    fn is_part(&self) -> bool {
        self.rows.is_some() || self.columns.is_some()
    }
}

/// How the entries of a matrix lie.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Order {
    /// The upper triangle by rows without the diagonal, of distances
    Condensed,
    /// The lower triangle by rows with the diagonal, of one set
    Packed,
    /// All entries, by rows
    Dense,
}

impl Order {
    fn layout(self) -> Layout {
        match self {
            Order::Condensed => Layout::Condensed,
            Order::Packed => Layout::Packed,
            Order::Dense => Layout::Dense,
        }
    }
}

/// What is kept of a matrix.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Kept {
    All(Layout),
    Nearest(usize),
    Below(f64),
    RowSums,
}

impl Kept {
    fn new(layout: Order, common: &Common) -> Self {
        match *common {
            Common { nearest: Some(count), .. } => Kept::Nearest(count),
            Common { below: Some(bound), .. } => Kept::Below(bound),
            Common { row_sums: true, .. } => Kept::RowSums,
            _ if common.is_part() => Kept::All(Layout::Dense),
            _ => Kept::All(layout.layout()),
        }
    }

    /// The extension of the file that it is written to.
    fn extension(self) -> &'static str {
        match self {
            Kept::All(_) | Kept::RowSums => "npy",
            Kept::Nearest(_) | Kept::Below(_) => "npz",
        }
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
fn exponent(text: &str) -> Result<f64, String> {
    let p = text.parse().map_err(|_| "not a number".to_owned())?;
    if (1.0..f64::INFINITY).contains(&p) { Ok(p) } else { Err(PcfError::Exponent { p }.to_string()) }
}

impl Pdist {
    /// Runs the command.
    pub fn run(&self, global: &Global) -> Result<(), Failure> {
        Job::new("pdist", &[&self.set], Measure::Lp(self.p), self.layout, &self.common).run(global)
    }
}

impl L2Kernel {
    /// Runs the command.
    pub fn run(&self, global: &Global) -> Result<(), Failure> {
        Job::new("l2-kernel", &[&self.set], Measure::Inner, self.layout, &self.common).run(global)
    }
}

impl Cdist {
    /// Runs the command.
    pub fn run(&self, global: &Global) -> Result<(), Failure> {
        let measure = if self.inner { Measure::Inner } else { Measure::Lp(self.p) };
        Job::new("cdist", &[&self.rows, &self.columns], measure, self.layout, &self.common).run(global)
    }
}

/// A number that tells what is hashed apart from other things.
fn hash(what: &impl Hash) -> u64 {
    let mut hasher = DefaultHasher::new();
    what.hash(&mut hasher);
    hasher.finish()
}

/// How many entries are infinite, or no numbers, which only infinities can lead to.
fn count_infinite<T: PcfReal>(entries: &[T]) -> usize {
    entries.par_iter().with_min_len(1 << 16).filter(|entry| !entry.is_finite()).count()
}

/// What is to be done.
struct Job<'a> {
    command: &'static str,
    /// The files of the rows' functions and, where they are others, of the columns'.
    inputs: Vec<&'a Path>,
    measure: Measure,
    kept: Kept,
    common: &'a Common,
}

/// What came of it.
struct Outcome {
    /// Of the output, or of the one that has as many rows as the matrix.
    shape: Vec<usize>,
    kind: Kind,
    /// Entries kept that are infinite, of so many.
    infinite: usize,
    entries: usize,
    /// The devices' names.
    devices: Vec<String>,
    /// Blocks that an earlier run computed.
    found: usize,
    report: Report,
    /// How long the output took to the disk, as far as it wasn't there before.
    written: Duration,
}

/// What it is done with.
struct Tools<'scope> {
    devices: Opening<'scope>,
    /// The processes that compute together, where there are several.
    ranks: Option<Ranks>,
    output: Destination,
    trace: Option<(Trace, Destination)>,
    progress: Progress,
    timeline: Timeline,
}

impl<'a> Job<'a> {
    fn new(command: &'static str, inputs: &[&'a PathBuf], measure: Measure, layout: Order, common: &'a Common) -> Self {
        let inputs = inputs.iter().map(|input| input.as_path()).collect();
        Job { command, inputs, measure, kept: Kept::new(layout, common), common }
    }

    fn run(&self, global: &Global) -> Result<(), Failure> {
        match (self.kept, self.measure) {
            (Kept::All(Layout::Condensed | Layout::Packed), _) if self.inputs.len() > 1 => {
                return Err(PairwiseError::NotSymmetric.into());
            }
            (Kept::All(Layout::Condensed), Measure::Inner) => return Err(PairwiseError::Diagonal.into()),
            (Kept::Nearest(_) | Kept::Below(_), Measure::Inner) => {
                return Err(Failure::error("--nearest and --below are for distances, not for inner products"));
            }
            _ => {}
        }
        let Common { output, trace, dtype, gpus, json, .. } = self.common;
        let expected = self.kept.extension();
        if output.extension().is_none_or(|extension| !extension.eq_ignore_ascii_case(expected)) {
            return Err(Failure::error(format_args!(
                "{}: the name must end in .{expected}, which is what is written",
                output.display()
            )));
        }
        let mut written = Files::reading(&self.inputs);
        let destination = written.write(output)?;
        let trace = trace.as_ref().map(|path| Ok::<_, Failure>((Trace::new(), written.write(path)?))).transpose()?;
        let ranks = processes::several(*gpus)?.map(Ranks);
        if ranks.is_some() && !matches!(self.kept, Kept::All(_)) {
            return Err(Failure::error("--nearest, --below and --row-sums are computed by one process, not under mpirun"));
        }
        let communicator = ranks.as_ref().map(|Ranks(ranks)| Arc::clone(ranks));
        let open = || processes::devices(global, communicator.as_deref(), *gpus);
        thread::scope(|scope| {
            let devices = Opening::start(scope, open)?;
            let progress = Progress::new(*json || global.verbose > 0);
            let tools = Tools { devices, ranks, output: destination, trace, progress, timeline: Timeline::new() };
            tools.timeline.end("starting");
            let result = self.load(*dtype, &tools);
            if let (Err(error), Some(ranks)) = (&result, &tools.ranks) {
                // Ends all of them.
                ranks.abort(error);
            }
            result
        })
    }

    fn load(&self, dtype: Option<Dtype>, tools: &Tools<'_>) -> Result<(), Failure> {
        let sets: Vec<_> = self.inputs.iter().map(|input| files::load(input, dtype, tools.progress)).collect::<Result<_, _>>()?;
        let double = sets.iter().any(|set| set.kind() == Kind::F64);
        if double { self.compute::<f64>(sets, tools) } else { self.compute::<f32>(sets, tools) }
    }

    /// The sets in one precision, which is at least that of each.
    fn cast<T: PcfReal>(&self, sets: Vec<PcfData>) -> Result<Vec<PcfSet<T>>, Failure> {
        sets.into_iter().zip(&self.inputs).map(|(set, input)| set.into_set().map_err(in_file(input))).collect()
    }

    fn compute<T: PcfReal>(&self, sets: Vec<PcfData>, tools: &Tools<'_>) -> Result<(), Failure> {
        let sets = self.cast::<T>(sets)?;
        tools.timeline.end("reading");
        if let Measure::Lp(p) = self.measure
            && !T::from_f64(p).is_finite()
        {
            return Err(Failure::error(format_args!("p = {p:e} is too large for {}", T::NAME)));
        }
        let part = self.part(&sets)?;
        let whole = [&sets[0], sets.last().unwrap_or(&sets[0])];
        let sets: Vec<&PcfSet<T>> =
            if part.is_empty() { sets.iter().collect() } else { part.iter().map(AsRef::as_ref).collect() };
        let rows = sets[0];
        let mut pairwise = match (sets.get(1), self.measure) {
            (Some(columns), measure) => Pairwise::cdist(rows, columns, measure),
            (None, Measure::Lp(p)) => Pairwise::pdist(rows, p),
            (None, Measure::Inner) => Ok(Pairwise::l2_kernel(rows)),
        }?;
        if self.common.is_part() {
            pairwise = pairwise.part_of(whole[0], whole[1]);
        }
        let engine = |block_side: Option<usize>| {
            let devices = tools.devices.devices()?;
            let block_side = block_side.or(pairwise.block_side(&devices[0]));
            let settings = Settings { memory_budget: self.common.memory_budget, block_side, ..Settings::default() };
            Ok::<_, Failure>(Engine::new(devices.iter().cloned())?.with_settings(settings))
        };
        let outcome = match self.kept {
            Kept::All(layout) => self.all(&pairwise, layout, engine, tools),
            _ => self.reduced(&pairwise, &engine(None)?, tools),
        }?;
        if tools.ranks.as_ref().is_some_and(|ranks| !ranks.is_first()) {
            // Rank 0 says it.
            return Ok(());
        }
        let shown = Shown {
            job: self,
            tools,
            devices: tools.devices.devices()?,
            functions: sets.iter().map(|set| set.len()).collect(),
            breakpoints: sets.iter().map(|set| set.points().len()).collect(),
            steps: pairwise.merge_steps(),
            outcome: &outcome,
        };
        if self.common.json { shown.json() } else { shown.table() }?;
        if outcome.infinite > 0 {
            self.warn(&outcome, &pairwise);
        }
        Ok(())
    }

    /// The functions of the rows and columns that are computed, where these are only some.
    fn part<'s, T: PcfReal>(&self, sets: &'s [PcfSet<T>]) -> Result<Vec<Cow<'s, PcfSet<T>>>, Failure> {
        if !self.common.is_part() {
            return Ok(Vec::new());
        }
        let options = [("rows", &self.common.rows), ("columns", &self.common.columns)];
        let of_option = |(i, (option, range)): (usize, (&str, &Option<Range<usize>>))| {
            let set = sets.get(i).unwrap_or(&sets[0]);
            let Some(range) = range else { return Ok(Cow::Borrowed(set)) };
            if range.end > set.len() {
                let input = self.inputs.get(i).unwrap_or(&self.inputs[0]).display();
                let found = format::counted(set.len(), "function", "functions");
                return Err(Failure::error(format_args!("--{option} {}..{}: {input} has {found}", range.start, range.end)));
            }
            Ok(Cow::Owned(set.take(&range.clone().collect::<Vec<_>>())?))
        };
        options.into_iter().enumerate().map(of_option).collect()
    }

    /// Computes what is to be computed of `entries`, with progress, and with what ends it early.
    fn with_control<R>(
        &self,
        steps: u128,
        entries: usize,
        tools: &Tools<'_>,
        interrupt: &Interrupt,
        compute: impl FnOnce(Control<'_>) -> Result<R, PairwiseError>,
    ) -> Result<R, PairwiseError> {
        let cost = usize::try_from(steps / entries.max(1) as u128).unwrap_or(usize::MAX);
        let names: Vec<_> = self.inputs.iter().map(|input| input.display().to_string()).collect();
        let work = tools.progress.costly_bar(entries, cost, format!("{} of {}", self.command, names.join(" and ")));
        let advance = |done, total| work.reach(done, total);
        let trace = tools.trace.as_ref().map(|(trace, _)| trace);
        compute(Control { progress: Some(&advance), cancel: Some(interrupt.cancel()), trace, ..Control::default() })
    }

    /// Writes the output to the disk by `write`, and the trace.
    fn to_disk<E: Into<Failure>>(
        &self,
        entries: usize,
        tools: &Tools<'_>,
        interrupt: &Interrupt,
        write: impl FnOnce() -> Result<(), E>,
    ) -> Result<(), Failure> {
        let _work = tools.progress.spinner(entries, format!("writing {}", tools.output.name().display()));
        interrupt.cancel().check()?;
        match &tools.trace {
            Some((trace, destination)) => {
                trace.time(0, "host", "to the disk", write).map_err(Into::into)?;
                Ok(trace.write_to(destination)?)
            }
            None => write().map_err(Into::into),
        }
    }

    /// Computes a matrix into its file.
    fn all<T: PcfReal>(
        &self,
        pairwise: &Pairwise<'_, T>,
        layout: Layout,
        engine: impl Fn(Option<usize>) -> Result<Engine, Failure>,
        tools: &Tools<'_>,
    ) -> Result<Outcome, Failure> {
        let shape = pairwise.shape(layout)?;
        let field = (layout == Layout::Packed).then_some(Layout::PACKED_FIELD);
        let output = tools.output.clone();
        // Rank 0 makes the file of all.
        let begun = match &tools.ranks {
            Some(ranks) if !ranks.is_first() => None,
            None if !self.common.resume => Some(NpyFile::<T>::begin_at(output.clone(), &shape, field)?),
            _ => Some(NpyFile::resume_at(output.clone(), &shape, field)?),
        };
        // From here on the devices are waited for, while a thread takes the file's room.
        let identity = if tools.ranks.is_some() || self.common.resume {
            let fingerprint = pairwise.fingerprint();
            let backend = tools.devices.devices()?[0].backend().to_string();
            Some(hash(&(fingerprint, layout, T::NAME, backend, env!("CARGO_PKG_VERSION"))))
        } else {
            None
        };
        let checkpoint = begun.as_ref().zip(identity).map(|(begun, identity)| begun.checkpoint(identity)).transpose()?;
        let mut side = checkpoint.as_ref().and_then(Checkpoint::block_side);
        if side.is_some() && !self.common.resume {
            return Err(Failure::error(format_args!(
                "{} is there: it may have a part of a matrix; go on from it with --resume, or remove it",
                output.partial_path().display()
            )));
        }
        if let Some(ranks) = &tools.ranks {
            side = Some(ranks.side(side, pairwise.schedule(&engine(None)?)?.side())?);
        }
        let engine = engine(side)?;
        tracing::debug!("devices open");
        pairwise.prepare(&engine)?;
        let (mut file, checkpoint) = match (&tools.ranks, begun) {
            (None, Some(begun)) => (begun.wait()?, checkpoint),
            (Some(ranks), begun) => {
                let join = || Ok(NpyFile::join_at(output, &shape, field, identity.unwrap_or(0))?);
                let schedule = pairwise.schedule(&engine)?;
                let (file, checkpoint) = ranks.share(begun.zip(checkpoint), &schedule, join)?;
                (file, Some(checkpoint))
            }
            (None, None) => unreachable!("one process makes a file"),
        };
        let entries = file.as_slice().len();
        // Until here a signal ends the process at once, also while it waits for other ranks.
        let interrupt = Interrupt::first_sets("stopping after the blocks under way");
        tools.timeline.end("getting ready");
        let mut report = self.with_control(pairwise.merge_steps(), entries, tools, &interrupt, |control| {
            let queue = checkpoint.as_ref().map(|checkpoint| checkpoint as &dyn Queue);
            let control = Control { queue, ..control };
            pairwise.compute_into(&engine, layout, file.as_mut_slice(), control)
        })?;
        tools.timeline.end("computing");
        let opened = tools.devices.devices()?;
        let mut devices: Vec<_> = opened.iter().map(|device| device.name().to_owned()).collect();
        let found = checkpoint.as_ref().map_or(0, Checkpoint::blocks_found);
        if let Some(ranks) = &tools.ranks {
            file.flush()?;
            // All let go of it together.
            drop(checkpoint);
            devices = ranks.join(&mut report, &opened[0])?;
            if !ranks.is_first() {
                return Ok(Outcome {
                    shape,
                    kind: T::KIND,
                    infinite: 0,
                    entries,
                    devices,
                    found,
                    report,
                    written: Duration::ZERO,
                });
            }
        }
        // The output may be larger than the memory: it isn't read again without need.
        let infinite = if pairwise.is_finite() { 0 } else { count_infinite(file.as_slice()) };
        let start = Instant::now();
        self.to_disk(entries, tools, &interrupt, || file.flush())?;
        interrupt.commit(|| file.finish())?;
        let written = start.elapsed();
        tools.timeline.end("writing");
        drop(engine);
        tools.timeline.end("freeing memory");
        Ok(Outcome { shape, kind: T::KIND, infinite, entries, devices, found, report, written })
    }

    /// Computes what is kept of a matrix, and writes it.
    fn reduced<T: PcfReal>(&self, pairwise: &Pairwise<'_, T>, engine: &Engine, tools: &Tools<'_>) -> Result<Outcome, Failure> {
        tools.timeline.end("getting ready");
        let (rows, columns) = pairwise.size();
        let interrupt = Interrupt::first_sets("stopping after the blocks under way");
        let all = if pairwise.is_symmetric() { condensed_len(rows) } else { dense_len(rows, columns) }?;
        macro_rules! compute {
            ($compute:expr) => {
                self.with_control(pairwise.merge_steps(), all, tools, &interrupt, $compute)?
            };
        }
        let start;
        macro_rules! write {
            ($entries:expr, $write:expr) => {{
                tools.timeline.end("computing");
                start = Instant::now();
                interrupt.commit(|| self.to_disk($entries, tools, &interrupt, || tools.output.write($write)))?;
            }};
        }
        let (shape, kind, infinite, entries, report);
        match self.kept {
            Kept::Nearest(count) => {
                let nearest;
                (nearest, report) = compute!(|control| pairwise.nearest(engine, count, control));
                (shape, kind, entries) = (vec![rows, count], T::KIND, nearest.distances.len());
                infinite = count_infinite(&nearest.distances);
                write!(entries, |file| nearest.write_npz(file));
            }
            Kept::Below(bound) => {
                let sparse;
                (sparse, report) = compute!(|control| pairwise.below(engine, T::from_f64(bound), control));
                (shape, kind, infinite, entries) = (vec![rows, columns], T::KIND, 0, sparse.values.len());
                write!(entries, |file| sparse.write_npz(file));
            }
            Kept::All(_) | Kept::RowSums => {
                let sums;
                (sums, report) = compute!(|control| pairwise.row_sums(engine, control));
                (shape, kind, infinite, entries) = (vec![rows], Kind::F64, count_infinite(&sums), sums.len());
                write!(entries, |file| npy::write(file, &sums, &[rows]));
            }
        }
        let written = start.elapsed();
        tools.timeline.end("writing");
        let devices = tools.devices.devices()?.iter().map(|device| device.name().to_owned()).collect();
        Ok(Outcome { shape, kind, infinite, entries, devices, found: 0, report, written })
    }

    /// Says that entries are infinite, and why.
    fn warn<T: PcfReal>(&self, outcome: &Outcome, pairwise: &Pairwise<'_, T>) {
        let Outcome { infinite, entries, .. } = *outcome;
        let what = match (self.kept, self.measure) {
            (Kept::RowSums, _) => "sums",
            (_, Measure::Lp(_)) => "distances",
            (_, Measure::Inner) => "inner products",
        };
        let why = match (self.measure, pairwise.endless_pair()) {
            (Measure::Lp(_), Some((i, j))) => {
                format!("functions that end on different values differ for ever, such as {}", self.pair(i, j))
            }
            (Measure::Inner, Some((i, j))) => {
                format!("that of two functions is where neither ends on 0, such as {}", self.pair(i, j))
            }
            (_, None) => format!("their numbers are too large for {}", T::NAME),
        };
        let hint = match self.measure {
            Measure::Lp(_) if self.kept == Kept::All(Layout::Condensed) => " SciPy's linkage takes no such matrix.",
            _ => "",
        };
        terminal::warn(format_args!(
            "{}: {} of {} {what} are infinite: {why}.{hint}",
            self.common.output.display(),
            format::grouped(infinite),
            format::grouped(entries)
        ));
    }

    /// Two functions by their numbers.
    fn pair(&self, i: usize, j: usize) -> String {
        let from = |range: &Option<Range<usize>>| range.as_ref().map_or(0, |range| range.start);
        let (i, j) = (i + from(&self.common.rows), j + from(&self.common.columns));
        match &self.inputs[..] {
            [rows, columns] => format!("{i} of {} and {j} of {}", rows.display(), columns.display()),
            _ => format!("{i} and {j}"),
        }
    }
}
