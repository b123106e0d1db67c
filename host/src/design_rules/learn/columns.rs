//! Binary features, packed 64 to a word.

/// A table of bits, stored by column: a row per sample, a column per feature.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BitColumns {
    rows: usize,
    columns: usize,
    words: Vec<u64>,
}

impl BitColumns {
    /// Creates a table with this many rows and no columns.
    pub fn new(rows: usize) -> Self {
        BitColumns { rows, columns: 0, words: Vec::new() }
    }

    /// Appends a column of bits.
    pub fn push(&mut self, bit: impl FnMut(usize) -> bool) {
        self.words.extend(pack(self.rows, bit));
        self.columns += 1;
    }

    pub(super) fn push_words(&mut self, words: &[u64]) {
        debug_assert_eq!(words.len(), self.rows.div_ceil(64));
        self.words.extend_from_slice(words);
        self.columns += 1;
    }

    /// Returns the number of rows.
    pub fn rows(&self) -> usize {
        self.rows
    }

    /// Returns the number of columns.
    pub fn columns(&self) -> usize {
        self.columns
    }

    /// Returns one bit.
    ///
    /// # Panics
    /// If there is no such row or column.
    pub fn get(&self, row: usize, column: usize) -> bool {
        assert!(row < self.rows, "row {row} of {}", self.rows);
        self.column(column)[row / 64] >> (row % 64) & 1 == 1
    }

    /// Returns the bits of a column, 64 rows per word from the lowest bit. Bits after the last row
    /// are 0.
    ///
    /// # Panics
    /// If there is no such column.
    pub fn column(&self, column: usize) -> &[u64] {
        assert!(column < self.columns, "column {column} of {}", self.columns);
        let words = self.rows.div_ceil(64);
        &self.words[column * words..(column + 1) * words]
    }
}

/// Packs `len` bits, 64 per word from the lowest bit.
pub(super) fn pack(len: usize, mut bit: impl FnMut(usize) -> bool) -> Vec<u64> {
    let word = |first: usize| (first..len.min(first + 64)).rev().fold(0, |word, row| word << 1 | u64::from(bit(row)));
    (0..len).step_by(64).map(word).collect()
}

pub(super) fn count_ones(words: &[u64]) -> usize {
    words.iter().map(|word| word.count_ones() as usize).sum()
}
