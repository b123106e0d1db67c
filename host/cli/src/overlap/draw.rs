//! The picture of a packing, in PNG or SVG.

use std::error::Error;

use plotters::{coord::Shift, prelude::*};
use warpsmith::overlap::area;

use crate::{
    draw::{Drawing, EDGE, FONT, Format, Image, draw_title},
    format,
};

/// The longer side of the drawing, in pixels.
const SIDE: f64 = 900.0;
/// Least width and height of the drawing. Titles are readable at this width.
const LEAST: [f64; 2] = [360.0, 90.0];
/// Margins: labels to the left and below, the title above.
const LEFT: u32 = 84;
const RIGHT: u32 = 24;
const ABOVE: u32 = 56;
const BELOW: u32 = 56;
/// Margin within the drawing, in units of the longer side.
const MARGIN: f64 = 0.03;

/// Vertices lie on whole pixels of a finer picture. For PNG it is averaged, so that edges are
/// smooth.
const FINER_PNG: u32 = 4;
const FINER_SVG: u32 = 64;

/// Height of a row of the legend, and size of its font, in pixels.
const ROW: u32 = 24;
const SMALL: f64 = 14.0;
/// Width of a character of the legend, in pixels, about which the widest are.
const CHARACTER: f64 = 0.7 * SMALL;
/// Largest number of characters of a name in the legend.
const LONGEST: usize = 24;

/// Factor by which colours that are used again are darker.
const DARKER: f64 = 0.8;
/// Colours of shapes in the order of their names.
const SHAPES: [RGBColor; 10] = [
    RGBColor(168, 194, 162),
    RGBColor(150, 180, 222),
    RGBColor(240, 190, 130),
    RGBColor(196, 168, 216),
    RGBColor(236, 222, 130),
    RGBColor(140, 206, 204),
    RGBColor(240, 172, 172),
    RGBColor(196, 168, 140),
    RGBColor(204, 204, 204),
    RGBColor(190, 224, 120),
];
const EDGES: RGBColor = RGBColor(72, 84, 76);
const COMMON: RGBColor = RGBColor(214, 39, 40);
const CONTAINER: RGBColor = RGBColor(40, 40, 40);

/// The rings of one pose.
pub struct Polygons {
    /// Index of the shape.
    pub shape: usize,
    pub rings: Vec<Vec<[f64; 2]>>,
}

/// The contents of a picture.
pub struct Picture<'a> {
    pub title: &'a str,
    /// The shapes' names. The legend has those of several.
    pub names: Vec<&'a str>,
    pub polygons: Vec<Polygons>,
    /// Overlaps of two of them.
    pub common: Vec<Vec<[f64; 2]>>,
    /// A polygon around them.
    pub container: Vec<[f64; 2]>,
}

impl Picture<'_> {
    /// Range of each coordinate, with a margin.
    fn ranges(&self) -> [[f64; 2]; 2] {
        let rings = self.polygons.iter().flat_map(|polygons| &polygons.rings).flatten().chain(&self.container);
        let none = [[f64::INFINITY, f64::NEG_INFINITY]; 2];
        let ranges = rings
            .fold(none, |[x, y], point| [[x[0].min(point[0]), x[1].max(point[0])], [y[0].min(point[1]), y[1].max(point[1])]]);
        let margin = MARGIN * ranges.iter().map(|[low, high]| high - low).fold(0.0, f64::max);
        ranges.map(|[low, high]| [low - margin, high + margin])
    }

    /// The drawing's width and height in pixels. Both directions have the same number of pixels per
    /// unit.
    fn plot_size(&self) -> [u32; 2] {
        let extents = self.ranges().map(|[low, high]| high - low);
        let scale = SIDE / extents[0].max(extents[1]);
        [0, 1].map(|axis| (extents[axis] * scale).max(LEAST[axis]).round() as u32)
    }

    /// A shape's colour, which depends on the names alone, whatever the order of the shapes is.
    fn colour(&self, shape: usize) -> RGBColor {
        let name = self.names.get(shape);
        let index = self.names.iter().filter(|other| Some(*other) < name).count();
        let RGBColor(r, g, b) = SHAPES[index % SHAPES.len()];
        let shade = |part: u8| (f64::from(part) * DARKER.powi((index / SHAPES.len()) as i32)) as u8;
        RGBColor(shade(r), shade(g), shade(b))
    }

    /// Each shape's colour with its name and number of copies, if there are several shapes.
    fn legend(&self) -> Vec<(RGBColor, String)> {
        let entry = |(shape, name): (usize, &&str)| {
            let count = self.polygons.iter().filter(|polygons| polygons.shape == shape).count();
            // Numbers are at the end.
            let characters: Vec<char> = name.chars().collect();
            let name = match characters.len() {
                0..=LONGEST => String::from_iter(characters),
                len => {
                    String::from_iter(characters[..LONGEST / 2].iter().chain(&['…']).chain(&characters[len + 1 - LONGEST / 2..]))
                }
            };
            (self.colour(shape), format!("{name} × {}", format::grouped(count)))
        };
        self.names.iter().enumerate().filter(|_| self.names.len() > 1).map(entry).collect()
    }

    /// Width of the legend in pixels.
    fn legend_width(&self) -> u32 {
        let longest = self.legend().iter().map(|(_, text)| text.chars().count()).max();
        longest.map_or(0, |characters| 2 * ROW + (CHARACTER * characters as f64) as u32)
    }

    /// Draws the legend to the right of the chart, as far as there is room.
    fn draw_legend<DB: DrawingBackend>(&self, root: &DrawingArea<DB, Shift>, finer: u32) -> Result<(), Box<dyn Error>>
    where
        DB::ErrorType: 'static,
    {
        let (finer, row) = (finer as i32, ROW as i32);
        let [width, height] = self.plot_size();
        let left = (LEFT + width + RIGHT) as i32;
        let at = |x: i32, y: i32| (finer * x, finer * y);
        let font = || (FONT, SMALL * f64::from(finer)).into_font();
        let (mut entries, most) = (self.legend(), (height / ROW) as usize);
        let more = (entries.len() > most).then(|| format!("and {} more", entries.len() + 1 - most));
        entries.truncate(most - usize::from(more.is_some()));
        let mut top = ABOVE as i32;
        for (colour, text) in entries {
            let swatch = [at(left, top), at(left + row - 8, top + row - 8)];
            root.draw(&Rectangle::new(swatch, colour.filled()))?;
            root.draw(&Rectangle::new(swatch, EDGES.stroke_width(finer as u32)))?;
            root.draw(&Text::new(text, at(left + row, top + 3), font()))?;
            top += row;
        }
        Ok(more.map_or(Ok(()), |text| root.draw(&Text::new(text, at(left, top + 3), font())))?)
    }
}

impl Drawing for Picture<'_> {
    fn size(&self) -> (u32, u32) {
        let [width, height] = self.plot_size();
        (LEFT + width + RIGHT + self.legend_width(), ABOVE + height + BELOW)
    }

    fn finer(&self, format: Format) -> u32 {
        match format {
            Format::Png => FINER_PNG,
            Format::Svg => FINER_SVG,
        }
    }

    fn draw_on<DB: DrawingBackend>(&self, root: &DrawingArea<DB, Shift>, finer: u32) -> Result<Vec<Image>, Box<dyn Error>>
    where
        DB::ErrorType: 'static,
    {
        root.fill(&WHITE)?;
        let scale = f64::from(finer);
        let font = |size: f64| (FONT, size * scale).into_font();
        draw_title(root, self.title, 20.0, self.size().0, finer)?;

        // If the shorter side is lengthened, its range is too.
        let [plot_width, plot_height] = self.plot_size();
        let [x, y] = self.ranges();
        let unit = ((x[1] - x[0]) / f64::from(plot_width)).max((y[1] - y[0]) / f64::from(plot_height));
        let widened = |[low, high]: [f64; 2], pixels: u32| {
            let (middle, half) = (0.5 * (low + high), 0.5 * unit * f64::from(pixels));
            middle - half..middle + half
        };
        let area = root.margin(ABOVE * finer, 0, EDGE * finer, (RIGHT + self.legend_width()) * finer);
        let mut chart = ChartBuilder::on(&area)
            .set_label_area_size(LabelAreaPosition::Left, (LEFT - EDGE) * finer)
            .set_label_area_size(LabelAreaPosition::Bottom, BELOW * finer)
            .build_cartesian_2d(widened(x, plot_width), widened(y, plot_height))?;
        let labels = |pixels: u32| (pixels / 70).clamp(2, 11) as usize;
        let decimals = |pixels: u32| {
            let step = unit * f64::from(pixels) / labels(pixels) as f64;
            (1.0 - step.log10()).ceil().clamp(0.0, 12.0) as usize
        };
        chart
            .configure_mesh()
            .disable_mesh()
            .x_labels(labels(plot_width))
            .y_labels(labels(plot_height))
            .x_label_formatter(&|value| format::trimmed(*value, decimals(plot_width)))
            .y_label_formatter(&|value| format::trimmed(*value, decimals(plot_height)))
            .set_all_tick_mark_size(5 * finer)
            .axis_style(BLACK.stroke_width(finer))
            .x_desc("x")
            .y_desc("y")
            .label_style(font(13.0))
            .axis_desc_style(font(15.0))
            .draw()?;

        let points = |ring: &[[f64; 2]]| ring.iter().map(|&[x, y]| (x, y)).collect::<Vec<_>>();
        let closed = |ring: &[[f64; 2]]| ring.iter().chain(ring.first()).map(|&[x, y]| (x, y)).collect::<Vec<_>>();
        let rings = || self.polygons.iter().flat_map(|polygons| polygons.rings.iter().map(move |ring| (polygons.shape, ring)));
        for Polygons { shape, rings } in &self.polygons {
            let fill = self.colour(*shape).filled();
            chart.draw_series(joined(rings).iter().map(|ring| Polygon::new(points(ring), fill)))?;
        }
        chart.draw_series(self.common.iter().map(|ring| Polygon::new(points(ring), COMMON.filled())))?;
        chart.draw_series(rings().map(|(_, ring)| PathElement::new(closed(ring), EDGES.stroke_width(finer))))?;
        chart.draw_series([PathElement::new(closed(&self.container), CONTAINER.stroke_width(2 * finer))])?;
        self.draw_legend(root, finer)?;
        Ok(Vec::new())
    }
}

/// Joins an outline and its holes, which run the other way round, to one ring: each hole by a way there and back.
fn joined(rings: &[Vec<[f64; 2]>]) -> Vec<Vec<[f64; 2]>> {
    match rings {
        [outline, holes @ ..] if holes.iter().any(|hole| area(hole) < 0.0) => {
            vec![
                [outline]
                    .into_iter()
                    .chain(holes)
                    .flat_map(|ring| ring.iter().chain(&ring[..1]).chain(&outline[..1]))
                    .copied()
                    .collect(),
            ]
        }
        rings => rings.to_vec(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn legends() {
        fn of(names: &[&str], shapes: &[usize]) -> Vec<(RGBColor, String)> {
            let polygons = shapes.iter().map(|&shape| Polygons { shape, rings: Vec::new() }).collect();
            Picture { title: "", names: names.to_vec(), polygons, common: Vec::new(), container: Vec::new() }.legend()
        }
        assert!(of(&["a"], &[0, 0]).is_empty());
        let legend = of(&["b", "a", "a-name-of-more-than-24-letters-10"], &[0, 1, 0]);
        let texts: Vec<&str> = legend.iter().map(|(_, text)| &**text).collect();
        assert_eq!(texts, ["b × 2", "a × 1", "a-name-of-mo…-letters-10 × 0"]);
        // Names alone tell the colours.
        let other = of(&["a", "a-name-of-more-than-24-letters-10", "b"], &[]);
        let many: Vec<String> = (0..22).map(|name| format!("{name:02}")).collect();
        let many = of(&many.iter().map(String::as_str).collect::<Vec<_>>(), &[]);
        assert!((0..22).all(|k| many[..k].iter().all(|(colour, _)| *colour != many[k].0)));
        let colours = |order: [usize; 3]| order.map(|shape| other[shape].0);
        assert_eq!(legend.iter().map(|(colour, _)| *colour).collect::<Vec<_>>(), colours([2, 0, 1]));
        assert!(legend[0].0 != legend[1].0 && legend[1].0 != legend[2].0);
    }
}
