//! The tour of a forest from its edges.
//!
//! Edge e = (u, v) has two arcs: 2e leads from u to v, 2e + 1 back, and the twin of arc a is `a ^ 1`. The arcs out of a
//! vertex are in the order of their numbers, in a circle. The tour follows arc a by the arc that comes after its twin
//! in that circle, which walks once around each tree. At a root it is cut: root r of number k (roots ascend by vertex)
//! has the elements 2m + 2k, which enters it and is followed by its first arc, and 2m + 2k + 1, which leaves it and is
//! followed by the next root's. So a forest of m edges and n - m trees is one list of 2n elements.
//!
//! A vertex is a root where its label is its own number.
//!
//! If any order of the arcs and of the roots will do, threads chain the arcs out of each vertex as they come ([`chain()`],
//! [`add_roots()`], [`close()`]), and nothing is sorted.

use cuda_std::prelude::*;

use super::Status;
use crate::{
    components::{BATCH, WIDTH, for_each_batch, reserve},
    list_rank::{distributed::sum_of_warp, generate::mix},
};

/// Looks at all edges. Any grid of whole warps.
///
/// # Safety
/// `status` must be valid for atomic access.
#[kernel(max_threads = 256)]
pub unsafe fn check(edges: &[I32x2], n: u32, status: *mut Status) {
    let (mut bad, mut ascending, mut difference) = (0, 0, 0u64);
    for i in thread::grid_stride(edges.len()) {
        let (u, v) = (edges[i].x as u32, edges[i].y as u32);
        bad += (u >= n || v >= n || u == v) as u32;
        ascending += (u < v) as u32;
        let hash = mix(((u.min(v) as u64) << 32 | u.max(v) as u64).wrapping_add(0x9e37_79b9_7f4a_7c15));
        difference = difference.wrapping_add(if u < v { hash } else { hash.wrapping_neg() });
    }
    // Every lane of the block's full warps is here.
    bad = warp::reduce_add(warp::FULL_MASK, bad);
    ascending = warp::reduce_add(warp::FULL_MASK, ascending);
    difference = sum_of_warp(difference);
    if warp::lane_id() == 0 {
        // SAFETY: the status is valid for atomic access (this kernel's contract).
        unsafe {
            atomic::device::fetch_add(&raw mut (*status).bad, bad);
            atomic::device::fetch_add(&raw mut (*status).ascending, ascending);
            atomic::device::fetch_add(&raw mut (*status).difference, difference);
        }
    }
}

/// Marks the edges (u, v) with u < v. Any grid.
#[kernel(max_threads = 256)]
pub fn ascending(edges: &[I32x2], mut flags: DisjointSlice<u32>) {
    for (i, flag) in flags.grid_stride_mut() {
        *flag = (edges[i].x < edges[i].y) as u32;
    }
}

/// Leaves the edges (u, v) with u < v. `places` is the exclusive scan of [`ascending()`]'s flags. Any grid.
///
/// # Safety
/// `kept` points to as many edges as there are such.
#[kernel(max_threads = 256)]
pub unsafe fn keep_ascending(edges: &[I32x2], places: &[u32], kept: *mut I32x2) {
    for i in thread::grid_stride(edges.len()) {
        if edges[i].x < edges[i].y {
            // SAFETY: by the scan, places are below the number of these edges, and different.
            unsafe { kept.add(places[i] as usize).write(edges[i]) };
        }
    }
}

/// Stores the source of each arc. Any grid.
#[kernel(max_threads = 256)]
pub fn sources(edges: &[I32x2], mut sources: DisjointSlice<u32>) {
    for (arc, source) in sources.grid_stride_mut() {
        let edge = edges[arc / 2];
        *source = if arc % 2 == 0 { edge.x } else { edge.y } as u32;
    }
}

/// Marks the vertices that are roots. Any grid.
#[kernel(max_threads = 256)]
pub fn root_flags(labels: &[i32], mut flags: DisjointSlice<u32>) {
    for (v, flag) in flags.grid_stride_mut() {
        *flag = (labels[v] == v as i32) as u32;
    }
}

/// Lists the roots. `numbers` is the exclusive scan of [`root_flags()`]. Any grid.
///
/// # Safety
/// `roots` points to as many elements as there are roots.
#[kernel(max_threads = 256)]
pub unsafe fn list_roots(labels: &[i32], numbers: &[u32], roots: *mut i32) {
    for v in thread::grid_stride(labels.len()) {
        if labels[v] == v as i32 {
            // SAFETY: by the scan, numbers are below the number of roots, and different.
            unsafe { roots.add(numbers[v] as usize).write(v as i32) };
        }
    }
}

/// The first arc out of each vertex, from the arcs in order of their sources; vertices without one are left alone. Any
/// grid.
///
/// # Safety
/// `firsts` points to more elements than the greatest source. `order` is as long as `sources`.
#[kernel(max_threads = 256)]
pub unsafe fn first_arcs(sources: &[u32], order: &[u32], firsts: *mut i32) {
    for i in thread::grid_stride(sources.len()) {
        if i == 0 || sources[i - 1] != sources[i] {
            // SAFETY: there is an element for each source, and each source has one first arc.
            unsafe { firsts.add(sources[i] as usize).write(order[i] as i32) };
        }
    }
}

/// The twin of each arc, and its successor: of the arcs in order of their sources. Any grid.
///
/// # Panics
/// Where a source is no vertex of `labels`, `numbers` and `firsts`.
#[kernel(max_threads = 256)]
pub fn link(
    sources: &[u32],
    order: &[u32],
    labels: &[i32],
    numbers: &[u32],
    firsts: &[i32],
    mut twins: DisjointSlice<i32>,
    mut successors: DisjointSlice<i32>,
) {
    let arcs = sources.len();
    for ((i, twin), (_, successor)) in twins.grid_stride_mut().zip(successors.grid_stride_mut()) {
        let v = sources[i];
        *twin = (order[i] ^ 1) as i32;
        *successor = if i + 1 < arcs && sources[i + 1] == v {
            order[i + 1] as i32
        } else if labels[v as usize] == v as i32 {
            (arcs as u32 + 2 * numbers[v as usize] + 1) as i32
        } else {
            firsts[v as usize]
        };
    }
}

/// The successors of the roots' elements, which come after `arcs` arcs; counts the vertices that have neither an edge
/// nor a root's elements. Any grid of whole warps.
///
/// # Safety
/// `next` points to two elements more than `arcs` for each root; `status` is valid for atomic access.
#[kernel(max_threads = 256)]
pub unsafe fn link_roots(roots: &[i32], labels: &[i32], firsts: &[i32], arcs: u32, next: *mut i32, status: *mut Status) {
    for k in thread::grid_stride(roots.len()) {
        let enter = arcs as usize + 2 * k;
        let first = firsts[roots[k] as usize];
        // SAFETY: the elements are those of root k alone.
        unsafe {
            next.add(enter).write(if first < 0 { enter as i32 + 1 } else { first });
            next.add(enter + 1).write(if k + 1 < roots.len() { enter as i32 + 2 } else { -1 });
        }
    }
    let mut loose = 0;
    for v in thread::grid_stride(labels.len()) {
        loose += (firsts[v] < 0 && labels[v] != v as i32) as u32;
    }
    loose = warp::reduce_add(warp::FULL_MASK, loose);
    if loose != 0 && warp::lane_id() == 0 {
        // SAFETY: the status is valid for atomic access (this kernel's contract).
        unsafe { atomic::device::fetch_add(&raw mut (*status).loose, loose) };
    }
}

/// Counts the edges (u, v) with u > v that mirror no edge of the tree, or one that was mirrored before: `mirrored` has
/// a bit for each vertex, 0 at first, which stands for the edge to its parent. Any grid.
///
/// # Safety
/// All edges are of vertices that `parents` has. `mirrored` points to as many bits, and is changed by nothing else;
/// `status` is valid for atomic access.
#[kernel(max_threads = 256)]
pub unsafe fn check_mirrored(edges: &[I32x2], parents: &[i32], mirrored: *mut u32, status: *mut Status) {
    for i in thread::grid_stride(edges.len()) {
        let (u, v) = (edges[i].x, edges[i].y);
        if u < v {
            continue;
        }
        let child = if parents[u as usize] == v {
            Some(u as u32)
        } else if parents[v as usize] == u {
            Some(v as u32)
        } else {
            None
        };
        // SAFETY: there is a bit for each vertex, and the status is valid for atomic access (this kernel's contract).
        unsafe {
            let is_new = child.is_some_and(|child| {
                let bit = 1 << (child % 32);
                atomic::device::fetch_or(mirrored.add(child as usize / 32), bit) & bit == 0
            });
            if !is_new {
                atomic::device::fetch_add(&raw mut (*status).unmirrored, 1);
            }
        }
    }
}

/// Chains the arcs out of each vertex in any order. `heads`, -1 at first, gets the last arc of each chain. `next` gets the
/// arc that each arc's twin found there, or `!v` if the twin is the first out of v. Any grid.
///
/// # Safety
/// Edges are between vertices, and `heads` has an element for each of these, valid for atomic access. `next` has two
/// elements for each edge, at a multiple of 8 bytes.
#[kernel(max_threads = 256)]
pub unsafe fn chain(edges: &[I32x2], heads: *mut i32, next: *mut i32) {
    for edge in thread::grid_stride(edges.len()) {
        let (I32x2 { x: u, y: v }, arc) = (edges[edge], 2 * edge as i32);
        // SAFETY: both are vertices, and the elements are this edge's (this kernel's contract).
        unsafe {
            let at_u = atomic::device::exchange(heads.add(u as usize), arc);
            let at_v = atomic::device::exchange(heads.add(v as usize), arc + 1);
            let after = I32x2::new(if at_v < 0 { !v } else { at_v }, if at_u < 0 { !u } else { at_u });
            next.cast::<I32x2>().add(edge).write(after);
        }
    }
}

/// Adds the elements of the roots, in any order, behind `arcs` arcs. `heads` gets the element that leaves each root. Any grid
/// of whole warps.
///
/// # Safety
/// `heads` is as after [`chain()`], with an element for each label. There are `trees` roots, `roots` has an element and
/// `next` two more than `arcs` for each. `count` is 0 at first, and valid for atomic access.
#[kernel(max_threads = 256)]
pub unsafe fn add_roots(
    labels: &[i32],
    arcs: u32,
    trees: u32,
    heads: *mut i32,
    roots: *mut i32,
    next: *mut i32,
    count: *mut u32,
) {
    for_each_batch(labels.len(), |first| {
        let is_root = |v: usize| labels.get(v).is_some_and(|&label| label == v as i32);
        let vertices: [usize; BATCH] = core::array::from_fn(|i| first + i * WIDTH);
        let found = vertices.map(is_root);
        // SAFETY: all lanes of the warp are here. Places differ and are below the number of roots, and each root's elements
        // are this thread's (this kernel's contract).
        unsafe {
            let mut place = reserve(count, found.iter().map(|&found| found as u32).sum());
            for i in 0..BATCH {
                if found[i] {
                    let (head, enter) = (heads.add(vertices[i]), arcs as i32 + 2 * place as i32);
                    let successors = next.add(enter as usize);
                    successors.write(if *head < 0 { enter + 1 } else { *head });
                    successors.add(1).write(if place + 1 < trees as usize { enter + 2 } else { -1 });
                    head.write(enter + 1);
                    roots.add(place).write(vertices[i] as i32);
                    place += 1;
                }
            }
        }
    });
}

/// Closes the circles of arcs: where a chain ends follows its head, or the element that leaves the root. `next` has the arcs
/// alone. Any grid.
#[kernel(max_threads = 256)]
pub fn close(heads: &[i32], mut next: DisjointSlice<i32>) {
    for (_, next) in next.grid_stride_mut() {
        if *next < 0 {
            *next = heads[!*next as usize];
        }
    }
}
