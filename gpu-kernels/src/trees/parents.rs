//! The tour of a forest from each vertex's parent, -1 for roots.
//!
//! Vertex v is entered by element 2v and left by 2v + 1. With the vertices in order of their parents, each one's
//! siblings follow it: what comes after leaving v is entering the next of them, or leaving the parent. Roots are the
//! children of a vertex n that isn't there.

use cuda_std::prelude::*;

use super::Status;

/// Looks at all parents: counts those that are out of range or the vertex itself, and the roots. Any grid of whole
/// warps.
///
/// # Safety
/// `status` must be valid for atomic access.
#[kernel(max_threads = 256)]
pub unsafe fn check(parents: &[i32], status: *mut Status) {
    let (mut bad, mut roots) = (0, 0);
    for v in thread::grid_stride(parents.len()) {
        let parent = parents[v];
        bad += (parent < -1 || parent as i64 >= parents.len() as i64 || parent == v as i32) as u32;
        roots += (parent == -1) as u32;
    }
    // Every lane of the block's full warps is here.
    bad = warp::reduce_add(warp::FULL_MASK, bad);
    roots = warp::reduce_add(warp::FULL_MASK, roots);
    if warp::lane_id() == 0 {
        // SAFETY: the status is valid for atomic access (this kernel's contract).
        unsafe {
            atomic::device::fetch_add(&raw mut (*status).bad, bad);
            atomic::device::fetch_add(&raw mut (*status).roots, roots);
        }
    }
}

/// Stores the sort keys of vertices: the parent, and n for roots. Any grid.
#[kernel(max_threads = 256)]
pub fn keys(parents: &[i32], mut keys: DisjointSlice<u32>) {
    for (v, key) in keys.grid_stride_mut() {
        *key = if parents[v] < 0 { parents.len() as u32 } else { parents[v] as u32 };
    }
}

/// Stores the element after leaving each vertex, with the vertices themselves, in order of their
/// [`keys()`]; and the element after entering the parent of each first child, where there is -1 for
/// all others. Any grid.
///
/// # Safety
/// `keys` and `order` have an element for each vertex: the sorted keys, which are at most the number of vertices, and a
/// permutation of the vertices. `entered` points to an element for each vertex.
#[kernel(max_threads = 256)]
pub unsafe fn link(
    keys: &[u32],
    order: &[u32],
    mut vertices: DisjointSlice<i32>,
    mut left: DisjointSlice<i32>,
    entered: *mut i32,
) {
    let n = keys.len();
    for ((i, vertex), (_, left)) in vertices.grid_stride_mut().zip(left.grid_stride_mut()) {
        let (parent, v) = (keys[i], order[i]);
        *vertex = v as i32;
        *left = if i + 1 < n && keys[i + 1] == parent {
            2 * order[i + 1] as i32
        } else if (parent as usize) < n {
            2 * parent as i32 + 1
        } else {
            -1
        };
        if (parent as usize) < n && (i == 0 || keys[i - 1] != parent) {
            // SAFETY: compared with the length, and each parent has one first child.
            unsafe { entered.add(parent as usize).write(2 * v as i32) };
        }
    }
}

/// The successors of all elements, from those after entering and leaving each vertex: a leaf is left next. Any grid.
#[kernel(max_threads = 256)]
pub fn join(entered: &[i32], left: &[i32], mut next: DisjointSlice<i32>) {
    for (element, next) in next.grid_stride_mut() {
        let v = element / 2;
        *next = match element % 2 {
            1 => left[v],
            _ if entered[v] < 0 => element as i32 + 1,
            _ => entered[v],
        };
    }
}
