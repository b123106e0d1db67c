//! The engine: an operation and an output in, blocks on all devices, a report out.

use std::{
    any::{Any, TypeId},
    collections::HashMap,
    sync::{Mutex, MutexGuard, OnceLock, PoisonError},
    thread::ScopedJoinHandle,
    time::{Duration, Instant},
};

use super::{
    BlockOp, BlockScheduler, Cancel, Control, Coverage, EngineError, Report, Settings, SideRule, Writer, max_output_elements,
    min_block_side,
    worker::{SLOTS, Seat, Shared, prepare},
};
use crate::{device::Device, threads};

/// Blocks that the memory budget is divided into, for each GPU.
const SPLITS_PER_GPU: usize = 32;

/// The fewest blocks for each GPU: with fewer, too much of the last one's download is waited for.
const BLOCKS_PER_GPU: usize = 16;

/// The side of blocks that are not made smaller for the sake of their number: with smaller ones, too much of a GPU is
/// idle at each one's end. For one GPU; several are better served by more of them.
const WORTHWHILE_SIDE: usize = 2048;

/// The most bytes of a block. Page-locked memory for [`SLOTS`] is allocated, which is slow, and larger ones are
/// downloaded no faster.
const MAX_BLOCK_BYTES: usize = 64 << 20;

/// The longest side of a block. Kernels give four entries to a thread and number the threads in 32 bits.
const MOST_SIDE: usize = 1 << 17;

/// Computes matrices block by block, on one or several GPUs, or on the CPU in their place.
///
/// Buffers are kept from one computation to the next. One engine does one thing at a time; threads that share it wait
/// for each other.
///
/// Every GPU has a worker thread (the first the calling one), which draws blocks from one queue.
/// For each block it enqueues the operation on a compute stream and the download behind it on
/// another; while they run it waits for the last block but one, and puts that in place. If all
/// functions fit on the GPU, two compute streams take turns, so that a block fills the
/// multiprocessors that its predecessor leaves idle at its end.
#[derive(Debug)]
pub struct Engine {
    devices: Vec<Device>,
    settings: Settings,
    /// Usable memory of each GPU, as first measured: kept buffers are used again.
    budget: OnceLock<usize>,
    kept: Mutex<Kept>,
}

/// Buffers that computations have left, by the GPU's number and the type of its [`Seat`].
type Kept = HashMap<(usize, TypeId), Box<dyn Any + Send>>;

impl Engine {
    /// An engine on these devices, with the default settings.
    ///
    /// The CPU may be listed several times, to test the work of several GPUs.
    ///
    /// # Errors
    /// [`EngineError::NoDevices`] if the list is empty.
    pub fn new(devices: impl IntoIterator<Item = Device>) -> Result<Self, EngineError> {
        let devices: Vec<_> = devices.into_iter().collect();
        if devices.is_empty() {
            return Err(EngineError::NoDevices);
        }
        Ok(Engine { devices, settings: Settings::default(), budget: OnceLock::new(), kept: Mutex::default() })
    }

    /// The same with other settings.
    pub fn with_settings(self, settings: Settings) -> Self {
        Engine { settings, ..self }
    }

    /// The devices.
    pub fn devices(&self) -> &[Device] {
        &self.devices
    }

    /// Computes a matrix: every block that the writer's coverage asks for, each once.
    ///
    /// The division into blocks has no influence on any entry, as long as the operation computes
    /// each by itself.
    ///
    /// Parts of the work are `rayon`'s. Tasks of `rayon` must not share an engine: they may wait for each other for
    /// ever.
    ///
    /// # Errors
    /// [`EngineError::BudgetTooSmall`] if not even single rows and columns fit;
    /// [`EngineError::Cancelled`]; [`EngineError::OtherDevices`] if the output is in the memory of
    /// other devices; errors of the operation, the writer or a device. The output then is
    /// incomplete.
    pub fn run<O: BlockOp>(&self, op: &O, writer: &dyn Writer<O::Value>, control: Control<'_>) -> Result<Report, EngineError> {
        let homes = writer.devices();
        if !homes.is_empty() && homes.len() != self.devices.len() {
            return Err(EngineError::OtherDevices { homes: homes.len(), devices: self.devices.len() });
        }
        for (device, home) in self.devices.iter().zip(homes) {
            device.stream()?.check_home(home)?;
        }
        let started = Instant::now();
        let compiled: Vec<Duration> = self.devices.iter().map(Device::compile_time).collect();
        let mut kept = self.kept();
        let (rows, cols) = writer.shape();
        let budget = self.budget()?;
        let scheduler = self.schedule_within(op, writer.shape(), writer.coverage(), budget)?;
        let total: usize = scheduler.blocks().iter().map(|block| scheduler.coverage().work(block)).sum();
        let done = control.queue.map_or(Ok(0), |queue| queue.begin(&scheduler))?;
        tracing::debug!(rows, cols, side = scheduler.side(), blocks = scheduler.blocks().len(), budget, "matrix in blocks");
        let work = Shared::new(op, &scheduler, writer, control, (budget / 2, total, done));
        let run = |gpu: usize, seat: Option<Box<Seat<O>>>| work.run(gpu, &self.devices[gpu], seat);
        let results = self.on_each(&scheduler, &mut kept, work.failed(), run);
        let mut report = Report { side: scheduler.side(), blocks: scheduler.blocks().len(), ..Report::default() };
        let mut failure = None;
        for (gpu, result) in results.into_iter().enumerate() {
            match result {
                Ok((seat, blocks, downloaded)) => {
                    kept.insert((gpu, TypeId::of::<Seat<O>>()), seat);
                    report.blocks_by_gpu.push(blocks);
                    report.downloaded += downloaded;
                }
                Err(error) => failure = failure.or(Some(error)),
            }
        }
        if failure.is_some() {
            // Copies under way would write to memory that the caller has again.
            homes.iter().for_each(|home| _ = home.synchronize());
        }
        // Several GPUs load their kernels at the same time.
        let compiling = self.devices.iter().zip(compiled).map(|(device, before)| device.compile_time() - before);
        report.compile_time = compiling.max().unwrap_or_default();
        report.time = started.elapsed().saturating_sub(report.compile_time);
        failure.map_or(Ok(report), Err)
    }

    /// Does what [`run`](Self::run) would do before its first block of a matrix in the host's
    /// memory: loads kernels, allocates, and uploads functions. It has no influence on the results.
    ///
    /// # Errors
    /// [`EngineError::BudgetTooSmall`], and what the operation or a device reports.
    pub fn prepare<O: BlockOp>(&self, op: &O, shape: (usize, usize), coverage: Coverage) -> Result<(), EngineError> {
        let mut kept = self.kept();
        let budget = self.budget()?;
        let scheduler = self.schedule_within(op, shape, coverage, budget)?;
        let prepare =
            |gpu: usize, seat: Option<Box<Seat<O>>>| prepare(op, &self.devices[gpu], &scheduler, budget / 2, true, seat);
        for (gpu, seat) in self.on_each(&scheduler, &mut kept, &Cancel::new(), prepare).into_iter().enumerate() {
            kept.insert((gpu, TypeId::of::<Seat<O>>()), Box::new(seat?));
        }
        Ok(())
    }

    fn kept(&self) -> MutexGuard<'_, Kept> {
        self.kept.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Calls `work` for each GPU that has something to do, with the buffers of an earlier
    /// computation. All but the first have threads of their own.
    fn on_each<S: Send + 'static, R: Send>(
        &self,
        scheduler: &BlockScheduler,
        kept: &mut Kept,
        failed: &Cancel,
        work: impl Fn(usize, Option<Box<S>>) -> Result<R, EngineError> + Sync,
    ) -> Vec<Result<R, EngineError>> {
        // More workers than blocks would have nothing to do.
        let workers = self.devices.len().min(scheduler.blocks().len());
        let mut seats = (0..workers).map(|gpu| (gpu, kept.remove(&(gpu, TypeId::of::<S>()))));
        let run = |gpu, seat: Option<Box<dyn Any + Send>>| work(gpu, seat.and_then(|seat| seat.downcast().ok()));
        std::thread::scope(|scope| {
            let first = seats.next();
            let others: Vec<_> = seats
                .map(|(gpu, seat)| {
                    let run = &run;
                    let started = threads::spawn(scope, format!("engine-{gpu}"), move || run(gpu, seat));
                    // The others need not begin.
                    started.inspect_err(|_| failed.cancel())
                })
                .collect();
            let first = first.map(|(gpu, seat)| run(gpu, seat));
            let join = |handle: ScopedJoinHandle<'_, _>| handle.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic));
            first.into_iter().chain(others.into_iter().map(|handle| handle.map_err(EngineError::from).and_then(join))).collect()
        })
    }

    /// The blocks that [`run`](Self::run) would compute.
    ///
    /// # Errors
    /// [`EngineError::BudgetTooSmall`], and what a device reports.
    pub fn schedule<O: BlockOp>(&self, op: &O, shape: (usize, usize), coverage: Coverage) -> Result<BlockScheduler, EngineError> {
        self.schedule_within(op, shape, coverage, self.budget()?)
    }

    /// Usable memory of each GPU, in bytes: that of the GPU with the least.
    fn budget(&self) -> Result<usize, EngineError> {
        if let Some(&budget) = self.settings.memory_budget.as_ref().or(self.budget.get()) {
            return Ok(budget);
        }
        let mut least = usize::MAX;
        for device in &self.devices {
            least = least.min(device.memory()?.free / 5 * 4);
        }
        Ok(*self.budget.get_or_init(|| least))
    }

    /// The blocks, of the side that the document's rule gives. They are smaller if there would be
    /// too few, they would be too large, or their functions would not fit.
    fn schedule_within<O: BlockOp>(
        &self,
        op: &O,
        (rows, cols): (usize, usize),
        coverage: Coverage,
        budget: usize,
    ) -> Result<BlockScheduler, EngineError> {
        let entry = size_of::<O::Value>();
        let gpus = self.devices.len();
        let multiprocessors = self.devices.iter().map(|device| device.info().multiprocessors).min().unwrap_or(1);
        let rule = SideRule {
            // The document's four fifths are in the budget.
            max_output_elements: max_output_elements((budget / 4).saturating_mul(5), entry),
            splits_hint: gpus * SPLITS_PER_GPU,
            min_block_side: min_block_side(multiprocessors),
        };
        let mut side = match self.settings.block_side {
            Some(side) => side.min((rule.max_output_elements / SLOTS).isqrt()),
            None => {
                let cap = (MAX_BLOCK_BYTES / entry.max(1)).isqrt();
                // A lower triangle of b bands has about b²/2 blocks, a rectangle rows * cols / side².
                let blocks = (gpus * BLOCKS_PER_GPU) as f64;
                let covered = rows as f64 * cols as f64 / if coverage == Coverage::LowerTriangle { 2.0 } else { 1.0 };
                let few = (covered / blocks).sqrt().ceil() as usize;
                let worthwhile = (WORTHWHILE_SIDE / gpus.isqrt()).max(rule.min_block_side);
                rule.block_side(rows, cols).min(few.max(worthwhile)).min(cap)
            }
        };
        side = side.min(MOST_SIDE).clamp(1, rows.max(cols).max(1));
        loop {
            let needed = data_bytes(op, (rows, cols), side);
            if needed <= budget / 2 && SLOTS * side * side * entry <= budget / 2 {
                return BlockScheduler::new(coverage, rows, cols, side);
            }
            if side == 1 {
                return Err(EngineError::BudgetTooSmall { needed: needed.max(SLOTS * entry).saturating_mul(2), budget });
            }
            side = side.div_ceil(2);
        }
    }
}

/// The most that the functions of a block of this side take.
fn data_bytes<O: BlockOp>(op: &O, (rows, cols): (usize, usize), side: usize) -> usize {
    // The largest bands of either direction may meet in a block.
    let largest = |n: usize, bytes: &dyn Fn(std::ops::Range<usize>) -> usize| {
        super::subdivide(side, n).into_iter().max_by_key(|band| bytes(band.clone())).unwrap_or(0..0)
    };
    let rows = largest(rows, &|band| op.data_bytes(&band, &(0..0)));
    let cols = largest(cols, &|band| op.data_bytes(&(0..0), &band));
    op.data_bytes(&rows, &cols)
}
