//! Reads the arrays of `.npy` files and `.npz` archives, and reports what is wrong with them; writes arrays.
//!
//! A header is never trusted: no more memory is allocated than the file has bytes, or than the
//! [limits](crate::io) allow.

use std::{
    io::{self, Read, Write},
    mem,
    path::Path,
};

use bytemuck::Pod;

use super::{
    files::Reason,
    source::{Input, LONGEST_LINE, MOST_EMPTY, Source, collect, filled, push, quoted, reserve, unreadable, zeroed},
};

/// The first bytes of every `.npy` file.
const MAGIC: &[u8] = b"\x93NUMPY";

/// Longest header, in bytes. A plain array has one of about 100 bytes.
const LONGEST_HEADER: u32 = 4096;

/// Deepest nesting of brackets in a header: 2 for a plain array, and 3 per level of structures.
const MOST_NESTED: usize = 6;

/// Largest number of dimensions of an array, as in NumPy.
const MOST_DIMENSIONS: usize = 64;

/// Bytes per read if the file's size is known, and if the content may be smaller than it claims.
const CHUNK: usize = if cfg!(test) { SMALL_CHUNK } else { 256 << 20 };
const SMALL_CHUNK: usize = 8 << 20;

/// A type that arrays can have as elements.
pub trait Element: Pod {
    /// The type as a value.
    const KIND: Kind;
    /// Reverses the byte order.
    fn swapped(self) -> Self;
}

macro_rules! elements {
    ($($kind:ident $type:ident $name:literal $code:literal;)*) => {
        /// The element types that can be read and written.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub enum Kind {
            $(
                #[doc = concat!("`", stringify!($type), "`")]
                $kind,
            )*
        }

        impl Kind {
            /// The type's name in NumPy.
            pub const fn name(self) -> &'static str {
                match self { $(Kind::$kind => $name),* }
            }

            /// The type's descriptor in a header, without byte order and quotes.
            const fn code(self) -> &'static str {
                match self { $(Kind::$kind => $code),* }
            }

            /// Size of an element, in bytes.
            pub const fn size(self) -> usize {
                match self { $(Kind::$kind => size_of::<$type>()),* }
            }
        }

        $(
            impl Element for $type {
                const KIND: Kind = Kind::$kind;
                fn swapped(self) -> Self {
                    let mut bytes = self.to_ne_bytes();
                    bytes.reverse();
                    $type::from_ne_bytes(bytes)
                }
            }
        )*
    };
}
elements! {
    I32 i32 "int32" "i4";
    I64 i64 "int64" "i8";
    U32 u32 "uint32" "u4";
    U64 u64 "uint64" "u8";
    F32 f32 "float32" "f4";
    F64 f64 "float64" "f8";
}

impl Kind {
    /// The integer types.
    pub const INTEGERS: &[Kind] = &[Kind::I32, Kind::I64, Kind::U32, Kind::U64];
    /// The floating-point types.
    pub const FLOATS: &[Kind] = &[Kind::F32, Kind::F64];

    /// The type's descriptor as a Python literal, in this machine's byte order: `'<f4'`.
    pub(crate) fn descriptor(self) -> String {
        let order = if cfg!(target_endian = "big") { '>' } else { '<' };
        format!("'{order}{}'", self.code())
    }
}

/// Returns a shape as Python writes a tuple: `(2, 3)`, `(7,)`.
pub fn tuple(shape: &[usize]) -> String {
    let extents: Vec<_> = shape.iter().map(usize::to_string).collect();
    format!("({}{})", extents.join(", "), if shape.len() == 1 { "," } else { "" })
}

/// Returns the header of an array in C order. `descriptor` is the type of its elements, as a Python literal.
pub(crate) fn header(descriptor: &str, shape: &[usize]) -> Vec<u8> {
    let text = format!("{{'descr': {descriptor}, 'fortran_order': False, 'shape': {}, }}", tuple(shape));
    // Elements begin at a multiple of 64 bytes, after the end of a line.
    let pad = |prefix: usize| (prefix + text.len() + 1).next_multiple_of(64) - prefix;
    let start = match u16::try_from(pad(MAGIC.len() + 4)) {
        Ok(length) => [MAGIC, &[1, 0], &length.to_le_bytes()].concat(),
        Err(_) => [MAGIC, &[2, 0], &(pad(MAGIC.len() + 6) as u32).to_le_bytes()].concat(),
    };
    let length = pad(start.len());
    [&start[..], format!("{text:<width$}\n", width = length - 1).as_bytes()].concat()
}

/// Writes an array of this shape, whose elements are given in C order.
///
/// # Errors
/// The errors of `file`, and a number of elements that differs from the shape's.
pub fn write<T: Element>(mut file: impl Write, values: &[T], shape: &[usize]) -> io::Result<()> {
    if shape.iter().try_fold(1usize, |n, &extent| n.checked_mul(extent)) != Some(values.len()) {
        return Err(io::Error::other(format!("{} elements are not an array of shape {shape:?}", values.len())));
    }
    file.write_all(&header(&T::KIND.descriptor(), shape))?;
    file.write_all(bytemuck::cast_slice(values))
}

/// Number of characters of the longest text, at least 1.
fn width(texts: &[impl AsRef<str>]) -> usize {
    texts.iter().map(|text| text.as_ref().chars().count()).max().unwrap_or(0).max(1)
}

/// Returns the number of bytes that [`write_texts`] writes after the header.
pub(crate) fn texts_size(texts: &[impl AsRef<str>]) -> usize {
    4 * width(texts) * texts.len()
}

/// Writes strings as NumPy stores them, in one dimension: UTF-32, as wide as the longest.
pub fn write_texts(mut file: impl Write, texts: &[impl AsRef<str>]) -> io::Result<()> {
    let width = width(texts);
    file.write_all(&header(&format!("'<U{width}'"), &[texts.len()]))?;
    let mut element = Vec::with_capacity(4 * width);
    for text in texts {
        element.clear();
        element.extend(text.as_ref().chars().flat_map(|c| u32::from(c).to_le_bytes()));
        element.resize(4 * width, 0);
        file.write_all(&element)?;
    }
    Ok(())
}

/// Size of a file or of an archive's entry, as far as it is known before reading.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Size {
    /// Exact size in bytes, including the header.
    Is(u64),
    /// Compressed; the limit for its unpacked size, in bytes.
    Packed(u64),
    /// Unknown, as for a pipe.
    Unknown,
}

/// An array whose header has been read, but not its elements.
///
/// Errors are clauses that follow the file's name, such as "is truncated: ...".
#[derive(Debug)]
pub struct Reader<R> {
    input: R,
    size: Size,
    /// Size of the header, in bytes.
    header_size: u64,
    header: Header,
}

/// The content of a header.
#[derive(Debug)]
struct Header {
    /// NumPy's descriptor of the element type. `None` for structures.
    descriptor: Option<String>,
    /// Name and type descriptor of the only field, for structures of one field.
    field: Option<(String, String)>,
    /// True if the first index varies fastest.
    fortran: bool,
    shape: Vec<usize>,
}

impl Reader<Source> {
    /// Opens a `.npy` file and reads its header.
    ///
    /// # Errors
    /// The file can't be read, or has no valid header.
    pub fn open(path: &Path) -> Result<Self, Reason> {
        let source = Source::open(path)?;
        let size = source.size().map_or(Size::Unknown, Size::Is);
        Reader::new(source, size)
    }

    /// Returns the file, without reading the elements.
    pub fn into_source(self) -> Source {
        self.input
    }
}

impl<R: Input> Reader<R> {
    /// Reads the header of an array.
    ///
    /// # Errors
    /// There is no valid header, or the shape exceeds the limits.
    pub fn new(mut input: R, size: Size) -> Result<Self, Reason> {
        let (header, header_size) = read_header(&mut input)?;
        let shape = &header.shape;
        if shape.len() > MOST_DIMENSIONS {
            return Err(format!("has {} dimensions, and an array has {MOST_DIMENSIONS} at most", shape.len()).into());
        }
        if shape.contains(&0) {
            let others = shape.iter().filter(|&&extent| extent > 0).try_fold(1usize, |n, &extent| n.checked_mul(extent));
            if others.is_none_or(|others| others > MOST_EMPTY) {
                let shape = tuple(shape);
                return Err(format!(
                    "has the shape {shape}: of an array without elements, the rest may make up {MOST_EMPTY} at most"
                )
                .into());
            }
        }
        Ok(Reader { input, size, header_size, header })
    }

    /// Returns true if the elements are structures with one field of this name. They are then
    /// treated as plain numbers.
    pub fn unwrap_field(&mut self, name: &str) -> bool {
        match self.header.field.take_if(|(field, _)| field == name) {
            Some((_, descriptor)) => {
                self.header.descriptor = Some(descriptor);
                true
            }
            None => false,
        }
    }

    /// The array's shape.
    pub fn shape(&self) -> &[usize] {
        &self.header.shape
    }

    /// Returns true in Fortran order, in which the first index varies fastest.
    pub fn is_fortran(&self) -> bool {
        self.header.fortran
    }

    /// Size of the header in bytes, which is the offset of the elements.
    pub fn header_size(&self) -> u64 {
        self.header_size
    }

    /// Returns true if the elements' byte order differs from this machine's.
    pub fn is_swapped(&self) -> bool {
        let big_endian = self.header.descriptor.as_deref().and_then(parse_type).is_some_and(|(_, big_endian)| big_endian);
        big_endian != cfg!(target_endian = "big")
    }

    /// Returns the type of the elements, which must be one of the `allowed`. `what` is the array's
    /// name in "but `what` must be int32".
    ///
    /// # Errors
    /// The type is another one.
    pub fn kind(&self, what: &str, allowed: &[Kind]) -> Result<Kind, Reason> {
        let kind = self.header.descriptor.as_deref().and_then(parse_type).map(|(kind, _)| kind);
        Ok(kind.filter(|kind| allowed.contains(kind)).ok_or_else(|| {
            let found = self.header.descriptor.as_deref().map_or_else(|| "structured elements".to_owned(), type_name);
            let names: Vec<_> = allowed.iter().map(|kind| kind.name()).collect();
            let names = match &names[..] {
                [others @ .., other, last] if !others.is_empty() => format!("{}, {other} or {last}", others.join(", ")),
                names => names.join(" or "),
            };
            format!("holds {found}, but {what} must be {names}")
        })?)
    }

    /// Checks the number of bytes against the header, as far as the size is known. Returns the
    /// number of elements.
    ///
    /// # Errors
    /// There are too few bytes, or more elements than can be counted.
    pub fn check_size(&self, kind: Kind) -> Result<usize, Reason> {
        let n = self.header.shape.iter().try_fold(1usize, |n, &extent| n.checked_mul(extent));
        let n = if self.header.shape.contains(&0) { Some(0) } else { n };
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

    /// Reads strings, or bytes that are UTF-8 text, of one dimension. `what` is the array's name in errors.
    ///
    /// # Errors
    /// The array holds something else, or reading fails.
    pub(crate) fn read_texts(mut self, what: &str) -> Result<Vec<String>, Reason> {
        let descriptor = self.header.descriptor.as_deref().unwrap_or_default();
        let width = descriptor.get(2..).and_then(|width| width.parse::<usize>().ok()).filter(|&width| width <= LONGEST_LINE);
        let wide = descriptor.get(1..2) == Some("U");
        let (Some(width), true, &[n]) = (width, wide || descriptor.get(1..2) == Some("S"), self.shape()) else {
            let (found, shape) =
                (if descriptor.is_empty() { "structured elements".into() } else { type_name(descriptor) }, tuple(self.shape()));
            return Err(format!("holds {found} of shape {shape}, but {what} must be text of one dimension").into());
        };
        if width == 0 && n > 0 {
            return Err(format!("says that it has {n} texts without characters").into());
        }
        let swapped = descriptor.starts_with(if cfg!(target_endian = "big") { '<' } else { '>' });
        let bytes = if wide { 4 * width } else { width };
        if let Size::Packed(most) = self.size
            && n.checked_mul(bytes).is_none_or(|size| size as u64 > most)
        {
            return Err(format!("unpacks to more than {most} bytes, the most that are read from an archive of this size").into());
        }
        let (mut texts, mut element) = (Vec::new(), filled(0u8, bytes)?);
        for index in 0..n {
            if self.input.fill(&mut element).map_err(unreadable)? < bytes {
                return Err(format!("is truncated: its header says {n} texts, but it ends within text {index}").into());
            }
            let text = if wide {
                let code = |bytes: &[u8; 4]| if swapped { u32::from_be_bytes(*bytes) } else { u32::from_le_bytes(*bytes) };
                element.as_chunks().0.iter().map(|bytes| char::from_u32(code(bytes))).collect::<Option<String>>()
            } else {
                String::from_utf8(element.clone()).ok()
            };
            let text = text.ok_or_else(|| format!("text {index} is not Unicode"))?;
            push(&mut texts, text.trim_end_matches('\0').to_owned())?;
        }
        if self.input.read(&mut [0]).map_err(unreadable)? != 0 {
            return Err(format!("goes on after the {n} texts that its header says").into());
        }
        Ok(texts)
    }

    /// Reads the elements in C order. `T` must match the [`kind`](Self::kind). Reports progress by
    /// calling `advance` with numbers of elements.
    ///
    /// # Errors
    /// There are too few or too many elements, or reading fails.
    pub fn read<T: Element>(mut self, advance: impl Fn(usize)) -> Result<Vec<T>, Reason> {
        let n = self.check_size(T::KIND)?;
        // If the size is unknown, allocate only as the data arrives.
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
        // An archive verifies its checksum at the end.
        if self.input.read(&mut [0]).map_err(unreadable)? != 0 {
            return Err(format!("goes on after the {n} elements that its header says").into());
        }
        if self.is_swapped() {
            values.iter_mut().for_each(|value| *value = value.swapped());
        }
        if self.is_fortran() && self.header.shape.len() > 1 && n > 0 {
            values = to_c_order(&values, &self.header.shape)?;
        }
        Ok(values)
    }
}

/// Reorders elements from Fortran order, in which the first index varies fastest, to C order.
fn to_c_order<T: Copy>(values: &[T], shape: &[usize]) -> Result<Vec<T>, Reason> {
    let strides = shape.iter().scan(1, |stride, &extent| Some(mem::replace(stride, *stride * extent)));
    let strides: Vec<usize> = strides.collect();
    let (mut index, mut place) = (vec![0; shape.len()], 0);
    collect((0..values.len()).map(|_| {
        let value = values[place];
        for axis in (0..shape.len()).rev() {
            index[axis] += 1;
            place += strides[axis];
            if index[axis] < shape[axis] {
                break;
            }
            place -= strides[axis] * mem::take(&mut index[axis]);
        }
        value
    }))
}

fn truncated(n: usize, kind: Kind, found: u64) -> String {
    let (name, promised) = (kind.name(), n * kind.size());
    format!("is truncated: its header says {n} elements of {name} ({promised} bytes), but {found} bytes follow")
}

/// Reads the header. Returns it with its size in bytes.
fn read_header(input: &mut impl Read) -> Result<(Header, u64), Reason> {
    // Magic number, version (2 bytes), and length of the dictionary (2 bytes in version 1,
    // otherwise 4).
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
    if (start.len() as u64) < size {
        return Err("is truncated: it ends within its header".into());
    }
    let body = &start[start.len() - length as usize..];
    let header = parse_header(body).map_err(|error| format!("has a header that can't be read: {error}"))?;
    Ok((header, size))
}

/// A Python literal, as in a header.
enum Literal {
    Text(String),
    Bool(bool),
    Number(usize),
    /// A tuple or a list.
    Many(Vec<Literal>),
    Dict(Vec<(String, Literal)>),
}

fn parse_header(body: &[u8]) -> Result<Header, String> {
    let text = std::str::from_utf8(body).map_err(|_| "it is not UTF-8 text")?;
    let mut rest = text.trim();
    let Literal::Dict(entries) = literal(&mut rest, 0)? else { return Err("it is not a dictionary".to_owned()) };
    if !rest.is_empty() {
        return Err(format!("it goes on with {}", quoted(rest)));
    }
    let (mut descr, mut fortran, mut shape) = (None, None, None);
    for (key, value) in entries {
        match (&key[..], value) {
            ("descr", value @ (Literal::Text(_) | Literal::Many(_))) => descr = Some(value),
            ("fortran_order", Literal::Bool(value)) => fortran = Some(value),
            ("shape", Literal::Many(extents)) => {
                let extent = |extent: &Literal| if let Literal::Number(n) = extent { Some(*n) } else { None };
                shape = Some(extents.iter().map(extent).collect::<Option<Vec<_>>>().ok_or("`shape` is not a tuple of sizes")?);
            }
            ("descr" | "fortran_order" | "shape", _) => return Err(format!("`{key}` is of the wrong type")),
            _ => return Err(format!("it has an unknown key, {}", quoted(&key))),
        }
    }
    let missing = |key: &str| format!("it has no `{key}`");
    let (descriptor, field) = match descr.ok_or_else(|| missing("descr"))? {
        Literal::Text(descriptor) => (Some(descriptor), None),
        Literal::Many(fields) => (None, only_field(&fields)),
        _ => (None, None),
    };
    let fortran = fortran.ok_or_else(|| missing("fortran_order"))?;
    Ok(Header { descriptor, field, fortran, shape: shape.ok_or_else(|| missing("shape"))? })
}

/// Returns the name and the type of the field of a structure that has exactly one.
fn only_field(fields: &[Literal]) -> Option<(String, String)> {
    match fields {
        [Literal::Many(field)] => match &field[..] {
            [Literal::Text(name), Literal::Text(descriptor)] => Some((name.clone(), descriptor.clone())),
            _ => None,
        },
        _ => None,
    }
}

/// Parses the literal that `rest` begins with, `depth` brackets deep, and the white space after it.
fn literal(rest: &mut &str, depth: usize) -> Result<Literal, String> {
    let unexpected = |rest: &str| match rest.chars().next() {
        Some(found) => format!("unexpected {}", quoted(&found.to_string())),
        None => "it ends too early".to_owned(),
    };
    let next = |rest: &mut &str, token: &str| {
        let found = rest.strip_prefix(token).map(str::trim_start);
        *rest = found.unwrap_or(rest);
        found.is_some()
    };
    let value = match rest.as_bytes().first() {
        Some(quote @ (b'\'' | b'"')) => {
            let (text, after) = rest[1..].split_once(char::from(*quote)).ok_or("a string has no end")?;
            if text.contains('\\') {
                return Err("it has a string with escapes".to_owned());
            }
            *rest = after;
            Literal::Text(text.to_owned())
        }
        Some(b'0'..=b'9') => {
            let end = rest.find(|next: char| !next.is_ascii_digit()).unwrap_or(rest.len());
            let number = rest[..end].parse().map_err(|_| format!("{} is too large", quoted(&rest[..end])))?;
            *rest = &rest[end..];
            Literal::Number(number)
        }
        Some(b'T') if next(rest, "True") => Literal::Bool(true),
        Some(b'F') if next(rest, "False") => Literal::Bool(false),
        Some(b'(' | b'[' | b'{') if depth == MOST_NESTED => {
            return Err(format!("more than {MOST_NESTED} brackets are within each other"));
        }
        Some(open @ (b'(' | b'[' | b'{')) => {
            let (open, close) = match open {
                b'(' => ("(", ")"),
                b'[' => ("[", "]"),
                _ => ("{", "}"),
            };
            next(rest, open);
            let (mut many, mut dict, mut comma) = (Vec::new(), Vec::new(), true);
            while !next(rest, close) {
                if !comma {
                    return Err(unexpected(rest));
                }
                let item = literal(rest, depth + 1)?;
                match item {
                    Literal::Text(key) if open == "{" && next(rest, ":") => dict.push((key, literal(rest, depth + 1)?)),
                    _ if open == "{" => return Err("a key of the dictionary is missing".to_owned()),
                    item => many.push(item),
                }
                comma = next(rest, ",");
            }
            match many.pop() {
                _ if open == "{" => Literal::Dict(dict),
                // Parentheses around one value are no tuple.
                Some(only) if open == "(" && many.is_empty() && !comma => only,
                last => Literal::Many(many.into_iter().chain(last).collect()),
            }
        }
        _ => return Err(unexpected(rest)),
    };
    *rest = rest.trim_start();
    Ok(value)
}

/// Parses a descriptor such as `<i4`. The second value is true for big-endian order.
fn parse_type(descriptor: &str) -> Option<(Kind, bool)> {
    let big_endian = match descriptor.get(..1)? {
        "<" => false,
        ">" => true,
        "=" => cfg!(target_endian = "big"),
        _ => return None,
    };
    let mut kinds = Kind::INTEGERS.iter().chain(Kind::FLOATS);
    let kind = *kinds.find(|kind| kind.code() == &descriptor[1..])?;
    Some((kind, big_endian))
}

/// Converts a descriptor to NumPy's name of the type: `<u2` is `uint16`.
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

    /// A file with this dictionary, of version 1.
    fn bytes(header: &str, body: &[u8]) -> Vec<u8> {
        let header = format!("{header}\n");
        [MAGIC, &[1, 0], &(header.len() as u16).to_le_bytes(), header.as_bytes(), body].concat()
    }

    fn file(descriptor: &str, fortran: bool, shape: &str, body: &[u8]) -> Vec<u8> {
        let fortran = if fortran { "True" } else { "False" };
        bytes(&format!("{{'descr': '{descriptor}', 'fortran_order': {fortran}, 'shape': {shape}, }}"), body)
    }

    #[test]
    fn orders_of_elements_and_bytes() {
        for (fortran, expected) in [(false, [0.0, 1.0, 2.0, 3.0, 4.0, 5.0]), (true, [0.0, 2.0, 4.0, 1.0, 3.0, 5.0])] {
            let orders = [("<f4", f32::to_le_bytes as fn(f32) -> [u8; 4]), (">f4", f32::to_be_bytes), ("=f4", f32::to_ne_bytes)];
            for (descriptor, of) in orders {
                let body: Vec<u8> = (0u8..6).flat_map(|value| of(value.into())).collect();
                let bytes = file(descriptor, fortran, "(2, 3)", &body);
                for size in [Size::Unknown, Size::Is(bytes.len() as u64)] {
                    let reader = Reader::new(&bytes[..], size).unwrap();
                    assert_eq!((reader.kind("it", Kind::FLOATS), reader.shape()), (Ok(Kind::F32), &[2, 3][..]));
                    assert_eq!(reader.read::<f32>(|_| {}).unwrap(), expected);
                }
            }
        }
    }

    #[test]
    fn what_is_wrong() {
        let integers = &[Kind::I32, Kind::I64];
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
            (file("<f8", false, "(2,)", &[0; 16]), "holds float64, but next must be int32 or int64"),
            (file("<u2", false, "(2,)", &[0; 4]), "holds uint16, but"),
            (file("|b1", false, "(2,)", &[0; 2]), "holds bool, but"),
            (file("|O", false, "(2,)", &[0; 2]), "holds Python objects, but"),
            (bytes("{'descr': [('a', '<i4')], 'fortran_order': False, 'shape': (2,)}", &[]), "holds structured elements, but"),
            (
                file("<i4", false, "(3,)", &[0; 11]),
                "is truncated: its header says 3 elements of int32 (12 bytes), but 11 bytes follow",
            ),
            (file("<i4", false, "(3,)", &[0; 13]), "goes on after the 3 elements"),
            (file("<i8", false, "(1000000000000000, )", &[0; 80]), "is truncated: its header says 1000000000000000 elements"),
            (file("<i8", false, "(4000000000000000000, 4)", &[]), "has more elements than can be counted"),
            (file("<i8", false, "(4000000000000000000, )", &[]), "has more elements than can be counted"),
        ] {
            for size in [Size::Unknown, Size::Is(bytes.len() as u64)] {
                let read = |reader: Reader<_>| match reader.kind("next", integers)? {
                    Kind::I32 => reader.read::<i32>(|_| {}).map(drop),
                    _ => reader.read::<i64>(|_| {}).map(drop),
                };
                let error = Reader::new(&bytes[..], size).and_then(read).unwrap_err().to_string();
                assert!(error.starts_with(text), "{error}\n{text}");
            }
        }
        let reader = Reader::new(&file("<f4", false, "(2, 3)", &[])[..], Size::Unknown).unwrap().kind("it", Kind::INTEGERS);
        assert_eq!(reader, Err("holds float32, but it must be int32, int64, uint32 or uint64".into()));
    }

    /// Elements that fill a read just, and just not, and several reads.
    #[test]
    fn elements_in_chunks() {
        let most = SMALL_CHUNK / size_of::<i64>();
        for n in [most - 1, most, most + 1, 2 * most + 1] {
            let values: Vec<i64> = (0..n as i64).collect();
            let mut bytes = Vec::new();
            write(&mut bytes, &values, &[n]).unwrap();
            for size in [Size::Unknown, Size::Is(bytes.len() as u64), Size::Packed(8 * n as u64)] {
                assert!(Reader::new(&bytes[..], size).unwrap().read::<i64>(|_| {}).unwrap() == values, "{n}, {size:?}");
                let error = Reader::new(&bytes[..bytes.len() - 1], Size::Unknown).unwrap().read::<i64>(|_| {}).unwrap_err();
                assert!(error.to_string().starts_with("is truncated"), "{error}");
            }
            let error = Reader::new(&bytes[..], Size::Packed(8 * n as u64 - 1)).unwrap().read::<i64>(|_| {}).unwrap_err();
            assert!(error.to_string().starts_with(&format!("unpacks to {} bytes", 8 * n)), "{error}");
        }
    }

    #[test]
    fn headers_out_of_proportion() {
        for (shape, error) in [
            (format!("({})", "1, ".repeat(65)), "has 65 dimensions, and an array has 64 at most"),
            // The parser of headers takes twice the time for each bracket.
            ("(0, ".repeat(300), "has a header that can't be read: more than 6 brackets are within each other"),
            ("(".repeat(6), "has a header that can't be read: more than 6 brackets are within each other"),
            ("(".repeat(5), "has a header that can't be read: it ends too early"),
            (
                "(1048577, 0)".to_owned(),
                "has the shape (1048577, 0): of an array without elements, the rest may make up 1048576 at most",
            ),
            (format!("(7, ){}", " ".repeat(4038)), "has a header of 4097 bytes: that is not a plain array"),
        ] {
            let shape = if shape.starts_with("((") { shape } else { format!("{shape}, }}\n") };
            let header = format!("{{'descr': '<f8', 'fortran_order': False, 'shape': {shape}");
            let bytes = [MAGIC, &[1, 0], &(header.len() as u16).to_le_bytes(), header.as_bytes()].concat();
            assert_eq!(Reader::new(&bytes[..], Size::Unknown).err(), Some(error.into()));
        }
        for (shape, expected) in [("(1048576, 0)".to_owned(), &[1 << 20, 0][..]), (format!("(7, ){}", " ".repeat(4037)), &[7])] {
            assert_eq!(Reader::new(&file("<f8", false, &shape, &[])[..], Size::Unknown).unwrap().shape(), expected);
        }
    }

    /// As Python reads and writes them.
    #[test]
    fn headers() {
        for (text, expected) in [
            ("{'descr': '<f8', 'fortran_order': True, 'shape': (2, 3), }", Ok((Some("<f8"), None, true, vec![2, 3]))),
            ("{\"shape\":(7,),\"fortran_order\":False,\"descr\":\"|S3\"} \n", Ok((Some("|S3"), None, false, vec![7]))),
            ("{'descr': [('x', '<f4')], 'fortran_order': False, 'shape': ()}", Ok((None, Some(("x", "<f4")), false, vec![]))),
            (
                "{'descr': [('x', '<f4', (2,)), ('y', [('z', '<i4')])], 'fortran_order': False, 'shape': ()}",
                Ok((None, None, false, vec![])),
            ),
            ("{'descr': '<f8', 'fortran_order': False, 'shape': (3)}", Err("`shape` is of the wrong type")),
            ("{'descr': '<f8', 'fortran_order': False, 'shape': (-3,)}", Err("unexpected `-`")),
            ("{'descr': '<f8', 'fortran_order': False, 'shape': ('a',)}", Err("`shape` is not a tuple of sizes")),
            (
                "{'descr': '<f8', 'fortran_order': False, 'shape': (99999999999999999999,)}",
                Err("`99999999999999999999` is too large"),
            ),
            ("{'descr': '<f8', 'fortran_order': False, 'shape': (3 4)}", Err("unexpected `4`")),
            ("{'descr': '<f8', 'fortran_order': False}", Err("it has no `shape`")),
            ("{'descr': '<f8', 'fortran_order': 1}", Err("`fortran_order` is of the wrong type")),
            ("{'descr': '<f8', 'order': False}", Err("it has an unknown key, `order`")),
            ("{'descr', 'shape'}", Err("a key of the dictionary is missing")),
            ("{'descr': '<f8} ", Err("a string has no end")),
            ("{'descr': 'a\\n'}", Err("it has a string with escapes")),
            ("{'descr': ", Err("it ends too early")),
            ("{} {}", Err("it goes on with `{}`")),
            ("[]", Err("it is not a dictionary")),
            ("", Err("it ends too early")),
        ] {
            let found = parse_header(text.as_bytes());
            let found = found.as_ref().map(|header| {
                let field = header.field.as_ref().map(|(name, descriptor)| (&name[..], &descriptor[..]));
                (header.descriptor.as_deref(), field, header.fortran, header.shape.clone())
            });
            assert_eq!(found.map_err(|error| &error[..]), expected, "{text}");
        }
        for shape in [&[][..], &[7], &[2, 3], &[1; 64]] {
            let bytes = header(&Kind::I64.descriptor(), shape);
            assert!(bytes.len().is_multiple_of(64) && bytes.ends_with(b"\n"));
            let reader = Reader::new(&bytes[..], Size::Unknown).unwrap();
            assert_eq!((reader.shape(), reader.header_size()), (shape, bytes.len() as u64));
            assert_eq!((reader.kind("it", Kind::INTEGERS), reader.is_fortran()), (Ok(Kind::I64), false));
        }
        assert!(write(Vec::new(), &[1, 2, 3], &[2, 2]).is_err());
    }
}
