//! Performance classes.
//!
//! In: the time of each run, in seconds. Out: [`Labels`], the class of each run, with the [`Evidence`]
//! for the boundaries between classes.

mod blocks;
mod convolution;
mod steps;

use std::fmt;

use serde::Serialize;

use crate::design_rules::error::RulesError;

pub use blocks::Block;
pub use convolution::{Convolution, Peak};

/// Gap that noise doesn't explain, in standard errors of a time. The difference of two times has √2 of
/// these errors.
const STEP: f64 = 4.0;

/// A performance class. The first class has the fastest runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(into = "usize")]
pub struct Class(usize);

impl Class {
    /// The class with this index, from 0.
    pub fn from_index(index: usize) -> Self {
        Class(index)
    }

    /// Returns the index, from 0.
    pub fn index(self) -> usize {
        self.0
    }

    /// Returns the number, from 1, as the paper counts classes. Files and people see this number.
    pub fn number(self) -> usize {
        self.0 + 1
    }
}

impl From<Class> for usize {
    fn from(class: Class) -> usize {
        class.number()
    }
}

/// Shows the number.
impl fmt::Display for Class {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.number().fmt(f)
    }
}

/// The method that assigns runs to classes.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum LabelOptions {
    /// By the density of the times: each peak of the density is a class, each valley a boundary. If
    /// the noise is known, steps are boundaries, too.
    Density {
        /// Relative difference below which two times count as equal; at least their noise.
        resolution: f64,
        /// Relative standard error of the times, if it is known; 0 if they are exact.
        noise: Option<f64>,
    },
    /// By the largest steps of the sorted times, as in the paper.
    Paper {
        /// Radius of the step function, in runs. By default 0.5 % of the runs, and at least 1.
        radius: Option<usize>,
        /// Percentile of the prominences, from 0 to 100, that a peak must reach to be a boundary.
        percentile: f64,
    },
    /// By the largest steps of the sorted times, as in the program of the paper's authors.
    Tenzing {
        /// Percentile of the convolution, from 0 to 100, that a peak's prominence must reach.
        percentile: f64,
    },
}

impl LabelOptions {
    /// The paper's options: a radius of 0.5 % and the 98th percentile.
    pub const PAPER: Self = LabelOptions::Paper { radius: None, percentile: 98.0 };
    /// The least useful resolution, and the default if the noise is unknown: 1 %.
    pub const RESOLUTION: f64 = 0.01;

    /// Labels by density, for times whose relative standard error is `noise`, if that is known. The
    /// default resolution is the noise, and at least 1 %.
    pub fn density(noise: Option<f64>, resolution: Option<f64>) -> Self {
        LabelOptions::Density { resolution: resolution.unwrap_or(noise.unwrap_or(0.0).max(Self::RESOLUTION)), noise }
    }
}

/// By density, with a resolution of 1 %.
impl Default for LabelOptions {
    fn default() -> Self {
        Self::density(None, None)
    }
}

/// The data behind the boundaries between classes.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Evidence {
    /// The density of the times above 0, from the fastest on.
    Density(Vec<Block>),
    /// The paper's Figure 4.
    Paper(Convolution),
}

/// The classes of some runs.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Labels {
    sorted: Vec<f64>,
    classes: Vec<Class>,
    starts: Vec<usize>,
    evidence: Evidence,
}

/// The size and the times of a class.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[non_exhaustive]
pub struct ClassSummary {
    /// The class.
    pub class: Class,
    /// Number of runs.
    pub runs: usize,
    /// Least time, in seconds.
    pub fastest: f64,
    /// Greatest time, in seconds.
    pub slowest: f64,
}

impl Labels {
    /// Classifies runs by their times in seconds. Equal times always get the same class.
    ///
    /// By density: the logarithms of the times are counted in bins as wide as the resolution. Bayesian
    /// Blocks fit a step function to the counts, with a penalty per step that allows a false-alarm rate
    /// of 5 %. Each peak of that function is a class. The boundary between two peaks is the widest gap
    /// in the lowest block between them. Noise with a single peak therefore gives one class, and so do
    /// times that differ by less than the resolution.
    ///
    /// If the noise is known, a step is a boundary, too. A step is a gap that is wider than the resolution and than
    /// four times the noise, with at least three runs on either side. Among these, chance would leave so wide a gap in
    /// at most 20 % of cases. Times of 0 are a class.
    ///
    /// As in the paper: the sorted times are [convolved](Convolution) with a step function. Peaks whose
    /// prominence reaches the percentile are boundaries; a boundary inside equal times moves to their
    /// nearer end. Without a peak there is one class. The authors' program takes the percentile of the convolution, and
    /// drops peaks that are narrower than 1 at half their prominence.
    ///
    /// # Errors
    /// [`RulesError::Learning`] if there are no times, if a time is negative or not finite, if the
    /// resolution isn't above 0, and if the noise is negative or not finite. By the paper's method also for fewer than `2 r + 2` times, a radius of
    /// 0, and a percentile outside 0 to 100.
    pub fn with(times: &[f64], options: &LabelOptions) -> Result<Self, RulesError> {
        if let Some((run, time)) = times.iter().enumerate().find(|(_, time)| !time.is_finite() || **time < 0.0) {
            return Err(RulesError::Learning(format!("run {run} took {time} s, which is not a time")));
        }
        let mut order: Vec<usize> = (0..times.len()).collect();
        order.sort_by(|&a, &b| times[a].total_cmp(&times[b]));
        let sorted: Vec<f64> = order.iter().map(|&run| times[run]).collect();
        let (evidence, later) = match *options {
            LabelOptions::Density { resolution, noise } => {
                if let Some(noise) = noise.filter(|noise| !(*noise >= 0.0 && noise.is_finite())) {
                    return Err(RulesError::Learning(format!("there is no noise {noise}: it takes at least 0")));
                }
                if !(resolution > 0.0 && resolution.is_finite()) {
                    return Err(RulesError::Learning(format!("there is no resolution {resolution}: it takes more than 0")));
                }
                if times.is_empty() {
                    return Err(RulesError::Learning("there are no runs".to_owned()));
                }
                let zeros = sorted.partition_point(|&time| time == 0.0);
                let logarithms: Vec<f64> = sorted[zeros..].iter().map(|time| time.ln()).collect();
                let blocks = blocks::blocks(&logarithms, zeros, resolution);
                let mut starts = blocks::valleys(&sorted, &blocks);
                let steps = noise.map(|noise| steps::steps(&logarithms, resolution.max(STEP * noise)));
                starts.extend(steps.into_iter().flatten().map(|step| zeros + step));
                if 0 < zeros && zeros < sorted.len() {
                    starts.push(zeros);
                }
                starts.sort_unstable();
                starts.dedup();
                (Evidence::Density(blocks), starts)
            }
            LabelOptions::Paper { percentile, .. } | LabelOptions::Tenzing { percentile } => {
                let (radius, as_tenzing) = match *options {
                    LabelOptions::Paper { radius, .. } => (radius, false),
                    _ => (None, true),
                };
                let convolution = Convolution::of(&sorted, radius, percentile, as_tenzing)?;
                let starts = convolution.starts(&sorted);
                (Evidence::Paper(convolution), starts)
            }
        };
        let starts = [vec![0], later].concat();
        let mut classes = vec![Class(0); times.len()];
        for (class, &start) in starts.iter().enumerate() {
            order[start..].iter().for_each(|&run| classes[run] = Class(class));
        }
        Ok(Labels { sorted, classes, starts, evidence })
    }

    /// Merges classes until there are at most `count`, at least 1: each time the two adjacent ones whose union adds least
    /// to the squares of the logarithms' distances from the means of their classes (Ward's method). A time of 0 counts
    /// as the least positive number.
    #[must_use]
    pub fn merged(mut self, count: usize) -> Self {
        let moments = |start: usize, end: usize| {
            let part = self.sorted[start..end].iter().map(|time| time.max(f64::MIN_POSITIVE).ln());
            ((end - start) as f64, part.sum::<f64>() / (end - start) as f64)
        };
        while self.starts.len() > count.max(1) {
            let end = |class: usize| self.starts.get(class + 1).copied().unwrap_or(self.sorted.len());
            let added = |class: usize| {
                let [first, second] = [class - 1, class].map(|class| moments(self.starts[class], end(class)));
                first.0 * second.0 / (first.0 + second.0) * (first.1 - second.1).powi(2)
            };
            let least = (1..self.starts.len()).min_by(|&a, &b| added(a).total_cmp(&added(b)));
            let merged = least.expect("there are two classes");
            self.starts.remove(merged);
            self.classes.iter_mut().filter(|class| class.0 >= merged).for_each(|class| class.0 -= 1);
        }
        self
    }

    /// Returns the number of classes, which is at least one.
    pub fn count(&self) -> usize {
        self.starts.len()
    }

    /// Iterates over the classes, the fastest first.
    pub fn all(&self) -> impl Iterator<Item = Class> + use<> {
        (0..self.starts.len()).map(Class)
    }

    /// Returns the class of each run, in the order of the given times.
    pub fn classes(&self) -> &[Class] {
        &self.classes
    }

    /// Returns the size and the times of each class.
    pub fn summary(&self) -> Vec<ClassSummary> {
        let summary = |class: Class| {
            let [fastest, slowest] = self.range(class);
            ClassSummary { class, runs: self.places(class).len(), fastest, slowest }
        };
        self.all().map(summary).collect()
    }

    /// Returns the runs of a class as a range of [`sorted`](Self::sorted).
    ///
    /// # Panics
    /// If there is no such class.
    pub fn places(&self, class: Class) -> std::ops::Range<usize> {
        let end = self.starts.get(class.0 + 1).copied().unwrap_or(self.sorted.len());
        self.starts[class.0]..end
    }

    /// Returns the least and the greatest time of a class, in seconds.
    ///
    /// # Panics
    /// If there is no such class.
    pub fn range(&self, class: Class) -> [f64; 2] {
        let places = self.places(class);
        [self.sorted[places.start], self.sorted[places.end - 1]]
    }

    /// Returns the times in ascending order, in seconds.
    pub fn sorted(&self) -> &[f64] {
        &self.sorted
    }

    /// Returns the index of each class's first run in [`sorted`](Self::sorted). The first is 0.
    pub fn starts(&self) -> &[usize] {
        &self.starts
    }

    /// Returns the least and the greatest time that a run of a class may take, in seconds.
    ///
    /// By density, a bound is the geometric mean of the two times beside the boundary, or half of the
    /// later time if the earlier one is 0. The first class has no lower bound, and the last no upper
    /// bound. As in the paper, the bounds are the class's
    /// [`range`](Self::range).
    ///
    /// # Panics
    /// If there is no such class.
    pub fn bounds(&self, class: Class) -> [f64; 2] {
        if matches!(self.evidence, Evidence::Paper(_)) {
            return self.range(class);
        }
        let places = self.places(class);
        let between = |start: usize| match [self.sorted[start - 1], self.sorted[start]] {
            [0.0, later] => later / 2.0,
            [earlier, later] => (earlier * later).sqrt(),
        };
        [
            if places.start == 0 { 0.0 } else { between(places.start) },
            if places.end == self.sorted.len() { f64::INFINITY } else { between(places.end) },
        ]
    }

    /// Returns the data behind the boundaries.
    pub fn evidence(&self) -> &Evidence {
        &self.evidence
    }
}
