//! Faces: out of the brick, and into the ghost cells.
//!
//! An array of faces in a dimension has the face on the side of 0 first and then the other one, or one of them alone:
//! `first` is 1 where it starts with the other.

use super::Brick;
use cuda_std::prelude::*;

/// Returns the index of the cell that element `index` of an array of faces is copied from or to.
#[inline(always)]
fn place(brick: Brick, dimension: u32, first: u32, ghost: bool, index: u32) -> usize {
    let len = brick.face_len(dimension);
    let (high, index) = if index >= len { (true, index - len) } else { (first == 1, index) };
    brick.face_at(dimension, high, ghost, index)
}

/// Copies the brick's outermost cells in dimension 0, 1 or 2 to `faces`: both faces, or one, over a grid of any size.
///
/// # Safety
/// `cells` is an array of the brick and its ghost cells, and nothing writes the brick's cells meanwhile. `faces` has
/// one or two faces, and two only where `first` is 0.
#[kernel(max_threads = 256)]
pub unsafe fn pack(cells: *const f64, mut faces: DisjointSlice<f64>, nx: u32, ny: u32, nz: u32, dimension: u32, first: u32) {
    let brick = Brick { nx, ny, nz };
    for (index, face) in faces.grid_stride_mut() {
        // SAFETY: two faces have fewer than 2^32 cells, and each cell is in the array, of the brick and its ghost
        // cells, where nothing writes it meanwhile (this kernel's contract).
        *face = unsafe { *cells.add(place(brick, dimension, first, false, index as u32)) };
    }
}

/// Copies `faces`, one or two, to the ghost cells in dimension 0, 1 or 2. A thread for each element.
///
/// # Safety
/// `cells` is an array of the brick and its ghost cells, and nothing else reads or writes these ghost cells meanwhile.
/// `faces` has one or two faces, and two only where `first` is 0.
#[kernel(max_threads = 256)]
pub unsafe fn unpack(faces: &[f64], cells: *mut f64, nx: u32, ny: u32, nz: u32, dimension: u32, first: u32) {
    let brick = Brick { nx, ny, nz };
    let index = thread::block_idx_x() * thread::block_dim_x() + thread::thread_idx_x();
    if let Some(&face) = faces.get(index as usize) {
        // SAFETY: each element has its own ghost cell, which is in the array and which nothing else accesses meanwhile
        // (this kernel's contract).
        unsafe { cells.add(place(brick, dimension, first, true, index)).write(face) };
    }
}
