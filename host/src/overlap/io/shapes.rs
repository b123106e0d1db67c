//! Reads shapes.

use std::path::Path;

use kurbo::{Affine, BezPath};
use serde_json::Value;
use wkt::{Wkt, types::LineString};

use super::{
    contours::{Contour, sheet},
    dxf,
    part::Part,
    problem::{Problem, check_vertices, polygon, problem},
    svg::{self, ClosedPath, Drawn},
};
use crate::{
    io::{Reason, brief, quoted},
    overlap::{OverlapError, Point, Shape, area, convex::bounds, pack::Turns},
};

/// Reads a shape: `tree`, the name of a `.json`, `.geojson`, `.svg`, `.dxf` or `.wkt` file, a polygon in WKT itself, or `-` for
/// such a file's content from the standard input.
///
/// The name of a shape from a file is the file's name without the extension, unless the file has
/// another. A warning (`tracing`) names each part of a drawing that the shape lacks or approximates:
/// curves, elements that are not read.
///
/// # Errors
/// If the text is not of this kind, the file can't be read or has other content or several shapes, or the [`Shape`]
/// is invalid.
pub fn read_shape(text: &str) -> Result<Shape, OverlapError> {
    read(text, Wanted::One).map(|mut parts| parts.swap_remove(0).shape)
}

/// Reads all shapes of a file, or one as [`read_shape`] does: the closed paths of a drawing, whose names are their ids,
/// the polygons of a MULTIPOLYGON or of a GeoJSON FeatureCollection, and the items of an instance of jagua-rs or sparrow.
///
/// Lengths of a drawing that tells its size are in millimetres. A path within another one of the same element is a hole.
/// Curves become lines outside of the material.
pub fn read_shapes(text: &str) -> Result<Vec<Shape>, OverlapError> {
    Ok(read_all(text)?.into_iter().map(|part| part.shape).collect())
}

/// As [`read_shapes`], with the angles and numbers of copies that the file asks for.
pub fn read_all(text: &str) -> Result<Vec<Part>, OverlapError> {
    read(text, Wanted::All)
}

/// As [`read_shapes`], with the paths as they were drawn. Lines in place of curves are at most `tolerance` away from them,
/// or without it [`CURVE_TOLERANCE`](super::CURVE_TOLERANCE).
pub fn read_parts(text: &str, tolerance: Option<f64>) -> Result<Vec<Part>, OverlapError> {
    read(text, Wanted::Parts { tolerance, is_sheet: false })
}

/// Reads an irregular sheet from a file as [`read_parts`] does: its largest closed path is the outline, all others are
/// [defects](Shape::sheet), but for those beside it, which are left out. Curves become lines within the sheet.
///
/// # Errors
/// As [`read_shape`], and if the file holds pieces.
pub fn read_sheet(text: &str, tolerance: Option<f64>) -> Result<Part, OverlapError> {
    let parts = read(text, Wanted::Parts { tolerance, is_sheet: true })?;
    let is_one = |part: &Part| part.shape.outlines()[1..].iter().all(|ring| area(ring) < 0.0);
    if !parts.iter().all(is_one) {
        return Err(OverlapError::file(Path::new(text), "holds pieces, but a sheet is one polygon and its defects"));
    }
    let path: BezPath = parts.iter().flat_map(|part| part.path.elements().iter().copied()).collect();
    let fail = |problem: Problem| match problem {
        Problem::Text(reason) => OverlapError::file(Path::new(text), reason),
        Problem::Shape(error) => OverlapError::file(Path::new(text), error.to_string()),
    };
    let (Contour { outline, mut holes, path, deviation, .. }, beside) = sheet(&path, tolerance).map_err(fail)?;
    if beside > 0 {
        tracing::warn!("the sheet {}: closed paths beside its outline are left out: {beside}", parts[0].shape.name());
    }
    let [[left, bottom], _] = bounds(&outline);
    holes.insert(0, outline);
    let shape = Shape::sheet(parts[0].shape.name(), &holes).map_err(|error| fail(Problem::Shape(error)))?;
    Ok(Part { path: Affine::translate((-left, -bottom)) * path, deviation, ..shape.into() })
}

/// A choice of the shapes of a file.
#[derive(Clone, Copy, PartialEq)]
enum Wanted {
    One,
    All,
    /// All, to cut: they tell themselves how far their curves' lines are from the curves.
    Parts {
        tolerance: Option<f64>,
        is_sheet: bool,
    },
}

fn read(text: &str, wanted: Wanted) -> Result<Vec<Part>, OverlapError> {
    let none = |reason: String| OverlapError::NoShape { text: text.to_owned(), reason };
    if text == "tree" {
        return Ok(vec![Shape::tree().into()]);
    }
    let path = Path::new(text);
    let fail = |reason: Reason| OverlapError::file(path, reason);
    let given = (text == "-").then(|| crate::io::any_text(path).map_err(fail)).transpose()?;
    if given.as_deref().is_some_and(|content| content.trim().is_empty()) {
        return Err(fail("is empty".into()));
    }
    let kind = given.as_deref().map_or_else(|| crate::io::extension(path), |content| kind_of(content).to_owned());
    let (tolerance, is_sheet) = match wanted {
        Wanted::Parts { tolerance, is_sheet } => (tolerance, is_sheet),
        Wanted::One | Wanted::All => (None, false),
    };
    let parse: fn(&str, &str, Option<f64>, bool) -> Result<Found, Problem> = match kind.as_str() {
        "json" | "geojson" => {
            |text, name, _, is_sheet| Ok(Found { parts: parse_json(text, name, is_sheet)?, notes: Vec::new(), has_unit: true })
        }
        "svg" | "svgz" => |text, name, tolerance, is_sheet| drawn(svg::parse(text, tolerance)?, name, is_sheet),
        "dxf" => |text, name, tolerance, is_sheet| drawn(dxf::parse(text, tolerance)?, name, is_sheet),
        "wkt" => |text, name, _, is_sheet| {
            Ok(Found { parts: plain(parse_wkt(text, name, is_sheet)?), notes: Vec::new(), has_unit: true })
        },
        _ if is_wkt(text) => {
            let parts = parse_wkt(text, "polygon", is_sheet).and_then(|parts| chosen(plain(parts), wanted));
            return parts.map_err(|problem| match problem {
                Problem::Text(reason) => none(reason),
                Problem::Shape(error) => error,
            });
        }
        _ => {
            let what = match text {
                "" => "it is empty, but",
                _ if path.is_dir() => "it is a directory, but",
                _ => "it",
            };
            return Err(none(format!(
                "{what} must be `tree`, a file .json, .geojson, .svg, .dxf or .wkt, `-`, or WKT such as `POLYGON ((0 0, 1 0, 0 1))`"
            )));
        }
    };
    let content = match given {
        Some(content) => content,
        None if kind == "dxf" => crate::io::any_text(path).map_err(fail)?,
        None => crate::io::text(path).map_err(fail)?,
    };
    let name = path.file_stem().unwrap_or_default().to_string_lossy();
    let found = parse(&content, &name, tolerance, is_sheet).and_then(|Found { parts, mut notes, has_unit }| {
        if let (Wanted::Parts { .. }, false) = (wanted, has_unit) {
            notes.push("tells no unit: its lengths count as mm".to_owned());
        }
        let curves = parts.iter().filter(|(_, part)| part.deviation > 0.0 && !matches!(wanted, Wanted::Parts { .. }));
        notes.extend(curves.map(|(called, Part { deviation, .. })| {
            format!("{called} has curves: they become lines outside of it, up to {deviation:.1e} away")
        }));
        Ok((chosen(parts, wanted)?, notes))
    });
    let (shapes, notes) = found.map_err(|problem| match problem {
        Problem::Text(reason) => fail(reason.into()),
        Problem::Shape(error) => fail(error.to_string().into()),
    })?;
    for note in notes {
        tracing::warn!("{}: {note}", path.display());
    }
    Ok(shapes)
}

/// Returns the extension of files with such content.
fn kind_of(content: &str) -> &'static str {
    match content.trim_start().as_bytes().first() {
        Some(b'<') => "svg",
        Some(b'{' | b'[') => "json",
        _ if is_wkt(content) => "wkt",
        _ => "dxf",
    }
}

/// The parts of a text, each with what it is called in messages, and sentences on what they lack of it.
struct Found {
    parts: Vec<(String, Part)>,
    notes: Vec<String>,
    /// False if the text is a drawing that doesn't tell what its lengths are.
    has_unit: bool,
}

/// Parts that are drawn as their shapes.
fn plain(shapes: Vec<(String, Shape)>) -> Vec<(String, Part)> {
    shapes.into_iter().map(|(called, shape)| (called, shape.into())).collect()
}

/// Returns the parts. If only one may be there, several are an error.
fn chosen(parts: Vec<(String, Part)>, wanted: Wanted) -> Result<Vec<Part>, Problem> {
    match &parts[..] {
        [] => problem("has no polygon"),
        [(first, _), (second, _), ..] if wanted == Wanted::One => {
            problem(format!("has several shapes, {first} and {second}, and must have one here"))
        }
        _ => Ok(parts.into_iter().map(|(_, part)| part).collect()),
    }
}

/// Makes the parts of a drawing. One part has the file's name, several have their ids or numbers from 1. The parts of a
/// sheet are outlines without holes, as its defects may meet; their paths have all rings.
fn drawn(Drawn { paths, notes, has_unit }: Drawn, name: &str, is_sheet: bool) -> Result<Found, Problem> {
    let alone = paths.len() == 1;
    let mut parts = Vec::new();
    for (index, ClosedPath { id, element, mut contour }) in paths.into_iter().enumerate() {
        if is_sheet {
            contour.holes.clear();
        }
        let name = match id {
            _ if alone => name.to_owned(),
            Some(id) => id,
            None => format!("{name} {}", index + 1),
        };
        match Part::drawn(name, contour) {
            Ok(part) => parts.push((element, part)),
            Err(OverlapError::Shape { problem: reason, .. }) => return problem(format!("{element}: {reason}")),
            Err(error) => return Err(error.into()),
        }
    }
    Ok(Found { parts, notes, has_unit })
}

/// Returns whether a text starts like WKT.
fn is_wkt(text: &str) -> bool {
    const NAMES: &[&str] =
        &["POINT", "LINESTRING", "POLYGON", "MULTIPOINT", "MULTILINESTRING", "MULTIPOLYGON", "GEOMETRYCOLLECTION"];
    let word: String = text.trim_start().chars().take_while(char::is_ascii_alphabetic).collect();
    NAMES.contains(&&*word.to_ascii_uppercase())
}

fn parse_wkt(text: &str, name: &str, is_sheet: bool) -> Result<Vec<(String, Shape)>, Problem> {
    check_parentheses(text)?;
    let geometry: Wkt<f64> = match text.parse() {
        Ok(geometry) => geometry,
        Err(error) => {
            let points = text.split_once('(').map_or("", |(_, points)| points);
            let mut words = points.split(|c: char| c.is_whitespace() || "(),".contains(c));
            let wrong = words.find(|word| !word.is_empty() && word.parse::<f64>().is_err() && !is_wkt(word));
            let reason = wrong.map_or_else(|| brief(error), |word| format!("{} is not a number", quoted(word)));
            return problem(format!("is not WKT: {reason}"));
        }
    };
    let other = match geometry {
        Wkt::Polygon(found) => return shapes("the polygon", name, rings_wkt(found.rings())?, is_sheet),
        Wkt::MultiPolygon(found) => return several(found.polygons(), name, is_sheet, |_, polygon| rings_wkt(polygon.rings())),
        Wkt::Point(_) => "POINT",
        Wkt::LineString(_) => "LINESTRING",
        Wkt::MultiPoint(_) => "MULTIPOINT",
        Wkt::MultiLineString(_) => "MULTILINESTRING",
        Wkt::GeometryCollection(_) => "GEOMETRYCOLLECTION",
    };
    problem(format!("is a {other}, but a shape must be a POLYGON"))
}

/// Makes the shape of a polygon by its rings; or as defects of a sheet may meet, one of each ring.
fn shapes(called: &str, name: &str, rings: Vec<Vec<Point>>, is_sheet: bool) -> Result<Vec<(String, Shape)>, Problem> {
    if !is_sheet {
        return Ok(vec![(called.to_owned(), polygon(name, rings)?)]);
    }
    let own = |ring: usize| if ring == 0 { name.to_owned() } else { format!("{name}: hole {}", ring - 1) };
    let shape = |(ring, points)| Ok((called.to_owned(), polygon(&own(ring), vec![points])?));
    rings.into_iter().enumerate().map(shape).collect()
}

/// Makes shapes of polygons: one has the file's name, several have numbers from 1.
fn several<P>(
    polygons: &[P],
    name: &str,
    is_sheet: bool,
    rings: impl Fn(usize, &P) -> Result<Vec<Vec<Point>>, Problem>,
) -> Result<Vec<(String, Shape)>, Problem> {
    let mut found = Vec::new();
    for (index, polygon) in polygons.iter().enumerate() {
        let own = if polygons.len() == 1 { name.to_owned() } else { format!("{name} {}", index + 1) };
        found.extend(shapes(&format!("polygon {}", index + 1), &own, rings(index, polygon)?, is_sheet)?);
    }
    Ok(found)
}

fn rings_wkt(rings: &[LineString<f64>]) -> Result<Vec<Vec<Point>>, Problem> {
    let ring = |ring: &LineString<f64>| {
        if ring.coords().iter().any(|point| point.z.is_some() || point.m.is_some()) {
            return problem("is a POLYGON with more than x and y");
        }
        Ok(ring.coords().iter().map(|point| [point.x, point.y]).collect())
    };
    rings.iter().map(ring).collect()
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

fn parse_json(text: &str, name: &str, is_sheet: bool) -> Result<Vec<(String, Part)>, Problem> {
    let value: Value = match serde_json::from_str(text) {
        Ok(value) => value,
        Err(error) => return problem(format!("is not JSON: {}", brief(error))),
    };
    let name = value.get("name").and_then(Value::as_str).unwrap_or(name);
    // A feature is a geometry with properties.
    let of_feature = |feature: &Value, name: &str, at: &str| {
        geometry(feature.get("geometry").unwrap_or(&Value::Null), name, &format!("{at}geometry"), is_sheet)
    };
    match value.get("type").and_then(Value::as_str) {
        Some("FeatureCollection") => {
            let features = value.get("features").and_then(Value::as_array);
            let Some(features) = features else { return problem("is a GeoJSON FeatureCollection without an array `features`") };
            let mut found = Vec::new();
            for (index, feature) in features.iter().enumerate() {
                let own = feature.pointer("/properties/name").or_else(|| feature.get("id")).and_then(Value::as_str);
                let own = own.map_or_else(|| format!("{name} {}", index + 1), str::to_owned);
                found.extend(of_feature(feature, &own, &format!("features[{index}]."))?);
            }
            return Ok(plain(found));
        }
        Some("Feature") => return of_feature(&value, name, "").map(plain),
        Some(_) => return geometry(&value, name, "", is_sheet).map(plain),
        None => {}
    }
    if let Some(items) = value.get("items") {
        let Some(items) = items.as_array() else { return problem("`items` is not an array") };
        let items: Vec<_> = items.iter().enumerate().map(|(index, value)| item(value, name, index)).collect::<Result<_, _>>()?;
        return match items.iter().all(|(_, part)| part.count == 0) {
            true if !items.is_empty() => problem("`items[0].demand` is 0, but at least one item must have a copy"),
            _ => Ok(items),
        };
    }
    let found = match (value.get("outline"), value.get("pieces")) {
        (Some(outline), None) => {
            let holes = value.get("holes").map_or(Ok(Vec::new()), |holes| rings(holes, "holes", 2))?;
            let rings = [points(outline, "outline", 2)?].into_iter().chain(holes).collect();
            shapes("the outline", name, rings, is_sheet)?
        }
        (None, Some(pieces)) => {
            let pieces = rings(pieces, "pieces", 2)?;
            check_vertices(pieces.iter().map(Vec::len).sum())?;
            vec![(name.to_owned(), Shape::from_pieces(name, &pieces)?)]
        }
        (Some(_), Some(_)) => return problem("has both `outline` and `pieces`; a shape is one or the other"),
        (None, None) => return problem("must be an object with `outline`, with `pieces`, or a GeoJSON Polygon"),
    };
    Ok(plain(found))
}

/// An item of an instance of jagua-rs or sparrow.
fn item(value: &Value, name: &str, index: usize) -> Result<(String, Part), Problem> {
    let at = format!("items[{index}]");
    let name = format!("{name} {}", value.get("id").map_or_else(|| index.to_string(), |id| brief(id.to_string())));
    let Some(demand) = value.get("demand").map_or(Some(1), Value::as_u64) else {
        return problem(format!("`{at}.demand` is not a whole number"));
    };
    let turns = match value.get("allowed_orientations") {
        None | Some(Value::Null) => Turns::ANY,
        Some(angles) => match angles.as_array().and_then(|angles| angles.iter().map(Value::as_f64).collect::<Option<Vec<_>>>()) {
            Some(angles) => match Turns::of(angles) {
                Ok(turns) => turns,
                Err(error) => return problem(format!("`{at}.allowed_orientations`: {error}")),
            },
            None => return problem(format!("`{at}.allowed_orientations` is not an array of angles in degrees")),
        },
    };
    let at = format!("{at}.shape.data");
    let data = value.pointer("/shape/data").unwrap_or(&Value::Null);
    let with_holes = |value: &Value, at: &str| {
        let outer = points(value.get("outer").unwrap_or(&Value::Null), &format!("{at}.outer"), 2)?;
        let inner = value.get("inner").map_or(Ok(Vec::new()), |inner| rings(inner, &format!("{at}.inner"), 2))?;
        polygon(&name, [outer].into_iter().chain(inner).collect())
    };
    let mut part: Part = match value.pointer("/shape/type").and_then(Value::as_str) {
        Some("simple_polygon") => polygon(&name, vec![points(data, &at, 2)?])?.into(),
        Some("polygon") => with_holes(data, &at)?.into(),
        Some("multi_polygon") => {
            let Some(all) = data.as_array() else { return problem(format!("`{at}` is not an array")) };
            let shapes = all.iter().enumerate().map(|(place, one)| with_holes(one, &format!("{at}[{place}]")));
            Part::several(&name, &shapes.collect::<Result<Vec<_>, _>>()?)?
        }
        Some("rectangle") => {
            let number = |key: &str| match data.get(key).and_then(Value::as_f64) {
                Some(number) => Ok(number),
                None => problem(format!("`{at}.{key}` is not a number")),
            };
            let (x, y, width, height) = (number("x_min")?, number("y_min")?, number("width")?, number("height")?);
            polygon(&name, vec![vec![[x, y], [x + width, y], [x + width, y + height], [x, y + height]]])?.into()
        }
        _ => return problem(format!("`items[{index}].shape.type` must be simple_polygon, polygon, multi_polygon or rectangle")),
    };
    (part.count, part.turns) = (usize::try_from(demand).unwrap_or(usize::MAX), turns);
    part.id = value.get("id").and_then(Value::as_u64);
    Ok((format!("items[{index}]"), part))
}

/// Reads the polygons of a GeoJSON geometry, which is at a field of the text, or is the text.
fn geometry(value: &Value, name: &str, at: &str, is_sheet: bool) -> Result<Vec<(String, Shape)>, Problem> {
    // A feature may have none.
    if value.is_null() {
        return Ok(Vec::new());
    }
    let (is, field) = match at {
        "" => ("is".to_owned(), "coordinates".to_owned()),
        _ => (format!("`{at}` is"), format!("{at}.coordinates")),
    };
    let kind = value.get("type").and_then(Value::as_str).unwrap_or("geometry without a type");
    // The third number of a position is its altitude.
    let rings = |value: &Value, field: &str| rings(value, field, 3);
    match (kind, value.get("coordinates").filter(|value| value.is_array())) {
        ("Polygon", Some(value)) => shapes(&format!("the polygon {}", quoted(name)), name, rings(value, &field)?, is_sheet),
        ("MultiPolygon", Some(Value::Array(polygons))) => {
            several(polygons, name, is_sheet, |index, polygon| rings(polygon, &format!("{field}[{index}]")))
        }
        ("Polygon" | "MultiPolygon", _) => problem(format!("{is} a GeoJSON {kind} without an array `coordinates`")),
        _ => problem(format!("{is} a GeoJSON {}, but a shape must be a Polygon", brief(kind))),
    }
}

/// An array of arrays of points, of at most so many numbers each.
fn rings(value: &Value, what: &str, most: usize) -> Result<Vec<Vec<Point>>, Problem> {
    let Some(rings) = value.as_array() else { return problem(format!("`{what}` is not an array")) };
    rings.iter().enumerate().map(|(index, ring)| points(ring, &format!("{what}[{index}]"), most)).collect()
}

/// An array of points. Of more than two numbers, the first two count.
fn points(value: &Value, what: &str, most: usize) -> Result<Vec<Point>, Problem> {
    let Some(values) = value.as_array() else { return problem(format!("`{what}` is not an array")) };
    let point = |(index, value): (usize, &Value)| {
        let numbers = value.as_array().and_then(|numbers| numbers.iter().map(Value::as_f64).collect::<Option<Vec<_>>>());
        match numbers.as_deref() {
            Some(&[x, y, ref rest @ ..]) if rest.len() + 2 <= most => Ok([x, y]),
            _ => problem(format!("`{what}[{index}]` is not an array of two numbers")),
        }
    };
    values.iter().enumerate().map(point).collect()
}
