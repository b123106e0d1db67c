//! Drawings as files: in goes what plotters draws, out comes a PNG or SVG with the program's own font.

pub mod chart;

use std::{error::Error, fmt::Display, io::Write as _, ops::Range, path::Path};

use base64::{Engine as _, prelude::BASE64_STANDARD};
use plotters::{
    backend::{BitMapBackend, SVGBackend},
    coord::Shift,
    prelude::{DrawingArea, DrawingBackend, IntoDrawingArea as _, IntoFont as _, Text},
    style::{BLACK, FontStyle, RGBColor, TextStyle, register_font},
};
use warpsmith::io::files::{Destination, Temporary};

use super::{
    failure::Failure,
    output::{self, Files},
    size,
};

/// The font of all text. It comes with the program.
pub const FONT: &str = "sans-serif";
/// Width of the picture's edge that stays empty: plotters puts half of a rotated text beyond its area.
pub const EDGE: u32 = 10;

/// A picture's file, with the format that its name tells.
#[derive(Debug)]
pub struct Target {
    format: Format,
    destination: Destination,
}

/// A format of pictures.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    Png,
    Svg,
}

/// A drawing that looks the same in either format.
pub trait Drawing {
    /// Width and height in pixels.
    fn size(&self) -> (u32, u32);

    /// Coordinates per pixel. A PNG is averaged down from them, which makes edges smooth.
    fn finer(&self, _format: Format) -> u32 {
        1
    }

    /// Draws on an area of [`finer`](Self::finer) coordinates per pixel, and returns the images to lay over it.
    fn draw_on<DB: DrawingBackend>(&self, root: &DrawingArea<DB, Shift>, finer: u32) -> Result<Vec<Image>, Box<dyn Error>>
    where
        DB::ErrorType: 'static;

    /// Encodes the picture as the bytes of a file.
    fn draw(&self, format: Format) -> Result<Vec<u8>, Box<dyn Error>> {
        register_font(FONT, FontStyle::Normal, dejavu::sans::regular()).map_err(|_| "the font can't be read")?;
        let (size, finer) = (self.size(), self.finer(format));
        let fine = (size.0 * finer, size.1 * finer);
        match format {
            Format::Svg => {
                let mut text = String::new();
                let root = SVGBackend::with_string(&mut text, fine).into_drawing_area();
                let images = self.draw_on(&root, finer)?;
                root.present()?;
                drop(root);
                finish_svg(&text, size, fine, &images)
            }
            Format::Png => {
                let mut pixels = vec![255; (fine.0 * fine.1 * 3) as usize];
                let root = BitMapBackend::with_buffer(&mut pixels, fine).into_drawing_area();
                let images = self.draw_on(&root, finer)?;
                root.present()?;
                drop(root);
                images.iter().for_each(|image| image.paint(&mut pixels, fine.0));
                encode_png(size, &averaged(pixels, size, finer))
            }
        }
    }
}

/// A raster to lay over a rectangle of the drawing, enlarged without smoothing.
pub struct Image {
    /// Columns of the rectangle, in pixels.
    pub x: Range<u32>,
    /// Rows of the rectangle, in pixels.
    pub y: Range<u32>,
    /// Width of the raster.
    pub width: usize,
    /// Height of the raster.
    pub height: usize,
    /// The raster's pixels, row by row.
    pub pixels: Vec<RGBColor>,
}

impl Target {
    /// Checks, before anything is drawn, that the picture can be written.
    pub fn prepare(files: &mut Files, path: &Path) -> Result<Self, Failure> {
        Ok(Target { format: Format::of(path)?, destination: files.write(path)? })
    }

    /// Returns an error if a drawing of so many vertices needs more memory than is free.
    pub fn check_memory(&self, what: impl Display, vertices: usize) -> Result<(), Failure> {
        // Vertices as numbers and, in SVG, as the text of areas and edges, while it grows and is copied.
        let bytes = match self.format {
            Format::Png => 120,
            Format::Svg => 480,
        };
        size::check_memory(what, (bytes * vertices) as f64)
    }

    /// Draws the picture and writes it.
    pub fn write(&self, drawing: &impl Drawing) -> Result<(), Failure> {
        let (destination, file) = self.written(drawing)?;
        Ok(destination.persist(file)?)
    }

    /// Draws the picture and writes it to a temporary file.
    pub fn written(&self, drawing: &impl Drawing) -> Result<(&Destination, Temporary), Failure> {
        let undrawn = |error| Failure::error(format_args!("{} can't be drawn: {error}", self.name().display()));
        let bytes = drawing.draw(self.format).map_err(undrawn)?;
        Ok((&self.destination, self.destination.written(|file| file.write_all(&bytes))?))
    }

    /// The file's name.
    pub fn name(&self) -> &Path {
        self.destination.name()
    }
}

impl Format {
    fn of(path: &Path) -> Result<Self, Failure> {
        Ok(match output::Format::of(path, &[output::Format::Png, output::Format::Svg])? {
            output::Format::Png => Format::Png,
            _ => Format::Svg,
        })
    }
}

impl Image {
    fn paint(&self, pixels: &mut [u8], width: u32) {
        let index = |at: u32, range: &Range<u32>, n: usize| (at - range.start) as usize * n / range.len().max(1);
        for y in self.y.clone() {
            for x in self.x.clone() {
                let RGBColor(r, g, b) = self.pixels[index(y, &self.y, self.height) * self.width + index(x, &self.x, self.width)];
                let offset = ((y * width + x) * 3) as usize;
                pixels[offset..offset + 3].copy_from_slice(&[r, g, b]);
            }
        }
    }
}

/// Draws a title at the top left, in a smaller font if the picture of this width has no room for it.
pub fn draw_title<DB: DrawingBackend>(
    root: &DrawingArea<DB, Shift>,
    title: &str,
    size: f64,
    width: u32,
    finer: u32,
) -> Result<(), Box<dyn Error>>
where
    DB::ErrorType: 'static,
{
    let style = |size: f64| TextStyle::from((FONT, size * f64::from(finer)).into_font()).color(&BLACK);
    let title: String = title.chars().map(|character| if character.is_control() { ' ' } else { character }).collect();
    let (title_width, _) = root.estimate_text_size(&title, &style(size))?;
    let fitting = (size * f64::from((width - 24) * finer) / f64::from(title_width.max(1))).clamp(6.0, size);
    root.draw(&Text::new(title, (12 * finer as i32, 16 * finer as i32), style(fitting)))?;
    Ok(())
}

/// The mean of the `finer` x `finer` parts of each pixel.
fn averaged(pixels: Vec<u8>, (width, height): (u32, u32), finer: u32) -> Vec<u8> {
    if finer == 1 {
        return pixels;
    }
    let (width, finer) = (width as usize, finer as usize);
    let row = width * finer * 3;
    let mean = |index: usize| {
        let (y, x, colour) = (index / 3 / width, index / 3 % width, index % 3);
        let start = y * finer * row + x * finer * 3 + colour;
        let of = |part: usize| usize::from(pixels[start + part / finer * row + part % finer * 3]);
        ((0..finer * finer).map(of).sum::<usize>() / (finer * finer)) as u8
    };
    (0..width * height as usize * 3).map(mean).collect()
}

/// Gives an SVG its size in pixels, which its coordinates may be finer than, and adds the images at its end.
fn finish_svg(text: &str, size: (u32, u32), fine: (u32, u32), images: &[Image]) -> Result<Vec<u8>, Box<dyn Error>> {
    let opening = |(width, height): (u32, u32)| format!("<svg width=\"{width}\" height=\"{height}\"");
    let body = text.strip_prefix(&opening(fine)).ok_or("the drawing has no size")?;
    let body = body.trim_end().strip_suffix("</svg>").ok_or("the drawing has no end")?;
    let mut text = opening(size) + body;
    for Image { x, y, width, height, pixels } in images {
        let bytes: Vec<u8> = pixels.iter().flat_map(|&RGBColor(r, g, b)| [r, g, b]).collect();
        let png = encode_png((*width as u32, *height as u32), &bytes)?;
        text.push_str(&format!(
            "<image x=\"{}\" y=\"{}\" width=\"{}\" height=\"{}\" preserveAspectRatio=\"none\" style=\"image-rendering:pixelated\" \
             href=\"data:image/png;base64,{}\"/>\n",
            x.start,
            y.start,
            x.len(),
            y.len(),
            BASE64_STANDARD.encode(png)
        ));
    }
    text.push_str("</svg>\n");
    Ok(text.into_bytes())
}

/// Encodes 8-bit RGB pixels as a PNG.
fn encode_png((width, height): (u32, u32), pixels: &[u8]) -> Result<Vec<u8>, Box<dyn Error>> {
    let mut bytes = Vec::new();
    let mut encoder = png::Encoder::new(&mut bytes, width, height);
    encoder.set_color(png::ColorType::Rgb);
    encoder.set_depth(png::BitDepth::Eight);
    let mut writer = encoder.write_header()?;
    writer.write_image_data(pixels)?;
    writer.finish()?;
    Ok(bytes)
}
