//! Where the entries of blocks go.

use std::fmt::Display;
use std::ops::{Deref, Range};
use std::sync::{Mutex, PoisonError};

use bytemuck::Pod;
use rayon::prelude::*;

use super::{Block, Cells, Coverage, EngineError};
use crate::device::{Device, Stream, View};

/// What a matrix is made of.
pub trait Entry: Pod + PartialEq + Display + Send + Sync {}

impl<T: Pod + PartialEq + Display + Send + Sync> Entry for T {}

/// How a block's entries lie in its buffer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Order {
    /// Rows one after the other: `(row - rows.start) * width + (column - cols.start)`.
    RowMajor,
    /// Columns one after the other: `(column - cols.start) * height + (row - rows.start)`.
    ColumnMajor,
}

impl Order {
    /// The place of entry (`row`, `column`) of the matrix in the block's buffer. The entry must be one of the block's.
    pub fn index(self, block: &Block, row: usize, column: usize) -> usize {
        let (row, column) = (row - block.rows.start, column - block.cols.start);
        match self {
            Order::RowMajor => row * block.width() + column,
            Order::ColumnMajor => column * block.height() + row,
        }
    }
}

/// Puts blocks into an output, from many threads at once.
pub trait Writer<T>: Sync {
    /// How the entries of the blocks must lie.
    fn order(&self) -> Order;

    /// Which entries it takes from the blocks.
    fn coverage(&self) -> Coverage;

    /// The matrix's numbers of rows and columns.
    fn shape(&self) -> (usize, usize);

    /// Puts one block's entries in place. They lie in this writer's [`order`](Writer::order).
    ///
    /// Entries that a block must not compute have to be zero. The output is worthless after an error.
    ///
    /// # Errors
    /// - [`NotZero`](EngineError::NotZero) with the first such entry, row by row, that isn't zero. NaN is not; -0.0 is.
    /// - [`BlockOutside`](EngineError::BlockOutside), [`BlockLength`](EngineError::BlockLength) and, where another
    ///   thread is just writing some of the same entries, [`Overlap`](EngineError::Overlap).
    fn scatter(&self, block: &Block, entries: &[T]) -> Result<(), EngineError>;

    /// The devices whose memory the output is in: those of the engine, in its order. Then blocks are
    /// [placed](Writer::place) there, and never leave the device that computed them.
    fn devices(&self) -> &[Device] {
        &[]
    }

    /// Enqueues the way of a block's entries from one place in a device's memory to theirs in the output. The device is
    /// that of number `gpu`. Blocks of one `slot` are placed one after the other.
    ///
    /// # Errors
    /// What the device reports.
    fn place(&self, gpu: usize, slot: usize, stream: &Stream, block: &Block, entries: View<'_, T>) -> Result<(), EngineError>
    where
        T: Pod,
    {
        _ = (gpu, slot, stream, block, entries);
        Ok(())
    }

    /// Called when what [`place`](Writer::place) has enqueued is done, and before the slot is used again.
    ///
    /// # Errors
    /// What the device reports.
    fn placed(&self, gpu: usize, slot: usize, block: &Block, entries: View<'_, T>) -> Result<(), EngineError>
    where
        T: Pod,
    {
        _ = (gpu, slot, block, entries);
        Ok(())
    }
}

/// The length of a condensed matrix of n x n: n (n - 1) / 2.
pub fn condensed_len(n: usize) -> Result<usize, EngineError> {
    // One of the factors is even.
    let half = if n.is_multiple_of(2) { (n / 2).checked_mul(n.saturating_sub(1)) } else { n.checked_mul((n - 1) / 2) };
    addressable(half, n, n)
}

/// The length of a packed triangle of n x n: n (n + 1) / 2.
pub fn packed_len(n: usize) -> Result<usize, EngineError> {
    addressable(condensed_len(n)?.checked_add(n), n, n)
}

/// The length of a dense matrix: `rows` times `cols`.
pub fn dense_len(rows: usize, cols: usize) -> Result<usize, EngineError> {
    addressable(rows.checked_mul(cols), rows, cols)
}

/// No slice is longer than `isize::MAX`. Where a triangle fits that, n * (n - 1) fits a `usize`.
fn addressable(len: Option<usize>, rows: usize, columns: usize) -> Result<usize, EngineError> {
    len.filter(|&len| len <= isize::MAX as usize).ok_or(EngineError::TooLarge { rows, columns })
}

/// A condensed distance matrix, as SciPy's `squareform` reads it: of a symmetric matrix with a diagonal of zeros, the n
/// (n - 1) / 2 entries above the diagonal, row by row. The pair i < j is at n i - i (i + 1) / 2 + j - i - 1.
///
/// Blocks of the [`LowerTriangle`](Coverage::LowerTriangle) have the pair's larger index as their row. Their columns
/// are contiguous here, hence [`ColumnMajor`](Order::ColumnMajor).
#[derive(Debug)]
pub struct Condensed<'a, T>(Output<'a, T>);

impl<'a, T: Entry> Condensed<'a, T> {
    /// Writes a matrix of `n` x `n` to `output`.
    ///
    /// # Errors
    /// [`OutputLength`](EngineError::OutputLength) where `output` has not n (n - 1) / 2 elements.
    pub fn new(n: usize, output: &'a mut [T]) -> Result<Self, EngineError> {
        Output::new("condensed", (n, n), condensed_len(n)?, output).map(Condensed)
    }
}

impl<T: Entry> Writer<T> for Condensed<'_, T> {
    fn order(&self) -> Order {
        Order::ColumnMajor
    }

    fn coverage(&self) -> Coverage {
        Coverage::LowerTriangle
    }

    fn shape(&self) -> (usize, usize) {
        self.0.shape
    }

    fn scatter(&self, block: &Block, entries: &[T]) -> Result<(), EngineError> {
        let Some(cells) = self.0.open(block, entries)? else { return Ok(()) };
        let (n, rows, height) = (self.0.shape.0, &block.rows, block.height());
        let wrong = lines(entries, height).filter_map(|(k, line)| {
            let column = block.cols.start + k;
            // The diagonal is skipped, too.
            let (skipped, computed) = line.split_at((column + 1).clamp(rows.start, rows.end) - rows.start);
            if let Some(i) = first_nonzero(skipped) {
                return Some((rows.start + i, column));
            }
            if !computed.is_empty() {
                let at = n * column - column * (column + 1) / 2 + (rows.start + skipped.len()) - column - 1;
                // SAFETY: a pair has one place, no pair is twice in this block, and no other block with any of them is
                // open.
                copy(unsafe { cells.slice_mut(at..at + computed.len()) }, computed);
            }
            None
        });
        not_zero(self.order(), block, entries, wrong.min())
    }
}

/// A symmetric matrix's lower triangle with its diagonal, row by row, n (n + 1) / 2 entries: masspcf's
/// `SymmetricMatrix`. The pair i >= j is at i (i + 1) / 2 + j.
#[derive(Debug)]
pub struct Packed<'a, T>(Output<'a, T>);

impl<'a, T: Entry> Packed<'a, T> {
    /// Writes a matrix of `n` x `n` to `output`.
    ///
    /// # Errors
    /// [`OutputLength`](EngineError::OutputLength) where `output` has not n (n + 1) / 2 elements.
    pub fn new(n: usize, output: &'a mut [T]) -> Result<Self, EngineError> {
        Output::new("packed", (n, n), packed_len(n)?, output).map(Packed)
    }
}

impl<T: Entry> Writer<T> for Packed<'_, T> {
    fn order(&self) -> Order {
        Order::RowMajor
    }

    fn coverage(&self) -> Coverage {
        Coverage::LowerTriangle
    }

    fn shape(&self) -> (usize, usize) {
        self.0.shape
    }

    fn scatter(&self, block: &Block, entries: &[T]) -> Result<(), EngineError> {
        let Some(cells) = self.0.open(block, entries)? else { return Ok(()) };
        let (cols, width) = (&block.cols, block.width());
        let wrong = lines(entries, width).filter_map(|(k, line)| {
            let row = block.rows.start + k;
            let (computed, skipped) = line.split_at((row + 1).clamp(cols.start, cols.end) - cols.start);
            if let Some(i) = first_nonzero(skipped) {
                return Some((row, cols.start + computed.len() + i));
            }
            if !computed.is_empty() {
                let at = row * (row + 1) / 2 + cols.start;
                // SAFETY: a pair has one place, no pair is twice in this block, and no other block with any of them is
                // open.
                copy(unsafe { cells.slice_mut(at..at + computed.len()) }, computed);
            }
            None
        });
        not_zero(self.order(), block, entries, wrong.min())
    }
}

/// A symmetric matrix with all of its n x n entries, row by row, from blocks of the lower triangle: each entry is
/// written twice, as (row, column) and as (column, row).
#[derive(Debug)]
pub struct Symmetric<'a, T> {
    output: Output<'a, T>,
    diagonal: bool,
}

/// A tile's side in entries. A tile of doubles, 8 KiB, stays in the first-level cache while it is transposed, and its
/// rows are whole cache lines.
const TILE: usize = 32;

/// The side of a piece of work in entries: a block has enough of them for all threads, and one is not much work for the
/// scheduler.
const PIECE: usize = 8 * TILE;

impl<'a, T: Entry> Symmetric<'a, T> {
    /// Writes a matrix of `n` x `n` to `output`. With `diagonal`, blocks compute the matrix's diagonal; without, they
    /// leave it zero.
    ///
    /// # Errors
    /// [`OutputLength`](EngineError::OutputLength) where `output` has not n * n elements.
    pub fn new(n: usize, diagonal: bool, output: &'a mut [T]) -> Result<Self, EngineError> {
        let output = Output::new("symmetric", (n, n), dense_len(n, n)?, output)?;
        Ok(Symmetric { output, diagonal })
    }

    /// Writes the block's entries of `rows` x `cols`, at most a tile's side in rows; gives the first that should be
    /// zero and isn't.
    fn strip(&self, cells: &Cells<'_, T>, block: &Block, entries: &[T], part: Block) -> Option<(usize, usize)> {
        let n = self.output.shape.0;
        let Block { rows, cols } = part;
        let line = |row: usize, cols: Range<usize>| {
            let start = Order::RowMajor.index(block, row, cols.start);
            &entries[start..start + cols.len()]
        };
        for row in rows.clone() {
            let end = (row + 1).clamp(cols.start, cols.end);
            let computed = if self.diagonal { end } else { row.clamp(cols.start, cols.end) };
            if let Some(i) = first_nonzero(line(row, computed..cols.end)) {
                return Some((row, computed + i));
            }
            // SAFETY: entries on and below the diagonal, whose places are their own; no pair is twice in this block,
            // and no other block with any of them is open.
            let place = unsafe { cells.slice_mut(row * n + cols.start..row * n + end) };
            place[..computed - cols.start].copy_from_slice(line(row, cols.start..computed));
            place[computed - cols.start..].fill(T::zeroed());
        }
        let mut tile = [[T::zeroed(); TILE]; TILE];
        for first in cols.clone().step_by(TILE) {
            let cols = first..(first + TILE).min(cols.end);
            for (r, row) in rows.clone().enumerate().take(TILE) {
                for (column, &entry) in tile.iter_mut().zip(line(row, cols.clone())) {
                    column[r] = entry;
                }
            }
            for (c, column) in cols.enumerate() {
                // Those below the diagonal, of which the mirror images are above it.
                let start = (column + 1).clamp(rows.start, rows.end);
                if start < rows.end {
                    // SAFETY: entries above the diagonal, each of which is the image of one pair; no pair is twice in
                    // this block, and no other block with any of them is open.
                    let place = unsafe { cells.slice_mut(column * n + start..column * n + rows.end) };
                    place.copy_from_slice(&tile[c][start - rows.start..][..place.len()]);
                }
            }
        }
        None
    }
}

impl<T: Entry> Writer<T> for Symmetric<'_, T> {
    fn order(&self) -> Order {
        Order::RowMajor
    }

    fn coverage(&self) -> Coverage {
        Coverage::LowerTriangle
    }

    fn shape(&self) -> (usize, usize) {
        self.output.shape
    }

    fn scatter(&self, block: &Block, entries: &[T]) -> Result<(), EngineError> {
        let Some(cells) = self.output.open(block, entries)? else { return Ok(()) };
        let across = block.width().div_ceil(PIECE);
        let wrong = (0..block.height().div_ceil(PIECE) * across).into_par_iter().filter_map(|i| {
            let (rows, cols) = (band(&block.rows, PIECE, i / across), band(&block.cols, PIECE, i % across));
            let mut strips = (0..rows.len().div_ceil(TILE)).map(|i| Block { rows: band(&rows, TILE, i), cols: cols.clone() });
            strips.find_map(|strip| self.strip(&cells, block, entries, strip))
        });
        not_zero(self.order(), block, entries, wrong.min())
    }
}

/// A matrix with all of its entries, row by row.
#[derive(Debug)]
pub struct Dense<'a, T>(Output<'a, T>);

impl<'a, T: Entry> Dense<'a, T> {
    /// Writes a matrix of `rows` x `cols` to `output`.
    ///
    /// # Errors
    /// [`OutputLength`](EngineError::OutputLength) where `output` has not `rows * cols` elements.
    pub fn new(rows: usize, cols: usize, output: &'a mut [T]) -> Result<Self, EngineError> {
        Output::new("dense", (rows, cols), dense_len(rows, cols)?, output).map(Dense)
    }
}

impl<T: Entry> Writer<T> for Dense<'_, T> {
    fn order(&self) -> Order {
        Order::RowMajor
    }

    fn coverage(&self) -> Coverage {
        Coverage::Full
    }

    fn shape(&self) -> (usize, usize) {
        self.0.shape
    }

    fn scatter(&self, block: &Block, entries: &[T]) -> Result<(), EngineError> {
        let Some(cells) = self.0.open(block, entries)? else { return Ok(()) };
        lines(entries, block.width()).for_each(|(k, line)| {
            let at = (block.rows.start + k) * self.0.shape.1 + block.cols.start;
            // SAFETY: an entry has one place, none is twice in this block, and no other block with any of them is open.
            copy(unsafe { cells.slice_mut(at..at + line.len()) }, line);
        });
        Ok(())
    }
}

/// An output, and the blocks that are being written to it.
#[derive(Debug)]
struct Output<'a, T> {
    cells: Cells<'a, T>,
    shape: (usize, usize),
    open: Mutex<Vec<Block>>,
}

impl<'a, T> Output<'a, T> {
    fn new(layout: &'static str, shape: (usize, usize), expected: usize, output: &'a mut [T]) -> Result<Self, EngineError> {
        if output.len() != expected {
            let (rows, columns) = shape;
            return Err(EngineError::OutputLength { layout, rows, columns, expected, found: output.len() });
        }
        Ok(Output { cells: Cells::new(output), shape, open: Mutex::new(Vec::new()) })
    }

    /// The output for this block, which until the result is dropped nobody else can open any of the block's entries of.
    /// None for a block without entries.
    fn open(&self, block: &Block, entries: &[T]) -> Result<Option<Open<'_, 'a, T>>, EngineError> {
        block.check(self.shape, entries.len())?;
        if entries.is_empty() {
            return Ok(None);
        }
        // Nothing panics while it is locked.
        let mut open = self.open.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(other) = open.iter().find(|other| other.overlaps(block)) {
            return Err(EngineError::Overlap { block: block.clone(), other: other.clone() });
        }
        open.push(block.clone());
        Ok(Some(Open { output: self, block: block.clone() }))
    }
}

/// An output that is open for one block.
struct Open<'o, 'a, T> {
    output: &'o Output<'a, T>,
    block: Block,
}

impl<'a, T> Deref for Open<'_, 'a, T> {
    type Target = Cells<'a, T>;

    fn deref(&self) -> &Self::Target {
        &self.output.cells
    }
}

impl<T> Drop for Open<'_, '_, T> {
    fn drop(&mut self) {
        let mut open = self.output.open.lock().unwrap_or_else(PoisonError::into_inner);
        open.retain(|block| *block != self.block);
    }
}

/// The `i`th of a range's bands of length `side`. It must exist.
fn band(range: &Range<usize>, side: usize, i: usize) -> Range<usize> {
    let start = range.start + i * side;
    start..(start + side).min(range.end)
}

/// How many bytes are worth a task of their own.
const TASK_BYTES: usize = 256 << 10;

/// A block's lines with their numbers, of `len` entries each.
fn lines<T: Entry>(entries: &[T], len: usize) -> impl IndexedParallelIterator<Item = (usize, &[T])> {
    let least = (TASK_BYTES / (len * size_of::<T>()).max(1)).max(1);
    entries.par_chunks_exact(len).enumerate().with_min_len(least)
}

/// Copies a line, in parallel where it is long.
fn copy<T: Entry>(to: &mut [T], from: &[T]) {
    let piece = TASK_BYTES / size_of::<T>().max(1);
    if from.len() <= 4 * piece {
        to.copy_from_slice(from);
    } else {
        to.par_chunks_mut(piece).zip(from.par_chunks(piece)).for_each(|(to, from)| to.copy_from_slice(from));
    }
}

/// The index of the first element that isn't zero.
fn first_nonzero<T: Entry>(values: &[T]) -> Option<usize> {
    let zero = T::zeroed();
    // Without an early end this is done with vectors.
    let clean = |piece: &[T]| piece.iter().fold(true, |clean, value| clean & (*value == zero));
    values.chunks(512).enumerate().find(|(_, piece)| !clean(piece)).and_then(|(i, piece)| {
        let within = piece.iter().position(|value| *value != zero)?;
        Some(i * 512 + within)
    })
}

/// The error for an entry that should be zero, where there is one.
fn not_zero<T: Entry>(order: Order, block: &Block, entries: &[T], wrong: Option<(usize, usize)>) -> Result<(), EngineError> {
    let Some((row, column)) = wrong else { return Ok(()) };
    let value = entries[order.index(block, row, column)].to_string();
    Err(EngineError::NotZero { row, column, value })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn block(rows: Range<usize>, cols: Range<usize>) -> Block {
        Block { rows, cols }
    }

    #[test]
    fn lengths() {
        for n in 0..20 {
            let pairs = (0..n).flat_map(|i| (0..i).map(move |j| (i, j))).count();
            assert_eq!((condensed_len(n), packed_len(n)), (Ok(pairs), Ok(pairs + n)));
        }
        assert_eq!(dense_len(3, 4), Ok(12));
        // The first triangle beyond isize::MAX elements, and beyond usize::MAX.
        assert_eq!(condensed_len(1 << 32), Ok((1 << 63) - (1 << 31)));
        let n = (1 << 32) + 1;
        assert_eq!(condensed_len(n), Err(EngineError::TooLarge { rows: n, columns: n }));
        assert_eq!(packed_len(1 << 32), Err(EngineError::TooLarge { rows: 1 << 32, columns: 1 << 32 }));
        assert!(condensed_len(usize::MAX).is_err() && packed_len(usize::MAX).is_err());
        let error = dense_len(1 << 40, 1 << 23).unwrap_err();
        assert_eq!(error.to_string(), "a matrix of 1099511627776 x 8388608 entries is larger than any memory");
    }

    #[test]
    fn places_in_a_block() {
        let block = block(10..13, 5..7);
        let places = |order: Order| [(10, 5), (10, 6), (11, 5), (12, 6)].map(|(r, c)| order.index(&block, r, c));
        assert_eq!(places(Order::RowMajor), [0, 1, 2, 5]);
        assert_eq!(places(Order::ColumnMajor), [0, 3, 1, 5]);
    }

    /// `scipy.spatial.distance.squareform` of [[0, 1, 2, 3], [1, 0, 4, 5], [2, 4, 0, 6], [3, 5, 6, 0]] is [1, 2, 3, 4,
    /// 5, 6].
    #[test]
    fn condensed() {
        let mut output = [0u32; 6];
        let writer = Condensed::new(4, &mut output).unwrap();
        writer.scatter(&block(0..2, 0..2), &[0, 1, 0, 0]).unwrap();
        writer.scatter(&block(2..4, 0..2), &[2, 3, 4, 5]).unwrap();
        writer.scatter(&block(2..4, 2..4), &[0, 6, 0, 0]).unwrap();
        assert_eq!(output, [1, 2, 3, 4, 5, 6]);
    }

    #[test]
    fn packed() {
        let mut output = [0u32; 6];
        let writer = Packed::new(3, &mut output).unwrap();
        writer.scatter(&block(2..3, 0..2), &[4, 5]).unwrap();
        writer.scatter(&block(0..2, 0..2), &[1, 0, 2, 3]).unwrap();
        writer.scatter(&block(2..3, 2..3), &[6]).unwrap();
        assert_eq!(output, [1, 2, 3, 4, 5, 6]);
    }

    #[test]
    fn symmetric() {
        let mut output = [9u32; 9];
        let writer = Symmetric::new(3, false, &mut output).unwrap();
        writer.scatter(&block(2..3, 0..2), &[2, 3]).unwrap();
        writer.scatter(&block(0..2, 0..2), &[0, 0, 1, 0]).unwrap();
        writer.scatter(&block(2..3, 2..3), &[0]).unwrap();
        assert_eq!(output, [0, 1, 2, 1, 0, 3, 2, 3, 0]);

        let writer = Symmetric::new(3, true, &mut output).unwrap();
        writer.scatter(&block(0..3, 0..3), &[4, 0, 0, 1, 5, 0, 2, 3, 6]).unwrap();
        assert_eq!(output, [4, 1, 2, 1, 5, 3, 2, 3, 6]);
    }

    #[test]
    fn dense() {
        let mut output = [0u32; 6];
        let writer = Dense::new(2, 3, &mut output).unwrap();
        writer.scatter(&block(0..2, 2..3), &[3, 6]).unwrap();
        writer.scatter(&block(0..2, 0..2), &[1, 2, 4, 5]).unwrap();
        assert_eq!(output, [1, 2, 3, 4, 5, 6]);
    }

    #[test]
    fn blocks_that_are_none_of_the_matrix() {
        let mut output = [0f32; 12];
        let writer = Dense::new(3, 4, &mut output).unwrap();
        let error = |block: &Block, len| writer.scatter(block, &vec![0.0; len]).unwrap_err();
        #[expect(clippy::reversed_empty_ranges, reason = "it is what is refused")]
        for bad in [block(0..4, 0..1), block(0..1, 4..5), block(2..1, 0..1), block(usize::MAX - 1..usize::MAX, 0..1)] {
            assert_eq!(error(&bad, 4), EngineError::BlockOutside { block: bad, rows: 3, columns: 4 });
        }
        let text = error(&block(0..2, 1..4), 5).to_string();
        assert_eq!(text, "the block of rows 0..2 and columns 1..4 has 6 entries, but 5 were given");
        writer.scatter(&block(3..3, 0..4), &[]).unwrap();
    }

    #[test]
    fn an_entry_is_in_one_hand_at_a_time() {
        let mut output = [0f32; 16];
        let writer = Dense::new(4, 4, &mut output).unwrap();
        let first = block(0..2, 0..3);
        let open = writer.0.open(&first, &[0.0; 6]).unwrap();
        let second = block(1..3, 2..4);
        let error = writer.scatter(&second, &[1.0; 4]).unwrap_err();
        assert_eq!(error, EngineError::Overlap { block: second.clone(), other: first });
        writer.scatter(&block(2..4, 0..4), &[2.0; 8]).unwrap();
        drop(open);
        writer.scatter(&second, &[1.0; 4]).unwrap();
        assert!(writer.0.open.lock().unwrap().is_empty());
        assert_eq!(output[8..], [2.0, 2.0, 1.0, 1.0, 2.0, 2.0, 2.0, 2.0]);
    }

    #[test]
    fn zeros_are_told_from_others() {
        for len in [0, 1, 511, 512, 513, 2000] {
            let mut values = vec![-0.0f64; len];
            assert_eq!(first_nonzero(&values), None);
            for at in (0..len).step_by(97) {
                values[at] = f64::NAN;
                assert_eq!(first_nonzero(&values), Some(at));
                values[at..].fill(1.0);
                assert_eq!(first_nonzero(&values), Some(at));
                values.fill(0.0);
            }
        }
    }
}
