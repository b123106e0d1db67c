//! The order of an array by keys: a stable radix sort, by digits of up to 8 bits from the lowest up.
//!
//! A pass has three steps: [`count()`] counts the keys of each tile of [`TILE`] by digit, the scan of these counts,
//! digit by digit, says where each tile's keys of each digit go, and [`scatter()`] brings them there with the items'
//! indices. Within a tile, warps take consecutive items and rank them by digit, 32 at a time (`match.any`); then the
//! tile is put in order in shared memory, so that keys of one digit leave it as one run. Keys of equal digits keep
//! their order, whatever the schedule, and the result depends on the input alone.
//!
//! Sources: N. Satish, M. Harris and M. Garland, *Designing efficient sorting algorithms for manycore GPUs*, IPDPS
//! 2009; A. Adinets and D. Merrill, *Onesweep*, 2022, for ranking by `match.any`.

use super::{
    Sum,
    block::{Block, STORAGE},
    histogram::Histogram,
};
use cuda_std::{
    KernelParam, kernel, shared_array, thread,
    warp::{FULL_MASK, WARP_SIZE, lane_id, lane_mask_lt, match_any, shuffle_idx, sync_warp, warp_id},
};

/// Threads of a block.
pub const THREADS: u32 = 256;
/// Items of a thread.
const ITEMS: usize = 16;
/// Items of a tile.
pub const TILE: usize = THREADS as usize * ITEMS;
/// The most bits of a digit.
pub const MAX_BITS: u32 = THREADS.ilog2();

/// The block of code for each item `i` of a thread's, written out: what is in registers must not be indexed at run
/// time.
macro_rules! of_items {
    ($i:ident => $body:block) => { of_items!(@ $i => $body: 0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15) };
    (@ $i:ident => $body:block: $($item:literal)*) => {
        const { assert!(ITEMS == 16) };
        $({
            let $i: usize = $item;
            $body
        })*
    };
}

const WARPS: usize = (THREADS / WARP_SIZE) as usize;
/// The most digits: a thread has one each.
const DIGITS: usize = THREADS as usize;
/// In place of the digit of an item that isn't there.
const NO_DIGIT: u32 = u32::MAX;

/// The bits of the keys that a pass sorts by.
#[derive(Clone, Copy, Debug, PartialEq, Eq, KernelParam)]
pub struct Digit {
    /// The lowest of them.
    pub shift: u32,
    /// Their number, at most [`MAX_BITS`].
    pub bits: u32,
}

impl Digit {
    /// Returns the number of values of the digit.
    #[inline(always)]
    pub const fn values(self) -> u32 {
        1 << self.bits
    }

    #[inline(always)]
    const fn of(self, key: u32) -> u32 {
        key >> self.shift & (self.values() - 1)
    }
}

/// Returns the number of tiles of `n` items.
pub const fn tiles(n: usize) -> usize {
    n.div_ceil(TILE)
}

/// `counts[d * tiles + t]` is how many keys of tile t have the digit d.
///
/// # Safety
/// Launched on [`tiles`]`(keys.len())` blocks of [`THREADS`] threads, in one dimension. `counts` points to as many
/// elements as there are tiles times digits.
#[kernel(block = [256])]
pub unsafe fn count(keys: &[u32], counts: *mut u32, digit: Digit) {
    let (thread, tile, tiles) = (thread::thread_idx_x(), thread::block_idx_x(), thread::grid_dim_x());
    // SAFETY: the shared memory is this kernel's own, with an element for each of up to 256 digits, and barriers lie
    // between clearing, adding and reading. A thread is below the number of digits where it writes its count.
    unsafe {
        let histogram = Histogram::new(shared_array![u32; DIGITS].as_mut_ptr(), digit.values());
        histogram.clear(THREADS);
        thread::sync_threads();
        for i in 0..ITEMS {
            let index = tile as usize * TILE + i * THREADS as usize + thread as usize;
            if index < keys.len() {
                histogram.add(digit.of(*keys.get_unchecked(index)));
            }
        }
        thread::sync_threads();
        if thread < digit.values() {
            counts.add(thread as usize * tiles as usize + tile as usize).write(histogram.count(thread));
        }
    }
}

/// Brings the keys of each tile to their places by digit, and with them `values`; where these are empty, the items'
/// indices. `starts` is the exclusive scan of [`count()`]'s counts.
///
/// # Safety
/// Launched on [`tiles`]`(keys.len())` blocks of [`THREADS`] threads, in one dimension. `values` is empty or as long as
/// `keys`; `starts` are those of these keys and this digit; the results point to as many elements as there are keys,
/// and overlap nothing else.
#[kernel(block = [256], min_blocks = 4)]
pub unsafe fn scatter(
    keys: &[u32],
    values: &[u32],
    starts: &[u32],
    sorted_keys: *mut u32,
    sorted_values: *mut u32,
    digit: Digit,
) {
    let (thread, tile, tiles) = (thread::thread_idx_x() as usize, thread::block_idx_x() as usize, thread::grid_dim_x() as usize);
    let (warp, lane) = (warp_id() as usize, lane_id() as usize);
    let first = tile * TILE;
    let valid = (keys.len() - first).min(TILE);
    // The thread's item in round i.
    let own = |i: usize| warp * (WARP_SIZE as usize * ITEMS) + i * WARP_SIZE as usize + lane;
    let counts = shared_array![u32; WARPS * DIGITS];
    let moves = shared_array![u32; DIGITS];
    let staged_keys = shared_array![u32; TILE];
    let staged_values = shared_array![u32; TILE];
    // SAFETY: indices into the arrays are compared with `valid`, digits are below their number, and positions in the
    // tile below `valid`, since they number the items that exist. Each warp counts in elements of its own, with
    // `sync_warp` between the lanes' accesses, and block-wide barriers lie between the stages. By the scan, targets are
    // a permutation of the results' indices.
    unsafe {
        let mut digit_of_warp = lane;
        while digit_of_warp < DIGITS {
            counts.write(warp * DIGITS + digit_of_warp, 0);
            digit_of_warp += WARP_SIZE as usize;
        }
        let mut own_keys = [0; ITEMS];
        of_items!(i => {
            if own(i) < valid {
                own_keys[i] = *keys.get_unchecked(first + own(i));
            }
        });
        sync_warp(FULL_MASK);

        // Each item's rank among those of its digit in the warp.
        let mut ranks = [0; ITEMS];
        of_items!(i => {
            let value = if own(i) < valid { digit.of(own_keys[i]) } else { NO_DIGIT };
            let equal = match_any(FULL_MASK, value);
            let below = (equal & lane_mask_lt()).count_ones();
            let mut before = 0;
            if below == 0 && value != NO_DIGIT {
                let place = warp * DIGITS + value as usize;
                before = counts.read(place);
                counts.write(place, before + equal.count_ones());
            }
            ranks[i] = shuffle_idx(FULL_MASK, before, equal.trailing_zeros()) + below;
            sync_warp(FULL_MASK);
        });
        thread::sync_threads();

        // A thread for each digit: where it starts in the tile, for each warp, and how far it moves from there.
        let mut of_tile = 0;
        for warp in 0..WARPS {
            let count = counts.read(warp * DIGITS + thread);
            counts.write(warp * DIGITS + thread, of_tile);
            of_tile += count;
        }
        let start = Block::with_threads(shared_array![u32; STORAGE], THREADS).exclusive_scan(of_tile, Sum).prefix;
        for warp in 0..WARPS {
            let place = warp * DIGITS + thread;
            counts.write(place, counts.read(place) + start);
        }
        if thread < digit.values() as usize {
            moves.write(thread, starts.get_unchecked(thread * tiles + tile).wrapping_sub(start));
        }
        thread::sync_threads();

        of_items!(i => {
            if own(i) < valid {
                let place = (counts.read(warp * DIGITS + digit.of(own_keys[i]) as usize) + ranks[i]) as usize;
                let index = first + own(i);
                staged_keys.write(place, own_keys[i]);
                staged_values.write(place, if values.is_empty() { index as u32 } else { *values.get_unchecked(index) });
            }
        });
        thread::sync_threads();

        for i in 0..ITEMS {
            let place = i * THREADS as usize + thread;
            if place < valid {
                let key = staged_keys.read(place);
                let target = moves.read(digit.of(key) as usize).wrapping_add(place as u32) as usize;
                sorted_keys.add(target).write(key);
                sorted_values.add(target).write(staged_values.read(place));
            }
        }
    }
}

/// [`count()`] by a thread for each tile: for CPUs, which have few.
///
/// # Safety
/// As for [`count()`], with one thread per block.
#[kernel(block = [1])]
pub unsafe fn count_direct(keys: &[u32], counts: *mut u32, digit: Digit) {
    let (tile, tiles) = (thread::block_idx_x() as usize, thread::grid_dim_x() as usize);
    let first = tile * TILE;
    // SAFETY: the tile's counts of all digits are this thread's own.
    unsafe {
        for value in 0..digit.values() as usize {
            counts.add(value * tiles + tile).write(0);
        }
        for &key in &keys[first..(first + TILE).min(keys.len())] {
            *counts.add(digit.of(key) as usize * tiles + tile) += 1;
        }
    }
}

/// [`scatter()`] by a thread for each tile. Leaves nothing of use in `starts`.
///
/// # Safety
/// As for [`scatter()`], with one thread per block; `starts` are used by nothing else.
#[kernel(block = [1])]
pub unsafe fn scatter_direct(
    keys: &[u32],
    values: &[u32],
    starts: *mut u32,
    sorted_keys: *mut u32,
    sorted_values: *mut u32,
    digit: Digit,
) {
    let (tile, tiles) = (thread::block_idx_x() as usize, thread::grid_dim_x() as usize);
    let first = tile * TILE;
    for (i, &key) in (first..).zip(&keys[first..(first + TILE).min(keys.len())]) {
        // SAFETY: the tile's starts are this thread's own, and by the scan, targets are a permutation of the results'
        // indices.
        unsafe {
            let start = starts.add(digit.of(key) as usize * tiles + tile);
            let target = *start as usize;
            *start += 1;
            sorted_keys.add(target).write(key);
            sorted_values.add(target).write(values.get(i).copied().unwrap_or(i as u32));
        }
    }
}
