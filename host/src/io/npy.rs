//! Reads the arrays of `.npy` files and `.npz` archives, and says what is wrong with them; writes arrays.
//!
//! Nothing is believed that a header says: no more is allocated than there are bytes to read, or than
//! the [limits](crate::io) allow.

use std::{
    io::{self, Read, Write},
    path::Path,
};

use bytemuck::Pod;
use ndarray::{ArrayD, ArrayViewD, IxDyn, ShapeBuilder as _};
use ndarray_npy::npy::header::{Header, Layout, ReadHeaderError};
use ndarray_npy::{WritableElement, WriteNpyError, WriteNpyExt as _};

use super::{
    files::Reason,
    source::{Input, MOST_EMPTY, Source, brief, collect, quoted, reserve, unreadable, zeroed},
};

/// The first bytes of every `.npy` file.
const MAGIC: &[u8] = b"\x93NUMPY";

/// Headers are about 100 bytes long; a longer one is not of a plain array, and may be anything at all.
const LONGEST_HEADER: u32 = 4096;

/// The most brackets of a header within each other. A plain array's has 2, one of structures 3 for each level of these.
const MOST_NESTED: usize = 6;

/// The most dimensions of an array; NumPy has as many.
const MOST_DIMENSIONS: usize = 64;

/// How much is read at a time, in bytes, of a file of this size and of what may be smaller than it claims.
const CHUNK: usize = 256 << 20;
const SMALL_CHUNK: usize = 8 << 20;

/// The types of element that are read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// `i32`
    I32,
    /// `i64`
    I64,
    /// `u32`
    U32,
    /// `u64`
    U64,
    /// `f32`
    F32,
    /// `f64`
    F64,
}

impl Kind {
    /// The whole numbers.
    pub const INTEGERS: &[Kind] = &[Kind::I32, Kind::I64, Kind::U32, Kind::U64];
    /// The floating-point numbers.
    pub const FLOATS: &[Kind] = &[Kind::F32, Kind::F64];

    /// Its name in NumPy.
    pub const fn name(self) -> &'static str {
        match self {
            Kind::I32 => "int32",
            Kind::I64 => "int64",
            Kind::U32 => "uint32",
            Kind::U64 => "uint64",
            Kind::F32 => "float32",
            Kind::F64 => "float64",
        }
    }

    /// Its size in bytes.
    pub const fn size(self) -> usize {
        match self {
            Kind::I32 | Kind::U32 | Kind::F32 => 4,
            Kind::I64 | Kind::U64 | Kind::F64 => 8,
        }
    }
}

/// A type of element.
pub trait Element: Pod + WritableElement {
    /// Which it is.
    const KIND: Kind;
    /// Its bytes in the other order.
    fn swapped(self) -> Self;
}

macro_rules! element {
    ($($type:ident $kind:ident)*) => {$(
        impl Element for $type {
            const KIND: Kind = Kind::$kind;
            fn swapped(self) -> Self {
                let mut bytes = self.to_ne_bytes();
                bytes.reverse();
                $type::from_ne_bytes(bytes)
            }
        }
    )*};
}
element!(i32 I32 i64 I64 u32 U32 u64 U64 f32 F32 f64 F64);

/// Writes an array of this shape, whose elements are given in C order.
///
/// # Errors
/// What `file` fails with, and where there are more or fewer elements than the shape has.
pub fn write<T: WritableElement>(file: impl Write, values: &[T], shape: &[usize]) -> io::Result<()> {
    let array = ArrayViewD::from_shape(IxDyn(shape), values).map_err(io::Error::other)?;
    array.write_npy(file).map_err(unwritten)
}

/// Why an array can't be written.
pub(crate) fn unwritten(error: WriteNpyError) -> io::Error {
    match error {
        WriteNpyError::Io(error) => error,
        error => io::Error::other(error),
    }
}

/// What is known of the bytes of a file or an entry of an archive before they are read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Size {
    /// This many, the header's included.
    Is(u64),
    /// They are packed, and may unpack to so many.
    Packed(u64),
    /// Nothing: pipes have no size.
    Unknown,
}

/// An array whose header was read, and its elements not yet.
///
/// Errors are clauses that follow the file's name, such as "is truncated: ...".
#[derive(Debug)]
pub struct Reader<R> {
    input: R,
    size: Size,
    /// The header's size in bytes.
    header_size: u64,
    /// NumPy's name of the type; none for structures.
    descriptor: Option<String>,
    /// Of structures of one field, its name and NumPy's name of its type.
    field: Option<(String, String)>,
    layout: Layout,
    shape: Vec<usize>,
}

impl Reader<Source> {
    /// Opens a `.npy` file and reads its header.
    ///
    /// # Errors
    /// Where it can't be read, or has no such header.
    pub fn open(path: &Path) -> Result<Self, Reason> {
        let source = Source::open(path)?;
        let size = source.size().map_or(Size::Unknown, Size::Is);
        Reader::new(source, size)
    }

    /// The file, whose elements were not read.
    pub fn into_source(self) -> Source {
        self.input
    }
}

impl<R: Input> Reader<R> {
    /// Reads the header of an array.
    ///
    /// # Errors
    /// Where there is none, or the array has no elements and an absurd shape.
    pub fn new(mut input: R, size: Size) -> Result<Self, Reason> {
        let (header, header_size) = read_header(&mut input)?;
        let descriptor = header.type_descriptor.as_string().cloned();
        let field = header.type_descriptor.as_list().and_then(|fields| match &fields[..] {
            [field] => match &field.as_tuple()?[..] {
                [name, descriptor] => Some((name.as_string()?.clone(), descriptor.as_string()?.clone())),
                _ => None,
            },
            _ => None,
        });
        let shape = header.shape;
        if shape.len() > MOST_DIMENSIONS {
            return Err(format!("has {} dimensions, and an array has {MOST_DIMENSIONS} at most", shape.len()).into());
        }
        if shape.contains(&0) {
            let others = shape.iter().filter(|&&extent| extent > 0).try_fold(1usize, |n, &extent| n.checked_mul(extent));
            if others.is_none_or(|others| others > MOST_EMPTY) {
                let shape: Vec<_> = shape.iter().map(usize::to_string).collect();
                let shape = shape.join(", ");
                return Err(format!(
                    "has the shape ({shape}): of an array without elements, the rest may make up {MOST_EMPTY} at most"
                )
                .into());
            }
        }
        Ok(Reader { input, size, header_size, descriptor, field, layout: header.layout, shape })
    }

    /// Whether elements are structures of one field of this name. If so, they are taken for its numbers from now on.
    pub fn unwrap_field(&mut self, name: &str) -> bool {
        match self.field.take_if(|(field, _)| field == name) {
            Some((_, descriptor)) => {
                self.descriptor = Some(descriptor);
                true
            }
            None => false,
        }
    }

    /// The array's shape.
    pub fn shape(&self) -> &[usize] {
        &self.shape
    }

    /// Whether the first index is the fastest.
    pub fn is_fortran(&self) -> bool {
        self.layout == Layout::Fortran
    }

    /// The header's size in bytes, after which the elements start.
    pub fn header_size(&self) -> u64 {
        self.header_size
    }

    /// Whether the elements' bytes are in the order that this machine has not.
    pub fn is_swapped(&self) -> bool {
        let big_endian = self.descriptor.as_deref().and_then(parse_type).is_some_and(|(_, big_endian)| big_endian);
        big_endian != cfg!(target_endian = "big")
    }

    /// The type of its elements, which is to be one of the `allowed`; `what` is the array's name in "but `what` must be
    /// int32".
    ///
    /// # Errors
    /// Where it is another one.
    pub fn kind(&self, what: &str, allowed: &[Kind]) -> Result<Kind, Reason> {
        let kind = self.descriptor.as_deref().and_then(parse_type).map(|(kind, _)| kind);
        Ok(kind.filter(|kind| allowed.contains(kind)).ok_or_else(|| {
            let found = self.descriptor.as_deref().map_or_else(|| "structured elements".to_owned(), type_name);
            let names: Vec<_> = allowed.iter().map(|kind| kind.name()).collect();
            let names = match &names[..] {
                [others @ .., other, last] if !others.is_empty() => format!("{}, {other} or {last}", others.join(", ")),
                names => names.join(" or "),
            };
            format!("holds {found}, but {what} must be {names}")
        })?)
    }

    /// Makes sure that there are as many bytes as the header says, where that is known; gives the number of elements.
    ///
    /// # Errors
    /// Where there are fewer, or more elements than can be counted.
    pub fn check_size(&self, kind: Kind) -> Result<usize, Reason> {
        let n = self.shape.iter().try_fold(1usize, |n, &extent| n.checked_mul(extent));
        let n = if self.shape.contains(&0) { Some(0) } else { n };
        let n = n.filter(|n| n.checked_mul(kind.size()).is_some()).ok_or("has more elements than can be counted")?;
        let promised = (n * kind.size()) as u64;
        match self.size {
            Size::Is(size) if size.saturating_sub(self.header_size) < promised => {
                Err(truncated(n, kind, size.saturating_sub(self.header_size)).into())
            }
            Size::Packed(most) if most < promised => Err(format!(
                "unpacks to {promised} bytes, and at most {most} are read from an archive of this size: save it unpacked (numpy.savez)"
            ).into()),
            _ => Ok(n),
        }
    }

    /// Reads the elements, in C order. `T` must be the [`kind`](Self::kind). `advance` is told how many elements were
    /// read, now and then.
    ///
    /// # Errors
    /// Where there are fewer or more of them, or reading fails.
    pub fn read<T: Element>(mut self, advance: impl Fn(usize)) -> Result<Vec<T>, Reason> {
        let n = self.check_size(T::KIND)?;
        // Where the size isn't known, let it show.
        let is_certain = matches!(self.size, Size::Is(_));
        let mut values = if is_certain { zeroed(n)? } else { Vec::new() };
        let chunk = if is_certain { CHUNK } else { SMALL_CHUNK } / size_of::<T>();
        let mut start = 0;
        while start < n {
            let end = n.min(start + chunk);
            if values.len() < end {
                reserve(&mut values, end - start)?;
                values.resize(end, T::zeroed());
            }
            let bytes: &mut [u8] = bytemuck::cast_slice_mut(&mut values[start..end]);
            let read = self.input.fill(bytes).map_err(unreadable)?;
            if read < bytes.len() {
                return Err(truncated(n, T::KIND, (start * size_of::<T>() + read) as u64).into());
            }
            advance(end - start);
            start = end;
        }
        // An archive checks its sum at the end.
        if self.input.read(&mut [0]).map_err(unreadable)? != 0 {
            return Err(format!("goes on after the {n} elements that its header says").into());
        }
        if self.is_swapped() {
            values.iter_mut().for_each(|value| *value = value.swapped());
        }
        if self.is_fortran() && self.shape.len() > 1 && n > 0 {
            let array = ArrayD::from_shape_vec(IxDyn(&self.shape).f(), values).map_err(|error| error.to_string())?;
            values = collect(array.iter().copied())?;
        }
        Ok(values)
    }
}

fn truncated(n: usize, kind: Kind, found: u64) -> String {
    let (name, promised) = (kind.name(), n * kind.size());
    format!("is truncated: its header says {n} elements of {name} ({promised} bytes), but {found} bytes follow")
}

/// Reads the header; gives its size in bytes, too.
fn read_header(input: &mut impl Read) -> Result<(Header, u64), Reason> {
    // Magic, version (2 bytes) and the length of what follows (2 bytes in version 1, then 4).
    let mut start = Vec::new();
    input.take(10).read_to_end(&mut start).map_err(unreadable)?;
    match &start[..] {
        [] => return Err("is empty, not a .npy file".into()),
        [b'P', b'K', ..] => return Err("is an archive (.npz); save the array alone with numpy.save".into()),
        start if !start.starts_with(MAGIC) => return Err("is not a .npy file".into()),
        _ => {}
    }
    if start.get(MAGIC.len()).is_some_and(|&major| major >= 2) {
        input.take(2).read_to_end(&mut start).map_err(unreadable)?;
    }
    let length = match start[..] {
        [.., 1, _, a, b] if start.len() == 10 => u32::from(u16::from_le_bytes([a, b])),
        [.., 2 | 3, _, a, b, c, d] if start.len() == 12 => u32::from_le_bytes([a, b, c, d]),
        [_, _, _, _, _, _, major, minor, ..] if !(1..=3).contains(&major) => {
            return Err(format!("is a .npy file of version {major}.{minor}, which is not known").into());
        }
        _ => return Err("is truncated: it ends within its header".into()),
    };
    if length > LONGEST_HEADER {
        return Err(format!("has a header of {length} bytes: that is not a plain array").into());
    }
    let size = start.len() as u64 + u64::from(length);
    input.take(length.into()).read_to_end(&mut start).map_err(unreadable)?;
    // The time that the parser takes may double with each.
    let mut depth = 0usize;
    for byte in start.iter().skip(10) {
        match byte {
            b'(' | b'[' | b'{' => depth += 1,
            b')' | b']' | b'}' => depth = depth.saturating_sub(1),
            _ => {}
        }
        if depth > MOST_NESTED {
            return Err(format!("has a header that can't be read: more than {MOST_NESTED} brackets are within each other").into());
        }
    }
    let header = Header::from_reader(&mut &start[..]).map_err(|error| match error {
        ReadHeaderError::Io(_) => "is truncated: it ends within its header".to_owned(),
        error => format!("has a header that can't be read: {}", brief(error)),
    })?;
    Ok((header, size))
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
        "u4" => Kind::U32,
        "u8" => Kind::U64,
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
        _ => format!("elements of type {}", quoted(descriptor)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file(fortran: &str, body: &[u8]) -> Vec<u8> {
        let header = format!("{{'descr': '<f4', 'fortran_order': {fortran}, 'shape': (2, 3), }}\n");
        [MAGIC, &[1, 0], &(header.len() as u16).to_le_bytes(), header.as_bytes(), body].concat()
    }

    #[test]
    fn fortran_order_is_turned() {
        let body: Vec<u8> = [0f32, 1.0, 2.0, 3.0, 4.0, 5.0].iter().flat_map(|value| value.to_le_bytes()).collect();
        for (fortran, expected) in [("False", [0.0, 1.0, 2.0, 3.0, 4.0, 5.0]), ("True", [0.0, 2.0, 4.0, 1.0, 3.0, 5.0])] {
            for size in [Size::Unknown, Size::Is(file(fortran, &body).len() as u64)] {
                let bytes = file(fortran, &body);
                let reader = Reader::new(&bytes[..], size).unwrap();
                assert_eq!(reader.kind("it", Kind::FLOATS), Ok(Kind::F32));
                assert_eq!(reader.shape(), [2, 3]);
                assert_eq!(reader.read::<f32>(|_| {}).unwrap(), expected);
            }
        }
    }

    #[test]
    fn sizes_without_the_bytes() {
        for (shape, error) in [
            ("(1000000000000000, )", "is truncated: its header says 1000000000000000 elements"),
            ("(4000000000000000000, 4)", "has more elements than can be counted"),
            ("(4000000000000000000, )", "has more elements than can be counted"),
        ] {
            let header = format!("{{'descr': '<f8', 'fortran_order': False, 'shape': {shape}, }}\n");
            let bytes = [MAGIC, &[1, 0], &(header.len() as u16).to_le_bytes(), header.as_bytes(), &[0; 80]].concat();
            for size in [Size::Unknown, Size::Is(bytes.len() as u64)] {
                let found = Reader::new(&bytes[..], size).unwrap().read::<f64>(|_| {}).unwrap_err();
                assert!(found.to_string().starts_with(error), "{found}");
            }
        }
    }

    #[test]
    fn headers_out_of_proportion() {
        for (shape, error) in [
            (format!("({})", "1, ".repeat(65)), "has 65 dimensions, and an array has 64 at most"),
            // The parser of headers takes twice the time for each bracket.
            ("(0, ".repeat(300), "has a header that can't be read: more than 6 brackets are within each other"),
        ] {
            let header = format!("{{'descr': '<f8', 'fortran_order': False, 'shape': {shape}, }}\n");
            let bytes = [MAGIC, &[1, 0], &(header.len() as u16).to_le_bytes(), header.as_bytes()].concat();
            assert_eq!(Reader::new(&bytes[..], Size::Unknown).err(), Some(error.into()));
        }
    }

    #[test]
    fn names_of_many_types() {
        let bytes = file("False", &[0; 24]);
        let reader = Reader::new(&bytes[..], Size::Unknown).unwrap();
        assert_eq!(reader.kind("it", Kind::INTEGERS), Err("holds float32, but it must be int32, int64, uint32 or uint64".into()));
    }
}
