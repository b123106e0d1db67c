//! List ranking: the number of elements before each element of a linked list.
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
//! Lists are checked by default, at the price of reading back a few bytes: a list is valid exactly
//! if all its indices are in range and `n` elements are reached from its head, because then none
//! was met twice. Otherwise the host finds the first offending element.

mod check;
#[cfg(feature = "ranks")]
pub mod distributed;
mod error;
pub mod generate;
mod launches;
mod level;
mod options;
mod pipeline;
mod ranker;
mod runs;
pub mod verify;

pub use crate::common::StepTime;
pub use check::{diagnose, forest_sequentially, order_sequentially, prefix_sums_sequentially, rank_sequentially};
pub use error::ListError;
pub use level::Weight;
pub use options::{Options, SplitterRule, Strategy};
pub use ranker::{Forest, ListRanker, Report};

use crate::device::Device;

/// Lists in host memory of at most so many elements are ranked there, sooner than they would be on their way to a GPU.
pub const SHORT: usize = 1 << 14;

/// Ranks a list in host memory on a device: uploads, ranks, downloads. A [`SHORT`] one is ranked where it is.
///
/// `next` has `n` entries; `head` is the first element, found where it isn't given. Returns each element's rank,
/// from 0.
///
/// # Errors
/// The list is invalid (the error names the first offending element), or the device fails.
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
