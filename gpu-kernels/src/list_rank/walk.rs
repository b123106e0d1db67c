//! Step 2: walk the sublists.
//!
//! Sublist `j` starts at splitter `j`, or for `j >= splitters` at a head, and goes up to the next
//! splitter or the end. Walks are bounded: an index out of range ends it, and Brent's cycle
//! detection (one comparison per step) ends a walk in a circle after less than three times its
//! length.
//!
//! In a bad list several walks may pass an element, and so write to it at the same time: all that is written of an
//! element is stored by [`mem::store_relaxed`].

use cuda_std::prelude::*;

use super::{ABSENT, BROKEN, NONE, Status, TAIL, Value, add_up, splitters::Splitters};

/// Starts of the walks, and the nodes that they leave.
#[derive(Clone, Copy, Debug, KernelParam)]
pub struct Nodes<'a, V> {
    /// The first elements of lists.
    pub heads: &'a [i32],
    /// Number of lists that are walked one after another, as one piece of work.
    pub heads_per_unit: u32,
    /// Result, for each splitter's sublist: its successor.
    pub next: *mut i32,
    /// Result: how many elements it has.
    pub length: *mut i32,
    /// Result: the sum over them.
    pub sum: *mut V,
    /// Errors of the list, and counts of the heads' sublists.
    pub status: *mut Status,
}

/// One walk.
#[derive(Clone, Copy)]
pub(super) struct Walk<V> {
    /// The present element.
    pub element: u32,
    /// The loaded successor and value.
    loaded: (i32, V),
    /// Number of elements passed.
    pub length: i32,
    /// The sum over them.
    pub sum: V,
    /// Brent's cycle detection: an earlier element, and the length at which the next one is saved.
    saved: u32,
    next_save: i32,
}

impl<V: Value> Walk<V> {
    /// A walk from `element`, before which comes `sum`.
    #[inline(always)]
    pub fn new(element: u32, sum: V, load: impl Fn(u32) -> (i32, V)) -> Self {
        Walk { element, loaded: load(element), length: 0, sum, saved: u32::MAX, next_save: 1 }
    }

    /// What was loaded of the element, in place of which its successor's is now being loaded: before anything else
    /// looks at the element, which hides those instructions behind the load. Loads must not depend on what visits
    /// store.
    #[inline(always)]
    pub fn load_ahead(&mut self, n: u32, load: impl Fn(u32) -> (i32, V)) -> (i32, V) {
        let loaded = self.loaded;
        let next = loaded.0 as u32;
        self.loaded = load(if next < n { next } else { self.element });
        loaded
    }

    /// Passes the element with the loaded `(next, value)`. If the walk ends, returns its end: the
    /// splitter's number, [`TAIL`] or [`BROKEN`].
    ///
    /// # Safety
    /// `status` is valid for atomic access.
    #[inline(always)]
    pub unsafe fn pass(&mut self, (next, value): (i32, V), n: u32, splitters: Splitters, status: *mut Status) -> Option<i32> {
        self.sum = self.sum.plus(value);
        self.length += 1;
        // One unsigned comparison: the end (-1) and every index out of range.
        if next as u32 >= n {
            if next == TAIL {
                return Some(TAIL);
            }
            // SAFETY: the status is valid for atomic access (this function's contract).
            unsafe { atomic::device::fetch_add(&raw mut (*status).out_of_range, 1) };
            return Some(BROKEN);
        }
        self.element = next as u32;
        if let Some(number) = splitters.number(self.element) {
            return Some(number as i32);
        }
        if self.element == self.saved {
            // SAFETY: the status is valid for atomic access (this function's contract).
            unsafe { atomic::device::fetch_add(&raw mut (*status).circles, 1) };
            return Some(BROKEN);
        }
        if self.length == self.next_save {
            self.saved = self.element;
            // Saturates: a list has fewer than 2^31 elements, so that a longer walk has met `saved` before.
            self.next_save = self.next_save.saturating_mul(2);
        }
        None
    }
}

/// The walks of one thread: a piece of work (*unit*) is a splitter's sublist, or those of a few lists' heads.
pub(super) struct Units<'a, V: Value> {
    pub nodes: Nodes<'a, V>,
    pub splitters: Splitters,
    /// The base of a splitter at which a head's sublist ends.
    pub bases: *mut V::Record,
    pub n: u32,
}

/// A unit on its way.
#[derive(Clone, Copy)]
pub(super) struct Unit<V> {
    /// The sublist that is being walked.
    pub sublist: u32,
    /// Number of the unit's lists after it.
    rest: u32,
    /// True if the walk is at a head.
    at_head: bool,
    pub walk: Walk<V>,
    /// Elements on heads' sublists, and lists that ended on them.
    ranked: i64,
    ends: u32,
}

impl<V: Value> Unit<V> {
    /// None yet.
    #[inline(always)]
    pub fn idle() -> Self {
        let walk = Walk { element: 0, loaded: (TAIL, V::ZERO), length: 0, sum: V::ZERO, saved: u32::MAX, next_save: 1 };
        Unit { sublist: 0, rest: 0, at_head: false, walk, ranked: 0, ends: 0 }
    }

    /// Adds what it has ranked to the status.
    ///
    /// # Safety
    /// As for [`add_up`].
    #[inline(always)]
    pub unsafe fn report(&self, status: *mut Status) {
        // SAFETY: this function's contract.
        unsafe { add_up(status, self.ranked, self.ends) };
    }
}

impl<V: Value> Units<'_, V> {
    /// Number of units.
    #[inline(always)]
    pub fn count(&self) -> u32 {
        self.splitters.count + (self.nodes.heads.len() as u32).div_ceil(self.nodes.heads_per_unit)
    }

    /// Begins a unit; whether there is anything to walk.
    ///
    /// # Safety
    /// `number` is below their count, and the nodes' arrays have room for the splitters.
    #[inline(always)]
    pub unsafe fn begin(&self, unit: &mut Unit<V>, number: u32, load: impl Fn(u32) -> (i32, V)) -> bool {
        let splitters = self.splitters.count;
        if number < splitters {
            let element = self.splitters.element(number);
            (unit.sublist, unit.rest, unit.at_head) = (number, 0, false);
            if element >= self.n {
                // SAFETY: the nodes' arrays have room (this function's contract).
                unsafe { self.write(number, ABSENT, 0, V::ZERO) };
                return false;
            }
            unit.walk = Walk::new(element, V::ZERO, load);
            return true;
        }
        let first = (number - splitters) * self.nodes.heads_per_unit;
        unit.sublist = splitters + first;
        unit.rest = self.nodes.heads_per_unit.min(self.nodes.heads.len() as u32 - first);
        self.next_head(unit, load)
    }

    /// Goes to the head of the unit's next list, at sublist `unit.sublist`.
    #[inline(always)]
    fn next_head(&self, unit: &mut Unit<V>, load: impl Fn(u32) -> (i32, V)) -> bool {
        if unit.rest == 0 {
            return false;
        }
        let head = self.nodes.heads[(unit.sublist - self.splitters.count) as usize] as u32;
        if head >= self.n {
            // There is no list then: only a bad one has no head.
            return false;
        }
        unit.rest -= 1;
        unit.at_head = true;
        unit.walk = Walk::new(head, V::ZERO, load);
        true
    }

    /// Passes an element; whether there are more. `visit` gets the sublist, the element, what comes before it there, and
    /// whether it is passed over: a head that is a splitter belongs to the splitter's sublist.
    ///
    /// # Safety
    /// The nodes' arrays and `bases` have room for the splitters, and the status is valid for atomic access.
    #[inline(always)]
    pub unsafe fn step(&self, unit: &mut Unit<V>, load: impl Fn(u32) -> (i32, V), visit: impl FnOnce(u32, u32, V, bool)) -> bool {
        let sublist = unit.sublist;
        let loaded = unit.walk.load_ahead(self.n, &load);
        let of_splitter = if unit.at_head { self.splitters.number(unit.walk.element) } else { None };
        unit.at_head = false;
        visit(sublist, unit.walk.element, unit.walk.sum, of_splitter.is_some());
        let end = match of_splitter {
            Some(number) => Some(number as i32),
            // SAFETY: the status is valid for atomic access (this function's contract).
            None => unsafe { unit.walk.pass(loaded, self.n, self.splitters, self.nodes.status) },
        };
        let Some(end) = end else {
            return true;
        };
        let (length, sum) = (unit.walk.length, unit.walk.sum);
        if sublist < self.splitters.count {
            // SAFETY: the nodes' arrays have room (this function's contract).
            unsafe { self.write(sublist, end, length, sum) };
            return false;
        }
        unit.ranked += length as i64;
        if end == TAIL {
            unit.ends += 1;
        } else if end >= 0 {
            let before = V::head(sublist - self.splitters.count).plus(sum);
            // SAFETY: `bases` has room (this function's contract). Two lists of a bad forest may meet.
            unsafe { mem::store_relaxed(self.bases.add(end as usize), V::record(0, before)) };
        }
        unit.sublist += 1;
        self.next_head(unit, load)
    }

    /// Writes a splitter's node.
    ///
    /// # Safety
    /// There is such a node, whose places are valid for writes.
    #[inline(always)]
    unsafe fn write(&self, j: u32, next: i32, length: i32, sum: V) {
        let (j, nodes) = (j as usize, self.nodes);
        // SAFETY: the node's places are valid for writes (this function's contract).
        unsafe {
            nodes.next.add(j).write(next);
            nodes.length.add(j).write(length);
            nodes.sum.add(j).write(sum);
        }
    }
}

/// Units that a thread walks in turns. A GPU's threads wait for one another's loads; a core of a CPU would wait for one
/// load at a time, and has as many under way as it walks in turns.
const TURNS: usize = if is_gpu() { 1 } else { 16 };

/// Walks all units, whatever the grid.
///
/// # Safety
/// As for [`Units::step`]. `load` and `visit` may be called for indices below `n`. On a GPU blocks are whole warps.
#[inline(always)]
unsafe fn walk_all<V: Value>(units: &Units<'_, V>, load: impl Fn(u32) -> (i32, V), visit: impl Fn(u32, u32, V)) {
    let (count, stride) = (units.count(), thread::grid_stride_1d());
    let mut next = thread::index_1d();
    // SAFETY: the contract of this function is that of `begin` and `step`, and units are below their number.
    unsafe {
        // The next unit with anything to walk.
        let mut begin = |unit: &mut Unit<V>| {
            while next < count {
                let number = next;
                next = next.saturating_add(stride);
                if units.begin(unit, number, &load) {
                    return true;
                }
            }
            false
        };
        let mut turns = [Unit::<V>::idle(); TURNS];
        let mut live = [false; TURNS];
        for (unit, live) in turns.iter_mut().zip(&mut live) {
            *live = begin(unit);
        }
        let mut any = true;
        while any {
            any = false;
            for (unit, live) in turns.iter_mut().zip(&mut live) {
                if *live {
                    let on = units.step(unit, &load, |sublist, element, offset, passed_over| {
                        if !passed_over {
                            visit(element, sublist, offset);
                        }
                    });
                    *live = on || begin(unit);
                    any |= *live;
                }
            }
        }
        for unit in &turns {
            unit.report(units.nodes.status);
        }
    }
}

/// The successor and the value of each element, in two arrays. Without weights, elements are
/// counted.
#[inline(always)]
fn load_two<V: Value>(next: &[i32], weights: &[V], element: u32) -> (i32, V) {
    let element = element as usize;
    // SAFETY: walks load below `n`, the length of `next`, and weights are as many, or none.
    unsafe {
        let value = if weights.is_empty() { V::count(1) } else { *weights.get_unchecked(element) };
        (*next.get_unchecked(element), value)
    }
}

/// Strategy `split`: successors are loaded from `next`, through the read-only cache, and offsets stored to another
/// array, so that no load waits for a store. Elements have `weights`, or count one each where that is empty.
///
/// # Safety
/// `placed` and, unless it is empty, `weights` must have as many elements as `next`, the arrays of nodes and `bases` as
/// many as there are splitters, and the arrays written must not overlap any other. Blocks are whole warps on a GPU.
#[kernel(for V in [i32, i64, f32, f64], max_threads = 256)]
pub unsafe fn split<V: Value>(
    next: &[i32],
    weights: &[V],
    placed: *mut <V as Value>::Record,
    bases: *mut <V as Value>::Record,
    nodes: Nodes<'_, V>,
    splitters: Splitters,
) {
    let units = Units { nodes, splitters, bases, n: next.len() as u32 };
    // SAFETY: the walk steps on indices of `next` alone, and `placed` is as long (this kernel's contract); each element
    // belongs to one sublist, and a list where it doesn't is found out by the totals.
    unsafe {
        walk_all(
            &units,
            |element| load_two(next, weights, element),
            |element, sublist, offset| {
                mem::store_relaxed(placed.add(element as usize), V::record(sublist as i32, offset));
            },
        );
    }
}

/// Strategy `packed`: successors are loaded from the array that the offsets are stored to, where
/// [`copy_next`](super::prepare::copy_next()) has put them.
///
/// # Safety
/// `placed` must have `n` elements, the arrays of nodes and `bases` as many as there are splitters, and the arrays
/// written must not overlap any other. Blocks are whole warps on a GPU.
#[kernel(max_threads = 256)]
pub unsafe fn packed(placed: *mut U32x2, n: u32, bases: *mut U32x2, nodes: Nodes<'_, i32>, splitters: Splitters) {
    let units = Units { nodes, splitters, bases, n };
    // SAFETY: the walk steps on indices below `n` alone, which `placed` has (this kernel's contract); each element
    // belongs to one sublist, and a list where it doesn't is found out by the totals. A load of an element comes before
    // the visit that overwrites it: what it holds is the successor.
    unsafe {
        let load = |element: u32| (mem::load_relaxed(placed.add(element as usize)).x as i32, 1);
        walk_all(&units, load, |element, sublist, offset| {
            mem::store_relaxed(placed.add(element as usize), i32::record(sublist as i32, offset));
        });
    }
}

/// The nodes of the level below, as the elements that are walked.
#[derive(Clone, Copy, Debug, KernelParam)]
pub struct Lower<'a, V> {
    /// Each one's successor.
    pub next: &'a [i32],
    /// The sum over it.
    pub sum: &'a [V],
}

/// The nodes of the next level.
#[derive(Clone, Copy, Debug, KernelParam)]
pub struct Upper<V> {
    /// Result: each one's successor.
    pub next: *mut i32,
    /// Result: the sum over it.
    pub sum: *mut V,
}

/// Walks the lists of nodes, for the next level of the recursion: one thread per splitter, then one per node, which
/// walks where `bases` has what comes before the node. Leaves for each node that it visits a record of the sublist and
/// the offset there, or for those that come before the first splitter of their list, [`ROOT`] and what comes before.
///
/// # Safety
/// The arrays of the level below must have as many elements, those of the upper one as many as there are splitters, and
/// the arrays written must not overlap any other.
#[kernel(for V in [i32, i64, f32, f64], max_threads = 256)]
pub unsafe fn nodes<V: Value>(
    lower: Lower<'_, V>,
    bases: &[<V as Value>::Record],
    visits: *mut <V as Value>::Record,
    upper: Upper<V>,
    upper_bases: *mut <V as Value>::Record,
    splitters: Splitters,
    status: *mut Status,
) {
    let n = lower.next.len() as u32;
    let j = thread::index_1d();
    let is_splitter = j < splitters.count;
    let (start, mark, before) = if is_splitter {
        (splitters.element(j), j as i32, V::ZERO)
    } else {
        let node = j - splitters.count;
        if node >= n {
            return;
        }
        let (mark, before) = V::parts(bases[node as usize]);
        if mark == NONE {
            return;
        }
        (node, ROOT, before)
    };
    // SAFETY: the walk steps on indices of `next` alone, and the arrays of the level below are as long (this kernel's
    // contract). In a bad list several walks may pass a node; what they leave for it is stored atomically, and the
    // totals show that the list is bad.
    unsafe {
        // A node that the level below found broken, or absent, ends here too; it has been counted.
        let load = |element: u32| {
            let node = element as usize;
            ((*lower.next.get_unchecked(node)).max(TAIL), *lower.sum.get_unchecked(node))
        };
        let mut end = None;
        let mut sum = before;
        if start >= n {
            end = Some(ABSENT);
        } else if !is_splitter {
            end = splitters.number(start).map(|number| number as i32);
        }
        let end = match end {
            Some(end) => end,
            None => {
                let mut walk = Walk::new(start, before, load);
                let end = loop {
                    let loaded = walk.load_ahead(n, load);
                    mem::store_relaxed(visits.add(walk.element as usize), V::record(mark, walk.sum));
                    if let Some(end) = walk.pass(loaded, n, splitters, status) {
                        break end;
                    }
                };
                sum = walk.sum;
                end
            }
        };
        if is_splitter {
            upper.next.add(j as usize).write(end);
            upper.sum.add(j as usize).write(sum);
        } else if end >= 0 {
            mem::store_relaxed(upper_bases.add(end as usize), V::record(0, sum));
        }
    }
}

/// In a record in place of a sublist: the value is what comes before the node, from its list's head on.
pub const ROOT: i32 = -2;
