//! Tables of the depth of overlaps.
//!
//! For two shapes and the angle between them, the depth of their overlap is a function of the difference of their
//! positions. A *field* has its values on a grid. They are positive where the shapes overlap, negative where they are
//! apart, and 0 where they touch. Interpolation between points of the grid is exact where the line of touching is
//! straight. At its corners the error is a part of the grid's step.
//!
//! A shape at an allowed angle is a *variant*.

use super::{Scalar, clip::Point, transform::turn};
use cuda_std::prelude::*;

/// Numbers per field in [`Fields::boxes`], and in [`Fields::sizes`].
pub const BOX: usize = 4;
/// See [`BOX`].
pub const SIZE: usize = 3;
/// Numbers per variant in [`Fields::turns`].
pub const TURN: usize = 4;
/// Parts of a grid's step that values count.
pub const PARTS: f64 = 256.0;
/// Least depth of a value, in steps: values of the corners of a cell that the boundary crosses are greater.
const LEAST: f64 = -2.0;
const GREATEST: f64 = 127.0;

/// Fields of shapes at their allowed angles.
#[derive(Clone, Copy, Debug, KernelParam)]
pub struct Fields<'a, T> {
    /// Each copy's shape.
    pub shape_of: &'a [u32],
    /// First variant of each shape, and the end of the last one's.
    pub first: &'a [u32],
    /// Each variant's angle, its sine and cosine, and its radius: [`TURN`] numbers.
    pub turns: &'a [T],
    /// For each variant and half-plane, the least product of the normal with a point of the variant.
    pub supports: &'a [T],
    /// For each two variants, the field, doubled; plus 1 if it is that of the second one seen from the first.
    pub table: &'a [u32],
    /// For each field, its lowest x and y, its step, and the inverse of the step.
    pub boxes: &'a [T],
    /// For each field, the index of its first value, and its numbers of columns and rows.
    pub sizes: &'a [u32],
    /// Depths by rows, in parts of a step.
    pub values: &'a [i16],
}

/// Shapes and angles whose fields are computed.
#[derive(Clone, Copy, Debug, KernelParam)]
pub struct Wanted<'a, T> {
    /// First quad of each shape, and the end of the last one's.
    pub first: &'a [u32],
    /// Four corners each.
    pub quads: &'a [Point<T>],
    /// Each quad's lowest corner and its highest.
    pub bounds: &'a [Point<T>],
    /// For each field, its two shapes.
    pub shapes: &'a [u32],
    /// For each field, sine and cosine of the angle of the second shape.
    pub turns: &'a [T],
    /// As of [`Fields`].
    pub boxes: &'a [T],
    /// As of [`Fields`].
    pub sizes: &'a [u32],
}

/// Computes fields from number `from` on: a thread for each value, and a row of blocks for each field.
///
/// # Safety
/// The shapes and quads exist, boxes and sizes are those of the fields, and there is room for their values.
#[kernel(for T in [f32], max_threads = 256)]
pub unsafe fn fields<T: Scalar>(wanted: Wanted<'_, T>, from: u32, values: *mut i16) {
    let field = (from + thread::block_idx_y()) as usize;
    let Wanted { first, quads, bounds, shapes, turns, boxes, sizes } = wanted;
    // SAFETY: all that belongs to the field exists (this kernel's contract), and each thread has a value of its own.
    unsafe {
        let number = |k: usize| *boxes.get_unchecked(BOX * field + k);
        let (columns, rows) = (*sizes.get_unchecked(SIZE * field + 1), *sizes.get_unchecked(SIZE * field + 2));
        let cell = thread::block_idx_x() * thread::block_dim_x() + thread::thread_idx_x();
        if cell >= columns * rows {
            return;
        }
        let step = number(2);
        let at = Point::new(
            math::mul_add(T::from_u32(cell % columns), step, number(0)),
            math::mul_add(T::from_u32(cell / columns), step, number(1)),
        );
        let rotation = (*turns.get_unchecked(2 * field), *turns.get_unchecked(2 * field + 1));
        let of = |shape: usize| {
            let shape = *shapes.get_unchecked(2 * field + shape) as usize;
            *first.get_unchecked(shape) as usize..*first.get_unchecked(shape + 1) as usize
        };
        let corners = |quad: usize| [0, 1, 2, 3].map(|k| *quads.get_unchecked(4 * quad + k));
        let mut most = T::from_f64(LEAST) * step;
        for other in of(1) {
            let other = corners(other).map(|corner| turn(corner, rotation).plus(at));
            let least = |numbers: [T; 4]| math::min(math::min(numbers[0], numbers[1]), math::min(numbers[2], numbers[3]));
            let greatest = |numbers: [T; 4]| math::max(math::max(numbers[0], numbers[1]), math::max(numbers[2], numbers[3]));
            let (xs, ys) = (other.map(|corner| corner.x), other.map(|corner| corner.y));
            let (low, high) = (Point::new(least(xs), least(ys)), Point::new(greatest(xs), greatest(ys)));
            for own in of(0) {
                let (from, to) = (*bounds.get_unchecked(2 * own), *bounds.get_unchecked(2 * own + 1));
                let across = math::min(to.x - low.x, high.x - from.x);
                let along = math::min(to.y - low.y, high.y - from.y);
                let around = math::min(across, along);
                if around > most {
                    most = math::max(most, depth(&corners(own), &other, around, most));
                }
            }
        }
        let value = math::min(most / step, T::from_f64(GREATEST)) * T::from_f64(PARTS);
        // Rounded up: however little they overlap, it isn't 0.
        let whole = value.to_i32();
        let more = if T::from_i32(whole) < value { 1 } else { 0 };
        *values.add(*sizes.get_unchecked(SIZE * field) as usize + cell as usize) = (whole + more) as i16;
    }
}

/// The depth of the overlap of two convex quads: the shortest way along a normal of an edge that separates them. May be any
/// smaller number if it is at most `least`. Their boxes overlap by `around`.
#[inline(always)]
fn depth<T: Scalar>(one: &[Point<T>; 4], other: &[Point<T>; 4], around: T, least: T) -> T {
    let mut depth = around;
    for (own, their) in [(one, other), (other, one)] {
        for k in 0..4 {
            let (from, to) = (own[k], own[(k + 1) % 4]);
            // Outwards, if corners go counterclockwise.
            let outwards = Point::new(to.y - from.y, from.x - to.x);
            let length = outwards.dot(outwards);
            if length > T::ZERO {
                let beyond = their.map(|p| p.minus(from).dot(outwards));
                let beyond = math::min(math::min(beyond[0], beyond[1]), math::min(beyond[2], beyond[3]));
                depth = math::min(depth, -beyond / math::sqrt(length));
            }
            if depth <= least {
                return least;
            }
        }
    }
    depth
}
