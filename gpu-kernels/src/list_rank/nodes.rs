//! Step 3: rank the lists of sublists.
//!
//! The sublists of splitters are the nodes. Of some it is known what comes before them, as a head's sublist leads there
//! (`bases`): these are the *roots*, of which there is one for each list that has a splitter. Lists of nodes are walked
//! in the same way with fewer splitters ([`nodes`](super::walk::nodes())), level by level, until one block can hold
//! them ([`solve()`]); then the bases travel back up ([`expand()`]). A level has as many nodes as splitters, however
//! many lists there are.

use cuda_std::prelude::*;

use super::{
    NONE, Status, TAIL, Value, add_up,
    short::{self, List, ROOT, SPLITTER},
    splitters::Splitters,
    walk,
};

/// The most nodes that [`solve()`] takes of a block with `shared` bytes of shared memory, for values of `size` bytes.
pub const fn most(shared: usize, size: usize) -> usize {
    let fits = shared.saturating_sub(short::static_shared(size) + MOST / 8) / (size_of::<i32>() + size) / 4 * 4;
    if fits < MOST { fits } else { MOST }
}

/// With more, another level takes less time.
const MOST: usize = 8192;
/// Nodes that a thread loads at a time. (Their loops unroll, so that arrays stay in registers.)
const LOADS: usize = 4;

/// Ranks nodes in shared memory, in the way of [`short`]. `bases` has what comes before the roots, and [`NONE`] for other nodes,
/// and then what comes before each that a root leads to. With `lengths`, adds up these nodes' elements and ends in `status`.
///
/// # Safety
/// One block of whole warps, or of a single thread, with a thread for each splitter and [`short::list_bytes`] for at most
/// [`most`] weighted elements. `sums` and `bases` must have `next.len()` elements, and `lengths` unless it is empty. `bases`
/// must not overlap any other, and `status` be valid for atomic access.
#[allow(clippy::needless_range_loop, reason = "loops over several arrays unroll")]
#[kernel(for V in [i32, i64, f32, f64], max_threads = 1024, min_blocks = 1)]
pub unsafe fn solve<V: Value>(
    next: &[i32],
    sums: &[V],
    bases: *mut <V as Value>::Record,
    lengths: &[i32],
    splitters: Splitters,
    status: *mut Status,
) {
    let (m, thread, threads) = (next.len(), thread::thread_idx_x() as usize, thread::block_dim_x() as usize);
    // One bit for each node.
    let reached = shared_array![u32; MOST / 32];
    // SAFETY: memory and threads are those of this kernel's contract, and walks meet nodes alone. A thread writes its own nodes;
    // barriers separate that from the walks. In a bad list several walks may pass a node, which they change by atomics.
    unsafe {
        for word in thread::strided(thread..MOST / 32, threads) {
            reached.write(word, 0);
        }
        let list = List::<V>::new(m, true, splitters);
        for first in thread::strided(thread..m, LOADS * threads) {
            let node = |k: usize| (first + k * threads).min(m - 1);
            let (mut successors, mut values, mut before) = ([0; LOADS], [V::ZERO; LOADS], [V::record(NONE, V::ZERO); LOADS]);
            for k in 0..LOADS {
                successors[k] = *next.get_unchecked(node(k));
                values[k] = *sums.get_unchecked(node(k));
                before[k] = *bases.add(node(k));
            }
            for k in 0..LOADS {
                let successor = if (successors[k] as u32 as usize) < m { successors[k] } else { TAIL };
                // Whatever a bad list leads to a root ends there.
                let (successor, value) = match V::parts(before[k]) {
                    (NONE, _) => (successor, values[k]),
                    (_, base) => (ROOT - 1 - successor, base.plus(values[k])),
                };
                if first + k * threads < m {
                    list.next.add(node(k)).write(successor);
                    list.values.add(node(k)).write(value);
                }
            }
        }
        thread::sync_threads();
        let start = list.start().filter(|&start| *list.next.add(start) > ROOT);
        let sublist = list.sublist(start, |firsts| {
            let end = |sublist, base| firsts.set(sublist, base);
            walk_roots(&list, |node, base| base.plus(list.values.add(node).read()), end);
        });
        let put = |node: usize, base: V| {
            atomic::block::fetch_or(reached.at(node / 32), 1 << (node % 32));
            let value = mem::load_relaxed_shared(list.values.add(node));
            atomic::block::exchange(list.values.add(node), base);
            base.plus(value)
        };
        walk_roots(&list, put, |_, _| ());
        if let (Some(mut node), Some(mut base)) = (start, sublist.base) {
            let mut successor = sublist.successor;
            for left in (0..sublist.length).rev() {
                base = put(node, base);
                if left > 0 {
                    node = successor as usize;
                    successor = list.next.add(node).read();
                }
            }
        }
        thread::sync_threads();
        let (mut ranked, mut ends) = (0i64, 0);
        for first in thread::strided(thread..m, LOADS * threads) {
            let node = |k: usize| (first + k * threads).min(m - 1);
            let mut counts = [(0, 0); LOADS];
            for k in 0..LOADS {
                if !lengths.is_empty() {
                    counts[k] = (*lengths.get_unchecked(node(k)), *next.get_unchecked(node(k)));
                }
            }
            for k in 0..LOADS {
                let is_reached = reached.read(node(k) / 32) >> (node(k) % 32) & 1 == 1;
                if first + k * threads < m && (is_reached || list.next.add(node(k)).read() <= ROOT) {
                    ranked += counts[k].0 as i64;
                    ends += u32::from(counts[k].1 == TAIL);
                    if is_reached {
                        bases.add(node(k)).write(V::record(0, list.values.add(node(k)).read()));
                    }
                }
            }
        }
        if !lengths.is_empty() {
            add_up(status, ranked, ends);
        }
    }
}

/// Walks from each root up to a splitter, and calls `visit` with each node and the sum before it, which returns the sum after
/// it. Calls `end` with the splitter's number. A root holds the sum after it, and starts no sublist.
///
/// # Safety
/// Successors are below the number of nodes; those of roots are coded. `visit` and `end` are sound for any node and splitter.
#[inline(always)]
unsafe fn walk_roots<V: Value>(list: &List<V>, visit: impl Fn(usize, V) -> V, end: impl Fn(usize, V)) {
    for root in thread::strided(thread::thread_idx_x() as usize..list.n, thread::block_dim_x() as usize) {
        // SAFETY: nodes are below their number (this function's contract).
        unsafe {
            let mut successor = ROOT - 1 - list.next.add(root).read();
            if successor < TAIL {
                continue;
            }
            let (mut base, mut left) = (list.values.add(root).read(), list.n);
            while successor >= 0 && left > 0 {
                let node = successor as usize;
                successor = list.next.add(node).read();
                if successor > SPLITTER {
                    base = visit(node, base);
                }
                left -= 1;
            }
            if successor <= SPLITTER && successor > ROOT {
                end((SPLITTER - successor) as usize, base);
            }
        }
    }
}

/// Hands the bases of one level's nodes to the nodes of the level below, from the records of the walk over these. With `lengths`,
/// also adds up the elements and the ends of the nodes that have a base. Any grid of whole warps.
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
        if sublist == walk::ROOT {
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
