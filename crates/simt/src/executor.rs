//! Launches: their checks, and the sharing of blocks among workers.

use crate::block::{Block, Buffers};
use crate::error::SimtError;
use crate::stack::Reservation;
use crate::{Dim3, MAX_BLOCK_THREADS, MAX_SHARED, MAX_WORKERS, current, panics, pool};
use std::num::NonZero;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

/// A grid to run a kernel over.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Launch<'a> {
    /// The kernel's name, for errors.
    pub kernel: &'a str,
    /// How many blocks.
    pub grid: Dim3,
    /// How many threads in a block.
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
    /// In an order drawn anew at each turn, with turns that also end at atomics and volatile accesses. A block's order depends
    /// on the seed and the block's index alone.
    Random {
        /// What the order is drawn from.
        seed: u64,
    },
}

/// Runs launches.
///
/// Its OS threads belong to the process and are shared by all executors, so that it costs nothing to make one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Executor {
    workers: usize,
    schedule: Schedule,
}

/// A grid of fewer threads starts on the calling thread, for waking another takes as long as to run some hundred threads.
const MANY_THREADS: u64 = 4096;

/// How long a small grid may take before the calling thread asks for help all the same.
const PATIENCE: Duration = Duration::from_micros(20);

impl Executor {
    /// An executor that runs up to `workers` blocks at a time: from one to [`MAX_WORKERS`]. Where the system doesn't start as many threads
    /// it makes do with fewer.
    pub fn new(workers: usize) -> Self {
        Self { workers: workers.clamp(1, MAX_WORKERS), schedule: Schedule::InOrder }
    }

    /// The same with another order of turns within a block.
    pub fn with_schedule(self, schedule: Schedule) -> Self {
        Self { schedule, ..self }
    }

    /// How many blocks it runs at a time.
    pub fn workers(&self) -> usize {
        self.workers
    }

    /// Calls `body` once for each thread of the grid, and returns when all have returned or one has failed.
    ///
    /// Blocks start in ascending order, so that one may wait for an earlier one (in a loop with
    /// [`current::yield_now`]), but not for a later one.
    ///
    /// # Errors
    /// The launch's bounds, and whatever stops the body; see [`SimtError`].
    pub fn run(&self, launch: &Launch<'_>, body: &(dyn Fn() + Sync)) -> Result<(), SimtError> {
        if let Some(at) = current::place() {
            return Err(SimtError::NestedLaunch { at, inner: launch.kernel.to_owned() });
        }
        check(launch)?;
        panics::install_hook();
        let grid = Grid {
            launch,
            body,
            schedule: self.schedule,
            blocks: launch.grid.count(),
            next: AtomicU64::new(0),
            stop: AtomicBool::new(false),
            error: Mutex::new(None),
        };
        let helpers = usize::try_from(grid.blocks).unwrap_or(usize::MAX).min(self.workers) - 1;
        if helpers == 0 {
            grid.work(None);
        } else if grid.blocks.saturating_mul(launch.block.count()) >= MANY_THREADS || !grid.work(Some(Instant::now() + PATIENCE))
        {
            let (helpers, _reservation) = Reservation::new(helpers, launch.block.count() as usize);
            pool::with_helpers(helpers, &|| {
                grid.work(None);
            });
        }
        match grid.error.into_inner().unwrap_or_else(PoisonError::into_inner) {
            None => Ok(()),
            Some((_, error)) => Err(error),
        }
    }
}

impl Default for Executor {
    /// An executor with a worker for each core that the process may use.
    fn default() -> Self {
        Self::new(thread::available_parallelism().map_or(1, NonZero::get))
    }
}

/// A launch under way, shared by its workers.
pub(crate) struct Grid<'a> {
    pub(crate) launch: &'a Launch<'a>,
    pub(crate) body: &'a (dyn Fn() + Sync),
    pub(crate) schedule: Schedule,
    blocks: u64,
    /// The first block that nobody has taken. An atomic counter hands blocks out in ascending order, so that whatever
    /// earlier block one waits for, some worker is at it or has done it.
    next: AtomicU64,
    stop: AtomicBool,
    /// The failure of the lowest block that failed.
    error: Mutex<Option<(u64, SimtError)>>,
}

impl Grid<'_> {
    /// Whether a block has failed, so that the others need not go on.
    pub(crate) fn stopped(&self) -> bool {
        self.stop.load(Ordering::Relaxed)
    }

    /// Runs blocks until none is left (true) or it is late (false).
    fn work(&self, late: Option<Instant>) -> bool {
        let buffers = Buffers::take();
        let block = Block::new(self, &buffers);
        current::scope(&block, || {
            loop {
                if self.stopped() {
                    return true;
                }
                let linear = self.next.fetch_add(1, Ordering::Relaxed);
                if linear >= self.blocks {
                    return true;
                }
                if let Err(error) = block.run(linear) {
                    self.fail(linear, error);
                    return true;
                }
                if late.is_some_and(|late| Instant::now() >= late) {
                    return false;
                }
            }
        })
    }

    /// Takes note of a block that failed. There is no error where it only followed another's failure.
    fn fail(&self, linear: u64, error: Option<SimtError>) {
        if let Some(error) = error {
            let mut first = self.error.lock().unwrap_or_else(PoisonError::into_inner);
            if first.as_ref().is_none_or(|(other, _)| linear < *other) {
                *first = Some((linear, error));
            }
        }
        self.stop.store(true, Ordering::Relaxed);
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
