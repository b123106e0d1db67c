//! Passes over the entries of matrices.

use rayon::prelude::*;

use super::PcfReal;

/// Counts and extremes of entries.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Stats {
    /// Least finite entry.
    pub min: f64,
    /// Greatest finite entry.
    pub max: f64,
    /// Number of infinite entries.
    pub infinite: u64,
    /// Number of entries that are not numbers.
    pub nan: u64,
    /// Number of entries that are negative infinity.
    pub negative_infinite: u64,
}

impl Stats {
    /// Counts and extremes without entries.
    pub const NONE: Self = Stats { min: f64::INFINITY, max: f64::NEG_INFINITY, infinite: 0, nan: 0, negative_infinite: 0 };

    /// Joins the counts and extremes of two parts.
    pub fn merge(self, other: Self) -> Self {
        Stats {
            min: self.min.min(other.min),
            max: self.max.max(other.max),
            infinite: self.infinite + other.infinite,
            nan: self.nan + other.nan,
            negative_infinite: self.negative_infinite + other.negative_infinite,
        }
    }

    /// Adds entries. Returns their sum.
    pub fn add(&mut self, entries: &[f64]) -> f64 {
        let sum: f64 = entries.iter().sum();
        if sum.is_finite() {
            self.min = entries.iter().copied().fold(self.min, f64::min);
            self.max = entries.iter().copied().fold(self.max, f64::max);
            return sum;
        }
        for &entry in entries {
            match entry {
                _ if entry.is_nan() => self.nan += 1,
                _ if entry.is_infinite() => {
                    self.infinite += 1;
                    self.negative_infinite += u64::from(entry < 0.0);
                }
                _ => (self.min, self.max) = (self.min.min(entry), self.max.max(entry)),
            }
        }
        sum
    }
}

/// Counts the entries that are infinite, or not numbers, which only infinities can lead to.
pub fn count_infinite<T: PcfReal>(entries: &[T]) -> usize {
    T::count_infinite(entries)
}

/// Puts numbers from a file, whose bytes may be in the other order, in place of others.
pub fn widen<T: PcfReal>(numbers: &[T], swapped: bool, into: &mut Vec<f64>) {
    T::widen(numbers, swapped, into);
}

pub(super) fn infinite<T: PcfReal>(entries: &[T]) -> usize {
    entries.par_iter().with_min_len(1 << 16).filter(|entry| !entry.is_finite()).count()
}

pub(super) fn widened<T: PcfReal>(numbers: &[T], swapped: bool, into: &mut Vec<f64>) {
    into.clear();
    into.extend(numbers.iter().map(|&number| if swapped { number.swapped() } else { number }.to_f64()));
}
