//! Kernels that call the collectives of a warp and of a block once for each thread and store what they return: what the
//! integration tests compare with plain loops, on every backend.

use super::{
    Identity, Max, Min, Scan, Sum, WithIdentity,
    block::{Block, STORAGE, Storage},
    histogram::Histogram,
    warp::{self, Lanes, Shuffle},
};
use cuda_std::{dynamic_shared, kernel, shared_array, thread, warp::lane_id};

/// Items per thread of the probes that take several.
pub const ITEMS: usize = 3;

/// Maps `x -> m * x + c` modulo 2¹⁶, one after the other. `m` is a word's upper half, `c` the lower. An operator that
/// doesn't commute.
#[inline(always)]
pub fn compose(first: u32, then: u32) -> u32 {
    let (m, c) = (first >> 16, first & 0xffff);
    let (n, d) = (then >> 16, then & 0xffff);
    (m * n) << 16 | (n * c + d) & 0xffff
}

/// The map that changes nothing.
pub const SAME: u32 = 1 << 16;

/// Destinations of a probe's results: one per item, or per thread.
#[derive(Debug, Clone, Copy)]
struct Results<T> {
    reduced: *mut T,
    inclusive: *mut T,
    exclusive: *mut T,
    /// The total of the exclusive scan.
    total: *mut T,
}

/// # Safety
/// Launched in one dimension. `values` and all results have one element per thread.
#[inline(always)]
unsafe fn probe_warp<T: Shuffle, O: Identity<T>>(values: &[T], lanes: u32, op: O, results: Results<T>) {
    if lane_id() >= lanes {
        return;
    }
    let lanes = Lanes::first(lanes.min(Lanes::of_block(thread::block_dim_x()).count()));
    let index = thread::index_1d() as usize;
    let value = values[index];
    let scan = warp::exclusive_scan(lanes, value, op);
    // SAFETY: the thread's own elements.
    unsafe {
        results.reduced.add(index).write(warp::reduce(lanes, value, op));
        results.inclusive.add(index).write(warp::inclusive_scan(lanes, value, op));
        results.exclusive.add(index).write(scan.prefix);
        results.total.add(index).write(scan.total);
    }
}

/// # Safety
/// Launched in one dimension. `values` and all results have one element per thread; the storage is for this call alone.
#[inline(always)]
unsafe fn probe_block<T: Shuffle, O: Identity<T>>(values: &[T], op: O, results: Results<T>, storage: Storage<T>) {
    let index = thread::index_1d() as usize;
    let value = values[index];
    // SAFETY: one-dimensional blocks without threads that have left; a barrier between any two uses
    // of the storage. A thread writes its own elements.
    unsafe {
        let block = Block::new(storage);
        results.reduced.add(index).write(block.reduce(value, op));
        thread::sync_threads();
        results.inclusive.add(index).write(block.inclusive_scan(value, op).prefix);
        thread::sync_threads();
        let Scan { prefix, total } = block.exclusive_scan(value, op);
        results.exclusive.add(index).write(prefix);
        // Another element of the storage: no barrier.
        results.total.add(index).write(block.broadcast(total, block.threads() - 1));
    }
}

/// # Safety
/// Launched in one dimension. `results.reduced` and `results.total` have one element per thread, `values` and the other
/// results [`ITEMS`]; the storage is for this call alone.
#[inline(always)]
unsafe fn probe_block_items<T: Shuffle, O: Identity<T>>(values: &[T], op: O, results: Results<T>, storage: Storage<T>) {
    let index = thread::index_1d() as usize;
    let first = index * ITEMS;
    let items: [T; ITEMS] = core::array::from_fn(|i| values[first + i]);
    // SAFETY: one-dimensional blocks without threads that have left; a barrier lies between any two
    // uses of the storage. A thread writes its own elements.
    unsafe {
        let block = Block::new(storage);
        results.reduced.add(index).write(block.reduce_items(items, op));
        thread::sync_threads();
        let inclusive = block.inclusive_scan_items(items, op);
        thread::sync_threads();
        let exclusive = block.exclusive_scan_items(items, op);
        for i in 0..ITEMS {
            results.inclusive.add(first + i).write(inclusive.prefix[i]);
            results.exclusive.add(first + i).write(exclusive.prefix[i]);
        }
        results.total.add(index).write(exclusive.total);
    }
}

macro_rules! probes {
    ($($warp:ident $block:ident $block_items:ident: $t:ty, $op:expr;)*) => {$(
        /// Reduces and scans the first `lanes` values of each warp, or all where it has less; the other threads'
        /// results stay.
        ///
        /// # Safety
        /// Launched in one dimension. All parameters have one element per thread.
        #[kernel]
        pub unsafe fn $warp(values: &[$t], lanes: u32, reduced: *mut $t, inclusive: *mut $t, exclusive: *mut $t, total: *mut $t) {
            // SAFETY: launched in one dimension, with one element per thread in each array (this kernel's contract).
            unsafe { probe_warp(values, lanes, $op, Results { reduced, inclusive, exclusive, total }) }
        }

        /// Reduces and scans the values of each block.
        ///
        /// # Safety
        /// Launched in one dimension. All parameters have one element per thread.
        #[kernel]
        pub unsafe fn $block(values: &[$t], reduced: *mut $t, inclusive: *mut $t, exclusive: *mut $t, total: *mut $t) {
            // SAFETY: launched in one dimension, with one element per thread in each array (this kernel's contract);
            // the storage is new.
            unsafe { probe_block(values, $op, Results { reduced, inclusive, exclusive, total }, shared_array![$t; STORAGE]) }
        }

        /// Reduces and scans the values of each block, [`ITEMS`] per thread.
        ///
        /// # Safety
        /// Launched in one dimension. `reduced` and `total` have one element per thread, the others [`ITEMS`].
        #[kernel]
        pub unsafe fn $block_items(values: &[$t], reduced: *mut $t, inclusive: *mut $t, exclusive: *mut $t, total: *mut $t) {
            // SAFETY: launched in one dimension, with an element or [`ITEMS`] per thread in each array (this kernel's
            // contract); the storage is new.
            unsafe {
                probe_block_items(values, $op, Results { reduced, inclusive, exclusive, total }, shared_array![$t; STORAGE]);
            }
        }
    )*};
}
probes! {
    warp_sum_u32 block_sum_u32 block_items_sum_u32: u32, Sum;
    warp_min_i32 block_min_i32 block_items_min_i32: i32, Min;
    warp_max_u64 block_max_u64 block_items_max_u64: u64, Max;
    warp_sum_f64 block_sum_f64 block_items_sum_f64: f64, Sum;
    warp_affine_u32 block_affine_u32 block_items_affine_u32: u32, WithIdentity { operator: compose, identity: SAME };
}

/// The histogram of each block's bins, `counts[block][bin]`.
///
/// # Safety
/// Launched in one dimension, with `4 * bins` bytes of dynamic shared memory. `of_threads` has one element per thread,
/// `counts` `bins` per block.
#[kernel]
pub unsafe fn histogram(of_threads: &[u32], bins: u32, counts: *mut u32) {
    let bin = of_threads[thread::index_1d() as usize];
    // SAFETY: the memory has the bins' size, and each step is followed by a barrier. The block's counts are its own.
    unsafe {
        let histogram = Histogram::new(dynamic_shared(), bins);
        histogram.clear(thread::block_dim_x());
        thread::sync_threads();
        histogram.add(bin);
        thread::sync_threads();
        let own = counts.add(thread::block_idx_x() as usize * bins as usize);
        let mut bin = thread::thread_idx_x();
        while bin < bins {
            own.add(bin as usize).write(histogram.count(bin));
            bin += thread::block_dim_x();
        }
    }
}
