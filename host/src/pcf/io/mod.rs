//! Loads and saves sets of functions, and loads barcodes. The file name's extension selects the
//! format.
//!
//! | extension | holds |
//! | --- | --- |
//! | `.npz` | arrays `offsets` (one whole number more than functions) and `points` (breakpoints of all functions x 2: t and v; float32 or float64): function i has the rows `offsets[i]..offsets[i + 1]`. Where the functions are an array of other than one dimension, `shape` holds its extents |
//! | `.npy` | one array of shape (functions, breakpoints, 2), float32 or float64. Further dimensions in front are the functions' shape |
//! | `.csv` | text with the header `function,t,v` and a row for each breakpoint; functions are numbered from 0, one after the other |
//!
//! Files are saved as a whole or not at all.

mod csv;
mod npy;
pub(super) mod npz;

use std::path::Path;

use super::{
    PcfError, PcfReal, PcfSet, Point, Repairs,
    barcode::{Bar, Barcode, Filtration},
};
use crate::io::{
    Input, Reason, collect,
    files::Destination,
    npy::{Kind, Reader, tuple},
};

/// A set of functions in its file's precision.
#[derive(Clone, Debug, PartialEq)]
pub enum PcfData {
    /// Single precision.
    F32(PcfSet<f32>),
    /// Double precision.
    F64(PcfSet<f64>),
}

impl PcfData {
    /// The set in the precision `T`.
    ///
    /// # Errors
    /// As [`PcfSet::cast`].
    pub fn into_set<T: PcfReal>(self) -> Result<PcfSet<T>, PcfError> {
        match self {
            PcfData::F32(set) => set.into_cast(),
            PcfData::F64(set) => set.into_cast(),
        }
    }

    /// The number of functions.
    pub fn len(&self) -> usize {
        match self {
            PcfData::F32(set) => set.len(),
            PcfData::F64(set) => set.len(),
        }
    }

    /// Returns true if the set has no functions.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The type of the functions' numbers.
    pub fn kind(&self) -> Kind {
        match self {
            PcfData::F32(_) => Kind::F32,
            PcfData::F64(_) => Kind::F64,
        }
    }
}

/// A format of files.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// A NumPy archive of arrays.
    Npz,
    /// A NumPy array.
    Npy,
    /// Text.
    Csv,
}

impl Format {
    /// Returns the format of the name's extension, in upper or lower case.
    ///
    /// # Errors
    /// The extension names no format.
    pub fn of(path: &Path) -> Result<Self, PcfError> {
        let extension = path.extension().and_then(|extension| extension.to_str()).unwrap_or_default();
        match extension.to_ascii_lowercase().as_str() {
            "npz" => Ok(Format::Npz),
            "npy" => Ok(Format::Npy),
            "csv" => Ok(Format::Csv),
            _ => Err(PcfError::file(path, "the name must end in .npz, .npy or .csv, which tells the format")),
        }
    }
}

/// Loads functions in the file's precision; text is `f64`.
///
/// # Errors
/// The file can't be read, has another format, or contains an invalid function. The error names the
/// array, the column or the line.
pub fn load(path: &Path) -> Result<PcfData, PcfError> {
    load_and(path, None)
}

/// Loads functions that may need [repair](PcfSet::repaired), and returns the repairs, too.
///
/// # Errors
/// As [`load`], except for functions that can be repaired.
pub fn load_repaired(path: &Path) -> Result<(PcfData, Repairs), PcfError> {
    let mut repairs = Repairs::default();
    let data = load_and(path, Some(&mut repairs))?;
    Ok((data, repairs))
}

fn load_and(path: &Path, repairs: Option<&mut Repairs>) -> Result<PcfData, PcfError> {
    match Format::of(path)? {
        Format::Npz => npz::load(path, repairs),
        Format::Npy => npy::load(path, repairs),
        Format::Csv => csv::load(path, repairs).map(PcfData::F64),
    }
}

/// Loads functions in the precision `T`.
///
/// # Errors
/// As [`load`], and breakpoints that coincide in `T` or numbers too large for it.
pub fn load_as<T: PcfReal>(path: &Path) -> Result<PcfSet<T>, PcfError> {
    match Format::of(path)? {
        Format::Csv => csv::load(path, None),
        _ => load(path)?.into_set().map_err(|error| PcfError::file(path, error.to_string())),
    }
}

/// Saves functions.
///
/// # Errors
/// The file can't be written, or the format can't represent the functions: `.npy` needs equal
/// numbers of breakpoints, and `.csv` a one-dimensional shape.
pub fn save<T: PcfReal>(set: &PcfSet<T>, path: &Path) -> Result<(), PcfError> {
    let format = Format::of(path)?;
    save_at(set, &Destination::prepare(path)?, format)
}

/// Saves functions to a prepared destination.
///
/// # Errors
/// As [`save`].
pub fn save_at<T: PcfReal>(set: &PcfSet<T>, destination: &Destination, format: Format) -> Result<(), PcfError> {
    match format {
        Format::Npy => npy::check(set).map_err(|reason| PcfError::file(destination.name(), reason))?,
        Format::Csv if set.shape().len() != 1 => {
            let text = "functions of a shape of other than one dimension can't be saved as text; use .npz";
            return Err(PcfError::file(destination.name(), text));
        }
        Format::Npz | Format::Csv => {}
    }
    destination.write(|file| match format {
        Format::Npz => npz::write(set, file),
        Format::Npy => npy::write(set, file),
        Format::Csv => csv::write(set, file),
    })?;
    tracing::info!(functions = set.len(), "wrote {}", destination.name().display());
    Ok(())
}

/// Selects the bars of a file, and their filtration.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct BarcodeOptions {
    /// Reads only bars of this dimension. Required if the file has several dimensions.
    pub dimension: Option<u32>,
    /// The filtration of the bars.
    pub filtration: Filtration,
}

/// Loads barcodes.
///
/// | extension | holds |
/// | --- | --- |
/// | `.csv` | text with the header `birth,death`: one barcode. In front there may be `dimension`, and in front of that `barcode`: any number of barcodes, numbered from 0, one after the other; a row with nothing else stands for a barcode without bars |
/// | `.npy` | one barcode: an array of shape (bars, 2) |
/// | `.npz` | any number of barcodes: arrays `offsets` (one whole number more than barcodes) and `bars` (all bars x 2): barcode i has the rows `offsets[i]..offsets[i + 1]` |
///
/// A death may be `inf`, or `-inf` in superlevel filtrations.
///
/// # Errors
/// The file can't be read, has another format, mixes several dimensions without a choice, or
/// contains an invalid bar. The error names the line or the row.
pub fn load_barcodes(path: &Path, options: BarcodeOptions) -> Result<Vec<Barcode>, PcfError> {
    match Format::of(path) {
        Ok(Format::Csv) => csv::load_barcodes(path, options),
        Err(_) => Err(PcfError::file(path, "barcodes are read from .csv, .npz or .npy files")),
        Ok(Format::Npy | Format::Npz) if options.dimension.is_some() => {
            Err(PcfError::file(path, "has no dimensions to choose from: only text with a column `dimension` has"))
        }
        Ok(Format::Npy) => {
            let barcode = Barcode::of(options.filtration, npy::load_bars(path)?);
            Ok(vec![barcode.map_err(|error| PcfError::file(path, error.to_string()))?])
        }
        Ok(Format::Npz) => npz::load_barcodes(path, options.filtration),
    }
}

/// Unchecked functions, as read from a file.
struct Raw<T> {
    offsets: Vec<usize>,
    points: Vec<Point<T>>,
    /// `None` for a one-dimensional set.
    shape: Option<Vec<usize>>,
}

impl<T: PcfReal> Raw<T> {
    /// Checks the functions, or repairs them if `repairs` is given. `place` adds the part of the
    /// file to an error, from the index of the point.
    fn set(
        self,
        repairs: Option<&mut Repairs>,
        place: impl Fn(Option<usize>, PcfError) -> PcfError,
    ) -> Result<PcfSet<T>, PcfError> {
        let Raw { offsets, points, shape } = self;
        let starts = offsets.clone();
        let set = match repairs {
            None => PcfSet::from_parts(offsets, points),
            Some(repairs) => PcfSet::repaired(offsets, points).map(|(set, done)| {
                *repairs = done;
                set
            }),
        };
        let set = set.map_err(|error| {
            let point = error.breakpoint().map(|(function, breakpoint)| starts[function] + breakpoint);
            place(point, error)
        })?;
        match shape {
            Some(shape) => set.with_shape(&shape).map_err(|error| place(None, error)),
            None => Ok(set),
        }
    }
}

/// Converts an array's rows to points, in place if the alignment allows it.
fn points_of<T: PcfReal>(values: Vec<T>) -> Vec<Point<T>> {
    bytemuck::allocation::try_cast_vec(values)
        .unwrap_or_else(|(_, values)| values.chunks_exact(2).map(|pair| Point::new(pair[0], pair[1])).collect())
}

/// Reads an array of bars.
fn bars_of(array: Reader<impl Input>, what: &str) -> Result<Vec<Bar>, Reason> {
    fn bars<N: Copy>(values: Vec<N>, wide: impl Fn(N) -> f64) -> Result<Vec<Bar>, Reason> {
        collect(values.as_chunks().0.iter().map(|&[birth, death]| Bar { birth: wide(birth), death: wide(death) }))
    }
    let kind = array.kind(what, &[Kind::F32, Kind::F64, Kind::I32, Kind::I64])?;
    if !matches!(array.shape(), [_, 2]) {
        let shape = tuple(array.shape());
        return Err(format!("holds an array of shape {shape}, but that of bars must be (bars, 2): births and deaths").into());
    }
    match kind {
        Kind::F32 => bars(array.read::<f32>(|_| {})?, f64::from),
        Kind::I32 => bars(array.read::<i32>(|_| {})?, f64::from),
        Kind::I64 => bars(array.read::<i64>(|_| {})?, |value| value as f64),
        _ => bars(array.read::<f64>(|_| {})?, |value| value),
    }
}
