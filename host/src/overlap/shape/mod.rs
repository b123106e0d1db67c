//! Shapes: simple polygons, cut into convex pieces.

mod circle;
pub(super) mod convex;
mod decompose;
mod ring;
mod simplify;

use rstar::{
    RTree, RTreeObject as _,
    primitives::{GeomWithData, Rectangle},
};

pub(super) use circle::enclosing_circle;
use convex::Point;
use decompose::{convex_pieces, quads, trapezoids};
use ring::{ROUNDING, check_holes, simple_ring};
pub(super) use ring::{are_beside, is_inside};

use super::error::{OverlapError, ShapeProblem};

/// Tolerated overlap of two pieces, relative to the smaller one's area.
const OVERLAPPING: f64 = 1e-12;

/// Number of quads up to which a shape isn't simplified, and largest distance of the simpler one, in units of the radius.
const FINE: usize = 24;
const TOLERANCE: f64 = 1e-3;

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
    hull: Vec<Point>,
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
    /// If there are less than 3 vertices, a coordinate isn't finite or its magnitude is 1e6 or
    /// more, the shape is smaller than 1e-6, two edges meet elsewhere than at the vertex between
    /// them, or there is next to no area.
    pub fn polygon(name: impl Into<String>, outline: &[[f64; 2]]) -> Result<Shape, OverlapError> {
        Self::with_holes(name, outline, &[])
    }

    /// A simple polygon with holes, by the vertices of each in either direction. Other shapes fit into holes.
    ///
    /// # Errors
    /// If one of them isn't a valid [`polygon`](Shape::polygon), or a hole isn't inside of the outline, or meets it or
    /// another hole.
    pub fn with_holes(name: impl Into<String>, outline: &[[f64; 2]], holes: &[Vec<[f64; 2]>]) -> Result<Shape, OverlapError> {
        Self::of_rings(name.into(), outline, holes, false)
    }

    /// An irregular sheet for [`nest`](crate::overlap::nest), by rings of vertices in either direction: the largest one is its
    /// outline, all others are defects. These may meet each other and the outline, and those beside it are left out. The lower
    /// left corner of the outline's box becomes the origin.
    ///
    /// # Errors
    /// If one of them isn't a valid [`polygon`](Shape::polygon).
    pub fn sheet(name: impl Into<String>, rings: &[Vec<[f64; 2]>]) -> Result<Shape, OverlapError> {
        let size = |ring: &[Point]| convex::area(ring).abs();
        let largest = (0..rings.len()).max_by(|&a, &b| size(&rings[a]).total_cmp(&size(&rings[b]))).unwrap_or_default();
        let [low, _] = convex::bounds(rings.get(largest).into_iter().flatten());
        let moved = |ring: &Vec<Point>| ring.iter().map(|[x, y]| [x - low[0], y - low[1]]).collect();
        let mut rings: Vec<Vec<Point>> = rings.iter().map(moved).collect();
        rings.get_mut(..=largest).into_iter().for_each(|rings| rings.rotate_right(1));
        let (outline, defects) = rings.split_first().map_or((&[][..], &[][..]), |(outline, defects)| (outline, defects));
        Self::of_rings(name.into(), outline, defects, true)
    }

    fn of_rings(name: String, outline: &[Point], holes: &[Vec<Point>], may_meet: bool) -> Result<Shape, OverlapError> {
        let wrong = |problem| OverlapError::Shape { name: name.clone(), piece: None, problem };
        let outer = simple_ring(outline).map_err(wrong)?;
        let hole = |(hole, ring): (usize, &Vec<Point>)| {
            simple_ring(ring).map_err(|problem| wrong(ShapeProblem::Hole { hole, problem: Box::new(problem) }))
        };
        let mut holes = holes.iter().enumerate().map(hole).collect::<Result<Vec<_>, _>>()?;
        if may_meet {
            let mut beside = are_beside(&outer.points, holes.iter().map(|ring| &ring.points[..])).into_iter();
            holes.retain(|_| beside.next() == Some(false));
        }
        let checked = check_holes(&outer, &holes);
        let are_apart = checked.is_ok();
        if !may_meet {
            checked.map_err(wrong)?;
        }
        let flat = outer.flat;
        let clockwise = holes.into_iter().map(|ring| ring.points.into_iter().rev().collect());
        let rings: Vec<Vec<Point>> = [outer.points].into_iter().chain(clockwise).collect();
        let pieces = if are_apart { convex_pieces(&rings, flat) } else { trapezoids(&rings) };
        let area = convex::sum(pieces.iter().map(|piece| convex::area(piece)));
        let shape = Shape::assemble(name, rings, pieces);
        Ok(if are_apart { shape } else { Shape { area, ..shape } })
    }

    /// A shape by its convex pieces: vertices of each in either direction. Pieces may touch, as those of a polygon do,
    /// or be apart.
    ///
    /// # Errors
    /// If there are no pieces, one of them isn't a valid [`polygon`](Shape::polygon) or not convex,
    /// or two of them overlap by more than 1e-12 of the smaller one's area.
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
        let hull = convex::hull(outlines.iter().flatten().copied().collect());
        let (center, radius) = enclosing_circle(outlines.iter().flatten().copied().collect());
        Shape { name, outlines, pieces, quads, hull, area, center, radius }
    }

    /// Returns a shape of fewer vertices around this one, at most a 1,000th of the radius away from it, if this one has many.
    /// It has the same centre.
    pub(super) fn simplified(&self) -> Shape {
        // Pieces may overlap or be apart.
        if self.quads.len() <= FINE || self.outlines[1..].iter().any(|ring| convex::area(ring) > 0.0) {
            return self.clone();
        }
        let rings = simplify::simplified(&self.outlines, TOLERANCE * self.radius);
        match Shape::with_holes(self.name.clone(), &rings[0], &rings[1..]) {
            Ok(shape) => shape.about(self.center),
            // The rest of a hole is too small.
            Err(_) => self.clone(),
        }
    }

    /// The same shape with a circle about this centre.
    fn about(self, center: Point) -> Shape {
        let points = self.outlines.iter().flatten();
        let radius = points.map(|point| (point[0] - center[0]).hypot(point[1] - center[1])).fold(0.0, f64::max);
        Shape { center, radius, ..self }
    }

    /// Returns the shape moved by the vector, with every piece grown by `margin`. So its pieces
    /// overlap by as much.
    pub(super) fn moved_and_grown(&self, by: Point, margin: f64) -> Shape {
        let moved = |ring: &Vec<Point>| -> Vec<Point> { ring.iter().map(|point| [point[0] + by[0], point[1] + by[1]]).collect() };
        let pieces: Vec<_> = self.pieces.iter().map(|piece| convex::grown(&moved(piece), margin)).collect();
        Shape::assemble(self.name.clone(), pieces.clone(), pieces).about([self.center[0] + by[0], self.center[1] + by[1]])
    }

    /// Returns the shape with all that is within a distance of it, and up to 4 % of the distance more at corners, but in the
    /// direction of an edge of its hull by no more than the distance. Its pieces overlap.
    pub fn with_distance(&self, distance: f64) -> Shape {
        self.with_distance_towards(distance, &[])
    }

    /// Returns the shape [with a distance](Self::with_distance), and in these directions (radians) with no more than that, too.
    pub(super) fn with_distance_towards(&self, distance: f64, directions: &[f64]) -> Shape {
        if distance == 0.0 {
            return self.clone();
        }
        let limits = convex::limits(&self.hull, directions);
        let pieces: Vec<_> = self.pieces.iter().map(|piece| convex::rounded(piece, distance, &limits)).collect();
        Shape { area: self.area, ..Shape::assemble(self.name.clone(), pieces.clone(), pieces) }
    }

    /// Returns the mirror image: x changes its sign.
    pub fn mirrored(&self) -> Shape {
        let flip = |ring: &Vec<Point>| ring.iter().rev().map(|[x, y]| [-x, *y]).collect();
        let [outlines, pieces] = [&self.outlines, &self.pieces].map(|rings| rings.iter().map(flip).collect());
        Shape { area: self.area, ..Shape::assemble(format!("{} mirrored", self.name), outlines, pieces) }
    }

    /// Returns what is in a rectangle around the shape and not in the shape, with all that is within a distance of it. Its pieces
    /// may overlap. The rectangle is larger than the shape's box by `by` on each side.
    pub(super) fn surroundings(&self, by: f64, distance: f64) -> Result<Shape, OverlapError> {
        let [low, high] = convex::bounds(self.outlines.iter().flatten());
        let [left, bottom, right, top] = [low[0] - by, low[1] - by, high[0] + by, high[1] + by];
        let around = [[left, bottom], [right, bottom], [right, top], [left, top]];
        let mut pieces = Shape::with_holes(&self.name, &around, &self.outlines[..1])?.pieces;
        for hole in &self.outlines[1..] {
            pieces.extend(Shape::polygon(&self.name, hole)?.pieces);
        }
        Ok(Shape::assemble(self.name.clone(), pieces.clone(), pieces).with_distance(distance))
    }

    /// Returns the same shape with another name.
    #[must_use]
    pub fn named(self, name: impl Into<String>) -> Self {
        Shape { name: name.into(), ..self }
    }

    /// Name in messages and tables.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The polygon from which the shape was made, with its holes, whose vertices are clockwise; or its pieces if it was
    /// made from these. For drawings. The first vertex isn't repeated.
    pub fn outlines(&self) -> &[Vec<[f64; 2]>] {
        &self.outlines
    }

    /// Its convex pieces, of at least 3 vertices each.
    pub fn pieces(&self) -> &[Vec<[f64; 2]>] {
        &self.pieces
    }

    /// Its pieces cut into quads, for the device. A triangle repeats its last vertex.
    pub fn quads(&self) -> &[[[f64; 2]; 4]] {
        &self.quads
    }

    /// Its area.
    pub fn area(&self) -> f64 {
        self.area
    }

    /// Centre of the smallest enclosing circle.
    pub fn center(&self) -> [f64; 2] {
        self.center
    }

    /// Radius of the smallest enclosing circle, rounded up so that it contains all vertices.
    pub fn radius(&self) -> f64 {
        self.radius
    }

    /// The least and greatest coordinates of its vertices, turned by an angle.
    pub(super) fn bounds_at(&self, theta: f64) -> [Point; 2] {
        self.bounds_in([0.0, 0.0, theta])
    }

    /// The same in a pose.
    pub(super) fn bounds_in(&self, pose: [f64; 3]) -> [Point; 2] {
        convex::bounds(&place(&self.hull, pose))
    }

    /// The vertices of its convex hull.
    pub(super) fn hull(&self) -> &[Point] {
        &self.hull
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

/// Turns and moves points.
fn place(points: &[Point], [x, y, theta]: [f64; 3]) -> Vec<Point> {
    let (sin, cos) = theta.sin_cos();
    points.iter().map(|point| [x + cos * point[0] - sin * point[1], y + sin * point[0] + cos * point[1]]).collect()
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
            // Rounding may make touching pieces overlap along a whole edge, which isn't little
            // compared with a sliver.
            let largest = [low, high].as_flattened().iter().fold(0.0f64, |largest, number| largest.max(number.abs()));
            let rounding = 4.0 * ROUNDING * largest * (high[0] - low[0]).max(high[1] - low[1]);
            let overlap = area > OVERLAPPING * convex::area(a).min(convex::area(b)) && area > rounding;
            overlap.then_some((second, area))
        });
        let (second, area) = common.min_by_key(|(second, _)| *second)?;
        Some(ShapeProblem::PiecesOverlap { first, second, area })
    })
}
