//! From the positions of the tour's elements to numbers of vertices.
//!
//! The preorder number of a vertex is how many vertices are entered before it. So the positions
//! that enter vertices are marked in a bitmap, and each vertex looks its position up. The bitmap
//! lies in blocks of 32 bytes, which are one sector of memory: the number of bits set before the
//! block, and then [`BITS`] bits. For 10^8 vertices these are 29 MB, most of which a large GPU's L2
//! cache holds. Depth and size follow from the two positions.

use cuda_std::prelude::*;

use super::visits;

/// Bits of a block of the bitmap.
pub const BITS: usize = 224;
/// Vectors of a block.
pub const VECTORS: usize = 2;

/// Returns the number of blocks of `positions` positions.
pub const fn blocks(positions: usize) -> usize {
    positions.div_ceil(BITS)
}

/// Marks the positions that enter a vertex. Elements 2i and 2i + 1 are one vertex's. Any grid.
///
/// # Safety
/// `positions` are a permutation of 0 .. 2n. `entered` has as many [`blocks`] of [`VECTORS`], 0 at first, and is
/// changed by nothing else.
#[kernel(max_threads = 256)]
pub unsafe fn mark(positions: &[i32], entered: *mut U32x4) {
    for i in thread::grid_stride(positions.len() / 2) {
        let first = visits(positions, i).0 as usize;
        let (block, bit) = (first / BITS, first % BITS);
        // SAFETY: there is a block for the position, of 8 words.
        unsafe { atomic::device::fetch_or(entered.cast::<u32>().add(8 * block + 1 + bit / 32), 1 << (bit % 32)) };
    }
}

/// Counts the set bits of each block. Any grid.
#[kernel(max_threads = 256)]
pub fn count(entered: &[U32x4], mut counts: DisjointSlice<u32>) {
    for (block, count) in counts.grid_stride_mut() {
        let ([_, a, b, c], rest) = (entered[2 * block].to_array(), entered[2 * block + 1].to_array());
        *count = [a, b, c].into_iter().chain(rest).map(u32::count_ones).sum();
    }
}

/// Sets the numbers before the blocks: the exclusive scan of [`count()`]'s counts. Any grid.
///
/// # Safety
/// `entered` has a block for each of `before`, and is used by nothing else.
#[kernel(max_threads = 256)]
pub unsafe fn set_before(before: &[u32], entered: *mut U32x4) {
    for block in thread::grid_stride(before.len()) {
        // SAFETY: the block's first word.
        unsafe { entered.cast::<u32>().add(8 * block).write(before[block]) };
    }
}

/// The vertices that are entered before a position.
#[inline(always)]
fn entered_before(position: u32, entered: &[U32x4]) -> i32 {
    let (block, bit) = (position as usize / BITS, position % BITS as u32);
    let ([before, a, b, c], [d, e, f, g]) = (entered[2 * block].to_array(), entered[2 * block + 1].to_array());
    // Of word w, the bits below the position's: all of the words before its own, none of those after.
    let below = |w: u32, word: u32| {
        let bits = bit.saturating_sub(32 * w);
        (if bits >= 32 { word } else { word & ((1 << bits) - 1) }).count_ones()
    };
    let low = below(0, a) + below(1, b) + below(2, c) + below(3, d);
    (before + low + below(4, e) + below(5, f) + below(6, g)) as i32
}

/// Preorder number, size and depth of a vertex from where it is entered and left.
#[inline(always)]
fn numbers((first, last): (u32, u32), entered: &[U32x4]) -> (i32, i32, i32) {
    let preorder = entered_before(first, entered);
    (preorder, ((last - first) / 2 + 1) as i32, 2 * preorder - first as i32)
}

/// The child and the parent of edge i, or root number i less the edges with the parent -1. The tour enters the child by the
/// edge.
#[inline(always)]
#[cfg_attr(not(cuda_device), track_caller)]
fn family(edges: &[I32x2], roots: &[i32], positions: &[i32], i: usize) -> (i32, i32) {
    if i >= edges.len() {
        (roots[i - edges.len()], -1)
    } else if positions[2 * i] < positions[2 * i + 1] {
        (edges[i].y, edges[i].x)
    } else {
        (edges[i].x, edges[i].y)
    }
}

/// Parent (-1 for roots), preorder number and size of each vertex, by the edges and then the roots. Any grid.
///
/// # Safety
/// Each vertex is the child of one edge or a root; `records` has an element for each.
#[kernel(max_threads = 256)]
pub unsafe fn of_families(edges: &[I32x2], roots: &[i32], positions: &[i32], entered: &[U32x4], records: *mut I32x4) {
    for i in thread::grid_stride(edges.len() + roots.len()) {
        let (child, parent) = family(edges, roots, positions, i);
        let (preorder, size, _) = numbers(visits(positions, i), entered);
        // SAFETY: there is a record for the vertex, which is no other's (this kernel's contract).
        unsafe { records.add(child as usize).write(I32x4::new(parent, preorder, size, 0)) };
    }
}

/// The child of each edge, which the tour enters by it, and then the roots; with each one's parent, -1 for roots, and
/// where it is entered and left. Any grid.
#[kernel(max_threads = 256)]
pub fn of_edges(
    edges: &[I32x2],
    roots: &[i32],
    positions: &[i32],
    mut child: DisjointSlice<i32>,
    mut parent: DisjointSlice<i32>,
    mut first: DisjointSlice<i32>,
    mut last: DisjointSlice<i32>,
) {
    let families = child.grid_stride_mut().zip(parent.grid_stride_mut());
    for (((i, child), (_, parent)), ((_, first), (_, last))) in families.zip(first.grid_stride_mut().zip(last.grid_stride_mut()))
    {
        (*child, *parent) = family(edges, roots, positions, i);
        let (from, to) = visits(positions, i);
        (*first, *last) = (from as i32, to as i32);
    }
}

/// Preorder number, size and depth of each vertex. On entry, `preorder` and `size` have the
/// positions that enter and leave it. Any grid.
#[kernel(max_threads = 256)]
pub fn of_visits(
    entered: &[U32x4],
    mut preorder: DisjointSlice<i32>,
    mut size: DisjointSlice<i32>,
    mut depth: DisjointSlice<i32>,
) {
    let others = size.grid_stride_mut().zip(depth.grid_stride_mut());
    for ((_, preorder), ((_, size), (_, depth))) in preorder.grid_stride_mut().zip(others) {
        (*preorder, *size, *depth) = numbers((*preorder as u32, *size as u32), entered);
    }
}

/// Preorder number, size and depth of each vertex, whose elements are 2v and 2v + 1. Any grid.
#[kernel(max_threads = 256)]
pub fn of_parents(
    positions: &[i32],
    entered: &[U32x4],
    mut preorder: DisjointSlice<i32>,
    mut size: DisjointSlice<i32>,
    mut depth: DisjointSlice<i32>,
) {
    let others = size.grid_stride_mut().zip(depth.grid_stride_mut());
    for ((v, preorder), ((_, size), (_, depth))) in preorder.grid_stride_mut().zip(others) {
        (*preorder, *size, *depth) = numbers(visits(positions, v), entered);
    }
}

/// The postorder number of each vertex, and where the tour enters and leaves it. Any grid.
#[kernel(max_threads = 256)]
pub fn other_numbers(
    preorder: &[i32],
    size: &[i32],
    depth: &[i32],
    mut postorder: DisjointSlice<i32>,
    mut first: DisjointSlice<i32>,
    mut last: DisjointSlice<i32>,
) {
    let others = first.grid_stride_mut().zip(last.grid_stride_mut());
    for ((v, postorder), ((_, first), (_, last))) in postorder.grid_stride_mut().zip(others) {
        *postorder = preorder[v] + size[v] - 1 - depth[v];
        *first = 2 * preorder[v] - depth[v];
        *last = *first + 2 * size[v] - 1;
    }
}
