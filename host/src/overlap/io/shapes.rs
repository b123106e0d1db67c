//! Reads shapes.

use std::path::Path;

use serde_json::Value;
use wkt::Wkt;

use super::{
    problem::{Problem, check_vertices, polygon, problem},
    svg,
};
use crate::{
    io::{Reason, brief, quoted},
    overlap::{OverlapError, Point, Shape},
};

/// Reads a shape: `tree`, the name of a `.json`, `.svg` or `.wkt` file, or a polygon in WKT itself.
///
/// The name of a shape from a file is the file's name without the extension, unless the file has
/// another. A warning (`tracing`) names each part of a drawing that the shape lacks or approximates:
/// curves, elements that are not read, units.
///
/// # Errors
/// If the text is not of this kind, the file can't be read or has other content, or the [`Shape`]
/// is invalid. Polygons with holes, drawings with paths of several parts, and open paths are
/// errors.
pub fn read_shape(text: &str) -> Result<Shape, OverlapError> {
    let none = |reason: String| OverlapError::NoShape { text: text.to_owned(), reason };
    if text == "tree" {
        return Ok(Shape::tree());
    }
    let path = Path::new(text);
    let extension = path.extension().map(|extension| extension.to_string_lossy().to_ascii_lowercase());
    let parse: fn(&str, &str) -> Result<svg::Drawn, Problem> = match extension.as_deref() {
        Some("json" | "geojson") => |text, name| Ok((parse_json(text, name)?, Vec::new())),
        Some("svg") => svg::parse,
        Some("wkt") => |text, name| Ok((parse_wkt(text, name)?, Vec::new())),
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
    let fail = |reason: Reason| OverlapError::file(path, reason);
    let content = crate::io::text(path).map_err(fail)?;
    let name = path.file_stem().unwrap_or_default().to_string_lossy();
    let (shape, notes) = parse(&content, &name).map_err(|problem| match problem {
        Problem::Text(reason) => fail(reason.into()),
        Problem::Shape(error) => fail(error.to_string().into()),
    })?;
    for note in notes {
        tracing::warn!("{}: {note}", path.display());
    }
    Ok(shape)
}

/// Returns whether a text starts like WKT.
fn is_wkt(text: &str) -> bool {
    const NAMES: &[&str] =
        &["POINT", "LINESTRING", "POLYGON", "MULTIPOINT", "MULTILINESTRING", "MULTIPOLYGON", "GEOMETRYCOLLECTION"];
    let word: String = text.trim_start().chars().take_while(char::is_ascii_alphabetic).collect();
    NAMES.contains(&&*word.to_ascii_uppercase())
}

fn parse_wkt(text: &str, name: &str) -> Result<Shape, Problem> {
    check_parentheses(text)?;
    let geometry: Wkt<f64> = match text.parse() {
        Ok(geometry) => geometry,
        Err(error) => return problem(format!("is not WKT: {}", brief(error))),
    };
    let other = match geometry {
        Wkt::Polygon(found) => {
            let [ring] = found.rings() else { return problem(rings(found.rings().len())) };
            if ring.coords().iter().any(|point| point.z.is_some() || point.m.is_some()) {
                return problem("is a POLYGON with more than x and y");
            }
            let outline: Vec<Point> = ring.coords().iter().map(|point| [point.x, point.y]).collect();
            return polygon(name, &outline);
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

/// Checks that the parentheses of WKT aren't nested too deeply for its reader, which is recursive,
/// and that nothing follows the geometry, which the reader ignores.
fn check_parentheses(text: &str) -> Result<(), Problem> {
    // The depth of a MULTIPOLYGON, for which an error that names it is better than this one.
    const MOST: usize = 3;
    let mut depth = 0usize;
    for (place, byte) in text.bytes().enumerate() {
        match byte {
            b'(' if depth == MOST => return problem(format!("has more than {MOST} parentheses within each other")),
            b'(' => depth += 1,
            b')' if depth == 1 => {
                let rest = text[place + 1..].trim();
                if rest.is_empty() {
                    break;
                }
                return problem(format!("goes on after the geometry: {}", quoted(rest)));
            }
            b')' => depth = depth.saturating_sub(1),
            _ => {}
        }
    }
    Ok(())
}

/// Returns the error of a polygon with `n` rings instead of one.
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
        Err(error) => return problem(format!("is not JSON: {}", brief(error))),
    };
    let name = value.get("name").and_then(Value::as_str).unwrap_or(name);
    // A feature is a geometry with properties.
    let geometry = match value.get("type").and_then(Value::as_str) {
        Some("Feature") => value.get("geometry").unwrap_or(&Value::Null),
        _ => &value,
    };
    if let Some(kind) = geometry.get("type").and_then(Value::as_str) {
        if kind != "Polygon" {
            return problem(format!("is a GeoJSON {}, but a shape must be a Polygon", brief(kind)));
        }
        let coordinates = geometry.get("coordinates").and_then(Value::as_array);
        let Some(coordinates) = coordinates else { return problem("is a GeoJSON Polygon without an array `coordinates`") };
        let [ring] = &coordinates[..] else { return problem(rings(coordinates.len())) };
        return polygon(name, &points(ring, "coordinates[0]")?);
    }
    match (value.get("outline"), value.get("pieces")) {
        (Some(outline), None) => polygon(name, &points(outline, "outline")?),
        (None, Some(pieces)) => {
            let Some(pieces) = pieces.as_array() else { return problem("`pieces` is not an array") };
            let pieces = pieces.iter().enumerate().map(|(index, piece)| points(piece, &format!("pieces[{index}]")));
            let pieces = pieces.collect::<Result<Vec<_>, _>>()?;
            check_vertices(pieces.iter().map(Vec::len).sum())?;
            Ok(Shape::from_pieces(name, &pieces)?)
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
