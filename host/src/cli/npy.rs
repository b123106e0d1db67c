//! Reads `.npy` files of one dimension, and says what is wrong with others.

use std::{
    fs::File,
    io::{self, Read},
    path::Path,
};

use bytemuck::Pod;
use ndarray_npy::npy::header::{Header, ReadHeaderError};

use super::{count, failure::Failure, output, progress::Progress};

/// The first bytes of every `.npy` file.
const MAGIC: &[u8] = b"\x93NUMPY";

/// Headers are about 100 bytes long; a longer one is not of a plain array, and may be anything at all.
const LONGEST_HEADER: u32 = 4096;

/// How much is read at a time, in bytes.
const CHUNK: usize = 8 << 20;

/// The types of element that are read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    I32,
    I64,
    F32,
    F64,
}

impl Kind {
    /// All of them.
    pub const ALL: &[Kind] = &[Kind::I32, Kind::I64, Kind::F32, Kind::F64];

    /// Its name in numpy.
    pub const fn name(self) -> &'static str {
        match self {
            Kind::I32 => "int32",
            Kind::I64 => "int64",
            Kind::F32 => "float32",
            Kind::F64 => "float64",
        }
    }

    /// Its size in bytes.
    pub const fn size(self) -> usize {
        match self {
            Kind::I32 | Kind::F32 => 4,
            Kind::I64 | Kind::F64 => 8,
        }
    }
}

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

/// An element in the file's byte order.
trait Element: Pod {
    fn swapped(self) -> Self;
}

macro_rules! element {
    ($($type:ty)*) => {$(
        impl Element for $type {
            fn swapped(self) -> Self {
                let mut bytes = self.to_ne_bytes();
                bytes.reverse();
                <$type>::from_ne_bytes(bytes)
            }
        }
    )*};
}
element!(i32 i64 f32 f64);

/// Reads the file, which is to be `what` (as in "the weights must be ...") and may hold the `allowed` types.
pub fn read(path: &Path, what: &str, allowed: &[Kind], progress: Progress) -> Result<Array, Failure> {
    let fail = |text: &str| Failure::error(format_args!("{}: {text}", path.display()));
    let cannot = |error: io::Error| fail(&format!("can't be read: {}", output::reason(&error)));
    let mut file = File::open(path).map_err(cannot)?;
    let metadata = file.metadata().map_err(cannot)?;
    if metadata.is_dir() {
        return Err(fail("is a directory, not a .npy file"));
    }

    let (header, header_size) = read_header(&mut file).map_err(|text: String| fail(&text))?;
    let descriptor = header.type_descriptor.as_string().map(String::as_str);
    let (kind, big_endian) = descriptor.and_then(parse_type).filter(|(kind, _)| allowed.contains(kind)).ok_or_else(|| {
        let found = descriptor.map_or_else(|| "structured elements".to_owned(), type_name);
        let names: Vec<_> = allowed.iter().map(|kind| kind.name()).collect();
        fail(&format!("holds {found}, but {what} must be {}", names.join(" or ")))
    })?;
    let n = match header.shape[..] {
        [n] => n,
        [] => return Err(fail(&format!("holds a single number (0-D), but {what} must be a 1-D array"))),
        ref shape => {
            let extents: Vec<_> = shape.iter().map(usize::to_string).collect();
            let (d, shape) = (shape.len(), extents.join(", "));
            return Err(fail(&format!("holds a {d}-D array of shape ({shape}), but {what} must be 1-D")));
        }
    };
    if n > count::MAX as usize {
        return Err(fail(&format!("holds {n} elements; at most 2^31 - 2 can be indexed")));
    }

    // A pipe has no size; a file too short is not worth reading.
    let size = metadata.is_file().then(|| metadata.len().saturating_sub(header_size));
    let promised = (n * kind.size()) as u64;
    let truncated = |found: u64| {
        let name = kind.name();
        fail(&format!("is truncated: its header says {n} elements of {name} ({promised} bytes), but {found} bytes follow"))
    };
    if let Some(size) = size.filter(|&size| size < promised) {
        return Err(truncated(size));
    }
    let mut body = Body { file, n, capacity: if size.is_some() { n } else { 0 }, big_endian, progress, path };
    let array = match kind {
        Kind::I32 => body.read().map(Array::I32),
        Kind::I64 => body.read().map(Array::I64),
        Kind::F32 => body.read().map(Array::F32),
        Kind::F64 => body.read().map(Array::F64),
    };
    let array = array.map_err(|error| match error {
        BodyError::Truncated(found) => truncated(found),
        BodyError::Io(error) => cannot(error),
    })?;
    if body.file.read(&mut [0]).map_err(cannot)? != 0 {
        return Err(fail(&format!("goes on after the {n} elements that its header says")));
    }
    tracing::info!(elements = n, "read {} ({})", path.display(), kind.name());
    Ok(array)
}

/// Reads the header; gives its size in bytes, too.
fn read_header(file: &mut File) -> Result<(Header, u64), String> {
    let unreadable = |error: io::Error| format!("can't be read: {}", output::reason(&error));
    // Magic, version (2 bytes) and the length of what follows (2 bytes in version 1, then 4).
    let mut start = Vec::new();
    Read::by_ref(file).take(10).read_to_end(&mut start).map_err(unreadable)?;
    match &start[..] {
        [] => return Err("is empty, not a .npy file".into()),
        [b'P', b'K', ..] => return Err("is an archive (.npz); save the array alone with numpy.save".into()),
        start if !start.starts_with(MAGIC) => return Err("is not a .npy file".into()),
        _ => {}
    }
    if start.get(MAGIC.len()).is_some_and(|&major| major >= 2) {
        Read::by_ref(file).take(2).read_to_end(&mut start).map_err(unreadable)?;
    }
    let length = match start[..] {
        [.., 1, _, a, b] if start.len() == 10 => u32::from(u16::from_le_bytes([a, b])),
        [.., 2 | 3, _, a, b, c, d] if start.len() == 12 => u32::from_le_bytes([a, b, c, d]),
        [_, _, _, _, _, _, major, minor, ..] if !(1..=3).contains(&major) => {
            return Err(format!("is a .npy file of version {major}.{minor}, which is not known"));
        }
        _ => return Err("is truncated: it ends within its header".into()),
    };
    if length > LONGEST_HEADER {
        return Err(format!("has a header of {length} bytes: that is not a plain array"));
    }
    let size = start.len() as u64 + u64::from(length);
    let header = Header::from_reader(&mut start.chain(file)).map_err(|error| match error {
        ReadHeaderError::Io(_) => "is truncated: it ends within its header".to_owned(),
        error => format!("has a header that can't be read: {error}"),
    })?;
    Ok((header, size))
}

/// What follows the header.
struct Body<'a> {
    file: File,
    n: usize,
    /// How many elements are sure to be there.
    capacity: usize,
    big_endian: bool,
    progress: Progress,
    path: &'a Path,
}

enum BodyError {
    /// There were only so many bytes.
    Truncated(u64),
    Io(io::Error),
}

impl Body<'_> {
    fn read<T: Element>(&mut self) -> Result<Vec<T>, BodyError> {
        let work = self.progress.bar(self.n, format!("reading {}", self.path.display()));
        let mut values = Vec::new();
        let reserved = values.try_reserve_exact(self.capacity);
        reserved.map_err(|_| BodyError::Io(io::Error::new(io::ErrorKind::OutOfMemory, "not enough memory")))?;
        while values.len() < self.n {
            let start = values.len();
            let len = (self.n - start).min(CHUNK / size_of::<T>());
            values.resize(start + len, T::zeroed());
            let mut bytes: &mut [u8] = bytemuck::cast_slice_mut(&mut values[start..]);
            while !bytes.is_empty() {
                match self.file.read(bytes) {
                    Ok(0) => return Err(BodyError::Truncated(((start + len) * size_of::<T>() - bytes.len()) as u64)),
                    Ok(read) => bytes = &mut bytes[read..],
                    Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                    Err(error) => return Err(BodyError::Io(error)),
                }
            }
            work.advance(len);
        }
        if self.big_endian != cfg!(target_endian = "big") {
            values.iter_mut().for_each(|value| *value = value.swapped());
        }
        Ok(values)
    }
}

/// The type of a descriptor such as `<i4`, and whether its bytes are in big-endian order.
fn parse_type(descriptor: &str) -> Option<(Kind, bool)> {
    let big_endian = match descriptor.get(..1)? {
        "<" => false,
        ">" => true,
        _ => return None,
    };
    let kind = match &descriptor[1..] {
        "i4" => Kind::I32,
        "i8" => Kind::I64,
        "f4" => Kind::F32,
        "f8" => Kind::F64,
        _ => return None,
    };
    Some((kind, big_endian))
}

/// A descriptor in words: `<u2` is `uint16`.
fn type_name(descriptor: &str) -> String {
    let plain = descriptor.trim_start_matches(['<', '>', '|', '=']);
    let size = plain.get(1..).and_then(|size| size.parse::<u32>().ok()).and_then(|size| size.checked_mul(8));
    match (plain.get(..1), size) {
        (Some("b"), Some(8)) => "bool".into(),
        (Some("i"), Some(bits)) => format!("int{bits}"),
        (Some("u"), Some(bits)) => format!("uint{bits}"),
        (Some("f"), Some(bits)) => format!("float{bits}"),
        (Some("c"), Some(bits)) => format!("complex{bits}"),
        (Some("U" | "S"), _) => "text".into(),
        (Some("O"), _) => "Python objects".into(),
        _ => format!("elements of type `{descriptor}`"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

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
            match read_bytes(&array(descriptor, "(2,)", &body), Kind::ALL) {
                Ok(Array::I64(values)) => assert_eq!(values, [1, -2]),
                other => panic!("{other:?}"),
            }
        }
        assert_eq!(read_bytes(&array("<f4", "(0,)", &[]), Kind::ALL).unwrap().len(), 0);
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
