//! Bridges and biconnected components of a graph, on a spanning forest that has been rooted.
//!
//! Vertices have *positions* in preorder. A subtree is a range of positions: from its vertex's
//! position up to its *end*. For each subtree its *reach* is the least and the greatest position
//! that its vertices and the edges from them outside of the forest ([`reach()`]) come to. That is a
//! minimum over a range for each vertex ([`blocks()`], [`level()`], [`judge()`]). Then
//!
//! - the edge from a vertex to its parent is a *bridge* where the reach of its subtree stays within the subtree;
//! - it is a *fence* where it stays within the parent's subtree. The other edges of the forest, and
//!   the edges between vertices without one above the other, connect vertices of one biconnected
//!   component: all of its vertices but the topmost, its *head*, below which all edges are fences.
//!
//! Sources: R. E. Tarjan and U. Vishkin, *An Efficient Parallel Biconnectivity Algorithm*, SIAM J. Comput. 14(4), 1985;
//! L. Dong, Y. Gu, Y. Sun and Y. Wang, *Provably Fast and Space-Efficient Parallel Biconnectivity*, PPoPP 2023, for
//! fences, heads, and the graph that isn't built; *GPU Algorithms for Biconnected Components on Large Graphs*, IPDPS 2026,
//! for the edges that need not count ([`hook_across()`]).

use bytemuck::{Pod, Zeroable};
use cuda_std::prelude::*;

use crate::{
    collectives::{
        Max, Min,
        warp::{Lanes, inclusive_scan},
    },
    components::{NONE, Sample, unite},
};

/// In a vertex's bits: the edge to its parent is a bridge.
pub const BRIDGE: u8 = 1;
/// In a vertex's bits: the edge to its parent is a fence.
pub const FENCE: u8 = 2;

/// Positions of a block of the table of minima: a warp's.
pub const BLOCK: usize = 32;

/// Counts of a graph.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Pod, Zeroable)]
pub struct Counts {
    /// Bridges, in [`judge()`].
    pub bridges: u32,
    /// Biconnected components, in [`count_heads()`].
    pub components: u32,
    /// Articulation points, in [`cut_vertices()`].
    pub cuts: u32,
}

/// The greatest and the least.
#[inline(always)]
fn join(a: U32x2, b: U32x2) -> U32x2 {
    U32x2::new(a.x.min(b.x), a.y.max(b.y))
}

/// The nonzeros of a matrix in compressed sparse rows as edges. Counts in `wrong` the elements of `row_ptr` that are less
/// than those before, or more than there are nonzeros; edges are garbage if there are any. Any grid.
///
/// # Safety
/// `wrong` is valid for atomic access.
#[kernel(max_threads = 256)]
pub unsafe fn rows(row_ptr: &[i32], columns: &[i32], mut edges: DisjointSlice<I32x2>, wrong: *mut u32) {
    let mut count = 0;
    for at in thread::grid_stride(row_ptr.len()) {
        let least = if at == 0 { 0 } else { row_ptr[at - 1] };
        let most = if at == 0 { 0 } else { columns.len() as i32 };
        count += (row_ptr[at] < least || row_ptr[at] > most) as u32;
    }
    if count > 0 {
        // SAFETY: the count is valid for atomic access (this kernel's contract).
        unsafe { atomic::device::fetch_add(wrong, count) };
    }
    for (nonzero, edge) in edges.grid_stride_mut() {
        // The first row that ends behind it.
        let (mut row, mut last) = (0, row_ptr.len().saturating_sub(2));
        while row < last {
            let middle = (row + last) / 2;
            if row_ptr[middle + 1] as usize <= nonzero {
                row = middle + 1;
            } else {
                last = middle;
            }
        }
        *edge = I32x2::new(row as i32, columns[nonzero]);
    }
}

/// Brings vertices into preorder. `records` has parent, preorder number and size of each (see
/// [`tour::of_families()`](crate::trees::tour::of_families())), which `parents`, `positions` and `sizes` get. `spans` gets
/// at each position the end of the subtree, the parent's position ([`NONE`] for roots), the end of the parent's subtree and
/// the vertex; `reaches` the position twice. Any grid.
///
/// # Safety
/// All arrays have as many elements as there are vertices. Positions are a permutation, and parents are vertices.
#[kernel(max_threads = 256)]
pub unsafe fn order(
    records: &[I32x4],
    mut parents: DisjointSlice<i32>,
    mut positions: DisjointSlice<i32>,
    mut sizes: DisjointSlice<i32>,
    spans: *mut U32x4,
    mut reaches: DisjointSlice<U32x2>,
) {
    let numbers = positions.grid_stride_mut().zip(sizes.grid_stride_mut());
    for (((vertex, parent), (_, reach)), ((_, position), (_, size))) in
        parents.grid_stride_mut().zip(reaches.grid_stride_mut()).zip(numbers)
    {
        // One position per vertex.
        *reach = U32x2::splat(vertex as u32);
        [*parent, *position, *size, _] = records[vertex].to_array();
        let (above, end_above) = if *parent < 0 {
            (NONE, 0)
        } else {
            let above = records[*parent as usize];
            (above.y as u32, (above.y + above.z) as u32)
        };
        let span = U32x4::new((*position + *size) as u32, above, end_above, vertex as u32);
        // SAFETY: positions are a permutation, so that they are in range, and no other vertex has this one (this
        // kernel's contract).
        unsafe { spans.add(*position as usize).write(span) };
    }
}

/// Sets the bits of the forest's edges. Any grid.
///
/// # Safety
/// `bits` has a bit for each edge, and is valid for atomic access.
#[kernel(max_threads = 256)]
pub unsafe fn mark(indices: &[u32], bits: *mut u32) {
    for i in thread::grid_stride(indices.len()) {
        let edge = indices[i];
        // SAFETY: there is a bit for the edge (this kernel's contract).
        unsafe { atomic::device::fetch_or(bits.add(edge as usize / 32), 1 << (edge % 32)) };
    }
}

/// Brings the reach of each of two positions to the other.
///
/// # Safety
/// There are reaches for both, valid for atomic access.
#[inline(always)]
#[cfg_attr(not(cuda_device), track_caller)]
unsafe fn reach_each_other(reaches: *mut U32x2, a: u32, b: u32) {
    let (low, high) = (a.min(b), a.max(b));
    // The L1 cache may hold an older, smaller reach: then the atomic changes nothing. SAFETY: there
    // are reaches for both (this function's contract).
    unsafe {
        let (lows, highs) = (&raw mut (*reaches.add(high as usize)).x, &raw mut (*reaches.add(low as usize)).y);
        if low < mem::load_relaxed(lows) {
            atomic::device::fetch_min(lows, low);
        }
        if high > mem::load_relaxed(highs) {
            atomic::device::fetch_max(highs, high);
        }
    }
}

/// For each edge, brings the reach of one end to the other. Edges of the forest are left out by their bits in `forest`
/// or, where edges between the same two vertices are one, by `parents`; either may be empty. Any grid.
///
/// # Safety
/// Edges are between vertices, and each vertex has a position and a reach that is valid for atomic
/// access.
#[kernel(max_threads = 256)]
pub unsafe fn reach(edges: &[I32x2], forest: &[u32], parents: &[i32], positions: &[i32], reaches: *mut U32x2) {
    for edge in thread::grid_stride(edges.len()) {
        let I32x2 { x: u, y: v } = edges[edge];
        let in_forest = (!forest.is_empty() && forest[edge / 32] >> (edge % 32) & 1 != 0)
            || (!parents.is_empty() && (parents[u as usize] == v || parents[v as usize] == u));
        if u != v && !in_forest {
            // SAFETY: positions are of vertices, which have reaches (this kernel's contract).
            unsafe { reach_each_other(reaches, positions[u as usize] as u32, positions[v as usize] as u32) };
        }
    }
}

/// For biconnected components: unites the ends of edges without one end above the other, and brings
/// the reach of one end to the other for those that have united sets, and for all other edges. Any
/// grid.
///
/// An edge whose ends others of its kind connect may be left out of reaches: where it leads out of a subtree, so does one
/// of these, and their ends are in one set.
///
/// # Safety
/// As [`reach()`] and [`hook_tree()`].
#[kernel(max_threads = 256)]
pub unsafe fn hook_across(
    edges: &[I32x2],
    sample: Sample,
    positions: &[i32],
    sizes: &[i32],
    reaches: *mut U32x2,
    sets: *mut i32,
) {
    sample.for_each(edges, |_, I32x2 { x: u, y: v }| {
        let (a, b) = (positions[u as usize] as u32, positions[v as usize] as u32);
        let upper = if a < b { u } else { v };
        let is_below = a.max(b) - a.min(b) < sizes[upper as usize] as u32;
        // SAFETY: both are vertices, which have sets and reaches (this kernel's contract).
        unsafe {
            if is_below || unite(sets, u, v).is_some() {
                reach_each_other(reaches, a, b);
            }
        }
    });
}

/// The reach of each position together with those before it in its block; and of each whole block, the first level of
/// the table. A thread for each position, in blocks of whole warps.
///
/// # Safety
/// `before` has as many elements as `reaches`, and `table` one for every [`BLOCK`] of them.
#[kernel(max_threads = 256)]
pub unsafe fn blocks(reaches: &[U32x2], mut before: DisjointSlice<U32x2>, table: *mut U32x2) {
    let position = thread::index_1d() as usize;
    let own = reaches.get(position).copied().unwrap_or(U32x2::new(u32::MAX, 0));
    let joined = U32x2::new(inclusive_scan(Lanes::FULL, own.x, Min), inclusive_scan(Lanes::FULL, own.y, Max));
    before.set(joined);
    // The last lane has all of the block, also where it is beyond the end.
    if warp::lane_id() == 31 && position / BLOCK < reaches.len().div_ceil(BLOCK) {
        // SAFETY: the table has an element for each block (this kernel's contract), which this warp alone writes.
        unsafe { table.add(position / BLOCK).write(joined) };
    }
}

/// The next level of the table, of `count` blocks each: what two ranges of the one below, `width`
/// blocks long, have together. Without a second one, the element is not used. Any grid.
#[kernel(max_threads = 256)]
pub fn level(below: &[U32x2], width: u32, mut above: DisjointSlice<U32x2>) {
    for (block, reach) in above.grid_stride_mut() {
        let second = below.get(block + width as usize).copied();
        *reach = second.map_or(below[block], |second| join(below[block], second));
    }
}

/// Reaches of ranges of positions.
#[derive(Clone, Copy, Debug, KernelParam)]
pub struct Reaches<'a> {
    /// The reach of each position.
    pub own: &'a [U32x2],
    /// The minima and maxima of [`blocks()`].
    pub before: &'a [U32x2],
    /// All levels, one after another.
    pub table: &'a [U32x2],
}

impl Reaches<'_> {
    /// The reach of the positions from this thread's up to `end`, which is beyond it. All lanes of the warp, whose
    /// positions are a block, come here.
    #[inline(always)]
    #[cfg_attr(not(cuda_device), track_caller)]
    fn join(self, position: u32, end: u32) -> U32x2 {
        let width = BLOCK as u32;
        let (block, last) = (position / width, (end - 1) / width);
        // Within the block: two ranges whose length is a power of two.
        let length = end.min((block + 1) * width) - position;
        let mut range = self.own.get(position as usize).copied().unwrap_or(U32x2::new(u32::MAX, 0));
        let mut reach = range;
        let mut power = 1;
        while power <= width {
            let source = warp::lane_id().wrapping_add(length).wrapping_sub(power) & 31;
            let second = U32x2::new(
                warp::shuffle_idx(warp::FULL_MASK, range.x, source),
                warp::shuffle_idx(warp::FULL_MASK, range.y, source),
            );
            if power <= length && length < 2 * power {
                reach = join(range, second);
            }
            let next = U32x2::new(
                warp::shuffle_down(warp::FULL_MASK, range.x, power & 31),
                warp::shuffle_down(warp::FULL_MASK, range.y, power & 31),
            );
            range = join(range, next);
            power *= 2;
        }
        if last > block {
            reach = join(reach, self.before[end as usize - 1]);
        }
        if last > block + 1 {
            let level = (last - block - 1).ilog2();
            let row = level as usize * self.own.len().div_ceil(BLOCK);
            reach = join(reach, self.table[row + block as usize + 1]);
            reach = join(reach, self.table[row + last as usize - (1 << level)]);
        }
        reach
    }
}

/// Finds what each vertex's edge to its parent is, and counts bridges. A thread for each position, in blocks of whole
/// warps.
///
/// # Safety
/// `bits` has an element for each vertex, `spans` is as after [`order()`], and `counts` is valid for atomic access.
#[kernel(max_threads = 256)]
pub unsafe fn judge(reaches: Reaches<'_>, spans: &[U32x4], bits: *mut u8, counts: *mut Counts) {
    let position = thread::index_1d();
    let span = spans.get(position as usize).copied().unwrap_or(U32x4::new(position + 1, NONE, 0, 0));
    let reach = reaches.join(position, span.x);
    let mut found = 0;
    if span.y != NONE {
        found |= BRIDGE * (reach.x >= position && reach.y < span.x) as u8;
        found |= FENCE * (reach.x >= span.y && reach.y < span.z) as u8;
    }
    if (position as usize) < spans.len() {
        // SAFETY: there are bits for each vertex, and no other position is this vertex's (this kernel's contract).
        unsafe { bits.add(span.w as usize).write(found) };
    }
    let bridges = warp::ballot(warp::FULL_MASK, found & BRIDGE != 0);
    if bridges != 0 && warp::lane_id() == 0 {
        // SAFETY: the counts are valid for atomic access (this kernel's contract).
        unsafe { atomic::device::fetch_add(&raw mut (*counts).bridges, bridges.count_ones()) };
    }
}

/// Unites vertices with their parents, except for vertices that have one of the bits in `mask`. Any
/// grid.
///
/// # Safety
/// `sets` has as many elements as there are vertices, those of [`components::start()`](crate::components::start());
/// parents that aren't negative are vertices.
#[kernel(max_threads = 256)]
pub unsafe fn hook_tree(parents: &[i32], bits: &[u8], mask: u8, sets: *mut i32) {
    for vertex in thread::grid_stride(parents.len()) {
        if parents[vertex] >= 0 && bits[vertex] & mask == 0 {
            // SAFETY: both are vertices, which have sets (this kernel's contract).
            unsafe { unite(sets, vertex as i32, parents[vertex]) };
        }
    }
}

/// Marks the bridges: edges between two of the sets that are left without bridges. Any grid.
#[kernel(max_threads = 256)]
pub fn bridges(edges: &[I32x2], sets: &[i32], mut bridges: DisjointSlice<u8>) {
    for (edge, bridge) in bridges.grid_stride_mut() {
        let I32x2 { x: u, y: v } = edges[edge];
        *bridge = (sets[u as usize] != sets[v as usize]) as u8;
    }
}

/// The biconnected component of each edge: that of its lower vertex (the other one is in it, too, or its head); -1 for
/// edges from a vertex to itself. Any grid.
#[kernel(max_threads = 256)]
pub fn edge_labels(edges: &[I32x2], positions: &[i32], sets: &[i32], mut labels: DisjointSlice<i32>) {
    for (edge, label) in labels.grid_stride_mut() {
        let I32x2 { x: u, y: v } = edges[edge];
        let (of_u, of_v) = (sets[u as usize], sets[v as usize]);
        *label = if u == v {
            -1
        } else if of_u == of_v || positions[u as usize] > positions[v as usize] {
            of_u
        } else {
            of_v
        };
    }
}

/// The head of each component, by its label: the parent of those of its vertices whose parent has another label. (There
/// are fences whose two vertices are connected in another way.) Any grid.
///
/// # Safety
/// `heads` has as many elements as there are vertices, and is valid for atomic access; `sets` are vertices.
#[kernel(max_threads = 256)]
pub unsafe fn find_heads(parents: &[i32], sets: &[i32], heads: *mut i32) {
    for vertex in thread::grid_stride(parents.len()) {
        let (parent, label) = (parents[vertex], sets[vertex]);
        if parent >= 0 && sets[parent as usize] != label {
            // SAFETY: labels are vertices (this kernel's contract). All that store a component's head store the same.
            unsafe { atomic::device::store(heads.add(label as usize), parent) };
        }
    }
}

/// Counts components, and in `headed` those that each vertex is the head of. Any grid.
///
/// # Safety
/// `headed` has an element for each vertex, 0 at first, and is valid for atomic access, as `counts` is. The heads are
/// vertices.
#[kernel(max_threads = 256)]
pub unsafe fn count_heads(parents: &[i32], sets: &[i32], heads: &[i32], headed: *mut u32, counts: *mut Counts) {
    let mut components = 0;
    for vertex in thread::grid_stride(parents.len()) {
        if parents[vertex] >= 0 && sets[vertex] == vertex as i32 {
            components += 1;
            // SAFETY: the head is a vertex and has a count (this kernel's contract).
            unsafe { atomic::device::fetch_add(headed.add(heads[vertex] as usize), 1) };
        }
    }
    if components > 0 {
        // SAFETY: the counts are valid for atomic access (this kernel's contract).
        unsafe { atomic::device::fetch_add(&raw mut (*counts).components, components) };
    }
}

/// Marks the articulation points: heads of one component that are in another one, which a root is
/// not by itself. Any grid.
///
/// # Safety
/// `counts` is valid for atomic access.
#[kernel(max_threads = 256)]
pub unsafe fn cut_vertices(parents: &[i32], headed: &[u32], mut cuts: DisjointSlice<u8>, counts: *mut Counts) {
    let mut count = 0;
    for (vertex, cut) in cuts.grid_stride_mut() {
        let is_cut = headed[vertex] > (parents[vertex] < 0) as u32;
        *cut = is_cut as u8;
        count += is_cut as u32;
    }
    if count > 0 {
        // SAFETY: the counts are valid for atomic access (this kernel's contract).
        unsafe { atomic::device::fetch_add(&raw mut (*counts).cuts, count) };
    }
}
