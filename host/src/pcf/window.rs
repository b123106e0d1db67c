//! Parts of functions in time: windows and grids.

use std::ops::Range;

use gpu_kernels::pcf::set::MOST_SEGMENTS;

use super::{
    PcfError, PcfReal, PcfSet, Point,
    set::{check_offsets, find_wrong},
};

/// Part of time that functions are compared over. By default all of it.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Window {
    /// Start: it becomes t = 0. A function is zero before its first breakpoint.
    pub from: Option<f64>,
    /// End: functions are zero from then on.
    pub until: Option<f64>,
    /// Shifts each function first, so that it starts at 0.
    pub align: bool,
    /// True if `from` and `until` are times of a calendar, in seconds since 1970; false if they are numbers. A table must have
    /// times of the same kind, unless this is `None`.
    pub of_calendar: Option<bool>,
    /// Step of a grid of times at which functions are sampled. Each value holds until the next time.
    pub step: Option<f64>,
}

impl Window {
    /// Returns true if it leaves functions as they are.
    pub fn is_all(&self) -> bool {
        *self == Window::default()
    }

    /// Refuses a window of a calendar, for functions whose times are numbers.
    fn check_numbers(&self) -> Result<(), PcfError> {
        match self.of_calendar {
            Some(true) => Err(PcfError::Window("the times are numbers, but those of the window are of a calendar".to_owned())),
            _ => Ok(()),
        }
    }

    /// Start and end, in the time of the functions.
    ///
    /// # Errors
    /// If the window is empty or not finite, or the step is not a positive number.
    pub fn range(&self) -> Result<Range<f64>, PcfError> {
        let (from, until) = (self.from.unwrap_or(0.0), self.until.unwrap_or(f64::INFINITY));
        let invalid = |text: String| Err(PcfError::Window(text));
        match self.step {
            _ if self.align && self.of_calendar == Some(true) => {
                invalid("shifted functions start at 0: the window has to be one of numbers, not of a calendar".to_owned())
            }
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
    /// If the window is empty, or the step is not a positive number or too small for so long a time, or if there is not
    /// enough memory.
    pub fn windowed(&self, window: &Window) -> Result<Self, PcfError> {
        window.check_numbers()?;
        let cut = Self::in_window(self.iter().map(|function| function.points()), window)?;
        cut.with_shape(self.shape())?.with_names(self.names().cloned())
    }

    /// Checks functions that may start at any time, and returns their part in a window.
    pub(super) fn from_parts_in(offsets: &[usize], points: &[Point<T>], window: &Window) -> Result<Self, PcfError> {
        window.check_numbers()?;
        check_offsets(offsets, (points.len(), "points"), false)?;
        let functions = || offsets.windows(2).map(|range| &points[range[0]..range[1]]);
        functions().enumerate().try_for_each(|(function, points)| find_wrong(function, points, false))?;
        Self::in_window(functions(), window)
    }

    /// Returns functions of breakpoints at ascending times from any one on, in a window.
    ///
    /// # Errors
    /// As for [`windowed`](Self::windowed), and if a number is not finite or too large.
    pub fn in_window<'a>(functions: impl Iterator<Item = &'a [Point<T>]>, window: &Window) -> Result<Self, PcfError> {
        let Range { start, end } = window.range()?;
        let (mut points, mut offsets, mut latest) = (Vec::new(), vec![0], 0.0f64);
        for function in functions {
            let first = if window.align { function.first().map_or(0.0, |first| first.t.to_f64()) } else { 0.0 };
            latest = function.iter().fold(latest, |latest, point| latest.max(point.t.to_f64().abs()));
            let room = points.try_reserve(function.len() + 2).and_then(|()| offsets.try_reserve(1));
            room.map_err(|_| PcfError::OutOfMemory { functions: offsets.len(), points: points.len() + function.len() })?;
            restrict(function, first, start..end, &mut points);
            offsets.push(points.len());
        }
        let cut = Self::from_parts(offsets, points)?;
        match window.step {
            // Times may have been rounded before the start was subtracted.
            Some(step) => cut.sampled(step, end - start, 2.0 * latest * T::UNIT_ROUNDOFF),
            None => Ok(cut),
        }
    }

    /// Samples the functions at 0, `step`, 2 `step` and so on before `end`, where they end, or if that is infinite, until all
    /// are constant. Breakpoints count as at a time of the grid if they are `rounding` or a few units of the last place later.
    fn sampled(&self, step: f64, end: f64, rounding: f64) -> Result<Self, PcfError> {
        let slack = |t: f64| (4.0 * T::UNIT_ROUNDOFF * t + rounding).min(0.25 * step);
        let last = if end.is_finite() { end } else { self.max_time().to_f64() };
        let steps = ((last - slack(last)) / step).ceil().max(0.0);
        let total = (steps + 1.0) * self.len() as f64;
        if steps >= MOST_SEGMENTS as f64 || total > (isize::MAX as f64) / 32.0 {
            return Err(PcfError::Window(format!(
                "{steps:e} steps of {step:e} are too many: at most {MOST_SEGMENTS} breakpoints per function"
            )));
        }
        let grid = steps as usize + 1;
        let (mut points, mut offsets) = (Vec::new(), vec![0]);
        let no_memory = |_| PcfError::OutOfMemory { functions: self.len(), points: grid * self.len() };
        points.try_reserve_exact(grid * self.len()).map_err(no_memory)?;
        let multiple = multiples(step);
        for function in self.iter() {
            let own = function.points();
            let mut at = 0;
            for k in 0..grid {
                let t = if k + 1 == grid && end.is_finite() { end } else { multiple(k) };
                while own.get(at + 1).is_some_and(|next| next.t.to_f64() <= t + slack(t)) {
                    at += 1;
                }
                points.push(Point::new(T::from_f64(t), own[at].v));
            }
            offsets.push(points.len());
        }
        Self::from_parts(offsets, points)
    }
}

/// Multiples of a step, rounded once from those of its shortest decimal: three times 0.3 is 0.9.
fn multiples(step: f64) -> impl Fn(usize) -> f64 {
    let text = format!("{step:e}");
    let (digits, exponent) = text.split_once('e').unwrap_or((&text, "0"));
    let decimals = digits.split_once('.').map_or(0, |(_, decimals)| decimals.len() as i32) - exponent.parse::<i32>().unwrap_or(0);
    let digits: f64 = digits.replace('.', "").parse().unwrap_or(f64::INFINITY);
    // Up to here both factors are exact.
    let is_exact = move |k: f64| (0..=22).contains(&decimals) && k * digits < 1.0 / f64::EPSILON;
    move |k| if is_exact(k as f64) { k as f64 * digits / 10f64.powi(decimals) } else { k as f64 * step }
}

/// Appends the breakpoints of a function in a window to `into`, less `first` and the window's start. The function is zero before
/// its first breakpoint.
fn restrict<T: PcfReal>(points: &[Point<T>], first: f64, window: Range<f64>, into: &mut Vec<Point<T>>) {
    let Range { start, end } = window;
    let time = |point: &Point<T>| point.t.to_f64() - first;
    let inside = points.partition_point(|point| time(point) <= start);
    let value = inside.checked_sub(1).map_or(T::ZERO, |before| points[before].v);
    into.push(Point::new(T::ZERO, value));
    // Times that become one by rounding are merged.
    for point in points[inside..].iter().take_while(|point| time(point) < end) {
        let shifted = Point::new(T::from_f64(time(point) - start), point.v);
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
