//! The stacks of threads that run while others of their block wait.
//!
//! A stack costs two memory mappings, its own and its guard page's, and Linux allows a process 65,530 of them by
//! default (`vm.max_map_count`). A stack for each of 1024 threads on each of 64 cores would be twice as many as that.
//! So the number of stacks is bounded, by letting a launch have no more helping workers than it can reserve stacks for.
//! It must be done before they start: a worker that waited for stacks in the middle of a block might wait for a later
//! block, which in its turn may wait for this one. The thread that launches reserves nothing, so that every launch can
//! go on.

use corosensei::stack::DefaultStack;
use std::io;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

pub(crate) type Stack = DefaultStack;

/// Virtual; the system maps what is touched.
pub(crate) const STACK_SIZE: usize = 256 * 1024;

/// Least size of the guard page, in bytes.
#[cfg(unix)]
pub(crate) const GUARD: usize = 4096;

/// Half of the default limit on mappings, at two per stack.
const MAX_RESERVED: usize = 16 * 1024;

static RESERVED: AtomicUsize = AtomicUsize::new(0);

/// Stacks that no worker holds. They are kept, since a launch should not pay for mapping them again.
static FREE: Mutex<Vec<Stack>> = Mutex::new(Vec::new());

fn free() -> MutexGuard<'static, Vec<Stack>> {
    FREE.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Number of stacks moved at a time, to spare the lock. It is small so that no worker holds many
/// unused ones.
const BATCH: usize = 32;

/// Moves some free stacks into `stacks`, or else a new one.
pub(crate) fn take(stacks: &mut Vec<Stack>) -> io::Result<()> {
    let mut free = free();
    let kept = free.len().saturating_sub(BATCH);
    stacks.extend(free.drain(kept..));
    drop(free);
    if stacks.is_empty() {
        stacks.push(Stack::new(STACK_SIZE)?);
    }
    Ok(())
}

/// Gives stacks back for others to take.
pub(crate) fn give(stacks: &mut Vec<Stack>) {
    if !stacks.is_empty() {
        free().append(stacks);
    }
}

/// The right of some workers to hold stacks, until dropped.
pub(crate) struct Reservation {
    stacks: usize,
}

impl Reservation {
    /// Reserves `each` stacks for as many of `workers` as can have them; returns how many those are.
    pub(crate) fn new(workers: usize, each: usize) -> (usize, Self) {
        let mut granted = 0;
        let _ = RESERVED.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |reserved| {
            granted = workers.min(MAX_RESERVED.saturating_sub(reserved) / each);
            Some(reserved + granted * each)
        });
        (granted, Self { stacks: granted * each })
    }
}

impl Drop for Reservation {
    fn drop(&mut self) {
        RESERVED.fetch_sub(self.stacks, Ordering::Relaxed);
    }
}
