//! Times against times, in PNG or SVG.

use std::error::Error;

use plotters::{coord::Shift, prelude::*};

use crate::cli::draw::{Drawing, FONT, Image};

const BEFORE: RGBColor = RGBColor(150, 150, 150);
const AFTER: RGBColor = RGBColor(31, 119, 180);
/// More points of a kind are not to be told apart, and make SVG large.
const MOST: usize = 1500;

/// Points before and after, and the line on which both coordinates are the same.
pub struct Scatter {
    pub title: String,
    pub x: String,
    pub y: String,
    pub before: Vec<(f64, f64)>,
    pub after: Vec<(f64, f64)>,
}

impl Drawing for Scatter {
    fn size(&self) -> (u32, u32) {
        (720, 700)
    }

    fn draw_on<DB: DrawingBackend>(&self, root: &DrawingArea<DB, Shift>, _: u32) -> Result<Vec<Image>, Box<dyn Error>>
    where
        DB::ErrorType: 'static,
    {
        root.fill(&WHITE)?;
        let values = self.before.iter().chain(&self.after).flat_map(|&(x, y)| [x, y]);
        let (low, high) = values.fold((f64::INFINITY, 0.0f64), |(low, high), value| (low.min(value), high.max(value)));
        let margin = 0.05 * (high - low).max(0.01 * high);
        let range = low - margin..high + margin;
        let mut chart = ChartBuilder::on(root)
            .caption(&self.title, (FONT, 17))
            .margin(14)
            .set_label_area_size(LabelAreaPosition::Left, 64)
            .set_label_area_size(LabelAreaPosition::Bottom, 50)
            .build_cartesian_2d(range.clone(), range.clone())?;
        chart
            .configure_mesh()
            .light_line_style(BLACK.mix(0.05))
            .bold_line_style(BLACK.mix(0.12))
            .x_desc(&self.x)
            .y_desc(&self.y)
            .label_style((FONT, 14))
            .axis_desc_style((FONT, 16))
            .draw()?;
        chart.draw_series(LineSeries::new([(range.start, range.start), (range.end, range.end)], BLACK.mix(0.6)))?;
        for (points, colour, name) in [(&self.before, BEFORE, "start"), (&self.after, AFTER, "fitted")] {
            // Evenly spread over all.
            let step = points.len().div_ceil(MOST).max(1);
            let circles = points.iter().step_by(step).map(|&point| Circle::new(point, 2, colour.mix(0.5).filled()));
            let series = chart.draw_series(circles)?;
            series.label(name).legend(move |point| Circle::new(point, 4, colour.filled()));
        }
        chart
            .configure_series_labels()
            .position(SeriesLabelPosition::UpperLeft)
            .label_font((FONT, 15))
            .background_style(WHITE)
            .border_style(BLACK.mix(0.2))
            .draw()?;
        Ok(Vec::new())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cli::draw::Format;

    #[test]
    fn points_are_drawn_and_not_too_many() {
        let points = |count: usize| (1..=count).map(|i| (i as f64, 1.1 * i as f64)).collect();
        for (count, circles) in [(1, 1), (10, 10), (4000, 1334)] {
            let (x, y) = ("x".to_owned(), "y".to_owned());
            let scatter = Scatter { title: "a <b>".to_owned(), x, y, before: points(count), after: points(count) };
            let svg = String::from_utf8(scatter.draw(Format::Svg).unwrap()).unwrap();
            assert!(svg.contains("a &lt;b&gt;"), "{svg}");
            // And one each in the legend.
            assert_eq!(svg.matches("<circle").count(), 2 * (circles + 1));
            assert!(scatter.draw(Format::Png).unwrap().starts_with(b"\x89PNG"));
        }
    }
}
