//! Multiplication of a sparse matrix with a vector, y = A x, and what it takes over ranks: packing entries of x, adding
//! two results.
//!
//! Matrices are in compressed sparse rows (CSR): row i has the nonzeros `row_ptr[i]..row_ptr[i +
//! 1]`, each with a column and a value. Both are read once, so that a multiplication is as fast as
//! memory at best; in between, an entry of x for each nonzero comes from wherever it is. Speed
//! depends on many of these loads being under way at a time.
//!
//! There are two kernels for each precision:
//! - [`tiles`]: a block of threads takes consecutive rows with a limited number of nonzeros, multiplies them in the
//!   order of memory whatever their rows, and then adds up each row in shared memory. A row that is too long for a
//!   block is spread over several ([`tiles::long_rows()`] adds up what they find), so that no row is ever waited
//!   for;
//! - [`rows`]: 1 to 32 lanes of a warp take a row. For rows of about equal lengths that are long, and for CPUs.
//!
//! No atomics: a result is the same bits each time.
//!
//! Sources: N. Bell and M. Garland, *Implementing sparse matrix-vector multiplication on throughput-oriented
//! processors*, SC 2009, for lanes that share a row; J. L. Greathouse and M. Daga, *Efficient sparse matrix-vector
//! multiplication on GPUs using the CSR storage format*, SC 2014, for blocks of rows that go through shared memory; D.
//! Merrill and M. Garland, *Merge-based parallel sparse matrix-vector multiplication*, SC 2016, for bounds on rows as
//! well as on nonzeros, and for long rows that are divided.

use crate::number::Number;
use cuda_std::{
    KernelParam,
    mem::Word,
    warp::{FULL_MASK, Shuffle, shuffle_xor},
};

pub mod rows;
pub mod tiles;
pub mod vector;

/// The type of a matrix's values: `f32` or `f64`.
pub trait Scalar: Number + Shuffle + Word {}
impl<T: Number + Shuffle + Word> Scalar for T {}

/// A matrix in compressed sparse rows, as the kernels get it.
#[derive(Clone, Copy, Debug, KernelParam)]
pub struct Matrix<'a, T> {
    /// The start of each row's nonzeros, and, in one element more, the end of the last row's.
    pub row_ptr: &'a [u32],
    /// Each nonzero's column.
    pub columns: &'a [u32],
    /// Each nonzero's value.
    pub values: &'a [T],
}

/// The sum over groups of 2^`log_lanes` neighbouring lanes of a full warp, for each lane of a group; all lanes come
/// here together.
#[inline(always)]
#[cfg_attr(not(cuda_device), track_caller)]
fn sum_of_group<T: Scalar>(value: T, log_lanes: u32) -> T {
    let mut sum = value;
    let mut distance = (1 << log_lanes) >> 1;
    while distance > 0 {
        sum = sum + shuffle_xor(FULL_MASK, sum, distance);
        distance >>= 1;
    }
    sum
}
