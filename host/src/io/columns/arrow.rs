//! Arrow files (Feather version 2) and streams. A file is a stream between two marks, with a directory at its end, which
//! isn't needed to read it from its start.

use std::{
    collections::HashMap,
    io::{self, Read},
};

use arrow_array::{Array, ArrayRef, RecordBatch, cast::AsArray as _, types::*};
use arrow_buffer::{Buffer, NullBuffer};
use arrow_ipc::{Message, convert::try_fb_to_schema, reader, root_as_message};
use arrow_schema::{ArrowError, DataType, Field, Schema, SchemaRef, TimeUnit};
use chrono::{DateTime, SecondsFormat};
use parquet::data_type::Decimal;

use super::{BATCH, MOST_PLACES, Rows, date, decimal, in_column, lines, places, time, uuid};
use crate::io::{LONGEST_DATA, LONGEST_TEXT, archived, declared, decoded::invalid, table::NULL};

/// First bytes of a file, before its stream.
const MAGIC: &[u8; 8] = b"ARROW1\0\0";

/// The rows of an Arrow file.
pub(super) struct Arrow<R> {
    messages: Messages<R>,
    schema: SchemaRef,
    dictionaries: HashMap<i64, ArrayRef>,
    columns: Vec<Column>,
    /// Fields of the schema that columns are part of.
    projection: Vec<usize>,
    /// The present batch: values of each column, and its number of rows.
    values: Vec<Values>,
    rows: usize,
    /// Number of rows of the present batch that were read.
    read: usize,
    /// Number of rows of all batches so far.
    all: u64,
    /// True after the last batch. A file has a directory behind it.
    is_done: bool,
}

struct Column {
    name: String,
    /// Index of the column among the projected fields, then in each structure.
    path: Vec<usize>,
    is_uuid: bool,
}

/// A column's values in a batch.
struct Values {
    array: ArrayRef,
    /// Nulls of the structures around the column.
    nulls: Vec<NullBuffer>,
    /// Index of each row's value, if the values are in a dictionary.
    keys: Option<Vec<usize>>,
}

impl<R: Read> Arrow<R> {
    /// Opens a file of this size, or a pipe.
    pub fn new(size: Option<u64>, input: R) -> io::Result<Self> {
        let mut messages = Messages { input, size, read: 0 };
        let first = messages.bytes(4)?;
        let metadata = if first[..] == MAGIC[..4] {
            if messages.bytes(4)? != MAGIC[4..] {
                return Err(invalid("it is damaged".into()));
            }
            messages.metadata()?
        } else {
            messages.metadata_after(&first)?
        };
        let metadata = metadata.ok_or_else(|| invalid("it has no schema".into()))?;
        let schema = message(&metadata)?.header_as_schema().ok_or_else(|| invalid("it has no schema".into()))?;
        let schema = try_fb_to_schema(schema).map_err(because)?;
        let (mut columns, mut projection) = (Vec::new(), Vec::new());
        for (place, field) in schema.fields().iter().enumerate() {
            let found = columns.len();
            add_columns(field, "", &mut vec![projection.len()], &mut columns);
            if columns.len() > found {
                projection.push(place);
            }
        }
        Ok(Arrow {
            messages,
            schema: schema.into(),
            dictionaries: HashMap::new(),
            columns,
            projection,
            values: Vec::new(),
            rows: 0,
            read: 0,
            all: 0,
            is_done: false,
        })
    }

    /// Reads the next batch with rows. Returns false at the end.
    fn next(&mut self) -> io::Result<bool> {
        (self.rows, self.read) = (0, 0);
        while self.rows == 0 && !self.is_done {
            let Some(metadata) = self.messages.metadata()? else {
                self.is_done = true;
                break;
            };
            let message = message(&metadata)?;
            let body = self.messages.body(message.bodyLength())?;
            let version = message.version();
            if let Some(dictionary) = message.header_as_dictionary_batch() {
                let batch = dictionary.data().ok_or_else(|| invalid("it is damaged".into()))?;
                self.check(batch, &body)?;
                let schema: &Schema = &self.schema;
                reader::read_dictionary(&body, dictionary, schema, &mut self.dictionaries, &version).map_err(because)?;
            } else if let Some(batch) = message.header_as_record_batch() {
                self.check(batch, &body)?;
                self.all = self.all.saturating_add(batch.length() as u64);
                let (all, size) = (self.all, self.messages.known());
                if all > declared(size) {
                    return Err(invalid(format!("it declares {all} rows, which are too many for its {size} bytes")));
                }
                let (schema, projection) = (self.schema.clone(), Some(&*self.projection));
                let batch = reader::read_record_batch(&body, batch, schema, &self.dictionaries, projection, &version);
                let batch = batch.map_err(because)?;
                self.rows = batch.num_rows();
                self.values = self.columns.iter().map(|column| column.values(&batch)).collect();
            } else {
                return Err(invalid("it is damaged".into()));
            }
        }
        Ok(!self.is_done)
    }

    /// Checks what a batch declares against the file's size, before memory is allocated.
    fn check(&self, batch: arrow_ipc::RecordBatch<'_>, body: &[u8]) -> io::Result<()> {
        let damaged = || invalid("it is damaged".into());
        let size = self.messages.known();
        let mut length = 0_u64;
        for buffer in batch.buffers().into_iter().flatten().filter(|buffer| buffer.length() > 0) {
            let start = usize::try_from(buffer.offset()).map_err(|_| damaged())?;
            let bytes = body.get(start..).and_then(|bytes| bytes.get(..buffer.length() as usize)).ok_or_else(damaged)?;
            if batch.compression().is_some() {
                let unpacked = bytes.first_chunk().map(|&bytes| i64::from_le_bytes(bytes)).ok_or_else(damaged)?;
                // A buffer that isn't compressed has -1.
                length = length.saturating_add(unpacked.max(0) as u64);
            }
        }
        if length > archived(size) {
            return Err(invalid(format!("it declares {length} bytes, which are too many for a file of {size} bytes")));
        }
        let is_long = |length: i64| !(0..=declared(size) as i64).contains(&length);
        if is_long(batch.length()) || batch.nodes().into_iter().flatten().any(|node| is_long(node.length())) {
            return Err(invalid(format!("it declares more rows than there can be in {size} bytes")));
        }
        Ok(())
    }
}

impl<R: Read + Send> Rows for Arrow<R> {
    fn names(&self) -> Vec<&str> {
        self.columns.iter().map(|column| &*column.name).collect()
    }

    fn batch(&mut self) -> io::Result<Vec<u8>> {
        if self.read == self.rows && !self.next()? {
            return Ok(Vec::new());
        }
        let rows = self.read..self.rows.min(self.read + BATCH);
        self.read = rows.end;
        let texts = |(column, values): (&Column, &Values)| {
            let texts = rows.clone().map(|row| values.text(row, column.is_uuid)).collect::<io::Result<Vec<_>>>();
            texts.map_err(|error| in_column(&column.name, error))
        };
        let columns = self.columns.iter().zip(&self.values).map(texts).collect::<io::Result<Vec<_>>>()?;
        lines((0..rows.len()).map(|row| columns.iter().map(move |column| &column[row])))
    }
}

/// The messages of a stream.
struct Messages<R> {
    input: R,
    /// The file's size in bytes; `None` for pipes.
    size: Option<u64>,
    /// Number of bytes read.
    read: u64,
}

impl<R: Read> Messages<R> {
    /// Size of the file; of a pipe, the number of bytes that it has delivered.
    fn known(&self) -> u64 {
        self.size.unwrap_or(self.read)
    }

    /// Reads so many bytes, or fewer at the end. Memory grows with the bytes that are read.
    fn bytes(&mut self, count: usize) -> io::Result<Vec<u8>> {
        let mut bytes = Vec::new();
        (&mut self.input).take(count as u64).read_to_end(&mut bytes)?;
        self.read += bytes.len() as u64;
        Ok(bytes)
    }

    fn exactly(&mut self, count: usize) -> io::Result<Vec<u8>> {
        let bytes = self.bytes(count)?;
        if bytes.len() < count { Err(invalid("it ends too early".into())) } else { Ok(bytes) }
    }

    /// Reads the next message's metadata. Returns `None` at the end.
    fn metadata(&mut self) -> io::Result<Option<Vec<u8>>> {
        let first = self.bytes(4)?;
        self.metadata_after(&first)
    }

    /// Reads metadata that begins with these bytes: four times 255, then its length. Before version 0.15, files have the
    /// length alone.
    fn metadata_after(&mut self, first: &[u8]) -> io::Result<Option<Vec<u8>>> {
        if first.is_empty() {
            return Ok(None);
        }
        let number = |bytes: &[u8]| bytes.try_into().map(u32::from_le_bytes).map_err(|_| invalid("it ends too early".into()));
        let mut length = number(first)?;
        if length == u32::MAX {
            length = number(&self.bytes(4)?)?;
        }
        match length as usize {
            0 => Ok(None),
            length if length > LONGEST_TEXT => Err(invalid("it is damaged".into())),
            length => self.exactly(length).map(Some),
        }
    }

    /// Reads the values of a message.
    fn body(&mut self, length: i64) -> io::Result<Buffer> {
        let longest = self.size.unwrap_or(LONGEST_DATA as u64);
        match usize::try_from(length) {
            Ok(length) if length as u64 <= longest => Ok(Buffer::from_vec(self.exactly(length)?)),
            _ if self.size.is_none() && length > 0 => {
                Err(invalid(format!("it has {length} bytes in a piece, and a pipe at most {} MiB", LONGEST_DATA >> 20)))
            }
            _ => Err(invalid("it ends too early".into())),
        }
    }
}

fn message(metadata: &[u8]) -> io::Result<Message<'_>> {
    root_as_message(metadata).map_err(|_| invalid("it is damaged".into()))
}

fn because(error: ArrowError) -> io::Error {
    invalid(match error {
        ArrowError::InvalidArgumentError(reason) | ArrowError::IpcError(reason) | ArrowError::ParseError(reason) => reason,
        ArrowError::NotYetImplemented(reason) => reason,
        other => other.to_string(),
    })
}

/// Adds the columns of a field whose values have a text, with those of its structures.
fn add_columns(field: &Field, before: &str, path: &mut Vec<usize>, columns: &mut Vec<Column>) {
    let name = format!("{before}{}", field.name());
    if let DataType::Struct(fields) = field.data_type() {
        for (place, field) in fields.iter().enumerate() {
            path.push(place);
            add_columns(field, &format!("{name}."), path, columns);
            path.pop();
        }
        return;
    }
    let kind = match field.data_type() {
        DataType::Dictionary(_, kind) => kind,
        kind => kind,
    };
    if can_show(kind) {
        let is_uuid = field.metadata().get("ARROW:extension:name").is_some_and(|name| name == "arrow.uuid");
        columns.push(Column { name, path: path.clone(), is_uuid });
    }
}

/// Returns true for a column whose values have a text.
fn can_show(kind: &DataType) -> bool {
    match kind {
        DataType::Decimal32(_, places)
        | DataType::Decimal64(_, places)
        | DataType::Decimal128(_, places)
        | DataType::Decimal256(_, places) => (0..=MOST_PLACES).contains(&i32::from(*places)),
        DataType::Float16 | DataType::Interval(_) | DataType::Dictionary(..) | DataType::RunEndEncoded(..) => false,
        kind => !kind.is_nested(),
    }
}

impl Column {
    fn values(&self, batch: &RecordBatch) -> Values {
        let mut array = batch.column(self.path[0]).clone();
        let mut nulls = Vec::new();
        for &place in &self.path[1..] {
            nulls.extend(array.nulls().cloned());
            let field = array.as_struct().column(place).clone();
            array = field;
        }
        let mut keys = None;
        if let Some(dictionary) = array.as_any_dictionary_opt() {
            nulls.extend(array.nulls().cloned());
            let values = dictionary.values().clone();
            // Without values, all rows are null.
            keys = Some(if values.is_empty() { Vec::new() } else { dictionary.normalized_keys() });
            array = values;
        }
        Values { array, nulls, keys }
    }
}

impl Values {
    /// Shows the value of a row.
    fn text(&self, row: usize, is_uuid: bool) -> io::Result<Vec<u8>> {
        if self.nulls.iter().any(|nulls| nulls.is_null(row)) {
            return Ok(NULL.into());
        }
        let row = self.keys.as_ref().map_or(row, |keys| keys[row]);
        let array = &*self.array;
        if array.is_null(row) {
            return Ok(NULL.into());
        }
        let integer = |value: i64| value.to_string().into_bytes();
        /// The value of an array of primitives.
        macro_rules! value {
            ($kind:ty) => {
                array.as_primitive::<$kind>().value(row)
            };
        }
        /// An integer in units of time.
        macro_rules! units {
            ($unit:expr, $second:ty, $milli:ty, $micro:ty, $nano:ty) => {
                match $unit {
                    TimeUnit::Second => (i64::from(value!($second)), 0),
                    TimeUnit::Millisecond => (i64::from(value!($milli)), 3),
                    TimeUnit::Microsecond => (i64::from(value!($micro)), 6),
                    TimeUnit::Nanosecond => (i64::from(value!($nano)), 9),
                }
            };
        }
        let scaled = |bytes: &[u8], places: i8| decimal(Decimal::from_bytes(bytes.to_vec().into(), MOST_PLACES, places.into()));
        Ok(match array.data_type() {
            DataType::Null => NULL.into(),
            DataType::Boolean => array.as_boolean().value(row).to_string().into(),
            DataType::Int8 => integer(value!(Int8Type).into()),
            DataType::Int16 => integer(value!(Int16Type).into()),
            DataType::Int32 => integer(value!(Int32Type).into()),
            DataType::Int64 => integer(value!(Int64Type)),
            DataType::UInt8 => integer(value!(UInt8Type).into()),
            DataType::UInt16 => integer(value!(UInt16Type).into()),
            DataType::UInt32 => integer(value!(UInt32Type).into()),
            DataType::UInt64 => value!(UInt64Type).to_string().into(),
            // As double: other digits would name another number.
            DataType::Float32 => format!("{:?}", f64::from(value!(Float32Type))).into(),
            DataType::Float64 => format!("{:?}", value!(Float64Type)).into(),
            DataType::Utf8 => array.as_string::<i32>().value(row).into(),
            DataType::LargeUtf8 => array.as_string::<i64>().value(row).into(),
            DataType::Utf8View => array.as_string_view().value(row).into(),
            DataType::Binary => array.as_binary::<i32>().value(row).into(),
            DataType::LargeBinary => array.as_binary::<i64>().value(row).into(),
            DataType::BinaryView => array.as_binary_view().value(row).into(),
            DataType::FixedSizeBinary(_) if is_uuid => uuid(array.as_fixed_size_binary().value(row)),
            DataType::FixedSizeBinary(_) => array.as_fixed_size_binary().value(row).into(),
            &DataType::Decimal32(_, places) => scaled(&value!(Decimal32Type).to_be_bytes(), places).into(),
            &DataType::Decimal64(_, places) => scaled(&value!(Decimal64Type).to_be_bytes(), places).into(),
            &DataType::Decimal128(_, places) => scaled(&value!(Decimal128Type).to_be_bytes(), places).into(),
            &DataType::Decimal256(_, places) => scaled(&value!(Decimal256Type).to_be_bytes(), places).into(),
            DataType::Date32 => date(value!(Date32Type).into()).into(),
            DataType::Date64 => date(value!(Date64Type).div_euclid(86_400_000)).into(),
            DataType::Time32(unit) | DataType::Time64(unit) => {
                let (value, digits) =
                    units!(unit, Time32SecondType, Time32MillisecondType, Time64MicrosecondType, Time64NanosecondType);
                places(value, digits).into()
            }
            DataType::Duration(unit) => {
                let (value, digits) =
                    units!(unit, DurationSecondType, DurationMillisecondType, DurationMicrosecondType, DurationNanosecondType);
                places(value, digits).into()
            }
            DataType::Timestamp(unit, zone) => {
                let (value, digits) = units!(
                    unit,
                    TimestampSecondType,
                    TimestampMillisecondType,
                    TimestampMicrosecondType,
                    TimestampNanosecondType
                );
                let (when, digits) = match digits {
                    0 => (DateTime::from_timestamp(value, 0), SecondsFormat::Secs),
                    3 => (DateTime::from_timestamp_millis(value), SecondsFormat::Millis),
                    6 => (DateTime::from_timestamp_micros(value), SecondsFormat::Micros),
                    _ => (Some(DateTime::from_timestamp_nanos(value)), SecondsFormat::Nanos),
                };
                time(when, digits, zone.is_some()).into()
            }
            other => return Err(invalid(format!("its values are of the type {other}, which has no text"))),
        })
    }
}
