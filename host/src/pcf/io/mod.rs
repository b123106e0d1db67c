//! Loads and saves sets of functions, and loads barcodes. The file name's extension selects the
//! format.
//!
//! | extension | holds |
//! | --- | --- |
//! | `.npz` | arrays `offsets` (one whole number more than functions) and `points` (breakpoints of all functions x 2: t and v; float32 or float64): function i has the rows `offsets[i]..offsets[i + 1]`. Where the functions are an array of other than one dimension, `shape` holds its extents |
//! | `.npy` | one array of shape (functions, breakpoints, 2), float32 or float64. Further dimensions in front are the functions' shape |
//! | `.csv`, `.tsv`, `.txt`, also compressed by gzip or Zstandard | a table with a row for each breakpoint: its function's name (`id`), its time (`t`: a number, or a time of RFC 3339) and its value (`v`), in any order |
//!
//! Files are saved as a whole or not at all.

mod bars;
mod csv;
mod npy;
pub(super) mod npz;

use std::{
    path::{Path, PathBuf},
    sync::Arc,
};

pub use self::csv::time;
use super::{
    PcfError, PcfReal, PcfSet, Point, Repairs, Window,
    barcode::{Barcode, Filtration},
};
use crate::io::{
    Input, Reason, TableOptions, check_names, collect,
    files::{Destination, by_extension},
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
        Ok(by_extension(path, &[("npz", Format::Npz), ("npy", Format::Npy), ("csv", Format::Csv)], Format::Csv)?)
    }

    /// Returns the format of a file to read: that of the extension, otherwise a table.
    fn of_input(path: &Path) -> Self {
        Format::of(path).unwrap_or(Format::Csv)
    }
}

/// Options of reading functions.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct LoadOptions {
    /// Layout of tables.
    pub table: TableOptions,
    /// The part of time to read.
    pub window: Window,
}

/// Loads functions in the file's precision; text is `f64`.
///
/// # Errors
/// The file can't be read, has another format, or contains an invalid function. The error names the
/// array, the column or the line.
pub fn load(path: &Path) -> Result<PcfData, PcfError> {
    load_and(path, &LoadOptions::default(), None)
}

/// Loads functions as [`load`] does, with options.
///
/// # Errors
/// As [`load`], and if the window is invalid.
pub fn load_with(path: &Path, options: &LoadOptions) -> Result<PcfData, PcfError> {
    load_and(path, options, None)
}

/// Loads functions that may need [repair](PcfSet::repaired), and returns the repairs, too.
///
/// # Errors
/// As [`load`], except for functions that can be repaired.
pub fn load_repaired(path: &Path) -> Result<(PcfData, Repairs), PcfError> {
    load_repaired_with(path, &LoadOptions::default())
}

/// Loads functions as [`load_repaired`] does, with options.
///
/// # Errors
/// As [`load_repaired`], and if the window is invalid.
pub fn load_repaired_with(path: &Path, options: &LoadOptions) -> Result<(PcfData, Repairs), PcfError> {
    let mut repairs = Repairs::default();
    let data = load_and(path, options, Some(&mut repairs))?;
    Ok((data, repairs))
}

fn load_and(path: &Path, options: &LoadOptions, repairs: Option<&mut Repairs>) -> Result<PcfData, PcfError> {
    let LoadOptions { table, window } = options;
    match Format::of_input(path) {
        Format::Npz => npz::load(path, window, repairs),
        Format::Npy => npy::load(path, window, repairs),
        Format::Csv if window.is_all() => csv::load(path, table, repairs).map(PcfData::F64),
        Format::Csv => csv::load_window(path, table, window, repairs).map(PcfData::F64),
    }
}

/// Loads functions in the precision `T`.
///
/// # Errors
/// As [`load`], and breakpoints that coincide in `T` or numbers too large for it.
pub fn load_as<T: PcfReal>(path: &Path) -> Result<PcfSet<T>, PcfError> {
    load_as_with(path, &LoadOptions::default())
}

/// Loads functions as [`load_as`] does, with options.
///
/// # Errors
/// As [`load_as`], and if the window is invalid.
pub fn load_as_with<T: PcfReal>(path: &Path, options: &LoadOptions) -> Result<PcfSet<T>, PcfError> {
    match Format::of_input(path) {
        Format::Csv if options.window.is_all() => csv::load(path, &options.table, None),
        _ => load_with(path, options)?.into_set().map_err(|error| PcfError::file(path, error.to_string())),
    }
}

/// Saves functions.
///
/// # Errors
/// The file can't be written, or the format can't represent the functions: `.npy` needs equal
/// numbers of breakpoints, and `.csv` a one-dimensional shape and different names.
pub fn save<T: PcfReal>(set: &PcfSet<T>, path: &Path) -> Result<(), PcfError> {
    let format = Format::of(path)?;
    save_at(set, &Destination::prepare(path)?, format)
}

/// Saves functions to a prepared destination.
pub fn save_at<T: PcfReal>(set: &PcfSet<T>, destination: &Destination, format: Format) -> Result<(), PcfError> {
    match format {
        Format::Npy => npy::check(set).map_err(|reason| PcfError::file(destination.name(), reason))?,
        Format::Csv if set.shape().len() != 1 => {
            let text = "functions of a shape of other than one dimension can't be saved as text; use .npz";
            return Err(PcfError::file(destination.name(), text));
        }
        Format::Csv => {
            let what = |function| format!("function {function}");
            check_names(set.names().map(|names| &**names), true, what)
                .map_err(|reason| PcfError::file(destination.name(), reason))?;
        }
        Format::Npz => {}
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
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct BarcodeOptions {
    /// Reads only bars of this dimension. Required if the file has several dimensions.
    pub dimension: Option<u32>,
    /// The filtration of the bars.
    pub filtration: Filtration,
    /// Treatment of bars without end.
    pub infinite: Infinite,
}

/// Treatment of bars without end.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub enum Infinite {
    /// They have no end.
    #[default]
    Keep,
    /// They are left out.
    Drop,
    /// They end at this time. One that begins later has no length.
    Cap(f64),
}

/// Barcodes of a file.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Barcodes {
    /// The barcodes.
    pub barcodes: Vec<Barcode>,
    /// Their names, unless they are numbered from 0.
    pub names: Option<Arc<[String]>>,
}

/// Loads barcodes. For `.npy` and `.npz` the extension tells the format, otherwise the content:
///
/// | file | holds |
/// | --- | --- |
/// | a table | columns `birth` and `death`, optionally `dimension`, and `barcode` for several barcodes; a row without birth and death stands for a barcode, or a dimension, without bars |
/// | what ripser prints | one barcode |
/// | GUDHI's persistence files | one barcode: lines of `[[field] dimension] birth death` |
/// | JSON | one barcode: `{"dgms": ...}` as of ripser.py, or a list of `[birth, death]` or `[dimension, [birth, death]]`; or a list or an object of barcodes |
/// | `.npy` | one barcode: an array of shape (bars, 2), or (bars, 3) with dimensions last; several: (barcodes, bars, 3) as of giotto-tda |
/// | `.npz` | several barcodes: arrays `offsets` (one whole number more than barcodes), `bars` (all bars x 2, or x 3 with dimensions last) and optionally `dimensions`, those that may have no bars; or an array for each barcode |
///
/// A death may be `inf`, or `-inf` in superlevel filtrations.
///
/// # Errors
/// The file can't be read, has another format, mixes several dimensions without a choice, or
/// contains an invalid bar. The error names the line or the row.
pub fn load_barcodes(path: &Path, options: BarcodeOptions) -> Result<Barcodes, PcfError> {
    Ok(load_barcodes_of(&[path.to_owned()], options, &TableOptions::default())?.swap_remove(0))
}

/// Loads the barcodes of files as [`load_barcodes`] does, from tables with options. A barcode without bars of the dimension
/// is empty.
///
/// # Errors
/// As [`load_barcodes`], and if no file has the dimension.
pub fn load_barcodes_of(paths: &[PathBuf], options: BarcodeOptions, table: &TableOptions) -> Result<Vec<Barcodes>, PcfError> {
    let read = paths.iter().map(|path| bars::load(path, options, table)).collect::<Result<Vec<_>, _>>()?;
    let of_none = read.iter().all(|chosen| chosen.lack.is_some());
    let barcodes = read.into_iter().zip(paths).map(|(chosen, path)| match chosen.lack {
        Some(reason) if of_none => Err(PcfError::file(path, reason)),
        _ => Ok(chosen.barcodes),
    });
    barcodes.collect()
}

/// Unchecked functions, as read from a file.
struct Raw<T> {
    offsets: Vec<usize>,
    points: Vec<Point<T>>,
    /// `None` for a one-dimensional set.
    shape: Option<Vec<usize>>,
    names: Option<Arc<[String]>>,
}

impl<T: PcfReal> Raw<T> {
    /// Checks the functions, or repairs them if `repairs` is given, and returns their part in the window. If that has
    /// a start, or shifts them, functions that need no repair may start at any time. `place` adds the part of the file to an
    /// error, from the index of the point.
    fn set(
        self,
        window: &Window,
        repairs: Option<&mut Repairs>,
        place: impl Fn(Option<usize>, PcfError) -> PcfError,
    ) -> Result<PcfSet<T>, PcfError> {
        let Raw { offsets, points, shape, names } = self;
        let starts = offsets.clone();
        let windowed = |set: PcfSet<T>| if window.is_all() { Ok(set) } else { set.windowed(window) };
        let set = match repairs {
            None if window.from.is_some() || window.align => PcfSet::from_parts_in(&offsets, &points, window),
            None => PcfSet::from_parts(offsets, points).and_then(windowed),
            Some(repairs) => PcfSet::repaired(offsets, points).and_then(|(set, done)| {
                *repairs = done;
                windowed(set)
            }),
        };
        let set = set.map_err(|error| {
            let point = error.breakpoint().map(|(function, breakpoint)| starts[function] + breakpoint);
            place(point, error)
        })?;
        let set = match shape {
            Some(shape) => set.with_shape(&shape),
            None => Ok(set),
        };
        set.and_then(|set| set.with_names(names)).map_err(|error| place(None, error))
    }
}

/// Converts an array's rows to points, in place if the alignment allows it.
fn points_of<T: PcfReal>(values: Vec<T>) -> Vec<Point<T>> {
    bytemuck::allocation::try_cast_vec(values)
        .unwrap_or_else(|(_, values)| values.chunks_exact(2).map(|pair| Point::new(pair[0], pair[1])).collect())
}

/// Reads an array of bars.
fn bars_of(array: Reader<impl Input>) -> Result<Vec<f64>, Reason> {
    let kind = array.kind("bars", &[Kind::F32, Kind::F64, Kind::I32, Kind::I64])?;
    if !matches!(array.shape(), [_, 2 | 3] | [_, _, 3]) {
        let shape = tuple(array.shape());
        return Err(format!(
            "holds an array of shape {shape}, but that of bars must be (bars, 2), (bars, 3) with dimensions last, or (barcodes, bars, 3)"
        )
        .into());
    }
    match kind {
        Kind::F32 => collect(array.read::<f32>(|_| {})?.into_iter().map(f64::from)),
        Kind::I32 => collect(array.read::<i32>(|_| {})?.into_iter().map(f64::from)),
        Kind::I64 => collect(array.read::<i64>(|_| {})?.into_iter().map(|value| value as f64)),
        _ => array.read::<f64>(|_| {}),
    }
}
