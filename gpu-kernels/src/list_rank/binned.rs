//! Strategy `binned`: no element's result is stored until its neighbours' are there, too.
//!
//! A walk visits elements in random order, and a GPU's memory takes random 4- or 8-byte stores at a fraction of the
//! rate of random loads. So the walk ([`walk()`]) stores the elements themselves, in the order of the list: each thread
//! collects [`CHUNK_ELEMENTS`] in registers and writes them as 64 contiguous bytes, a *chunk*, with the sublist and the
//! first offset in its head. Once the sublists are ranked, a chunk's elements have consecutive ranks, and what is left
//! is to bring pairs (element, rank) to their places: [`partition()`] bins them in shared memory by *window* of
//! [`WINDOW`] consecutive elements, and writes each bin in one run; [`finish()`] puts each window's ranks in place in
//! shared memory, and writes them out in whole lines. A permutation has as many pairs for each window as the window has
//! elements, so that the bins need no counting pass.

// Loops over several arrays of registers at once read best by their index.
#![allow(clippy::needless_range_loop)]

use cuda_std::prelude::*;

use super::{ABSENT, BROKEN, Status, TAIL, finish::complete, splitters::Splitters, walk::Nodes};
use crate::collectives::{
    Sum,
    block::{Block, STORAGE},
};

/// Elements that a chunk holds, after two words of head.
pub const CHUNK_ELEMENTS: usize = 14;
/// 16-byte vectors of a chunk.
pub const CHUNK_VECTORS: usize = 4;
/// In place of an element, where the sublist ended before the chunk.
const NONE: i32 = -1;

/// Threads of a block of [`partition()`] and [`finish()`].
pub const THREADS: u32 = 1024;
/// Chunks that one block of [`partition()`] takes.
pub const TILE_CHUNKS: usize = 1024;
/// Vectors that each of its threads takes.
const TILE_VECTORS: usize = TILE_CHUNKS * CHUNK_VECTORS / THREADS as usize;
/// Elements of a tile, at most.
const TILE_ELEMENTS: usize = TILE_CHUNKS * CHUNK_ELEMENTS;
/// Binary logarithm of [`WINDOW`].
const WINDOW_BITS: u32 = 15;
/// Elements of a window.
pub const WINDOW: usize = 1 << WINDOW_BITS;
/// The most windows that [`partition()`] can bin.
pub const MAX_WINDOWS: usize = 4096;
/// Bins that one thread of [`partition`] scans.
const BINS_PER_THREAD: usize = MAX_WINDOWS / THREADS as usize;

/// Dynamic shared memory of [`partition()`], in bytes.
pub const PARTITION_SHARED: usize = TILE_ELEMENTS * size_of::<Pair>() + 2 * MAX_WINDOWS * size_of::<u32>();
/// Dynamic shared memory of [`finish()`], in bytes.
pub const FINISH_SHARED: usize = WINDOW * size_of::<i32>();

/// An element and its rank.
pub type Pair = U32x2;

/// The most chunks that a list of `n` elements in `sublists` takes.
pub const fn max_chunks(n: usize, sublists: usize) -> usize {
    n / CHUNK_ELEMENTS + sublists
}

/// A number of the next chunk, for each lane that is here: one atomic for all lanes that come together.
///
/// # Safety
/// `counter` must be valid for atomic access.
#[inline(always)]
unsafe fn claim(counter: *mut u32) -> u32 {
    let lanes = warp::active_mask();
    let leader = lanes.trailing_zeros();
    let mut first = 0;
    if warp::lane_id() == leader {
        // SAFETY: the counter is valid for atomic access (this function's contract).
        first = unsafe { atomic::device::fetch_add(counter, lanes.count_ones()) };
    }
    warp::shuffle_idx(lanes, first, leader) + (lanes & warp::lane_mask_lt()).count_ones()
}

/// Step 2: walks the sublists, and writes their elements in chunks. One thread per node, as in
/// [`split`](super::walk::split()).
///
/// `chunks` has room for `capacity` chunks, of which `chunk_count`, which must start at 0, will count the used ones. A
/// good list needs at most [`max_chunks`]; the walks of a bad one that would take more are cut off.
///
/// # Safety
/// `chunks` must have `capacity * CHUNK_VECTORS` vectors, the arrays of nodes as many elements as there are, and the
/// arrays written must not overlap any other.
#[kernel(max_threads = 256)]
pub unsafe fn walk(
    next: &[i32],
    chunks: *mut I32x4,
    chunk_count: *mut u32,
    capacity: u32,
    nodes: Nodes<'_, i32>,
    splitters: Splitters,
) {
    let (n, status) = (next.len() as u32, nodes.status);
    let j = thread::index_1d();
    if j as usize >= nodes.count(splitters) {
        return;
    }
    let mut end = ABSENT;
    let mut length = 0i32;
    // SAFETY: `j` is a node, and `head_nodes` is as long as `heads`; indices into `next` are compared with its length
    // before they are used, chunk numbers with `capacity`. A thread writes chunks and a node of its own; counter and
    // status are changed by atomics alone.
    unsafe {
        if let Some(first) = nodes.start(j, n, splitters) {
            let mut element = first;
            let mut saved = u32::MAX;
            let mut next_save = 1i32;
            let mut successor = *next.get_unchecked(element as usize);
            'walk: loop {
                let chunk = claim(chunk_count);
                if chunk >= capacity {
                    atomic::device::fetch_add(&raw mut (*status).overflows, 1);
                    end = BROKEN;
                    break 'walk;
                }
                let mut elements = [NONE; CHUNK_ELEMENTS];
                let offset = length;
                let mut ended = false;
                // One step for each place of the chunk, unrolled: a run-time index would put the array into local
                // memory.
                macro_rules! steps {
                    ($($place:literal)*) => {'chunk: {
                        $(
                            // The load of the step after this one starts before this one's successor is looked at.
                            let ahead = if (successor as u32) < n { successor as u32 } else { element };
                            let after = *next.get_unchecked(ahead as usize);
                            elements[$place] = element as i32;
                            length += 1;
                            if successor as u32 >= n {
                                if successor == TAIL {
                                    end = TAIL;
                                } else {
                                    atomic::device::fetch_add(&raw mut (*status).out_of_range, 1);
                                    end = BROKEN;
                                }
                                ended = true;
                                break 'chunk;
                            }
                            element = successor as u32;
                            successor = after;
                            if let Some(number) = splitters.number(element) {
                                end = number as i32;
                                ended = true;
                                break 'chunk;
                            }
                        )*
                    }};
                }
                steps!(0 1 2 3 4 5 6 7 8 9 10 11 12 13);
                let e = elements;
                let vectors = chunks.add(chunk as usize * CHUNK_VECTORS);
                vectors.write(I32x4 { x: j as i32, y: offset, z: e[0], w: e[1] });
                vectors.add(1).write(I32x4 { x: e[2], y: e[3], z: e[4], w: e[5] });
                vectors.add(2).write(I32x4 { x: e[6], y: e[7], z: e[8], w: e[9] });
                vectors.add(3).write(I32x4 { x: e[10], y: e[11], z: e[12], w: e[13] });
                if ended {
                    break 'walk;
                }
                // Brent's cycle detection, a chunk at a time: the walk compares one element in fourteen with the saved
                // one, which it meets all the same, since places in chunks go round with the circle (at the latest
                // after fourteen rounds).
                if element == saved {
                    atomic::device::fetch_add(&raw mut (*status).circles, 1);
                    end = BROKEN;
                    break 'walk;
                }
                if length >= next_save {
                    saved = element;
                    next_save = length.saturating_mul(2);
                }
            }
        }
        nodes.write(j, end, length, length);
    }
}

/// Step 4a: bins the elements of all chunks by window, with their ranks. Blocks of [`THREADS`] threads, one for each
/// [`TILE_CHUNKS`] chunks of `capacity`, with [`PARTITION_SHARED`] bytes of shared memory.
///
/// `filled` has a counter for each of the `windows`, which must start at 0; window `w`'s pairs go to `pairs[w * WINDOW
/// ..]`.
///
/// # Safety
/// `chunks` must hold `chunk_count[0]` chunks, `pairs` `n` pairs, and `filled` `windows <= MAX_WINDOWS` counters.
#[kernel(max_threads = 1024)]
pub unsafe fn partition(
    chunks: &[I32x4],
    chunk_count: &u32,
    base: &[i32],
    pairs: *mut Pair,
    filled: *mut u32,
    windows: u32,
    n: u32,
) {
    let tile = thread::block_idx_x() as usize;
    let vectors = (*chunk_count as usize * CHUNK_VECTORS).min(chunks.len());
    if tile * TILE_CHUNKS * CHUNK_VECTORS >= vectors {
        // The whole block leaves: the grid is for the most chunks that there can be.
        return;
    }
    let thread = thread::thread_idx_x() as usize;
    let staged = dynamic_shared::<Pair>();
    // SAFETY: the launch gives PARTITION_SHARED bytes. Below, threads write places of their own, or by atomics, and a
    // barrier lies between the writes of one stage and the reads of the next. Elements are compared with `n`, so that
    // bins are below `windows`.
    unsafe {
        let starts = staged.add(TILE_ELEMENTS).cast::<u32>();
        let moves = starts.add(MAX_WINDOWS);
        for k in 0..BINS_PER_THREAD {
            starts.add(thread + k * THREADS as usize).write(0);
        }
        thread::sync_threads();

        // Count, and take a place in the bin.
        let mut elements = [[NONE; 4]; TILE_VECTORS];
        let mut places = [[0u32; 4]; TILE_VECTORS];
        let mut ranks = [0i32; TILE_VECTORS];
        for k in 0..TILE_VECTORS {
            let index = tile * TILE_CHUNKS * CHUNK_VECTORS + k * THREADS as usize + thread;
            let vector = if index < vectors {
                mem::load_nc(chunks.as_ptr().add(index))
            } else {
                I32x4 { x: NONE, y: NONE, z: NONE, w: NONE }
            };
            elements[k] = [vector.x, vector.y, vector.z, vector.w];
            let part = thread % CHUNK_VECTORS;
            let mut first = 0;
            if part == 0 {
                let sublist = vector.x as u32 as usize;
                if sublist < base.len() {
                    first = base.get_unchecked(sublist).wrapping_add(vector.y);
                }
                elements[k][0] = NONE;
                elements[k][1] = NONE;
            }
            // A chunk's vectors lie in neighbouring lanes. In the first, two words of head come before the elements.
            ranks[k] =
                warp::shuffle_idx(warp::FULL_MASK, first, warp::lane_id() & !(CHUNK_VECTORS as u32 - 1)) + 4 * part as i32 - 2;
            for i in 0..4 {
                if (elements[k][i] as u32) < n {
                    places[k][i] = atomic::block::fetch_add(starts.add((elements[k][i] as u32 >> WINDOW_BITS) as usize), 1);
                }
            }
        }
        thread::sync_threads();

        // Where each bin starts in the tile, and how far it moves from there to its window.
        let mut counts = [0u32; BINS_PER_THREAD];
        let mut own = 0;
        for k in 0..BINS_PER_THREAD {
            counts[k] = *starts.add(thread * BINS_PER_THREAD + k);
            own += counts[k];
        }
        let scan = Block::with_threads(shared_array![u32; STORAGE], THREADS).exclusive_scan(own, Sum);
        let mut at = scan.prefix;
        for k in 0..BINS_PER_THREAD {
            starts.add(thread * BINS_PER_THREAD + k).write(at);
            at += counts[k];
        }
        for k in 0..BINS_PER_THREAD {
            // Strided, so that a warp's atomics fall into one line.
            moves.add(thread * BINS_PER_THREAD + k).write(counts[k]);
        }
        thread::sync_threads();
        for k in 0..BINS_PER_THREAD {
            let bin = thread + k * THREADS as usize;
            if bin < windows as usize {
                let taken = atomic::device::fetch_add(filled.add(bin), *moves.add(bin));
                moves.add(bin).write(((bin as u32) << WINDOW_BITS).wrapping_add(taken).wrapping_sub(*starts.add(bin)));
            }
        }

        // Stage by bin, then write runs.
        for k in 0..TILE_VECTORS {
            for i in 0..4 {
                let element = elements[k][i] as u32;
                if element < n {
                    let place = *starts.add((element >> WINDOW_BITS) as usize) + places[k][i];
                    staged.add(place as usize).write(Pair { x: element, y: (ranks[k] + i as i32) as u32 });
                }
            }
        }
        thread::sync_threads();
        let mut place = thread as u32;
        while place < scan.total {
            let pair = *staged.add(place as usize);
            let target = (*moves.add((pair.x >> WINDOW_BITS) as usize)).wrapping_add(place);
            // Past the end, or in another window, only where a bad list has an element twice. Several blocks may then
            // write one place.
            if target < n {
                mem::store_relaxed(pairs.add(target as usize), pair);
            }
            place += THREADS;
        }
    }
}

/// Step 4b: puts the ranks of each window in place, if as many elements were ranked as `expected` (0: in any case). One
/// block of [`THREADS`] threads per window, with [`FINISH_SHARED`] bytes of shared memory.
///
/// # Safety
/// `ranks` must have `pairs.len()` elements, and both must be aligned to 16 bytes.
#[kernel(max_threads = 1024)]
pub unsafe fn finish(pairs: &[Pair], ranks: *mut i32, status: &Status, expected: u64) {
    if !complete(status, expected) {
        // The whole block leaves. A bad list leaves pairs that nobody has written.
        return;
    }
    let thread = thread::thread_idx_x() as usize;
    let first = thread::block_idx_x() as usize * WINDOW;
    let size = (pairs.len() - first).min(WINDOW);
    let window = dynamic_shared::<i32>();
    // Of a bad list that is trusted, two pairs may have one place.
    // SAFETY: the launch gives FINISH_SHARED bytes, and places are below WINDOW; all writes before the barrier are
    // atomic, and reads follow it; the window lies in both arrays.
    unsafe {
        let mut i = 2 * thread;
        while i + 1 < size {
            let two = mem::load_nc(pairs.as_ptr().add(first + i).cast::<U32x4>());
            atomic::block::store(window.add(two.x as usize % WINDOW), two.y as i32);
            atomic::block::store(window.add(two.z as usize % WINDOW), two.w as i32);
            i += 2 * THREADS as usize;
        }
        if i < size {
            let last = pairs.get_unchecked(first + i);
            atomic::block::store(window.add(last.x as usize % WINDOW), last.y as i32);
        }
        thread::sync_threads();
        let mut i = 4 * thread;
        while i + 3 < size {
            mem::store_streaming(ranks.add(first + i).cast::<I32x4>(), *window.add(i).cast::<I32x4>());
            i += 4 * THREADS as usize;
        }
        while i < size {
            ranks.add(first + i).write(*window.add(i));
            i += 1;
        }
    }
}
