//! The problem that a search solves.

use std::{cmp::Ordering, f64::consts::TAU};

use super::{
    PackError, Packing, Turns,
    turns::{flagged, reduced, unflagged},
};
use crate::overlap::{
    Boundary, Packings, Shape,
    contest::{Meeting, meetings},
    convex::bounds,
    random::Random,
};

type Pose = [f64; 3];
type Point = [f64; 2];

/// Growth of pieces while they are squeezed, in units of the shape's radius.
const MARGIN: f64 = 1e-7;
/// The same while copies of several shapes are searched for places. A copy that fits exactly into a
/// notch of another overlaps it then by more than counts as none, so that it is not put there.
const SEARCH_MARGIN: f64 = 4e-6;
/// Approximate density of the result, for the pressure in a strip.
const DENSITY: f64 = 0.75;
/// Gap between copies in rows, as a share of their distance.
const GAP: f64 = 1e-9;
/// Tolerance for points on the boundary, as a share of the scale.
const ROUNDING: f64 = 1e-12;

/// Shapes, their container, and the allowed turns. Copies are of the first `kinds` shapes. If some may be mirrored, the mirror
/// images of these follow. The angle of a mirrored copy is [flagged].
#[derive(Clone, Debug)]
pub struct Problem {
    pub shapes: Vec<Shape>,
    pub kinds: usize,
    /// The shapes as they are squeezed: simplified, grown, and with the centres of their circles at the origin.
    pub squeezed: Vec<Shape>,
    /// The same, grown a little more if there are several.
    pub searched: Vec<Shape>,
    pub container: Boundary,
    /// Each shape's.
    pub turns: Vec<Turns>,
    /// Radius of the shape; of several, the mean over all copies.
    pub radius: f64,
    /// Factor of the pressure on the scale, and change of the scale per unit of length. They make
    /// every container's walls move like those of a square.
    pub pressure: f64,
    pub scale_rate: f64,
}

impl Problem {
    /// `counts` is the number of copies of each shape in the largest packing. `turns` are those of all shapes, or of each.
    pub fn new(shapes: &[Shape], counts: &[usize], container: Boundary, turns: &[Turns]) -> Self {
        let kinds = shapes.len();
        let mirrored = shapes.iter().filter(|_| turns.iter().any(Turns::mirrors)).map(Shape::mirrored);
        let shapes: Vec<Shape> = shapes.iter().cloned().chain(mirrored).collect();
        let simplified: Vec<Shape> = shapes.iter().map(Shape::simplified).collect();
        let grown = |margin: f64| -> Vec<Shape> {
            let grown = |(simplified, shape): (&Shape, &Shape)| {
                let [x, y] = shape.center();
                simplified.moved_and_grown([-x, -y], margin * shape.radius())
            };
            simplified.iter().zip(&shapes).map(grown).collect()
        };
        let all: usize = counts.iter().sum();
        let radii: f64 = shapes.iter().zip(counts).map(|(shape, count)| *count as f64 * shape.radius()).sum();
        let area: f64 = shapes.iter().zip(counts).map(|(shape, count)| *count as f64 * shape.area()).sum();
        let pressure = container.growth(area / DENSITY);
        Problem {
            squeezed: grown(MARGIN),
            searched: grown(if shapes.len() > 1 { SEARCH_MARGIN } else { MARGIN }),
            radius: match &shapes[..] {
                [shape] => shape.radius(),
                _ => radii / all as f64,
            },
            pressure,
            scale_rate: if container.width().is_some() { 1.0 } else { 1.0 / pressure },
            container,
            turns: turns.iter().cycle().take(shapes.len()).cloned().collect(),
            shapes,
            kinds,
        }
    }

    /// Returns true if some copies may be mirrored.
    pub fn mirrors(&self) -> bool {
        self.shapes.len() > self.kinds
    }

    /// Returns the problem with four angles for each shape that may have any. At these, the shape's box is smallest.
    pub fn at_quarters(&self) -> Self {
        let most = self.container.width().unwrap_or(f64::INFINITY);
        let quarters = |(turns, shape): (&Turns, &Shape)| {
            // By how much a strip is too narrow, and the area.
            let size = |theta: &f64| {
                let [low, high] = shape.bounds_at(*theta);
                let [x, y] = [0, 1].map(|axis| high[axis] - low[axis]);
                [(x.min(y) - most).max(0.0), x * y]
            };
            let least = |a: &f64, b: &f64| size(a).partial_cmp(&size(b)).unwrap_or(Ordering::Equal);
            let upright = || turns.of_hull(shape).into_iter().min_by(least).unwrap_or_default();
            if turns.is_any() { Turns::QUARTERS.turned(upright()).mirroring(turns.mirrors()) } else { turns.clone() }
        };
        Problem { turns: self.turns.iter().zip(&self.shapes).map(quarters).collect(), ..self.clone() }
    }

    /// Returns true if each shape has a set of angles.
    pub fn is_at_angles(&self) -> bool {
        self.turns.iter().all(|turns| !turns.is_any())
    }

    /// Returns the shape of a copy of this kind, and its pose: a mirrored copy is one of the mirror image.
    pub fn oriented(&self, kind: u32, [x, y, theta]: Pose) -> (u32, Pose) {
        match unflagged(theta) {
            (angle, true) if self.mirrors() => (kind + self.kinds as u32, [x, y, self.turns[kind as usize].nearest(angle)]),
            _ => (kind, [x, y, theta]),
        }
    }

    /// The same of all copies.
    pub fn all_oriented(&self, kinds: &[u32], poses: &[Pose]) -> (Vec<u32>, Vec<Pose>) {
        poses.iter().zip(kinds).map(|(&pose, &kind)| self.oriented(kind, pose)).unzip()
    }

    /// Returns true if packings may be symmetric under half a turn.
    pub fn is_symmetric(&self) -> bool {
        self.shapes.len() == 1 && self.turns[0].halves() && self.container.is_symmetric()
    }

    /// Total area of copies of these shapes.
    pub fn area(&self, kinds: &[u32]) -> f64 {
        match &self.shapes[..] {
            [shape] => kinds.len() as f64 * shape.area(),
            shapes => kinds.iter().map(|&kind| shapes[kind as usize].area()).sum(),
        }
    }

    /// Returns random poses of copies of these shapes in the container.
    pub fn scattered(&self, random: &mut Random, kinds: &[u32], scale: f64) -> Vec<Pose> {
        let corners = self.container.outline(scale);
        let [low, high] = bounds(&corners);
        let anywhere = |&kind: &u32| loop {
            let [x, y] = [0, 1].map(|axis| random.between(low[axis], high[axis]));
            if self.container.level([x, y]) <= scale * (1.0 + ROUNDING) {
                return [x, y, self.turns[kind as usize].some(random)];
            }
        };
        kinds.iter().map(anywhere).collect()
    }

    /// A pose outside the container, where a copy meets no other.
    pub fn away(&self, scale: f64) -> Pose {
        let [_, [x, y]] = bounds(&self.container.outline(scale));
        let radius = self.shapes.iter().map(Shape::radius).fold(0.0, f64::max);
        [x + 4.0 * radius, y + 4.0 * radius, 0.0]
    }

    /// The packing of poses about the shapes' centres, moved into the smallest container. None if a
    /// strip is too narrow.
    pub fn own(&self, kinds: &[u32], poses: &[Pose]) -> Option<Packing> {
        let own = |(&[x, y, theta], &kind): (&Pose, &u32)| {
            let theta = self.turns[kind as usize].nearest(theta);
            let (shape, [_, _, angle]) = self.oriented(kind, [x, y, theta]);
            let ([u, v], (sine, cosine)) = (self.shapes[shape as usize].center(), angle.sin_cos());
            [x - cosine * u + sine * v, y - sine * u - cosine * v, theta]
        };
        let mut poses: Vec<_> = poses.iter().zip(kinds).map(own).collect();
        let [x, y] = self.container.middle(&self.vertices(kinds, &poses));
        for pose in &mut poses {
            pose[0] += x;
            pose[1] += y;
        }
        // By rounding, it may be a little off the middle.
        let side = self.container.scale_containing(&self.vertices(kinds, &poses))?;
        Some(Packing::new(poses, side))
    }

    fn vertices(&self, kinds: &[u32], poses: &[Pose]) -> Vec<Point> {
        let (shapes, poses) = self.all_oriented(kinds, poses);
        poses.iter().zip(shapes).flat_map(|(&pose, shape)| self.shapes[shape as usize].posed(pose)).flatten().collect()
    }

    /// Poses about the shapes' centres, from poses about the origins of their frames.
    pub fn about_centers(&self, kinds: &[u32], poses: &[Pose]) -> Vec<Pose> {
        let moved = |(&[x, y, theta], &kind): (&Pose, &u32)| {
            let (shape, [_, _, angle]) = self.oriented(kind, [x, y, theta]);
            let ([u, v], (sine, cosine)) = (self.shapes[shape as usize].center(), angle.sin_cos());
            [x + cosine * u - sine * v, y + sine * u + cosine * v, theta]
        };
        poses.iter().zip(kinds).map(moved).collect()
    }

    /// The same packing as users have it: angles are not flagged.
    pub fn shown(&self, kinds: &[u32], packing: &Packing) -> Packing {
        let (shapes, poses) = self.all_oriented(kinds, &packing.poses);
        let mirrored = shapes.iter().filter(|_| self.mirrors()).map(|&shape| shape as usize >= self.kinds).collect();
        Packing { mirrored, ..Packing::new(poses, packing.side) }
    }

    /// Checks a packing to go on from, and its flags of mirrored copies.
    pub fn start(&self, kinds: &[u32], poses: &[Pose], mirrored: &[bool]) -> Result<Packing, PackError> {
        let mirrored = mirrored.iter().copied().chain(std::iter::repeat(false));
        let pose = |(&[x, y, theta], mirrored): (&Pose, bool)| {
            // Far angles would count as flagged.
            let angle = if mirrored || theta.abs() > TAU { reduced(theta) } else { theta };
            [x, y, flagged(angle, mirrored)]
        };
        let poses: Vec<Pose> = poses.iter().zip(mirrored).map(pose).collect();
        let turned = || poses.iter().zip(kinds).map(|(pose, &kind)| (pose[2], &self.turns[kind as usize]));
        if let Some(pose) = turned().position(|(theta, turns)| !turns.allow(theta)) {
            return Err(PackError::StartTurned { pose, theta: unflagged(poses[pose][2]).0 });
        }
        let Some(mut valid) = self.own(kinds, &self.about_centers(kinds, &poses)) else {
            return Err(PackError::StartWide { width: self.container.width().unwrap_or_default() });
        };
        // Poses that are in place and at allowed angles to the last bit stay as they are. Others have moved by roundings.
        let in_place = self.container.scale_containing(&self.vertices(kinds, &poses)).filter(|&side| side <= valid.side);
        if let Some(side) = in_place.filter(|_| turned().all(|(theta, turns)| theta == turns.nearest(theta))) {
            valid = Packing::new(poses.clone(), side);
        }
        match self.overlapping(kinds, &valid.poses)? {
            None => Ok(valid),
            Some(Meeting { first, second, area, .. }) => Err(PackError::StartOverlaps { first, second, area }),
        }
    }

    /// The first pair of copies that overlap by the rules of the contest: no overlap is too small
    /// to count.
    pub fn overlapping(&self, kinds: &[u32], poses: &[Pose]) -> Result<Option<Meeting>, PackError> {
        let (shapes, poses) = self.all_oriented(kinds, poses);
        let packings = Packings::one(poses)?;
        let packings = if self.shapes.len() == 1 { packings } else { packings.with_shapes(shapes)? };
        let meetings = meetings(&packings, 0, &self.shapes);
        Ok(meetings.into_iter().find_map(|(meeting, overlaps)| overlaps.then_some(meeting)))
    }

    /// A valid packing: copies in rows.
    ///
    /// # Errors
    /// [`PackError::TooNarrow`].
    pub fn rows(&self, kinds: &[u32]) -> Result<Packing, PackError> {
        let n = kinds.len();
        let Some(width) = self.container.width() else {
            let columns = (1..).find(|columns| columns * columns >= n).unwrap_or(n);
            let radius = self.shapes.iter().map(Shape::radius).fold(0.0, f64::max);
            let poses: Vec<_> =
                (0..n).map(|k| [2.0 * radius * (k % columns) as f64, 2.0 * radius * (k / columns) as f64, 0.0]).collect();
            return self.own(kinds, &poses).ok_or(PackError::NoRoom);
        };
        // Each shape's narrowest angle, and its box then.
        let narrowest: Vec<(f64, [Point; 2])> = (0..self.shapes.len()).map(|kind| self.narrowest(kind)).collect();
        let used = || kinds.iter().map(|&kind| &narrowest[kind as usize].1);
        let extent = |axis: usize| used().map(|[low, high]| high[axis] - low[axis]).fold(0.0, f64::max);
        let (wide, high) = (extent(0), extent(1));
        let columns = |gap: f64| ((width / (wide * (1.0 + gap))) as usize).max(1);
        let placed = |gap: f64| {
            let columns = columns(gap);
            let at = |(k, &kind): (usize, &u32)| {
                let (theta, [from, to]) = narrowest[kind as usize];
                let place = [(k % columns) as f64 * wide * (1.0 + gap.max(0.0)), (k / columns) as f64 * high * (1.0 + GAP)];
                let [x, y] = [0, 1].map(|axis| place[axis] - 0.5 * (from[axis] + to[axis]));
                [x, y, theta]
            };
            let poses: Vec<Pose> = kinds.iter().enumerate().map(at).collect();
            self.own(kinds, &self.about_centers(kinds, &poses))
        };
        // Copies that fill the width leave no room for gaps.
        let tight = (columns(-ROUNDING) > columns(GAP)).then(|| placed(-ROUNDING)).flatten();
        let tight = tight.filter(|tight| matches!(self.overlapping(kinds, &tight.poses), Ok(None)));
        tight.or_else(|| placed(GAP)).ok_or_else(|| {
            let kind = kinds.iter().copied().max_by(|&a, &b| {
                let wide = |kind: u32| narrowest[kind as usize].1[1][0] - narrowest[kind as usize].1[0][0];
                wide(a).total_cmp(&wide(b))
            });
            let shape = self.shapes[kind.unwrap_or_default() as usize].name().to_owned();
            PackError::TooNarrow { width, shape, least: wide }
        })
    }

    /// Returns the shape's narrowest allowed angle, and its box then.
    fn narrowest(&self, kind: usize) -> (f64, [Point; 2]) {
        let shape = &self.shapes[kind];
        let boxes = self.turns[kind].of_hull(shape).into_iter().map(|theta| (theta, shape.bounds_at(theta)));
        let width = |(_, [low, high]): &(f64, [Point; 2])| high[0] - low[0];
        boxes.min_by(|a, b| width(a).total_cmp(&width(b))).unwrap_or_else(|| (0.0, shape.bounds_at(0.0)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Squares that fill a strip's width exactly are not fewer in a row, unless rounding has them stick out.
    #[test]
    fn rows_across_a_strip() -> Result<(), Box<dyn std::error::Error>> {
        for (side, width, least, most) in [
            (1.0, 4.0, 4.0, 4.0),
            (0.5, 2.0, 2.0, 2.0),
            (0.1, 0.4, 0.4, 0.6),
            (1.0, 4.0 - 1e-9, 6.0, 6.0),
            (1.0, 4.00001, 4.0, 4.0),
        ] {
            let square = Shape::polygon("square", &[[0.0, 0.0], [side, 0.0], [side, side], [0.0, side]])?;
            let problem = Problem::new(&[square], &[16], Boundary::strip(width)?, &[Turns::NONE]);
            let rows = problem.rows(&[0; 16])?;
            assert!(matches!(problem.overlapping(&[0; 16], &rows.poses), Ok(None)));
            assert!(rows.side > least - 1e-6 && rows.side < most + 1e-6, "{width}: {}", rows.side);
        }
        Ok(())
    }

    /// A shape that may have any angle gets four. At these its box is smallest, and fits into a strip if it can. Sets stay.
    #[test]
    fn quarters_for_any_angle() -> Result<(), Box<dyn std::error::Error>> {
        let (sine, cosine) = 17f64.to_radians().sin_cos();
        let turned = |[x, y]: Point| [cosine * x - sine * y, sine * x + cosine * y];
        let shape = |outline: &[Point]| Shape::polygon("part", &outline.iter().copied().map(turned).collect::<Vec<_>>());
        let rectangle = shape(&[[0.0, 0.0], [3.0, 0.0], [3.0, 2.0], [0.0, 2.0]])?;
        // Boxes of 3 x 4, and of 5 x 2.4 along the longest edge.
        let triangle = shape(&[[0.0, 0.0], [4.0, 0.0], [0.0, 3.0]])?;
        for (width, least) in [(2.5, 2.4), (2.41, 2.4), (2.0, 2.4)] {
            let turns = [Turns::ANY, Turns::ANY.mirroring(true), Turns::HALVES];
            let shapes = [rectangle.clone(), triangle.clone(), triangle.clone()];
            let problem = Problem::new(&shapes, &[1; 3], Boundary::strip(width)?, &turns).at_quarters();
            let extents = |kind: usize| -> Vec<f64> {
                let angles = problem.turns[kind].angles().unwrap_or_default();
                let extent = |theta: &f64| {
                    let [low, high] = shapes[kind].bounds_at(*theta);
                    (high[0] - low[0]).min(high[1] - low[1])
                };
                angles.iter().map(extent).collect()
            };
            for (kind, expected) in [(0, 2.0), (1, least)] {
                let found = extents(kind);
                assert!(found.len() == 4 && found.iter().all(|extent| (extent - expected).abs() < 1e-9), "{width}: {found:?}");
            }
            assert!(problem.is_at_angles() && problem.turns[1].mirrors() && !problem.turns[0].mirrors());
            assert_eq!(problem.turns[2], Turns::HALVES);
        }
        Ok(())
    }
}
