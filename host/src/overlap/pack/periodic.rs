//! Finds the densest lattice packings of a shape, with one copy or two per cell.
//!
//! Copies stand in rows along an axis. With one copy per cell all rows are alike; with two, each
//! makes every other row. Copies of a row touch, or are a little farther apart. Each row is lowered
//! onto the previous one, at some offset, until it touches. A search over a grid of angles, widths
//! and offsets comes first. Its best points are refined by an evolution strategy that learns the
//! directions in which the area falls (C. Igel, T. Suttorp, N. Hansen, *A Computational Efficient
//! Covariance Matrix Update and a (1+1)-CMA for Evolution Strategies*, 2006).
//!
//! Because rows are lowered from outside, packings whose copies interlock so that they can't be
//! lowered are not found.

use std::{
    f64::consts::{FRAC_PI_2, PI, TAU},
    ops::Range,
};

use rayon::prelude::*;

use super::limit::Limit;
use crate::overlap::{Lattice, Point, Shape, convex::bounds, random::Random};

/// A lattice packing.
#[derive(Clone, Debug, PartialEq)]
pub struct Periodic {
    /// A pose for each copy in a cell.
    pub poses: Vec<[f64; 3]>,
    /// The lattice.
    pub lattice: Lattice,
    /// Fraction of the plane that copies cover.
    pub density: f64,
}

/// Size of the grid: angles in half a turn, widths of rows, and offsets between rows.
const ANGLES: usize = 90;
const WIDTHS: usize = 5;
const OFFSETS: usize = 24;
/// Difference of the widest and the narrowest rows of the grid, in units of the radius.
const WIDEST: f64 = 0.5;
/// Number of grid points that are refined, and the steps of each refinement.
const REFINED: usize = 16;
const STEPS: usize = 1500;
/// Typical length of the steps that end a refinement, in units of the radius and radians.
const SHORTEST: f64 = 1e-12;
/// Number of the best ones that are refined again.
const FINALISTS: usize = 4;
/// Maximum number of rows that a copy may reach across.
const FARTHEST: usize = 16;
/// Minimum difference of the angles of two grid points of the same width that are both refined.
const APART: f64 = 0.1;

/// An arrangement: the angle of the first copy, the angle of the second relative to it, the excess
/// width of rows, the offset of the second row from the first, and of the third from the second.
/// Lengths are in units of the radius.
type Way = [f64; 5];

impl Periodic {
    /// Finds a dense packing with one copy per cell. The same seed gives the same one.
    pub fn single(shape: &Shape, seed: u64) -> Periodic {
        densest(shape, 1, None, seed, &Limit::default()).swap_remove(0)
    }

    /// Finds a dense packing with two copies per cell. The same seed gives the same one.
    pub fn double(shape: &Shape, seed: u64) -> Periodic {
        densest(shape, 2, None, seed, &Limit::default()).swap_remove(0)
    }

    /// Finds locally densest packings with two copies per cell, the densest first. The angle `between`
    /// both copies is free unless it is given. At the limit returns the best so far, or none.
    pub(super) fn doubles_turned(shape: &Shape, between: Option<f64>, seed: u64, limit: &Limit) -> Vec<Periodic> {
        densest(shape, 2, between, seed, limit)
    }

    /// Area of a cell per copy.
    pub fn area_per_copy(&self) -> f64 {
        let [a, b] = self.lattice.vectors();
        (a[0] * b[1] - a[1] * b[0]).abs() / self.poses.len() as f64
    }
}

/// Finds locally densest packings, the densest first. The angle `between` both copies is free
/// unless it is given.
fn densest(shape: &Shape, copies: usize, between: Option<f64>, seed: u64, limit: &Limit) -> Vec<Periodic> {
    let radius = shape.radius();
    let first_between = between.unwrap_or(PI);
    let grid = |index: usize| {
        let angle = PI * index as f64 / ANGLES as f64;
        (0..WIDTHS).take_while(|_| !limit.reached()).map(move |width| {
            let wider = WIDEST * width as f64 / WIDTHS as f64;
            // Mostly the second copy is turned by half a turn: then both sides of a row are alike.
            let rows = Rows::new(shape, copies, [angle, first_between, wider, 0.0, 0.0]);
            let offsets = |lower: usize, upper: usize| {
                let mut best = (f64::INFINITY, 0.0);
                for by in (0..OFFSETS).map(|k| rows.width * k as f64 / OFFSETS as f64) {
                    let height = rows.height(lower, upper, by, f64::NEG_INFINITY..best.0);
                    if height < best.0 {
                        best = (height, by);
                    }
                }
                best.1 / radius
            };
            let way = [angle, first_between, wider, offsets(0, copies - 1), offsets(copies - 1, 0)];
            (Rows::new(shape, copies, way).area(way, radius, f64::INFINITY), way)
        })
    };
    // Opposite angles give the same packing.
    let mut found: Vec<(f64, Way)> = (0..ANGLES).into_par_iter().flat_map_iter(grid).collect();
    found.sort_by(|a, b| a.0.total_cmp(&b.0));
    let mut apart: Vec<(f64, Way)> = Vec::new();
    for one in found {
        let near = |other: &(f64, Way)| {
            let turned = (one.1[0] - other.1[0] + FRAC_PI_2).rem_euclid(PI) - FRAC_PI_2;
            turned.abs() < APART && one.1[2] == other.1[2]
        };
        if apart.len() < REFINED && !apart.iter().any(near) {
            apart.push(one);
        }
    }
    // The strategy gets stuck on ridges: the best ones start again from there.
    let mut refined = apart;
    for (round, count) in [REFINED, FINALISTS, FINALISTS, FINALISTS].into_iter().enumerate() {
        let stream = |index: usize| (round * REFINED + index) as u64;
        refined.par_iter_mut().take(count).enumerate().for_each(|(index, one)| {
            let area = |way, most| Rows::new(shape, copies, way).area(way, radius, most);
            *one = refine(*one, between, &mut Random::new(seed, stream(index)), area, limit);
        });
        refined.sort_by(|a, b| a.0.total_cmp(&b.0));
    }
    refined.into_iter().map(|(_, way)| Rows::new(shape, copies, way).packing(shape, way, copies)).collect()
}

/// Copies in rows.
struct Rows {
    /// The pieces of each row's copy.
    pieces: Vec<Vec<Piece>>,
    /// Distance of neighbours in a row.
    width: f64,
}

impl Rows {
    fn new(shape: &Shape, copies: usize, [angle, between, wider, ..]: Way) -> Self {
        let turned = |angle: f64| shape.posed_pieces([0.0, 0.0, angle]).map(Piece::new).collect::<Vec<_>>();
        let angles = [angle, angle + between].into_iter().take(copies);
        // Copies side by side are one above the other when turned by a right angle.
        let narrowest = |angle: f64| {
            let lying = turned(angle + FRAC_PI_2);
            lying.iter().flat_map(|upper| lying.iter().map(|lower| above(lower, upper, 0.0))).fold(0.0, f64::max)
        };
        let width = angles.clone().map(narrowest).fold(0.0, f64::max) + wider.abs() * shape.radius();
        Rows { pieces: angles.map(turned).collect(), width }
    }

    /// Height of the upper copy's row above the lower copy's, if it is `by` to the right. Only a height `within` the range
    /// matters: a lower one becomes -∞, and of a higher one the height of some pieces is enough.
    fn height(&self, lower: usize, upper: usize, by: f64, within: Range<f64>) -> f64 {
        let mut height = within.start;
        for upper in &self.pieces[upper] {
            for lower in &self.pieces[lower] {
                if lower.high[1] - upper.low[1] <= height {
                    continue;
                }
                let at = |k: i64| above(lower, upper, by + k as f64 * self.width);
                // Copies that have a part of the lower copy below them.
                let mut first = ((lower.low[0] - upper.high[0] - by) / self.width).ceil() as i64;
                let mut last = ((lower.high[0] - upper.low[0] - by) / self.width).floor() as i64;
                // Pieces are convex, so their height is a concave function of their distance.
                while last - first > 4 {
                    let middle = first + (last - first) / 2;
                    if at(middle) < at(middle + 1) { first = middle + 1 } else { last = middle }
                }
                height = (first..=last).map(at).fold(height, f64::max);
                if height >= within.end {
                    return height;
                }
            }
        }
        if height > within.start { height } else { f64::NEG_INFINITY }
    }

    /// Vectors from a row to the next one of the other copy, and of the same copy. None if rows
    /// would overlap, or a cell's area is larger than `most`.
    fn next(&self, [_, _, _, first, second]: Way, radius: f64, most: f64) -> Option<(Point, Point)> {
        let last = self.pieces.len() - 1;
        let (first, second) = if last == 0 { (0.0, radius * second) } else { (radius * first, radius * second) };
        let by = first + second;
        // A row that fits through the gaps of another stays beside it.
        let all = f64::NEG_INFINITY..f64::INFINITY;
        let up =
            if last == 0 { 0.0 } else { Some(self.height(0, 1, first, all.clone())).filter(|up| up.is_finite()).unwrap_or(0.0) };
        let mut rise = if last == 0 { f64::NEG_INFINITY } else { self.height(1, 0, second, all) + up };
        // More distant rows can touch through gaps of those between.
        for k in 1..=FARTHEST {
            let (times, by) = (k as f64, k as f64 * by);
            let higher = |lower, upper, by, least| self.height(lower, upper, by, least..f64::INFINITY);
            for copy in 0..=last {
                rise = rise.max(higher(copy, copy, by, times * rise) / times);
            }
            if last == 1 {
                rise = rise.max((higher(0, 1, first + by, times * rise + up) - up) / times);
                rise = rise.max((higher(1, 0, second + by, (times + 1.0) * rise - up) + up) / (times + 1.0));
            }
            if self.width * rise > most {
                return None;
            }
            if times * rise > 2.0 * radius + up.abs() {
                return Some(([first, up], [by / times, rise]));
            }
        }
        None
    }

    /// A cell's area; ∞ if it is larger than `most`.
    fn area(&self, way: Way, radius: f64, most: f64) -> f64 {
        self.next(way, radius, most).map_or(f64::INFINITY, |(_, next)| self.width * next[1])
    }

    fn packing(&self, shape: &Shape, way: Way, copies: usize) -> Periodic {
        // Circles about the copies are always apart.
        let apart = 4.0 * shape.radius();
        let (second, next) = self.next(way, shape.radius(), f64::INFINITY).unwrap_or(([0.0, 0.5 * apart], [0.0, apart]));
        let (mut a, mut b) = ([self.width, 0.0], next);
        // Gauss's reduction: to the shortest vectors of the lattice.
        let square = |v: Point| v[0] * v[0] + v[1] * v[1];
        loop {
            if square(b) < square(a) {
                std::mem::swap(&mut a, &mut b);
            }
            let times = ((a[0] * b[0] + a[1] * b[1]) / square(a)).round();
            let shorter = [b[0] - times * a[0], b[1] - times * a[1]];
            if square(shorter) >= square(b) {
                break;
            }
            b = shorter;
        }
        if a[0] * b[1] - a[1] * b[0] < 0.0 {
            b = b.map(|number| -number);
        }
        let angle = |angle: f64| angle - TAU * (angle / TAU).round();
        let poses = [[0.0, 0.0, angle(way[0])], [second[0], second[1], angle(way[0] + way[1])]];
        let poses = poses[..copies].to_vec();
        let density = copies as f64 * shape.area() / (a[0] * b[1] - a[1] * b[0]);
        match Lattice::new(a, b) {
            Ok(lattice) => Periodic { poses, lattice, density },
            // Copies have width and height.
            Err(error) => unreachable!("{error}"),
        }
    }
}

/// A convex piece, with the corners of its bounding box.
struct Piece {
    ring: Vec<Point>,
    low: Point,
    high: Point,
}

impl Piece {
    fn new(ring: Vec<Point>) -> Self {
        let [low, high] = bounds(&ring);
        Piece { ring, low, high }
    }

    /// The lowest point at `x`, and the highest.
    fn line(&self, x: f64) -> [f64; 2] {
        // By rounding, `x` may be a little beside the piece.
        let x = x.clamp(self.low[0], self.high[0]);
        let mut line = [f64::INFINITY, f64::NEG_INFINITY];
        let mut from = self.ring[self.ring.len() - 1];
        for &to in &self.ring {
            let (left, right) = if from[0] <= to[0] { (from, to) } else { (to, from) };
            if left[0] <= x && x <= right[0] {
                let share = if left[0] < right[0] { (x - left[0]) / (right[0] - left[0]) } else { 0.0 };
                let y = left[1] + share * (right[1] - left[1]);
                line = [line[0].min(y), line[1].max(y)];
            }
            from = to;
        }
        line
    }
}

/// Minimum height at which the upper piece, moved `by` to the right, is above the lower one.
fn above(lower: &Piece, upper: &Piece, by: f64) -> f64 {
    let (low, high) = (lower.low[0].max(upper.low[0] + by), lower.high[0].min(upper.high[0] + by));
    if low >= high {
        return f64::NEG_INFINITY;
    }
    // The distance of a concave and a convex line is largest at a vertex of either. The vertex
    // itself counts, and not the line at its x: on an edge that is upright up to rounding, that
    // point may be far away.
    let mut height = f64::NEG_INFINITY;
    for &[x, y] in &upper.ring {
        if low <= x + by && x + by <= high {
            height = height.max(lower.line(x + by)[1] - y);
        }
    }
    for &[x, y] in &lower.ring {
        if low <= x && x <= high {
            height = height.max(y - upper.line(x - by)[0]);
        }
    }
    height
}

/// Minimises `area`. It gets the least area so far, and may return any larger number for a larger one. The step's length
/// roughly doubles in five successful steps, and halves in five failures.
fn refine(
    mut best: (f64, Way),
    between: Option<f64>,
    random: &mut Random,
    area: impl Fn(Way, f64) -> f64,
    limit: &Limit,
) -> (f64, Way) {
    const N: usize = 5;
    let n = N as f64;
    let (target, smoothing, damping, learning) = (2.0 / 11.0, 1.0 / 12.0, 1.0 + 0.5 * n, 2.0 / (n * n + 6.0));
    let (mut length, mut successes) = (0.02, target);
    let mut factor = [[0.0; N]; N];
    for (k, row) in factor.iter_mut().enumerate() {
        row[k] = 1.0;
    }
    for _ in 0..STEPS {
        let reach = length * factor.as_flattened().iter().map(|number| number * number).sum::<f64>().sqrt();
        if limit.reached() || reach < SHORTEST {
            break;
        }
        let z: [f64; N] = std::array::from_fn(|_| random.bell());
        let step: [f64; N] = std::array::from_fn(|i| (0..N).map(|j| factor[i][j] * z[j]).sum());
        let mut way: Way = std::array::from_fn(|i| best.1[i] + length * step[i]);
        if let Some(between) = between {
            way[1] = between;
        }
        let found = area(way, best.0);
        let better = found <= best.0;
        successes = (1.0 - smoothing) * successes + if better { smoothing } else { 0.0 };
        length *= ((successes - target / (1.0 - target) * (1.0 - successes)) / damping).exp();
        if !better {
            continue;
        }
        best = (found, way);
        if successes < 0.44 {
            let square: f64 = z.iter().map(|z| z * z).sum();
            let keep = (1.0 - learning).sqrt();
            let add = keep / square * ((1.0 + learning * square / (1.0 - learning)).sqrt() - 1.0);
            for i in 0..N {
                for j in 0..N {
                    factor[i][j] = keep * factor[i][j] + add * step[i] * z[j];
                }
            }
        }
    }
    best
}
