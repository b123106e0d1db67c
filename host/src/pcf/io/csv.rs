//! Functions and barcodes in text.

use std::{
    fmt::Display,
    fs::File,
    io::{self, BufReader, BufWriter, Read as _},
    path::Path,
    str::FromStr,
};

use csv::{ErrorKind, Position, ReaderBuilder, StringRecord, Trim, Writer};

use super::open;
use crate::{
    files::reason,
    pcf::{
        PcfError, PcfSet, Point, Real,
        barcode::{Bar, Barcode},
    },
};

/// A file to read.
struct Table<'a> {
    path: &'a Path,
    reader: csv::Reader<BufReader<File>>,
    record: StringRecord,
    header: StringRecord,
    /// Where the record starts.
    position: Position,
}

impl<'a> Table<'a> {
    /// Opens the file, whose header must be one of these.
    fn open(path: &'a Path, headers: &[&[&str]]) -> Result<Self, PcfError> {
        let (file, _) = open(path)?;
        let reader = ReaderBuilder::new().trim(Trim::All).from_reader(BufReader::new(file));
        let mut table =
            Table { path, reader, record: StringRecord::new(), header: StringRecord::new(), position: Position::new() };
        table.header = table.reader.headers().cloned().map_err(|error| csv_error(path, error))?;
        if !headers.iter().any(|header| table.header == **header) {
            let wanted: Vec<_> = headers.iter().map(|header| format!("`{}`", header.join(","))).collect();
            let found: Vec<_> = table.header.iter().collect();
            let (found, wanted) = (found.join(","), wanted.join(" or "));
            return Err(table.error(format_args!("the header is `{found}`, but it must be {wanted}")));
        }
        Ok(table)
    }

    /// Reads the next row, if there is one.
    fn next(&mut self) -> Result<bool, PcfError> {
        let more = self.reader.read_record(&mut self.record).map_err(|error| csv_error(self.path, error))?;
        if let Some(position) = self.record.position() {
            self.position = position.clone();
        }
        Ok(more)
    }

    /// Reads a number of the row. `what` says what it must be.
    fn field<N: FromStr>(&self, column: usize, what: &str) -> Result<N, PcfError> {
        let text = &self.record[column];
        text.parse().map_err(|_| {
            let column = &self.header[column];
            self.error(format_args!("column `{column}`: `{text}` is not {what}"))
        })
    }

    /// Reads the number of the row's function or barcode, in the first column, where there are `count` so far.
    fn number(&self, count: usize) -> Result<usize, PcfError> {
        let number: usize = self.field(0, "a whole number from 0 on")?;
        if number == count || number + 1 == count {
            return Ok(number);
        }
        let name = &self.header[0];
        let follows = match count {
            0 => "is the first".to_owned(),
            _ => format!("comes after {}", count - 1),
        };
        Err(self.error(format_args!(
            "column `{name}`: {number} {follows}, but rows must be in the order of the {name}s, which are numbered from 0 without gaps"
        )))
    }

    fn error(&self, reason: impl Display) -> PcfError {
        at(self.path, &self.position, reason)
    }
}

/// That something is wrong with the row at this position.
fn at(path: &Path, position: &Position, reason: impl Display) -> PcfError {
    let line = line_of(path, position.byte()).unwrap_or(position.line());
    PcfError::file(path, format_args!("line {line}: {reason}"))
}

/// The number, from 1, of the row's line. A position comes before the blank lines that are skipped; where a file can be read again, they
/// are counted.
fn line_of(path: &Path, byte: u64) -> Option<u64> {
    let mut bytes = open(path).ok().filter(|(_, size)| size.is_some()).map(|(file, _)| BufReader::new(file).bytes())?;
    let mut line = 1;
    for index in 0.. {
        match bytes.next()?.ok()? {
            b'\n' => line += 1,
            b'\r' => {}
            _ if index >= byte => break,
            _ => {}
        }
    }
    Some(line)
}

fn csv_error(path: &Path, error: csv::Error) -> PcfError {
    let position = error.position().cloned().unwrap_or_else(Position::new);
    match error.kind() {
        ErrorKind::Io(error) => PcfError::file(path, format_args!("can't be read: {}", reason(error))),
        ErrorKind::Utf8 { err, .. } => at(path, &position, format_args!("field {} is not UTF-8 text", err.field() + 1)),
        ErrorKind::UnequalLengths { expected_len, len, .. } => {
            at(path, &position, format_args!("there are {len} fields, but the header has {expected_len}"))
        }
        _ => at(path, &position, error),
    }
}

/// Reads functions.
pub fn load<T: Real>(path: &Path) -> Result<PcfSet<T>, PcfError> {
    let mut table = Table::open(path, &[&["function", "t", "v"]])?;
    let (mut offsets, mut points, mut positions) = (vec![0], Vec::new(), Vec::new());
    while table.next()? {
        if table.number(offsets.len() - 1)? == offsets.len() - 1 {
            offsets.push(points.len());
        }
        points.push(Point::new(table.field::<T>(1, "a number")?, table.field::<T>(2, "a number")?));
        positions.push(table.position.clone());
        if let Some(end) = offsets.last_mut() {
            *end = points.len();
        }
    }
    let starts = offsets.clone();
    PcfSet::from_parts(offsets, points).map_err(|error| match error.breakpoint() {
        Some((function, breakpoint)) => at(path, &positions[starts[function] + breakpoint], error),
        None => PcfError::file(path, error),
    })
}

/// Reads barcodes.
pub fn load_barcodes(path: &Path) -> Result<Vec<Barcode>, PcfError> {
    let mut table = Table::open(path, &[&["birth", "death"], &["barcode", "birth", "death"]])?;
    let many = table.header.len() == 3;
    let mut barcodes: Vec<Vec<Bar>> = if many { Vec::new() } else { vec![Vec::new()] };
    let mut positions = barcodes.iter().map(|_| Vec::new()).collect::<Vec<Vec<Position>>>();
    while table.next()? {
        if many && table.number(barcodes.len())? == barcodes.len() {
            barcodes.push(Vec::new());
            positions.push(Vec::new());
        }
        let column = usize::from(many);
        if many && table.record[column].is_empty() && table.record[column + 1].is_empty() {
            continue;
        }
        let bar = Bar {
            birth: table.field(column, "a number")?,
            death: table.field(column + 1, "a number, or inf for a bar without end")?,
        };
        if let (Some(bars), Some(positions)) = (barcodes.last_mut(), positions.last_mut()) {
            bars.push(bar);
            positions.push(table.position.clone());
        }
    }
    let checked = barcodes.into_iter().zip(positions).enumerate().map(|(barcode, (bars, positions))| {
        Barcode::new(bars).map_err(|error| match error {
            PcfError::Bar { bar, .. } if many => at(path, &positions[bar], format_args!("barcode {barcode}, {error}")),
            PcfError::Bar { bar, .. } => at(path, &positions[bar], error),
            error => PcfError::file(path, error),
        })
    });
    checked.collect()
}

/// Writes functions, with as many digits as tell each number from its neighbours.
pub fn write<T: Real>(set: &PcfSet<T>, file: &mut File) -> io::Result<()> {
    let mut writer = Writer::from_writer(BufWriter::new(file));
    writer.write_record(["function", "t", "v"]).map_err(io::Error::from)?;
    for (function, f) in set.iter().enumerate() {
        let function = function.to_string();
        for point in f.points() {
            writer.write_record([&*function, &format!("{:?}", point.t), &format!("{:?}", point.v)]).map_err(io::Error::from)?;
        }
    }
    writer.flush()
}
