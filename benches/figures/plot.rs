//! Plots with logarithmic axes.

use std::{error::Error, path::Path};

use plotters::{
    prelude::*,
    style::{FontStyle, register_font},
};

const SUPERSCRIPTS: [char; 10] = ['⁰', '¹', '²', '³', '⁴', '⁵', '⁶', '⁷', '⁸', '⁹'];

/// A line, with its name.
pub struct Series {
    pub label: String,
    pub style: ShapeStyle,
    pub points: Vec<(f64, f64)>,
}

/// A plot of several lines.
pub struct Plot {
    pub title: String,
    /// Names of the axes.
    pub x: &'static str,
    pub y: &'static str,
    pub series: Vec<Series>,
}

impl Plot {
    pub fn draw(self, svg: &Path) -> Result<(), Box<dyn Error>> {
        register_font("sans-serif", FontStyle::Normal, dejavu::sans::regular()).map_err(|_| "the font can't be read")?;
        let range = |of: fn(&(f64, f64)) -> f64| {
            let all = self.series.iter().flat_map(|series| &series.points).map(of);
            all.fold((f64::INFINITY, 0f64), |(low, high), value| (low.min(value), high.max(value)))
        };
        let ((first, last), (low, high)) = (range(|point| point.0), range(|point| point.1));
        let area = SVGBackend::new(&svg, (860, 520)).into_drawing_area();
        area.fill(&WHITE)?;
        let mut chart = ChartBuilder::on(&area)
            .caption(&self.title, ("sans-serif", 20))
            .margin(16)
            .x_label_area_size(44)
            .y_label_area_size(64)
            .build_cartesian_2d((first..last).log_scale(), (0.8 * low..1.25 * high).log_scale())?;
        chart
            .configure_mesh()
            .x_desc(self.x)
            .y_desc(self.y)
            .label_style(("sans-serif", 14))
            .x_label_formatter(&|&x| match x.log10() {
                4.0.. => format!("10{}", SUPERSCRIPTS[x.log10().round() as usize % 10]),
                _ => x.to_string(),
            })
            .y_label_formatter(&|y| format!("{}", (1e4 * y).round() / 1e4))
            .bold_line_style(BLACK.mix(0.2))
            .light_line_style(BLACK.mix(0.1))
            .draw()?;
        // The corner that rising or falling lines leave free.
        let rises = self
            .series
            .first()
            .is_some_and(|series| series.points.first().map(|point| point.1) < series.points.last().map(|point| point.1));
        let position = if rises { SeriesLabelPosition::UpperLeft } else { SeriesLabelPosition::UpperRight };
        for Series { label, style, points } in self.series {
            chart
                .draw_series(LineSeries::new(points, style.filled()).point_size(3))?
                .label(label)
                .legend(move |(x, y)| PathElement::new([(x, y), (x + 22, y)], style));
        }
        chart
            .configure_series_labels()
            .position(position)
            .border_style(BLACK.mix(0.3))
            .background_style(WHITE.mix(0.9))
            .label_font(("sans-serif", 14))
            .draw()?;
        area.present()?;
        println!("{}", svg.display());
        Ok(())
    }
}
