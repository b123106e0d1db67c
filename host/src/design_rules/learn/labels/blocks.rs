//! Bayesian Blocks: the density of times as a step function (Scargle, Norris, Jackson and Chiang, *Studies in
//! Astronomical Time Series Analysis VI*, 2013).

use serde::Serialize;

/// The false-alarm rate of a change in density that the penalty is calibrated for: Scargle's.
const FALSE_ALARMS: f64 = 0.05;
/// The most bins: the method takes time by their square. Of a wider range, bins get wider.
const MOST_BINS: usize = 4096;

/// A stretch of sorted times of about one density.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[non_exhaustive]
pub struct Block {
    /// The place of its first run among the sorted times.
    pub start: usize,
    /// How many runs it has; may be none.
    pub runs: usize,
    /// Its ends, in seconds.
    pub range: [f64; 2],
    /// Runs per factor e of time.
    pub density: f64,
}

/// The blocks of ascending times in seconds, of which there is at least one, all finite and not negative.
///
/// The logarithms of the times are counted in bins as wide as `resolution`. Of all ways to divide the bins, the one is
/// taken whose Poisson likelihood, less a penalty per block, is greatest (Scargle's equations 19 and 21). A time of 0
/// counts as the least that is more.
pub(super) fn blocks(sorted: &[f64], resolution: f64) -> Vec<Block> {
    let least = sorted.iter().copied().find(|&time| time > 0.0).unwrap_or(1.0);
    let logarithm = |time: f64| time.max(least).ln();
    let (first, last) = (logarithm(sorted[0]), logarithm(sorted[sorted.len() - 1]));
    let width = resolution.max((last - first) / (MOST_BINS - 2) as f64);
    let low = first - width / 2.0;
    // Where each bin's runs start.
    let bins = ((last - low) / width) as usize + 1;
    let mut starts = vec![0; bins + 1];
    for &time in sorted {
        starts[((logarithm(time) - low) / width) as usize + 1] += 1;
    }
    (0..bins).for_each(|bin| starts[bin + 1] += starts[bin]);

    let penalty = 4.0 - (73.53 * FALSE_ALARMS * (sorted.len() as f64).powf(-0.478)).ln();
    let fitness = |from: usize, to: usize| {
        let runs = (starts[to] - starts[from]) as f64;
        if runs > 0.0 { runs * (runs / (to - from) as f64).ln() } else { 0.0 }
    };
    // Of the first bins: the best value of a division, and where its last block starts.
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

/// The places in the sorted times where classes start, but for the first: at the widest gap, as a ratio, of each valley
/// between two peaks of the density.
pub(super) fn valleys(sorted: &[f64], blocks: &[Block]) -> Vec<usize> {
    let density = |block: usize| blocks[block].density;
    let is_peak = |&block: &usize| {
        (block == 0 || density(block - 1) < density(block)) && (block + 1 == blocks.len() || density(block + 1) < density(block))
    };
    let peaks: Vec<usize> = (0..blocks.len()).filter(is_peak).collect();
    let start = |pair: &[usize]| {
        let valley = (pair[0] + 1..pair[1]).min_by(|&a, &b| density(a).total_cmp(&density(b)))?;
        let Block { start, runs, .. } = blocks[valley];
        // From the last run in front of it to the first behind it. A time of 0 is below all others.
        let ratio = |&place: &usize| if sorted[place - 1] > 0.0 { sorted[place] / sorted[place - 1] } else { f64::INFINITY };
        (start..=start + runs).min_by(|a, b| ratio(b).total_cmp(&ratio(a)))
    };
    peaks.windows(2).filter_map(start).collect()
}
