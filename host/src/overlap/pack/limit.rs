//! When work stops early.

use std::time::Instant;

use super::PackError;
use crate::common::Cancel;

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
