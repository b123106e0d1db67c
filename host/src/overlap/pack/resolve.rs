//! From packings that overlap a little to valid ones, at fixed angles and in double precision: copies move apart by the
//! shortest translations, and then the container shrinks as long as they find room.

use std::{
    sync::OnceLock,
    time::{Duration, Instant},
};

use super::{limit::Limit, problem::Problem, trials::scale};
use crate::overlap::{Point, convex::bounds};

/// First growth of a container, as a share of its scale, and the factor by which it grows until copies are apart.
const FIRST_ROOM: f64 = 1e-6;
const MORE_ROOM: f64 = 3.0;
const LAST_ROOM: f64 = 4.0;
/// Least growth after the limit.
const LATE_ROOM: f64 = 1e-4;
/// Time for that after the limit.
const GRACE: Duration = Duration::from_millis(300);
/// The first step by which a container shrinks, the greatest and the least, as a share of its scale. Steps grow by `FASTER` and
/// fall by `SLOWER`.
const FIRST_STEP: f64 = 1e-4;
const MOST_STEP: f64 = 0.1;
const LEAST_STEP: f64 = 2e-6;
const FASTER: f64 = 1.5;
const SLOWER: f64 = 0.4;
/// Number of sweeps that copies have to come apart in a container, and number of containers.
const SWEEPS: usize = 200;
const CONTAINERS: usize = 100;
/// Number of sweeps after which overlaps must have become less.
const PATIENCE: usize = 20;
/// Copies move farther apart than needed by this share of the radius, which lets them come apart in a finite number of sweeps.
const BEYOND: f64 = 1e-9;
/// Number of translations of a pair that are tried, and of those that may follow each other.
const TRIED: usize = 24;
const LEGS: usize = 4;

/// A convex piece of a copy, relative to its position.
struct Piece {
    bounds: [Point; 2],
    corners: Vec<Point>,
    /// For each edge, the outward unit normal and its product with the edge.
    edges: Vec<[f64; 3]>,
}

/// A copy at its angle, relative to its position.
struct Body {
    bounds: [Point; 2],
    pieces: Vec<Piece>,
    /// For each half-plane of the container, the least product of its normal with a corner.
    supports: Vec<f64>,
}

/// Copies that move, with an own container.
pub struct Bodies<'a> {
    problem: &'a Problem,
    half_planes: Vec<[f64; 4]>,
    bodies: Vec<Body>,
    poses: Vec<[f64; 3]>,
    beyond: f64,
}

fn plus(a: Point, b: Point) -> Point {
    [a[0] + b[0], a[1] + b[1]]
}

fn times(a: Point, factor: f64) -> Point {
    [factor * a[0], factor * a[1]]
}

/// Returns by how much two boxes overlap, if the second one is moved. It is negative if they are apart.
fn common(one: &[Point; 2], other: &[Point; 2], by: Point) -> f64 {
    let along = |axis: usize| (one[1][axis] - other[0][axis] - by[axis]).min(other[1][axis] + by[axis] - one[0][axis]);
    along(0).min(along(1))
}

impl Piece {
    fn new(corners: Vec<Point>) -> Self {
        let n = corners.len();
        let edges = (0..n).filter_map(|k| {
            let ([x, y], [u, v]) = (corners[k], corners[(k + 1) % n]);
            let length = (u - x).hypot(v - y);
            let normal = [(v - y) / length, (x - u) / length];
            (length > 0.0).then(|| [normal[0], normal[1], normal[0] * x + normal[1] * y])
        });
        Piece { bounds: bounds(&corners), edges: edges.collect(), corners }
    }

    /// Returns the depth of the overlap with another piece moved by a vector, or `floor` if it isn't deeper. Calls `exit` with
    /// each length and unit vector along the normal of an edge that would move the other one out.
    fn depth(&self, other: &Piece, by: Point, floor: f64, mut exit: impl FnMut(f64, Point)) -> f64 {
        let mut depth = common(&self.bounds, &other.bounds, by);
        for (edges, corners, sign) in [(&self.edges, &other.corners, 1.0), (&other.edges, &self.corners, -1.0)] {
            for &[a, b, offset] in edges {
                if depth <= floor {
                    return floor;
                }
                let mut least = f64::INFINITY;
                for &[x, y] in corners {
                    least = least.min(a * x + b * y);
                }
                let along = offset - least - sign * (a * by[0] + b * by[1]);
                exit(along, [sign * a, sign * b]);
                depth = depth.min(along);
            }
        }
        depth.max(floor)
    }
}

impl<'a> Bodies<'a> {
    /// Copies of these shapes at these angles.
    pub fn new(problem: &'a Problem, kinds: &[u32], poses: &[[f64; 3]]) -> Self {
        let half_planes = problem.container.half_planes();
        let body = |(&pose, &kind): (&[f64; 3], &u32)| {
            let (shape, [_, _, theta]) = problem.oriented(kind, pose);
            let shape = &problem.shapes[shape as usize];
            let ([u, v], (sine, cosine)) = (shape.center(), theta.sin_cos());
            let about = [sine * v - cosine * u, -sine * u - cosine * v, theta];
            let pieces: Vec<Piece> = shape.posed_pieces(about).map(Piece::new).collect();
            let support = |&[a, b, ..]: &[f64; 4]| {
                let corners = pieces.iter().flat_map(|piece| &piece.corners);
                corners.map(|[x, y]| a * x + b * y).fold(f64::INFINITY, f64::min)
            };
            let supports = half_planes.iter().map(support).collect();
            Body { bounds: bounds(pieces.iter().flat_map(|piece| &piece.bounds)), pieces, supports }
        };
        let bodies = poses.iter().zip(kinds).map(body).collect();
        Bodies { bodies, half_planes, poses: poses.to_vec(), beyond: BEYOND * problem.radius, problem }
    }

    /// Returns poses of all copies apart in the smallest container found. The copies come from a container of this scale. None
    /// if it would be larger than `most`, or some time after the limit was reached, which `late` has.
    pub fn settled(&self, side: f64, most: f64, (limit, late): (&Limit, &OnceLock<Instant>)) -> Option<Vec<[f64; 3]>> {
        let over = || limit.reached() && late.get_or_init(Instant::now).elapsed() > GRACE;
        let mut places: Vec<Point> = self.poses.iter().map(|[x, y, _]| [*x, *y]).collect();
        let (mut room, mut before) = (FIRST_ROOM, 0.0);
        loop {
            scale(self.problem, &mut places, (1.0 + room) / (1.0 + before));
            if self.apart(&mut places, side * (1.0 + room), &over) {
                break;
            }
            before = room;
            room = (MORE_ROOM * room).max(if limit.reached() { LATE_ROOM } else { 0.0 });
            if room > LAST_ROOM || side * (1.0 + room) > most * (1.0 + FIRST_STEP) || over() {
                return None;
            }
        }
        let (mut best, mut side, mut step) = (places.clone(), side * (1.0 + room), room.max(FIRST_STEP));
        for _ in 0..CONTAINERS {
            if step < LEAST_STEP || limit.reached() {
                break;
            }
            places.copy_from_slice(&best);
            scale(self.problem, &mut places, 1.0 - step);
            if self.apart(&mut places, side * (1.0 - step), &|| limit.reached()) {
                best.copy_from_slice(&places);
                side *= 1.0 - step;
                step = (FASTER * step).min(MOST_STEP);
            } else {
                step *= SLOWER;
            }
        }
        Some(best.iter().zip(&self.poses).map(|([x, y], [_, _, theta])| [*x, *y, *theta]).collect())
    }

    /// Moves copies apart. Returns false if this takes too long.
    fn apart(&self, places: &mut [Point], scale: f64, over: &dyn Fn() -> bool) -> bool {
        let (mut least, mut failures) = (f64::INFINITY, 0);
        for _ in 0..SWEEPS {
            let sum = self.sweep(places, scale, over);
            if sum == 0.0 {
                return true;
            }
            failures = if sum < 0.99 * least { 0 } else { failures + 1 };
            least = least.min(sum);
            if failures > PATIENCE || over() {
                return false;
            }
        }
        false
    }

    /// Moves the copies of each pair that overlaps apart. Returns the sum of the depths, infinity if this takes too long.
    fn sweep(&self, places: &mut [Point], scale: f64, over: &dyn Fn() -> bool) -> f64 {
        let mut sum = 0.0;
        for (place, body) in places.iter_mut().zip(&self.bodies) {
            let inside = self.inside(body, *place, scale);
            let out = (inside[0] - place[0]).hypot(inside[1] - place[1]);
            // Opposite walls may both be in the way.
            sum += (out - 2.0 * self.beyond).max(0.0) + self.outside(body, inside, scale).max(0.0);
            *place = inside;
        }
        let left = |places: &[Point], k: usize| places[k][0] + self.bodies[k].bounds[0][0];
        let mut order: Vec<usize> = (0..places.len()).collect();
        order.sort_by(|&a, &b| left(places, a).total_cmp(&left(places, b)));
        for (at, &i) in order.iter().enumerate() {
            for &j in &order[at + 1..] {
                if left(places, j) > places[i][0] + self.bodies[i].bounds[1][0] + self.beyond {
                    break;
                }
                let (one, other) = (&self.bodies[i], &self.bodies[j]);
                let by = [places[j][0] - places[i][0], places[j][1] - places[i][1]];
                let Some(exit) = one.exit(other, by, self.beyond) else { continue };
                // Copies of many corners take long.
                if over() {
                    return f64::INFINITY;
                }
                sum += exit[0].hypot(exit[1]);
                let half = self.inside(one, plus(places[i], times(exit, -0.5)), scale);
                let moved = [half[0] - places[i][0], half[1] - places[i][1]];
                places[i] = half;
                places[j] = self.inside(other, plus(places[j], plus(exit, moved)), scale);
            }
        }
        sum
    }

    /// Returns the place moved inside the container, and a little farther.
    fn inside(&self, body: &Body, mut place: Point, scale: f64) -> Point {
        for (plane, support) in self.half_planes.iter().zip(&body.supports) {
            let out = self.beyond + beyond_wall(plane, *support, place, scale);
            if out > 0.0 {
                place = plus(place, [plane[0] * out, plane[1] * out]);
            }
        }
        place
    }

    /// Returns by how much a copy is outside of the container. It is negative inside.
    fn outside(&self, body: &Body, place: Point, scale: f64) -> f64 {
        let walls = self.half_planes.iter().zip(&body.supports);
        walls.map(|(plane, support)| beyond_wall(plane, *support, place, scale)).fold(f64::NEG_INFINITY, f64::max)
    }
}

/// Returns by how much a copy with this support is beyond a half-plane of a container.
fn beyond_wall([a, b, fixed, growth]: &[f64; 4], support: f64, place: Point, scale: f64) -> f64 {
    -(a * place[0] + b * place[1] + support + fixed + growth * scale)
}

/// Returns the greatest depth of pairs of pieces, and the lengths and directions of translations that would end the overlap of
/// one of them, the shortest first. The second pieces are moved by a vector already.
fn exits(near: &[(&Piece, &Piece)], by: Point) -> (f64, Vec<(f64, Point)>) {
    let (mut deepest, mut exits): (f64, Vec<(f64, Point)>) = (0.0, Vec::new());
    for (piece, their) in near {
        let before = exits.len();
        let depth = piece.depth(their, by, 0.0, |length, normal| exits.push((length, normal)));
        if depth == 0.0 {
            exits.truncate(before);
        }
        deepest = deepest.max(depth);
    }
    exits.sort_by(|a, b| a.0.total_cmp(&b.0));
    exits.dedup();
    (deepest, exits)
}

impl Body {
    /// Returns a short vector that moves the other one, moved by a vector already, out of this one. None if they are apart.
    fn exit(&self, other: &Body, by: Point, beyond: f64) -> Option<Point> {
        let around = common(&self.bounds, &other.bounds, by);
        if around <= 0.0 {
            return None;
        }
        let (deepest, mut exits) = exits(&self.near(other, by, 0.0), by);
        if deepest == 0.0 {
            return None;
        }
        // Pieces that are met on the way out.
        let near = self.near(other, by, 2.0 * deepest);
        let mut moved = [0.0; 2];
        for _ in 0..LEGS {
            // A short way isn't good if it leaves much of the overlap.
            let mut best = (f64::INFINITY, [0.0; 2], 0.0);
            for &(length, normal) in exits.iter().take(TRIED) {
                if length >= best.0 {
                    break;
                }
                let leg = times(normal, length + beyond);
                let to = plus(plus(by, moved), leg);
                let mut left = 0.0;
                for (piece, their) in &near {
                    left = piece.depth(their, to, left, |_, _| {});
                    if length + left >= best.0 {
                        break;
                    }
                }
                if length + left < best.0 {
                    best = (length + left, leg, left);
                }
            }
            let (_, leg, left) = best;
            moved = plus(moved, leg);
            if left == 0.0 {
                break;
            }
            exits = self::exits(&near, plus(by, moved)).1;
        }
        Some(moved)
    }

    /// Returns the pairs of pieces whose boxes overlap, or are at most so far apart.
    fn near<'a>(&'a self, other: &'a Body, by: Point, reach: f64) -> Vec<(&'a Piece, &'a Piece)> {
        let own = |piece: &&Piece| common(&piece.bounds, &other.bounds, by) > -reach;
        let theirs = |piece: &&'a Piece| common(&self.bounds, &piece.bounds, by) > -reach;
        let theirs: Vec<&Piece> = other.pieces.iter().filter(theirs).collect();
        let pairs = |piece: &'a Piece| {
            let near = theirs.iter().filter(move |their| common(&piece.bounds, &their.bounds, by) > -reach);
            near.map(move |their| (piece, *their)).collect::<Vec<_>>()
        };
        self.pieces.iter().filter(own).flat_map(pairs).collect()
    }
}

#[cfg(test)]
mod tests {
    use std::f64::consts::PI;

    use super::*;
    use crate::overlap::{Boundary, Shape, pack::Turns, random::Random};

    type Result<T = ()> = std::result::Result<T, Box<dyn std::error::Error>>;

    fn problem(outlines: &[&[Point]], container: Boundary) -> Result<Problem> {
        let shapes =
            outlines.iter().map(|outline| Shape::polygon("part", outline)).collect::<std::result::Result<Vec<_>, _>>()?;
        Ok(Problem::new(&shapes, &vec![1; shapes.len()], container, &[Turns::QUARTERS]))
    }

    /// Settles copies, checks by exact arithmetic that they are apart, and returns the side of their container.
    fn settled(problem: &Problem, kinds: &[u32], poses: &[[f64; 3]], side: f64) -> Result<f64> {
        let poses = problem.about_centers(kinds, poses);
        let settled = Bodies::new(problem, kinds, &poses)
            .settled(side, f64::INFINITY, (&Limit::default(), &OnceLock::new()))
            .ok_or("not settled")?;
        let packing = problem.own(kinds, &settled).ok_or_else(|| format!("too wide: {settled:?}"))?;
        assert!(problem.overlapping(kinds, &packing.poses)?.is_none(), "{packing:?}");
        Ok(packing.side)
    }

    const SQUARE: &[Point] = &[[0.0, 0.0], [1.0, 0.0], [1.0, 1.0], [0.0, 1.0]];

    /// Squares one above the other need just their height, from a little less on. From twice as much they come near that.
    #[test]
    fn squares_in_a_strip() -> Result {
        let problem = problem(&[SQUARE], Boundary::strip(1.0 + 1e-6)?)?;
        for count in [1, 2, 7, 40] {
            let mut random = Random::new(count as u64, 0);
            for (gap, side) in [(0.0, 1.0), (-1e-3, 0.999), (1.0, 2.0)] {
                let middle = 0.5 * side * count as f64;
                let pose = |k: usize| {
                    let off = [0, 1].map(|_| random.between(-1e-4, 1e-4));
                    [off[0] - 0.5, (1.0 + gap) * k as f64 - middle + off[1], 0.0]
                };
                let poses: Vec<_> = (0..count).map(pose).collect();
                let found = settled(&problem, &vec![0; count], &poses, side * count as f64)?;
                let most = if gap > 0.0 { 0.05 } else { 2e-5 };
                assert!((0.0..most).contains(&(found / count as f64 - 1.0)), "{count} {gap}: {found}");
            }
        }
        Ok(())
    }

    /// A square in a corner of an L leaves it by both arms, and needs no more room than the L.
    #[test]
    fn in_a_corner() -> Result {
        let ell: &[Point] = &[[0.0, 0.0], [3.0, 0.0], [3.0, 1.0], [1.0, 1.0], [1.0, 3.0], [0.0, 3.0]];
        let problem = problem(&[ell, SQUARE], Boundary::square())?;
        let side = settled(&problem, &[0, 1], &[[-1.5, -1.5, 0.0], [-0.7, -0.8, 0.0]], 3.0)?;
        assert!((0.0..1e-4).contains(&(side - 3.0)), "{side}");
        Ok(())
    }

    /// Shapes that touch have no exit. From an overlap of 0.02 along any
    /// direction, a few exits lead to a place nearby where they are apart.
    #[test]
    fn exits() -> Result {
        let star: Vec<Point> = (0..10)
            .map(|k| {
                let (radius, (sine, cosine)) = (if k % 2 == 0 { 1.0 } else { 0.4 }, (0.2 * PI * f64::from(k)).sin_cos());
                [radius * cosine, radius * sine]
            })
            .collect();
        let problem = problem(&[SQUARE, &star], Boundary::square())?;
        let bodies = Bodies::new(&problem, &[0, 0, 1], &[[0.0; 3]; 3]);
        // A limit holds within a sweep.
        assert_eq!(bodies.sweep(&mut [[0.0; 2]; 3], 9.0, &|| true), f64::INFINITY);
        assert!(bodies.sweep(&mut [[0.0; 2]; 3], 9.0, &|| false).is_finite());
        let [one, other, star] = [0, 1, 2].map(|k| &bodies.bodies[k]);
        assert!(one.exit(other, [1.0, 0.3], 0.0).is_none() && one.exit(other, [0.3, -1.0], 0.0).is_none());
        let exit = one.exit(other, [0.75, 0.5], 0.0).ok_or("apart")?;
        assert_eq!(exit, [0.25, 0.0]);
        let mut random = Random::new(1, 0);
        for _ in 0..300 {
            let direction = random.between(0.0, 2.0 * PI);
            let at = |distance: f64| [distance * direction.cos(), distance * direction.sin()];
            for (a, b) in [(one, star), (star, one), (star, star)] {
                // Deep inside, and apart.
                let (mut inner, mut outer) = (0.5, 3.0);
                while outer - inner > 1e-6 {
                    let middle = 0.5 * (inner + outer);
                    *(if a.exit(b, at(middle), 0.0).is_some() { &mut inner } else { &mut outer }) = middle;
                }
                let mut by = at(outer - 0.02);
                let mut exits = 0;
                while let Some(exit) = a.exit(b, by, 1e-9) {
                    by = plus(by, exit);
                    exits += 1;
                    assert!(exits <= 3, "{direction} {by:?} {exit:?}");
                }
                let from = at(outer);
                assert!((by[0] - from[0]).hypot(by[1] - from[1]) < 0.1, "{direction}: {by:?} from {from:?}");
            }
        }
        Ok(())
    }
}
