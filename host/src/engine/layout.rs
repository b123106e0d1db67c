//! The place of an entry in a matrix's memory, and in a block's buffer.

use super::{Block, Coverage, EngineError};

/// The layout of a matrix.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize), serde(rename_all = "lowercase"))]
#[cfg_attr(feature = "clap", derive(clap::ValueEnum))]
pub enum Layout {
    /// The upper triangle by rows without the diagonal, of distances
    ///
    /// SciPy's `squareform` reads it: the n (n - 1) / 2 entries above a diagonal of zeros. The pair i < j is at
    /// n i - i (i + 1) / 2 + j - i - 1.
    Condensed,
    /// The lower triangle by rows with the diagonal, of one set
    ///
    /// masspcf's `SymmetricMatrix`: n (n + 1) / 2 entries. The pair i >= j is at i (i + 1) / 2 + j.
    Packed,
    /// All entries, by rows
    Dense,
}

impl Layout {
    /// The name of the field of a packed matrix's elements in a `.npy` file. Their number alone can't tell it from a
    /// condensed matrix.
    pub const PACKED_FIELD: &str = "packed";

    /// The field that elements have in a `.npy` file: [`PACKED_FIELD`](Self::PACKED_FIELD), or none.
    pub fn field(self) -> Option<&'static str> {
        (self == Layout::Packed).then_some(Self::PACKED_FIELD)
    }

    /// The layout's name.
    pub fn name(self) -> &'static str {
        match self {
            Layout::Condensed => "condensed",
            Layout::Packed => "packed",
            Layout::Dense => "dense",
        }
    }

    /// The number of elements of a matrix of `rows` x `columns`, which are equal unless the layout is dense.
    ///
    /// # Errors
    /// [`TooLarge`](EngineError::TooLarge), as [`condensed_len`].
    pub fn len(self, (rows, columns): (usize, usize)) -> Result<usize, EngineError> {
        match self {
            Layout::Condensed => condensed_len(rows),
            Layout::Packed => packed_len(rows),
            Layout::Dense => dense_len(rows, columns),
        }
    }

    /// The number of elements, if the output has it.
    pub(super) fn check_len(self, coverage: Coverage, shape: (usize, usize), found: usize) -> Result<(), EngineError> {
        let expected = self.len(shape)?;
        if found == expected {
            return Ok(());
        }
        let half_computed = self == Layout::Dense && coverage == Coverage::LowerTriangle;
        let layout = if half_computed { "symmetric" } else { self.name() };
        Err(EngineError::OutputLength { layout, rows: shape.0, columns: shape.1, expected, found })
    }

    /// The block order that lets blocks be copied line by line. The columns of a lower triangle are
    /// contiguous in a condensed matrix.
    pub(super) fn order(self) -> Order {
        if self == Layout::Condensed { Order::ColumnMajor } else { Order::RowMajor }
    }
}

/// The order of a block's entries in its buffer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Order {
    /// Row after row: `(row - rows.start) * width + (column - cols.start)`.
    RowMajor,
    /// Column after column: `(column - cols.start) * height + (row - rows.start)`.
    ColumnMajor,
}

impl Order {
    /// The index of entry (`row`, `column`) of the matrix in the buffer of a block that contains it.
    pub fn index(self, block: &Block, row: usize, column: usize) -> usize {
        let (row, column) = (row - block.rows.start, column - block.cols.start);
        match self {
            Order::RowMajor => row * block.width() + column,
            Order::ColumnMajor => column * block.height() + row,
        }
    }
}

/// The length of a condensed matrix of n x n: n (n - 1) / 2.
///
/// # Errors
/// [`TooLarge`](EngineError::TooLarge) if no slice can be that long.
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

/// No slice is longer than `isize::MAX`. If a triangle fits that, n * (n - 1) fits a `usize`.
fn addressable(len: Option<usize>, rows: usize, columns: usize) -> Result<usize, EngineError> {
    len.filter(|&len| len <= isize::MAX as usize).ok_or(EngineError::TooLarge { rows, columns })
}

#[cfg(test)]
mod tests {
    use super::*;

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
}
