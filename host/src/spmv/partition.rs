//! Matrices over ranks.

use std::ops::Range;

use rayon::prelude::*;

use super::{Csr, SpmvError, SpmvReal};

/// The rows of a square matrix, and the entries of x and y, over ranks: consecutive ones, as evenly as possible. Of n
/// over r ranks, the first n mod r have one more than the others.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Partition {
    rows: usize,
    ranks: usize,
}

impl Partition {
    /// `rows` over `ranks`.
    ///
    /// # Errors
    /// [`SpmvError::NoRanks`], [`SpmvError::TooManyRanks`] where there are more ranks than rows.
    pub fn new(rows: usize, ranks: usize) -> Result<Self, SpmvError> {
        match ranks {
            0 => Err(SpmvError::NoRanks),
            _ if ranks > rows => Err(SpmvError::TooManyRanks { ranks, rows }),
            _ => Ok(Partition { rows, ranks }),
        }
    }

    /// Of this matrix.
    ///
    /// # Errors
    /// [`SpmvError::NotSquare`], and as [`new`](Self::new).
    pub fn of<T: SpmvReal>(matrix: &Csr<T>, ranks: usize) -> Result<Self, SpmvError> {
        let (rows, columns) = (matrix.rows(), matrix.columns());
        if rows == columns { Self::new(rows, ranks) } else { Err(SpmvError::NotSquare { rows, columns }) }
    }

    /// The number of ranks.
    pub fn ranks(&self) -> usize {
        self.ranks
    }

    /// The rows of a rank, and its entries of x and y.
    ///
    /// # Panics
    /// Where there is no such rank.
    pub fn rows(&self, rank: usize) -> Range<usize> {
        assert!(rank < self.ranks, "there is no rank {rank}: there are {}, from 0", self.ranks);
        let start = |rank: usize| self.rows / self.ranks * rank + rank.min(self.rows % self.ranks);
        start(rank)..start(rank + 1)
    }

    /// The rank that has this row.
    ///
    /// # Panics
    /// Where there is no such row.
    pub fn owner(&self, row: usize) -> usize {
        assert!(row < self.rows, "there is no row {row}: there are {}, from 0", self.rows);
        let (each, longer) = (self.rows / self.ranks, self.rows % self.ranks);
        let of_longer = longer * (each + 1);
        if row < of_longer { row / (each + 1) } else { longer + (row - of_longer) / each }
    }

    /// The columns that a rank's rows need of other ranks, in ascending order.
    pub(super) fn needed<T: SpmvReal>(&self, matrix: &Csr<T>, rank: usize) -> Vec<u32> {
        let rows = self.rows(rank);
        let row_ptr = matrix.row_ptr();
        let nonzeros = row_ptr[rows.start] as usize..row_ptr[rows.end] as usize;
        let columns = &matrix.column_indices()[nonzeros];
        let mut needed: Vec<u32> = columns.iter().copied().filter(|&column| !rows.contains(&(column as usize))).collect();
        needed.sort_unstable();
        needed.dedup();
        needed
    }

    /// Divides ascending columns into the ranges of the ranks that have them.
    pub(super) fn by_owner(&self, columns: &[u32]) -> Vec<Neighbour> {
        let mut neighbours = Vec::new();
        let mut start = 0;
        while let Some(&column) = columns.get(start) {
            let rank = self.owner(column as usize);
            let end = start + columns[start..].partition_point(|&column| (column as usize) < self.rows(rank).end);
            neighbours.push(Neighbour { rank, range: start..end });
            start = end;
        }
        neighbours
    }
}

/// Another rank, and which entries of an array are for it or from it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Neighbour {
    /// The rank.
    pub rank: usize,
    /// The entries; at least one.
    pub range: Range<usize>,
}

/// A rank's part of a matrix, and what it has to do with the others.
///
/// A multiplication with the rank's entries x_L of x: pack `x_L[pack[i]]`, send each of `sends` its
/// range of that, receive a range of x_R from each of `receives`; `y = local x_L + remote x_R`.
#[derive(Clone, Debug, PartialEq)]
pub struct Part<T: SpmvReal> {
    /// The rank.
    pub rank: usize,
    /// The number of ranks.
    pub ranks: usize,
    /// Its rows of the matrix, and its entries of x and y.
    pub rows: Range<usize>,
    /// The nonzeros in columns of its own entries of x, which are numbered from `rows.start`. Square.
    pub local: Csr<T>,
    /// The other ones. Column i is entry i of x_R, which has the entries that are needed of other ranks, each once, in
    /// ascending order: by owner, then by column.
    pub remote: Csr<T>,
    /// The indices into x_L of the entries to send, neighbour by neighbour, for each in ascending order.
    pub pack: Vec<u32>,
    /// The range of the packed entries for each rank, by ascending rank.
    pub sends: Vec<Neighbour>,
    /// The range of x_R from each rank, by ascending rank.
    pub receives: Vec<Neighbour>,
}

impl<T: SpmvReal> Part<T> {
    /// The part of one rank. Takes as long as reading all of the matrix once.
    ///
    /// # Errors
    /// [`SpmvError::NotSquare`], [`SpmvError::NoRanks`], [`SpmvError::TooManyRanks`], [`SpmvError::RankOutOfRange`].
    pub fn new(matrix: &Csr<T>, ranks: usize, rank: usize) -> Result<Self, SpmvError> {
        let partition = Partition::of(matrix, ranks)?;
        if rank >= ranks {
            return Err(SpmvError::RankOutOfRange { rank, ranks });
        }
        let mut part = Self::without_sends(matrix, partition, rank, &partition.needed(matrix, rank));
        for other in (0..ranks).filter(|&other| other != rank) {
            let rows = partition.rows(other);
            let (start, end) = (matrix.row_ptr()[rows.start] as usize, matrix.row_ptr()[rows.end] as usize);
            let columns = matrix.column_indices()[start..end].par_iter().copied();
            let mut wanted: Vec<u32> = columns.filter(|&column| part.rows.contains(&(column as usize))).collect();
            wanted.sort_unstable();
            wanted.dedup();
            if !wanted.is_empty() {
                let start = part.pack.len();
                part.pack.extend(wanted.iter().map(|column| column - part.rows.start as u32));
                part.sends.push(Neighbour { rank: other, range: start..part.pack.len() });
            }
        }
        Ok(part)
    }

    /// Makes the part of a rank that needs these columns of others, without the entries that it
    /// sends.
    fn without_sends(matrix: &Csr<T>, partition: Partition, rank: usize, needed: &[u32]) -> Self {
        let rows = partition.rows(rank);
        let (mut local, mut remote) = (Builder::default(), Builder::default());
        for row in rows.clone() {
            let (columns, values) = matrix.row(row);
            for (&column, &value) in columns.iter().zip(values) {
                if rows.contains(&(column as usize)) {
                    local.push(column - rows.start as u32, value);
                } else {
                    // It exists: `needed` has all columns that aren't the rank's own.
                    remote.push(needed.partition_point(|&before| before < column) as u32, value);
                }
            }
            local.end_row();
            remote.end_row();
        }
        Part {
            rank,
            ranks: partition.ranks,
            local: local.finish(rows.len()),
            remote: remote.finish(needed.len()),
            rows,
            pack: Vec::new(),
            sends: Vec::new(),
            receives: partition.by_owner(needed),
        }
    }
}

/// A matrix that is made row by row.
struct Builder<T> {
    row_ptr: Vec<u32>,
    columns: Vec<u32>,
    values: Vec<T>,
}

impl<T> Default for Builder<T> {
    fn default() -> Self {
        Builder { row_ptr: vec![0], columns: Vec::new(), values: Vec::new() }
    }
}

impl<T: SpmvReal> Builder<T> {
    fn push(&mut self, column: u32, value: T) {
        self.columns.push(column);
        self.values.push(value);
    }

    fn end_row(&mut self) {
        self.row_ptr.push(self.columns.len() as u32);
    }

    fn finish(self, width: usize) -> Csr<T> {
        Csr::trusted(width, self.row_ptr, self.columns, self.values)
    }
}
