//! Reads NumPy archives, `.npz`: opens their arrays by name. Stored entries are read by all threads.

use std::{
    fmt::Display,
    io::{self, BufReader, Read},
    path::Path,
};

use bytemuck::Pod;
use crc32fast::Hasher;
use zip::{CompressionMethod, ZipArchive, read::ZipFile, result::ZipError};

use super::{
    files::{FileError, Reason},
    npy::{Kind, Reader, Size, tuple},
    source::{Input, Source, archived, brief, fill, unreadable},
};

/// Returns an error about an array.
pub(crate) fn in_array(path: &Path, name: &str, reason: impl Into<Reason>) -> FileError {
    FileError::new(path, reason.into().after(format_args!("array `{name}`: ")))
}

/// A reader of an archive.
pub(crate) struct Archive<'a> {
    path: &'a Path,
    zip: ZipArchive<BufReader<Source>>,
    source: Source,
    /// The file's size in bytes.
    size: u64,
}

impl<'a> Archive<'a> {
    pub fn open(path: &'a Path) -> Result<Self, FileError> {
        let fail = |reason: &str| FileError::new(path, reason);
        let source = Source::open(path).map_err(|reason| FileError::new(path, reason))?;
        let size = source.size().ok_or_else(|| fail("is not a file: an archive can't be read from a pipe or a device"))?;
        let zip = ZipArchive::new(BufReader::new(source.clone())).map_err(|error| match error {
            ZipError::Io(error) if error.kind() != io::ErrorKind::UnexpectedEof => FileError::new(path, unreadable(error)),
            _ if size == 0 => fail("is empty, not an archive (.npz)"),
            _ => fail("is not an archive (.npz), or only a part of one"),
        })?;
        Ok(Archive { path, zip, source, size })
    }

    pub fn has(&self, name: &str) -> bool {
        self.zip.index_for_name(&format!("{name}.npy")).is_some()
    }

    /// The names of the arrays, in their order.
    pub fn names(&self) -> Vec<String> {
        self.zip.file_names().map(|name| name.strip_suffix(".npy").unwrap_or(name).to_owned()).collect()
    }

    /// Reads an array of names.
    pub fn texts(&mut self, name: &str) -> Result<Vec<String>, FileError> {
        let path = self.path;
        self.array(name)?.read_texts(name).map_err(|reason| in_array(path, name, reason))
    }

    /// Opens an array and reads its header.
    pub fn array(&mut self, name: &str) -> Result<Reader<Entry<'_>>, FileError> {
        let path = self.path;
        if !self.has(name) {
            let names = self.names();
            let found = match &names[..] {
                [] => "nothing".to_owned(),
                [a, b, c, _, ..] => format!("{a}, {b}, {c} and {} more", names.len() - 3),
                few => few.join(", "),
            };
            return Err(FileError::new(path, format!("has no array `{name}`; it holds {}", brief(found))));
        }
        let entry = self.zip.by_name(&format!("{name}.npy"));
        let entry = entry.map_err(|error| in_array(path, name, format!("can't be read: {error}")))?;
        // The size of a compressed entry is only a claim.
        let is_stored = entry.compression() == CompressionMethod::Stored && entry.size() <= self.size;
        let size = if is_stored { Size::Is(entry.size()) } else { Size::Packed(archived(self.size)) };
        let (at, len) = (entry.data_start(), entry.size());
        let entry = match at.checked_add(len) {
            Some(end) if is_stored && entry.compressed_size() == len && end <= self.size => {
                let (expected, source) = (entry.crc32(), self.source.clone());
                Entry::Stored { source, at, end, sum: Hasher::new(), expected }
            }
            _ => Entry::Packed(entry),
        };
        Reader::new(entry, size).map_err(|reason| in_array(path, name, reason))
    }

    /// Reads an array of indices.
    pub fn indices(&mut self, name: &'static str) -> Result<Vec<usize>, FileError> {
        let path = self.path;
        let fail = |reason: Reason| in_array(path, name, reason);
        let reader = self.array(name)?;
        let kind = reader.kind(name, Kind::INTEGERS).map_err(fail)?;
        if reader.shape().len() != 1 {
            return Err(fail(format!("has the shape {}, but it must have one dimension", tuple(reader.shape())).into()));
        }
        match kind {
            Kind::I32 => to_indices(reader.read::<i32>(|_| {}).map_err(fail)?),
            Kind::U32 => to_indices(reader.read::<u32>(|_| {}).map_err(fail)?),
            Kind::U64 => to_indices(reader.read::<u64>(|_| {}).map_err(fail)?),
            _ => to_indices(reader.read::<i64>(|_| {}).map_err(fail)?),
        }
        .map_err(|(index, found)| fail(format!("{name}[{index}] is {found}, but it must be an index from 0 on").into()))
    }
}

/// An array's file in an archive.
pub(crate) enum Entry<'a> {
    /// An uncompressed entry, which several threads can read.
    Stored {
        source: Source,
        /// Offsets in the archive of the next byte and of the entry's end.
        at: u64,
        end: u64,
        /// Checksum of the bytes read so far, and the expected one of all.
        sum: Hasher,
        expected: u32,
    },
    Packed(ZipFile<'a, BufReader<Source>>),
}

impl Read for Entry<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        match self {
            Entry::Stored { .. } => self.fill(buffer),
            Entry::Packed(entry) => entry.read(buffer),
        }
    }
}

impl Input for Entry<'_> {
    fn fill(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let Entry::Stored { source, at, end, sum, expected } = self else { return fill(self, buffer) };
        let left = usize::try_from(*end - *at).unwrap_or(usize::MAX);
        if left == 0 && sum.clone().finalize() != *expected {
            return Err(io::Error::new(io::ErrorKind::InvalidData, "invalid checksum"));
        }
        let len = buffer.len().min(left);
        let of_piece = |piece: &[u8]| {
            let mut sum = Hasher::new();
            sum.update(piece);
            sum
        };
        for piece in source.read_pieces_at(&mut buffer[..len], *at, of_piece)? {
            sum.combine(&piece);
        }
        *at += len as u64;
        Ok(len)
    }
}

/// Converts numbers to indices, in place if they have the same size. The error is the position and
/// text of the first that is not an index.
fn to_indices<I: Copy + Display + Pod + TryInto<usize>>(values: Vec<I>) -> Result<Vec<usize>, (usize, String)> {
    let index = |value: I| value.try_into().ok();
    if let Some(place) = values.iter().position(|&value| index(value).is_none()) {
        return Err((place, values[place].to_string()));
    }
    // Nonnegative numbers have the same bits as indices.
    if size_of::<I>() != size_of::<usize>() {
        return Ok(values.into_iter().filter_map(index).collect());
    }
    Ok(bytemuck::allocation::try_cast_vec(values).unwrap_or_else(|(_, values)| values.into_iter().filter_map(index).collect()))
}
