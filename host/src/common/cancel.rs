//! A flag that asks for an early end.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// Asks a computation to stop. Clones share one flag, which stays set.
///
/// ```
/// use warpsmith::common::{Cancel, Cancelled};
///
/// let cancel = Cancel::new();
/// let elsewhere = cancel.clone();
/// assert_eq!(cancel.check(), Ok(()));
/// elsewhere.cancel();
/// assert_eq!(cancel.check(), Err(Cancelled));
/// ```
#[derive(Clone, Debug, Default)]
pub struct Cancel(Arc<AtomicBool>);

/// The error of a computation that stopped because its [`Cancel`] was set.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("cancelled")]
pub struct Cancelled;

impl Cancel {
    /// Creates a flag that is not set.
    pub fn new() -> Self {
        Self::default()
    }

    /// Returns the shared flag.
    pub fn flag(&self) -> Arc<AtomicBool> {
        self.0.clone()
    }

    /// Sets the flag. Safe to call in a signal handler.
    pub fn cancel(&self) {
        self.0.store(true, Ordering::Relaxed);
    }

    /// Returns true if the flag is set.
    pub fn is_cancelled(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }

    /// Returns an error if the flag is set.
    pub fn check(&self) -> Result<(), Cancelled> {
        if self.is_cancelled() { Err(Cancelled) } else { Ok(()) }
    }
}
