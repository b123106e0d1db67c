//! The time until a search knows a fast schedule.

use serde::Serialize;

use crate::design_rules::measure::{ONE_SIDED, Run, Runs};
use crate::design_rules::{Class, Labels};

/// The effort until a schedule of the fastest class was known.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Answer {
    /// Number of schedules tried until then.
    pub iterations: usize,
    /// Time until then, in seconds, if the runs have it.
    pub seconds: Option<f64>,
}

impl Answer {
    /// Finds the first schedule that was known, with 95 % confidence, to be of the fastest class:
    /// its time plus 1.645 standard errors was below the class's bound. `None` if there is only one
    /// class, if no run is so sure, or if the noise is unknown.
    pub fn of(runs: &Runs, labels: &Labels) -> Option<Self> {
        if labels.count() < 2 {
            return None;
        }
        let bound = labels.bounds(Class::from_index(0))[1].ln();
        let rows: Vec<Option<&Run>> = runs.rows().map(|(run, _)| run).collect();
        rows.iter().enumerate().find_map(|(iteration, run)| {
            let run = (*run)?;
            let noise = run.noise.or(runs.about.noise)?;
            // Some measurements may have come later, behind those of others.
            let next = rows[iteration + 1..].iter().flatten().find_map(|run| run.times.first());
            let then = run.times.iter().take_while(|time| next.is_none_or(|next| time.at < next.at)).count().max(1);
            let noise = noise * (run.times.len().max(1) as f64 / then as f64).sqrt();
            let is_sure = run.seconds.max(f64::MIN_POSITIVE).ln() + ONE_SIDED * noise < bound;
            is_sure.then(|| Answer { iterations: iteration + 1, seconds: run.times.get(then - 1).map(|time| time.at) })
        })
    }
}
