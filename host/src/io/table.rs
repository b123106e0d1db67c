//! Reads tables in text row by row, and says what is wrong with them.

use std::{fmt::Display, ops::Range, path::Path, str::FromStr};

use super::{files::Reason, lines::Lines, source::quoted};

/// A file of comma-separated values to read. Its first row names the columns. A row is a line, blank lines are skipped;
/// spaces around a field don't count, nor do quotes around it.
///
/// Errors are clauses that follow the file's name, such as "line 3: column `t`: ...".
pub(crate) struct Table {
    lines: Lines,
    header: Vec<String>,
    row: String,
    /// Where the row's fields are.
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

    /// The row's line, for [`at`](super::at).
    pub fn line(&self) -> u64 {
        self.lines.number()
    }

    /// Reads a number of the row. `what` says what it must be.
    pub fn field<N: FromStr>(&self, column: usize, what: &str) -> Result<N, Reason> {
        self.text(column).parse().map_err(|_| self.field_error(column, what))
    }

    /// That a field of the row is not `what` it must be.
    pub fn field_error(&self, column: usize, what: &str) -> Reason {
        let (text, column) = (quoted(self.text(column)), &self.header[column]);
        self.error(format_args!("column `{column}`: {text} is not {what}"))
    }

    /// Whether the row starts something new, by its number in a column, where there are `count` of these so far: else
    /// it belongs to the last one.
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

    /// That something is wrong with the row.
    pub fn error(&self, reason: impl Display) -> Reason {
        self.lines.error(reason)
    }
}
