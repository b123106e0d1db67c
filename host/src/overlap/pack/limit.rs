//! When work stops early.

use std::time::{Duration, Instant};

use super::PackError;
use crate::{
    common::Cancel,
    device::{self, Device},
};

/// Maximum duration of work between two looks at a limit, as far as it can be divided.
const BATCH: Duration = Duration::from_millis(200);

/// Duration of launches on a CPU that a limit doesn't cut.
const PATIENCE: Duration = Duration::from_millis(30);

/// Ends a squeeze early.
#[derive(Clone, Debug, Default)]
pub struct Limit {
    pub deadline: Option<Instant>,
    pub cancel: Cancel,
}

impl Limit {
    pub fn reached(&self) -> bool {
        self.cancel.is_cancelled() || self.deadline.is_some_and(|deadline| Instant::now() >= deadline)
    }

    /// The device with launches that the limit ends, if they take long.
    pub fn applied_to(&self, device: &Device) -> Device {
        device.stopped_by(device::Stop { flag: self.cancel.flag(), deadline: self.deadline, patience: PATIENCE })
    }

    /// The limit after a share of the time until this one.
    pub fn sooner(&self, share: f64) -> Limit {
        let now = Instant::now();
        let deadline = self.deadline.map(|deadline| now + deadline.saturating_duration_since(now).mul_f64(share));
        Limit { deadline, cancel: self.cancel.clone() }
    }
}

/// Ends a search early.
#[derive(Clone, Debug, Default)]
pub struct Stop {
    pub cancel: Cancel,
    /// Set if a cancelled search is an error, instead of settling the best packings so far.
    pub abandons: bool,
}

impl Stop {
    /// # Errors
    /// [`PackError::Cancelled`] if the search is abandoned.
    pub fn check(&self) -> Result<(), PackError> {
        if self.abandons && self.cancel.is_cancelled() { Err(PackError::Cancelled) } else { Ok(()) }
    }
}

/// The number of steps to take between two looks at a limit, found by measuring.
#[derive(Clone, Copy, Debug)]
pub struct Pace {
    pub steps: usize,
    most: usize,
}

impl Pace {
    /// One step at first, and at most `most`.
    pub fn new(most: usize) -> Self {
        Pace { steps: 1, most }
    }

    /// Adapts the number to the time that `taken` steps took.
    pub fn adapt(&mut self, taken: usize, time: Duration) {
        let fit = BATCH.as_secs_f64() * taken as f64 / time.as_secs_f64().max(1e-9);
        self.steps = (fit as usize).clamp(1, (2 * self.steps).min(self.most));
    }
}
