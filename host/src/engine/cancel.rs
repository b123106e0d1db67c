//! A flag that asks for an early end.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use super::EngineError;

/// Asks a computation to stop. Clones share one flag, which stays set.
///
/// ```
/// use warpsmith::engine::{Cancel, EngineError};
///
/// let cancel = Cancel::new();
/// let elsewhere = cancel.clone();
/// assert_eq!(cancel.check(), Ok(()));
/// elsewhere.cancel();
/// assert_eq!(cancel.check(), Err(EngineError::Cancelled));
/// ```
#[derive(Clone, Debug, Default)]
pub struct Cancel(Arc<AtomicBool>);

impl Cancel {
    /// A flag of its own, not set.
    pub fn new() -> Self {
        Self::default()
    }

    /// Sets the flag. Safe to call in a signal's handler.
    pub fn cancel(&self) {
        self.0.store(true, Ordering::Relaxed);
    }

    /// True if the flag is set.
    pub fn is_cancelled(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }

    /// [`EngineError::Cancelled`] if the flag is set.
    pub fn check(&self) -> Result<(), EngineError> {
        if self.is_cancelled() { Err(EngineError::Cancelled) } else { Ok(()) }
    }
}
