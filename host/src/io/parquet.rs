//! Reads Parquet files as tables of text: the file format of <https://parquet.apache.org/docs/file-format/>.
//!
//! Columns of lists and maps are left out. A field of a structure has the name `structure.field`.

use std::{
    borrow::Cow,
    io::{self, Cursor, Read, Write as _},
};

use flate2::bufread::MultiGzDecoder;

use super::{
    archived, declared,
    decoded::{Frames, invalid},
    files::Reason,
    reserve,
    source::{LONGEST_DATA, Source, check_room, quoted, rest},
    table::NULL,
};

/// First and last bytes of a file.
pub(super) const MAGIC: [u8; 4] = *b"PAR1";
/// Largest number of structures of the metadata within each other.
const DEPTH: usize = 16;
/// Bytes in which the header of a page is looked for first.
const HEADER: usize = 1 << 13;
/// Bytes of text that are produced at once.
const BATCH: usize = 1 << 14;

/// The table as text with a header, fields separated by commas and [`NULL`] for no value.
pub(super) struct Table {
    file: File,
    columns: Vec<Column>,
    /// Row groups that are still to be read, the last first.
    groups: Vec<Group>,
    /// Rows of the present group that are still to be read.
    rows: u64,
    text: Cursor<Vec<u8>>,
}

/// The bytes of the file.
struct File {
    bytes: Bytes,
    size: u64,
}

enum Bytes {
    File(Source),
    Memory(Vec<u8>),
}

/// Number of rows, and the chunk of each column.
struct Group {
    rows: u64,
    chunks: Vec<Chunk>,
}

/// The pages of a column in a row group.
#[derive(Clone, Copy)]
struct Chunk {
    codec: i64,
    start: u64,
    end: u64,
}

struct Column {
    name: String,
    /// Number in the metadata, where columns that are left out have one, too.
    place: usize,
    kind: Kind,
    shows: Shows,
    /// Number of its ancestors, and itself, that may lack a value.
    optional: u32,
    /// The pages that are still to be read.
    chunk: Chunk,
    dictionary: Texts,
    /// Values of the present page that are not in the dictionary.
    values: Texts,
    /// True if the present page has values of the dictionary.
    of_dictionary: bool,
    /// Numbers of the values of the present page's rows. `None` is no value.
    numbers: Vec<Option<u32>>,
    /// Number of the page's rows that are read.
    read: usize,
}

/// Physical type of a column.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Kind {
    Boolean,
    /// Numbers and other values of this many bytes.
    Fixed(usize),
    Bytes,
}

/// Form of a column's values as text.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Shows {
    Boolean,
    Integer,
    Unsigned,
    Single,
    Double,
    /// An integer in units of 10 to the power of minus this.
    Decimal(u32),
    /// As `Decimal`, with the first byte the highest.
    BigDecimal(u32),
    /// Days since 1970.
    Date,
    /// Time since 1970 in units of 10 to the power of minus this, and true if in UTC.
    Time(u32, bool),
    /// Nanoseconds of a Julian day.
    Julian,
    Uuid,
    Text,
}

/// Texts one after the other.
#[derive(Default)]
struct Texts {
    text: Vec<u8>,
    ends: Vec<usize>,
}

impl Texts {
    fn clear(&mut self) {
        self.text.clear();
        self.ends.clear();
    }

    fn get(&self, number: u32) -> Option<&[u8]> {
        let number = number as usize;
        let start = number.checked_sub(1).map_or(0, |before| self.ends[before]);
        self.text.get(start..*self.ends.get(number)?)
    }
}

/// Opens a file whose first bytes are [`MAGIC`].
pub(super) fn open(source: Source, mut input: impl Read) -> Result<Table, Reason> {
    let file = match source.size() {
        Some(size) => File { bytes: Bytes::File(source), size },
        None => {
            let bytes = rest(Vec::new(), &mut input, LONGEST_DATA)?;
            File { size: bytes.len() as u64, bytes: Bytes::Memory(bytes) }
        }
    };
    Table::new(file).map_err(|error| Reason::because("can't be read as Parquet", error))
}

impl Table {
    fn new(file: File) -> io::Result<Self> {
        let end: [u8; 8] = file.part(file.size.saturating_sub(8).max(4), 8)?.try_into().expect("it has 8 bytes");
        let [length, magic] = [[end[0], end[1], end[2], end[3]], [end[4], end[5], end[6], end[7]]];
        if magic != MAGIC {
            return Err(invalid(if magic == *b"PARE" { "it is encrypted" } else { "its end is missing" }.into()));
        }
        let length = u64::from(u32::from_le_bytes(length));
        let footer = file.part((file.size - 8).checked_sub(length).ok_or_else(damaged)?, length)?;
        check_room(footer.len() * size_of::<Value>()).map_err(|reason| invalid(reason.to_string()))?;
        let metadata = Thrift(&footer).structure(0)?;
        let mut schema = metadata.list(2).iter();
        let children = schema.next().map_or(0, |root| root.integer(5));
        let mut leaves = Leaves { columns: Vec::new(), count: 0 };
        for _ in 0..children {
            leaves.add(&mut schema, "", 0, false, 0)?;
        }
        let columns = leaves.columns;
        if columns.is_empty() {
            return Err(invalid("it has no columns of single values".into()));
        }
        let mut groups = Vec::new();
        let mut all: u64 = 0;
        for group in metadata.list(4) {
            let rows = u64::try_from(group.integer(3)).map_err(|_| damaged())?;
            all = all.saturating_add(rows);
            let chunk = |column: &Column| {
                let chunk = group.list(1).get(column.place).and_then(|chunk| chunk.get(3)).ok_or_else(damaged)?;
                // The dictionary, if there is one, lies before the data.
                let starts = [9, 11].map(|field| chunk.integer(field)).into_iter().filter(|&start| start > 0);
                let start = starts.min().and_then(|start| u64::try_from(start).ok()).ok_or_else(damaged)?;
                let length = u64::try_from(chunk.integer(7)).map_err(|_| damaged())?;
                Ok(Chunk { codec: chunk.integer(4), start, end: start.checked_add(length).ok_or_else(damaged)? })
            };
            groups.push(Group { rows, chunks: columns.iter().map(chunk).collect::<io::Result<_>>()? });
        }
        if all > file.most_rows() as u64 {
            return Err(invalid(format!("it declares {all} rows, which are too many for its {} bytes", file.size)));
        }
        groups.reverse();
        let mut text = Vec::new();
        line(columns.iter().map(|column| column.name.as_bytes()), &mut text);
        Ok(Table { file, columns, groups, rows: 0, text: Cursor::new(text) })
    }

    /// Produces the text of the next rows. It is empty at the end.
    fn batch(&mut self) -> io::Result<Vec<u8>> {
        let mut text = Vec::new();
        while text.len() < BATCH {
            if self.rows == 0 {
                let Some(group) = self.groups.pop() else { break };
                self.rows = group.rows;
                for (column, chunk) in self.columns.iter_mut().zip(group.chunks) {
                    column.chunk = chunk;
                    column.numbers.clear();
                    (column.dictionary, column.read) = (Texts::default(), 0);
                }
                continue;
            }
            for column in &mut self.columns {
                while column.read == column.numbers.len() {
                    let name = quoted(&column.name);
                    column.page(&self.file).map_err(|error| io::Error::new(error.kind(), format!("column {name}: {error}")))?;
                }
                column.read += 1;
            }
            line(self.columns.iter().map(Column::text), &mut text);
            self.rows -= 1;
        }
        Ok(text)
    }
}

impl Read for Table {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let read = self.text.read(buffer)?;
        if read > 0 || buffer.is_empty() {
            return Ok(read);
        }
        self.text = Cursor::new(self.batch()?);
        self.text.read(buffer)
    }
}

/// Writes a row. Empty fields have quotes, so that a line is never blank.
fn line<'a>(fields: impl Iterator<Item = &'a [u8]>, text: &mut Vec<u8>) {
    for (place, field) in fields.enumerate() {
        if place > 0 {
            text.push(b',');
        }
        if !field.is_empty() && field.iter().all(|byte| !b"\",;|\t\r\n".contains(byte)) {
            text.extend(field);
            continue;
        }
        text.push(b'"');
        for &byte in field {
            text.extend(if byte == b'"' { &b"\"\""[..] } else { std::slice::from_ref(&byte) });
        }
        text.push(b'"');
    }
    text.push(b'\n');
}

impl File {
    /// Reads a part of the file.
    fn part(&self, from: u64, length: u64) -> io::Result<Vec<u8>> {
        if from.checked_add(length).is_none_or(|end| end > self.size) {
            return Err(invalid("it ends too early".into()));
        }
        let length = usize::try_from(length).map_err(|_| damaged())?;
        let mut bytes = Vec::new();
        room(&mut bytes, length)?;
        match &self.bytes {
            Bytes::Memory(all) => bytes.extend(&all[from as usize..][..length]),
            Bytes::File(source) => {
                bytes.resize(length, 0);
                source.read_exact_at(&mut bytes, from)?;
            }
        }
        Ok(bytes)
    }

    /// Largest number of rows.
    fn most_rows(&self) -> usize {
        declared(self.size).min(u32::MAX.into()) as usize
    }

    /// Largest size of a page, in bytes.
    fn longest_page(&self) -> usize {
        archived(self.size).min(LONGEST_DATA as u64) as usize
    }
}

/// Finds the columns of a schema, which is a tree in preorder.
struct Leaves {
    columns: Vec<Column>,
    /// Number of columns, with those that are left out.
    count: usize,
}

impl Leaves {
    fn add<'a>(
        &mut self,
        schema: &mut (impl Iterator<Item = &'a Value<'a>> + Clone),
        prefix: &str,
        optional: u32,
        repeated: bool,
        depth: usize,
    ) -> io::Result<()> {
        let element = schema.next().filter(|_| depth < DEPTH).ok_or_else(damaged)?;
        let name = format!("{prefix}{}", String::from_utf8_lossy(element.bytes(4)));
        let optional = optional + u32::from(element.integer(3) == 1);
        let repeated = repeated || element.integer(3) == 2;
        let children = element.integer(5);
        if children > 0 {
            let prefix = format!("{name}.");
            return (0..children).try_for_each(|_| self.add(schema, &prefix, optional, repeated, depth + 1));
        }
        let place = self.count;
        self.count += 1;
        if let Some((kind, shows)) = element.column().filter(|_| !repeated) {
            let chunk = Chunk { codec: 0, start: 0, end: 0 };
            let (dictionary, values, numbers) = Default::default();
            let pages =
                Column { name, place, kind, shows, optional, chunk, dictionary, values, of_dictionary: false, numbers, read: 0 };
            self.columns.push(pages);
        }
        Ok(())
    }
}

impl Value<'_> {
    /// Returns the types of a column from its element of the schema, unless its values can't be shown.
    fn column(&self) -> Option<(Kind, Shows)> {
        let converted = self.get(6).map(|_| self.integer(6));
        let (logical, of_logical) = match self.get(10) {
            Some(Value::Structure(fields)) => fields.first().map(|(number, value)| (*number, value))?,
            _ => (0, &Value::Integer(0)),
        };
        let scale = u32::try_from(self.integer(7)).ok().filter(|&scale| scale <= 38)?;
        let decimal = logical == 5 || converted == Some(5);
        let unit = match of_logical.get(2) {
            Some(Value::Structure(fields)) => match fields.first()? {
                (number @ 1..=3, _) => 3 * *number as u32,
                _ => return None,
            },
            _ if matches!(converted, Some(7 | 9)) => 3,
            _ => 6,
        };
        let integer = |kind| match (logical, converted) {
            _ if decimal => Shows::Decimal(scale),
            (6, _) | (0, Some(6)) => Shows::Date,
            (7, _) | (0, Some(7 | 8)) => Shows::Decimal(unit),
            (8, _) => Shows::Time(unit, matches!(of_logical.get(1), Some(Value::Boolean(true)))),
            (0, Some(9 | 10)) => Shows::Time(unit, true),
            (10, _) if matches!(of_logical.get(2), Some(Value::Boolean(false))) => Shows::Unsigned,
            (0, Some(11..=14)) => Shows::Unsigned,
            _ => kind,
        };
        let length = usize::try_from(self.integer(2)).ok();
        Some(match self.integer(1) {
            0 => (Kind::Boolean, Shows::Boolean),
            1 => (Kind::Fixed(4), integer(Shows::Integer)),
            2 => (Kind::Fixed(8), integer(Shows::Integer)),
            3 => (Kind::Fixed(12), Shows::Julian),
            4 => (Kind::Fixed(4), Shows::Single),
            5 => (Kind::Fixed(8), Shows::Double),
            6 => (Kind::Bytes, if decimal { Shows::BigDecimal(scale) } else { Shows::Text }),
            7 if decimal => (Kind::Fixed(length.filter(|length| (1..=16).contains(length))?), Shows::BigDecimal(scale)),
            7 if logical == 14 && length == Some(16) => (Kind::Fixed(16), Shows::Uuid),
            7 if logical != 15 => (Kind::Fixed(length.filter(|&length| length > 0)?), Shows::Text),
            _ => return None,
        })
    }
}

impl Column {
    /// Returns the text of the row that was read last.
    fn text(&self) -> &[u8] {
        let values = if self.of_dictionary { &self.dictionary } else { &self.values };
        self.numbers[self.read - 1].map_or(NULL.as_bytes(), |number| values.get(number).unwrap_or_default())
    }

    /// Reads the next page.
    fn page(&mut self, file: &File) -> io::Result<()> {
        let left = self.chunk.end.saturating_sub(self.chunk.start);
        if left == 0 {
            return Err(invalid("it has fewer rows than its row group".into()));
        }
        let read = |length: u64| -> io::Result<_> {
            let bytes = file.part(self.chunk.start, length)?;
            let mut thrift = Thrift(&bytes);
            let header = thrift.structure(0)?;
            let fields = [2, 3, 1].map(|field| header.integer(field));
            let of = |field: i16, numbers: &[i16]| {
                let of = header.get(field);
                numbers.iter().map(|&number| of.map_or(0, |of| of.integer(number))).collect::<Vec<_>>()
            };
            // Fields of the headers of data pages, of dictionaries, and of data pages of version 2.
            let headers = [of(5, &[1, 2, 3]), of(7, &[1, 2]), of(8, &[1, 4, 5, 6])];
            let compressed = !matches!(header.get(8).and_then(|of| of.get(7)), Some(Value::Boolean(false)));
            Ok((fields, headers, compressed, bytes.len() - thrift.0.len()))
        };
        // Statistics may be long.
        let ([size, stored, kind], [data, dictionary, second], compressed, length) =
            read(left.min(HEADER as u64)).or_else(|_| read(left))?;
        let unsigned = |number: i64| usize::try_from(number).map_err(|_| damaged());
        let (size, stored) = (unsigned(size)?, unsigned(stored)?);
        let counted =
            |number| unsigned(number).and_then(|count| if count > file.most_rows() { Err(damaged()) } else { Ok(count) });
        if size > file.longest_page() {
            return Err(invalid(format!(
                "it declares a page of {size} bytes, which is too long for a file of {} bytes",
                file.size
            )));
        }
        let body = file.part(self.chunk.start + length as u64, stored as u64)?;
        self.chunk.start += (length + stored) as u64;
        match kind {
            // An index.
            1 => Ok(()),
            2 => {
                let body = self.unpack(&body, size)?;
                let mut values = std::mem::take(&mut self.dictionary);
                values.clear();
                self.plain_or_other(0, &body, counted(dictionary[0])?, file.longest_page(), &mut values)?;
                self.dictionary = values;
                Ok(())
            }
            0 => {
                let (count, mut body) = (counted(data[0])?, &*self.unpack(&body, size)?);
                let mut levels = None;
                if self.optional > 0 {
                    if data[2] != 3 {
                        return Err(invalid("it has levels in an encoding that can't be read".into()));
                    }
                    let length = u32::from_le_bytes(*take(&mut body, 4)?.first_chunk().expect("there are 4 bytes"));
                    levels = Some(take(&mut body, length as usize)?);
                }
                self.data(file, count, levels, data[1], body)
            }
            3 => {
                let (count, definition, repetition) = (counted(second[0])?, unsigned(second[2])?, unsigned(second[3])?);
                let mut rest = &body[..];
                take(&mut rest, repetition)?;
                let levels = take(&mut rest, definition)?;
                let size = size.checked_sub(definition + repetition).ok_or_else(damaged)?;
                let unpacked = if compressed { &*self.unpack(rest, size)? } else { rest };
                self.data(file, count, (self.optional > 0).then_some(levels), second[1], unpacked)
            }
            other => Err(invalid(format!("it has a page of the kind {other}, which can't be read"))),
        }
    }

    /// Decompresses a page.
    fn unpack<'a>(&self, bytes: &'a [u8], size: usize) -> io::Result<Cow<'a, [u8]>> {
        let mut unpacked = Vec::new();
        room(&mut unpacked, size)?;
        let limit = size as u64 + 1;
        match self.chunk.codec {
            0 => return Ok(bytes.into()),
            1 if snap::raw::decompress_len(bytes).ok() == Some(size) => {
                unpacked.resize(size, 0);
                snap::raw::Decoder::new().decompress(bytes, &mut unpacked).map(drop).map_err(|_| damaged())?;
            }
            2 => drop(MultiGzDecoder::new(bytes).take(limit).read_to_end(&mut unpacked)?),
            6 => drop(Frames::new(bytes).take(limit).read_to_end(&mut unpacked)?),
            7 => {
                unpacked.resize(size, 0);
                let read = lz4_flex::block::decompress_into(bytes, &mut unpacked).map_err(|_| damaged())?;
                unpacked.truncate(read);
            }
            1 => {}
            codec => {
                let name = ["LZO", "Brotli", "the LZ4 of Hadoop"].get((codec - 3) as usize).unwrap_or(&"an unknown method");
                return Err(invalid(format!("it is compressed by {name}, which can't be read: write it with zstd or snappy")));
            }
        }
        if unpacked.len() == size { Ok(unpacked.into()) } else { Err(damaged()) }
    }

    /// Reads the values of a page of data.
    fn data(&mut self, file: &File, count: usize, levels: Option<&[u8]>, encoding: i64, body: &[u8]) -> io::Result<()> {
        self.values.clear();
        self.numbers.clear();
        self.read = 0;
        room(&mut self.numbers, count)?;
        let there = match levels {
            Some(levels) => {
                let mut next = 0;
                runs(levels, u32::BITS - self.optional.leading_zeros(), count, |level| {
                    self.numbers.push((level == self.optional).then_some(next));
                    next += u32::from(level == self.optional);
                })?;
                next as usize
            }
            None => {
                self.numbers.extend((0..count as u32).map(Some));
                count
            }
        };
        self.of_dictionary = matches!(encoding, 2 | 8);
        if !self.of_dictionary {
            let mut values = std::mem::take(&mut self.values);
            self.plain_or_other(encoding, body, there, file.longest_page(), &mut values)?;
            self.values = values;
            return Ok(());
        }
        if there == 0 {
            return Ok(());
        }
        let (&width, indices) = body.split_first().ok_or_else(damaged)?;
        let known = self.dictionary.ends.len() as u32;
        let mut missing = self.numbers.iter_mut().flatten();
        let mut within = true;
        runs(indices, u32::from(width), there, |index| {
            within &= index < known;
            if let Some(number) = missing.next() {
                *number = index;
            }
        })?;
        if within { Ok(()) } else { Err(damaged()) }
    }

    /// Appends the texts of `count` values in an encoding without dictionary.
    fn plain_or_other(&self, encoding: i64, body: &[u8], count: usize, longest: usize, texts: &mut Texts) -> io::Result<()> {
        let mut body = body;
        let mut show = |value: &[u8]| {
            self.shows.show(value, &mut texts.text);
            room(&mut texts.ends, 1)?;
            texts.ends.push(texts.text.len());
            room(&mut texts.text, value.len() + 40)?;
            if texts.text.len() > longest { Err(invalid("it has a page of too long texts".into())) } else { Ok(()) }
        };
        match (encoding, self.kind) {
            (0, Kind::Boolean) => {
                (0..count).try_for_each(|place| show(&[*body.get(place / 8).ok_or_else(damaged)? >> (place % 8) & 1]))
            }
            (3, Kind::Boolean) => {
                take(&mut body, 4)?;
                let mut shown = Ok(());
                runs(body, 1, count, |value| {
                    if shown.is_ok() {
                        shown = show(&[value as u8]);
                    }
                })?;
                shown
            }
            (0, Kind::Fixed(length)) => (0..count).try_for_each(|_| show(take(&mut body, length)?)),
            (0, Kind::Bytes) => (0..count).try_for_each(|_| {
                let length = u32::from_le_bytes(*take(&mut body, 4)?.first_chunk().expect("there are 4 bytes"));
                show(take(&mut body, length as usize)?)
            }),
            (5, Kind::Fixed(length @ (4 | 8))) => {
                let numbers = deltas(&mut body, count)?;
                numbers.into_iter().try_for_each(|number| show(&number.to_le_bytes()[..length]))
            }
            (6, Kind::Bytes) => {
                let lengths = deltas(&mut body, count)?;
                lengths.into_iter().try_for_each(|length| show(take(&mut body, usize::try_from(length).map_err(|_| damaged())?)?))
            }
            (7, Kind::Bytes | Kind::Fixed(_)) => {
                let [kept, more] = [deltas(&mut body, count)?, deltas(&mut body, count)?];
                let mut value = Vec::new();
                kept.into_iter().zip(more).try_for_each(|(kept, more)| {
                    let [kept, more] = [kept, more].map(|length| usize::try_from(length).unwrap_or(usize::MAX));
                    if kept > value.len() {
                        return Err(damaged());
                    }
                    value.truncate(kept);
                    value.extend(take(&mut body, more)?);
                    if matches!(self.kind, Kind::Fixed(length) if length != value.len()) { Err(damaged()) } else { show(&value) }
                })
            }
            (9, Kind::Fixed(length)) => {
                let bytes = take(&mut body, length.checked_mul(count).ok_or_else(damaged)?)?;
                let mut value = vec![0; length];
                (0..count).try_for_each(|place| {
                    value.iter_mut().enumerate().for_each(|(byte, value)| *value = bytes[byte * count + place]);
                    show(&value)
                })
            }
            _ => Err(invalid(format!("it has the encoding {encoding}, which can't be read"))),
        }
    }
}

impl Shows {
    /// Appends a value's text.
    fn show(self, value: &[u8], text: &mut Vec<u8>) {
        let unsigned = || value.iter().rev().fold(0u64, |number, &byte| number << 8 | u64::from(byte));
        let signed = || if value.len() == 4 { i64::from(unsigned() as i32) } else { unsigned() as i64 };
        match self {
            Shows::Boolean => write!(text, "{}", value == [1]),
            Shows::Integer => write!(text, "{}", signed()),
            Shows::Unsigned => write!(text, "{}", unsigned()),
            // As double: other digits would name another number.
            Shows::Single => write!(text, "{:?}", f64::from(f32::from_bits(unsigned() as u32))),
            Shows::Double => write!(text, "{:?}", f64::from_bits(unsigned())),
            Shows::Decimal(scale) => decimal(signed().into(), scale, text),
            Shows::BigDecimal(scale) if value.len() <= 16 => {
                let negative = value.first().is_some_and(|&first| first >= 0x80);
                let number = value.iter().fold(-i128::from(negative), |number, &byte| number << 8 | i128::from(byte));
                decimal(number, scale, text)
            }
            Shows::Date => date(signed(), text),
            Shows::Time(scale, utc) => time(signed().into(), scale, utc, text),
            Shows::Julian => {
                let nanoseconds = value[..8].iter().rev().fold(0, |number, &byte| number << 8 | i128::from(byte));
                let day = value[8..].iter().rev().fold(0, |number, &byte| number << 8 | i128::from(byte));
                time((day - 2_440_588) * 86_400_000_000_000 + nanoseconds, 9, false, text)
            }
            Shows::Uuid => value.iter().enumerate().try_for_each(|(place, byte)| {
                let dash = if matches!(place, 4 | 6 | 8 | 10) { "-" } else { "" };
                write!(text, "{dash}{byte:02x}")
            }),
            Shows::BigDecimal(_) | Shows::Text => {
                text.extend(value);
                Ok(())
            }
        }
        .expect("memory takes all text");
    }
}

/// Appends an integer in units of 10 to the power of minus `scale`.
fn decimal(number: i128, scale: u32, text: &mut Vec<u8>) -> io::Result<()> {
    let (digits, scale) = (number.unsigned_abs().to_string(), scale as usize);
    let digits = format!("{digits:0>width$}", width = scale + 1);
    let (whole, fraction) = digits.split_at(digits.len() - scale);
    let sign = if number < 0 { "-" } else { "" };
    write!(text, "{sign}{whole}{}{fraction}", if scale > 0 { "." } else { "" })
}

/// Appends a date of the Gregorian calendar, from its days since 1970.
fn date(days: i64, text: &mut Vec<u8>) -> io::Result<()> {
    // Years from March on end with the leap day. Cycles of 400 years have 146,097 days.
    let days = i128::from(days) + 719_468;
    let (cycle, day) = (days.div_euclid(146_097), days.rem_euclid(146_097));
    let year = (day - day / 1_460 + day / 36_524 - day / 146_096) / 365;
    let day = day - (365 * year + year / 4 - year / 100);
    let month = (5 * day + 2) / 153;
    let (day, month) = (day - (153 * month + 2) / 5 + 1, if month < 10 { month + 3 } else { month - 9 });
    write!(text, "{:04}-{month:02}-{day:02}", 400 * cycle + year + i128::from(month <= 2))
}

/// Appends a date and time as in RFC 3339.
fn time(since: i128, scale: u32, utc: bool, text: &mut Vec<u8>) -> io::Result<()> {
    let unit = 10_i128.pow(scale);
    let (seconds, fraction) = (since.div_euclid(unit), since.rem_euclid(unit));
    let (days, seconds) = (seconds.div_euclid(86_400), seconds.rem_euclid(86_400));
    date(days as i64, text)?;
    write!(text, "T{:02}:{:02}:{:02}", seconds / 3600, seconds / 60 % 60, seconds % 60)?;
    if fraction > 0 {
        write!(text, ".{fraction:0width$}", width = scale as usize)?;
    }
    if utc { write!(text, "Z") } else { Ok(()) }
}

/// Calls `each` with `count` numbers of `width` bits that are in runs of equal ones or packed in groups of eight.
fn runs(mut bytes: &[u8], width: u32, count: usize, mut each: impl FnMut(u32)) -> io::Result<()> {
    let mut left = count;
    if width > 32 {
        return Err(damaged());
    }
    while left > 0 {
        let mut thrift = Thrift(bytes);
        let header = usize::try_from(thrift.varint()?).map_err(|_| damaged())?;
        bytes = thrift.0;
        let run = if header & 1 == 1 { (header >> 1).saturating_mul(8) } else { header >> 1 }.min(left);
        if run == 0 {
            return Err(damaged());
        }
        if header & 1 == 1 {
            // The last group may be cut off after its last number.
            let packed = (header >> 1).saturating_mul(width as usize).min(bytes.len());
            let packed = take(&mut bytes, packed)?;
            if packed.len() * 8 < run * width as usize {
                return Err(damaged());
            }
            (0..run).for_each(|place| each(bits(packed, place * width as usize, width) as u32));
        } else {
            let value = take(&mut bytes, width.div_ceil(8) as usize)?;
            let value = bits(value, 0, 8 * value.len() as u32) as u32;
            (0..run).for_each(|_| each(value));
        }
        left -= run;
    }
    Ok(())
}

/// Returns the integers that are stored as packed differences. Those of 32 bits have other high bits.
fn deltas(bytes: &mut &[u8], count: usize) -> io::Result<Vec<i64>> {
    let mut thrift = Thrift(bytes);
    let mut header = || thrift.varint().and_then(|number| usize::try_from(number).map_err(|_| damaged()));
    let [block, parts, total] = [header()?, header()?, header()?];
    let mut last = thrift.zigzag()?;
    *bytes = thrift.0;
    if total != count || parts == 0 || block % parts != 0 || block == 0 || parts > bytes.len().max(1) {
        return Err(damaged());
    }
    let mut numbers = Vec::new();
    room(&mut numbers, count)?;
    if count > 0 {
        numbers.push(last);
    }
    while numbers.len() < count {
        let mut thrift = Thrift(bytes);
        let least = thrift.zigzag()?;
        *bytes = thrift.0;
        for &width in take(bytes, parts)? {
            let run = (block / parts).min(count - numbers.len());
            if run == 0 {
                break;
            }
            let packed = (block / parts).checked_mul(usize::from(width)).ok_or_else(damaged)?.div_ceil(8);
            let packed = take(bytes, packed)?;
            if width > 64 {
                return Err(damaged());
            }
            for place in 0..run {
                let difference = bits(packed, place * usize::from(width), width.into()) as i64;
                last = last.wrapping_add(least).wrapping_add(difference);
                numbers.push(last);
            }
        }
    }
    Ok(numbers)
}

/// Returns `width` bits from bit `from` on, at most 64.
fn bits(bytes: &[u8], from: usize, width: u32) -> u64 {
    let bytes = &bytes[from / 8..(from + width as usize).div_ceil(8)];
    let mut word = [0; 16];
    word[..bytes.len()].copy_from_slice(bytes);
    let all = u128::from_le_bytes(word) >> (from % 8);
    (all & ((1 << width) - 1)) as u64
}

/// Takes the first bytes.
fn take<'a>(bytes: &mut &'a [u8], length: usize) -> io::Result<&'a [u8]> {
    bytes.split_off(..length).ok_or_else(damaged)
}

fn damaged() -> io::Error {
    invalid("it is damaged".into())
}

/// Reserves memory.
fn room<T>(values: &mut Vec<T>, additional: usize) -> io::Result<()> {
    reserve(values, additional).map_err(|reason| io::Error::new(io::ErrorKind::OutOfMemory, reason.to_string()))
}

/// A reader of Thrift's compact protocol, at the rest of the bytes.
struct Thrift<'a>(&'a [u8]);

/// A value of the metadata.
enum Value<'a> {
    Boolean(bool),
    Integer(i64),
    Bytes(&'a [u8]),
    List(Vec<Value<'a>>),
    /// Fields with their numbers.
    Structure(Vec<(i16, Value<'a>)>),
    /// Of a type that no field of use has.
    Other,
}

impl<'a> Value<'a> {
    /// Returns the field of a structure, if it has it.
    fn get(&self, field: i16) -> Option<&Value<'a>> {
        let Value::Structure(fields) = self else { return None };
        fields.iter().find(|(number, _)| *number == field).map(|(_, value)| value)
    }

    /// Returns the field of a structure, or 0.
    fn integer(&self, field: i16) -> i64 {
        if let Some(Value::Integer(number)) = self.get(field) { *number } else { 0 }
    }

    /// Returns the field of a structure, or no bytes.
    fn bytes(&self, field: i16) -> &'a [u8] {
        if let Some(Value::Bytes(bytes)) = self.get(field) { bytes } else { &[] }
    }

    /// Returns the field of a structure, or no values.
    fn list(&self, field: i16) -> &[Value<'a>] {
        if let Some(Value::List(values)) = self.get(field) { values } else { &[] }
    }
}

impl<'a> Thrift<'a> {
    fn byte(&mut self) -> io::Result<u8> {
        self.0.split_off_first().copied().ok_or_else(damaged)
    }

    fn varint(&mut self) -> io::Result<u64> {
        let mut number = 0;
        for shift in (0..64).step_by(7) {
            let byte = self.byte()?;
            number |= u64::from(byte & 0x7f) << shift;
            if byte < 0x80 {
                return Ok(number);
            }
        }
        Err(damaged())
    }

    /// An integer whose lowest bit is its sign.
    fn zigzag(&mut self) -> io::Result<i64> {
        let number = self.varint()?;
        Ok((number >> 1) as i64 ^ -((number & 1) as i64))
    }

    fn structure(&mut self, depth: usize) -> io::Result<Value<'a>> {
        let mut fields = Vec::new();
        let mut number = 0i16;
        loop {
            let header = self.byte()?;
            if header == 0 {
                return Ok(Value::Structure(fields));
            }
            number = match header >> 4 {
                0 => self.zigzag()? as i16,
                more => number.wrapping_add(more.into()),
            };
            let value = match header & 15 {
                kind @ (1 | 2) => Value::Boolean(kind == 1),
                kind => self.value(kind, depth + 1)?,
            };
            fields.push((number, value));
        }
    }

    fn value(&mut self, kind: u8, depth: usize) -> io::Result<Value<'a>> {
        let length = |number: u64| usize::try_from(number).map_err(|_| damaged());
        Ok(match kind {
            _ if depth > DEPTH => return Err(damaged()),
            1..=3 => Value::Integer((self.byte()? as i8).into()),
            4..=6 => Value::Integer(self.zigzag()?),
            7 => take(&mut self.0, 8).map(|_| Value::Other)?,
            8 => {
                let length = length(self.varint()?)?;
                Value::Bytes(take(&mut self.0, length)?)
            }
            9 | 10 => {
                let header = self.byte()?;
                let count = if header >> 4 == 15 { length(self.varint()?)? } else { usize::from(header >> 4) };
                // Each takes a byte at least.
                if count > self.0.len() {
                    return Err(damaged());
                }
                Value::List((0..count).map(|_| self.value(header & 15, depth + 1)).collect::<io::Result<_>>()?)
            }
            11 => {
                let count = length(self.varint()?)?;
                if count > 0 {
                    let kinds = self.byte()?;
                    for _ in 0..count {
                        self.value(kinds >> 4, depth + 1)?;
                        self.value(kinds & 15, depth + 1)?;
                    }
                }
                Value::Other
            }
            12 => self.structure(depth + 1)?,
            _ => return Err(damaged()),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::io::decoded;
    use std::{fs, path::PathBuf};

    /// Files that pyarrow wrote (tests/data/parquet.py).
    fn data(name: &str) -> PathBuf {
        [env!("CARGO_MANIFEST_DIR"), "tests/data/parquet", name].iter().collect()
    }

    fn text(path: &std::path::Path) -> Result<String, String> {
        let mut text = String::new();
        let mut decoded = decoded::open(path).map_err(|reason| reason.to_string())?;
        decoded.read_to_string(&mut text).map_err(|error| error.to_string())?;
        Ok(text)
    }

    #[test]
    fn tables_of_another_program() {
        for name in
            ["series", "series_v2", "ids", "nanoseconds", "int96", "edges", "numbered", "nulls", "no_values", "no_rows", "types"]
        {
            let csv = fs::read_to_string(data(&format!("{name}.csv"))).unwrap();
            let found = text(&data(&format!("{name}.parquet"))).map(|text| text.replace(NULL, "null"));
            assert_eq!(found, Ok(csv), "{name}");
        }
        let mut csv = "long,int,double,length,prefix,bool\n".to_owned();
        for place in 0..300_i64 {
            let number = if place % 2 == 0 { place.pow(3) } else { -place.pow(3) };
            let bool = if place % 50 == 3 { NULL } else { ["false", "true"][usize::from(place % 3 == 0)] };
            csv += &format!("{},{number},1.5,{},sensor {},{bool}\n", number << 31, place % 7, place / 10);
        }
        assert_eq!(text(&data("encodings.parquet")), Ok(csv));
    }

    #[test]
    fn what_cant_be_read_is_named() {
        let error = "column `t`: it is compressed by Brotli, which can't be read: write it with zstd or snappy";
        assert_eq!(text(&data("brotli.parquet")).unwrap_err(), error);
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("x");
        let whole = fs::read(data("series.parquet")).unwrap();
        for end in [4, 5, 11, 12, whole.len() / 2, whole.len() - 1] {
            fs::write(&path, &whole[..end]).unwrap();
            let error = text(&path).unwrap_err();
            assert!(error.starts_with("can't be read as Parquet: it"), "{end}: {error}");
        }
        fs::write(&path, [&whole[..whole.len() - 4], b"PARE"].concat()).unwrap();
        assert_eq!(text(&path).unwrap_err(), "can't be read as Parquet: it is encrypted");
        // Whatever byte is wrong, the result is text or an error.
        for name in ["series", "encodings"] {
            let whole = fs::read(data(&format!("{name}.parquet"))).unwrap();
            for place in (4..whole.len()).step_by(5) {
                let mut bytes = whole.clone();
                bytes[place] ^= [1, 0x80, 0xff][place % 3];
                let table = Table::new(File { size: bytes.len() as u64, bytes: Bytes::Memory(bytes) });
                let _ = table.and_then(|mut table| table.read_to_end(&mut Vec::new()));
            }
        }
    }

    #[test]
    fn dates_and_decimals() {
        // Days of `datetime.date(YEAR, MONTH, DAY) - datetime.date(1970, 1, 1)`.
        for (days, wanted) in [
            (0, "1970-01-01"),
            (-1, "1969-12-31"),
            (-719_162, "0001-01-01"),
            (11_016, "2000-02-29"),
            (47_540, "2100-02-28"),
            (47_541, "2100-03-01"),
            (2_932_896, "9999-12-31"),
        ] {
            let mut text = Vec::new();
            date(days, &mut text).unwrap();
            assert_eq!(String::from_utf8(text).unwrap(), wanted);
        }
        for (number, scale, wanted) in [
            (0, 0, "0"),
            (-5, 0, "-5"),
            (5, 3, "0.005"),
            (-1234, 3, "-1.234"),
            (i128::MIN, 38, "-1.70141183460469231731687303715884105728"),
        ] {
            let mut text = Vec::new();
            decimal(number, scale, &mut text).unwrap();
            assert_eq!(String::from_utf8(text).unwrap(), wanted);
        }
    }
}
