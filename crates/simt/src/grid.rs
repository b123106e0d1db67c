//! A launch: its checks, and what its workers share.

use crate::error::SimtError;
use crate::memory::Memory;
use crate::stop::Stop;
use crate::{Dim3, MAX_BLOCK_THREADS, MAX_SHARED};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::Instant;

/// A grid to run a kernel over.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Launch<'a> {
    /// The kernel's name, for errors.
    pub kernel: &'a str,
    /// Number of blocks.
    pub grid: Dim3,
    /// Number of threads per block.
    pub block: Dim3,
    /// Bytes of dynamic shared memory of a block.
    pub dynamic_shared: usize,
}

/// In what order the threads of a block take turns.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Schedule {
    /// In the order of their indices, each until it waits.
    #[default]
    InOrder,
    /// In an order drawn anew at each turn, with turns that also end at atomics and volatile accesses. A block's order
    /// depends on the seed and the block's index alone.
    Random {
        /// Seed of the order.
        seed: u64,
    },
}

/// A launch under way, shared by its workers.
pub(crate) struct Grid<'a> {
    pub(crate) launch: &'a Launch<'a>,
    pub(crate) body: &'a (dyn Fn() + Sync),
    pub(crate) schedule: Schedule,
    pub(crate) blocks: u64,
    /// All blocks run at once.
    pub(crate) cooperative: bool,
    /// Number of meetings of all blocks, of arrivals at the next meeting, and of blocks that have
    /// returned.
    met: AtomicU64,
    came: AtomicU64,
    returned: AtomicU64,
    /// First block not yet taken. Blocks are handed out in ascending order, so every earlier block,
    /// which a later one may wait for, is done or running.
    next: AtomicU64,
    stop: AtomicBool,
    /// Ends the launch early; and when it began.
    pub(crate) until: Option<(&'a Stop, Instant)>,
    /// Set once `until` was reached.
    cut: AtomicBool,
    /// Shared arrays of blocks in clusters, in the order of first use: key, size and alignment.
    arrays: Mutex<Vec<(usize, usize, usize)>>,
    #[cfg(simt_check)]
    pub(crate) checks: crate::check::Checks,
    /// The failure of the lowest block that failed.
    error: Mutex<Option<(u64, SimtError)>>,
}

impl<'a> Grid<'a> {
    /// A launch that is about to begin, of a body that may access `memory`, or all.
    pub(crate) fn new(
        launch: &'a Launch<'a>,
        memory: Option<&[Memory]>,
        body: &'a (dyn Fn() + Sync),
        schedule: Schedule,
    ) -> Result<Self, SimtError> {
        check(launch)?;
        #[cfg(not(simt_check))]
        let _ = memory;
        Ok(Grid {
            launch,
            body,
            schedule,
            blocks: launch.grid.count(),
            cooperative: false,
            met: AtomicU64::new(0),
            came: AtomicU64::new(0),
            returned: AtomicU64::new(0),
            next: AtomicU64::new(0),
            stop: AtomicBool::new(false),
            until: None,
            cut: AtomicBool::new(false),
            arrays: Mutex::default(),
            #[cfg(simt_check)]
            checks: {
                let first = std::ptr::from_ref(body).addr();
                crate::check::Checks::new(memory, first..first + size_of_val(body))
            },
            error: Mutex::new(None),
        })
    }

    /// The next block that nobody has taken, which is the caller's.
    pub(crate) fn take_block(&self) -> Option<u64> {
        let linear = self.next.fetch_add(1, Ordering::Relaxed);
        (linear < self.blocks).then_some(linear)
    }

    /// All shared arrays that blocks have come to, this one among them.
    pub(crate) fn arrays(&self, key: usize, size: usize, align: usize) -> Vec<(usize, usize, usize)> {
        let mut arrays = self.arrays.lock().unwrap_or_else(PoisonError::into_inner);
        if !arrays.iter().any(|array| array.0 == key) {
            arrays.push((key, size, align));
        }
        arrays.clone()
    }

    /// Returns the number of meetings of all blocks.
    #[cfg(simt_check)]
    pub(crate) fn met(&self) -> u64 {
        self.met.load(Ordering::Acquire)
    }

    /// A block comes to a meeting of all blocks; `wait` is called as long as others have to come. The error says that
    /// one has returned instead.
    pub(crate) fn meet(&self, mut wait: impl FnMut()) -> Result<(), ()> {
        let before = self.met.load(Ordering::Acquire);
        if self.came.fetch_add(1, Ordering::AcqRel) + 1 == self.blocks {
            self.came.store(0, Ordering::Relaxed);
            self.met.store(before + 1, Ordering::Release);
            return Ok(());
        }
        while self.met.load(Ordering::Acquire) == before {
            // A block that has met the others may return before these notice.
            if self.returned.load(Ordering::Acquire) > 0 && self.met.load(Ordering::Acquire) == before {
                return Err(());
            }
            wait();
        }
        Ok(())
    }

    /// A block has returned.
    pub(crate) fn leave(&self) {
        self.returned.fetch_add(1, Ordering::Release);
    }

    /// Returns true if a block has failed, so the others need not go on, or if all are to end early.
    pub(crate) fn stopped(&self) -> bool {
        if self.until.is_some_and(|(stop, began)| stop.reached(began)) {
            self.cut.store(true, Ordering::Relaxed);
            self.stop.store(true, Ordering::Relaxed);
        }
        self.stop.load(Ordering::Relaxed)
    }

    /// Takes note of a block that failed. There is no error where the block only followed another block's failure.
    pub(crate) fn fail(&self, linear: u64, error: Option<SimtError>) {
        if let Some(error) = error {
            let mut first = self.error.lock().unwrap_or_else(PoisonError::into_inner);
            if first.as_ref().is_none_or(|(other, _)| linear < *other) {
                *first = Some((linear, error));
            }
        }
        self.stop.store(true, Ordering::Relaxed);
    }

    /// Returns the result of the launch, once its workers are done.
    pub(crate) fn outcome(self) -> Result<(), SimtError> {
        match self.error.into_inner().unwrap_or_else(PoisonError::into_inner) {
            None if self.cut.into_inner() => Err(SimtError::Stopped { kernel: self.launch.kernel.to_owned() }),
            None => Ok(()),
            Some((_, error)) => Err(error),
        }
    }
}

fn check(launch: &Launch<'_>) -> Result<(), SimtError> {
    let Launch { grid, block, dynamic_shared, .. } = *launch;
    let reason = if block.count() == 0 {
        format!("its block {block} has an extent of zero")
    } else if block.count() > u64::from(MAX_BLOCK_THREADS) {
        format!("its block {block} has {} threads, and {MAX_BLOCK_THREADS} are the limit", block.count())
    } else if block.z > 64 {
        format!("its block {block} is {} deep in z, and 64 is the limit", block.z)
    } else if grid.count() == 0 {
        format!("its grid {grid} has an extent of zero")
    } else if grid.x >= 1 << 31 {
        format!("its grid {grid} has {} blocks in x, and {} are the limit", grid.x, (1u32 << 31) - 1)
    } else if grid.y >= 1 << 16 || grid.z >= 1 << 16 {
        format!("its grid {grid} has {} blocks in y or z, and 65535 are the limit", grid.y.max(grid.z))
    } else if dynamic_shared > MAX_SHARED {
        format!("it asks for {dynamic_shared} bytes of dynamic shared memory, and {MAX_SHARED} are the limit")
    } else {
        return Ok(());
    };
    Err(SimtError::InvalidLaunch { kernel: launch.kernel.to_owned(), reason })
}
