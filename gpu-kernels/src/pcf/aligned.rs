//! Functions that all have the same times: norms of differences of vectors, weighted by the widths of the steps.
//!
//! No step depends on the data, so that a thread takes [`SIDE`] functions of each band at a time. A merge of such functions
//! makes the same sums, between which it adds zeros: the results have the same bits.

use super::{
    Functions, Placement, Scalar,
    merge::Steps,
    op::{Exponent, Inner, L1, L2, Lp, Operation, Products, ScalarOf, Supremum},
    power::{Vectorized, by_vectors},
};
use crate::number::Number as _;
use core::array::from_fn;
use cuda_std::prelude::*;

/// Functions of each band that a thread takes.
pub const SIDE: usize = 4;

/// Threads along each side of a tile of [`tiled()`].
const THREADS: usize = 16;

/// Threads of a block of [`tiled()`].
pub const TILED_THREADS: u32 = (THREADS * THREADS) as u32;

/// Functions of each band in a tile of [`tiled()`].
pub const TILE: usize = SIDE * THREADS;

/// Steps that shared memory holds.
const STEPS: usize = 16;

/// From one step's values to the next one's: one more than there are, so that a function's lie in different banks.
const PITCH: usize = TILE + 1;

/// The sums of a thread's pairs, by functions of the second band.
type Sums<T> = [[T; SIDE]; SIDE];

/// Writes the results of a thread's pairs: those of each [`SIDE`] positions of both bands, from `starts` on and `stride`
/// apart. Positions from the length of an order on have no function.
///
/// # Safety
/// As for [`direct()`].
#[inline(always)]
unsafe fn finish<O: Operation>(
    op: O,
    sums: Sums<O::Scalar>,
    [first, second]: [Functions<'_, O::Scalar>; 2],
    starts: [u32; 2],
    stride: u32,
    placement: Placement,
    out: *mut O::Scalar,
) {
    // A copy in memory for the loop: the sums themselves stay in registers.
    let mut kept = [O::Scalar::ZERO; SIDE * SIDE];
    let kept = kept.as_mut_ptr();
    // SAFETY: each element is within `kept`; each pair that is wanted has its place (this function's contract).
    unsafe {
        let keep = |row: usize, [a, b, c, d]: [O::Scalar; SIDE]| {
            let kept = kept.add(row * SIDE);
            kept.write_volatile(a);
            kept.add(1).write_volatile(b);
            kept.add(2).write_volatile(c);
            kept.add(3).write_volatile(d);
        };
        keep(0, sums[0]);
        keep(1, sums[1]);
        keep(2, sums[2]);
        keep(3, sums[3]);
        for pair in 0..SIDE * SIDE {
            let first_position = starts[0] + (pair % SIDE) as u32 * stride;
            let second_position = starts[1] + (pair / SIDE) as u32 * stride;
            let (f, g) = (first.at_or_none(first_position), second.at_or_none(second_position));
            if f.2 == 0 || g.2 == 0 || !placement.wants(first_position, second_position) {
                continue;
            }
            let tail = |segments: *const <O::Scalar as Scalar>::Segment, length| {
                O::Scalar::read_parts(segments.add(length as usize - 1)).0
            };
            let (sum, steps) = (kept.add(pair).read_volatile(), Steps::new((f.1, f.2), (g.1, g.2)));
            out.add(placement.index(f.0, g.0)).write(op.finish(sum, tail(f.1, f.2), tail(g.1, g.2), steps));
        }
    }
}

/// The integrals over pairs of functions, straight from their memory, for CPUs. A thread for each [`SIDE`] positions of
/// the first band and of the second.
///
/// # Safety
/// Both bands are as [`Functions`] says, all functions have the same times, and every result has its place in `out`.
#[kernel(
    for O in [
        L1<f32>, L2<f32>, Lp<f32>, Products<f32>, Supremum<f32>, Inner<f32>,
        L1<f64>, L2<f64>, Lp<f64>, Products<f64>, Supremum<f64>, Inner<f64>,
    ],
    max_threads = 256,
)]
pub unsafe fn direct<O: Operation>(
    first: Functions<'_, ScalarOf<O>>,
    second: Functions<'_, ScalarOf<O>>,
    exponent: Exponent<ScalarOf<O>>,
    placement: Placement,
    out: *mut ScalarOf<O>,
) {
    let groups = first.order.len() / SIDE;
    let index = thread::index_1d() as usize;
    let (first_start, second_start) = ((index % groups * SIDE) as u32, (index / groups * SIDE) as u32);
    if second_start as usize >= second.order.len() || !placement.wants_any(first_start, SIDE as u32, second_start, SIDE as u32) {
        return;
    }
    // SAFETY: the positions are in the orders. A position without a function has the segments of the one at the start, and
    // all functions are as long.
    unsafe {
        let segments = |band: Functions<'_, O::Scalar>, start: u32| {
            let (_, there, _) = band.at(start);
            let of = |k| Some(band.at(start + k as u32)).filter(|found| found.2 > 0).map_or(there, |found| found.1);
            from_fn::<_, SIDE, _>(of)
        };
        let (op, lengths) = (O::from(exponent), [first.at(first_start).2, second.at(second_start).2]);
        if lengths.contains(&0) {
            // An order ends with positions without functions.
            return;
        }
        let (f, g) = (segments(first, first_start), segments(second, second_start));
        let sums = by_vectors(Tile { op, f, g, steps: lengths[0] as usize - 1 });
        finish(op, sums, [first, second], [first_start, second_start], 1, placement, out);
    }
}

/// The pairs of a thread of [`direct()`].
struct Tile<O: Operation> {
    op: O,
    /// The functions' segments, more than there are steps.
    f: [*const <O::Scalar as Scalar>::Segment; SIDE],
    g: [*const <O::Scalar as Scalar>::Segment; SIDE],
    steps: usize,
}

impl<O: Operation> Vectorized for Tile<O> {
    type Output = Sums<O::Scalar>;

    #[inline(always)]
    fn run(self) -> Self::Output {
        let (mut sums, mut time) = ([[O::Scalar::ZERO; SIDE]; SIDE], O::Scalar::ZERO);
        for k in 0..self.steps {
            // SAFETY: each function has a segment for the step.
            let parts = |segments: *const <O::Scalar as Scalar>::Segment| unsafe { O::Scalar::read_parts(segments.add(k)) };
            let (_, end) = parts(self.f[0]);
            let (f, g) = (self.f.map(|f| parts(f).0), self.g.map(|g| parts(g).0));
            let terms: [_; SIDE * SIDE] = self.op.terms(from_fn(|pair| [f[pair % SIDE], g[pair / SIDE]]));
            for (sum, term) in sums.as_flattened_mut().iter_mut().zip(terms) {
                *sum = self.op.add_term(*sum, end - time, term);
            }
            time = end;
        }
        sums
    }
}

/// The integrals over pairs of functions from shared memory, for GPUs. A grid of (positions of the first band /
/// [`TILE`], positions of the second / [`TILE`]), blocks of [`TILED_THREADS`].
///
/// # Safety
/// As for [`direct()`].
#[kernel(
    for O in [
        L1<f32>, L2<f32>, Lp<f32>, Products<f32>, Supremum<f32>, Inner<f32>,
        L1<f64>, L2<f64>, Lp<f64>, Products<f64>, Supremum<f64>, Inner<f64>,
    ],
    max_threads = 256,
)]
pub unsafe fn tiled<O: Operation>(
    first: Functions<'_, ScalarOf<O>>,
    second: Functions<'_, ScalarOf<O>>,
    exponent: Exponent<ScalarOf<O>>,
    placement: Placement,
    out: *mut ScalarOf<O>,
) {
    // Registers hold all of a thread's numbers: no loop takes them by an index.
    let (first_values, second_values) = (shared_array![O::Scalar; STEPS * PITCH], shared_array![O::Scalar; STEPS * PITCH]);
    let widths = shared_array![O::Scalar; STEPS];
    let (x, y) = (thread::thread_idx_x() as usize % THREADS, thread::thread_idx_x() as usize / THREADS);
    let starts = [thread::block_idx_x() * TILE as u32, thread::block_idx_y() * TILE as u32];
    if !placement.wants_any(starts[0], TILE as u32, starts[1], TILE as u32) {
        // The whole block leaves.
        return;
    }
    let (op, mut sums) = (O::from(exponent), [[O::Scalar::ZERO; SIDE]; SIDE]);
    // SAFETY: segments are read up to the last one of each function, as many as the first function's. Shared memory is
    // written and read between barriers, each element by one thread.
    unsafe {
        let (_, times, length) = first.at(0);
        let steps = length.max(1) as usize - 1;
        let find = |band: Functions<'_, O::Scalar>, start: u32| {
            let function = |k: usize| {
                let (_, segments, length) = band.at_or_none(start + (k * THREADS + y) as u32);
                if length > 0 { segments } else { core::ptr::null() }
            };
            [function(0), function(1), function(2), function(3)]
        };
        let (f, g) = (find(first, starts[0]), find(second, starts[1]));
        let mut start = 0;
        while start < steps {
            let k = start + x;
            let load =
                |values: SharedArray<O::Scalar, { STEPS * PITCH }>, i: usize, segments: *const <O::Scalar as Scalar>::Segment| {
                    let there = !segments.is_null() && k < steps;
                    let value = if there { O::Scalar::read_parts(segments.add(k)).0 } else { O::Scalar::ZERO };
                    values.write(x * PITCH + i * THREADS + y, value);
                };
            load(first_values, 0, f[0]);
            load(first_values, 1, f[1]);
            load(first_values, 2, f[2]);
            load(first_values, 3, f[3]);
            load(second_values, 0, g[0]);
            load(second_values, 1, g[1]);
            load(second_values, 2, g[2]);
            load(second_values, 3, g[3]);
            if y == 0 {
                // Steps behind the last one have no width.
                let time = |k: usize| if k == 0 { O::Scalar::ZERO } else { O::Scalar::read_parts(times.add(k - 1)).1 };
                widths.write(x, if k < steps { time(k + 1) - time(k) } else { O::Scalar::ZERO });
            }
            thread::sync_threads();
            for k in 0..STEPS {
                let four = |values: SharedArray<O::Scalar, { STEPS * PITCH }>, thread: usize| {
                    let value = |i: usize| values.read(k * PITCH + i * THREADS + thread);
                    [value(0), value(1), value(2), value(3)]
                };
                let (width, f, g) = (widths.read(k), four(first_values, x), four(second_values, y));
                let row = |sums: [O::Scalar; SIDE], g: O::Scalar| {
                    let add = |sum, f| op.add(sum, [width, f, g]);
                    [add(sums[0], f[0]), add(sums[1], f[1]), add(sums[2], f[2]), add(sums[3], f[3])]
                };
                sums = [row(sums[0], g[0]), row(sums[1], g[1]), row(sums[2], g[2]), row(sums[3], g[3])];
            }
            thread::sync_threads();
            start += STEPS;
        }
        finish(op, sums, [first, second], [starts[0] + x as u32, starts[1] + y as u32], THREADS as u32, placement, out);
    }
}
