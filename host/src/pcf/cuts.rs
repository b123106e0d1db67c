//! Cuts of the merges of long functions into pieces, which different blocks of threads take.
//!
//! The cuts of a pair's merge depend on the sets only. A sum thus has the same terms in the same
//! order for any blocks, memory and GPUs.

use std::ops::Range;

use rayon::prelude::*;

use super::{PcfReal, PcfSet};

/// Greatest number of breakpoints of functions whose merges are never cut.
const NEVER: usize = 4096;

/// No merge is cut if all of them together take as long as this number of the longest ones: they
/// keep GPUs busy without that. An H200 has 2.7e5 lanes, and half of them may be under way. (Each
/// pair counts twice here.)
const ENOUGH: u128 = 1 << 19;

/// Approximate number of breakpoints of the longest function per piece.
const PIECE: usize = 1024;

/// The most pieces. A grid can't have twice as many.
const MOST_PIECES: usize = 1 << 15;

/// Of long functions, at most one breakpoint in this number is looked at for cuts: more of them cost the host time and make
/// cuts no better.
const SAMPLE: usize = 256;

/// Approximate number of breakpoints that are looked at for each piece, if there are so many.
const SAMPLES: usize = 32;

/// The times of the cuts, and the least length of functions whose merges are cut.
#[derive(Clone, Debug, PartialEq)]
pub struct Cuts<T> {
    longest: u32,
    times: Vec<T>,
}

impl<T: PcfReal> Cuts<T> {
    /// The cuts for matrices between these two sets, which may be the same. `None` if there is
    /// nothing to gain.
    pub fn of([rows, cols]: [&PcfSet<T>; 2]) -> Option<Self> {
        let longest = |set: &PcfSet<T>| set.offsets().windows(2).map(|pair| pair[1] - pair[0]).max();
        let most = longest(rows)?.max(longest(cols)?);
        let steps = |set: &PcfSet<T>, others: &PcfSet<T>| set.breakpoints() as u128 * others.len() as u128;
        if most <= NEVER || steps(rows, cols) + steps(cols, rows) >= ENOUGH * 2 * most as u128 {
            return None;
        }
        // Sampling one set twice would give the same quantiles.
        let sets = if rows.identity().is(cols.identity()) { &[rows][..] } else { &[rows, cols] };
        let mut long = Vec::new();
        for set in sets {
            let of_set = set.lengths().enumerate().filter(|&(_, points)| points > NEVER);
            long.extend(of_set.map(|(i, _)| set.get(i).points()));
        }
        let pieces = most.div_ceil(PIECE).min(MOST_PIECES);
        let breakpoints: usize = long.iter().map(|points| points.len()).sum();
        let step = (breakpoints / (SAMPLES * pieces)).max(SAMPLE);
        let samples = long.par_iter().enumerate().flat_map_iter(|(number, points)| {
            // The fractional parts of multiples of the golden ratio: functions of equal times have samples at others.
            let first = ((number as u32 + 1).wrapping_mul(0x9e37_79b9) as u64 * step as u64) >> 32;
            points.iter().skip(first as usize).step_by(step).map(|point| point.t)
        });
        let mut samples: Vec<T> = samples.collect();
        samples.par_sort_unstable_by(|a, b| a.to_f64().total_cmp(&b.to_f64()));
        // Times with about as many breakpoints of long functions between them.
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

    /// Number of pieces.
    pub fn pieces(&self) -> usize {
        self.times.len() - 1
    }

    /// Functions with more breakpoints are long.
    pub fn longest(&self) -> u32 {
        self.longest
    }

    /// Number of these functions that are long.
    pub fn long(&self, set: &PcfSet<T>, functions: &Range<usize>) -> usize {
        let offsets = &set.offsets()[functions.start..=functions.end];
        offsets.windows(2).filter(|pair| pair[1] - pair[0] > self.longest as usize).count()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::pcf::{Pcf, random};

    /// Merges of one long function with few others are cut, because they don't keep a GPU busy.
    #[test]
    fn few_long_merges_are_cut() {
        let set = |points: usize, others: usize| -> PcfSet<f32> {
            let function = |points: usize| Pcf::new((0..points).map(|k| (k as f32, 1.0))).unwrap();
            std::iter::once(points).chain(std::iter::repeat_n(1, others)).map(function).collect()
        };
        // (4097 + k) (1 + k) steps, twice, are as many as 2^20 times 4097 from here on.
        let enough = (0..).find(|k| (4097 + k) * (1 + k) >= (1 << 19) * 4097u64).unwrap() as usize;
        for (points, others, pieces) in [(4096, 1, None), (4097, 1, Some(5)), (4097, enough - 1, Some(5)), (4097, enough, None)] {
            let set = set(points, others);
            let cuts = Cuts::of([&set, &set]);
            assert_eq!(cuts.as_ref().map(Cuts::pieces), pieces, "{points}, {others}");
            assert!(cuts.is_none_or(|cuts| cuts.long(&set, &(0..set.len())) == 1));
        }
    }

    /// Each piece has about its share of the breakpoints: of few functions and many, of one set and two, of equal times too.
    #[test]
    fn pieces_are_alike() {
        let random = |count| random::uniform::<f64>(count, 12_000, count as u64).unwrap();
        let equal =
            |count| -> PcfSet<f64> { (0..count).map(|_| Pcf::new((0..12_288).map(|k| (k as f64, 1.0))).unwrap()).collect() };
        for sets in [[random(2), random(1)], [random(30), random(1)], [equal(30), equal(1)], [equal(30), random(3)]] {
            for [rows, cols] in [[&sets[0], &sets[0]], [&sets[0], &sets[1]]] {
                let cuts = Cuts::of([rows, cols]).unwrap();
                let points = [rows, cols].into_iter().flat_map(|set| set.iter()).flat_map(|f| f.points().iter());
                let mut all: Vec<f64> = points.map(|point| point.t).collect();
                all.sort_by(f64::total_cmp);
                let before = |time: f64| all.partition_point(|&other| other < time);
                let share = all.len() as f64 / cuts.pieces() as f64;
                for piece in cuts.times().windows(2) {
                    let within = (before(piece[1]) - before(piece[0])) as f64;
                    assert!((0.5..1.6).contains(&(within / share)), "{within}, {share}, {piece:?}");
                }
            }
        }
    }
}
