//! Shapes: simple polygons, cut into convex pieces.

use rstar::{
    AABB, Envelope as _, RTree, RTreeObject,
    primitives::{GeomWithData, Rectangle},
};

use super::{
    OverlapError, Point, convex,
    decompose::{convex_pieces, quads, turn},
    error::{Field, ShapeProblem},
};

/// Magnitudes of coordinates must be below this.
pub(super) const LARGEST: f64 = 1e6;
/// A shape must be at least so wide or so high.
pub(super) const SMALLEST: f64 = 1e-6;
/// Vertices that are no farther from a straight outline are left out, as are those as close to the one before; in units
/// of the shape's width or height.
const STRAIGHT: f64 = 1e-13;
/// What is thinner than this is rounding; in units of the shape's width or height, or of its distance from the origin.
const ROUNDING: f64 = 2e-15;
/// A shape's area is at least this, in units of its width's or height's square.
const DEGENERATE: f64 = 1e-12;
/// Pieces may overlap by this, in units of the smaller one's area.
const OVERLAPPING: f64 = 1e-12;

/// One shape: an area in the plane, cut into convex pieces that don't overlap.
///
/// It was checked when it was made, and never changes. All vertices are counter-clockwise, in length units, in the
/// shape's own frame: a pose turns it about the frame's origin.
#[derive(Clone, Debug, PartialEq)]
pub struct Shape {
    name: String,
    outlines: Vec<Vec<Point>>,
    pieces: Vec<Vec<Point>>,
    quads: Vec<[Point; 4]>,
    area: f64,
    center: Point,
    radius: f64,
}

impl Shape {
    /// The tree of Kaggle's Santa 2025: 15 vertices, 4 pieces (the tip, two tiers, the trunk). It is 0.7 wide and 1
    /// high; the frame's origin is on its axis, at the lower end of the lowest tier.
    pub fn tree() -> Shape {
        // The right half, from the tip down.
        let right = [[0.125, 0.5], [0.0625, 0.5], [0.2, 0.25], [0.1, 0.25], [0.35, 0.0], [0.075, 0.0], [0.075, -0.2]];
        let left = |index: usize| [-right[index][0], right[index][1]];
        let mut outline: Vec<Point> = (0..right.len()).map(left).collect();
        outline.extend(right.iter().rev());
        outline.push([0.0, 0.8]);
        let tier = |top: usize, bottom: usize| vec![left(top), left(bottom), right[bottom], right[top]];
        let pieces = vec![vec![[0.0, 0.8], left(0), right[0]], tier(1, 2), tier(3, 4), tier(5, 6)];
        Shape::assemble("tree".to_owned(), vec![outline], pieces)
    }

    /// A simple polygon, by its vertices in either direction; the last one may repeat the first.
    ///
    /// Vertices that repeat the one before, or don't bend the outline, are left out (within 1e-13 of the shape's width
    /// or height).
    ///
    /// # Errors
    /// Where there are less than 3 vertices, a coordinate isn't finite or its magnitude is 1e6 or more, the shape is
    /// smaller than 1e-6, two edges meet elsewhere than at the vertex between them, or there is next to no area.
    pub fn polygon(name: impl Into<String>, outline: &[[f64; 2]]) -> Result<Shape, OverlapError> {
        let name = name.into();
        let wrong = |problem| OverlapError::Shape { name: name.clone(), piece: None, problem };
        let ring = simple_ring(outline).map_err(wrong)?;
        let pieces = convex_pieces(&ring.points, ring.flat);
        Ok(Shape::assemble(name, vec![ring.points], pieces))
    }

    /// A shape by its convex pieces: vertices of each in either direction. Pieces may touch, as those of a polygon do,
    /// or be apart.
    ///
    /// # Errors
    /// Where there are no pieces, one of them is no [`polygon`](Shape::polygon) or not convex, or two of them overlap
    /// by more than 1e-12 of the smaller one's area.
    pub fn from_pieces(name: impl Into<String>, pieces: &[Vec<[f64; 2]>]) -> Result<Shape, OverlapError> {
        let name = name.into();
        let wrong = |piece, problem| OverlapError::Shape { name: name.clone(), piece, problem };
        if pieces.is_empty() {
            return Err(wrong(None, ShapeProblem::NoPieces));
        }
        let convex_ring = |(index, piece): (usize, &Vec<Point>)| {
            let ring = simple_ring(piece).map_err(|problem| wrong(Some(index), problem))?;
            match ring.reflex() {
                Some(vertex) => Err(wrong(Some(index), ShapeProblem::NotConvex { vertex })),
                None => Ok(ring.points),
            }
        };
        let pieces: Vec<_> = pieces.iter().enumerate().map(convex_ring).collect::<Result<_, _>>()?;
        if let Some(problem) = overlapping(&pieces) {
            return Err(wrong(None, problem));
        }
        Ok(Shape::assemble(name, pieces.clone(), pieces))
    }

    fn assemble(name: String, outlines: Vec<Vec<Point>>, pieces: Vec<Vec<Point>>) -> Shape {
        let quads = pieces.iter().flat_map(|piece| quads(piece)).collect();
        let area = convex::sum(outlines.iter().map(|outline| convex::area(outline)));
        let (center, radius) = enclosing_circle(outlines.iter().flatten().copied().collect());
        Shape { name, outlines, pieces, quads, area, center, radius }
    }

    /// The shape moved by the vector, every piece of it grown by `margin` to all sides. Its pieces then overlap by as
    /// much.
    pub(super) fn moved_and_grown(&self, by: Point, margin: f64) -> Shape {
        let moved = |ring: &Vec<Point>| -> Vec<Point> { ring.iter().map(|point| [point[0] + by[0], point[1] + by[1]]).collect() };
        let pieces: Vec<_> = self.pieces.iter().map(|piece| convex::grown(&moved(piece), margin)).collect();
        Shape::assemble(self.name.clone(), pieces.clone(), pieces)
    }

    /// What it is called in messages and tables.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// For drawing: the polygon that it was made from, or its pieces where it was made from these. The first vertex
    /// isn't repeated.
    pub fn outlines(&self) -> &[Vec<[f64; 2]>] {
        &self.outlines
    }

    /// Its convex pieces, of at least 3 vertices each.
    pub fn pieces(&self) -> &[Vec<[f64; 2]>] {
        &self.pieces
    }

    /// Its pieces as the device gets them, cut into quads. A triangle repeats its last vertex.
    pub fn quads(&self) -> &[[[f64; 2]; 4]] {
        &self.quads
    }

    /// Its area.
    pub fn area(&self) -> f64 {
        self.area
    }

    /// The centre of the smallest circle around it.
    pub fn center(&self) -> [f64; 2] {
        self.center
    }

    /// The radius of that circle. No vertex is outside, despite rounding.
    pub fn radius(&self) -> f64 {
        self.radius
    }

    /// Its outlines in a pose.
    pub fn posed(&self, pose: [f64; 3]) -> impl Iterator<Item = Vec<[f64; 2]>> + '_ {
        self.outlines.iter().map(move |outline| place(outline, pose))
    }

    /// Its convex pieces in a pose.
    pub fn posed_pieces(&self, pose: [f64; 3]) -> impl Iterator<Item = Vec<[f64; 2]>> + '_ {
        self.pieces.iter().map(move |piece| place(piece, pose))
    }
}

/// Schedule and moves points.
fn place(points: &[Point], [x, y, theta]: [f64; 3]) -> Vec<Point> {
    let (sin, cos) = theta.sin_cos();
    points.iter().map(|point| [x + cos * point[0] - sin * point[1], y + sin * point[0] + cos * point[1]]).collect()
}

/// A simple polygon, counter-clockwise, without vertices that don't bend it.
struct Ring {
    points: Vec<Point>,
    /// The index that each of them had.
    indices: Vec<usize>,
    /// What is thinner is rounding.
    flat: f64,
}

impl Ring {
    /// The vertex as it was numbered where it turns inwards first.
    fn reflex(&self) -> Option<usize> {
        let (ring, n) = (&self.points, self.points.len());
        let inwards = |index: usize| turn(ring[(index + n - 1) % n], ring[index], ring[(index + 1) % n]) < 0.0;
        (0..n).filter(|&index| inwards(index)).map(|index| self.indices[index]).min()
    }
}

/// Checks a polygon.
fn simple_ring(outline: &[Point]) -> Result<Ring, ShapeProblem> {
    const AXES: [Field; 2] = [Field::X, Field::Y];
    for (vertex, point) in outline.iter().enumerate() {
        for (axis, &value) in AXES.into_iter().zip(point) {
            if !value.is_finite() {
                return Err(ShapeProblem::NotFinite { vertex, axis, value });
            }
            if value.abs() >= LARGEST {
                return Err(ShapeProblem::TooLarge { vertex, axis, value });
            }
        }
    }
    let outline = match outline {
        [first, rest @ .., last] if first == last && !rest.is_empty() => &outline[..outline.len() - 1],
        _ => outline,
    };
    if outline.len() < 3 {
        return Err(ShapeProblem::TooFew { vertices: outline.len() });
    }
    let [low, high] = convex::bounds(outline);
    let extent = (high[0] - low[0]).max(high[1] - low[1]);
    if extent < SMALLEST {
        return Err(ShapeProblem::TooSmall { extent });
    }
    let largest = [low, high].as_flattened().iter().fold(extent, |largest, number| largest.max(number.abs()));
    let mut indices = bending(outline, STRAIGHT * extent);
    let mut points: Vec<_> = indices.iter().map(|&index| outline[index]).collect();
    if points.len() < 3 {
        return Err(ShapeProblem::Degenerate { area: 0.0, extent });
    }
    if let Some((first, second)) = meeting(&points) {
        let (first, second) = (indices[first], indices[second]);
        return Err(ShapeProblem::Meets { first: first.min(second), second: first.max(second) });
    }
    let area = convex::area(&points);
    if area.abs() <= DEGENERATE * extent * extent {
        return Err(ShapeProblem::Degenerate { area: area.abs(), extent });
    }
    if area < 0.0 {
        points.reverse();
        indices.reverse();
    }
    Ok(Ring { points, indices, flat: ROUNDING * largest })
}

/// The vertices that bend the outline: without those that are within `tolerance` of the one before, or of the straight
/// line that is drawn instead. In their order, from the first of them.
fn bending(outline: &[Point], tolerance: f64) -> Vec<usize> {
    let n = outline.len();
    // The lowest of those farthest to the left is a corner.
    let start = (0..n).min_by(|&a, &b| outline[a][0].total_cmp(&outline[b][0]).then(outline[a][1].total_cmp(&outline[b][1])));
    let start = start.unwrap_or_default();
    let mut kept = vec![start];
    // The last vertex that may yet be dropped, and the line from the last one kept through it.
    let mut last: Option<(usize, Sleeve)> = None;
    for index in (1..=n).map(|step| (start + step) % n) {
        let from = outline[kept[kept.len() - 1]];
        let before = last.as_ref().map_or(from, |(last, _)| outline[*last]);
        if convex::distance(before, outline[index]) <= tolerance {
            continue;
        }
        let sleeve = match last.take() {
            Some((last, sleeve)) => sleeve.extended(outline[index], tolerance).unwrap_or_else(|| {
                kept.push(last);
                Sleeve::new(outline[last], outline[index], tolerance)
            }),
            None => Sleeve::new(from, outline[index], tolerance),
        };
        last = Some((index, sleeve));
    }
    // The outline has come back to the start; what is last is either that or as close to it as makes no difference.
    if let Some((last, _)) = last
        && last != start
        && convex::distance(outline[last], outline[start]) > tolerance
    {
        kept.push(last);
    }
    let first = kept.iter().enumerate().min_by_key(|(_, index)| **index).map_or(0, |(place, _)| place);
    kept.rotate_left(first);
    kept
}

/// All directions from a point in which a line passes some others closely.
struct Sleeve {
    from: Point,
    /// The direction that slopes are measured from, of length 1.
    along: Point,
    /// How far the last point is along it.
    reach: f64,
    low: f64,
    high: f64,
}

impl Sleeve {
    fn new(from: Point, through: Point, tolerance: f64) -> Self {
        let reach = convex::distance(from, through);
        let along = [(through[0] - from[0]) / reach, (through[1] - from[1]) / reach];
        Sleeve { from, along, reach, low: -tolerance / reach, high: tolerance / reach }
    }

    /// On to the next point, unless the line to it misses one of those before or turns back.
    fn extended(mut self, to: Point, tolerance: f64) -> Option<Self> {
        let (x, y) = (to[0] - self.from[0], to[1] - self.from[1]);
        let reach = x * self.along[0] + y * self.along[1];
        let slope = (y * self.along[0] - x * self.along[1]) / reach;
        if reach <= self.reach || !(self.low..=self.high).contains(&slope) {
            return None;
        }
        self.reach = reach;
        self.low = self.low.max(slope - tolerance / reach);
        self.high = self.high.min(slope + tolerance / reach);
        Some(self)
    }
}

/// The first two edges that have a point in common, other than the vertex between them.
fn meeting(ring: &[Point]) -> Option<(usize, usize)> {
    let n = ring.len();
    let edge = |index: usize| [ring[index], ring[(index + 1) % n]];
    let boxes = (0..n).map(|index| {
        let [from, to] = edge(index);
        GeomWithData::new(Rectangle::from_corners(from, to), index)
    });
    let tree = RTree::bulk_load(boxes.collect());
    let meet = |first: usize, second: usize| {
        let ([a, b], [c, d]) = (edge(first), edge(second));
        if second == first + 1 {
            return turns_back(a, b, d);
        }
        if (second + 1) % n == first {
            return turns_back(c, a, b);
        }
        let (c_side, d_side) = (turn(a, b, c), turn(a, b, d));
        let (a_side, b_side) = (turn(c, d, a), turn(c, d, b));
        let cross = opposite(c_side, d_side) && opposite(a_side, b_side);
        let touches =
            |side: f64, from: Point, to: Point, point: Point| side == 0.0 && AABB::from_corners(from, to).contains_point(&point);
        cross || touches(c_side, a, b, c) || touches(d_side, a, b, d) || touches(a_side, c, d, a) || touches(b_side, c, d, b)
    };
    (0..n).find_map(|first| {
        let [from, to] = edge(first);
        let near = tree.locate_in_envelope_intersecting(&AABB::from_corners(from, to)).map(|other| other.data);
        near.filter(|&second| second > first && meet(first, second)).min().map(|second| (first, second))
    })
}

/// Whether b to c runs back over a to b.
fn turns_back(a: Point, b: Point, c: Point) -> bool {
    turn(a, b, c) == 0.0 && (a[0] - b[0]) * (c[0] - b[0]) + (a[1] - b[1]) * (c[1] - b[1]) > 0.0
}

/// Whether one is positive and the other is negative.
fn opposite(a: f64, b: f64) -> bool {
    a > 0.0 && b < 0.0 || a < 0.0 && b > 0.0
}

/// The first two convex pieces that overlap.
fn overlapping(pieces: &[Vec<Point>]) -> Option<ShapeProblem> {
    let rectangle = |piece: &[Point]| {
        let [low, high] = convex::bounds(piece);
        Rectangle::from_corners(low, high)
    };
    let boxes = pieces.iter().enumerate().map(|(index, piece)| GeomWithData::new(rectangle(piece), index));
    let tree = RTree::bulk_load(boxes.collect());
    (0..pieces.len()).find_map(|first| {
        let near = tree.locate_in_envelope_intersecting(&rectangle(&pieces[first]).envelope()).map(|other| other.data);
        let common = near.filter(|&second| second > first).filter_map(|second| {
            let (a, b) = (&pieces[first], &pieces[second]);
            let ring = convex::convex_intersection(a, b);
            let (area, [low, high]) = (convex::area(&ring), convex::bounds(&ring));
            // Pieces that touch may overlap by rounding, all along an edge; beside a sliver that isn't little.
            let largest = [low, high].as_flattened().iter().fold(0.0f64, |largest, number| largest.max(number.abs()));
            let rounding = 4.0 * ROUNDING * largest * (high[0] - low[0]).max(high[1] - low[1]);
            let overlap = area > OVERLAPPING * convex::area(a).min(convex::area(b)) && area > rounding;
            overlap.then_some((second, area))
        });
        let (second, area) = common.min_by_key(|(second, _)| *second)?;
        Some(ShapeProblem::PiecesOverlap { first, second, area })
    })
}

/// The smallest circle around all points (Welzl, *Smallest enclosing disks*, 1991, without recursion).
pub(super) fn enclosing_circle(mut points: Vec<Point>) -> (Point, f64) {
    // In an order that has nothing to do with their places: then there are only so many steps to take. Any will do,
    // always the same.
    let mut state = 1u64;
    for index in (1..points.len()).rev() {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        points.swap(index, (state >> 33) as usize % (index + 1));
    }
    let contains = |(center, radius): (Point, f64), point: Point| convex::distance(center, point) <= radius * (1.0 + 1e-14);
    let mut circle = (points[0], 0.0);
    for (i, &p) in points.iter().enumerate() {
        if contains(circle, p) {
            continue;
        }
        circle = (p, 0.0);
        for (j, &q) in points[..i].iter().enumerate() {
            if contains(circle, q) {
                continue;
            }
            circle = across(p, q);
            for &r in &points[..j] {
                if !contains(circle, r) {
                    circle = through(p, q, r);
                }
            }
        }
    }
    let (center, _) = circle;
    let radius = points.iter().map(|&point| convex::distance(center, point)).fold(0.0, f64::max);
    (center, radius * (1.0 + 4.0 * f64::EPSILON))
}

/// The circle on a diameter.
fn across(a: Point, b: Point) -> (Point, f64) {
    ([0.5 * (a[0] + b[0]), 0.5 * (a[1] + b[1])], 0.5 * convex::distance(a, b))
}

/// The circle through three points.
fn through(a: Point, b: Point, c: Point) -> (Point, f64) {
    let (b, c) = ([b[0] - a[0], b[1] - a[1]], [c[0] - a[0], c[1] - a[1]]);
    let (b2, c2) = (b[0] * b[0] + b[1] * b[1], c[0] * c[0] + c[1] * c[1]);
    let scale = 0.5 / (b[0] * c[1] - b[1] * c[0]);
    let center = [scale * (c[1] * b2 - b[1] * c2), scale * (b[0] * c2 - c[0] * b2)];
    let radius = center[0].hypot(center[1]);
    if radius.is_finite() {
        return ([a[0] + center[0], a[1] + center[1]], radius);
    }
    // On a line: the farthest two settle it.
    let b = [a[0] + b[0], a[1] + b[1]];
    let c = [a[0] + c[0], a[1] + c[1]];
    let circles = [across(a, b), across(a, c), across(b, c)];
    circles.into_iter().max_by(|first, second| first.1.total_cmp(&second.1)).unwrap_or((a, 0.0))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn circles() {
        for (points, center, radius) in [
            (vec![[1.0, 2.0]], [1.0, 2.0], 0.0),
            (vec![[0.0, 0.0], [2.0, 0.0], [1.0, 0.5]], [1.0, 0.0], 1.0),
            (vec![[0.0, 0.0], [1.0, 0.0], [2.0, 0.0], [4.0, 0.0]], [2.0, 0.0], 2.0),
            (vec![[3.0, 4.0], [-3.0, 4.0], [0.0, -5.0], [1.0, 1.0]], [0.0, 0.0], 5.0),
        ] {
            let (found, found_radius) = enclosing_circle(points.clone());
            assert!(convex::distance(found, center) < 1e-14 && (found_radius - radius).abs() < 1e-14 * (1.0 + radius));
            assert!(points.iter().all(|&point| convex::distance(found, point) <= found_radius));
        }
    }

    #[test]
    fn vertices_that_bend() {
        let ring = [[1.0, 0.0], [2.0, 0.0], [2.0, 2.0], [2.0, 2.0], [1.0, 2.0], [0.0, 2.0], [0.0, 1.0], [0.0, 0.0]];
        assert_eq!(bending(&ring, 1e-13), [1, 2, 5, 7]);
        // Out and back, each on the same line.
        assert_eq!(bending(&[[0.0, 0.0], [1.0, 0.0], [2.0, 0.0], [1.0, 0.0]], 1e-13), [0, 2]);
        // Each bend is below the tolerance, and all of them together are not.
        let arc: Vec<Point> =
            (0..=100).map(|step| f64::from(step) / 100.0).map(|x| [x, 1e-10 * x * x]).chain([[0.0, 1.0]]).collect();
        let kept = bending(&arc, 1e-13);
        assert!((5..40).contains(&kept.len()), "{}", kept.len());
    }
}
