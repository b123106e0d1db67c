//! Outlines of fewer vertices around a shape.

use super::{convex::Point, decompose::turn};

/// A ring with the shape to its left, while it becomes simpler.
struct Outline {
    points: Vec<Point>,
    /// For each point's edge to the next one, the largest distance from the original ring.
    distances: Vec<f64>,
    /// For each point, that distance once it is left out, and once its edge is: infinite if it can't be.
    costs: Vec<[f64; 2]>,
}

/// Returns rings around a shape, at most `tolerance` away from its own: the first one is counter-clockwise, those of holes are
/// clockwise, and no two edges meet but at the vertex between them.
pub fn simplified(rings: &[Vec<Point>], tolerance: f64) -> Vec<Vec<Point>> {
    let outline = |ring: &Vec<Point>| {
        let n = ring.len();
        let mut outline = Outline { points: ring.clone(), distances: vec![0.0; n], costs: vec![[f64::INFINITY; 2]; n] };
        (0..n).for_each(|at| outline.weigh(at));
        outline
    };
    let mut outlines: Vec<Outline> = rings.iter().map(outline).collect();
    for number in 0..outlines.len() {
        while outlines[number].points.len() > 3
            && let Some((cost, at, whole)) = outlines[number].cheapest()
            && cost <= tolerance
        {
            let own = &outlines[number];
            let triangle = if whole { own.beyond(at) } else { Some(own.around(at)) };
            if let Some(triangle) = triangle.filter(|triangle| is_free(&outlines, triangle, whole)) {
                outlines[number].apply(at, cost, whole.then_some(triangle[1]));
            } else {
                outlines[number].costs[at][usize::from(whole)] = f64::INFINITY;
            }
        }
    }
    outlines.into_iter().map(|outline| outline.points).collect()
}

impl Outline {
    /// The point that is so many steps after a point, or before it.
    fn index(&self, at: usize, by: isize) -> usize {
        (at as isize + by).rem_euclid(self.points.len() as isize) as usize
    }

    fn point(&self, at: usize, by: isize) -> Point {
        self.points[self.index(at, by)]
    }

    /// The triangle that is added without a point at which the ring turns right.
    fn around(&self, at: usize) -> [Point; 3] {
        [-1, 0, 1].map(|by| self.point(at, by))
    }

    /// The triangle that is added if the edges around a point's edge are extended until they meet. None if they don't.
    fn beyond(&self, at: usize) -> Option<[Point; 3]> {
        let [a, b, c, d] = [-1, 0, 1, 2].map(|by| self.point(at, by));
        let (u, v) = ([b[0] - a[0], b[1] - a[1]], [c[0] - d[0], c[1] - d[1]]);
        let across = u[1] * v[0] - u[0] * v[1];
        if turn(a, b, c) <= 0.0 || turn(b, c, d) <= 0.0 || across <= 0.0 {
            return None;
        }
        let along = ((c[1] - b[1]) * v[0] - (c[0] - b[0]) * v[1]) / across;
        Some([b, [b[0] + along * u[0], b[1] + along * u[1]], c])
    }

    /// Computes the costs of a point.
    fn weigh(&mut self, at: usize) {
        let [a, b, c] = self.around(at);
        let before = self.distances[self.index(at, -1)];
        let inwards = turn(a, b, c) <= 0.0;
        let point = if inwards { height([a, b, c]) + before.max(self.distances[at]) } else { f64::INFINITY };
        let edge = self.beyond(at).map_or(f64::INFINITY, |[b, corner, c]| height([b, corner, c]) + self.distances[at]);
        self.costs[at] = [point, edge];
    }

    /// The least cost, its point, and whether it is that of the point's edge.
    fn cheapest(&self) -> Option<(f64, usize, bool)> {
        let costs = self.costs.iter().enumerate().flat_map(|(at, &[point, edge])| [(point, at, false), (edge, at, true)]);
        costs.min_by(|a, b| a.0.total_cmp(&b.0)).filter(|cost| cost.0.is_finite())
    }

    /// Leaves out a point, or its edge, in whose place comes a corner.
    fn apply(&mut self, at: usize, cost: f64, corner: Option<Point>) {
        let (before, after) = (self.index(at, -1), self.index(at, 1));
        self.distances[before] = self.distances[before].max(cost);
        if let Some(corner) = corner {
            self.points[after] = corner;
            self.distances[after] = self.distances[after].max(cost);
        }
        self.points.remove(at);
        self.distances.remove(at);
        self.costs.remove(at);
        for by in -3..=2 {
            self.weigh(self.index(at, by));
        }
    }
}

/// Distance of a triangle's second corner from the line through the others.
fn height([a, b, c]: [Point; 3]) -> f64 {
    turn(a, b, c).abs() / (c[0] - a[0]).hypot(c[1] - a[1])
}

/// Returns whether no other vertex is in a triangle that is added, and if its second corner is new, no other edge meets the
/// two edges there.
fn is_free(outlines: &[Outline], triangle: &[Point; 3], is_new: bool) -> bool {
    let [a, b, c] = *triangle;
    let inside = |&point: &Point| {
        let turns = [turn(a, b, point), turn(b, c, point), turn(c, a, point)];
        turns.iter().all(|&turn| turn >= 0.0) || turns.iter().all(|&turn| turn <= 0.0)
    };
    let meet = |[from, to]: [Point; 2], [start, end]: [Point; 2]| {
        turn(from, to, start) * turn(from, to, end) <= 0.0 && turn(start, end, from) * turn(start, end, to) <= 0.0
    };
    let ends = |point: Point| point == a || point == c || !is_new && point == b;
    outlines.iter().all(|Outline { points, .. }| {
        let edges = points.iter().zip(points.iter().cycle().skip(1));
        points.iter().all(|point| ends(*point) || !inside(point))
            && (!is_new
                || edges
                    .into_iter()
                    .all(|(&from, &to)| ends(from) || ends(to) || !meet([from, to], [a, b]) && !meet([from, to], [b, c])))
    })
}

#[cfg(test)]
mod tests {
    use std::f64::consts::TAU;

    use super::*;
    use crate::overlap::shape::{convex, ring::is_inside};

    fn circle(center: Point, radius: f64, vertices: usize) -> Vec<Point> {
        let angle = |vertex: usize| TAU * vertex as f64 / vertices as f64;
        (0..vertices).map(|vertex| [center[0] + radius * angle(vertex).cos(), center[1] + radius * angle(vertex).sin()]).collect()
    }

    /// A circle's polygon from outside has about as few vertices as any within the tolerance; a hole's is within the hole.
    #[test]
    fn circles_with_holes() {
        let hole: Vec<Point> = circle([0.1, 0.2], 0.5, 2000).into_iter().rev().collect();
        for tolerance in [1e-2, 1e-3, 1e-4] {
            let rings = simplified(&[circle([0.0; 2], 1.0, 2000), hole.clone()], tolerance);
            for (ring, center, radius) in [(&rings[0], [0.0; 2], 1.0), (&rings[1], [0.1, 0.2], 0.5)] {
                let far = |point: &Point| (point[0] - center[0]).hypot(point[1] - center[1]) / radius - 1.0;
                let least = TAU / 2.0 / (1.0 / (1.0 + tolerance / radius)).acos();
                assert!((ring.len() as f64) < 3.0 * least, "{tolerance}: {} {least}", ring.len());
                assert!(ring.iter().all(|point| far(point).abs() <= 1.01 * tolerance / radius + 2e-6), "{tolerance}");
            }
            // Rounding apart.
            assert!(circle([0.0; 2], 1.0 - 1e-12, 2000).iter().all(|&point| is_inside(&rings[0], point)));
            assert!(circle([0.1, 0.2], 0.5 + 1e-12, 2000).iter().all(|&point| !is_inside(&rings[1], point)));
            let area = convex::area(&rings[0]);
            assert!(area > std::f64::consts::PI * 0.99999 && area < std::f64::consts::PI * (1.0 + 3.0 * tolerance));
        }
    }

    /// A narrow slot stays open: a vertex or edge whose triangle others are in is kept.
    #[test]
    fn vertices_in_the_way_stay() {
        // A slot of width 0.001 whose walls are bent.
        let ring = [
            [0.0, 0.0],
            [4.0, 0.0],
            [4.0, 2.0],
            [2.001, 2.0],
            [2.002, 1.0],
            [2.001, 0.5],
            [2.0, 0.5],
            [2.001, 1.0],
            [2.0, 2.0],
            [0.0, 2.0],
        ];
        let rings = simplified(&[ring.to_vec()], 5e-4);
        assert_eq!(rings, [ring.to_vec()]);
        let rings = simplified(&[ring.to_vec()], 3e-3);
        assert!(super::super::ring::simple_ring(&rings[0]).is_ok() && rings[0].len() < 10, "{rings:?}");
        assert_eq!(simplified(&[vec![[0.0, 0.0], [1.0, 0.0], [0.0, 1.0]]], 10.0)[0].len(), 3);
    }
}
