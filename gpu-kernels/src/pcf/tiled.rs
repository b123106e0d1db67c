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
//! Functions longer than the *window* of segments that shared memory holds of each are taken in
//! phases: each pair merges as far as the windows let it, then the windows move on to the first
//! segment that any pair still needs. A pair's position in a function depends only on the time that
//! it has reached. The pair that is furthest behind in time is thus at the start of both its
//! windows: every phase makes progress.
//!
//! A merge of long functions is cut into pieces of time ([`pieces()`]), which different blocks take, so that few long
//! functions fill a GPU, and lanes don't come far apart in the functions that they share. The cuts are those of a whole
//! set. The sums over the pieces are added in their order by [`combine()`].

use super::{
    Functions, LANES, Pairs, Placement, Scalar,
    merge::{Merge, Source, Steps},
    op::{Exponent, Inner, L1, L2, Lp, Operation, Products, ScalarOf, Supremum},
};
use crate::number::Number as _;
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

/// Least number of steps that lanes take together.
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

/// The part of a function that a merge takes: its segments from `start` to before `end`.
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

/// The spans of two functions, given by their segments and numbers of segments, from time `from` to `to`; and the last
/// breakpoint of either up to `from`.
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
            if k == 0 { T::ZERO } else { T::parts(segments.add(k as usize - 1).read()).1 }
        };
        let (f, g) = (breakpoint(first.0, a), breakpoint(second.0, c));
        ([Span { start: a, end: b + 1 }, Span { start: c, end: d + 1 }], if f < g { g } else { f })
    }
}

/// A thread's view of the windows in shared memory.
struct Windows<T: Scalar> {
    lane: u32,
    warp: u32,
    warps: u32,
    /// Offsets in bytes of the windows of the thread's function of the first band, and of the second.
    first_base: u32,
    second_base: u32,
    /// Segments that shared memory holds of each function of the first band, and of the second.
    sizes: [u32; 2],
    /// First segment in the window of the thread's function of the first band, and of the second.
    first_start: u32,
    second_start: u32,
    /// The function that this thread loads for all, and the lane whose function of the first band it is: every 8th lane
    /// has the next segment of the same one.
    loaded: *const T::Segment,
    loaded_lane: u32,
    /// First segment in the loaded function's window, and the end of the part to load.
    loaded_start: u32,
    loaded_end: u32,
    /// The thread's function of the second band, which its warp loads, and the end of the part to
    /// load.
    second: *const T::Segment,
    second_end: u32,
    /// Shared memory in which threads agree on the next `first_start` of each lane.
    starts: SharedArray<u32, 32>,
}

impl<T: Scalar> Windows<T> {
    const SIZE: u32 = size_of::<T::Segment>() as u32;
    /// From a segment to the next one of the same function of the first band, in bytes.
    const FIRST_STRIDE: u32 = LANES * Self::SIZE;

    /// Loads the windows, together with the block's other threads. A window that nobody needs any more starts behind its
    /// function.
    ///
    /// # Safety
    /// The functions' segments are there up to the ends, and shared memory has room for the windows.
    #[inline(always)]
    unsafe fn load(&self) {
        let shared = dynamic_shared::<T::Segment>();
        let [first_window, second_window] = self.sizes;
        // SAFETY: this function's contract.
        unsafe {
            let end = self.loaded_end.min(self.loaded_start.saturating_add(first_window));
            let mut k = self.loaded_start.saturating_add((self.warp / 4) * RUN + self.lane / 8);
            while k < end {
                let at = (k - self.loaded_start) * LANES + self.loaded_lane;
                shared.add(at as usize).write(*self.loaded.add(k as usize));
                k += self.warps / 4 * RUN;
            }
            let end = self.second_end.min(self.second_start.saturating_add(second_window));
            let mut k = self.second_start.saturating_add(self.lane);
            while k < end {
                let at = LANES * first_window + self.warp * second_window + k - self.second_start;
                shared.add(at as usize).write(*self.second.add(k as usize));
                k += LANES;
            }
        }
    }

    /// The segments that a merge has come to, of the first band's function and of the second's.
    #[inline(always)]
    fn segments(&self, merge: &Merge<T>) -> (u32, u32) {
        let i = self.first_start + (merge.first - self.first_base) / Self::FIRST_STRIDE;
        let j = self.second_start + (merge.second - self.second_base) / Self::SIZE;
        (i, j)
    }

    /// Number of steps that a merge of these spans, which has `left` to go, certainly takes within the windows, whichever
    /// function gives the breakpoints.
    #[inline(always)]
    fn ahead(&self, merge: &Merge<T>, left: u32, f: Span, g: Span) -> u32 {
        let (i, j) = self.segments(merge);
        let [first_window, second_window] = self.sizes;
        let mut ahead = left;
        if self.first_start + first_window < f.end {
            ahead = ahead.min(self.first_start + first_window - 1 - i);
        }
        if self.second_start + second_window < g.end {
            ahead = ahead.min(self.second_start + second_window - 1 - j);
        }
        ahead
    }

    /// Moves the windows, together with the block's other threads, to the first segment of each function that is still
    /// needed: by this thread's merge if it has steps to go.
    ///
    /// # Safety
    /// All threads of the block call it, and none reads the windows meanwhile.
    #[inline(always)]
    unsafe fn advance(&mut self, merge: &mut Option<Merge<T>>, left: u32) {
        // SAFETY: one warp writes the starts before a barrier, and all read them after the next.
        unsafe {
            if self.warp == 0 {
                self.starts.write(self.lane as usize, u32::MAX);
            }
            thread::sync_threads();
            let (mut i, mut j) = (u32::MAX, u32::MAX);
            if left > 0
                && let Some(merge) = merge
            {
                (i, j) = self.segments(merge);
                atomic::block::fetch_min(self.starts.at(self.lane as usize), i);
            }
            self.second_start = warp::reduce_min(warp::FULL_MASK, j);
            thread::sync_threads();
            self.first_start = self.starts.read(self.lane as usize);
            self.loaded_start = self.starts.read(self.loaded_lane as usize);
            if left > 0
                && let Some(merge) = merge
            {
                merge.first = self.first_base + (i - self.first_start) * Self::FIRST_STRIDE;
                merge.second = self.second_base + (j - self.second_start) * Self::SIZE;
            }
        }
    }
}

/// Takes the merges of a warp as far as the windows let them. Returns the number of steps that are left of this thread's.
///
/// In a round, no lane can leave its windows, whichever function gives the breakpoints. Usually
/// each gives half of them, so that further rounds follow. All lanes take the same number of steps,
/// but for those with too few left.
///
/// # Safety
/// All lanes of the warp call it, and the windows hold their segments.
#[inline(always)]
unsafe fn rounds<O: Operation>(
    windows: &Windows<O::Scalar>,
    merge: &mut Option<Merge<O::Scalar>>,
    [f, g]: [Span; 2],
    mut left: u32,
    op: O,
) -> u32 {
    loop {
        let mut ahead = 0;
        if left > 0
            && let Some(merge) = &merge
        {
            ahead = windows.ahead(merge, left, f, g);
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
        if let Some(merge) = merge {
            // SAFETY: so many steps are within the windows.
            unsafe { merge.steps(steps, Shared::<LANES>, Shared::<1>, op) };
        }
        left -= steps;
        if last {
            return left;
        }
    }
}

/// Merges a tile of pairs: those of functions in the part of the first band from position 32 x on and in the second
/// from `warps` y on, for the block (x, y). Returns the merge of the thread's pair, if it is wanted, and the pair's
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
    sizes: [u32; 2],
    cuts: &[ScalarOf<O>],
    pairs: Pairs,
    op: O,
    placement: Placement,
) -> (Option<Merge<O::Scalar>>, u32, u32) {
    let lane = warp::lane_id();
    let thread = thread::thread_idx_x();
    let (warp, warps) = (thread / LANES, thread::block_dim_x() / LANES);
    let first_position = thread::block_idx_x() * LANES + lane;
    let second_position = thread::block_idx_y() * warps + warp;
    let (first_at, second_at) = (pairs.first_start + first_position, pairs.second_start + second_position);
    if !placement.wants_any(first_at - lane, LANES, second_at - warp, warps) {
        // The whole block leaves.
        return (None, first_position, second_position);
    }
    let starts = shared_array![u32; 32];
    // SAFETY: the grid has no positions beyond the orders. Segments are read up to each function's length. Shared
    // memory has room for `sizes` segments of each function of the tile; what a thread reads of it, it or others have
    // written before the last barrier.
    unsafe {
        let (_, first_segments, first_length) = first.at(first_position);
        let (_, second_segments, second_length) = second.at(second_position);
        let wanted = pairs.wants(first_length, second_length) && placement.wants(first_at, second_at);
        let ([f, g], time) = if PIECES {
            let piece = thread::block_idx_z() as usize;
            let (from, to) = (*cuts.get_unchecked(piece), *cuts.get_unchecked(piece + 1));
            spans((first_segments, first_length), (second_segments, second_length), from, to)
        } else {
            ([first_length, second_length].map(|length| Span { start: 0, end: length }), O::Scalar::ZERO)
        };
        let mut left = if wanted { f.steps() + g.steps() } else { 0 };
        let size = Windows::<O::Scalar>::SIZE;
        let loaded_lane = (warp * 8 + lane % 8) % LANES;
        let (_, loaded, loaded_length) = first.at(first_position - lane + loaded_lane);
        let span = if PIECES {
            // Every warp has all of them.
            let [start, end] = [f.start, f.end].map(|k| warp::shuffle_idx(warp::FULL_MASK, k, loaded_lane));
            Span { start, end: if loaded_length == 0 { start } else { end } }
        } else {
            Span { start: 0, end: loaded_length }
        };
        let mut windows = Windows {
            lane,
            warp,
            warps,
            first_base: lane * size,
            second_base: (LANES * sizes[0] + warp * sizes[1]) * size,
            sizes,
            first_start: f.start,
            second_start: g.start,
            loaded,
            loaded_lane,
            loaded_start: span.start,
            loaded_end: span.end,
            second: second_segments,
            second_end: if second_length == 0 { 0 } else { g.end },
            starts,
        };
        let mut merge: Option<Merge<O::Scalar>> = None;
        loop {
            windows.load();
            thread::sync_threads();
            if wanted && merge.is_none() {
                merge = Some(Merge::new(windows.first_base, windows.second_base, Shared::<LANES>, Shared::<1>, time));
            }
            left = rounds(&windows, &mut merge, [f, g], left, op);
            if !thread::sync_threads_or(left > 0) {
                break;
            }
            windows.advance(&mut merge, left);
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
    Products<f32> { max_threads = 512, min_blocks = 2 },
    Supremum<f32> { max_threads = 512, min_blocks = 3 },
    Inner<f32> { max_threads = 512, min_blocks = 3 },
    L1<f64> { max_threads = 512 },
    L2<f64> { max_threads = 512 },
    Lp<f64> { max_threads = 256, min_blocks = 2 },
    Products<f64> { max_threads = 512 },
    Supremum<f64> { max_threads = 512 },
    Inner<f64> { max_threads = 512 },
])]
pub unsafe fn integrals<O: Operation>(
    first: Functions<'_, ScalarOf<O>>,
    second: Functions<'_, ScalarOf<O>>,
    window: u32,
    longest: u32,
    exponent: Exponent<ScalarOf<O>>,
    placement: Placement,
    out: *mut ScalarOf<O>,
) {
    let (op, pairs) = (O::from(exponent), Pairs::of_at_most(longest));
    // SAFETY: this kernel's contract is that of `tile`; the positions are those of the orders.
    unsafe {
        let (merge, first_position, second_position) = tile::<O, false>(first, second, [window; 2], &[], pairs, op, placement);
        if let Some(merge) = merge {
            // Read again (volatile, or the compiler would not): no registers hold them meanwhile.
            let first_function = first.order.as_ptr().add(first_position as usize).read_volatile();
            let second_function = second.order.as_ptr().add(second_position as usize).read_volatile();
            let ([f, g], sum) = (merge.values(), merge.sum());
            let again = Steps::new(first.segments_of(first_function), second.segments_of(second_function));
            out.add(placement.index(first_function, second_function)).write(op.finish(sum, f, g, again));
        }
    }
}

/// The sums over pieces of time of pairs of functions whose second ones are long. A grid of
/// (positions of the first part / 32, `seconds` of `pairs` / warps, pieces), blocks of 4, 8 or 16
/// warps, [`shared_bytes`] of shared memory for the windows, which are at least 2.
///
/// # Safety
/// Both parts are as [`Functions`] says, for positions from those of `pairs` on; functions at positions of the second
/// part from `seconds` on are not long. There are as many cuts as pieces and one more, from 0 to infinity. `partials`
/// has an element for each piece and each pair of a position of the first part and one of the `seconds` of the second.
#[kernel(for O in [
    L1<f32> { max_threads = 512, min_blocks = 2 },
    L2<f32> { max_threads = 512, min_blocks = 2 },
    Lp<f32> { max_threads = 512, min_blocks = 2 },
    Products<f32> { max_threads = 512, min_blocks = 2 },
    Supremum<f32> { max_threads = 512, min_blocks = 2 },
    Inner<f32> { max_threads = 512, min_blocks = 2 },
    L1<f64> { max_threads = 512 },
    L2<f64> { max_threads = 512 },
    Lp<f64> { max_threads = 256, min_blocks = 2 },
    Products<f64> { max_threads = 512 },
    Supremum<f64> { max_threads = 512 },
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
    exponent: Exponent<ScalarOf<O>>,
    placement: Placement,
    partials: *mut ScalarOf<O>,
) {
    // SAFETY: this kernel's contract is that of `tile`; a pair and a piece have one place.
    unsafe {
        let windows = [first_window, second_window];
        let (merge, first_position, second_position) =
            tile::<O, true>(first, second, windows, cuts, pairs, O::from(exponent), placement);
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
    for O in [
        L1<f32>, L2<f32>, Lp<f32>, Products<f32>, Supremum<f32>, Inner<f32>,
        L1<f64>, L2<f64>, Lp<f64>, Products<f64>, Supremum<f64>, Inner<f64>,
    ],
    max_threads = 256,
)]
#[allow(clippy::too_many_arguments)]
pub unsafe fn combine<O: Operation>(
    first: Functions<'_, ScalarOf<O>>,
    second: Functions<'_, ScalarOf<O>>,
    pieces: u32,
    pairs: Pairs,
    exponent: Exponent<ScalarOf<O>>,
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
    // SAFETY: the positions are those of the orders. The wanted sums have been computed, and their
    // functions have segments.
    unsafe {
        let (first_function, first_segments, first_length) = first.at(first_position);
        let (second_function, second_segments, second_length) = second.at(second_position);
        let wanted = placement.wants(pairs.first_start + first_position, pairs.second_start + second_position);
        if !(wanted && pairs.wants(first_length, second_length)) {
            return;
        }
        let (op, mut sum) = (O::from(exponent), O::Scalar::ZERO);
        for piece in 0..pieces as usize {
            sum = op.join(sum, partials.add(pairs.partial(firsts, piece, first_position, second_position)).read());
        }
        let last = |segments: *const <O::Scalar as Scalar>::Segment, length: u32| {
            O::Scalar::parts(segments.add(length as usize - 1).read()).0
        };
        let (f, g) = (last(first_segments, first_length), last(second_segments, second_length));
        let again = Steps::new((first_segments, first_length), (second_segments, second_length));
        out.add(placement.index(first_function, second_function)).write(op.finish(sum, f, g, again));
    }
}
