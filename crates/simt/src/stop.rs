//! An early end of launches.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// Ends launches early: the threads that run are left where they next wait, and the others don't start.
#[derive(Clone, Debug, Default)]
pub struct Stop {
    /// Ends launches when it is set.
    pub flag: Arc<AtomicBool>,
    /// Ends launches at this time.
    pub deadline: Option<Instant>,
    /// Time that each launch has in any case. One that takes no longer runs to its end.
    pub patience: Duration,
}

impl Stop {
    /// Returns true if a launch that began at this time is to end.
    pub(crate) fn reached(&self, began: Instant) -> bool {
        let asked = || self.flag.load(Ordering::Relaxed) || self.deadline.is_some_and(|deadline| Instant::now() >= deadline);
        asked() && began.elapsed() >= self.patience
    }
}
