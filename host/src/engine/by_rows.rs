//! What is kept of the rows of a matrix that isn't stored: their smallest entries, those below a bound, their sums.

use std::cmp::Ordering;
use std::ops::Range;
use std::sync::{
    Mutex, PoisonError,
    atomic::{AtomicUsize, Ordering::Relaxed},
};

use rayon::prelude::*;

use super::{Block, Coverage, EngineError, Entry, Order, Writer, dense_len};
use crate::device::memory::memory;

/// How many rows share a lock: as many as a tile has, so that a stripe of a block's columns is transposed under one.
const STRIPE: usize = 64;

/// What is kept of a row's entries. The result must not depend on the order in which they come.
pub trait RowReducer<T>: Sync {
    /// What there is of a row.
    type Row: Default + Send;

    /// Takes a row's entries in the columns from `first` on, and says by how many bytes the row grew.
    fn take(&self, row: &mut Self::Row, first: usize, entries: &[T]) -> usize;
}

/// Reduces the rows of a matrix as its blocks are computed, so that it is never there as a whole. Each entry of a
/// triangle counts for its row and, but for those on the diagonal, for the row that it is mirrored to.
#[derive(Debug)]
pub struct ByRows<T, R: RowReducer<T>> {
    reducer: R,
    shape: (usize, usize),
    coverage: Coverage,
    /// Whether entries on the diagonal of a triangle count.
    diagonal: bool,
    stripes: Vec<Mutex<Vec<R::Row>>>,
    /// The bytes that all rows have grown by, and the most that they may.
    kept: AtomicUsize,
    most: usize,
}

impl<T: Entry, R: RowReducer<T>> ByRows<T, R> {
    /// Of a symmetric matrix of `n` x `n`. Without `diagonal`, no entry is of a row and of the column of the same number.
    ///
    /// # Errors
    /// [`TooLarge`](EngineError::TooLarge), and [`OutOfMemory`](EngineError::OutOfMemory) where rows without entries
    /// already take too much.
    pub fn symmetric(n: usize, diagonal: bool, reducer: R) -> Result<Self, EngineError> {
        Self::new((n, n), Coverage::LowerTriangle, diagonal, reducer)
    }

    /// Of a matrix of `rows` x `cols`.
    ///
    /// # Errors
    /// As [`symmetric`](Self::symmetric).
    pub fn full(rows: usize, cols: usize, reducer: R) -> Result<Self, EngineError> {
        Self::new((rows, cols), Coverage::Full, true, reducer)
    }

    fn new(shape: (usize, usize), coverage: Coverage, diagonal: bool, reducer: R) -> Result<Self, EngineError> {
        let (rows, cols) = shape;
        dense_len(rows, cols)?;
        let most = memory().free / 2;
        let requested = rows.saturating_mul(size_of::<R::Row>());
        if requested > most {
            return Err(EngineError::OutOfMemory { requested });
        }
        let stripe = |start: usize| Mutex::new((start..rows.min(start + STRIPE)).map(|_| R::Row::default()).collect());
        let stripes = (0..rows).step_by(STRIPE).map(stripe).collect();
        Ok(ByRows { reducer, shape, coverage, diagonal, stripes, kept: AtomicUsize::new(0), most })
    }

    /// What is kept of each row.
    pub fn into_rows(self) -> impl Iterator<Item = R::Row> {
        self.stripes.into_iter().flat_map(|stripe| stripe.into_inner().unwrap_or_else(PoisonError::into_inner))
    }

    /// Lets `act` take entries for the rows of one stripe, as far as they are among `rows`.
    fn stripe(&self, stripe: usize, rows: &Range<usize>, mut act: impl FnMut(usize, &mut R::Row) -> usize) {
        let start = stripe * STRIPE;
        let mut kept = self.stripes[stripe].lock().unwrap_or_else(PoisonError::into_inner);
        let grown: usize =
            kept.iter_mut().enumerate().filter(|(i, _)| rows.contains(&(start + i))).map(|(i, row)| act(start + i, row)).sum();
        if grown > 0 {
            self.kept.fetch_add(grown, Relaxed);
        }
    }

    /// Gives the entries of a block to their rows.
    fn straight(&self, stripe: usize, block: &Block, entries: &[T]) {
        let Block { rows, cols } = block;
        self.stripe(stripe, rows, |row, kept| {
            let end = match self.coverage {
                Coverage::Full => cols.end,
                Coverage::LowerTriangle => (row + usize::from(self.diagonal)).clamp(cols.start, cols.end),
            };
            let start = Order::RowMajor.index(block, row, cols.start);
            self.reducer.take(kept, cols.start, &entries[start..start + end - cols.start])
        });
    }

    /// Gives the entries of a block below the diagonal to the rows that they are mirrored to.
    fn mirrored(&self, stripe: usize, block: &Block, entries: &[T]) {
        let Block { rows, cols } = block;
        let within = cols.start.max(stripe * STRIPE)..cols.end.min((stripe + 1) * STRIPE);
        let mut tile = [[T::zeroed(); STRIPE]; STRIPE];
        for first in rows.clone().step_by(STRIPE) {
            let rows = first..rows.end.min(first + STRIPE);
            for (r, row) in rows.clone().enumerate() {
                let start = Order::RowMajor.index(block, row, within.start);
                for (column, &entry) in tile.iter_mut().zip(&entries[start..start + within.len()]) {
                    column[r] = entry;
                }
            }
            self.stripe(stripe, &within, |column, kept| {
                let below = (column + 1).clamp(rows.start, rows.end);
                let line = &tile[column - within.start][below - rows.start..rows.len()];
                self.reducer.take(kept, below, line)
            });
        }
    }
}

impl<T: Entry, R: RowReducer<T>> Writer<T> for ByRows<T, R> {
    fn order(&self) -> Order {
        Order::RowMajor
    }

    fn coverage(&self) -> Coverage {
        self.coverage
    }

    fn shape(&self) -> (usize, usize) {
        self.shape
    }

    fn scatter(&self, block: &Block, entries: &[T]) -> Result<(), EngineError> {
        block.check(self.shape, entries.len())?;
        let stripes = |range: &Range<usize>| range.start / STRIPE..range.end.div_ceil(STRIPE);
        if !entries.is_empty() {
            stripes(&block.rows).into_par_iter().for_each(|stripe| self.straight(stripe, block, entries));
            if self.coverage == Coverage::LowerTriangle {
                stripes(&block.cols).into_par_iter().for_each(|stripe| self.mirrored(stripe, block, entries));
            }
        }
        let requested = self.kept.load(Relaxed);
        if requested > self.most { Err(EngineError::OutOfMemory { requested }) } else { Ok(()) }
    }
}

/// An entry and its column.
type Found<T> = (T, usize);

/// Keeps the smallest entries of each row, in ascending order; of equal ones those in the first columns. NaN comes last.
#[derive(Clone, Copy, Debug)]
pub struct Smallest {
    /// How many.
    pub count: usize,
}

impl Smallest {
    fn compare<T: Copy + Into<f64>>(a: &Found<T>, b: &Found<T>) -> Ordering {
        let (x, y): (f64, f64) = (a.0.into(), b.0.into());
        // Numbers before NaN, which compares with nothing.
        x.partial_cmp(&y).unwrap_or_else(|| x.is_nan().cmp(&y.is_nan())).then(a.1.cmp(&b.1))
    }
}

impl<T: Entry + PartialOrd + Into<f64>> RowReducer<T> for Smallest {
    type Row = Vec<Found<T>>;

    fn take(&self, row: &mut Self::Row, first: usize, entries: &[T]) -> usize {
        let before = row.capacity();
        for (i, piece) in entries.chunks(STRIPE).enumerate() {
            if let Some(&(most, _)) = row.get(self.count.wrapping_sub(1))
                && piece.iter().fold(true, |all, entry| all & (*entry > most))
            {
                continue;
            }
            for (j, &entry) in piece.iter().enumerate() {
                let found = (entry, first + i * STRIPE + j);
                let at = row.partition_point(|other| Self::compare(other, &found).is_lt());
                if at < self.count {
                    row.truncate(self.count - 1);
                    row.insert(at, found);
                }
            }
        }
        (row.capacity() - before) * size_of::<Found<T>>()
    }
}

/// Keeps the entries of each row that are less than a bound, with their columns, in no order.
#[derive(Clone, Copy, Debug)]
pub struct Below<T> {
    /// The bound.
    pub bound: T,
}

impl<T: Entry + PartialOrd> RowReducer<T> for Below<T> {
    type Row = Vec<Found<T>>;

    fn take(&self, row: &mut Self::Row, first: usize, entries: &[T]) -> usize {
        let before = row.capacity();
        for (i, piece) in entries.chunks(STRIPE).enumerate() {
            if piece.iter().fold(false, |any, entry| any | (*entry < self.bound)) {
                let found = piece.iter().zip(first + i * STRIPE..).filter(|(entry, _)| **entry < self.bound);
                row.extend(found.map(|(&entry, column)| (entry, column)));
            }
        }
        (row.capacity() - before) * size_of::<Found<T>>()
    }
}

/// Sums each row's entries in fixed point, so that the order of the terms has no influence.
#[derive(Clone, Copy, Debug)]
pub struct Sums {
    /// By what entries are multiplied before they are rounded to whole numbers: a power of two.
    scale: f64,
}

/// The sum of a row's entries in units of the [`Sums`]' scale, and that of those that are not finite.
#[derive(Clone, Copy, Debug, Default)]
pub struct RowSum {
    units: i128,
    infinite: f64,
}

impl Sums {
    /// Bits that an entry has in fixed point.
    const BITS: i32 = 50;

    /// The least bound whose scale is a number.
    const LEAST: f64 = 1.0 / (1u128 << 100) as f64;

    /// For entries whose magnitude is at most `bound` where they are finite. Each is rounded by at most 2^-50 of the
    /// bound, or of 2^-100 where that is larger.
    pub fn up_to(bound: f64) -> Self {
        // A power of two that is at least the bound: no entry exceeds 2^50 units.
        let exponent = bound.clamp(Self::LEAST, f64::MAX).log2().ceil() as i32;
        Sums { scale: 2f64.powi(Self::BITS - exponent) }
    }

    /// The sum of a row.
    pub fn value(&self, row: &RowSum) -> f64 {
        row.units as f64 / self.scale + row.infinite
    }
}

impl<T: Entry + Into<f64>> RowReducer<T> for Sums {
    type Row = RowSum;

    fn take(&self, row: &mut RowSum, _first: usize, entries: &[T]) -> usize {
        // So many terms of 50 bits can't be too much for 64.
        for piece in entries.chunks(4096) {
            let (units, finite) = piece.iter().fold((0i64, true), |(units, finite), &entry| {
                let entry: f64 = entry.into();
                // What is not finite is rounded to anything; the sum is not used then.
                (units.wrapping_add((entry * self.scale).round_ties_even() as i64), finite & entry.is_finite())
            });
            if finite {
                row.units += i128::from(units);
                continue;
            }
            for &entry in piece {
                let entry: f64 = entry.into();
                if entry.is_finite() {
                    row.units += i128::from((entry * self.scale).round_ties_even() as i64);
                } else {
                    row.infinite += entry;
                }
            }
        }
        0
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::BlockScheduler;

    /// An entry of a symmetric matrix, some of them equal.
    fn entry(row: usize, column: usize) -> f64 {
        let (a, b) = (row.min(column), row.max(column));
        ((a * 31 + b * 17) % 29) as f64 / 4.0
    }

    /// Gives a writer its blocks of this side, the last ones first if `backwards`.
    fn fill<R: RowReducer<f64>>(writer: &ByRows<f64, R>, side: usize, backwards: bool) {
        let (rows, cols) = writer.shape();
        let mut blocks = BlockScheduler::new(writer.coverage(), rows, cols, side).unwrap().blocks().to_vec();
        if backwards {
            blocks.reverse();
        }
        for block in blocks {
            let computed = |(row, column): (usize, usize)| match writer.coverage() {
                Coverage::LowerTriangle if column > row || (column == row && !writer.diagonal) => 0.0,
                _ => entry(row, column),
            };
            let entries: Vec<_> =
                block.rows.clone().flat_map(|row| block.cols.clone().map(move |column| (row, column))).map(computed).collect();
            writer.scatter(&block, &entries).unwrap();
        }
    }

    /// The entries of a row as [`ByRows`] is to see them.
    fn row(row: usize, columns: usize, skipped: Option<usize>) -> Vec<(f64, usize)> {
        (0..columns).filter(|&column| Some(column) != skipped).map(|column| (entry(row, column), column)).collect()
    }

    #[test]
    fn rows_are_reduced_whatever_the_blocks() {
        for (rows, cols, triangle, diagonal) in [
            (1, 1, true, false),
            (1, 1, true, true),
            (70, 70, true, false),
            (130, 130, true, true),
            (3, 200, false, true),
            (200, 3, false, true),
        ] {
            for (side, backwards) in [(1000, false), (64, true), (37, false), (17, true)] {
                let expected = |i| row(i, cols, (triangle && !diagonal).then_some(i));
                macro_rules! reduced {
                    ($reducer:expr) => {{
                        let reducer = $reducer;
                        let writer = if triangle {
                            ByRows::<f64, _>::symmetric(rows, diagonal, reducer).unwrap()
                        } else {
                            ByRows::full(rows, cols, reducer).unwrap()
                        };
                        fill(&writer, side, backwards);
                        writer.into_rows()
                    }};
                }
                for (i, smallest) in reduced!(Smallest { count: 5 }).enumerate() {
                    let mut expected = expected(i);
                    expected.sort_by(|a, b| a.partial_cmp(b).unwrap());
                    expected.truncate(5);
                    assert_eq!(smallest, expected, "row {i} of {rows} x {cols} in blocks of {side}");
                }
                for (i, mut below) in reduced!(Below { bound: 1.5 }).enumerate() {
                    below.sort_by_key(|&(_, column)| column);
                    let expected: Vec<_> = expected(i).into_iter().filter(|&(entry, _)| entry < 1.5).collect();
                    assert_eq!(below, expected, "row {i} of {rows} x {cols} in blocks of {side}");
                }
                let sums = Sums::up_to(7.0);
                for (i, sum) in reduced!(sums).enumerate() {
                    // Quarters have no rounding.
                    let expected: f64 = expected(i).iter().map(|(entry, _)| entry).sum();
                    assert_eq!(sums.value(&sum), expected, "row {i} of {rows} x {cols} in blocks of {side}");
                }
            }
        }
    }

    #[test]
    fn entries_that_are_not_finite() {
        let mut smallest = Vec::new();
        let entries = [f64::NAN, f64::INFINITY, 1.0, -f64::NAN, 1.0];
        assert!(Smallest { count: 4 }.take(&mut smallest, 10, &entries) > 0);
        assert_eq!(smallest.iter().map(|found| found.1).collect::<Vec<_>>(), [12, 14, 11, 10]);

        let sums = Sums::up_to(4.0);
        let sum = |entries: &[f64]| {
            let mut row = RowSum::default();
            sums.take(&mut row, 0, entries);
            sums.value(&row)
        };
        assert_eq!((sum(&[1.0, 2.5]), sum(&[1.0, f64::INFINITY, 2.5])), (3.5, f64::INFINITY));
        assert!(sum(&[f64::INFINITY, f64::NEG_INFINITY]).is_nan());
        assert_eq!(sum(&[4.0; 10_000]), 40_000.0);
    }

    #[test]
    fn scales_of_sums() {
        for bound in [0.0, f64::MIN_POSITIVE, 1e-300, 1.0, 3.0, 1e300, f64::MAX, f64::INFINITY] {
            let sums = Sums::up_to(bound);
            assert!(sums.scale.is_finite() && sums.scale > 0.0);
            let entry = bound.min(1e308);
            let mut row = RowSum::default();
            sums.take(&mut row, 0, &[entry, entry / 3.0, -entry / 3.0]);
            assert!((sums.value(&row) - entry).abs() <= entry.max(Sums::LEAST) * 2f64.powi(-49), "{bound}");
        }
    }

    #[test]
    fn blocks_that_are_not_of_the_matrix() {
        let writer = ByRows::<f64, _>::full(2, 3, Smallest { count: 1 }).unwrap();
        assert!(matches!(writer.scatter(&Block { rows: 0..3, cols: 0..1 }, &[0.0; 3]), Err(EngineError::BlockOutside { .. })));
        assert!(matches!(writer.scatter(&Block { rows: 0..2, cols: 0..1 }, &[0.0; 3]), Err(EngineError::BlockLength { .. })));
    }

    #[test]
    fn memory_is_bounded() {
        let mut writer = ByRows::<f64, _>::full(2, 4096, Below { bound: 1.0 }).unwrap();
        writer.most = 100_000;
        let scatter = |start: usize| writer.scatter(&Block { rows: 0..2, cols: start..start + 2048 }, &[0.0; 4096]);
        assert_eq!(scatter(0), Ok(()));
        assert!(matches!(scatter(2048), Err(EngineError::OutOfMemory { requested }) if requested > 100_000));
    }
}
