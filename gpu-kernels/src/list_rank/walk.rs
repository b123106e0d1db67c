//! Step 2: walk the sublists.
//!
//! Thread `j` starts at splitter `j`, or for `j >= splitters` at a head, and follows the list up to the next splitter
//! or the end. What it sees on the way is bounded: an index out of range ends it, and Brent's cycle detection (one
//! comparison per step) ends a walk in a circle after less than three times its length.
//!
//! In a bad list several walks may pass an element, and so write to it at the same time: all that is written of an
//! element is stored by [`mem::store_relaxed`].

use core::cell::Cell;

use cuda_std::prelude::*;

use super::{ABSENT, BROKEN, Offset, Status, TAIL, Value, splitters::Splitters};

/// The nodes of a walk, which stand for its sublists: those of the splitters, then one for each head.
#[derive(Clone, Copy, Debug, KernelParam)]
pub struct Nodes<'a, V> {
    /// The elements at which lists start.
    pub heads: &'a [i32],
    /// Result: the node of each head.
    pub head_nodes: *mut i32,
    /// Result: each node's successor.
    pub next: *mut i32,
    /// Result: how many elements each node stands for.
    pub length: *mut i32,
    /// Result: the sum over them.
    pub sum: *mut V,
    /// What is wrong with the list.
    pub status: *mut Status,
}

/// Where a walk ended: the successor node, the number of elements, their sum.
struct Walked<V> {
    next: i32,
    length: i32,
    sum: V,
}

/// Walks from `start` over indices below `n`. `load(element)` is its successor; `visit(element, offset)` records its
/// offset and gives its value.
///
/// With `AHEAD` the successor's successor is loaded before the element is looked at closer, which hides those
/// instructions behind the load; loads then must not depend on what `visit` stores.
#[inline(always)]
fn walk<V: Value, const AHEAD: bool>(
    start: u32,
    n: u32,
    splitters: Splitters,
    status: *mut Status,
    load: impl Fn(u32) -> i32,
    mut visit: impl FnMut(u32, V) -> V,
) -> Walked<V> {
    let mut element = start;
    let mut length = 0i32;
    let mut sum = V::ZERO;
    let mut saved = u32::MAX;
    let mut next_save = 1i32;
    let mut ahead = if AHEAD { load(element) } else { 0 };
    let next = loop {
        let next = if AHEAD { ahead } else { load(element) };
        let in_range = (next as u32) < n;
        if AHEAD {
            ahead = load(if in_range { next as u32 } else { element });
        }
        sum = sum.plus(visit(element, sum));
        length += 1;
        // One unsigned comparison: the end (-1) and every index out of range.
        if !in_range {
            if next == TAIL {
                break TAIL;
            }
            // SAFETY: `status` is the launch's status record, which all threads change by atomics alone.
            unsafe { atomic::device::fetch_add(&raw mut (*status).out_of_range, 1) };
            break BROKEN;
        }
        element = next as u32;
        if let Some(number) = splitters.number(element) {
            break number as i32;
        }
        if element == saved {
            // SAFETY: `status` is the launch's status record, which all threads change by atomics alone.
            unsafe { atomic::device::fetch_add(&raw mut (*status).circles, 1) };
            break BROKEN;
        }
        if length == next_save {
            saved = element;
            // Saturates: a list has fewer than 2^31 elements, so that a longer walk has met `saved` before.
            next_save = next_save.saturating_mul(2);
        }
    };
    Walked { next, length, sum }
}

impl<V> Nodes<'_, V> {
    /// How many there are.
    #[inline(always)]
    pub(super) fn count(&self, splitters: Splitters) -> usize {
        splitters.count as usize + self.heads.len()
    }

    /// The element where node `j` starts, or `None` where no sublist starts. Notes for a head which node stands for it.
    ///
    /// # Safety
    /// There is such a node, and `head_nodes` is valid for a write at each index of `heads`.
    #[inline(always)]
    pub(super) unsafe fn start(&self, j: u32, n: u32, splitters: Splitters) -> Option<u32> {
        if j < splitters.count {
            let element = splitters.element(j);
            return (element < n).then_some(element);
        }
        let index = (j - splitters.count) as usize;
        let head = self.heads[index] as u32;
        if head >= n {
            // SAFETY: the index is one of `heads`, at each of which `head_nodes` is valid for a write (this function's
            // contract).
            unsafe { self.head_nodes.add(index).write(ABSENT) };
            return None;
        }
        let number = splitters.number(head);
        // SAFETY: the index is one of `heads`, at each of which `head_nodes` is valid for a write (this function's
        // contract).
        unsafe { self.head_nodes.add(index).write(number.unwrap_or(j) as i32) };
        match number {
            Some(_) => None,
            None => Some(head),
        }
    }

    /// Writes a node.
    ///
    /// # Safety
    /// There is such a node, whose places are valid for writes.
    #[inline(always)]
    pub(super) unsafe fn write(&self, j: u32, next: i32, length: i32, sum: V) {
        let j = j as usize;
        // SAFETY: the node's places are valid for writes (this function's contract).
        unsafe {
            self.next.add(j).write(next);
            self.length.add(j).write(length);
            self.sum.add(j).write(sum);
        }
    }
}

/// Walks the sublist of the thread's node, and writes the node. `load` is as in [`walk`], `visit` gets the node's
/// number, too, and `length` gives the node's length from the number of elements walked.
///
/// # Safety
/// The nodes' arrays have room for all, `load` and `visit` may be called for indices below `n`.
#[inline(always)]
unsafe fn walk_node<V: Value, const AHEAD: bool>(
    n: u32,
    nodes: Nodes<'_, V>,
    splitters: Splitters,
    load: impl Fn(usize) -> i32,
    visit: impl Fn(usize, V, i32) -> V,
    length: impl Fn(i32) -> i32,
) {
    let j = thread::index_1d();
    if j as usize >= nodes.count(splitters) {
        return;
    }
    // SAFETY: `j` is a node, and the nodes' arrays have room for it (this function's contract).
    unsafe {
        let walked = match nodes.start(j, n, splitters) {
            Some(first) => walk::<V, AHEAD>(
                first,
                n,
                splitters,
                nodes.status,
                |element| load(element as usize),
                |element, offset| visit(element as usize, offset, j as i32),
            ),
            None => Walked { next: ABSENT, length: 0, sum: V::ZERO },
        };
        nodes.write(j, walked.next, length(walked.length), walked.sum);
    }
}

/// Records an element's sublist and offset.
///
/// # Safety
/// `placed` has the element.
#[inline(always)]
unsafe fn record<V: Value>(placed: *mut V::Placed, element: usize, sublist: i32, offset: V) {
    // SAFETY: the element is there (this function's contract), and a record has its word's size and alignment. No
    // record is accessed otherwise during the walk.
    unsafe { mem::store_relaxed(placed.add(element).cast(), V::place(sublist, offset)) }
}

/// Strategy `split`: successors are loaded from `next`, through the read-only cache, and offsets stored to another
/// array, so that no load waits for a store. One thread per node.
///
/// # Safety
/// `next` and `placed` must have as many elements, the arrays of nodes as many as there are, and the arrays written
/// must not overlap any other.
#[kernel(max_threads = 256)]
pub unsafe fn split(next: &[i32], placed: *mut Offset, nodes: Nodes<'_, i32>, splitters: Splitters) {
    // SAFETY: the walk steps on indices of `next` alone, and `placed` is as long (this kernel's contract); each element
    // belongs to one sublist, and a list where it doesn't is found out by the totals.
    unsafe {
        let load = |element: usize| *next.get_unchecked(element);
        let visit = |element, offset, sublist| {
            record(placed, element, sublist, offset);
            1
        };
        walk_node::<i32, true>(next.len() as u32, nodes, splitters, load, visit, |steps| steps);
    }
}

/// Strategy `packed`: successors are loaded from the array that the offsets are stored to, where
/// [`copy_next`](super::prepare::copy_next()) has put them. One thread per node.
///
/// # Safety
/// `placed` must have `n` elements, the arrays of nodes as many as there are, and the arrays written must not overlap
/// any other.
#[kernel(max_threads = 256)]
pub unsafe fn packed(placed: *mut Offset, n: u32, nodes: Nodes<'_, i32>, splitters: Splitters) {
    // SAFETY: the walk steps on indices below `n` alone, which `placed` has (this kernel's contract); each element
    // belongs to one sublist, and a list where it doesn't is found out by the totals.
    unsafe {
        let load = |element: usize| mem::load_relaxed(placed.add(element).cast::<U32x2>()).x as i32;
        let visit = |element, offset, sublist| {
            record(placed, element, sublist, offset);
            1
        };
        walk_node::<i32, false>(n, nodes, splitters, load, visit, |steps| steps);
    }
}

/// Walks with a weight for each element. Strategy `split`. One thread per node.
///
/// # Safety
/// `next`, `weights` and `placed` must have as many elements, the arrays of nodes as many as there are, and the arrays
/// written must not overlap any other.
#[kernel(for V in [i32, i64, f32, f64], max_threads = 256)]
pub unsafe fn weighted<V: Value>(
    next: &[i32],
    weights: &[V],
    placed: *mut <V as Value>::Placed,
    nodes: Nodes<'_, V>,
    splitters: Splitters,
) {
    // SAFETY: the walk steps on indices of `next` alone, and the other arrays are as long (this kernel's contract);
    // each element belongs to one sublist, and a list where it doesn't is found out by the totals.
    unsafe {
        let load = |element: usize| *next.get_unchecked(element);
        let visit = |element, offset, sublist| {
            record(placed, element, sublist, offset);
            *weights.get_unchecked(element)
        };
        walk_node::<V, true>(next.len() as u32, nodes, splitters, load, visit, |steps| steps);
    }
}

/// The nodes of the level below, as the elements that are walked.
#[derive(Clone, Copy, Debug, KernelParam)]
pub struct Lower<'a, V> {
    /// Each one's successor.
    pub next: &'a [i32],
    /// How many elements each stands for.
    pub length: &'a [i32],
    /// The sum over them.
    pub sum: &'a [V],
    /// Result: the sublist of each.
    pub sublist: *mut i32,
    /// Result: how many elements come before it there.
    pub length_offset: *mut i32,
    /// Result: their sum.
    pub sum_offset: *mut V,
}

/// Walks a list of nodes, for the next level of the recursion. One thread per node of that level.
///
/// # Safety
/// The arrays of the level below must have as many elements, the arrays of nodes as many as there are, and the arrays
/// written must not overlap any other.
#[kernel(for V in [i32, i64, f32, f64], max_threads = 256)]
pub unsafe fn nodes<V: Value>(lower: Lower<'_, V>, nodes: Nodes<'_, V>, splitters: Splitters) {
    let length = Cell::new(0i32);
    // SAFETY: the walk steps on indices of `next` alone, and the arrays of the level below are as long (this kernel's
    // contract). In a bad list several walks may pass a node; what they leave for it is stored atomically, and the
    // totals show that the list is bad.
    unsafe {
        // A node that the level below found broken, or absent, ends here too; it has been counted.
        let load = |element: usize| (*lower.next.get_unchecked(element)).max(TAIL);
        let visit = |element, offset, sublist| {
            mem::store_relaxed(lower.sublist.add(element), sublist);
            mem::store_relaxed(lower.length_offset.add(element), length.get());
            mem::store_relaxed(lower.sum_offset.add(element), offset);
            length.set(length.get().wrapping_add(*lower.length.get_unchecked(element)));
            *lower.sum.get_unchecked(element)
        };
        walk_node::<V, true>(lower.next.len() as u32, nodes, splitters, load, visit, |_| length.get());
    }
}
