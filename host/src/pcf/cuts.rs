//! Where merges of long functions are cut into pieces, so that different blocks of threads take them.
//!
//! Whether a pair's merge is cut, and where, follows from the sets alone. So a sum has the same terms in the same order
//! whatever the blocks of the matrix, the memory and the GPUs.

use std::ops::Range;

use rayon::prelude::*;

use super::{PcfReal, PcfSet};

/// Functions of at most so many breakpoints are never cut.
const NEVER: usize = 4096;

/// About how many breakpoints of the longest function a piece has. With more, the lanes of a warp come farther apart in
/// the functions that they share than shared memory has segments of them.
const PIECE: usize = 1024;

/// The most pieces. A grid can't have twice as many.
const MOST_PIECES: usize = 1 << 15;

/// Of so many breakpoints of a long function, one may be a cut.
const SAMPLE: usize = 64;

/// How much longer than the median a function is that is better merged with the kernel for long ones, though it isn't
/// cut; and the fewest breakpoints of such a function.
const UNEVEN: usize = 8;
/// See [`UNEVEN`].
const WORTHWHILE: usize = 256;

/// Where merges are cut that have a function of more than so many breakpoints.
#[derive(Clone, Debug, PartialEq)]
pub struct Cuts<T> {
    longest: u32,
    times: Vec<T>,
}

impl<T: PcfReal> Cuts<T> {
    /// Those for matrices of these sets; none where all functions are about as long, and none is very long.
    pub fn of(sets: &[&PcfSet<T>]) -> Option<Self> {
        let lengths = || sets.iter().flat_map(|set| set.offsets().windows(2).map(|pair| pair[1] - pair[0]));
        let most = lengths().max()?;
        if most <= NEVER {
            if most < WORTHWHILE {
                return None;
            }
            let mut lengths: Vec<usize> = lengths().collect();
            let middle = lengths.len() / 2;
            let median = *lengths.select_nth_unstable(middle).1;
            let cuts = Cuts { longest: (most / 2).min(UNEVEN / 2 * median) as u32, times: vec![T::ZERO, T::INFINITY] };
            return (most > UNEVEN * median).then_some(cuts);
        }
        // Times with about as many breakpoints of long functions between them.
        let long = |set: &PcfSet<T>| (0..set.len()).filter(|&i| set.get(i).points().len() > NEVER).collect::<Vec<_>>();
        let mut samples: Vec<T> = Vec::new();
        for set in sets {
            let functions = long(set).into_par_iter().flat_map_iter(|i| {
                set.get(i).points().iter().skip(SAMPLE / 2).step_by(SAMPLE).map(|point| point.t)
            });
            samples.par_extend(functions);
        }
        samples.par_sort_unstable_by(|a, b| a.to_f64().total_cmp(&b.to_f64()));
        let pieces = most.div_ceil(PIECE).min(MOST_PIECES);
        let mut times = vec![T::ZERO];
        times.extend((1..pieces).map(|piece| samples[(piece as u128 * samples.len() as u128 / pieces as u128) as usize]));
        times.push(T::INFINITY);
        times.dedup();
        Some(Cuts { longest: NEVER as u32, times })
    }

    /// From 0 to infinity, ascending.
    pub fn times(&self) -> &[T] {
        &self.times
    }

    /// Into how many pieces.
    pub fn pieces(&self) -> usize {
        self.times.len() - 1
    }

    /// Functions with more breakpoints are long.
    pub fn longest(&self) -> u32 {
        self.longest
    }

    /// How many of these functions are long.
    pub fn long(&self, set: &PcfSet<T>, functions: &Range<usize>) -> usize {
        let offsets = &set.offsets()[functions.start..=functions.end];
        offsets.windows(2).filter(|pair| pair[1] - pair[0] > self.longest as usize).count()
    }
}
