//! Rectangles of a matrix, and the entries of them that are computed.

use std::fmt;
use std::ops::Range;

/// Selects the entries of a matrix that are computed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Coverage {
    /// The pairs row >= column (or only row > column) of a square matrix.
    LowerTriangle,
    /// All pairs; the matrix may be rectangular.
    Full,
}

impl Coverage {
    /// Number of the block's entries that are computed. Entries on the diagonal count.
    pub fn work(self, block: &Block) -> usize {
        match self {
            Coverage::Full => block.entries(),
            Coverage::LowerTriangle => {
                let Block { rows, cols } = block;
                // Entries in rows before `end`: 1, 2, 3... from the first column's diagonal entry
                // on, then whole rows.
                let above = |end: usize| {
                    let ragged = end.clamp(cols.start, cols.end) - cols.start;
                    ragged * (ragged + 1) / 2 + end.saturating_sub(cols.end) * cols.len()
                };
                above(rows.end) - above(rows.start)
            }
        }
    }
}

/// A rectangle of a matrix.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Block {
    /// Its rows.
    pub rows: Range<usize>,
    /// Its columns.
    pub cols: Range<usize>,
}

impl Block {
    /// The number of rows.
    pub fn height(&self) -> usize {
        self.rows.len()
    }

    /// The number of columns.
    pub fn width(&self) -> usize {
        self.cols.len()
    }

    /// The number of entries, computed or not.
    pub fn entries(&self) -> usize {
        self.height() * self.width()
    }

    /// True if the rows are the columns, so that the matrix's diagonal is the block's.
    pub fn is_diagonal(&self) -> bool {
        self.rows == self.cols
    }

    /// True if the blocks share an entry.
    pub fn overlaps(&self, other: &Block) -> bool {
        let common = |a: &Range<usize>, b: &Range<usize>| a.start.max(b.start) < a.end.min(b.end);
        common(&self.rows, &other.rows) && common(&self.cols, &other.cols)
    }
}

impl fmt::Display for Block {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Block { rows, cols } = self;
        write!(f, "rows {}..{} and columns {}..{}", rows.start, rows.end, cols.start, cols.end)
    }
}
