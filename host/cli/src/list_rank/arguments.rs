//! The options of `list-rank`.

use std::path::PathBuf;

use clap::Args;
use warpsmith::list_rank::{SplitterRule, Strategy, generate::ListKind};

use crate::{count, processes::MOST_GPUS, repeat};

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
        warpsmith list-rank --input next.npy --output ranks.npy --order order.npy\n  \
        warpsmith list-rank --input next.npy --weights w.npy --output sums.npy\n  \
        warpsmith list-rank --input next.npy --forest --output ranks.npy --lists lists.npy\n  \
        warpsmith list-rank --n 4e9 --gpus 2 --verify           a list over two GPUs, of 64-bit indices\n  \
        mpirun -n 8 warpsmith list-rank --input next.npy --output ranks.npy\n\n\
        Write next.npy with numpy: numpy.save(\"next.npy\", next.astype(numpy.int32)), or numpy.int64 for several ranks"
)]
pub struct ListRankArgs {
    /// Elements of the generated list: 100000000, 100_000_000, 1e8 or 100M
    ///
    /// The default is as many as --weights has; else 1e8 on CUDA, for each rank, and 1e7 on the CPU in all. Each rank takes up
    /// to 2^31 - 2.
    #[arg(long, value_name = "N", value_parser = count::parse_long, conflicts_with = "input")]
    pub n: Option<u64>,
    /// The list's successors: int32 or int64, 1-D, -1 for the last element's
    ///
    /// Values beyond int32 need several ranks.
    #[arg(long, value_name = "NEXT.NPY")]
    pub input: Option<PathBuf>,
    /// The generated list's order [default: random]
    #[arg(long, value_enum, conflicts_with = "input")]
    pub kind: Option<ListKind>,
    /// The first element [default: found]
    #[arg(long, value_name = "H", value_parser = clap::value_parser!(i64).range(0..))]
    pub head: Option<i64>,
    /// Seed of the generated list and of the hashed splitters
    #[arg(long, value_name = "S", default_value_t = 0)]
    pub seed: u64,
    /// Sum these weights along the list instead of counting: int32, int64, float32 or float64, one per element
    ///
    /// An element's sum is that of all elements before it. Sums of integers wrap.
    #[arg(long, value_name = "W.NPY")]
    pub weights: Option<PathBuf>,
    /// Method of writing the elements' results to memory [default: auto]
    #[arg(long, value_enum)]
    pub strategy: Option<Strategy>,
    /// Rule that selects the elements that start sublists
    #[arg(long, value_enum, default_value = "hashed", hide_short_help = true)]
    pub splitters: SplitterRule,
    /// Approximate number of sublists [default: from n and the device]
    #[arg(long, value_name = "K", value_parser = count::up_to(count::MAX as usize), hide_short_help = true)]
    pub sublists: Option<usize>,
    /// Skip the check that the list is valid; the ranks of an invalid list are garbage
    #[arg(long)]
    pub trusted: bool,
    /// Rank many lists at once: elements count from the head of their own list
    #[arg(long, conflicts_with_all = ["weights", "head", "order"])]
    pub forest: bool,
    /// Write the ranks, or with --weights the sums
    ///
    /// Ranks are int32, or int64 with --gpus or mpirun. Sums have the weights' type.
    #[arg(long, value_name = "RANKS.NPY")]
    pub output: Option<PathBuf>,
    /// Write the list's order: its elements (int32) from the head on
    #[arg(long, value_name = "ORDER.NPY", conflicts_with = "weights")]
    pub order: Option<PathBuf>,
    /// Write the number of each element's list (int32); lists are numbered by their heads' indices, ascending
    #[arg(long, value_name = "LISTS.NPY", requires = "forest")]
    pub lists: Option<PathBuf>,
    /// Compare the result with a sequential walk on the host
    ///
    /// With --gpus or mpirun, compare each element's rank with its successor's, on the devices. If they differ, no file is
    /// written, and the exit code is 1 (2 with mpirun).
    #[arg(long)]
    pub verify: bool,
    /// Number of runs after a warm-up; the median and its steps are shown [default: 10 on CUDA, 1 on the CPU]
    #[arg(long, value_name = "R", value_parser = count::up_to(repeat::MOST))]
    pub repeat: Option<usize>,
    /// Distribute the list over the first N GPUs; on the CPU, over N threads. Under mpirun it is over the processes
    #[arg(long, value_name = "N", value_parser = count::up_to(MOST_GPUS))]
    pub gpus: Option<usize>,
    /// Print one JSON object instead of a table; times in ms
    #[arg(long)]
    pub json: bool,
}
