//! Reads Matrix Market files entry by entry: the coordinate format with real, integer or pattern
//! entries, for general, symmetric or skew-symmetric matrices.

use std::{fmt::Display, path::Path};

use super::{
    files::Reason,
    lines::{Lines, number, words},
    source::{declared, quoted},
};

/// The type of an entry's value.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Field {
    Real,
    Integer,
    Pattern,
}

/// The symmetry of a matrix, which tells the entries that a file leaves out.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Symmetry {
    General,
    Symmetric,
    Skew,
}

/// A file whose header and first `read` entries have been read.
///
/// Errors are clauses that follow the file's name.
pub(crate) struct Market {
    lines: Lines,
    field: Field,
    pub symmetry: Symmetry,
    rows: usize,
    columns: usize,
    entries: usize,
    read: usize,
}

impl Market {
    /// Opens the file, and reads its header and its sizes.
    pub fn open(path: &Path) -> Result<Self, Reason> {
        let mut lines = Lines::open(path)?;
        let (field, symmetry) = header(&mut lines)?;
        let [rows, columns, entries] = sizes(&mut lines)?;
        if symmetry != Symmetry::General && rows != columns {
            return Err(lines.error(format_args!("a matrix of {rows} rows and {columns} columns can't be symmetric")));
        }
        Ok(Market { lines, field, symmetry, rows, columns, entries, read: 0 })
    }

    /// Numbers of rows and columns. Verified only after [`next`](Self::next) has returned the end.
    pub fn shape(&self) -> (usize, usize) {
        (self.rows, self.columns)
    }

    /// Returns an error about the line.
    pub fn error(&self, reason: impl Display) -> Reason {
        self.lines.error(reason)
    }

    /// Reads the next entry: row and column from 0, and the result of `value` on its value. `value`
    /// receives `None` for a pattern.
    pub fn next<T>(
        &mut self,
        value: impl FnOnce(&Self, Option<&str>) -> Result<T, Reason>,
    ) -> Result<Option<(u32, u32, T)>, Reason> {
        let more = next_data(&mut self.lines)?;
        if self.read == self.entries {
            let beyond = || self.error(format_args!("there is more after the {} entries that were announced", self.entries));
            return if more { Err(beyond()) } else { self.end().map(|()| None) };
        }
        if !more {
            return Err(format!("ends after {} of {} entries", self.read, self.entries).into());
        }
        self.read += 1;
        let line = self.lines.line();
        if !line.is_ascii() {
            self.lines.text()?;
        }
        let mut words = words(line);
        let wanted = if self.field == Field::Pattern { "row and column" } else { "row, column and value" };
        let mut word = || words.next().ok_or_else(|| self.error(format_args!("an entry is {wanted}, and here is less")));
        let row = self.index(word()?, "row", self.rows)?;
        let column = self.index(word()?, "column", self.columns)?;
        let value = match self.field {
            Field::Pattern => value(self, None),
            field => {
                let word = String::from_utf8_lossy(word()?);
                if field == Field::Integer && word.parse::<i128>().is_err() {
                    let word = quoted(&word);
                    return Err(self.error(format_args!("{word} is not an integer, but the header says that entries are")));
                }
                value(self, Some(&word))
            }
        }?;
        if let Some(word) = words.next() {
            let word = quoted(&String::from_utf8_lossy(word));
            return Err(self.error(format_args!("an entry is {wanted}, and here is {word}, too")));
        }
        self.check(row, column)?;
        Ok(Some((row, column, value)))
    }

    /// Parses the number of a row or column. The result counts from 0.
    fn index(&self, word: &[u8], what: &str, count: usize) -> Result<u32, Reason> {
        match number(word) {
            Some(index) if index >= 1 && index <= count as u64 => Ok((index - 1) as u32),
            Some(index) => Err(self.error(format_args!("{what} {index} is out of range: they are numbered from 1 to {count}"))),
            None => Err(self.error(format_args!("{} is not a number of a {what}", quoted(&String::from_utf8_lossy(word))))),
        }
    }

    /// Checks that a symmetric matrix has only its lower triangle, and a skew-symmetric one no
    /// diagonal.
    fn check(&self, row: u32, column: u32) -> Result<(), Reason> {
        match self.symmetry {
            Symmetry::General => Ok(()),
            _ if column > row => {
                let (row, column) = (row + 1, column + 1);
                Err(self.error(format_args!(
                    "the entry at row {row}, column {column} is above the diagonal, but of a symmetric matrix a file has the lower \
                     triangle"
                )))
            }
            Symmetry::Skew if column == row => {
                let row = row + 1;
                Err(self.error(format_args!(
                    "there is an entry at row {row}, column {row}, but the diagonal of a skew-symmetric matrix is 0 and is left out"
                )))
            }
            _ => Ok(()),
        }
    }

    /// Checks the declared sizes, because empty rows and columns take memory but no part of the
    /// file.
    fn end(&self) -> Result<(), Reason> {
        let most = declared(self.lines.bytes());
        match [("rows", self.rows), ("columns", self.columns)].into_iter().find(|&(_, count)| count as u64 > most) {
            Some((what, count)) => {
                Err(format!("declares {count} {what}, but in a file of this size there may be {most} at most").into())
            }
            None => Ok(()),
        }
    }
}

/// Reads up to the next line that is neither blank nor a comment. Returns false at the end.
fn next_data(lines: &mut Lines) -> Result<bool, Reason> {
    while lines.next_filled()? {
        if !lines.line().starts_with(b"%") {
            return Ok(true);
        }
    }
    Ok(false)
}

/// Parses the format in the first line.
fn header(lines: &mut Lines) -> Result<(Field, Symmetry), Reason> {
    if !lines.next()? {
        return Err("is empty".into());
    }
    // Of these words, only the first one's case matters.
    let line = String::from_utf8_lossy(lines.line());
    let found = line.split_ascii_whitespace().next() == Some("%%MatrixMarket");
    let line = line.to_ascii_lowercase();
    let mut words = line.split_ascii_whitespace().skip(1);
    if !found {
        return Err(lines.error("it doesn't start with `%%MatrixMarket`, so this is no Matrix Market file"));
    }
    let mut word = |what: &str| words.next().ok_or_else(|| lines.error(format_args!("the header ends before the {what}")));
    let (object, format, field, symmetry) = (word("object")?, word("format")?, word("field")?, word("symmetry")?);
    if object != "matrix" {
        return Err(lines.error(format_args!("the object is {}, but only a `matrix` can be read", quoted(object))));
    }
    match format {
        "coordinate" => {}
        "array" => return Err(lines.error("the array format is for dense matrices; only `coordinate` can be read")),
        _ => return Err(lines.error(format_args!("the format is {}, but it must be `coordinate`", quoted(format)))),
    }
    let field = match field {
        "real" | "double" => Field::Real,
        "integer" => Field::Integer,
        "pattern" => Field::Pattern,
        "complex" => return Err(lines.error("complex matrices can't be read; entries must be real, integer or pattern")),
        _ => return Err(lines.error(format_args!("the field is {}, but it must be real, integer or pattern", quoted(field)))),
    };
    let symmetry = match symmetry {
        "general" => Symmetry::General,
        "symmetric" => Symmetry::Symmetric,
        "skew-symmetric" if field == Field::Pattern => {
            return Err(lines.error("a pattern can't be skew-symmetric: its entries are all 1"));
        }
        "skew-symmetric" => Symmetry::Skew,
        "hermitian" => {
            return Err(lines.error("hermitian is for complex matrices; only general, symmetric and skew-symmetric can be read"));
        }
        _ => {
            let symmetry = quoted(symmetry);
            return Err(
                lines.error(format_args!("the symmetry is {symmetry}, but it must be general, symmetric or skew-symmetric"))
            );
        }
    };
    Ok((field, symmetry))
}

/// Reads the numbers of rows, columns and entries.
fn sizes(lines: &mut Lines) -> Result<[usize; 3], Reason> {
    if !next_data(lines)? {
        return Err("ends before the line with the numbers of rows, columns and entries".into());
    }
    let words: Vec<_> = lines.text()?.split_ascii_whitespace().collect();
    let [rows, columns, entries] = words[..] else {
        return Err(lines.error(format_args!(
            "there are {} words, but here must be three: the numbers of rows, columns and entries",
            words.len()
        )));
    };
    let count = |word: &str, what: &str| -> Result<usize, Reason> {
        let number = number(word.as_bytes());
        let number = number.ok_or_else(|| lines.error(format_args!("{} is not a number of {what}", quoted(word))))?;
        match u32::try_from(number) {
            Ok(number) => Ok(number as usize),
            Err(_) => Err(lines.error(format_args!("{number} {what} are too many: at most 2^32 - 1 can be numbered"))),
        }
    };
    Ok([count(rows, "rows")?, count(columns, "columns")?, count(entries, "entries")?])
}
