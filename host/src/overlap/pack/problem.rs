//! What is packed, and into what.

use std::f64::consts::FRAC_PI_2;

use super::{PackError, Packing, Turns, moves::anywhere};
use crate::overlap::{
    Boundary, Packings, Shape,
    contest::{Meeting, meetings},
    convex::{bounds, hull},
    random::Random,
};

type Pose = [f64; 3];
type Point = [f64; 2];

/// By so much the pieces are grown while they are squeezed, in units of the shape's radius.
const MARGIN: f64 = 1e-7;
/// What copies cover of a container in the end, about: for the pressure in a strip.
const DENSITY: f64 = 0.75;
/// Copies in rows are farther apart than they need be, by this share.
const GAP: f64 = 1e-9;

/// What is packed, into what, and how copies may be turned.
#[derive(Debug)]
pub struct Problem {
    pub shapes: Vec<Shape>,
    /// The same as they are squeezed: their circles' centres at the origin, and grown.
    pub squeezed: Vec<Shape>,
    pub container: Boundary,
    pub turns: Turns,
    /// That of the shape; of several, the mean of all copies'.
    pub radius: f64,
    /// What the pressure on the scale is multiplied by, and how far the scale goes for a unit of length, so that it is
    /// to the container's walls as if it were a square's.
    pub pressure: f64,
    pub scale_rate: f64,
}

impl Problem {
    /// So many copies of each shape, at most.
    pub fn new(copies: &[(&Shape, usize)], container: Boundary, turns: Turns) -> Self {
        let squeezed = |shape: &Shape| {
            let [x, y] = shape.center();
            shape.moved_and_grown([-x, -y], MARGIN * shape.radius())
        };
        let all: usize = copies.iter().map(|(_, count)| count).sum();
        let radii: f64 = copies.iter().map(|(shape, count)| *count as f64 * shape.radius()).sum();
        let area: f64 = copies.iter().map(|(shape, count)| *count as f64 * shape.area()).sum();
        let pressure = container.growth(area / DENSITY);
        Problem {
            squeezed: copies.iter().map(|(shape, _)| squeezed(shape)).collect(),
            shapes: copies.iter().map(|(shape, _)| (*shape).clone()).collect(),
            radius: match copies {
                [(shape, _)] => shape.radius(),
                _ => radii / all as f64,
            },
            pressure,
            scale_rate: if container.width().is_some() { 1.0 } else { 1.0 / pressure },
            container,
            turns,
        }
    }

    /// Whether some packings may be such as half a turn takes to themselves.
    pub fn is_symmetric(&self) -> bool {
        self.shapes.len() == 1 && self.turns.halves() && self.container.is_symmetric()
    }

    /// The area of copies of these shapes.
    pub fn area(&self, kinds: &[u32]) -> f64 {
        match &self.shapes[..] {
            [shape] => kinds.len() as f64 * shape.area(),
            shapes => kinds.iter().map(|&kind| shapes[kind as usize].area()).sum(),
        }
    }

    /// Copies anywhere in the container.
    pub fn scattered(&self, random: &mut Random, count: usize, scale: f64) -> Vec<Pose> {
        let corners = self.container.outline(scale);
        let [low, high] = bounds(&corners);
        (0..count).map(|_| anywhere(random, self, scale, [low, high])).collect()
    }

    /// Where a copy is out of the way of all in the container.
    pub fn away(&self, scale: f64) -> Pose {
        let [_, [x, y]] = bounds(&self.container.outline(scale));
        let radius = self.shapes.iter().map(Shape::radius).fold(0.0, f64::max);
        [x + 4.0 * radius, y + 4.0 * radius, 0.0]
    }

    /// The shapes' own poses from those about their centres, moved to where the least container is around them; and its
    /// scale. None where a strip is too narrow for them.
    pub fn own(&self, kinds: &[u32], poses: &[Pose]) -> Option<Packing> {
        let own = |(&[x, y, theta], &kind): (&Pose, &u32)| {
            let ([u, v], theta) = (self.shapes[kind as usize].center(), self.turned(theta));
            let (sine, cosine) = theta.sin_cos();
            [x - cosine * u + sine * v, y - sine * u - cosine * v, theta]
        };
        let mut poses: Vec<_> = poses.iter().zip(kinds).map(own).collect();
        let [x, y] = self.container.middle(&self.vertices(kinds, &poses));
        for pose in &mut poses {
            pose[0] += x;
            pose[1] += y;
        }
        // Rounding may leave it a little off the middle.
        let side = self.container.scale_containing(&self.vertices(kinds, &poses))?;
        Some(Packing { poses, side })
    }

    /// The nearest angle that is allowed; where all are, it stays.
    fn turned(&self, theta: f64) -> f64 {
        if self.turns == Turns::Any { theta } else { self.turns.nearest(theta) }
    }

    fn vertices(&self, kinds: &[u32], poses: &[Pose]) -> Vec<Point> {
        poses.iter().zip(kinds).flat_map(|(&pose, &kind)| self.shapes[kind as usize].posed(pose)).flatten().collect()
    }

    /// Poses about the shapes' centres from their own.
    pub fn about_centers(&self, kinds: &[u32], poses: &[Pose]) -> Vec<Pose> {
        let moved = |(&[x, y, theta], &kind): (&Pose, &u32)| {
            let ([u, v], (sine, cosine)) = (self.shapes[kind as usize].center(), theta.sin_cos());
            [x + cosine * u - sine * v, y + sine * u + cosine * v, theta]
        };
        poses.iter().zip(kinds).map(moved).collect()
    }

    /// A packing to start from, if it is valid.
    pub fn start(&self, kinds: &[u32], poses: &[Pose]) -> Result<Packing, PackError> {
        if let Some(pose) = poses.iter().position(|pose| !self.turns.allow(pose[2])) {
            return Err(PackError::StartTurned { pose, theta: poses[pose][2] });
        }
        let Some(valid) = self.own(kinds, &self.about_centers(kinds, poses)) else {
            return Err(PackError::StartWide { width: self.container.width().unwrap_or_default() });
        };
        match self.overlapping(kinds, &valid.poses)? {
            None => Ok(valid),
            Some(Meeting { poses: [first, second], area, .. }) => Err(PackError::StartOverlaps { first, second, area }),
        }
    }

    /// The first pair that overlaps, by the rules of the contest: no overlap is too small to count.
    pub fn overlapping(&self, kinds: &[u32], poses: &[Pose]) -> Result<Option<Meeting>, PackError> {
        let packings = Packings::one(poses.to_vec())?;
        let packings = if self.shapes.len() == 1 { packings } else { packings.with_shapes(kinds.to_vec())? };
        let meetings = meetings(&packings, 0, &self.shapes);
        Ok(meetings.into_iter().find_map(|(meeting, overlaps)| overlaps.then_some(meeting)))
    }

    /// Copies apart from each other, in rows.
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
        // Of each shape the narrowest turn, and the box around it.
        let narrowest: Vec<(f64, [Point; 2])> = self.shapes.iter().map(|shape| self.narrowest(shape)).collect();
        let used = || kinds.iter().map(|&kind| &narrowest[kind as usize].1);
        let extent = |axis: usize| used().map(|[low, high]| high[axis] - low[axis]).fold(0.0, f64::max);
        let (wide, high) = (extent(0), extent(1));
        let columns = ((width / (wide * (1.0 + GAP))) as usize).max(1);
        let at = |(k, &kind): (usize, &u32)| {
            let (theta, [from, to]) = narrowest[kind as usize];
            let place = [(k % columns) as f64 * wide, (k / columns) as f64 * high];
            let [x, y] = [0, 1].map(|axis| place[axis] * (1.0 + GAP) - 0.5 * (from[axis] + to[axis]));
            [x, y, theta]
        };
        let poses: Vec<Pose> = kinds.iter().enumerate().map(at).collect();
        self.own(kinds, &self.about_centers(kinds, &poses)).ok_or_else(|| {
            let kind = kinds.iter().copied().max_by(|&a, &b| {
                let wide = |kind: u32| narrowest[kind as usize].1[1][0] - narrowest[kind as usize].1[0][0];
                wide(a).total_cmp(&wide(b))
            });
            let shape = self.shapes[kind.unwrap_or_default() as usize].name().to_owned();
            PackError::TooNarrow { width, shape, least: wide }
        })
    }

    /// The allowed angle at which a shape takes the least of a strip's width, and the box around it then.
    fn narrowest(&self, shape: &Shape) -> (f64, [Point; 2]) {
        let angles = match self.turns.angles() {
            Some(angles) => angles.to_vec(),
            // An edge of its hull is upright then.
            None => {
                let ring = hull(shape.outlines().iter().flatten().copied().collect());
                let edges = ring.iter().zip(ring.iter().cycle().skip(1));
                edges.map(|(from, to)| FRAC_PI_2 - (to[1] - from[1]).atan2(to[0] - from[0])).collect()
            }
        };
        let around = |theta: f64| bounds(shape.posed([0.0, 0.0, theta]).collect::<Vec<_>>().iter().flatten());
        let boxes = angles.into_iter().map(|theta| (theta, around(theta)));
        let width = |(_, [low, high]): &(f64, [Point; 2])| high[0] - low[0];
        boxes.min_by(|a, b| width(a).total_cmp(&width(b))).unwrap_or_else(|| (0.0, around(0.0)))
    }
}
