//! Area of each copy outside a convex region.
//!
//! Each packing has its own *scale*. The region is one of these, about the origin:
//!
//! - a convex polygon times the scale (for the unit square, the scale is the side);
//! - a strip, whose height is the scale;
//! - a disk, whose radius is the scale.
//!
//! The outside area of a piece is its area minus its intersection with the region. A copy with all
//! corners inside has an outside area of exactly 0, and derivatives of 0, even if it touches the
//! boundary.
//!
//! A polygon is given as half-planes, and cut into quads like a shape. As the scale grows, its
//! edges move outwards in proportion to their distance from the origin. So the derivative of the
//! common area is the area swept, seen from the origin, by those segments of the common boundary
//! that belong to the region, divided by the scale. For a strip, it is half of the length of the
//! segments at both ends; for a disk, the length of the arcs.

use super::{
    Scalar,
    clip::{Intersection, Point, edge_near, moved, nearness, nudged},
    layout::List,
    transform::Source,
};
use cuda_std::prelude::*;

/// Numbers per half-plane: x and y of its inward normal, its offset at scale 0, and its growth per
/// unit of scale. A point is inside if `normal * point + offset + scale * growth >= 0`.
pub const HALF_PLANE: usize = 4;

/// A polygon, or a strip, at scale 1.
#[derive(Clone, Copy, Debug, KernelParam)]
pub struct Region<'a, T> {
    /// [`HALF_PLANE`] numbers for each.
    pub half_planes: &'a [T],
    /// Four corners for each.
    pub quads: &'a [Point<T>],
    /// 1 if only y is scaled; the region is then one quad, a rectangle about the origin. Otherwise
    /// 0.
    pub strip: u32,
}

/// A half-plane at a scale: its normal, and its offset.
#[inline(always)]
fn plane_at<T: Scalar>(plane: &[T], scale: T) -> (Point<T>, T) {
    (Point::new(plane[0], plane[1]), math::mul_add(scale, plane[3], plane[2]))
}

/// Moves a point that is outside half-planes back to their lines, one after the other.
/// `half_planes` has [`HALF_PLANE`] numbers per half-plane.
#[inline(always)]
pub fn kept<T: Scalar>(half_planes: &[T], scale: T, mut point: Point<T>) -> Point<T> {
    for plane in half_planes.chunks_exact(HALF_PLANE) {
        let (normal, offset) = plane_at(plane, scale);
        let depth = normal.dot(point) + offset;
        if depth < T::ZERO {
            point = point.minus(normal.times(depth));
        }
    }
    point
}

/// The length of the part of the level line at `y` that is in a convex quad, from `low` to `high`.
#[inline(always)]
fn chord<T: Scalar>(quad: &[Point<T>; 4], y: T, low: T, high: T) -> T {
    let (mut from, mut to) = (T::INFINITY, -T::INFINITY);
    for k in 0..4 {
        let (a, b) = (quad[k], quad[(k + 1) % 4]);
        if (a.y < y) != (b.y < y) {
            let x = math::mul_add((y - a.y) / (b.y - a.y), b.x - a.x, a.x);
            (from, to) = (math::min(from, x), math::max(to, x));
        }
    }
    math::max(math::min(to, high) - math::max(from, low), T::ZERO)
}

/// Areas outside and their derivatives, by pose.
#[derive(Clone, Copy, Debug, KernelParam)]
pub struct Outside<T> {
    /// The area.
    pub areas: *mut T,
    /// Its gradient.
    pub gradients: *mut T,
    /// Its derivative by the scale.
    pub by_scale: *mut T,
}

/// Computes the area outside of each copy. One thread per row of phase one. `scales` has one number
/// per packing, or one for all.
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
    let Region { half_planes, quads, strip } = region;
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
            let (normal, offset) = plane_at(plane, scale);
            circle_inside &= normal.dot(circle.center) + offset >= circle.radius;
            size = math::max(size, offset);
        }
        // Rounding does more where the region is larger than the copy.
        let nudge = (*rows.nudges.add(row)).times(T::ONE + size / shape.radius);
        let limit = nearness(nudge);
        // The least depth of a piece's corners.
        let depth = |k: u32| {
            let corners = (*rows.pieces.add((place.first + k) as usize)).corners;
            let mut least = T::INFINITY;
            for plane in half_planes.chunks_exact(HALF_PLANE) {
                let (normal, offset) = plane_at(plane, scale);
                let offset = normal.dot(position) + offset;
                for corner in corners {
                    least = math::min(least, normal.dot(corner) + offset);
                }
            }
            least
        };
        let copy_inside = circle_inside || (0..place.count).all(|k| depth(k) >= T::ZERO);
        let pieces_to_see = if copy_inside { 0 } else { place.count };
        let mut outside = T::ZERO;
        // Common part of the region and the pieces that aren't wholly inside.
        let mut inside = Intersection::NONE;
        // Length of the strip's ends inside the copy.
        let mut ends = T::ZERO;
        for k in 0..pieces_to_see {
            let depth = depth(k);
            if depth >= limit {
                continue;
            }
            let corners = (*rows.pieces.add((place.first + k) as usize)).corners;
            let mut common = Intersection::NONE;
            for quad in quads.chunks_exact(4) {
                let corner = |k: usize| Point::new(if strip == 1 { quad[k].x } else { scale * quad[k].x }, scale * quad[k].y);
                let region = [corner(0), corner(1), corner(2), corner(3)];
                let at = Point::ORIGIN.minus(position);
                common = common.plus(nudged(&corners, &region, at, nudge));
                if strip == 1 {
                    // Seen where the derivatives are.
                    let there = moved(&region, at);
                    let there = if edge_near(&corners, &there, limit) { moved(&there, nudge) } else { there };
                    let [a, _, c, _] = there;
                    let (low, high) = (math::min(a.x, c.x), math::max(a.x, c.x));
                    ends = ends + chord(&corners, a.y, low, high) + chord(&corners, c.y, low, high);
                }
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
        let by_scale = if strip == 1 { -T::HALF * ends } else { (swept - inside.twice_area) / scale };
        *out.by_scale.add(pose as usize) = by_scale;
    }
}

/// Intersection of a convex piece with a disk.
struct InDisk<T> {
    /// As an intersection, seen from the disk's centre.
    common: Intersection<T>,
    /// The angle of the disk's arcs on its boundary.
    arcs: T,
}

impl<T: Scalar> InDisk<T> {
    /// Adds the contribution of the edge from `a` to `b`, relative to the pose at `position`: a
    /// triangle up to the centre for the part inside the disk, and sectors for the rest.
    #[inline(always)]
    fn add(&mut self, a: Point<T>, b: Point<T>, position: Point<T>, square: T) {
        let edge = b.minus(a);
        let (from, to) = (a.plus(position), b.plus(position));
        let (length, along) = (edge.dot(edge), edge.dot(from));
        // The line is inside the disk between the roots of `length t^2 + 2 along t + (|from|^2 -
        // square)`.
        let side = from.cross(edge);
        let root = math::sqrt(math::max(math::mul_add(length, square, -side * side), T::ZERO));
        let share = if length > T::ZERO { T::ONE / length } else { T::ZERO };
        let start = math::max((-along - root) * share, T::ZERO);
        let end = math::min((root - along) * share, T::ONE);
        let angle = |u: Point<T>, v: Point<T>| math::atan2(u.cross(v), u.dot(v));
        if root > T::ZERO && start < end {
            let at = |place: T| Point::new(math::mul_add(place, edge.x, a.x), math::mul_add(place, edge.y, a.y));
            let (enters, leaves) = (at(start), at(end));
            if start > T::ZERO {
                self.arcs = self.arcs + angle(from, enters.plus(position));
            }
            if end < T::ONE {
                self.arcs = self.arcs + angle(leaves.plus(position), to);
            }
            let vector = leaves.minus(enters);
            let own = &mut self.common;
            own.swept = own.swept + enters.plus(position).cross(vector);
            own.along = own.along.plus(vector);
            own.squares = own.squares + vector.dot(enters.plus(leaves));
        } else {
            self.arcs = self.arcs + angle(from, to);
        }
    }
}

/// Computes the same as [`outside`](outside()) for a disk about the origin, whose radius is the
/// scale.
///
/// # Safety
/// The same as for [`outside`](outside()).
#[kernel(for T in [f32, f64], max_threads = 128)]
pub unsafe fn outside_disk<T: Scalar>(
    order: &[u32],
    source: Source<'_, T>,
    rows: List<T>,
    packing_of: &[u32],
    scales: &[T],
    out: Outside<T>,
) {
    let row = thread::index_1d() as usize;
    let Some(&pose) = order.get(row) else { return };
    // SAFETY: the arrays fit each other (this kernel's contract); each thread writes what is its pose's.
    unsafe {
        let packing = *packing_of.get_unchecked(pose as usize) as usize;
        let radius = *scales.get_unchecked(if scales.len() == 1 { 0 } else { packing });
        let square = radius * radius;
        let place = *rows.places.add(row);
        let circle = *rows.circles.add(row);
        let room = radius - circle.radius;
        let circle_inside = room >= T::ZERO && circle.center.dot(circle.center) <= room * room;
        let corners_of = |k: u32| (*rows.pieces.add((place.first + k) as usize)).corners;
        let holds = |corners: [Point<T>; 4]| {
            let mut farthest = T::ZERO;
            for corner in corners {
                let corner = corner.plus(place.position);
                farthest = math::max(farthest, corner.dot(corner));
            }
            farthest <= square
        };
        let copy_inside = circle_inside || (0..place.count).all(|k| holds(corners_of(k)));
        let pieces_to_see = if copy_inside { 0 } else { place.count };
        let mut outside = T::ZERO;
        let mut inside = InDisk { common: Intersection::NONE, arcs: T::ZERO };
        for k in 0..pieces_to_see {
            let corners = corners_of(k);
            if holds(corners) {
                continue;
            }
            let mut one = InDisk { common: Intersection::NONE, arcs: T::ZERO };
            for k in 0..4 {
                one.add(corners[k], corners[(k + 1) % 4], place.position, square);
            }
            let twice = corners[2].minus(corners[0]).cross(corners[3].minus(corners[1]));
            let common = math::mul_add(square, one.arcs, one.common.swept);
            outside = outside + T::HALF * math::max(twice - common, T::ZERO);
            inside = InDisk { common: inside.common.plus(one.common), arcs: inside.arcs + one.arcs };
        }
        *out.areas.add(pose as usize) = math::min(outside, source.shape(pose).area);
        let gradient = inside.common.gradient();
        let to = out.gradients.add(3 * pose as usize);
        *to = -gradient.x;
        *to.add(1) = -gradient.y;
        *to.add(2) = -gradient.theta;
        *out.by_scale.add(pose as usize) = -radius * inside.arcs;
    }
}
