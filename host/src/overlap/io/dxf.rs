//! Reads and writes drawings (DXF).

use std::{
    collections::{BTreeMap, HashMap, HashSet},
    f64::consts::TAU,
};

use dxf::{
    Drawing, LwPolylineVertex, Vector,
    entities::{Entity, EntityType, Insert, LwPolyline, Spline},
    enums::{AcadVersion, Units},
};
use kurbo::{Affine, Arc, BezPath, CubicBez, ParamCurve as _, PathEl, Point as Place, Shape as _, Vec2};
use rstar::{RTree, primitives::GeomWithData};

use super::{
    contours::contours,
    problem::{Problem, check_vertices, problem},
    svg::{ARC_TOLERANCE, ClosedPath, Drawn, arc, is_drawn},
};
use crate::{
    io::{brief, quoted},
    overlap::error::LARGEST,
};

/// Largest distance of two ends that are joined, in mm.
const JOIN: f64 = 0.01;
/// The same in a small drawing, relative to its size.
const JOIN_SHARE: f64 = 1e-4;
/// Largest depth of blocks within each other.
const MOST_NESTED: usize = 32;
/// Largest number of halvings of a spline between two knots.
const MOST_HALVINGS: u32 = 5;
/// Largest degree of a spline.
const MOST_DEGREE: usize = 25;
/// Least bulge that isn't a line.
const LEAST_BULGE: f64 = 1e-6;

/// Entities that are read.
const READ: &[&str] = &["LINE", "ARC", "CIRCLE", "ELLIPSE", "LWPOLYLINE", "POLYLINE", "VERTEX", "SPLINE", "INSERT"];
/// Records without a content of their own.
const FRAMES: &[&str] = &["BLOCK", "ENDBLK", "SEQEND", "ENDSEC", "SECTION", "EOF", "ATTRIB", "VIEWPORT"];
/// Millimetres by the value of $INSUNITS.
const UNITS: &[(i64, f64)] = &[
    (0, 1.0),
    (1, 25.4),
    (2, 304.8),
    (4, 1.0),
    (5, 10.0),
    (6, 1e3),
    (8, 25.4e-6),
    (9, 0.0254),
    (10, 914.4),
    (13, 1e-3),
    (14, 100.0),
    (21, 1200.0 / 3937.0 * 1e3),
];

/// Contents of a file's text.
#[derive(Default)]
struct Scanned<'a> {
    /// The entities and blocks, for the parser. It passes over an entity that it can't read, so it gets checked ones only.
    kept: String,
    /// Number of entities that the parser must find.
    entities: usize,
    /// $INSUNITS.
    units: i64,
    /// Layers that are off or frozen, in capitals.
    hidden: HashSet<String>,
    /// Entities that are not read.
    left_out: BTreeMap<&'a str, usize>,
}

/// A path that was drawn at once.
struct Piece {
    path: BezPath,
    start: Place,
    end: Place,
    kind: &'static str,
    layer: String,
    /// The outermost block around it.
    block: Option<String>,
}

/// The paths of a drawing.
struct Reader<'a> {
    blocks: HashMap<String, (&'a [Entity], Vec2)>,
    hidden: HashSet<String>,
    pieces: Vec<Piece>,
    inserts: usize,
    has_paper: bool,
}

/// Reads the closed contours of a drawing, in millimetres if it tells its unit.
pub fn parse(text: &str, tolerance: Option<f64>) -> Result<Drawn, Problem> {
    let Scanned { kept, entities, units, hidden, left_out } = scan(text)?;
    let drawing = match Drawing::load(&mut kept.as_bytes()) {
        Ok(drawing) => drawing,
        Err(error) => return problem(format!("is not DXF: {}", brief(error))),
    };
    let found = drawing.entities().chain(drawing.blocks().flat_map(|block| &block.entities));
    if found.map(|entity| 1 + vertices(entity)).sum::<usize>() != entities {
        return problem("is not DXF: an entity can't be read");
    }
    let Some((_, scale)) = UNITS.iter().find(|(code, _)| *code == units) else {
        return problem(format!("has lengths in a unit that isn't known here: $INSUNITS is {units}"));
    };
    let mut notes: Vec<String> = Vec::new();
    if *scale != 1.0 {
        notes.push(format!("lengths are in mm: 1 in the drawing is {scale}"));
    }
    if !left_out.is_empty() {
        let each: Vec<_> = left_out.iter().map(|(kind, count)| format!("{count} {}", brief(kind))).collect();
        notes.push(format!("left out: {}: such entities are not read", each.join(", ")));
    }
    let blocks = drawing
        .blocks()
        .map(|block| (block.name.to_uppercase(), (&block.entities[..], Vec2::new(block.base_point.x, block.base_point.y))));
    let mut reader = Reader { blocks: blocks.collect(), hidden, pieces: Vec::new(), inserts: 0, has_paper: false };
    drawing.entities().try_for_each(|entity| reader.draw(entity, Affine::scale(*scale), &[]))?;
    if reader.has_paper {
        notes.push("what is on paper is left out: the model is read".to_owned());
    }
    // Coordinates of a survey are far from its origin.
    let all = reader.pieces.iter().map(|piece| piece.path.control_box()).reduce(|all, own| all.union(own)).unwrap_or_default();
    let is_far = [all.x0, all.y0, all.x1, all.y1].into_iter().any(|number| number.abs() >= LARGEST)
        && all.width().max(all.height()) < LARGEST;
    let origin = if is_far { all.origin().to_vec2() } else { Vec2::ZERO };
    if is_far {
        notes.push(format!("coordinates reach {LARGEST:e} mm: they count from the lower left corner"));
    }
    let mut pieces = Vec::new();
    for mut piece in reader.pieces {
        piece.path.apply_affine(Affine::translate(-origin));
        (piece.start, piece.end) = (piece.start - origin, piece.end - origin);
        if is_drawn(&piece.path, || called(&piece))? {
            pieces.push(piece);
        }
    }
    let closed = joined(pieces, origin, *scale)?;
    if closed.is_empty() {
        return problem("has no closed contour of lines, arcs, circles, ellipses, polylines or splines");
    }
    let all: BezPath = closed.iter().flat_map(|piece| piece.path.elements().iter().copied()).collect();
    let id = |piece: &Piece| piece.block.clone().or(Some(piece.layer.clone()).filter(|layer| layer != "0"));
    let contours = contours(&all, tolerance)?.closed;
    let mut times: HashMap<_, [usize; 2]> = HashMap::new();
    contours.iter().for_each(|contour| times.entry(id(&closed[contour.number])).or_default()[0] += 1);
    let parts = contours.into_iter().map(|contour| {
        let piece = &closed[contour.number];
        let [all, number] = times.entry(id(piece)).or_default();
        *number += 1;
        let id = id(piece).map(|id| if *all == 1 { id } else { format!("{id} {number}") });
        ClosedPath { id, element: called(piece), contour }
    });
    Ok(Drawn { paths: parts.collect(), notes, has_unit: units != 0 })
}

/// A piece for messages.
fn called(piece: &Piece) -> String {
    format!("the {} on layer {}", piece.kind, quoted(&piece.layer))
}

/// Reads the pairs of a text, a code and a value on two lines.
fn scan(text: &str) -> Result<Scanned<'_>, Problem> {
    let mut scanned =
        Scanned { kept: "0\nSECTION\n2\nHEADER\n9\n$ACADVER\n1\nAC1021\n0\nENDSEC\n".to_owned(), ..Default::default() };
    if text.starts_with("AutoCAD Binary DXF") {
        return problem("is a binary DXF file: save it as text (ASCII)");
    }
    let mut lines = text.lines().enumerate();
    let (mut section, mut kind, mut name) = ("", "", "");
    let mut is_kept = false;
    while let Some((line, code)) = lines.next() {
        let at = |reason: String| problem(format!("line {}: {reason}", line + 1));
        let Ok(code) = code.trim().parse::<i32>() else {
            return at(format!("{} must be a number, the code of the next line", quoted(code.trim())));
        };
        let Some((line, value)) = lines.next() else { return at("the file ends within a pair of lines".to_owned()) };
        let value = value.trim();
        let number = || match value.parse::<f64>() {
            Ok(number) if number.is_finite() => Ok(number),
            _ => problem(format!("line {}: {} must be a number", line + 1, quoted(value))),
        };
        if code == 0 {
            kind = value;
            if kind == "EOF" {
                scanned.kept.push_str("0\nEOF\n");
                return Ok(scanned);
            }
            let has_entities = matches!(section, "ENTITIES" | "BLOCKS");
            is_kept = has_entities && (READ.contains(&kind) || FRAMES[..4].contains(&kind));
            scanned.entities += usize::from(is_kept && READ.contains(&kind));
            if has_entities && !is_kept && !FRAMES.contains(&kind) {
                *scanned.left_out.entry(kind).or_default() += 1;
            }
            if kind == "ENDSEC" {
                section = "";
            }
        }
        // Later pairs of a header have no record of their own.
        if kind == "SECTION" && section.is_empty() && code == 2 {
            section = value;
            if matches!(section, "ENTITIES" | "BLOCKS") {
                scanned.kept.push_str(&format!("0\nSECTION\n2\n{section}\n"));
            }
        }
        match (section, kind, code) {
            ("HEADER", _, 9) => name = value,
            ("HEADER", _, 70) if name == "$INSUNITS" => scanned.units = number()? as i64,
            ("TABLES", "LAYER", 2) => name = value,
            // The colour of a layer that is off is negative, and a frozen one has a flag.
            ("TABLES", "LAYER", 62) if number()? < 0.0 => _ = scanned.hidden.insert(name.to_uppercase()),
            ("TABLES", "LAYER", 70) if number()? as i64 & 1 == 1 => _ = scanned.hidden.insert(name.to_uppercase()),
            _ => {}
        }
        if is_kept && matches!(code, 0 | 2 | 8 | 10..=79 | 210..=239) {
            if matches!(code, 60..=79) && value.parse::<i16>().is_err() {
                return problem(format!("line {}: {} must be a whole number", line + 1, quoted(value)));
            }
            if matches!(code, 10..=59 | 210..=239) {
                number()?;
            }
            // The parser wants z at every point of a spline.
            match (kind, code) {
                ("SPLINE", 30 | 31) => {}
                ("SPLINE", 20 | 21) => scanned.kept.push_str(&format!("{code}\n{value}\n{}\n0\n", code + 10)),
                _ => scanned.kept.push_str(&format!("{code}\n{value}\n")),
            }
        }
    }
    problem("is not complete: it ends before the line EOF")
}

/// Number of the vertices that are records of their own.
fn vertices(entity: &Entity) -> usize {
    if let EntityType::Polyline(polyline) = &entity.specific { polyline.vertices().count() } else { 0 }
}

impl Reader<'_> {
    /// Draws an entity. `within` are the names of blocks and the layers of their inserts, from the outside.
    fn draw(&mut self, entity: &Entity, transform: Affine, within: &[(&str, &str)]) -> Result<(), Problem> {
        // Entities on layer 0 of a block are on the layer of its insert.
        let own = Some(entity.common.layer.as_str()).filter(|layer| *layer != "0");
        let layer = own.or(within.last().map(|(_, layer)| *layer)).unwrap_or("0");
        self.has_paper |= entity.common.is_in_paper_space;
        let hidden = layer.to_uppercase();
        if !entity.common.is_visible || entity.common.is_in_paper_space || hidden == "DEFPOINTS" || self.hidden.contains(&hidden)
        {
            return Ok(());
        }
        let (kind, path) = match &entity.specific {
            EntityType::Line(line) => {
                let to = Place::new(line.p2.x, line.p2.y);
                ("LINE", Ok([PathEl::MoveTo(Place::new(line.p1.x, line.p1.y)), PathEl::LineTo(to)].into_iter().collect()))
            }
            EntityType::Circle(circle) => {
                let place = Affine::translate((circle.center.x, circle.center.y)) * Affine::scale(circle.radius);
                ("CIRCLE", plane(&circle.normal).map(|plane| plane * place * unit_arc(0.0, TAU)))
            }
            EntityType::Arc(arc) => {
                let place = Affine::translate((arc.center.x, arc.center.y)) * Affine::scale(arc.radius);
                let arch = unit_arc(arc.start_angle.to_radians(), arc.end_angle.to_radians());
                ("ARC", plane(&arc.normal).map(|plane| plane * place * arch))
            }
            EntityType::Ellipse(ellipse) => {
                let (center, [x, y]) = (&ellipse.center, [ellipse.major_axis.x, ellipse.major_axis.y]);
                let path = plane(&ellipse.normal).map(|plane| {
                    // The second axis is left of the first one, seen from the side of the normal.
                    let ratio = ellipse.minor_axis_ratio * plane.determinant();
                    let axes = Affine::new([x, y, -ratio * y, ratio * x, center.x, center.y]);
                    axes * unit_arc(ellipse.start_parameter, ellipse.end_parameter)
                });
                ("ELLIPSE", path)
            }
            EntityType::LwPolyline(line) => {
                let vertices = line.vertices.iter().map(|vertex| (Place::new(vertex.x, vertex.y), vertex.bulge));
                let path = polyline(vertices, line.is_closed());
                ("LWPOLYLINE", plane(&line.extrusion_direction).and_then(|plane| Ok(plane * path?)))
            }
            EntityType::Polyline(line) if line.flags & (16 | 64) != 0 => ("POLYLINE", Err("a mesh is not read".to_owned())),
            EntityType::Polyline(line) => {
                // The frame of a fitted curve isn't drawn.
                let drawn = line.vertices().filter(|vertex| vertex.flags & 16 == 0);
                let path = polyline(drawn.map(|v| (Place::new(v.location.x, v.location.y), v.bulge)), line.is_closed());
                ("POLYLINE", plane(&line.normal).and_then(|plane| Ok(plane * path?)))
            }
            EntityType::Spline(spline) => ("SPLINE", spline_path(spline)),
            EntityType::Insert(insert) => return self.insert(insert, layer, transform, within),
            // The others were passed over before.
            _ => return Ok(()),
        };
        let path = match path {
            Ok(path) => transform * path,
            Err(reason) => return problem(format!("the {kind} on layer {} can't be read: {reason}", quoted(layer))),
        };
        if !path.elements().is_empty() {
            let (start, end) = ends(&path);
            let block = within.first().map(|(block, _)| (*block).to_owned());
            self.pieces.push(Piece { path, start, end, kind, layer: layer.to_owned(), block });
            check_vertices(self.pieces.len())?;
        }
        Ok(())
    }

    /// Draws the copies of a block.
    fn insert(&mut self, insert: &Insert, layer: &str, transform: Affine, within: &[(&str, &str)]) -> Result<(), Problem> {
        let called = || format!("the INSERT of block {} on layer {}", quoted(&insert.name), quoted(layer));
        let Some(&(entities, base)) = self.blocks.get(&insert.name.to_uppercase()) else {
            return problem(format!("{} can't be read: there is no such block", called()));
        };
        if within.len() == MOST_NESTED {
            return problem(format!("{} is within more than {MOST_NESTED} others", called()));
        }
        let plane =
            plane(&insert.extrusion_direction).or_else(|reason| problem(format!("{} can't be read: {reason}", called())))?;
        let place = transform
            * plane
            * Affine::translate((insert.location.x, insert.location.y))
            * Affine::rotate(insert.rotation.to_radians());
        let block = Affine::scale_non_uniform(insert.x_scale_factor, insert.y_scale_factor) * Affine::translate(-base);
        let within: Vec<_> = within.iter().copied().chain([(insert.name.as_str(), layer)]).collect();
        for row in 0..insert.row_count.max(1) {
            for column in 0..insert.column_count.max(1) {
                self.inserts += 1;
                check_vertices(self.inserts)?;
                let step = (f64::from(column) * insert.column_spacing, f64::from(row) * insert.row_spacing);
                let own = place * Affine::translate(step) * block;
                entities.iter().try_for_each(|entity| self.draw(entity, own, &within))?;
            }
        }
        Ok(())
    }
}

/// The plane of an entity by its normal: the drawing's, or that seen from below.
fn plane(normal: &Vector) -> Result<Affine, String> {
    if normal.x.hypot(normal.y) > 1e-6 * normal.z.abs() || normal.z == 0.0 {
        return Err("it isn't in the plane of x and y".to_owned());
    }
    Ok(Affine::scale_non_uniform(normal.z.signum(), 1.0))
}

/// The arc of a circle of radius 1 between two angles.
fn unit_arc(from: f64, to: f64) -> BezPath {
    let turn = (to - from).rem_euclid(TAU);
    let sweep = if turn < 1e-9 { TAU } else { turn };
    Arc::new(Place::ORIGIN, (1.0, 1.0), from, sweep, 0.0).to_path(ARC_TOLERANCE)
}

/// The lines and arcs between vertices. A bulge is the tangent of a quarter of the arc's angle.
fn polyline(vertices: impl Iterator<Item = (Place, f64)>, is_closed: bool) -> Result<BezPath, String> {
    let vertices: Vec<_> = vertices.collect();
    let mut path = BezPath::new();
    let Some(&(first, _)) = vertices.first() else { return Ok(path) };
    path.move_to(first);
    let next = vertices.iter().skip(1).chain(vertices.first().filter(|_| is_closed));
    for (&(from, bulge), &(to, _)) in vertices.iter().zip(next) {
        if bulge.abs() < LEAST_BULGE {
            path.line_to(to);
        } else {
            let radius = from.distance(to) * (0.25 / bulge.abs() + 0.25 * bulge.abs());
            arc(&mut path, from, to, [radius; 2], 0.0, bulge.abs() > 1.0, bulge > 0.0)?;
        }
    }
    Ok(path)
}

/// A spline as cubic curves: exactly if its degree is at most 3 and it has no weights, else within the tolerance of arcs.
fn spline_path(spline: &Spline) -> Result<BezPath, String> {
    let (knots, count) = (&spline.knot_values, spline.control_points.len());
    let degree = usize::try_from(spline.degree_of_curve).unwrap_or(0);
    if count == 0 && !spline.fit_points.is_empty() {
        return Err("it has fit points only, and control points are needed".to_owned());
    }
    if !(1..=MOST_DEGREE).contains(&degree) || count <= degree || knots.len() != count + degree + 1 {
        return Err(format!("it has degree {degree}, {count} control points and {} knots, which don't fit", knots.len()));
    }
    if !knots.is_sorted() {
        return Err("its knots are not in order".to_owned());
    }
    if spline.weight_values.iter().any(|weight| *weight <= 0.0) {
        return Err("its weights must be positive".to_owned());
    }
    let weighted = |(index, point): (usize, &dxf::Point)| {
        let weight = spline.weight_values.get(index).copied().unwrap_or(1.0);
        [weight * point.x, weight * point.y, weight]
    };
    let curve = Curve { degree, knots, points: spline.control_points.iter().enumerate().map(weighted).collect() };
    let mut path = BezPath::new();
    for span in (degree..count).filter(|&span| knots[span] < knots[span + 1]) {
        if path.elements().is_empty() {
            path.move_to(curve.at(span, knots[span]).0);
        }
        curve.add(span, [knots[span], knots[span + 1]], MOST_HALVINGS, &mut path);
    }
    Ok(path)
}

/// A rational spline.
struct Curve<'a> {
    degree: usize,
    knots: &'a [f64],
    /// Control points and weights, the points times these.
    points: Vec<[f64; 3]>,
}

impl Curve<'_> {
    /// The point and the derivative, by de Boor's algorithm.
    fn at(&self, span: usize, t: f64) -> (Place, Vec2) {
        let Curve { degree, knots, ref points } = *self;
        let mut row: Vec<[f64; 3]> = points[span - degree..=span].to_vec();
        let mut slope = [0.0; 3];
        for level in 1..=degree {
            for index in (level..=degree).rev() {
                let left = knots[span + index - degree];
                let width = knots[span + index + 1 - level] - left;
                let (low, high) = (row[index - 1], row[index]);
                slope = [0, 1, 2].map(|axis| (high[axis] - low[axis]) * degree as f64 / width);
                row[index] = [0, 1, 2].map(|axis| low[axis] + (high[axis] - low[axis]) * (t - left) / width);
            }
        }
        let [x, y, w] = row[degree];
        let point = Vec2::new(x, y) / w;
        (point.to_point(), (Vec2::new(slope[0], slope[1]) - point * slope[2]) / w)
    }

    /// Adds the curves between two parameters.
    fn add(&self, span: usize, [from, to]: [f64; 2], halvings: u32, path: &mut BezPath) {
        let ((p0, first), (p3, last)) = (self.at(span, from), self.at(span, to));
        let third = (to - from) / 3.0;
        let cubic = CubicBez::new(p0, p0 + first * third, p3 - last * third, p3);
        let size = p0.distance(cubic.p1) + cubic.p1.distance(cubic.p2) + cubic.p2.distance(p3);
        let off = |t: f64| cubic.eval(t).distance(self.at(span, from + t * (to - from)).0);
        if halvings == 0 || [0.25, 0.5, 0.75].into_iter().all(|t| off(t) <= ARC_TOLERANCE * size) {
            path.curve_to(cubic.p1, cubic.p2, p3);
            return;
        }
        let middle = 0.5 * (from + to);
        self.add(span, [from, middle], halvings - 1, path);
        self.add(span, [middle, to], halvings - 1, path);
    }
}

/// The first and the last point of a path.
fn ends(path: &BezPath) -> (Place, Place) {
    let start = path.elements().first().and_then(PathEl::end_point).unwrap_or_default();
    (start, path.elements().last().and_then(PathEl::end_point).unwrap_or(start))
}

/// An end, with its piece and whether it is the last of it.
type End = GeomWithData<[f64; 2], (usize, bool)>;

/// Joins the open pieces of each layer at their ends, so that all are closed.
fn joined(pieces: Vec<Piece>, origin: Vec2, scale: f64) -> Result<Vec<Piece>, Problem> {
    let all = pieces.iter().map(|piece| piece.path.bounding_box()).reduce(|all, own| all.union(own)).unwrap_or_default();
    let join = JOIN.min(JOIN_SHARE * all.width().max(all.height()));
    // Equal pieces count once.
    let mut seen = HashSet::new();
    let rounded = |point: Place| [(point.x / join).round() as i64, (point.y / join).round() as i64];
    let mut pieces: Vec<Option<Piece>> = pieces
        .into_iter()
        .filter(|piece| {
            let mut ends = [rounded(piece.start), rounded(piece.end)];
            ends.sort_unstable();
            let controls = piece.path.bounding_box();
            seen.insert((piece.layer.clone(), ends, rounded(controls.origin()), rounded(Place::new(controls.x1, controls.y1))))
        })
        .map(Some)
        .collect();
    let is_closed = |piece: &Piece| {
        let size = piece.path.bounding_box().size();
        piece.start == piece.end || piece.start.distance(piece.end) <= join && size.width.max(size.height) > join
    };
    let mut open: HashMap<String, RTree<End>> = HashMap::new();
    let end = |index: usize, piece: &Piece, is_end: bool| {
        let point = if is_end { piece.end } else { piece.start };
        GeomWithData::new([point.x, point.y], (index, is_end))
    };
    for (index, piece) in pieces.iter().enumerate() {
        if let Some(piece) = piece.as_ref().filter(|piece| !is_closed(piece)) {
            let tree = open.entry(piece.layer.clone()).or_default();
            [false, true].into_iter().for_each(|is_end| tree.insert(end(index, piece, is_end)));
        }
    }
    let mut closed = Vec::new();
    for index in 0..pieces.len() {
        let Some(mut piece) = pieces[index].take() else { continue };
        if let Some(tree) = open.get_mut(&piece.layer).filter(|_| !is_closed(&piece)) {
            [false, true].into_iter().for_each(|is_end| _ = tree.remove(&end(index, &piece, is_end)));
            loop {
                let gap = piece.start.distance(piece.end);
                let next = tree.nearest_neighbor_iter_with_distance_2(&[piece.end.x, piece.end.y]).next();
                let near = next.filter(|(_, square)| square.sqrt() <= join && !(is_closed(&piece) && gap <= square.sqrt()));
                let Some(&(other, is_end)) = near.map(|(point, _)| &point.data) else { break };
                let Some(other_piece) = pieces[other].take() else { break };
                [false, true].into_iter().for_each(|is_end| _ = tree.remove(&end(other, &other_piece, is_end)));
                let path = if is_end { other_piece.path.reverse_subpaths() } else { other_piece.path };
                piece.path.extend(path.elements().iter().skip(1).copied());
                piece.end = ends(&piece.path).1;
            }
        }
        if !is_closed(&piece) {
            let Place { x, y } = piece.end + origin;
            return problem(format!("{} is not closed: it ends at ({}, {})", called(&piece), x / scale, y / scale));
        }
        // The last curve ends where the first one starts.
        if let Some(PathEl::LineTo(end) | PathEl::QuadTo(_, end) | PathEl::CurveTo(_, _, end)) =
            piece.path.elements_mut().last_mut()
        {
            *end = piece.start;
        }
        piece.path.close_path();
        closed.push(piece);
    }
    Ok(closed)
}

/// Vertices of a closed contour, each with the bulge of the arc to the next one: the tangent of a quarter of its angle, 0 for
/// a line.
pub type Bulges = Vec<[f64; 3]>;

/// Returns a DXF file (R2000) of closed contours in mm, each on a layer.
///
/// # Errors
/// None is known: the text is in memory.
pub fn dxf(contours: impl IntoIterator<Item = (String, Bulges)>) -> std::io::Result<Vec<u8>> {
    let mut drawing = Drawing::new();
    drawing.header.version = AcadVersion::R2000;
    drawing.header.default_drawing_units = Units::Millimeters;
    // The same contours are the same bytes.
    drawing.header.creation_date = Default::default();
    drawing.header.update_date = Default::default();
    (drawing.header.creation_date_universal, drawing.header.update_date_universal) = Default::default();
    (drawing.header.fingerprint_guid, drawing.header.version_guid) = Default::default();
    for (layer, vertices) in contours {
        let vertex = |[x, y, bulge]: [f64; 3]| LwPolylineVertex { x, y, bulge, ..Default::default() };
        let line = LwPolyline { flags: 1, vertices: vertices.into_iter().map(vertex).collect(), ..Default::default() };
        let mut entity = Entity::new(EntityType::LwPolyline(line));
        entity.common.layer = layer;
        drawing.add_entity(entity);
    }
    let mut out = Vec::new();
    drawing.save(&mut out).map_err(std::io::Error::other)?;
    Ok(out)
}

/// The closed contours of a path. Curves that are arcs are so again, and others become lines, at most `tolerance` away.
pub(super) fn bulges(path: &BezPath, tolerance: f64) -> Vec<Bulges> {
    let mut contours: Vec<Bulges> = Vec::new();
    let mut pen = Place::ORIGIN;
    for &element in path.elements() {
        match (element, contours.last_mut()) {
            (PathEl::MoveTo(to), _) => contours.push(vec![[to.x, to.y, 0.0]]),
            (PathEl::LineTo(to), Some(contour)) => contour.push([to.x, to.y, 0.0]),
            (PathEl::CurveTo(..) | PathEl::QuadTo(..), Some(contour)) => {
                let curve = BezPath::from_vec(vec![PathEl::MoveTo(pen), element]);
                match curve.get_seg(1).and_then(|segment| bulge(segment.to_cubic())) {
                    Some(bulge) => {
                        contour.last_mut().into_iter().for_each(|from| from[2] = bulge);
                        contour.extend(element.end_point().map(|to| [to.x, to.y, 0.0]));
                    }
                    None => kurbo::flatten(curve, tolerance, |element| {
                        if let PathEl::LineTo(to) = element {
                            contour.push([to.x, to.y, 0.0]);
                        }
                    }),
                }
            }
            // The line to the start is that of a closed contour.
            _ => {}
        }
        pen = element.end_point().unwrap_or(pen);
    }
    for contour in &mut contours {
        if contour.len() > 1 && contour.first().map(|p| [p[0], p[1]]) == contour.last().map(|p| [p[0], p[1]]) {
            contour.pop();
        }
    }
    contours
}

/// The bulge of a curve that is an arc.
fn bulge(curve: CubicBez) -> Option<f64> {
    let chord = curve.p3 - curve.p0;
    let (length, middle) = (chord.hypot(), curve.p0.midpoint(curve.p3));
    let left = Vec2::new(-chord.y, chord.x) / length;
    let bulge = -2.0 * left.dot(curve.eval(0.5) - middle) / length;
    let center = middle + left * (length * (1.0 - bulge * bulge) / (4.0 * bulge));
    let radius = length * (0.25 / bulge.abs() + 0.25 * bulge.abs());
    let is_near = |t: f64| (curve.eval(t).distance(center) - radius).abs() <= 4.0 * ARC_TOLERANCE * radius;
    (bulge.abs() > LEAST_BULGE && [0.125, 0.25, 0.5, 0.75, 0.875].into_iter().all(is_near)).then_some(bulge)
}
