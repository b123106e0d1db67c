//! Totals: sums of consecutive values, in an order that depends on their number alone.

use super::Scalar;
use crate::collectives::block::{Block, STORAGE};
use cuda_std::prelude::*;

/// Partial sums that a thread has under way at a time, so that loads don't wait for one another.
const STREAMS: usize = 8;

/// `out[i]` is `factor` times the sum of `values[offsets[i]..offsets[i + 1]]`. A block for each, of any number of
/// warps.
///
/// # Safety
/// There are as many values, and room in `out`.
#[kernel(for T in [f32, f64], max_threads = 1024)]
pub unsafe fn sums<T: Scalar>(values: *const T, offsets: &[u32], factor: T, out: *mut T) {
    let (range, thread, threads) =
        (thread::block_idx_x() as usize, thread::thread_idx_x() as usize, thread::block_dim_x() as usize);
    // SAFETY: offsets are of values, and there is room (this kernel's contract); the block is one-dimensional, and uses
    // its shared array once.
    unsafe {
        let (start, end) = (*offsets.get_unchecked(range) as usize, *offsets.get_unchecked(range + 1) as usize);
        let mut sums = [T::ZERO; STREAMS];
        let mut at = start + thread;
        while at < end {
            for (k, sum) in sums.iter_mut().enumerate() {
                let at = at + k * threads;
                if at < end {
                    *sum = *sum + *values.add(at);
                }
            }
            at += STREAMS * threads;
        }
        let mine = ((sums[0] + sums[1]) + (sums[2] + sums[3])) + ((sums[4] + sums[5]) + (sums[6] + sums[7]));
        let total = Block::new(shared_array![T; STORAGE]).reduce(mine, T::add);
        if thread == 0 {
            *out.add(range) = total * factor;
        }
    }
}
