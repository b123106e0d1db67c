//! Step 4: every element's result from its sublist's base and its offset.
//!
//! A bad list leaves records that no walk has written. So that they aren't read, the kernels do nothing unless as many
//! elements were ranked as they `expect`; 0 stands for no such check.

// Loops over several arrays of registers at once read best by their index.
#![allow(clippy::needless_range_loop)]

use cuda_std::prelude::*;

use super::{Offset, Status, Value};

/// Elements that one thread of [`ranks()`] handles: four offsets are two 16-byte loads, four ranks one 16-byte store.
pub const RANKS_PER_THREAD: usize = 4;

/// Whether the ranked elements are as many as expected.
#[inline(always)]
pub(super) fn complete(status: &Status, expected: u64) -> bool {
    expected == 0 || status.ranked == expected
}

/// `ranks[i] = base[placed[i].sublist] + placed[i].offset`. One thread for each [`RANKS_PER_THREAD`] elements.
///
/// Unchecked, an element that no walk came by gets 0 or garbage, but nothing is read out of bounds.
///
/// # Safety
/// `ranks` must have `placed.len()` elements, and both arrays must be aligned to 16 bytes.
#[kernel(max_threads = 256)]
pub unsafe fn ranks(placed: &[Offset], base: &[i32], ranks: *mut i32, status: &Status, expected: u64) {
    if !complete(status, expected) {
        return;
    }
    let first = thread::index_1d() as usize * RANKS_PER_THREAD;
    let rank = |sublist: i32, offset: i32| -> i32 {
        let sublist = sublist as u32 as usize;
        // SAFETY: compared with the length. The load goes through the read-only cache, like all loads of slices.
        if sublist < base.len() { unsafe { base.get_unchecked(sublist) }.wrapping_add(offset) } else { 0 }
    };
    if first + RANKS_PER_THREAD <= placed.len() {
        // SAFETY: four elements from `first` on are in range, and `first` is a multiple of four, so that both are
        // aligned.
        unsafe {
            let pairs = placed.as_ptr().add(first).cast::<I32x4>();
            let (a, b) = (mem::load_nc(pairs), mem::load_nc(pairs.add(1)));
            let result = I32x4 { x: rank(a.x, a.y), y: rank(a.z, a.w), z: rank(b.x, b.y), w: rank(b.z, b.w) };
            mem::store_streaming(ranks.add(first).cast::<I32x4>(), result);
        }
    } else {
        for i in first..placed.len() {
            // SAFETY: in range.
            unsafe { ranks.add(i).write(rank(placed[i].sublist, placed[i].offset)) };
        }
    }
}

/// The number of each element's list: `lists[i] = roots[placed[i].sublist]`.
#[kernel(max_threads = 256)]
pub fn lists(placed: &[Offset], roots: &[i32], mut lists: DisjointSlice<i32>, status: &Status, expected: u64) {
    let i = thread::index_1d() as usize;
    if i < placed.len() && complete(status, expected) {
        let sublist = placed[i].sublist as u32 as usize;
        lists.set(if sublist < roots.len() { roots[sublist] } else { -1 });
    }
}

/// The list's order: `order[ranks[i]] = i`.
///
/// # Safety
/// `order` must have `ranks.len()` elements. On a bad list two elements may claim one place; either gets it.
#[kernel(max_threads = 256)]
pub unsafe fn order(ranks: &[i32], order: *mut i32) {
    let i = thread::index_1d() as usize;
    if i < ranks.len() {
        let rank = ranks[i] as u32 as usize;
        if rank < ranks.len() {
            // SAFETY: compared with the length.
            unsafe { atomic::device::store(order.add(rank), i as i32) };
        }
    }
}

/// `sums[i] = base[placed[i].sublist] + placed[i].offset`, in this order of addition.
#[kernel(for V in [i32, i64, f32, f64], max_threads = 256)]
pub fn sums<V: Value>(placed: &[<V as Value>::Placed], base: &[V], mut sums: DisjointSlice<V>, status: &Status, expected: u64) {
    let i = thread::index_1d() as usize;
    if i < placed.len() && complete(status, expected) {
        let (sublist, offset) = V::placed(placed[i]);
        let sublist = sublist as u32 as usize;
        sums.set(if sublist < base.len() { base[sublist].plus(offset) } else { V::ZERO });
    }
}
