//! Random band matrices.

use rand_chacha::{
    ChaCha8Rng,
    rand_core::{RngCore, SeedableRng as _},
};
use rayon::prelude::*;

use super::{Csr, SpmvError, SpmvReal, error::numbered};

/// A random square band matrix. A seed gives the same one everywhere.
///
/// Nonzeros are at distinct positions (i, j) with |i - j| <= `half_bandwidth`. All sets of
/// positions are equally likely. Values are uniform between -1 and 1; in every row, columns ascend.
///
/// [`Band::default`] is the matrix of Pearson, Javeed and Devine (*Machine Learning for CUDA+MPI Design Rules*, section
/// III): 150,000 rows, 1,500,000 nonzeros and n/4 to either side, so that over four ranks about half of the nonzeros
/// are local.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Band {
    /// The number of rows and of columns.
    pub rows: usize,
    /// The number of nonzeros.
    pub nonzeros: usize,
    /// The greatest distance of nonzeros from the diagonal.
    pub half_bandwidth: usize,
    /// Seed of the random numbers.
    pub seed: u64,
}

impl Default for Band {
    fn default() -> Self {
        Band::new(150_000, 1_500_000, 1)
    }
}

impl Band {
    /// A band of `rows / 4` to either side.
    pub const fn new(rows: usize, nonzeros: usize, seed: u64) -> Self {
        Band { rows, nonzeros, half_bandwidth: rows / 4, seed }
    }

    /// The columns of a row that are in the band: the first, and the one after the last.
    fn columns(&self, row: usize) -> (usize, usize) {
        (row.saturating_sub(self.half_bandwidth), row.saturating_add(self.half_bandwidth).saturating_add(1).min(self.rows))
    }

    /// The number of positions in the band.
    pub fn positions(&self) -> u64 {
        let rows = self.rows as u128;
        // No diagonal is farther away. The one at distance d has d elements fewer than the main one.
        let half = (self.half_bandwidth as u128).min(rows.saturating_sub(1));
        u64::try_from(rows * (2 * half + 1) - half * (half + 1)).unwrap_or(u64::MAX)
    }

    /// The matrix.
    ///
    /// # Errors
    /// [`SpmvError::BandTooSmall`] if the band has fewer positions, [`SpmvError::TooMany`] for 2^32
    /// rows or nonzeros.
    pub fn matrix<T: SpmvReal>(&self) -> Result<Csr<T>, SpmvError> {
        let Band { rows, nonzeros, half_bandwidth, seed } = *self;
        numbered("rows", rows)?;
        numbered("nonzeros", nonzeros)?;
        let positions = self.positions();
        if nonzeros as u64 > positions {
            return Err(SpmvError::BandTooSmall { nonzeros, rows, half_bandwidth, positions });
        }
        let mut rng = ChaCha8Rng::seed_from_u64(seed);
        // Positions are numbered row by row.
        let chosen = if nonzeros as u64 <= positions / 2 {
            distinct(&mut rng, positions, nonzeros)
        } else {
            let left_out = distinct(&mut rng, positions, (positions - nonzeros as u64) as usize);
            let mut left_out = left_out.into_iter().peekable();
            (0..positions).filter(|position| left_out.next_if_eq(position).is_none()).collect()
        };
        let (mut row_ptr, mut columns) = (vec![0; rows + 1], vec![0; nonzeros]);
        let (mut at, mut before) = (0, 0);
        for row in 0..rows {
            let (start, end) = self.columns(row);
            let after = before + (end - start) as u64;
            while let Some(&position) = chosen.get(at).filter(|&&position| position < after) {
                columns[at] = start as u32 + (position - before) as u32;
                at += 1;
            }
            row_ptr[row + 1] = at as u32;
            before = after;
        }
        // From a stream of their own, so that they don't depend on how positions were drawn.
        let mut rng = ChaCha8Rng::seed_from_u64(seed);
        rng.set_stream(1);
        let mut value = || 2.0 * ((rng.next_u64() >> 11) as f64 / (1u64 << 53) as f64) - 1.0;
        let values = (0..nonzeros).map(|_| T::from_f64(value())).collect();
        Ok(Csr::trusted(rows, row_ptr, columns, values))
    }
}

/// Draws `count` distinct numbers below `end`, at least twice `count`, in ascending order. All sets
/// are equally likely, because all numbers are treated alike.
fn distinct(rng: &mut ChaCha8Rng, end: u64, count: usize) -> Vec<u64> {
    let mut chosen: Vec<u64> = Vec::with_capacity(count);
    while chosen.len() < count {
        for _ in chosen.len()..count {
            chosen.push(below(rng, end));
        }
        chosen.par_sort_unstable();
        chosen.dedup();
    }
    chosen
}

/// A number below `end`, each as likely (D. Lemire, *Fast random integer generation in an interval*, 2019).
fn below(rng: &mut ChaCha8Rng, end: u64) -> u64 {
    loop {
        let product = u128::from(rng.next_u64()) * u128::from(end);
        // Among the products with one high half, those with so small a low half are one too many.
        if product as u64 >= end.wrapping_neg() % end {
            return (product >> 64) as u64;
        }
    }
}
