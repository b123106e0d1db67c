//! Kernels that call the collectives of a warp and of a block once for each thread and store what they return: what the
//! integration tests compare with plain loops, on every backend.

use super::{
    Identity, Max, Min, Op, Scan, Sum,
    block::{Block, STORAGE, Storage},
    histogram::Histogram,
    warp::{self, Lanes, Shuffle},
};
use cuda_std::{dynamic_shared, kernel, shared_array, thread, warp::lane_id};

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

/// [`compose`] as an operator.
#[derive(Debug, Clone, Copy)]
pub struct Compose;

impl Op<u32> for Compose {
    #[inline(always)]
    fn apply(self, left: u32, right: u32) -> u32 {
        compose(left, right)
    }
}

impl Identity<u32> for Compose {
    #[inline(always)]
    fn identity(self) -> u32 {
        SAME
    }
}

/// # Safety
/// Launched in one dimension. `values` and all results have one element per thread.
#[inline(always)]
unsafe fn probe_warp<T: Shuffle, O: Identity<T>>(values: &[T], lanes: u32, op: O, results: [*mut T; 4]) {
    if lane_id() >= lanes {
        return;
    }
    let lanes = Lanes::first(lanes.min(Lanes::of_block(thread::block_dim_x()).count()));
    let index = thread::index_1d() as usize;
    let value = values[index];
    let scan = warp::exclusive_scan(lanes, value, op);
    // SAFETY: the thread's own elements.
    unsafe {
        let [reduced, inclusive, exclusive, total] = results.map(|result| result.add(index));
        reduced.write(warp::reduce(lanes, value, op));
        inclusive.write(warp::inclusive_scan(lanes, value, op));
        exclusive.write(scan.prefix);
        total.write(scan.total);
    }
}

/// # Safety
/// Launched in one dimension. `values` and all results have one element per thread; the storage is for this call alone.
#[inline(always)]
unsafe fn probe_block<T: Shuffle, O: Identity<T>>(values: &[T], op: O, results: [*mut T; 3], storage: Storage<T>) {
    let index = thread::index_1d() as usize;
    let value = values[index];
    // SAFETY: one-dimensional blocks without threads that have left; a barrier between any two uses
    // of the storage. A thread writes its own elements.
    unsafe {
        let block = Block::new(storage);
        let [reduced, exclusive, of_all] = results.map(|result| result.add(index));
        reduced.write(block.reduce(value, op));
        thread::sync_threads();
        let Scan { prefix, total } = block.exclusive_scan(value, op);
        exclusive.write(prefix);
        // Another element of the storage: no barrier.
        of_all.write(block.broadcast(total, block.threads() - 1));
    }
}

macro_rules! probes {
    ($($warp:ident $block:ident: $t:ty, $op:expr;)*) => {$(
        /// Reduces and scans the first `lanes` values of each warp, or all where it has less; the other threads'
        /// results stay.
        ///
        /// # Safety
        /// Launched in one dimension. All parameters have one element per thread.
        #[kernel]
        pub unsafe fn $warp(values: &[$t], lanes: u32, reduced: *mut $t, inclusive: *mut $t, exclusive: *mut $t, total: *mut $t) {
            // SAFETY: launched in one dimension, with one element per thread in each array (this kernel's contract).
            unsafe { probe_warp(values, lanes, $op, [reduced, inclusive, exclusive, total]) }
        }

        /// Reduces and scans the values of each block.
        ///
        /// # Safety
        /// Launched in one dimension. All parameters have one element per thread.
        #[kernel]
        pub unsafe fn $block(values: &[$t], reduced: *mut $t, exclusive: *mut $t, total: *mut $t) {
            // SAFETY: launched in one dimension, with one element per thread in each array (this kernel's contract);
            // the storage is new.
            unsafe { probe_block(values, $op, [reduced, exclusive, total], shared_array![$t; STORAGE]) }
        }
    )*};
}
probes! {
    warp_sum_u32 block_sum_u32: u32, Sum;
    warp_min_i32 block_min_i32: i32, Min;
    warp_max_u64 block_max_u64: u64, Max;
    warp_sum_f64 block_sum_f64: f64, Sum;
    warp_affine_u32 block_affine_u32: u32, Compose;
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
