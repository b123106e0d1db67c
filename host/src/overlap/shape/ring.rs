//! Checks the outline of a polygon, and leaves out the vertices that don't bend it.

use rstar::{
    AABB, Envelope as _, RTree,
    primitives::{GeomWithData, Rectangle},
};

use super::{
    convex::{self, Point},
    decompose::turn,
};
use crate::overlap::error::{Field, LARGEST, SMALLEST, ShapeProblem};

/// Vertices within this distance of a straight outline, or of the vertex before, are left out;
/// relative to the shape's width or height.
const STRAIGHT: f64 = 1e-13;
/// Thickness that is attributed to rounding, relative to the shape's width or height, or its
/// distance from the origin.
pub const ROUNDING: f64 = 2e-15;
/// Smallest area of a shape, relative to the square of its width or height.
const DEGENERATE: f64 = 1e-12;

/// A simple polygon, counter-clockwise, without vertices that don't bend it.
pub struct Ring {
    pub points: Vec<Point>,
    /// The original index of each point.
    indices: Vec<usize>,
    /// Thickness that is attributed to rounding.
    pub flat: f64,
}

impl Ring {
    /// Original index of the first vertex at which the ring turns inwards.
    pub fn reflex(&self) -> Option<usize> {
        let (ring, n) = (&self.points, self.points.len());
        let inwards = |index: usize| turn(ring[(index + n - 1) % n], ring[index], ring[(index + 1) % n]) < 0.0;
        (0..n).filter(|&index| inwards(index)).map(|index| self.indices[index]).min()
    }
}

/// Checks a polygon.
pub fn simple_ring(outline: &[Point]) -> Result<Ring, ShapeProblem> {
    const AXES: [Field; 2] = [Field::X, Field::Y];
    for (vertex, point) in outline.iter().enumerate() {
        for (axis, &value) in AXES.into_iter().zip(point) {
            if !value.is_finite() {
                return Err(ShapeProblem::NotFinite { vertex, axis, value });
            }
            if value.abs() >= LARGEST {
                return Err(ShapeProblem::TooLarge { vertex, axis, value });
            }
        }
    }
    let outline = match outline {
        [first, rest @ .., last] if first == last && !rest.is_empty() => &outline[..outline.len() - 1],
        _ => outline,
    };
    if outline.len() < 3 {
        return Err(ShapeProblem::TooFew { vertices: outline.len() });
    }
    let [low, high] = convex::bounds(outline);
    let extent = (high[0] - low[0]).max(high[1] - low[1]);
    if extent < SMALLEST {
        return Err(ShapeProblem::TooSmall { extent });
    }
    let largest = [low, high].as_flattened().iter().fold(extent, |largest, number| largest.max(number.abs()));
    let mut indices = bending(outline, STRAIGHT * extent);
    let mut points: Vec<_> = indices.iter().map(|&index| outline[index]).collect();
    if points.len() < 3 {
        return Err(ShapeProblem::Degenerate { area: 0.0, extent });
    }
    if let Some((first, second)) = meeting(&points) {
        let (first, second) = (indices[first], indices[second]);
        return Err(ShapeProblem::Meets { first: first.min(second), second: first.max(second) });
    }
    let area = convex::area(&points);
    if area.abs() <= DEGENERATE * extent * extent {
        return Err(ShapeProblem::Degenerate { area: area.abs(), extent });
    }
    if area < 0.0 {
        points.reverse();
        indices.reverse();
    }
    Ok(Ring { points, indices, flat: ROUNDING * largest })
}

/// Returns the vertices that bend the outline, in order: all but those within `tolerance` of the
/// vertex before, or of the straight line that replaces them.
fn bending(outline: &[Point], tolerance: f64) -> Vec<usize> {
    let n = outline.len();
    // The lowest of those farthest to the left is a corner.
    let start = (0..n).min_by(|&a, &b| outline[a][0].total_cmp(&outline[b][0]).then(outline[a][1].total_cmp(&outline[b][1])));
    let start = start.unwrap_or_default();
    let mut kept = vec![start];
    // The last vertex that may yet be dropped, and the line from the last one kept through it.
    let mut last: Option<(usize, Sleeve)> = None;
    for index in (1..=n).map(|step| (start + step) % n) {
        let from = outline[kept[kept.len() - 1]];
        let before = last.as_ref().map_or(from, |(last, _)| outline[*last]);
        if convex::distance(before, outline[index]) <= tolerance {
            continue;
        }
        let sleeve = match last.take() {
            Some((last, sleeve)) => sleeve.extended(outline[index], tolerance).unwrap_or_else(|| {
                kept.push(last);
                Sleeve::new(outline[last], outline[index], tolerance)
            }),
            None => Sleeve::new(from, outline[index], tolerance),
        };
        last = Some((index, sleeve));
    }
    // Back at the start: the last vertex is the start itself or within tolerance of it, or it is
    // kept.
    if let Some((last, _)) = last
        && last != start
        && convex::distance(outline[last], outline[start]) > tolerance
    {
        kept.push(last);
    }
    let first = kept.iter().enumerate().min_by_key(|(_, index)| **index).map_or(0, |(place, _)| place);
    kept.rotate_left(first);
    kept
}

/// All directions of lines from a point that pass close to some other points.
struct Sleeve {
    from: Point,
    /// The direction that slopes are measured from, of length 1.
    along: Point,
    /// Distance of the last point along it.
    reach: f64,
    low: f64,
    high: f64,
}

impl Sleeve {
    fn new(from: Point, through: Point, tolerance: f64) -> Self {
        let reach = convex::distance(from, through);
        let along = [(through[0] - from[0]) / reach, (through[1] - from[1]) / reach];
        Sleeve { from, along, reach, low: -tolerance / reach, high: tolerance / reach }
    }

    /// Extends the sleeve to the next point, unless the line to it misses an earlier point or turns
    /// back.
    fn extended(mut self, to: Point, tolerance: f64) -> Option<Self> {
        let (x, y) = (to[0] - self.from[0], to[1] - self.from[1]);
        let reach = x * self.along[0] + y * self.along[1];
        let slope = (y * self.along[0] - x * self.along[1]) / reach;
        if reach <= self.reach || !(self.low..=self.high).contains(&slope) {
            return None;
        }
        self.reach = reach;
        self.low = self.low.max(slope - tolerance / reach);
        self.high = self.high.min(slope + tolerance / reach);
        Some(self)
    }
}

/// Returns the first two edges that have a point in common other than the vertex between them.
fn meeting(ring: &[Point]) -> Option<(usize, usize)> {
    let n = ring.len();
    let edge = |index: usize| [ring[index], ring[(index + 1) % n]];
    let boxes = (0..n).map(|index| {
        let [from, to] = edge(index);
        GeomWithData::new(Rectangle::from_corners(from, to), index)
    });
    let tree = RTree::bulk_load(boxes.collect());
    let meet = |first: usize, second: usize| {
        let ([a, b], [c, d]) = (edge(first), edge(second));
        if second == first + 1 {
            return turns_back(a, b, d);
        }
        if (second + 1) % n == first {
            return turns_back(c, a, b);
        }
        edges_meet([a, b], [c, d])
    };
    (0..n).find_map(|first| {
        let [from, to] = edge(first);
        let near = tree.locate_in_envelope_intersecting(&AABB::from_corners(from, to)).map(|other| other.data);
        near.filter(|&second| second > first && meet(first, second)).min().map(|second| (first, second))
    })
}

/// Returns whether two edges have a point in common.
fn edges_meet([a, b]: [Point; 2], [c, d]: [Point; 2]) -> bool {
    let (c_side, d_side) = (turn(a, b, c), turn(a, b, d));
    let (a_side, b_side) = (turn(c, d, a), turn(c, d, b));
    let cross = opposite(c_side, d_side) && opposite(a_side, b_side);
    let touches =
        |side: f64, from: Point, to: Point, point: Point| side == 0.0 && AABB::from_corners(from, to).contains_point(&point);
    cross || touches(c_side, a, b, c) || touches(d_side, a, b, d) || touches(a_side, c, d, a) || touches(b_side, c, d, b)
}

/// Checks that holes are inside of the outline, and apart from it and from each other.
pub fn check_holes(outline: &Ring, holes: &[Ring]) -> Result<(), ShapeProblem> {
    let rings: Vec<&[Point]> = [outline].into_iter().chain(holes).map(|ring| &ring.points[..]).collect();
    let tree = Edges::of(&rings);
    let boxes = rings.iter().enumerate().map(|(ring, points)| {
        let [low, high] = convex::bounds(*points);
        GeomWithData::new(Rectangle::from_corners(low, high), ring)
    });
    let boxes = RTree::bulk_load(boxes.collect());
    for ring in 1..rings.len() {
        let meeting = edges(rings[ring]).find_map(|edge| tree.meeting(edge).filter(|&other| other != ring).min());
        let start = rings[ring][0];
        let around = boxes.locate_all_at_point(&start).map(|other| other.data);
        let around: Vec<_> = around.filter(|&other| other != ring && is_inside(rings[other], start)).collect();
        let hole = ring - 1;
        match meeting.or_else(|| around.iter().copied().filter(|&other| other > 0).min()) {
            Some(other) => return Err(ShapeProblem::HoleMeets { hole, other: other.checked_sub(1) }),
            None if around.is_empty() => return Err(ShapeProblem::HoleOutside { hole }),
            None => {}
        }
    }
    Ok(())
}

/// Tells of each hole whether it is wholly outside of the outline. No hole may contain the outline.
pub fn are_beside<'a>(outline: &[Point], holes: impl IntoIterator<Item = &'a [Point]>) -> Vec<bool> {
    let tree = Edges::of(&[outline]);
    let meets = |hole| edges(hole).any(|edge| tree.meeting(edge).next().is_some());
    holes.into_iter().map(|hole| !is_inside(outline, hole[0]) && !meets(hole)).collect()
}

/// An edge, with its ring's number.
type Edge = GeomWithData<Rectangle<Point>, (usize, [Point; 2])>;

/// The edges of several rings.
struct Edges(RTree<Edge>);

impl Edges {
    fn of(rings: &[&[Point]]) -> Self {
        let of_ring = |(ring, points): (usize, &&[Point])| -> Vec<_> {
            edges(points).map(|[from, to]| GeomWithData::new(Rectangle::from_corners(from, to), (ring, [from, to]))).collect()
        };
        Edges(RTree::bulk_load(rings.iter().enumerate().flat_map(of_ring).collect()))
    }

    /// Returns the rings of edges that have a point in common with an edge.
    fn meeting(&self, edge: [Point; 2]) -> impl Iterator<Item = usize> {
        let near = self.0.locate_in_envelope_intersecting(&AABB::from_corners(edge[0], edge[1])).map(|other| other.data);
        near.filter(move |&(_, its)| edges_meet(edge, its)).map(|(ring, _)| ring)
    }
}

/// The edges of a ring.
fn edges(ring: &[Point]) -> impl Iterator<Item = [Point; 2]> + '_ {
    (0..ring.len()).map(|index| [ring[index], ring[(index + 1) % ring.len()]])
}

/// Returns whether a point is inside of a simple polygon. (On its edges either may be returned.)
pub fn is_inside(ring: &[Point], point: Point) -> bool {
    let crossed = (0..ring.len()).filter(|&index| {
        let (from, to) = (ring[index], ring[(index + 1) % ring.len()]);
        (from[1] > point[1]) != (to[1] > point[1]) && (turn(from, to, point) > 0.0) == (to[1] > from[1])
    });
    crossed.count() % 2 == 1
}

/// Returns whether the edge from b to c runs back over the edge from a to b.
fn turns_back(a: Point, b: Point, c: Point) -> bool {
    turn(a, b, c) == 0.0 && (a[0] - b[0]) * (c[0] - b[0]) + (a[1] - b[1]) * (c[1] - b[1]) > 0.0
}

/// Returns whether one number is positive and the other is negative.
fn opposite(a: f64, b: f64) -> bool {
    a > 0.0 && b < 0.0 || a < 0.0 && b > 0.0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn vertices_that_bend() {
        let ring = [[1.0, 0.0], [2.0, 0.0], [2.0, 2.0], [2.0, 2.0], [1.0, 2.0], [0.0, 2.0], [0.0, 1.0], [0.0, 0.0]];
        assert_eq!(bending(&ring, 1e-13), [1, 2, 5, 7]);
        // Out and back, each on the same line.
        assert_eq!(bending(&[[0.0, 0.0], [1.0, 0.0], [2.0, 0.0], [1.0, 0.0]], 1e-13), [0, 2]);
        // Each bend is below the tolerance, and all of them together are not.
        let arc: Vec<Point> =
            (0..=100).map(|step| f64::from(step) / 100.0).map(|x| [x, 1e-10 * x * x]).chain([[0.0, 1.0]]).collect();
        let kept = bending(&arc, 1e-13);
        assert!((5..40).contains(&kept.len()), "{}", kept.len());
    }
}
