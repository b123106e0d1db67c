//! Reads shapes.

use std::{io::Read as _, path::Path};

use kurbo::{Affine, BezPath, Circle, Ellipse, PathEl, Rect, Shape as _};
use roxmltree::{Document, Node};
use serde_json::Value;
use wkt::Wkt;

use crate::{
    files,
    overlap::{OverlapError, Point, Shape, convex::bounds},
};

/// How far the lines that a curve becomes may be from it, in units of the drawing's width or height, whichever is larger.
pub const CURVE_TOLERANCE: f64 = 1e-4;

/// Elements of a drawing that are drawn elsewhere, or never.
const NOT_DRAWN: &[&str] = &["defs", "clipPath", "mask", "marker", "pattern", "symbol"];

/// Reads a shape: `tree`, the name of a `.json`, `.svg` or `.wkt` file, or a polygon in WKT itself.
///
/// A shape from a file has the file's name without the extension, unless the file says another.
///
/// # Errors
/// Where it is none of these, the file can't be read or holds something else, or the [`Shape`] is none. Polygons with holes, drawings
/// with paths of several parts and open paths are errors.
pub fn read_shape(text: &str) -> Result<Shape, OverlapError> {
    let none = |reason: String| OverlapError::NoShape { text: text.to_owned(), reason };
    if text == "tree" {
        return Ok(Shape::tree());
    }
    let path = Path::new(text);
    let extension = path.extension().map(|extension| extension.to_string_lossy().to_ascii_lowercase());
    let parse: fn(&str, &str) -> Result<Shape, Problem> = match extension.as_deref() {
        Some("json" | "geojson") => parse_json,
        Some("svg") => parse_svg,
        Some("wkt") => parse_wkt,
        _ if is_wkt(text) => {
            return parse_wkt(text, "polygon").map_err(|problem| match problem {
                Problem::Text(reason) => none(reason),
                Problem::Shape(error) => error,
            });
        }
        _ => {
            return Err(none(
                "it must be `tree`, a file .json, .svg or .wkt, or WKT such as `POLYGON ((0 0, 1 0, 0 1))`".to_owned(),
            ));
        }
    };
    let fail = |reason: String| OverlapError::file(path, reason);
    let (mut file, _) = files::open(path).map_err(fail)?;
    let mut content = String::new();
    file.read_to_string(&mut content).map_err(|error| match error.kind() {
        std::io::ErrorKind::InvalidData => fail("is not UTF-8 text".to_owned()),
        _ => fail(format!("can't be read: {}", files::reason(&error))),
    })?;
    let name = path.file_stem().unwrap_or_default().to_string_lossy();
    parse(&content, &name).map_err(|problem| match problem {
        Problem::Text(reason) => fail(reason),
        Problem::Shape(error) => fail(error.to_string()),
    })
}

/// What is wrong with a text.
enum Problem {
    /// It holds something else. A clause that follows the file's name.
    Text(String),
    /// It holds what is no shape.
    Shape(OverlapError),
}

impl From<OverlapError> for Problem {
    fn from(error: OverlapError) -> Self {
        Problem::Shape(error)
    }
}

fn problem<T>(reason: impl Into<String>) -> Result<T, Problem> {
    Err(Problem::Text(reason.into()))
}

/// Whether it starts as WKT does.
fn is_wkt(text: &str) -> bool {
    const NAMES: &[&str] =
        &["POINT", "LINESTRING", "POLYGON", "MULTIPOINT", "MULTILINESTRING", "MULTIPOLYGON", "GEOMETRYCOLLECTION"];
    let word: String = text.trim_start().chars().take_while(char::is_ascii_alphabetic).collect();
    NAMES.contains(&&*word.to_ascii_uppercase())
}

fn parse_wkt(text: &str, name: &str) -> Result<Shape, Problem> {
    let geometry: Wkt<f64> = match text.parse() {
        Ok(geometry) => geometry,
        Err(error) => return problem(format!("is not WKT: {error}")),
    };
    let other = match geometry {
        Wkt::Polygon(polygon) => {
            let [ring] = polygon.rings() else { return problem(rings(polygon.rings().len())) };
            if ring.coords().iter().any(|point| point.z.is_some() || point.m.is_some()) {
                return problem("is a POLYGON with more than x and y");
            }
            let outline: Vec<Point> = ring.coords().iter().map(|point| [point.x, point.y]).collect();
            return Ok(Shape::polygon(name, &outline)?);
        }
        Wkt::Point(_) => "POINT",
        Wkt::LineString(_) => "LINESTRING",
        Wkt::MultiPoint(_) => "MULTIPOINT",
        Wkt::MultiLineString(_) => "MULTILINESTRING",
        Wkt::MultiPolygon(_) => "MULTIPOLYGON",
        Wkt::GeometryCollection(_) => "GEOMETRYCOLLECTION",
    };
    problem(format!("is a {other}, but a shape must be a POLYGON"))
}

/// That a polygon doesn't have just one ring.
fn rings(n: usize) -> String {
    match n {
        0 => "is a polygon without vertices".to_owned(),
        2 => "is a polygon with a hole, which a shape can't have".to_owned(),
        n => format!("is a polygon with {} holes, which a shape can't have", n - 1),
    }
}

fn parse_json(text: &str, name: &str) -> Result<Shape, Problem> {
    let value: Value = match serde_json::from_str(text) {
        Ok(value) => value,
        Err(error) => return problem(format!("is not JSON: {error}")),
    };
    let name = value.get("name").and_then(Value::as_str).unwrap_or(name);
    // A feature is a geometry with properties.
    let geometry = match value.get("type").and_then(Value::as_str) {
        Some("Feature") => value.get("geometry").unwrap_or(&Value::Null),
        _ => &value,
    };
    if let Some(kind) = geometry.get("type").and_then(Value::as_str) {
        if kind != "Polygon" {
            return problem(format!("is a GeoJSON {kind}, but a shape must be a Polygon"));
        }
        let coordinates = geometry.get("coordinates").and_then(Value::as_array);
        let Some(coordinates) = coordinates else { return problem("is a GeoJSON Polygon without an array `coordinates`") };
        let [ring] = &coordinates[..] else { return problem(rings(coordinates.len())) };
        return Ok(Shape::polygon(name, &points(ring, "coordinates[0]")?)?);
    }
    match (value.get("outline"), value.get("pieces")) {
        (Some(outline), None) => Ok(Shape::polygon(name, &points(outline, "outline")?)?),
        (None, Some(pieces)) => {
            let Some(pieces) = pieces.as_array() else { return problem("`pieces` is not an array") };
            let pieces = pieces.iter().enumerate().map(|(index, piece)| points(piece, &format!("pieces[{index}]")));
            Ok(Shape::from_pieces(name, &pieces.collect::<Result<Vec<_>, _>>()?)?)
        }
        (Some(_), Some(_)) => problem("has both `outline` and `pieces`; a shape is one or the other"),
        (None, None) => problem("must be an object with `outline`, with `pieces`, or a GeoJSON Polygon"),
    }
}

/// An array of points.
fn points(value: &Value, what: &str) -> Result<Vec<Point>, Problem> {
    let Some(values) = value.as_array() else { return problem(format!("`{what}` is not an array")) };
    let point = |(index, value): (usize, &Value)| {
        let numbers = value.as_array().map(|numbers| numbers.iter().map(Value::as_f64).collect::<Vec<_>>());
        match numbers.as_deref() {
            Some(&[Some(x), Some(y)]) => Ok([x, y]),
            _ => problem(format!("`{what}[{index}]` is not an array of two numbers")),
        }
    };
    values.iter().enumerate().map(point).collect()
}

fn parse_svg(text: &str, name: &str) -> Result<Shape, Problem> {
    let options = roxmltree::ParsingOptions { allow_dtd: true, ..Default::default() };
    let document = match Document::parse_with_options(text, options) {
        Ok(document) => document,
        Err(error) => return problem(format!("is not SVG: {error}")),
    };
    if document.root_element().tag_name().name() != "svg" {
        return problem(format!("is not SVG: its element is `{}`", document.root_element().tag_name().name()));
    }
    let mut open = None;
    for node in document.descendants().filter(Node::is_element) {
        if node.ancestors().any(|ancestor| NOT_DRAWN.contains(&ancestor.tag_name().name())) {
            continue;
        }
        let Some(path) = element_path(node)? else { continue };
        let path = transform(node)? * path;
        let parts = flatten(&path);
        match &parts[..] {
            [] => {}
            [(outline, true)] => return Ok(Shape::polygon(name, outline)?),
            [(_, false)] => open = open.or_else(|| Some(called(node))),
            parts => return problem(format!("{} has {} parts, but a shape must be one closed path", called(node), parts.len())),
        }
    }
    match open {
        Some(open) => problem(format!("{open} is not closed, and there is no other")),
        None => problem("has no path, polygon, rectangle, circle or ellipse"),
    }
}

/// An element for messages: `the path on line 3`, with its id where it has one.
fn called(node: Node<'_, '_>) -> String {
    let line = node.document().text_pos_at(node.range().start).row;
    let name = node.tag_name().name();
    match node.attribute("id") {
        Some(id) => format!("the {name} `{id}` on line {line}"),
        None => format!("the {name} on line {line}"),
    }
}

/// What an element draws, if it is one that draws.
fn element_path(node: Node<'_, '_>) -> Result<Option<BezPath>, Problem> {
    let number = |name: &str| match node.attribute(name) {
        None => Ok(0.0),
        Some(text) => match text.trim().trim_end_matches("px").parse::<f64>() {
            Ok(number) if number.is_finite() => Ok(number),
            _ => problem(format!("{}: `{name}` is `{text}`, but it must be a number", called(node))),
        },
    };
    let path = |text: &str| match BezPath::from_svg(text) {
        Ok(path) => Ok(path),
        Err(error) => problem(format!("{} can't be read: {error}", called(node))),
    };
    // Arcs as Bézier curves that are far closer than the lines to come.
    let precise = |extent: f64| 1e-3 * CURVE_TOLERANCE * extent.abs();
    let closed = |mut path: BezPath| {
        path.close_path();
        path
    };
    Ok(Some(match node.tag_name().name() {
        "path" => path(node.attribute("d").unwrap_or_default())?,
        "polygon" | "polyline" => {
            let points = node.attribute("points").unwrap_or_default().trim();
            let end = if node.tag_name().name() == "polygon" { " Z" } else { "" };
            if points.is_empty() { BezPath::new() } else { path(&format!("M {points}{end}"))? }
        }
        "rect" => {
            if number("rx")? != 0.0 || number("ry")? != 0.0 {
                return problem(format!("{} has round corners, which are not read; make it a path", called(node)));
            }
            let (x, y) = (number("x")?, number("y")?);
            Rect::new(x, y, x + number("width")?, y + number("height")?).to_path(0.1)
        }
        "circle" => closed(Circle::new((number("cx")?, number("cy")?), number("r")?).to_path(precise(number("r")?))),
        "ellipse" => {
            let (rx, ry) = (number("rx")?, number("ry")?);
            closed(Ellipse::new((number("cx")?, number("cy")?), (rx, ry), 0.0).to_path(precise(rx.max(ry))))
        }
        _ => return Ok(None),
    }))
}

/// From an element's coordinates to the drawing's, with y turned upwards.
fn transform(node: Node<'_, '_>) -> Result<Affine, Problem> {
    let mut whole = Affine::IDENTITY;
    for node in node.ancestors() {
        let Some(text) = node.attribute("transform") else { continue };
        match text.parse::<svgtypes::Transform>() {
            Ok(t) => whole = Affine::new([t.a, t.b, t.c, t.d, t.e, t.f]) * whole,
            Err(error) => return problem(format!("{}: `transform` can't be read: {error}", called(node))),
        }
    }
    Ok(Affine::FLIP_Y * whole)
}

/// The vertices of a path's parts, and whether each is closed. Parts of one point are left out.
fn flatten(path: &BezPath) -> Vec<(Vec<Point>, bool)> {
    let mut parts: Vec<(Vec<Point>, bool)> = Vec::new();
    let extent = path.control_box().width().max(path.control_box().height());
    let tolerance = if extent > 0.0 && extent.is_finite() { CURVE_TOLERANCE * extent } else { 1.0 };
    kurbo::flatten(path.elements().iter().copied(), tolerance, |element| match (element, parts.last_mut()) {
        (PathEl::MoveTo(point), _) => parts.push((vec![[point.x, point.y]], false)),
        (PathEl::LineTo(point), Some((points, _))) => points.push([point.x, point.y]),
        (PathEl::ClosePath, Some((_, closed))) => *closed = true,
        _ => {}
    });
    for (points, closed) in &mut parts {
        *closed |= points.len() > 1 && points.first() == points.last();
    }
    let is_point = |points: &[Point]| {
        let [low, high] = bounds(points);
        low == high
    };
    parts.retain(|(points, _)| !is_point(points));
    parts
}
