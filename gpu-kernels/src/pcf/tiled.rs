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
//!
//! A merge of long functions is cut into pieces of time ([`pieces()`]), which different blocks take, so that few long
//! functions fill a GPU, and lanes don't come far apart in the functions that they share. The cuts are those of a whole
//! set. The sums over the pieces are added in their order by [`combine()`].

use super::{
    Functions, LANES, Pairs, Placement, Scalar,
    merge::{Merge, Source},
    op::{Inner, L1, L2, Lp, Operation, ScalarOf},
};
use cuda_std::prelude::*;

/// Dynamic shared memory that a block of `warps` warps needs, in bytes, with windows of so many segments of each
/// function of the first band and of the second.
pub const fn shared_bytes<T: Scalar>(windows: [u32; 2], warps: u32) -> usize {
    (LANES * windows[0] + warps * windows[1]) as usize * size_of::<T::Segment>()
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

/// A search for the number of a function's breakpoints up to a time.
#[derive(Clone, Copy)]
struct Search<T: Scalar> {
    segments: *const T::Segment,
    time: T,
    /// The number is from `low` to `high`.
    low: u32,
    high: u32,
}

impl<T: Scalar> Search<T> {
    /// In a function of so many segments, or none.
    #[inline(always)]
    fn new(segments: *const T::Segment, length: u32, time: T) -> Self {
        Search { segments, time, low: 0, high: length.saturating_sub(1) }
    }

    /// Halves what is left.
    ///
    /// # Safety
    /// The segments are there.
    #[inline(always)]
    unsafe fn step(&mut self) {
        if self.low < self.high {
            let middle = self.low.midpoint(self.high);
            // SAFETY: `middle` is below the number of the last segment.
            let (_, end) = T::parts(unsafe { self.segments.add(middle as usize).read() });
            if end <= self.time {
                self.low = middle + 1;
            } else {
                self.high = middle;
            }
        }
    }
}

/// What a merge takes of a function: its segments from `start` to before `end`.
#[derive(Clone, Copy)]
struct Span {
    start: u32,
    end: u32,
}

impl Span {
    /// Breakpoints within.
    #[inline(always)]
    fn steps(self) -> u32 {
        self.end - self.start - 1
    }
}

/// Where two functions, of which there are so many segments, are at `from`, and after their breakpoints up to `to`; and
/// the last breakpoint of either up to `from`.
///
/// # Safety
/// The segments are there.
#[inline(always)]
unsafe fn spans<T: Scalar>(first: (*const T::Segment, u32), second: (*const T::Segment, u32), from: T, to: T) -> ([Span; 2], T) {
    let mut searches = [(first, from), (first, to), (second, from), (second, to)]
        .map(|((segments, length), time)| Search::new(segments, length, time));
    // Side by side, as each step waits for memory.
    // SAFETY: the segments are there; segment 0 ends at the first breakpoint.
    unsafe {
        while searches.iter().any(|search| search.low < search.high) {
            for search in &mut searches {
                search.step();
            }
        }
        let [a, b, c, d] = searches.map(|search| search.low);
        let breakpoint = |segments: *const T::Segment, k: u32| {
            if k == 0 { T::zero() } else { T::parts(segments.add(k as usize - 1).read()).1 }
        };
        let (f, g) = (breakpoint(first.0, a), breakpoint(second.0, c));
        ([Span { start: a, end: b + 1 }, Span { start: c, end: d + 1 }], if f < g { g } else { f })
    }
}

/// Merges a tile of pairs: those of functions in the part of the first band from position 32 x on and in the second
/// from `warps` y on, for the block (x, y). Gives the merge of the thread's pair, where it is wanted, and the pair's
/// positions in the two parts.
///
/// With `PIECES` it goes from the cut z to the next one.
///
/// # Safety
/// As for [`integrals()`] and [`pieces()`].
#[inline(always)]
unsafe fn tile<O: Operation, const PIECES: bool>(
    first: Functions<'_, ScalarOf<O>>,
    second: Functions<'_, ScalarOf<O>>,
    windows: [u32; 2],
    cuts: &[ScalarOf<O>],
    pairs: Pairs,
    op: O,
    placement: Placement,
) -> (Option<Merge<O::Scalar>>, u32, u32) {
    let lane = warp::lane_id();
    let thread = thread::thread_idx_x();
    let (warp, warps) = (thread / LANES, thread::block_dim_x() / LANES);
    let first_position = thread::block_idx_x() * LANES + lane;
    let tile_position = thread::block_idx_y() * warps;
    let second_position = tile_position + warp;
    let (first_at, second_at) = (pairs.first_start + first_position, pairs.second_start + second_position);
    if !placement.wants_any(first_at - lane, LANES, second_at - warp, warps) {
        // The whole block leaves.
        return (None, first_position, second_position);
    }
    let [first_window, second_window] = windows;
    // The first segment that the window has of each of the first part's functions.
    let starts = shared_array![u32; 32];
    let size = size_of::<<O::Scalar as Scalar>::Segment>() as u32;
    let shared = dynamic_shared::<<O::Scalar as Scalar>::Segment>();
    // SAFETY: the grid has no positions beyond the orders. Segments are read up to each function's length. Shared
    // memory has room for `window` segments of each function of the tile; what a thread reads of it, it or others have
    // written before the last barrier.
    unsafe {
        let (_, first_segments, first_length) = first.at(first_position);
        let (_, second_segments, second_length) = second.at(second_position);
        let wanted = pairs.wants(first_length, second_length) && placement.wants(first_at, second_at);
        let (f, g, time) = if PIECES {
            let piece = thread::block_idx_z() as usize;
            let (from, to) = (*cuts.get_unchecked(piece), *cuts.get_unchecked(piece + 1));
            let ([f, g], time) = spans((first_segments, first_length), (second_segments, second_length), from, to);
            (f, g, time)
        } else {
            let whole = |length| Span { start: 0, end: length };
            (whole(first_length), whole(second_length), O::Scalar::zero())
        };
        // Where in shared memory the functions' windows are, in bytes.
        let first_base = lane * size;
        let second_base = (LANES * first_window + warp * second_window) * size;
        let mut left = if wanted { f.steps() + g.steps() } else { 0 };
        // The functions that this thread loads for all: every 8th lane has the next segment of the same one.
        let loaded_lane = (warp * 8 + lane % 8) % LANES;
        let (_, loaded_segments, loaded_length) = first.at(first_position - lane + loaded_lane);
        let loaded = if PIECES {
            // Every warp has all of them.
            let [start, end] = [f.start, f.end].map(|k| warp::shuffle_idx(warp::FULL_MASK, k, loaded_lane));
            Span { start, end: if loaded_length == 0 { start } else { end } }
        } else {
            Span { start: 0, end: loaded_length }
        };
        let second_end = if second_length == 0 { 0 } else { g.end };
        let (mut first_start, mut second_start) = (f.start, g.start);
        let mut loaded_start = loaded.start;
        let mut merge: Option<Merge<O::Scalar>> = None;
        loop {
            // Load the windows. A window that nobody needs any more starts behind its function.
            let end = loaded.end.min(loaded_start.saturating_add(first_window));
            let mut k = loaded_start.saturating_add((warp / 4) * RUN + lane / 8);
            while k < end {
                shared.add(((k - loaded_start) * LANES + loaded_lane) as usize).write(*loaded_segments.add(k as usize));
                k += warps / 4 * RUN;
            }
            let end = second_end.min(second_start.saturating_add(second_window));
            let mut k = second_start.saturating_add(lane);
            while k < end {
                let at = LANES * first_window + warp * second_window + k - second_start;
                shared.add(at as usize).write(*second_segments.add(k as usize));
                k += LANES;
            }
            thread::sync_threads();

            let sources = (Shared::<LANES>, Shared::<1>);
            if wanted && merge.is_none() {
                merge = Some(Merge::new(first_base, second_base, sources.0, sources.1, time));
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
                    if first_start + first_window < f.end {
                        ahead = ahead.min(first_start + first_window - 1 - i);
                    }
                    if second_start + second_window < g.end {
                        ahead = ahead.min(second_start + second_window - 1 - j);
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
                    merge.steps(steps, sources.0, sources.1, op);
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
        (merge, first_position, second_position)
    }
}

/// The integrals over pairs of functions. A grid of (positions of the first band / 32, positions of the second /
/// warps), blocks of 4, 8 or 16 warps, [`shared_bytes`] of shared memory; `window` is at least 2. Pairs with a function
/// of more than `longest` segments are left out.
///
/// With these launch bounds next to no registers spill on sm_90.
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
    longest: u32,
    p: ScalarOf<O>,
    placement: Placement,
    out: *mut ScalarOf<O>,
) {
    let (op, pairs) = (O::new(p), Pairs::of_at_most(longest));
    // SAFETY: this kernel's contract is that of `tile`; the positions are those of the orders.
    unsafe {
        let (merge, first_position, second_position) = tile::<O, false>(first, second, [window; 2], &[], pairs, op, placement);
        if let Some(merge) = merge {
            // Read again (volatile, or the compiler would not): no registers hold them meanwhile.
            let first_function = first.order.as_ptr().add(first_position as usize).read_volatile();
            let second_function = second.order.as_ptr().add(second_position as usize).read_volatile();
            out.add(placement.index(first_function, second_function)).write(merge.finish(op));
        }
    }
}

/// The sums over pieces of time of pairs of functions, of which the second are long. A grid of (positions of the first
/// part / 32, `seconds` of `pairs` / warps, pieces), blocks of 4, 8 or 16 warps, [`shared_bytes`] of shared memory for
/// the windows, which are at least 2.
///
/// # Safety
/// Both parts are as [`Functions`] says, for positions from those of `pairs` on; functions at positions of the second
/// part from `seconds` on are not long. There are as many cuts as pieces and one more, from 0 to infinity. `partials`
/// has an element for each piece and each pair of a position of the first part and one of the `seconds` of the second.
#[kernel(for O in [
    L1<f32> { max_threads = 512, min_blocks = 2 },
    L2<f32> { max_threads = 512, min_blocks = 2 },
    Lp<f32> { max_threads = 512, min_blocks = 2 },
    Inner<f32> { max_threads = 512, min_blocks = 2 },
    L1<f64> { max_threads = 512 },
    L2<f64> { max_threads = 512 },
    Lp<f64> { max_threads = 256, min_blocks = 2 },
    Inner<f64> { max_threads = 512 },
])]
#[allow(clippy::too_many_arguments)]
pub unsafe fn pieces<O: Operation>(
    first: Functions<'_, ScalarOf<O>>,
    second: Functions<'_, ScalarOf<O>>,
    first_window: u32,
    second_window: u32,
    cuts: &[ScalarOf<O>],
    pairs: Pairs,
    p: ScalarOf<O>,
    placement: Placement,
    partials: *mut ScalarOf<O>,
) {
    // SAFETY: this kernel's contract is that of `tile`; a pair and a piece have one place.
    unsafe {
        let windows = [first_window, second_window];
        let (merge, first_position, second_position) = tile::<O, true>(first, second, windows, cuts, pairs, O::new(p), placement);
        if let Some(merge) = merge {
            let piece = thread::block_idx_z() as usize;
            let at = pairs.partial(first.order.len(), piece, first_position, second_position);
            partials.add(at).write(merge.sum());
        }
    }
}

/// The integrals over pairs of functions from the sums over pieces. A thread for each position of the first part and of
/// the `seconds` of the second.
///
/// # Safety
/// As for [`pieces()`], which has computed the sums over so many pieces; and every result has its place in `out`.
#[kernel(
    for O in [L1<f32>, L2<f32>, Lp<f32>, Inner<f32>, L1<f64>, L2<f64>, Lp<f64>, Inner<f64>],
    max_threads = 256,
)]
#[allow(clippy::too_many_arguments)]
pub unsafe fn combine<O: Operation>(
    first: Functions<'_, ScalarOf<O>>,
    second: Functions<'_, ScalarOf<O>>,
    pieces: u32,
    pairs: Pairs,
    p: ScalarOf<O>,
    placement: Placement,
    partials: *const ScalarOf<O>,
    out: *mut ScalarOf<O>,
) {
    let firsts = first.order.len();
    let index = thread::index_1d() as usize;
    if index >= firsts * pairs.seconds as usize {
        return;
    }
    let (first_position, second_position) = ((index % firsts) as u32, (index / firsts) as u32);
    // SAFETY: the positions are those of the orders. What is wanted has been computed, and its functions have segments.
    unsafe {
        let (first_function, first_segments, first_length) = first.at(first_position);
        let (second_function, second_segments, second_length) = second.at(second_position);
        let wanted = placement.wants(pairs.first_start + first_position, pairs.second_start + second_position);
        if !(wanted && pairs.wants(first_length, second_length)) {
            return;
        }
        let mut sum = O::Scalar::zero();
        for piece in 0..pieces as usize {
            sum = sum + partials.add(pairs.partial(firsts, piece, first_position, second_position)).read();
        }
        let last = |segments: *const <O::Scalar as Scalar>::Segment, length: u32| {
            O::Scalar::parts(segments.add(length as usize - 1).read()).0
        };
        let (f, g) = (last(first_segments, first_length), last(second_segments, second_length));
        out.add(placement.index(first_function, second_function)).write(O::new(p).finish(sum, f, g));
    }
}
