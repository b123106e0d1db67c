//! Numbers of threads, and what there is to do.

use serde::Serialize;

use super::{At, CONSTANT, Fit, range};
use crate::concurrency::study::{BatchRow, Fixed, Study};
use crate::concurrency::work::Work;

/// What times may be in proportion to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Measure {
    /// The candidates of the busiest thread.
    LongestThread,
    /// The comparisons that the busiest warp goes through.
    LongestWarp,
    /// All candidates.
    Candidates,
    /// All comparisons.
    Comparisons,
}

impl Measure {
    const ALL: [Self; 4] = [Self::LongestThread, Self::LongestWarp, Self::Candidates, Self::Comparisons];

    /// How many of them there are.
    pub fn of(self, work: &Work) -> u64 {
        match self {
            Self::LongestThread => work.longest_thread,
            Self::LongestWarp => work.longest_warp,
            Self::Candidates => work.candidates,
            Self::Comparisons => work.comparisons,
        }
    }
}

/// How well times follow a measure.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Follows {
    /// The measure.
    pub measure: Measure,
    /// By how much times over the measure vary: the largest quotient over the least. Infinite where something isn't
    /// known.
    pub varies: f64,
    /// Whether that counts as in proportion.
    pub in_proportion: bool,
}

impl Follows {
    fn of(rows: &[(&Work, f64)], measure: Measure) -> Self {
        let (least, most) = range(rows.iter().map(|(work, ms)| ms / measure.of(work) as f64));
        let varies = if least > 0.0 && most.is_finite() { most / least } else { f64::INFINITY };
        Follows { measure, varies, in_proportion: varies <= CONSTANT }
    }

    /// Of the measure that times are most nearly in proportion to.
    fn best(rows: &[(&Work, f64)]) -> Self {
        let [first, others @ ..] = Measure::ALL.map(|measure| Self::of(rows, measure));
        others.into_iter().fold(first, |best, next| if next.varies < best.varies { next } else { best })
    }
}

/// From the fewest threads to the most.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Threads {
    /// Milliseconds of a launch with the fewest.
    pub few: At,
    /// The same with the most.
    pub many: At,
    /// How many times as long as with the fewest a comparison takes with the most.
    pub comparison: f64,
    /// Milliseconds by threads.
    pub fit: Option<Fit>,
    /// What times follow best.
    pub follows: Follows,
    /// With the most threads, milliseconds for each that the measure counts.
    pub each_ms: f64,
    /// How well they follow all comparisons; where these are what they follow best, the busiest thread's candidates.
    pub unlike: Follows,
    /// What becomes of warps; none on the CPU.
    pub warps: Option<Warps>,
}

/// What becomes of a warp's step as there are more lanes, and more warps.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Warps {
    /// Comparisons that the busiest warp goes through with the fewest threads, and with the most.
    pub steps: [u64; 2],
    /// Lanes that have something to do with the most threads, as a share.
    pub busy_lanes: f64,
    /// How many warps the most threads are.
    pub warps: usize,
    /// How many times as long as with one a step takes with so many; none where there is only one, or always more.
    pub slower: Option<f64>,
    /// Whether that counts as longer.
    pub compete: bool,
}

impl Threads {
    pub(super) fn of(study: &Study) -> Option<Self> {
        let [first, .., last] = study.batch.as_slice() else { return None };
        let ms = |row: &BatchRow| row.one_phase().median;
        let points: Vec<_> = study.batch.iter().map(|row| (row.threads as f64, ms(row))).collect();
        let times: Vec<_> = study.batch.iter().map(|row| (&row.work, ms(row))).collect();
        let follows = Follows::best(&times);
        let unlike = if follows.measure == Measure::Comparisons { Measure::LongestThread } else { Measure::Comparisons };

        let step = |row: &BatchRow| ms(row) / row.work.longest_warp.max(1) as f64;
        let one_warp = study.batch.iter().rfind(|row| row.threads <= 32).filter(|_| last.threads > 32);
        let slower = one_warp.map(|one_warp| step(last) / step(one_warp));
        let warps = Warps {
            steps: [first, last].map(|row| row.work.longest_warp),
            busy_lanes: last.work.busy_lanes,
            warps: last.threads.div_ceil(32),
            slower,
            compete: slower.is_some_and(|slower| slower > CONSTANT),
        };
        Some(Threads {
            few: At { n: first.threads, value: ms(first) },
            many: At { n: last.threads, value: ms(last) },
            comparison: ms(last) / ms(first) * first.work.comparisons as f64 / last.work.comparisons as f64,
            fit: Fit::linear(&points),
            follows,
            each_ms: ms(last) / follows.measure.of(&last.work) as f64,
            unlike: Follows::of(&times, unlike),
            warps: Some(warps).filter(|_| study.device.is_gpu()),
        })
    }
}

/// As many comparisons by ever more threads.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct FixedWork {
    /// How many comparisons.
    pub total: usize,
    /// Milliseconds with the fewest threads.
    pub few: At,
    /// The same with the number that takes least. Where that is the fewest, with the most.
    pub other: At,
    /// What times follow best.
    pub follows: Follows,
    /// How many of the measure there are for these two.
    pub steps: [u64; 2],
}

impl FixedWork {
    pub(super) fn of(fixed: &Fixed) -> Option<Self> {
        let [first, .., last] = fixed.rows.as_slice() else { return None };
        let best = fixed.rows.iter().min_by(|a, b| a.ms.median.total_cmp(&b.ms.median))?;
        let pair = [first, if best == first { last } else { best }];
        let times: Vec<_> = fixed.rows.iter().map(|row| (&row.work, row.ms.median)).collect();
        let follows = Follows::best(&times);
        let [few, other] = pair.map(|row| At { n: row.threads, value: row.ms.median });
        Some(FixedWork { total: fixed.total, few, other, follows, steps: pair.map(|row| follows.measure.of(&row.work)) })
    }
}
