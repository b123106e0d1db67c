//! The grid: which rank has which brick, and what is in it.

use gpu_kernels::halo::Brick;
use rayon::prelude::*;

use crate::design_rules::RulesError;
use crate::device::{Bytes, memory::memory};

/// The division of a three-dimensional grid among ranks: `ranks[d]` of them in dimension d, in
/// bricks of equal size.
///
/// Ranks are numbered as cells are, x the fastest. The grid has ends: ranks there have no neighbour beyond.
///
/// ```
/// use warpsmith::design_rules::programs::halo::Decomposition;
///
/// let division = Decomposition::new(8);
/// assert_eq!(division.ranks, [2, 2, 2]);
/// assert_eq!(division.coordinates(5), [1, 0, 1]);
/// assert_eq!(division.neighbours(5), [[Some(4), None], [None, Some(7)], [Some(1), None]]);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Decomposition {
    /// The ranks in x, y and z.
    pub ranks: [usize; 3],
}

impl Decomposition {
    /// As cubic as this many ranks (at least one) allow: of all products of three factors the one with the least sum. x
    /// is divided least, since a face across it is spread over memory.
    pub fn new(ranks: usize) -> Self {
        let ranks = ranks.max(1);
        let divisors = |n: usize, from: usize| (from..=n.isqrt().max(1)).filter(move |d| n.is_multiple_of(*d));
        let triples = divisors(ranks, 1).flat_map(|x| {
            let rest = ranks / x;
            divisors(rest, x).map(move |y| [x, y, rest / y])
        });
        let ranks = triples.min_by_key(|triple| triple.iter().sum::<usize>()).unwrap_or([1, 1, ranks]);
        Decomposition { ranks }
    }

    /// Returns the position of a rank in x, y and z.
    pub fn coordinates(&self, rank: usize) -> [usize; 3] {
        let [x, y, _] = self.ranks;
        [rank % x, rank / x % y, rank / x / y]
    }

    /// The ranks beside a rank in each dimension: on the side of 0, and on the other.
    pub fn neighbours(&self, rank: usize) -> [[Option<usize>; 2]; 3] {
        let at = self.coordinates(rank);
        let [x, y, _] = self.ranks;
        let strides = [1, x, x * y];
        std::array::from_fn(|d| {
            let low = (at[d] > 0).then(|| rank - strides[d]);
            let high = (at[d] + 1 < self.ranks[d]).then(|| rank + strides[d]);
            [low, high]
        })
    }
}

/// Factor of the Laplacian in a step: the conductivity times the length of the step, over the
/// square of the cells' distance. An explicit step is stable up to 1/6.
pub(super) const RATE: f64 = 0.125;

/// Returns the value at a position before the step: an integer below 2²⁰ without a pattern. Beyond
/// the grid's ends, the values are fixed.
fn value(at: [i64; 3]) -> f64 {
    // The finish of the generator SplitMix64 (G. L. Steele Jr., D. Lea and C. H. Flood, 2014), which mixes all bits
    // with all.
    let [x, y, z] = at.map(|coordinate| (coordinate + 1) as u64);
    let mut bits = (x | y << 21 | z << 42).wrapping_add(0x9e37_79b9_7f4a_7c15);
    bits = (bits ^ bits >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    bits = (bits ^ bits >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
    ((bits ^ bits >> 31) >> 44) as f64
}

/// Returns the value at a position after the step. All terms are multiples of 1/8 below 2²⁴, so
/// nothing is rounded, in any order of addition.
fn value_after(at: [i64; 3]) -> f64 {
    let neighbour = |d: usize, by: i64| {
        let mut at = at;
        at[d] += by;
        value(at)
    };
    let sum: f64 = (0..3).map(|d| neighbour(d, -1) + neighbour(d, 1)).sum();
    let here = value(at);
    here + RATE * (sum - 6.0 * here)
}

/// A rank's brick, and where its first cell stands in the grid.
#[derive(Clone, Copy)]
pub(super) struct Place {
    pub origin: [i64; 3],
    pub brick: Brick,
}

impl Place {
    /// Returns the values of the brick and beyond the grid's ends before the step. All others are
    /// NaN: the ghost cells that neighbours send, and those that nobody needs.
    ///
    /// # Errors
    /// [`RulesError::Setup`] if the host has too little memory.
    pub fn values(&self, neighbours: [[Option<usize>; 2]; 3]) -> Result<Vec<f64>, RulesError> {
        let Brick { nx, ny, nz } = self.brick;
        let extents = [nx, ny, nz].map(i64::from);
        let len = self.brick.padded_len();
        let bytes = len.saturating_mul(size_of::<f64>());
        let mut values = Vec::new();
        // The system may promise more memory than there is, and end the process when it is written.
        if bytes > memory().free || values.try_reserve_exact(len).is_err() {
            return Err(RulesError::Setup(format!("out of memory: {} asked for", Bytes(bytes))));
        }
        values.resize(len, f64::NAN);
        let is_known = |at: [i64; 3]| {
            let mut outside = (0..3).filter(|&d| at[d] < 0 || at[d] == extents[d]);
            match (outside.next(), outside.next()) {
                (None, _) => true,
                (Some(d), None) => neighbours[d][usize::from(at[d] > 0)].is_none(),
                _ => false,
            }
        };
        let planes = values.par_chunks_exact_mut(self.brick.plane()).enumerate();
        planes.for_each(|(z, plane)| {
            for (y, row) in plane.chunks_exact_mut(self.brick.row()).enumerate() {
                for (x, cell) in row.iter_mut().enumerate() {
                    let at = [x, y, z].map(|coordinate| coordinate as i64 - 1);
                    if is_known(at) {
                        *cell = value(self.in_grid(at));
                    }
                }
            }
        });
        Ok(values)
    }

    fn in_grid(&self, at: [i64; 3]) -> [i64; 3] {
        std::array::from_fn(|d| self.origin[d] + at[d])
    }

    /// The first of the brick's cells that is not as it must be after the step.
    pub fn difference(&self, next: &[f64]) -> Option<String> {
        let Brick { nx, ny, nz } = self.brick;
        (0..nz).into_par_iter().find_map_first(|z| {
            let mut cells = (0..ny).flat_map(|y| (0..nx).map(move |x| [x, y, z]));
            cells.find_map(|[x, y, z]| {
                let found = next[self.brick.at(x, y, z)];
                let at = self.in_grid([x, y, z].map(i64::from));
                let expected = value_after(at);
                // NaN is wrong, too.
                (found != expected).then(|| format!("cell {at:?} of the grid is {found}, but should be {expected}"))
            })
        })
    }
}
