//! Step 3: rank the list of sublists.
//!
//! A list of nodes is ranked by the same walk with fewer splitters ([`nodes`](super::walk::nodes())), level by
//! level, until one block can hold it ([`solve()`]); then the bases travel back up ([`expand()`]). Forests of
//! many lists don't shrink below their number of lists: they are ranked by pointer jumping over all nodes
//! ([`jump()`], Wyllie 1979).

// Loops over several arrays of registers at once read best by their index.
#![allow(clippy::needless_range_loop)]

use cuda_std::prelude::*;

use super::{Status, TAIL, Value};

/// The most nodes that [`solve()`] takes.
pub const SOLVE_NODES: usize = 4096;
/// Threads of the solving block.
pub const SOLVE_THREADS: u32 = 1024;
const PER_THREAD: usize = SOLVE_NODES / SOLVE_THREADS as usize;

/// Dynamic shared memory of [`solve()`] for values of `size` bytes, in bytes.
pub const fn solve_shared(size: usize) -> usize {
    SOLVE_NODES * (size + 2 * size_of::<i32>())
}

/// What comes before each node of a level.
#[derive(Clone, Copy, Debug, KernelParam)]
pub struct Bases<V> {
    /// How many elements.
    pub length: *mut i32,
    /// Their sum.
    pub sum: *mut V,
    /// The root that the node hangs from, or -1 for a node in a circle.
    pub root: *mut i32,
}

/// Ranks at most [`SOLVE_NODES`] nodes by pointer jumping in shared memory.
///
/// # Safety
/// One block of [`SOLVE_THREADS`] threads, with [`solve_shared`] bytes of dynamic shared memory. All arrays must have
/// `next.len()` elements, and those written must not overlap any other.
// One block per SM: for two, ptxas would keep to 32 registers and spill.
#[kernel(for V in [i32, i64, f32, f64], max_threads = 1024, min_blocks = 1)]
pub unsafe fn solve<V: Value>(next: &[i32], lengths: &[i32], sums: &[V], bases: Bases<V>) {
    let m = next.len().min(SOLVE_NODES);
    // The widest values first, so that all are aligned.
    let sum = dynamic_shared::<V>();
    // SAFETY: the launch gives `solve_shared(size_of::<V>())` bytes.
    let (predecessor, length) = unsafe {
        let predecessor = sum.add(SOLVE_NODES).cast::<i32>();
        (predecessor, predecessor.add(SOLVE_NODES))
    };
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
        let mut is_root = [false; PER_THREAD];
        let mut jump = [0i32; PER_THREAD];
        let mut own_length = [0i32; PER_THREAD];
        let mut own_sum = [V::ZERO; PER_THREAD];
        for k in 0..PER_THREAD {
            let node = slot(k);
            if node < m {
                let before = *predecessor.add(node) as usize;
                jump[k] = before as i32;
                is_root[k] = before == node;
                if before != node {
                    own_length[k] = lengths[before];
                    own_sum[k] = sums[before];
                }
                length.add(node).write(own_length[k]);
                sum.add(node).write(own_sum[k]);
            }
        }
        thread::sync_threads();
        let rounds = usize::BITS - m.saturating_sub(1).leading_zeros();
        for _ in 0..rounds {
            for k in 0..PER_THREAD {
                if slot(k) < m {
                    let before = jump[k] as usize;
                    own_length[k] = own_length[k].wrapping_add(*length.add(before));
                    own_sum[k] = (*sum.add(before)).plus(own_sum[k]);
                    jump[k] = *predecessor.add(before);
                }
            }
            thread::sync_threads();
            for k in 0..PER_THREAD {
                let node = slot(k);
                if node < m {
                    length.add(node).write(own_length[k]);
                    sum.add(node).write(own_sum[k]);
                    predecessor.add(node).write(jump[k]);
                }
            }
            thread::sync_threads();
        }
        // A node in a circle ends on another node of it; only a node that had no predecessor is a root.
        for k in 0..PER_THREAD {
            let node = slot(k);
            if node < m {
                length.add(node).write(is_root[k] as i32);
            }
        }
        thread::sync_threads();
        for k in 0..PER_THREAD {
            let node = slot(k);
            if node < m {
                let rooted = *length.add(jump[k] as usize) != 0;
                bases.length.add(node).write(own_length[k]);
                bases.sum.add(node).write(own_sum[k]);
                bases.root.add(node).write(if rooted { jump[k] } else { TAIL });
            }
        }
    }
}

/// Hands the bases and roots of one level's nodes to the nodes of the level below, which lie in sublists of them.
///
/// # Safety
/// The arrays written must be as long as `sublists`, and must not overlap any other.
#[kernel(for V in [i32, i64, f32, f64], max_threads = 256)]
pub unsafe fn expand<V: Value>(
    sublists: &[i32],
    length_offsets: &[i32],
    sum_offsets: &[V],
    upper_length: &[i32],
    upper_sum: &[V],
    upper_roots: &[i32],
    bases: Bases<V>,
) {
    let node = thread::index_1d() as usize;
    if node >= sublists.len() {
        return;
    }
    let sublist = sublists[node] as u32 as usize;
    let (mut length, mut sum, mut root) = (0, V::ZERO, TAIL);
    // A node that no walk came by has the fill value -1, which isn't a sublist.
    if sublist < upper_roots.len() {
        length = upper_length[sublist].wrapping_add(length_offsets[node]);
        sum = upper_sum[sublist].plus(sum_offsets[node]);
        root = upper_roots[sublist];
    }
    // SAFETY: `node` is below the arrays' length.
    unsafe {
        bases.length.add(node).write(length);
        bases.sum.add(node).write(sum);
        bases.root.add(node).write(root);
    }
}

/// Starts pointer jumping: each node's predecessor. `predecessors` must hold each node's own number.
///
/// # Safety
/// `predecessors` must be as long as `next`.
#[kernel(max_threads = 256)]
pub unsafe fn find_predecessors(next: &[i32], predecessors: *mut i32) {
    let node = thread::index_1d() as usize;
    if node < next.len() && (next[node] as u32 as usize) < next.len() {
        // SAFETY: the successor is below the length; two writers are both right, and the totals tell.
        unsafe { atomic::device::store(predecessors.add(next[node] as usize), node as i32) };
    }
}

/// Writes each node's own number.
#[kernel(max_threads = 256)]
pub fn identity(mut numbers: DisjointSlice<i32>) {
    numbers.set(thread::index_1d() as i32);
}

/// Starts pointer jumping: the values before each node are those of its predecessor (itself for a root).
///
/// # Safety
/// All arrays must have the same length, hold indices below it, and those written must not overlap any other.
#[kernel(for V in [i32, i64, f32, f64], max_threads = 256)]
pub unsafe fn first_jump<V: Value>(predecessors: &[i32], lengths: &[i32], sums: &[V], base_length: *mut i32, base_sum: *mut V) {
    let node = thread::index_1d() as usize;
    if node >= predecessors.len() {
        return;
    }
    let before = predecessors[node] as usize;
    let (mut length, mut sum) = (0, V::ZERO);
    if before != node {
        length = lengths[before];
        sum = sums[before];
    }
    // SAFETY: `node` is below the arrays' length.
    unsafe {
        base_length.add(node).write(length);
        base_sum.add(node).write(sum);
    }
}

/// One round of pointer jumping over all nodes, from one set of arrays to another; after `ceil(log2(nodes))` of them
/// every node knows what comes before it.
///
/// # Safety
/// All arrays must have the same length, hold indices below it, and those written must not overlap any other.
#[kernel(for V in [i32, i64, f32, f64], max_threads = 256)]
pub unsafe fn jump<V: Value>(
    from_predecessor: &[i32],
    from_length: &[i32],
    from_sum: &[V],
    predecessor: *mut i32,
    base_length: *mut i32,
    base_sum: *mut V,
) {
    let node = thread::index_1d() as usize;
    if node >= from_predecessor.len() {
        return;
    }
    let before = from_predecessor[node] as usize;
    // SAFETY: `node` is below the arrays' length.
    unsafe {
        base_length.add(node).write(from_length[node].wrapping_add(from_length[before]));
        base_sum.add(node).write(from_sum[before].plus(from_sum[node]));
        predecessor.add(node).write(from_predecessor[before]);
    }
}

/// After pointer jumping: turns each node's last predecessor into the number of its list, or -1 for a node in a circle.
/// `labels` holds the list's number for each node that stands for a head, and -1 elsewhere.
#[kernel(max_threads = 256)]
pub fn label(last: &[i32], labels: &[i32], mut lists: DisjointSlice<i32>) {
    let node = thread::index_1d() as usize;
    if node < last.len() {
        lists.set(labels[last[node] as usize]);
    }
}

/// Writes each head's list number to the node that stands for it.
///
/// # Safety
/// `labels` must be as long as there are nodes, and no two of `head_nodes` equal, unless the list is bad.
#[kernel(max_threads = 256)]
pub unsafe fn label_heads(head_nodes: &[i32], labels: *mut i32, nodes: u32) {
    let list = thread::index_1d() as usize;
    if list < head_nodes.len() && (head_nodes[list] as u32) < nodes {
        // SAFETY: compared with the number of nodes.
        unsafe { atomic::device::store(labels.add(head_nodes[list] as usize), list as i32) };
    }
}

/// Adds up the elements of the lists that start at a head: each list's last node knows its base and its own length.
///
/// `roots` of the nodes, and the root that counts (`head_root[0]`; every one but -1 does where `head_root` is empty).
///
/// # Safety
/// The node arrays must have the same length.
#[kernel(max_threads = 256)]
pub unsafe fn tally(next: &[i32], lengths: &[i32], base_length: &[i32], roots: &[i32], head_root: &[i32], status: *mut Status) {
    let node = thread::index_1d() as usize;
    if node >= next.len() || next[node] != TAIL || roots[node] < 0 {
        return;
    }
    if head_root.is_empty() || roots[node] == head_root[0] {
        let total = base_length[node].wrapping_add(lengths[node]);
        // SAFETY: all threads change the status by atomics alone.
        unsafe { atomic::device::fetch_add(&raw mut (*status).ranked, total as u32 as u64) };
    }
}
