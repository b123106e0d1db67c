//! Packings to start from: containers cut out of the densest lattices.
//!
//! A lattice is turned and moved at random, and its copies are sorted by the scale of the container
//! about the origin that they need. The first n are then a packing of n copies, for every n. Some
//! lanes get a smaller container, and copies that don't have a place yet.

use std::{
    f64::consts::{FRAC_PI_2, TAU},
    ops::RangeInclusive,
};

use rayon::prelude::*;

use super::{limit::Limit, periodic::Periodic, problem::Problem, symmetry::mirror, turns::reduced};
use crate::overlap::{Boundary, convex::bounds, random::Random};

type Pose = [f64; 3];
type Point = [f64; 2];

/// Number of cuts that are tried for each lane. Large packings try fewer, so that all tries have at
/// most this number of poses.
const TRIES: usize = 40;
const MOST_POSES: usize = 1 << 17;
/// Number of steps that refine the best cut of a lane.
const REFINEMENTS: usize = 60;
/// Maximum share of copies without a place.
const MOST_LOOSE: f64 = 0.2;
/// Factor of a container's area from one size that is tried to the next.
const GROWTH: f64 = 1.2;
/// Maximum number of sizes.
const MOST_GROWTHS: usize = 400;
/// Maximum number of places in a container, in units of the number of copies.
const MOST_TRIED: usize = 64;

/// A way to cut a packing out of a lattice.
#[derive(Clone, Copy, Debug)]
struct Way {
    /// The container's scale.
    side: f64,
    /// Index of the lattice.
    lattice: usize,
    angle: f64,
    /// The point of the lattice that becomes the origin, before it is turned.
    middle: [f64; 2],
    /// Set if the packing is symmetric under half a turn.
    symmetric: bool,
}

/// The best cuts of all sizes, for lanes with the same number in any group.
pub struct Cuts<'a> {
    problem: &'a Problem,
    lattices: &'a [Periodic],
    limit: &'a Limit,
    /// Minimum number of copies.
    least: usize,
    /// For each lane, without symmetry and with it, the best cut of `least` copies, of one more,
    /// and so on.
    ways: Vec<[Vec<Option<Way>>; 2]>,
}

impl<'a> Cuts<'a> {
    /// Finds good cuts for these numbers of copies until the limit, by random numbers of a seed and
    /// a round.
    pub fn new(
        problem: &'a Problem,
        lattices: &'a [Periodic],
        counts: RangeInclusive<usize>,
        lanes: usize,
        [seed, round]: [u64; 2],
        limit: &'a Limit,
    ) -> Self {
        let (least, most) = (((*counts.start() as f64 * (1.0 - MOST_LOOSE)) as usize).max(1), *counts.end());
        let tries = TRIES.min(MOST_POSES / most).max(4);
        let one = |lane: usize| {
            let mut random = Random::new(seed, u64::MAX / 2 + (round << 32) + lane as u64);
            let mut best = [vec![None; most + 1 - least], vec![None; most + 1 - least]];
            for number in 0..tries {
                if number > 0 && limit.reached() {
                    break;
                }
                let way = some_way(&mut random, problem, lattices);
                let mut sides: Vec<f64> = around(problem, lattices, &way, most).into_iter().map(|(side, _)| side).collect();
                sides.sort_unstable_by(f64::total_cmp);
                let best = &mut best[usize::from(way.symmetric)];
                for (best, side) in best.iter_mut().zip(sides.into_iter().skip(least - 1)) {
                    if best.is_none_or(|best: Way| side < best.side) {
                        *best = Some(Way { side, ..way });
                    }
                }
            }
            best
        };
        Cuts { problem, lattices, limit, least, ways: (0..lanes).into_par_iter().map(one).collect() }
    }

    /// Refines a cut by ever smaller turns and moves, as long as they shrink its container.
    fn refined(&self, random: &mut Random, mut way: Way, count: usize) -> Way {
        let [a, b] = self.lattices[way.lattice].lattice.vectors();
        for step in 0..REFINEMENTS {
            if self.limit.reached() {
                break;
            }
            let size = 0.3 * 0.01f64.powf(step as f64 / REFINEMENTS as f64);
            let mut tried = way;
            if self.problem.turns[0].is_any() {
                tried.angle += 0.3 * size * random.bell();
            }
            if !way.symmetric {
                let [s, t] = [(); 2].map(|()| size * random.bell());
                tried.middle = [0, 1].map(|axis| way.middle[axis] + s * a[axis] + t * b[axis]);
            }
            let mut sides: Vec<f64> =
                around(self.problem, self.lattices, &tried, count).into_iter().map(|(side, _)| side).collect();
            if sides.len() >= count {
                tried.side = *sides.select_nth_unstable_by(count - 1, f64::total_cmp).1;
                if tried.side < way.side {
                    way = tried;
                }
            }
        }
        way
    }

    /// Returns a lane's start: poses, the container's scale, and the indices of poses without a
    /// place. If `whole`, all poses have one.
    pub fn start(
        &self,
        random: &mut Random,
        lane: usize,
        count: usize,
        symmetric: bool,
        whole: bool,
    ) -> Option<(Vec<Pose>, f64, Vec<usize>)> {
        let share = if whole { 0.0 } else { random.unit() * MOST_LOOSE };
        let loose = (share * count as f64).round() as usize & !usize::from(symmetric);
        let kept = count - loose;
        let way = self.ways[lane][usize::from(symmetric)].get(kept.checked_sub(self.least)?).copied().flatten()?;
        let way = self.refined(random, way, kept);
        let mut copies = around(self.problem, self.lattices, &way, kept);
        if symmetric {
            // One of each pair, in the upper half.
            copies.retain(|(_, [x, y, _])| (*y, *x) > (0.0, 0.0));
        }
        copies.sort_by(|a, b| a.0.total_cmp(&b.0));
        let wanted = if symmetric { kept / 2 } else { kept };
        if copies.len() < wanted {
            return None;
        }
        copies.truncate(wanted);
        let mut poses: Vec<Pose> = copies.into_iter().map(|(_, pose)| pose).collect();
        let side = way.side * (0.5 + 0.5 * (count as f64 / kept as f64).sqrt());
        let own = if symmetric { count / 2 } else { count };
        let placed = poses.len();
        poses.extend(self.problem.scattered(random, &vec![0; own - placed], side));
        if symmetric {
            mirror(&mut poses);
        }
        Some((poses, side, (placed..own).collect()))
    }
}

fn some_way(random: &mut Random, problem: &Problem, lattices: &[Periodic]) -> Way {
    // The densest lattices are chosen more often.
    let lattice = random.below(1 + random.clone().below(lattices.len()));
    let Periodic { poses, lattice: vectors, .. } = &lattices[lattice];
    let [a, b] = vectors.vectors();
    // A lattice of pairs is symmetric under half a turn about the middle of a pair.
    let symmetric = problem.is_symmetric() && poses.len() == 2 && random.unit() < 0.5;
    let [s, t] = match symmetric {
        true => [0.5 * random.below(2) as f64, 0.5 * random.below(2) as f64],
        false => [random.unit(), random.unit()],
    };
    let pair = if symmetric { [0, 1].map(|axis| 0.5 * (poses[0][axis] + poses[1][axis])) } else { [0.0; 2] };
    let middle = [0, 1].map(|axis| pair[axis] + s * a[axis] + t * b[axis]);
    let turns = &problem.turns[0];
    let angle = match turns.angles() {
        // A square is symmetric under a quarter of a turn.
        None => random.between(0.0, if problem.container.is_square() { FRAC_PI_2 } else { TAU }),
        // Pairs of a lattice are opposite if any may be.
        Some(angles) => {
            let opposed = turns.opposed();
            let angles = if opposed.is_empty() { angles } else { &opposed };
            angles[random.below(angles.len())] - poses[0][2]
        }
    };
    Way { side: 0.0, lattice, angle, middle, symmetric }
}

/// A copy at the origin, to compute the container that it needs elsewhere.
enum Footprint {
    /// For each half-plane the normal, its offset plus the minimum over all vertices, and the
    /// offset per unit of scale.
    Planes(Vec<[f64; 4]>),
    /// In a disk, the vertices.
    Vertices(Vec<Point>),
}

impl Footprint {
    fn new(container: &Boundary, vertices: Vec<Point>) -> Self {
        if container.is_disk() {
            return Footprint::Vertices(vertices);
        }
        let mut planes = container.half_planes();
        for [a, b, offset, _] in &mut planes {
            *offset += vertices.iter().map(|[x, y]| *a * x + *b * y).fold(f64::INFINITY, f64::min);
        }
        Footprint::Planes(planes)
    }

    /// Smallest scale of a container around the copy; none if a strip is too narrow.
    fn scale(&self, [x, y]: Point) -> Option<f64> {
        match self {
            Footprint::Planes(planes) => planes.iter().try_fold(0.0f64, |scale, [a, b, offset, growth]| {
                let depth = a * x + b * y + offset;
                if *growth > 0.0 { Some(scale.max(-depth / growth)) } else { (depth >= 0.0).then_some(scale) }
            }),
            Footprint::Vertices(vertices) => Some(vertices.iter().map(|[u, v]| (x + u).hypot(y + v)).fold(0.0, f64::max)),
        }
    }
}

/// Copies of the lattice about the origin, with the scales of the containers that they need. Among
/// them are the `count` copies that need the smallest ones, as far as there are that many.
fn around(problem: &Problem, lattices: &[Periodic], way: &Way, count: usize) -> Vec<(f64, Pose)> {
    let (container, shape) = (&problem.container, &problem.squeezed[0]);
    let periodic = &lattices[way.lattice];
    let ((sine, cosine), middle, angle) = (way.angle.sin_cos(), way.middle, way.angle);
    let turned = |[x, y]: Point| [cosine * x - sine * y, sine * x + cosine * y];
    // The first vector is the shorter one: rows along it are fewer.
    let [b, a] = periodic.lattice.vectors().map(turned);
    // Place, angle, footprint and bounding box of each copy of a cell.
    let cell = periodic.poses.iter().map(|&[x, y, theta]| {
        let theta = problem.turns[0].nearest(reduced(theta + angle));
        let vertices: Vec<Point> = shape.posed([0.0, 0.0, theta]).flatten().collect();
        let extent = bounds(&vertices);
        (turned([x - middle[0], y - middle[1]]), theta, Footprint::new(container, vertices), extent)
    });
    let cell: Vec<_> = cell.collect();
    let area = periodic.area_per_copy() * periodic.poses.len() as f64;
    let mut scale = container.scale_of(count as f64 * periodic.area_per_copy());
    let mut most = count;
    for _ in 0..MOST_GROWTHS {
        let outer = bounds(&container.outline(scale));
        // Positions of copies within the container's bounding box.
        let room = |extent: &[Point; 2]| [0, 1].map(|axis| [outer[0][axis] - extent[0][axis], outer[1][axis] - extent[1][axis]]);
        let copies = |extent: &[Point; 2]| room(extent).map(|[low, high]| (high - low).max(0.0)).iter().product::<f64>() / area;
        let expected = cell.iter().map(|(.., extent)| copies(extent)).sum::<f64>();
        if expected >= most as f64 {
            let mut found = Vec::with_capacity(2 * count);
            for (base, theta, footprint, extent) in &cell {
                let places = lattice_points(*base, [a, b], room(extent));
                found.extend(places.filter_map(|at| footprint.scale(at).map(|scale| (scale, [at[0], at[1], *theta]))));
            }
            if found.iter().filter(|(needed, _)| *needed <= scale).count() >= count {
                return found;
            }
            most = (2.0 * expected) as usize;
            if most > MOST_TRIED * (count + 16) {
                break;
            }
        }
        scale *= GROWTH.sqrt();
    }
    Vec::new()
}

/// The points of a lattice within ranges of x and y.
fn lattice_points(base: Point, [a, b]: [Point; 2], [x, y]: [[f64; 2]; 2]) -> impl Iterator<Item = Point> {
    let cross = |u: Point, v: Point| u[0] * v[1] - u[1] * v[0];
    // Rows of the lattice that meet the box, and the points of each row within it.
    let corners = [[x[0], y[0]], [x[1], y[0]], [x[0], y[1]], [x[1], y[1]]];
    let rows = corners.map(|corner| cross([corner[0] - base[0], corner[1] - base[1]], b) / cross(a, b));
    let (first, last) = (rows.into_iter().fold(f64::INFINITY, f64::min), rows.into_iter().fold(f64::NEG_INFINITY, f64::max));
    (first.ceil() as i64..=last.floor() as i64).flat_map(move |i| {
        let from = [base[0] + i as f64 * a[0], base[1] + i as f64 * a[1]];
        let (mut least, mut most) = (f64::NEG_INFINITY, f64::INFINITY);
        for (axis, [low, high]) in [x, y].into_iter().enumerate() {
            let ends = [(low - from[axis]) / b[axis], (high - from[axis]) / b[axis]];
            if b[axis] != 0.0 {
                (least, most) = (least.max(ends[0].min(ends[1])), most.min(ends[0].max(ends[1])));
            } else if from[axis] < low || from[axis] > high {
                most = f64::NEG_INFINITY;
            }
        }
        (least.ceil() as i64..=most.floor() as i64).map(move |j| [from[0] + j as f64 * b[0], from[1] + j as f64 * b[1]])
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::overlap::{Lattice, Shape, pack::Turns};

    /// The smallest squares around squares of a chessboard are known. All copies are within the
    /// container, and no two at the same place.
    #[test]
    fn cuts_of_a_chessboard() {
        let corners = [[-0.5, -0.5], [0.5, -0.5], [0.5, 0.5], [-0.5, 0.5]];
        let square = Shape::polygon("square", &corners).expect("it is simple");
        let lattice = Lattice::new([1.0, 0.0], [0.0, 1.0]).expect("it is one");
        let board = [Periodic { poses: vec![[0.0; 3]], lattice, density: 1.0 }];
        for (count, least) in [(4, 2.0), (9, 3.0), (16, 4.0)] {
            let limit = Limit::default();
            let problem = Problem::new(std::slice::from_ref(&square), &[count], Boundary::square(), &[Turns::ANY]);
            let cuts = Cuts::new(&problem, &board, count..=count, 8, [5, 0], &limit);
            let mut random = Random::new(5, 1);
            let refined = cuts.ways.iter().map(|ways| {
                let way = ways[0].last().copied().flatten().expect("there is a way");
                let refined = cuts.refined(&mut random, way, count);
                assert!(refined.side <= way.side && refined.side >= least, "{way:?} {refined:?}");
                refined.side
            });
            let best = refined.fold(f64::INFINITY, f64::min);
            assert!(best < 1.06 * least, "{best} of {least}");
            let (poses, side, loose) = cuts.start(&mut random, 0, count, false, true).expect("there is one");
            assert!(poses.len() == count && loose.is_empty());
            for (k, pose) in poses.iter().enumerate() {
                let [low, high] = bounds(square.posed(*pose).collect::<Vec<_>>().iter().flatten());
                let farthest = [low, high].as_flattened().iter().fold(0.0f64, |farthest, number| farthest.max(number.abs()));
                assert!(2.0 * farthest <= side * (1.0 + 1e-12), "{farthest} {side}");
                assert!(poses[..k].iter().all(|other| (other[0] - pose[0]).hypot(other[1] - pose[1]) > 0.999));
            }
        }
    }
}
