//! List ranking: for every element of a linked list, how many come before it.
//!
//! A list is an array `next` of `n` indices: `next[i]` is the element after `i`, -1 after the last. [`ListRanker`]
//! ranks lists that lie on a device, end to end there; [`list_rank`] is the same for slices of the host:
//!
//! ```
//! use warpsmith::{device::Device, list_rank::list_rank};
//!
//! //              2 -> 0 -> 3 -> 1
//! let next = [3, -1, 0, 1];
//! assert_eq!(list_rank(&Device::cpu(), &next, None)?, [1, 3, 0, 2]);
//! # Ok::<(), warpsmith::list_rank::ListError>(())
//! ```
//!
//! The algorithm is a variant of Helman and JáJá's (ALENEX 1999) in four steps, whose kernels are in
//! `gpu_kernels::list_rank`: copy (strategy `packed` alone), walk of the sublists, ranking of the sublists, and ranks
//! from bases and offsets. Beyond plain ranks it gives exclusive prefix sums of weights along the list
//! ([`ListRanker::prefix_sums`]), the list's order ([`ListRanker::order`]), and ranks in forests of many lists
//! ([`ListRanker::forest`]).
//!
//! Lists are checked by default, at the price of reading back a few bytes: a list is right exactly if all its indices
//! are in range and the elements reached from its head are `n`, for then none was met twice. What is wrong is then
//! found on the host, and named.

mod check;
#[cfg(feature = "ranks")]
pub mod distributed;
mod error;
pub mod generate;
mod level;
mod pipeline;
mod ranker;

pub use check::{diagnose, rank_sequentially};
pub use error::ListError;
pub use level::Weight;
pub use ranker::{Forest, ListRanker, Report};

pub use crate::common::StepTime;
use crate::device::Device;

/// How the elements' results are written to memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum Strategy {
    /// [`Binned`](Strategy::Binned) for long lists on a GPU whose memory suffices, else [`Split`](Strategy::Split).
    #[default]
    Auto,
    /// Successors are loaded from `next` and offsets stored to another array, so that no load waits for a store.
    Split,
    /// Both through one array, which step 1 fills from `next`. Kept for comparison.
    Packed,
    /// The walk stores the elements in the list's order, many at a time, and two passes through shared memory bring
    /// their ranks to their places: no store is a random one. Takes 13 bytes of scratch memory for each element (21 in
    /// forests, 17 with weights of four bytes, and 30 with weights of eight); [`Split`](Strategy::Split) takes 8, with
    /// values of eight bytes 16.
    Binned,
}

impl Strategy {
    /// Its name on the command line.
    pub const fn name(self) -> &'static str {
        match self {
            Strategy::Auto => "auto",
            Strategy::Split => "split",
            Strategy::Packed => "packed",
            Strategy::Binned => "binned",
        }
    }
}

/// Which elements start sublists.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum SplitterRule {
    /// One element of every group of consecutive indices, at a hashed place: sublists stay short on any list.
    #[default]
    Hashed,
    /// The first elements by index: as good on random lists, and nearly serial on sequential ones.
    First,
}

/// Where step 3, the ranking of the sublists, runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum Scan {
    /// On the device, recursively, without a round trip.
    #[default]
    Device,
    /// On the host, sequentially, between two transfers.
    Host,
}

/// How to rank.
#[derive(Clone, Debug, Default)]
pub struct Options {
    /// How results are written to memory.
    pub strategy: Strategy,
    /// Which elements start sublists.
    pub splitters: SplitterRule,
    /// How many sublists, about; by default from `n` and the device.
    pub sublists: Option<u32>,
    /// The most shared memory that [`Strategy::Binned`] may give a block, in bytes; by default what the device has.
    pub shared: Option<usize>,
    /// Where step 3 runs. Forests are always ranked on the device.
    pub scan: Scan,
    /// Leaves out the check. Ranks of an invalid list are then garbage, but the work is bounded and stays in its
    /// arrays.
    pub trusted: bool,
    /// Seed of the hashed splitters.
    pub seed: u32,
    /// Measures each step (by events on the stream), which makes each call wait for its end.
    pub timed: bool,
}

/// Lists in host memory of at most so many elements are ranked there, sooner than they would be on their way to a GPU.
pub const SHORT: usize = 1 << 14;

/// Ranks a list in host memory on a device: uploads, ranks, downloads. A [`SHORT`] one is ranked where it is.
///
/// `next` has `n` entries; `head` is the first element, found where it isn't given. Returns each element's rank,
/// from 0.
///
/// # Errors
/// Where the list is not one (the error names the first offending element), or the device fails.
pub fn list_rank(device: &Device, next: &[i32], head: Option<i32>) -> Result<Vec<i32>, ListError> {
    if next.len() <= SHORT {
        return rank_sequentially(next, head);
    }
    let stream = device.stream()?;
    let next = device.upload(next)?;
    let mut ranks = device.alloc(next.len())?;
    ListRanker::new(device, Options::default()).rank(&stream, &next, head, &mut ranks)?;
    Ok(stream.download_vec(&ranks)?)
}
