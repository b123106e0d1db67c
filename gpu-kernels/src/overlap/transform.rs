//! Phase one: every pose's pieces are turned and boxed once, whatever number of other poses they meet.

use super::{
    Scalar,
    clip::Point,
    layout::{Circle, Frame, Piece, Place, ShapeSpan},
};
use cuda_std::prelude::*;

/// What poses are made of.
pub struct Source<'a, T> {
    /// x, y, theta for each pose, in the caller's order.
    pub poses: *const T,
    /// The shapes.
    pub shapes: &'a [ShapeSpan<T>],
    /// The corners of all shapes' quads, four each, in the shapes' coordinates.
    pub quads: *const Point<T>,
    /// Each pose's shape, in the caller's order; empty where there is but one.
    pub shape_of: &'a [u32],
    /// Each pose's first piece, in the caller's order; empty where there is but one shape.
    pub first_piece: &'a [u32],
}

impl<T: Scalar> Source<'_, T> {
    /// The position of a pose, and its angle.
    ///
    /// # Safety
    /// There is such a pose.
    #[inline(always)]
    pub unsafe fn pose(&self, pose: u32) -> (Point<T>, T) {
        // SAFETY: three numbers for each pose.
        unsafe {
            let pose = self.poses.add(3 * pose as usize);
            (Point::new(*pose, *pose.add(1)), *pose.add(2))
        }
    }

    /// Its shape.
    ///
    /// # Safety
    /// There is such a pose, and its shape.
    #[inline(always)]
    pub unsafe fn shape(&self, pose: u32) -> ShapeSpan<T> {
        // SAFETY: the caller's.
        unsafe {
            let shape = if self.shape_of.is_empty() { 0 } else { *self.shape_of.get_unchecked(pose as usize) };
            *self.shapes.get_unchecked(shape as usize)
        }
    }
}

/// A vector turned.
#[inline(always)]
pub fn turn<T: Scalar>(vector: Point<T>, (sine, cosine): (T, T)) -> Point<T> {
    Point::new(math::mul_add(cosine, vector.x, -(sine * vector.y)), math::mul_add(sine, vector.x, cosine * vector.y))
}

/// The pose's enclosing circle, with what rounding may have moved its centre by.
#[inline(always)]
pub fn circle<T: Scalar>(position: Point<T>, rotation: (T, T), shape: &ShapeSpan<T>) -> Circle<T> {
    let center = position.plus(turn(shape.center, rotation));
    let slack = T::from_f64(8.0) * T::EPSILON * (math::abs(center.x) + math::abs(center.y) + shape.radius);
    Circle { center, radius: shape.radius + slack, spare: T::ZERO }
}

/// The quad, turned, and its box.
#[inline(always)]
pub fn piece<T: Scalar>(quad: [Point<T>; 4], rotation: (T, T)) -> Piece<T> {
    let [a, b, c, d] = quad;
    let (a, b, c, d) = (turn(a, rotation), turn(b, rotation), turn(c, rotation), turn(d, rotation));
    let least = |a, b, c, d| math::min(math::min(a, b), math::min(c, d));
    let greatest = |a, b, c, d| math::max(math::max(a, b), math::max(c, d));
    Piece {
        low: Point::new(least(a.x, b.x, c.x, d.x), least(a.y, b.y, c.y, d.y)),
        high: Point::new(greatest(a.x, b.x, c.x, d.x), greatest(a.y, b.y, c.y, d.y)),
        corners: [a, b, c, d],
    }
}

/// How many of each lattice vector take the origin's cell of the lattice to that of `center`, and the vector that does.
#[inline(always)]
pub fn image<T: Scalar>(center: Point<T>, frame: &Frame<T>) -> ([i32; 2], Point<T>) {
    let from_origin = center.minus(frame.origin);
    let along = |inverse: Point<T>, cells: u32| math::floor(inverse.dot(from_origin) / T::from_u32(cells));
    let (m, n) = (along(frame.inverse[0], frame.cells[0]), along(frame.inverse[1], frame.cells[1]));
    ([m.to_i32(), n.to_i32()], frame.lattice[0].times(m).plus(frame.lattice[1].times(n)))
}

/// As the kernels below.
#[inline(always)]
#[allow(clippy::too_many_arguments)]
unsafe fn run<T: Scalar>(
    source: Source<'_, T>,
    order: &[u32],
    packing_of: &[u32],
    frames: &[Frame<T>],
    circles: *mut Circle<T>,
    places: *mut Place<T>,
    pieces: *mut Piece<T>,
    wraps: *mut I32x2,
) {
    let row = thread::index_1d() as usize;
    let Some(&pose) = order.get(row) else { return };
    // SAFETY: the caller's; each thread writes what is its row's, and its pose's pieces.
    unsafe {
        let (mut position, theta) = source.pose(pose);
        let shape = source.shape(pose);
        let rotation = theta.sin_cos();
        let mut circle = circle(position, rotation, &shape);
        if !packing_of.is_empty() {
            let frame = frames.get_unchecked(*packing_of.get_unchecked(pose as usize) as usize);
            let (shift, vector) = image(circle.center, frame);
            position = position.minus(vector);
            circle.center = circle.center.minus(vector);
            *wraps.add(pose as usize) = I32x2::new(shift[0], shift[1]);
        }
        *circles.add(row) = circle;
        let first = match source.first_piece.get(pose as usize) {
            Some(&first) => first,
            None => row as u32 * shape.count,
        };
        *places.add(row) = Place { position, first, count: shape.count };
        for k in 0..shape.count as usize {
            let quad = source.quads.add(4 * (shape.first as usize + k));
            let quad = [*quad, *quad.add(1), *quad.add(2), *quad.add(3)];
            *pieces.add(first as usize + k) = piece(quad, rotation);
        }
    }
}

macro_rules! kernels {
    ($($(#[$doc:meta])* $name:ident: $t:ty;)*) => {$(
        $(#[$doc])*
        ///
        /// A thread for each element of `order`: row r is pose `order[r]`. With a lattice, poses are brought into its cell,
        /// `packing_of` has each pose's packing, and `wraps` gets the lattice vectors that were taken off; else `packing_of` is
        /// empty.
        ///
        /// # Safety
        /// There are poses, shapes, packings and pieces as the arrays say, and room for a circle and a place for each row, and
        /// for a pair of wraps for each pose.
        #[kernel(max_threads = 128)]
        #[allow(clippy::too_many_arguments)]
        pub unsafe fn $name(
            poses: *const $t,
            shapes: &[ShapeSpan<$t>],
            quads: *const Point<$t>,
            shape_of: &[u32],
            first_piece: &[u32],
            order: &[u32],
            packing_of: &[u32],
            frames: &[Frame<$t>],
            circles: *mut Circle<$t>,
            places: *mut Place<$t>,
            pieces: *mut Piece<$t>,
            wraps: *mut I32x2,
        ) {
            // SAFETY: the caller's.
            unsafe {
                run(Source { poses, shapes, quads, shape_of, first_piece }, order, packing_of, frames, circles, places, pieces, wraps);
            }
        }
    )*};
}
kernels! {
    /// Phase one in single precision.
    transform_f32: f32;
    /// Phase one in double precision.
    transform_f64: f64;
}
