//! Reads comma-separated tables row by row, and reports errors by line and column.

use std::{fmt::Display, ops::Range, path::Path, str::FromStr};

use super::{files::Reason, lines::Lines, source::quoted};

/// A reader of comma-separated values. The first row names the columns. A row is one line; blank
/// lines are skipped. Spaces and quotes around a field are ignored.
///
/// Errors are clauses that follow the file's name, such as "line 3: column `t`: ...".
pub(crate) struct Table {
    lines: Lines,
    header: Vec<String>,
    row: String,
    /// The ranges of the row's fields.
    fields: Vec<Range<usize>>,
}

impl Table {
    /// Opens the file, whose header must be one of these.
    pub fn open(path: &Path, headers: &[&[&str]]) -> Result<Self, Reason> {
        let table = Self::open_any(path)?;
        let found: Vec<_> = table.header.iter().map(String::as_str).collect();
        if !headers.iter().any(|header| found == **header) {
            let wanted: Vec<_> = headers.iter().map(|header| format!("`{}`", header.join(","))).collect();
            let found = quoted(&found.join(","));
            return Err(table.error(format_args!("the header is {found}, but it must be {}", wanted.join(" or "))));
        }
        Ok(table)
    }

    /// Opens the file, whatever its header.
    pub fn open_any(path: &Path) -> Result<Self, Reason> {
        let mut table = Table { lines: Lines::open(path)?, header: Vec::new(), row: String::new(), fields: Vec::new() };
        let columns = if table.read()? { table.fields.len() } else { 0 };
        table.header = (0..columns).map(|column| table.text(column).to_owned()).collect();
        if columns == 0 {
            table.header.push(String::new());
        }
        Ok(table)
    }

    /// Reads the next row, if there is one.
    pub fn next(&mut self) -> Result<bool, Reason> {
        if !self.read()? {
            return Ok(false);
        }
        let (fields, columns) = (self.fields.len(), self.header.len());
        if fields == columns {
            return Ok(true);
        }
        Err(self.error(format_args!("there are {fields} fields, but the header has {columns}")))
    }

    /// Splits the next row into its fields.
    fn read(&mut self) -> Result<bool, Reason> {
        if !self.lines.next_filled()? {
            return Ok(false);
        }
        let line = self.lines.line();
        let text = std::str::from_utf8(line).map_err(|error| {
            let field = line[..error.valid_up_to()].iter().filter(|&&byte| byte == b',').count();
            self.lines.error(format_args!("field {} is not UTF-8 text", field + 1))
        })?;
        self.row.clear();
        self.row.push_str(text);
        self.fields.clear();
        let mut start = 0;
        for field in text.split(',') {
            let inner = field.trim();
            let inner = inner.strip_prefix('"').and_then(|inner| inner.strip_suffix('"')).unwrap_or(inner).trim();
            let from = inner.as_ptr().addr() - text.as_ptr().addr();
            debug_assert!((start..=start + field.len()).contains(&from));
            self.fields.push(from..from + inner.len());
            start += field.len() + 1;
        }
        Ok(true)
    }

    /// The names of the columns.
    pub fn header(&self) -> &[String] {
        &self.header
    }

    /// The row's field in a column.
    pub fn text(&self, column: usize) -> &str {
        &self.row[self.fields[column].clone()]
    }

    /// The row's line number, from 1.
    pub fn line(&self) -> u64 {
        self.lines.number()
    }

    /// Parses a number of the row. `what` names the expected value in the error.
    pub fn field<N: FromStr>(&self, column: usize, what: &str) -> Result<N, Reason> {
        self.text(column).parse().map_err(|_| self.field_error(column, what))
    }

    /// Returns the error of a field that is not `what` it must be.
    pub fn field_error(&self, column: usize, what: &str) -> Reason {
        let (text, column) = (quoted(self.text(column)), &self.header[column]);
        self.error(format_args!("column `{column}`: {text} is not {what}"))
    }

    /// Returns true if the number in this column is `count`, the next one, and false if it is the
    /// last one, `count - 1`. Other numbers are errors.
    pub fn starts_next(&self, column: usize, count: usize) -> Result<bool, Reason> {
        let number: usize = self.field(column, "a whole number from 0 on")?;
        let last = count.checked_sub(1);
        if number == count || last == Some(number) {
            return Ok(number == count);
        }
        let name = &self.header[column];
        let follows = last.map_or_else(|| "is the first".to_owned(), |last| format!("comes after {last}"));
        Err(self.error(format_args!(
            "column `{name}`: {number} {follows}, but rows must be in the order of the {name}s, which are numbered from 0 without gaps"
        )))
    }

    /// Returns an error about the row.
    pub fn error(&self, reason: impl Display) -> Reason {
        self.lines.error(reason)
    }
}
