//! Step 2: walk the sublists.
//!
//! Thread `j` starts at splitter `j`, or for `j >= splitters` at a head, and follows the list up to the next splitter
//! or the end. What it sees on the way is bounded: an index out of range ends it, and Brent's cycle detection (one
//! comparison per step) ends a walk in a circle after less than three times its length.
//!
//! In a bad list several walks may pass an element, and so write to it at the same time: all that is written of an
//! element is stored by [`mem::store_relaxed`].

use cuda_std::prelude::*;

use super::{ABSENT, BROKEN, Offset, Status, TAIL, Value, splitters::Splitters};

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

/// The element where thread `j` starts, or `None` where no sublist starts. Notes for a head which node stands for it.
///
/// # Safety
/// `head_nodes` must be valid for a write at each index of `heads`.
#[inline(always)]
pub(super) unsafe fn start(j: u32, n: u32, splitters: Splitters, heads: &[i32], head_nodes: *mut i32) -> Option<u32> {
    if j < splitters.count {
        let element = splitters.element(j);
        return (element < n).then_some(element);
    }
    let index = (j - splitters.count) as usize;
    let head = heads[index] as u32;
    if head >= n {
        // SAFETY: the index is one of `heads`, at each of which `head_nodes` is valid for a write (this function's
        // contract).
        unsafe { head_nodes.add(index).write(ABSENT) };
        return None;
    }
    let number = splitters.number(head);
    // SAFETY: the index is one of `heads`, at each of which `head_nodes` is valid for a write (this function's
    // contract).
    unsafe { head_nodes.add(index).write(number.unwrap_or(j) as i32) };
    match number {
        Some(_) => None,
        None => Some(head),
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

macro_rules! walks {
    ($(#[$doc:meta])* $name:ident($($array:ident: $array_type:ty),*) -> $value:ty, ahead: $ahead:literal, load: |$from:ident| $load:expr, visit: |$element:ident, $offset:ident, $sublist:ident| $visit:expr) => {
        $(#[$doc])*
        ///
        /// One thread per node: `count` of the splitters, then one for each of `heads`. Writes each node's successor,
        /// length and sum to `node_next`, `node_length` and `node_sum`, and the node of each head to `head_nodes`.
        ///
        /// # Safety
        /// The element arrays must have `n` elements, the node arrays `count + heads.len()`, `head_nodes`
        /// `heads.len()`, and the arrays written must not overlap any other. `group`, `magic`, `shift` and `seed` must
        /// be of one [`Splitters`].
        #[kernel(max_threads = 256)]
        #[allow(clippy::too_many_arguments)]
        pub unsafe fn $name(
            $($array: $array_type,)*
            n: u32,
            heads: &[i32],
            head_nodes: *mut i32,
            node_next: *mut i32,
            node_length: *mut i32,
            node_sum: *mut $value,
            status: *mut Status,
            count: u32,
            group: u32,
            magic: u32,
            shift: u32,
            seed: u32,
        ) {
            let splitters = Splitters { count, group, magic, shift, seed };
            let j = thread::index_1d();
            if j as usize >= count as usize + heads.len() {
                return;
            }
            // SAFETY: `head_nodes` is as long as `heads`.
            let walked = match unsafe { start(j, n, splitters, heads, head_nodes) } {
                // SAFETY: `walk` steps on indices below `n` alone, which the element arrays hold; each element belongs
                // to one sublist, and a list where it doesn't is found out by the totals.
                Some(first) => unsafe {
                    walk::<$value, $ahead>(
                        first,
                        n,
                        splitters,
                        status,
                        |$from| {
                            let $from = $from as usize;
                            $load
                        },
                        |$element, $offset| {
                            let $element = $element as usize;
                            let $sublist = j as i32;
                            $visit
                        },
                    )
                },
                None => Walked { next: ABSENT, length: 0, sum: <$value>::ZERO },
            };
            let j = j as usize;
            // SAFETY: `j` is a node.
            unsafe {
                node_next.add(j).write(walked.next);
                node_length.add(j).write(walked.length);
                node_sum.add(j).write(walked.sum);
            }
        }
    };
}

walks! {
    /// Strategy `split`: successors are loaded from `next`, through the read-only cache, and offsets stored to another
    /// array, so that no load waits for a store.
    split(next: &[i32], placed: *mut Offset) -> i32,
    ahead: true,
    load: |element| *next.get_unchecked(element),
    visit: |element, offset, sublist| {
        record(placed, element, sublist, offset);
        1
    }
}

walks! {
    /// Strategy `packed`: successors are loaded from the array that the offsets are stored to, where
    /// [`copy_next`](super::prepare::copy_next()) has put them.
    packed(placed: *mut Offset) -> i32,
    ahead: false,
    load: |element| mem::load_relaxed(placed.add(element).cast::<U32x2>()).x as i32,
    visit: |element, offset, sublist| {
        record(placed, element, sublist, offset);
        1
    }
}

macro_rules! weighted_walks {
    ($($name:ident, $nodes:ident: $t:ty;)*) => {$(
        walks! {
            /// Walks with a weight for each element. Strategy `split`.
            $name(next: &[i32], weights: &[$t], placed: *mut <$t as Value>::Placed) -> $t,
            ahead: true,
            load: |element| *next.get_unchecked(element),
            visit: |element, offset, sublist| {
                record(placed, element, sublist, offset);
                *weights.get_unchecked(element)
            }
        }

        /// Walks a list of nodes, for the next level of the recursion: `next`, `lengths` and `sums` are the nodes'.
        /// Where each lies goes to `sublists`, `length_offsets` and `sum_offsets`.
        ///
        /// # Safety
        /// The arrays of the level walked (`next` to `sum_offsets`) must have `n` elements, the node arrays `count +
        /// heads.len()`, `head_nodes` `heads.len()`, and the arrays written must not overlap any other. `group`,
        /// `magic`, `shift` and `seed` must be of one [`Splitters`].
        #[kernel(max_threads = 256)]
        #[allow(clippy::too_many_arguments)]
        pub unsafe fn $nodes(
            next: &[i32],
            lengths: &[i32],
            sums: &[$t],
            sublists: *mut i32,
            length_offsets: *mut i32,
            sum_offsets: *mut $t,
            n: u32,
            heads: &[i32],
            head_nodes: *mut i32,
            node_next: *mut i32,
            node_length: *mut i32,
            node_sum: *mut $t,
            status: *mut Status,
            count: u32,
            group: u32,
            magic: u32,
            shift: u32,
            seed: u32,
        ) {
            let splitters = Splitters { count, group, magic, shift, seed };
            let j = thread::index_1d();
            if j as usize >= count as usize + heads.len() {
                return;
            }
            let mut length = 0i32;
            // SAFETY: `head_nodes` is as long as `heads`.
            let walked = match unsafe { start(j, n, splitters, heads, head_nodes) } {
                // SAFETY: `walk` steps on indices below `n` alone, which the arrays of the level hold. In a bad list
                // several walks may pass a node; what they leave for it is stored atomically, and the totals show that
                // the list is bad.
                Some(first) => unsafe {
                    walk::<$t, true>(
                        first,
                        n,
                        splitters,
                        status,
                        // A node that the level below found broken, or absent, ends here too; it has been counted.
                        |element| (*next.get_unchecked(element as usize)).max(TAIL),
                        |element, offset| {
                            let element = element as usize;
                            mem::store_relaxed(sublists.add(element), j as i32);
                            mem::store_relaxed(length_offsets.add(element), length);
                            mem::store_relaxed(sum_offsets.add(element), offset);
                            length = length.wrapping_add(*lengths.get_unchecked(element));
                            *sums.get_unchecked(element)
                        },
                    )
                },
                None => Walked { next: ABSENT, length: 0, sum: <$t>::ZERO },
            };
            let j = j as usize;
            // SAFETY: `j` is a node.
            unsafe {
                node_next.add(j).write(walked.next);
                node_length.add(j).write(length);
                node_sum.add(j).write(walked.sum);
            }
        }
    )*};
}
weighted_walks! {
    weighted_i32, nodes_i32: i32;
    weighted_i64, nodes_i64: i64;
    weighted_f32, nodes_f32: f32;
    weighted_f64, nodes_f64: f64;
}
