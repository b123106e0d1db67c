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
//! Parents are loaded through the L1 cache, which may hold an older parent. That is still a vertex
//! of the same set, because sets are never divided. (Else nearly all threads would ask the L2 cache
//! for the few roots of large sets.) What a compare-and-swap that fails has found is up to date.
//!
//! Sources: J. Jaiganesh and M. Burtscher, *A High-Performance Connected Components Implementation for GPUs*, HPDC
//! 2018, for hooking and path halving; M. Sutton, T. Ben-Nun and A. Barak, *Optimizing Parallel Graph Connectivity
//! Computation via Subgraph Sampling*, IPDPS 2018, for flat sets before most of the edges.

use bytemuck::{Pod, Zeroable};
use cuda_std::prelude::*;

use crate::{
    collectives::{
        Sum,
        warp::{Lanes, inclusive_scan},
    },
    list_rank::generate::mix,
};

/// In place of an edge: none.
pub const NONE: u32 = u32::MAX;

/// Findings about the edges while sets are united.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq, Pod, Zeroable)]
pub struct Status {
    /// The first edge with a vertex out of range, or [`NONE`].
    pub outside: u32,
    /// Edges from a vertex to itself.
    pub loops: u32,
}

/// The root of a vertex's set, or one that it had.
///
/// # Safety
/// `parents` is valid for atomic access at `vertex`, and at every vertex that it leads to.
#[inline(always)]
#[cfg_attr(not(cuda_device), track_caller)]
pub unsafe fn find(parents: *mut i32, mut vertex: i32) -> i32 {
    // SAFETY: these are the vertices that `vertex` leads to (this function's contract).
    unsafe {
        loop {
            let parent = mem::load_relaxed(parents.add(vertex as usize));
            if parent == vertex {
                return vertex;
            }
            let next = mem::load_relaxed(parents.add(parent as usize));
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
        let mut a = mem::load_relaxed(parents.add(u as usize));
        let mut b = mem::load_relaxed(parents.add(v as usize));
        while a != b {
            (a, b) = (find(parents, a), find(parents, b));
            if a == b {
                break;
            }
            let (small, large) = if a < b { (a, b) } else { (b, a) };
            let found = atomic::device::compare_exchange(parents.add(large as usize), large, small);
            if found == large {
                let root = find(parents, small);
                if root != small {
                    atomic::device::fetch_min(parents.add(large as usize), root);
                }
                return Some(large);
            }
            (a, b) = (small, found);
        }
        None
    }
}

/// Items that a thread deals with at a time, so that their loads don't wait for each other.
pub const BATCH: usize = 4;

/// Lanes that reserve places together: those of a warp on a GPU. On the CPU each thread is on its own.
pub(crate) const WIDTH: usize = if is_gpu() { 32 } else { 1 };

/// Calls `visit` with the first of [`BATCH`] items in steps of [`WIDTH`]. All lanes of a warp make the same number of
/// calls; items from `count` on aren't there. Any grid of whole warps.
#[inline(always)]
#[cfg_attr(not(cuda_device), track_caller)]
pub(crate) fn for_each_batch(count: usize, mut visit: impl FnMut(usize)) {
    let thread = thread::index_1d() as usize;
    let (group, lane) = (thread / WIDTH, if is_gpu() { warp::lane_id() as usize } else { 0 });
    let step = thread::grid_stride_1d() as usize * BATCH;
    let mut first = group * WIDTH * BATCH;
    while first < count {
        visit(first + lane);
        first += step;
    }
}

/// Reserves `own` places behind the counter, and returns the first of them.
///
/// # Safety
/// `counter` is valid for atomic access. On a GPU all lanes of the warp are here.
#[inline(always)]
#[cfg_attr(not(cuda_device), track_caller)]
pub(crate) unsafe fn reserve(counter: *mut u32, own: u32) -> usize {
    let (up_to, all) = if is_gpu() {
        let up_to = inclusive_scan(Lanes::FULL, own, Sum);
        (up_to, warp::shuffle_idx(warp::FULL_MASK, up_to, 31))
    } else {
        (own, own)
    };
    let mut first = 0;
    if all > 0 && (!is_gpu() || warp::lane_id() == 0) {
        // SAFETY: the counter is valid for atomic access (this function's contract).
        first = unsafe { atomic::device::fetch_add(counter, all) };
    }
    if is_gpu() {
        first = warp::shuffle_idx(warp::FULL_MASK, first, 0);
    }
    (first + up_to - own) as usize
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

/// Edges that are next to each other in a sample: what a sector of memory holds.
const RUN: usize = 4;

/// A sample of the edges: runs of four, one in every `step`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, KernelParam)]
pub struct Sample {
    /// Number of edges.
    pub count: u32,
    /// Number of runs per run that is taken.
    pub step: u32,
}

impl Sample {
    /// The number of an edge of the sample.
    #[inline(always)]
    fn edge(self, index: usize) -> usize {
        if self.step == 1 { index } else { index / RUN * (RUN * self.step as usize) + index % RUN }
    }

    /// Calls `visit` with the number and the ends of each edge of the sample, in any grid. Each edge is loaded while the
    /// one before is dealt with.
    #[inline(always)]
    #[cfg_attr(not(cuda_device), track_caller)]
    pub fn for_each(self, edges: &[I32x2], mut visit: impl FnMut(usize, I32x2)) {
        let load = |edge: usize| edges.get(edge).copied().unwrap_or(I32x2::splat(0));
        let (count, stride) = (self.count as usize, thread::grid_stride_1d() as usize);
        let mut index = thread::index_1d() as usize;
        let mut ahead = load(self.edge(index));
        while index < count {
            let (edge, ends) = (self.edge(index), ahead);
            index += stride;
            ahead = load(self.edge(index));
            if edge < edges.len() {
                visit(edge, ends);
            }
        }
    }
}

/// Unites the ends of edges. `hooks` gets the edge of each root that is hooked. Counts edges from a
/// vertex to itself, and finds the first edge that isn't between vertices. Any grid.
///
/// # Safety
/// `parents` and `hooks` have `n` elements, those of [`start()`] and of earlier edges. `status` is valid for atomic
/// access.
#[kernel(max_threads = 256)]
pub unsafe fn hook(edges: &[I32x2], sample: Sample, n: u32, parents: *mut i32, hooks: *mut u32, status: *mut Status) {
    let mut loops = 0;
    sample.for_each(edges, |edge, I32x2 { x: u, y: v }| {
        if u as u32 >= n || v as u32 >= n {
            // SAFETY: the status is valid for atomic access (this kernel's contract).
            unsafe { atomic::device::fetch_min(&raw mut (*status).outside, edge as u32) };
        } else if u == v {
            loops += 1;
        } else {
            // SAFETY: both are below `n`: no parent is larger than its vertex (this kernel's
            // contract). A vertex is hooked once, so that no other thread writes its edge.
            unsafe {
                if let Some(root) = unite(parents, u, v) {
                    hooks.add(root as usize).write(edge as u32);
                }
            }
        }
    });
    // All edges are the last sample.
    if loops > 0 && sample.step == 1 {
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
        let mut place = mix(key) & mask;
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

/// Marks the vertices that are below another one. Any grid.
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
