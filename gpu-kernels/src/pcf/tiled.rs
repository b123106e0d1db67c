//! Blocks that merge from shared memory, for GPUs.
//!
//! A block of `w` warps takes a tile of 32 × `w` pairs: lane `l` of warp `i` merges the tile's function `l` of the
//! first band with function `i` of the second. Both lie in shared memory so that a warp's loads seldom meet in a bank:
//! the first band's segments interleaved by lane, the second's one after another (the lanes of a warp are at nearby
//! segments of the same function).
//!
//! Every step takes one segment of one of the two functions, so that the lanes of a warp stay in step whatever the
//! breakpoints are, and diverge only by the difference of their functions' lengths, which the order by length keeps
//! small.
//!
//! Functions longer than the *window* of segments that shared memory holds of each are taken in phases: each pair
//! merges as far as the windows let it, then the windows move on to the first segment that any pair still needs. How
//! far a pair is in a function depends on the time that it has come to alone, so the pair that is furthest behind in
//! time is at the start of both its windows: every phase makes progress.

use super::{
    Functions, LANES, Placement, Scalar,
    merge::{Merge, Source},
    op::{Inner, L1, L2, Lp, Operation, ScalarOf},
};
use cuda_std::prelude::*;

/// Dynamic shared memory that a block of `warps` warps needs, in bytes.
pub const fn shared_bytes<T: Scalar>(window: u32, warps: u32) -> usize {
    ((LANES + warps) * window) as usize * size_of::<T::Segment>()
}

/// Segments in dynamic shared memory, by offsets in bytes: 32-bit arithmetic, and one addition per step.
#[derive(Clone, Copy)]
struct Shared<const STRIDE: u32>;

impl<T: Scalar, const STRIDE: u32> Source<T> for Shared<STRIDE> {
    const NEXT: u32 = STRIDE * size_of::<T::Segment>() as u32;

    #[inline(always)]
    unsafe fn load(self, position: u32) -> T::Segment {
        // SAFETY: there is a segment at this offset (this function's contract), in the block's dynamic shared memory.
        unsafe { *dynamic_shared::<u8>().add(position as usize).cast::<T::Segment>() }
    }
}

/// Segments of one function that neighbouring lanes load together: a sector of 32 bytes in single precision.
const RUN: u32 = 4;

/// The fewest steps that lanes take together.
const ROUND: u32 = 16;

/// The integrals over pairs of functions. A grid of (positions of the first band / 32, positions of the second /
/// warps), blocks of 4, 8 or 16 warps, [`shared_bytes`] of shared memory; `window` is at least 2.
///
/// With these launch bounds no registers spill on sm_90.
///
/// # Safety
/// Both bands are as [`Functions`] says, and every result has its place in `out`.
#[kernel(for O in [
    L1<f32> { max_threads = 512, min_blocks = 3 },
    L2<f32> { max_threads = 512, min_blocks = 3 },
    Lp<f32> { max_threads = 512, min_blocks = 2 },
    Inner<f32> { max_threads = 512, min_blocks = 3 },
    L1<f64> { max_threads = 512 },
    L2<f64> { max_threads = 512 },
    Lp<f64> { max_threads = 256, min_blocks = 2 },
    Inner<f64> { max_threads = 512 },
])]
pub unsafe fn integrals<O: Operation>(
    first: Functions<'_, ScalarOf<O>>,
    second: Functions<'_, ScalarOf<O>>,
    window: u32,
    p: ScalarOf<O>,
    placement: Placement,
    out: *mut ScalarOf<O>,
) {
    let op = O::new(p);
    let lane = warp::lane_id();
    let thread = thread::thread_idx_x();
    let (warp, warps) = (thread / LANES, thread::block_dim_x() / LANES);
    let first_position = thread::block_idx_x() * LANES + lane;
    let tile_position = thread::block_idx_y() * warps;
    let second_position = tile_position + warp;
    if !placement.wants(first_position - lane, tile_position + warps - 1) {
        // The whole block leaves. Positions rise within the block, so that no other pair is wanted either.
        return;
    }
    // The first segment that the window has of each of the first band's functions.
    let starts = shared_array![u32; 32];
    let size = size_of::<<O::Scalar as Scalar>::Segment>() as u32;
    let shared = dynamic_shared::<<O::Scalar as Scalar>::Segment>();
    // SAFETY: the grid has no positions beyond the orders. Segments are read up to each function's length. Shared
    // memory has room for `window` segments of each function of the tile; what a thread reads of it, it or others have
    // written before the last barrier.
    unsafe {
        let (_, _, first_length) = first.at(first_position);
        let (_, second_segments, second_length) = second.at(second_position);
        // Where in shared memory the functions' windows are, in bytes.
        let first_base = lane * size;
        let second_base = (LANES * window + warp * window) * size;
        let wanted = first_length != 0 && second_length != 0 && placement.wants(first_position, second_position);
        let mut left = if wanted { first_length + second_length - 2 } else { 0 };
        // The functions that this thread loads for all: every 8th lane has the next segment of the same one.
        let loaded_lane = (warp * 8 + lane % 8) % LANES;
        let (_, loaded_segments, loaded_length) = first.at(first_position - lane + loaded_lane);
        let (mut first_start, mut second_start) = (0u32, 0u32);
        let mut loaded_start = 0u32;
        let mut merge: Option<Merge<O::Scalar>> = None;
        loop {
            // Load the windows. A window that nobody needs any more starts behind its function.
            let end = loaded_length.min(loaded_start.saturating_add(window));
            let mut k = loaded_start.saturating_add((warp / 4) * RUN + lane / 8);
            while k < end {
                shared.add(((k - loaded_start) * LANES + loaded_lane) as usize).write(*loaded_segments.add(k as usize));
                k += warps / 4 * RUN;
            }
            let end = second_length.min(second_start.saturating_add(window));
            let mut k = second_start.saturating_add(lane);
            while k < end {
                let at = LANES * window + warp * window + k - second_start;
                shared.add(at as usize).write(*second_segments.add(k as usize));
                k += LANES;
            }
            thread::sync_threads();

            let (f, g) = (Shared::<LANES>, Shared::<1>);
            if wanted && merge.is_none() {
                merge = Some(Merge::new(first_base, second_base, f, g));
            }
            // A round takes as many steps as no lane can leave its windows in, whichever of its functions gives the
            // breakpoints; usually they give half each, so that further rounds follow. All lanes take as many, but for
            // those with too few left.
            loop {
                let mut ahead = 0;
                if left > 0
                    && let Some(merge) = &merge
                {
                    let i = first_start + (merge.first - first_base) / (LANES * size);
                    let j = second_start + (merge.second - second_base) / size;
                    ahead = left;
                    if first_start + window < first_length {
                        ahead = ahead.min(first_start + window - 1 - i);
                    }
                    if second_start + window < second_length {
                        ahead = ahead.min(second_start + window - 1 - j);
                    }
                }
                // In whole turns of the unrolled loop.
                let common = warp::reduce_min(warp::FULL_MASK, if ahead >= ROUND { ahead / 4 * 4 } else { u32::MAX });
                let last = common == u32::MAX;
                let steps = if last {
                    ahead
                } else if ahead >= ROUND {
                    common
                } else {
                    0
                };
                if let Some(merge) = &mut merge {
                    merge.steps(steps, f, g, op);
                }
                left -= steps;
                if last {
                    break;
                }
            }
            if !thread::sync_threads_or(left > 0) {
                break;
            }

            // The windows move to the first segment of each function that is still needed.
            if warp == 0 {
                starts.write(lane as usize, u32::MAX);
            }
            thread::sync_threads();
            let (mut i, mut j) = (u32::MAX, u32::MAX);
            if left > 0
                && let Some(merge) = &merge
            {
                i = first_start + (merge.first - first_base) / (LANES * size);
                j = second_start + (merge.second - second_base) / size;
                atomic::block::fetch_min(starts.at(lane as usize), i);
            }
            second_start = warp::reduce_min(warp::FULL_MASK, j);
            thread::sync_threads();
            first_start = starts.read(lane as usize);
            loaded_start = starts.read(loaded_lane as usize);
            if left > 0
                && let Some(merge) = &mut merge
            {
                merge.first = first_base + (i - first_start) * LANES * size;
                merge.second = second_base + (j - second_start) * size;
            }
        }
        if let Some(merge) = merge {
            // Read again (volatile, or the compiler would not): no registers hold them meanwhile.
            let first_function = first.order.as_ptr().add(first_position as usize).read_volatile();
            let second_function = second.order.as_ptr().add(second_position as usize).read_volatile();
            out.add(placement.index(first_function, second_function)).write(merge.finish(op));
        }
    }
}
