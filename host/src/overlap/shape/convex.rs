//! Convex polygons on the host.

use std::f64::consts::{FRAC_PI_6, TAU};

/// Largest distance of a [`rounded`] corner beyond the wanted one, relative to that.
const MOST_BEYOND: f64 = 0.04;

/// x and y, in length units.
pub type Point = [f64; 2];

/// Returns the vertices of the intersection of two convex polygons, counter-clockwise like theirs.
/// Vertices may repeat. The result is empty if the polygons have no area in common.
///
/// This is for pictures and checks. It clips the first polygon by the second's edges, one after the
/// other.
pub fn convex_intersection(first: &[Point], second: &[Point]) -> Vec<Point> {
    let mut ring = first.to_vec();
    let mut clipped = Vec::with_capacity(first.len() + second.len());
    for (index, &from) in second.iter().enumerate() {
        let to = second[(index + 1) % second.len()];
        clipped.clear();
        for (index, &start) in ring.iter().enumerate() {
            let end = ring[(index + 1) % ring.len()];
            let (before, after) = (cross(from, to, start), cross(from, to, end));
            if before >= 0.0 {
                clipped.push(start);
            }
            if (before < 0.0) != (after < 0.0) {
                let share = before / (before - after);
                clipped.push([start[0] + share * (end[0] - start[0]), start[1] + share * (end[1] - start[1])]);
            }
        }
        std::mem::swap(&mut ring, &mut clipped);
    }
    if area(&ring) > 0.0 { ring } else { Vec::new() }
}

/// Twice the area of the triangle: positive if it is counter-clockwise.
pub fn cross(a: Point, b: Point, c: Point) -> f64 {
    (b[0] - a[0]) * (c[1] - a[1]) - (b[1] - a[1]) * (c[0] - a[0])
}

/// Area of a polygon: positive if its vertices are in counter-clockwise order.
pub fn area(ring: &[Point]) -> f64 {
    let [low, high] = bounds(ring);
    // Relative to the middle, so that the distance from the origin costs no digits.
    let middle = [0.5 * (low[0] + high[0]), 0.5 * (low[1] + high[1])];
    0.5 * sum((0..ring.len()).map(|index| cross(middle, ring[index], ring[(index + 1) % ring.len()])))
}

/// Returns the polygon with its edges moved outwards by `margin`. Sharp corners move by about ten
/// margins at most.
pub fn grown(ring: &[Point], margin: f64) -> Vec<Point> {
    let n = ring.len();
    let normal = |index: usize| {
        let (from, to) = (ring[index % n], ring[(index + 1) % n]);
        let length = distance(from, to);
        [(to[1] - from[1]) / length, (from[0] - to[0]) / length]
    };
    let corner = |index: usize| {
        let ([a, b], [c, d]) = (normal(index + n - 1), normal(index));
        let factor = margin / (1.0 + a * c + b * d).max(0.02);
        [ring[index][0] + factor * (a + c), ring[index][1] + factor * (b + d)]
    };
    (0..n).map(corner).collect()
}

/// Returns the lines along the edges of a convex polygon, and its tangents across `directions`. Each has its direction out of the
/// polygon, and two points with the polygon on the left. They are sorted by direction.
pub fn limits(hull: &[Point], directions: &[f64]) -> Vec<(f64, [Point; 2])> {
    let side = |index: usize| [hull[index], hull[(index + 1) % hull.len()]];
    let edges = (0..hull.len()).map(side).map(|[from, to]| (outwards(from, to), [from, to]));
    let others = directions.iter().filter_map(|&direction| {
        let (sine, cosine) = direction.sin_cos();
        let reach = |[x, y]: &Point| x * cosine + y * sine;
        let from = *hull.iter().max_by(|a, b| reach(a).total_cmp(&reach(b)))?;
        let to = [from[0] - sine, from[1] + cosine];
        Some((outwards(from, to), [from, to]))
    });
    let mut limits: Vec<_> = edges.chain(others).collect();
    limits.sort_by(|a, b| a.0.total_cmp(&b.0));
    limits
}

/// Returns the direction to the right of a line.
fn outwards(from: Point, to: Point) -> f64 {
    (from[0] - to[0]).atan2(to[1] - from[1])
}

/// Returns a polygon around all that is within a distance of the polygon. Around corners it has tangents to the circle,
/// 30 degrees apart at most. A corner at one of the [`limits`] of a hull that contains the polygon has a tangent parallel to
/// that: so the hull grows there by no more than the distance.
pub fn rounded(ring: &[Point], length: f64, limits: &[(f64, [Point; 2])]) -> Vec<Point> {
    /// Angle between tangents that are taken for one.
    const SAME: f64 = 1e-9;
    let n = ring.len();
    let corner = |index: usize| {
        let at = ring[index];
        let before = outwards(ring[(index + n - 1) % n], at);
        let turned = |direction: f64| (direction - before).rem_euclid(TAU);
        let end = turned(outwards(at, ring[(index + 1) % n]));
        // The limits between the directions of both edges, which may be on both sides of the largest one.
        let (below, above) = limits.split_at(limits.partition_point(|(direction, _)| *direction < before));
        let between = above.iter().chain(below).map(|(direction, side)| (turned(*direction), side));
        let near = between.take_while(|(tangent, _)| *tangent < end - SAME).filter(|(tangent, [from, to])| {
            *tangent >= SAME && cross(*from, *to, at) <= MOST_BEYOND * length * distance(*from, *to)
        });
        let mut tangents: Vec<f64> = std::iter::once(0.0).chain(near.map(|(tangent, _)| tangent)).collect();
        tangents.dedup_by(|next, last| *next - *last < SAME);
        tangents.push(end);
        let mut corners = Vec::new();
        for pair in tangents.windows(2) {
            let turn = pair[1] - pair[0];
            let steps = (turn / FRAC_PI_6).ceil().max(1.0);
            let half = 0.5 * turn / steps;
            corners.extend((0..steps as usize).map(|step| {
                let (sine, cosine) = (before + pair[0] + half * (2 * step + 1) as f64).sin_cos();
                let reach = length / half.cos();
                [at[0] + reach * cosine, at[1] + reach * sine]
            }));
        }
        corners
    };
    (0..n).flat_map(corner).collect()
}

/// Returns the corners of the convex hull of points, counter-clockwise (A. M. Andrew, *Another
/// Efficient Algorithm for Convex Hulls in Two Dimensions*, 1979).
pub fn hull(mut points: Vec<Point>) -> Vec<Point> {
    points.sort_by(|a, b| a[0].total_cmp(&b[0]).then(a[1].total_cmp(&b[1])));
    points.dedup();
    let chain = |points: &mut dyn Iterator<Item = Point>| {
        let mut chain: Vec<Point> = Vec::new();
        for point in points {
            while let [.., a, b] = chain[..]
                && cross(a, b, point) <= 0.0
            {
                chain.pop();
            }
            chain.push(point);
        }
        chain.pop();
        chain
    };
    let (lower, upper) = (chain(&mut points.iter().copied()), chain(&mut points.iter().rev().copied()));
    if lower.is_empty() { points } else { [lower, upper].concat() }
}

/// Returns a sum of many terms with an error of about one rounding (Neumaier's algorithm).
pub fn sum(terms: impl IntoIterator<Item = f64>) -> f64 {
    let (mut sum, mut lost) = (0.0f64, 0.0);
    for term in terms {
        let next = sum + term;
        lost += if sum.abs() >= term.abs() { (sum - next) + term } else { (term - next) + sum };
        sum = next;
    }
    sum + lost
}

/// The corners of the smallest box with sides along the axes.
pub fn bounds<'a>(points: impl IntoIterator<Item = &'a Point>) -> [Point; 2] {
    let none = [[f64::INFINITY; 2], [f64::NEG_INFINITY; 2]];
    points.into_iter().fold(none, |[low, high], point| {
        [[low[0].min(point[0]), low[1].min(point[1])], [high[0].max(point[0]), high[1].max(point[1])]]
    })
}

/// The points' distance.
pub fn distance(a: Point, b: Point) -> f64 {
    (b[0] - a[0]).hypot(b[1] - a[1])
}

#[cfg(test)]
mod tests {
    use super::*;

    const SQUARE: [Point; 4] = [[0.0, 0.0], [1.0, 0.0], [1.0, 1.0], [0.0, 1.0]];

    fn moved(ring: &[Point], x: f64, y: f64) -> Vec<Point> {
        ring.iter().map(|point| [point[0] + x, point[1] + y]).collect()
    }

    #[test]
    fn hulls() {
        let inner = [[0.5, 0.5], [0.5, 0.0], [1.0, 0.25]];
        assert_eq!(hull([&SQUARE[..], &inner, &SQUARE].concat()), SQUARE);
        assert_eq!(hull(vec![[1.0, 2.0], [1.0, 2.0]]), [[1.0, 2.0]]);
        assert_eq!(hull(vec![[0.0, 0.0], [2.0, 2.0], [1.0, 1.0]]), [[0.0, 0.0], [2.0, 2.0]]);
    }

    #[test]
    fn areas_in_closed_form() {
        assert_eq!((area(&SQUARE), area(&[]), area(&SQUARE[..2])), (1.0, 0.0, 0.0));
        assert_eq!(sum([1e16, 1.0, 1.0, -1e16]), 2.0);
        assert_eq!(area(&[[0.0, 0.0], [0.0, 1.0], [1.0, 0.0]]), -0.5);
        for (x, y, common) in [
            (0.0, 0.0, 1.0),
            (0.25, 0.5, 0.375),
            (-0.25, -0.5, 0.375),
            (1.0, 0.0, 0.0),
            (1.0, 1.0, 0.0),
            (2.0, 0.0, 0.0),
            (0.0, 1e-12, 1.0 - 1e-12),
        ] {
            let ring = convex_intersection(&SQUARE, &moved(&SQUARE, x, y));
            assert!((area(&ring) - common).abs() < 1e-15, "{x} {y} {ring:?}");
            assert!(common > 0.0 || ring.is_empty());
        }
        let diamond = [[0.5, -0.5], [1.5, 0.5], [0.5, 1.5], [-0.5, 0.5]];
        assert!((area(&convex_intersection(&SQUARE, &diamond)) - 1.0).abs() < 1e-15, "the square is inside");
        let small = [[0.5, 0.0], [1.0, 0.5], [0.5, 1.0], [0.0, 0.5]];
        assert_eq!(area(&convex_intersection(&SQUARE, &small)), 0.5);
        assert_eq!(area(&convex_intersection(&small, &SQUARE)), 0.5);
    }
}
