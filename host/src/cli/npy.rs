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
    use std::fs;

    const MAGIC: &[u8] = b"\x93NUMPY";

    fn bytes(header: &str, body: &[u8]) -> Vec<u8> {
        let length = u16::try_from(header.len() + 1).unwrap();
        [MAGIC, &[1, 0], &length.to_le_bytes(), header.as_bytes(), b"\n", body].concat()
    }

    fn array(descriptor: &str, shape: &str, body: &[u8]) -> Vec<u8> {
        bytes(&format!("{{'descr': '{descriptor}', 'fortran_order': False, 'shape': {shape}, }}"), body)
    }

    fn read_bytes(bytes: &[u8], allowed: &[Kind]) -> Result<Array, String> {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("x.npy");
        fs::write(&path, bytes).unwrap();
        read(&path, "next", allowed, Progress::new(true)).map_err(|failure| match failure {
            Failure::Error(text) => text.split_once("x.npy: ").expect("the file is named").1.to_owned(),
            other => panic!("{other:?}"),
        })
    }

    #[test]
    fn both_byte_orders() {
        let (little, big): (Vec<u8>, Vec<u8>) = (
            [1i64, -2].iter().flat_map(|v| v.to_le_bytes()).collect(),
            [1i64, -2].iter().flat_map(|v| v.to_be_bytes()).collect(),
        );
        for (descriptor, body) in [("<i8", little), (">i8", big)] {
            match read_bytes(&array(descriptor, "(2,)", &body), NUMBERS) {
                Ok(Array::I64(values)) => assert_eq!(values, [1, -2]),
                other => panic!("{other:?}"),
            }
        }
        assert_eq!(read_bytes(&array("<f4", "(0,)", &[]), NUMBERS).unwrap().len(), 0);
    }

    #[test]
    fn what_is_wrong() {
        let integers = &[Kind::I32, Kind::I64];
        let deep = format!("{}{}", "(".repeat(3000), ")".repeat(1000));
        for (bytes, text) in [
            (vec![], "is empty"),
            (b"PK\x03\x04".to_vec(), "is an archive"),
            (b"hello".to_vec(), "is not a .npy file"),
            (MAGIC.to_vec(), "is truncated: it ends within its header"),
            ([MAGIC, &[9, 0, 0, 0]].concat(), "is a .npy file of version 9.0"),
            ([MAGIC, &[1, 0, 255, 255]].concat(), "has a header of 65535 bytes"),
            ([MAGIC, &[2, 0, 255, 255, 255, 255]].concat(), "has a header of 4294967295 bytes"),
            ([MAGIC, &[1, 0, 50, 0]].concat(), "is truncated: it ends within its header"),
            (bytes("{'descr': ", &[]), "has a header that can't be read"),
            (bytes(&deep, &[]), "has a header that can't be read"),
            (array("<f8", "(2,)", &[0; 16]), "holds float64, but next must be int32 or int64"),
            (array("<u2", "(2,)", &[0; 4]), "holds uint16, but"),
            (array("|b1", "(2,)", &[0; 2]), "holds bool, but"),
            (array("|O", "(2,)", &[0; 2]), "holds Python objects, but"),
            (bytes("{'descr': [('a', '<i4')], 'fortran_order': False, 'shape': (2,)}", &[]), "holds structured elements, but"),
            (array("<i4", "()", &[0; 4]), "holds a single number (0-D)"),
            (array("<i4", "(2, 3)", &[0; 24]), "holds a 2-D array of shape (2, 3), but next must be 1-D"),
            (array("<i4", "(3000000000,)", &[]), "holds 3000000000 elements"),
            (array("<i4", "(3,)", &[0; 11]), "is truncated: its header says 3 elements of int32 (12 bytes), but 11 bytes follow"),
            (array("<i4", "(3,)", &[0; 13]), "goes on after the 3 elements"),
        ] {
            let error = read_bytes(&bytes, integers).unwrap_err();
            assert!(error.starts_with(text), "{error}\n{text}");
        }
    }
}
