//! Steps of times whose noise is known: gaps that neither the noise nor chance explains.
//!
//! In: ascending logarithms of times. Out: the indices of the first run after each step.

/// Least number of runs on either side of a step. Fewer are outliers.
const LEAST_RUNS: usize = 3;
/// Greatest probability that chance leaves such a gap among the runs on one side.
const CHANCE: f64 = 0.2;
/// Difference of logarithms below which times are equal: they may differ by the order of summation.
const EQUAL: f64 = 1e-9;

/// Successive runs without a step between them.
struct Part {
    start: usize,
    end: usize,
    /// Number of runs, without outliers.
    runs: usize,
    /// Number of their different times.
    different: usize,
    /// Difference of the logarithms of their greatest and their least time.
    width: f64,
}

impl Part {
    fn of(sorted: &[f64], start: usize, end: usize) -> Self {
        let different = sorted[start..end].chunk_by(|a, b| b - a <= EQUAL).count();
        Part { start, end, runs: end - start, different, width: sorted[end - 1] - sorted[start] }
    }

    /// Returns the most that the probability can be that chance leaves such a gap beside these runs. If n different
    /// times are spread evenly, the share that one gap has of n gaps exceeds s with a probability of (1 - s)^(n - 1),
    /// and the largest of them with at most n times that. Beside equal times, any gap is a step.
    fn chance(&self, gap: f64) -> f64 {
        match (self.runs, self.different) {
            (..LEAST_RUNS, _) => 1.0,
            (_, 1) => 0.0,
            (_, different) => {
                let n = different as f64;
                n * (self.width / (self.width + gap)).powf(n - 1.0)
            }
        }
    }
}

/// Returns the starts after steps: gaps wider than `least` that chance doesn't explain on either side.
///
/// First, each gap wider than `least` is a step. Then the step that chance explains best is removed, and
/// so on.
pub(super) fn steps(sorted: &[f64], least: f64) -> Vec<usize> {
    let mut parts = Vec::new();
    let mut start = 0;
    for near in sorted.chunk_by(|a, b| b - a <= least) {
        parts.push(Part::of(sorted, start, start + near.len()));
        start += near.len();
    }
    let gap = |pair: &[Part]| sorted[pair[1].start] - sorted[pair[0].end - 1];
    let chance = |pair: &[Part]| pair[0].chance(gap(pair)).max(pair[1].chance(gap(pair)));
    loop {
        // The narrowest gap of equal chances.
        let likely = parts
            .windows(2)
            .enumerate()
            .max_by(|(_, a), (_, b)| chance(a).total_cmp(&chance(b)).then_with(|| gap(b).total_cmp(&gap(a))));
        let Some((place, pair)) = likely.filter(|(_, pair)| chance(pair) > CHANCE) else { break };
        let (first, second) = (&pair[0], &pair[1]);
        let (start, end) = (first.start, second.end);
        let joined = match [first, second].map(|part| part.runs < LEAST_RUNS) {
            [false, true] => Part { start, end, ..*first },
            [true, false] => Part { start, end, ..*second },
            _ => Part::of(sorted, start, end),
        };
        parts.splice(place..place + 2, [joined]);
    }
    parts.iter().skip(1).map(|part| part.start).collect()
}
