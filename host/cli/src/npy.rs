//! Reads `.npy` files of one dimension, and says what is wrong with others.

use std::{fmt::Display, path::Path};

pub use warpsmith::io::npy::Kind;
use warpsmith::io::npy::{Reader, tuple};

use super::{count, failure::Failure, progress::Progress};

/// The types of weights.
pub const NUMBERS: &[Kind] = &[Kind::I32, Kind::I64, Kind::F32, Kind::F64];

/// The elements of a file.
#[derive(Debug)]
pub enum Array {
    I32(Vec<i32>),
    I64(Vec<i64>),
    F32(Vec<f32>),
    F64(Vec<f64>),
}

impl Array {
    pub fn len(&self) -> usize {
        match self {
            Array::I32(values) => values.len(),
            Array::I64(values) => values.len(),
            Array::F32(values) => values.len(),
            Array::F64(values) => values.len(),
        }
    }

    pub fn kind(&self) -> Kind {
        match self {
            Array::I32(_) => Kind::I32,
            Array::I64(_) => Kind::I64,
            Array::F32(_) => Kind::F32,
            Array::F64(_) => Kind::F64,
        }
    }
}

/// Reads the file, which is to be `what` (as in "the weights must be ...") and may hold the `allowed` types, of
/// [`NUMBERS`].
pub fn read(path: &Path, what: &str, allowed: &[Kind], progress: Progress) -> Result<Array, Failure> {
    let fail = |text: &dyn Display| Failure::error(format_args!("{}: {text}", path.display()));
    let reader = Reader::open(path).map_err(|text| fail(&text))?;
    let kind = reader.kind(what, allowed).map_err(|text| fail(&text))?;
    let n = match reader.shape() {
        &[n] => n,
        [] => return Err(fail(&format!("holds a single number (0-D), but {what} must be a 1-D array"))),
        shape => {
            let (d, shape) = (shape.len(), tuple(shape));
            return Err(fail(&format!("holds a {d}-D array of shape {shape}, but {what} must be 1-D")));
        }
    };
    if n > count::MAX as usize {
        return Err(fail(&format!("holds {n} elements; at most 2^31 - 2 can be indexed")));
    }

    let work = progress.bar(n, format!("reading {}", path.display()));
    let advance = |n| work.advance(n);
    let array = match kind {
        Kind::I32 => reader.read(advance).map(Array::I32),
        Kind::I64 => reader.read(advance).map(Array::I64),
        Kind::F32 => reader.read(advance).map(Array::F32),
        Kind::F64 => reader.read(advance).map(Array::F64),
        Kind::U32 | Kind::U64 => Err(format!("holds {}, which are not read", kind.name()).into()),
    };
    let array = array.map_err(|text| fail(&text))?;
    tracing::info!(elements = n, "read {} ({})", path.display(), kind.name());
    Ok(array)
}

/// Reads the array `what` of indices, each of an `item` (as in "an element"), or -1; those of 64 bits must fit into 32.
pub fn read_i32(path: &Path, what: &str, item: &str, progress: Progress) -> Result<Vec<i32>, Failure> {
    let values = match read(path, what, &[Kind::I32, Kind::I64], progress)? {
        Array::I32(values) => return Ok(values),
        Array::I64(values) => values,
        other => unreachable!("{} was not allowed", other.kind().name()),
    };
    let convert = |(index, value): (usize, &i64)| {
        i32::try_from(*value).map_err(|_| {
            let (path, n) = (path.display(), values.len());
            Failure::Error(format!("{path}: {what}[{index}] is {value}, which is neither {item} (there are {n}, from 0) nor -1"))
        })
    };
    values.iter().enumerate().map(convert).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arrays_of_other_shapes() {
        let integers = &[Kind::I32, Kind::I64];
        for (shape, text) in [
            ("()", "holds a single number (0-D), but next must be a 1-D array"),
            ("(2, 3)", "holds a 2-D array of shape (2, 3), but next must be 1-D"),
            ("(3000000000,)", "holds 3000000000 elements"),
        ] {
            let directory = tempfile::tempdir().unwrap();
            let path = directory.path().join("x.npy");
            let header = format!("{{'descr': '<i4', 'fortran_order': False, 'shape': {shape}, }}\n");
            let start = [b"\x93NUMPY\x01\0", &(header.len() as u16).to_le_bytes()[..], header.as_bytes()].concat();
            std::fs::write(&path, start).unwrap();
            let Err(Failure::Error(error)) = read(&path, "next", integers, Progress::new(true)) else { panic!("{shape}") };
            assert!(error.split_once("x.npy: ").unwrap().1.starts_with(text), "{error}");
        }
    }
}
