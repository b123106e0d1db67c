//! Parquet files.

use std::{
    fs::File,
    io::{self, Read},
    ops::Range,
};

use chrono::{DateTime, SecondsFormat};
use parquet::{
    basic::{Compression, ConvertedType, Encoding, LogicalType},
    column::{
        page::{Page, PageMetadata, PageReader},
        reader::{ColumnReader, ColumnReaderImpl, get_column_reader},
    },
    data_type::{DataType, Decimal},
    errors::{ParquetError, Result},
    file::{
        metadata::ColumnChunkMetaData,
        reader::{FileReader, SerializedFileReader},
    },
    schema::types::{ColumnDescPtr, ColumnDescriptor},
};

use super::{BATCH, MOST_PLACES, Rows, date, decimal, in_column, lines, places, time, uuid};
use crate::io::{LONGEST_DATA, Source, archived, declared, decoded::invalid, table::NULL};

/// The rows of a Parquet file.
pub(super) struct Parquet {
    file: SerializedFileReader<File>,
    columns: Vec<Column>,
    /// Row groups that are still to be read.
    groups: Range<usize>,
    /// Number of rows of the present group that are still to be read.
    rows: usize,
}

struct Column {
    name: String,
    /// Number in the metadata, where columns that are left out have one, too.
    place: usize,
    kind: ColumnDescPtr,
    /// The present group's values.
    reader: Option<ColumnReader>,
}

impl Parquet {
    /// Opens a file. `input` has the bytes of a pipe, from its start.
    pub fn new(source: &Source, input: &mut impl Read) -> io::Result<Self> {
        let (file, size) = match source.size() {
            Some(size) => (source.file()?, size),
            None => {
                // The parts of a file are read in any order.
                let mut file = tempfile::tempfile()?;
                let size = io::copy(&mut input.take(LONGEST_DATA as u64 + 1), &mut file)?;
                if size > LONGEST_DATA as u64 {
                    return Err(invalid(format!("it is longer than {} MiB", LONGEST_DATA >> 20)));
                }
                (file, size)
            }
        };
        let file = SerializedFileReader::new(file).map_err(because)?;
        let metadata = file.metadata();
        let columns = metadata.file_metadata().schema_descr().columns().iter().enumerate();
        let columns: Vec<_> = columns
            .filter(|(_, kind)| kind.max_rep_level() == 0 && can_show(kind))
            .map(|(place, kind)| Column { name: kind.path().parts().join("."), place, kind: kind.clone(), reader: None })
            .collect();
        let mut rows = 0_u64;
        for group in metadata.row_groups() {
            rows = rows.saturating_add(group.num_rows() as u64);
            for column in &columns {
                check(group.column(column.place), size).map_err(|error| in_column(&column.name, error))?;
            }
        }
        if rows > declared(size) {
            return Err(invalid(format!("it declares {rows} rows, which are too many for its {size} bytes")));
        }
        Ok(Parquet { groups: 0..metadata.num_row_groups(), file, columns, rows: 0 })
    }
}

impl Rows for Parquet {
    fn names(&self) -> Vec<&str> {
        self.columns.iter().map(|column| &*column.name).collect()
    }

    fn batch(&mut self) -> io::Result<Vec<u8>> {
        while self.rows == 0 {
            let Some(group) = self.groups.next() else { return Ok(Vec::new()) };
            let group = self.file.get_row_group(group).map_err(because)?;
            self.rows = group.metadata().num_rows() as usize;
            for column in &mut self.columns {
                let pages = group.get_column_page_reader(column.place);
                let pages = pages.map_err(|error| in_column(&column.name, because(error)))?;
                let pages = Pages { pages, kind: column.kind.clone(), rows: self.rows };
                column.reader = Some(get_column_reader(column.kind.clone(), Box::new(pages)));
            }
        }
        let rows = self.rows.min(BATCH);
        let columns = self.columns.iter_mut().map(|column| column.read(rows)).collect::<io::Result<Vec<_>>>()?;
        self.rows -= rows;
        lines((0..rows).map(|row| columns.iter().map(move |column| &column[row])))
    }
}

/// Checks what the metadata says of a column's values against the file's size.
fn check(chunk: &ColumnChunkMetaData, size: u64) -> io::Result<()> {
    if let Compression::BROTLI(_) = chunk.compression() {
        return Err(invalid("it is compressed by Brotli, which can't be read: write it with zstd or snappy".into()));
    }
    let start = chunk.dictionary_page_offset().unwrap_or(chunk.data_page_offset());
    let [start, packed, length] = [start, chunk.compressed_size(), chunk.uncompressed_size()].map(|number| number as u64);
    // Negative numbers are too large ones.
    if start > size || packed > size - start {
        return Err(invalid("it ends too early".into()));
    }
    if length > archived(size) {
        return Err(invalid(format!("it declares {length} bytes, which are too many for a file of {size} bytes")));
    }
    Ok(())
}

/// Returns true for a column whose values have a text.
fn can_show(column: &ColumnDescriptor) -> bool {
    column.logical_type_ref() != Some(&LogicalType::Float16) && column.type_scale() <= MOST_PLACES
}

fn because(error: ParquetError) -> io::Error {
    invalid(match error {
        ParquetError::General(reason) | ParquetError::NYI(reason) | ParquetError::EOF(reason) => reason,
        other => other.to_string(),
    })
}

impl Column {
    /// Reads the texts of the next rows.
    fn read(&mut self, rows: usize) -> io::Result<Vec<Vec<u8>>> {
        let (kind, reader) = (&self.kind, self.reader.as_mut().expect("a group is open"));
        let texts = match reader {
            ColumnReader::BoolColumnReader(reader) => texts(reader, kind, rows, |value| value.to_string().into()),
            ColumnReader::Int32ColumnReader(reader) => texts(reader, kind, rows, |&value| integer(kind, value.into()).into()),
            ColumnReader::Int64ColumnReader(reader) => texts(reader, kind, rows, |&value| integer(kind, value).into()),
            ColumnReader::Int96ColumnReader(reader) => texts(reader, kind, rows, |value| {
                // Nanoseconds since 1970 may exceed 64 bits.
                let seconds = value.to_seconds();
                let nanoseconds = value.to_nanos().wrapping_sub(seconds.wrapping_mul(1_000_000_000));
                time(DateTime::from_timestamp(seconds, nanoseconds as u32), SecondsFormat::Nanos, false).into()
            }),
            // As double: other digits would name another number.
            ColumnReader::FloatColumnReader(reader) => {
                texts(reader, kind, rows, |&value| format!("{:?}", f64::from(value)).into())
            }
            ColumnReader::DoubleColumnReader(reader) => texts(reader, kind, rows, |value| format!("{value:?}").into()),
            ColumnReader::ByteArrayColumnReader(reader) => texts(reader, kind, rows, |value| bytes(kind, value.data())),
            ColumnReader::FixedLenByteArrayColumnReader(reader) => texts(reader, kind, rows, |value| bytes(kind, value.data())),
        };
        texts.map_err(|error| in_column(&self.name, because(error)))
    }
}

/// Reads the next rows, and shows their values.
fn texts<T: DataType>(
    reader: &mut ColumnReaderImpl<T>,
    kind: &ColumnDescriptor,
    rows: usize,
    show: impl Fn(&T::T) -> Vec<u8>,
) -> Result<Vec<Vec<u8>>> {
    let (mut levels, mut values) = (Vec::new(), Vec::new());
    let (read, ..) = reader.read_records(rows, Some(&mut levels), None, &mut values)?;
    if read < rows {
        return Err(ParquetError::General("it has fewer rows than its row group".into()));
    }
    // A column that has all its values has no levels.
    levels.resize(rows, kind.max_def_level());
    let mut values = values.iter().map(show);
    let value = |level| if level == kind.max_def_level() { values.next() } else { None };
    Ok(levels.into_iter().map(value).map(|text| text.unwrap_or_else(|| NULL.into())).collect())
}

/// Shows an integer, whose column may be of decimals, dates or times.
fn integer(column: &ColumnDescriptor, value: i64) -> String {
    let logical = column.logical_type_ref();
    // Files without logical types have times in UTC.
    let utc = !matches!(logical, Some(LogicalType::Timestamp(kind)) if !kind.is_adjusted_to_u_t_c);
    match (column.converted_type(), logical) {
        (ConvertedType::DECIMAL, _) => places(value, column.type_scale()),
        (ConvertedType::TIME_MILLIS, _) => places(value, 3),
        (ConvertedType::TIME_MICROS, _) => places(value, 6),
        (ConvertedType::DATE, _) => date(value),
        (ConvertedType::TIMESTAMP_MILLIS, _) => time(DateTime::from_timestamp_millis(value), SecondsFormat::Millis, utc),
        (ConvertedType::TIMESTAMP_MICROS, _) => time(DateTime::from_timestamp_micros(value), SecondsFormat::Micros, utc),
        // Only nanoseconds have no converted type.
        (_, Some(LogicalType::Time(_))) => places(value, 9),
        (_, Some(LogicalType::Timestamp(_))) => time(Some(DateTime::from_timestamp_nanos(value)), SecondsFormat::Nanos, utc),
        (ConvertedType::UINT_8 | ConvertedType::UINT_16 | ConvertedType::UINT_32, _) => (value as u32).to_string(),
        (ConvertedType::UINT_64, _) => (value as u64).to_string(),
        _ => value.to_string(),
    }
}

/// Shows bytes, whose column may be of decimals or UUIDs.
fn bytes(column: &ColumnDescriptor, value: &[u8]) -> Vec<u8> {
    match (column.converted_type(), column.logical_type_ref()) {
        (ConvertedType::DECIMAL, _) => {
            decimal(Decimal::from_bytes(value.to_vec().into(), MOST_PLACES, column.type_scale())).into()
        }
        (_, Some(LogicalType::Uuid)) => uuid(value),
        _ => value.to_vec(),
    }
}

/// Pages of a column. Counts are checked before memory for them is allocated.
struct Pages {
    pages: Box<dyn PageReader>,
    kind: ColumnDescPtr,
    /// Number of rows of the row group.
    rows: usize,
}

impl Pages {
    /// Returns true if a page declares no more values than it has. A dictionary's values take a bit each at least. The
    /// lengths of texts are decoded as a whole, and their number is part of their encoding.
    fn is_sound(&self, page: &Page) -> bool {
        let levels = self.kind.max_def_level();
        let (buf, encoding, start) = match page {
            Page::DictionaryPage { buf, num_values, .. } => return *num_values as usize <= 8 * buf.len(),
            Page::DataPage { buf, encoding, .. } if levels == 0 => (buf, encoding, 0),
            Page::DataPage { buf, num_values, encoding, def_level_encoding, .. } => {
                let length = match def_level_encoding {
                    Encoding::RLE => buf.first_chunk().map(|&length| 4 + u32::from_le_bytes(length) as usize),
                    // Levels of this many bits follow one another.
                    _ => Some((*num_values as usize * (16 - levels.leading_zeros() as usize)).div_ceil(8)),
                };
                let Some(length) = length else { return false };
                (buf, encoding, length)
            }
            Page::DataPageV2 { buf, encoding, def_levels_byte_len, rep_levels_byte_len, .. } => {
                (buf, encoding, *def_levels_byte_len as usize + *rep_levels_byte_len as usize)
            }
        };
        let lengths = match encoding {
            Encoding::DELTA_LENGTH_BYTE_ARRAY => 1,
            // Lengths of common beginnings, then lengths of the rest.
            Encoding::DELTA_BYTE_ARRAY => 2,
            _ => return true,
        };
        let after = |bytes, _| packed(bytes, self.rows);
        buf.get(start..).and_then(|bytes: &[u8]| (0..lengths).try_fold(bytes, after)).is_some()
    }
}

/// Returns what follows integers encoded as `DELTA_BINARY_PACKED`. Returns `None` if there are more than `most`, or too
/// few bytes.
fn packed(mut bytes: &[u8], most: usize) -> Option<&[u8]> {
    /// Takes an integer of seven bits per byte.
    fn integer(bytes: &mut &[u8]) -> Option<usize> {
        let mut value = 0;
        for place in 0..usize::BITS.div_ceil(7) {
            let byte = bytes.split_off_first()?;
            value |= usize::from(byte & 0x7f).checked_shl(7 * place)?;
            if byte & 0x80 == 0 {
                return Some(value);
            }
        }
        None
    }
    let [block, parts, values, _first] = [(); 4].map(|()| integer(&mut bytes));
    let (parts, mut left) = (parts?, values?);
    let part = block?.checked_div(parts)?;
    if left > most {
        return None;
    }
    left = left.saturating_sub(1);
    while left > 0 {
        let _least = integer(&mut bytes)?;
        for &width in bytes.split_off(..parts)? {
            // Parts without values have no bits, whatever their width is.
            if left > 0 {
                bytes.split_off(..usize::from(width).checked_mul(part)? / 8)?;
                left = left.saturating_sub(part);
            }
        }
    }
    Some(bytes)
}

impl PageReader for Pages {
    fn get_next_page(&mut self) -> Result<Option<Page>> {
        let page = self.pages.get_next_page()?;
        match &page {
            Some(page) if !self.is_sound(page) => Err(ParquetError::General("it is damaged".into())),
            _ => Ok(page),
        }
    }

    fn peek_next_page(&mut self) -> Result<Option<PageMetadata>> {
        self.pages.peek_next_page()
    }

    fn skip_next_page(&mut self) -> Result<()> {
        self.pages.skip_next_page()
    }
}

impl Iterator for Pages {
    type Item = Result<Page>;

    fn next(&mut self) -> Option<Self::Item> {
        self.get_next_page().transpose()
    }
}
