//! The strategy `runs`: elements that lie beside their successors are contracted to runs, which are ranked by their lengths.
//!
//! Neighbours `i` and `i + 1` are *joined* if one is the other's successor. A *run* is a maximal sequence of joined
//! neighbours. In a list, it leads up or down. One end is its *entry*, which is no neighbour's successor. Runs are numbered
//! by their first elements, ascending.

use cuda_std::prelude::*;

use super::{BROKEN, TAIL};
use crate::collectives::{
    Sum,
    block::{Block, STORAGE},
};

/// Rows of 32 elements that a warp looks at.
const ROWS: usize = 8;
/// Elements per block of [`mark()`].
pub const MARKED: usize = 256 * ROWS;
/// Threads of the block of [`sample()`].
pub const SAMPLE_THREADS: u32 = 1024;
/// Pairs of neighbours that [`sample()`] looks at in a list that has them: 31 per row.
pub const SAMPLE: u32 = SAMPLE_THREADS * ROWS as u32 / 32 * 31;

/// A bitmap of runs, each word for 32 elements, and the number of runs before each word.
#[derive(Clone, Copy, Debug, KernelParam)]
pub struct Bits<'a> {
    /// A bit for each element that is joined to the one before.
    pub joined: &'a [u32],
    /// A bit for each element that is the entry of its run.
    pub entries: &'a [u32],
    /// Number of elements without a bit in `joined` in all words before.
    pub before: &'a [u32],
}

impl Bits<'_> {
    /// Returns the number of the run that has `element`, which is not negative.
    #[inline(always)]
    fn run(self, element: u32) -> u32 {
        let word = element as usize / 32;
        self.before[word] + (!self.joined[word] & u32::MAX >> (31 - element % 32)).count_ones() - 1
    }

    #[inline(always)]
    fn is_entry(self, element: u32) -> bool {
        self.entries[element as usize / 32] >> (element % 32) & 1 == 1
    }
}

/// Successors of the thread's element in each of [`ROWS`] rows, [`BROKEN`] in place of missing ones; rows are `apart`
/// elements apart.
#[inline(always)]
fn load_rows(next: &[i32], first: usize, apart: usize) -> [i32; ROWS] {
    core::array::from_fn(|row| next.get(first + row * apart).copied().unwrap_or(BROKEN))
}

/// Returns true if `element` and the one after it are joined, by their successors.
#[inline(always)]
fn is_joined(element: usize, next: i32, next_after: i32) -> bool {
    next as usize == element + 1 || next_after as usize == element
}

/// Counts joined neighbours among [`SAMPLE`] pairs, evenly spread over the list. One block of [`SAMPLE_THREADS`] threads.
///
/// # Safety
/// `joined` must be valid for a write.
#[kernel(max_threads = 1024)]
pub unsafe fn sample(next: &[i32], joined: *mut u32) {
    let (thread, lane) = (thread::thread_idx_x() as usize, warp::lane_id());
    let rows = SAMPLE_THREADS as usize / 32 * ROWS;
    let apart = next.len() / rows;
    let first = thread / 32 * ROWS * apart + lane as usize;
    let mut own = 0;
    for (row, successor) in load_rows(next, first, apart).into_iter().enumerate() {
        let after = warp::shuffle_down(warp::FULL_MASK, successor, 1);
        own += u32::from(lane < 31 && is_joined(first + row * apart, successor, after));
    }
    // SAFETY: all threads of the block are here, once; one thread writes (this kernel's contract).
    unsafe {
        let all = Block::new(shared_array![u32; STORAGE]).reduce(own, Sum);
        if thread == 0 {
            joined.write(all);
        }
    }
}

/// Writes both bitmaps of [`Bits`]. Counts in `wrong`, which starts at 0, elements that are successors of both
/// neighbours, and neighbours that are successors of each other; without any, each run leads one way. Blocks of 256
/// threads, each for [`MARKED`] elements.
///
/// # Safety
/// `joined` and `entries` must have a bit for each element, and `wrong` be valid for atomic access.
#[kernel(max_threads = 256)]
pub unsafe fn mark(next: &[i32], joined: *mut u32, entries: *mut u32, wrong: *mut u32) {
    let (n, lane) = (next.len(), warp::lane_id());
    let row_of_warp = thread::index_1d() as usize / 32 * ROWS;
    let first = row_of_warp * 32 + lane as usize;
    let own = load_rows(next, first, 32);
    let mut words = (0, 0);
    let mut is_wrong = false;
    for (row, &successor) in own.iter().enumerate() {
        let element = first + row * 32;
        let mut of_last = warp::shuffle_up(warp::FULL_MASK, successor, 1);
        let mut of_next = warp::shuffle_down(warp::FULL_MASK, successor, 1);
        if lane == 0 {
            of_last = element.checked_sub(1).and_then(|last| next.get(last)).copied().unwrap_or(BROKEN);
        }
        if lane == 31 {
            of_next = next.get(element + 1).copied().unwrap_or(BROKEN);
        }
        let (is_after_last, is_after_next) = (of_last == element as i32, of_next == element as i32);
        let leads_down = element > 0 && successor == element as i32 - 1;
        is_wrong |= is_after_last && (is_after_next || leads_down);
        let is_joined = warp::ballot(warp::FULL_MASK, is_after_last || leads_down);
        let is_entry = warp::ballot(warp::FULL_MASK, element < n && !is_after_last && !is_after_next);
        if lane as usize == row {
            words = (is_joined, is_entry);
        }
    }
    let word = row_of_warp + lane as usize;
    // SAFETY: words below their number; the count is changed by atomics alone (this kernel's contract).
    unsafe {
        if (lane as usize) < ROWS && word < n.div_ceil(32) {
            joined.add(word).write(words.0);
            entries.add(word).write(words.1);
        }
        if is_wrong {
            atomic::device::fetch_add(wrong, 1);
        }
    }
}

/// Writes the list of runs: for each, the run after it, or [`TAIL`], or [`BROKEN`] where it doesn't lead to an entry; its
/// length; and its entry, as `!entry` if it leads down. `starts` has their first elements.
#[kernel(max_threads = 256)]
pub fn contract(
    next: &[i32],
    bits: Bits<'_>,
    starts: &[i32],
    mut runs: DisjointSlice<i32>,
    mut lengths: DisjointSlice<i32>,
    mut entries: DisjointSlice<i32>,
) {
    let run = thread::index_1d() as usize;
    if run >= starts.len() {
        return;
    }
    let first = starts[run];
    let last = starts.get(run + 1).map_or(next.len() as i32, |&start| start) - 1;
    let leads_up = bits.is_entry(first as u32);
    let successor = next[if leads_up { last } else { first } as usize];
    runs.set(match successor {
        TAIL => TAIL,
        _ if (successor as u32 as usize) < next.len() && bits.is_entry(successor as u32) => bits.run(successor as u32) as i32,
        _ => BROKEN,
    });
    lengths.set(last - first + 1);
    entries.set(if leads_up { first } else { !last });
}

/// Ranks each element by its run's entry and what is before that, and writes the element of rank 0 to `head`. A thread for
/// each four elements.
///
/// # Safety
/// `ranks` must have `n` elements and be aligned to 16 bytes, the bitmaps have `n` bits, and `head` be valid for a write.
#[kernel(max_threads = 256)]
pub unsafe fn expand(bits: Bits<'_>, entries: &[i32], before: &[i32], ranks: *mut i32, n: u32, head: *mut i32) {
    let first = 4 * thread::index_1d();
    if first >= n {
        return;
    }
    let rank = |element: u32| {
        let run = bits.run(element) as usize;
        let (entry, element) = (entries[run], element as i32);
        let rank = before[run].wrapping_add(if entry < 0 { !entry - element } else { element - entry });
        if rank == 0 {
            // SAFETY: valid for a write (this kernel's contract). In a list, one thread alone writes.
            unsafe { mem::store_relaxed(head, element) };
        }
        rank
    };
    // SAFETY: elements below their number, in an array that is aligned to vectors (this kernel's contract).
    unsafe {
        if first + 4 <= n {
            let of_vector = [0, 1, 2, 3].map(|k| rank(first + k));
            mem::store_streaming(ranks.add(first as usize).cast::<I32x4>(), of_vector.into());
        } else {
            (first..n).for_each(|element| ranks.add(element as usize).write(rank(element)));
        }
    }
}
