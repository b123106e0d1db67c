//! Lists over several ranks, each with a block of consecutive indices: what one rank does with its block.
//!
//! As on one device, some elements are splitters ([`Splitters`], of each rank's own indices), and with the head they
//! start sublists. A *traveller* walks each sublist. It walks on its rank as far as the list stays there; then it is a
//! message of 16 bytes to the rank that has the next element, and walks on there. [`measure()`] has it tell the
//! splitter at which it ends where it came from, and how far that is: the splitters make up a list that is shorter, of
//! weights, and runs backwards. When that is ranked, [`number()`] has the same travellers leave each element its rank.
//!
//! Between two such launches the ranks send each other the travellers that leave, which [`sort()`] puts together by
//! destination.
//!
//! In a bad list several travellers may pass an element, and so write to it at the same time: all that is written of an
//! element or a splitter is stored by [`mem::store_relaxed`], or exchanged.

use cuda_std::{dynamic_shared, prelude::*};

use super::{TAIL, splitters::Splitters};
use crate::collectives::histogram::{Histogram, NO_BIN};

/// Threads of a block.
pub const THREADS: u32 = 256;
/// In place of a rank: none.
pub const NOBODY: u32 = u32::MAX;
/// The origin of the traveller that starts at the list's head.
pub const HEAD: u64 = (1 << 48) - 1;
/// In place of a splitter's predecessor: nobody came. Its bytes are all the same.
pub const UNREACHED: i64 = i64::from_ne_bytes([0xfe; 8]);
/// An element that no rank has: its traveller goes nowhere.
const NOWHERE: u32 = (1 << 31) - 1;

/// Blocks of consecutive indices, one for each rank; those of the last ranks may be shorter, or empty.
#[derive(Clone, Copy, Debug, PartialEq, Eq, KernelParam)]
pub struct Blocks {
    /// All indices.
    pub n: u64,
    /// Threads of a block.
    pub block: u64,
    /// `(2^64 - 1) / block`: dividing is multiplying by it, and one correction.
    inverse: u64,
}

impl Blocks {
    /// Blocks of `block >= 1` of `n` indices.
    pub const fn new(n: u64, block: u64) -> Self {
        Blocks { n, block, inverse: u64::MAX / block }
    }

    /// The rank that has `index`, and its number there.
    #[inline(always)]
    pub fn place(self, index: u64) -> (u32, u32) {
        // At most one too small: the inverse is less than one smaller than 2^64 / block.
        let mut rank = ((index as u128 * self.inverse as u128) >> 64) as u64;
        let mut local = index - rank * self.block;
        if local >= self.block {
            rank += 1;
            local -= self.block;
        }
        (rank as u32, local as u32)
    }

    /// The first index of a rank.
    pub fn first(self, rank: usize) -> u64 {
        (rank as u64 * self.block).min(self.n)
    }

    /// Returns the number of indices of a rank.
    pub fn len(self, rank: usize) -> usize {
        (self.first(rank + 1) - self.first(rank)) as usize
    }

    /// Returns true if there are no indices.
    pub fn is_empty(self) -> bool {
        self.n == 0
    }
}

/// One sublist's walk: 16 bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Traveller {
    /// The splitter that it comes from, by its number among those of all ranks; or [`HEAD`]. Below 2^48.
    pub origin: u64,
    /// The weights of the elements that it has passed, and what came before them. Below 2^48.
    pub sum: u64,
    /// Its next element, numbered on the rank that has it. Below 2^31.
    pub element: u32,
}

impl Traveller {
    /// In two words.
    #[inline(always)]
    pub fn pack(self) -> U64x2 {
        U64x2::new(self.origin << 16 | (self.element >> 15) as u64, self.sum << 15 | (self.element & 0x7fff) as u64)
    }

    /// Out of two words.
    #[inline(always)]
    pub fn unpack(words: U64x2) -> Self {
        let element = (words.x as u32 & 0xffff) << 15 | words.y as u32 & 0x7fff;
        Traveller { origin: words.x >> 16, sum: words.y >> 15, element }
    }
}

/// Findings of a rank's travellers.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, bytemuck::Pod, bytemuck::Zeroable)]
pub struct Findings {
    /// Origin of the traveller that reached the end of the list, and the sum of the weights that it
    /// passed.
    pub last: u64,
    /// See `last`.
    pub sum: u64,
    /// The number, plus 1, of the splitter that the traveller from the head reached; 0 if it
    /// reached none here.
    pub first: u32,
    /// Travellers that came to an end.
    pub ends: u32,
    /// Travellers that met an index out of range, ran in a circle, or came to a splitter after another one.
    pub lost: u32,
    /// Always 0: pads the structure.
    pub reserved: u32,
}

/// A rank's part of a list.
#[derive(Clone, Copy, Debug, KernelParam)]
pub struct Part<'a> {
    /// The successors of its elements, by their indices in the whole list.
    pub next: &'a [i64],
    /// Their weights; one each, where it is empty.
    pub weights: &'a [i64],
    /// Its first index.
    pub first: u64,
}

/// Travellers, and where they go when a launch is done.
#[derive(Clone, Copy, Debug, KernelParam)]
pub struct Travellers {
    /// The walking travellers; a traveller that leaves is stored in the place of its former state.
    pub all: *mut U64x2,
    /// Result: the rank that each leaves for, or [`NOBODY`].
    pub targets: *mut u32,
    /// Result, added: how many leave to each rank.
    pub leaving: *mut u32,
    /// Number of travellers.
    pub count: u32,
    /// Number of ranks.
    pub ranks: u32,
    /// 1 if they are at the splitters that they come from.
    pub start: u32,
}

/// The part of the list that a launch walks through.
#[derive(Clone, Copy)]
struct Land<'a> {
    part: Part<'a>,
    blocks: Blocks,
    splitters: Splitters,
    findings: *mut Findings,
}

/// Walks a traveller as far as it comes on this rank; returns it, and the rank that it leaves to. `visit` is given each
/// element with the sum before it, `arrive` the splitter at which the walk ends.
///
/// # Safety
/// `weights` has as many elements as `next`, or none. `findings` is valid for atomic access, and for writes.
#[inline(always)]
unsafe fn travel(
    land: &Land<'_>,
    mut traveller: Traveller,
    mut is_start: bool,
    visit: impl Fn(u32, u64),
    arrive: impl Fn(u32, &Traveller),
) -> Option<(Traveller, u32)> {
    let Land { part, blocks, splitters, findings } = *land;
    let len = part.next.len() as u64;
    // Brent's detection of circles: an earlier element, and when the next is saved.
    let (mut saved, mut steps, mut next_save) = (NOWHERE, 0u32, 1u32);
    if traveller.element as u64 >= len {
        return None;
    }
    loop {
        let element = traveller.element;
        // SAFETY: it is an element: compared with the length, above or below.
        let next = unsafe { *part.next.get_unchecked(element as usize) };
        if !is_start && let Some(number) = splitters.number(element) {
            arrive(number, &traveller);
            return None;
        }
        is_start = false;
        visit(element, traveller.sum);
        // SAFETY: an element, and there are as many weights, or none.
        let weight = unsafe { if part.weights.is_empty() { 1 } else { *part.weights.get_unchecked(element as usize) as u64 } };
        traveller.sum = traveller.sum.wrapping_add(weight);
        let local = (next as u64).wrapping_sub(part.first);
        if local < len {
            traveller.element = local as u32;
            steps += 1;
            if traveller.element == saved {
                // SAFETY: this function's contract.
                unsafe { atomic::device::fetch_add(&raw mut (*findings).lost, 1) };
                return None;
            }
            if steps == next_save {
                saved = traveller.element;
                next_save = next_save.saturating_mul(2);
            }
        } else if (next as u64) < blocks.n {
            let (rank, element) = blocks.place(next as u64);
            traveller.element = element;
            return Some((traveller, rank));
        } else {
            // SAFETY: this function's contract.
            unsafe {
                if next == TAIL as i64 {
                    mem::store_relaxed(&raw mut (*findings).last, traveller.origin);
                    mem::store_relaxed(&raw mut (*findings).sum, traveller.sum);
                    atomic::device::fetch_add(&raw mut (*findings).ends, 1);
                } else {
                    atomic::device::fetch_add(&raw mut (*findings).lost, 1);
                }
            }
            return None;
        }
    }
}

/// Replaces each traveller by its state when it leaves, if it leaves, and counts the leaving ones.
///
/// # Safety
/// One traveller for each thread, in blocks of [`THREADS`] with four bytes of dynamic shared memory for each rank.
/// `travellers` has as many elements as it says.
#[inline(always)]
unsafe fn replace_all(travellers: Travellers, leave: impl Fn(u32, *const U64x2) -> Option<(Traveller, u32)>) {
    // SAFETY: this function's contract: the launch gave as much shared memory, all threads of the block come here and
    // to the barriers, and each has its own traveller.
    unsafe {
        let histogram = Histogram::new(dynamic_shared(), travellers.ranks);
        histogram.clear(THREADS);
        thread::sync_threads();
        let i = thread::index_1d();
        if i < travellers.count {
            let own = travellers.all.add(i as usize);
            let mut target = NOBODY;
            if let Some((left, rank)) = leave(i, own) {
                own.write(left.pack());
                target = rank;
            }
            travellers.targets.add(i as usize).write(target);
            histogram.add(target);
        }
        thread::sync_threads();
        let mut rank = thread::thread_idx_x();
        while rank < travellers.ranks {
            let count = histogram.count(rank);
            if count > 0 {
                atomic::device::fetch_add(travellers.leaving.add(rank as usize), count);
            }
            rank += THREADS;
        }
    }
}

/// [`travel`] for each traveller.
///
/// # Safety
/// As for [`measure()`].
#[inline(always)]
unsafe fn travel_all(land: &Land<'_>, travellers: Travellers, visit: impl Fn(u32, u64), arrive: impl Fn(u32, &Traveller)) {
    // SAFETY: this function's contract; each thread is given its own traveller.
    unsafe {
        replace_all(travellers, |_, own| {
            let traveller = Traveller::unpack(*own);
            let is_start = travellers.start != 0 && traveller.origin != HEAD;
            travel(land, traveller, is_start, &visit, &arrive)
        });
    }
}

/// Walks the travellers, and tells each splitter that one reaches the origin of that traveller (a
/// splitter's number among all, or [`TAIL`] for the head) and the sum of the weights on the way.
/// `before` must start as [`UNREACHED`].
///
/// # Safety
/// One traveller for each thread, in blocks of [`THREADS`] with four bytes of dynamic shared memory for each rank. The
/// part's weights are as many as its elements, or none. `travellers` has as many elements as it says, `before` and
/// `distance` one for each splitter, and nothing written overlaps anything else. `findings` is valid.
#[kernel(block = [256])]
pub unsafe fn measure(
    part: Part<'_>,
    blocks: Blocks,
    splitters: Splitters,
    travellers: Travellers,
    findings: *mut Findings,
    before: *mut i64,
    distance: *mut i64,
) {
    let arrive = |number: u32, traveller: &Traveller| {
        let origin = if traveller.origin == HEAD { TAIL as i64 } else { traveller.origin as i64 };
        // SAFETY: there is an element for each splitter, and the findings are valid (this kernel's contract).
        unsafe {
            if traveller.origin == HEAD {
                mem::store_relaxed(&raw mut (*findings).first, number + 1);
            }
            if atomic::device::exchange(before.add(number as usize), origin) != UNREACHED {
                atomic::device::fetch_add(&raw mut (*findings).lost, 1);
            }
            mem::store_relaxed(distance.add(number as usize), traveller.sum as i64);
        }
    };
    let land = Land { part, blocks, splitters, findings };
    // SAFETY: this kernel's contract.
    unsafe { travel_all(&land, travellers, |_, _| {}, arrive) };
}

/// Walks the travellers, whose sums have begun with what comes before their splitters, and leaves each element what
/// comes before it.
///
/// # Safety
/// As for [`measure()`]; `sums` has as many elements as the part.
#[kernel(block = [256])]
pub unsafe fn number(
    part: Part<'_>,
    blocks: Blocks,
    splitters: Splitters,
    travellers: Travellers,
    findings: *mut Findings,
    sums: *mut i64,
) {
    // SAFETY: visits are of the part's elements, and each element has a sum (this kernel's
    // contract).
    let visit = |element: u32, sum: u64| unsafe { mem::store_relaxed(sums.add(element as usize), sum as i64) };
    let land = Land { part, blocks, splitters, findings };
    // SAFETY: this kernel's contract.
    unsafe { travel_all(&land, travellers, visit, |_, _| {}) };
}

/// Puts a traveller at each splitter: number `first_node` and on. Its sum begins with `total - after[i]`, or nothing
/// where `after` is empty; where that is less than nothing, it goes nowhere.
#[kernel(max_threads = 256)]
pub fn start(splitters: Splitters, first_node: u64, after: &[i64], total: i64, mut travellers: DisjointSlice<U64x2>) {
    for (i, traveller) in travellers.grid_stride_mut() {
        let sum = if after.is_empty() {
            0
        } else if after[i] < 0 {
            -1
        } else {
            total - after[i]
        };
        let element = if sum < 0 { NOWHERE } else { splitters.element(i as u32) };
        *traveller = Traveller { origin: first_node + i as u64, sum: sum.max(0) as u64, element }.pack();
    }
}

/// Puts together those that leave to the same rank: `places` has, for each rank, where in `sorted` its begin, and is
/// moved on to their end.
///
/// # Safety
/// One for each thread, in blocks of [`THREADS`] with four bytes of dynamic shared memory for each rank. `sorted` has
/// room for all that leave, from their ranks' places on, and overlaps nothing else.
#[kernel(block = [256])]
pub unsafe fn sort(travellers: &[U64x2], targets: &[u32], ranks: u32, places: *mut u32, sorted: *mut U64x2) {
    let i = thread::index_1d() as usize;
    let counts = dynamic_shared::<u32>();
    // SAFETY: the launch gave as much shared memory, all threads of the block come to the barriers, between which each
    // rank's count is one thread's; and each traveller has a place of its own (this kernel's contract).
    unsafe {
        let histogram = Histogram::new(counts, ranks);
        histogram.clear(THREADS);
        thread::sync_threads();
        let target = if i < targets.len() { targets[i] } else { NOBODY };
        let number = histogram.add(target);
        thread::sync_threads();
        let mut rank = thread::thread_idx_x();
        while rank < ranks {
            let count = counts.add(rank as usize);
            if *count > 0 {
                *count = atomic::device::fetch_add(places.add(rank as usize), *count);
            }
            rank += THREADS;
        }
        thread::sync_threads();
        if number != NO_BIN {
            sorted.add((*counts.add(target as usize) + number) as usize).write(travellers[i]);
        }
    }
}

/// The sum over all lanes of the warp, in its first one.
#[inline(always)]
#[cfg_attr(not(cuda_device), track_caller)]
pub(crate) fn sum_of_warp(mut value: u64) -> u64 {
    for distance in [16, 8, 4, 2, 1] {
        value = value.wrapping_add(warp::shuffle_down(warp::FULL_MASK, value, distance));
    }
    value
}

/// Adds up all successors, modulo 2^64: see [`reset`](super::prepare::reset()). `sum` must start at
/// 0.
///
/// # Safety
/// `sum` must be valid for atomic access. Blocks are whole warps.
#[kernel(max_threads = 256)]
pub unsafe fn sum_successors(next: &[i64], sum: *mut u64) {
    let mut own = 0u64;
    for i in thread::grid_stride(next.len()) {
        own = own.wrapping_add(next[i].max(0) as u64);
    }
    own = sum_of_warp(own);
    if warp::lane_id() == 0 {
        // SAFETY: `sum` is valid for atomic access (this kernel's contract).
        unsafe { atomic::device::fetch_add(sum, own) };
    }
}

/// The list of one rank's 32-bit indices from one of all ranks' parts, one after the other:
/// `starts[r]` is where that of rank `r` begins. Indices in no part become -2, which is no
/// successor.
#[kernel(max_threads = 256)]
pub fn narrow(next: &[i64], blocks: Blocks, starts: &[u32], mut narrow: DisjointSlice<i32>) {
    for (i, narrow) in narrow.grid_stride_mut() {
        let successor = next[i];
        *narrow = if (successor as u64) < blocks.n {
            let (rank, local) = blocks.place(successor as u64);
            let (start, end) = (starts[rank as usize], starts[rank as usize + 1]);
            if local < end - start { (start + local) as i32 } else { -2 }
        } else if successor == TAIL as i64 {
            TAIL
        } else {
            -2
        };
    }
}

/// Claims each element's successor's rank, for [`confirm()`]: makes a traveller with that rank for
/// its next element, from element `from` on, one for each thread; and the count of those that leave
/// to each rank, this one too. The last element claims that it is the last.
///
/// # Safety
/// As for [`measure()`]; there are as many elements from `from` on as travellers, and `ranks` has as many as the part.
#[kernel(block = [256])]
pub unsafe fn claim(part: Part<'_>, blocks: Blocks, ranks: &[i64], from: u32, travellers: Travellers) {
    let claim = |i: u32| {
        let element = (from + i) as usize;
        let next = part.next[element];
        let is_last = next == TAIL as i64;
        let successor = if is_last { part.first + element as u64 } else { next as u64 };
        if successor >= blocks.n {
            return None;
        }
        let rank = if is_last { blocks.n - 1 } else { (ranks[element] + 1) as u64 };
        let (target, element) = blocks.place(successor);
        Some((Traveller { origin: 0, sum: rank, element }, target))
    };
    // SAFETY: this kernel's contract.
    unsafe { replace_all(travellers, |i, _| claim(i)) };
}

/// Compares ranks with what others [claim](claim()): `wrong`, which starts at `u32::MAX`, becomes the first element
/// whose rank is another one.
///
/// # Safety
/// `wrong` is valid for atomic access.
#[kernel(max_threads = 256)]
pub unsafe fn confirm(claims: &[U64x2], ranks: &[i64], wrong: *mut u32) {
    for i in thread::grid_stride(claims.len()) {
        let claim = Traveller::unpack(claims[i]);
        let element = claim.element as usize;
        if element >= ranks.len() || ranks[element] as u64 != claim.sum {
            // SAFETY: `wrong` is valid for atomic access (this kernel's contract).
            unsafe { atomic::device::fetch_min(wrong, claim.element) };
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    extern crate std;

    #[test]
    fn travellers_take_sixteen_bytes() {
        for origin in [0, 1, HEAD - 1, HEAD] {
            for sum in [0, 1, (1 << 48) - 1] {
                for element in [0, 1, 0x7fff, 0x8000, NOWHERE - 1, NOWHERE] {
                    let traveller = Traveller { origin, sum, element };
                    assert_eq!(Traveller::unpack(traveller.pack()), traveller);
                }
            }
        }
    }

    #[test]
    fn places_are_quotients_and_remainders() {
        for block in [1, 2, 3, 1000, 1 << 20, 1_999_999_999, (1 << 31) - 2] {
            for rank in [0, 1, 2, 5, 1023, 65_535] {
                for local in [0, 1, block / 2, block - 1] {
                    if local < block {
                        let index = rank * block + local;
                        assert_eq!(Blocks::new(1 << 47, block).place(index), (rank as u32, local as u32), "{index} / {block}");
                    }
                }
            }
        }
        let blocks = Blocks::new(5, 2);
        assert_eq!([0, 1, 2, 3].map(|rank| (blocks.first(rank), blocks.len(rank))), [(0, 2), (2, 2), (4, 1), (5, 0)]);
    }
}
