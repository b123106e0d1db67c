//! Connected components of a graph, and a spanning forest: sets of vertices that all threads unite at the same time.
//!
//! Each vertex has a *parent* in its set: a smaller vertex, or itself, which makes it the set's root. An edge between
//! two sets *hooks* the larger root under the smaller one by one compare-and-swap. It succeeds exactly once for each
//! vertex that ends up below another, so that the edges which did are a spanning forest. A set's root is its smallest
//! vertex, whatever the order was; which edges are in the forest depends on it.
//!
//! On their way to a root, threads let vertices skip their parents (path halving). They go that way after hooking a root,
//! too: else a long path, whose vertices are all hooked at once, would be left to the one thread that comes by next.
//!
//! No thread ever waits for another: a compare-and-swap that fails was overtaken by one that succeeded.
//!
//! Sources: J. Jaiganesh and M. Burtscher, *A High-Performance Connected Components Implementation for GPUs*, HPDC
//! 2018, for hooking and path halving; M. Sutton, T. Ben-Nun and A. Barak, *Optimizing Parallel Graph Connectivity
//! Computation via Subgraph Sampling*, IPDPS 2018, for flat sets before most of the edges.

use bytemuck::{Pod, Zeroable};
use cuda_std::prelude::*;

/// In place of an edge: none.
pub const NONE: u32 = u32::MAX;

/// What uniting finds out about the edges.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq, Pod, Zeroable)]
pub struct Status {
    /// The first edge with a vertex out of range, or [`NONE`].
    pub outside: u32,
    /// Edges from a vertex to itself.
    pub loops: u32,
}

/// The root of a vertex's set, at the time.
///
/// # Safety
/// `parents` is valid for atomic access at `vertex`, and at every vertex that it leads to.
#[inline(always)]
#[cfg_attr(not(cuda_device), track_caller)]
unsafe fn find(parents: *mut i32, mut vertex: i32) -> i32 {
    // SAFETY: these are the vertices that `vertex` leads to (this function's contract).
    unsafe {
        loop {
            let parent = atomic::device::load(parents.add(vertex as usize));
            if parent == vertex {
                return vertex;
            }
            let next = atomic::device::load(parents.add(parent as usize));
            if next == parent {
                return parent;
            }
            // The nearer to the root, the smaller: what other threads have found is kept. (Roots alone are hooked, and
            // this vertex will never be one again.)
            atomic::device::fetch_min(parents.add(vertex as usize), next);
            vertex = next;
        }
    }
}

/// Unites the sets of two vertices; gives the root that this very call has hooked, if it has.
///
/// # Safety
/// `parents` is valid for atomic access at both vertices, and at every vertex that they lead to; no parent is larger
/// than its vertex.
#[inline(always)]
#[cfg_attr(not(cuda_device), track_caller)]
pub unsafe fn unite(parents: *mut i32, u: i32, v: i32) -> Option<i32> {
    // SAFETY: what is loaded are parents of the two vertices (this function's contract), and what is stored is a root
    // smaller than the one that it becomes the parent of.
    unsafe {
        let mut a = atomic::device::load(parents.add(u as usize));
        let mut b = atomic::device::load(parents.add(v as usize));
        while a != b {
            (a, b) = (find(parents, a), find(parents, b));
            if a == b {
                break;
            }
            let (small, large) = if a < b { (a, b) } else { (b, a) };
            let found = atomic::device::compare_exchange(parents.add(large as usize), large, small);
            if found == large {
                atomic::device::fetch_min(parents.add(large as usize), find(parents, small));
                return Some(large);
            }
            (a, b) = (small, found);
        }
        None
    }
}

/// Whether two vertices had one parent earlier, if that is known. These loads go through the L1 cache, as others' writes
/// don't matter to them.
#[inline(always)]
#[cfg_attr(not(cuda_device), track_caller)]
pub fn are_known(known: &[i32], u: i32, v: i32) -> bool {
    !known.is_empty() && known[u as usize] == known[v as usize]
}

/// Each vertex alone. Any grid.
///
/// # Safety
/// `status` is valid for a write.
#[kernel(max_threads = 256)]
pub unsafe fn start(mut parents: DisjointSlice<i32>, status: *mut Status) {
    for (vertex, parent) in parents.grid_stride_mut() {
        *parent = vertex as i32;
    }
    if thread::index_1d() == 0 {
        // SAFETY: the pointer is valid for a write (this kernel's contract), and only one thread writes.
        unsafe { status.write(Status { outside: NONE, loops: 0 }) };
    }
}

/// Unites the ends of edges, the first of which is number `first` of its graph. Of each root that is hooked,
/// `hooks` gets the edge. `known` are earlier parents, or nothing. Any grid.
///
/// # Safety
/// `parents` and `hooks` have `n` elements, those of [`start()`] and of earlier edges. `status` is valid for atomic
/// access.
#[kernel(max_threads = 256)]
pub unsafe fn hook(edges: &[I32x2], first: u32, n: u32, known: &[i32], parents: *mut i32, hooks: *mut u32, status: *mut Status) {
    let mut loops = 0;
    for i in thread::grid_stride(edges.len()) {
        let (I32x2 { x: u, y: v }, edge) = (edges[i], first + i as u32);
        if u as u32 >= n || v as u32 >= n {
            // SAFETY: the status is valid for atomic access (this kernel's contract).
            unsafe { atomic::device::fetch_min(&raw mut (*status).outside, edge) };
        } else if u == v {
            loops += 1;
        } else if !are_known(known, u, v) {
            // SAFETY: both are below `n`, as all parents are, none of which is larger than its vertex (this kernel's
            // contract). A vertex is hooked once, so that no other thread writes its edge.
            unsafe {
                if let Some(root) = unite(parents, u, v) {
                    hooks.add(root as usize).write(edge);
                }
            }
        }
    }
    if loops > 0 {
        // SAFETY: the status is valid for atomic access (this kernel's contract).
        unsafe { atomic::device::fetch_add(&raw mut (*status).loops, loops) };
    }
}

/// Makes each vertex's root its parent. Any grid.
///
/// # Safety
/// `parents` has `n` elements, as [`hook()`] has left them.
#[kernel(max_threads = 256)]
pub unsafe fn flatten(parents: *mut i32, n: u32) {
    for vertex in thread::grid_stride(n as usize) {
        // SAFETY: parents are vertices (this kernel's contract), and no vertex of a set is smaller than its root.
        unsafe { atomic::device::fetch_min(parents.add(vertex), find(parents, vertex as i32)) };
    }
}

/// Counts edges between the same two vertices as others, in whatever direction: all but one of them. Any grid.
///
/// `table` is a hash table of the edges, empty (0) at first.
///
/// # Safety
/// `table` has `mask + 1` elements, a power of two and more than there are edges, and is valid for atomic access, as
/// `repeats` is.
#[kernel(max_threads = 256)]
pub unsafe fn count_repeats(edges: &[I32x2], table: *mut u64, mask: u64, repeats: *mut u32) {
    let mut count = 0;
    for &I32x2 { x: u, y: v } in thread::grid_stride(edges.len()).map(|edge| &edges[edge]) {
        if u == v {
            continue;
        }
        // Not 0: the ends differ.
        let key = (u.min(v) as u32 as u64) << 32 | u.max(v) as u32 as u64;
        // SplitMix64's finaliser.
        let mut hash = (key ^ key >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        hash = (hash ^ hash >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        let mut place = (hash ^ hash >> 31) & mask;
        loop {
            // SAFETY: the mask keeps it in the table (this kernel's contract), which has a place left for each edge.
            let found = unsafe {
                let place = table.add(place as usize);
                match atomic::device::load(place) {
                    0 => atomic::device::compare_exchange(place, 0, key),
                    found => found,
                }
            };
            if found == 0 {
                break;
            }
            if found == key {
                count += 1;
                break;
            }
            place = (place + 1) & mask;
        }
    }
    if count > 0 {
        // SAFETY: the count is valid for atomic access (this kernel's contract).
        unsafe { atomic::device::fetch_add(repeats, count) };
    }
}

/// Whether each vertex is below another. Any grid.
#[kernel(max_threads = 256)]
pub fn mark_hooked(labels: &[i32], mut hooked: DisjointSlice<i32>) {
    for (vertex, hooked) in hooked.grid_stride_mut() {
        *hooked = (labels[vertex] != vertex as i32) as i32;
    }
}

/// Writes the edges that have hooked vertices, in the order of these; `places` is the exclusive scan of
/// [`mark_hooked()`]. Any grid.
///
/// # Safety
/// `labels` and `places` have the same length; `hooks` has it, too, and an edge for each vertex that isn't its own
/// label. `forest` and `indices` have as many elements as there are such vertices.
#[kernel(max_threads = 256)]
pub unsafe fn collect(edges: &[I32x2], labels: &[i32], places: &[i32], hooks: *const u32, forest: *mut I32x2, indices: *mut u32) {
    for vertex in thread::grid_stride(labels.len()) {
        if labels[vertex] != vertex as i32 {
            let place = places[vertex] as usize;
            // SAFETY: there is an edge for the vertex, and each such vertex has a place of its own (this kernel's
            // contract).
            unsafe {
                let edge = hooks.add(vertex).read();
                forest.add(place).write(edges[edge as usize]);
                indices.add(place).write(edge);
            }
        }
    }
}
