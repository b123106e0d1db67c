//! Functions in NumPy's archive: the arrays `offsets`, `points` and, for shapes of other than one dimension, `shape`.

use std::{
    fmt::Display,
    io::{self, BufReader, Read, Seek, Write},
    path::Path,
};

use bytemuck::Pod;
use crc32fast::Hasher;
use zip::{CompressionMethod, ZipArchive, read::ZipFile, result::ZipError};

use super::{PcfData, Raw, bars_of, points_of};
use crate::{
    io::{
        Input, Reason, Source, archived,
        npy::{Kind, Reader, Size},
        npz::Arrays,
        unreadable,
    },
    pcf::{
        PcfError, PcfReal, PcfSet, Repairs,
        barcode::{Barcode, Filtration},
        error::list,
        set::check_offsets,
    },
};

/// Reads functions.
pub fn load(path: &Path, repairs: Option<&mut Repairs>) -> Result<PcfData, PcfError> {
    let mut archive = Archive::open(path)?;
    let offsets = archive.indices("offsets")?;
    let shape = if archive.has("shape") { Some(archive.indices("shape")?) } else { None };
    let points = archive.array("points")?;
    match points.kind("points", Kind::FLOATS).map_err(|reason| in_array(path, "points", reason))? {
        Kind::F32 => set(path, offsets, shape, points, repairs).map(PcfData::F32),
        _ => set(path, offsets, shape, points, repairs).map(PcfData::F64),
    }
}

/// Reads barcodes.
pub fn load_barcodes(path: &Path, filtration: Filtration) -> Result<Vec<Barcode>, PcfError> {
    let mut archive = Archive::open(path)?;
    let offsets = archive.indices("offsets")?;
    let bars = bars_of(archive.array("bars")?, "bars").map_err(|reason| in_array(path, "bars", reason))?;
    check_offsets(&offsets, bars.len(), true).map_err(|error| in_array(path, "offsets", error.to_string()))?;
    let of = |(barcode, range): (usize, &[usize])| {
        Barcode::of(filtration, bars[range[0]..range[1]].iter().copied()).map_err(|error| match error {
            PcfError::Bar { bar, .. } => in_array(path, "bars", format!("row {}: barcode {barcode}, {error}", range[0] + bar)),
            error => in_array(path, "bars", error.to_string()),
        })
    };
    offsets.windows(2).enumerate().map(of).collect()
}

/// That something is wrong with an array.
fn in_array(path: &Path, name: &str, reason: impl Into<Reason>) -> PcfError {
    PcfError::file(path, reason.into().after(format_args!("array `{name}`: ")))
}

/// An archive to read.
struct Archive<'a> {
    path: &'a Path,
    zip: ZipArchive<BufReader<Source>>,
    source: Source,
    /// The file's size in bytes.
    size: u64,
}

impl<'a> Archive<'a> {
    fn open(path: &'a Path) -> Result<Self, PcfError> {
        let fail = |reason: &str| PcfError::file(path, reason);
        let source = Source::open(path).map_err(|reason| PcfError::file(path, reason))?;
        let size = source.size().ok_or_else(|| fail("is not a file: an archive can't be read from a pipe or a device"))?;
        let zip = ZipArchive::new(BufReader::new(source.clone())).map_err(|error| match error {
            ZipError::Io(error) if error.kind() != io::ErrorKind::UnexpectedEof => PcfError::file(path, unreadable(error)),
            _ if size == 0 => fail("is empty, not an archive (.npz)"),
            _ => fail("is not an archive (.npz), or only a part of one"),
        })?;
        Ok(Archive { path, zip, source, size })
    }

    fn has(&self, name: &str) -> bool {
        self.zip.index_for_name(&format!("{name}.npy")).is_some()
    }

    /// Starts to read an array.
    fn array(&mut self, name: &str) -> Result<Reader<Entry<'_>>, PcfError> {
        let path = self.path;
        if !self.has(name) {
            let names: Vec<_> = self.zip.file_names().map(|name| name.strip_suffix(".npy").unwrap_or(name)).collect();
            let found = if names.is_empty() { "nothing".to_owned() } else { names.join(", ") };
            return Err(PcfError::file(path, format!("has no array `{name}`; it holds {found}")));
        }
        let entry = self.zip.by_name(&format!("{name}.npy"));
        let entry = entry.map_err(|error| in_array(path, name, format!("can't be read: {error}")))?;
        // Of what is packed the size is only claimed.
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
    fn indices(&mut self, name: &'static str) -> Result<Vec<usize>, PcfError> {
        let path = self.path;
        let fail = |reason: Reason| in_array(path, name, reason);
        let reader = self.array(name)?;
        let kind = reader.kind(name, Kind::INTEGERS).map_err(fail)?;
        if reader.shape().len() != 1 {
            return Err(fail(format!("has the shape ({}), but it must have one dimension", list(reader.shape())).into()));
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
enum Entry<'a> {
    /// What is stored as it is, and may be read by several threads.
    Stored {
        source: Source,
        /// How far it was read, and where it ends in the archive.
        at: u64,
        end: u64,
        /// The checksum of what was read, and of all.
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
        let Entry::Stored { source, at, end, sum, expected } = self else { return crate::io::fill(self, buffer) };
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

/// The numbers as indices, in the same memory where they have the same size; else the first that isn't an index, and
/// its place.
fn to_indices<I: Copy + Display + Pod + TryInto<usize>>(values: Vec<I>) -> Result<Vec<usize>, (usize, String)> {
    let index = |value: I| value.try_into().ok();
    if let Some(place) = values.iter().position(|&value| index(value).is_none()) {
        return Err((place, values[place].to_string()));
    }
    // What isn't negative has the same bits as an index.
    if size_of::<I>() != size_of::<usize>() {
        return Ok(values.into_iter().filter_map(index).collect());
    }
    Ok(bytemuck::allocation::try_cast_vec(values).unwrap_or_else(|(_, values)| values.into_iter().filter_map(index).collect()))
}

/// Reads the points, and makes the functions.
fn set<T: PcfReal>(
    path: &Path,
    offsets: Vec<usize>,
    shape: Option<Vec<usize>>,
    points: Reader<impl Input>,
    repairs: Option<&mut Repairs>,
) -> Result<PcfSet<T>, PcfError> {
    let fail = |reason: Reason| in_array(path, "points", reason);
    if !matches!(points.shape(), [_, 2]) {
        let shape = list(points.shape());
        return Err(fail(format!("has the shape ({shape}), but it must be (breakpoints of all functions, 2)").into()));
    }
    let points = points_of(points.read(|_| {}).map_err(fail)?);
    Raw { offsets, points, shape }.set(repairs, |point, error| match (point, &error) {
        (Some(point), _) => in_array(path, "points", format!("row {point}: {error}")),
        (None, PcfError::Shape { .. }) => in_array(path, "shape", error.to_string()),
        (None, _) => in_array(path, "offsets", error.to_string()),
    })
}

/// Writes functions, without compression.
pub fn write<T: PcfReal>(set: &PcfSet<T>, file: impl Write + Seek) -> io::Result<()> {
    let signed = |indices: &[usize]| indices.iter().map(|&index| index as i64).collect::<Vec<_>>();
    let mut arrays = Arrays::new(file);
    arrays.add("offsets", &signed(set.offsets()), &[set.offsets().len()])?;
    let points: &[T] = bytemuck::cast_slice(set.points());
    arrays.add("points", points, &[set.points().len(), 2])?;
    if set.shape().len() != 1 {
        arrays.add("shape", &signed(set.shape()), &[set.shape().len()])?;
    }
    arrays.finish()
}
