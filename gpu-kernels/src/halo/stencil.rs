//! The step: `next = here + rate * (the sum of the six neighbours - 6 * here)`.

use super::Brick;
use cuda_std::prelude::*;

/// Planes that a thread of [`interior`](fn@interior) goes through.
pub const PLANES: u32 = 8;

/// The threads in x and y of a block of [`interior`](fn@interior) that are fast on GPUs.
pub const TILE: (u32, u32) = (32, 8);

/// The grid of [`interior`](fn@interior) for blocks of [`TILE`].
pub const fn interior_grid(brick: Brick) -> (u32, u32, u32) {
    const fn blocks(extent: u32, block: u32) -> u32 {
        extent.saturating_sub(2).div_ceil(block)
    }
    (blocks(brick.nx, TILE.0), blocks(brick.ny, TILE.1), blocks(brick.nz, PLANES))
}

/// # Safety
/// `at` and its six neighbours are in `cells`, and are not written meanwhile; `at` is in `next`, and is no other
/// thread's.
#[inline(always)]
unsafe fn step(brick: Brick, cells: *const f64, next: *mut f64, rate: f64, at: usize, [below, here, above]: [f64; 3]) {
    let row = brick.row();
    // SAFETY: `at` and its neighbours are in `cells` and aren't written meanwhile; nobody else accesses `at` in `next`
    // (this function's contract).
    unsafe {
        let x = *cells.add(at - 1) + *cells.add(at + 1);
        let y = *cells.add(at - row) + *cells.add(at + row);
        next.add(at).write(here + rate * (x + y + (below + above) - 6.0 * here));
    }
}

/// The step of all cells but the outermost: `next` gets them at their places.
///
/// Blocks of two dimensions; a grid that has a thread for each cell of a plane but the outermost, from cell (1, 1) on,
/// times one block for each [`PLANES`] planes between the outermost.
///
/// # Safety
/// `cells` and `next` are arrays of the brick and its ghost cells; nothing writes the brick's cells in `cells`
/// meanwhile, nor reads or writes its inner cells in `next`.
#[kernel(max_threads = 256)]
pub unsafe fn interior(cells: *const f64, next: *mut f64, nx: u32, ny: u32, nz: u32, rate: f64) {
    let brick = Brick { nx, ny, nz };
    let x = 1 + thread::block_idx_x() * thread::block_dim_x() + thread::thread_idx_x();
    let y = 1 + thread::block_idx_y() * thread::block_dim_y() + thread::thread_idx_y();
    let z = 1 + thread::block_idx_z() * PLANES;
    if x + 1 >= nx || y + 1 >= ny {
        return;
    }
    let plane = brick.plane();
    let mut at = brick.at(x, y, z);
    let mut left = PLANES.min((nz - 1).saturating_sub(z));
    // SAFETY: (x, y) is no outermost cell of its plane, nor are the planes up to the last of `left`, so that all
    // neighbours are cells of the brick; threads have different columns or planes. Nothing writes the cells that are
    // read, nor accesses those that are written (this kernel's contract).
    unsafe {
        let (mut below, mut here) = (*cells.add(at - plane), *cells.add(at));
        while left > 0 {
            let above = *cells.add(at + plane);
            step(brick, cells, next, rate, at, [below, here, above]);
            (below, here) = (here, above);
            at += plane;
            left -= 1;
        }
    }
}

/// The step of the outermost cells, which takes the ghost cells: `next` gets them at their places. A thread for each
/// cell of the shell.
///
/// # Safety
/// `cells` and `next` are arrays of the brick and its ghost cells; nothing writes `cells` meanwhile, nor reads or
/// writes the brick's outermost cells in `next`.
#[kernel(max_threads = 256)]
pub unsafe fn shell(cells: *const f64, next: *mut f64, nx: u32, ny: u32, nz: u32, rate: f64) {
    let brick = Brick { nx, ny, nz };
    let index = thread::block_idx_x() * thread::block_dim_x() + thread::thread_idx_x();
    if index >= brick.shell_len() {
        return;
    }
    let (x, y, z) = brick.shell_cell(index);
    let (at, plane) = (brick.at(x, y, z), brick.plane());
    // SAFETY: the cell is the brick's, so that all neighbours are in the array; each index has another cell. Nothing
    // writes the cells that are read, nor accesses those that are written (this kernel's contract).
    unsafe {
        let column = [*cells.add(at - plane), *cells.add(at), *cells.add(at + plane)];
        step(brick, cells, next, rate, at, column);
    }
}
