//! Step 3: rank the lists of sublists.
//!
//! The sublists of splitters are the nodes. Of some it is known what comes before them, as a head's sublist leads there
//! (`bases`): these are the *roots*, of which there is one for each list that has a splitter. Lists of nodes are walked
//! in the same way with fewer splitters ([`nodes`](super::walk::nodes())), level by level, until one block can hold
//! them ([`solve()`]); then the bases travel back up ([`expand()`]). A level has as many nodes as splitters, however
//! many lists there are.

// Loops over several arrays of registers at once read best by their index.
#![allow(clippy::needless_range_loop)]

use cuda_std::prelude::*;

use super::{NONE, Status, TAIL, Value, add_up, walk::ROOT};

/// The most nodes that [`solve()`] takes.
pub const SOLVE_NODES: usize = 4096;
/// Threads of the solving block.
pub const SOLVE_THREADS: u32 = 1024;
const PER_THREAD: usize = SOLVE_NODES / SOLVE_THREADS as usize;

/// Dynamic shared memory of [`solve()`] for values of `size` bytes, in bytes.
pub const fn solve_shared(size: usize) -> usize {
    SOLVE_NODES * (size + size_of::<i32>())
}

/// Ranks at most [`SOLVE_NODES`] nodes by pointer jumping in shared memory. `bases` has what comes before the roots, and
/// [`NONE`] for other nodes, and then what comes before each that a root leads to.
///
/// # Safety
/// One block of [`SOLVE_THREADS`] threads, with [`solve_shared`] bytes of dynamic shared memory. All arrays must have
/// `next.len()` elements, and `bases` must not overlap any other.
// One block per SM: for two, ptxas would keep to 32 registers and spill.
#[kernel(for V in [i32, i64, f32, f64], max_threads = 1024, min_blocks = 1)]
pub unsafe fn solve<V: Value>(next: &[i32], sums: &[V], bases: *mut <V as Value>::Record) {
    let m = next.len().min(SOLVE_NODES);
    // The widest values first, so that all are aligned.
    let sum = dynamic_shared::<V>();
    // SAFETY: the launch gives `solve_shared(size_of::<V>())` bytes.
    let predecessor = unsafe { sum.add(SOLVE_NODES).cast::<i32>() };
    let slot = |k: usize| thread::thread_idx_x() as usize + k * SOLVE_THREADS as usize;

    // SAFETY: threads write slots of their own, or by atomics; barriers separate those writes from reads of others'
    // slots. Indices read from memory are compared with `m`. The arrays have `m` elements (this function's contract).
    unsafe {
        for k in 0..PER_THREAD {
            let node = slot(k);
            if node < m {
                predecessor.add(node).write(node as i32);
            }
        }
        thread::sync_threads();
        for k in 0..PER_THREAD {
            let node = slot(k);
            if node < m {
                let successor = next[node];
                // Two nodes with one successor: either may win; the totals show that the other is not on the list.
                if (successor as u32 as usize) < m {
                    atomic::block::exchange(predecessor.add(successor as usize), node as i32);
                }
            }
        }
        thread::sync_threads();
        let mut jump = [0i32; PER_THREAD];
        let mut own = [V::ZERO; PER_THREAD];
        for k in 0..PER_THREAD {
            let node = slot(k);
            if node < m {
                // A root hangs from itself, whatever a bad list leads to it.
                let is_root = V::parts(*bases.add(node)).0 != NONE;
                jump[k] = if is_root { node as i32 } else { *predecessor.add(node) };
                if jump[k] as usize != node {
                    own[k] = sums[jump[k] as usize];
                }
            }
        }
        thread::sync_threads();
        for k in 0..PER_THREAD {
            let node = slot(k);
            if node < m {
                sum.add(node).write(own[k]);
                predecessor.add(node).write(jump[k]);
            }
        }
        thread::sync_threads();
        let rounds = usize::BITS - m.saturating_sub(1).leading_zeros();
        for _ in 0..rounds {
            for k in 0..PER_THREAD {
                if slot(k) < m {
                    let before = jump[k] as usize;
                    own[k] = (*sum.add(before)).plus(own[k]);
                    jump[k] = *predecessor.add(before);
                }
            }
            thread::sync_threads();
            for k in 0..PER_THREAD {
                let node = slot(k);
                if node < m {
                    sum.add(node).write(own[k]);
                    predecessor.add(node).write(jump[k]);
                }
            }
            thread::sync_threads();
        }
        // A node in a circle ends on another node of it; only roots have a base.
        let mut found = [(NONE, V::ZERO); PER_THREAD];
        for k in 0..PER_THREAD {
            if slot(k) < m {
                let (mark, before) = V::parts(*bases.add(jump[k] as usize));
                found[k] = (mark, before.plus(own[k]));
            }
        }
        thread::sync_threads();
        for k in 0..PER_THREAD {
            let node = slot(k);
            if node < m {
                bases.add(node).write(V::record(found[k].0, found[k].1));
            }
        }
    }
}

/// [`solve()`] by a single thread: for few nodes on CPUs, where the threads of a block take turns. For integers, whose sums
/// are the same bits however they are grouped.
///
/// # Safety
/// Launched on one thread. All arrays must have `next.len()` elements, and `bases` must not overlap any other.
#[kernel(for V in [i32, i64], block = [1])]
pub unsafe fn solve_direct<V: Value>(next: &[i32], sums: &[V], bases: *mut <V as Value>::Record) {
    for first in 0..next.len() {
        let mut node = first;
        // SAFETY: indices read from memory are compared with the arrays' length (this kernel's contract).
        unsafe {
            loop {
                let (mark, before) = V::parts(*bases.add(node));
                let successor = next[node] as u32 as usize;
                // Roots keep their bases, whatever a bad list leads to them. A circle ends at a base, too.
                if mark == NONE || successor >= next.len() || V::parts(*bases.add(successor)).0 != NONE {
                    break;
                }
                bases.add(successor).write(V::record(mark, before.plus(sums[node])));
                node = successor;
            }
        }
    }
}

/// Hands the bases of one level's nodes to the nodes of the level below, from the records of the
/// walk over these. With `lengths`, also does the work of [`tally()`]. Any grid of whole warps.
///
/// # Safety
/// `bases` must be as long as `visits`, as `next` and `lengths` are unless they are empty; it must not overlap any other,
/// and `status` be valid for atomic access.
#[kernel(for V in [i32, i64, f32, f64], max_threads = 256)]
pub unsafe fn expand<V: Value>(
    visits: &[<V as Value>::Record],
    upper: &[<V as Value>::Record],
    bases: *mut <V as Value>::Record,
    next: &[i32],
    lengths: &[i32],
    status: *mut Status,
) {
    let (mut ranked, mut ends) = (0, 0);
    for node in thread::grid_stride(visits.len()) {
        let (sublist, mut value) = V::parts(visits[node]);
        let mut mark = NONE;
        if sublist == ROOT {
            mark = 0;
        } else if (sublist as u32 as usize) < upper.len() {
            let (of_sublist, base) = V::parts(upper[sublist as usize]);
            (mark, value) = (of_sublist, base.plus(value));
        }
        // SAFETY: `node` is below the arrays' length.
        unsafe { bases.add(node).write(V::record(mark, value)) };
        if mark != NONE && !lengths.is_empty() {
            ranked += lengths[node] as i64;
            ends += (next[node] == TAIL) as u32;
        }
    }
    if !lengths.is_empty() {
        // SAFETY: this kernel's contract; all lanes are here.
        unsafe { add_up(status, ranked, ends) };
    }
}

/// Adds up the elements and the ends of the sublists that have a base, because a head leads to
/// them.
///
/// # Safety
/// The arrays must have the same length, and `status` be valid for atomic access. Blocks are whole warps.
#[kernel(for V in [i32, i64, f32, f64], max_threads = 256)]
pub unsafe fn tally<V: Value>(next: &[i32], lengths: &[i32], bases: &[<V as Value>::Record], status: *mut Status) {
    let (mut ranked, mut ends) = (0i64, 0);
    for node in thread::grid_stride(next.len()) {
        if V::parts(bases[node]).0 != NONE {
            ranked += lengths[node] as i64;
            ends += (next[node] == TAIL) as u32;
        }
    }
    // SAFETY: this kernel's contract; all lanes are here.
    unsafe { add_up(status, ranked, ends) };
}
