//! Reads tables in text row by row, and says what is wrong with them.

use std::{
    fmt::Display,
    fs::File,
    io::{BufReader, Read as _},
    path::Path,
    str::FromStr,
};

use csv::{ErrorKind, Position, ReaderBuilder, StringRecord, Trim};

use crate::files::{open, reason};

/// A file to read. Its first row names the columns.
///
/// Errors are clauses that follow the file's name, such as "line 3: column `t`: ...".
pub(crate) struct Table<'a> {
    path: &'a Path,
    reader: csv::Reader<BufReader<File>>,
    record: StringRecord,
    header: StringRecord,
    /// Where the record starts.
    position: Position,
}

impl<'a> Table<'a> {
    /// Opens the file, whose header must be one of these.
    pub fn open(path: &'a Path, headers: &[&[&str]]) -> Result<Self, String> {
        let (file, _) = open(path)?;
        let reader = ReaderBuilder::new().trim(Trim::All).from_reader(BufReader::new(file));
        let mut table =
            Table { path, reader, record: StringRecord::new(), header: StringRecord::new(), position: Position::new() };
        table.header = table.reader.headers().cloned().map_err(|error| table.csv_error(&error))?;
        if !headers.iter().any(|header| table.header == **header) {
            let wanted: Vec<_> = headers.iter().map(|header| format!("`{}`", header.join(","))).collect();
            let found: Vec<_> = table.header.iter().collect();
            let (found, wanted) = (found.join(","), wanted.join(" or "));
            return Err(table.error(format_args!("the header is `{found}`, but it must be {wanted}")));
        }
        Ok(table)
    }

    /// Reads the next row, if there is one.
    pub fn next(&mut self) -> Result<bool, String> {
        let more = self.reader.read_record(&mut self.record).map_err(|error| self.csv_error(&error))?;
        if let Some(position) = self.record.position() {
            self.position = position.clone();
        }
        Ok(more)
    }

    /// The names of the columns.
    pub fn header(&self) -> &StringRecord {
        &self.header
    }

    /// The row's fields, as many as columns.
    pub fn record(&self) -> &StringRecord {
        &self.record
    }

    /// Where the row is, for [`at`](Table::at).
    pub fn position(&self) -> Position {
        self.position.clone()
    }

    /// Reads a number of the row. `what` says what it must be.
    pub fn field<N: FromStr>(&self, column: usize, what: &str) -> Result<N, String> {
        self.record[column].parse().map_err(|_| self.field_error(column, what))
    }

    /// That a field of the row is not `what` it must be.
    pub fn field_error(&self, column: usize, what: &str) -> String {
        let (text, column) = (&self.record[column], &self.header[column]);
        self.error(format_args!("column `{column}`: `{text}` is not {what}"))
    }

    /// Reads the number, in a column, of what the row belongs to, where there are `count` of these so far.
    pub fn number(&self, column: usize, count: usize) -> Result<usize, String> {
        let number: usize = self.field(column, "a whole number from 0 on")?;
        if number == count || number + 1 == count {
            return Ok(number);
        }
        let name = &self.header[column];
        let follows = match count {
            0 => "is the first".to_owned(),
            _ => format!("comes after {}", count - 1),
        };
        Err(self.error(format_args!(
            "column `{name}`: {number} {follows}, but rows must be in the order of the {name}s, which are numbered from 0 without gaps"
        )))
    }

    /// That something is wrong with the row.
    pub fn error(&self, reason: impl Display) -> String {
        self.at(&self.position, reason)
    }

    /// That something is wrong with the row at this position.
    pub fn at(&self, position: &Position, reason: impl Display) -> String {
        let line = line_of(self.path, position.byte()).unwrap_or(position.line());
        format!("line {line}: {reason}")
    }

    fn csv_error(&self, error: &csv::Error) -> String {
        let position = error.position().cloned().unwrap_or_else(Position::new);
        match error.kind() {
            ErrorKind::Io(error) => format!("can't be read: {}", reason(error)),
            ErrorKind::Utf8 { err, .. } => self.at(&position, format_args!("field {} is not UTF-8 text", err.field() + 1)),
            ErrorKind::UnequalLengths { expected_len, len, .. } => {
                self.at(&position, format_args!("there are {len} fields, but the header has {expected_len}"))
            }
            _ => self.at(&position, error),
        }
    }
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
