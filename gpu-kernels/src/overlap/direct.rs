//! One thread per pose: for CPUs, and for lists of pairs on every device.

use super::{
    Scalar,
    clip::{Gradient, Intersection, Point, intersect, moved, nudged},
    layout::{Cells, Circle, Frame, List, Mode, Piece, Place, Sums, parallel},
    walk::{Runs, near, nudge},
};
use cuda_std::prelude::*;

/// Intersects all pieces of two copies, relative to the first's position; the second's is
/// `second_at` from it. `nudge` is given if derivatives are wanted and sides may be parallel.
///
/// # Safety
/// The pieces are valid.
#[inline(always)]
unsafe fn overlap<T: Scalar>(
    (first_pieces, first): (*const Piece<T>, Place<T>),
    (second_pieces, second): (*const Piece<T>, Place<T>),
    second_at: Point<T>,
    nudge: Option<Point<T>>,
) -> Intersection<T> {
    let mut sum = Intersection::NONE;
    for a in 0..first.count as usize {
        // SAFETY: the first copy's pieces are there (this function's contract).
        let a = unsafe { &*first_pieces.add(first.first as usize + a) };
        let bounds = a.bounds.moved_back(second_at);
        for b in 0..second.count as usize {
            // SAFETY: the second copy's pieces are there (this function's contract).
            let b = unsafe { &*second_pieces.add(second.first as usize + b) };
            if bounds.meet(&b.bounds) {
                sum = sum.plus(match nudge {
                    Some(nudge) => nudged(&a.corners, &b.corners, second_at, nudge),
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
/// Both lists have what the frame and the cells say.
#[inline(always)]
unsafe fn for_candidates<T: Scalar>(
    row: u32,
    (rows, candidates): (List<T>, List<T>),
    frame: &Frame<T>,
    cells: Cells<'_, T>,
    mode: Mode,
    mut found: impl FnMut(u32, Point<T>, [i32; 2], Intersection<T>),
) {
    // SAFETY: both lists have what the frame and the cells say (this function's contract).
    unsafe {
        let circle = *rows.circles.add(row as usize);
        let place = *rows.places.add(row as usize);
        for run in Runs::new(frame, (cells.starts, cells.tree()), row, circle, mode) {
            let shift = frame.shift(run.shift);
            for candidate in run.start..run.start + run.len {
                let other_circle: Circle<T> = *candidates.circles.add(candidate as usize);
                if !near(&circle, &other_circle, shift) || (mode.has(Mode::FULL) && candidate == row && run.shift == [0; 2]) {
                    continue;
                }
                let other = *candidates.places.add(candidate as usize);
                let at = other.position.minus(place.position).plus(shift);
                let parallel = mode.has(Mode::GRADIENT) && parallel(cells.parallels, circle.angle, other_circle.angle);
                let nudge = parallel.then(|| nudge((rows, row), (candidates, candidate), run.shift, mode));
                let common = overlap((rows.pieces, place), (candidates.pieces, other), at, nudge);
                found(candidate, at, run.shift, common);
            }
        }
    }
}

/// Adds a gradient to a pose's.
///
/// # Safety
/// `gradients` has room for the pose's, which other threads change by atomics only.
#[inline(always)]
pub(super) unsafe fn add_gradient<T: Scalar>(gradients: *mut T, pose: u32, gradient: Gradient<T>) {
    // SAFETY: each pose has three numbers, which other threads change by atomics only (this
    // function's contract).
    unsafe {
        let at = gradients.add(3 * pose as usize);
        atomic::device::fetch_add(at, gradient.x);
        atomic::device::fetch_add(at.add(1), gradient.y);
        atomic::device::fetch_add(at.add(2), gradient.theta);
    }
}

/// Computes areas and gradients. One thread for each of `n` rows. `partial` gets twice each row's
/// area; the sums by pose that `mode` asks for are added to areas and gradients.
///
/// # Safety
/// Both lists have what the cells say, `packing_of` has each row's packing in the caller's order, and what `mode` asks
/// for has room.
#[kernel(for T in [f32, f64], max_threads = 128, min_blocks = 2)]
pub unsafe fn direct<T: Scalar>(
    n: u32,
    rows: List<T>,
    candidates: List<T>,
    packing_of: &[u32],
    cells: Cells<'_, T>,
    mode: Mode,
    out: Sums<T>,
) {
    let out = out.of(mode);
    let row = thread::index_1d();
    if row >= n {
        return;
    }
    // SAFETY: lists, cells and sums fit each other (this kernel's contract). A row's partial sum is its thread's; to
    // areas and gradients others may add at the same time.
    unsafe {
        let pose = *rows.order.add(row as usize);
        let frame = cells.frames.get_unchecked(*packing_of.get_unchecked(pose as usize) as usize);
        let mut sum = Intersection::NONE;
        for_candidates(row, (rows, candidates), frame, cells, mode, |candidate, at, _, common| {
            if common.is_none() {
                return;
            }
            sum = sum.plus(common);
            if mode.has(Mode::CANDIDATES) {
                let candidate = *candidates.order.add(candidate as usize);
                if mode.has(Mode::GRADIENT) {
                    add_gradient(out.gradients, candidate, common.gradient_of_second(at));
                }
                if mode.has(Mode::PER_POSE) {
                    atomic::device::fetch_add(out.areas.add(candidate as usize), T::HALF * common.twice_area);
                }
            }
        });
        *out.partial.add(row as usize) = sum.twice_area;
        if mode.has(Mode::GRADIENT) {
            add_gradient(out.row_gradients, pose, sum.gradient());
        }
        if mode.has(Mode::PER_POSE) {
            atomic::device::fetch_add(out.row_areas.add(pose as usize), T::HALF * sum.twice_area);
        }
    }
}

/// The list that pairs are written to.
#[derive(Clone, Copy, Debug, KernelParam)]
pub struct Pairs<T> {
    /// Number of pairs that there is room for.
    pub capacity: u32,
    /// Number of pairs found.
    pub count: *mut u64,
    /// The row's pose, the candidate's, and the lattice vectors that the candidate is moved by.
    pub pairs: *mut I32x4,
    /// Their areas.
    pub areas: *mut T,
}

/// Lists the overlapping pairs. One thread for each of `n` rows. Each pair raises the count by one
/// and is written to `out`, in no particular order. Pairs beyond its capacity are only counted.
///
/// # Safety
/// Both lists have what the cells say, `packing_of` has each row's packing in the caller's order, and there is room for
/// as many pairs and areas as `out` says.
#[kernel(for T in [f32, f64], max_threads = 128, min_blocks = 2)]
pub unsafe fn pairs<T: Scalar>(
    n: u32,
    rows: List<T>,
    candidates: List<T>,
    packing_of: &[u32],
    cells: Cells<'_, T>,
    mode: Mode,
    out: Pairs<T>,
) {
    let row = thread::index_1d();
    if row >= n {
        return;
    }
    // SAFETY: lists and cells fit each other, and there is room for pairs (this kernel's contract). A number of the
    // counter's is this thread's alone.
    unsafe {
        let pose = *rows.order.add(row as usize);
        let frame = cells.frames.get_unchecked(*packing_of.get_unchecked(pose as usize) as usize);
        for_candidates(row, (rows, candidates), frame, cells, mode, |candidate, _, shift, common| {
            if common.twice_area > T::ZERO {
                let number = atomic::device::fetch_add(out.count, 1);
                if number < u64::from(out.capacity) {
                    let candidate = *candidates.order.add(candidate as usize);
                    *out.pairs.add(number as usize) = I32x4::new(pose as i32, candidate as i32, shift[0], shift[1]);
                    *out.areas.add(number as usize) = T::HALF * common.twice_area;
                }
            }
        });
    }
}
