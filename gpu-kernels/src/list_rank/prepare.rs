//! Step 1 and what else comes before the walk: heads, and the copy for the strategy `packed`.

use cuda_std::prelude::*;

use super::{Offset, Status};

/// Resets the status and sets the head. One thread.
///
/// # Safety
/// Both pointers must be valid for a write.
#[kernel(max_threads = 32)]
pub unsafe fn reset(status: *mut Status, heads: *mut i32, head: i32) {
    if thread::index_1d() == 0 {
        // SAFETY: both pointers are valid for a write (this kernel's contract), and only one thread writes.
        unsafe {
            status.write(Status { ranked: 0, out_of_range: 0, circles: 0, head, overflows: 0 });
            heads.write(head);
        }
    }
}

/// Step 1 of the strategy `packed`: `placed[i].sublist = next[i]`.
#[kernel(max_threads = 256)]
pub fn copy_next(next: &[i32], mut placed: DisjointSlice<Offset>) {
    let i = thread::index_1d() as usize;
    if i < next.len() {
        placed.set(Offset { sublist: next[i], offset: 0 });
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

/// Marks every element that is some element's successor, in a bitmap of `n` bits that starts at 0; counts in
/// `status.circles` those that were marked already, and in `status.out_of_range` successors that aren't elements.
///
/// # Safety
/// `marked` must have `ceil(n / 32)` words.
#[kernel(max_threads = 256)]
pub unsafe fn mark_successors(next: &[i32], marked: *mut u32, status: *mut Status) {
    let i = thread::index_1d() as usize;
    if i >= next.len() {
        return;
    }
    let successor = next[i] as u32;
    // SAFETY: words below the bitmap's length; the status is changed by atomics alone.
    unsafe {
        if (successor as usize) < next.len() {
            let bit = 1 << (successor % 32);
            let old = atomic::device::fetch_or(marked.add(successor as usize / 32), bit);
            if old & bit != 0 {
                atomic::device::fetch_add(&raw mut (*status).circles, 1);
            }
        } else if next[i] != super::TAIL {
            atomic::device::fetch_add(&raw mut (*status).out_of_range, 1);
        }
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
