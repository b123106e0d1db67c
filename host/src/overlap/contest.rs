//! The rules of Kaggle's Santa 2025, and their violations: [`Check`].
//!
//! A packing has 1 to [`MOST_TREES`] trees, |x| and |y| are at most [`BOUND`], and no two trees
//! overlap. A submission has one packing of each size. The contest computes in double precision: it
//! turns and moves the vertices of both trees, rounds each, and then decides exactly whether their
//! interiors meet. Its rounding thus decides whether trees that touch overlap. Here, trees overlap
//! if one would have to move by more than the [`tolerance`] of their poses, which bounds that
//! rounding, for their interiors to be apart: then they overlap in the contest, too. Trees so near
//! to each other that rounding decides are listed separately.

use rayon::prelude::*;

use super::{
    Packings, Point, Shape,
    convex::{area, bounds, convex_intersection, cross, distance, sum},
    error::Field,
};

/// Maximum number of trees in a packing.
pub const MOST_TREES: usize = 200;
/// Maximum magnitude of x and y.
pub const BOUND: f64 = 100.0;

/// The violations of the rules in some packings.
#[derive(Clone, Debug, Default, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
#[non_exhaustive]
pub struct Check {
    /// Sizes that a submission lacks.
    pub missing: Vec<usize>,
    /// Packings with no trees or too many. Their trees are not compared with each other.
    pub sizes: Vec<usize>,
    /// Positions out of bounds.
    pub outside: Vec<OutOfBounds>,
    /// Trees that overlap, largest common area first.
    pub overlaps: Vec<Meeting>,
    /// Trees so near to each other that rounding decides.
    pub touching: Vec<Meeting>,
}

/// A coordinate out of bounds.
#[derive(Clone, Copy, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
pub struct OutOfBounds {
    /// The packing.
    pub packing: usize,
    /// Index of the pose in the packing.
    pub pose: usize,
    /// The coordinate.
    pub field: Field,
    /// Its value.
    pub value: f64,
}

/// Two poses of a packing that meet.
#[derive(Clone, Copy, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
pub struct Meeting {
    /// The packing.
    pub packing: usize,
    /// Index in the packing of the first pose.
    pub first: usize,
    /// Index in the packing of the second pose, which is larger.
    pub second: usize,
    /// Area that they have in common.
    pub area: f64,
    /// Depth of the overlap (length): the distance that some convex piece of one would have to move
    /// to be apart from a piece of the other. If they are apart, minus their distance.
    pub depth: f64,
}

impl Check {
    /// Checks packings of these shapes, which are named by their indices.
    ///
    /// # Panics
    /// If a pose has a shape that doesn't exist.
    pub fn of(packings: &Packings, shapes: &[Shape]) -> Self {
        let right_size = |packing: &usize| (1..=MOST_TREES).contains(&packings.get(*packing).len());
        let (right, sizes): (Vec<_>, Vec<_>) = (0..packings.len()).partition(right_size);
        let outside = packings.poses().iter().enumerate().flat_map(|(index, pose)| {
            let (packing, at) = packings.locate(index);
            let field = [Field::X, Field::Y].into_iter().zip(*pose).find(|(_, value)| value.abs() > BOUND);
            field.map(|(field, value)| OutOfBounds { packing, pose: at, field, value })
        });
        let outside = outside.collect();
        let meetings = right.into_par_iter().flat_map_iter(|packing| meetings(packings, packing, shapes));
        let (mut overlaps, touching): (Vec<_>, Vec<_>) = meetings.partition_map(|(meeting, overlap)| match overlap {
            true => rayon::iter::Either::Left(meeting),
            false => rayon::iter::Either::Right(meeting),
        });
        // Equal areas stay in the order of their packings.
        overlaps.sort_by(|a, b| b.area.total_cmp(&a.area));
        Check { missing: Vec::new(), sizes, outside, overlaps, touching }
    }

    /// Checks a submission. Its packings are named by their numbers of trees.
    ///
    /// # Panics
    /// As [`of`](Self::of).
    pub fn of_submission(packings: &Packings, shapes: &[Shape]) -> Self {
        let mut check = Check::of(packings, shapes);
        let size = |packing: usize| packings.get(packing).len();
        check.sizes.iter_mut().for_each(|packing| *packing = size(*packing));
        check.outside.iter_mut().for_each(|found| found.packing = size(found.packing));
        check.overlaps.iter_mut().chain(&mut check.touching).for_each(|meeting| meeting.packing = size(meeting.packing));
        check.missing = (1..=MOST_TREES).filter(|wanted| (0..packings.len()).all(|packing| size(packing) != *wanted)).collect();
        check
    }

    /// Returns true if the rules are kept.
    pub fn is_valid(&self) -> bool {
        self.missing.is_empty() && self.sizes.is_empty() && self.outside.is_empty() && self.overlaps.is_empty()
    }
}

/// Upper bound of the rounding errors of the contest and of [`Check`] together, as a length, for
/// two poses of shapes of these reaches. A reach is the distance of the farthest vertex from the
/// frame's origin. The bound is 1e-14 near the origin, and 2e-13 at the bounds.
///
/// Let u be the unit roundoff. Both round a vertex's position when they read it and when they move
/// it: 4 u of its coordinates. The angle (up to a turn) is rounded twice when it becomes radians,
/// and the turned vertex by 3 u: 32 u of the reach.
pub fn tolerance(poses: [[f64; 3]; 2], reaches: [f64; 2]) -> f64 {
    let of = |[x, y, _]: [f64; 3], reach: f64| 0.5 * f64::EPSILON * (4.0 * x.abs().max(y.abs()) + 32.0 * reach);
    std::f64::consts::SQRT_2 * (of(poses[0], reaches[0]) + of(poses[1], reaches[1]))
}

/// The distance of a shape's farthest vertex from its frame's origin.
fn reach(shape: &Shape) -> f64 {
    shape.pieces().iter().flatten().map(|vertex| distance([0.0, 0.0], *vertex)).fold(0.0, f64::max)
}

/// The pairs of a packing that overlap or touch, in the order of their poses, and whether they
/// overlap.
pub(super) fn meetings(packings: &Packings, packing: usize, shapes: &[Shape]) -> Vec<(Meeting, bool)> {
    let (poses, range) = (packings.get(packing), packings.range(packing));
    let shape_of = |pose: usize| packings.shape_of(range.start + pose) as usize;
    let reaches: Vec<f64> = shapes.iter().map(reach).collect();
    let farthest = reaches.iter().copied().fold(0.0, f64::max);
    // Turned, but not moved: the results for a pair depend only on the difference of positions. Each piece with its box.
    let of = |pose: usize| {
        let pieces = shapes[shape_of(pose)].posed_pieces([0.0, 0.0, poses[pose][2]]);
        pieces.map(|piece| (bounds(&piece), piece)).collect()
    };
    let turned: Vec<Vec<([Point; 2], Vec<Point>)>> = (0..poses.len()).map(of).collect();
    let boxes: Vec<[Point; 2]> = turned.iter().map(|pieces| bounds(pieces.iter().flat_map(|(corners, _)| corners))).collect();
    let meeting = |first: usize, second: usize| {
        let pair = [poses[first], poses[second]];
        let tolerance = tolerance(pair, [reaches[shape_of(first)], reaches[shape_of(second)]]);
        let by = [pair[1][0] - pair[0][0], pair[1][1] - pair[0][1]];
        let near = |one: &[Point; 2], other: &[Point; 2]| {
            let beyond = |axis: usize| (other[0][axis] + by[axis] - one[1][axis]).max(one[0][axis] - other[1][axis] - by[axis]);
            beyond(0).max(beyond(1)) <= tolerance
        };
        if !near(&boxes[first], &boxes[second]) {
            return None;
        }
        let moved =
            |piece: &Vec<Point>| -> Vec<Point> { piece.iter().map(|point| [point[0] + by[0], point[1] + by[1]]).collect() };
        let mut pieces = Vec::new();
        for (box_, other) in &turned[second] {
            let mut near = turned[first].iter().filter(|(own, _)| near(own, box_)).peekable();
            let other = near.peek().map(|_| moved(other)).unwrap_or_default();
            pieces.extend(near.map(|(_, one)| (one, other.clone())));
        }
        let depth = pieces.iter().map(|(one, other)| -separation(one, other)).fold(f64::NEG_INFINITY, f64::max);
        (depth >= -tolerance).then(|| {
            let area = sum(pieces.iter().map(|(one, other)| area(&convex_intersection(one, other)).max(0.0)));
            (Meeting { packing, first, second, area, depth }, depth > tolerance)
        })
    };
    // From left to right, by the left sides of boxes. Those beyond the right side can't meet.
    let side = |pose: usize, side: usize| poses[pose][0] + boxes[pose][side][0];
    let mut order: Vec<usize> = (0..poses.len()).collect();
    order.sort_by(|&a, &b| side(a, 0).total_cmp(&side(b, 0)));
    let of = |at: usize| {
        let first = order[at];
        let most = side(first, 1) + 2.0 * tolerance([poses[first]; 2], [farthest; 2]);
        let near = order[at + 1..].iter().take_while(move |&&second| side(second, 0) <= most);
        near.filter_map(move |&second| meeting(first.min(second), first.max(second)))
    };
    let mut found: Vec<_> = (0..order.len()).into_par_iter().flat_map_iter(of).collect();
    found.sort_by_key(|(meeting, _)| (meeting.first, meeting.second));
    found
}

/// The distance of two convex polygons along the normal of an edge, maximised over all edges of
/// both. If they overlap, it is negative: minus the distance that one must move to be apart.
pub(super) fn separation(one: &[Point], other: &[Point]) -> f64 {
    let along_edges_of = |ring: &[Point], other: &[Point]| {
        let edges = (0..ring.len()).map(|index| (ring[index], ring[(index + 1) % ring.len()]));
        edges
            .map(|(from, to)| {
                // Outside is to the right of an edge.
                let outside = other.iter().map(|&point| -cross(from, to, point)).fold(f64::INFINITY, f64::min);
                outside / distance(from, to)
            })
            .fold(f64::NEG_INFINITY, f64::max)
    };
    along_edges_of(one, other).max(along_edges_of(other, one))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn distances_of_squares() {
        let square = |x: f64, y: f64| vec![[x, y], [x + 1.0, y], [x + 1.0, y + 1.0], [x, y + 1.0]];
        for ([x, y], expected) in
            [([1.5, 0.0], 0.5), ([0.75, 0.5], -0.25), ([1.0, 1.0], 0.0), ([-3.0, 2.0], 2.0), ([0.0, 0.0], -1.0)]
        {
            assert_eq!(separation(&square(0.0, 0.0), &square(x, y)), expected, "{x} {y}");
        }
    }
}
