//! Reductions and scans over a block.
//!
//! ```
//! use cuda_std::prelude::*;
//! use gpu_kernels::collectives::{Sum, block::{Block, STORAGE}};
//!
//! /// Where each thread's `count` items go, if threads write one after another.
//! fn offset(count: u32) -> u32 {
//!     // SAFETY: one-dimensional blocks; the storage is this function's own.
//!     let block = unsafe { Block::new(shared_array![u32; STORAGE]) };
//!     // SAFETY: all threads come here, and nothing has used the storage before.
//!     unsafe { block.exclusive_scan(count, Sum) }.prefix
//! }
//! ```
//!
//! # Barriers
//! The methods of [`Block`] are *collective*: all threads of the block call the same one together, none may have
//! returned or take another branch. They exchange values through the storage, with barriers of their own inside; on
//! return a thread has its result, but **others may still be reading the storage**. So the rule is CUB's for its
//! `TempStorage`:
//!
//! - between two collectives on the same storage, by whatever `Block`, there is a
//!   [`sync_threads`](cuda_std::thread::sync_threads) that all threads pass;
//! - collectives on different storages need nothing between them;
//! - a collective is no barrier for the caller's own memory (over a single warp it doesn't even contain one).
//!
//! # Cost
//! A warp's shuffles, one element of storage per warp, one barrier, and then either a read for each
//! warp (up to 8 warps, or a size that isn't a multiple of 32) or one read and another warp's scan.
//! If the number of threads is a constant ([`Block::with_threads`]), loops over warps unroll.

use super::{Identity, Op, Scan, warp};
use cuda_std::{
    SharedArray, thread,
    warp::{WARP_SIZE, lane_id, shuffle_up, warp_id},
};
use warp::{Lanes, Shuffle};

/// Elements of storage that a block needs: one for each of up to 32 warps, and one to broadcast.
pub const STORAGE: usize = 33;

/// The storage of a [`Block`], from `shared_array![T; STORAGE]`.
pub type Storage<T> = SharedArray<T, STORAGE>;

/// The element that [`Block::broadcast`] uses. Others have one per warp.
const BROADCAST: usize = STORAGE - 1;

/// Up to so many warps, each thread folds the warps' results itself.
const FEW_WARPS: u32 = 8;

/// The calling thread's block, with storage for collectives over `T`.
#[derive(Debug, Clone, Copy)]
pub struct Block<T> {
    storage: Storage<T>,
    threads: u32,
}

impl<T: Shuffle> Block<T> {
    /// The block, whatever its size.
    ///
    /// # Safety
    /// The block is one-dimensional, and `storage` is the same shared array for all its threads.
    #[inline(always)]
    pub unsafe fn new(storage: Storage<T>) -> Self {
        Block { storage, threads: thread::block_dim_x() }
    }

    /// The block, whose size the caller knows.
    ///
    /// # Safety
    /// The block is one-dimensional and has `threads` threads, and `storage` is the same shared array for all of them.
    #[inline(always)]
    pub const unsafe fn with_threads(storage: Storage<T>, threads: u32) -> Self {
        Block { storage, threads }
    }

    /// The number of threads.
    #[inline(always)]
    pub const fn threads(self) -> u32 {
        self.threads
    }

    /// The lanes of the calling thread's warp.
    #[inline(always)]
    pub fn lanes(self) -> Lanes {
        Lanes::of_block(self.threads)
    }

    #[inline(always)]
    const fn warps(self) -> u32 {
        self.threads.div_ceil(WARP_SIZE)
    }

    /// Returns true if each thread alone folds the warps' results, which works for any size, and
    /// false if each warp does so together, which needs its 32 lanes.
    #[inline(always)]
    const fn fold_alone(self) -> bool {
        self.warps() <= FEW_WARPS || !self.threads.is_multiple_of(WARP_SIZE)
    }

    /// The values of all threads together, in order of the threads, for each thread. A barrier for other memory only in
    /// blocks of several warps.
    ///
    /// # Safety
    /// All threads of the block call it together; no thread has used the storage since the last barrier.
    #[inline(always)]
    #[cfg_attr(not(cuda_device), track_caller)]
    pub unsafe fn reduce<O: Op<T>>(self, value: T, op: O) -> T {
        let of_warp = warp::reduce(self.lanes(), value, op);
        if self.warps() == 1 {
            return of_warp;
        }
        // SAFETY: a warp writes the element of its own number alone. All reads follow the barrier and are of elements
        // of warps that exist, which have been written. By this function's contract, earlier readers are done.
        unsafe {
            if lane_id() == 0 {
                self.storage.write(warp_id() as usize, of_warp);
            }
            thread::sync_threads();
            if self.fold_alone() {
                let mut total = self.storage.read(0);
                for warp in 1..self.warps() {
                    total = op.apply(total, self.storage.read(warp as usize));
                }
                total
            } else {
                self.scan_warps(op).1
            }
        }
    }

    /// The values of the threads before this one, together, and those of all.
    ///
    /// # Safety
    /// All threads of the block call it together; no thread has used the storage since the last barrier.
    #[inline(always)]
    #[cfg_attr(not(cuda_device), track_caller)]
    pub unsafe fn exclusive_scan<O: Identity<T>>(self, value: T, op: O) -> Scan<T> {
        let inclusive = warp::inclusive_scan(self.lanes(), value, op);
        let below = shuffle_up(self.lanes().mask(), inclusive, 1);
        // SAFETY: all threads of the block come here together, and none has used the storage since the last barrier
        // (this function's contract).
        let (before, total) = unsafe { self.around_warp(inclusive, op) };
        let prefix = match (warp_id(), lane_id()) {
            (0, 0) => op.identity(),
            (0, _) => below,
            (_, 0) => before,
            _ => op.apply(before, below),
        };
        Scan { prefix, total }
    }

    /// The value of thread `thread`, for each thread.
    ///
    /// # Safety
    /// All threads of the block call it together with the same `thread`, which is below their number; no thread has
    /// used the storage since the last barrier, except for a reduction or a scan.
    #[inline(always)]
    #[cfg_attr(not(cuda_device), track_caller)]
    pub unsafe fn broadcast(self, value: T, thread: u32) -> T {
        // SAFETY: one thread writes the element, which reductions and scans don't use, and all reads follow the
        // barrier. By this function's contract, earlier readers are done.
        unsafe {
            if thread::thread_idx_x() == thread {
                self.storage.write(BROADCAST, value);
            }
            thread::sync_threads();
            self.storage.read(BROADCAST)
        }
    }

    /// From the inclusive scan within each warp: what the warps before this one hold together (anything in the first),
    /// and all.
    ///
    /// # Safety
    /// All threads of the block call it together; no thread has used the storage since the last barrier.
    #[inline(always)]
    #[cfg_attr(not(cuda_device), track_caller)]
    pub(super) unsafe fn around_warp<O: Op<T>>(self, in_warp: T, op: O) -> (T, T) {
        let lanes = self.lanes();
        if self.warps() == 1 {
            return (in_warp, warp::broadcast(lanes, in_warp, lanes.count() - 1));
        }
        // SAFETY: a warp writes the element of its own number alone. All reads follow the barrier and are of elements
        // of warps that exist, which have been written. By this function's contract, earlier readers are done.
        unsafe {
            if lane_id() == lanes.count() - 1 {
                self.storage.write(warp_id() as usize, in_warp);
            }
            thread::sync_threads();
            if self.fold_alone() {
                let mut total = self.storage.read(0);
                let mut before = total;
                for warp in 1..self.warps() {
                    if warp == warp_id() {
                        before = total;
                    }
                    total = op.apply(total, self.storage.read(warp as usize));
                }
                (before, total)
            } else {
                self.scan_warps(op)
            }
        }
    }

    /// Folds the warps' results, by all 32 lanes of each warp: those before this warp (anything in the first), and all.
    ///
    /// # Safety
    /// The warps' results are in the storage, and a barrier has followed; all warps are full.
    #[inline(always)]
    #[cfg_attr(not(cuda_device), track_caller)]
    unsafe fn scan_warps<O: Op<T>>(self, op: O) -> (T, T) {
        let last = self.warps() - 1;
        // Lanes beyond the last warp repeat it: a scan passes nothing downwards.
        // SAFETY: the minimum makes it the element of a warp that exists, which was written before the last barrier.
        let of_warp = unsafe { self.storage.read(lane_id().min(last) as usize) };
        let scan = warp::inclusive_scan(Lanes::FULL, of_warp, op);
        (warp::broadcast(Lanes::FULL, scan, warp_id().saturating_sub(1)), warp::broadcast(Lanes::FULL, scan, last))
    }
}
