//! Matrices in compressed sparse rows.

use rayon::prelude::*;

use super::{
    SpmvError, SpmvReal,
    error::{numbered, same_length},
};
use crate::io::{collect, filled, reserve};

/// Rows that a task of the host's multiplication has at least.
const ROWS_PER_TASK: usize = 256;

/// A sparse matrix in compressed sparse rows (CSR).
///
/// Row i has the nonzeros `row_ptr[i]..row_ptr[i + 1]`, each with a column and a value. Within a
/// row, columns may be in any order and may repeat; values at the same place add up. Values may be
/// anything, zeros, infinities and NaN included.
#[derive(Clone, Debug, PartialEq)]
pub struct Csr<T: SpmvReal> {
    width: usize,
    row_ptr: Vec<u32>,
    columns: Vec<u32>,
    values: Vec<T>,
}

impl<T: SpmvReal> Csr<T> {
    /// The matrix of `shape` (rows, columns) with these arrays: `row_ptr` has one element more than there are rows,
    /// `columns` and `values` one for each nonzero. SciPy calls them `indptr`, `indices` and `data`.
    ///
    /// # Errors
    /// [`SpmvError::Length`], [`SpmvError::Start`], [`SpmvError::Descending`], [`SpmvError::End`],
    /// [`SpmvError::ColumnOutOfRange`], and [`SpmvError::TooMany`] where there are 2^32 rows, columns or nonzeros.
    pub fn new((rows, width): (usize, usize), row_ptr: Vec<u32>, columns: Vec<u32>, values: Vec<T>) -> Result<Self, SpmvError> {
        numbered("rows", rows)?;
        numbered("columns", width)?;
        numbered("nonzeros", columns.len())?;
        same_length("row_ptr", row_ptr.len(), rows + 1, "one more than there are rows")?;
        same_length("values", values.len(), columns.len(), "as many as columns")?;
        if row_ptr[0] != 0 {
            return Err(SpmvError::Start { found: row_ptr[0] });
        }
        if let Some(row) = row_ptr.par_windows(2).position_first(|pair| pair[1] < pair[0]) {
            return Err(SpmvError::Descending { row, start: row_ptr[row], end: row_ptr[row + 1] });
        }
        if row_ptr[rows] as usize != columns.len() {
            return Err(SpmvError::End { found: row_ptr[rows], nonzeros: columns.len() });
        }
        if let Some(nonzero) = columns.par_iter().position_first(|&column| column as usize >= width) {
            let row = row_ptr.partition_point(|&start| start as usize <= nonzero) - 1;
            return Err(SpmvError::ColumnOutOfRange { nonzero, row, column: columns[nonzero], columns: width });
        }
        Ok(Csr { width, row_ptr, columns, values })
    }

    /// The matrix with these arrays, which are as [`new`](Self::new) wants them.
    pub(super) fn trusted(width: usize, row_ptr: Vec<u32>, columns: Vec<u32>, values: Vec<T>) -> Self {
        debug_assert!(Csr::new((row_ptr.len() - 1, width), row_ptr.clone(), columns.clone(), values.clone()).is_ok());
        Csr { width, row_ptr, columns, values }
    }

    /// The matrix of `shape` (rows, columns) with these values (row, column, value), in any order. Those at the same
    /// place are added up, in their order; columns are ascending then.
    ///
    /// # Errors
    /// [`SpmvError::TripletOutOfRange`], [`SpmvError::TooMany`] where there are 2^32 rows, columns or triplets, and
    /// [`SpmvError::OutOfMemory`].
    pub fn from_triplets(
        (rows, width): (usize, usize),
        triplets: impl IntoIterator<Item = (u32, u32, T)>,
    ) -> Result<Self, SpmvError> {
        numbered("rows", rows)?;
        numbered("columns", width)?;
        let triplets: Vec<_> = triplets.into_iter().collect();
        numbered("nonzeros", triplets.len())?;
        let outside = |&(row, column, _): &(u32, u32, T)| row as usize >= rows || column as usize >= width;
        if let Some(triplet) = triplets.iter().position(outside) {
            let (row, column, _) = triplets[triplet];
            return Err(SpmvError::TripletOutOfRange { triplet, row, column, rows, columns: width });
        }
        // By rows, in their order; then each row by columns.
        let no_memory = |_| SpmvError::OutOfMemory { rows, nonzeros: triplets.len() };
        let mut starts = filled(0u32, rows + 1).map_err(no_memory)?;
        for &(row, ..) in &triplets {
            starts[row as usize + 1] += 1;
        }
        for row in 0..rows {
            starts[row + 1] += starts[row];
        }
        let mut next = collect(starts.iter().copied()).map_err(no_memory)?;
        let mut sorted = filled((0u32, T::ZERO), triplets.len()).map_err(no_memory)?;
        let (mut row_ptr, mut columns, mut values) = (vec![0u32], Vec::new(), Vec::<T>::new());
        reserve(&mut row_ptr, rows).map_err(no_memory)?;
        reserve(&mut columns, sorted.len()).map_err(no_memory)?;
        reserve(&mut values, sorted.len()).map_err(no_memory)?;
        for (row, column, value) in triplets {
            sorted[next[row as usize] as usize] = (column, value);
            next[row as usize] += 1;
        }
        for row in 0..rows {
            let entries = &mut sorted[starts[row] as usize..starts[row + 1] as usize];
            entries.sort_by_key(|&(column, _)| column);
            let first = columns.len();
            for &mut (column, value) in entries {
                match values.last_mut() {
                    Some(sum) if columns.len() > first && columns.last() == Some(&column) => *sum = *sum + value,
                    _ => {
                        columns.push(column);
                        values.push(value);
                    }
                }
            }
            row_ptr.push(columns.len() as u32);
        }
        Ok(Csr { width, row_ptr, columns, values })
    }

    /// The number of rows.
    pub fn rows(&self) -> usize {
        self.row_ptr.len() - 1
    }

    /// The number of columns.
    pub fn columns(&self) -> usize {
        self.width
    }

    /// The number of nonzeros: of all values that are stored, whatever they are.
    pub fn nnz(&self) -> usize {
        self.columns.len()
    }

    /// Returns the start of each row's nonzeros, and the end of the last row's: one element more
    /// than there are rows.
    pub fn row_ptr(&self) -> &[u32] {
        &self.row_ptr
    }

    /// The column of each nonzero.
    pub fn column_indices(&self) -> &[u32] {
        &self.columns
    }

    /// The value of each nonzero.
    pub fn values(&self) -> &[T] {
        &self.values
    }

    /// Columns and values of a row.
    ///
    /// # Panics
    /// Where there is no such row.
    pub fn row(&self, row: usize) -> (&[u32], &[T]) {
        let range = self.row_ptr[row] as usize..self.row_ptr[row + 1] as usize;
        (&self.columns[range.clone()], &self.values[range])
    }

    /// The number of nonzeros of the row that has most.
    pub fn longest_row(&self) -> usize {
        self.row_ptr.par_windows(2).map(|pair| pair[1] - pair[0]).max().unwrap_or(0) as usize
    }

    /// The bytes that a multiplication has to move at least: columns, values and `row_ptr` once, x once, y once.
    pub fn floor_bytes(&self) -> usize {
        let size = size_of::<T>();
        self.nnz() * (size + 4) + self.rows() * (4 + size) + self.columns() * size
    }

    /// y = A x on the host, by all its cores. Each entry is added up in the order of its row's nonzeros.
    ///
    /// # Errors
    /// [`SpmvError::Length`] where x isn't as long as there are columns.
    pub fn multiply(&self, x: &[T]) -> Result<Vec<T>, SpmvError> {
        check_x(self.columns(), x.len())?;
        let y = (0..self.rows()).into_par_iter().with_min_len(ROWS_PER_TASK).map(|row| {
            let (columns, values) = self.row(row);
            columns.iter().zip(values).fold(T::ZERO, |sum, (&column, &value)| sum + value * x[column as usize])
        });
        Ok(y.collect())
    }
}

/// Makes sure that a vector of length `x` can be multiplied.
pub(super) fn check_x(columns: usize, x: usize) -> Result<(), SpmvError> {
    same_length("x", x, columns, "as many as the matrix has columns")
}
