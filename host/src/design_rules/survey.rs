//! Measures all schedules of a program, several times over.

use std::ops::ControlFlow;

use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::{RngCore as _, SeedableRng as _};

use super::schedule::Schedules;
use super::{Platform, RulesError, Run, Schedule};

/// The times of all schedules of a program, in passes, each in an order of its own: what disturbs the machine for a while then falls
/// on schedules at random, and a schedule's median over the passes is hardly disturbed.
#[derive(Clone, Debug)]
pub struct Survey {
    schedules: Vec<Schedule>,
    /// By schedule, then by pass; in seconds.
    times: Vec<Vec<f64>>,
}

impl Survey {
    /// Of all schedules of the platform's program on at most so many streams. Nothing is measured yet.
    ///
    /// # Errors
    /// [`RulesError::Streams`].
    pub fn new(platform: &dyn Platform, streams: usize) -> Result<Self, RulesError> {
        let schedules: Vec<_> = Schedules::new(platform.dag(), streams)?.collect();
        let times = vec![Vec::new(); schedules.len()];
        Ok(Survey { schedules, times })
    }

    /// How many schedules there are.
    pub fn len(&self) -> usize {
        self.schedules.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.schedules.is_empty()
    }

    /// Measures each schedule once more, in an order that `seed` settles. `each` is called after each and may end the pass.
    ///
    /// # Errors
    /// What the platform says.
    pub fn pass(
        &mut self,
        platform: &mut dyn Platform,
        seed: u64,
        mut each: impl FnMut() -> ControlFlow<()>,
    ) -> Result<ControlFlow<()>, RulesError> {
        let mut random = ChaCha8Rng::seed_from_u64(seed);
        let mut order: Vec<_> = (0..self.schedules.len()).collect();
        for last in (1..order.len()).rev() {
            order.swap(last, (random.next_u64() % (last as u64 + 1)) as usize);
        }
        for index in order {
            self.times[index].push(platform.measure(&self.schedules[index])?);
            if each().is_break() {
                return Ok(ControlFlow::Break(()));
            }
        }
        Ok(ControlFlow::Continue(()))
    }

    /// The schedules that were measured, with their median times, in the order of [`Schedules`].
    pub fn runs(&self, platform: &dyn Platform) -> Vec<Run> {
        let measured = self.schedules.iter().zip(&self.times).filter(|(_, times)| !times.is_empty());
        let run = |(schedule, times): (&Schedule, &Vec<f64>)| {
            let text = schedule.text(platform.dag());
            Run { seconds: median(times), traversal: text.parse().expect("a schedule's text is a traversal") }
        };
        measured.map(run).collect()
    }

    /// The times of each schedule by pass, in seconds, in the order of [`Schedules`].
    pub fn times(&self) -> &[Vec<f64>] {
        &self.times
    }

    /// How far a schedule's passes lie apart: the median over schedules of (greatest - least) / median.
    pub fn spread(&self) -> f64 {
        let spread = |times: &Vec<f64>| {
            let (least, greatest) = times.iter().fold((f64::MAX, 0.0), |(a, b), &t| (t.min(a), t.max(b)));
            (greatest - least) / median(times)
        };
        let all: Vec<_> = self.times.iter().filter(|times| times.len() > 1).map(spread).collect();
        if all.is_empty() { 0.0 } else { median(&all) }
    }
}

/// The middle value, or the mean of both; there is at least one.
fn median(values: &[f64]) -> f64 {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    let middle = sorted.len() / 2;
    if sorted.len() % 2 == 1 { sorted[middle] } else { 0.5 * (sorted[middle - 1] + sorted[middle]) }
}
