//! Totals: sums of consecutive values, in an order that depends on their number alone.

use super::Scalar;
use crate::collectives::{
    Sum,
    block::{Block, STORAGE, Storage},
};
use cuda_std::prelude::*;

/// Partial sums that a thread has under way at a time, so that loads don't wait for one another.
const STREAMS: usize = 8;

#[inline(always)]
unsafe fn run<T: Scalar>(values: *const T, offsets: &[u32], factor: T, out: *mut T, storage: Storage<T>)
where
    Sum: crate::collectives::Op<T>,
{
    let (range, thread, threads) =
        (thread::block_idx_x() as usize, thread::thread_idx_x() as usize, thread::block_dim_x() as usize);
    // SAFETY: the caller's; the block is one-dimensional, and uses the storage once.
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
        let total = Block::new(storage).reduce(mine, Sum);
        if thread == 0 {
            *out.add(range) = total * factor;
        }
    }
}

macro_rules! kernels {
    ($($(#[$doc:meta])* $name:ident: $t:ty;)*) => {$(
        $(#[$doc])*
        ///
        /// `out[i]` is `factor` times the sum of `values[offsets[i]..offsets[i + 1]]`. A block for each, of any number
        /// of warps.
        ///
        /// # Safety
        /// There are as many values, and room in `out`.
        #[kernel(max_threads = 1024)]
        pub unsafe fn $name(values: *const $t, offsets: &[u32], factor: $t, out: *mut $t) {
            // SAFETY: the caller's.
            unsafe { run(values, offsets, factor, out, shared_array![$t; STORAGE]) }
        }
    )*};
}
kernels! {
    /// Sums in single precision.
    sums_f32: f32;
    /// Sums in double precision.
    sums_f64: f64;
}
