//! Reads drawings (SVG).

use std::collections::HashMap;

use kurbo::{Affine, Arc, BezPath, Circle, Point as Place, Rect, Shape as _, SvgArc, Vec2};
use roxmltree::{Document, Node};
use svgtypes::{Align, AspectRatio, PathParser, PathSegment, ViewBox};

use super::{
    contours::{Contour, Contours, contours},
    problem::{Problem, problem},
    styles::Styles,
};
use crate::{
    io::{brief, quoted},
    overlap::error::{LARGEST, SMALLEST},
};

/// Largest distance of an arc from the curves that approximate it, relative to its radius.
pub(super) const ARC_TOLERANCE: f64 = 1e-6;

/// The name space of elements that are drawn.
const NAMESPACE: &str = "http://www.w3.org/2000/svg";
/// Elements of a drawing whose children are drawn. Others are drawn elsewhere, or never, with all within them.
const GROUPS: &[&str] = &["svg", "g", "a", "switch", "symbol"];
/// Elements that are read.
const SHAPES: &[&str] = &["path", "polygon", "polyline", "rect", "circle", "ellipse", "use"];
/// Elements of a drawing that are drawn, and not read.
const NOT_READ: &[&str] = &["text", "flowRoot", "image", "line", "foreignObject"];
/// Most open paths that are named: each takes a pass over the text.
const NAMED: usize = 20;
/// Units of length, and their number per inch.
const UNITS: &[(&str, f64)] =
    &[("mm", 25.4), ("cm", 2.54), ("in", 1.0), ("pt", 72.0), ("pc", 6.0), ("Q", 101.6), ("px", UNITS_OF_SCREEN)];
/// Number of px per inch, the unit of lengths without one.
const UNITS_OF_SCREEN: f64 = 96.0;

/// Largest difference between the scales across and down, relative to them, that counts as rounding.
const MOST_DISTORTED: f64 = 1e-3;

/// Largest depth of nested elements.
const MOST_NESTED: usize = 256;
/// Largest number of elements and texts.
const MOST_NODES: u32 = 1_000_000;
/// Largest number of attributes per element, and of name spaces. The parser compares each with all
/// others.
const MOST_ATTRIBUTES: usize = 1000;
/// Largest number of bytes after the expansion of entities.
const MOST_EXPANDED: usize = 256 << 20;

/// A part of a drawing: its id, if it has one, its outline and its holes.
pub struct ClosedPath {
    pub id: Option<String>,
    /// The element for messages.
    pub element: String,
    pub contour: Contour,
}

/// The parts of a drawing.
pub struct Drawn {
    pub paths: Vec<ClosedPath>,
    /// Notes on what was left out, in sentences without the file's name.
    pub notes: Vec<String>,
    /// True if the drawing tells what its lengths are.
    pub has_unit: bool,
}

/// Reads the closed paths of a drawing, in millimetres if it tells its size.
pub fn parse(text: &str, tolerance: Option<f64>) -> Result<Drawn, Problem> {
    check_markup(text)?;
    let options = roxmltree::ParsingOptions { allow_dtd: true, nodes_limit: MOST_NODES, ..Default::default() };
    let document = match Document::parse_with_options(text, options) {
        Ok(document) => document,
        Err(error) => return problem(format!("is not SVG: {}", brief(error))),
    };
    let root = document.root_element();
    if root.tag_name().name() != "svg" {
        return problem(format!("is not SVG: its element is {}", quoted(root.tag_name().name())));
    }
    // Some drawings have no name space.
    let is_known = |node: Node<'_, '_>| {
        let (name, namespace) = (node.tag_name().name(), node.tag_name().namespace());
        [GROUPS, SHAPES, NOT_READ].iter().any(|names| names.contains(&name))
            && (namespace == root.tag_name().namespace() || namespace == Some(NAMESPACE))
    };
    let (mut parts, mut notes, mut open) = (Vec::new(), Vec::new(), Vec::new());
    let styles = Styles::of(root, &mut notes);
    let (told, size) = millimetres(root, &mut notes);
    let [across, down] = told.unwrap_or([1.0; 2]);
    let ids: HashMap<&str, Node> = root.descendants().filter_map(|node| Some((node.attribute("id")?, node))).collect();
    // Elements to draw, the next one last.
    let outer = Affine::scale_non_uniform(across, -down);
    let mut todo = vec![Task { node: root, outer, size, depth: 0, user: None, copy: None, is_visible: true }];
    let mut visited = 0;
    while let Some(task) = todo.pop() {
        let Task { node, outer, depth, copy, .. } = task;
        let name = node.tag_name().name();
        let is_used_symbol = name == "symbol" && task.user.is_some();
        let style = |name| styles.get(node, name).or(node.attribute(name)).unwrap_or_default().trim().to_ascii_lowercase();
        let is_hidden = name == "symbol" || style("display") == "none";
        if !is_known(node) || is_hidden && !is_used_symbol || !applies(node) {
            continue;
        }
        visited += 1;
        if depth == MOST_NESTED {
            return problem(format!("has more than {MOST_NESTED} elements within each other"));
        }
        if visited > MOST_NODES {
            return problem(format!("has more than {MOST_NODES} elements with all copies"));
        }
        let transform = outer * transform(node, &styles)?;
        let is_visible = match &*style("visibility") {
            "hidden" | "collapse" => false,
            "visible" | "initial" => true,
            _ => task.is_visible,
        };
        let within = Task { outer: transform, depth: depth + 1, user: None, is_visible, ..task };
        if name == "use" {
            let link =
                node.attributes().find(|attribute| attribute.name() == "href").and_then(|link| link.value().strip_prefix('#'));
            let outer = transform * Affine::translate((number(node, "x")?, number(node, "y")?));
            let copy = copy.or(node.attribute("id"));
            match link.and_then(|id| ids.get(id)) {
                Some(element) => todo.push(Task { node: *element, outer, user: Some(node), copy, ..within }),
                None => notes.push(format!("{} is left out: it refers to no element of the drawing", called(node))),
            }
            continue;
        }
        if NOT_READ.contains(&name) {
            if is_visible {
                notes.push(format!("{} is left out: such elements are not read", called(node)));
            }
            continue;
        }
        let children = node.children().filter(|node| node.is_element() && GROUPS.contains(&name));
        // One alternative is drawn.
        let children: Vec<_> = if name == "switch" {
            children.filter(|child| is_known(*child) && applies(*child)).take(1).collect()
        } else {
            children.collect()
        };
        let within = if is_used_symbol || name == "svg" && node != root {
            let Some((view, size)) = view(task, &mut notes)? else { continue };
            Task { outer: transform * view, size, ..within }
        } else {
            within
        };
        todo.extend(children.into_iter().rev().map(|node| Task { node, ..within }));
        let Some(path) = element_path(node)?.filter(|_| is_visible) else { continue };
        let path = transform * path;
        if !is_drawn(&path, || called(node))? {
            if !path.elements().is_empty() {
                notes.push(format!("{} is left out: it is a point", called(node)));
            }
            continue;
        }
        let Contours { closed, has_open } = contours(&path, tolerance)?;
        open.extend(has_open.then_some(node));
        let id = copy.or(node.attribute("id")).map(str::to_owned);
        parts.extend(closed.into_iter().map(|contour| ClosedPath { id: id.clone(), element: called(node), contour }));
    }
    match open.first() {
        Some(&open) if parts.is_empty() => return problem(format!("{} is not closed, and no other is", called(open))),
        None if parts.is_empty() => return problem("has no path, polygon, rectangle, circle or ellipse"),
        _ => {
            let (named, others) = open.split_at(open.len().min(NAMED));
            notes.extend(named.iter().map(|&open| format!("{} is left out: it is not closed", called(open))));
            if !others.is_empty() {
                notes.push(format!("not closed, and left out: {} more", others.len()));
            }
        }
    }
    Ok(Drawn { paths: parts, notes, has_unit: told.is_some() })
}

/// Width and height, as far as they are known.
type Size = [Option<f64>; 2];

/// An element to draw.
#[derive(Clone, Copy)]
struct Task<'a, 'input> {
    node: Node<'a, 'input>,
    /// The transform from the coordinates around it to the drawing's, y upwards.
    outer: Affine,
    /// The size of the `svg` or symbol around it, in the coordinates there.
    size: Size,
    /// The number of elements around it.
    depth: usize,
    /// The `use` that refers to it.
    user: Option<Node<'a, 'input>>,
    /// The id of the copy that it is.
    copy: Option<&'a str>,
    /// Visibility of the element around it.
    is_visible: bool,
}

/// Returns the millimetres per unit of the drawing's coordinates across and down, if it tells its width or height, and the size
/// in these coordinates.
fn millimetres(root: Node<'_, '_>, notes: &mut Vec<String>) -> (Option<[f64; 2]>, Size) {
    let size = ["width", "height"].map(|name| length(root.attribute(name)?, 25.4).filter(|length| *length > 0.0));
    // Without a view box, coordinates are in px.
    let px = 25.4 / UNITS_OF_SCREEN;
    let view = view_box(root);
    let scales = match view {
        Some(view) => fitted(root, view, size).map(|fitted| [fitted.as_coeffs()[0], fitted.as_coeffs()[3]]),
        None => size.iter().flatten().next().map(|_| [px; 2]),
    };
    if let Some([across, down]) = scales {
        if let (Some(view), [Some(width), Some(height)]) = (view, size)
            && across == down
            && (width / view.w / (height / view.h) - 1.0).abs() > MOST_DISTORTED
        {
            let taken = if aspect_ratio(root).slice { "larger" } else { "smaller" };
            notes.push(format!("width and height are not those of its view box: the {taken} scale is taken"));
        }
        let rounded = |scale: f64| (scale * 1e6).round() / 1e6;
        if across != down {
            notes.push(format!("lengths are in mm: 1 in the drawing is {} across and {} down", rounded(across), rounded(down)));
        } else if (across - 1.0).abs() > 1e-9 {
            notes.push(format!("lengths are in mm: 1 in the drawing is {}", rounded(across)));
        }
    }
    (scales, view.map_or(size.map(|length| Some(length? / px)), |view| [Some(view.w), Some(view.h)]))
}

/// Checks that the parser needs no more time and memory than the size of the text justifies.
fn check_markup(text: &str) -> Result<(), Problem> {
    if text.split('<').any(|tag| tag.bytes().filter(|&byte| byte == b'=').count() > MOST_ATTRIBUTES) {
        return problem(format!("has an element with more than {MOST_ATTRIBUTES} attributes"));
    }
    if text.matches("xmlns").count() > MOST_ATTRIBUTES {
        return problem(format!("has more than {MOST_ATTRIBUTES} name spaces"));
    }
    // A reference outside of entities may lead to 255 more.
    let value = |declaration: &str| {
        let start = declaration.find(['"', '\''])?;
        declaration[start + 1..].find(char::from(declaration.as_bytes()[start]))
    };
    let longest = text.split("<!ENTITY").skip(1).map(|declaration| value(declaration).unwrap_or(declaration.len())).max();
    let references = text.bytes().filter(|&byte| byte == b'&').count();
    if longest.unwrap_or(0).saturating_mul(references).saturating_mul(256) > MOST_EXPANDED {
        return problem("has entities that stand for too much");
    }
    Ok(())
}

/// An element for messages: `the path on line 3`, with its id where it has one.
fn called(node: Node<'_, '_>) -> String {
    let line = node.document().text_pos_at(node.range().start).row;
    let name = node.tag_name().name();
    match node.attribute("id") {
        Some(id) => format!("the {name} {} on line {line}", quoted(id)),
        None => format!("the {name} on line {line}"),
    }
}

/// An attribute that is a number or a length, in px, or 0 without it.
fn number(node: Node<'_, '_>, name: &str) -> Result<f64, Problem> {
    let Some(text) = node.attribute(name) else { return Ok(0.0) };
    match length(text, UNITS_OF_SCREEN) {
        Some(number) => Ok(number),
        None => problem(format!("{}: `{name}` is {}, but it must be a number", called(node), quoted(text))),
    }
}

/// Returns a length in units of which an inch has `inch`, if it is one.
fn length(text: &str, inch: f64) -> Option<f64> {
    let text = text.trim();
    let unit = UNITS.iter().find_map(|(unit, per_inch)| Some((text.strip_suffix(unit)?, *per_inch)));
    let (number, per_inch) = unit.unwrap_or((text, UNITS_OF_SCREEN));
    let number = number.trim().parse::<f64>().ok()?;
    Some(if inch == per_inch { number } else { inch * number / per_inch }).filter(|number| number.is_finite())
}

/// Returns false if an element is for programs with extensions, or in a language other than English.
fn applies(node: Node<'_, '_>) -> bool {
    let mut languages = node.attribute("systemLanguage").unwrap_or("en").split(',');
    !node.has_attribute("requiredExtensions") && languages.any(|language| language.trim().starts_with("en"))
}

/// Returns the transform from the coordinates within a symbol or an `svg` that isn't the outermost to those around it, and the
/// size in the coordinates within. None if it isn't drawn.
fn view(task: Task<'_, '_>, notes: &mut Vec<String>) -> Result<Option<(Affine, Size)>, Problem> {
    let node = task.node;
    let length = |name: &str, around: Option<f64>| {
        let node = task.user.filter(|user| user.has_attribute(name)).unwrap_or(node);
        let text = node.attribute(name).unwrap_or("100%").trim();
        match text.strip_suffix('%').map(str::parse::<f64>) {
            Some(Ok(share)) => Ok(around.map(|around| 0.01 * share * around)),
            _ => number(node, name).map(Some),
        }
    };
    let size = [length("width", task.size[0])?, length("height", task.size[1])?];
    if size.iter().flatten().any(|length| *length <= 0.0) {
        return Ok(None);
    }
    let place = Affine::translate((number(node, "x")?, number(node, "y")?));
    let Some(view) = view_box(node) else { return Ok(Some((place, size))) };
    let fitted = fitted(node, view, size).unwrap_or_else(|| {
        notes.push(format!("{} has no size: its lengths count as those around it", called(node)));
        Affine::translate((-view.x, -view.y))
    });
    Ok(Some((place * fitted, [Some(view.w), Some(view.h)])))
}

/// Returns the transform from a view box to a size, if a part of that is known.
fn fitted(node: Node<'_, '_>, view: ViewBox, size: Size) -> Option<Affine> {
    let AspectRatio { align, slice, .. } = aspect_ratio(node);
    let [across, down] = [size[0].map(|width| width / view.w), size[1].map(|height| height / view.h)];
    let scale = across.or(down)?;
    let [across, down] = match (across, down) {
        (Some(across), Some(down)) if align == Align::None => [across, down],
        (Some(across), Some(down)) if (across / down - 1.0).abs() > MOST_DISTORTED => {
            [if slice { across.max(down) } else { across.min(down) }; 2]
        }
        _ => [scale; 2],
    };
    let share_across = match align {
        Align::None | Align::XMinYMin | Align::XMinYMid | Align::XMinYMax => 0.0,
        Align::XMidYMin | Align::XMidYMid | Align::XMidYMax => 0.5,
        Align::XMaxYMin | Align::XMaxYMid | Align::XMaxYMax => 1.0,
    };
    let share_down = match align {
        Align::None | Align::XMinYMin | Align::XMidYMin | Align::XMaxYMin => 0.0,
        Align::XMinYMid | Align::XMidYMid | Align::XMaxYMid => 0.5,
        Align::XMinYMax | Align::XMidYMax | Align::XMaxYMax => 1.0,
    };
    let room = |length: Option<f64>, own: f64| length.map_or(0.0, |length| length - own);
    let left = share_across * room(size[0], across * view.w);
    let top = share_down * room(size[1], down * view.h);
    Some(Affine::translate((left, top)) * Affine::scale_non_uniform(across, down) * Affine::translate((-view.x, -view.y)))
}

/// The alignment of an element's view box in its size.
fn aspect_ratio(node: Node<'_, '_>) -> AspectRatio {
    node.attribute("preserveAspectRatio").and_then(|text| text.parse().ok()).unwrap_or_default()
}

/// An element's view box, if it is valid.
fn view_box(node: Node<'_, '_>) -> Option<ViewBox> {
    node.attribute("viewBox")?.parse().ok()
}

/// Returns the path that an element draws, or `None` if it isn't a drawing element.
fn element_path(node: Node<'_, '_>) -> Result<Option<BezPath>, Problem> {
    let number = |name: &str| number(node, name);
    let length = |name: &str| match number(name)? {
        length if length < 0.0 => problem(format!("{}: `{name}` is {length}, but it must not be negative", called(node))),
        length => Ok(length),
    };
    // A missing radius is the other one.
    let radius = |name: &'static str, other: &'static str| {
        let given = |name: &&str| node.attribute(*name).is_some_and(|text| text.trim() != "auto");
        [name, other].into_iter().find(given).map_or(Ok(0.0), length)
    };
    let path = |text: &str| match path_of(text) {
        Ok(path) => Ok(path),
        Err(reason) => problem(format!("{} can't be read: {reason}", called(node))),
    };
    // Circles of radius 1, stretched.
    let ellipse = |rx: f64, ry: f64| -> Result<BezPath, Problem> {
        let center = Vec2::new(number("cx")?, number("cy")?);
        if rx == 0.0 || ry == 0.0 {
            return Ok(BezPath::new());
        }
        let mut path = Circle::new(Place::ORIGIN, 1.0).to_path(ARC_TOLERANCE);
        path.close_path();
        Ok(Affine::translate(center) * Affine::scale_non_uniform(rx, ry) * path)
    };
    Ok(Some(match node.tag_name().name() {
        "path" => path(node.attribute("d").unwrap_or_default())?,
        "polygon" | "polyline" => {
            let points = node.attribute("points").unwrap_or_default().trim();
            let end = if node.tag_name().name() == "polygon" { " Z" } else { "" };
            if points.is_empty() { BezPath::new() } else { path(&format!("M {points}{end}"))? }
        }
        "rect" => {
            let (x, y, width, height) = (number("x")?, number("y")?, length("width")?, length("height")?);
            let (rx, ry) = (radius("rx", "ry")?.min(0.5 * width), radius("ry", "rx")?.min(0.5 * height));
            if rx == 0.0 || ry == 0.0 {
                Rect::new(x, y, x + width, y + height).to_path(0.1)
            } else {
                let (w, h) = (width - 2.0 * rx, height - 2.0 * ry);
                let corner = |dx: f64, dy: f64| format!("a{rx} {ry} 0 0 1 {dx} {dy}");
                let corners = [corner(rx, ry), corner(-rx, ry), corner(-rx, -ry), corner(rx, -ry)];
                path(&format!("M{} {y}h{w}{}v{h}{}h{}{}v{}{}z", x + rx, corners[0], corners[1], -w, corners[2], -h, corners[3]))?
            }
        }
        "circle" => ellipse(length("r")?, length("r")?)?,
        "ellipse" => ellipse(radius("rx", "ry")?, radius("ry", "rx")?)?,
        _ => return Ok(None),
    }))
}

/// The path of the text of an attribute `d`.
fn path_of(text: &str) -> Result<BezPath, String> {
    let mut path = BezPath::new();
    // The start of the subpath, the position of the pen, and the point that a smooth curve mirrors:
    // the last control point of a cubic or quadratic curve.
    let (mut start, mut pen) = (Place::ORIGIN, Place::ORIGIN);
    let (mut cubic, mut quadratic) = (None, None);
    // After a path was closed, the next one starts where it did, even if no command says so.
    let mut closed = false;
    for segment in PathParser::from(text) {
        let segment = segment.map_err(brief)?;
        let origin = if segment.is_abs() { Vec2::ZERO } else { pen.to_vec2() };
        let at = |x: f64, y: f64| Place::new(x, y) + origin;
        let mirrored = |control: Option<Place>| control.map_or(pen, |control| pen + (pen - control));
        let is_move = matches!(segment, PathSegment::MoveTo { .. });
        if closed && !is_move {
            path.move_to(start);
        }
        closed = matches!(segment, PathSegment::ClosePath { .. });
        let (mut last_cubic, mut last_quadratic) = (None, None);
        match segment {
            PathSegment::MoveTo { x, y, .. } => {
                (start, pen) = (at(x, y), at(x, y));
                path.move_to(pen);
            }
            // The parser lets no other command be the first.
            _ if path.elements().is_empty() => return Err("it must start with M or m".to_owned()),
            PathSegment::LineTo { x, y, .. } => pen = at(x, y),
            PathSegment::HorizontalLineTo { x, .. } => pen = Place::new(x + origin.x, pen.y),
            PathSegment::VerticalLineTo { y, .. } => pen = Place::new(pen.x, y + origin.y),
            PathSegment::CurveTo { x1, y1, x2, y2, x, y, .. } => {
                last_cubic = Some(at(x2, y2));
                pen = at(x, y);
                path.curve_to(at(x1, y1), at(x2, y2), pen);
            }
            PathSegment::SmoothCurveTo { x2, y2, x, y, .. } => {
                let first = mirrored(cubic);
                last_cubic = Some(at(x2, y2));
                pen = at(x, y);
                path.curve_to(first, at(x2, y2), pen);
            }
            PathSegment::Quadratic { x1, y1, x, y, .. } => {
                last_quadratic = Some(at(x1, y1));
                pen = at(x, y);
                path.quad_to(at(x1, y1), pen);
            }
            PathSegment::SmoothQuadratic { x, y, .. } => {
                let control = mirrored(quadratic);
                last_quadratic = Some(control);
                pen = at(x, y);
                path.quad_to(control, pen);
            }
            PathSegment::EllipticalArc { rx, ry, x_axis_rotation, large_arc, sweep, x, y, .. } => {
                let to = at(x, y);
                arc(&mut path, pen, to, [rx, ry], x_axis_rotation, large_arc, sweep)?;
                pen = to;
            }
            PathSegment::ClosePath { .. } => {
                path.close_path();
                pen = start;
            }
        }
        if matches!(
            segment,
            PathSegment::LineTo { .. } | PathSegment::HorizontalLineTo { .. } | PathSegment::VerticalLineTo { .. }
        ) {
            path.line_to(pen);
        }
        (cubic, quadratic) = (last_cubic, last_quadratic);
    }
    Ok(path)
}

/// Draws an elliptical arc as curves, in units of its chord: those of the text may be anything.
pub(super) fn arc(
    path: &mut BezPath,
    from: Place,
    to: Place,
    radii: [f64; 2],
    rotation: f64,
    large_arc: bool,
    sweep: bool,
) -> Result<(), String> {
    let chord = from.distance(to);
    let [rx, ry] = radii.map(|radius| radius.abs() / chord);
    let largest = rx.max(ry);
    // According to the standard, an arc of radius 0 is a line, and an arc from a point to itself is
    // nothing.
    if chord == 0.0 || rx == 0.0 || ry == 0.0 {
        path.line_to(to);
        return Ok(());
    }
    if !(chord.is_finite() && largest < 1e6 && rx.min(ry) > 1e-4 * largest) {
        return Err("an arc's radii are out of proportion".to_owned());
    }
    // The standard enlarges radii that are too small. Doing so here, for those that are far too
    // small, rounds less.
    let scale = if largest < 0.5 { 0.5 / largest } else { 1.0 };
    let arc = Arc::from_svg_arc(&SvgArc {
        from: Place::ORIGIN,
        to: ((to - from) / chord).to_point(),
        radii: Vec2::new(rx, ry) * scale,
        x_rotation: (rotation % 360.0).to_radians(),
        large_arc,
        sweep,
    });
    let Some(arc) = arc else {
        path.line_to(to);
        return Ok(());
    };
    let place = |unit: Place| from + chord * unit.to_vec2();
    let mut curves = Vec::new();
    arc.to_cubic_beziers(ARC_TOLERANCE * arc.radii.x.min(arc.radii.y), |a, b, c| curves.push([a, b, c]));
    let last = curves.len();
    for (index, [a, b, c]) in curves.into_iter().enumerate() {
        path.curve_to(place(a), place(b), if index + 1 == last { to } else { place(c) });
    }
    Ok(())
}

/// Returns the transform that an element applies to its content, by its style or else by its attribute.
fn transform(node: Node<'_, '_>, styles: &Styles) -> Result<Affine, Problem> {
    let style = styles.get(node, "transform").map(|text| text.replace("px", "").replace("deg", ""));
    let text = style.as_deref().or(node.attribute("transform")).filter(|text| text.trim() != "none").unwrap_or_default();
    let transform = match text.parse::<svgtypes::Transform>() {
        Ok(t) => Affine::new([t.a, t.b, t.c, t.d, t.e, t.f]),
        Err(error) => return problem(format!("{}: `transform` can't be read: {}", called(node), brief(error))),
    };
    let origin = styles.get(node, "transform-origin").or(node.attribute("transform-origin"));
    let has_origin = origin.is_some_and(|at| !at.split_whitespace().all(|number| matches!(number, "0" | "0px")));
    let is_moved = |property: &&str| styles.get(node, property).is_some_and(|value| value != "none");
    match ["translate", "rotate", "scale"].into_iter().find(is_moved) {
        Some(property) => problem(format!("{}: the style `{property}` is not read: use `transform`", called(node))),
        None if has_origin && transform != Affine::IDENTITY => {
            problem(format!("{}: `transform-origin` is not read: use `transform` alone", called(node)))
        }
        None => Ok(transform),
    }
}

/// Returns false if a path is empty or a point.
pub(super) fn is_drawn(path: &BezPath, called: impl Fn() -> String) -> Result<bool, Problem> {
    if path.elements().is_empty() {
        return Ok(false);
    }
    let controls = path.control_box();
    // Within these limits, the number of lines depends on the form only, not on the size.
    let reach = [controls.x0, controls.y0, controls.x1, controls.y1];
    if !path.is_finite() || reach.into_iter().any(|number| number.abs() >= LARGEST) {
        return problem(format!("{} reaches too far: coordinates must be below {LARGEST:e}", called()));
    }
    let extent = path.bounding_box();
    match extent.width().max(extent.height()) {
        0.0 => Ok(false),
        extent if extent < SMALLEST => {
            problem(format!("{} is too small: {extent:e} wide and high, and at least {SMALLEST:e} is needed", called()))
        }
        _ => Ok(true),
    }
}
