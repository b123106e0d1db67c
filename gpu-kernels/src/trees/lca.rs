//! Lowest common ancestors by range minima.
//!
//! In preorder, let `up` be the preorder number of each vertex's parent. For two vertices u before v, all that come
//! after u up to v lie below their lowest common ancestor w or are v's way down from it, so that the least `up` among
//! them is w's number. The minimum over a range is that over two ends of blocks of [`BLOCK`], which each position has, and
//! over the whole blocks between, which a sparse table gives by two of its entries: of each power of two of blocks from
//! each block on. Only within a block the entries themselves are looked at.
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

/// Each vertex in preorder: the preorder number of its parent, -1 for roots, and the vertex. Any grid.
///
/// # Safety
/// `preorder` is a permutation of 0 .. n, and `entries` points to n elements.
#[kernel(max_threads = 256)]
pub unsafe fn entries(parent: &[i32], preorder: &[i32], entries: *mut I32x2) {
    for v in thread::grid_stride(parent.len()) {
        let up = if parent[v] < 0 { -1 } else { preorder[parent[v] as usize] };
        // SAFETY: preorder numbers are below n, and different.
        unsafe { entries.add(preorder[v] as usize).write(I32x2::new(up, v as i32)) };
    }
}

/// The least `up` from each entry's block's start up to the entry, and from the entry up to its block's end; and of each
/// whole block, the table's first level. A thread for each entry, in blocks of whole warps.
///
/// # Safety
/// `minima` has an element for every [`BLOCK`] of the entries, and `ends` one for each.
#[kernel(max_threads = 256)]
pub unsafe fn blocks(entries: &[I32x2], mut ends: DisjointSlice<I32x2>, minima: *mut i32) {
    let position = thread::index_1d() as usize;
    let up = entries.get(position).map_or(i32::MAX, |entry| entry.x);
    let reversed = |value: i32| warp::shuffle_idx(warp::FULL_MASK, value, 31 - warp::lane_id());
    let before = inclusive_scan(Lanes::FULL, up, Min);
    let after = reversed(inclusive_scan(Lanes::FULL, reversed(up), Min));
    ends.set(I32x2::new(before, after));
    // The last lane has all of the block, also where it is beyond the end.
    if warp::lane_id() == 31 && position / BLOCK < entries.len().div_ceil(BLOCK) {
        // SAFETY: the table has an element for each block (this kernel's contract), which this warp alone writes.
        unsafe { minima.add(position / BLOCK).write(before) };
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
/// vertex, which is counted in `bad`. Any grid.
///
/// # Safety
/// `bad` is valid for atomic access.
#[kernel(max_threads = 256)]
pub unsafe fn query(
    pairs: &[I32x2],
    preorder: &[i32],
    entries: &[I32x2],
    ends: &[I32x2],
    table: &[i32],
    mut ancestors: DisjointSlice<i32>,
    bad: *mut u32,
) {
    let blocks = entries.len().div_ceil(BLOCK);
    for (i, ancestor) in ancestors.grid_stride_mut() {
        let (u, v) = (pairs[i].x as u32 as usize, pairs[i].y as u32 as usize);
        if u >= preorder.len() || v >= preorder.len() {
            // SAFETY: the counter is valid for atomic access (this kernel's contract).
            unsafe { atomic::device::fetch_add(bad, 1) };
            *ancestor = -1;
            continue;
        }
        let (p, q) = (preorder[u] as usize, preorder[v] as usize);
        if p == q {
            *ancestor = u as i32;
            continue;
        }
        // From the vertex after the earlier one to the later one.
        let (first, last) = (p.min(q) + 1, p.max(q));
        let (block, last_block) = (first / BLOCK, last / BLOCK);
        let mut up = i32::MAX;
        if block == last_block {
            let entries = entries.get(first..=last).unwrap_or_default();
            up = entries.iter().fold(up, |least, entry| least.min(entry.x));
        } else {
            up = up.min(ends[first].y).min(ends[last].x);
            let between = last_block - block - 1;
            if between > 0 {
                let level = between.ilog2() as usize;
                let row = level * blocks;
                up = up.min(table[row + block + 1]).min(table[row + last_block - (1 << level)]);
            }
        }
        *ancestor = if up < 0 { -1 } else { entries[up as usize].y };
    }
}
