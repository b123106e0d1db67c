//! Step 1 and what else comes before the walk: heads, and the copy for the strategy `packed`.

use cuda_std::prelude::*;

use super::{NONE, Status, TAIL, Value};

/// What a ranking starts with: no node has a base or a visit, nothing is counted. Any grid.
///
/// # Safety
/// All pointers must be valid for as many writes as there are nodes and counters, and one of `status` and `heads`.
#[kernel(for V in [i32, i64, f32, f64], max_threads = 256)]
pub unsafe fn reset<V: Value>(
    mut bases: DisjointSlice<<V as Value>::Record>,
    mut visits: DisjointSlice<<V as Value>::Record>,
    mut counters: DisjointSlice<u32>,
    status: *mut Status,
    heads: *mut i32,
    head: i32,
) {
    for (_, base) in bases.grid_stride_mut() {
        *base = V::record(NONE, V::ZERO);
    }
    for (_, visit) in visits.grid_stride_mut() {
        *visit = V::record(NONE, V::ZERO);
    }
    for (_, counter) in counters.grid_stride_mut() {
        *counter = 0;
    }
    if thread::index_1d() == 0 {
        // SAFETY: both pointers are valid for a write (this kernel's contract), and only one thread writes.
        unsafe {
            status.write(Status { head, ..Status::default() });
            heads.write(head);
        }
    }
}

/// Step 1 of the strategy `packed`: records of the successors.
#[kernel(max_threads = 256)]
pub fn copy_next(next: &[i32], mut placed: DisjointSlice<U32x2>) {
    let i = thread::index_1d() as usize;
    if i < next.len() {
        placed.set(i32::record(next[i], 0));
    }
}

/// Adds up all successors: in a list, every element but the head is the successor of one other, so that the head is
/// what the sum lacks from `n (n - 1) / 2`. `sum` must start at 0.
///
/// # Safety
/// `sum` must be valid for atomic access.
#[kernel(max_threads = 256)]
pub unsafe fn sum_successors(next: &[i32], sum: *mut i64) {
    let mut own = 0i64;
    for i in thread::grid_stride(next.len()) {
        own += next[i].max(0) as i64;
    }
    // Every lane of the block's full warps is here; blocks are launched with whole warps.
    for distance in [16, 8, 4, 2, 1] {
        own += warp::shuffle_down(warp::FULL_MASK, own, distance);
    }
    if warp::lane_id() == 0 {
        // SAFETY: `sum` is valid for atomic access (this kernel's contract).
        unsafe { atomic::device::fetch_add(sum, own) };
    }
}

/// Takes the head from [`sum_successors()`]' sum; 0 where that gives none (the list is bad then). One thread.
///
/// # Safety
/// The pointers must be valid.
#[kernel(max_threads = 32)]
pub unsafe fn set_head(sum: &i64, n: u32, status: *mut Status, heads: *mut i32) {
    if thread::index_1d() == 0 {
        let n = n as i64;
        let head = n * (n - 1) / 2 - *sum;
        let head = if (0..n).contains(&head) { head as i32 } else { 0 };
        // SAFETY: both pointers are valid (this kernel's contract), and only one thread writes.
        unsafe {
            (*status).head = head;
            heads.write(head);
        }
    }
}

/// Marks every element that is some element's successor, in a bitmap of `n` bits that starts at 0; adds to `tails`,
/// which starts at 0, how many elements have none. Any grid of whole warps.
///
/// # Safety
/// `marked` must have `ceil(n / 32)` words, and `tails` be valid for atomic access.
#[kernel(max_threads = 256)]
pub unsafe fn mark_successors(next: &[i32], marked: *mut u32, tails: *mut u32) {
    let mut own = 0;
    for i in thread::grid_stride(next.len()) {
        let successor = next[i] as u32;
        if (successor as usize) < next.len() {
            // SAFETY: words below the bitmap's length, which is changed by atomics alone.
            unsafe { atomic::device::fetch_or(marked.add(successor as usize / 32), 1 << (successor % 32)) };
        }
        own += (next[i] == TAIL) as u32;
    }
    own = warp::reduce_add(warp::FULL_MASK, own);
    if warp::lane_id() == 0 {
        // SAFETY: `tails` is valid for atomic access (this kernel's contract).
        unsafe { atomic::device::fetch_add(tails, own) };
    }
}

/// How many elements of each word of [`mark_successors()`]' bitmap are heads: `counts[w]` of the elements `32 w .. 32
/// w + 32` below `n`.
#[kernel(max_threads = 256)]
pub fn count_heads(marked: &[u32], n: u32, mut counts: DisjointSlice<u32>) {
    let word = thread::index_1d();
    if (word as usize) < marked.len() {
        counts.set(unmarked(marked[word as usize], word, n).count_ones());
    }
}

/// Writes the heads in ascending order; `places` is the exclusive scan of [`count_heads()`]' counts.
///
/// # Safety
/// `heads` must be as long as there are heads.
#[kernel(max_threads = 256)]
pub unsafe fn collect_heads(marked: &[u32], n: u32, places: &[u32], heads: *mut i32) {
    let word = thread::index_1d();
    if (word as usize) >= marked.len() {
        return;
    }
    let mut bits = unmarked(marked[word as usize], word, n);
    let mut place = places[word as usize] as usize;
    while bits != 0 {
        // SAFETY: there are as many places as bits.
        unsafe { heads.add(place).write((word * 32 + bits.trailing_zeros()) as i32) };
        place += 1;
        bits &= bits - 1;
    }
}

/// The bits of a word that are not set and stand for elements below `n`.
#[inline(always)]
fn unmarked(word: u32, index: u32, n: u32) -> u32 {
    let elements = n - index * 32;
    let valid = if elements >= 32 { u32::MAX } else { (1 << elements) - 1 };
    !word & valid
}
