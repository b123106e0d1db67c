//! The region that poses should stay in.

use std::f64::consts::{PI, TAU};

use robust::{Coord, incircle, orient2d};

use crate::overlap::{
    OverlapError, Point, Shape,
    error::{LARGEST, SMALLEST},
    shape::{convex, enclosing_circle},
};

/// Number of half-planes around a disk, in which centres are kept, and of sides of a disk that is
/// drawn.
const AROUND_DISK: usize = 32;
const DRAWN: usize = 360;
/// Largest number of times that a scale grows, by ever larger steps, until its points are inside
/// despite rounding.
const ROUNDINGS: i32 = 20;

/// A convex region about the origin, with a *scale* that is given for each packing:
///
/// - a polygon times the scale (for the unit square, the scale is the side);
/// - a strip of a fixed width, whose height is the scale;
/// - a disk, whose radius is the scale.
#[derive(Clone, Debug, PartialEq)]
pub struct Boundary {
    form: Form,
}

#[derive(Clone, Debug, PartialEq)]
enum Form {
    Square(Shape),
    /// With its half-planes.
    Polygon(Shape, Vec<[f64; 4]>),
    Strip {
        width: f64,
        unit: Shape,
    },
    Disk,
}

impl Boundary {
    /// A square around the origin, whose scale is its side.
    pub fn square() -> Self {
        Boundary { form: Form::Square(rectangle(1.0)) }
    }

    /// Any convex polygon with the origin inside, at scale 1, in length units.
    ///
    /// # Errors
    /// As [`Shape::from_pieces`]; [`OverlapError::Origin`] where the origin isn't inside.
    pub fn polygon(vertices: &[Point]) -> Result<Self, OverlapError> {
        let shape = Shape::from_pieces("boundary", &[vertices.to_vec()])?;
        let planes = half_planes(&shape.pieces()[0]);
        match planes.iter().position(|plane| plane[3] <= 0.0) {
            Some(edge) => Err(OverlapError::Origin { edge }),
            None => Ok(Boundary { form: Form::Polygon(shape, planes) }),
        }
    }

    /// A rectangle around the origin of this width, in x, whose scale is its height.
    ///
    /// # Errors
    /// [`OverlapError::Width`] where the width isn't positive, or 10^6 or more.
    pub fn strip(width: f64) -> Result<Self, OverlapError> {
        if (SMALLEST..LARGEST).contains(&width) {
            Ok(Boundary { form: Form::Strip { width, unit: rectangle(width) } })
        } else {
            Err(OverlapError::Width { width })
        }
    }

    /// A disk about the origin, whose scale is its radius.
    pub fn disk() -> Self {
        Boundary { form: Form::Disk }
    }

    /// Name of the scale: side, height, radius or scale.
    pub fn scale_name(&self) -> &'static str {
        match self.form {
            Form::Square(_) => "side",
            Form::Polygon(..) => "scale",
            Form::Strip { .. } => "height",
            Form::Disk => "radius",
        }
    }

    /// Returns whether this is the square.
    pub fn is_square(&self) -> bool {
        matches!(self.form, Form::Square(_))
    }

    /// Width of a strip; `None` for other boundaries.
    pub fn width(&self) -> Option<f64> {
        match self.form {
            Form::Strip { width, .. } => Some(width),
            _ => None,
        }
    }

    /// Returns whether this is a disk.
    pub(in crate::overlap) fn is_disk(&self) -> bool {
        matches!(self.form, Form::Disk)
    }

    /// Returns the corners at a scale, counter-clockwise; for a disk, enough points to draw it.
    pub fn outline(&self, scale: f64) -> Vec<Point> {
        match &self.form {
            Form::Square(shape) | Form::Polygon(shape, _) => {
                shape.pieces()[0].iter().map(|[x, y]| [scale * x, scale * y]).collect()
            }
            Form::Strip { unit, .. } => unit.pieces()[0].iter().map(|[x, y]| [*x, scale * y]).collect(),
            Form::Disk => {
                let point = |k: usize| (TAU * k as f64 / DRAWN as f64).sin_cos();
                (0..DRAWN).map(point).map(|(sine, cosine)| [scale * cosine, scale * sine]).collect()
            }
        }
    }

    /// The area at a scale.
    pub fn area(&self, scale: f64) -> f64 {
        match &self.form {
            Form::Square(shape) | Form::Polygon(shape, _) => shape.area() * scale * scale,
            Form::Strip { width, .. } => width * scale,
            Form::Disk => PI * scale * scale,
        }
    }

    /// Returns the scale of a given area.
    pub(in crate::overlap) fn scale_of(&self, area: f64) -> f64 {
        match &self.form {
            Form::Square(shape) | Form::Polygon(shape, _) => (area / shape.area()).sqrt(),
            Form::Strip { width, .. } => area / width,
            Form::Disk => (area / PI).sqrt(),
        }
    }

    /// Derivative of the area by the scale, relative to that of a square of the same area.
    pub(in crate::overlap) fn growth(&self, area: f64) -> f64 {
        match &self.form {
            Form::Square(_) => 1.0,
            Form::Polygon(shape, _) => shape.area().sqrt(),
            Form::Strip { width, .. } => 0.5 * width / area.sqrt(),
            Form::Disk => PI.sqrt(),
        }
    }

    /// Returns whether half a turn maps the region to itself.
    pub(in crate::overlap) fn is_symmetric(&self) -> bool {
        let Form::Polygon(shape, _) = &self.form else { return true };
        let corners = &shape.pieces()[0];
        let opposite =
            |[x, y]: &Point| corners.iter().any(|&corner| convex::distance(corner, [-x, -y]) <= 1e-12 * shape.radius());
        corners.iter().all(opposite)
    }

    /// Convex quads that make it up; none of a disk.
    pub(in crate::overlap) fn quads(&self) -> &[[Point; 4]] {
        match &self.form {
            Form::Square(shape) | Form::Polygon(shape, _) | Form::Strip { unit: shape, .. } => shape.quads(),
            Form::Disk => &[],
        }
    }

    /// Returns, for each edge, the inward unit normal, the distance from the origin at scale 0, and
    /// its growth per unit of scale. For a disk, the edges are those of a polygon around it.
    pub(in crate::overlap) fn half_planes(&self) -> Vec<[f64; 4]> {
        match &self.form {
            Form::Square(shape) => half_planes(&shape.pieces()[0]),
            Form::Polygon(_, planes) => planes.clone(),
            Form::Strip { width, .. } => {
                let half = 0.5 * width;
                vec![[0.0, 1.0, 0.0, 0.5], [-1.0, 0.0, half, 0.0], [0.0, -1.0, 0.0, 0.5], [1.0, 0.0, half, 0.0]]
            }
            Form::Disk => {
                let normal = |k: usize| (TAU * k as f64 / AROUND_DISK as f64).sin_cos();
                (0..AROUND_DISK).map(normal).map(|(sine, cosine)| [-cosine, -sine, 0.0, 1.0]).collect()
            }
        }
    }

    /// Returns whether the points are inside or on the boundary, by exact arithmetic. A polygon's
    /// corners are the rounded ones of [`outline`](Self::outline).
    pub fn contains<'a>(&self, scale: f64, points: impl IntoIterator<Item = &'a Point>) -> bool {
        let coord = |&[x, y]: &Point| Coord { x, y };
        let mut points = points.into_iter();
        match &self.form {
            // Doubling is exact.
            Form::Square(_) => points.all(|point| point.iter().all(|number| 2.0 * number.abs() <= scale)),
            Form::Strip { width, .. } => points.all(|[x, y]| 2.0 * x.abs() <= *width && 2.0 * y.abs() <= scale),
            Form::Polygon(..) => {
                let corners: Vec<_> = self.outline(scale).iter().map(coord).collect();
                let edges = || corners.iter().zip(corners.iter().cycle().skip(1));
                points.all(|point| edges().all(|(from, to)| orient2d(*from, *to, coord(point)) >= 0.0))
            }
            Form::Disk => {
                let [right, top, left] = [[scale, 0.0], [0.0, scale], [-scale, 0.0]].map(|point| coord(&point));
                points.all(|point| incircle(right, top, left, coord(point)) >= 0.0)
            }
        }
    }

    /// Returns the smallest scale at which the points are inside without being moved, or `None` if
    /// a strip is too narrow.
    pub(in crate::overlap) fn scale_around<'a>(&self, points: impl IntoIterator<Item = &'a Point>) -> Option<f64> {
        let points = points.into_iter();
        match &self.form {
            Form::Square(_) => Some(points.flatten().fold(0.0f64, |farthest, number| farthest.max(2.0 * number.abs()))),
            Form::Strip { width, .. } => {
                let [x, y] = points.fold([0.0f64; 2], |[x, y], point| [x.max(2.0 * point[0].abs()), y.max(2.0 * point[1].abs())]);
                (x <= *width).then_some(y)
            }
            Form::Polygon(_, planes) => {
                let of = |[x, y]: &Point| planes.iter().map(|[a, b, _, d]| -(a * x + b * y) / d).fold(0.0, f64::max);
                Some(points.map(of).fold(0.0, f64::max))
            }
            Form::Disk => Some(points.map(|[x, y]| x.hypot(*y)).fold(0.0, f64::max)),
        }
    }

    /// Returns the scale at which a point is on the boundary, or, for a strip, at the height of an
    /// end.
    pub(in crate::overlap) fn level(&self, [x, y]: Point) -> f64 {
        match &self.form {
            Form::Strip { .. } => 2.0 * y.abs(),
            _ => self.scale_around([&[x, y]]).unwrap_or(0.0),
        }
    }

    /// Returns the scale at which a circle about the origin is inside. The width of a strip is
    /// ignored.
    pub(in crate::overlap) fn scale_around_circle(&self, radius: f64) -> f64 {
        let planes = self.half_planes();
        planes.iter().filter(|plane| plane[3] > 0.0).map(|plane| (radius - plane[2]) / plane[3]).fold(0.0, f64::max)
    }

    /// Returns the smallest scale at which the points are inside if they may be moved together, or
    /// `None` if a strip is too narrow.
    pub fn fit(&self, points: &[[f64; 2]]) -> Option<f64> {
        let [u, v] = self.middle(points);
        self.scale_around(&points.iter().map(|[x, y]| [x + u, y + v]).collect::<Vec<_>>())
    }

    /// Returns the vector that moves the points to where the scale around them is smallest.
    pub(in crate::overlap) fn middle(&self, points: &[Point]) -> Point {
        match &self.form {
            Form::Square(_) | Form::Strip { .. } => {
                let [low, high] = convex::bounds(points);
                [-0.5 * (low[0] + high[0]), -0.5 * (low[1] + high[1])]
            }
            Form::Polygon(_, planes) => least_around(planes, points),
            Form::Disk => enclosing_circle(points.to_vec()).0.map(|number| -number),
        }
    }

    /// Returns a scale, smallest up to rounding, that [contains](Self::contains) the points without
    /// moving them.
    pub(in crate::overlap) fn scale_containing(&self, points: &[Point]) -> Option<f64> {
        let mut scale = self.scale_around(points)?;
        for step in 0..ROUNDINGS {
            if self.contains(scale, points) {
                return Some(scale);
            }
            scale *= 1.0 + f64::EPSILON * 2f64.powi(step);
        }
        None
    }
}

/// Returns, for each edge, the inward unit normal, 0, and the distance from the origin.
fn half_planes(corners: &[Point]) -> Vec<[f64; 4]> {
    let edge = |(k, from): (usize, &Point)| {
        let to = corners[(k + 1) % corners.len()];
        let length = convex::distance(*from, to);
        let normal = [(from[1] - to[1]) / length, (to[0] - from[0]) / length];
        [normal[0], normal[1], 0.0, -(normal[0] * from[0] + normal[1] * from[1])]
    };
    corners.iter().enumerate().map(edge).collect()
}

/// A rectangle about the origin of height 1.
fn rectangle(width: f64) -> Shape {
    let half = 0.5 * width;
    let corners = vec![[-half, -0.5], [half, -0.5], [half, 0.5], [-half, 0.5]];
    // It has an area, and is convex.
    Shape::from_pieces("boundary", &[corners]).unwrap_or_else(|error| unreachable!("{error}"))
}

/// Returns the vector that moves points into the smallest multiple of a polygon, which is given by
/// its half-planes, each with its growth per unit of scale.
///
/// This is a linear program with three unknowns. Its optimum is determined by three of the
/// half-planes. While another one is violated, it replaces one of the three, and the scale grows.
fn least_around(half_planes: &[[f64; 4]], points: &[Point]) -> Point {
    /// Cross products of unit vectors that are no more than this are rounding.
    const FLAT: f64 = 1e-12;
    // For each half-plane, normal * move + growth * scale >= bound.
    let constraints: Vec<[f64; 4]> = half_planes
        .iter()
        .map(|[a, b, _, growth]| {
            let least = points.iter().map(|[x, y]| a * x + b * y).fold(f64::INFINITY, f64::min);
            [*a, *b, *growth, -least]
        })
        .collect();
    let size = points.iter().flatten().fold(0.0f64, |most, number| most.max(number.abs()));
    let short = |[a, b, c, bound]: &[f64; 4], [x, y, scale]: [f64; 3]| bound - (a * x + b * y + c * scale);
    // The optimum of three: all hold with equality, and the scale can't shrink.
    let optimum = |three: [usize; 3]| {
        let [p, q, r] = three.map(|k| constraints[k]);
        let cross = |u: [f64; 4], v: [f64; 4]| u[0] * v[1] - u[1] * v[0];
        // With these non-negative weights, the normals add up to 0.
        let weights = [cross(q, r), cross(r, p), cross(p, q)];
        let sum: f64 = weights.iter().sum();
        if sum.abs() < FLAT || weights.iter().any(|weight| weight * sum.signum() < -FLAT) {
            return None;
        }
        let total = |k: usize| (weights[0] * p[k] + weights[1] * q[k] + weights[2] * r[k]) / sum;
        let scale = total(3) / total(2);
        // Two of the lines, at that scale: those of the steepest angle.
        let pairs = [(q, r, weights[0]), (r, p, weights[1]), (p, q, weights[2])];
        let (u, v, determinant) = pairs.into_iter().max_by(|a, b| a.2.abs().total_cmp(&b.2.abs()))?;
        let (left, right) = (u[3] - u[2] * scale, v[3] - v[2] * scale);
        Some([(left * v[1] - right * u[1]) / determinant, (u[0] * right - v[0] * left) / determinant, scale])
    };
    let n = constraints.len();
    let first = (1..n).flat_map(|b| (b + 1..n).map(move |c| [0, b, c])).find_map(|three| Some((three, optimum(three)?)));
    let Some((mut three, mut best)) = first else { return [0.0; 2] };
    for _ in 0..n * n {
        let farthest = (0..n).max_by(|&a, &b| short(&constraints[a], best).total_cmp(&short(&constraints[b], best)));
        let Some(next) = farthest.filter(|&next| short(&constraints[next], best) > 1e-15 * (size + best[2].abs())) else { break };
        // It replaces the half-plane that holds without being enforced.
        let tries = (0..3).filter_map(|k| {
            let mut with = three;
            let left = std::mem::replace(&mut with[k], next);
            Some((with, optimum(with)?, left))
        });
        let Some((with, found, _)) = tries.min_by(|a, b| {
            let miss = |(_, found, left): &([usize; 3], [f64; 3], usize)| short(&constraints[*left], *found).max(0.0);
            miss(a).total_cmp(&miss(b))
        }) else {
            break;
        };
        (three, best) = (with, found);
    }
    [best[0], best[1]]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::overlap::random::Random;

    fn polygon(random: &mut Random, n: usize) -> Boundary {
        let mut angles: Vec<f64> = (0..n).map(|k| TAU * (k as f64 + 0.8 * random.unit()) / n as f64).collect();
        angles.sort_by(f64::total_cmp);
        let vertices: Vec<Point> = angles.iter().map(|angle| [1.5 * angle.cos(), angle.sin()]).collect();
        Boundary::polygon(&vertices).expect("it is convex")
    }

    /// No other place has less around it, by a search over all threes of half-planes.
    #[test]
    fn the_least_polygon_around_points() {
        let mut random = Random::new(3, 0);
        for n in [3, 4, 5, 8, 20] {
            for count in [1, 2, 3, 50] {
                // A rectangle has no one place.
                let rectangle = Boundary::polygon(&[[-1.0, -0.5], [1.0, -0.5], [1.0, 0.5], [-1.0, 0.5]]);
                let boundary = if n == 20 { rectangle.expect("it is convex") } else { polygon(&mut random, n) };
                let points: Vec<Point> = (0..count).map(|_| [random.between(-3.0, 9.0), random.between(5.0, 7.0)]).collect();
                let by = boundary.middle(&points);
                let moved = |[u, v]: Point| points.iter().map(|[x, y]| [x + u, y + v]).collect::<Vec<Point>>();
                let least = boundary.scale_around(&moved(by)).expect("no strip");
                assert!(count > 1 || least < 1e-14, "{least}");
                for step in [1e-4, 1e-2, 1.0] {
                    for angle in (0..12).map(|k| TAU * f64::from(k) / 12.0) {
                        let other = [by[0] + step * angle.cos(), by[1] + step * angle.sin()];
                        let other = boundary.scale_around(&moved(other)).expect("no strip");
                        assert!(other >= least - 1e-13, "{n} {count}: {other} and {least}");
                    }
                }
                let scale = boundary.scale_containing(&moved(by)).expect("rounding is little");
                assert!(scale <= least * (1.0 + 1e-13) && boundary.contains(scale, &moved(by)));
            }
        }
    }

    #[test]
    fn least_scales() {
        let points = [[3.0, 1.0], [-1.0, 4.0], [0.0, 0.0]];
        assert_eq!(Boundary::square().scale_containing(&points), Some(8.0));
        assert_eq!(Boundary::strip(6.0).expect("a width").scale_containing(&points), Some(8.0));
        assert_eq!(Boundary::strip(5.999).expect("a width").scale_containing(&points), None);
        let radius = Boundary::disk().scale_containing(&points).expect("rounding is little");
        assert!((radius - 17f64.sqrt()).abs() < 1e-14);
        assert_eq!(Boundary::disk().middle(&[[1.0, 2.0], [3.0, 2.0]]), [-2.0, -2.0]);
    }

    /// One unit in the last place decides.
    #[test]
    fn what_is_inside_is_exact() {
        // 3, 4, 5.
        let (on, beyond) = ([[3.0, 4.0]], [[3.0, 4.0f64.next_up()]]);
        let disk = Boundary::disk();
        assert!(disk.contains(5.0, &on) && !disk.contains(5.0, &beyond) && !disk.contains(5f64.next_down(), &on));
        let triangle = Boundary::polygon(&[[-1.0, -1.0], [2.0, -1.0], [-1.0, 2.0]]).expect("it is convex");
        let (on, beyond) = ([[0.25, 0.75]], [[0.25, 0.75f64.next_up()]]);
        assert!(triangle.contains(1.0, &on) && !triangle.contains(1.0, &beyond));
        let strip = Boundary::strip(0.2).expect("a width");
        assert!(strip.contains(2.0, &[[0.1, 1.0]]) && !strip.contains(2.0, &[[0.1f64.next_up(), 1.0]]));
        assert!(!strip.contains(2.0, &[[0.1, 1f64.next_up()]]));
    }

    #[test]
    fn widths() {
        for width in [0.0, -1.0, f64::NAN, f64::INFINITY, 1e6] {
            assert!(matches!(Boundary::strip(width), Err(OverlapError::Width { .. })), "{width}");
        }
        assert!(Boundary::square().is_symmetric() && Boundary::disk().is_symmetric());
        let corners = |n: usize| (0..n).map(|k| (TAU * k as f64 / n as f64).sin_cos()).map(|(s, c)| [c, s]).collect::<Vec<_>>();
        assert!(Boundary::polygon(&corners(6)).expect("convex").is_symmetric());
        assert!(!Boundary::polygon(&corners(5)).expect("convex").is_symmetric());
    }
}
