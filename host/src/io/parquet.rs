//! Reads Parquet files as tables of text, by the crate `parquet`.
//!
//! Columns of lists and maps are left out. A field of a structure has the name `structure.field`.

use std::{
    cell::Cell,
    fs::File,
    io::{self, Cursor, Read},
    ops::Range,
    panic::{self, AssertUnwindSafe},
    sync::Once,
};

use chrono::{DateTime, SecondsFormat, Utc};
use parquet::{
    basic::{Compression, ConvertedType, LogicalType},
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
    record::Field,
    schema::types::{ColumnDescPtr, ColumnDescriptor},
};

use super::{
    archived, declared,
    decoded::invalid,
    files::Reason,
    source::{LONGEST_DATA, Source, quoted},
    table::NULL,
};

/// Number of rows that are read at once.
const BATCH: usize = 1024;
/// Largest number of decimal places.
const MOST_PLACES: i32 = 38;

/// The table as CSV with a header, and [`NULL`] for no value.
pub(super) struct Table {
    file: SerializedFileReader<File>,
    columns: Vec<Column>,
    /// Row groups that are still to be read.
    groups: Range<usize>,
    /// Number of rows of the present group that are still to be read.
    rows: usize,
    text: Cursor<Vec<u8>>,
}

struct Column {
    name: String,
    /// Number in the metadata, where columns that are left out have one, too.
    place: usize,
    kind: ColumnDescPtr,
    /// The present group's values.
    reader: Option<ColumnReader>,
}

/// Opens a Parquet file. `input` has the bytes of a pipe, from its start.
pub(super) fn open(source: &Source, input: &mut impl Read) -> std::result::Result<Table, Reason> {
    let table = guarded(|| Table::new(source, input));
    table.map_err(|error| Reason::because("can't be read as Parquet", error))
}

impl Table {
    fn new(source: &Source, input: &mut impl Read) -> io::Result<Self> {
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
        if columns.is_empty() {
            return Err(invalid("it has no columns of single values".into()));
        }
        let mut rows = 0_u64;
        for group in metadata.row_groups() {
            rows = rows.saturating_add(group.num_rows() as u64);
            for column in &columns {
                check(group.column(column.place), size).map_err(|error| column.error(error))?;
            }
        }
        if rows > declared(size) {
            return Err(invalid(format!("it declares {rows} rows, which are too many for its {size} bytes")));
        }
        let text = Cursor::new(lines([columns.iter().map(|column| &column.name)])?);
        Ok(Table { groups: 0..metadata.num_row_groups(), file, columns, rows: 0, text })
    }

    /// Produces the text of the next rows. It is empty at the end.
    fn batch(&mut self) -> io::Result<Vec<u8>> {
        while self.rows == 0 {
            let Some(group) = self.groups.next() else { return Ok(Vec::new()) };
            let group = self.file.get_row_group(group).map_err(because)?;
            self.rows = group.metadata().num_rows() as usize;
            for column in &mut self.columns {
                let pages = group.get_column_page_reader(column.place);
                let pages = pages.map_err(|error| column.error(because(error)))?;
                column.reader = Some(get_column_reader(column.kind.clone(), Box::new(Pages(pages))));
            }
        }
        let rows = self.rows.min(BATCH);
        let columns = self.columns.iter_mut().map(|column| column.read(rows)).collect::<io::Result<Vec<_>>>()?;
        self.rows -= rows;
        lines((0..rows).map(|row| columns.iter().map(move |column| &column[row])))
    }
}

impl Read for Table {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let read = self.text.read(buffer)?;
        if read > 0 || buffer.is_empty() {
            return Ok(read);
        }
        self.text = Cursor::new(guarded(|| self.batch())?);
        self.text.read(buffer)
    }
}

/// Writes rows as CSV.
fn lines<R: IntoIterator<Item: AsRef<[u8]>>>(rows: impl IntoIterator<Item = R>) -> io::Result<Vec<u8>> {
    let mut text = csv::Writer::from_writer(Vec::new());
    rows.into_iter().try_for_each(|row| text.write_record(row))?;
    text.into_inner().map_err(|error| error.into_error())
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
    fn error(&self, error: io::Error) -> io::Error {
        io::Error::new(error.kind(), format!("column {}: {error}", quoted(&self.name)))
    }

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
        texts.map_err(|error| self.error(because(error)))
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
    let (logical, places) = (column.logical_type_ref(), |places| decimal(Decimal::from_i64(value, places, places)));
    // Files without logical types have times in UTC.
    let utc = !matches!(logical, Some(LogicalType::Timestamp(kind)) if !kind.is_adjusted_to_u_t_c);
    match (column.converted_type(), logical) {
        (ConvertedType::DECIMAL, _) => places(column.type_scale()),
        (ConvertedType::TIME_MILLIS, _) => places(3),
        (ConvertedType::TIME_MICROS, _) => places(6),
        (ConvertedType::DATE, _) => {
            let midnight = time(DateTime::from_timestamp(86_400 * value, 0), SecondsFormat::Secs, false);
            midnight.trim_end_matches("T00:00:00").to_owned()
        }
        (ConvertedType::TIMESTAMP_MILLIS, _) => time(DateTime::from_timestamp_millis(value), SecondsFormat::Millis, utc),
        (ConvertedType::TIMESTAMP_MICROS, _) => time(DateTime::from_timestamp_micros(value), SecondsFormat::Micros, utc),
        // Only nanoseconds have no converted type.
        (_, Some(LogicalType::Time(_))) => places(9),
        (_, Some(LogicalType::Timestamp(_))) => time(Some(DateTime::from_timestamp_nanos(value)), SecondsFormat::Nanos, utc),
        (ConvertedType::UINT_8 | ConvertedType::UINT_16 | ConvertedType::UINT_32, _) => (value as u32).to_string(),
        (ConvertedType::UINT_64, _) => (value as u64).to_string(),
        _ => value.to_string(),
    }
}

/// Shows bytes, whose column may be of decimals or UUIDs.
fn bytes(column: &ColumnDescriptor, value: &[u8]) -> Vec<u8> {
    match (column.converted_type(), column.logical_type_ref(), <[u8; 16]>::try_from(value)) {
        (ConvertedType::DECIMAL, ..) => {
            decimal(Decimal::from_bytes(value.to_vec().into(), MOST_PLACES, column.type_scale())).into()
        }
        (_, Some(LogicalType::Uuid), Ok(bytes)) => {
            let digits = format!("{:032x}", u128::from_be_bytes(bytes));
            [&digits[..8], &digits[8..12], &digits[12..16], &digits[16..20], &digits[20..]].join("-").into()
        }
        _ => value.to_vec(),
    }
}

fn decimal(value: Decimal) -> String {
    Field::Decimal(value).to_string().trim_end_matches('.').to_owned()
}

/// Shows a date and time as in RFC 3339. Without one, the text is an error where readers need a time.
fn time(time: Option<DateTime<Utc>>, digits: SecondsFormat, utc: bool) -> String {
    let Some(time) = time else { return "a time out of range".to_owned() };
    let digits = if time.timestamp_subsec_nanos() == 0 { SecondsFormat::Secs } else { digits };
    let text = time.to_rfc3339_opts(digits, true);
    if utc { text } else { text.trim_end_matches('Z').to_owned() }
}

/// Pages of a column. Dictionaries are checked before memory for them is allocated.
struct Pages(Box<dyn PageReader>);

impl PageReader for Pages {
    fn get_next_page(&mut self) -> Result<Option<Page>> {
        let page = self.0.get_next_page()?;
        match &page {
            // A value takes a bit at least.
            Some(Page::DictionaryPage { buf, num_values, .. }) if *num_values as usize > 8 * buf.len() => {
                Err(ParquetError::General("it is damaged".into()))
            }
            _ => Ok(page),
        }
    }

    fn peek_next_page(&mut self) -> Result<Option<PageMetadata>> {
        self.0.peek_next_page()
    }

    fn skip_next_page(&mut self) -> Result<()> {
        self.0.skip_next_page()
    }
}

impl Iterator for Pages {
    type Item = Result<Page>;

    fn next(&mut self) -> Option<Self::Item> {
        self.get_next_page().transpose()
    }
}

/// Runs a part of the reader. Panics of the crate, which damaged files cause, are errors.
fn guarded<T>(work: impl FnOnce() -> io::Result<T>) -> io::Result<T> {
    thread_local!(static IS_QUIET: Cell<bool> = const { Cell::new(false) });
    static HOOK: Once = Once::new();
    // Messages of these panics say nothing to users.
    HOOK.call_once(|| {
        let others = panic::take_hook();
        panic::set_hook(Box::new(move |info| {
            if !IS_QUIET.get() {
                others(info);
            }
        }));
    });
    IS_QUIET.set(true);
    let outcome = panic::catch_unwind(AssertUnwindSafe(work));
    IS_QUIET.set(false);
    outcome.unwrap_or_else(|_| Err(invalid("it is damaged".into())))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn decimals() {
        for (number, places, wanted) in [(0, 0, "0"), (-50, 0, "-50"), (5, 3, "0.005"), (-1234, 3, "-1.234"), (-4, 1, "-0.4")] {
            assert_eq!(decimal(Decimal::from_i64(number, places, places)), wanted);
        }
    }
}
