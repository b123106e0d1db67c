//! The sum, the least or the greatest of an array.
//!
//! A number of blocks that depends on the array's length alone each reduce every so-many-th tile
//! and write a partial result; the block that comes last, by a counter, reduces these. The order of
//! additions is therefore fixed, and sums of floats are bit-for-bit reproducible on every device.
//!
//! Work is linear in `n`; each item is read once, 16 bytes at a time.

pub use super::tile::threads;
use super::{
    Identity, Value,
    block::{Block, Storage},
    tile::{self, Element, ThreadItems},
    warp::Shuffle,
};
use cuda_std::{SharedArray, atomic, kernel, thread};

/// The most blocks of a reduction, and so the most partial results. It is a fixed number and not the device's, so that
/// results don't depend on the device.
pub const MAX_BLOCKS: usize = 1024;

/// Returns the number of blocks that reduce `n` items.
pub const fn blocks(n: usize) -> usize {
    let tiles = tile::tiles(n);
    if tiles < MAX_BLOCKS { tiles } else { MAX_BLOCKS }
}

/// Destinations of a reduction's results.
#[derive(Debug, Clone, Copy)]
pub struct Results<T> {
    partials: *mut T,
    done: *mut u32,
    result: *mut T,
}

/// Reduces an array by the whole grid.
///
/// # Safety
/// Launched on [`blocks`]`(input.len())` blocks of [`threads`] threads, in one dimension. `partials` points to one item
/// per block, `result` to one. `*done` is 0. `storage` and `flag` are shared memory for this call alone.
#[inline(always)]
pub(super) unsafe fn reduce<T, O, const V: usize>(
    input: &[T],
    results: Results<T>,
    op: O,
    storage: Storage<T>,
    flag: SharedArray<u32, 1>,
) where
    T: Shuffle + Element<V> + atomic::Value,
    O: Identity<T>,
{
    let blocks = thread::grid_dim_x();
    // A result for each place in a vector, so that the loads of a tile don't wait for each other.
    let mut of_thread = [op.identity(); V];
    let mut tile = thread::block_idx_x() as usize;
    while tile < tile::tiles(input.len()) {
        let place = ThreadItems::<V>::new(tile, input.len());
        // SAFETY: the array's length is that of the slice, and nothing writes to it.
        for round in unsafe { place.load::<T, true>(input.as_ptr(), op.identity()) } {
            for i in 0..V {
                of_thread[i] = op.apply(of_thread[i], round[i]);
            }
        }
        tile += blocks as usize;
    }

    // SAFETY: one-dimensional blocks of as many threads as a tile wants, and all threads come here;
    // the flag's barrier lies between the two uses of the storage. The partial results are written
    // and read by atomics, each written before its block counts itself as done (release), read
    // after all have (acquire, and for the other threads the barrier).
    unsafe {
        let block = Block::with_threads(storage, threads::<T>());
        let mut own = of_thread[0];
        for &item in &of_thread[1..] {
            own = op.apply(own, item);
        }
        let of_block = block.reduce(own, op);
        let is_last = tile::by_first_thread(flag, || {
            atomic::device::store(results.partials.add(thread::block_idx_x() as usize), of_block);
            (atomic::device::fetch_add_acq_rel(results.done, 1) == blocks - 1).into()
        });
        if is_last == 0 {
            return;
        }
        let mut of_thread = op.identity();
        let mut partial = thread::thread_idx_x();
        while partial < blocks {
            of_thread = op.apply(of_thread, atomic::device::load(results.partials.add(partial as usize)));
            partial += threads::<T>();
        }
        let of_all = block.reduce(of_thread, op);
        if thread::thread_idx_x() == 0 {
            results.result.write(of_all);
            // Ready for the next reduction.
            atomic::device::store(results.done, 0);
        }
    }
}

/// The sum, of integers wrapping; 0 of nothing.
pub const SUM: u32 = 0;
/// The least; of nothing the greatest value of the type, infinity for floats.
pub const MIN: u32 = 1;
/// The greatest; of nothing the least value of the type, minus infinity for floats.
pub const MAX: u32 = 2;

/// `*result` is `input` reduced by `operator`: [`SUM`], [`MIN`] or [`MAX`].
///
/// # Safety
/// Launched on [`blocks`]`(input.len())` blocks of [`threads`] threads, in one dimension. `partials` points to one item per
/// block, `result` to one. `*done` is 0 before and after.
#[kernel(
    for T in [u32, i32, f32, u64 { max_threads = 512 }, i64 { max_threads = 512 }, f64 { max_threads = 512 }],
    max_threads = 256
)]
pub unsafe fn of_array<T: Value>(input: &[T], operator: u32, partials: *mut T, done: *mut u32, result: *mut T) {
    // SAFETY: grid, arrays and counter are as `reduce` asks (this kernel's contract).
    unsafe { T::reduce(input, Results { partials, done, result }, operator) }
}
