//! Counting and binning within a block, in shared memory.
//!
//! [`Histogram`] counts how many items fall into each bin. [`Partition`] also says where each item goes when the
//! block's items are put in order of their bins: what a radix partition needs to stage its items in shared memory by
//! bin and to write them out in runs, of which each is contiguous in global memory, instead of one by one.
//!
//! Counts are shared-memory atomics. Where many lanes of a warp hit the same bin, these take turns; the `_aggregated`
//! variants first find the lanes with equal bins (`match.any`, as in A. Adinets, *CUDA Pro Tip: Optimized Filtering
//! with Warp-Aggregated Atomics*, 2014) and add once for all of them. That pays for skewed keys, and costs on uniform
//! ones: use it where more than a few lanes of a warp share a bin.
//!
//! Barriers are the caller's where the documentation says so, by [`sync_threads`](thread::sync_threads).

use super::{Scan, Sum, block::Block, warp};
use cuda_std::{atomic, thread, warp::lane_mask_lt, warp::match_any};
use warp::Lanes;

/// The bin of an item that doesn't count, and the position that it gets.
pub const NO_BIN: u32 = u32::MAX;

/// The counts of up to 2³¹ bins in shared memory.
///
/// In order: [`clear`](Self::clear), a barrier, [`add`](Self::add) by any threads any number of times, a barrier,
/// [`count`](Self::count).
#[derive(Debug, Clone, Copy)]
pub struct Histogram {
    counts: *mut u32,
    bins: u32,
}

impl Histogram {
    /// The histogram whose counts lie at `counts`.
    ///
    /// # Safety
    /// `counts` points to `bins` elements of the block's shared memory, the same for all threads of the block, and for
    /// as long as the histogram is used nothing else accesses them without a barrier between.
    #[inline(always)]
    pub const unsafe fn new(counts: *mut u32, bins: u32) -> Self {
        Histogram { counts, bins }
    }

    /// The number of bins.
    #[inline(always)]
    pub const fn bins(self) -> u32 {
        self.bins
    }

    /// Sets all counts to zero. A barrier has to follow before anything is added.
    ///
    /// # Safety
    /// All threads of a one-dimensional block of `threads` threads call it, and since the counts were last used there
    /// has been a barrier.
    #[inline(always)]
    pub unsafe fn clear(self, threads: u32) {
        let mut bin = thread::thread_idx_x();
        while bin < self.bins {
            // SAFETY: a bin that exists, and of the block's threads only this one comes to it.
            unsafe { self.counts.add(bin as usize).write(0) };
            bin += threads;
        }
    }

    /// Counts an item, and gives its number among those of its bin (in no particular order), from 0. An item in no bin,
    /// as [`NO_BIN`], isn't counted and gets [`NO_BIN`].
    ///
    /// # Safety
    /// Since the counts were cleared there has been a barrier.
    #[inline(always)]
    pub unsafe fn add(self, bin: u32) -> u32 {
        if bin >= self.bins {
            return NO_BIN;
        }
        // SAFETY: a bin that exists; between barriers it is only added to.
        unsafe { atomic::block::fetch_add(self.counts.add(bin as usize), 1) }
    }

    /// [`add`](Self::add) with one atomic for all lanes of equal bins. Their items are numbered in order of the lanes.
    ///
    /// # Safety
    /// All of `lanes` call it together, with or without a bin. Since the counts were cleared there has been a barrier.
    #[inline(always)]
    #[cfg_attr(not(cuda_device), track_caller)]
    pub unsafe fn add_aggregated(self, lanes: Lanes, bin: u32) -> u32 {
        let bin = if bin < self.bins { bin } else { NO_BIN };
        let equal = match_any(lanes.mask(), bin);
        let below = (equal & lane_mask_lt()).count_ones();
        let mut first = 0;
        if below == 0 && bin != NO_BIN {
            // SAFETY: a bin that exists; between barriers it is only added to.
            first = unsafe { atomic::block::fetch_add(self.counts.add(bin as usize), equal.count_ones()) };
        }
        let first = cuda_std::warp::shuffle_idx(lanes.mask(), first, equal.trailing_zeros());
        if bin == NO_BIN { NO_BIN } else { first + below }
    }

    /// How many items bin `bin` has.
    ///
    /// # Safety
    /// `bin` is below the number of bins, and a barrier lies between this and every [`add`](Self::add), before and
    /// after.
    #[inline(always)]
    pub unsafe fn count(self, bin: u32) -> u32 {
        debug_assert!(bin < self.bins, "no such bin");
        // SAFETY: the bin exists, and barriers separate this read from all additions (this function's contract).
        unsafe { self.counts.add(bin as usize).read() }
    }
}

/// How items of a block are added to a [`Partition`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Counting {
    /// An atomic for each item: for bins that are about equally likely.
    Plain,
    /// An atomic for each set of equal bins in a warp: for skewed ones.
    Aggregated,
}

/// The order of a block's items by bin.
///
/// [`rank`](Self::rank) makes it. Then bin `b` takes the positions [`start`](Self::start)`(b)..start(b + 1)`, and
/// `start(bins)` is the number of items that have a bin.
///
/// ```
/// use cuda_std::prelude::*;
/// use gpu_kernels::collectives::{block::{Block, STORAGE}, histogram::{Counting, Partition}};
///
/// /// Four items per thread, for the block's 256 threads, in shared memory in order of their last hexadecimal digits.
/// ///
/// /// # Safety
/// /// For one-dimensional blocks of 256 threads, of which all call it.
/// unsafe fn stage(items: [u32; 4]) -> SharedArray<u32, 1024> {
///     let staged = shared_array![u32; 1024];
///     // SAFETY: one-dimensional blocks of 256; the memory is this function's own, 17 elements for 16 bins.
///     unsafe {
///         let block = Block::with_threads(shared_array![u32; STORAGE], 256);
///         let partition = Partition::new(shared_array![u32; 17].as_mut_ptr(), 16);
///         let ranks = partition.rank(block, items.map(|item| item % 16), Counting::Plain);
///         for i in 0..4 {
///             // Each position is one item's.
///             staged.write(ranks[i] as usize, items[i]);
///         }
///     }
///     thread::sync_threads();
///     staged
/// }
/// ```
#[derive(Debug, Clone, Copy)]
pub struct Partition {
    histogram: Histogram,
}

impl Partition {
    /// The partition whose `bins + 1` starts lie at `starts`.
    ///
    /// # Safety
    /// `starts` points to `bins + 1` elements of the block's shared memory, the same for all threads of the block, and
    /// for as long as the partition is used nothing else accesses them without a barrier between.
    #[inline(always)]
    pub const unsafe fn new(starts: *mut u32, bins: u32) -> Self {
        // SAFETY: `starts` has `bins + 1` elements of shared memory, for the block's use alone (this function's
        // contract).
        Partition { histogram: unsafe { Histogram::new(starts, bins) } }
    }

    /// The number of bins.
    #[inline(always)]
    pub const fn bins(self) -> u32 {
        self.histogram.bins
    }

    /// Counts the items, scans the counts, and gives each item its position in the block's order of bins: a number from
    /// 0 to that of the block's items, different for each. Items of the same bin follow each other in no particular
    /// order (with atomics, whoever comes first). Items without a bin, as [`NO_BIN`], get [`NO_BIN`].
    ///
    /// On return [`start`](Self::start) can be read. Before `rank` is called again, and before the memory is used
    /// otherwise, there has to be a barrier. It has three barriers inside, and reads and writes each bin's element four
    /// times beside the atomics.
    ///
    /// # Safety
    /// All threads of the block call it together, with the same `counting`; since the partition's and the block's
    /// storage were last used there has been a barrier, and the two don't overlap. The block has fewer than 2³² items.
    #[inline(always)]
    #[cfg_attr(not(cuda_device), track_caller)]
    pub unsafe fn rank<const ITEMS: usize>(self, block: Block<u32>, bins: [u32; ITEMS], counting: Counting) -> [u32; ITEMS] {
        let starts = self.histogram.counts;
        // SAFETY: barriers lie between clearing, adding, scanning and reading. While the counts are scanned each is
        // accessed by one thread alone, and the total's element by the first thread.
        unsafe {
            self.histogram.clear(block.threads());
            thread::sync_threads();

            let mut ranks = [NO_BIN; ITEMS];
            for i in 0..ITEMS {
                ranks[i] = match counting {
                    Counting::Plain => self.histogram.add(bins[i]),
                    Counting::Aggregated => self.histogram.add_aggregated(block.lanes(), bins[i]),
                };
            }
            thread::sync_threads();

            // Each thread takes as many consecutive bins.
            let share = self.bins().div_ceil(block.threads());
            let first = (thread::thread_idx_x() * share).min(self.bins());
            let end = (first + share).min(self.bins());
            let mut own = 0;
            for bin in first..end {
                own += starts.add(bin as usize).read();
            }
            let Scan { prefix: mut start, total } = block.exclusive_scan(own, Sum);
            for bin in first..end {
                let place = starts.add(bin as usize);
                let count = place.read();
                place.write(start);
                start += count;
            }
            if thread::thread_idx_x() == 0 {
                starts.add(self.bins() as usize).write(total);
            }
            thread::sync_threads();

            for i in 0..ITEMS {
                if ranks[i] != NO_BIN {
                    ranks[i] += self.start(bins[i]);
                }
            }
            ranks
        }
    }

    /// The first position of bin `bin`; of `bins()`, the number of items in bins.
    ///
    /// # Safety
    /// `bin` is at most the number of bins, and [`rank`](Self::rank) has returned.
    #[inline(always)]
    pub unsafe fn start(self, bin: u32) -> u32 {
        debug_assert!(bin <= self.bins(), "no such bin");
        // SAFETY: there are `bins + 1` elements, `bin` is at most `bins`, and `rank` ended with a barrier after the
        // last write.
        unsafe { self.histogram.counts.add(bin as usize).read() }
    }

    /// How many items bin `bin` has.
    ///
    /// # Safety
    /// `bin` is below the number of bins, and [`rank`](Self::rank) has returned.
    #[inline(always)]
    pub unsafe fn count(self, bin: u32) -> u32 {
        // SAFETY: `bin + 1` is at most the number of bins, and `rank` has returned (this function's contract).
        unsafe { self.start(bin + 1) - self.start(bin) }
    }
}
