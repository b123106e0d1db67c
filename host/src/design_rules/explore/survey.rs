//! Measures all schedules of a program, several times over.

use std::ops::ControlFlow;

use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::SeedableRng as _;

use crate::design_rules::measure::{deviation, noise_of};
use crate::design_rules::schedule::Space;
use crate::design_rules::statistics::{percentile, shuffled};
use crate::design_rules::{Dag, RulesError, Run, Schedule};

/// Number of measurements before one, and behind it, from which the machine's slowness at that
/// moment is estimated.
const NEIGHBOURS: usize = 4;
/// Number of times that schedules and drift are estimated in turns. Estimates settle after about
/// three.
const TURNS: usize = 4;

/// The times of all schedules of a program, in passes, each in an order of its own: what disturbs the machine for a
/// while then falls on schedules at random.
///
/// Disturbances of a machine often last longer than a measurement: neighbours on a host, clocks,
/// temperatures. So a measured time is modelled as the product of three factors: the schedule's
/// time, the machine's slowness at that moment, and chance. The slowness is the median of how much
/// slower than their schedules the neighbouring measurements were. The schedule's time is the
/// median over passes once the slowness is divided out. Both are estimated in turns.
#[derive(Clone, Debug)]
pub(super) struct Survey {
    dag: Dag,
    schedules: Vec<Schedule>,
    /// By schedule, then by pass; in seconds.
    times: Vec<Vec<f64>>,
    /// By pass: schedules in the order of measurement.
    orders: Vec<Vec<usize>>,
}

impl Survey {
    /// A survey of all schedules of a space of a program on at most this many streams. Nothing is measured yet.
    pub fn new(space: Space, dag: &Dag, streams: usize) -> Result<Self, RulesError> {
        let schedules: Vec<_> = space.schedules(dag, streams)?.collect();
        let times = vec![Vec::new(); schedules.len()];
        Ok(Survey { dag: dag.clone(), schedules, times, orders: Vec::new() })
    }

    /// Returns the number of schedules.
    pub fn len(&self) -> usize {
        self.schedules.len()
    }

    /// Measures each schedule once more, by `measure`, in an order that depends on `seed` alone. `each` is called after
    /// each measurement and may end the pass.
    pub fn pass(
        &mut self,
        seed: u64,
        mut measure: impl FnMut(&Schedule) -> Result<f64, RulesError>,
        mut each: impl FnMut() -> ControlFlow<()>,
    ) -> Result<ControlFlow<()>, RulesError> {
        let order = shuffled(self.schedules.len(), &mut ChaCha8Rng::seed_from_u64(seed));
        let pass = self.orders.len();
        self.orders.push(Vec::with_capacity(order.len()));
        for index in order {
            self.times[index].push(measure(&self.schedules[index])?);
            self.orders[pass].push(index);
            if each().is_break() {
                return Ok(ControlFlow::Break(()));
            }
        }
        Ok(ControlFlow::Continue(()))
    }

    /// Returns the measured schedules with their times, in the order of [`Space::schedules`]. After one pass these
    /// are the times as measured; after several, the machine's drift is taken out, and their noise is known.
    pub fn runs(&self) -> Vec<Run> {
        let times = &self.times;
        let values = steady(times, &self.orders);
        // Differences between successive passes of one schedule, over all schedules.
        let step = |values: &Vec<f64>| values.windows(2).map(|pair| (pair[1] - pair[0]).abs() / 2f64.sqrt()).collect();
        let steps: Vec<f64> = values.iter().flat_map::<Vec<f64>, _>(step).collect();
        let noise = deviation(&steps);
        let measured = self.schedules.iter().zip(times).zip(values).filter(|((_, times), _)| !times.is_empty());
        let run = |((schedule, times), values): ((&Schedule, &Vec<f64>), Vec<f64>)| {
            let text = schedule.text(&self.dag);
            // A single time stays as it was measured.
            let seconds = if times.len() == 1 && noise.is_none() { times[0] } else { median(&values).exp() };
            let noise = noise.map(|noise| noise_of(&values, noise));
            Run { noise, ..Run::new(seconds, text.parse().expect("a schedule's text is a traversal")) }
        };
        measured.map(run).collect()
    }

    /// Returns the median over schedules of (greatest - least) / median of a schedule's passes.
    pub fn spread(&self) -> f64 {
        let spread = |times: &Vec<f64>| {
            let (least, greatest) = times.iter().fold((f64::MAX, 0.0), |(a, b), &t| (t.min(a), t.max(b)));
            (greatest - least) / median(times)
        };
        let all: Vec<_> = self.times.iter().filter(|times| times.len() > 1).map(spread).collect();
        if all.is_empty() { 0.0 } else { median(&all) }
    }
}

/// The logarithms of times, without the machine's drift where there are several passes. `times` are by schedule and pass,
/// and `orders` has the schedules of each pass as they were measured.
fn steady(times: &[Vec<f64>], orders: &[Vec<usize>]) -> Vec<Vec<f64>> {
    let logarithms: Vec<Vec<f64>> = times.iter().map(|times| times.iter().map(|seconds| seconds.ln()).collect()).collect();
    if orders.len() < 2 {
        return logarithms;
    }
    let mut levels: Vec<f64> = logarithms.iter().map(|values| median(values)).collect();
    let mut corrected = logarithms.clone();
    for _ in 0..TURNS {
        for (pass, order) in orders.iter().enumerate() {
            let slower: Vec<f64> = order.iter().map(|&index| logarithms[index][pass] - levels[index]).collect();
            for (at, &index) in order.iter().enumerate() {
                let around = at.saturating_sub(NEIGHBOURS)..(at + NEIGHBOURS + 1).min(slower.len());
                let others: Vec<f64> = around.filter(|&other| other != at).map(|other| slower[other]).collect();
                let drift = if others.is_empty() { 0.0 } else { median(&others) };
                corrected[index][pass] = logarithms[index][pass] - drift;
            }
        }
        levels = corrected.iter().map(|values| median(values)).collect();
    }
    corrected
}

/// The middle value, or the mean of both; there is at least one.
fn median(values: &[f64]) -> f64 {
    percentile(values, 50.0).unwrap_or(f64::NAN)
}

#[cfg(test)]
mod tests {
    use rand_chacha::rand_core::RngCore as _;

    use super::*;

    /// Made-up times: what schedules take, times a drift that wanders slowly, times chance.
    fn measured(drift: f64, chance: f64) -> (Vec<f64>, Vec<Vec<f64>>, Vec<Vec<usize>>) {
        let n = 500;
        let mut random = ChaCha8Rng::seed_from_u64(3);
        // About normal, of variance 1.
        let mut normal = || {
            let sum: f64 = (0..12).map(|_| random.next_u64() as f64 / u64::MAX as f64).sum();
            sum - 6.0
        };
        let truth: Vec<f64> = (0..n).map(|_| 1e-4 * (0.06 * normal()).exp()).collect();
        let mut times = vec![Vec::new(); n];
        let mut orders = Vec::new();
        for pass in 0..3 {
            let order: Vec<_> = (0..n).map(|at| (at * [7, 11, 13][pass] + pass) % n).collect();
            let mut slow = 0.0;
            for &index in &order {
                slow = 0.98 * slow + 0.2 * drift * normal();
                times[index].push(truth[index] * (slow + chance * normal()).exp());
            }
            orders.push(order);
        }
        (truth, times, orders)
    }

    /// The standard deviation of the logarithm of found over true values.
    fn error(found: &[f64], truth: &[f64]) -> f64 {
        let logarithms: Vec<_> = found.iter().zip(truth).map(|(found, truth)| (found / truth).ln()).collect();
        let mean = logarithms.iter().sum::<f64>() / logarithms.len() as f64;
        (logarithms.iter().map(|value| (value - mean).powi(2)).sum::<f64>() / logarithms.len() as f64).sqrt()
    }

    /// The estimated time of each schedule.
    fn levels(times: &[Vec<f64>], orders: &[Vec<usize>]) -> Vec<f64> {
        steady(times, orders).iter().map(|values| median(values).exp()).collect()
    }

    #[test]
    fn drift_is_taken_out() {
        let (truth, times, orders) = measured(0.04, 0.005);
        let medians: Vec<_> = times.iter().map(|times| median(times)).collect();
        let (plain, steady) = (error(&medians, &truth), error(&levels(&times, &orders), &truth));
        assert!(steady < 0.6 * plain, "{steady} against {plain}");
        // Chance alone leaves 0.5 % over the root of three, and the drift's estimate adds to it.
        assert!(steady < 0.02, "{steady}");
    }

    #[test]
    fn where_there_is_none_little_changes() {
        let (truth, times, orders) = measured(0.0, 0.01);
        let medians: Vec<_> = times.iter().map(|times| median(times)).collect();
        assert!(error(&levels(&times, &orders), &truth) < 1.3 * error(&medians, &truth));
        // One pass stays as it is.
        let first: Vec<Vec<f64>> = times.iter().map(|times| vec![times[0]]).collect();
        let seconds = levels(&first, &orders[..1]);
        assert!(seconds.iter().zip(&first).all(|(seconds, times)| (seconds / times[0] - 1.0).abs() < 1e-12));
    }

    #[test]
    fn passes_cut_short() {
        let times = vec![vec![1.0, 1.1], vec![2.0], vec![]];
        let orders = vec![vec![1, 0], vec![0]];
        let seconds = levels(&times, &orders);
        assert!(
            seconds[0] > 0.9 && seconds[0] < 1.2 && seconds[1] > 1.9 && seconds[1] < 2.3 && seconds[2].is_nan(),
            "{seconds:?}"
        );
    }
}
