//! Loads and saves sets of functions, and loads barcodes. The format is told by the name's extension.
//!
//! | extension | holds |
//! | --- | --- |
//! | `.npz` | arrays `offsets` (one whole number more than functions) and `points` (breakpoints of all functions x 2: t and v; float32 or float64): function i has the rows `offsets[i]..offsets[i + 1]`. Where the functions are an array of other than one dimension, `shape` holds its extents |
//! | `.npy` | one array of shape (functions, breakpoints, 2), float32 or float64. Further dimensions in front are the functions' shape |
//! | `.csv` | text with the header `function,t,v` and a row for each breakpoint; functions are numbered from 0, one after the other |
//!
//! Saved files are written beside their place first, and renamed once they are complete.

mod csv;
mod npy;
mod npz;

use std::{fs::File, path::Path};

use super::{
    PcfError, PcfSet, Point, Real,
    barcode::{Bar, Barcode},
};
use crate::{
    files::{self, Destination},
    npy::Kind,
};

/// A set of functions in the precision that its file has.
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
    pub fn into_set<T: Real>(self) -> Result<PcfSet<T>, PcfError> {
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

    /// Whether there are none.
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
    /// NumPy's archive of arrays.
    Npz,
    /// One array of NumPy's.
    Npy,
    /// Text.
    Csv,
}

impl Format {
    /// The format that the name's extension tells, in capitals or not.
    ///
    /// # Errors
    /// Where it tells none.
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

/// Loads functions in the precision that the file has: of text, `f64`.
///
/// # Errors
/// Where the file can't be read, is no such file, or holds what is no function. The array, the column or the line is named.
pub fn load(path: &Path) -> Result<PcfData, PcfError> {
    match Format::of(path)? {
        Format::Npz => npz::load(path),
        Format::Npy => npy::load(path),
        Format::Csv => csv::load(path).map(PcfData::F64),
    }
}

/// Loads functions in the precision `T`.
///
/// # Errors
/// As [`load`], and where two breakpoints become one in `T` or a number is too large for it.
pub fn load_as<T: Real>(path: &Path) -> Result<PcfSet<T>, PcfError> {
    match Format::of(path)? {
        // Rounded once, not to f64 first. What is right in f64 is no fault of the file's.
        Format::Csv => csv::load(path).map_err(|error| match csv::load::<f64>(path).map(|set| set.cast::<T>()) {
            Ok(Err(narrow)) => PcfError::file(path, narrow),
            _ => error,
        }),
        _ => load(path)?.into_set().map_err(|error| PcfError::file(path, error)),
    }
}

/// Saves functions.
///
/// # Errors
/// Where the file can't be written, or the format can't hold the functions: `.npy` where the numbers of their breakpoints differ, and
/// `.csv` where their shape hasn't one dimension.
pub fn save<T: Real>(set: &PcfSet<T>, path: &Path) -> Result<(), PcfError> {
    let format = Format::of(path)?;
    save_at(set, &Destination::prepare(path)?, format)
}

/// As [`save`], to a destination that was prepared before.
///
/// # Errors
/// As [`save`].
pub fn save_at<T: Real>(set: &PcfSet<T>, destination: &Destination, format: Format) -> Result<(), PcfError> {
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

/// Loads barcodes: from `.csv` text with the header `birth,death` one, or with the header `barcode,birth,death` any number of them, in
/// the order of their numbers from 0 (a row without birth and death stands for a barcode without bars); from a `.npy` array of shape
/// (bars, 2) one. A death may be `inf`.
///
/// # Errors
/// Where the file can't be read, is no such file, or holds what is no bar. The line or the row is named.
pub fn load_barcodes(path: &Path) -> Result<Vec<Barcode>, PcfError> {
    let bars = match Format::of(path) {
        Ok(Format::Csv) => return csv::load_barcodes(path),
        Ok(Format::Npy) => npy::load_bars(path)?,
        _ => return Err(PcfError::file(path, "barcodes are read from .csv or .npy files")),
    };
    let barcode = Barcode::new(bars).map_err(|error| PcfError::file(path, error))?;
    Ok(vec![barcode])
}

/// Opens a file to read; gives its size, too, where it has one.
fn open(path: &Path) -> Result<(File, Option<u64>), PcfError> {
    files::open(path).map_err(|reason| PcfError::file(path, reason))
}

/// The points of an array's rows: the same memory, where it lies so that it can be.
fn points_of<T: Real>(values: Vec<T>) -> Vec<Point<T>> {
    bytemuck::allocation::try_cast_vec(values)
        .unwrap_or_else(|(_, values)| values.chunks_exact(2).map(|pair| Point::new(pair[0], pair[1])).collect())
}

/// The bars of an array's rows.
fn bars_of(values: impl IntoIterator<Item = f64>) -> Vec<Bar> {
    let mut values = values.into_iter();
    std::iter::from_fn(|| Some(Bar { birth: values.next()?, death: values.next()? })).collect()
}
