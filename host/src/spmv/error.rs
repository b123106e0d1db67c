//! Errors of matrices, of their files, and of multiplications.

use std::path::Path;

use crate::{
    device::DeviceError,
    io::files::{FileError, Reason},
};

/// Why a matrix could not be made, read, divided or multiplied. Rows, columns and elements are
/// named by their indices, from 0 except in files; if several offend, the first is named.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
#[allow(missing_docs, reason = "a message says what its fields are")]
pub enum SpmvError {
    /// The device failed.
    #[error(transparent)]
    Device(#[from] DeviceError),
    /// More than 32 bits can count.
    #[error("{count} {what} are too many: at most 2^32 - 1 can be numbered")]
    TooMany { what: &'static str, count: usize },
    /// Memory for a matrix could not be had.
    #[error("there is not enough memory for a matrix of {rows} rows and {nonzeros} nonzeros")]
    OutOfMemory { rows: usize, nonzeros: usize },
    /// An array's length doesn't fit.
    #[error("{what} has {found} elements, but it must have {expected}: {reason}")]
    Length { what: &'static str, found: usize, expected: usize, reason: &'static str },
    /// The first row doesn't start with the first nonzero.
    #[error("row_ptr[0] is {found}, but it must be 0")]
    Start { found: u32 },
    /// A row ends before it starts.
    #[error("row_ptr[{}] is {end}, less than row_ptr[{row}], which is {start}", row + 1)]
    Descending { row: usize, start: u32, end: u32 },
    /// The last row doesn't end with the last nonzero.
    #[error("row_ptr ends with {found}, but there are {nonzeros} nonzeros")]
    End { found: u32, nonzeros: usize },
    /// A nonzero is in no column.
    #[error("columns[{nonzero}], in row {row}, is {column}, but the matrix has {columns} columns")]
    ColumnOutOfRange { nonzero: usize, row: usize, column: u32, columns: usize },
    /// A triplet is outside the matrix.
    #[error("triplet {triplet} is at row {row}, column {column}, but the matrix has {rows} rows and {columns} columns")]
    TripletOutOfRange { triplet: usize, row: u32, column: u32, rows: usize, columns: usize },
    /// A matrix whose rows and columns are to be divided among the same ranks isn't square.
    #[error("the matrix has {rows} rows and {columns} columns, but for a multiplication over ranks it must be square")]
    NotSquare { rows: usize, columns: usize },
    /// There is no rank at all.
    #[error("there are no ranks, and at least one is needed")]
    NoRanks,
    /// Some ranks would have no rows.
    #[error(
        "{ranks} rank{} can't share {rows} row{}: each needs at least one",
        if *ranks == 1 { "" } else { "s" },
        if *rows == 1 { "" } else { "s" }
    )]
    TooManyRanks { ranks: usize, rows: usize },
    /// There is no such rank.
    #[error("there is no rank {rank}: there are {ranks}, from 0")]
    RankOutOfRange { rank: usize, ranks: usize },
    /// A band has too little room.
    #[error(
        "{nonzeros} nonzeros don't fit in the band: with {rows} rows and a half bandwidth of {half_bandwidth} it has {positions} \
         positions"
    )]
    BandTooSmall { nonzeros: usize, rows: usize, half_bandwidth: usize, positions: u64 },
    /// A kernel can't be launched as asked for.
    #[error("{kernel} is not a kernel: {reason}")]
    NoSuchKernel { kernel: super::kernel::SpmvKernel, reason: &'static str },
    /// A file can't be read or written, or its contents are wrong.
    #[error(transparent)]
    File(#[from] FileError),
}

impl SpmvError {
    /// An error about the file at `path`.
    pub(super) fn file(path: &Path, reason: impl Into<Reason>) -> Self {
        FileError::new(path, reason).into()
    }
}

/// `count` as 32 bits, if there are so few.
pub(super) fn numbered(what: &'static str, count: usize) -> Result<u32, SpmvError> {
    u32::try_from(count).map_err(|_| SpmvError::TooMany { what, count })
}

/// Makes sure of an array's length.
pub(super) fn same_length(what: &'static str, found: usize, expected: usize, reason: &'static str) -> Result<(), SpmvError> {
    if found == expected { Ok(()) } else { Err(SpmvError::Length { what, found, expected, reason }) }
}
