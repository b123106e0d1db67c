//! Lanes that share a row.

use super::{Matrix, Scalar, sum_of_group};
use cuda_std::prelude::*;

/// y = A x. 2^`log_lanes` threads for each row, 32 at most, over one-dimensional grids and blocks of whole warps.
///
/// # Safety
/// The matrix's `row_ptr` ascends from 0 to the number of columns and values, every column is an index of `x`, and `y`
/// has room for one value fewer than `row_ptr` has.
#[kernel(for T in [f32, f64], max_threads = 256)]
pub unsafe fn multiply<T: Scalar>(matrix: Matrix<'_, T>, x: &[T], y: *mut T, log_lanes: u32) {
    // More threads than 32 bits can count are possible.
    let thread = thread::block_idx_x() as usize * thread::block_dim_x() as usize + thread::thread_idx_x() as usize;
    let (row, lanes) = (thread >> log_lanes, 1usize << log_lanes);
    let lane = thread & (lanes - 1);
    let exists = row + 1 < matrix.row_ptr.len();
    // SAFETY: `row` is below the number of rows, and `y` has room for all rows; every `at` is below
    // the number of nonzeros, and every column is an index of `x` (this kernel's contract). One
    // lane of each group writes its row.
    unsafe {
        let mut sum = T::ZERO;
        if exists {
            let end = *matrix.row_ptr.get_unchecked(row + 1) as usize;
            let mut at = *matrix.row_ptr.get_unchecked(row) as usize + lane;
            while at < end {
                let column = *matrix.columns.get_unchecked(at) as usize;
                sum = sum + *matrix.values.get_unchecked(at) * *x.get_unchecked(column);
                at += lanes;
            }
        }
        let sum = sum_of_group(sum, log_lanes);
        if exists && lane == 0 {
            y.add(row).write(sum);
        }
    }
}
