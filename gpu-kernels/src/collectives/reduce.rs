//! The sum, the least or the greatest of an array, by one kernel.
//!
//! A number of blocks that depends on the array's length alone each reduce every so-many-th tile
//! and write a partial result; the block that comes last, by a counter, reduces these. The order of
//! additions is therefore fixed, and sums of floats are bit-for-bit reproducible on every device.
//!
//! Work is linear in `n`; each item is read once, 16 bytes at a time.

pub use super::tile::threads;
use super::{
    Identity, Max, Min, Sum,
    block::{Block, STORAGE, Storage},
    tile::{self, Element, ThreadItems},
    warp::Shuffle,
};
use cuda_std::{SharedArray, atomic, kernel, shared_array, thread};

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
struct Results<T> {
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
unsafe fn reduce<T, O, const V: usize>(input: &[T], results: Results<T>, op: O, storage: Storage<T>, flag: SharedArray<u32, 1>)
where
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
        let of_block = block.reduce_items(of_thread, op);
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

macro_rules! reductions {
    ($($t:ty, $v:literal x $threads:literal: $sum:ident $min:ident $max:ident;)*) => {$(
        reductions!(@one "sum (0 of nothing; integers wrap)" $sum $t, Sum, $v, $threads);
        reductions!(@one "least (the greatest value of the type, infinity for floats, of nothing)" $min $t, Min, $v, $threads);
        reductions!(@one "greatest (the least value of the type, minus infinity for floats, of nothing)" $max $t, Max, $v, $threads);
    )*};
    (@one $what:literal $name:ident $t:ty, $op:ident, $v:literal, $threads:literal) => {
        #[doc = concat!("`*result` is the ", $what, " of `input`.")]
        ///
        /// # Safety
        /// Launched on [`blocks`]`(input.len())` blocks of [`threads`] threads, in one dimension. `partials` points to
        /// one item per block, `result` to one. `*done` is 0 before and after.
        #[kernel(max_threads = $threads)]
        pub unsafe fn $name(input: &[$t], partials: *mut $t, done: *mut u32, result: *mut $t) {
            // SAFETY: grid, arrays and counter are as `reduce` asks (this kernel's contract), and the shared memory is
            // new.
            unsafe {
                reduce::<$t, $op, $v>(
                    input,
                    Results { partials, done, result },
                    $op,
                    shared_array![$t; STORAGE],
                    shared_array![u32; 1],
                );
            }
        }
    };
}
reductions! {
    u32, 4 x 256: sum_u32 min_u32 max_u32;
    i32, 4 x 256: sum_i32 min_i32 max_i32;
    u64, 2 x 512: sum_u64 min_u64 max_u64;
    i64, 2 x 512: sum_i64 min_i64 max_i64;
    f32, 4 x 256: sum_f32 min_f32 max_f32;
    f64, 2 x 512: sum_f64 min_f64 max_f64;
}
