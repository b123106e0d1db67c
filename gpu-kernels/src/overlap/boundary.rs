//! What of each copy is outside a convex region.
//!
//! The region is a convex polygon, times a *scale* about the origin that each packing has of its own: the side of the
//! square, where it is the unit square. It is given as half-planes, and cut into quads like a shape. What is outside of
//! a piece is its area less what it has in common with the quads; a piece with all corners inside has exactly nothing
//! outside.
//!
//! As the scale grows, the region's edges move outwards by their distance from the origin: the derivative of the common
//! area is what the region's own segments of the common boundary sweep, seen from the origin, over the scale.

use super::{
    Scalar,
    clip::{Intersection, Point, intersect},
    layout::{Circle, Piece, Place, ShapeSpan},
    transform::Source,
};
use cuda_std::prelude::*;

/// A half-plane: x and y of its inward normal, and its offset at scale 1. Inside is where
/// `normal * point + scale * offset >= 0`.
pub const HALF_PLANE: usize = 3;

/// As the kernels below.
#[inline(always)]
#[allow(clippy::too_many_arguments)]
unsafe fn run<T: Scalar>(
    order: &[u32],
    source: Source<'_, T>,
    circles: *const Circle<T>,
    places: *const Place<T>,
    pieces: *const Piece<T>,
    packing_of: &[u32],
    scales: &[T],
    half_planes: &[T],
    quads: &[Point<T>],
    areas: *mut T,
    gradients: *mut T,
    by_scale: *mut T,
) {
    let row = thread::index_1d() as usize;
    let Some(&pose) = order.get(row) else { return };
    // SAFETY: the caller's; each thread writes what is its pose's.
    unsafe {
        let packing = *packing_of.get_unchecked(pose as usize) as usize;
        let scale = *scales.get_unchecked(if scales.len() == 1 { 0 } else { packing });
        let place = *places.add(row);
        let position = place.position;
        let shape = source.shape(pose);
        // Most copies are wholly inside, and so are their circles.
        let circle = *circles.add(row);
        let mut circle_inside = true;
        for plane in half_planes.chunks_exact(HALF_PLANE) {
            let depth = math::mul_add(scale, plane[2], Point::new(plane[0], plane[1]).dot(circle.center));
            circle_inside &= depth >= circle.radius;
        }
        let pieces_to_see = if circle_inside { 0 } else { place.count };
        // Of the pieces that aren't wholly inside: their area, and what of it is inside.
        let mut whole = T::ZERO;
        let mut inside = Intersection::NONE;
        for k in 0..pieces_to_see as usize {
            let corners = (*pieces.add(place.first as usize + k)).corners;
            let mut all_inside = true;
            for plane in half_planes.chunks_exact(HALF_PLANE) {
                let normal = Point::new(plane[0], plane[1]);
                let offset = math::mul_add(scale, plane[2], normal.dot(position));
                let inside = |corner: Point<T>| normal.dot(corner) + offset >= T::ZERO;
                all_inside &= inside(corners[0]) && inside(corners[1]) && inside(corners[2]) && inside(corners[3]);
            }
            if all_inside {
                continue;
            }
            let twice = corners[2].minus(corners[0]).cross(corners[3].minus(corners[1]));
            whole = whole + T::HALF * twice;
            for quad in quads.chunks_exact(4) {
                let corner = |k: usize| quad[k].times(scale).minus(position);
                let region = [corner(0), corner(1), corner(2), corner(3)];
                inside = inside.plus(intersect(&corners, &region));
            }
        }
        let outside = math::min(math::max(whole - T::HALF * inside.twice_area, T::ZERO), shape.area);
        *areas.add(pose as usize) = outside;
        let gradient = inside.gradient();
        let to = gradients.add(3 * pose as usize);
        *to = -gradient.x;
        *to.add(1) = -gradient.y;
        *to.add(2) = -gradient.theta;
        // The whole boundary sweeps the double of the area, wherever it is seen from; the copy's part is moved to the
        // origin.
        let swept = inside.swept + position.cross(inside.along);
        *by_scale.add(pose as usize) = (swept - inside.twice_area) / scale;
    }
}

macro_rules! kernels {
    ($($(#[$doc:meta])* $name:ident: $t:ty;)*) => {$(
        $(#[$doc])*
        ///
        /// A thread for each row of phase one. By pose go the area outside, its gradient, and its derivative by the
        /// scale. `half_planes` has [`HALF_PLANE`] numbers for each, and `quads` four corners for each, both at scale
        /// 1; `scales` has a number for each packing, or one for all.
        ///
        /// # Safety
        /// There are rows and packings as the arrays say, and room for each pose's results.
        #[kernel(max_threads = 128, min_blocks = 3)]
        #[allow(clippy::too_many_arguments)]
        pub unsafe fn $name(
            order: &[u32],
            poses: *const $t,
            shapes: &[ShapeSpan<$t>],
            shape_of: &[u32],
            circles: *const Circle<$t>,
            places: *const Place<$t>,
            pieces: *const Piece<$t>,
            packing_of: &[u32],
            scales: &[$t],
            half_planes: &[$t],
            quads: &[Point<$t>],
            areas: *mut $t,
            gradients: *mut $t,
            by_scale: *mut $t,
        ) {
            let source = Source { poses, shapes, quads: core::ptr::null(), shape_of, first_piece: &[] };
            // SAFETY: the caller's.
            unsafe {
                run(
                    order, source, circles, places, pieces, packing_of, scales, half_planes, quads,
                    areas, gradients, by_scale,
                );
            }
        }
    )*};
}
kernels! {
    /// Area outside in single precision.
    outside_f32: f32;
    /// Area outside in double precision.
    outside_f64: f64;
}
