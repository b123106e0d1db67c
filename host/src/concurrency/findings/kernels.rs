//! Kernels against each other: reductions, places in memory, phases.

use serde::Serialize;

use super::{At, furthest, range};
use crate::concurrency::kernels::{Placement, Reduction};
use crate::concurrency::measure::Spread;
use crate::concurrency::study::{BatchRow, Study};
use crate::concurrency::work::CLIP;

/// What reductions cost: multiples of times at a number of threads.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Reductions {
    /// Of that which differs most from no reduction at all; none where none does by more than runs differ.
    pub against_none: Option<(Reduction, At)>,
    /// The largest share of a launch that one is, of those that take longer than none by more than runs differ; 0 where
    /// none does.
    pub share: f64,
    /// Of that which differs most from the notebook's tree; none where none does by more than runs differ.
    pub against_tree: Option<(Reduction, At)>,
}

/// Each reduction's time, with its row.
fn reductions(study: &Study) -> impl Iterator<Item = (&BatchRow, Reduction, Spread)> {
    let all = study
        .batch
        .iter()
        .flat_map(|row| Reduction::ALL.into_iter().zip(&row.reductions).map(move |(reduction, time)| (row, reduction, *time)));
    all.filter(|(_, reduction, _)| *reduction != Reduction::Separate)
}

impl Reductions {
    pub(super) fn of(study: &Study) -> Option<Self> {
        study.batch.first()?;
        let none = |row: &BatchRow| row.reductions.last().copied().unwrap_or_default();
        let largest = |reference: fn(&BatchRow) -> Spread| {
            let times = reductions(study).map(|(row, reduction, time)| ((reduction, row.threads), reference(row), time));
            let ((reduction, n), value) = furthest(times)?;
            Some((reduction, At { n, value }))
        };
        let times = reductions(study).map(|(row, _, time)| (none(row), time));
        let longer = times.filter(|(none, time)| none.max < time.min);
        Some(Reductions {
            against_none: largest(none),
            share: longer.map(|(none, time)| 1.0 - none.median / time.median).fold(0.0, f64::max),
            against_tree: largest(BatchRow::one_phase),
        })
    }
}

/// The pieces in one place, against global memory, over all numbers of threads.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Places {
    /// The place.
    pub placement: Placement,
    /// The least and the largest multiple of the time with global memory.
    pub times: (f64, f64),
    /// Numbers of threads.
    pub rows: usize,
    /// Those for which times differ by more than runs do.
    pub apart: usize,
    /// Those for which it takes longer by more than runs differ.
    pub slower: usize,
    /// The largest multiple of those; 1 where there is none.
    pub slowest: f64,
    /// The multiple with the most threads; none where it is within what runs differ by.
    pub last: Option<f64>,
}

impl Places {
    /// Of each place but global memory.
    pub(super) fn of(study: &Study) -> Vec<Self> {
        let of = |(index, placement)| {
            let both = |row: &BatchRow| row.placements.first().copied().zip(row.placements.get(index).copied());
            let times: Vec<(Spread, Spread)> = study.batch.iter().filter_map(both).collect();
            let ratio = |(global, other): &(Spread, Spread)| other.median / global.median;
            let slower = || times.iter().filter(|(global, other)| global.max < other.min);
            Some(Places {
                placement,
                times: range(times.iter().map(ratio)),
                rows: times.len(),
                apart: times.iter().filter(|(global, other)| global.is_apart_from(other)).count(),
                slower: slower().count(),
                slowest: slower().map(ratio).fold(1.0, f64::max),
                last: Some(times.last()?).filter(|(global, other)| global.is_apart_from(other)).map(ratio),
            })
        };
        Placement::ALL.into_iter().enumerate().skip(1).filter_map(of).collect()
    }
}

/// One phase against two.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Phases {
    /// The most threads, and poses of the first list.
    pub threads: usize,
    /// Pieces that one phase turns with them.
    pub one_turns: u64,
    /// Pieces that two phases turn with them.
    pub two_turn: u64,
    /// The least and the largest multiple of two phases' time that one takes.
    pub times: (f64, f64),
    /// The largest of those above 1 that are apart by more than runs differ; 1 where none is.
    pub gain: f64,
    /// The share of one phase's arithmetic that is intersecting, by the instructions in the source.
    pub clips: f64,
    /// The time of the library's own evaluator with the most threads' poses, in milliseconds.
    pub engine_ms: f64,
    /// The same as a multiple of that of two phases; none where one isn't known.
    pub engine: Option<f64>,
}

impl Phases {
    pub(super) fn of(study: &Study) -> Option<Self> {
        let last = study.batch.last()?;
        let ratio = |row: &BatchRow| row.one_phase().median / row.two_phase.median;
        let apart = study.batch.iter().filter(|row| row.one_phase().is_apart_from(&row.two_phase));
        let engine = last.engine.median / last.two_phase.median;
        Some(Phases {
            threads: last.threads,
            one_turns: last.work.one_phase_transforms,
            two_turn: last.work.two_phase_transforms,
            times: range(study.batch.iter().map(ratio)),
            gain: apart.map(ratio).fold(1.0, f64::max),
            clips: last.work.clips as f64 * CLIP / last.work.one_phase_instructions(),
            engine_ms: last.engine.median,
            engine: Some(engine).filter(|engine| engine.is_finite() && *engine > 0.0),
        })
    }
}
