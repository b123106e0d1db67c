//! Which resource is the limit.

use serde::Serialize;

use crate::concurrency::study::{StreamsRow, Study};
use crate::concurrency::work::Work;

/// From this share of what can be started, the double-precision units are the limit.
const FULL: f64 = 0.6;

/// How busy launches keep their part of the device, in double-precision instructions.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Use {
    /// Per second, for lanes that have something to do.
    pub useful: f64,
    /// The same, with those of lanes that wait for others of their warp.
    pub issued: f64,
    /// These as a share of what the multiprocessors with a block can start; none where that is unknown.
    pub share: Option<f64>,
}

/// What holds threads up.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Bound {
    /// The double-precision units have all they can do.
    Units,
    /// Each thread's operations wait for each other.
    Chains,
}

/// Where a launch reads from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Source {
    /// Caches of unknown size.
    Unknown,
    /// Caches that hold all of it.
    Caches,
    /// Memory: it is larger than the caches.
    Memory,
}

/// What a launch with the most threads reads.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Reads {
    /// All that there is to read, in bytes.
    pub bytes: usize,
    /// Bytes that threads ask for, all together.
    pub requested: u64,
    /// The same per second.
    pub requested_per_s: f64,
    /// Where it is.
    pub source: Source,
}

/// The limit of a launch with the most threads.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Limit {
    /// Its threads.
    pub threads: usize,
    /// Its blocks.
    pub blocks: usize,
    /// How busy it is.
    pub of_launch: Use,
    /// What that makes the limit; none on the CPU, and where what can be started is unknown.
    pub bound: Option<Bound>,
    /// Blocks at a time that do most per second in the experiment with streams, and how busy they are; none where that
    /// is unknown.
    pub of_blocks: Option<(usize, Use)>,
}

impl Use {
    fn of(study: &Study, work: &Work, blocks: usize, launches: f64, ms: f64) -> Option<Self> {
        if ms.is_nan() || ms <= 0.0 || work.candidates == 0 {
            return None;
        }
        let facts = &study.device;
        let useful = launches * work.one_phase_instructions() / (1e-3 * ms);
        let lanes = if facts.is_gpu() { (32 * work.warp_steps) as f64 / work.candidates as f64 } else { 1.0 };
        let issued = useful * lanes;
        let of_one = facts.fp64_lanes.zip(facts.clock_mhz).map(|(lanes, mhz)| f64::from(lanes) * mhz * 1e6);
        let peak = of_one.map(|of_one| of_one * (blocks as f64).min(f64::from(facts.multiprocessors)));
        Some(Use { useful, issued, share: peak.map(|peak| issued / peak) })
    }
}

impl Reads {
    pub(super) fn of(study: &Study) -> Option<Self> {
        let row = study.batch.last()?;
        let bytes = 24 * (row.threads + study.options.poses) + 64 * study.pieces;
        let requested = 24 * row.work.comparisons + 64 * row.work.one_phase_transforms;
        let source = match study.device.l2_bytes {
            0 => Source::Unknown,
            held if bytes <= held => Source::Caches,
            _ => Source::Memory,
        };
        Some(Reads { bytes, requested, requested_per_s: requested as f64 / (1e-3 * row.one_phase().median), source })
    }
}

impl Limit {
    pub(super) fn of(study: &Study) -> Option<Self> {
        let row = study.batch.last()?;
        let of_launch = Use::of(study, &row.work, row.blocks, 1.0, row.one_phase().median)?;
        let bound = of_launch.share.filter(|_| study.device.is_gpu());
        let rate = |row: &StreamsRow| row.streams as f64 / row.blocks_ms.median;
        let of_blocks = study.streams.iter().max_by(|a, b| rate(a).total_cmp(&rate(b))).and_then(|best| {
            let launches = (best.streams * study.options.iterations) as f64;
            Some((best.streams, Use::of(study, &study.stream_work, best.streams, launches, best.blocks_ms.median)?))
        });
        Some(Limit {
            threads: row.threads,
            blocks: row.blocks,
            of_launch,
            bound: bound.map(|share| if share >= FULL { Bound::Units } else { Bound::Chains }),
            of_blocks,
        })
    }
}
