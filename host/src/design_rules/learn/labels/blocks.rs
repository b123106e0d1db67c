//! Bayesian Blocks: the density of times as a step function (Scargle, Norris, Jackson and Chiang, *Studies in
//! Astronomical Time Series Analysis VI*, 2013).

use serde::Serialize;

/// False-alarm rate of a change in density, for which the penalty is calibrated (Scargle's).
const FALSE_ALARMS: f64 = 0.05;
/// Maximum number of bins, because the method takes quadratic time. A wider range of times gets
/// wider bins.
const MOST_BINS: usize = 4096;

/// A range of sorted times with about the same density.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[non_exhaustive]
pub struct Block {
    /// Index of its first run in the sorted times.
    pub start: usize,
    /// Number of runs, which may be 0.
    pub runs: usize,
    /// Bounds, in seconds.
    pub range: [f64; 2],
    /// Number of runs per factor e of time.
    pub density: f64,
}

/// Divides ascending times into blocks, given the logarithms of all but the first `zeros` times, which
/// are 0. Without logarithms there are no blocks.
///
/// The logarithms are counted in bins as wide as `resolution`. The result is the
/// division of the bins with the greatest Poisson likelihood, minus a penalty per block (Scargle's
/// equations 19 and 21).
pub(super) fn blocks(logarithms: &[f64], zeros: usize, resolution: f64) -> Vec<Block> {
    let (Some(&first), Some(&last)) = (logarithms.first(), logarithms.last()) else { return Vec::new() };
    let width = resolution.max((last - first) / (MOST_BINS - 2) as f64);
    let low = first - width / 2.0;
    // Index of the first run of each bin.
    let bins = ((last - low) / width) as usize + 1;
    let mut starts = vec![0; bins + 1];
    starts[0] = zeros;
    for logarithm in logarithms {
        starts[((logarithm - low) / width) as usize + 1] += 1;
    }
    (0..bins).for_each(|bin| starts[bin + 1] += starts[bin]);

    let penalty = 4.0 - (73.53 * FALSE_ALARMS * (logarithms.len() as f64).powf(-0.478)).ln();
    let fitness = |from: usize, to: usize| {
        let runs = (starts[to] - starts[from]) as f64;
        if runs > 0.0 { runs * (runs / (to - from) as f64).ln() } else { 0.0 }
    };
    // For the first `to` bins: the best value of a division, and the start of its last block.
    let mut best = vec![(0.0, 0)];
    for to in 1..=bins {
        let values = (0..to).map(|from| (best[from].0 + fitness(from, to) - penalty, from));
        best.push(values.reduce(|a, b| if b.0 > a.0 { b } else { a }).expect("there is a bin"));
    }
    let mut blocks = Vec::new();
    let mut to = bins;
    while to > 0 {
        let from = best[to].1;
        let runs = starts[to] - starts[from];
        let range = [from, to].map(|bin| (low + bin as f64 * width).exp());
        blocks.push(Block { start: starts[from], runs, range, density: runs as f64 / ((to - from) as f64 * width) });
        to = from;
    }
    blocks.reverse();
    blocks
}

/// Returns the indices of the sorted times at which classes after the first start: the widest gap,
/// as a ratio, in each valley between two peaks of the density.
pub(super) fn valleys(sorted: &[f64], blocks: &[Block]) -> Vec<usize> {
    let density = |block: usize| blocks[block].density;
    let is_peak = |&block: &usize| {
        (block == 0 || density(block - 1) < density(block)) && (block + 1 == blocks.len() || density(block + 1) < density(block))
    };
    let peaks: Vec<usize> = (0..blocks.len()).filter(is_peak).collect();
    let start = |pair: &[usize]| {
        let valley = (pair[0] + 1..pair[1]).min_by(|&a, &b| density(a).total_cmp(&density(b)))?;
        let Block { start, runs, .. } = blocks[valley];
        // Gaps from the last run before the valley to the first one after it.
        let ratio = |&place: &usize| sorted[place] / sorted[place - 1];
        (start..=start + runs).min_by(|a, b| ratio(b).total_cmp(&ratio(a)))
    };
    peaks.windows(2).filter_map(start).collect()
}
