//! The time until a search knows a fast schedule.

use serde::Serialize;

use crate::design_rules::measure::{ONE_SIDED, Run, Runs};
use crate::design_rules::{Class, Labels};

/// How long it took to know a schedule of the fastest class.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Answer {
    /// How many schedules had been tried.
    pub iterations: usize,
    /// How long that took, in seconds, where the runs have it.
    pub seconds: Option<f64>,
}

impl Answer {
    /// By the classes of all runs, with the first that then was in the fastest one with a confidence of 95 %: its time and
    /// 1.645 standard errors are below the class's bound. None where there is one class alone, where no run is so sure, and
    /// where nothing is known of the noise.
    pub fn of(runs: &Runs, labels: &Labels) -> Option<Self> {
        if labels.count() < 2 {
            return None;
        }
        let bound = labels.bounds(Class::from_index(0))[1].ln();
        let rows: Vec<Option<&Run>> = {
            let mut timed = runs.runs.iter();
            runs.rows().map(|(seconds, _)| seconds.and_then(|_| timed.next())).collect()
        };
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
