//! What of each copy is outside a convex region.
//!
//! The region is a convex polygon, times a *scale* about the origin that each packing has of its own: the side of the
//! square, where it is the unit square. It is given as half-planes, and cut into quads like a shape. What is outside of
//! a piece is its area less what it has in common with the quads; a copy with all corners inside has exactly nothing
//! outside, and no derivatives, also where it touches the boundary.
//!
//! As the scale grows, the region's edges move outwards by their distance from the origin: the derivative of the common
//! area is what the region's own segments of the common boundary sweep, seen from the origin, over the scale.

use super::{
    Scalar,
    clip::{Intersection, Point, nearness, nudged},
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
        let mut size = T::ZERO;
        for plane in half_planes.chunks_exact(HALF_PLANE) {
            let depth = math::mul_add(scale, plane[2], Point::new(plane[0], plane[1]).dot(circle.center));
            circle_inside &= depth >= circle.radius;
            size = math::max(size, scale * plane[2]);
        }
        // Rounding does more where the region is larger than the copy.
        let nudge = place.nudge.times(T::ONE + size / shape.radius);
        let limit = nearness(nudge);
        // The least depth of a piece's corners.
        let depth = |k: u32| {
            let corners = (*pieces.add((place.first + k) as usize)).corners;
            let mut least = T::INFINITY;
            for plane in half_planes.chunks_exact(HALF_PLANE) {
                let normal = Point::new(plane[0], plane[1]);
                let offset = math::mul_add(scale, plane[2], normal.dot(position));
                for corner in corners {
                    least = math::min(least, normal.dot(corner) + offset);
                }
            }
            least
        };
        let copy_inside = circle_inside || (0..place.count).all(|k| depth(k) >= T::ZERO);
        let pieces_to_see = if copy_inside { 0 } else { place.count };
        let mut outside = T::ZERO;
        // Of the pieces that aren't wholly inside, what is.
        let mut inside = Intersection::NONE;
        for k in 0..pieces_to_see {
            let depth = depth(k);
            if depth >= limit {
                continue;
            }
            let corners = (*pieces.add((place.first + k) as usize)).corners;
            let mut common = Intersection::NONE;
            for quad in quads.chunks_exact(4) {
                let corner = |k: usize| quad[k].times(scale);
                let region = [corner(0), corner(1), corner(2), corner(3)];
                common = common.plus(nudged(&corners, &region, Point::ORIGIN.minus(position), nudge));
            }
            if depth < T::ZERO {
                let twice = corners[2].minus(corners[0]).cross(corners[3].minus(corners[1]));
                outside = outside + T::HALF * math::max(twice - common.twice_area, T::ZERO);
            }
            inside = inside.plus(common);
        }
        *areas.add(pose as usize) = math::min(outside, shape.area);
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
