//! The picture of a matrix: heat map, colour bar, axes and title, in PNG or SVG.

use std::{error::Error, ops::Range};

use plotters::{coord::Shift, prelude::*};

use super::matrix::{Cell, Heat};
use crate::{
    draw::{Drawing, EDGE, FONT, Image, draw_title},
    format,
};

/// The longer side of the heat map in pixels.
pub const SIDE: usize = 720;

/// The shorter side, at least.
const SHORTEST: u32 = 72;
/// Around the heat map: labels to the left and below, and the title above.
const LEFT: u32 = 96;
const BELOW: u32 = 56;
const ABOVE: u32 = 64;
/// Between the heat map and the colour bar, the bar, and its labels.
const GAP: u32 = 28;
const BAR: u32 = 24;
const BAR_LABELS: u32 = 100;
/// Room for the colour bar's legend of infinite entries and NaNs.
const LEGEND_LINE: u32 = 26;

/// Length of the marks of axes.
const MARK: i32 = 5;

const INFINITE: RGBColor = RGBColor(214, 39, 40);
const NAN: RGBColor = RGBColor(150, 150, 150);

/// The heat map, with its title.
pub struct Picture<'a> {
    pub title: &'a str,
    pub rows: usize,
    pub columns: usize,
    pub heat: &'a Heat,
}

/// The colours' range in units of a power of ten.
#[derive(Debug, PartialEq)]
struct Scale {
    min: f64,
    max: f64,
    exponent: i32,
}

impl Picture<'_> {
    /// The heat map's width and height in pixels.
    fn map_size(&self) -> (u32, u32) {
        let longest = self.rows.max(self.columns) as f64;
        let scaled = |n: usize| ((n as f64 / longest * SIDE as f64).round() as u32).max(SHORTEST);
        (scaled(self.columns), scaled(self.rows))
    }

    fn infinite_label(&self) -> Option<&'static str> {
        let stats = &self.heat.entries;
        match (stats.infinite, stats.negative_infinite) {
            (0, _) => None,
            (_, 0) => Some("inf"),
            (all, negative) if all == negative => Some("-inf"),
            _ => Some("±inf"),
        }
    }
}

impl Drawing for Picture<'_> {
    fn size(&self) -> (u32, u32) {
        let (width, height) = self.map_size();
        // A flat matrix leaves room for the colour bar all the same.
        (LEFT + width + GAP + BAR + BAR_LABELS, ABOVE + height.max(3 * SHORTEST) + BELOW)
    }

    fn draw_on<DB: DrawingBackend>(&self, root: &DrawingArea<DB, Shift>, finer: u32) -> Result<Vec<Image>, Box<dyn Error>>
    where
        DB::ErrorType: 'static,
    {
        let (map_width, map_height) = self.map_size();
        let (width, height) = self.size();
        root.fill(&WHITE)?;
        draw_title(root, self.title, 22.0, width, finer)?;

        let map_area = root.margin(ABOVE, height - ABOVE - map_height - BELOW, EDGE, width - LEFT - map_width);
        let mut map = ChartBuilder::on(&map_area)
            .set_label_area_size(LabelAreaPosition::Left, LEFT - EDGE)
            .set_label_area_size(LabelAreaPosition::Bottom, BELOW)
            // The first row is at the top.
            .build_cartesian_2d(0.0..self.columns as f64, self.rows as f64..0.0)?;
        map.configure_mesh()
            .disable_mesh()
            .x_labels(ticks(self.columns, map_width, 90))
            .y_labels(ticks(self.rows, map_height, 40))
            .x_label_formatter(&|x| format::grouped(x.round() as usize))
            .y_label_formatter(&|y| format::grouped(y.round() as usize))
            .x_desc("column")
            .y_desc("row")
            .label_style((FONT, 14))
            .axis_desc_style((FONT, 16))
            .draw()?;
        let (x, y) = map.plotting_area().get_pixel_range();

        let scale = Scale::of(self.heat);
        let special = [(self.infinite_label(), INFINITE), ((self.heat.entries.nan > 0).then_some("NaN"), NAN)];
        let special: Vec<_> = special.into_iter().filter_map(|(name, colour)| Some((name?, colour))).collect();
        let bar_x = LEFT + map_width + GAP;
        let bar_height = height - ABOVE - BELOW - LEGEND_LINE * special.len() as u32;
        let bar_area = root.margin(ABOVE, height - ABOVE - bar_height, bar_x, 0);
        let mut bar = ChartBuilder::on(&bar_area)
            .set_label_area_size(LabelAreaPosition::Right, BAR_LABELS)
            .build_cartesian_2d(0.0..1.0, scale.min..scale.max)?;
        bar.configure_mesh()
            .disable_mesh()
            .disable_x_axis()
            .set_tick_mark_size(LabelAreaPosition::Right, MARK)
            .y_labels((bar_height / 50).clamp(2, 10) as usize)
            .y_label_formatter(&|value| number(*value, scale.max - scale.min))
            .label_style((FONT, 14))
            .draw()?;
        let small = || TextStyle::from((FONT, 14).into_font()).color(&BLACK);
        let averaged = self.heat.rows < self.rows || self.heat.columns < self.columns;
        let name = if averaged { "mean entry" } else { "entry" };
        let unit = if scale.exponent == 0 { String::new() } else { format!(" / 1e{}", scale.exponent) };
        root.draw(&Text::new(format!("{name}{unit}"), (bar_x as i32, ABOVE as i32 - 20), small()))?;
        let (bar_left, bar_top) = (bar_x as i32, (ABOVE + bar_height) as i32);
        for (index, (name, colour)) in special.into_iter().enumerate() {
            let top = bar_top + 8 + LEGEND_LINE as i32 * index as i32;
            root.draw(&Rectangle::new([(bar_left, top), (bar_left + BAR as i32, top + 16)], colour.filled()))?;
            root.draw(&Text::new(name, (bar_left + BAR as i32 + 8, top + 1), small()))?;
        }
        let (bar_range_x, bar_range_y) = bar.plotting_area().get_pixel_range();

        let pixels = self.heat.cells.iter().map(|&cell| scale.colour(cell)).collect();
        let gradient = (0..256).rev().map(|step| viridis(f64::from(step) / 255.0)).collect();
        let range = |range: Range<i32>| range.start.max(0) as u32..range.end.max(0) as u32;
        Ok(vec![
            Image { x: range(x), y: range(y), width: self.heat.columns, height: self.heat.rows, pixels },
            Image { x: range(bar_range_x), y: range(bar_range_y), width: 1, height: 256, pixels: gradient },
        ])
    }
}

impl Scale {
    /// The range from the least mean to the largest, or any range if no part has a finite mean.
    fn of(heat: &Heat) -> Self {
        let means = heat.cells.iter().filter_map(|cell| if let Cell::Mean(mean) = cell { Some(*mean) } else { None });
        let (min, max) = means.fold((f64::INFINITY, f64::NEG_INFINITY), |(min, max), mean| (min.min(mean), max.max(mean)));
        let (min, max) = if min <= max { (min, max) } else { (0.0, 1.0) };
        let largest = min.abs().max(max.abs());
        let exponent = if largest == 0.0 || (1e-2..1e5).contains(&largest) { 0 } else { largest.log10().floor() as i32 };
        let unscaled = Scale { min: 0.0, max: 0.0, exponent };
        let (min, max) = (unscaled.scaled(min), unscaled.scaled(max));
        // Entries that hardly differ are the same to the eye, and would be to the axis.
        let nearest = 1e-9 * min.abs().max(max.abs()).max(1e-3);
        let (min, max) =
            if max - min > nearest { (min, max) } else { (min - 0.5 * min.abs().max(0.1), max + 0.5 * max.abs().max(0.1)) };
        Scale { min, max, exponent }
    }

    /// A value in the scale's units. In two steps, since the power alone may be too small for the type.
    fn scaled(&self, value: f64) -> f64 {
        let half = self.exponent / 2;
        value / 10f64.powi(half) / 10f64.powi(self.exponent - half)
    }

    fn colour(&self, cell: Cell) -> RGBColor {
        match cell {
            Cell::Mean(mean) => viridis((self.scaled(mean) - self.min) / (self.max - self.min)),
            Cell::Infinite => INFINITE,
            Cell::Nan => NAN,
        }
    }
}

/// The colour of a share from 0 to 1.
fn viridis(share: f64) -> RGBColor {
    ViridisRGB.get_color(share.clamp(0.0, 1.0) as f32)
}

/// Number of labels that fit an axis, without halves between whole numbers.
fn ticks(n: usize, pixels: u32, distance: u32) -> usize {
    ((pixels / distance) as usize).clamp(1, 9).min(n + 1)
}

/// A label of an axis that spans `range`.
fn number(value: f64, range: f64) -> String {
    let decimals = (2.0 - range.log10().floor()).clamp(0.0, 12.0) as usize;
    format::trimmed(value, decimals)
}

#[cfg(test)]
mod tests {
    use super::*;
    use warpsmith::pcf::entries::Stats;

    fn scale(means: &[f64]) -> Scale {
        let entries = Stats { min: 0.0, max: 0.0, infinite: 0, nan: 0, negative_infinite: 0 };
        let cells = means.iter().map(|&mean| Cell::Mean(mean)).collect();
        Scale::of(&Heat { rows: 1, columns: means.len(), cells, entries })
    }

    #[test]
    fn scales() {
        assert_eq!(scale(&[3.0, -1.0, 2.0]), Scale { min: -1.0, max: 3.0, exponent: 0 });
        let small = scale(&[0.0, 5e-310]);
        assert!(small.exponent == -310 && (4.99..5.01).contains(&small.max), "{small:?}");
        let large = scale(&[1e300, 3e300]);
        assert!(large.exponent == 300 && (large.max - 3.0).abs() < 1e-9, "{large:?}");
        for same in [&[][..], &[0.0], &[7.0, 7.0], &[-1e9], &[1.0, 1.0 + 1e-15]] {
            let scale = scale(same);
            assert!(scale.max - scale.min > 0.05, "{scale:?}");
        }
        let scale = scale(&[2.0, 4.0]);
        assert_eq!((scale.colour(Cell::Mean(2.0)), scale.colour(Cell::Mean(4.0))), (viridis(0.0), viridis(1.0)));
    }

    #[test]
    fn labels() {
        assert_eq!([0.25, 0.5, -0.0].map(|value| number(value, 1.0)), ["0.25", "0.5", "0"]);
        assert_eq!([100.0, 20_000.0].map(|value| number(value, 30_000.0)), ["100", "20000"]);
        assert_eq!(number(0.001, 0.004), "0.001");
    }
}
