//! Classes of runs by their times (the paper's section IV-A).

mod peaks;

use std::fmt;

use serde::Serialize;

use super::RulesError;

pub use peaks::{local_maxima, percentile, prominences};

/// A class of performance; the first has the fastest runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(into = "usize")]
pub struct Class(usize);

impl Class {
    /// The class of this index, from 0.
    pub fn from_index(index: usize) -> Self {
        Class(index)
    }

    /// Its index, from 0.
    pub fn index(self) -> usize {
        self.0
    }

    /// Its number, from 1, as the paper counts classes. It is what files and people see.
    pub fn number(self) -> usize {
        self.0 + 1
    }
}

impl From<Class> for usize {
    fn from(class: Class) -> usize {
        class.number()
    }
}

/// Shows its number.
impl fmt::Display for Class {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.number().fmt(f)
    }
}

/// How runs are classed.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct LabelOptions {
    /// The radius of the step function in runs; by itself 0.5 % of them, and at least 1.
    pub radius: Option<usize>,
    /// The percentile of the prominences that a peak has to reach to be a boundary between classes, from 0 to 100.
    pub percentile: f64,
}

/// The paper's: a radius of 0.5 %, and the 98th percentile.
impl Default for LabelOptions {
    fn default() -> Self {
        LabelOptions { radius: None, percentile: 98.0 }
    }
}

/// A peak of the convolution: a large increase in the sorted times.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[non_exhaustive]
pub struct Peak {
    /// Its place in the convolution.
    pub at: usize,
    /// How far it stands out, in seconds.
    pub prominence: f64,
    /// Whether it is a boundary between classes.
    pub kept: bool,
}

/// The classes of some runs, and how they came about (the paper's Figure 4).
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Labels {
    order: Vec<usize>,
    sorted: Vec<f64>,
    classes: Vec<Class>,
    starts: Vec<usize>,
    radius: usize,
    convolution: Vec<f64>,
    peaks: Vec<Peak>,
    threshold: Option<f64>,
}

impl Labels {
    /// The classes of runs that took these times in seconds, as the paper has them.
    ///
    /// # Errors
    /// As [`with`](Self::with).
    pub fn of(times: &[f64]) -> Result<Self, RulesError> {
        Self::with(times, &LabelOptions::default())
    }

    /// The classes of runs that took these times in seconds.
    ///
    /// The sorted times are convolved with a step function: the sum of the `r` times after a place less that of the `r`
    /// times up to it. Peaks of it whose prominence reaches the percentile are boundaries. Without a peak there is one
    /// class. Equal times always have the same class: a boundary among them moves to their nearer end.
    ///
    /// # Errors
    /// [`RulesError::Learning`] for times that are negative or not finite, fewer than `2 r + 2` of them, a radius of 0,
    /// and a percentile that isn't from 0 to 100.
    pub fn with(times: &[f64], options: &LabelOptions) -> Result<Self, RulesError> {
        if let Some((run, time)) = times.iter().enumerate().find(|(_, time)| !time.is_finite() || **time < 0.0) {
            return Err(RulesError::Learning(format!("run {run} took {time} s, which is not a time")));
        }
        if !(0.0..=100.0).contains(&options.percentile) {
            return Err(RulesError::Learning(format!("there is no percentile {}: it takes 0 to 100", options.percentile)));
        }
        let radius = options.radius.unwrap_or_else(|| times.len().div_ceil(200).max(1));
        if radius == 0 {
            return Err(RulesError::Learning("the step function's radius is 0: it takes at least 1".to_owned()));
        }
        // A peak has a neighbour on either side.
        let least = radius.saturating_mul(2).saturating_add(2);
        if times.len() < least {
            let runs = times.len();
            return Err(RulesError::Learning(format!(
                "a step function of radius {radius} takes {least} runs, and there are {runs}"
            )));
        }

        let mut order: Vec<usize> = (0..times.len()).collect();
        order.sort_by(|&a, &b| times[a].total_cmp(&times[b]));
        let sorted: Vec<f64> = order.iter().map(|&run| times[run]).collect();
        let convolution = convolve(&sorted, radius);
        let maxima = local_maxima(&convolution);
        let prominences = prominences(&convolution, &maxima);
        let threshold = percentile(&prominences, options.percentile);
        let peaks: Vec<Peak> = maxima
            .into_iter()
            .zip(prominences)
            .map(|(at, prominence)| Peak { at, prominence, kept: threshold.is_some_and(|threshold| prominence >= threshold) })
            .collect();

        let mut starts = vec![0];
        // A peak is at the last run before the increase.
        let kept = peaks.iter().filter(|peak| peak.kept).map(|peak| peak.at + radius);
        starts.extend(kept.filter_map(|start| between_times(&sorted, start)));
        starts.dedup();
        let mut classes = vec![Class(0); times.len()];
        for (class, &start) in starts.iter().enumerate() {
            order[start..].iter().for_each(|&run| classes[run] = Class(class));
        }
        Ok(Labels { order, sorted, classes, starts, radius, convolution, peaks, threshold })
    }

    /// How many classes there are; at least one.
    pub fn count(&self) -> usize {
        self.starts.len()
    }

    /// The classes, the fastest first.
    pub fn all(&self) -> impl Iterator<Item = Class> + use<> {
        (0..self.starts.len()).map(Class)
    }

    /// Each run's class, in the order in which the times were given.
    pub fn classes(&self) -> &[Class] {
        &self.classes
    }

    /// The runs of a class, from its fastest: places in [`sorted`](Self::sorted) and [`order`](Self::order).
    ///
    /// # Panics
    /// If there is no such class.
    pub fn places(&self, class: Class) -> std::ops::Range<usize> {
        let end = self.starts.get(class.0 + 1).copied().unwrap_or(self.sorted.len());
        self.starts[class.0]..end
    }

    /// The least and the greatest time of a class, in seconds.
    ///
    /// # Panics
    /// If there is no such class.
    pub fn range(&self, class: Class) -> [f64; 2] {
        let places = self.places(class);
        [self.sorted[places.start], self.sorted[places.end - 1]]
    }

    /// The runs from the fastest to the slowest; those with equal times in the order in which they were given.
    pub fn order(&self) -> &[usize] {
        &self.order
    }

    /// The times in this order, in seconds.
    pub fn sorted(&self) -> &[f64] {
        &self.sorted
    }

    /// The place in [`sorted`](Self::sorted) at which each class starts; the first is 0.
    pub fn starts(&self) -> &[usize] {
        &self.starts
    }

    /// The step function's radius, in runs.
    pub fn radius(&self) -> usize {
        self.radius
    }

    /// The sorted times convolved with the step function, in seconds. The value at `q` belongs to the sorted time at
    /// `q + first_index()`.
    pub fn convolution(&self) -> &[f64] {
        &self.convolution
    }

    /// See [`convolution`](Self::convolution).
    pub fn first_index(&self) -> usize {
        self.radius - 1
    }

    /// All peaks of the convolution, from left to right.
    pub fn peaks(&self) -> &[Peak] {
        &self.peaks
    }

    /// The prominence, in seconds, that a peak has to reach to be kept; none where there are no peaks.
    pub fn threshold(&self) -> Option<f64> {
        self.threshold
    }
}

/// For each place with `r` values up to it and `r` after it, the sum of those after it less that of those up to it.
fn convolve(sorted: &[f64], r: usize) -> Vec<f64> {
    // The values ascend, so that differences `r` apart are of one sign and little is lost by adding them. A running sum
    // would lose more, and would not give plateaus where the times repeat.
    let differences: Vec<f64> = sorted.iter().zip(&sorted[r..]).map(|(low, high)| high - low).collect();
    differences.windows(r).map(|window| window.iter().sum()).collect()
}

/// This place, or the nearer end of the equal times that it is amid; none if they are all the times.
fn between_times(sorted: &[f64], start: usize) -> Option<usize> {
    let time = sorted[start];
    let first = sorted.partition_point(|&other| other < time);
    if first == start {
        return Some(start);
    }
    let end = sorted.partition_point(|&other| other <= time);
    let nearer = if start - first <= end - start { [first, end] } else { [end, first] };
    nearer.into_iter().find(|&place| 0 < place && place < sorted.len())
}
