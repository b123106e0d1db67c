//! The sharing of a launch's blocks among workers.

use crate::block::{Block, Buffers};
use crate::cluster::{Cluster, MAX_CLUSTER, Member};
use crate::error::SimtError;
use crate::grid::{Grid, Launch, Schedule};
use crate::memory::Memory;
#[cfg(unix)]
use crate::signals;
use crate::stack::Reservation;
use crate::stop::Stop;
use crate::{Dim3, MAX_WORKERS, current, panics, pool};
use std::num::NonZero;
use std::sync::OnceLock;
use std::thread;
use std::time::{Duration, Instant};

/// Runs launches.
///
/// Its OS threads belong to the process and are shared by all executors, so that it costs nothing to make one.
#[derive(Clone, Debug)]
pub struct Executor {
    workers: usize,
    schedule: Schedule,
    stop: Option<Stop>,
}

/// A grid of fewer threads starts on the calling thread, for waking another takes as long as to run some hundred
/// threads.
const MANY_THREADS: u64 = 4096;

/// Time after which the calling thread asks for help with a small grid.
const PATIENCE: Duration = Duration::from_micros(20);

impl Executor {
    /// Makes an executor that runs up to `workers` blocks at a time, from one to [`MAX_WORKERS`].
    /// If the system refuses to start that many threads, it uses fewer.
    pub fn new(workers: usize) -> Self {
        Self { workers: workers.clamp(1, MAX_WORKERS), schedule: Schedule::InOrder, stop: None }
    }

    /// The same with launches that end early, with [`SimtError::Stopped`]. Their output is then unspecified.
    pub fn stopped_by(self, stop: Stop) -> Self {
        Self { stop: Some(stop), ..self }
    }

    /// The same with another order of turns within a block.
    pub fn with_schedule(self, schedule: Schedule) -> Self {
        Self { schedule, ..self }
    }

    /// Returns the number of blocks that it runs at a time.
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
        self.run_over(launch, None, body)
    }

    /// [`run`](Self::run) with the memory that the body may access, statics and shared memory aside: any other access
    /// ends a [checked run](crate#checked-runs). With `None` it may access all memory of the process.
    pub fn run_over(&self, launch: &Launch<'_>, memory: Option<&[Memory]>, body: &(dyn Fn() + Sync)) -> Result<(), SimtError> {
        let grid = self.grid(launch, memory, body)?;
        // In a checked run all blocks use the same records, and would wait for each other.
        let workers = if cfg!(simt_check) { 1 } else { self.workers };
        let helpers = usize::try_from(grid.blocks).unwrap_or(usize::MAX).min(workers) - 1;
        if helpers == 0 {
            work(&grid, None);
        } else if grid.blocks.saturating_mul(launch.block.count()) >= MANY_THREADS
            || !work(&grid, Some(Instant::now() + PATIENCE))
        {
            let (helpers, _reservation) = Reservation::new(helpers, launch.block.count() as usize);
            pool::with_helpers(helpers, &|| {
                work(&grid, None);
            });
        }
        grid.outcome()
    }

    /// [`run_over`](Self::run_over) of all blocks at once, each on an OS thread of its own, so that they can wait for each other
    /// ([`current::sync_grid`]): at most as many as the executor has workers.
    ///
    /// # Errors
    /// As [`run`](Self::run); and where there are more blocks, or the system doesn't start so many threads.
    pub fn run_cooperative(
        &self,
        launch: &Launch<'_>,
        memory: Option<&[Memory]>,
        body: &(dyn Fn() + Sync),
    ) -> Result<(), SimtError> {
        let mut grid = self.grid(launch, memory, body)?;
        grid.cooperative = true;
        let invalid = |reason| Err(SimtError::InvalidLaunch { kernel: launch.kernel.to_owned(), reason });
        let (blocks, workers) = (grid.blocks, self.workers);
        if blocks > workers as u64 {
            return invalid(format!("its {blocks} blocks wait for each other, and {workers} run at once"));
        }
        let helpers = blocks as usize - 1;
        let (granted, _reservation) = Reservation::new(helpers, launch.block.count() as usize);
        let started = thread::scope(|scope| {
            let started =
                (0..helpers).take_while(|_| thread::Builder::new().spawn_scoped(scope, || work(&grid, None)).is_ok()).count();
            if granted == helpers && started == helpers {
                work(&grid, None);
            } else {
                grid.fail(0, None);
            }
            started
        });
        if granted < helpers || started < helpers {
            return invalid(format!("its {blocks} blocks wait for each other, and the system has no threads for so many"));
        }
        grid.outcome()
    }

    /// [`run_over`](Self::run_over) of blocks in clusters: those of a cluster run at once, each on an OS thread of its own,
    /// so that they can wait for each other ([`current::cluster_wait`]) and access each other's shared memory
    /// ([`current::cluster_map`]). Clusters start in ascending order.
    ///
    /// # Errors
    /// As [`run`](Self::run); and where the cluster has no blocks or more than [`MAX_CLUSTER`], the grid isn't a multiple
    /// of it, or the system doesn't start as many threads as one cluster has blocks.
    pub fn run_clusters(
        &self,
        launch: &Launch<'_>,
        cluster: Dim3,
        memory: Option<&[Memory]>,
        body: &(dyn Fn() + Sync),
    ) -> Result<(), SimtError> {
        let grid = self.grid(launch, memory, body)?;
        let invalid = |reason| Err(SimtError::InvalidLaunch { kernel: launch.kernel.to_owned(), reason });
        let (size, extent) = (cluster.count(), launch.grid);
        if !(1..=MAX_CLUSTER).contains(&size) {
            return invalid(format!("its cluster {cluster} has {size} blocks, and from 1 to {MAX_CLUSTER} are possible"));
        }
        if !extent.is_multiple_of(cluster) {
            return invalid(format!("its grid {extent} isn't a multiple of its cluster {cluster} in each dimension"));
        }
        let size = size as usize;
        // In a checked run they would wait for each other.
        let workers = if cfg!(simt_check) { 1 } else { self.workers };
        let most = usize::try_from(grid.blocks / size as u64).unwrap_or(usize::MAX).min(workers / size).max(1);
        let (granted, _reservation) = Reservation::new(most * size, launch.block.count() as usize);
        let groups: Vec<Cluster> = (0..(granted / size).max(1)).map(|_| Cluster::new(cluster)).collect();
        // Number of groups whose threads are complete. The other threads leave.
        let whole = OnceLock::new();
        thread::scope(|scope| {
            let (grid, groups, whole) = (&grid, &groups, &whole);
            let work = move |number: usize| {
                move || {
                    if number / size < *whole.wait() {
                        work_in_cluster(grid, Member { cluster: &groups[number / size], rank: (number % size) as u32 });
                    }
                }
            };
            let started = (0..groups.len() * size)
                .take_while(|&number| thread::Builder::new().spawn_scoped(scope, work(number)).is_ok())
                .count();
            let complete = if granted < size { 0 } else { started / size };
            whole.set(complete).expect("it is set once");
        });
        if whole.get() == Some(&0) {
            return invalid(format!("its clusters have {size} blocks, and the system has no threads for so many"));
        }
        grid.outcome()
    }

    /// The launch, if it can begin.
    fn grid<'a>(
        &'a self,
        launch: &'a Launch<'a>,
        memory: Option<&'a [Memory]>,
        body: &'a (dyn Fn() + Sync),
    ) -> Result<Grid<'a>, SimtError> {
        if let Some(at) = current::place() {
            let message = format!("a kernel cannot launch another one (`{}`)", launch.kernel);
            return Err(SimtError::Fault { at, message });
        }
        let mut grid = Grid::new(launch, memory, body, self.schedule)?;
        grid.until = self.stop.as_ref().map(|stop| (stop, Instant::now()));
        panics::install_hook(current::note_panic);
        Ok(grid)
    }
}

impl Default for Executor {
    /// An executor with a worker for each core that the process may use.
    fn default() -> Self {
        Self::new(thread::available_parallelism().map_or(1, NonZero::get))
    }
}

/// Runs blocks until none is left (true) or it is late (false).
fn work(grid: &Grid<'_>, late: Option<Instant>) -> bool {
    #[cfg(unix)]
    signals::install();
    let buffers = Buffers::take();
    let block = Block::new(grid, &buffers);
    current::scope(&block, || {
        loop {
            if grid.stopped() {
                return true;
            }
            let Some(linear) = grid.take_block() else {
                return true;
            };
            if let Err(error) = block.run(linear) {
                grid.fail(linear, error);
                return true;
            }
            grid.leave();
            if late.is_some_and(|late| Instant::now() >= late) {
                return false;
            }
        }
    })
}

/// Runs blocks of one rank, cluster after cluster, until none is left.
fn work_in_cluster(grid: &Grid<'_>, member: Member<'_>) {
    #[cfg(unix)]
    signals::install();
    let Member { cluster, rank } = member;
    let buffers = Buffers::take();
    let block = Block::new(grid, &buffers).in_cluster(member);
    current::scope(&block, || {
        loop {
            cluster.wait_for_others();
            if rank == 0 {
                let next = if grid.stopped() { None } else { grid.take_block() };
                cluster.begin(next.unwrap_or(u64::MAX), cluster.dim.count() * grid.launch.block.count());
            }
            cluster.wait_for_others();
            let Some(linear) = cluster.block(grid.launch, rank) else {
                return;
            };
            if let Err(error) = block.run(linear) {
                grid.fail(linear, error);
            }
        }
    });
}
