//! Drawings and tables of nested parts.

use std::{
    borrow::Cow,
    collections::{HashMap, HashSet},
    fmt::Write as _,
    io::{self, Write},
};

use serde::Serialize;
use serde_json::{Value, json};

use super::Placed;
use crate::overlap::{
    Shape,
    convex::area,
    io::{Part, dxf},
};

/// Space between two sheets of a drawing, as a share of the widest one.
const BETWEEN: f64 = 0.05;

/// A file format.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// A drawing in mm: a layer for each sheet with its outline, and a path for each part.
    Svg,
    /// A drawing in mm: a layer for each sheet's parts, and one for the outlines of sheets.
    Dxf,
    /// A table of [`Place`]s.
    Csv,
    /// A list of [`Place`]s.
    Json,
    /// An instance of jagua-rs with its solution: bins are the sheets, or a roll is the strip, and angles are in degrees.
    Sparrow,
}

impl Format {
    /// Returns the format of files with this name, if there is one: that of the extension, or [`Format::Sparrow`] if it ends
    /// in `.sparrow.json`.
    pub fn of_name(name: &str) -> Option<Self> {
        let name = name.to_ascii_lowercase();
        match name.rsplit('.').next().unwrap_or_default() {
            _ if name.ends_with(".sparrow.json") => Some(Format::Sparrow),
            "svg" => Some(Format::Svg),
            "dxf" => Some(Format::Dxf),
            "csv" => Some(Format::Csv),
            "json" => Some(Format::Json),
            _ => None,
        }
    }
}

/// A part at its place.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Place<'a> {
    /// The part's name.
    pub part: &'a str,
    /// From 1 among all copies of the part.
    pub copy: usize,
    /// From 1.
    pub sheet: usize,
    /// Position from the sheet's lower left corner.
    pub x: f64,
    /// As `x`.
    pub y: f64,
    /// Radians.
    pub theta: f64,
    /// True if x of the part changes its sign before it is turned; none if no part may be mirrored.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub mirrored: Option<bool>,
}

/// A sheet with its parts.
#[derive(Clone, Copy, Debug)]
pub struct Laid<'a> {
    /// Extent in x.
    pub width: f64,
    /// Extent in y.
    pub height: f64,
    /// True if it is a piece of a roll, whose length is the width.
    pub roll: bool,
    /// An irregular sheet.
    pub form: Option<&'a Part>,
    /// The parts.
    pub parts: &'a [Placed],
}

/// Sheets to write.
#[derive(Clone, Debug)]
pub struct Layout<'a> {
    /// All parts with their names.
    pub parts: Vec<(&'a str, &'a Part)>,
    /// The sheets in their order.
    pub sheets: Vec<Laid<'a>>,
    /// Duration of the search in seconds, which one format tells.
    pub seconds: f64,
}

impl<'a> Layout<'a> {
    /// Returns the places of all parts, sheet by sheet.
    pub fn places(&self) -> Vec<Place<'a>> {
        let mut copies = vec![0; self.parts.len()];
        let placed = self.sheets.iter().enumerate().flat_map(|(sheet, laid)| laid.parts.iter().map(move |part| (sheet, part)));
        let mirrors = self.parts.iter().any(|(_, part)| part.turns.mirrors());
        let place = |(sheet, &Placed { part, pose: [x, y, theta], mirrored }): (usize, &Placed)| {
            copies[part] += 1;
            let mirrored = mirrors.then_some(mirrored);
            Place { part: self.parts[part].0, copy: copies[part], sheet: sheet + 1, x, y, theta, mirrored }
        };
        placed.map(place).collect()
    }

    /// Writes the sheets.
    ///
    /// # Errors
    /// Those of `out`.
    pub fn write(&self, format: Format, out: &mut dyn Write) -> io::Result<()> {
        match format {
            Format::Svg => out.write_all(self.svg().as_bytes()),
            Format::Dxf => out.write_all(self.dxf().as_bytes()),
            Format::Json => written(out, &self.places()),
            Format::Sparrow => written(out, &self.solved()),
            Format::Csv => {
                let mut table = csv::Writer::from_writer(out);
                for place in self.places() {
                    table.serialize(place)?;
                }
                table.flush()
            }
        }
    }

    /// A part as it is placed.
    fn oriented(&self, &Placed { part, mirrored, .. }: &Placed) -> Cow<'a, Part> {
        let part = self.parts[part].1;
        if mirrored { Cow::Owned(part.mirrored()) } else { Cow::Borrowed(part) }
    }

    /// The parts as items, the sheets as bins or a roll as the strip, and places as a solution.
    fn solved(&self) -> Value {
        // Parts of one instance keep its ids.
        let ids: Option<Vec<u64>> = self.parts.iter().map(|(_, part)| part.id).collect();
        let distinct = |ids: &Vec<u64>| ids.iter().collect::<HashSet<_>>().len() == ids.len();
        let ids = ids.filter(distinct).unwrap_or_else(|| (0..self.parts.len() as u64).collect());
        // Mirror images are items of their own, with as many copies as there are.
        let first = ids.iter().max().map_or(0, |id| id + 1);
        let images: Vec<u64> = (first..).take(ids.len()).collect();
        let placed = || self.sheets.iter().flat_map(|sheet| sheet.parts);
        let count = |part: usize| placed().filter(|placed| placed.part == part && placed.mirrored).count();
        let mirrored: Vec<usize> = (0..ids.len()).map(count).collect();
        let item = |(id, part, demand): (u64, &Part, usize)| {
            let mut item = json!({"id": id, "demand": demand, "shape": shape(&part.shape)});
            if let Some(angles) = part.turns.angles() {
                item["allowed_orientations"] = angles.iter().map(|angle| angle.to_degrees()).collect();
            }
            item
        };
        let own = (0..ids.len()).map(|k| (ids[k], Cow::Borrowed(self.parts[k].1), self.parts[k].1.count - mirrored[k]));
        let others = (0..ids.len()).filter(|&k| mirrored[k] > 0);
        let others = others.map(|k| (images[k], Cow::Owned(self.parts[k].1.mirrored()), mirrored[k]));
        let all = own.chain(others).filter(|(.., demand)| *demand > 0);
        let items: Vec<Value> = all.map(|(id, part, demand)| item((id, &part, demand))).collect();
        // One bin for each size.
        let mut sizes: Vec<([f64; 2], Option<&Part>, usize)> = Vec::new();
        let (mut layouts, mut covered, mut area) = (Vec::new(), 0.0, 0.0);
        for &Laid { width, height, form, parts, .. } in &self.sheets {
            let outlines = |form: Option<&Part>| form.map(|form| form.shape.outlines().to_vec());
            let same = |(size, other, _): &([f64; 2], Option<&Part>, usize)| {
                *size == [width, height] && outlines(*other) == outlines(form)
            };
            let bin = sizes.iter().position(same).unwrap_or(sizes.len());
            if bin == sizes.len() {
                sizes.push(([width, height], form, 0));
            }
            sizes[bin].2 += 1;
            let placed = parts.iter().map(|&Placed { part, pose: [x, y, theta], mirrored }| {
                let id = if mirrored { images[part] } else { ids[part] };
                json!({"item_id": id, "transformation": {"rotation": theta.to_degrees(), "translation": [x, y]}})
            });
            let own: f64 = parts.iter().map(|placed| self.parts[placed.part].1.shape.area()).sum();
            let whole = form.map_or(width * height, |form| form.shape.area());
            let density = own / whole;
            layouts.push(json!({"container_id": bin, "placed_items": placed.collect::<Vec<_>>(), "density": density}));
            covered += own;
            area += whole;
        }
        if let [Laid { width, height, roll: true, .. }] = self.sheets[..] {
            let (density, run_time_sec) = (covered / area, self.seconds.round() as u64);
            let layout = layouts.pop();
            let solution = json!({"strip_width": width, "layout": layout, "density": density, "run_time_sec": run_time_sec});
            return json!({"name": "nest", "items": items, "strip_height": height, "solution": solution});
        }
        let bins = sizes.iter().enumerate().map(|(id, ([width, height], form, count))| {
            let rectangle = json!({"x_min": 0.0, "y_min": 0.0, "width": width, "height": height});
            let form = form.map_or(json!({"type": "rectangle", "data": rectangle}), |form| shape(&form.shape));
            json!({"id": id, "cost": 1, "stock": count, "shape": form})
        });
        let (cost, density, run_time_sec) = (layouts.len(), covered / area, self.seconds.round() as u64);
        let solution = json!({"cost": cost, "layouts": layouts, "density": density, "run_time_sec": run_time_sec});
        json!({"name": "nest", "items": items, "bins": bins.collect::<Vec<_>>(), "solution": solution})
    }

    /// The sheets side by side, each with its left edge.
    fn side_by_side(&self) -> Vec<(&Laid<'a>, f64)> {
        let gap = BETWEEN * self.widest();
        let placed = self.sheets.iter().scan(0.0, |left, sheet| {
            let own = *left;
            *left += sheet.width + gap;
            Some((sheet, own))
        });
        placed.collect()
    }

    fn widest(&self) -> f64 {
        self.sheets.iter().map(|sheet| sheet.width).fold(0.0, f64::max)
    }

    fn dxf(&self) -> String {
        let mut contours = Vec::new();
        for (index, (&Laid { width, height, form, parts, .. }, left)) in self.side_by_side().into_iter().enumerate() {
            let corners = [[0.0, 0.0], [width, 0.0], [width, height], [0.0, height]];
            let rectangle = || vec![corners.map(|[x, y]| [left + x, y, 0.0]).to_vec()];
            let outlines = form.map_or_else(rectangle, |form| form.bulges([left, 0.0, 0.0]));
            contours.extend(outlines.into_iter().map(|outline| ("sheet-outlines".to_owned(), outline)));
            let placed = parts.iter().flat_map(|placed| {
                let [x, y, theta] = placed.pose;
                self.oriented(placed).bulges([left + x, y, theta])
            });
            contours.extend(placed.map(|contour| (format!("sheet-{}", index + 1), contour)));
        }
        dxf(&contours)
    }

    fn svg(&self) -> String {
        let placed = self.side_by_side();
        let width = placed.last().map_or(0.0, |(sheet, left)| left + sheet.width);
        let height = placed.iter().map(|(sheet, _)| sheet.height).fold(0.0, f64::max);
        let line = self.widest() / 2000.0;
        let mut out = format!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" xmlns:inkscape=\"http://www.inkscape.org/namespaces/inkscape\" \
             width=\"{width}mm\" height=\"{height}mm\" viewBox=\"0 0 {width} {height}\" fill=\"none\" stroke=\"#000\" \
             stroke-width=\"{line}\">\n"
        );
        let mut ids: HashMap<String, usize> = (1..=placed.len()).map(|number| (format!("sheet-{number}"), 1)).collect();
        let mut places = self.places().into_iter();
        for (index, (&Laid { width, height, form, parts, .. }, left)) in placed.into_iter().enumerate() {
            let number = index + 1;
            let outline = match form {
                Some(form) => format!("<path id=\"sheet-{number}-outline\" d=\"{}\"", form.svg_path([0.0; 3], height)),
                None => format!("<rect id=\"sheet-{number}-outline\" width=\"{width}\" height=\"{height}\""),
            };
            let _ = writeln!(
                out,
                "<g id=\"sheet-{number}\" inkscape:groupmode=\"layer\" inkscape:label=\"sheet {number}\" \
                 transform=\"translate({left} 0)\">\n\
                 {outline} stroke=\"#888\"/>"
            );
            for (placed, place) in parts.iter().zip(&mut places) {
                let image = if placed.mirrored { "-mirrored" } else { "" };
                let id = unique(&mut ids, format!("{}-{}{image}", identifier(place.part), place.copy));
                let _ = writeln!(out, "<path id=\"{id}\" d=\"{}\"/>", self.oriented(placed).svg_path(placed.pose, height));
            }
            out.push_str("</g>\n");
        }
        out.push_str("</svg>\n");
        out
    }
}

fn written(out: &mut dyn Write, value: &impl Serialize) -> io::Result<()> {
    serde_json::to_writer_pretty(&mut *out, value)?;
    writeln!(out)
}

/// A shape's polygon with its holes, or its pieces.
fn shape(shape: &Shape) -> Value {
    let (kind, data) = match shape.outlines() {
        [outline] => ("simple_polygon", json!(outline)),
        [outer, inner @ ..] if inner.iter().all(|ring| area(ring) < 0.0) => ("polygon", json!({"outer": outer, "inner": inner})),
        pieces => ("multi_polygon", pieces.iter().map(|piece| json!({"outer": piece})).collect()),
    };
    json!({"type": kind, "data": data})
}

/// Returns a name as an XML identifier: other characters become underscores.
fn identifier(name: &str) -> String {
    let start = name.starts_with(|first: char| !first.is_alphabetic()).then_some('_');
    start
        .into_iter()
        .chain(name.chars().map(|c| if c.is_alphanumeric() || matches!(c, '-' | '_' | '.') { c } else { '_' }))
        .collect()
}

/// Returns an identifier that none had before.
fn unique(ids: &mut HashMap<String, usize>, id: String) -> String {
    let times = ids.entry(id.clone()).or_insert(0);
    *times += 1;
    if *times == 1 { id } else { format!("{id}.{times}") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn formats_of_names() {
        let names = ["a.sparrow.json", "A.SPARROW.JSON", "sparrow.json", "a.dxf", "svg", "a.txt", ""];
        let [json, dxf, svg] = [Format::Json, Format::Dxf, Format::Svg].map(Some);
        let sparrow = Some(Format::Sparrow);
        assert_eq!(names.map(Format::of_name), [sparrow, sparrow, json, dxf, svg, None, None]);
    }

    #[test]
    fn names_and_numbers_of_dxf() {
        let text = dxf(&[("Blech 2µ^".to_owned(), vec![[3.0, 0.1 + 0.2, -1e-7]])]);
        assert_eq!(text.matches("\r\nBlech\\U+00202\\U+00B5\\U+005E\r\n").count(), 2, "{text}");
        assert!(text.contains(" 10\r\n3.0\r\n 20\r\n0.30000000000000004\r\n 42\r\n-0.0000001\r\n"), "{text}");
    }

    #[test]
    fn identifiers() {
        let mut ids = HashMap::new();
        assert_eq!(["a b\"<", "3", "", "é-1."].map(identifier), ["a_b__", "_3", "", "é-1."]);
        assert_eq!(["a", "b", "a", "a"].map(|id| unique(&mut ids, id.to_owned())), ["a", "b", "a.2", "a.3"]);
    }
}
