//! Lowest common ancestors by range minima.
//!
//! In preorder, let `up` be the preorder number of each vertex's parent. For two vertices u before v, all that come
//! after u up to v lie below their lowest common ancestor w or are v's way down from it, so that the least `up` among
//! them is w's number. Positions are in blocks of [`BLOCK`]. If u and v are in two of them, the minimum comes from those
//! behind u in its block, those up to v in its block, and the whole blocks between. A sparse table gives the third by two of
//! its entries: of each power of two of blocks from each block on. Each vertex has lower bounds of the first two in its
//! [`records()`], of 8 bytes so that caches hold many. If the third isn't greater than these, it is the minimum, and a query
//! reads the exact values otherwise. Only within a block the entries themselves are looked at.
//!
//! A root has no parent: its `up` is -1, and so is the answer for vertices of different trees.
//!
//! Source: M. A. Bender and M. Farach-Colton, *The LCA problem revisited*, LATIN 2000.

use cuda_std::prelude::*;

use crate::collectives::{
    Min,
    warp::{Lanes, inclusive_scan},
};

/// Vertices of a block: a warp's.
pub const BLOCK: usize = 32;

/// Returns the number of entries per level of the table, and of levels, for `n` vertices.
pub const fn table_size(n: usize) -> (usize, usize) {
    let blocks = n.div_ceil(BLOCK);
    (blocks, if blocks == 0 { 0 } else { blocks.ilog2() as usize + 1 })
}

/// For each position in preorder, whose vertex is in `order`: `up`; its least value behind the position up to the end of
/// the block, and from the start of the block up to the position; and that of each whole block, the table's first level. A
/// thread for each position, in blocks of whole warps.
///
/// # Safety
/// `minima` has an element for every [`BLOCK`] of `order`.
///
/// # Panics
/// Where `order` and `parent` have no vertices.
#[kernel(max_threads = 256)]
pub unsafe fn blocks(
    order: &[i32],
    parent: &[i32],
    preorder: &[i32],
    mut ups: DisjointSlice<i32>,
    mut ends: DisjointSlice<I32x2>,
    minima: *mut i32,
) {
    let position = thread::index_1d() as usize;
    let up = order.get(position).map_or(i32::MAX, |&vertex| match parent[vertex as usize] {
        parent if parent < 0 => -1,
        parent => preorder[parent as usize],
    });
    ups.set(up);
    let lane = warp::lane_id();
    let before = inclusive_scan(Lanes::FULL, up, Min);
    // From the last lane down, without the own value.
    let behind = warp::shuffle_idx(warp::FULL_MASK, up, (32 - lane) & 31);
    let behind = inclusive_scan(Lanes::FULL, if lane == 0 { i32::MAX } else { behind }, Min);
    let behind = warp::shuffle_idx(warp::FULL_MASK, behind, 31 - lane);
    ends.set(I32x2::new(behind, before));
    // The last lane has all of the block, also where it is beyond the end.
    if lane == 31 && position / BLOCK < order.len().div_ceil(BLOCK) {
        // SAFETY: the table has an element for each block (this kernel's contract), which this warp alone writes.
        unsafe { minima.add(position / BLOCK).write(before) };
    }
}

/// In place of a bound: the least `up` behind a vertex is the vertex itself, whose subtree goes on up to the end of the block.
const OWN: u32 = 0xffff;
/// Number of bits of other bounds.
const BITS: u32 = 15;

/// Returns the number of bits that bounds of numbers of `n` vertices lack.
fn lost_bits(n: usize) -> u32 {
    (usize::BITS - n.leading_zeros()).saturating_sub(BITS)
}

/// Codes a lower bound of a preorder number or -1.
fn bound(value: i32, lost_bits: u32) -> u32 {
    ((value as u32).wrapping_add(1) >> lost_bits).min((1 << BITS) - 1)
}

/// Writes the record of each vertex that queries read: its preorder number, and bounds of the least values behind it and up to
/// it. Any grid.
#[kernel(max_threads = 256)]
pub fn records(preorder: &[i32], ends: &[I32x2], mut records: DisjointSlice<U32x2>) {
    let lost_bits = lost_bits(preorder.len());
    for (vertex, record) in records.grid_stride_mut() {
        let position = preorder[vertex];
        let I32x2 { x: behind, y: before } = ends[position as usize];
        let behind = if behind == position { OWN } else { bound(behind, lost_bits) };
        *record = U32x2::new(position as u32, behind | bound(before, lost_bits) << 16);
    }
}

/// A level of the table from the one before, whose entries are minima of `width` blocks. Any grid.
#[kernel(max_threads = 256)]
pub fn level(before: &[i32], width: u32, mut minima: DisjointSlice<i32>) {
    for (block, minimum) in minima.grid_stride_mut() {
        *minimum = match before.get(block + width as usize) {
            Some(&other) => before[block].min(other),
            None => before[block],
        };
    }
}

/// The lowest common ancestor of each pair of vertices: -1 for vertices of different trees, and where there is no such
/// vertex, which sets `bad` to 1. Any grid.
///
/// # Safety
/// `bad` is valid for atomic access.
#[allow(clippy::too_many_arguments)]
#[kernel(max_threads = 256)]
pub unsafe fn query(
    pairs: &[I32x2],
    records: &[U32x2],
    order: &[i32],
    ups: &[i32],
    ends: &[I32x2],
    table: &[i32],
    mut ancestors: DisjointSlice<i32>,
    bad: *mut u32,
) {
    let (blocks, lost_bits) = (order.len().div_ceil(BLOCK), lost_bits(order.len()));
    for (i, ancestor) in ancestors.grid_stride_mut() {
        let (u, v) = (pairs[i].x as u32 as usize, pairs[i].y as u32 as usize);
        let (Some(&u), Some(&v)) = (records.get(u), records.get(v)) else {
            // SAFETY: the flag is valid for atomic access (this kernel's contract).
            unsafe { atomic::device::store(bad, 1) };
            *ancestor = -1;
            continue;
        };
        let (first, last) = if u.x < v.x { (u, v) } else { (v, u) };
        let (from, to) = (first.x as usize, last.x as usize);
        let (block, last_block) = (from / BLOCK, to / BLOCK);
        let up = if from == to {
            from as i32
        } else if block == last_block {
            let ups = ups.get(from + 1..=to).unwrap_or_default();
            ups.iter().fold(i32::MAX, |least, &up| least.min(up))
        } else {
            let between = last_block - block - 1;
            let (behind, before) = (first.y & 0xffff, last.y >> 16);
            let mut up = if behind == OWN { from as i32 } else { i32::MAX };
            if between > 0 {
                let level = between.ilog2() as usize;
                let row = level * blocks;
                up = up.min(table[row + block + 1]).min(table[row + last_block - (1 << level)]);
            }
            let least = |bound: u32| (bound << lost_bits) as i32 - 1;
            if up > least(before) || behind != OWN && up > least(behind) {
                up = up.min(ends[from].x).min(ends[to].y);
            }
            up
        };
        *ancestor = if up < 0 { -1 } else { order[up as usize] };
    }
}
