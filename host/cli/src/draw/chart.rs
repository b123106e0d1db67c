//! A line chart over a logarithmic x axis.

use std::error::Error;

use plotters::{
    coord::{
        Shift,
        combinators::BindKeyPoints as _,
        ranged1d::{AsRangedCoord, Ranged, ValueFormatter},
    },
    prelude::*,
};

use super::{Drawing, FONT, Image};
use crate::format;

const SIZE: (u32, u32) = (1080, 520);
/// Largest distance of coinciding lines, relative to the y axis.
const NEAR: f64 = 0.01;
/// Width of the legend on the right, in pixels.
const NAMES: u32 = 280;

/// Colours of the lines in their order. Lines of somebody else's figures are grey.
const COLOURS: [RGBColor; 7] = [
    RGBColor(31, 119, 180),
    RGBColor(214, 39, 40),
    RGBColor(44, 160, 44),
    RGBColor(148, 103, 189),
    RGBColor(255, 127, 14),
    RGBColor(23, 190, 207),
    RGBColor(140, 86, 75),
];
const GREY: RGBColor = RGBColor(120, 120, 120);

/// A line.
#[derive(Clone, Debug)]
pub struct Line {
    pub name: String,
    /// x, y, and the smallest and largest y of all runs.
    pub points: Vec<(f64, f64, f64, f64)>,
    /// True for somebody else's figures, which are drawn grey and dashed.
    pub theirs: bool,
}

/// Content of a chart.
#[derive(Clone, Debug)]
pub struct Chart {
    pub title: String,
    pub x: String,
    pub y: String,
    /// True for a logarithmic y axis; otherwise y is a ratio.
    pub logarithmic: bool,
    pub lines: Vec<Line>,
}

impl Drawing for Chart {
    fn size(&self) -> (u32, u32) {
        SIZE
    }

    fn draw_on<DB: DrawingBackend>(&self, root: &DrawingArea<DB, Shift>, _: u32) -> Result<Vec<Image>, Box<dyn Error>>
    where
        DB::ErrorType: 'static,
    {
        let points = || self.lines.iter().flat_map(|line| &line.points);
        let range = |values: &mut dyn Iterator<Item = f64>| {
            values
                .filter(|value| value.is_finite())
                .fold((f64::INFINITY, 0.0f64), |(least, most), value| (least.min(value), most.max(value)))
        };
        let (low, high) = range(&mut points().flat_map(|&(_, y, from, to)| [y, from, to]));
        let (low, high) = if low <= high && low > 0.0 { (low, high) } else { (0.1, 1.0) };
        if self.logarithmic {
            let (low, high) = (low / 1.5, high * 1.5);
            let near = |a: f64, b: f64| (a / b).ln().abs() < NEAR * (high / low).ln();
            self.draw_over(root, (low..high).log_scale().with_key_points(ticks(low, high)), near)
        } else {
            // Ratios near 1 shouldn't look farther apart than they are.
            let (low, high) = (low.min(0.98), high.max(1.02));
            let margin = 0.1 * (high - low);
            let near = |a: f64, b: f64| (a - b).abs() < NEAR * (high - low);
            self.draw_over(root, low - margin..high + margin, near)
        }
    }
}

impl Line {
    fn coincides(&self, other: &Line, near: impl Fn(f64, f64) -> bool) -> bool {
        let pairs = || self.points.iter().zip(&other.points);
        self.points.len() == other.points.len() && pairs().all(|(a, b)| a.0 == b.0 && near(a.1, b.1))
    }
}

impl Chart {
    /// Draws over the axis `y`, on which `near` tells values that look equal.
    fn draw_over<DB: DrawingBackend, Y>(
        &self,
        root: &DrawingArea<DB, Shift>,
        y: Y,
        near: impl Fn(f64, f64) -> bool,
    ) -> Result<Vec<Image>, Box<dyn Error>>
    where
        DB::ErrorType: 'static,
        Y: AsRangedCoord<Value = f64>,
        Y::CoordDescType: Ranged<ValueType = f64> + ValueFormatter<f64>,
    {
        root.fill(&WHITE)?;
        let xs = || self.lines.iter().flat_map(|line| &line.points).map(|point| point.0);
        let (first, last) = xs().fold((f64::INFINITY, 0.0f64), |(least, most), x| (least.min(x), most.max(x)));
        let (first, last) = if first <= last { (first, last) } else { (1.0, 2.0) };
        let mut measured: Vec<f64> = xs().collect();
        measured.sort_by(f64::total_cmp);
        measured.dedup();
        let (left, right) = root.split_horizontally(SIZE.0 - NAMES);
        let mut chart = ChartBuilder::on(&left)
            .caption(&self.title, (FONT, 20))
            .margin(14)
            .set_label_area_size(LabelAreaPosition::Left, 84)
            .set_label_area_size(LabelAreaPosition::Bottom, 50)
            .build_cartesian_2d((first / 1.15..last * 1.15).log_scale().base(2.0).with_key_points(measured), y)?;
        chart
            .configure_mesh()
            .light_line_style(BLACK.mix(0.05))
            .bold_line_style(BLACK.mix(0.12))
            .x_desc(&self.x)
            .y_desc(&self.y)
            .x_label_formatter(&|x| label(*x))
            .y_label_formatter(&|y| label(*y))
            .label_style((FONT, 14))
            .axis_desc_style((FONT, 16))
            .draw()?;
        let mut colours = COLOURS.iter().cycle();
        for (index, (line, y)) in self.lines.iter().zip((60..).step_by(26)).enumerate() {
            let colour = if line.theirs { GREY } else { *colours.next().unwrap_or(&BLACK) };
            // A line that others are drawn over is wider, so that it shows on both sides of them.
            let over = self.lines[index + 1..].iter().filter(|other| line.coincides(other, &near)).count();
            let style = ShapeStyle { color: colour.to_rgba(), filled: true, stroke_width: 2 + 3 * over as u32 };
            let middle = line.points.iter().map(|&(x, y, ..)| (x, y));
            if line.theirs {
                chart.draw_series(DashedLineSeries::new(middle.clone(), 7, 5, style))?;
                for x in [0, 11, 22] {
                    right.draw(&PathElement::new([(x, y), (x + 6, y)], style))?;
                }
            } else {
                chart.draw_series(LineSeries::new(middle.clone(), style))?;
                right.draw(&PathElement::new([(0, y), (28, y)], style))?;
            }
            right.draw(&Text::new(line.name.clone(), (38, y - 5), (FONT, 15).into_font()))?;
            chart.draw_series(middle.map(|point| Circle::new(point, 3, style)))?;
            let bars = line.points.iter().filter(|(_, _, from, to)| from < to);
            chart.draw_series(bars.map(|&(x, _, from, to)| PathElement::new([(x, from), (x, to)], colour.stroke_width(1))))?;
        }
        Ok(Vec::new())
    }
}

/// Returns the powers of ten in a range, and their multiples by 2 and 5 if the range is short.
fn ticks(low: f64, high: f64) -> Vec<f64> {
    let factors: &[f64] = if high / low > 1e3 { &[1.0] } else { &[1.0, 2.0, 5.0] };
    let powers = low.log10().floor() as i32..=high.log10().ceil() as i32;
    let all = powers.flat_map(|power| factors.iter().map(move |factor| factor * 10f64.powi(power)));
    all.filter(|tick| (low..=high).contains(tick)).collect()
}

/// Formats a value for an axis: `0.01`, `500`, `20k`.
fn label(value: f64) -> String {
    let short = |value: f64, unit: &str| format::trimmed(value, 3) + unit;
    match value.abs() {
        1e6.. => short(value / 1e6, "M"),
        1e4.. => short(value / 1e3, "k"),
        0.01.. => short(value, ""),
        0.0 => "0".to_owned(),
        _ => format!("{value:e}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::draw::Format;

    #[test]
    fn labels() {
        assert_eq!([0.0, 0.01, 0.5, 8.0, 500.0, 20_000.0, 3e6].map(label), ["0", "0.01", "0.5", "8", "500", "20k", "3M"]);
        assert_eq!(label(0.001), "1e-3");
    }

    #[test]
    fn ticks_and_coinciding_lines() {
        assert_eq!(ticks(1.6, 150.0), [2.0, 5.0, 10.0, 20.0, 50.0, 100.0]);
        assert_eq!(ticks(0.5, 2e4), [1.0, 10.0, 100.0, 1e3, 1e4]);
        let line = |ys: [f64; 2]| Line {
            name: String::new(),
            points: [1.0, 2.0].into_iter().zip(ys).map(|(x, y)| (x, y, y, y)).collect(),
            theirs: false,
        };
        let near = |a: f64, b: f64| (a - b).abs() < 0.1;
        assert!(line([1.0, 2.0]).coincides(&line([1.05, 2.0]), near));
        assert!(!line([1.0, 2.0]).coincides(&line([1.0, 2.2]), near));
    }

    #[test]
    fn charts_of_anything_are_drawn() {
        let line = |points| Line { name: "a <line>".to_owned(), points, theirs: false };
        let all = [
            vec![],
            vec![(1.0, 2.0, 2.0, 2.0)],
            vec![(1.0, 2.0, 1.0, 3.0), (64.0, 1e-4, 1e-5, 1e9)],
            vec![(4.0, f64::NAN, 0.0, 0.0)],
        ];
        for points in all {
            for logarithmic in [false, true] {
                let mut theirs = line(points.clone());
                theirs.theirs = true;
                let lines = vec![line(points.clone()), theirs];
                let chart = Chart { title: "t".to_owned(), x: "x".to_owned(), y: "y".to_owned(), logarithmic, lines };
                let svg = String::from_utf8(chart.draw(Format::Svg).unwrap()).unwrap();
                assert!(svg.starts_with("<svg") && svg.contains("a &lt;line&gt;"), "{svg}");
                assert!(chart.draw(Format::Png).unwrap().starts_with(b"\x89PNG"));
            }
        }
    }
}
