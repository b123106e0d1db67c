//! One warp per tile of poses, for GPUs.
//!
//! The work is a funnel: few candidates are near, few pairs of their pieces have bounds that meet,
//! and only these are intersected. So lanes don't follow their own finds to the end. They write
//! them to a queue in shared memory, and the next step starts once the queue has work for all 32
//! lanes:
//!
//! 1. *candidates*: each lane looks at one pose in the cells around a row's, or in a leaf that meets it, and queues
//!    it if the circles meet;
//! 2. *pieces*: each lane takes a piece of a row and up to four of a queued candidate, and queues those whose bounds
//!    meet;
//! 3. *clips*: each lane intersects a queued pair of pieces, and queues it again, nudged, for its derivatives where
//!    edges are near.
//!
//! The queues are emptied from behind, the last step first, so that none holds more than it has to.
//! What a warp does depends on its tile alone, so sums that belong to rows only are bit-for-bit
//! reproducible. Lanes' results are first added up along the runs of the same row, then to the
//! row's sum in shared memory, one run after another.
//!
//! With a tree, a warp that finds many more near pairs than others leaves its remaining work to a
//! second launch, with one warp per row. Otherwise, all would wait for the few warps of a heap.

mod steps;
mod way;

use super::{
    Scalar,
    layout::{Cells, List, Mode, ROWS, Rest, Sums, Tile, Way},
};
use crate::collectives::warp::{Lanes, reduce};
use core::ptr;
use cuda_std::prelude::*;
use steps::{CLIPS, Candidates, Clip, Clips, LANES, NearPair, PAIRS, Pieces, Queue, SUMS, Task};
pub use steps::{MOST_PAIRS, MOST_PIECES};
use warp::FULL_MASK;

/// Number of independent warps per block.
pub const WARPS: u32 = 4;

/// A warp's part of shared memory: near pairs, pairs of pieces, and the sums of each row.
#[inline(always)]
fn memory_of_warp<T: Scalar>() -> (Queue<NearPair>, Queue<Clip>, *mut T) {
    let warp = warp::warp_id() as usize;
    let pairs = shared_array![NearPair; WARPS as usize * PAIRS];
    let clips = shared_array![Clip; WARPS as usize * CLIPS];
    let sums = shared_array![T; WARPS as usize * ROWS as usize * SUMS];
    // SAFETY: a block has that many warps.
    unsafe { (Queue::new(pairs.at(warp * PAIRS)), Queue::new(clips.at(warp * CLIPS)), sums.at(warp * ROWS as usize * SUMS)) }
}

/// The work of a warp: a tile, and the start of its way.
#[derive(Clone, Copy)]
struct Share {
    tile: Tile,
    /// Start of the way through the tree, if there is one.
    way: Way,
}

/// The number of the running warp.
#[inline(always)]
fn number_of_warp() -> u32 {
    thread::block_idx_x() * WARPS + warp::warp_id()
}

/// Processes one tile per warp, for the kernels without a tree.
///
/// # Safety
/// As for [`area()`] and [`gradient()`].
#[inline(always)]
unsafe fn run<T: Scalar, const GRADIENT: bool>(
    tiles: &[Tile],
    rows: List<T>,
    candidates: List<T>,
    cells: Cells<'_, T>,
    mode: Mode,
    out: Sums<T>,
) {
    let Some(&tile) = tiles.get(number_of_warp() as usize) else { return };
    let rest = Rest { count: ptr::null_mut(), tiles: ptr::null_mut(), partial: ptr::null_mut(), taken: 0 };
    // SAFETY: the tile is one of the rows', and without a tree there is no rest (this function's contract).
    unsafe { take::<T, GRADIENT, false>(Share { tile, way: Way::new(0) }, rows, candidates, cells, mode, out, rest) }
}

/// Processes one tile per warp, or the rows of tiles with remaining work by any number of warps,
/// for the kernels with a tree.
///
/// # Safety
/// As for [`tree_area()`] and [`tree_gradient()`].
#[inline(always)]
unsafe fn run_tree<T: Scalar, const GRADIENT: bool>(
    tiles: &[Tile],
    rows: List<T>,
    candidates: List<T>,
    cells: Cells<'_, T>,
    mode: Mode,
    out: Sums<T>,
    rest: Rest<T>,
) {
    // SAFETY: remaining work belongs to tiles that exist, with rows of the lists and cells (this
    // function's contract). A warp has a round of its own, which lane 0 writes between two
    // `sync_warp`.
    unsafe {
        // In shared memory, as registers are few.
        let round = shared_array![u32; WARPS as usize].at(warp::warp_id() as usize);
        if warp::lane_id() == 0 {
            *round = 0;
        }
        warp::sync_warp(FULL_MASK);
        loop {
            let number = u64::from(number_of_warp()) + u64::from(*round) * u64::from(thread::grid_dim_x() * WARPS);
            let share = if rest.taken == 0 {
                let Some(&tile) = tiles.get(number as usize) else { return };
                Share { tile, way: Way::new(cells.tree().depth) }
            } else {
                if number >= u64::from(*rest.count) * u64::from(ROWS) {
                    return;
                }
                let left = *rest.tiles.add((number / u64::from(ROWS)) as usize);
                let all = *tiles.get_unchecked(left.tile as usize);
                let slot = number as u32 % ROWS;
                let tile = Tile { first: all.first + slot * all.step, count: u32::from(slot < all.count), ..all };
                Share { tile, way: left.way }
            };
            if share.tile.count > 0 {
                take::<T, GRADIENT, true>(share, rows, candidates, cells, mode, out, rest);
            }
            // The next share has the same memory.
            warp::sync_warp(FULL_MASK);
            if rest.taken == 0 {
                return;
            }
            if warp::lane_id() == 0 {
                *round += 1;
            }
            warp::sync_warp(FULL_MASK);
        }
    }
}

/// Processes a share. Without a tree, `rest` isn't used.
///
/// # Safety
/// All lanes of a warp come here, with the same share, whose rows, and the way on which they are, exist. Otherwise as for
/// the kernels.
#[inline(always)]
unsafe fn take<T: Scalar, const GRADIENT: bool, const TREE: bool>(
    share: Share,
    rows: List<T>,
    candidates: List<T>,
    cells: Cells<'_, T>,
    mode: Mode,
    out: Sums<T>,
    rest: Rest<T>,
) {
    let Cells { frames, starts, parallels, .. } = cells;
    let ((mut near, mut meeting, sums), out) = (memory_of_warp::<T>(), out.of(mode));
    let tile = share.tile;
    // SAFETY: tiles are of rows and packings that exist, and these have what frames and starts say.
    // `rest` has room for every tile, and each leaves something once at most. Queues don't
    // overflow: a step that adds to one is taken only while it has less than a warp's worth.
    unsafe {
        let frame = frames.get_unchecked(tile.packing as usize);
        let (periodic, tree) = (frame.periodic != 0, cells.tree());
        let task = Task { tile, rows, candidates, frame, periodic, starts, parallels, tree, mode };
        let mut clips = Clips::new::<GRADIENT>(mode, sums);
        let mut found = Candidates::new::<TREE>(&task, share.way);
        let mut pieces = Pieces::new();
        loop {
            let exhausted = found.is_exhausted::<TREE>();
            if meeting.count >= LANES || (exhausted && pieces.is_empty() && near.count == 0) {
                if meeting.count == 0 {
                    break;
                }
                clips.intersect::<GRADIENT>(&task, &mut meeting, &out);
            } else if !pieces.is_empty() {
                pieces.look(&task, &mut meeting);
            } else if near.count >= LANES || (exhausted && near.count > 0) {
                pieces.take::<T, GRADIENT>(&task, &mut near);
            } else if !found.is_empty() {
                found.look::<TREE>(&task, &mut near);
            } else if TREE {
                found.next_leaf(&task, &rest);
            } else {
                found.next_runs(&task);
            }
        }
        let total = reduce(Lanes::FULL, clips.twice_area, T::add);
        let by_others = TREE && rest.taken != 0;
        if warp::lane_id() == 0 {
            let to = if by_others { rest.partial.add(tile.first as usize) } else { out.partial.add(number_of_warp() as usize) };
            *to = total;
        }
        clips.write::<GRADIENT>(&task, by_others, &out);
    }
}

/// Kernels that run one of the functions above.
macro_rules! kernels {
    ($($(#[$doc:meta])* $name:ident: $run:ident<$gradient:literal>$(, $rest:ident)?;)*) => {$(
        $(#[$doc])*
        #[kernel(for T in [f32 { min_blocks = 5 }, f64 { min_blocks = 4 }], max_threads = 128)]
        pub unsafe fn $name<T: Scalar>(
            tiles: &[Tile],
            rows: List<T>,
            candidates: List<T>,
            cells: Cells<'_, T>,
            mode: Mode,
            out: Sums<T>,
            $($rest: Rest<T>,)?
        ) {
            // SAFETY: tiles, lists, cells and sums fit each other, and with `rest` there is a tree (this kernel's contract).
            unsafe { $run::<T, $gradient>(tiles, rows, candidates, cells, mode, out $(, $rest)?) }
        }
    )*};
}
kernels! {
    /// Computes areas.
    ///
    /// Blocks have [`WARPS`] warps, one per tile. `partial` gets twice each tile's area. Areas and
    /// gradients by pose are set for rows, except in [`Mode::HALF`], in which they are added; those of
    /// candidates are added if `mode` asks for it.
    ///
    /// # Safety
    /// Tiles are of rows and packings that both lists and the cells have, and what `mode` asks for has room: for
    /// candidates only in [`Mode::BETWEEN`], since else they are the rows.
    area: run<false>;

    /// Computes areas and gradients like [`area()`].
    ///
    /// # Safety
    /// As for [`area()`].
    gradient: run<true>;

    /// Computes areas like [`area()`], with a tree. Tiles with more than [`MOST_PAIRS`] near pairs
    /// leave their remaining work in `rest`. In a launch in which that is taken, any number of blocks
    /// adds it, and nothing is written to `partial`.
    ///
    /// # Safety
    /// As for [`area()`]; there is a tree. `rest` has room for all tiles, and for a sum of each row; nothing is in it
    /// unless it is taken, after a launch of the same arguments but that.
    tree_area: run_tree<false>, rest;

    /// Computes areas and gradients like [`gradient()`], with a tree like [`tree_area()`].
    ///
    /// # Safety
    /// As for [`gradient()`] and [`tree_area()`].
    tree_gradient: run_tree<true>, rest;
}

/// Adds the sums of remaining rows to their tiles' sums. One block.
///
/// # Safety
/// `partial` has the tiles' sums, and the remaining work in `rest` was taken.
#[kernel(for T in [f32, f64], max_threads = 1024)]
pub unsafe fn add_rest<T: Scalar>(tiles: &[Tile], rest: Rest<T>, partial: *mut T) {
    let (thread, threads) = (thread::thread_idx_x(), thread::block_dim_x());
    // SAFETY: `rest` has each tile at most once; the tile and its rows have sums (this kernel's
    // contract).
    unsafe {
        let count = *rest.count;
        let mut place = thread;
        while place < count {
            let number = (*rest.tiles.add(place as usize)).tile as usize;
            let tile = *tiles.get_unchecked(number);
            let mut sum = *partial.add(number);
            for slot in 0..tile.count {
                sum = sum + *rest.partial.add((tile.first + slot * tile.step) as usize);
            }
            *partial.add(number) = sum;
            place += threads;
        }
    }
}
