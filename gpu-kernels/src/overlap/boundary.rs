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
    layout::List,
    transform::Source,
};
use cuda_std::prelude::*;

/// A half-plane: x and y of its inward normal, and its offset at scale 1. Inside is where
/// `normal * point + scale * offset >= 0`.
pub const HALF_PLANE: usize = 3;

/// A region at scale 1.
#[derive(Clone, Copy, Debug, KernelParam)]
pub struct Region<'a, T> {
    /// [`HALF_PLANE`] numbers for each.
    pub half_planes: &'a [T],
    /// Four corners for each.
    pub quads: &'a [Point<T>],
}

/// What is outside, by pose.
#[derive(Clone, Copy, Debug, KernelParam)]
pub struct Outside<T> {
    /// The area.
    pub areas: *mut T,
    /// Its gradient.
    pub gradients: *mut T,
    /// Its derivative by the scale.
    pub by_scale: *mut T,
}

/// What is outside. A thread for each row of phase one. `scales` has a number for each packing, or one for all.
///
/// # Safety
/// There are rows and packings as the arrays say, and room for each pose's results.
#[kernel(for T in [f32, f64], max_threads = 128, min_blocks = 3)]
pub unsafe fn outside<T: Scalar>(
    order: &[u32],
    source: Source<'_, T>,
    rows: List<T>,
    packing_of: &[u32],
    scales: &[T],
    region: Region<'_, T>,
    out: Outside<T>,
) {
    let Region { half_planes, quads } = region;
    let row = thread::index_1d() as usize;
    let Some(&pose) = order.get(row) else { return };
    // SAFETY: the arrays fit each other (this kernel's contract); each thread writes what is its pose's.
    unsafe {
        let packing = *packing_of.get_unchecked(pose as usize) as usize;
        let scale = *scales.get_unchecked(if scales.len() == 1 { 0 } else { packing });
        let place = *rows.places.add(row);
        let position = place.position;
        let shape = source.shape(pose);
        // Most copies are wholly inside, and so are their circles.
        let circle = *rows.circles.add(row);
        let mut circle_inside = true;
        let mut size = T::ZERO;
        for plane in half_planes.chunks_exact(HALF_PLANE) {
            let depth = math::mul_add(scale, plane[2], Point::new(plane[0], plane[1]).dot(circle.center));
            circle_inside &= depth >= circle.radius;
            size = math::max(size, scale * plane[2]);
        }
        // Rounding does more where the region is larger than the copy.
        let nudge = (*rows.nudges.add(row)).times(T::ONE + size / shape.radius);
        let limit = nearness(nudge);
        // The least depth of a piece's corners.
        let depth = |k: u32| {
            let corners = (*rows.pieces.add((place.first + k) as usize)).corners;
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
            let corners = (*rows.pieces.add((place.first + k) as usize)).corners;
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
        *out.areas.add(pose as usize) = math::min(outside, shape.area);
        let gradient = inside.gradient();
        let to = out.gradients.add(3 * pose as usize);
        *to = -gradient.x;
        *to.add(1) = -gradient.y;
        *to.add(2) = -gradient.theta;
        // The whole boundary sweeps the double of the area, wherever it is seen from; the copy's part is moved to the
        // origin.
        let swept = inside.swept + position.cross(inside.along);
        *out.by_scale.add(pose as usize) = (swept - inside.twice_area) / scale;
    }
}
