//! Writes matrices, and reductions of them, as tables with the functions' names.

use std::{
    io::{self, Write},
    sync::Arc,
};

use csv::Writer;
use warpsmith::pcf::{Nearest, PcfReal, Sparse};

use crate::output::write_rows;

/// Names of the functions along one side of a matrix: their own, or numbers from this one on.
pub struct Labels(pub Option<Arc<[String]>>, pub usize);

impl Labels {
    /// The functions' own names.
    pub fn given(&self) -> Option<&[String]> {
        self.0.as_deref()
    }

    fn of(&self, index: usize) -> String {
        self.0.as_ref().map_or_else(|| (self.1 + index).to_string(), |names| names[index].clone())
    }
}

/// Writes rows of entries below a header with the columns' names, each row after its name.
pub fn matrix<T: PcfReal>(
    entries: &[T],
    (height, width): (usize, usize),
    [rows, columns]: &[Labels; 2],
    file: impl Write,
) -> io::Result<()> {
    let mut table = Writer::from_writer(file);
    table.write_field("")?;
    table.write_record((0..width).map(|column| columns.of(column)))?;
    for row in 0..height {
        let values = &entries[row * width..][..width];
        table.write_field(rows.of(row))?;
        table.write_record(values.iter().map(|value| format!("{value:?}")))?;
    }
    table.flush()
}

/// Writes a row for each function and each of its nearest ones, the nearest first.
pub fn nearest<T: PcfReal>(nearest: &Nearest<T>, [rows, columns]: &[Labels; 2], file: impl Write) -> io::Result<()> {
    let row = |(place, (&index, distance)): (usize, (&_, &T))| {
        [rows.of(place / nearest.count), columns.of(index as usize), format!("{distance:?}")]
    };
    let all = nearest.indices.iter().zip(&nearest.distances).enumerate().map(row);
    write_rows(file, &["id", "nearest", "distance"], all)
}

/// Writes a row for each entry.
pub fn sparse<T: PcfReal>(sparse: &Sparse<T>, [rows, columns]: &[Labels; 2], file: impl Write) -> io::Result<()> {
    let of_row = |(row, range): (usize, &[i64])| (range[0] as usize..range[1] as usize).map(move |entry| (row, entry));
    let entries =
        sparse.row_offsets.windows(2).enumerate().flat_map(of_row).map(|(row, entry)| {
            [rows.of(row), columns.of(sparse.columns[entry] as usize), format!("{:?}", sparse.values[entry])]
        });
    write_rows(file, &["id", "other", "distance"], entries)
}

pub fn sums(sums: &[f64], rows: &Labels, file: impl Write) -> io::Result<()> {
    write_rows(file, &["id", "sum"], sums.iter().enumerate().map(|(row, sum)| [rows.of(row), format!("{sum:?}")]))
}
