//! Turns closed paths with curves into polygons that contain what they enclose.

use kurbo::{BezPath, CubicBez, Line, ParamCurve as _, PathEl, PathSeg, Point as Place, QuadBez, Shape as _, Vec2};
use rstar::{
    RTree,
    primitives::{GeomWithData, Rectangle},
};

use super::problem::{Problem, check_vertices};
use crate::{
    io::MOST_VERTICES,
    overlap::{
        Point,
        convex::{area, bounds},
        error::SMALLEST,
        shape::{are_beside, is_inside},
    },
};

/// Largest distance of a curve from the lines that take its place, relative to the larger of the closed path's width and
/// height.
pub const CURVE_TOLERANCE: f64 = 1.0 / 2000.0;

/// Least tolerance: of a closed path of the least size, and far from rounding.
const LEAST_TOLERANCE: f64 = CURVE_TOLERANCE * SMALLEST;

/// Largest number of halvings of a curve.
const MOST_HALVINGS: u32 = 24;

/// Height of a curve over its chord below which it counts as straight, relative to the tolerance.
const STRAIGHT: f64 = 1e-6;

/// An outline with its holes.
#[derive(Debug, PartialEq)]
pub struct Contour {
    pub outline: Vec<Point>,
    pub holes: Vec<Vec<Point>>,
    /// The paths of both, with their curves.
    pub path: BezPath,
    /// Largest distance of a curve from its lines.
    pub deviation: f64,
    /// The index of the outline among the closed parts of the path.
    pub number: usize,
}

/// The parts of a path.
#[derive(Debug, Default)]
pub struct Contours {
    pub closed: Vec<Contour>,
    /// True if a part of more than a point isn't closed.
    pub has_open: bool,
}

/// A part of a path that isn't interrupted.
struct Subpath {
    start: Place,
    segments: Vec<PathSeg>,
    is_closed: bool,
}

/// Returns the contours of a path. A part within another one is a hole in it, and a part within a hole is an outline
/// again. Curves become lines outside of the material: at most `tolerance` away from them, or without it [`CURVE_TOLERANCE`].
pub fn contours(path: &BezPath, tolerance: Option<f64>) -> Result<Contours, Problem> {
    let subpaths = subpaths(path);
    let has_open = subpaths.iter().any(|subpath| !subpath.is_closed);
    let closed: Vec<Subpath> = subpaths.into_iter().filter(|subpath| subpath.is_closed).collect();
    let rings = on_curves(&closed, tolerance)?;
    let boxes = rings.iter().enumerate().map(|(number, ring)| {
        let [low, high] = bounds(ring);
        GeomWithData::new(Rectangle::from_corners(low, high), number)
    });
    let boxes = RTree::bulk_load(boxes.collect());
    let around = |inner: usize| {
        let start = rings[inner][0];
        let near = boxes.locate_all_at_point(&start).map(|other| other.data).filter(|&outer| outer != inner);
        near.filter(|&outer| is_inside(&rings[outer], start)).collect::<Vec<_>>()
    };
    let around: Vec<Vec<usize>> = (0..rings.len()).map(around).collect();
    let is_hole = |ring: usize| around[ring].len() % 2 == 1;
    // The innermost outline around a hole is one level above it.
    let mut holes = vec![Vec::new(); rings.len()];
    for hole in (0..rings.len()).filter(|&ring| is_hole(ring)) {
        let innermost = around[hole].iter().filter(|&&outer| around[outer].len() + 1 == around[hole].len());
        innermost.for_each(|&outline| holes[outline].push(hole));
    }
    let outside = |ring: usize| {
        let material_left = (area(&rings[ring]) > 0.0) != is_hole(ring);
        Lines::of(&closed[ring], Some(material_left), tolerance)
    };
    let contour = |outline: usize| {
        let of: Vec<_> = [outline].into_iter().chain(holes[outline].iter().copied()).collect();
        Contour::of(&closed, &of, outside)
    };
    let closed: Vec<Contour> = (0..rings.len()).filter(|&ring| !is_hole(ring)).map(contour).collect();
    check_vertices(closed.iter().flat_map(|contour| contour.holes.iter().chain([&contour.outline])).map(Vec::len).sum())?;
    Ok(Contours { closed, has_open })
}

/// Returns a path's largest closed part as an outline with all others as holes, but for those beside it. Curves become lines
/// within what is left. Also returns the number of those beside it.
pub fn sheet(path: &BezPath, tolerance: Option<f64>) -> Result<(Contour, usize), Problem> {
    let closed: Vec<Subpath> = subpaths(path).into_iter().filter(|subpath| subpath.is_closed).collect();
    let rings = on_curves(&closed, tolerance)?;
    let areas: Vec<f64> = rings.iter().map(|ring| area(ring)).collect();
    let mut order: Vec<usize> = (0..closed.len()).collect();
    order.sort_by(|&a, &b| areas[b].abs().total_cmp(&areas[a].abs()));
    if let Some((&largest, others)) = order.split_first() {
        let mut beside = are_beside(&rings[largest], others.iter().map(|&ring| &rings[ring][..])).into_iter();
        order.retain(|&ring| ring == largest || beside.next() == Some(false));
    }
    let within = |ring: usize| Lines::of(&closed[ring], Some((areas[ring] > 0.0) != (ring == order[0])), tolerance);
    let contour = Contour::of(&closed, &order, within);
    check_vertices(contour.holes.iter().chain([&contour.outline]).map(Vec::len).sum())?;
    Ok((contour, closed.len() - order.len()))
}

/// Returns polygons with vertices on the curves of closed parts, which tell how these lie.
fn on_curves(closed: &[Subpath], tolerance: Option<f64>) -> Result<Vec<Vec<Point>>, Problem> {
    let mut vertices = 0;
    let ring = |subpath| {
        let ring = Lines::of(subpath, None, tolerance).ring;
        vertices += ring.len();
        check_vertices(vertices).map(|()| ring)
    };
    closed.iter().map(ring).collect()
}

impl Contour {
    /// The first of some closed parts with the others as holes.
    fn of(closed: &[Subpath], parts: &[usize], lines: impl Fn(usize) -> Lines) -> Self {
        let path = parts.iter().flat_map(|&part| closed[part].elements()).collect();
        let lines: Vec<Lines> = parts.iter().map(|&part| lines(part)).collect();
        let deviation = lines.iter().map(|lines| lines.deviation).fold(0.0, f64::max);
        let mut rings = lines.into_iter().map(|lines| lines.ring);
        let number = parts.first().copied().unwrap_or_default();
        Contour { outline: rings.next().unwrap_or_default(), holes: rings.collect(), path, deviation, number }
    }
}

/// The parts of a path that are more than a point.
fn subpaths(path: &BezPath) -> Vec<Subpath> {
    let mut parts: Vec<Subpath> = Vec::new();
    for &element in path.elements() {
        if let PathEl::MoveTo(start) = element {
            parts.push(Subpath { start, segments: Vec::new(), is_closed: false });
        }
        let Some(part) = parts.last_mut() else { continue };
        let pen = part.end();
        part.segments.extend(match element {
            PathEl::MoveTo(_) => None,
            PathEl::LineTo(to) => Some(PathSeg::Line(Line::new(pen, to))),
            PathEl::QuadTo(a, to) => Some(PathSeg::Quad(QuadBez::new(pen, a, to))),
            PathEl::CurveTo(a, b, to) => Some(PathSeg::Cubic(CubicBez::new(pen, a, b, to))),
            PathEl::ClosePath => {
                part.is_closed = true;
                None
            }
        });
    }
    for part in &mut parts {
        part.is_closed |= part.end() == part.start;
    }
    let is_point =
        |part: &Subpath| part.segments.iter().all(|segment| matches!(segment, PathSeg::Line(_)) && segment.end() == part.start);
    parts.retain(|part| !is_point(part));
    parts
}

impl Subpath {
    /// The closed path.
    fn elements(&self) -> impl Iterator<Item = PathEl> {
        let segments = self.segments.iter().map(PathSeg::as_path_el);
        [PathEl::MoveTo(self.start)].into_iter().chain(segments).chain([PathEl::ClosePath])
    }

    /// The end of the last segment.
    fn end(&self) -> Place {
        self.segments.last().map_or(self.start, PathSeg::end)
    }
}

/// The polygon in place of a closed part.
struct Lines {
    ring: Vec<Point>,
    /// The side of the material; without it, all vertices are on the curve.
    material_left: Option<bool>,
    tolerance: f64,
    /// Largest distance of a curve from its lines.
    deviation: f64,
}

impl Lines {
    fn of(subpath: &Subpath, material_left: Option<bool>, tolerance: Option<f64>) -> Self {
        let extent = |segments: &[PathSeg]| {
            let boxes = segments.iter().map(PathSeg::bounding_box).reduce(|all, own| all.union(own)).unwrap_or_default();
            boxes.width().max(boxes.height())
        };
        let tolerance = tolerance.unwrap_or_else(|| CURVE_TOLERANCE * extent(&subpath.segments)).max(LEAST_TOLERANCE);
        let ring = vec![[subpath.start.x, subpath.start.y]];
        let mut lines = Lines { ring, material_left, tolerance, deviation: 0.0 };
        for segment in &subpath.segments {
            // More are an error in any case.
            if lines.ring.len() > MOST_VERTICES {
                break;
            }
            match segment {
                PathSeg::Line(line) => lines.ring.push([line.p1.x, line.p1.y]),
                PathSeg::Quad(quad) => lines.add_curve(quad.raise()),
                PathSeg::Cubic(cubic) => lines.add_curve(*cubic),
            }
        }
        lines
    }

    /// Adds the lines in place of a curve, but for its start. Between inflections a curve turns one way.
    fn add_curve(&mut self, curve: CubicBez) {
        let mut from = 0.0;
        for to in curve.inflections().into_iter().chain([1.0]) {
            if to > from {
                self.add_arch(curve.subsegment(from..to), MOST_HALVINGS);
                from = to;
            }
        }
    }

    /// Adds the lines in place of a curve that turns one way: its chord where that is outside of the material, else the
    /// tangents at its ends.
    fn add_arch(&mut self, arch: CubicBez, halvings: u32) {
        let CubicBez { p0, p1, p2, p3 } = arch;
        let chord = p3 - p0;
        let off = |point: Place| chord.cross(point - p0).abs() / chord.hypot();
        let first = [p1, p2, p3].into_iter().map(|point| point - p0).find(|tangent| *tangent != Vec2::ZERO);
        let last = [p2, p1, p0].into_iter().map(|point| p3 - point).find(|tangent| *tangent != Vec2::ZERO);
        let (Some(first), Some(last)) = (first, last) else { return };
        let (turn, farthest) = (first.cross(last), off(p1).max(off(p2)));
        // The curve is within the triangle of its chord and tangents, which is flat then.
        let is_flat = chord != Vec2::ZERO && first.dot(last) > 0.0 && 0.75 * farthest <= self.tolerance;
        let is_outside = self.material_left.is_none_or(|left| (turn > 0.0) != left);
        let apex = p0 + first * (chord.cross(last) / turn);
        let is_between = (0.0..=chord.hypot2()).contains(&chord.dot(apex - p0));
        // Distances from the curve grow along the tangents up to their intersection.
        let above = apex.distance(arch.eval(0.5));
        let is_near = is_between && above <= self.tolerance;
        let is_straight = farthest <= STRAIGHT * self.tolerance;
        if is_flat && (is_outside || is_near || is_straight) || halvings == 0 {
            let has_apex = !is_outside && is_near && !is_straight;
            if has_apex {
                self.ring.push([apex.x, apex.y]);
            }
            if !is_straight {
                self.deviation = self.deviation.max(if has_apex { above } else { 0.75 * farthest });
            }
            self.ring.push([p3.x, p3.y]);
            return;
        }
        let (before, after) = arch.subdivide();
        self.add_arch(before, halvings - 1);
        self.add_arch(after, halvings - 1);
    }
}
