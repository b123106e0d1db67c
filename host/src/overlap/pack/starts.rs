//! Packings to start from: squares cut out of the densest lattices.
//!
//! A lattice is turned and moved at random, and the copies that fit into the least square about the origin are taken:
//! sorted by the side of the square that they need, the first n are a packing of n, for every n. Some lanes get a
//! smaller square than that, and copies that are still to be placed.

use std::{
    f64::consts::{FRAC_PI_2, PI, TAU},
    ops::RangeInclusive,
};

use rayon::prelude::*;

use super::moves::probes;
use crate::overlap::{Periodic, Shape, convex::bounds, random::Random};

type Pose = [f64; 3];

/// For each lane so many ways to cut are tried, for each copy fewer where that takes long.
const TRIES: usize = 400;
const MOST_POSES: usize = 1 << 17;
/// Then the one for its number of copies is made better in so many steps.
const REFINEMENTS: usize = 60;
/// Copies that are still to be placed, at most, as a share of all.
const MOST_LOOSE: f64 = 0.1;

/// A way to cut.
#[derive(Clone, Copy, Debug)]
struct Way {
    /// The side of the square.
    side: f64,
    /// Which lattice.
    lattice: usize,
    angle: f64,
    /// What comes to the origin, before it is turned.
    middle: [f64; 2],
    /// Whether half a turn about the origin takes the packing to itself.
    symmetric: bool,
}

/// The best squares of all sizes, for lanes of the same number.
pub struct Cuts<'a> {
    shape: &'a Shape,
    lattices: &'a [Periodic],
    /// The least number of copies.
    least: usize,
    /// For each lane and number of copies, from `least` on; without symmetry and with.
    ways: Vec<[Vec<Option<Way>>; 2]>,
}

impl<'a> Cuts<'a> {
    /// The best squares for so many copies, of a shape whose circle's centre is the origin.
    pub fn new(shape: &'a Shape, lattices: &'a [Periodic], counts: RangeInclusive<usize>, lanes: usize, seed: u64) -> Self {
        let (least, most) = (((*counts.start() as f64 * (1.0 - MOST_LOOSE)) as usize).max(1), *counts.end());
        let tries = TRIES.min(MOST_POSES / most).max(4);
        let one = |lane: usize| {
            let mut random = Random::new(seed, u64::MAX / 2 + lane as u64);
            let mut best = [vec![None; most + 1 - least], vec![None; most + 1 - least]];
            for _ in 0..tries {
                let way = some_way(&mut random, lattices);
                let mut sides: Vec<f64> = around(shape, lattices, &way, most).map(|(side, _)| side).collect();
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
        Cuts { shape, lattices, least, ways: (0..lanes).into_par_iter().map(one).collect() }
    }

    /// The way after ever smaller turns and moves that made its square smaller.
    fn refined(&self, random: &mut Random, mut way: Way, count: usize) -> Way {
        let [a, b] = self.lattices[way.lattice].lattice.vectors();
        for step in 0..REFINEMENTS {
            let size = 0.3 * 0.01f64.powf(step as f64 / REFINEMENTS as f64);
            let mut tried = Way { angle: way.angle + 0.3 * size * random.bell(), ..way };
            if !way.symmetric {
                let [s, t] = [(); 2].map(|()| size * random.bell());
                tried.middle = [0, 1].map(|axis| way.middle[axis] + s * a[axis] + t * b[axis]);
            }
            let mut sides: Vec<f64> = around(self.shape, self.lattices, &tried, count).map(|(side, _)| side).collect();
            if sides.len() >= count {
                tried.side = *sides.select_nth_unstable_by(count - 1, f64::total_cmp).1;
                if tried.side < way.side {
                    way = tried;
                }
            }
        }
        way
    }

    /// The start of a lane: poses, the side of the square, and which poses are still to be placed.
    /// None is with `whole`.
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
        let mut copies: Vec<_> = around(self.shape, self.lattices, &way, kept).collect();
        if symmetric {
            // One of each pair, in the upper half.
            copies.retain(|(_, [x, y, _])| (*y, *x) > (0.0, 0.0));
        }
        copies.sort_by(|a, b| a.0.total_cmp(&b.0));
        copies.truncate(if symmetric { kept / 2 } else { kept });
        let mut poses: Vec<Pose> = copies.into_iter().map(|(_, pose)| pose).collect();
        let side = way.side * (0.5 + 0.5 * (count as f64 / kept as f64).sqrt());
        let own = if symmetric { count / 2 } else { count };
        let placed = poses.len();
        poses.extend(probes(random, own - placed, side));
        if symmetric {
            mirror(&mut poses);
        }
        Some((poses, side, (placed..own).collect()))
    }
}

/// Adds to each pose that which half a turn about the origin makes of it.
pub fn mirror(poses: &mut Vec<Pose>) {
    let others: Vec<Pose> = poses.iter().map(|&[x, y, theta]| [-x, -y, theta - PI * theta.signum()]).collect();
    poses.extend(others);
}

/// The poses in such an order that the second half is what half a turn about the origin makes of the first; none where
/// they aren't such pairs.
pub fn paired(poses: &[Pose]) -> Option<Vec<Pose>> {
    const SAME: f64 = 1e-3;
    let mut left = poses.to_vec();
    let mut first = Vec::with_capacity(poses.len());
    while let Some(pose) = left.pop() {
        let partner = left.iter().position(|other| {
            let turned = other[2] - pose[2] - PI;
            let apart = (other[0] + pose[0]).abs().max((other[1] + pose[1]).abs());
            apart.max((turned - TAU * (turned / TAU).round()).abs()) < SAME
        })?;
        left.swap_remove(partner);
        first.push(pose);
    }
    mirror(&mut first);
    Some(first)
}

fn some_way(random: &mut Random, lattices: &[Periodic]) -> Way {
    // The densest ones more often.
    let lattice = random.below(1 + random.clone().below(lattices.len()));
    let Periodic { poses, lattice: vectors, .. } = &lattices[lattice];
    let [a, b] = vectors.vectors();
    // Half a turn takes a lattice of pairs to itself, if it is about the middle of a pair.
    let symmetric = poses.len() == 2 && random.unit() < 0.5;
    let [s, t] = match symmetric {
        true => [0.5 * random.below(2) as f64, 0.5 * random.below(2) as f64],
        false => [random.unit(), random.unit()],
    };
    let pair = if symmetric { [0, 1].map(|axis| 0.5 * (poses[0][axis] + poses[1][axis])) } else { [0.0; 2] };
    let middle = [0, 1].map(|axis| pair[axis] + s * a[axis] + t * b[axis]);
    Way { side: 0.0, lattice, angle: random.between(0.0, FRAC_PI_2), middle, symmetric }
}

/// More copies about the origin than fit into a square of `count`, with the sides of the squares that they need.
fn around<'a>(shape: &Shape, lattices: &'a [Periodic], way: &Way, count: usize) -> impl Iterator<Item = (f64, Pose)> + 'a {
    let periodic = &lattices[way.lattice];
    let [a, b] = periodic.lattice.vectors();
    // A square around so many copies is in a circle of this radius.
    let reach = (0.5 * count as f64 * periodic.area_per_copy()).sqrt() * 1.15 + 3.0 * shape.radius();
    let ((sine, cosine), middle) = (way.angle.sin_cos(), way.middle);
    let determinant = (a[0] * b[1] - a[1] * b[0]).abs();
    let [first, second] =
        [b, a].map(|other| ((reach + other[0].hypot(other[1])) * other[0].hypot(other[1]) / determinant).ceil() as i64);
    let angle = way.angle;
    let boxes: Vec<_> = periodic
        .poses
        .iter()
        .map(|pose| bounds(shape.posed([0.0, 0.0, pose[2] + angle]).collect::<Vec<_>>().iter().flatten()))
        .collect();
    periodic.poses.iter().zip(boxes).flat_map(move |(&[x, y, theta], [low, high])| {
        (-first..=first).flat_map(move |i| (-second..=second).map(move |j| (i as f64, j as f64))).filter_map(move |(i, j)| {
            let at = [x + i * a[0] + j * b[0] - middle[0], y + i * a[1] + j * b[1] - middle[1]];
            if at[0].hypot(at[1]) > reach {
                return None;
            }
            let [x, y] = [cosine * at[0] - sine * at[1], sine * at[0] + cosine * at[1]];
            let half = (x + high[0]).max(-x - low[0]).max(y + high[1]).max(-y - low[1]);
            let theta = theta + angle;
            Some((2.0 * half, [x, y, theta - TAU * (theta / TAU).round()]))
        })
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::overlap::Lattice;

    /// The least squares around squares on a chessboard are known; the copies are within what is said, and none is twice.
    #[test]
    fn cuts_of_a_chessboard() {
        let corners = [[-0.5, -0.5], [0.5, -0.5], [0.5, 0.5], [-0.5, 0.5]];
        let square = Shape::polygon("square", &corners).expect("it is simple");
        let lattice = Lattice::new([1.0, 0.0], [0.0, 1.0]).expect("it is one");
        let board = [Periodic { poses: vec![[0.0; 3]], lattice, density: 1.0 }];
        for (count, least) in [(4, 2.0), (9, 3.0), (16, 4.0)] {
            let cuts = Cuts::new(&square, &board, count..=count, 1, 5);
            let mut random = Random::new(5, 1);
            let way = cuts.ways[0][0].last().copied().flatten().expect("there is a way");
            let refined = cuts.refined(&mut random, way, count);
            assert!(refined.side <= way.side && (least..1.06 * least).contains(&refined.side), "{way:?} {refined:?}");
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
