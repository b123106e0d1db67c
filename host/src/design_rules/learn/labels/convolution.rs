//! The paper's rule for classes: large steps of the sorted times.
//!
//! In: ascending times. Out: their convolution with a step function, its peaks, and the indices of
//! the first run of each class. Peaks and prominences follow SciPy's `find_peaks` and
//! `peak_prominences`.

use serde::Serialize;

use crate::design_rules::error::RulesError;
use crate::design_rules::statistics::percentile;

/// A peak of the convolution: a large increase in the sorted times.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[non_exhaustive]
pub struct Peak {
    /// Index into [`Convolution::values`].
    pub at: usize,
    /// Prominence, in seconds.
    pub prominence: f64,
    /// True if the peak is a boundary between classes.
    pub kept: bool,
}

/// The sorted times convolved with a step function: at each position, the sum of the `radius` times
/// after it minus the sum of the `radius` times up to it.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[non_exhaustive]
pub struct Convolution {
    /// The step function's radius, in runs.
    pub radius: usize,
    /// The convolution, in seconds. The value at `q` belongs to the sorted time at `q + first_index()`.
    pub values: Vec<f64>,
    /// All peaks, from left to right.
    pub peaks: Vec<Peak>,
    /// Prominence that a peak must reach to be kept, in seconds; `None` if there are no peaks.
    pub threshold: Option<f64>,
}

impl Convolution {
    /// Convolves ascending times. With `as_tenzing`, the threshold is the percentile of the values instead of the
    /// prominences, and a peak must have a width of 1 at half its prominence.
    pub(super) fn of(sorted: &[f64], radius: Option<usize>, percent: f64, as_tenzing: bool) -> Result<Self, RulesError> {
        if !(0.0..=100.0).contains(&percent) {
            return Err(RulesError::Learning(format!("there is no percentile {percent}: it takes 0 to 100")));
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
        let threshold = percentile(if as_tenzing { &values } else { &prominences }, percent).filter(|_| !maxima.is_empty());
        let peak = |(at, prominence): (usize, f64)| {
            let kept = threshold.is_some_and(|threshold| prominence >= threshold);
            Peak { at, prominence, kept: kept && !(as_tenzing && width(&values, at, prominence) < 1.0) }
        };
        let peaks: Vec<Peak> = maxima.into_iter().zip(prominences).map(peak).collect();
        Ok(Convolution { radius, values, peaks, threshold })
    }

    /// Returns the index of the first run of each class after the first. A peak belongs to the last
    /// run before the increase.
    pub(super) fn starts(&self, sorted: &[f64]) -> Vec<usize> {
        let kept = self.peaks.iter().filter(|peak| peak.kept).map(|peak| peak.at + self.radius);
        let mut starts: Vec<usize> = kept.filter_map(|start| between_times(sorted, start)).collect();
        starts.dedup();
        starts
    }

    /// Index of the sorted time that the first value belongs to.
    pub fn first_index(&self) -> usize {
        self.radius - 1
    }
}

/// Convolves ascending values with a step function of radius `r`.
fn convolve(sorted: &[f64], r: usize) -> Vec<f64> {
    // The values ascend, so differences `r` apart have one sign, and adding them loses little. A running sum would
    // lose more, and would not give plateaus where the times repeat.
    let differences: Vec<f64> = sorted.iter().zip(&sorted[r..]).map(|(low, high)| high - low).collect();
    differences.windows(r).map(|window| window.iter().sum()).collect()
}

/// Moves a start inside a run of equal times to the nearer end of that run. Returns `None` if all times
/// are equal.
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

/// Indices of local maxima, ascending. A plateau counts once, by its middle, rounded down. The first
/// and the last value are never maxima.
fn local_maxima(values: &[f64]) -> Vec<usize> {
    let mut found = Vec::new();
    let mut start = 1;
    while start + 1 < values.len() {
        let mut end = start + 1;
        if values[start - 1] < values[start] {
            while end + 1 < values.len() && values[end] == values[start] {
                end += 1;
            }
            if values[end] < values[start] {
                found.push((start + end - 1) / 2);
            }
        }
        start = end;
    }
    found
}

/// Prominence of each peak: its height above the higher of the two lowest values between it and the
/// next greater value on either side (or the end).
fn prominences(values: &[f64], peaks: &[usize]) -> Vec<f64> {
    let left = bases(values.iter());
    let mut right = bases(values.iter().rev());
    right.reverse();
    peaks.iter().map(|&peak| values[peak] - left[peak].max(right[peak])).collect()
}

/// Returns the width of a peak at half its prominence, as SciPy's `peak_widths` does: on either side, the line between
/// two values is followed to that height.
fn width(values: &[f64], peak: usize, prominence: f64) -> f64 {
    let height = values[peak] - prominence / 2.0;
    let reach = |side: &mut dyn Iterator<Item = &f64>| {
        let (mut steps, mut last) = (0.0, values[peak]);
        for &value in side {
            if value <= height {
                return steps + (last - height) / (last - value);
            }
            (steps, last) = (steps + 1.0, value);
        }
        steps
    };
    reach(&mut values[..peak].iter().rev()) + reach(&mut values[peak + 1..].iter())
}

/// For each value, the least value since the last greater one before it, or since the start.
fn bases<'a>(values: impl Iterator<Item = &'a f64>) -> Vec<f64> {
    // A stack of descending values, each with its base.
    let mut higher: Vec<(f64, f64)> = Vec::new();
    let base = |&value: &f64| {
        let mut base = value;
        while let Some((_, below)) = higher.pop_if(|(other, _)| *other <= value) {
            base = base.min(below);
        }
        higher.push((value, base));
        base
    };
    values.map(base).collect()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Maxima by their definition: plateaus between lower values.
    fn naive_maxima(values: &[f64]) -> Vec<usize> {
        let ends = |start: usize| (start..values.len().saturating_sub(1)).map(move |end| (start, end));
        let is_maximum = |&(start, end): &(usize, usize)| {
            let flat = values[start..=end].iter().all(|&value| value == values[start]);
            flat && values[start - 1] < values[start] && values[end + 1] < values[start]
        };
        (1..values.len()).flat_map(ends).filter(is_maximum).map(|(start, end)| (start + end) / 2).collect()
    }

    /// A prominence by its definition.
    fn naive_prominence(values: &[f64], peak: usize) -> f64 {
        let height = values[peak];
        let least = |side: &mut dyn Iterator<Item = &f64>| {
            side.take_while(|&&value| value <= height).fold(height, |least, &value| least.min(value))
        };
        height - least(&mut values[..peak].iter().rev()).max(least(&mut values[peak..].iter()))
    }

    proptest! {
        #[test]
        fn peaks_follow_their_definition(values in prop::collection::vec((0u8..6).prop_map(f64::from), 0..60)) {
            let peaks = local_maxima(&values);
            prop_assert_eq!(&peaks, &naive_maxima(&values));
            let wanted: Vec<f64> = peaks.iter().map(|&peak| naive_prominence(&values, peak)).collect();
            prop_assert_eq!(prominences(&values, &peaks), wanted);
        }
    }
}
