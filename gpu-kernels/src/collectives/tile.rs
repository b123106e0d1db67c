//! Tiles: 4096 consecutive items that a block holds in registers, 64 bytes per thread.
//!
//! A block has 256 threads for items of 4 bytes and 512 for items of 8. Each of its warps takes an
//! equal number of consecutive items, in four rounds: in each round, its lanes load 16 consecutive
//! bytes each, so that a round is 512 consecutive bytes of memory, and a thread's items of one
//! round are neighbours. Lanes in order and rounds in order are therefore the order of the items,
//! and a scan needs no exchange through shared memory.

use cuda_std::{
    F32x4, F64x2, I32x4, U32x4, U64x2, mem, thread,
    warp::{WARP_SIZE, lane_id, warp_id},
};

/// Items of a tile.
pub const TILE: usize = 4096;

/// Vectors that each thread holds of a tile.
pub const ROUNDS: usize = 4;

/// Threads of a block that works on tiles of `T`: 256 for 4 bytes, 512 for 8.
pub const fn threads<T>() -> u32 {
    (TILE * size_of::<T>() / (16 * ROUNDS)) as u32
}

/// A type whose items move `V` at a time, 16 bytes together.
pub trait Element<const V: usize>: Copy {
    /// The 16 bytes.
    type Vector: mem::Word;
    /// The items of a vector.
    fn split(vector: Self::Vector) -> [Self; V];
    /// A vector of the items.
    fn join(items: [Self; V]) -> Self::Vector;
}

macro_rules! elements {
    ($($t:ty: $vector:ident($($field:ident),*) $n:literal;)*) => {$(
        impl Element<$n> for $t {
            type Vector = $vector;
            #[inline(always)]
            fn split(vector: $vector) -> [Self; $n] {
                [$(vector.$field as $t),*]
            }
            #[inline(always)]
            fn join([$($field),*]: [Self; $n]) -> $vector {
                $vector { $($field: $field as _),* }
            }
        }
    )*};
}
elements! {
    u32: U32x4(x, y, z, w) 4;
    i32: I32x4(x, y, z, w) 4;
    f32: F32x4(x, y, z, w) 4;
    u64: U64x2(x, y) 2;
    i64: U64x2(x, y) 2;
    f64: F64x2(x, y) 2;
}

/// The places of one thread's items in a tile: `V` in each of the [`ROUNDS`] rounds.
#[derive(Debug, Clone, Copy)]
pub struct ThreadItems<const V: usize> {
    first: usize,
    /// Number of the array's items from the tile's start on, at most `TILE`.
    valid: u32,
    /// The thread's first item in the tile.
    own: u32,
}

impl<const V: usize> ThreadItems<V> {
    /// Items of a warp in a round.
    const ROUND: u32 = WARP_SIZE * V as u32;

    /// The calling thread's items in tile `tile` of an array of `n`. The block is one-dimensional, of [`threads`]
    /// threads.
    #[inline(always)]
    pub fn new(tile: usize, n: usize) -> Self {
        let first = tile * TILE;
        ThreadItems {
            first,
            valid: n.saturating_sub(first).min(TILE) as u32,
            own: warp_id() * Self::ROUND * ROUNDS as u32 + lane_id() * V as u32,
        }
    }

    /// Returns true if all the tile's items exist.
    #[inline(always)]
    const fn is_full(self) -> bool {
        self.valid == TILE as u32
    }

    /// Loads the thread's items, `missing` in place of those beyond the array's end. Items at 16-byte boundaries, in a
    /// full tile, come by vector loads.
    ///
    /// With `READ_ONLY` the loads go past the L1 cache through the read-only path.
    ///
    /// # Safety
    /// `array` points to the `n` items given to [`new`](Self::new), in global memory, and no other thread writes to the
    /// thread's items meanwhile; with `READ_ONLY`, nothing writes to any while the kernel runs.
    #[inline(always)]
    pub unsafe fn load<T: Element<V>, const READ_ONLY: bool>(self, array: *const T, missing: T) -> [[T; V]; ROUNDS] {
        const { assert!(size_of::<T::Vector>() == size_of::<T>() * V && size_of::<T::Vector>() == 16) };
        let mut items = [[missing; V]; ROUNDS];
        // SAFETY: of an item that exists, or one of the end.
        let first = unsafe { array.add(self.first) };
        if self.is_full() && is_aligned(array) {
            for (round, items) in items.iter_mut().enumerate() {
                // SAFETY: the tile is full; items of a thread's round begin at a multiple of `V` in the array, so of 16
                // bytes.
                unsafe {
                    let vector = first.add((self.own + round as u32 * Self::ROUND) as usize).cast::<T::Vector>();
                    *items = T::split(if READ_ONLY { mem::load_nc_no_allocate(vector) } else { mem::load_cg(vector) });
                }
            }
        } else {
            for (round, items) in items.iter_mut().enumerate() {
                for (i, item) in items.iter_mut().enumerate() {
                    let index = self.own + round as u32 * Self::ROUND + i as u32;
                    if index < self.valid {
                        // SAFETY: the item exists.
                        *item = unsafe { first.add(index as usize).read() };
                    }
                }
            }
        }
        items
    }

    /// Stores the thread's items, except for those beyond the array's end.
    ///
    /// # Safety
    /// `array` points to the `n` items given to [`new`](Self::new), in global memory, and no other thread accesses the
    /// thread's items meanwhile.
    #[inline(always)]
    pub unsafe fn store<T: Element<V>>(self, array: *mut T, items: [[T; V]; ROUNDS]) {
        // SAFETY: of an item that exists, or one of the end.
        let first = unsafe { array.add(self.first) };
        if self.is_full() && is_aligned(array) {
            for (round, items) in items.iter().enumerate() {
                // SAFETY: the tile is full; items of a thread's round begin at a multiple of `V` in the array, so of 16
                // bytes. No other thread accesses them (this function's contract).
                unsafe {
                    let vector = first.add((self.own + round as u32 * Self::ROUND) as usize).cast::<T::Vector>();
                    mem::store_cg(vector, T::join(*items));
                }
            }
        } else {
            for (round, items) in items.iter().enumerate() {
                for (i, &item) in items.iter().enumerate() {
                    let index = self.own + round as u32 * Self::ROUND + i as u32;
                    if index < self.valid {
                        // SAFETY: the item exists.
                        unsafe { first.add(index as usize).write(item) };
                    }
                }
            }
        }
    }
}

/// Returns true if `array` is aligned for vectors of 16 bytes.
#[inline(always)]
fn is_aligned<T>(array: *const T) -> bool {
    array.addr().is_multiple_of(16)
}

/// The number of tiles of an array, at least one.
pub const fn tiles(n: usize) -> usize {
    let tiles = n.div_ceil(TILE);
    if tiles == 0 { 1 } else { tiles }
}

/// Sets a variable of the whole block by its first thread, with a barrier after it.
///
/// # Safety
/// All threads of the block call it with the same shared array, which nothing else uses; no thread has read it since
/// the last barrier.
#[inline(always)]
#[cfg_attr(not(cuda_device), track_caller)]
pub(super) unsafe fn by_first_thread(shared: cuda_std::SharedArray<u32, 1>, value: impl FnOnce() -> u32) -> u32 {
    // SAFETY: one thread writes, and reads follow the barrier.
    unsafe {
        if thread::thread_idx_x() == 0 {
            shared.write(0, value());
        }
        thread::sync_threads();
        shared.read(0)
    }
}
