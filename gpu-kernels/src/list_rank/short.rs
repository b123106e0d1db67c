//! Strategy `block`: one block ranks a list in its shared memory, in one launch.
//!
//! A thread has a splitter or the head. It walks its sublist for the length. Pointer jumping finds what comes before each
//! sublist. Then the thread walks its sublist again, and results replace successors or weights. A mark in place of a
//! splitter's successor ends walks. The nodes of longer lists are ranked in the same way:
//! [`nodes::solve()`](super::nodes::solve()).

use cuda_std::prelude::*;

use super::{ABSENT, BROKEN, Status, TAIL, Value, splitters::Splitters};
use crate::collectives::{
    Sum,
    block::{Block, STORAGE},
};

/// Largest number of sublists, of which the head's is one.
pub const SUBLISTS: u32 = 1024;
/// The most elements of [`rank()`]: the sum of their indices is a `u32`.
pub const MOST: usize = 1 << 16;
/// In place of a sublist's predecessor: none is known, and the sublist is the head's.
const UNKNOWN: i32 = -1;
const FIRST: i32 = -2;
/// In place of the successor of splitter k: this less k.
pub(super) const SPLITTER: i32 = -8;
/// In place of a root's successor, and below that: not a splitter's mark.
pub(super) const ROOT: i32 = SPLITTER - SUBLISTS as i32;
/// Number of vectors that a thread loads at a time.
const LOADS: usize = 4;

/// Upper bound of the static shared memory for values of `size` bytes, in bytes.
pub const fn static_shared(size: usize) -> usize {
    SUBLISTS as usize * (size_of::<i32>() + 4 * size) + 1024
}

/// Dynamic shared memory for `n` elements with weights of `size` bytes, or 0, in bytes.
pub const fn list_bytes(n: usize, size: usize) -> usize {
    n.next_multiple_of(4) * (size_of::<i32>() + size)
}

/// A list in shared memory.
pub(super) struct List<V> {
    pub n: usize,
    /// Successors, or something negative.
    pub next: *mut i32,
    /// Weights, which results replace. Without weights, results replace successors.
    pub values: *mut V,
    weighted: bool,
    splitters: Splitters,
}

/// A thread's sublist.
pub(super) struct Sublist<V> {
    /// The successor of its first element.
    pub successor: i32,
    pub length: u32,
    /// The entry that ended the walk: a splitter's mark, or the last element's in place of a successor.
    end: i32,
    /// The sum before it, if a list's first sublist leads to it.
    pub base: Option<V>,
}

impl<V: Value> List<V> {
    /// A list of `n` elements in dynamic shared memory, once that is filled.
    ///
    /// # Safety
    /// The block has [`list_bytes`] of dynamic shared memory. Without weights `V` is an `i32`.
    #[inline(always)]
    pub unsafe fn new(n: usize, weighted: bool, splitters: Splitters) -> Self {
        let next = dynamic_shared::<I32x4>().cast::<i32>();
        // SAFETY: the memory is at least as long (this function's contract).
        let values = unsafe { next.add(if weighted { n.next_multiple_of(4) } else { 0 }) }.cast();
        List { n, next, values, weighted, splitters }
    }

    /// The first element of this thread's sublist, if its number is that of a splitter.
    #[inline(always)]
    pub fn start(&self) -> Option<usize> {
        let (number, splitters) = (thread::thread_idx_x(), self.splitters);
        (number < splitters.count).then(|| splitters.element(number) as usize).filter(|&start| start < self.n)
    }

    /// Walks the sublist that begins at `start`, and finds the sum before it. When a thread has walked, it calls `first`,
    /// which sets the sums before sublists that are the first of a list.
    ///
    /// # Safety
    /// All threads of the block call it together: whole warps or a single thread, and one for each splitter. Successors are below
    /// `n`, and negative ones above [`SPLITTER`] or at most [`ROOT`]. A barrier comes between this and other accesses, before
    /// and after; `first` only reads it.
    #[inline(always)]
    pub unsafe fn sublist(&self, start: Option<usize>, first: impl FnOnce(&Firsts<V>)) -> Sublist<V> {
        let &List { n, next, values, weighted, splitters } = self;
        let (thread, number) = (thread::thread_idx_x() as usize, thread::thread_idx_x());
        let before = shared_array![i32; SUBLISTS as usize];
        let (mut read, mut write) = (shared_array![V::Record; SUBLISTS as usize], shared_array![V::Record; SUBLISTS as usize]);
        // The second array of records is free until the first round.
        let firsts = Firsts { before, bases: write.as_mut_ptr().cast::<V>() };
        // SAFETY: successors are below `n`, and numbers of sublists below their count; threads use places of their own or
        // atomics, or a barrier comes between.
        unsafe {
            let (mut end, mut length, mut sum, mut successor) = (ABSENT, 0, V::ZERO, ABSENT);
            if let Some(start) = start {
                successor = next.add(start).replace(SPLITTER - number as i32);
            }
            before.write(thread, UNKNOWN);
            firsts.bases.add(thread).write(V::ZERO);
            thread::sync_threads();
            if let Some(start) = start {
                (end, length) = (successor, 1);
                // A circle without a splitter has no end.
                if weighted {
                    sum = values.add(start).read();
                    while end >= 0 && length <= n as u32 {
                        let (successor, more) = (next.add(end as usize).read(), sum.plus(values.add(end as usize).read()));
                        end = successor;
                        length += 1;
                        if end > SPLITTER {
                            sum = more;
                        }
                    }
                } else {
                    while end >= 0 && length <= n as u32 {
                        end = next.add(end as usize).read();
                        length += 1;
                    }
                }
                length -= u32::from(end <= SPLITTER);
                if !weighted {
                    sum = V::count(length as i32);
                }
            }
            if end <= SPLITTER && end > ROOT {
                // Two sublists with one successor: either may win, as the list is bad.
                atomic::block::exchange(before.at((SPLITTER - end) as usize), number as i32);
            }
            first(&firsts);
            thread::sync_threads();

            // Sums from the sublist after `jump` on, up to this one.
            let predecessor = before.read(thread);
            let root = (predecessor == FIRST).then(|| firsts.bases.add(thread).read());
            let mut jump = predecessor;
            sum = root.map_or(sum, |base| base.plus(sum));
            read.write(thread, V::record(jump, sum));
            thread::sync_threads();
            let mut reach = 1;
            while reach <= splitters.count {
                if jump >= 0 {
                    let (farther, more) = V::parts(read.read(jump as usize));
                    (jump, sum) = (farther, more.plus(sum));
                }
                write.write(thread, V::record(jump, sum));
                thread::sync_threads();
                (read, write) = (write, read);
                reach *= 2;
            }
            let base = root.or_else(|| (jump == FIRST).then(|| V::parts(read.read(predecessor as usize)).1));
            Sublist { successor, length, end, base }
        }
    }
}

/// The sums before the first sublists of lists.
pub(super) struct Firsts<V> {
    before: SharedArray<i32, { SUBLISTS as usize }>,
    bases: *mut V,
}

impl<V: Value> Firsts<V> {
    /// Says what comes before a sublist.
    ///
    /// # Safety
    /// `sublist` is the number of one, during [`List::sublist()`]'s call.
    #[inline(always)]
    pub unsafe fn set(&self, sublist: usize, base: V) {
        // SAFETY: both arrays have an element for each sublist, and are changed by atomics.
        unsafe {
            atomic::block::exchange(self.bases.add(sublist), base);
            atomic::block::exchange(self.before.at(sublist), FIRST);
        }
    }
}

/// Ranks a list. `results[i]` is the sum of the weights before element i, or its rank if there are no weights. The head is found
/// if it is -1. Results are written if the list is valid: if the sublists from the head to the end have all elements.
///
/// # Safety
/// One block of whole warps, with a thread for each splitter and one more, and with [`list_bytes`] for at most [`MOST`] elements.
/// `weights` are as many as elements, or none for an `i32`; `results` has as many elements and overlaps no other array;
/// `next` and `results` are aligned to 16 bytes, and `status` is valid for writes.
#[kernel(for V in [i32, i64, f32, f64], max_threads = 1024, min_blocks = 1)]
pub unsafe fn rank<V: Value>(
    next: &[i32],
    weights: &[V],
    mut head: i32,
    splitters: Splitters,
    results: *mut V,
    status: *mut Status,
) {
    let (n, thread, threads) = (next.len(), thread::thread_idx_x() as usize, thread::block_dim_x() as usize);
    // SAFETY: memory and threads are those of this kernel's contract. Barriers stand between a thread's writes and others' reads.
    // Elements of shared memory are below `n`.
    unsafe {
        let list = List::<V>::new(n, !weights.is_empty(), splitters);
        let (mut own, mut wrong) = (0, 0);
        let mut entry = |successor: i32| {
            let is_element = (successor as u32 as usize) < n;
            own += if is_element { successor as u32 } else { 0 };
            wrong += u32::from(!is_element && successor != TAIL);
            if is_element || successor == TAIL { successor } else { BROKEN }
        };
        let (vectors, entries) = (next.as_ptr().cast::<I32x4>(), list.next.cast::<I32x4>());
        let mut first = thread;
        while first < n / 4 {
            let mut some = [I32x4::splat(TAIL); LOADS];
            for (k, vector) in some.iter_mut().enumerate() {
                if first + k * threads < n / 4 {
                    *vector = mem::load_nc(vectors.add(first + k * threads));
                }
            }
            for (k, &I32x4 { x, y, z, w }) in some.iter().enumerate() {
                if first + k * threads < n / 4 {
                    entries.add(first + k * threads).write(I32x4::new(entry(x), entry(y), entry(z), entry(w)));
                }
            }
            first += LOADS * threads;
        }
        if thread < n % 4 {
            list.next.add(n - 1 - thread).write(entry(next[n - 1 - thread]));
        }
        for i in thread::strided(thread..weights.len(), threads) {
            list.values.add(i).write(weights[i]);
        }
        if head < 0 {
            // Every other element is a successor, once.
            let sum = Block::new(shared_array![u32; STORAGE]).reduce(own, Sum);
            let lacking = ((n as u64 * (n as u64 - 1) / 2) as u32).wrapping_sub(sum);
            head = if (lacking as usize) < n { lacking as i32 } else { 0 };
        }
        thread::sync_threads();
        if thread == 0 {
            status.write(Status { head, ..Status::default() });
        }
        // The head has a sublist of its own, unless it is a splitter.
        let of_head = splitters.number(head as u32).unwrap_or(splitters.count) as usize;
        let start = list.start().or((thread == of_head).then_some(head as usize));
        let sublist = list.sublist(start, |first| {
            if thread == of_head {
                first.set(thread, V::ZERO);
            }
        });
        // Elements behind the head, and above them how many of their sublists end: one at most.
        let own = sublist.base.map_or(0, |_| u64::from(sublist.length) | u64::from(sublist.end == TAIL) << 32);
        let all = Block::new(shared_array![u64; STORAGE]).reduce(own, Sum);
        let (ranked, ends) = (all as u32, (all >> 32) as u32);
        if wrong > 0 {
            atomic::device::fetch_add(&raw mut (*status).out_of_range, wrong);
        }
        if thread == 0 {
            (*status).ranked = u64::from(ranked);
            (*status).ends = ends;
        }
        if ends != 1 || ranked as usize != n {
            return;
        }
        if let (Some(mut element), Some(mut base)) = (start, sublist.base) {
            let mut successor = sublist.successor;
            // A list that ends passes each element once, so that a sublist on it has its elements for itself.
            if list.weighted {
                for left in (0..sublist.length).rev() {
                    base = base.plus(list.values.add(element).replace(base));
                    if left > 0 {
                        element = successor as usize;
                        successor = list.next.add(element).read();
                    }
                }
            } else {
                for _ in 1..sublist.length {
                    list.values.add(element).write(base);
                    base = base.plus(V::count(1));
                    element = successor as usize;
                    successor = list.next.add(element).read();
                }
                list.values.add(element).write(base);
            }
        }
        thread::sync_threads();
        let (from, to) = (list.values.cast::<I32x4>(), results.cast::<I32x4>());
        let per_vector = size_of::<I32x4>() / size_of::<V>();
        for i in thread::strided(thread..n / per_vector, threads) {
            to.add(i).write(from.add(i).read());
        }
        if thread < n % per_vector {
            results.add(n - 1 - thread).write(list.values.add(n - 1 - thread).read());
        }
    }
}
