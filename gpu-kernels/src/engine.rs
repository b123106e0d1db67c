//! The block engine's part on a device: blocks of a matrix go to their places in it, or are reduced by [`rows`].

pub mod rows;

use cuda_std::{KernelParam, prelude::*};

/// Places of a block's entries in a matrix's memory.
#[derive(Clone, Copy, Debug, KernelParam)]
pub struct Place {
    /// The block's first row and column.
    pub row: u64,
    /// See `row`.
    pub column: u64,
    /// The number of the block's lines: rows, or of a block in [`CONDENSED`] columns, one after the other.
    pub lines: u64,
    /// The entries of a line.
    pub len: u64,
    /// The number of the matrix's columns.
    pub columns: u64,
    /// [`CONDENSED`], [`PACKED`], [`SYMMETRIC`] or [`DENSE`].
    pub layout: u32,
}

/// The entries above the diagonal of a symmetric matrix, by rows, from blocks on and below it.
pub const CONDENSED: u32 = 0;
/// The entries on and below the diagonal, by rows.
pub const PACKED: u32 = 1;
/// All entries of a symmetric matrix, from blocks on and below the diagonal.
pub const SYMMETRIC: u32 = 2;
/// All entries.
pub const DENSE: u32 = 3;

/// Threads of a block of [`place()`].
pub const THREADS: u32 = 256;

/// Copies a block's entries to their places. A grid of (entries of a line / [`THREADS`], any number).
///
/// # Safety
/// `entries` are those of the block that `place` describes, of a matrix whose memory `out` is as large as the layout
/// says.
#[kernel(for T in [
    f32 { max_threads = 256 },
    f64 { max_threads = 256 },
])]
pub unsafe fn place<T: Copy>(entries: &[T], place: Place, out: *mut T) {
    let Place { row, column, lines, len, columns, layout } = place;
    let i = thread::block_idx_x() as u64 * THREADS as u64 + thread::thread_idx_x() as u64;
    if i >= len {
        return;
    }
    let mut line = thread::block_idx_y() as u64;
    while line < lines {
        let value = entries[(line * len + i) as usize];
        let (row, column) = if layout == CONDENSED { (row + i, column + line) } else { (row + line, column + i) };
        // SAFETY: (row, column) is an entry of the matrix (this kernel's contract), and these are the places that its
        // layout gives it, which no other entry has.
        unsafe {
            let put = |place: u64| out.add(place as usize).write(value);
            match layout {
                CONDENSED if row > column => put(columns * column - column * (column + 1) / 2 + row - column - 1),
                PACKED if row >= column => put(row * (row + 1) / 2 + column),
                SYMMETRIC if row >= column => {
                    put(row * columns + column);
                    put(column * columns + row);
                }
                DENSE => put(row * columns + column),
                _ => {}
            }
        }
        line += thread::grid_dim_y() as u64;
    }
}
