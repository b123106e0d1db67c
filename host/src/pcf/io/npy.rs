//! Functions in one array of shape (..., breakpoints, 2), and bars in one of shape (bars, 2).

use std::{
    fs::File,
    io::{self, BufReader, Write},
    path::Path,
};

use super::{PcfData, bars_of, open, points_of};
use crate::{
    npy::{Kind, Reader, write as write_array},
    pcf::{PcfError, PcfSet, Real, barcode::Bar, error::list},
};

/// Reads functions.
pub fn load(path: &Path) -> Result<PcfData, PcfError> {
    let fail = |reason: String| PcfError::file(path, reason);
    let reader = reader(path)?;
    match reader.kind("functions", Kind::FLOATS).map_err(fail)? {
        Kind::F32 => read(reader, path).map(PcfData::F32),
        _ => read(reader, path).map(PcfData::F64),
    }
}

fn reader(path: &Path) -> Result<Reader<BufReader<File>>, PcfError> {
    let (file, size) = open(path)?;
    Reader::new(BufReader::new(file), size).map_err(|reason| PcfError::file(path, reason))
}

fn read<T: Real>(reader: Reader<BufReader<File>>, path: &Path) -> Result<PcfSet<T>, PcfError> {
    let fail = |reason: String| PcfError::file(path, reason);
    let (shape, breakpoints) = match reader.shape() {
        [shape @ .., breakpoints, 2] => (shape.to_vec(), *breakpoints),
        other => {
            let other = list(other);
            return Err(fail(format!(
                "holds an array of shape ({other}), but that of functions must be (functions, breakpoints, 2)"
            )));
        }
    };
    // Without dimensions in front there is one function.
    let shape = if shape.is_empty() { vec![1] } else { shape };
    reader.check_size(T::KIND).map_err(fail)?;
    let functions = if shape.contains(&0) { 0 } else { shape.iter().product::<usize>() };
    if functions > 0 && breakpoints == 0 {
        return Err(PcfError::file(path, PcfError::NoBreakpoints { function: 0 }));
    }
    let values: Vec<T> = reader.read(|_| {}).map_err(fail)?;
    let points = points_of(values);
    let offsets = (0..=functions).map(|function| function * breakpoints).collect();
    PcfSet::from_parts(offsets, points).and_then(|set| set.with_shape(&shape)).map_err(|error| PcfError::file(path, error))
}

/// Reads bars.
pub fn load_bars(path: &Path) -> Result<Vec<Bar>, PcfError> {
    let fail = |reason: String| PcfError::file(path, reason);
    let reader = reader(path)?;
    let kind = reader.kind("bars", &[Kind::F32, Kind::F64, Kind::I32, Kind::I64]).map_err(fail)?;
    if !matches!(reader.shape(), [_, 2]) {
        let shape = list(reader.shape());
        return Err(fail(format!("holds an array of shape ({shape}), but that of bars must be (bars, 2): births and deaths")));
    }
    let bars = match kind {
        Kind::F32 => reader.read::<f32>(|_| {}).map(|values| bars_of(values.into_iter().map(f64::from))),
        Kind::I32 => reader.read::<i32>(|_| {}).map(|values| bars_of(values.into_iter().map(f64::from))),
        Kind::I64 => reader.read::<i64>(|_| {}).map(|values| bars_of(values.into_iter().map(|value| value as f64))),
        _ => reader.read::<f64>(|_| {}).map(bars_of),
    };
    bars.map_err(fail)
}

/// Says which functions don't fit into one array.
pub fn check<T: Real>(set: &PcfSet<T>) -> Result<(), String> {
    let first = set.lengths().next().unwrap_or(1);
    match set.lengths().enumerate().find(|&(_, length)| length != first) {
        Some((function, length)) => Err(format!(
            "function 0 has {first} breakpoints and function {function} has {length}: functions of different lengths don't fit \
             into one .npy array; use .npz"
        )),
        None => Ok(()),
    }
}

/// Writes functions, which are of one length.
pub fn write<T: Real>(set: &PcfSet<T>, file: impl Write) -> io::Result<()> {
    let shape = [set.shape(), &[set.lengths().next().unwrap_or(1), 2]].concat();
    let numbers: &[T] = bytemuck::cast_slice(set.points());
    write_array(file, numbers, &shape)
}
