//! Matrices in files, and the means of their parts. Nothing is mapped into memory: a file that shrinks meanwhile is an
//! error.

use std::{
    ops::Range,
    path::{Path, PathBuf},
};

use rayon::prelude::*;
use warpsmith::{
    io::{
        Reason, Source,
        npy::{Kind, Reader},
    },
    pcf::{
        Layout, PcfReal,
        entries::{self, Stats},
    },
};

use crate::failure::Failure;

/// Size of a read, in bytes.
const CHUNK: usize = 1 << 20;

/// A matrix in a `.npy` file.
#[derive(Debug)]
pub struct Matrix {
    path: PathBuf,
    source: Source,
    pub kind: Kind,
    pub rows: usize,
    pub columns: usize,
    swapped: bool,
    /// Offset of the entries in the file.
    start: u64,
    storage: Storage,
}

/// Order of the entries in the file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Storage {
    /// All of them, a row after the other.
    Rows,
    /// All of them, a column after the other.
    Columns,
    /// The entries of each row right of the diagonal.
    Condensed,
    /// The entries of each row up to the diagonal.
    Packed,
}

/// The parts of a matrix, a row of them after the other, and their means.
#[derive(Debug)]
pub struct Heat {
    pub rows: usize,
    pub columns: usize,
    pub cells: Vec<Cell>,
    /// All entries.
    pub entries: Stats,
}

/// Mean of a part's entries.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Cell {
    /// The mean.
    Mean(f64),
    /// One is infinite.
    Infinite,
    /// One is NaN, or two are infinite of different sign.
    Nan,
}

impl Matrix {
    /// Reads the file's header. `layout` is that of a 1-D array, if the file doesn't tell it.
    pub fn open(path: &Path, layout: Option<Layout>) -> Result<Self, Failure> {
        let fail = |text: &dyn std::fmt::Display| Failure::error(format_args!("{}: {text}", path.display()));
        let is_set =
            ["npz", "csv"].iter().any(|other| path.extension().is_some_and(|extension| extension.eq_ignore_ascii_case(other)));
        if is_set {
            return Err(fail(&"is not a matrix in a .npy file; of a set of functions, `warpsmith pcf pdist` makes one"));
        }
        let mut reader = Reader::open(path).map_err(|text| fail(&text))?;
        let layout = match (reader.unwrap_field(Layout::PACKED_FIELD), layout) {
            (true, Some(Layout::Condensed)) => return Err(fail(&"holds a packed matrix, as it says, and not a condensed one")),
            (true, _) => Layout::Packed,
            (false, layout) => layout.unwrap_or(Layout::Condensed),
        };
        let kind = reader.kind("a matrix", Kind::FLOATS).map_err(|text| fail(&text))?;
        let n = reader.check_size(kind).map_err(|text| fail(&text))?;
        let (rows, columns, storage) = match (reader.shape(), layout) {
            (&[rows, columns], _) => (rows, columns, if reader.is_fortran() { Storage::Columns } else { Storage::Rows }),
            ([_], Layout::Condensed) => {
                let side = triangle(n)
                    .map(|side| side + 1)
                    .ok_or_else(|| fail(&format!("holds {n} entries, but a condensed matrix has n (n - 1) / 2 of them")))?;
                (side, side, Storage::Condensed)
            }
            ([_], Layout::Packed) => {
                let side = triangle(n)
                    .ok_or_else(|| fail(&format!("holds {n} entries, but a packed matrix has n (n + 1) / 2 of them")))?;
                (side, side, Storage::Packed)
            }
            (shape, _) => {
                return Err(fail(&format!("holds a {}-D array, but a matrix is 2-D, or 1-D where it is condensed", shape.len())));
            }
        };
        if rows == 0 || columns == 0 {
            return Err(fail(&"holds a matrix without entries"));
        }
        let (swapped, start) = (reader.is_swapped(), reader.header_size());
        let source = reader.into_source();
        if source.size().is_none() {
            return Err(fail(&"is not a file: a matrix can't be drawn from a pipe or a device"));
        }
        Ok(Matrix { path: path.to_owned(), source, kind, rows, columns, swapped, start, storage })
    }

    /// Number of entries in the file.
    pub fn entries(&self) -> usize {
        match self.storage {
            Storage::Rows | Storage::Columns => self.rows * self.columns,
            Storage::Condensed => self.rows * (self.rows - 1) / 2,
            Storage::Packed => self.rows * (self.rows + 1) / 2,
        }
    }

    /// The means of parts: at most `side` rows of parts, and columns. `advance` is told of entries that were read.
    pub fn average(&self, side: usize, advance: impl Fn(usize) + Sync) -> Result<Heat, Failure> {
        match self.kind {
            Kind::F32 => self.average_of::<f32>(side, &advance),
            _ => self.average_of::<f64>(side, &advance),
        }
    }

    fn average_of<T: PcfReal>(&self, side: usize, advance: &(impl Fn(usize) + Sync)) -> Result<Heat, Failure> {
        // Lines are what is contiguous in the file: rows, or the columns of a matrix that lies by columns.
        let (lines, across) =
            if self.storage == Storage::Columns { (self.columns, self.rows) } else { (self.rows, self.columns) };
        let (bands, parts) = (lines.min(side), across.min(side));
        let ends: Vec<usize> = (0..parts).map(|part| band_range(part, parts, across).end).collect();
        let band = |band: usize| self.band::<T>(band_range(band, bands, lines), &ends, advance);
        let read: Result<Vec<Band>, Reason> = (0..bands).into_par_iter().map(band).collect();
        let read = read.map_err(|text| Failure::error(format_args!("{}: {text}", self.path.display())))?;
        let mut entries = read.iter().fold(Stats::NONE, |stats, band| stats.merge(band.stats));

        // The sum and the number of entries of each part.
        let stored = |line: usize, part: usize| (read[line].sums[part], read[line].counts[part]);
        let sum = |row: usize, column: usize| match self.storage {
            Storage::Rows => stored(row, column),
            Storage::Columns => stored(column, row),
            Storage::Condensed | Storage::Packed => {
                // Above and below the diagonal are the same; on it lie both halves and the diagonal itself.
                let (low, high) = (row.min(column), row.max(column));
                let (sum, count) = if self.storage == Storage::Condensed { stored(low, high) } else { stored(high, low) };
                if row != column {
                    return (sum, count);
                }
                let range = band_range(row, bands, lines);
                let diagonal = if self.storage == Storage::Condensed { 0.0 } else { read[row].diagonal };
                (2.0 * sum - diagonal, (range.len() * range.len()) as u64)
            }
        };
        if self.storage == Storage::Condensed {
            entries = entries.merge(Stats { min: 0.0, max: 0.0, ..Stats::NONE });
        }
        let (rows, columns) = if self.storage == Storage::Columns { (parts, bands) } else { (bands, parts) };
        let cells = (0..rows * columns).map(|cell| match sum(cell / columns, cell % columns) {
            (sum, _) if sum.is_nan() => Cell::Nan,
            (sum, _) if sum.is_infinite() => Cell::Infinite,
            (sum, count) => Cell::Mean(sum / count as f64),
        });
        Ok(Heat { rows, columns, cells: cells.collect(), entries })
    }

    /// Sums up some lines, in parts that end before `ends`.
    fn band<T: PcfReal>(&self, lines: Range<usize>, ends: &[usize], advance: &(impl Fn(usize) + Sync)) -> Result<Band, Reason> {
        let unreadable = |error: std::io::Error| match error.kind() {
            std::io::ErrorKind::UnexpectedEof => "has become shorter".into(),
            _ => Reason::because("can't be read", error),
        };
        let mut start = self.start + (self.position(lines.start) * size_of::<T>()) as u64;

        let mut band = Band { sums: vec![0.0; ends.len()], counts: vec![0; ends.len()], diagonal: 0.0, stats: Stats::NONE };
        let mut buffer = vec![T::zeroed(); CHUNK / size_of::<T>()];
        let mut entries: Vec<f64> = Vec::with_capacity(buffer.len());
        let mut left = self.position(lines.end) - self.position(lines.start);
        let mut next = 0;
        for line in lines {
            let mut range = self.range(line);
            let mut part = ends.partition_point(|&end| end <= range.start);
            while !range.is_empty() {
                if next == entries.len() {
                    let chunk = left.min(buffer.len());
                    let bytes: &mut [u8] = bytemuck::cast_slice_mut(&mut buffer[..chunk]);
                    self.source.read_exact_at(bytes, start).map_err(unreadable)?;
                    start += bytes.len() as u64;
                    entries::widen(&buffer[..chunk], self.swapped, &mut entries);
                    (left, next) = (left - chunk, 0);
                    advance(chunk);
                }
                let len = (range.end.min(ends[part]) - range.start).min(entries.len() - next);
                band.sums[part] += band.stats.add(&entries[next..next + len]);
                band.counts[part] += len as u64;
                range.start += len;
                next += len;
                if range.start == ends[part] {
                    part += 1;
                }
            }
            if self.storage == Storage::Packed {
                band.diagonal += entries[next - 1];
            }
        }
        Ok(band)
    }

    /// The entries of a line that the file holds.
    fn range(&self, line: usize) -> Range<usize> {
        match self.storage {
            Storage::Rows => 0..self.columns,
            Storage::Columns => 0..self.rows,
            Storage::Condensed => line + 1..self.columns,
            Storage::Packed => 0..line + 1,
        }
    }

    /// Number of entries in the file before this line.
    fn position(&self, line: usize) -> usize {
        match self.storage {
            Storage::Rows => line * self.columns,
            Storage::Columns => line * self.rows,
            // All of the triangle less that below.
            Storage::Condensed => line * (2 * self.rows - line - 1) / 2,
            Storage::Packed => line * (line + 1) / 2,
        }
    }
}

/// Sums of a band of lines.
struct Band {
    sums: Vec<f64>,
    counts: Vec<u64>,
    /// Sum of the entries on the diagonal, if they are stored once.
    diagonal: f64,
    stats: Stats,
}

/// The lines of one of `bands` bands.
fn band_range(band: usize, bands: usize, lines: usize) -> Range<usize> {
    let start = |band: usize| (band as u128 * lines as u128 / bands as u128) as usize;
    start(band)..start(band + 1)
}

/// The n whose n (n + 1) / 2 is `count`.
fn triangle(count: usize) -> Option<usize> {
    let near = ((2.0 * count as f64 + 0.25).sqrt() - 0.5).round() as usize;
    let is = |n: &usize| *n as u128 * (*n as u128 + 1) / 2 == count as u128;
    (near.saturating_sub(2)..near + 3).find(is)
}

#[cfg(test)]
mod tests {
    use super::*;
    use ndarray::{Array1, Array2, ArrayBase, Data, Dimension, ShapeBuilder as _};
    use ndarray_npy::WriteNpyExt as _;

    fn average<S: Data<Elem = f32>, D: Dimension>(array: &ArrayBase<S, D>, layout: Layout, side: usize) -> Heat {
        let file = tempfile::NamedTempFile::new().unwrap();
        array.write_npy(file.as_file()).unwrap();
        Matrix::open(file.path(), Some(layout)).unwrap().average(side, |_| {}).unwrap()
    }

    /// Means of the dense matrix by definition.
    fn expected(dense: &Array2<f32>, side: usize) -> Vec<f64> {
        let (rows, columns) = dense.dim();
        let (bands, parts) = (rows.min(side), columns.min(side));
        let mut cells = Vec::new();
        for band in 0..bands {
            for part in 0..parts {
                let entries: Vec<f64> = dense
                    .indexed_iter()
                    .filter(|((row, column), _)| {
                        band_range(band, bands, rows).contains(row) && band_range(part, parts, columns).contains(column)
                    })
                    .map(|(_, &entry)| f64::from(entry))
                    .collect();
                cells.push(entries.iter().sum::<f64>() / entries.len() as f64);
            }
        }
        cells
    }

    fn check(heat: &Heat, dense: &Array2<f32>, side: usize) {
        let means: Vec<f64> = heat.cells.iter().map(|cell| if let Cell::Mean(mean) = cell { *mean } else { f64::NAN }).collect();
        let expected = expected(dense, side);
        assert_eq!(means.len(), expected.len());
        assert!(means.iter().zip(&expected).all(|(a, b)| (a - b).abs() < 1e-9), "{means:?} {expected:?}");
        let (min, max) = dense.iter().fold((f32::INFINITY, f32::NEG_INFINITY), |(min, max), &e| (min.min(e), max.max(e)));
        assert_eq!((heat.entries.min, heat.entries.max), (f64::from(min), f64::from(max)));
    }

    #[test]
    fn means_by_definition() {
        for (rows, columns) in [(1, 1), (3, 7), (20, 11), (11, 20)] {
            let dense = Array2::from_shape_fn((rows, columns), |(i, j)| (i * 31 + j * 17) as f32 % 13.0 - 4.0);
            let mut fortran = Array2::zeros((rows, columns).f());
            fortran.assign(&dense);
            for side in [1, 2, 5, 100] {
                check(&average(&dense, Layout::Condensed, side), &dense, side);
                check(&average(&fortran, Layout::Condensed, side), &dense, side);
            }
        }
        // More than a chunk a band.
        let dense = Array2::from_shape_fn((700, 1001), |(i, j)| ((i * 31 + j * 17) % 13) as f32);
        check(&average(&dense, Layout::Condensed, 2), &dense, 2);
        for n in [1, 2, 3, 10, 33] {
            let entry = |i: usize, j: usize| (i.min(j) * 7 + i.max(j) * 3) as f32 % 11.0 + 1.0;
            let packed = Array2::from_shape_fn((n, n), |(i, j)| entry(i, j));
            let distances = Array2::from_shape_fn((n, n), |(i, j)| if i == j { 0.0 } else { entry(i, j) });
            let lower: Array1<f32> = (0..n).flat_map(|i| (0..=i).map(move |j| entry(i, j))).collect();
            let upper: Array1<f32> = (0..n).flat_map(|i| (i + 1..n).map(move |j| entry(i, j))).collect();
            for side in [1, 2, 4, 10, 100] {
                check(&average(&lower, Layout::Packed, side), &packed, side);
                if n > 1 {
                    check(&average(&upper, Layout::Condensed, side), &distances, side);
                }
            }
        }
    }

    #[test]
    fn infinite_and_nan() {
        let (inf, nan) = (f32::INFINITY, f32::NAN);
        let heat = average(&ndarray::arr2(&[[1.0, inf, 3.0], [-inf, 5.0, nan]]), Layout::Condensed, 10);
        let (mean, infinite, nan) = (Cell::Mean, Cell::Infinite, Cell::Nan);
        assert_eq!(heat.cells, [mean(1.0), infinite, mean(3.0), infinite, mean(5.0), nan]);
        assert_eq!(heat.entries, Stats { min: 1.0, max: 5.0, infinite: 2, nan: 1, negative_infinite: 1 });
    }

    #[test]
    fn triangles() {
        let found: Vec<usize> = (0..30).filter_map(triangle).collect();
        assert_eq!(found, [0, 1, 2, 3, 4, 5, 6, 7]);
        assert_eq!(triangle(79_999 * 40_000), Some(79_999));
        assert_eq!(triangle((1 << 31) * ((1 << 32) + 1)), Some(1 << 32));
    }
}
