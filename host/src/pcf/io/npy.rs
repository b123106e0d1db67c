//! Functions in one array of shape (..., breakpoints, 2), and bars in one of shape (bars, 2).

use std::{
    io::{self, Write},
    path::Path,
};

use super::{PcfData, Raw, points_of};
use crate::{
    io::{
        Reason, Source, collect,
        npy::{Kind, Reader, tuple, write as write_array},
    },
    pcf::{PcfError, PcfReal, PcfSet, Repairs, Window},
};

/// Reads functions.
pub fn load(path: &Path, window: &Window, repairs: Option<&mut Repairs>) -> Result<PcfData, PcfError> {
    let fail = |reason: Reason| PcfError::file(path, reason);
    let reader = Reader::open(path).map_err(fail)?;
    let place = |_, error: PcfError| PcfError::file(path, error.to_string());
    match reader.kind("functions", Kind::FLOATS).map_err(fail)? {
        Kind::F32 => read(reader).map_err(fail)?.set(window, repairs, place).map(PcfData::F32),
        _ => read(reader).map_err(fail)?.set(window, repairs, place).map(PcfData::F64),
    }
}

fn read<T: PcfReal>(reader: Reader<Source>) -> Result<Raw<T>, Reason> {
    let (shape, breakpoints) = match reader.shape() {
        [shape @ .., breakpoints, 2] => (shape.to_vec(), *breakpoints),
        other => {
            let other = tuple(other);
            return Err(
                format!("holds an array of shape {other}, but that of functions must be (functions, breakpoints, 2)").into()
            );
        }
    };
    // An array of shape (breakpoints, 2) is one function.
    let shape = if shape.is_empty() { vec![1] } else { shape };
    reader.check_size(T::KIND)?;
    let functions = if shape.contains(&0) { 0 } else { shape.iter().product::<usize>() };
    let points = points_of(reader.read(|_| {})?);
    let offsets = collect((0..functions + 1).map(|function| function * breakpoints))?;
    Ok(Raw { offsets, points, shape: Some(shape), names: None })
}

/// Checks that all functions have the same length.
pub fn check<T: PcfReal>(set: &PcfSet<T>) -> Result<(), String> {
    let first = set.lengths().next().unwrap_or(1);
    match set.lengths().enumerate().find(|&(_, length)| length != first) {
        Some((function, length)) => Err(format!(
            "function 0 has {first} breakpoint{} and function {function} has {length}: functions of different lengths don't fit \
             into one .npy array; use .npz",
            if first == 1 { "" } else { "s" }
        )),
        None => Ok(()),
    }
}

/// Writes functions of equal length.
pub fn write<T: PcfReal>(set: &PcfSet<T>, file: impl Write) -> io::Result<()> {
    let shape = [set.shape(), &[set.lengths().next().unwrap_or(1), 2]].concat();
    let numbers: &[T] = bytemuck::cast_slice(set.points());
    write_array(file, numbers, &shape)
}
