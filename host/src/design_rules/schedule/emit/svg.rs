//! Programs as pictures.

use std::fmt::{self, Write as _};

use super::{is_gpu, printable};
use crate::design_rules::{Dag, OpId};

/// Sizes of a picture, in px: a character, a node's height, the distances between rows and between columns, and a frame's
/// padding.
const CHARACTER: f64 = 7.5;
const HEIGHT: f64 = 30.0;
const ROW: f64 = 70.0;
const GAP: f64 = 24.0;
const PADDING: f64 = 14.0;
/// Height of a frame's title.
const TITLE: f64 = 18.0;

/// A column of operations: those of all ways, or those of one alternative of a choice.
struct Band {
    /// The choice and the alternative.
    of: Option<(String, String)>,
    /// Operations by row.
    rows: Vec<Vec<OpId>>,
    left: f64,
    width: f64,
}

/// Writes a program: each operation is below those that it waits for, and each alternative of a choice has a column of its own.
pub fn program(dag: &Dag, text: &mut String) -> fmt::Result {
    let level = levels(dag);
    let rows = level.iter().max().map_or(0, |most| most + 1);
    let cell = dag.operations().map(|op| width(dag, op)).fold(0.0, f64::max) + GAP;
    let mut bands = vec![None];
    for choice in dag.choices() {
        bands.extend(choice.alternatives().map(|alternative| Some((choice.name().to_owned(), alternative.to_owned()))));
    }
    let mut left = PADDING;
    let mut centre = vec![0.0; dag.len()];
    let mut placed = Vec::new();
    for of in bands {
        let is_part = |op: OpId| dag.alternative_of(op) == of.as_ref().map(|(choice, alternative)| (&**choice, &**alternative));
        let mut in_rows = vec![Vec::new(); rows];
        dag.operations().filter(|&op| is_part(op)).for_each(|op| in_rows[level[op.index()]].push(op));
        let widest = in_rows.iter().map(Vec::len).max().unwrap_or(0);
        let title = of.as_ref().map_or(0.0, |(_, alternative)| CHARACTER * alternative.chars().count() as f64);
        let width = (widest as f64 * cell).max(title + GAP);
        for row in &mut in_rows {
            // Below the mean of what they wait for.
            let wish = |op: OpId| {
                let before: Vec<f64> = dag.edges().filter(|&(_, v)| v == op).map(|(u, _)| centre[u.index()]).collect();
                if before.is_empty() { f64::MAX } else { before.iter().sum::<f64>() / before.len() as f64 }
            };
            row.sort_by(|&a, &b| wish(a).total_cmp(&wish(b)));
            let start = left + (width - row.len() as f64 * cell) / 2.0;
            for (place, op) in row.iter().enumerate() {
                centre[op.index()] = start + (place as f64 + 0.5) * cell;
            }
        }
        placed.push(Band { of, rows: in_rows, left, width });
        left += width + GAP;
    }
    let top = PADDING + if dag.choices().is_empty() { 0.0 } else { 2.0 * TITLE };
    let y = |op: OpId| top + HEIGHT / 2.0 + ROW * level[op.index()] as f64;
    let (width, height) = (left, top + ROW * rows as f64);
    writeln!(
        text,
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {width:.0} {height:.0}\" width=\"{width:.0}\" \
         height=\"{height:.0}\" font-family=\"sans-serif\" font-size=\"13\">\n\
         <title>{}</title>\n<rect width=\"100%\" height=\"100%\" fill=\"white\"/>",
        escaped(dag.name())
    )?;
    frames(dag, &placed, &|row| top + ROW * row as f64, text)?;
    for (u, v) in dag.edges() {
        let (x0, y0, x1, y1) = (centre[u.index()], y(u) + HEIGHT / 2.0, centre[v.index()], y(v) - HEIGHT / 2.0);
        let bend = (y1 - y0) / 2.0;
        writeln!(
            text,
            "<path d=\"M{x0:.1} {y0:.1}C{x0:.1} {:.1} {x1:.1} {:.1} {x1:.1} {:.1}\" fill=\"none\" stroke=\"#555\"/>\
             <path d=\"M{:.1} {:.1}h8l-4 8z\" fill=\"#555\"/>",
            y0 + bend,
            y1 - bend,
            y1 - 8.0,
            x1 - 4.0,
            y1 - 8.0
        )?;
    }
    for op in dag.operations() {
        let (x, y, width) = (centre[op.index()], y(op), self::width(dag, op));
        let (half, style) = (width / 2.0, "stroke=\"black\"");
        if is_gpu(dag, op) {
            let (left, top) = (x - half, y - HEIGHT / 2.0);
            write!(
                text,
                "<rect x=\"{left:.1}\" y=\"{top:.1}\" width=\"{width:.1}\" height=\"{HEIGHT}\" fill=\"#cfe3f5\" {style}/>"
            )?;
        } else {
            let ry = HEIGHT / 2.0;
            write!(text, "<ellipse cx=\"{x:.1}\" cy=\"{y:.1}\" rx=\"{half:.1}\" ry=\"{ry}\" fill=\"#eee\" {style}/>")?;
        }
        let name = escaped(dag.name_of(op));
        writeln!(text, "<text x=\"{x:.1}\" y=\"{:.1}\" text-anchor=\"middle\">{name}</text>", y + 4.5)?;
    }
    text.push_str("</svg>\n");
    Ok(())
}

/// Draws a frame around each alternative, and one around those of a choice.
fn frames(dag: &Dag, bands: &[Band], top_of: &dyn Fn(usize) -> f64, text: &mut String) -> fmt::Result {
    for choice in dag.choices() {
        let own: Vec<&Band> =
            bands.iter().filter(|band| band.of.as_ref().is_some_and(|(name, _)| name == choice.name())).collect();
        let used = |band: &&Band| {
            let has = |row: &usize| !band.rows[*row].is_empty();
            let first = (0..band.rows.len()).find(has).unwrap_or(0);
            let last = (0..band.rows.len()).rfind(has).unwrap_or(0);
            (first, last)
        };
        let first = own.iter().map(|band| used(band).0).min().unwrap_or(0);
        let last = own.iter().map(|band| used(band).1).max().unwrap_or(0);
        let (top, bottom) = (top_of(first) - TITLE - 6.0, top_of(last) + HEIGHT + 8.0);
        let mut frame = |left: f64, right: f64, top: f64, title: &str, dash: &str| {
            writeln!(
                text,
                "<rect x=\"{left:.1}\" y=\"{top:.1}\" width=\"{:.1}\" height=\"{:.1}\" fill=\"none\" stroke=\"#999\"{dash}/>\
                 <text x=\"{:.1}\" y=\"{:.1}\" fill=\"#555\">{}</text>",
                right - left,
                bottom - top,
                left + 6.0,
                top + 14.0,
                escaped(title)
            )
        };
        for band in &own {
            let title = band.of.as_ref().map_or("", |(_, alternative)| alternative);
            frame(band.left, band.left + band.width, top, title, "")?;
        }
        if let (Some(start), Some(end)) = (own.first(), own.last()) {
            let title = format!("{}, one of", choice.name());
            frame(start.left - 6.0, end.left + end.width + 6.0, top - TITLE, &title, " stroke-dasharray=\"4\"")?;
        }
    }
    Ok(())
}

/// The row of each operation: below all operations that it waits for.
fn levels(dag: &Dag) -> Vec<usize> {
    let mut level = vec![0; dag.len()];
    // A path has fewer edges than there are operations.
    for _ in 0..dag.len() {
        for (u, v) in dag.edges() {
            level[v.index()] = level[v.index()].max(level[u.index()] + 1);
        }
    }
    level
}

fn width(dag: &Dag, op: OpId) -> f64 {
    CHARACTER * dag.name_of(op).chars().count() as f64 + 20.0
}

fn escaped(name: &str) -> String {
    printable(name).replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}
