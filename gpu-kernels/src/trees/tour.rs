//! From the positions of the tour's elements to numbers of vertices.
//!
//! The preorder number of a vertex is how many vertices are entered before it. So the positions at which one is entered
//! are marked in a bitmap, of a bit for each position, which a GPU's L2 cache holds for 10^8 vertices; the words' counts
//! are scanned, and each vertex looks its position up. Depth and size follow from the two positions.

use cuda_std::prelude::*;

use super::visits;

/// Marks the positions at which a vertex is entered. Elements 2i and 2i + 1 are one vertex's. Any grid.
///
/// # Safety
/// `positions` are a permutation of 0 .. 2n. `entered` has as many bits, 0 at first, and is changed by nothing else.
#[kernel(max_threads = 256)]
pub unsafe fn mark(positions: &[i32], entered: *mut u32) {
    for i in thread::grid_stride(positions.len() / 2) {
        let (first, _) = visits(positions, i);
        // SAFETY: there is a bit for each position.
        unsafe { atomic::device::fetch_or(entered.add(first as usize / 32), 1 << (first % 32)) };
    }
}

/// How many bits each word has. Any grid.
#[kernel(max_threads = 256)]
pub fn count(words: &[u32], mut counts: DisjointSlice<u32>) {
    for (i, count) in counts.grid_stride_mut() {
        *count = words[i].count_ones();
    }
}

/// The vertices that are entered before a position: the exclusive scan of the words' counts, and the bits below.
#[inline(always)]
fn entered_before(position: u32, entered: &[u32], before: &[u32]) -> i32 {
    let word = position as usize / 32;
    let below = entered[word] & ((1 << (position % 32)) - 1);
    (before[word] + below.count_ones()) as i32
}

/// Preorder number, size and depth of a vertex from where it is entered and left.
#[inline(always)]
fn numbers((first, last): (u32, u32), entered: &[u32], before: &[u32]) -> (i32, i32, i32) {
    let preorder = entered_before(first, entered, before);
    (preorder, ((last - first) / 2 + 1) as i32, 2 * preorder - first as i32)
}

/// Parent, preorder number, size and depth of each vertex, from the tour of edges and then of roots: the end of an edge
/// that is entered by it is the child. Any grid.
///
/// # Safety
/// `positions` are those of a forest's tour with these edges and these roots. `records` points to an element for each
/// vertex.
#[kernel(max_threads = 256)]
pub unsafe fn of_edges(edges: &[I32x2], roots: &[i32], positions: &[i32], entered: &[u32], before: &[u32], records: *mut I32x4) {
    for i in thread::grid_stride(positions.len() / 2) {
        let (child, parent) = if i >= edges.len() {
            (roots[i - edges.len()], -1)
        } else if positions[2 * i] < positions[2 * i + 1] {
            (edges[i].y, edges[i].x)
        } else {
            (edges[i].x, edges[i].y)
        };
        let (preorder, size, depth) = numbers(visits(positions, i), entered, before);
        // SAFETY: each vertex is a root or the child of one edge.
        unsafe { records.add(child as usize).write(I32x4::new(parent, preorder, size, depth)) };
    }
}

/// Takes [`of_edges()`]' records apart. Any grid.
#[kernel(max_threads = 256)]
pub fn split(
    records: &[I32x4],
    mut parent: DisjointSlice<i32>,
    mut preorder: DisjointSlice<i32>,
    mut size: DisjointSlice<i32>,
    mut depth: DisjointSlice<i32>,
) {
    let (parents, preorders) = (parent.grid_stride_mut(), preorder.grid_stride_mut());
    let (sizes, depths) = (size.grid_stride_mut(), depth.grid_stride_mut());
    for ((((v, parent), (_, preorder)), (_, size)), (_, depth)) in parents.zip(preorders).zip(sizes).zip(depths) {
        [*parent, *preorder, *size, *depth] = records[v].to_array();
    }
}

/// Preorder number, size and depth of each vertex, whose elements are 2v and 2v + 1. Any grid.
#[kernel(max_threads = 256)]
pub fn of_parents(
    positions: &[i32],
    entered: &[u32],
    before: &[u32],
    mut preorder: DisjointSlice<i32>,
    mut size: DisjointSlice<i32>,
    mut depth: DisjointSlice<i32>,
) {
    let others = size.grid_stride_mut().zip(depth.grid_stride_mut());
    for ((v, preorder), ((_, size), (_, depth))) in preorder.grid_stride_mut().zip(others) {
        (*preorder, *size, *depth) = numbers(visits(positions, v), entered, before);
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
