//! Step 4 of the strategies that leave a record for each element: its result from its sublist's base and its offset.
//! (Those of `binned` are beside its walk.)

use cuda_std::prelude::*;

use super::{Expected, Status, Value, based, rank_and_list};

/// `results[i]` is the base of element i's sublist and the offset, in this order of addition, if the list is as
/// expected.
///
/// Unchecked, an element that no walk came by gets garbage, but nothing is read out of bounds.
#[kernel(for V in [i32, i64, f32, f64], max_threads = 256)]
pub fn results<V: Value>(
    placed: &[<V as Value>::Record],
    bases: &[<V as Value>::Record],
    mut results: DisjointSlice<V>,
    status: &Status,
    expected: Expected,
) {
    let i = thread::index_1d() as usize;
    if i < placed.len() && expected.is_met(status) {
        let (sublist, offset) = V::parts(placed[i]);
        results.set(based(bases, sublist, offset));
    }
}

/// [`results()`] for a forest: the rank and the number of each element's list.
#[kernel(max_threads = 256)]
pub fn lists(
    placed: &[U64x2],
    bases: &[U64x2],
    mut ranks: DisjointSlice<i32>,
    mut lists: DisjointSlice<i32>,
    status: &Status,
    expected: Expected,
) {
    let i = thread::index_1d() as usize;
    if i < placed.len() && expected.is_met(status) {
        let (sublist, offset) = i64::parts(placed[i]);
        let (rank, list) = rank_and_list(based(bases, sublist, offset));
        ranks.set(rank);
        lists.set(list);
    }
}

/// The list's order, `order[ranks[i]] = i`, or with values these in that order, `order[ranks[i]] = values[i]`.
///
/// # Safety
/// `order` must have `ranks.len()` elements. On a bad list two elements may claim one place; either gets it.
#[kernel(max_threads = 256)]
pub unsafe fn order(ranks: &[i32], values: &[i32], order: *mut i32) {
    let i = thread::index_1d() as usize;
    if i < ranks.len() {
        let rank = ranks[i] as u32 as usize;
        if rank < ranks.len() {
            // SAFETY: compared with the length.
            unsafe { atomic::device::store(order.add(rank), values.get(i).copied().unwrap_or(i as i32)) };
        }
    }
}
