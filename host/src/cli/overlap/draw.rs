//! The picture of a packing, in PNG or SVG.

use std::error::Error;

use plotters::{
    backend::{BitMapBackend, SVGBackend},
    coord::Shift,
    prelude::*,
    style::{FontStyle, register_font},
};

use warpsmith::files::Destination;

use crate::cli::{
    failure::Failure,
    picture::{self, Format, encode_png},
};

/// The longer side of the drawing, in pixels.
const SIDE: f64 = 900.0;
/// Its shorter side is at least this long.
const SHORTEST: f64 = 90.0;
/// Margins: labels to the left and below, the title above.
const LEFT: u32 = 84;
const RIGHT: u32 = 24;
const ABOVE: u32 = 56;
const BELOW: u32 = 56;
/// Empty margin at the picture's edge. Text turned by a right angle extends halfway beyond its place.
const EDGE: u32 = 10;
/// Margin within the drawing, in units of the longer side.
const MARGIN: f64 = 0.03;

/// Vertices lie on whole pixels of a finer picture. For PNG it is averaged, so that edges are smooth.
const FINER_PNG: u32 = 4;
const FINER_SVG: u32 = 64;

const FONT: &str = "sans-serif";
/// Colours of shapes 0, 1, ..., used in turn.
const SHAPES: [RGBColor; 6] = [
    RGBColor(168, 194, 162),
    RGBColor(168, 184, 208),
    RGBColor(214, 196, 160),
    RGBColor(192, 174, 202),
    RGBColor(160, 198, 196),
    RGBColor(200, 200, 200),
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
    pub polygons: Vec<Polygons>,
    /// Overlaps of two of them.
    pub common: Vec<Vec<[f64; 2]>>,
    /// A polygon around them.
    pub container: Vec<[f64; 2]>,
}

impl Picture<'_> {
    /// Writes the picture.
    pub fn write(&self, (format, destination): &(Format, Destination)) -> Result<(), Failure> {
        picture::write(
            destination,
            match format {
                Format::Png => self.png(),
                Format::Svg => self.svg(),
            },
        )
    }

    fn png(&self) -> Result<Vec<u8>, Box<dyn Error>> {
        let (width, height) = self.size();
        let finer = FINER_PNG as usize;
        let mut pixels = vec![255; (width * height * FINER_PNG * FINER_PNG * 3) as usize];
        let root = BitMapBackend::with_buffer(&mut pixels, (width * FINER_PNG, height * FINER_PNG)).into_drawing_area();
        self.draw(&root, FINER_PNG)?;
        drop(root);
        let row = width as usize * finer * 3;
        let mean = |index: usize| {
            let (y, x, colour) = (index / 3 / width as usize, index / 3 % width as usize, index % 3);
            let start = y * finer * row + x * finer * 3 + colour;
            let of = |part: usize| usize::from(pixels[start + part / finer * row + part % finer * 3]);
            ((0..finer * finer).map(of).sum::<usize>() / (finer * finer)) as u8
        };
        let means: Vec<u8> = (0..(width * height * 3) as usize).map(mean).collect();
        encode_png(width, height, &means)
    }

    fn svg(&self) -> Result<Vec<u8>, Box<dyn Error>> {
        let mut text = String::new();
        let (width, height) = self.size();
        let finer = (width * FINER_SVG, height * FINER_SVG);
        let root = SVGBackend::with_string(&mut text, finer).into_drawing_area();
        self.draw(&root, FINER_SVG)?;
        drop(root);
        // Shown at the intended size; the box of coordinates stays.
        let size = |(width, height): (u32, u32)| format!("<svg width=\"{width}\" height=\"{height}\"");
        let (fine, shown) = (size(finer), size((width, height)));
        if !text.starts_with(&fine) {
            return Err("the drawing has no size".into());
        }
        Ok(format!("{shown}{}", &text[fine.len()..]).into_bytes())
    }

    /// Range of each coordinate, with a margin.
    fn ranges(&self) -> [[f64; 2]; 2] {
        let rings = self.polygons.iter().flat_map(|polygons| &polygons.rings).flatten().chain(&self.container);
        let none = [[f64::INFINITY, f64::NEG_INFINITY]; 2];
        let ranges = rings
            .fold(none, |[x, y], point| [[x[0].min(point[0]), x[1].max(point[0])], [y[0].min(point[1]), y[1].max(point[1])]]);
        let margin = MARGIN * ranges.iter().map(|[low, high]| high - low).fold(0.0, f64::max);
        ranges.map(|[low, high]| [low - margin, high + margin])
    }

    /// The drawing's width and height in pixels. Both directions have the same number of pixels per unit.
    fn plot_size(&self) -> [u32; 2] {
        let extents = self.ranges().map(|[low, high]| high - low);
        let scale = SIDE / extents[0].max(extents[1]);
        extents.map(|extent| (extent * scale).max(SHORTEST).round() as u32)
    }

    fn size(&self) -> (u32, u32) {
        let [width, height] = self.plot_size();
        (LEFT + width + RIGHT, ABOVE + height + BELOW)
    }

    /// Draws everything, `finer` times as large.
    fn draw<DB: DrawingBackend>(&self, root: &DrawingArea<DB, Shift>, finer: u32) -> Result<(), Box<dyn Error>>
    where
        DB::ErrorType: 'static,
    {
        register_font(FONT, FontStyle::Normal, dejavu::sans::regular()).map_err(|_| "the font can't be read")?;
        root.fill(&WHITE)?;
        let scale = f64::from(finer);
        let font = |size: f64| (FONT, size * scale).into_font();
        let title: String = self.title.chars().map(|character| if character.is_control() { ' ' } else { character }).collect();
        let (width, _) = self.size();
        let (title_width, _) = root.estimate_text_size(&title, &TextStyle::from(font(20.0)))?;
        // A long title is smaller.
        let size = (20.0 * f64::from((width - 24) * finer) / f64::from(title_width.max(1))).clamp(6.0, 20.0);
        root.draw(&Text::new(title, (12 * finer as i32, 16 * finer as i32), TextStyle::from(font(size)).color(&BLACK)))?;

        // If the shorter side is lengthened, its range is too.
        let [plot_width, plot_height] = self.plot_size();
        let [x, y] = self.ranges();
        let unit = ((x[1] - x[0]) / f64::from(plot_width)).max((y[1] - y[0]) / f64::from(plot_height));
        let widened = |[low, high]: [f64; 2], pixels: u32| {
            let (middle, half) = (0.5 * (low + high), 0.5 * unit * f64::from(pixels));
            middle - half..middle + half
        };
        let area = root.margin(ABOVE * finer, 0, EDGE * finer, RIGHT * finer);
        let mut chart = ChartBuilder::on(&area)
            .set_label_area_size(LabelAreaPosition::Left, (LEFT - EDGE) * finer)
            .set_label_area_size(LabelAreaPosition::Bottom, BELOW * finer)
            .build_cartesian_2d(widened(x, plot_width), widened(y, plot_height))?;
        let labels = |pixels: u32| (pixels / 90).clamp(2, 11) as usize;
        let decimals = |pixels: u32| {
            let step = unit * f64::from(pixels) / labels(pixels) as f64;
            (1.0 - step.log10()).ceil().clamp(0.0, 12.0) as usize
        };
        let number = |value: f64, decimals: usize| {
            let text = format!("{value:.decimals$}");
            let text = if text.contains('.') { text.trim_end_matches('0').trim_end_matches('.') } else { &text };
            if text == "-0" { "0".to_owned() } else { text.to_owned() }
        };
        chart
            .configure_mesh()
            .disable_mesh()
            .x_labels(labels(plot_width))
            .y_labels(labels(plot_height))
            .x_label_formatter(&|value| number(*value, decimals(plot_width)))
            .y_label_formatter(&|value| number(*value, decimals(plot_height)))
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
        chart.draw_series(rings().map(|(shape, ring)| Polygon::new(points(ring), SHAPES[shape % SHAPES.len()].filled())))?;
        chart.draw_series(self.common.iter().map(|ring| Polygon::new(points(ring), COMMON.filled())))?;
        chart.draw_series(rings().map(|(_, ring)| PathElement::new(closed(ring), EDGES.stroke_width(finer))))?;
        chart.draw_series([PathElement::new(closed(&self.container), CONTAINER.stroke_width(2 * finer))])?;
        root.present()?;
        Ok(())
    }
}
