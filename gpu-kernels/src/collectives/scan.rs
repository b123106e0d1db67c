//! The exclusive scan (sum) of an array, in a single pass: one read and one write of each item.
//!
//! Each block takes the next tile of [`TILE`] items from a ticket counter, loads it, scans it in registers, finds out
//! by [`look_back`](super::look_back) what lies before it, and stores it. Integers look back by
//! [`Decoupled`](super::look_back::Decoupled) (Merrill and Garland 2016), floats by
//! [`Hierarchical`](super::look_back::Hierarchical), so that their sums are grouped the same way, and are the same bits,
//! each time and on every device. Integers wrap.
//!
//! Work is linear in `n`. The memory beside input and output is [`state_words`](super::look_back::state_words), 0.1% of
//! an array of `u32`, and a ticket.

use super::{
    Identity, Op, Sum, Value,
    block::{Block, Storage},
    look_back::{LookBack, State, StateValue},
    tile::{self, Element, ROUNDS, ThreadItems},
    warp::{self, Lanes},
};
use cuda_std::{
    SharedArray, atomic, kernel, thread,
    warp::{WARP_SIZE, lane_id, shuffle_up, warp_id},
};

pub use super::tile::{TILE, threads, tiles};

/// State that one scan leaves for the next one.
#[derive(Debug, Clone, Copy)]
pub struct Control<T> {
    pub(super) total: *mut T,
    pub(super) ticket: *mut u32,
    pub(super) state: State,
}

/// Scans one tile, whichever the ticket counter gives, from `input` to `output`, which may be the same.
///
/// # Safety
/// Launched on [`tiles`]`(n)` blocks of [`threads`] threads, in one dimension. Input and output have `n` items, and
/// `control.total` points to one. `*control.ticket` is 0. With `READ_ONLY` nothing writes the input. `ticket` and
/// `storage` are shared memory for this call alone.
#[inline(always)]
pub(super) unsafe fn scan<T, B, const V: usize, const READ_ONLY: bool>(
    (input, output, n): (*const T, *mut T, usize),
    control: Control<T>,
    storage: Storage<T>,
    ticket: SharedArray<u32, 1>,
) where
    T: StateValue + Element<V>,
    B: LookBack<T>,
    Sum: Identity<T>,
{
    let tiles = thread::grid_dim_x();
    // SAFETY: the block is one of the grid, in one dimension, of as many threads as a tile wants; counter and shared
    // variable are for this alone.
    let (block, tile) = unsafe {
        let tile = tile::by_first_thread(ticket, || {
            let tile = atomic::device::fetch_add(control.ticket, 1);
            if tile == tiles - 1 {
                // All tickets of this scan are out: the counter is ready for the next.
                atomic::device::store(control.ticket, 0);
            }
            tile
        });
        (Block::with_threads(storage, tile::threads::<T>()), tile)
    };
    let place = ThreadItems::<V>::new(tile as usize, n);
    // SAFETY: the input has `n` items (this function's contract), and no other thread writes this thread's own; with
    // `READ_ONLY`, nothing writes any.
    let mut items = unsafe { place.load::<T, READ_ONLY>(input, Sum.identity()) };

    // Within the warp: each thread's sums before its items of each round. (Three short loops: as one it would be too
    // long for the compiler to unroll, and the arrays would be in memory.)
    let mut before = [Sum.identity(); ROUNDS];
    for (sum, items) in before.iter_mut().zip(&items) {
        for &item in items {
            *sum = Sum.apply(*sum, item);
        }
    }
    for sum in &mut before {
        *sum = warp::inclusive_scan(Lanes::FULL, *sum, Sum);
    }
    let mut of_warp = Sum.identity();
    for sum in &mut before {
        let below = shuffle_up(Lanes::FULL.mask(), *sum, 1);
        let of_round = warp::broadcast(Lanes::FULL, *sum, WARP_SIZE - 1);
        *sum = if lane_id() == 0 { of_warp } else { Sum.apply(of_warp, below) };
        of_warp = Sum.apply(of_warp, of_round);
    }

    // SAFETY: all threads come here, and the storage has not been used before; the block's prefix is broadcast by
    // another element of it.
    let (before_warp, before_tile) = unsafe {
        let (before_warp, of_tile) = block.around_warp(of_warp, Sum);
        let mut prefix = Sum.identity();
        if warp_id() == 0 {
            prefix = B::exclusive_prefix(control.state, tile as usize, tiles as usize, of_tile, Sum);
            if tile == tiles - 1 && lane_id() == 0 {
                control.total.write(Sum.apply(prefix, of_tile));
            }
        }
        (before_warp, block.broadcast(prefix, 0))
    };
    let before_warp = if warp_id() == 0 { before_tile } else { Sum.apply(before_tile, before_warp) };

    for round in 0..ROUNDS {
        let mut sum = Sum.apply(before_warp, before[round]);
        for item in &mut items[round] {
            let with_item = Sum.apply(sum, *item);
            *item = sum;
            sum = with_item;
        }
    }
    // SAFETY: the output has `n` items (this function's contract), and no other thread accesses this thread's own.
    unsafe { place.store(output, items) };
}

/// `output[i]` is the sum of `input[..i]`, and `*total` that of the whole `input`.
///
/// # Safety
/// Launched on [`tiles`]`(input.len())` blocks of [`threads`] threads, in one dimension. `output` points to as many items
/// as `input`, `total` to one. `*ticket` is 0 before and after. `state` and `epoch` are as [`State::new`] wants them.
#[kernel(
    for T in [
        u32, i32, f32,
        u64 { max_threads = 512, min_blocks = 2 },
        i64 { max_threads = 512, min_blocks = 2 },
        f64 { max_threads = 512, min_blocks = 2 },
    ],
    max_threads = 256, min_blocks = 4
)]
pub unsafe fn exclusive<T: Value>(input: &[T], output: *mut T, total: *mut T, ticket: *mut u32, state: *mut u64, epoch: u32) {
    // SAFETY: grid, arrays, ticket and state are as `scan` asks (this kernel's contract).
    unsafe { T::scan::<true>((input.as_ptr(), output, input.len()), Control { total, ticket, state: State::new(state, epoch) }) }
}

/// [`exclusive()`] of the `n` items of `data`, which it replaces.
///
/// # Safety
/// As for [`exclusive()`], on [`tiles`]`(n)` blocks.
#[kernel(
    for T in [
        u32, i32, f32,
        u64 { max_threads = 512, min_blocks = 2 },
        i64 { max_threads = 512, min_blocks = 2 },
        f64 { max_threads = 512, min_blocks = 2 },
    ],
    max_threads = 256, min_blocks = 4
)]
pub unsafe fn exclusive_in_place<T: Value>(data: *mut T, n: usize, total: *mut T, ticket: *mut u32, state: *mut u64, epoch: u32) {
    // SAFETY: grid, array, ticket and state are as `scan` asks (this kernel's contract).
    unsafe { T::scan::<false>((data.cast_const(), data, n), Control { total, ticket, state: State::new(state, epoch) }) }
}

/// [`exclusive_in_place()`] by a single thread: for CPUs, where the threads of a block take turns. For integers, whose sums
/// are the same bits however they are grouped.
///
/// # Safety
/// Launched on one thread. `data` has `n` items, and `total` points to one.
#[kernel(for T in [u32, i32, u64, i64], block = [1])]
pub unsafe fn direct<T: Value>(data: *mut T, n: usize, total: *mut T) {
    // SAFETY: there are so many items, and a place for the total (this kernel's contract).
    unsafe { T::scan_direct(data, n, total) }
}
