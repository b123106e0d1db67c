//! Matrix Market files (R. F. Boisvert, R. Pozo and K. Remington, *The Matrix Market exchange formats: initial design*,
//! NISTIR 5935, 1996): sparse matrices as text.
//!
//! [`read`] takes the coordinate format with real, integer or pattern entries, in general,
//! symmetric or skew-symmetric matrices, of any shape. A file of the latter two has only the lower
//! triangle, which is mirrored. An entry of a pattern is 1; entries at the same place are added up.
//! The array format, for dense matrices, and complex entries are refused. [`write()`] writes real,
//! general matrices.

use std::{io::Write as _, path::Path};

use super::{Csr, SpmvError, SpmvReal};
use crate::io::{Market, Reason, Symmetry, files::Destination, push, quoted};

/// Reads a matrix.
///
/// # Errors
/// [`SpmvError::File`] with the reason, and the line if one is at fault: the file can't be read,
/// has another format, or has too few or too many entries; an index is out of range; an entry of a
/// symmetric matrix is above the diagonal; a value isn't a finite number of the type.
/// [`SpmvError::TooMany`] from 2^32 rows, columns or nonzeros on.
pub fn read<T: SpmvReal>(path: impl AsRef<Path>) -> Result<Csr<T>, SpmvError> {
    let path = path.as_ref();
    let matrix = Market::open(path).and_then(matrix);
    let (shape, triplets) = matrix.map_err(|reason| SpmvError::file(path, reason))?;
    Csr::from_triplets(shape, triplets)
}

/// Writes a matrix. Values are written with as many digits as they need to be read as the same ones.
///
/// Replaces an existing file once the new one is complete.
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

/// The value of an entry.
fn value<T: SpmvReal>(market: &Market, word: &str) -> Result<T, Reason> {
    let value: T = word.parse().map_err(|_| market.error(format_args!("{} is not a number", quoted(word))))?;
    if value.is_finite() {
        return Ok(value);
    }
    Err(match word.parse::<f64>() {
        Ok(wide) if wide.is_finite() || word.bytes().any(|byte| byte.is_ascii_digit()) => {
            market.error(format_args!("{} is too large for {}", quoted(word), T::NAME))
        }
        _ => market.error(format_args!("the value is {}, but it must be a finite number", quoted(word))),
    })
}

/// Shape and triplets.
#[allow(clippy::type_complexity)]
fn matrix<T: SpmvReal>(mut market: Market) -> Result<((usize, usize), Vec<(u32, u32, T)>), Reason> {
    // Without reserving the declared number of entries, which may be wrong.
    let mut triplets = Vec::new();
    let of = |market: &Market, word: Option<&str>| word.map_or(Ok(T::from_f64(1.0)), |word| value(market, word));
    while let Some((row, column, value)) = market.next(of)? {
        push(&mut triplets, (row, column, value))?;
        match market.symmetry {
            Symmetry::Symmetric if column < row => push(&mut triplets, (column, row, value))?,
            Symmetry::Skew => push(&mut triplets, (column, row, T::from_f64(-value.to_f64())))?,
            _ => {}
        }
    }
    Ok((market.shape(), triplets))
}
