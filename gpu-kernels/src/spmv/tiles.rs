//! Blocks of threads that share tiles: consecutive rows of together at most [`ITEMS`] nonzeros per thread, or part of a
//! longer row.
//!
//! A thread loads its columns, then its values, then the entries of x, all of them before it waits for the first.
//! Products go to shared memory, from where a few lanes add up each row: as many as there are threads for.
//!
//! `min_blocks = 6` is what keeps the loads together. Without it the assembler makes room for eight blocks of 256
//! threads, by loading half of the entries only after the other half's products.

use super::{Matrix, Scalar, sum_of_group};
use crate::collectives::block::{Block, STORAGE};
use bytemuck::{Pod, Zeroable};
use cuda_std::prelude::*;

/// Nonzeros that a thread multiplies.
pub const ITEMS: u32 = 4;

/// The most threads of a block.
pub const MAX_THREADS: u32 = 256;

/// The work of a block.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Pod, Zeroable)]
#[repr(transparent)]
pub struct Tile(U32x4);

impl Tile {
    /// All nonzeros of `rows` rows from `row` on: `nonzeros` from `first` on. 2^`log_lanes` lanes (32 at most) add up
    /// each.
    #[inline(always)]
    pub const fn of_rows(row: u32, rows: u32, first: u32, nonzeros: u32, log_lanes: u32) -> Self {
        Tile(U32x4::new(row, rows | log_lanes << 16, first, nonzeros))
    }

    /// `nonzeros` of one row, from `first` on. Their sum goes to `partials[partial]`.
    #[inline(always)]
    pub const fn of_long_row(partial: u32, first: u32, nonzeros: u32) -> Self {
        Tile(U32x4::new(partial, 0, first, nonzeros))
    }

    /// The first row, or the index of the partial sum.
    #[inline(always)]
    pub const fn row(self) -> u32 {
        self.0.x
    }

    /// The number of rows; 0 for part of a long one.
    #[inline(always)]
    pub const fn rows(self) -> u32 {
        self.0.y & 0xffff
    }

    /// The logarithm of the number of lanes that add up a row.
    #[inline(always)]
    pub const fn log_lanes(self) -> u32 {
        self.0.y >> 16
    }

    /// The first nonzero.
    #[inline(always)]
    pub const fn first(self) -> u32 {
        self.0.z
    }

    /// The number of nonzeros.
    #[inline(always)]
    pub const fn nonzeros(self) -> u32 {
        self.0.w
    }
}

/// Returns the range of a row's products in the tile; empty for a row beyond the tile's.
///
/// # Safety
/// The tile's rows are in `row_ptr`.
#[inline(always)]
unsafe fn bounds(row_ptr: &[u32], tile: Tile, row: u32) -> (u32, u32) {
    if row >= tile.rows() {
        return (0, 0);
    }
    let at = (tile.row() + row) as usize;
    // SAFETY: the tile's rows are in `row_ptr` (this function's contract), which has one element more than rows.
    unsafe { (*row_ptr.get_unchecked(at) - tile.first(), *row_ptr.get_unchecked(at + 1) - tile.first()) }
}

/// y = A x. A block for each tile: of one dimension, of 32 to [`MAX_THREADS`] threads, a multiple
/// of 32, with shared memory for [`ITEMS`] values per thread. The tiles' sums of long rows go to
/// `partials`.
///
/// # Safety
/// No tile has more nonzeros than the block has room for. The tiles' rows are in `row_ptr`, which says where their
/// nonzeros are, and which these are has the tile. All columns are indices of `x`; `y` has room for all rows of tiles,
/// and `partials` for those of the long ones.
#[kernel(for T in [f32, f64], max_threads = 256, min_blocks = 6)]
pub unsafe fn multiply<T: Scalar>(tiles: &[Tile], matrix: Matrix<'_, T>, x: &[T], y: *mut T, partials: *mut T) {
    let products = dynamic_shared::<T>();
    let (thread, threads) = (thread::thread_idx_x(), thread::block_dim_x());
    // SAFETY: there are as many blocks as tiles, whose nonzeros exist. Threads beyond the last
    // nonzero repeat it, and their places in shared memory exist, too. Each thread writes its own
    // places, and those of others are read after the barrier. Each group of lanes writes its own
    // row.
    unsafe {
        let tile = *tiles.get_unchecked(thread::block_idx_x() as usize);
        let (zero, nonzeros) = (T::ZERO, tile.nonzeros());
        let [at_0, at_1, at_2, at_3] = [thread, thread + threads, thread + 2 * threads, thread + 3 * threads];
        let (mut p_0, mut p_1, mut p_2, mut p_3) = (zero, zero, zero, zero);
        let (log_lanes, lane) = (tile.log_lanes(), thread & ((1 << tile.log_lanes()) - 1));
        let mut row = thread >> log_lanes;
        let mut of_row = (0, 0);
        if nonzeros > 0 {
            let first = tile.first() as usize;
            let (columns, values) = (matrix.columns.as_ptr().add(first), matrix.values.as_ptr().add(first));
            let last = nonzeros - 1;
            let [i_0, i_1, i_2, i_3] =
                [at_0.min(last) as usize, at_1.min(last) as usize, at_2.min(last) as usize, at_3.min(last) as usize];
            let (c_0, c_1) = (mem::load_streaming(columns.add(i_0)), mem::load_streaming(columns.add(i_1)));
            let (c_2, c_3) = (mem::load_streaming(columns.add(i_2)), mem::load_streaming(columns.add(i_3)));
            let (v_0, v_1) = (mem::load_streaming(values.add(i_0)), mem::load_streaming(values.add(i_1)));
            let (v_2, v_3) = (mem::load_streaming(values.add(i_2)), mem::load_streaming(values.add(i_3)));
            of_row = bounds(matrix.row_ptr, tile, row);
            let (x_0, x_1) = (*x.get_unchecked(c_0 as usize), *x.get_unchecked(c_1 as usize));
            let (x_2, x_3) = (*x.get_unchecked(c_2 as usize), *x.get_unchecked(c_3 as usize));
            (p_0, p_1, p_2, p_3) = (v_0 * x_0, v_1 * x_1, v_2 * x_2, v_3 * x_3);
        }
        if tile.rows() == 0 {
            let of = |at: u32, product: T| if at < nonzeros { product } else { zero };
            let mine = (of(at_0, p_0) + of(at_1, p_1)) + (of(at_2, p_2) + of(at_3, p_3));
            let sum = Block::new(shared_array![T; STORAGE]).reduce(mine, |a: T, b: T| a + b);
            if thread == 0 {
                partials.add(tile.row() as usize).write(sum);
            }
            return;
        }
        products.add(at_0 as usize).write(p_0);
        products.add(at_1 as usize).write(p_1);
        products.add(at_2 as usize).write(p_2);
        products.add(at_3 as usize).write(p_3);
        thread::sync_threads();
        let groups = threads >> log_lanes;
        // All lanes of a warp go round as often.
        let mut before = 0;
        while before < tile.rows() {
            let (mut at, end) = (of_row.0 + lane, of_row.1);
            let mut sum = zero;
            while at < end {
                sum = sum + products.add(at as usize).read();
                at += 1 << log_lanes;
            }
            let sum = sum_of_group(sum, log_lanes);
            if lane == 0 && row < tile.rows() {
                y.add((tile.row() + row) as usize).write(sum);
            }
            before += groups;
            row += groups;
            of_row = bounds(matrix.row_ptr, tile, row);
        }
    }
}

/// Adds up long rows: `y[rows[i]]` is the sum of `partials[offsets[i]..offsets[i + 1]]`. A block for each, of one
/// dimension.
///
/// # Safety
/// There is one offset more than rows; they ascend, up to the number of partial sums; the rows are in `y`.
#[kernel(for T in [f32, f64], max_threads = 256)]
pub unsafe fn long_rows<T: Scalar>(rows: &[u32], offsets: &[u32], partials: *const T, y: *mut T) {
    let (index, thread, threads) = (thread::block_idx_x() as usize, thread::thread_idx_x(), thread::block_dim_x());
    // SAFETY: the block's row is in `rows` and `y`, its partial sums are there (this kernel's contract), and the block
    // uses its shared array once.
    unsafe {
        let end = *offsets.get_unchecked(index + 1);
        let mut at = *offsets.get_unchecked(index) + thread;
        let mut mine = T::ZERO;
        while at < end {
            mine = mine + *partials.add(at as usize);
            at += threads;
        }
        let sum = Block::new(shared_array![T; STORAGE]).reduce(mine, |a: T, b: T| a + b);
        if thread == 0 {
            y.add(*rows.get_unchecked(index) as usize).write(sum);
        }
    }
}
