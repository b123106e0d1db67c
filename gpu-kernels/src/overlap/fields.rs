//! Tables of the depth of overlaps.
//!
//! For two shapes and the angle between them, the depth of their overlap is a function of the difference of their
//! positions: the length of the shortest translation that ends the overlap. A *field* has its values on a grid. They are
//! positive where the shapes overlap, negative where they are apart, and 0 where they touch. Interpolation between points
//! of the grid is exact where the line of touching is straight. At its corners the error is a part of the grid's step.
//! Deep inside, values are up to [`BEYOND`] steps less than the depth.
//!
//! A shape at an allowed angle is a *variant*, and so is its mirror image.

use super::{clip::Point, transform::turn};
use bytemuck::{Pod, Zeroable};
use cuda_std::prelude::*;

/// Numbers per field in [`Wanted::boxes`], and in [`Wanted::sizes`].
pub const BOX: usize = 4;
/// See [`BOX`].
pub const SIZE: usize = 3;
/// Numbers per variant in [`Fields::turns`].
pub const TURN: usize = 4;
/// Offset of the angles of mirrored shapes: whole turns, which change no sine and no cosine.
pub const MIRRORED: f64 = 8.0 * core::f64::consts::PI;
/// Unit of the number of rows in [`View::extent`].
pub const COLUMNS: u32 = 1 << 16;
/// Parts of a grid's step that values count.
pub const PARTS: f32 = 256.0;
/// Least depth of a value, in steps: values of the corners of a cell that the boundary crosses are greater.
const LEAST: f32 = -2.0;
const GREATEST: f32 = 127.0;
/// Number of values in a row that a thread computes.
pub const RUN: usize = 16;
/// Depth in steps from which on two quads decide, as [`deepen`] finds the whole depth.
const ENOUGH: f32 = 4.0;
/// Largest distance in steps of the boundary from the next value beyond it.
pub const BEYOND: f32 = 1.5;

/// Fields of shapes at their allowed angles.
#[derive(Clone, Copy, Debug, KernelParam)]
pub struct Fields<'a> {
    /// Each copy's shape.
    pub shape_of: &'a [u32],
    /// First variant of each shape, and the end of the last one's.
    pub first: &'a [u32],
    /// Each variant's angle, its sine and cosine, and its radius: [`TURN`] numbers. [`MIRRORED`] is added to the angle of a
    /// mirror image.
    pub turns: &'a [f32],
    /// For each variant and half-plane, the least product of the normal with a point of the variant.
    pub supports: &'a [f32],
    /// For each two variants, the field of the first and the second.
    pub views: &'a [View],
    /// Depths by rows, in parts of a step.
    pub values: &'a [i16],
}

/// The field of a variant and another one. The difference of their places, turned and scaled, plus an offset is a place in
/// its grid.
#[derive(Clone, Copy, Debug, PartialEq, Pod, Zeroable)]
#[repr(C, align(16))]
pub struct View {
    /// Cosine of the differences' rotation, divided by the grid's step.
    pub cosine: f32,
    /// Sine of it, likewise.
    pub sine: f32,
    /// In steps.
    pub offset: Point<f32>,
    /// Depth per value, times a factor of the two shapes.
    pub unit: f32,
    /// Inverse of the grid's step.
    pub inverse: f32,
    /// Index of the first value.
    pub first: u32,
    /// Number of columns but the last, and of rows in the upper 16 bits.
    pub extent: u32,
}

impl View {
    /// A field where nothing meets.
    pub(super) const NOTHING: Self =
        View { cosine: 0.0, sine: 0.0, offset: Point::ORIGIN, unit: 0.0, inverse: 0.0, first: 0, extent: 0 };

    /// The place in the grid for a difference.
    #[inline(always)]
    pub(super) fn at(&self, by: Point<f32>) -> Point<f32> {
        let u = self.cosine * by.x + (self.sine * by.y + self.offset.x);
        let v = self.cosine * by.y + (self.offset.y - self.sine * by.x);
        Point::new(u, v)
    }

    /// Returns true if a place is in the grid, or no farther from it than so many steps.
    #[inline(always)]
    pub(super) fn meets(&self, Point { x: u, y: v }: Point<f32>, beyond: f32) -> bool {
        let (columns, rows) = ((self.extent % COLUMNS) as f32, (self.extent / COLUMNS) as f32);
        (u >= -beyond) & (v >= -beyond) & (u < columns + beyond) & (v < rows + beyond)
    }

    /// The depth for a difference, at least 0. Without branches, so that loads of several don't wait for each other.
    ///
    /// # Safety
    /// It is a view of a field with these values.
    #[inline(always)]
    pub(super) unsafe fn depth(&self, values: &[i16], by: Point<f32>) -> f32 {
        let at = self.at(by);
        let (u, v, unit) = if self.meets(at, 0.0) { (at.x, at.y, self.unit) } else { (0.0, 0.0, 0.0) };
        let (i, j) = (u as i32, v as i32);
        let columns = self.extent % COLUMNS + 1;
        let corner = (self.first + j as u32 * columns + i as u32) as usize;
        let below = corner + columns as usize;
        // SAFETY: four values are around each point of the grid but the last ones.
        let (a, b, c, d) = unsafe {
            (
                *values.get_unchecked(corner),
                *values.get_unchecked(corner + 1),
                *values.get_unchecked(below),
                *values.get_unchecked(below + 1),
            )
        };
        let [a, b, c, d] = [f32::from(a), f32::from(b), f32::from(c), f32::from(d)];
        let (s, t) = (u - i as f32, v - j as f32);
        let (low, high) = (a + (b - a) * s, c + (d - c) * s);
        larger(low + (high - low) * t, 0.0) * unit
    }
}

/// Shapes and angles whose fields are computed.
#[derive(Clone, Copy, Debug, KernelParam)]
pub struct Wanted<'a> {
    /// First quad of each shape, and the end of the last one's.
    pub first: &'a [u32],
    /// Four corners each.
    pub quads: &'a [Point<f32>],
    /// Each quad's lowest corner and its highest. A shape's quads are ordered by their lowest x.
    pub bounds: &'a [Point<f32>],
    /// Largest extent in x of each shape's quads.
    pub widest: &'a [f32],
    /// For each field, its two shapes.
    pub shapes: &'a [u32],
    /// For each field, sine and cosine of the angle of the second shape.
    pub turns: &'a [f32],
    /// For each field, its lowest x and y, its step, and the inverse of the step.
    pub boxes: &'a [f32],
    /// For each field, the index of its first value, and its numbers of columns and rows.
    pub sizes: &'a [u32],
}

/// Writes the distance in steps, along its column, of each value of a field from the next one that isn't positive: a thread
/// for each column, and a row of blocks for each field from number `from` on.
///
/// # Safety
/// The fields have these sizes, and have been computed, and distances have as much room.
#[kernel(max_threads = 256)]
pub unsafe fn distances(sizes: &[u32], from: u32, values: *const i16, distances: *mut u8) {
    // SAFETY: all that belongs to the field exists (this kernel's contract), and each thread has a column of its own.
    unsafe {
        let [first, columns, rows] = size(sizes, (from + thread::block_idx_y()) as usize);
        let column = (thread::block_idx_x() * thread::block_dim_x() + thread::thread_idx_x()) as usize;
        if column >= columns {
            return;
        }
        // The values at edges aren't positive.
        let mut away = 0;
        for row in 0..rows {
            let at = first + row * columns + column;
            away = if *values.add(at) <= 0 { 0 } else { away + 1 };
            *distances.add(at) = away.min(u32::from(u8::MAX)) as u8;
        }
        for row in (0..rows).rev() {
            let at = first + row * columns + column;
            away = if *distances.add(at) == 0 { 0 } else { away + 1 };
            *distances.add(at) = away.min(u32::from(*distances.add(at))) as u8;
        }
    }
}

/// Raises the values of fields from number `from` on to the distance from the nearest value that isn't positive, less
/// [`BEYOND`] steps: a thread for each value, and a row of blocks for each field. Shapes of several quads overlap deeper than
/// any two of these.
///
/// # Safety
/// As of [`distances()`], which have been computed.
#[kernel(max_threads = 256)]
pub unsafe fn deepen(sizes: &[u32], from: u32, distances: &[u8], values: *mut i16) {
    // SAFETY: all that belongs to the field exists (this kernel's contract), and each thread has a value of its own.
    unsafe {
        let [first, columns, rows] = size(sizes, (from + thread::block_idx_y()) as usize);
        let cell = (thread::block_idx_x() * thread::block_dim_x() + thread::thread_idx_x()) as usize;
        if cell >= columns * rows {
            return;
        }
        let (row, column) = (first + cell / columns * columns, cell % columns);
        let square = |column: usize| {
            let distance = u32::from(*distances.get_unchecked(row + column));
            distance * distance
        };
        let mut nearest = square(column);
        let mut by = 1;
        while (by * by) as u32 <= nearest && by <= column && column + by < columns {
            let beside = square(column - by).min(square(column + by));
            nearest = nearest.min((by * by) as u32 + beside);
            by += 1;
        }
        if nearest > 0 {
            let depth = math::min(math::sqrt(nearest as f32) - BEYOND, GREATEST) * PARTS;
            let value = values.add(first + cell);
            *value = i32::from(*value).max(depth as i32) as i16;
        }
    }
}

/// The index of a field's first value, and its numbers of columns and rows.
///
/// # Safety
/// There is such a field.
#[inline(always)]
unsafe fn size(sizes: &[u32], field: usize) -> [usize; 3] {
    // SAFETY: so many numbers for each.
    [0, 1, 2].map(|k| unsafe { *sizes.get_unchecked(SIZE * field + k) } as usize)
}

/// Computes fields from number `from` on: a thread for each [`RUN`] values of a row, and a row of blocks for each field.
///
/// # Safety
/// The shapes and quads exist, boxes and sizes are those of the fields, and there is room for their values.
#[kernel(max_threads = 256)]
pub unsafe fn fields(wanted: Wanted<'_>, from: u32, values: *mut i16) {
    let field = (from + thread::block_idx_y()) as usize;
    let Wanted { first, quads, bounds, widest, shapes, turns, boxes, sizes } = wanted;
    // SAFETY: all that belongs to the field exists (this kernel's contract), and each thread has values of its own.
    unsafe {
        let number = |k: usize| *boxes.get_unchecked(BOX * field + k);
        let [first_value, columns, rows] = size(sizes, field);
        let (thread, runs) =
            ((thread::block_idx_x() * thread::block_dim_x() + thread::thread_idx_x()) as usize, columns.div_ceil(RUN));
        if thread >= runs * rows {
            return;
        }
        let (row, column) = (thread / runs, thread % runs * RUN);
        let step = number(2);
        let at = Point::new(column as f32 * step + number(0), row as f32 * step + number(1));
        let rotation = (*turns.get_unchecked(2 * field), *turns.get_unchecked(2 * field + 1));
        let of = |shape: usize| {
            let shape = *shapes.get_unchecked(2 * field + shape) as usize;
            *first.get_unchecked(shape) as usize..*first.get_unchecked(shape + 1) as usize
        };
        let corners = |quad: usize| [0, 1, 2, 3].map(|k| *quads.get_unchecked(4 * quad + k));
        let (all, widest) = (of(0), *widest.get_unchecked(*shapes.get_unchecked(2 * field) as usize));
        let mut most = [LEAST * step; RUN];
        // The least of them when the last quad was done.
        let mut floor = LEAST * step;
        for other in of(1) {
            if floor > ENOUGH * step {
                break;
            }
            let other = corners(other).map(|corner| turn(corner, rotation).plus(at));
            let (xs, ys) = (other.map(|corner| corner.x), other.map(|corner| corner.y));
            // Everywhere in the run.
            let low = Point::new(least(xs), least(ys));
            let high = Point::new(greatest(xs) + (RUN - 1) as f32 * step, greatest(ys));
            // Others are too far to the left or to the right.
            let (from, beyond) = (low.x + floor - widest, high.x - floor);
            let (mut own, mut end) = (all.start, all.end);
            while own < end {
                let middle = own.midpoint(end);
                if bounds.get_unchecked(2 * middle).x < from {
                    own = middle + 1;
                } else {
                    end = middle;
                }
            }
            while own < all.end {
                let (from, to) = (*bounds.get_unchecked(2 * own), *bounds.get_unchecked(2 * own + 1));
                if from.x > beyond {
                    break;
                }
                let across = smaller(to.x - low.x, high.x - from.x);
                let along = smaller(to.y - low.y, high.y - from.y);
                let around = smaller(across, along);
                if around > floor
                    && let Some(depths) = depths(&corners(own), &other, (step, around), floor)
                {
                    for (most, depth) in most.iter_mut().zip(depths) {
                        *most = larger(*most, depth);
                    }
                }
                own += 1;
            }
            floor = most.into_iter().fold(f32::INFINITY, smaller);
        }
        let start = values.add(first_value + row * columns + column);
        for (k, most) in most.into_iter().take(columns - column).enumerate() {
            let value = smaller(most / step, GREATEST) * PARTS;
            // Rounded up: however little they overlap, it isn't 0.
            let whole = value as i32;
            let more = i32::from((whole as f32) < value);
            *start.add(k) = (whole + more) as i16;
        }
    }
}

/// The depths of the overlap of two convex quads where the second one is moved right by multiples of a step: each is the
/// shortest way along a normal of an edge that separates them, or any number up to `floor` if that is shorter. None if all
/// are. Their boxes overlap by at most `around`.
#[inline(always)]
fn depths(one: &[Point<f32>; 4], other: &[Point<f32>; 4], (step, around): (f32, f32), floor: f32) -> Option<[f32; RUN]> {
    let mut depths = [around; RUN];
    for (own, their, by) in [(one, other, step), (other, one, -step)] {
        for k in 0..4 {
            let (from, to) = (own[k], own[(k + 1) % 4]);
            // Outwards, if corners go counterclockwise.
            let outwards = Point::new(to.y - from.y, from.x - to.x);
            let length = outwards.x * outwards.x + outwards.y * outwards.y;
            if length > 0.0 {
                let beyond = their.map(|p| (p.x - from.x) * outwards.x + (p.y - from.y) * outwards.y);
                let inverse = -1.0 / math::sqrt(length);
                let (start, slope) = (least(beyond) * inverse, by * outwards.x * inverse);
                if larger(start, slope * (RUN - 1) as f32 + start) <= floor {
                    return None;
                }
                for (k, depth) in depths.iter_mut().enumerate() {
                    *depth = smaller(*depth, slope * k as f32 + start);
                }
            }
        }
    }
    Some(depths)
}

/// The smaller number. No sign of a zero counts and none is NaN here, so that CPUs take one instruction.
#[inline(always)]
fn smaller(a: f32, b: f32) -> f32 {
    if a < b { a } else { b }
}

/// See [`smaller()`].
#[inline(always)]
fn larger(a: f32, b: f32) -> f32 {
    if a > b { a } else { b }
}

#[inline(always)]
fn least([a, b, c, d]: [f32; 4]) -> f32 {
    smaller(smaller(a, b), smaller(c, d))
}

#[inline(always)]
fn greatest([a, b, c, d]: [f32; 4]) -> f32 {
    larger(larger(a, b), larger(c, d))
}
