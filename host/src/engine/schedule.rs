//! Division of a matrix into blocks, and their order.

use std::cmp::Reverse;
use std::ops::Range;

use super::{Block, Coverage, EngineError};

/// The bands of `0..n`: each of length `side`, save the last, which has what remains. A `side` of 0 counts as 1.
///
/// ```
/// # use warpsmith::engine::subdivide;
/// assert_eq!(subdivide(3, 10), [0..3, 3..6, 6..9, 9..10]);
/// ```
pub fn subdivide(side: usize, n: usize) -> Vec<Range<usize>> {
    let side = side.max(1);
    (0..n).step_by(side).map(|start| start..start.saturating_add(side).min(n)).collect()
}

/// Number of output elements that a device's free memory allows: 80 % of it is used, one half for
/// output, the other for the functions.
pub fn max_output_elements(free_bytes: usize, element_bytes: usize) -> usize {
    let bytes = free_bytes as u128 * 2 / 5;
    (bytes / element_bytes.max(1) as u128) as usize
}

/// The side of the smallest block that keeps a GPU busy: 1,024 entries for each of its multiprocessors.
///
/// ```
/// # use warpsmith::engine::min_block_side;
/// assert_eq!(min_block_side(108), 332); // an A100
/// ```
pub fn min_block_side(multiprocessors: u32) -> usize {
    (u64::from(multiprocessors) * 1024).isqrt() as usize
}

/// Rule for the size of blocks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SideRule {
    /// Number of output elements that a device's memory may hold, in all buffers together. See
    /// [`max_output_elements`].
    pub max_output_elements: usize,
    /// Number of blocks that the budget is split into. More blocks share work better and overlap
    /// sooner; 32 per GPU is a good value.
    pub splits_hint: usize,
    /// Blocks no smaller than this; 0 for none. It yields to the budget. See [`min_block_side`].
    pub min_block_side: usize,
}

impl SideRule {
    /// The side of the blocks of a matrix of `rows` x `cols`: `floor(sqrt(max_output_elements / splits_hint))`, at
    /// least `min_block_side`, at most the matrix's longer side.
    ///
    /// Two blocks always fit the budget, because one is computed while another is downloaded. The
    /// side is at least 1, even if the budget is less than two elements.
    pub fn block_side(&self, rows: usize, cols: usize) -> usize {
        let wanted = (self.max_output_elements / self.splits_hint.max(1)).isqrt().max(self.min_block_side);
        let affordable = (self.max_output_elements / 2).isqrt();
        wanted.min(affordable).min(rows.max(cols)).max(1)
    }
}

/// The blocks that make up a matrix, sorted by falling work, so that the last ones, which finish the devices' shares,
/// are small.
///
/// ```
/// use warpsmith::engine::{Block, BlockScheduler, Coverage};
///
/// let scheduler = BlockScheduler::new(Coverage::LowerTriangle, 5, 5, 3)?;
/// // Six of the first block's entries are computed, as many as the second has; three of the last one's.
/// let expected = [(0..3, 0..3), (3..5, 0..3), (3..5, 3..5)].map(|(rows, cols)| Block { rows, cols });
/// assert_eq!(scheduler.blocks(), expected);
/// # Ok::<(), warpsmith::engine::EngineError>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BlockScheduler {
    coverage: Coverage,
    rows: usize,
    cols: usize,
    side: usize,
    blocks: Vec<Block>,
}

impl BlockScheduler {
    /// Cuts a matrix of `rows` x `cols` into blocks of at most `side` x `side`. Blocks wholly above
    /// the diagonal of a [`LowerTriangle`](Coverage::LowerTriangle) are left out. Blocks with equal
    /// work are in row-major order. A `side` of 0 counts as 1.
    ///
    /// # Errors
    /// [`NotSquare`](EngineError::NotSquare) for a triangle with `rows != cols`;
    /// [`TooLarge`](EngineError::TooLarge) and [`OutOfMemory`](EngineError::OutOfMemory) if there
    /// are too many blocks to list.
    pub fn new(coverage: Coverage, rows: usize, cols: usize, side: usize) -> Result<Self, EngineError> {
        if coverage == Coverage::LowerTriangle && rows != cols {
            return Err(EngineError::NotSquare { rows, columns: cols });
        }
        let side = side.max(1);
        // If n * n fits a word, so does n * (n + 1): nothing below overflows.
        rows.checked_mul(cols).ok_or(EngineError::TooLarge { rows, columns: cols })?;
        let (row_bands, col_bands) = (rows.div_ceil(side), cols.div_ceil(side));
        let count = match coverage {
            Coverage::Full => row_bands * col_bands,
            Coverage::LowerTriangle => row_bands * (row_bands + 1) / 2,
        };
        let mut blocks = Vec::new();
        let requested = count.saturating_mul(size_of::<Block>());
        blocks.try_reserve_exact(count).map_err(|_| EngineError::OutOfMemory { requested })?;
        let band = |i: usize, n: usize| i * side..(i * side).saturating_add(side).min(n);
        for i in 0..row_bands {
            let last = if coverage == Coverage::LowerTriangle { i + 1 } else { col_bands };
            blocks.extend((0..last).map(|j| Block { rows: band(i, rows), cols: band(j, cols) }));
        }
        blocks.sort_by_key(|block| Reverse(coverage.work(block)));
        Ok(BlockScheduler { coverage, rows, cols, side, blocks })
    }

    /// The entries that are computed.
    pub fn coverage(&self) -> Coverage {
        self.coverage
    }

    /// The number of the matrix's rows.
    pub fn rows(&self) -> usize {
        self.rows
    }

    /// The number of the matrix's columns.
    pub fn cols(&self) -> usize {
        self.cols
    }

    /// The side of the blocks, at least 1.
    pub fn side(&self) -> usize {
        self.side
    }

    /// The blocks, in the order of their computation.
    pub fn blocks(&self) -> &[Block] {
        &self.blocks
    }

    /// Number of entries of the largest block, computed or not: the size of a block's buffer.
    pub fn max_entries(&self) -> usize {
        self.blocks.iter().map(Block::entries).max().unwrap_or(0)
    }

    /// Number of entries that are computed in all. The diagonal counts.
    pub fn work(&self) -> usize {
        match self.coverage {
            Coverage::Full => self.rows * self.cols,
            Coverage::LowerTriangle => self.rows * (self.rows + 1) / 2,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use Coverage::{Full, LowerTriangle};

    fn block(rows: Range<usize>, cols: Range<usize>) -> Block {
        Block { rows, cols }
    }

    fn blocks(coverage: Coverage, rows: usize, cols: usize, side: usize) -> Vec<Block> {
        BlockScheduler::new(coverage, rows, cols, side).unwrap().blocks
    }

    /// The document's: A, C and F are diagonal and come last, since half of them is skipped.
    #[test]
    fn nine_by_nine_in_threes() {
        let [a, b, c] = [block(0..3, 0..3), block(3..6, 0..3), block(3..6, 3..6)];
        let [d, e, f] = [block(6..9, 0..3), block(6..9, 3..6), block(6..9, 6..9)];
        assert!([&a, &c, &f].iter().all(|block| block.is_diagonal() && LowerTriangle.work(block) == 6));
        assert!([&b, &d, &e].iter().all(|block| !block.is_diagonal() && LowerTriangle.work(block) == 9));
        assert_eq!(blocks(LowerTriangle, 9, 9, 3), [b, d, e, a, c, f]);
    }

    #[test]
    fn what_is_no_matrix() {
        let error = |coverage, rows, cols, side| BlockScheduler::new(coverage, rows, cols, side).unwrap_err();
        let not_square = error(LowerTriangle, 3, 4, 2);
        assert_eq!(not_square.to_string(), "a lower triangle needs a square matrix, not one of 3 x 4");
        assert_eq!(error(Full, 1 << 40, 1 << 40, 100), EngineError::TooLarge { rows: 1 << 40, columns: 1 << 40 });
        let many = (1 << 24) * ((1 << 24) + 1) / 2 * size_of::<Block>();
        assert_eq!(error(LowerTriangle, 1 << 24, 1 << 24, 1), EngineError::OutOfMemory { requested: many });
        assert_eq!(error(Full, 1 << 31, 1 << 31, 1), EngineError::OutOfMemory { requested: usize::MAX });
        assert_eq!(blocks(Full, 1 << 31, 1 << 31, 1 << 31).len(), 1);
    }

    #[test]
    fn sides() {
        // An A100 and the rule of half its threads.
        assert_eq!(min_block_side(108), 332);
        assert_eq!((min_block_side(0), min_block_side(1), min_block_side(132)), (0, 32, 367));
        assert_eq!(max_output_elements(10_000, 4), 1_000);
        assert_eq!(max_output_elements(10_007, 8), 500);
        assert_eq!(max_output_elements(usize::MAX, 1), usize::MAX / 5 * 2 + usize::MAX % 5 * 2 / 5);
    }
}
