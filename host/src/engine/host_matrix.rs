//! Matrices in the host's memory, or in files that are mapped into it: blocks in, entries in their places out.

use std::marker::PhantomData;
use std::ops::{Deref, Range};
use std::ptr::NonNull;
use std::slice;
use std::sync::{Mutex, PoisonError};

use rayon::prelude::*;

use super::{Block, Coverage, EngineError, Entry, Layout, Order, Writer, op::check_block};

/// A tile's side in entries. A tile of doubles, 8 KiB, stays in the first-level cache while it is transposed, and its
/// rows are whole cache lines.
const TILE: usize = 32;

/// Side of a task in entries: small enough that a block has tasks for all threads, and large enough
/// that the scheduler's work doesn't show.
const PIECE: usize = 8 * TILE;

/// A slice whose disjoint parts are written by several threads at the same time.
#[derive(Debug)]
struct Cells<'a, T> {
    first: NonNull<T>,
    len: usize,
    slice: PhantomData<&'a mut [T]>,
}

// SAFETY: it is a `&mut [T]`, which may go to another thread if `T` may.
unsafe impl<T: Send> Send for Cells<'_, T> {}

// SAFETY: all that a shared one gives is `&mut [T]`, never to the same element twice at a time, as
// `slice_mut` demands. One thread at a time has an element, so `T: Send` suffices.
unsafe impl<T: Send> Sync for Cells<'_, T> {}

impl<'a, T> Cells<'a, T> {
    fn new(slice: &'a mut [T]) -> Self {
        Cells { len: slice.len(), first: NonNull::from(slice).cast(), slice: PhantomData }
    }

    /// A part of the slice. Panics if `range` reaches beyond it.
    ///
    /// # Safety
    /// While the part is in use, no other part that shares elements with it is.
    #[expect(clippy::mut_from_ref, reason = "disjoint parts are what it is for")]
    unsafe fn slice_mut(&self, range: Range<usize>) -> &mut [T] {
        assert!(range.start <= range.end && range.end <= self.len, "{range:?} is not within 0..{}", self.len);
        // SAFETY: the range lies within the slice, which is borrowed mutably for 'a, and the caller sees to it that
        // nobody else uses these elements.
        unsafe { slice::from_raw_parts_mut(self.first.add(range.start).as_ptr(), range.len()) }
    }
}

/// A matrix in a slice, which blocks are written to.
#[derive(Debug)]
pub struct HostMatrix<'a, T> {
    layout: Layout,
    coverage: Coverage,
    /// True if blocks compute the diagonal of a symmetric matrix.
    diagonal: bool,
    shape: (usize, usize),
    cells: Cells<'a, T>,
    /// The blocks that are being written.
    open: Mutex<Vec<Block>>,
}

impl<'a, T: Entry> HostMatrix<'a, T> {
    /// A symmetric matrix of `n` x `n`, whose blocks compute the lower triangle. A dense layout
    /// gets each entry twice, as (row, column) and as (column, row). With `diagonal`, blocks
    /// compute the diagonal; otherwise they leave it zero. A condensed layout has no diagonal.
    ///
    /// # Errors
    /// [`OutputLength`](EngineError::OutputLength) if `output` isn't as long as the layout says.
    pub fn symmetric(layout: Layout, n: usize, diagonal: bool, output: &'a mut [T]) -> Result<Self, EngineError> {
        let diagonal = diagonal && layout != Layout::Condensed;
        Self::new(layout, Coverage::LowerTriangle, diagonal, (n, n), output)
    }

    /// A dense matrix of `rows` x `cols`, whose blocks compute all entries.
    pub fn full(rows: usize, cols: usize, output: &'a mut [T]) -> Result<Self, EngineError> {
        Self::new(Layout::Dense, Coverage::Full, true, (rows, cols), output)
    }

    fn new(
        layout: Layout,
        coverage: Coverage,
        diagonal: bool,
        shape: (usize, usize),
        output: &'a mut [T],
    ) -> Result<Self, EngineError> {
        layout.check_len(coverage, shape, output.len())?;
        Ok(HostMatrix { layout, coverage, diagonal, shape, cells: Cells::new(output), open: Mutex::default() })
    }

    /// The output for this block. Until the result is dropped, nobody else can open any of the block's entries.
    /// `None` for a block without entries.
    fn open(&self, block: &Block, entries: &[T]) -> Result<Option<Open<'_, 'a, T>>, EngineError> {
        check_block(block, self.shape, entries.len())?;
        if entries.is_empty() {
            return Ok(None);
        }
        // Nothing panics while it is locked.
        let mut open = self.open.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(other) = open.iter().find(|other| other.overlaps(block)) {
            return Err(EngineError::Overlap { block: block.clone(), other: other.clone() });
        }
        open.push(block.clone());
        Ok(Some(Open { matrix: self, block: block.clone() }))
    }

    /// Writes what a block has of one column below the diagonal. Returns the first entry that should be zero and isn't.
    fn condensed_column(&self, cells: &Cells<'_, T>, column: usize, rows: &Range<usize>, line: &[T]) -> Option<(usize, usize)> {
        // The diagonal is skipped, too.
        let (skipped, computed) = line.split_at((column + 1).clamp(rows.start, rows.end) - rows.start);
        if let Some(i) = first_nonzero(skipped) {
            return Some((rows.start + i, column));
        }
        if !computed.is_empty() {
            let at = self.shape.0 * column - column * (column + 1) / 2 + (rows.start + skipped.len()) - column - 1;
            // SAFETY: a pair has one place, no pair is twice in this block, and no other block with any of them is open.
            copy(unsafe { cells.slice_mut(at..at + computed.len()) }, computed);
        }
        None
    }

    /// Writes what a block has of one row on and below the diagonal. Returns the first entry that should be zero and
    /// isn't.
    fn lower_row(&self, cells: &Cells<'_, T>, row: usize, cols: &Range<usize>, line: &[T]) -> Option<(usize, usize)> {
        let stored = (row + 1).clamp(cols.start, cols.end) - cols.start;
        let computed = if self.diagonal { stored } else { row.clamp(cols.start, cols.end) - cols.start };
        if let Some(i) = first_nonzero(&line[computed..]) {
            return Some((row, cols.start + computed + i));
        }
        if stored > 0 {
            let first = if self.layout == Layout::Packed { row * (row + 1) / 2 } else { row * self.shape.1 };
            let at = first + cols.start;
            // SAFETY: entries on and below the diagonal, whose places are their own; no pair is twice in this block,
            // and no other block with any of them is open.
            let place = unsafe { cells.slice_mut(at..at + stored) };
            copy(&mut place[..computed], &line[..computed]);
            place[computed..].fill(T::zeroed());
        }
        None
    }

    /// Writes the block's entries of `part`, at most a tile's side in rows, and their mirror images above the diagonal.
    /// Returns the first entry that should be zero and isn't.
    fn strip(&self, cells: &Cells<'_, T>, block: &Block, entries: &[T], part: Block) -> Option<(usize, usize)> {
        let n = self.shape.0;
        let Block { rows, cols } = part;
        let line = |row: usize, cols: Range<usize>| {
            let start = Order::RowMajor.index(block, row, cols.start);
            &entries[start..start + cols.len()]
        };
        if let Some(wrong) = rows.clone().find_map(|row| self.lower_row(cells, row, &cols, line(row, cols.clone()))) {
            return Some(wrong);
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
                // Entries below the diagonal: their mirror images are above it.
                let start = (column + 1).clamp(rows.start, rows.end);
                if start < rows.end {
                    // SAFETY: entries above the diagonal, each the image of one pair; no pair is
                    // twice in this block, and no other block with any of them is open.
                    let place = unsafe { cells.slice_mut(column * n + start..column * n + rows.end) };
                    place.copy_from_slice(&tile[c][start - rows.start..][..place.len()]);
                }
            }
        }
        None
    }
}

impl<T: Entry> Writer<T> for HostMatrix<'_, T> {
    fn order(&self) -> Order {
        self.layout.order()
    }

    fn coverage(&self) -> Coverage {
        self.coverage
    }

    fn shape(&self) -> (usize, usize) {
        self.shape
    }

    fn scatter(&self, block: &Block, entries: &[T]) -> Result<(), EngineError> {
        let Some(cells) = self.open(block, entries)? else { return Ok(()) };
        let Block { rows, cols } = block;
        let wrong = match (self.layout, self.coverage) {
            (Layout::Condensed, _) => {
                lines(entries, rows.len()).filter_map(|(k, line)| self.condensed_column(&cells, cols.start + k, rows, line)).min()
            }
            (Layout::Packed, _) => {
                lines(entries, cols.len()).filter_map(|(k, line)| self.lower_row(&cells, rows.start + k, cols, line)).min()
            }
            (Layout::Dense, Coverage::LowerTriangle) => {
                let across = cols.len().div_ceil(PIECE);
                let piece = |i: usize| {
                    let (rows, cols) = (band(rows, PIECE, i / across), band(cols, PIECE, i % across));
                    let mut strips =
                        (0..rows.len().div_ceil(TILE)).map(|i| Block { rows: band(&rows, TILE, i), cols: cols.clone() });
                    strips.find_map(|strip| self.strip(&cells, block, entries, strip))
                };
                (0..rows.len().div_ceil(PIECE) * across).into_par_iter().filter_map(piece).min()
            }
            (Layout::Dense, Coverage::Full) => {
                lines(entries, cols.len()).for_each(|(k, line)| {
                    let at = (rows.start + k) * self.shape.1 + cols.start;
                    // SAFETY: an entry has one place, none is twice in this block, and no other block with any of them is open.
                    copy(unsafe { cells.slice_mut(at..at + line.len()) }, line);
                });
                None
            }
        };
        let Some((row, column)) = wrong else { return Ok(()) };
        let value = entries[self.order().index(block, row, column)].to_string();
        Err(EngineError::NotZero { row, column, value })
    }
}

/// A matrix that is open for one block.
struct Open<'m, 'a, T> {
    matrix: &'m HostMatrix<'a, T>,
    block: Block,
}

impl<'a, T> Deref for Open<'_, 'a, T> {
    type Target = Cells<'a, T>;

    fn deref(&self) -> &Self::Target {
        &self.matrix.cells
    }
}

impl<T> Drop for Open<'_, '_, T> {
    fn drop(&mut self) {
        let mut open = self.matrix.open.lock().unwrap_or_else(PoisonError::into_inner);
        open.retain(|block| *block != self.block);
    }
}

/// The `i`th of a range's bands of length `side`. It must exist.
fn band(range: &Range<usize>, side: usize, i: usize) -> Range<usize> {
    let start = range.start + i * side;
    start..(start + side).min(range.end)
}

/// Size of a piece that is worth a task of its own, in bytes.
const TASK_BYTES: usize = 256 << 10;

/// A block's lines with their numbers, of `len` entries each.
fn lines<T: Entry>(entries: &[T], len: usize) -> impl IndexedParallelIterator<Item = (usize, &[T])> {
    let least = (TASK_BYTES / (len * size_of::<T>()).max(1)).max(1);
    entries.par_chunks_exact(len).enumerate().with_min_len(least)
}

/// Copies a line, in parallel if it is long.
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
    let clean = |piece: &[T]| are_zero(bytemuck::cast_slice(piece)) || piece.iter().all(|value| *value == zero);
    values.chunks(512).enumerate().find(|(_, piece)| !clean(piece)).and_then(|(i, piece)| {
        let within = piece.iter().position(|value| *value != zero)?;
        Some(i * 512 + within)
    })
}

/// Returns true if all bytes are zero. As it isn't generic, it is optimised in this crate.
fn are_zero(bytes: &[u8]) -> bool {
    // Without an early end this is done with vectors.
    bytes.iter().fold(0, |all, byte| all | byte) == 0
}

#[cfg(test)]
mod tests {
    use super::*;

    fn block(rows: Range<usize>, cols: Range<usize>) -> Block {
        Block { rows, cols }
    }

    #[test]
    fn blocks_that_are_none_of_the_matrix() {
        let mut output = [0f32; 12];
        let writer = HostMatrix::full(3, 4, &mut output).unwrap();
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
        let writer = HostMatrix::full(4, 4, &mut output).unwrap();
        let first = block(0..2, 0..3);
        let open = writer.open(&first, &[0.0; 6]).unwrap();
        let second = block(1..3, 2..4);
        let error = writer.scatter(&second, &[1.0; 4]).unwrap_err();
        assert_eq!(error, EngineError::Overlap { block: second.clone(), other: first });
        writer.scatter(&block(2..4, 0..4), &[2.0; 8]).unwrap();
        drop(open);
        writer.scatter(&second, &[1.0; 4]).unwrap();
        assert!(writer.open.lock().unwrap().is_empty());
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
