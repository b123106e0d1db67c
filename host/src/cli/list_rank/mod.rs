//! `warpsmith list-rank`.

mod ranking;
mod ranks;
mod show;
pub mod verify;

use std::{path::PathBuf, time::Instant};

use clap::{Args, ValueEnum};
use ranking::Job;
use warpsmith::{
    device::{Backend, Device},
    io::files::Destination,
    list_rank::{Options, Scan, SplitterRule, Strategy, generate},
    ranks::threads,
};

use super::{
    Global, count,
    failure::Failure,
    format,
    npy::{self, Array},
    output::Files,
    processes,
    progress::Progress,
    size,
};

/// Columns of a strided list's matrix.
const STRIDE: u32 = 1024;
/// Elements of a block-shuffled list's blocks.
const BLOCK: u32 = 1024;
/// The most runs.
const MOST_RUNS: usize = 100_000;

/// Options of `list-rank`.
#[derive(Args, Debug)]
#[command(
    long_about = "Rank a linked list: how many elements come before each.\n\n\
        A list is an array `next` of n indices: next[i] is the element after i, -1 after the last. It is read from a file or \
        generated. Ranks are computed on the device; a row for each step says how long it took and how many bytes it had to move. \
        Transfers to and from the device are not counted.",
    after_help = "Examples:\n  \
        warpsmith list-rank                                     rank a random list\n  \
        warpsmith list-rank --n 1e7 --verify                    compare the ranks with a sequential walk\n  \
        warpsmith list-rank --n 64M --kind strided --repeat 20  another list; the median of 20 runs\n  \
        warpsmith list-rank --strategy packed --json            another strategy; one JSON object\n  \
        warpsmith list-rank --input next.npy --output ranks.npy --order order.npy\n  \
        warpsmith list-rank --input next.npy --weights w.npy --output sums.npy\n  \
        warpsmith list-rank --input next.npy --forest --output ranks.npy --lists lists.npy\n  \
        warpsmith list-rank --n 4e9 --gpus 2 --verify           a list over two GPUs, of 64-bit indices\n  \
        mpirun -n 8 warpsmith list-rank --input next.npy --output ranks.npy\n\n\
        Write next.npy with numpy: numpy.save(\"next.npy\", next.astype(numpy.int32)), or numpy.int64 for several ranks"
)]
pub struct Arguments {
    /// Elements of the generated list: 100000000, 100_000_000, 1e8 or 100M [default: as many as --weights has; else 1e8
    /// on CUDA, for each rank, and 1e7 on the CPU in all]. Each rank takes up to 2^31 - 2
    #[arg(long, value_name = "N", value_parser = count::parse_long, allow_negative_numbers = true, conflicts_with = "input")]
    n: Option<u64>,
    /// The list's successors: int32 or int64, 1-D, -1 for the last element's. Values beyond int32 need several ranks
    #[arg(long, value_name = "NEXT.NPY")]
    input: Option<PathBuf>,
    /// The generated list's order [default: random]
    #[arg(long, value_enum, conflicts_with = "input")]
    kind: Option<ListKind>,
    /// The first element [default: found]
    #[arg(long, value_name = "H", value_parser = clap::value_parser!(i64).range(0..), allow_negative_numbers = true)]
    head: Option<i64>,
    /// Seed of the generated list and of the hashed splitters
    #[arg(long, value_name = "S", default_value_t = 0)]
    seed: u64,
    /// Sum these weights along the list instead of counting: int32, int64, float32 or float64, one an element; an
    /// element's sum is that of all elements before it
    #[arg(long, value_name = "W.NPY")]
    weights: Option<PathBuf>,
    /// How the elements' results are written to memory [default: auto]
    #[arg(long, value_enum)]
    strategy: Option<WalkStrategy>,
    /// Which elements start sublists
    #[arg(long, value_enum, default_value_t = Splitters::Hashed)]
    splitters: Splitters,
    /// How many sublists, about [default: from n and the device]
    #[arg(long, value_name = "K", value_parser = count::up_to(count::MAX as usize), allow_negative_numbers = true)]
    sublists: Option<usize>,
    /// Where the sublists are ranked [default: device]
    #[arg(long, value_enum)]
    scan: Option<Place>,
    /// Skip the check that the list is valid; the ranks of an invalid list are garbage
    #[arg(long)]
    trusted: bool,
    /// Rank many lists at once: elements count from the head of their own list
    #[arg(long, conflicts_with_all = ["weights", "head", "order"])]
    forest: bool,
    /// Write the ranks (int32; int64 with --gpus or mpirun), or with --weights the sums (of the weights' type)
    #[arg(long, value_name = "RANKS.NPY")]
    output: Option<PathBuf>,
    /// Write the list's order: its elements (int32) from the head on
    #[arg(long, value_name = "ORDER.NPY", conflicts_with = "weights")]
    order: Option<PathBuf>,
    /// Write the number of each element's list (int32); lists are numbered by their heads' indices, ascending
    #[arg(long, value_name = "LISTS.NPY", requires = "forest")]
    lists: Option<PathBuf>,
    /// Compare the result with a sequential walk on the host; with --gpus or mpirun, each element's rank with its
    /// successor's, on the devices. Where they differ, no file is written, and the exit code is 1 (2 with mpirun)
    #[arg(long)]
    verify: bool,
    /// Runs after one warm-up; the one of median time is shown [default: 10 on CUDA, 1 on the CPU]
    #[arg(long, value_name = "R", value_parser = count::up_to(MOST_RUNS), allow_negative_numbers = true)]
    repeat: Option<usize>,
    /// Distribute the list over the first N GPUs; on the CPU, over N threads. Under mpirun it is over the processes
    #[arg(long, value_name = "N", value_parser = count::up_to(threads::MAX_RANKS), allow_negative_numbers = true)]
    gpus: Option<usize>,
    /// Print one JSON object instead of a table; times in ms
    #[arg(long)]
    json: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum ListKind {
    /// A pseudorandom permutation
    Random,
    /// 0, 1, 2, ...
    Sequential,
    /// n - 1, n - 2, ..., 0
    Reversed,
    /// 0, 1024, 2048, ...; then 1, 1025, ...
    Strided,
    /// Blocks of 1024 consecutive elements in random order
    BlockShuffled,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum WalkStrategy {
    /// `binned` for long lists on a GPU that can, else `split`
    Auto,
    /// The walk stores elements in list order; two passes through shared memory bring their ranks to their places
    Binned,
    /// Successors are loaded from one array and offsets stored to another
    Split,
    /// Both through one array
    Packed,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Splitters {
    /// One at a hashed place of each group of consecutive elements
    Hashed,
    /// The first elements by index
    First,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Place {
    /// On the device
    Device,
    /// On the host, between two transfers
    Host,
}

/// The files to write.
struct Outputs {
    result: Option<Destination>,
    order: Option<Destination>,
    lists: Option<Destination>,
}

/// Runs the command.
pub fn run(global: &Global, arguments: &Arguments) -> Result<(), Failure> {
    arguments.check()?;
    let outputs = arguments.outputs()?;
    let started = if processes::is_launched() { processes::started()? } else { None };
    let started = started.filter(|ranks| ranks.size() > 1);
    if started.is_some() || arguments.gpus.is_some() {
        return ranks::run(global, arguments, outputs.result, started);
    }
    let n = arguments.n.map(count::short).transpose().map_err(Failure::Error)?;
    let progress = Progress::new(arguments.json || global.verbose > 0);
    let device = global.open()?;

    let weights = match &arguments.weights {
        Some(path) => Some(npy::read(path, "weights", npy::NUMBERS, progress)?),
        None => None,
    };
    let (source, next) = match &arguments.input {
        Some(path) => (path.display().to_string(), npy::read_i32(path, "next", "an element", progress)?),
        None => {
            let default = if device.backend() == Backend::Cuda { 100_000_000 } else { 10_000_000 };
            // Files hold no more than a u32 of elements.
            let n = n.unwrap_or(weights.as_ref().map_or(default, |weights| weights.len() as u32));
            check_head(arguments.head, n as u64)?;
            check_memory(&device, n as usize, arguments)?;
            generate(arguments.kind.unwrap_or(ListKind::Random), n, arguments.seed, progress)
        }
    };
    if let (Some(path), Some(weights)) = (&arguments.weights, &weights)
        && weights.len() != next.len()
    {
        let (path, found, n) = (path.display(), weights.len(), next.len());
        let list = arguments.input.as_ref().map_or_else(|| "the list".to_owned(), |input| input.display().to_string());
        return Err(Failure::error(format_args!("{path} has {found} elements, but {list} has {n}")));
    }
    check_head(arguments.head, next.len() as u64)?;
    if arguments.input.is_some() {
        check_memory(&device, next.len(), arguments)?;
    }

    let stream = device.stream()?;
    let default = if device.backend() == Backend::Cuda { 10 } else { 1 };
    let job = Job {
        device: &device,
        stream: &stream,
        options: arguments.options(),
        next: &next,
        // It is an element, which an i32 numbers.
        head: arguments.head.map(|head| head as i32),
        input: arguments.input.as_deref(),
        runs: arguments.repeat.unwrap_or(default),
        verify: arguments.verify,
        progress,
    };
    let made = match &weights {
        _ if arguments.forest => job.forest(&outputs)?,
        None => job.ranks(&outputs)?,
        Some(Array::I32(weights)) => job.sums(weights, &outputs)?,
        Some(Array::I64(weights)) => job.sums(weights, &outputs)?,
        Some(Array::F32(weights)) => job.sums(weights, &outputs)?,
        Some(Array::F64(weights)) => job.sums(weights, &outputs)?,
    };
    let wrong = made.wrong.clone();
    let shown = show::Shown { source: &source, kind: weights.as_ref().map(Array::kind), outputs: &outputs, made };
    if arguments.json { shown.json(&job) } else { shown.table(&job) }?;
    wrong.map_or(Ok(()), |text| Err(Failure::Verification(text)))
}

impl Arguments {
    /// What clap can't tell: options whose values exclude each other.
    fn check(&self) -> Result<(), Failure> {
        let only = |option: &str, with: &str| Err(Failure::error(format_args!("{option} can't be used with {with}")));
        let with = if self.forest { "--forest" } else { "--weights" };
        if (self.forest || self.weights.is_some()) && self.strategy == Some(WalkStrategy::Packed) {
            return only("--strategy packed", with);
        }
        if self.scan == Some(Place::Host) && self.forest {
            return only("--scan host", with);
        }
        Ok(())
    }

    /// Makes sure of all files to write.
    fn outputs(&self) -> Result<Outputs, Failure> {
        let mut files = Files::reading([&self.input, &self.weights].into_iter().flatten());
        let mut prepare = |path: &Option<PathBuf>| path.as_deref().map(|path| files.write(path)).transpose();
        Ok(Outputs { result: prepare(&self.output)?, order: prepare(&self.order)?, lists: prepare(&self.lists)? })
    }

    fn options(&self) -> Options {
        Options {
            strategy: match self.strategy {
                Some(WalkStrategy::Binned) => Strategy::Binned,
                Some(WalkStrategy::Split) => Strategy::Split,
                Some(WalkStrategy::Packed) => Strategy::Packed,
                None | Some(WalkStrategy::Auto) => Strategy::Auto,
            },
            splitters: match self.splitters {
                Splitters::Hashed => SplitterRule::Hashed,
                Splitters::First => SplitterRule::First,
            },
            // No more than elements, whose numbers have 31 bits.
            sublists: self.sublists.map(|sublists| sublists as u32),
            scan: match self.scan {
                Some(Place::Host) => Scan::Host,
                _ => Scan::Device,
            },
            trusted: self.trusted,
            shared: None,
            // Its low half: the splitters' seed has 32 bits.
            seed: self.seed as u32,
            timed: true,
        }
    }
}

impl Outputs {
    fn all(&self) -> Vec<&Destination> {
        [&self.result, &self.order, &self.lists].into_iter().flatten().collect()
    }
}

/// Generates a list; gives its description, too.
fn generate(kind: ListKind, n: u32, seed: u64, progress: Progress) -> (String, Vec<i32>) {
    let name = kind.to_possible_value().map_or_else(String::new, |value| value.get_name().to_owned());
    let _work = progress.spinner(n as usize, format!("generating a {name} list of {} elements", format::grouped(n as usize)));
    let start = Instant::now();
    let next = match kind {
        ListKind::Random => generate::random(n, seed),
        ListKind::Sequential => generate::sequential(n),
        ListKind::Reversed => generate::reversed(n),
        ListKind::Strided => generate::strided(n, STRIDE),
        ListKind::BlockShuffled => generate::block_shuffled(n, BLOCK, seed),
    };
    tracing::info!(n, seed, elapsed = ?start.elapsed(), "generated a {name} list");
    (name, next)
}

fn check_head(head: Option<i64>, n: u64) -> Result<(), Failure> {
    match head {
        Some(head) if head as u64 >= n => {
            Err(Failure::error(format_args!("head {head} is not an element: there are {}, from 0", format::grouped(n as usize))))
        }
        _ => Ok(()),
    }
}

/// Refuses a list that would not fit into the host's memory.
fn check_memory(device: &Device, n: usize, arguments: &Arguments) -> Result<(), Failure> {
    let when = |condition: bool, bytes: usize| if condition { bytes } else { 0 };
    let sums = arguments.weights.is_some();
    // Each array's bytes per element: what is generated and what is read back.
    let host = when(arguments.input.is_none(), 4)
        + when(arguments.verify || arguments.output.is_some(), if sums { 8 } else { 4 })
        + when(arguments.order.is_some(), 4)
        + when(arguments.forest, 4);
    // next; the result (and the weights), and a record of an offset and a sublist.
    let on_device = 4 + if sums { 8 + 8 + 16 } else { 4 + 8 } + when(arguments.order.is_some(), 4) + when(arguments.forest, 4);
    let needed = n * (host + when(device.backend() == Backend::Cpu, on_device));
    size::check_memory(format::counted(n, "element", "elements"), needed as f64)
}
