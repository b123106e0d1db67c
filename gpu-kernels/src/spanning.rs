//! Minimum spanning forests: Borůvka's algorithm on worklists of edges.
//!
//! Edges are ordered by weight, and edges of equal weight by their number, so that there is exactly one minimum spanning
//! forest. An edge's *key* has its weight in the upper 32 bits, as a number that is ordered as the weights are, and its
//! number in the lower ones. Sets of vertices are those of [`components`](crate::components), with a *least* key for each
//! root. A round is
//!
//! 1. a pass over the edges that still connect two sets ([`seed()`], [`gather()`], [`advance()`]), which takes each key to
//!    the roots of both ends by an atomic minimum, and lists these edges for the next round and the roots that have a key;
//! 2. a pass over these roots, which unites the ends of their least edges ([`join()`]). A key is unique, so that these
//!    edges form no cycle, and each of them is in the forest.
//!
//! With many edges the lightest come first, up to a weight that a sample tells ([`choose()`]). They leave few sets, and
//! most of the heavier edges, which come by once, are within one of them. A set takes a heavier edge only once it has no
//! lighter one in the list: the rounds need not be over when heavier edges come.
//!
//! The numbers of edges and roots stay on the device. A round without edges does nothing.
//!
//! Weights of 64 bits are replaced by their differences from the least if these fit into 32 bits ([`narrow()`]), else by
//! their ranks ([`pick()`], [`rank()`]): a sort costs less than a second atomic minimum, of numbers among
//! equal weights, for each edge and round.
//!
//! Sources: O. Borůvka, 1926; A. Fallin, A. Gonzalez, J. Seo and M. Burtscher, *A High-Performance MST Implementation for
//! GPUs*, SC 2023, for worklists of edges, keys and the lightest edges first.

use bytemuck::{Pod, Zeroable};
use cuda_std::prelude::*;

use crate::{
    collectives::{
        Sum,
        warp::{Lanes, reduce},
    },
    components::{BATCH, NONE, Status, WIDTH, find, for_each_batch, reserve, unite},
    list_rank::generate::mix,
};

/// In place of a key: none.
const NO_KEY: u64 = u64::MAX;

/// Rounds that there is a pair of counters for.
pub const ROUNDS: usize = 96;

/// Number of weights in a sample: the threads of its block.
pub const SAMPLE: usize = 256;

/// State of a search.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq, Pod, Zeroable)]
pub struct Progress {
    /// Findings about the edges.
    pub status: Status,
    /// The first edge whose weight is NaN, or [`NONE`].
    pub unordered: u32,
    /// The greatest weight of the lightest edges.
    pub threshold: u32,
    /// Edges of the forest.
    pub joined: u32,
    /// Edges that the next round has to look at.
    pub pending: u32,
}

/// A weight of 32 bits.
pub trait Weight: Copy {
    /// Returns a number that is ordered as the weights are.
    fn word(self) -> u32;

    /// Returns true for a NaN.
    #[inline(always)]
    fn is_unordered(self) -> bool {
        false
    }
}

impl Weight for u32 {
    #[inline(always)]
    fn word(self) -> u32 {
        self
    }
}

impl Weight for i32 {
    #[inline(always)]
    fn word(self) -> u32 {
        self as u32 ^ 1 << 31
    }
}

impl Weight for f32 {
    #[inline(always)]
    fn word(self) -> u32 {
        // -0.0 + 0.0 is 0.0.
        let bits = (self + 0.0).to_bits();
        bits ^ ((bits as i32 >> 31) as u32 | 1 << 31)
    }

    #[inline(always)]
    fn is_unordered(self) -> bool {
        self.is_nan()
    }
}

/// A weight of 64 bits.
pub trait WideWeight: Copy {
    /// Returns a number that is ordered as the weights are.
    fn wide_word(self) -> u64;

    /// Returns true for a NaN.
    fn is_unordered(self) -> bool;
}

impl WideWeight for i64 {
    #[inline(always)]
    fn wide_word(self) -> u64 {
        self as u64 ^ 1 << 63
    }

    #[inline(always)]
    fn is_unordered(self) -> bool {
        false
    }
}

impl WideWeight for f64 {
    #[inline(always)]
    fn wide_word(self) -> u64 {
        // -0.0 + 0.0 is 0.0.
        let bits = (self + 0.0).to_bits();
        bits ^ ((bits as i64 >> 63) as u64 | 1 << 63)
    }

    #[inline(always)]
    fn is_unordered(self) -> bool {
        self.is_nan()
    }
}

/// Each vertex alone, and no keys. Any grid.
///
/// # Safety
/// `least` has an element for each vertex, `counters` has two for each of [`ROUNDS`], and `progress` is valid for a write.
#[kernel(max_threads = 256)]
pub unsafe fn start(mut parents: DisjointSlice<i32>, least: *mut u64, counters: *mut u32, progress: *mut Progress) {
    for (vertex, parent) in parents.grid_stride_mut() {
        *parent = vertex as i32;
        // SAFETY: there is a key for the vertex, which comes to one thread (this kernel's contract).
        unsafe { least.add(vertex).write(NO_KEY) };
    }
    for counter in thread::grid_stride(2 * ROUNDS) {
        // SAFETY: there are so many counters (this kernel's contract), and each comes to one thread.
        unsafe { counters.add(counter).write(0) };
    }
    if thread::index_1d() == 0 {
        let status = Status { outside: NONE, loops: 0, hooked: 0, skewed: 0 };
        let state = Progress { status, unordered: NONE, threshold: u32::MAX, joined: 0, pending: 0 };
        // SAFETY: the pointer is valid for a write (this kernel's contract), and only one thread writes.
        unsafe { progress.write(state) };
    }
}

/// Chooses the threshold: the weight at the place `place` of a sorted sample. One block of [`SAMPLE`] threads.
///
/// # Safety
/// `progress` is valid for writes. There are weights.
#[kernel(for W in [u32, i32, f32], block = 256)]
pub unsafe fn choose<W: Weight>(weights: &[W], place: u32, progress: *mut Progress) {
    let sample = shared_array![u32; SAMPLE];
    let thread = thread::thread_idx_x() as usize;
    let word = weights[(((mix(thread as u64) >> 32) * weights.len() as u64) >> 32) as usize].word();
    // SAFETY: each thread writes its own element, and reads follow the barrier. One thread has the place, and writes.
    unsafe {
        sample.write(thread, word);
        thread::sync_threads();
        let before = |other: usize| {
            let word_of_other = sample.read(other);
            word_of_other < word || (word_of_other == word && other < thread)
        };
        if (0..SAMPLE).filter(|&other| before(other)).count() == place as usize {
            (&raw mut (*progress).threshold).write(word);
        }
    }
}

/// Takes a key to a root. Returns true if the root had none.
///
/// # Safety
/// `least` has a key for the root, and is valid for atomic access.
#[inline(always)]
#[cfg_attr(not(cuda_device), track_caller)]
unsafe fn take(least: *mut u64, root: i32, key: u64) -> bool {
    // The L1 cache may hold an older, greater key: then the atomic changes nothing. SAFETY: there is a key for the root
    // (this function's contract).
    unsafe {
        let least = least.add(root as usize);
        mem::load_relaxed(least) > key && atomic::device::fetch_min(least, key) == NO_KEY
    }
}

/// Arrays of the rounds.
#[derive(Clone, Copy, Debug, KernelParam)]
pub struct Lists {
    /// The least key at each root.
    pub least: *mut u64,
    /// The edges that the next round looks at: the roots of both ends, and the key.
    pub next: *mut U64x2,
    /// The roots that have a key.
    pub roots: *mut i32,
    /// For each round the number of edges that it looks at, and of roots that have a key.
    pub counters: *mut u32,
    /// The round.
    pub round: u32,
}

impl Lists {
    /// Lists the edges of a batch that connect two roots, and takes their keys to these.
    ///
    /// # Safety
    /// The arrays have room for all edges and all roots; the ends are roots. On a GPU all lanes of the warp are here.
    #[inline(always)]
    #[cfg_attr(not(cuda_device), track_caller)]
    unsafe fn add(self, ends: [(i32, i32); BATCH], keys: [u64; BATCH]) {
        let is_kept = |i: usize| ends[i].0 != ends[i].1;
        let kept = (0..BATCH).filter(|&i| is_kept(i)).count() as u32;
        let mut new = [(false, false); BATCH];
        let mut count = 0;
        // SAFETY: there are counters for the round and the next one, keys for the roots, and room for each edge and each
        // root once (this function's contract): places are reserved for this thread alone.
        unsafe {
            let counters = self.counters.add(2 * self.round as usize);
            let mut place = reserve(counters.add(2), kept);
            for i in 0..BATCH {
                if is_kept(i) {
                    let (a, b) = ends[i];
                    self.next.add(place).write(U64x2::new((a as u64) << 32 | b as u64, keys[i]));
                    place += 1;
                    new[i] = (take(self.least, a, keys[i]), take(self.least, b, keys[i]));
                    count += new[i].0 as u32 + new[i].1 as u32;
                }
            }
            let mut place = reserve(counters.add(1), count);
            for i in 0..BATCH {
                for (is_new, root) in [(new[i].0, ends[i].0), (new[i].1, ends[i].1)] {
                    if is_new {
                        self.roots.add(place).write(root);
                        place += 1;
                    }
                }
            }
        }
    }
}

/// Loads the weights of a batch, and the ends of those edges whose weight is wanted. Others have the ends 0 and 0, which
/// makes them loops.
#[inline(always)]
#[cfg_attr(not(cuda_device), track_caller)]
fn load<W: Weight>(
    edges: &[I32x2],
    weights: &[W],
    first: usize,
    is_wanted: impl Fn(u32) -> bool,
) -> ([I32x2; BATCH], [Option<W>; BATCH]) {
    let found: [Option<W>; BATCH] = core::array::from_fn(|i| weights.get(first + i * WIDTH).copied());
    let mut ends = [I32x2::splat(0); BATCH];
    for i in 0..BATCH {
        if found[i].is_some_and(|weight| is_wanted(weight.word())) {
            ends[i] = edges[first + i * WIDTH];
        }
    }
    (ends, found)
}

/// The key of an edge.
#[inline(always)]
fn key<W: Weight>(weight: Option<W>, edge: usize) -> u64 {
    weight.map_or(NO_KEY, |weight| (weight.word() as u64) << 32 | edge as u64)
}

/// Takes the keys of the lightest edges to their ends. Finds the first edge whose weight is NaN. Any grid of whole warps.
///
/// # Safety
/// `least` has an element for each of `n` vertices, and is valid for atomic access, as `progress` is.
#[kernel(for W in [u32, i32, f32], max_threads = 256)]
pub unsafe fn seed<W: Weight>(edges: &[I32x2], weights: &[W], n: u32, least: *mut u64, progress: *mut Progress) {
    // SAFETY: nobody writes the threshold meanwhile, and there are keys for all vertices (this kernel's contract).
    unsafe {
        let threshold = (*progress).threshold;
        for_each_batch(edges.len(), |first| {
            let (ends, found) = load(edges, weights, first, |word| word <= threshold);
            for i in 0..BATCH {
                let (edge, I32x2 { x: u, y: v }) = (first + i * WIDTH, ends[i]);
                if found[i].is_some_and(W::is_unordered) {
                    atomic::device::fetch_min(&raw mut (*progress).unordered, edge as u32);
                }
                if u != v && (u as u32) < n && (v as u32) < n {
                    take(least, u, key(found[i], edge));
                    take(least, v, key(found[i], edge));
                }
            }
        });
    }
}

/// Lists edges between two sets, whose vertices have their root as parent: the lightest, or all others. Counts loops among
/// them, and finds the first edge that isn't between vertices. Any grid of whole warps.
///
/// # Safety
/// `labels` are roots, and have keys; the arrays of `lists` have room for all edges and roots and are valid for atomic
/// access, as `progress` is.
#[kernel(for W in [u32, i32, f32], max_threads = 256)]
pub unsafe fn gather<W: Weight>(
    edges: &[I32x2],
    weights: &[W],
    heavy: bool,
    labels: &[i32],
    lists: Lists,
    progress: *mut Progress,
) {
    let (n, mut loops) = (labels.len() as u32, 0);
    // SAFETY: nobody writes the threshold meanwhile. Labels are roots, which have keys, and there is room for all edges
    // (this kernel's contract).
    unsafe {
        let threshold = (*progress).threshold;
        for_each_batch(edges.len(), |first| {
            let is_wanted = |word| (word > threshold) == heavy;
            let (mut ends, found) = load(edges, weights, first, is_wanted);
            let mut keys = [NO_KEY; BATCH];
            for i in 0..BATCH {
                let (edge, I32x2 { x: u, y: v }) = (first + i * WIDTH, ends[i]);
                keys[i] = key(found[i], edge);
                let is_here = found[i].is_some_and(|weight| is_wanted(weight.word()));
                if is_here && (u as u32 >= n || v as u32 >= n) {
                    atomic::device::fetch_min(&raw mut (*progress).status.outside, edge as u32);
                    ends[i] = I32x2::splat(0);
                } else if is_here && u == v {
                    loops += 1;
                }
            }
            let mut roots = [(0, 0); BATCH];
            for i in 0..BATCH {
                if ends[i].x != ends[i].y {
                    roots[i] = (labels[ends[i].x as usize], labels[ends[i].y as usize]);
                }
            }
            lists.add(roots, keys);
        });
        if loops > 0 {
            atomic::device::fetch_add(&raw mut (*progress).status.loops, loops);
        }
    }
}

/// Lists those edges of the last round that still connect two sets. Any grid of whole warps.
///
/// # Safety
/// `edges` has as many elements as the round's counter says, of vertices below `parents`' length. `parents` is as after
/// [`join()`]. The arrays of `lists` have room for all edges and roots and are valid for atomic access.
#[kernel(max_threads = 256)]
pub unsafe fn advance(edges: *const U64x2, parents: *mut i32, lists: Lists) {
    // SAFETY: the counter was written by earlier kernels, and there are so many edges. Their ends are vertices (this
    // kernel's contract).
    unsafe {
        let count = lists.counters.add(2 * lists.round as usize).read() as usize;
        for_each_batch(count, |first| {
            let records: [U64x2; BATCH] = core::array::from_fn(|i| match first + i * WIDTH {
                place if place < count => mem::load_nc(edges.add(place)),
                _ => U64x2::splat(0),
            });
            let mut ends = [(0, 0); BATCH];
            for i in 0..BATCH {
                if first + i * WIDTH < count {
                    ends[i] = (find(parents, (records[i].x >> 32) as i32), find(parents, records[i].x as i32));
                }
            }
            lists.add(ends, records.map(|record| record.y));
        });
    }
}

/// Unites the ends of the least edges of the roots that have a key, or of all vertices, and marks these edges in `forest`.
/// The roots have no keys then. Any grid of whole warps.
///
/// # Safety
/// `least` has keys of edges between vertices, each root's the least of the edges that leave its set; `parents` is as
/// after [`start()`] or an earlier round. `forest` has a bit for each edge. All are valid for atomic access, as `progress`
/// is, and `counters` has elements for this round and the next.
#[kernel(max_threads = 256)]
pub unsafe fn join(edges: &[I32x2], all: u32, parents: *mut i32, lists: Lists, forest: *mut u32, progress: *mut Progress) {
    let mut joined = 0;
    // SAFETY: the counters were written by earlier kernels. Roots are vertices, and each is in the list once, so that one
    // thread alone comes to its key. Keys have the numbers of edges between vertices (this kernel's contract).
    unsafe {
        let counters = lists.counters.add(2 * lists.round as usize);
        let count = if all > 0 { all } else { counters.add(1).read() };
        for i in thread::grid_stride(count as usize) {
            let root = if all > 0 { i } else { lists.roots.add(i).read() as usize };
            let key = lists.least.add(root).read();
            if key == NO_KEY {
                continue;
            }
            lists.least.add(root).write(NO_KEY);
            let edge = key as u32;
            let I32x2 { x: u, y: v } = edges[edge as usize];
            if unite(parents, u, v).is_some() {
                atomic::device::fetch_or(forest.add(edge as usize / 32), 1 << (edge % 32));
                joined += 1;
            }
        }
        if thread::index_1d() == 0 {
            (&raw mut (*progress).pending).write(counters.add(2).read());
        }
        if is_gpu() {
            joined = warp::reduce_add(warp::FULL_MASK, joined);
        }
        if joined > 0 && (!is_gpu() || warp::lane_id() == 0) {
            atomic::device::fetch_add(&raw mut (*progress).joined, joined);
        }
    }
}

/// Counts the bits of each word. Any grid.
#[kernel(max_threads = 256)]
pub fn count_bits(words: &[u32], mut counts: DisjointSlice<u32>) {
    for (word, count) in counts.grid_stride_mut() {
        *count = words[word].count_ones();
    }
}

/// Writes the places of the bits, ascending; `places` is the exclusive scan of [`count_bits()`]. Any grid.
///
/// # Safety
/// `indices` has an element for each bit, and `places` one for each word.
#[kernel(max_threads = 256)]
pub unsafe fn collect_bits(words: &[u32], places: &[u32], indices: *mut u32) {
    for word in thread::grid_stride(words.len()) {
        let (mut bits, mut place) = (words[word], places[word] as usize);
        while bits != 0 {
            // SAFETY: each bit has a place of its own (this kernel's contract).
            unsafe { indices.add(place).write(word as u32 * 32 + bits.trailing_zeros()) };
            bits &= bits - 1;
            place += 1;
        }
    }
}

/// Writes the weights of these edges. Any grid.
#[kernel(for W in [f32, f64], max_threads = 256)]
pub fn values<W: Copy + Into<f64>>(weights: &[W], indices: &[u32], mut values: DisjointSlice<f64>) {
    for (i, value) in values.grid_stride_mut() {
        *value = weights[indices[i] as usize].into();
    }
}

/// Adds up values: those at one place of every so many, as there are sums. Any grid.
#[kernel(max_threads = 256)]
pub fn fold(values: &[f64], mut sums: DisjointSlice<f64>) {
    let step = sums.len();
    for (first, sum) in sums.grid_stride_mut() {
        *sum = values[first..].iter().step_by(step).sum();
    }
}

/// Adds up the upper halves of the weights of these edges, and their lower halves without a sign: 64 bits hold sums of 2^31
/// of them. Any grid of whole warps.
///
/// # Safety
/// `sums` are two, valid for atomic access, and 0 at first.
#[kernel(for W in [i32, i64], max_threads = 256)]
pub unsafe fn add_integers<W: Copy + Into<i64>>(weights: &[W], indices: &[u32], sums: *mut i64) {
    let mut halves = [0i64; 2];
    for i in thread::grid_stride(indices.len()) {
        let weight: i64 = weights[indices[i] as usize].into();
        halves[0] += weight >> 32;
        halves[1] += weight & 0xffff_ffff;
    }
    for (place, half) in halves.into_iter().enumerate() {
        let sum = if is_gpu() { reduce(Lanes::FULL, half, Sum) } else { half };
        if sum != 0 && (!is_gpu() || warp::lane_id() == 0) {
            // SAFETY: there are two sums, valid for atomic access (this kernel's contract).
            unsafe { atomic::device::fetch_add(sums.add(place), sum) };
        }
    }
}

/// The range of weights of 64 bits, as words.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq, Pod, Zeroable)]
pub struct Extent {
    /// The least.
    pub least: u64,
    /// The greatest.
    pub greatest: u64,
    /// The first edge whose weight is NaN; `u64::MAX` if there is none.
    pub unordered: u64,
}

impl Extent {
    /// The range of no weights.
    pub const EMPTY: Extent = Extent { least: u64::MAX, greatest: 0, unordered: u64::MAX };
}

/// Finds the range of weights, which is [empty](Extent::EMPTY) at first. Any grid.
///
/// # Safety
/// `extent` is valid for atomic access.
#[kernel(for W in [f64, i64], max_threads = 256)]
pub unsafe fn measure<W: WideWeight>(weights: &[W], extent: *mut Extent) {
    let mut own = Extent::EMPTY;
    for edge in thread::grid_stride(weights.len()) {
        let word = weights[edge].wide_word();
        (own.least, own.greatest) = (own.least.min(word), own.greatest.max(word));
        if weights[edge].is_unordered() {
            own.unordered = own.unordered.min(edge as u64);
        }
    }
    // SAFETY: the range is valid for atomic access (this kernel's contract).
    unsafe {
        let Extent { least, greatest, unordered } = own;
        if least < atomic::device::load(&raw const (*extent).least) {
            atomic::device::fetch_min(&raw mut (*extent).least, least);
        }
        if greatest > atomic::device::load(&raw const (*extent).greatest) {
            atomic::device::fetch_max(&raw mut (*extent).greatest, greatest);
        }
        if unordered < u64::MAX {
            atomic::device::fetch_min(&raw mut (*extent).unordered, unordered);
        }
    }
}

/// Writes the lower 32 bits of the weights' differences from the least word. Any grid.
#[kernel(for W in [f64, i64], max_threads = 256)]
pub fn narrow<W: WideWeight>(weights: &[W], least: u64, mut words: DisjointSlice<u32>) {
    for (edge, word) in words.grid_stride_mut() {
        *word = (weights[edge].wide_word() - least) as u32;
    }
}

/// Writes the upper 32 bits of the weights' differences from the least word, in this order of the edges. Any grid.
#[kernel(for W in [f64, i64], max_threads = 256)]
pub fn pick<W: WideWeight>(weights: &[W], least: u64, order: &[u32], mut words: DisjointSlice<u32>) {
    for (place, word) in words.grid_stride_mut() {
        *word = ((weights[order[place] as usize].wide_word() - least) >> 32) as u32;
    }
}

/// Writes each edge's rank: its place in the order. Any grid.
///
/// # Safety
/// The order is a permutation, as long as `ranks`.
#[kernel(max_threads = 256)]
pub unsafe fn rank(order: &[u32], ranks: *mut u32) {
    for place in thread::grid_stride(order.len()) {
        // SAFETY: each edge has one place (this kernel's contract).
        unsafe { ranks.add(order[place] as usize).write(place as u32) };
    }
}
