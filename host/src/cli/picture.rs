//! Pictures as files.

use std::{error::Error, io::Write as _, path::Path};

use plotters::{
    backend::{BitMapBackend, SVGBackend},
    coord::Shift,
    prelude::{DrawingArea, DrawingBackend, IntoDrawingArea as _},
    style::{FontStyle, register_font},
};
use warpsmith::io::files::Destination;

use super::{failure::Failure, output::Files};

/// A format of pictures.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    Png,
    Svg,
}

impl Format {
    /// The format that the name's extension tells.
    pub fn of(path: &Path) -> Result<Self, Failure> {
        let extension = path.extension().map(|extension| extension.to_string_lossy().to_ascii_lowercase());
        match extension.as_deref() {
            Some("png") => Ok(Format::Png),
            Some("svg") => Ok(Format::Svg),
            _ => {
                Err(Failure::error(format_args!("{}: the name must end in .png or .svg, which tells the format", path.display())))
            }
        }
    }
}

/// The font of what is drawn, which comes with the program.
pub const FONT: &str = "sans-serif";

/// What can be drawn in either format, in the same way.
pub trait Drawing {
    /// Pixels across and down.
    const SIZE: (u32, u32);

    /// Draws it, and presents the result.
    fn draw_on<DB: DrawingBackend>(&self, root: &DrawingArea<DB, Shift>) -> Result<(), Box<dyn Error>>
    where
        DB::ErrorType: 'static;

    /// The picture, as the bytes of a file.
    fn draw(&self, format: Format) -> Result<Vec<u8>, Box<dyn Error>> {
        register_font(FONT, FontStyle::Normal, dejavu::sans::regular()).map_err(|_| "the font can't be read")?;
        let (width, height) = Self::SIZE;
        match format {
            Format::Svg => {
                let mut text = String::new();
                self.draw_on(&SVGBackend::with_string(&mut text, (width, height)).into_drawing_area())?;
                Ok(text.into_bytes())
            }
            Format::Png => {
                let mut pixels = vec![255; (width * height * 3) as usize];
                self.draw_on(&BitMapBackend::with_buffer(&mut pixels, (width, height)).into_drawing_area())?;
                encode_png(width, height, &pixels)
            }
        }
    }
}

/// Makes sure, before anything is drawn, that a picture can be written; tells its format, too.
pub fn prepare(files: &mut Files, path: &Path) -> Result<(Format, Destination), Failure> {
    Ok((Format::of(path)?, files.write(path)?))
}

/// Writes a picture, if it could be drawn.
pub fn write(destination: &Destination, picture: Result<Vec<u8>, Box<dyn Error>>) -> Result<(), Failure> {
    let undrawn = |error| Failure::error(format_args!("{} can't be drawn: {error}", destination.name().display()));
    let bytes = picture.map_err(undrawn)?;
    Ok(destination.write(|file| file.write_all(&bytes))?)
}

/// A PNG of 8-bit RGB pixels.
pub fn encode_png(width: u32, height: u32, pixels: &[u8]) -> Result<Vec<u8>, Box<dyn Error>> {
    let mut bytes = Vec::new();
    let mut encoder = png::Encoder::new(&mut bytes, width, height);
    encoder.set_color(png::ColorType::Rgb);
    encoder.set_depth(png::BitDepth::Eight);
    let mut writer = encoder.write_header()?;
    writer.write_image_data(pixels)?;
    writer.finish()?;
    Ok(bytes)
}
