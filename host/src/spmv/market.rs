//! Matrix Market files (R. F. Boisvert, R. Pozo and K. Remington, *The Matrix Market exchange formats: initial design*,
//! NISTIR 5935, 1996): sparse matrices as text.
//!
//! [`read`] takes the coordinate format with real, integer or pattern entries, in general, symmetric or skew-symmetric
//! matrices, of any shape. Of the latter two, a file has the lower triangle, which is mirrored. An entry of a pattern
//! is 1; entries at the same place are added up. The array format, for dense matrices, and complex entries are refused.
//! [`write()`] writes real, general matrices.

use std::{fmt::Display, io::Write as _, path::Path};

use super::{Csr, SpmvError, SpmvReal, error::numbered};
use crate::{
    files::Destination,
    read::{Lines, Reason, declared, push, quoted},
};

/// What an entry's value is.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Field {
    Real,
    Integer,
    Pattern,
}

/// What else an entry stands for.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Symmetry {
    General,
    Symmetric,
    Skew,
}

/// Reads a matrix.
///
/// # Errors
/// [`SpmvError::File`] with the reason, and the line where it is one's fault: the file can't be read, isn't of such a
/// format, ends too early or goes on for too long; an index is out of range, an entry isn't in the lower triangle of a
/// matrix that is symmetric; a value isn't a finite number of the type. [`SpmvError::TooMany`] where there are 2^32
/// rows, columns or nonzeros.
pub fn read<T: SpmvReal>(path: impl AsRef<Path>) -> Result<Csr<T>, SpmvError> {
    let path = path.as_ref();
    let matrix = Lines::open(path).and_then(|lines| Market(lines).matrix());
    let (shape, triplets) = matrix.map_err(|reason| SpmvError::file(path, reason))?;
    Csr::from_triplets(shape, triplets)
}

/// Writes a matrix. Values are written with as many digits as they need to be read as the same ones.
///
/// The file is there once it is complete; one that was under its name is replaced then.
///
/// # Errors
/// [`SpmvError::File`].
pub fn write<T: SpmvReal>(path: impl AsRef<Path>, matrix: &Csr<T>) -> Result<(), SpmvError> {
    let destination = Destination::prepare(path.as_ref())?;
    Ok(destination.write(|output| {
        writeln!(output, "%%MatrixMarket matrix coordinate real general")?;
        writeln!(output, "{} {} {}", matrix.rows(), matrix.columns(), matrix.nnz())?;
        for row in 0..matrix.rows() {
            let (columns, values) = matrix.row(row);
            for (column, value) in columns.iter().zip(values) {
                writeln!(output, "{} {} {value:e}", row + 1, u64::from(*column) + 1)?;
            }
        }
        Ok(())
    })?)
}

/// A file, line by line.
struct Market(Lines);

impl Market {
    /// Goes to the next line that is neither blank nor a comment, if there is one.
    fn next_data(&mut self) -> Result<bool, Reason> {
        while self.0.next_filled()? {
            if !self.0.line().starts_with(b"%") {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// That something is wrong with the line.
    fn error(&self, reason: impl Display) -> Reason {
        self.0.error(reason)
    }

    /// The format, from the first line.
    fn header(&mut self) -> Result<(Field, Symmetry), Reason> {
        if !self.0.next()? {
            return Err("is empty".into());
        }
        let line = String::from_utf8_lossy(self.0.line()).to_ascii_lowercase();
        let mut words = line.split_ascii_whitespace();
        if words.next() != Some("%%matrixmarket") {
            return Err(self.error("it doesn't start with `%%MatrixMarket`, so this is no Matrix Market file"));
        }
        let mut word = |what: &str| words.next().ok_or_else(|| self.error(format_args!("the header ends before the {what}")));
        let (object, format, field, symmetry) = (word("object")?, word("format")?, word("field")?, word("symmetry")?);
        if object != "matrix" {
            return Err(self.error(format_args!("the object is {}, but only a `matrix` can be read", quoted(object))));
        }
        match format {
            "coordinate" => {}
            "array" => return Err(self.error("the array format is for dense matrices; only `coordinate` can be read")),
            _ => return Err(self.error(format_args!("the format is {}, but it must be `coordinate`", quoted(format)))),
        }
        let field = match field {
            "real" | "double" => Field::Real,
            "integer" => Field::Integer,
            "pattern" => Field::Pattern,
            "complex" => return Err(self.error("complex matrices can't be read; entries must be real, integer or pattern")),
            _ => return Err(self.error(format_args!("the field is {}, but it must be real, integer or pattern", quoted(field)))),
        };
        let symmetry = match symmetry {
            "general" => Symmetry::General,
            "symmetric" => Symmetry::Symmetric,
            "skew-symmetric" if field == Field::Pattern => {
                return Err(self.error("a pattern can't be skew-symmetric: its entries are all 1"));
            }
            "skew-symmetric" => Symmetry::Skew,
            "hermitian" => {
                return Err(
                    self.error("hermitian is for complex matrices; only general, symmetric and skew-symmetric can be read")
                );
            }
            _ => {
                let symmetry = quoted(symmetry);
                return Err(
                    self.error(format_args!("the symmetry is {symmetry}, but it must be general, symmetric or skew-symmetric"))
                );
            }
        };
        Ok((field, symmetry))
    }

    /// The numbers of rows, columns and entries.
    fn sizes(&mut self) -> Result<[usize; 3], Reason> {
        if !self.next_data()? {
            return Err("ends before the line with the numbers of rows, columns and entries".into());
        }
        let words: Vec<_> = self.0.text()?.split_ascii_whitespace().collect();
        let [rows, columns, entries] = words[..] else {
            return Err(self.error(format_args!(
                "there are {} words, but here must be three: the numbers of rows, columns and entries",
                words.len()
            )));
        };
        let number = |word: &str, what: &'static str| -> Result<usize, Reason> {
            let number = word.parse().map_err(|_| self.error(format_args!("{} is not a number of {what}", quoted(word))))?;
            numbered(what, number).map_err(|error| self.error(error))?;
            Ok(number)
        };
        Ok([number(rows, "rows")?, number(columns, "columns")?, number(entries, "entries")?])
    }

    /// A row or a column, from 0.
    fn index(&self, word: &str, what: &str, count: usize) -> Result<u32, Reason> {
        match word.parse::<u32>() {
            Ok(index) if index >= 1 && index as usize <= count => Ok(index - 1),
            Ok(index) => Err(self.error(format_args!("{what} {index} is out of range: they are numbered from 1 to {count}"))),
            Err(_) => Err(self.error(format_args!("{} is not a number of a {what}", quoted(word)))),
        }
    }

    fn value<T: SpmvReal>(&self, word: &str, field: Field) -> Result<T, Reason> {
        if field == Field::Integer && word.parse::<i128>().is_err() {
            return Err(self.error(format_args!("{} is not an integer, but the header says that entries are", quoted(word))));
        }
        let value: T = word.parse().map_err(|_| self.error(format_args!("{} is not a number", quoted(word))))?;
        if value.is_finite() {
            return Ok(value);
        }
        Err(match word.parse::<f64>() {
            Ok(wide) if wide.is_finite() || word.bytes().any(|byte| byte.is_ascii_digit()) => {
                self.error(format_args!("{} is too large for {}", quoted(word), T::NAME))
            }
            _ => self.error(format_args!("the value is {}, but it must be a finite number", quoted(word))),
        })
    }

    /// An entry: row and column from 0, and the value.
    fn entry<T: SpmvReal>(&self, [rows, columns, _]: [usize; 3], field: Field) -> Result<(u32, u32, T), Reason> {
        let mut words = self.0.text()?.split_ascii_whitespace();
        let wanted = if field == Field::Pattern { "row and column" } else { "row, column and value" };
        let mut word = || words.next().ok_or_else(|| self.error(format_args!("an entry is {wanted}, and here is less")));
        let (row, column) = (self.index(word()?, "row", rows)?, self.index(word()?, "column", columns)?);
        let value = if field == Field::Pattern { T::from_f64(1.0) } else { self.value(word()?, field)? };
        match words.next() {
            Some(word) => Err(self.error(format_args!("an entry is {wanted}, and here is {}, too", quoted(word)))),
            None => Ok((row, column, value)),
        }
    }

    /// Shape and triplets.
    #[allow(clippy::type_complexity)]
    fn matrix<T: SpmvReal>(mut self) -> Result<((usize, usize), Vec<(u32, u32, T)>), Reason> {
        let (field, symmetry) = self.header()?;
        let sizes @ [rows, columns, entries] = self.sizes()?;
        if symmetry != Symmetry::General && rows != columns {
            return Err(self.error(format_args!("a matrix of {rows} rows and {columns} columns can't be symmetric")));
        }
        // Not by what the file says: it may say anything.
        let mut triplets = Vec::new();
        for read in 0..entries {
            if !self.next_data()? {
                return Err(format!("ends after {read} of {entries} entries").into());
            }
            let (row, column, value) = self.entry::<T>(sizes, field)?;
            push(&mut triplets, (row, column, value))?;
            match symmetry {
                Symmetry::General => {}
                _ if column > row => {
                    let (row, column) = (row + 1, column + 1);
                    return Err(self.error(format_args!(
                        "the entry at row {row}, column {column} is above the diagonal, but of a symmetric matrix a file has the lower \
                         triangle"
                    )));
                }
                Symmetry::Symmetric if column < row => push(&mut triplets, (column, row, value))?,
                Symmetry::Symmetric => {}
                Symmetry::Skew if column < row => push(&mut triplets, (column, row, T::from_f64(-value.to_f64())))?,
                Symmetry::Skew => {
                    let row = row + 1;
                    return Err(self.error(format_args!(
                        "there is an entry at row {row}, column {row}, but the diagonal of a skew-symmetric matrix is 0 and is left out"
                    )));
                }
            }
        }
        if self.next_data()? {
            return Err(self.error(format_args!("there is more after the {entries} entries that were announced")));
        }
        // Empty rows and columns take memory, too, but hardly any of the file.
        let most = declared(self.0.bytes());
        if let Some((what, count)) = [("rows", rows), ("columns", columns)].into_iter().find(|&(_, count)| count as u64 > most) {
            return Err(format!("declares {count} {what}, but in a file of this size there may be {most} at most").into());
        }
        Ok(((rows, columns), triplets))
    }
}
