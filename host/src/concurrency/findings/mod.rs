//! What the figures show: ratios, shares, and what follows from comparing them.
//!
//! Nothing is known beforehand: what is said of a cause is what other figures of the same study say. A difference
//! within the spread of runs is none.

mod claims;
mod fit;
mod kernels;
mod limit;
mod streams;
mod threads;

use serde::Serialize;

use super::measure::Spread;
use super::study::Study;

pub use claims::{Claim, Statement, Verdict};
pub use fit::Fit;
pub use kernels::{Phases, Places, Reductions};
pub use limit::{Bound, Limit, Reads, Source, Use};
pub use streams::{Growth, Hold, Launches, Streams};
pub use threads::{FixedWork, Follows, Measure, Threads, Warps};

/// Growth by this share of the ideal, or more, counts as growth in proportion.
const IN_PROPORTION: f64 = 0.8;

/// Ratios that vary by no more than this factor count as constant.
const CONSTANT: f64 = 1.25;

/// Below this factor a gain counts as none.
const GAIN: f64 = 1.2;

/// Half of the range of a median, as a share of it, beyond which a study says that it was disturbed.
const DISTURBED: f64 = 0.1;

/// What a study's figures show, one experiment after the other.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Findings {
    /// Medians that mean little; none where all runs are much alike.
    pub spread: Option<Disturbed>,
    /// From the fewest streams to the most; none with one number of streams.
    pub streams: Option<Streams>,
    /// What launching costs, and what graphs help; none without streams.
    pub launches: Option<Launches>,
    /// From the fewest threads to the most; none with one number of threads.
    pub threads: Option<Threads>,
    /// As many comparisons by ever more threads, for each number of comparisons.
    pub fixed_work: Vec<FixedWork>,
    /// What reductions cost; none without threads.
    pub reductions: Option<Reductions>,
    /// Each place of the pieces but global memory.
    pub places: Vec<Places>,
    /// One phase against two; none without threads.
    pub phases: Option<Phases>,
    /// Which resource is the limit of a launch; none where it has nothing to intersect.
    pub limit: Option<Limit>,
    /// What a launch reads; none without threads.
    pub reads: Option<Reads>,
    /// What the figures make of the notebook's statements.
    pub claims: Vec<Claim>,
}

/// A figure at a number of streams or threads.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct At {
    /// The number.
    pub n: usize,
    /// The figure.
    pub value: f64,
}

/// Runs that differ so much that little can be told from them.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Disturbed {
    /// How many medians are of such runs.
    pub disturbed: usize,
    /// Of how many.
    pub medians: usize,
    /// Half of the range of such runs, as a share of their median, is larger than this.
    pub beyond: f64,
    /// The largest.
    pub most: f64,
}

/// What a study's figures show.
pub fn findings(study: &Study) -> Findings {
    let mut findings = Findings {
        spread: Disturbed::of(study),
        streams: Streams::of(study),
        launches: Launches::of(study),
        threads: Threads::of(study),
        fixed_work: study.fixed.iter().filter_map(FixedWork::of).collect(),
        reductions: Reductions::of(study),
        places: Places::of(study),
        phases: Phases::of(study),
        limit: Limit::of(study),
        reads: Reads::of(study),
        claims: Vec::new(),
    };
    findings.claims = findings.judge(study.device.is_gpu());
    findings
}

impl Disturbed {
    fn of(study: &Study) -> Option<Self> {
        let of_batch =
            study.batch.iter().flat_map(|row| row.reductions.iter().chain(&row.placements).chain([&row.turned, &row.two_phase]));
        let all = of_batch.chain(study.fixed.iter().flat_map(|fixed| &fixed.rows).map(|row| &row.ms));
        let shares: Vec<f64> = all.map(|spread| 0.5 * (spread.max - spread.min) / spread.median).collect();
        let disturbed = shares.iter().filter(|&&share| share > DISTURBED).count();
        let most = shares.iter().copied().fold(0.0, f64::max);
        (disturbed > 0).then_some(Disturbed { disturbed, medians: shares.len(), beyond: DISTURBED, most })
    }
}

/// Of times that are apart from their references, that whose ratio is furthest from 1, either way, and the ratio.
fn furthest<T>(times: impl Iterator<Item = (T, Spread, Spread)>) -> Option<(T, f64)> {
    let away = |ratio: f64| ratio.max(1.0 / ratio);
    let apart = times.filter(|(_, reference, other)| reference.is_apart_from(other));
    let ratios = apart.map(|(what, reference, other)| (what, other.median / reference.median));
    ratios.reduce(|most, next| if away(next.1) > away(most.1) { next } else { most })
}

/// The least and the largest.
fn range(values: impl Iterator<Item = f64>) -> (f64, f64) {
    values.fold((f64::INFINITY, 0.0), |(least, most), value| (least.min(value), most.max(value)))
}
