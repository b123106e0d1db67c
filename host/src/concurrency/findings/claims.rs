//! The notebook's statements.

use serde::Serialize;

use super::{Findings, GAIN, IN_PROPORTION, Measure, Source};
use crate::concurrency::kernels::Placement;

/// Whether figures bear a statement out.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Verdict {
    /// They do.
    Supported,
    /// They do, but it explains a small part only.
    Partly,
    /// They show the contrary.
    Refuted,
    /// They show neither.
    Open,
}

/// A statement of the notebook's.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Statement {
    /// The problem isn't that the GPU is empty: more threads only make it slower.
    Full,
    /// The barriers of the reduction cost most of the time.
    Barriers,
    /// Memory bandwidth is saturated.
    Bandwidth,
    /// Constant memory makes it slower.
    Constant,
    /// Turning the pieces again for each comparison is what costs.
    Turning,
    /// A launch takes longer with more threads, as each does work that is redundant.
    Redundant,
}

/// What the figures make of a statement.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Claim {
    /// The statement.
    pub statement: Statement,
    /// Whether it holds here.
    pub verdict: Verdict,
}

impl Findings {
    /// The findings of one place of the pieces.
    pub fn place(&self, placement: Placement) -> Option<&super::Places> {
        self.places.iter().find(|places| places.placement == placement)
    }

    /// The statements that these findings say something of.
    pub(super) fn judge(&self, is_gpu: bool) -> Vec<Claim> {
        let full = self.streams.filter(|_| is_gpu).map(|streams| {
            let ideal = streams.most.n as f64 / streams.fewest.n as f64;
            match streams.blocks_gain {
                gain if gain >= IN_PROPORTION * ideal => Verdict::Refuted,
                GAIN.. => Verdict::Partly,
                _ => Verdict::Supported,
            }
        });
        let barriers = self.reductions.map(|reductions| match reductions.share {
            0.5.. => Verdict::Supported,
            0.05.. => Verdict::Partly,
            _ => Verdict::Refuted,
        });
        let bandwidth = self.reads.map(|reads| match self.place(Placement::Shared).and_then(|shared| shared.last) {
            _ if reads.source != Source::Caches => Verdict::Open,
            Some(ratio) if ratio < 1.0 / GAIN => Verdict::Partly,
            _ => Verdict::Refuted,
        });
        let constant = self.place(Placement::Constant).map(|constant| match constant.slower {
            0 => Verdict::Refuted,
            slower if 2 * slower > constant.rows && constant.slowest >= 1.05 => Verdict::Supported,
            _ => Verdict::Partly,
        });
        let gain = self.phases.map(|phases| phases.gain);
        let turning = gain.map(|gain| match gain {
            2.0.. => Verdict::Supported,
            1.05.. => Verdict::Partly,
            _ => Verdict::Refuted,
        });
        let redundant = self.threads.zip(gain).map(|(threads, gain)| match threads.follows.measure {
            _ if !threads.follows.in_proportion => Verdict::Open,
            Measure::LongestThread | Measure::LongestWarp => Verdict::Refuted,
            // That what is redundant takes the time would show in two phases being faster.
            _ if gain >= 2.0 => Verdict::Supported,
            _ => Verdict::Partly,
        });
        let all = [
            (Statement::Full, full),
            (Statement::Barriers, barriers),
            (Statement::Bandwidth, bandwidth),
            (Statement::Constant, constant),
            (Statement::Turning, turning),
            (Statement::Redundant, redundant),
        ];
        all.into_iter().filter_map(|(statement, verdict)| Some(Claim { statement, verdict: verdict? })).collect()
    }
}
