//! Reads and writes drawings (DXF).

use std::{
    collections::{BTreeMap, BTreeSet, HashMap, HashSet},
    f64::consts::TAU,
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

/// Entities that are read, and the end of a polyline's vertices.
const READ: &[&str] = &["LINE", "ARC", "CIRCLE", "ELLIPSE", "LWPOLYLINE", "POLYLINE", "VERTEX", "SPLINE", "INSERT", "SEQEND"];
/// Flags of blocks that are in another file.
const ELSEWHERE: i32 = 4 | 8;
/// Records without a content of their own.
const FRAMES: &[&str] = &["SECTION", "ATTRIB", "VIEWPORT"];
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

/// An entity, a vertex of one, or the head of a block.
#[derive(Default)]
struct Record<'a> {
    kind: &'a str,
    name: String,
    layer: String,
    /// The file of a block that is in another one.
    file: &'a str,
    numbers: Vec<(i32, f64)>,
}

/// Codes and numbers in the order of the file.
type Numbers = [(i32, f64)];

/// Contents of a file's text.
#[derive(Default)]
struct Scanned<'a> {
    entities: Vec<Record<'a>>,
    /// Each block's head and its entities.
    blocks: Vec<Vec<Record<'a>>>,
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
    kind: String,
    layer: String,
    /// The outermost block around it.
    block: Option<String>,
}

/// The paths of a drawing.
struct Reader<'a> {
    /// The heads and entities by the names, in capitals.
    blocks: HashMap<String, (&'a Record<'a>, &'a [Record<'a>])>,
    hidden: HashSet<String>,
    pieces: Vec<Piece>,
    inserts: usize,
    has_paper: bool,
    /// Names and files of blocks that are in other files.
    elsewhere: BTreeSet<(&'a str, &'a str)>,
}

/// Reads the closed contours of a drawing, in millimetres if it tells its unit.
pub fn parse(text: &str, tolerance: Option<f64>) -> Result<Drawn, Problem> {
    let Scanned { entities, blocks, units, hidden, left_out } = scan(text)?;
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
    let blocks = blocks.iter().filter_map(|block| block.split_first());
    let blocks = blocks.map(|(head, entities)| (head.name.to_uppercase(), (head, entities)));
    let mut reader =
        Reader { blocks: blocks.collect(), hidden, pieces: Vec::new(), inserts: 0, has_paper: false, elsewhere: BTreeSet::new() };
    reader.draw(&entities, Affine::scale(*scale), &[])?;
    if reader.has_paper {
        notes.push("what is on paper is left out: the model is read".to_owned());
    }
    let elsewhere = reader.elsewhere.iter().map(|(block, file)| (quoted(block), quoted(file)));
    notes.extend(elsewhere.map(|(block, file)| format!("the block {block} is left out: it is in another file, {file}")));
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
    if text.starts_with("AutoCAD Binary DXF") {
        return problem("is a binary DXF file: save it as text (ASCII)");
    }
    let mut scanned = Scanned::default();
    let mut lines = text.lines().enumerate();
    let (mut section, mut kind, mut name) = ("", "", String::new());
    let mut is_kept = false;
    while let Some((line, code)) = lines.next() {
        let at = |reason: String| problem(format!("line {}: {reason}", line + 1));
        let Ok(code) = code.trim().parse::<i32>() else {
            return at(format!("{} must be a number, the code of the next line", quoted(code.trim())));
        };
        let Some((line, value)) = lines.next() else { return at("the file ends within a pair of lines".to_owned()) };
        let value = value.trim();
        let at = |reason: &str| Problem::Text(format!("line {}: {} {reason}", line + 1, quoted(value)));
        let number = || value.parse().ok().filter(|number: &f64| number.is_finite()).ok_or_else(|| at("must be a number"));
        let whole = || value.parse::<i16>().map_err(|_| at("must be a whole number"));
        let misplaced = || at("is out of place");
        if code == 0 {
            kind = value;
            let is_read = READ.contains(&kind);
            (section, is_kept) = match (section, kind) {
                ("ENTITIES" | "BLOCKS" | "BLOCK", "EOF")
                | ("ENTITIES" | "BLOCK", "BLOCK")
                | ("ENTITIES" | "BLOCKS", "ENDBLK") => {
                    return Err(misplaced());
                }
                (_, "EOF") => return Ok(scanned),
                (_, "ENDSEC") => ("", false),
                ("BLOCK", "ENDBLK") => ("BLOCKS", false),
                ("BLOCKS", "BLOCK") => {
                    scanned.blocks.push(Vec::new());
                    ("BLOCK", true)
                }
                ("", _) if kind != "SECTION" => return Err(misplaced()),
                ("BLOCKS", _) if is_read => return Err(misplaced()),
                ("ENTITIES" | "BLOCKS" | "BLOCK", _) if !is_read && !FRAMES.contains(&kind) => {
                    *scanned.left_out.entry(kind).or_default() += 1;
                    (section, false)
                }
                _ => (section, is_read && matches!(section, "ENTITIES" | "BLOCK")),
            };
        }
        match (section, kind, code) {
            ("", "SECTION", 2) => section = value,
            // Pairs of a header have no record of their own.
            ("HEADER", _, 9) => name = value.to_owned(),
            ("HEADER", _, 70) if name == "$INSUNITS" => scanned.units = number()? as i64,
            ("TABLES", "LAYER", 2) => name = unescaped(value),
            // The colour of a layer that is off is negative, and a frozen one has a flag.
            ("TABLES", "LAYER", 62) if number()? < 0.0 => _ = scanned.hidden.insert(name.to_uppercase()),
            ("TABLES", "LAYER", 70) if number()? as i64 & 1 == 1 => _ = scanned.hidden.insert(name.to_uppercase()),
            _ => {}
        }
        if is_kept {
            let records = scanned.blocks.last_mut().filter(|_| section == "BLOCK").unwrap_or(&mut scanned.entities);
            let before = records.last().map_or("", |record| record.kind);
            match (code, records.last_mut()) {
                (0, _) if kind == "VERTEX" && !["POLYLINE", "VERTEX"].contains(&before) => return Err(misplaced()),
                (0, _) if kind == "SEQEND" && !["POLYLINE", "VERTEX", "INSERT"].contains(&before) => return Err(misplaced()),
                (0, _) => records.push(Record { kind, layer: "0".into(), ..Default::default() }),
                (1, Some(record)) => record.file = value,
                (2, Some(record)) => record.name = unescaped(value),
                (8, Some(record)) => record.layer = unescaped(value),
                (10..=59 | 210..=239, Some(record)) => record.numbers.push((code, number()?)),
                (60..=79, Some(record)) => record.numbers.push((code, whole()?.into())),
                _ => {}
            }
        }
    }
    problem("is not complete: it ends before the line EOF")
}

/// Returns a name whose `^` was written as `^` and a space.
fn unescaped(name: &str) -> String {
    name.replace("^ ", "^")
}

/// The last number of a code.
fn number(numbers: &Numbers, code: i32, default: f64) -> f64 {
    numbers.iter().rfind(|number| number.0 == code).map_or(default, |number| number.1)
}

/// Returns the point whose x has this code.
fn point(numbers: &Numbers, code: i32) -> Place {
    Place::new(number(numbers, code, 0.0), number(numbers, code + 10, 0.0))
}

/// All numbers of a code.
fn all(numbers: &Numbers, code: i32) -> impl Iterator<Item = f64> {
    numbers.iter().filter(move |number| number.0 == code).map(|number| number.1)
}

impl Reader<'_> {
    /// Draws entities. `within` are the names of blocks and the layers of their inserts, from the outside.
    fn draw(&mut self, records: &[Record], transform: Affine, within: &[(&str, &str)]) -> Result<(), Problem> {
        for records in records.chunk_by(|_, next| next.kind == "VERTEX") {
            let [entity @ Record { kind, numbers, .. }, vertices @ ..] = records else { continue };
            // Entities on layer 0 of a block are on the layer of its insert.
            let layer = if entity.layer == "0" { within.last().map_or("0", |(_, layer)| *layer) } else { &entity.layer };
            let is_on_paper = number(numbers, 67, 0.0) == 1.0;
            self.has_paper |= is_on_paper;
            let hidden = layer.to_uppercase();
            if number(numbers, 60, 0.0) == 1.0 || is_on_paper || hidden == "DEFPOINTS" || self.hidden.contains(&hidden) {
                continue;
            }
            if *kind == "INSERT" {
                self.insert(entity, layer, transform, within)?;
                continue;
            }
            let path = match path(kind, numbers, vertices) {
                Ok(path) => transform * path,
                Err(reason) => return problem(format!("the {kind} on layer {} can't be read: {reason}", quoted(layer))),
            };
            if !path.elements().is_empty() {
                let (start, end) = ends(&path);
                let block = within.first().map(|(block, _)| (*block).to_owned());
                self.pieces.push(Piece { path, start, end, kind: (*kind).to_owned(), layer: layer.to_owned(), block });
                check_vertices(self.pieces.len())?;
            }
        }
        Ok(())
    }

    /// Draws the copies of a block.
    fn insert(&mut self, insert: &Record, layer: &str, transform: Affine, within: &[(&str, &str)]) -> Result<(), Problem> {
        let Record { name, numbers, .. } = insert;
        let number = |code, default| number(numbers, code, default);
        let called = || format!("the INSERT of block {} on layer {}", quoted(name), quoted(layer));
        let Some(&(head, entities)) = self.blocks.get(&name.to_uppercase()) else {
            return problem(format!("{} can't be read: there is no such block", called()));
        };
        if entities.is_empty() && self::number(&head.numbers, 70, 0.0) as i32 & ELSEWHERE != 0 {
            self.elsewhere.insert((&head.name, head.file));
        }
        if within.len() == MOST_NESTED {
            return problem(format!("{} is within more than {MOST_NESTED} others", called()));
        }
        let plane = plane(numbers).or_else(|reason| problem(format!("{} can't be read: {reason}", called())))?;
        let place =
            transform * plane * Affine::translate(point(numbers, 10).to_vec2()) * Affine::rotate(number(50, 0.0).to_radians());
        let block =
            Affine::scale_non_uniform(number(41, 1.0), number(42, 1.0)) * Affine::translate(-point(&head.numbers, 10).to_vec2());
        let within: Vec<_> = within.iter().copied().chain([(&**name, layer)]).collect();
        let [columns, rows] = [70, 71].map(|code| number(code, 1.0).max(1.0) as u32);
        let [right, up] = [44, 45].map(|code| number(code, 0.0));
        for row in 0..rows {
            for column in 0..columns {
                self.inserts += 1;
                check_vertices(self.inserts)?;
                let step = (f64::from(column) * right, f64::from(row) * up);
                self.draw(entities, place * Affine::translate(step) * block, &within)?;
            }
        }
        Ok(())
    }
}

/// The path of an entity, which is empty if it isn't drawn.
fn path(kind: &str, numbers: &Numbers, vertices: &[Record]) -> Result<BezPath, String> {
    let number = |code, default| number(numbers, code, default);
    let (flags, center) = (number(70, 0.0) as i32, point(numbers, 10));
    match kind {
        "LINE" => Ok(BezPath::from_vec(vec![PathEl::MoveTo(center), PathEl::LineTo(point(numbers, 11))])),
        "CIRCLE" | "ARC" if number(40, 0.0) <= 0.0 => Err("its radius must be positive".to_owned()),
        "CIRCLE" | "ARC" => {
            let angles = if kind == "ARC" { [number(50, 0.0), number(51, 360.0)] } else { [0.0, 360.0] };
            let place = Affine::translate(center.to_vec2()) * Affine::scale(number(40, 0.0));
            Ok(plane(numbers)? * place * unit_arc(angles.map(f64::to_radians)))
        }
        "ELLIPSE" => {
            // The second axis is left of the first one, seen from the side of the normal.
            let (x, y, ratio) = (number(11, 1.0), number(21, 0.0), number(40, 1.0) * plane(numbers)?.determinant());
            let axes = Affine::new([x, y, -ratio * y, ratio * x, center.x, center.y]);
            Ok(axes * unit_arc([number(41, 0.0), number(42, TAU)]))
        }
        "LWPOLYLINE" if numbers.iter().find(|own| [10, 20, 42].contains(&own.0)).is_some_and(|own| own.0 != 10) => {
            Err("its first vertex has no x".to_owned())
        }
        "LWPOLYLINE" => {
            let vertices = numbers.chunk_by(|_, next| next.0 != 10).filter(|own| own[0].0 == 10);
            Ok(plane(numbers)? * polyline(vertices, flags)?)
        }
        "POLYLINE" if flags & (16 | 64) != 0 => Err("a mesh is not read".to_owned()),
        "POLYLINE" => {
            // The frame of a fitted curve isn't drawn.
            let is_drawn = |own: &&Numbers| self::number(own, 70, 0.0) as i32 & 16 == 0;
            Ok(plane(numbers)? * polyline(vertices.iter().map(|vertex| &vertex.numbers[..]).filter(is_drawn), flags)?)
        }
        "SPLINE" => spline(numbers),
        _ => Ok(BezPath::new()),
    }
}

/// The plane of an entity by its normal: the drawing's, or that seen from below.
fn plane(numbers: &Numbers) -> Result<Affine, String> {
    let [x, y, z] = [(210, 0.0), (220, 0.0), (230, 1.0)].map(|(code, default)| number(numbers, code, default));
    if x.hypot(y) > 1e-6 * z.abs() || z == 0.0 {
        return Err("it isn't in the plane of x and y".to_owned());
    }
    Ok(Affine::scale_non_uniform(z.signum(), 1.0))
}

/// The arc of a circle of radius 1 between two angles.
fn unit_arc([from, to]: [f64; 2]) -> BezPath {
    let turn = (to - from).rem_euclid(TAU);
    let sweep = if turn < 1e-9 { TAU } else { turn };
    Arc::new(Place::ORIGIN, (1.0, 1.0), from, sweep, 0.0).to_path(ARC_TOLERANCE)
}

/// The lines and arcs between vertices. A bulge is the tangent of a quarter of the arc's angle.
fn polyline<'a>(vertices: impl Iterator<Item = &'a Numbers>, flags: i32) -> Result<BezPath, String> {
    let vertices: Vec<_> = vertices.map(|own| (point(own, 10), number(own, 42, 0.0))).collect();
    let mut path = BezPath::new();
    let Some(&(first, _)) = vertices.first() else { return Ok(path) };
    path.move_to(first);
    let next = vertices.iter().skip(1).chain(vertices.first().filter(|_| flags & 1 == 1));
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
fn spline(numbers: &Numbers) -> Result<BezPath, String> {
    let [knots, weights] = [40, 41].map(|code| all(numbers, code).collect::<Vec<_>>());
    let points = |code| all(numbers, code).zip(all(numbers, code + 10));
    let (count, degree) = (points(10).count(), number(numbers, 71, 1.0).max(0.0) as usize);
    if count == 0 && points(11).count() > 0 {
        return Err("it has fit points only, and control points are needed".to_owned());
    }
    if !(1..=MOST_DEGREE).contains(&degree) || count <= degree || knots.len() != count + degree + 1 {
        return Err(format!("it has degree {degree}, {count} control points and {} knots, which don't fit", knots.len()));
    }
    if !knots.is_sorted() {
        return Err("its knots are not in order".to_owned());
    }
    if weights.iter().any(|weight| *weight <= 0.0) {
        return Err("its weights must be positive".to_owned());
    }
    let weights = weights.into_iter().chain(std::iter::repeat(1.0));
    let weighted = points(10).zip(weights).map(|((x, y), weight)| [weight * x, weight * y, weight]);
    let curve = Curve { degree, knots: &knots, points: weighted.collect() };
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
pub fn dxf(contours: &[(String, Bulges)]) -> String {
    // Names are in ASCII, and here without spaces.
    let escape = |unit: u16| match char::from_u32(unit.into()) {
        Some(char) if char.is_ascii_graphic() && char != '^' => char.to_string(),
        _ => format!("\\U+{unit:04X}"),
    };
    let escaped = |name: &str| name.encode_utf16().map(escape).collect::<String>();
    let names: BTreeSet<&str> = contours.iter().map(|(layer, _)| &layer[..]).chain(["0"]).collect();
    let [mut layers, mut entities] = [String::new(), String::new()];
    let mut handles = 0x30..;
    for (name, handle) in names.iter().zip(handles.by_ref()) {
        let kinds = "100 AcDbSymbolTableRecord 100 AcDbLayerTableRecord";
        layers += &format!("0 LAYER 5 {handle:X} 330 2 {kinds} 2 {} 70 0 62 7 6 Continuous 390 F\n", escaped(name));
    }
    for ((layer, vertices), handle) in contours.iter().zip(handles.by_ref()) {
        let (layer, count) = (escaped(layer), vertices.len());
        entities += &format!("0 LWPOLYLINE 5 {handle:X} 330 1F 100 AcDbEntity 8 {layer} 100 AcDbPolyline 90 {count} 70 1\n");
        for vertex in vertices {
            let [x, y, bulge] = vertex.map(|number| format!("{number}{}", if number.fract() == 0.0 { ".0" } else { "" }));
            entities += &format!("10 {x} 20 {y} 42 {bulge}\n");
        }
    }
    let words =
        format!(include_str!("drawing.txt"), seed = handles.start, count = names.len(), layers = layers, entities = entities);
    let mut words = words.split_ascii_whitespace();
    let mut text = String::new();
    while let (Some(code), Some(value)) = (words.next(), words.next()) {
        // Small integers are aligned.
        let width = if let [b'6' | b'7', _] = code.as_bytes() { 6 } else { 0 };
        text += &format!("{code:>3}\r\n{value:>width$}\r\n");
    }
    text
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
