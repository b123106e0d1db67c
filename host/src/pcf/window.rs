//! Parts of functions in time: windows and grids.

use std::ops::Range;

use gpu_kernels::pcf::set::MOST_SEGMENTS;

use super::{PcfError, PcfReal, PcfSet, Point};

/// Part of time that functions are compared over. By default all of it.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Window {
    /// Start: it becomes t = 0. A function is zero before its first breakpoint.
    pub from: Option<f64>,
    /// End: functions are zero from then on.
    pub until: Option<f64>,
    /// Shifts each function first, so that it starts at 0.
    pub align: bool,
    /// Step of a grid of times at which functions are sampled. Each value holds until the next time.
    pub step: Option<f64>,
}

impl Window {
    /// Returns true if it leaves functions as they are.
    pub fn is_all(&self) -> bool {
        *self == Window::default()
    }

    /// Start and end, in the time of the functions.
    pub(super) fn range(&self) -> Result<Range<f64>, PcfError> {
        let (from, until) = (self.from.unwrap_or(0.0), self.until.unwrap_or(f64::INFINITY));
        let invalid = |text: String| Err(PcfError::Window(text));
        match self.step {
            _ if !from.is_finite() || until.is_nan() => {
                invalid(format!("the window from {from} until {until} is none of finite times"))
            }
            _ if until <= from => invalid(format!("the window ends at t = {until}, but it starts at t = {from}")),
            Some(step) if !(step > 0.0 && step.is_finite()) => invalid(format!("the step is {step}, but it must be above 0")),
            _ => Ok(from..until),
        }
    }
}

impl<T: PcfReal> PcfSet<T> {
    /// Returns the functions f(from + t) for t in [0, until - from), which are zero afterwards.
    ///
    /// # Errors
    /// If the window is empty or not finite.
    pub fn restrict(&self, from: f64, until: f64) -> Result<Self, PcfError> {
        self.windowed(&Window { from: Some(from), until: Some(until), ..Window::default() })
    }

    /// Returns the functions in a window, sampled if it has a step.
    ///
    /// # Errors
    /// If the window is empty, or the step is not a positive number or too small for so long a time.
    pub fn windowed(&self, window: &Window) -> Result<Self, PcfError> {
        let Range { start, end } = window.range()?;
        let mut points = Vec::with_capacity(self.points().len() + self.len());
        let mut offsets = vec![0];
        for function in self.iter() {
            restrict(function.points(), start, end, &mut points);
            offsets.push(points.len());
        }
        let cut = Self::from_parts(offsets, points)?;
        let cut = match window.step {
            Some(step) => cut.sampled(step, end - start)?,
            None => cut,
        };
        cut.with_shape(self.shape())?.with_names(self.names().cloned())
    }

    /// Samples the functions at 0, `step`, 2 `step` and so on up to `end`, or where that is infinite, the last breakpoint
    /// of all.
    fn sampled(&self, step: f64, end: f64) -> Result<Self, PcfError> {
        let end = if end.is_finite() { end } else { self.max_time().to_f64() };
        let steps = (end / step).ceil();
        let total = (steps + 1.0) * self.len() as f64;
        if steps >= MOST_SEGMENTS as f64 || total > (isize::MAX as f64) / 32.0 {
            return Err(PcfError::Window(format!(
                "{steps:e} steps of {step} are too many: at most {MOST_SEGMENTS} breakpoints per function"
            )));
        }
        let grid = steps as usize + 1;
        let (mut points, mut offsets) = (Vec::new(), vec![0]);
        let enough = points.try_reserve_exact(grid * self.len()).is_ok();
        if !enough {
            return Err(PcfError::OutOfMemory { functions: self.len(), points: grid * self.len() });
        }
        for function in self.iter() {
            let own = function.points();
            let mut at = 0;
            for k in 0..grid {
                let t = T::from_f64(k as f64 * step);
                while own.get(at + 1).is_some_and(|next| next.t <= t) {
                    at += 1;
                }
                points.push(Point::new(t, own[at].v));
            }
            offsets.push(points.len());
        }
        Self::from_parts(offsets, points)
    }
}

/// Appends the breakpoints of a function in a window to `into`. The function is zero before its first breakpoint.
pub(super) fn restrict<T: PcfReal>(points: &[Point<T>], start: f64, end: f64, into: &mut Vec<Point<T>>) {
    let first = points.partition_point(|point| point.t.to_f64() <= start);
    let value = first.checked_sub(1).map_or(T::ZERO, |before| points[before].v);
    into.push(Point::new(T::ZERO, value));
    let inside = points[first..].iter().take_while(|point| point.t.to_f64() < end);
    // Times that become one by rounding are merged.
    for point in inside {
        let shifted = Point::new(T::from_f64(point.t.to_f64() - start), point.v);
        match into.last_mut() {
            Some(last) if last.t >= shifted.t => last.v = shifted.v,
            _ => into.push(shifted),
        }
    }
    if end.is_finite() {
        let stop = T::from_f64(end - start);
        match into.last_mut() {
            Some(last) if last.t >= stop => last.v = T::ZERO,
            _ => into.push(Point::new(stop, T::ZERO)),
        }
    }
}
