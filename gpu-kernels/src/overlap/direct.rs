//! A thread for each pose, for CPUs, and for lists of pairs on either.

use super::{
    Scalar,
    clip::{Gradient, Intersection, Point, intersect, moved, nudged},
    layout::{Circle, Frame, List, Mode, Piece, Place, parallel},
    walk::{near, nudge},
};
use cuda_std::prelude::*;

/// What all pieces of two copies have in common: relative to the first's position; the second's is `second_at` from it.
/// With a nudge where derivatives are wanted.
///
/// # Safety
/// The pieces are there.
#[inline(always)]
unsafe fn overlap<T: Scalar>(
    (first_pieces, first): (*const Piece<T>, Place<T>),
    (second_pieces, second): (*const Piece<T>, Place<T>),
    second_at: Point<T>,
    nudge: Option<Point<T>>,
) -> Intersection<T> {
    let mut sum = Intersection::NONE;
    for a in 0..first.count as usize {
        // SAFETY: the caller's.
        let a = unsafe { &*first_pieces.add(first.first as usize + a) };
        let bounds = a.bounds.moved_back(second_at);
        for b in 0..second.count as usize {
            // SAFETY: the caller's.
            let b = unsafe { &*second_pieces.add(second.first as usize + b) };
            if bounds.meet(&b.bounds) {
                sum = sum.plus(match nudge {
                    Some(nudge) if parallel(&a.directions, &b.directions) => nudged(&a.corners, &b.corners, second_at, nudge),
                    _ => intersect(&a.corners, &moved(&b.corners, second_at)),
                });
            }
        }
    }
    sum
}

/// Calls `found(candidate, second_at, shift, intersection)` for every candidate of a row that is near.
///
/// # Safety
/// Both lists have what the frame and `starts` say.
#[inline(always)]
unsafe fn for_candidates<T: Scalar>(
    row: u32,
    (rows, candidates): (List<T>, List<T>),
    frame: &Frame<T>,
    starts: *const u32,
    mode: Mode,
    mut found: impl FnMut(u32, Point<T>, [i32; 2], Intersection<T>),
) {
    // SAFETY: the caller's.
    unsafe {
        let circle = *rows.circles.add(row as usize);
        let place = *rows.places.add(row as usize);
        let cell = frame.cell(circle.center);
        for number in 0..frame.runs() {
            let run = frame.run(number, row, cell, mode, starts);
            let shift = frame.shift(run.shift);
            for candidate in run.start..run.start + run.len {
                let other: Circle<T> = *candidates.circles.add(candidate as usize);
                if !near(&circle, &other, shift) || (mode.has(Mode::FULL) && candidate == row && run.shift == [0; 2]) {
                    continue;
                }
                let other = *candidates.places.add(candidate as usize);
                let at = other.position.minus(place.position).plus(shift);
                let nudge = mode.has(Mode::GRADIENT).then(|| nudge((row, &place), (candidate, &other), run.shift, mode));
                let common = overlap((rows.pieces, place), (candidates.pieces, other), at, nudge);
                found(candidate, at, run.shift, common);
            }
        }
    }
}

/// Adds a gradient to a pose's.
///
/// # Safety
/// There is room for the pose's, to which others add atomically at most.
#[inline(always)]
pub(super) unsafe fn add_gradient<T: Scalar>(gradients: *mut T, pose: u32, gradient: Gradient<T>) {
    // SAFETY: the caller's.
    unsafe {
        let at = gradients.add(3 * pose as usize);
        atomic::device::fetch_add(at, gradient.x);
        atomic::device::fetch_add(at.add(1), gradient.y);
        atomic::device::fetch_add(at.add(2), gradient.theta);
    }
}

/// As the kernels below.
#[inline(always)]
#[allow(clippy::too_many_arguments)]
unsafe fn run<T: Scalar>(
    n: u32,
    rows: List<T>,
    candidates: List<T>,
    packing_of: &[u32],
    frames: &[Frame<T>],
    starts: *const u32,
    mode: Mode,
    partial: *mut T,
    row_areas: *mut T,
    row_gradients: *mut T,
    candidate_areas: *mut T,
    candidate_gradients: *mut T,
) {
    let row = thread::index_1d();
    if row >= n {
        return;
    }
    // SAFETY: the caller's. A row's partial sum is its thread's; to areas and gradients others may add at the same
    // time.
    unsafe {
        let pose = *rows.order.add(row as usize);
        let frame = frames.get_unchecked(*packing_of.get_unchecked(pose as usize) as usize);
        let mut sum = Intersection::NONE;
        for_candidates(row, (rows, candidates), frame, starts, mode, |candidate, at, _, common| {
            if common.is_none() {
                return;
            }
            sum = sum.plus(common);
            if mode.has(Mode::CANDIDATES) {
                let candidate = *candidates.order.add(candidate as usize);
                if mode.has(Mode::GRADIENT) {
                    add_gradient(candidate_gradients, candidate, common.gradient_of_second(at));
                }
                if mode.has(Mode::PER_POSE) {
                    atomic::device::fetch_add(candidate_areas.add(candidate as usize), T::HALF * common.twice_area);
                }
            }
        });
        *partial.add(row as usize) = sum.twice_area;
        if mode.has(Mode::GRADIENT) {
            add_gradient(row_gradients, pose, sum.gradient());
        }
        if mode.has(Mode::PER_POSE) {
            atomic::device::fetch_add(row_areas.add(pose as usize), T::HALF * sum.twice_area);
        }
    }
}

/// As the kernels below.
#[inline(always)]
#[allow(clippy::too_many_arguments)]
unsafe fn run_pairs<T: Scalar>(
    n: u32,
    rows: List<T>,
    candidates: List<T>,
    packing_of: &[u32],
    frames: &[Frame<T>],
    starts: *const u32,
    mode: Mode,
    capacity: u32,
    count: *mut u32,
    pairs: *mut I32x4,
    areas: *mut T,
) {
    let row = thread::index_1d();
    if row >= n {
        return;
    }
    // SAFETY: the caller's. A number of the counter's is this thread's alone.
    unsafe {
        let pose = *rows.order.add(row as usize);
        let frame = frames.get_unchecked(*packing_of.get_unchecked(pose as usize) as usize);
        for_candidates(row, (rows, candidates), frame, starts, mode, |candidate, _, shift, common| {
            if common.twice_area > T::ZERO {
                let number = atomic::device::fetch_add(count, 1);
                if number < capacity {
                    let candidate = *candidates.order.add(candidate as usize);
                    *pairs.add(number as usize) = I32x4::new(pose as i32, candidate as i32, shift[0], shift[1]);
                    *areas.add(number as usize) = T::HALF * common.twice_area;
                }
            }
        });
    }
}

macro_rules! kernels {
    ($($(#[$doc:meta])* $name:ident: $t:ty;)*) => {$(
        $(#[$doc])*
        ///
        /// A thread for each of `n` rows. `partial` gets the double of each row's area; to areas and gradients, by
        /// pose, the sums are added: `mode` says which.
        ///
        /// # Safety
        /// Both lists have what `frames` and `starts` say, `packing_of` has each row's packing in the caller's order,
        /// and what `mode` asks for has room.
        #[kernel(max_threads = 128, min_blocks = 2)]
        #[allow(clippy::too_many_arguments)]
        pub unsafe fn $name(
            n: u32,
            row_circles: *const Circle<$t>,
            row_places: *const Place<$t>,
            row_pieces: *const Piece<$t>,
            row_order: *const u32,
            circles: *const Circle<$t>,
            places: *const Place<$t>,
            pieces: *const Piece<$t>,
            order: *const u32,
            packing_of: &[u32],
            frames: &[Frame<$t>],
            starts: *const u32,
            mode: u32,
            partial: *mut $t,
            row_areas: *mut $t,
            row_gradients: *mut $t,
            areas: *mut $t,
            gradients: *mut $t,
        ) {
            let rows = List { circles: row_circles, places: row_places, pieces: row_pieces, order: row_order };
            let candidates = List { circles, places, pieces, order };
            let between = Mode(mode).has(Mode::BETWEEN);
            let (areas, gradients) = if between { (areas, gradients) } else { (row_areas, row_gradients) };
            // SAFETY: the caller's.
            unsafe {
                run(
                    n, rows, candidates, packing_of, frames, starts, Mode(mode),
                    partial, row_areas, row_gradients, areas, gradients,
                );
            }
        }
    )*};
}
kernels! {
    /// Areas and gradients in single precision.
    direct_f32: f32;
    /// Areas and gradients in double precision.
    direct_f64: f64;
}

macro_rules! pair_kernels {
    ($($(#[$doc:meta])* $name:ident: $t:ty;)*) => {$(
        $(#[$doc])*
        ///
        /// A thread for each of `n` rows. Each pair that overlaps raises `count` by one, and leaves the row's pose, the
        /// candidate's and the lattice vectors that the candidate is moved by in `pairs`, and its area in `areas`, in
        /// no certain order; those beyond `capacity` are counted only.
        ///
        /// # Safety
        /// Both lists have what `frames` and `starts` say, `packing_of` has each row's packing in the caller's order,
        /// and there is room for `capacity` pairs and areas.
        #[kernel(max_threads = 128, min_blocks = 2)]
        #[allow(clippy::too_many_arguments)]
        pub unsafe fn $name(
            n: u32,
            row_circles: *const Circle<$t>,
            row_places: *const Place<$t>,
            row_pieces: *const Piece<$t>,
            row_order: *const u32,
            circles: *const Circle<$t>,
            places: *const Place<$t>,
            pieces: *const Piece<$t>,
            order: *const u32,
            packing_of: &[u32],
            frames: &[Frame<$t>],
            starts: *const u32,
            mode: u32,
            capacity: u32,
            count: *mut u32,
            pairs: *mut I32x4,
            areas: *mut $t,
        ) {
            let rows = List { circles: row_circles, places: row_places, pieces: row_pieces, order: row_order };
            let candidates = List { circles, places, pieces, order };
            // SAFETY: the caller's.
            unsafe {
                run_pairs(n, rows, candidates, packing_of, frames, starts, Mode(mode), capacity, count, pairs, areas);
            }
        }
    )*};
}
pair_kernels! {
    /// The overlapping pairs in single precision.
    pairs_f32: f32;
    /// The overlapping pairs in double precision.
    pairs_f64: f64;
}
