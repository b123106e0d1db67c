//! Outlines of fewer vertices around a shape.

use std::{cmp::Reverse, collections::BinaryHeap};

use rstar::{
    AABB, RTree,
    primitives::{GeomWithData, Line},
};

use super::{convex::Point, decompose::turn};

type Edge = GeomWithData<Line<Point>, usize>;

/// Rings with the shape to their left, while they become simpler.
struct Outlines {
    points: Vec<Point>,
    /// For each point, the ones before and after it in its ring.
    beside: Vec<[usize; 2]>,
    /// For each point's edge to the next one, the largest distance from the original ring.
    distances: Vec<f64>,
    /// Number of times that each point's costs were computed; 0 for points that are left out.
    weighed: Vec<usize>,
    /// Costs of one ring's points and edges, as bits, which have the same order. A cost is the largest distance from the original
    /// ring once the point is left out, or its edge if the flag is set. It counts if `weighed` is still the same.
    costs: BinaryHeap<Reverse<(u64, usize, bool, usize)>>,
    /// All edges, each with the point that it starts from; and those that there were.
    edges: RTree<Edge>,
    tolerance: f64,
}

/// Returns rings around a shape, at most `tolerance` away from its own: the first one is counter-clockwise, those of holes are
/// clockwise, and no two edges meet but at the vertex between them.
pub fn simplified(rings: &[Vec<Point>], tolerance: f64) -> Vec<Vec<Point>> {
    let points = rings.concat();
    let (mut beside, mut ranges) = (Vec::new(), Vec::new());
    for ring in rings {
        let (start, n) = (beside.len(), ring.len());
        beside.extend((0..n).map(|at| [start + (at + n - 1) % n, start + (at + 1) % n]));
        ranges.push(start..start + n);
    }
    let (distances, weighed, edges) = (vec![0.0; points.len()], vec![1; points.len()], RTree::new());
    let mut outlines = Outlines { points, beside, distances, weighed, costs: BinaryHeap::new(), edges, tolerance };
    outlines.edges = RTree::bulk_load((0..outlines.points.len()).map(|at| outlines.edge(at)).collect());
    let simpler = |range: std::ops::Range<usize>| {
        let mut left = range.len();
        outlines.costs.clear();
        range.clone().for_each(|at| outlines.weigh(at));
        while left > 3
            && let Some(Reverse((cost, at, whole, weighed))) = outlines.costs.pop()
        {
            if outlines.weighed[at] == weighed
                && let Some(triangle) = if whole { outlines.beyond(at) } else { Some(outlines.around(at)) }
                && outlines.is_free(&triangle, whole)
            {
                outlines.apply(at, f64::from_bits(cost), whole.then_some(triangle[1]));
                left -= 1;
            }
        }
        range.filter(|&at| outlines.weighed[at] > 0).map(|at| outlines.points[at]).collect()
    };
    ranges.into_iter().map(simpler).collect()
}

impl Outlines {
    /// The triangle that is added without a point at which the ring turns right.
    fn around(&self, at: usize) -> [Point; 3] {
        let [before, after] = self.beside[at];
        [before, at, after].map(|at| self.points[at])
    }

    /// The triangle that is added if the edges around a point's edge are extended until they meet. None if they don't.
    fn beyond(&self, at: usize) -> Option<[Point; 3]> {
        let [a, b, c] = self.around(at);
        let [_, _, d] = self.around(self.beside[at][1]);
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
        let (before, own) = (self.distances[self.beside[at][0]], self.distances[at]);
        self.weighed[at] += 1;
        let point = (turn(a, b, c) <= 0.0).then(|| height([a, b, c]) + before.max(own));
        let edge = self.beyond(at).map(|triangle| height(triangle) + own);
        for (cost, whole) in [(point, false), (edge, true)] {
            let cost = cost.filter(|cost| *cost <= self.tolerance);
            self.costs.extend(cost.map(|cost| Reverse((cost.to_bits(), at, whole, self.weighed[at]))));
        }
    }

    /// Leaves out a point, or its edge, in whose place comes a corner.
    fn apply(&mut self, at: usize, cost: f64, corner: Option<Point>) {
        let [before, after] = self.beside[at];
        self.distances[before] = self.distances[before].max(cost);
        if let Some(corner) = corner {
            self.points[after] = corner;
            self.distances[after] = self.distances[after].max(cost);
        }
        (self.beside[before][1], self.beside[after][0], self.weighed[at]) = (after, before, 0);
        self.edges.insert(self.edge(before));
        if corner.is_some() {
            self.edges.insert(self.edge(after));
        }
        let mut near = (0..3).fold(after, |at, _| self.beside[at][0]);
        for _ in 0..6 {
            self.weigh(near);
            near = self.beside[near][1];
        }
    }

    /// The edge from a point to the next one.
    fn edge(&self, from: usize) -> Edge {
        Edge::new(Line::new(self.points[from], self.points[self.beside[from][1]]), from)
    }

    /// Returns whether no other vertex is in a triangle that is added, and if its second corner is new, no other edge meets the
    /// two edges there.
    fn is_free(&self, triangle: &[Point; 3], is_new: bool) -> bool {
        let [a, b, c] = *triangle;
        let inside = |point: Point| {
            let turns = [turn(a, b, point), turn(b, c, point), turn(c, a, point)];
            turns.iter().all(|&turn| turn >= 0.0) || turns.iter().all(|&turn| turn <= 0.0)
        };
        let meet = |[from, to]: [Point; 2], [start, end]: [Point; 2]| {
            turn(from, to, start) * turn(from, to, end) <= 0.0 && turn(start, end, from) * turn(start, end, to) <= 0.0
        };
        let ends = |point: Point| point == a || point == c || !is_new && point == b;
        let near = self.edges.locate_in_envelope_intersecting(&AABB::from_points(triangle));
        let mut near = near.filter(|edge| self.weighed[edge.data] > 0 && **edge == self.edge(edge.data));
        near.all(|edge| {
            let Line { from, to } = *edge.geom();
            let is_apart = || ends(to) || !meet([from, to], [a, b]) && !meet([from, to], [b, c]);
            ends(from) || !inside(from) && (!is_new || is_apart())
        })
    }
}

/// Distance of a triangle's second corner from the line through the others.
fn height([a, b, c]: [Point; 3]) -> f64 {
    turn(a, b, c).abs() / (c[0] - a[0]).hypot(c[1] - a[1])
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
        // This would take minutes if each step looked at all vertices.
        assert!(simplified(&[circle([0.0; 2], 1.0, 20_000)], 1e-3)[0].len() < 200);
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
