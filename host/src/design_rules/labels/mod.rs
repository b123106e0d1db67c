//! Classes of runs by their times.

mod blocks;
mod peaks;

use std::fmt;

use serde::Serialize;

use super::RulesError;

pub use super::statistics::percentile;
pub use blocks::Block;
pub use peaks::{local_maxima, prominences};

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
#[serde(rename_all = "lowercase")]
pub enum LabelOptions {
    /// By the density of the times: classes are its peaks, and the bounds between them its valleys.
    Density {
        /// Times nearer to each other than this aren't told apart, as a share of a time: at least their noise.
        resolution: f64,
    },
    /// By the largest steps of the sorted times, as in the paper.
    Paper {
        /// The radius of the step function in runs; by itself 0.5 % of them, and at least 1.
        radius: Option<usize>,
        /// The percentile of the prominences that a peak has to reach to be a boundary between classes, from 0 to 100.
        percentile: f64,
    },
}

impl LabelOptions {
    /// The paper's: a radius of 0.5 %, and the 98th percentile.
    pub const PAPER: Self = LabelOptions::Paper { radius: None, percentile: 98.0 };
    /// The resolution where nothing is known of the noise, and the least that makes sense: 1 %.
    pub const RESOLUTION: f64 = 0.01;

    /// By density, of times with a relative standard error of `noise`, where that is known.
    pub fn density(noise: Option<f64>) -> Self {
        LabelOptions::Density { resolution: noise.unwrap_or(0.0).max(Self::RESOLUTION) }
    }
}

/// By density, with a resolution of 1 %.
impl Default for LabelOptions {
    fn default() -> Self {
        Self::density(None)
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

/// How classes came about.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Evidence {
    /// The density of the times, from the fastest on.
    Density(Vec<Block>),
    /// The paper's Figure 4.
    Paper(Convolution),
}

/// The sorted times convolved with a step function: the sum of the `radius` times after a place less that of the
/// `radius` times up to it.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[non_exhaustive]
pub struct Convolution {
    /// The step function's radius, in runs.
    pub radius: usize,
    /// In seconds. The value at `q` belongs to the sorted time at `q + first_index()`.
    pub values: Vec<f64>,
    /// All peaks, from left to right.
    pub peaks: Vec<Peak>,
    /// The prominence, in seconds, that a peak has to reach to be kept; none where there are no peaks.
    pub threshold: Option<f64>,
}

/// The classes of some runs, and how they came about.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Labels {
    order: Vec<usize>,
    sorted: Vec<f64>,
    classes: Vec<Class>,
    starts: Vec<usize>,
    evidence: Evidence,
}

impl Labels {
    /// The classes of runs that took these times in seconds, by the default options.
    ///
    /// # Errors
    /// As [`with`](Self::with).
    pub fn of(times: &[f64]) -> Result<Self, RulesError> {
        Self::with(times, &LabelOptions::default())
    }

    /// The classes of runs that took these times in seconds. Equal times always have the same class.
    ///
    /// By density: the logarithms of the times are counted in bins of the resolution, and the density of runs is the
    /// step function that Bayesian Blocks fit to them, with as many steps as their penalty lets pass (a false-alarm rate
    /// of 5 %). Each of its peaks is a class. Between two peaks, the bound is at the widest gap of the lowest block.
    /// Noise of one peak, whatever its shape, so gives one class, and so do times that differ by less than the
    /// resolution.
    ///
    /// As in the paper: the sorted times are [convolved](Convolution). Peaks whose prominence reaches the percentile are
    /// boundaries, one amid equal times at their nearer end. Without a peak there is one class.
    ///
    /// # Errors
    /// [`RulesError::Learning`] without times, for times that are negative or not finite, and a resolution that isn't
    /// above 0; by the paper's method also for fewer than `2 r + 2` of them, a radius of 0, and a percentile that isn't
    /// from 0 to 100.
    pub fn with(times: &[f64], options: &LabelOptions) -> Result<Self, RulesError> {
        if let Some((run, time)) = times.iter().enumerate().find(|(_, time)| !time.is_finite() || **time < 0.0) {
            return Err(RulesError::Learning(format!("run {run} took {time} s, which is not a time")));
        }
        let mut order: Vec<usize> = (0..times.len()).collect();
        order.sort_by(|&a, &b| times[a].total_cmp(&times[b]));
        let sorted: Vec<f64> = order.iter().map(|&run| times[run]).collect();
        let (evidence, later) = match *options {
            LabelOptions::Density { resolution } => {
                if !(resolution > 0.0 && resolution.is_finite()) {
                    return Err(RulesError::Learning(format!("there is no resolution {resolution}: it takes more than 0")));
                }
                if times.is_empty() {
                    return Err(RulesError::Learning("there are no runs".to_owned()));
                }
                let blocks = blocks::blocks(&sorted, resolution);
                let starts = blocks::valleys(&sorted, &blocks);
                (Evidence::Density(blocks), starts)
            }
            LabelOptions::Paper { radius, percentile } => {
                let convolution = Convolution::of(&sorted, radius, percentile)?;
                let starts = convolution.starts(&sorted);
                (Evidence::Paper(convolution), starts)
            }
        };
        let starts = [vec![0], later].concat();
        let mut classes = vec![Class(0); times.len()];
        for (class, &start) in starts.iter().enumerate() {
            order[start..].iter().for_each(|&run| classes[run] = Class(class));
        }
        Ok(Labels { order, sorted, classes, starts, evidence })
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

    /// The times that a run of a class may take, in seconds: by density, from half way to the class before to half way
    /// to the class behind it, as ratios, with nothing below the first and above the last; as in the paper, its
    /// [`range`](Self::range).
    ///
    /// # Panics
    /// If there is no such class.
    pub fn bounds(&self, class: Class) -> [f64; 2] {
        if matches!(self.evidence, Evidence::Paper(_)) {
            return self.range(class);
        }
        let places = self.places(class);
        let between = |start: usize| (self.sorted[start - 1] * self.sorted[start]).sqrt();
        [
            if places.start == 0 { 0.0 } else { between(places.start) },
            if places.end == self.sorted.len() { f64::INFINITY } else { between(places.end) },
        ]
    }

    /// How the classes came about.
    pub fn evidence(&self) -> &Evidence {
        &self.evidence
    }
}

impl Convolution {
    fn of(sorted: &[f64], radius: Option<usize>, percentile: f64) -> Result<Self, RulesError> {
        if !(0.0..=100.0).contains(&percentile) {
            return Err(RulesError::Learning(format!("there is no percentile {percentile}: it takes 0 to 100")));
        }
        let radius = radius.unwrap_or_else(|| sorted.len().div_ceil(200).max(1));
        if radius == 0 {
            return Err(RulesError::Learning("the step function's radius is 0: it takes at least 1".to_owned()));
        }
        // A peak has a neighbour on either side.
        let least = radius.saturating_mul(2).saturating_add(2);
        if sorted.len() < least {
            let runs = sorted.len();
            return Err(RulesError::Learning(format!(
                "a step function of radius {radius} takes {least} runs, and there are {runs}"
            )));
        }
        let values = convolve(sorted, radius);
        let maxima = local_maxima(&values);
        let prominences = prominences(&values, &maxima);
        let threshold = super::statistics::percentile(&prominences, percentile);
        let peaks: Vec<Peak> = maxima
            .into_iter()
            .zip(prominences)
            .map(|(at, prominence)| Peak { at, prominence, kept: threshold.is_some_and(|threshold| prominence >= threshold) })
            .collect();
        Ok(Convolution { radius, values, peaks, threshold })
    }

    /// Where classes start, but for the first: a peak is at the last run before the increase.
    fn starts(&self, sorted: &[f64]) -> Vec<usize> {
        let kept = self.peaks.iter().filter(|peak| peak.kept).map(|peak| peak.at + self.radius);
        let mut starts: Vec<usize> = kept.filter_map(|start| between_times(sorted, start)).collect();
        starts.dedup();
        starts
    }

    /// The place of the sorted time that the first value belongs to.
    pub fn first_index(&self) -> usize {
        self.radius - 1
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
