//! Times that can be believed: schedules are measured again until the interval of their time is narrow, beside a
//! reference that shows what the machine drifts.

use std::collections::HashMap;

use super::{Measured, Run, Runs};
use crate::design_rules::{Dag, RulesError, Schedule, statistics::percentile};

/// The reference is measured at least after so many other measurements.
const EVERY: usize = 4;
/// From how many measurements of the reference a drift may be taken: as many before as behind. And from all: no drift.
const WINDOWS: [usize; 3] = [4, 8, 16];
/// A window is better than a wider one if it predicts measurements of the reference with so much less error.
const BETTER: f64 = 0.95;
/// The latest measurements that a search looks back to: of the reference, and for the noise of all schedules.
const LATEST: usize = 128;
/// The most schedules that may be the fastest and are measured again at the end.
const FINALISTS: usize = 4;
/// The median absolute deviation of a normal distribution, in standard deviations, is the inverse of this.
const MAD: f64 = 1.4826;
/// Standard errors to either side of a time that enclose 95 % of a normal distribution.
const TWO_SIDED: f64 = 1.96;
/// Standard errors above a time below which 95 % of a normal distribution lie.
pub const ONE_SIDED: f64 = 1.645;
/// A measurement so many standard deviations, by all schedules' measurements in a row, from the median of its schedule is
/// suspicious (Iglewicz and Hoaglin, 1993).
const SUSPICIOUS: f64 = 3.5;

/// The required precision of times.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Precision {
    /// A schedule is measured again until the 95 % interval of its time reaches no farther than this to either side, as a
    /// share of the time.
    pub interval: f64,
    /// The most measurements that are spent on that. With 1, each schedule is measured once, and without a reference.
    pub repeats: usize,
}

impl Default for Precision {
    /// 1 %, and 6 measurements.
    fn default() -> Self {
        Precision { interval: 0.01, repeats: 6 }
    }
}

/// Measures schedules, each as often as its noise takes.
///
/// - A measurement is modelled as the product of the schedule's time, the machine's slowness at
///   that moment, and chance. A schedule's time is the median of its measurements over the
///   slowness. Its standard error is 1.2533 σ / √n, that of a normal distribution's median. σ is
///   the greater of two standard deviations: of the schedule's own measurements, and of successive
///   measurements of all schedules. Both are scaled median absolute deviations. So a schedule is
///   measured at least twice, and more often if its own noise takes it.
/// - The reference is the first schedule that was measured. It is measured again after every four
///   other measurements. It alternates with a schedule that has a suspicious measurement: one that
///   is 3.5 standard deviations from its median, by successive measurements of all schedules.
/// - The machine's slowness is the median of the 4, 8 or 16 nearest measurements of the reference
///   over that of all. The window is the one that best predicts measurements of the reference that
///   are left out; if the median of all predicts as well, there is no drift.
#[derive(Clone, Debug, Default)]
pub struct Measurer {
    precision: Precision,
    schedules: Vec<Taken>,
    places: HashMap<Schedule, usize>,
    reference: Option<usize>,
    /// Number of measurements since that of the reference.
    since: usize,
    /// The schedule that was measured last.
    last: Option<usize>,
    /// Of two measurements in a row of one schedule: the distance of their logarithms, over √2.
    steps: Vec<f64>,
}

/// The measurements of a schedule.
#[derive(Clone, Debug)]
struct Taken {
    schedule: Schedule,
    /// In order.
    times: Vec<Measured>,
    failed: bool,
}

/// The estimated time of a schedule.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Known {
    /// The time's logarithm.
    level: f64,
    /// The standard deviation of one measurement's logarithm.
    deviation: f64,
    /// The standard error of the level, but for that of the drift.
    error: f64,
}

impl Measurer {
    /// Of nothing yet.
    pub fn new(precision: Precision) -> Self {
        Measurer { precision, ..Measurer::default() }
    }

    /// Measures a schedule until its time is known well enough, or as often as is allowed, and gives its time in seconds
    /// as far as it is known now. `measure` measures once.
    ///
    /// # Errors
    /// The errors of `measure`, except [`RulesError::Failed`] of the reference: the measurer does
    /// without it then.
    pub fn measure(
        &mut self,
        schedule: &Schedule,
        mut measure: impl FnMut(&Schedule) -> Result<Measured, RulesError>,
    ) -> Result<f64, RulesError> {
        let place = self.place(schedule);
        loop {
            let drift = self.drift_now();
            let values = drift.corrected(&self.schedules[place].times);
            let known = (!values.is_empty()).then(|| Known::of(&values, self.noise()));
            let is_narrow = |known: Known| values.len() > 1 && TWO_SIDED * known.error <= self.precision.interval;
            if known.is_some_and(|known| values.len() >= self.precision.repeats || is_narrow(known)) {
                let seconds = drift.seconds(&self.schedules[place].times);
                self.reference.get_or_insert(place);
                return Ok(seconds);
            }
            let most = SUSPICIOUS * self.noise();
            let is_suspicious = known.is_some_and(|known| values.iter().any(|value| (value - known.level).abs() > most));
            if self.precision.repeats > 1 && self.since >= if is_suspicious { 1 } else { EVERY } {
                self.refer(&mut measure)?;
            }
            self.take(schedule, measure(schedule)?);
        }
    }

    /// Measures the reference, then each of these schedules once, and so on, as often as one is measured otherwise;
    /// `goes_on` is asked before each turn.
    pub fn in_turns(
        &mut self,
        schedules: &[Schedule],
        mut measure: impl FnMut(&Schedule) -> Result<Measured, RulesError>,
        mut goes_on: impl FnMut() -> bool,
    ) -> Result<(), RulesError> {
        for _ in 0..self.precision.repeats {
            if schedules.is_empty() || !goes_on() {
                break;
            }
            self.refer(&mut measure)?;
            for schedule in schedules {
                self.take(schedule, measure(schedule)?);
            }
        }
        Ok(())
    }

    /// The schedules that may be the fastest: their intervals reach to that of the least time. The first of many was
    /// lucky, so that they are better measured again, [in turns](Self::in_turns). None where each is measured once.
    pub fn finalists(&self) -> Vec<Schedule> {
        if self.precision.repeats == 1 {
            return Vec::new();
        }
        let mut known: Vec<(usize, Known)> = self.known();
        known.sort_by(|a, b| a.1.level.total_cmp(&b.1.level));
        let best = known.first().map_or(0.0, |(_, known)| known.level + TWO_SIDED * known.error);
        let reaches = known.iter().take_while(|(_, known)| known.level - TWO_SIDED * known.error <= best);
        reaches.take(FINALISTS).map(|&(place, _)| self.schedules[place].schedule.clone()).collect()
    }

    /// Adds a measurement that was made elsewhere, or by this measurer.
    pub fn take(&mut self, schedule: &Schedule, time: Measured) {
        let place = self.place(schedule);
        let times = &mut self.schedules[place].times;
        if let (true, Some(before)) = (self.last == Some(place), times.last()) {
            self.steps.push((logarithm(time) - logarithm(*before)).abs() / 2f64.sqrt());
        }
        // One of a search that is continued may be older than others.
        times.insert(times.partition_point(|other| other.at <= time.at), time);
        self.last = Some(place);
        self.since += 1;
    }

    /// Takes in that a schedule failed, so that it has no time.
    pub fn fail(&mut self, schedule: &Schedule) {
        let place = self.place(schedule);
        self.schedules[place].failed = true;
        if self.reference == Some(place) {
            self.reference = None;
        }
    }

    /// Replaces the runs of `runs` by what was measured: times without drift, their noise, and the
    /// measurements that they are from. If each schedule was measured once, there are only times.
    pub fn record(&self, dag: &Dag, runs: &mut Runs) {
        (runs.runs, runs.failed) = Default::default();
        let drift = self.drift();
        let error = drift.error();
        let noise = self.noise();
        for Taken { schedule, times, failed } in &self.schedules {
            let traversal = schedule.text(dag).parse().expect("a schedule's text is a traversal");
            match &times[..] {
                _ if *failed => runs.push(None, traversal),
                [] => {}
                [first, ..] if self.precision.repeats == 1 => runs.push(Some(first.seconds), traversal),
                _ => {
                    let known = Known::of(&drift.corrected(times), noise);
                    let noise = Some(known.error.hypot(error * known.deviation));
                    runs.runs.push(Run { noise, times: times.clone(), ..Run::new(drift.seconds(times), traversal) });
                }
            }
        }
        runs.note_noise();
    }

    fn place(&mut self, schedule: &Schedule) -> usize {
        let next = self.schedules.len();
        let place = *self.places.entry(schedule.clone()).or_insert(next);
        if place == next {
            self.schedules.push(Taken { schedule: schedule.clone(), times: Vec::new(), failed: false });
        }
        place
    }

    /// Measures the reference, if there is one.
    fn refer(&mut self, measure: &mut impl FnMut(&Schedule) -> Result<Measured, RulesError>) -> Result<(), RulesError> {
        let Some(reference) = self.reference else { return Ok(()) };
        let schedule = self.schedules[reference].schedule.clone();
        match measure(&schedule) {
            Ok(time) => self.take(&schedule, time),
            Err(RulesError::Failed { .. }) => {}
            Err(error) => return Err(error),
        }
        self.since = 0;
        Ok(())
    }

    fn references(&self) -> &[Measured] {
        self.reference.map_or(&[], |reference| &self.schedules[reference].times)
    }

    /// Returns the drift by the measurements until now, relative to the first ones.
    fn drift_now(&self) -> Drift<'_> {
        let all = self.references();
        let usual = median(all[..all.len().min(EVERY + 1)].iter().map(|&time| logarithm(time)));
        Drift { usual, ..Drift::of(&all[all.len().saturating_sub(LATEST)..]) }
    }

    fn drift(&self) -> Drift<'_> {
        Drift::of(self.references())
    }

    /// Returns the standard deviation of a measurement's logarithm, by successive measurements of
    /// one schedule.
    fn noise(&self) -> f64 {
        deviation(&self.steps[self.steps.len().saturating_sub(4 * LATEST)..]).unwrap_or(0.0)
    }

    /// Returns the estimates of all schedules that have a time.
    fn known(&self) -> Vec<(usize, Known)> {
        let (drift, noise) = (self.drift(), self.noise());
        let timed = self.schedules.iter().enumerate().filter(|(_, taken)| !taken.failed && !taken.times.is_empty());
        timed.map(|(place, taken)| (place, Known::of(&drift.corrected(&taken.times), noise))).collect()
    }
}

impl Known {
    /// Estimates from logarithms of times, at least one; the measurements of all schedules have
    /// this noise.
    fn of(values: &[f64], noise: f64) -> Self {
        let n = values.len() as f64;
        let level = median(values.iter().copied());
        let own = MAD * median(values.iter().map(|value| (value - level).abs()));
        // With few values, the median follows them, which hides a part of their deviation.
        let own = if n > 1.0 { own * (n / (n - 1.0)).sqrt() } else { 0.0 };
        let deviation = own.max(noise);
        Known { level, deviation, error: standard_error(deviation, n) }
    }
}

/// The standard error of the median of n values of this standard deviation.
fn standard_error(deviation: f64, n: f64) -> f64 {
    (std::f64::consts::FRAC_PI_2 / n).sqrt() * deviation
}

/// The standard deviation of one of a schedule's logarithms, by the distances of two in a row, over √2.
pub fn deviation(steps: &[f64]) -> Option<f64> {
    percentile(steps, 50.0).map(|middle| MAD * middle)
}

/// The relative standard error of the median of a schedule's times, given as logarithms, by their median absolute
/// deviation or the noise of others, whichever is greater.
pub fn noise_of(values: &[f64], noise: f64) -> f64 {
    Known::of(values, noise).error
}

/// The machine's slowness over time, by measurements of the reference in their order.
#[derive(Clone, Copy, Debug)]
struct Drift<'a> {
    reference: &'a [Measured],
    /// Number of measurements around a moment that determine the slowness; `None` if all do.
    window: Option<usize>,
    /// The logarithm of the reference's time.
    usual: f64,
}

impl<'a> Drift<'a> {
    fn of(reference: &'a [Measured]) -> Self {
        let values: Vec<f64> = reference.iter().map(|&time| logarithm(time)).collect();
        let usual = median(values.iter().copied());
        let mut drift = Drift { reference, window: None, usual };
        let mut least = median(values.iter().map(|value| (value - usual).abs()));
        for window in WINDOWS.into_iter().rev().filter(|&window| 2 * window < values.len()) {
            let error = |place: usize| {
                let around = centred(place, window + 1, values.len());
                let others = around.filter(|&other| other != place).map(|other| values[other]);
                (values[place] - median(others)).abs()
            };
            let error = median((0..values.len()).map(error));
            if error < BETTER * least {
                (least, drift.window) = (error, Some(window));
            }
        }
        drift
    }

    /// The logarithm of how slow the machine was then.
    fn at(&self, at: f64) -> f64 {
        let Some(window) = self.window else { return 0.0 };
        let place = self.reference.partition_point(|time| time.at <= at);
        let around = centred(place, window, self.reference.len());
        median(self.reference[around].iter().map(|&time| logarithm(time))) - self.usual
    }

    /// The logarithms of times without it.
    fn corrected(&self, times: &[Measured]) -> Vec<f64> {
        times.iter().map(|&time| logarithm(time) - self.at(time.at)).collect()
    }

    /// Returns the median of times without the drift, in seconds.
    fn seconds(&self, times: &[Measured]) -> f64 {
        median(times.iter().map(|time| time.seconds * (-self.at(time.at)).exp()))
    }

    /// Its standard error, in standard deviations of a measurement.
    fn error(&self) -> f64 {
        self.window.map_or(0.0, |window| standard_error(1.0, window as f64))
    }
}

/// Returns a range of `window` positions around `place`, within `len`, which is at least `window`.
fn centred(place: usize, window: usize, len: usize) -> std::ops::Range<usize> {
    let start = place.saturating_sub(window / 2).min(len - window);
    start..start + window
}

/// The logarithm of a time, which is no more than the least there is where the time is 0.
fn logarithm(time: Measured) -> f64 {
    time.seconds.max(f64::MIN_POSITIVE).ln()
}

/// The middle value, or the mean of both; 0 of none.
fn median(values: impl Iterator<Item = f64>) -> f64 {
    percentile(&values.collect::<Vec<_>>(), 50.0).unwrap_or(0.0)
}
