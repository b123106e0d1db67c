//! Functions of barcodes: times at which bars change them, and the breakpoints that follow.

use crate::number::Number;

/// A function of a barcode.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
pub enum Curve {
    /// Number of bars alive at a time.
    Betti,
    /// Number of bars that are longer than a time.
    StableRank,
    /// Sum of the lengths of the bars whose middle is at a time or before.
    AccumulatedPersistence,
}

impl Curve {
    /// All of them, each at the index that is its number.
    pub const ALL: [Curve; 3] = [Curve::Betti, Curve::StableRank, Curve::AccumulatedPersistence];

    /// Times at which a bar from `start` to `end` changes the function, each with the change. A time is infinite if there is
    /// no change.
    #[inline(always)]
    pub fn changes(self, start: f64, end: f64) -> [(f64, f64); 2] {
        let endless = start == -f64::INFINITY || end == f64::INFINITY;
        match self {
            // A bar without start is alive at 0.
            Curve::Betti => [(if start == -f64::INFINITY { 0.0 } else { start }, 1.0), (end, -1.0)],
            Curve::StableRank => [(0.0, 1.0), (end - start, -1.0)],
            Curve::AccumulatedPersistence if endless => [(f64::INFINITY, 0.0); 2],
            Curve::AccumulatedPersistence => [(start / 2.0 + end / 2.0, end - start), (f64::INFINITY, 0.0)],
        }
    }
}

/// The breakpoints of a function that starts from 0, by changes in the order of their times.
#[derive(Clone, Copy, Debug)]
pub struct Steps<T> {
    time: T,
    /// Value before `time`, and what changes it then.
    value: f64,
    change: f64,
    /// True after the breakpoint at 0, which every function has.
    begun: bool,
}

impl<T: Number> Default for Steps<T> {
    fn default() -> Self {
        Steps { time: T::ZERO, value: 0.0, change: 0.0, begun: false }
    }
}

impl<T: Number> Steps<T> {
    /// Adds a change at a time, which is from 0 on and not before those of earlier changes. Returns the breakpoint that
    /// they make, if it is complete and the value changes.
    #[inline(always)]
    pub fn add(&mut self, time: T, change: f64) -> Option<(T, f64)> {
        if time == self.time {
            self.change += change;
            return None;
        }
        let breakpoint = self.finish();
        (self.time, self.change) = (time, change);
        breakpoint
    }

    /// Returns the last breakpoint, if the value changes.
    #[inline(always)]
    pub fn finish(&mut self) -> Option<(T, f64)> {
        let before = self.value;
        self.value += self.change;
        let changes = self.value != before || !self.begun;
        self.begun = true;
        if changes { Some((self.time, self.value)) } else { None }
    }
}
