//! Strategy `binned`: no element's result is stored until its neighbours' are there, too.
//!
//! A walk visits elements in random order, and a GPU's memory takes random 4- or 8-byte stores at a fraction of the
//! rate of random loads. So the walk ([`walk()`]) stores the elements themselves, in the order of the list: each thread
//! collects [`CHUNK_ELEMENTS`] in shared memory, and they are written as 64 contiguous bytes, a *chunk*, with the
//! sublist and the first offset in its head. Once the sublists are ranked, a chunk's elements have consecutive ranks,
//! and what is left is to bring pairs (element, rank) to their places: [`partition()`] bins them in shared memory by
//! *window* of consecutive elements, and writes each bin in one run. Windows that fit into shared memory get their
//! ranks put in place there, and written out in whole lines ([`finish()`]), and larger ones part by part; those of the
//! longest lists get them put in place in the L2 cache ([`finish_wide()`]), or are binned once more ([`regroup()`]). A
//! permutation has as many pairs for each window as the window has elements, so that the bins need no counting pass.
//!
//! With weights, the successor and the weight of an element are loaded together ([`join()`]), and the offsets of a
//! chunk's elements are written beside it. In a forest, a chunk may hold several short lists.

use cuda_std::prelude::*;

use super::{
    Expected, NONE, Status, Value, based, rank_and_list,
    splitters::Splitters,
    walk::{Nodes, Unit, Units},
};
use crate::collectives::{
    Sum,
    block::{Block, STORAGE},
};

/// Words of a chunk: the sublist and the offset of its first element, then the elements.
pub const CHUNK_WORDS: usize = 16;
/// Elements that a chunk holds.
pub const CHUNK_ELEMENTS: usize = CHUNK_WORDS - HEAD;
/// 16-byte vectors of a chunk.
pub const CHUNK_VECTORS: usize = CHUNK_WORDS / 4;
/// Words before the elements.
const HEAD: usize = 2;
/// Set in the word of an element that starts the list after the one before it.
const STARTS: u32 = 1 << 31;
/// In place of an element: the sublist ended before, or a list was passed over.
const NO_ELEMENT: u32 = u32::MAX;

/// Threads of a block of [`walk()`].
pub const WALK_THREADS: u32 = 128;
/// Words between the chunks of neighbouring threads in shared memory: 16 bytes more than a chunk, so that they lie in
/// different banks. The word behind a chunk is in use, too.
const ROW_WORDS: usize = CHUNK_WORDS + 4;
/// Values between those of neighbouring threads: their number is odd, so that they lie in different banks.
const ROW_VALUES: usize = CHUNK_ELEMENTS + 1;

/// The most threads of a block of [`partition()`] and [`finish()`].
pub const THREADS: u32 = 1024;
/// The most bins that one thread of [`partition()`] scans.
pub const BINS_PER_THREAD: usize = 4;
/// Pairs that a thread of [`finish()`] loads at a time.
const LOADS: usize = 4;

/// In place of a rank and the number of a list: none.
const EMPTY: i64 = -1;

/// Vectors that a thread of [`partition()`] loads at a time.
const AHEAD: usize = 2;

/// A cut of a list's elements into windows and tiles.
#[derive(Clone, Copy, Debug, PartialEq, Eq, KernelParam)]
pub struct Cut {
    /// The number of elements.
    pub n: u32,
    /// Binary logarithm of a window's elements.
    pub window_bits: u32,
    /// Binary logarithm of the elements of a part of a window that a block puts in place.
    pub part_bits: u32,
    /// Vectors that each thread of [`partition()`] takes.
    pub vectors: u32,
}

impl Cut {
    /// Returns the number of windows.
    #[inline(always)]
    pub const fn windows(self) -> u32 {
        self.n.div_ceil(1 << self.window_bits)
    }

    /// Returns true if all of these are elements of one window, as in most vectors of a list whose
    /// neighbours lie side by side.
    #[inline(always)]
    const fn is_of_one_window(self, [a, b, c, d]: [u32; 4]) -> bool {
        ((a ^ b) | (a ^ c) | (a ^ d)) >> self.window_bits == 0 && a < self.n && b < self.n && c < self.n && d < self.n
    }

    /// Elements that a tile of blocks of `threads` threads has at most.
    #[inline(always)]
    pub const fn tile_elements(self, threads: u32) -> u32 {
        threads * self.vectors / CHUNK_VECTORS as u32 * CHUNK_ELEMENTS as u32
    }

    /// Dynamic shared memory of [`partition()`] with pairs of so many bytes, in bytes.
    pub const fn partition_shared(self, threads: u32, pair: usize) -> usize {
        self.tile_elements(threads) as usize * pair + 2 * self.windows() as usize * size_of::<u32>()
    }
}

/// Dynamic shared memory of [`walk()`], in bytes; `value` is the size of weights, or 0.
pub const fn walk_shared(value: usize) -> usize {
    WALK_THREADS as usize * (ROW_WORDS * size_of::<u32>() + ROW_VALUES * value)
}

/// Returns the most chunks of a list of `n` elements in `units`, with `passed` heads that are
/// splitters.
pub const fn max_chunks(n: usize, units: usize, passed: usize) -> usize {
    (n + passed) / CHUNK_ELEMENTS + units
}

/// Numbers from a counter, for each lane that wants one: one atomic for all of a warp.
///
/// # Safety
/// `counter` must be valid for atomic access. All lanes of the warp are here.
#[inline(always)]
unsafe fn claim(counter: *mut u32, wanted: bool) -> (u32, u32) {
    let lanes = warp::ballot(warp::FULL_MASK, wanted);
    let mut first = 0;
    if lanes != 0 && warp::lane_id() == 0 {
        // SAFETY: the counter is valid for atomic access (this function's contract).
        first = unsafe { atomic::device::fetch_add(counter, lanes.count_ones()) };
    }
    (warp::shuffle_idx(warp::FULL_MASK, first, 0), lanes)
}

/// Brings each element's successor and weight together.
#[kernel(for V in [i32, i64, f32, f64], max_threads = 256)]
pub fn join<V: Value>(next: &[i32], weights: &[V], mut joined: DisjointSlice<<V as Value>::Record>) {
    let i = thread::index_1d() as usize;
    if i < next.len() {
        joined.set(V::record(next[i], weights[i]));
    }
}

/// Destinations of [`walk()`].
#[derive(Clone, Copy, Debug, KernelParam)]
pub struct Chunks<V> {
    /// Result: the elements in order of the list, in chunks.
    pub vectors: *mut I32x4,
    /// Result: with weights, the offset of the element at the same place in `vectors`.
    pub values: *mut V,
    /// Number of chunks in use, and of units that were begun. Both must start at 0.
    pub counters: *mut u32,
    /// Capacity in chunks. A good list needs at most [`max_chunks`]; the walks of a bad one that
    /// would take more are cut off.
    pub capacity: u32,
}

/// Step 2: walks the sublists, and writes their elements in chunks. Threads draw units until all
/// are begun. With `joined` (else it is empty) the successors are taken from there, with the
/// weights.
///
/// # Safety
/// `chunks` must have room as it says, `joined` be empty or as long as `next`, the arrays of nodes and `bases` as long
/// as there are splitters, and the arrays written must not overlap any other. Blocks of [`WALK_THREADS`] threads with
/// [`walk_shared`] bytes of shared memory.
// Each load that is under way takes a line of the L1 cache. With weights, as many blocks as fit into shared memory would
// leave themselves too few.
#[kernel(for V in [i32, i64, f32, f64], max_threads = 128, carveout = 44)]
pub unsafe fn walk<V: Value>(
    next: &[i32],
    joined: &[<V as Value>::Record],
    chunks: Chunks<V>,
    bases: *mut <V as Value>::Record,
    nodes: Nodes<'_, V>,
    splitters: Splitters,
) {
    let units = Units { nodes, splitters, bases, n: next.len() as u32 };
    // SAFETY: walks load below `n`, which is the length of both arrays; the rest is this kernel's contract.
    unsafe {
        if joined.is_empty() {
            collect::<V, false>(&units, chunks, |element| (*next.get_unchecked(element as usize), V::count(1)));
        } else {
            collect::<V, true>(&units, chunks, |element| V::parts(mem::load_cg(joined.as_ptr().add(element as usize))));
        }
    }
}

/// [`walk()`] with `load` for an element's successor and value.
///
/// # Safety
/// As for [`walk()`]; `load` may be called for indices below `n`.
#[inline(always)]
unsafe fn collect<V: Value, const WEIGHTED: bool>(units: &Units<'_, V>, chunks: Chunks<V>, load: impl Fn(u32) -> (i32, V)) {
    let (count, status) = (units.count(), units.nodes.status);
    let lane = warp::lane_id();
    // SAFETY: the launch gives `walk_shared` bytes: first rows of values, which are the widest, then rows of words. Behind
    // the words of row k is the number of the lane that has the warp's k-th full chunk. Threads write rows of their own, and a
    // `sync_warp` lies between the writes and the reads of other lanes. Chunk numbers are compared with the capacity,
    // and units with their count. The rest is this function's contract.
    unsafe {
        let warp_row = (thread::thread_idx_x() - lane) as usize;
        let values = dynamic_shared::<V>();
        let words = values.add(if WEIGHTED { WALK_THREADS as usize * ROW_VALUES } else { 0 }).cast::<u32>();
        let (values, words) = (values.add(warp_row * ROW_VALUES), words.add(warp_row * ROW_WORDS));
        let (own_values, own_words) = (values.add(lane as usize * ROW_VALUES), words.add(lane as usize * ROW_WORDS));
        let source = |chunk: usize| words.add(chunk * ROW_WORDS + CHUNK_WORDS);

        let mut unit = Unit::<V>::idle();
        let (mut live, mut more) = (false, true);
        loop {
            // The lanes whose units have ended draw others.
            let wanted = !live && more;
            let (first, lanes) = claim(chunks.counters.add(1), wanted);
            if wanted {
                let number = first.saturating_add((lanes & warp::lane_mask_lt()).count_ones());
                more = number < count;
                live = more && units.begin(&mut unit, number, &load);
            }
            if !warp::any(warp::FULL_MASK, live || more) {
                break;
            }
            let full = live;
            if live {
                own_words.write(unit.sublist);
                own_words.add(1).write(unit.walk.length as u32);
                let mut place = HEAD;
                let mut list = unit.sublist;
                while place < CHUNK_WORDS && live {
                    live = units.step(&mut unit, &load, |sublist, element, offset, passed_over| {
                        let starts = if sublist == list { 0 } else { STARTS };
                        list = sublist;
                        own_words.add(place).write(if passed_over { NO_ELEMENT & !STARTS } else { element } | starts);
                        if WEIGHTED {
                            own_values.add(place - HEAD).write(offset);
                        }
                    });
                    place += 1;
                }
                while place < CHUNK_WORDS {
                    own_words.add(place).write(NO_ELEMENT);
                    place += 1;
                }
            }
            // The warp writes its lanes' chunks, one after another.
            let (first, lanes) = claim(chunks.counters, full);
            if full {
                source((lanes & warp::lane_mask_lt()).count_ones() as usize).write(lane);
            }
            let taken = lanes.count_ones();
            if first.saturating_add(taken) > chunks.capacity {
                if full {
                    atomic::device::fetch_add(&raw mut (*status).overflows, 1);
                }
                (live, more) = (false, false);
                continue;
            }
            warp::sync_warp(warp::FULL_MASK);
            let vectors = chunks.vectors.add(first as usize * CHUNK_VECTORS);
            for at in thread::strided(lane as usize..taken as usize * CHUNK_VECTORS, 32) {
                let row = words.add(*source(at / CHUNK_VECTORS) as usize * ROW_WORDS).cast::<I32x4>();
                vectors.add(at).write(*row.add(at % CHUNK_VECTORS));
            }
            if WEIGHTED {
                let targets = chunks.values.add(first as usize * CHUNK_WORDS);
                for at in thread::strided(lane as usize..taken as usize * CHUNK_WORDS, 32) {
                    let row = values.add(*source(at / CHUNK_WORDS) as usize * ROW_VALUES);
                    // In place of the head's words anything is written: whole sectors.
                    targets.add(at).write(*row.add((at % CHUNK_WORDS).saturating_sub(HEAD)));
                }
            }
            warp::sync_warp(warp::FULL_MASK);
        }
        unit.report(status);
    }
}

/// Bins the pairs of a tile by window, and writes each bin in one run: `words(k)` are the elements
/// of the thread's vector `k`, `n` or more for none, and `pairs_of(k)` are they with what goes to
/// them. Both are called once per vector: a tile is larger than the registers, and comes from the
/// L2 cache the second time.
///
/// # Safety
/// As for [`partition()`]: its arrays, its launch.
#[inline(always)]
unsafe fn bin<V: Value>(
    pairs: *mut V::Record,
    filled: *mut u32,
    cut: Cut,
    words: impl Fn(usize) -> [u32; 4],
    pairs_of: impl Fn(usize) -> [(u32, V); 4],
) {
    let (thread, threads) = (thread::thread_idx_x() as usize, thread::block_dim_x());
    let (windows, vectors) = (cut.windows() as usize, cut.vectors as usize);
    let staged = dynamic_shared::<V::Record>();
    // SAFETY: the launch gives `partition_shared` bytes. Below, threads write places of their own, or by atomics, and a
    // barrier lies between the writes of one stage and the reads of the next. Elements are compared with `n`, so that
    // bins are below `windows`.
    unsafe {
        let places = staged.add(cut.tile_elements(threads) as usize).cast::<u32>();
        let moves = places.add(windows);
        let mut bin = thread;
        while bin < windows {
            places.add(bin).write(0);
            bin += threads as usize;
        }
        thread::sync_threads();
        let claim = |element: u32, count: u32| atomic::block::fetch_add(places.add((element >> cut.window_bits) as usize), count);
        let count = |of_vector: [u32; 4]| {
            if cut.is_of_one_window(of_vector) {
                claim(of_vector[0], 4);
            } else {
                // (`map`, since what a loop indexes doesn't stay in registers.)
                let _ = of_vector.map(|element| if element < cut.n { claim(element, 1) } else { 0 });
            }
        };
        let mut k = 0;
        while k < vectors {
            let _ = [words(k), words(k + 1)].map(count);
            k += AHEAD;
        }
        thread::sync_threads();

        let total = place_bins([places, moves], filled, cut);
        let stage = |of_vector: [(u32, V); 4]| {
            let put = |place: u32, (element, value): (u32, V)| staged.add(place as usize).write(V::record(element as i32, value));
            if cut.is_of_one_window(of_vector.map(|(element, _)| element)) {
                let first = claim(of_vector[0].0, 4);
                let [a, b, c, d] = of_vector;
                put(first, a);
                put(first + 1, b);
                put(first + 2, c);
                put(first + 3, d);
            } else {
                let _ = of_vector.map(|pair| {
                    if pair.0 < cut.n {
                        put(claim(pair.0, 1), pair)
                    }
                });
            }
        };
        let mut k = 0;
        while k < vectors {
            let _ = [pairs_of(k), pairs_of(k + 1)].map(stage);
            k += AHEAD;
        }
        thread::sync_threads();
        let mut place = thread as u32;
        while place < total {
            let pair = *staged.add(place as usize);
            let window = V::parts(pair).0 as u32 >> cut.window_bits;
            let target = (*moves.add(window as usize)).wrapping_add(place);
            // Past the end, or in another window, only where a bad list has an element twice. Several blocks may then
            // write one place.
            if target < cut.n {
                mem::store_relaxed(pairs.add(target as usize), pair);
            }
            place += threads;
        }
    }
}

/// Replaces the counts of the tile's bins, in `places`, by their starts in the tile, and claims room for them in their
/// windows: `moves` gets the distance from there to the window. Returns the number of the tile's pairs.
///
/// # Safety
/// All threads of the block are here, after a barrier. `places` and `moves` have an element of shared memory per window,
/// and `filled` has a counter per window that is changed by atomics alone.
#[inline(always)]
unsafe fn place_bins([places, moves]: [*mut u32; 2], filled: *mut u32, cut: Cut) -> u32 {
    let (thread, threads) = (thread::thread_idx_x() as usize, thread::block_dim_x());
    let windows = cut.windows() as usize;
    // SAFETY: threads write places of their own, and a barrier lies between the writes of one stage and the reads of the
    // next.
    unsafe {
        let mut own = 0;
        for k in 0..BINS_PER_THREAD {
            let bin = thread * BINS_PER_THREAD + k;
            if bin < windows {
                own += *places.add(bin);
            }
        }
        let scan = Block::with_threads(shared_array![u32; STORAGE], threads).exclusive_scan(own, Sum);
        let mut at = scan.prefix;
        for k in 0..BINS_PER_THREAD {
            let bin = thread * BINS_PER_THREAD + k;
            if bin < windows {
                let count = *places.add(bin);
                places.add(bin).write(at);
                moves.add(bin).write(count);
                at += count;
            }
        }
        thread::sync_threads();
        // Strided, so that a warp's atomics fall into one line.
        let mut bin = thread;
        while bin < windows {
            let taken = atomic::device::fetch_add(filled.add(bin), *moves.add(bin));
            moves.add(bin).write(((bin as u32) << cut.window_bits).wrapping_add(taken).wrapping_sub(*places.add(bin)));
            bin += threads as usize;
        }
        thread::sync_threads();
        scan.total
    }
}

/// Step 4a: bins the elements of all chunks by window, with their results. One block for each tile of chunks, of at
/// most [`THREADS`] threads (a power of two from 32 on), with [`Cut::partition_shared`] bytes of shared memory.
///
/// `offsets` are those that [`walk()`] has written; where they are empty, elements are counted. `filled` has a counter
/// for each window, which must start at 0; window `w`'s pairs go to `pairs[w << window_bits ..]`.
///
/// # Safety
/// `chunks` must hold `chunk_count[0]` chunks, `pairs` `n` pairs, and `filled` as many counters as there are windows,
/// at most [`BINS_PER_THREAD`] for each thread.
#[kernel(for V in [i32, i64, f32, f64], max_threads = 1024)]
pub unsafe fn partition<V: Value>(
    chunks: &[I32x4],
    offsets: &[V],
    chunk_count: &u32,
    bases: &[<V as Value>::Record],
    pairs: *mut <V as Value>::Record,
    filled: *mut u32,
    cut: Cut,
) {
    let (thread, threads) = (thread::thread_idx_x() as usize, thread::block_dim_x() as usize);
    let tile = thread::block_idx_x() as usize * cut.vectors as usize * threads;
    let vectors = (*chunk_count as usize * CHUNK_VECTORS).min(chunks.len());
    if tile >= vectors {
        // The whole block leaves: the grid is for the most chunks that there can be.
        return;
    }
    let end = vectors.min(tile + cut.vectors as usize * threads);
    let part = thread % CHUNK_VECTORS;
    let is_counted = offsets.is_empty();
    let head_lane = warp::lane_id() & !(CHUNK_VECTORS as u32 - 1);
    let vector = |k: usize| -> [u32; 4] {
        let index = tile + k * threads + thread;
        if index >= end {
            return [NO_ELEMENT; 4];
        }
        // SAFETY: compared with the length.
        unsafe { mem::load_nc(chunks.as_ptr().add(index)) }.to_array().map(i32::cast_unsigned)
    };
    let elements = |mut words: [u32; 4]| {
        if part == 0 {
            words[0] = NO_ELEMENT;
            words[1] = NO_ELEMENT;
        }
        words.map(|word| word & !STARTS)
    };
    let pairs_of = |k: usize| {
        let words = vector(k);
        let (mut head, mut list) = (V::ZERO, 0);
        if part == 0 && words[0] != NO_ELEMENT {
            let offset = if is_counted { V::count(words[1] as i32) } else { V::ZERO };
            head = based(bases, words[0] as i32, offset);
            list = words[0].wrapping_sub(bases.len() as u32);
        }
        // A chunk's vectors lie in neighbouring lanes. In the first, two words of head come before
        // the elements. The sum before the sublist, or, if elements are counted, before its place
        // in the chunk:
        let before = warp::shuffle_idx(warp::FULL_MASK, head, head_lane);
        // In a forest: the list number of the chunk's first element, and the places of the lists'
        // starts.
        let mut starts = 0;
        if size_of::<V>() == 8 && is_counted {
            list = warp::shuffle_idx(warp::FULL_MASK, list, head_lane);
            let of_word = |word: u32, i: usize| {
                let starting = word & STARTS != 0 && (part > 0 || i >= HEAD);
                let of_chunk = warp::ballot(warp::FULL_MASK, starting) >> head_lane;
                // From the bits of the chunk's four lanes to every fourth bit.
                ((of_chunk & 1) | (of_chunk & 2) << 3 | (of_chunk & 4) << 6 | (of_chunk & 8) << 9) << i
            };
            starts = of_word(words[0], 0) | of_word(words[1], 1) | of_word(words[2], 2) | of_word(words[3], 3);
        }
        let value = |i: usize, element: u32| {
            if !is_counted {
                // SAFETY: there is an offset for each word of the chunks, and the words with elements are among these.
                let offset = || unsafe { *offsets.get_unchecked(4 * (tile + k * threads + thread) + i) };
                return if element < cut.n { before.plus(offset()) } else { V::ZERO };
            }
            let place = 4 * part as u32 + i as u32;
            let started = starts & ((2u32 << place) - 1);
            if started == 0 {
                return before.plus(V::count(place as i32 - HEAD as i32));
            }
            let last = u32::BITS - 1 - started.leading_zeros();
            V::head(list.wrapping_add(started.count_ones())).plus(V::count((place - last) as i32))
        };
        let [a, b, c, d] = elements(words);
        [(a, value(0, a)), (b, value(1, b)), (c, value(2, c)), (d, value(3, d))]
    };
    // SAFETY: this kernel's contract.
    unsafe { bin::<V>(pairs, filled, cut, |k| elements(vector(k)), pairs_of) };
}

/// Elements for each vector of a tile of [`invert()`]. (There is room for three and a half.)
pub const INVERSE_WORDS: usize = 3;

/// Bins the pairs (`targets[i]`, `values[i]`), or (`targets[i]`, i) where there are no values: [`partition()`] of
/// arrays, which [`finish()`] then puts in the order of a permutation, or the inverse of one. One block for each
/// [`Cut::vectors`] times [`INVERSE_WORDS`] elements for each thread, as for [`partition()`].
///
/// # Safety
/// As for [`partition()`].
#[kernel(max_threads = 1024)]
pub unsafe fn invert(targets: &[i32], values: &[i32], pairs: *mut U32x2, filled: *mut u32, cut: Cut) {
    let (threads, n) = (thread::block_dim_x(), targets.len() as u32);
    let first = thread::block_idx_x() * cut.vectors * threads * INVERSE_WORDS as u32 + thread::thread_idx_x();
    let index = |k: usize, i: usize| first + (INVERSE_WORDS * k + i) as u32 * threads;
    let word = |k: usize, i: usize| {
        let index = index(k, i);
        // SAFETY: compared with the length.
        if k < cut.vectors as usize && index < n { unsafe { *targets.get_unchecked(index as usize) as u32 } } else { NO_ELEMENT }
    };
    let words = |k: usize| [word(k, 0), word(k, 1), word(k, 2), NO_ELEMENT];
    let pair = |k: usize, i: usize| {
        let (word, index) = (word(k, i), index(k, i));
        let value = if values.is_empty() || word == NO_ELEMENT { index as i32 } else { values[index as usize] };
        (word, value)
    };
    let pairs_of = |k: usize| [pair(k, 0), pair(k, 1), pair(k, 2), (NO_ELEMENT, 0)];
    // SAFETY: this kernel's contract.
    unsafe { bin::<i32>(pairs, filled, cut, words, pairs_of) };
}

/// Bins the pairs of a few windows, which begin at the element `first`, once more: into windows that fit into shared
/// memory, and elements that count from `first` on. One block for each [`Cut::vectors`] times [`INVERSE_WORDS`] pairs for
/// each thread, as for [`partition()`]; if the list is as expected.
///
/// # Safety
/// As for [`partition()`], where `n` is the number of pairs.
#[kernel(for V in [i32, i64, f32, f64], max_threads = 1024)]
pub unsafe fn regroup<V: Value>(
    pairs: &[<V as Value>::Record],
    first: u32,
    finer: *mut <V as Value>::Record,
    filled: *mut u32,
    cut: Cut,
    status: &Status,
    expected: Expected,
) {
    if !expected.is_met(status) {
        // The whole block leaves.
        return;
    }
    let threads = thread::block_dim_x() as usize;
    let tile = thread::block_idx_x() as usize * cut.vectors as usize * threads * INVERSE_WORDS;
    let pair = |k: usize, i: usize| {
        let index = tile + (INVERSE_WORDS * k + i) * threads + thread::thread_idx_x() as usize;
        if k >= cut.vectors as usize || index >= pairs.len() {
            return (NO_ELEMENT, V::ZERO);
        }
        // SAFETY: compared with the length.
        let (element, value) = V::parts(unsafe { mem::load_nc(pairs.as_ptr().add(index)) });
        ((element as u32).wrapping_sub(first), value)
    };
    let pairs_of = |k: usize| [pair(k, 0), pair(k, 1), pair(k, 2), (NO_ELEMENT, V::ZERO)];
    let words = |k: usize| pairs_of(k).map(|(element, _)| element);
    // SAFETY: this kernel's contract.
    unsafe { bin::<V>(finer, filled, cut, words, pairs_of) };
}

/// Puts the values of the block's part of a window in place in shared memory. Returns them, the first element and how many
/// there are.
///
/// # Safety
/// As for [`finish()`].
#[inline(always)]
unsafe fn place<V: Value>(pairs: &[V::Record], cut: Cut) -> (*const V, usize, usize) {
    let (thread, threads) = (thread::thread_idx_x() as usize, thread::block_dim_x() as usize);
    let (part, split) = (thread::block_idx_x(), cut.window_bits - cut.part_bits);
    let window = ((part >> split) as usize) << cut.window_bits;
    let in_window = (pairs.len() - window).min(1 << cut.window_bits);
    let first = (part as usize) << cut.part_bits;
    let size = (pairs.len() - first).min(1 << cut.part_bits);
    let values = dynamic_shared::<V>();
    // With a bad list that is trusted, two pairs may have one place. SAFETY: the launch gives room
    // for a part's values, and places are below the part's size; all writes before the barrier are
    // atomic, and reads follow it; the window lies in `pairs`.
    unsafe {
        let put = |pair: V::Record| {
            let (element, value) = V::parts(pair);
            if element as u32 >> cut.part_bits == part {
                atomic::block::store(values.add(element as usize & ((1 << cut.part_bits) - 1)), value);
            }
        };
        let load = |i: usize| mem::load_nc(pairs.as_ptr().add(window + i));
        let mut i = thread;
        while i + (LOADS - 1) * threads < in_window {
            let some: [V::Record; LOADS] = core::array::from_fn(|k| load(i + k * threads));
            some.into_iter().for_each(put);
            i += LOADS * threads;
        }
        while i < in_window {
            put(load(i));
            i += threads;
        }
    }
    thread::sync_threads();
    (values, first, size)
}

/// Step 4b: puts the results of each window in place, if the list is as expected. One block of at most [`THREADS`]
/// threads for each part of a window, `1 << part_bits` elements at most as large as the window, with shared memory for
/// their values.
///
/// # Safety
/// `results` must have `pairs.len()` elements, and be aligned to 16 bytes; a part has 16 bytes of results or more.
#[kernel(for V in [i32, i64, f32, f64], max_threads = 1024)]
pub unsafe fn finish<V: Value>(pairs: &[<V as Value>::Record], results: *mut V, cut: Cut, status: &Status, expected: Expected) {
    if !expected.is_met(status) {
        // The whole block leaves.
        return;
    }
    let (thread, threads) = (thread::thread_idx_x() as usize, thread::block_dim_x() as usize);
    let per_vector = 16 / size_of::<V>();
    // SAFETY: this kernel's contract; the part lies in `results`, too.
    unsafe {
        let (window, first, size) = place::<V>(pairs, cut);
        let results = results.add(first);
        let mut i = thread * per_vector;
        while i + per_vector <= size {
            mem::store_streaming(results.add(i).cast::<I32x4>(), *window.add(i).cast::<I32x4>());
            i += threads * per_vector;
        }
        while i < size {
            results.add(i).write(*window.add(i));
            i += 1;
        }
    }
}

/// [`finish()`] for a forest: ranks and the numbers of lists. Adds to the status how many places stay empty, and one for a
/// window with fewer or more pairs than elements. With neither, each element is on one sublist.
///
/// # Safety
/// `ranks` and `lists` must have `pairs.len()` elements, `filled` an element for each window, and `status` be valid for
/// atomic access.
#[kernel(max_threads = 1024)]
pub unsafe fn finish_lists(
    pairs: &[U64x2],
    ranks: *mut i32,
    lists: *mut i32,
    filled: &[u32],
    cut: Cut,
    status: *mut Status,
    expected: Expected,
) {
    // SAFETY: this kernel's contract; the launch gives room for a part's values, and the part lies in both arrays.
    unsafe {
        // (Its other fields change meanwhile.)
        let walked = Status { ranked: (*status).ranked, ends: (*status).ends, ..Status::default() };
        if !expected.is_met(&walked) {
            // The whole block leaves.
            return;
        }
        let (thread, threads) = (thread::thread_idx_x() as usize, thread::block_dim_x() as usize);
        for i in thread::strided(thread..1 << cut.part_bits, threads) {
            dynamic_shared::<i64>().add(i).write(EMPTY);
        }
        thread::sync_threads();
        let (values, first, size) = place::<i64>(pairs, cut);
        let window = first >> cut.window_bits;
        let in_window = (pairs.len() - (window << cut.window_bits)).min(1 << cut.window_bits);
        let mut missing = u32::from(thread == 0 && filled[window] as usize != in_window);
        for i in thread::strided(thread..size, threads) {
            let value = *values.add(i);
            missing += u32::from(value == EMPTY);
            let (rank, list) = rank_and_list(value);
            mem::store_streaming(ranks.add(first + i), rank);
            mem::store_streaming(lists.add(first + i), list);
        }
        if missing > 0 {
            atomic::device::fetch_add(&raw mut (*status).missing, missing);
        }
    }
}

/// [`finish()`] for windows that don't fit into shared memory: pairs are read in order and stored at once, so that few
/// windows are being written at a time, and the L2 cache holds their lines until they are full. Any grid.
///
/// # Safety
/// `results` must have `pairs.len()` elements.
#[kernel(for V in [i32, i64, f32, f64], max_threads = 256)]
pub unsafe fn finish_wide<V: Value>(pairs: &[<V as Value>::Record], results: *mut V, status: &Status, expected: Expected) {
    // SAFETY: elements are below the length.
    let put = |element: usize, value: V| unsafe { mem::store_relaxed(results.add(element), value) };
    if expected.is_met(status) {
        stream(pairs, put);
    }
}

/// Calls `put` for the pairs of the thread's block, [`LOADS`] for each thread, whose elements are below their number.
#[inline(always)]
fn stream<V: Value>(pairs: &[V::Record], put: impl Fn(usize, V)) {
    let threads = thread::block_dim_x() as usize;
    let first = thread::block_idx_x() as usize * LOADS * threads + thread::thread_idx_x() as usize;
    let some: [V::Record; LOADS] = core::array::from_fn(|k| {
        let i = first + k * threads;
        // SAFETY: compared with the length; nothing writes pairs while the kernel runs.
        if i < pairs.len() { unsafe { mem::load_streaming(pairs.as_ptr().add(i)) } } else { V::record(NONE, V::ZERO) }
    });
    for pair in some {
        let (element, value) = V::parts(pair);
        if (element as u32 as usize) < pairs.len() {
            put(element as u32 as usize, value);
        }
    }
}

/// Pairs that a block of `threads` threads of [`finish_wide()`] takes.
pub const fn wide_pairs(threads: u32) -> usize {
    LOADS * threads as usize
}
