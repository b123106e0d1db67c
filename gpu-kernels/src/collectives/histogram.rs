//! Counting within a block, in shared memory: [`Histogram`] counts how many items fall into each bin.
//!
//! Counts are shared-memory atomics. The caller provides the barriers ([`sync_threads`](thread::sync_threads)) that
//! the documentation asks for.

use cuda_std::{atomic, thread};

/// The bin of an item that doesn't count, and the number that it gets.
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

    /// Counts an item, and returns its number among the items of its bin (in no particular order),
    /// from 0. An item in no bin, as [`NO_BIN`], isn't counted and gets [`NO_BIN`].
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

    /// Returns the number of items in bin `bin`.
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
