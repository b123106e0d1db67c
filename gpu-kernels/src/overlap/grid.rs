//! The order of many poses by the cells of a uniform grid: a counting sort.
//!
//! Cells are as wide as the widest pair of poses that may overlap reaches, or wider where a packing's extent would make
//! too many of them. Poses are counted by cell, the counts are scanned, and each pose goes to its cell's next place;
//! then poses are ranked within their cells, so that the order is the same each time.

use super::{
    Scalar,
    clip::Point,
    layout::Frame,
    transform::{Source, circle, image},
};
use crate::collectives::block::{Block, STORAGE};
use cuda_std::prelude::*;

/// The most threads of a block that looks for an extent.
pub const EXTENT_THREADS: u32 = 256;
/// The most blocks that look for the extent of one packing.
pub const MOST_EXTENTS: u32 = 128;

/// The extent of all threads' extents, for each of them.
///
/// # Safety
/// All threads of the block come here, once. They are whole warps.
#[inline(always)]
unsafe fn reduce_extents<T: Scalar>(low: Point<T>, high: Point<T>) -> (Point<T>, Point<T>) {
    // One for each number of an extent.
    let storages = (shared_array![T; STORAGE], shared_array![T; STORAGE], shared_array![T; STORAGE], shared_array![T; STORAGE]);
    // SAFETY: all threads of the block come here, and each array is used once.
    unsafe {
        (
            Point::new(Block::new(storages.0).reduce(low.x, math::min), Block::new(storages.1).reduce(low.y, math::min)),
            Point::new(Block::new(storages.2).reduce(high.x, math::max), Block::new(storages.3).reduce(high.y, math::max)),
        )
    }
}

/// The centre of a pose's enclosing circle.
///
/// # Safety
/// The source has this pose, and its shape.
#[inline(always)]
unsafe fn center<T: Scalar>(source: &Source<'_, T>, pose: u32) -> Point<T> {
    // SAFETY: the source has this pose, and its shape (this function's contract).
    unsafe {
        let (position, theta) = source.pose(pose);
        circle(position, theta.sin_cos(), &source.shape(pose)).center
    }
}

/// The extent of each packing's poses (by their circles' centres): low x and y, high x and y from each block along the
/// grid's y, for each packing along its x. Blocks are of whole warps, [`EXTENT_THREADS`] at most.
///
/// # Safety
/// There are poses and shapes as the arrays say, packing p's from `offsets[p]` to `offsets[p + 1]`, and room in
/// `extents`.
#[kernel(for T in [f32, f64], max_threads = 256)]
pub unsafe fn extent<T: Scalar>(source: Source<'_, T>, offsets: &[u32], extents: *mut T) {
    let (packing, parts) = (thread::block_idx_x() as usize, thread::grid_dim_y());
    let (part, threads) = (thread::block_idx_y(), thread::block_dim_x());
    // SAFETY: the arrays fit each other, and have room (this kernel's contract).
    unsafe {
        let (start, end) = (*offsets.get_unchecked(packing), *offsets.get_unchecked(packing + 1));
        let mut low = Point::new(T::INFINITY, T::INFINITY);
        let mut high = Point::new(-T::INFINITY, -T::INFINITY);
        let mut pose = start + part * threads + thread::thread_idx_x();
        while pose < end {
            let center = center(&source, pose);
            low = Point::new(math::min(low.x, center.x), math::min(low.y, center.y));
            high = Point::new(math::max(high.x, center.x), math::max(high.y, center.y));
            pose += parts * threads;
        }
        let (low, high) = reduce_extents(low, high);
        if thread::thread_idx_x() == 0 {
            let to = extents.add(4 * (packing * parts as usize + part as usize));
            *to = low.x;
            *to.add(1) = low.y;
            *to.add(2) = high.x;
            *to.add(3) = high.y;
        }
    }
}

/// Each packing's frame: cells of at least `reach`, as many as from `capacity[p]` to `capacity[p + 1]` at most. A block
/// for each packing, of whole warps, [`MOST_EXTENTS`] threads at most: one at least for each of its `parts` extents.
///
/// # Safety
/// There are so many extents for each packing, one at least, and room for its frame.
#[kernel(for T in [f32, f64], max_threads = 128)]
pub unsafe fn frame<T: Scalar>(extents: *const T, parts: u32, reach: T, capacity: &[u32], frames: *mut Frame<T>) {
    let (packing, thread) = (thread::block_idx_x() as usize, thread::thread_idx_x() as usize);
    // SAFETY: the arrays fit each other, and have room (this kernel's contract).
    unsafe {
        // Threads beyond the last extent take it again.
        let parts = parts as usize;
        let extent = extents.add(4 * (packing * parts + thread.min(parts - 1)));
        let low = Point::new(*extent, *extent.add(1));
        let high = Point::new(*extent.add(2), *extent.add(3));
        let (low, high) = reduce_extents(low, high);
        if thread != 0 {
            return;
        }
        let (first, next) = (*capacity.get_unchecked(packing), *capacity.get_unchecked(packing + 1));
        let size = high.minus(low);
        let most = u64::from(next - first);
        // Cells are a little larger than the reach, by a bound on rounding.
        let far = math::max(math::max(math::abs(low.x), math::abs(low.y)), math::max(math::abs(high.x), math::abs(high.y)));
        let mut width = math::mul_add(T::from_f64(32.0) * T::EPSILON, far, reach * T::from_f64(1.000_01));
        // Of NaN, and of nothing, there is one cell.
        let count = |width: T| [size.x, size.y].map(|size| math::floor(size / width).to_i32().max(0) as u32 + 1);
        let mut cells = count(width);
        // Growth ends: a width beyond the extent gives one cell.
        while u64::from(cells[0]) * u64::from(cells[1]) > most {
            width = width * T::from_f64(1.25);
            cells = count(width);
        }
        let inverse = T::ONE / width;
        *frames.add(packing) = Frame {
            origin: low,
            inverse: [Point::new(inverse, T::ZERO), Point::new(T::ZERO, inverse)],
            lattice: [Point::ORIGIN; 2],
            cells,
            reach: [1, 1],
            first_cell: first,
            periodic: 0,
        };
    }
}

/// Counts the poses of each cell. Each pose gets its cell and a number within it. A thread for each pose.
///
/// # Safety
/// There are `n` poses in packings with frames, room for their cells and numbers, and a zero for each cell.
#[kernel(for T in [f32, f64], max_threads = 128)]
pub unsafe fn bin<T: Scalar>(
    n: u32,
    source: Source<'_, T>,
    packing_of: &[u32],
    frames: &[Frame<T>],
    counts: *mut u32,
    cell_of: *mut u32,
    number_in_cell: *mut u32,
) {
    let pose = thread::index_1d();
    if pose >= n {
        return;
    }
    // SAFETY: the arrays fit each other, and have room (this kernel's contract); counts are raised atomically.
    unsafe {
        let frame = frames.get_unchecked(*packing_of.get_unchecked(pose as usize) as usize);
        let mut center = center(&source, pose);
        if frame.periodic != 0 {
            // As phase one brings the pose into the lattice's cell.
            center = center.minus(image(center, frame).1);
        }
        let cell = frame.cell_number(center);
        *cell_of.add(pose as usize) = cell;
        *number_in_cell.add(pose as usize) = atomic::device::fetch_add(counts.add(cell as usize), 1);
    }
}

/// Brings poses to their cells' places, in any order: `list[starts[cell] + number] = pose`. A thread for each pose.
///
/// # Safety
/// Cells and numbers are what counting gave, `starts` are the sums of the counts before, and `list` has room for all
/// poses.
#[kernel(max_threads = 128)]
pub unsafe fn scatter(cell_of: &[u32], number_in_cell: *const u32, starts: *const u32, list: *mut u32) {
    let pose = thread::index_1d();
    let Some(&cell) = cell_of.get(pose as usize) else { return };
    // SAFETY: each pose has a number, and each cell a start; their sums are all different, and places of `list` (this
    // kernel's contract).
    unsafe { *list.add((*starts.add(cell as usize) + *number_in_cell.add(pose as usize)) as usize) = pose }
}

/// Orders poses within their cells by number: `order[row] = pose`. A thread for each pose, which counts those before
/// it.
///
/// # Safety
/// `list` is what [`scatter`](fn@scatter) made, and `order` has room for all poses.
#[kernel(max_threads = 128)]
pub unsafe fn rank(cell_of: &[u32], starts: *const u32, list: *const u32, order: *mut u32) {
    let pose = thread::index_1d();
    let Some(&cell) = cell_of.get(pose as usize) else { return };
    // SAFETY: `list` has all poses, by cells, so that each gets its own place in `order`, which has
    // room for all (this kernel's contract).
    unsafe {
        let (start, end) = (*starts.add(cell as usize), *starts.add(cell as usize + 1));
        let mut before = start;
        for other in start..end {
            before += u32::from(*list.add(other as usize) < pose);
        }
        *order.add(before as usize) = pose;
    }
}
