//! The pipeline: each GPU computes a block while the one before it is downloaded, and the one before that put in place.

use std::{
    any::{Any, TypeId},
    collections::{HashMap, VecDeque},
    fmt,
    sync::{
        Mutex, MutexGuard, OnceLock, PoisonError,
        atomic::{AtomicUsize, Ordering},
    },
    thread::ScopedJoinHandle,
    time::{Duration, Instant},
};

use super::{
    Block, BlockOp, BlockScheduler, Cancel, Coverage, EngineError, Entry, Queue, SideRule, Span, Target, Trace, Writer,
    max_output_elements, min_block_side,
};
use crate::{
    device::{Buffer, Device, Event, Pending, PinnedBuffer, Stream},
    threads,
};

/// Blocks that the memory budget is divided into, for each GPU.
const SPLITS_PER_GPU: usize = 32;

/// Blocks that are under way on a GPU at a time: one is computed, one downloaded, and one put in place.
const SLOTS: usize = 3;

/// The fewest blocks for each GPU: with fewer, too much of the last one's download is waited for.
const BLOCKS_PER_GPU: usize = 16;

/// The side of blocks that are not made smaller for the sake of their number: with smaller ones, too much of a GPU is
/// idle at each one's end. For one GPU; several are better served by more of them.
const WORTHWHILE_SIDE: usize = 2048;

/// The most bytes of a block. Page-locked memory for [`SLOTS`] is allocated, which is slow, and larger ones are
/// downloaded no faster.
const MAX_BLOCK_BYTES: usize = 64 << 20;

/// How an [`Engine`] divides its work. The default leaves it to the engine.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Settings {
    /// What an engine may use of each GPU's memory, in bytes: half of it for blocks, half for the functions. By default
    /// 80 % of what is free.
    pub memory_budget: Option<usize>,
    /// How many blocks the memory for blocks is divided into; by default 32 per GPU.
    pub splits_hint: Option<usize>,
    /// The side of the blocks, whatever follows from the other settings; smaller ones are used where the budget does
    /// not allow it.
    pub block_side: Option<usize>,
}

/// What a computation tells, and listens to, while it goes on.
#[derive(Clone, Copy, Default)]
pub struct Control<'a> {
    /// Called with the number of entries that are in place, and of all that will be.
    pub progress: Option<&'a (dyn Fn(usize, usize) + Sync)>,
    /// Ends the computation early when it is set.
    pub cancel: Option<&'a Cancel>,
    /// Records what happens when.
    pub trace: Option<&'a Trace>,
    /// Deals out the blocks.
    pub queue: Option<&'a dyn Queue>,
}

impl fmt::Debug for Control<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Control { progress, cancel, trace, queue } = self;
        let mut debug = f.debug_struct("Control");
        debug.field("progress", &progress.is_some()).field("cancel", cancel);
        debug.field("trace", &trace.is_some()).field("queue", &queue.is_some()).finish()
    }
}

/// What a computation took.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Report {
    /// The side of the blocks, in entries.
    pub side: usize,
    /// How many blocks there were.
    pub blocks: usize,
    /// How many blocks each GPU computed.
    pub blocks_by_gpu: Vec<usize>,
    /// Bytes that came from GPUs.
    pub downloaded: usize,
    /// From the first allocation to the last entry, without `compile_time`.
    pub time: Duration,
    /// How long the first use of a kernel waited for the driver to compile it.
    pub compile_time: Duration,
}

/// Computes matrices block by block, on one or several GPUs, or on the CPU in their place.
///
/// Buffers are kept from one computation to the next. One engine does one thing at a time; threads that share it wait
/// for each other.
///
/// Every GPU has a worker thread (the first the calling one), which draws blocks from one queue. For each block it
/// enqueues the operation on a compute stream and the download behind it on another; while they run it waits for the
/// last block but one, and puts that in place. Where the functions are on the GPU as a whole, two compute streams take
/// turns, so that a block fills the multiprocessors that the one before it leaves idle at its end.
#[derive(Debug)]
pub struct Engine {
    devices: Vec<Device>,
    settings: Settings,
    /// How much of each GPU's memory may be used: what there was at first, since kept buffers are used again.
    budget: OnceLock<usize>,
    kept: Mutex<Kept>,
}

/// What computations have left, by the GPU's number and the type of its [`Seat`].
type Kept = HashMap<(usize, TypeId), Box<dyn Any + Send>>;

/// A GPU's buffers.
struct Lanes<T: Entry> {
    compute: [Stream; 2],
    download: Stream,
    slots: [Slot<T>; SLOTS],
}

/// One of the output buffers, on the GPU and on the host.
struct Slot<T: Entry> {
    buffer: Buffer<T>,
    /// `None` while a download has it, and after one that failed.
    host: Option<PinnedBuffer<T>>,
}

/// A block's way out of its slot.
enum Leaving<T: Entry> {
    /// To the host.
    Download(Pending<PinnedBuffer<T>>),
    /// To its place in the device's memory.
    Place(Event),
}

/// A block that has been computed, or will be.
struct InFlight<T: Entry> {
    index: usize,
    slot: usize,
    stream: usize,
    leaving: Leaving<T>,
    /// Start and end of the computation, then of the download.
    events: Option<[Event; 4]>,
}

/// What the workers of a computation share.
struct Shared<'a, O: BlockOp> {
    op: &'a O,
    scheduler: &'a BlockScheduler,
    writer: &'a dyn Writer<O::Value>,
    control: Control<'a>,
    data_budget: usize,
    /// The next block to draw.
    next: AtomicUsize,
    /// Entries in place.
    done: AtomicUsize,
    /// Set by the first worker that fails, or panics.
    failed: Cancel,
}

/// Stops the other workers when it is dropped.
struct StopOthers<'a>(&'a Cancel);

impl Drop for StopOthers<'_> {
    fn drop(&mut self) {
        self.0.cancel();
    }
}

impl<O: BlockOp> Shared<'_, O> {
    fn draw(&self) -> Result<Option<(usize, &Block)>, EngineError> {
        if let Some(cancel) = self.control.cancel {
            cancel.check()?;
        }
        if self.failed.is_cancelled() {
            return Ok(None);
        }
        let index = match self.control.queue {
            Some(queue) => match queue.draw()? {
                Some(index) => index,
                None => return Ok(None),
            },
            None => self.next.fetch_add(1, Ordering::Relaxed),
        };
        Ok(self.scheduler.blocks().get(index).map(|block| (index, block)))
    }
}

impl Engine {
    /// An engine on these devices, with the default settings.
    ///
    /// The CPU may be there several times, as in tests of what several GPUs would do.
    ///
    /// # Errors
    /// [`EngineError::NoDevices`] where there are none.
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
    /// Which blocks there are has no influence on any entry, as long as the operation computes each by itself.
    ///
    /// Parts of the work are `rayon`'s. Tasks of `rayon` must not share an engine: they may wait for each other for
    /// ever.
    ///
    /// # Errors
    /// [`EngineError::BudgetTooSmall`] where not even single rows and columns fit; [`EngineError::Cancelled`];
    /// [`EngineError::OtherDevices`] where the output is to be in other devices' memory, such as that of a
    /// [`DeviceMatrix`](super::DeviceMatrix) with several GPUs; what the operation, the writer or a device reports. The
    /// output then is incomplete.
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
        let work = Shared {
            op,
            scheduler: &scheduler,
            writer,
            control,
            data_budget: budget / 2,
            next: AtomicUsize::new(0),
            done: AtomicUsize::new(done),
            failed: Cancel::new(),
        };
        let run = |gpu: usize, seat: Option<Box<Seat<O>>>| {
            let stop = StopOthers(&work.failed);
            let result = worker(&work, gpu, &self.devices[gpu], seat, total);
            if result.is_ok() {
                std::mem::forget(stop);
            }
            result
        };
        let results = self.on_each(&scheduler, &mut kept, &work.failed, run);
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
            // What is under way writes to memory that the caller has again.
            homes.iter().for_each(|home| _ = home.synchronize());
        }
        // GPUs whose kernels are compiled at the same time wait for each other.
        let compiling = self.devices.iter().zip(compiled).map(|(device, before)| device.compile_time() - before);
        report.compile_time = compiling.max().unwrap_or_default();
        report.time = started.elapsed().saturating_sub(report.compile_time);
        failure.map_or(Ok(report), Err)
    }

    /// Does what [`run`](Self::run) would do before its first block of a matrix that goes to the host's memory: loads
    /// kernels, allocates, and uploads functions. So that may go on beside something else. It has no influence on what
    /// `run` computes.
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

    /// Calls `work` for each GPU that has something to do, on a thread of its own but for the first, with what an
    /// earlier computation has left there.
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

    /// How much of each GPU's memory may be used, in bytes: as much as of the one that has least.
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

    /// The blocks: of the side that the document's rule gives, and smaller ones where there would be too few, they
    /// would be too large, or their functions would not fit.
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
            splits_hint: self.settings.splits_hint.unwrap_or(gpus * SPLITS_PER_GPU),
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
        side = side.clamp(1, rows.max(cols).max(1));
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

impl<T: Entry> Lanes<T> {
    fn new(device: &Device) -> Result<Self, EngineError> {
        let slot = || Slot { buffer: device.empty(), host: None };
        let slots = std::array::from_fn(|_| slot());
        Ok(Lanes { compute: [device.stream()?, device.stream()?], download: device.stream()?, slots })
    }

    /// Makes room for `blocks` blocks of `entries`, on the host if they are downloaded.
    fn ensure(&mut self, device: &Device, blocks: usize, entries: usize, download: bool) -> Result<(), EngineError> {
        for slot in self.slots.iter_mut().take(blocks) {
            slot.buffer.ensure(entries)?;
            if download && slot.host.as_ref().is_none_or(|host| host.len() < entries) {
                slot.host = None;
                slot.host = Some(device.pinned(entries)?);
            }
        }
        Ok(())
    }
}

/// What a computation leaves on a GPU for the next one.
type Seat<O> = (Lanes<<O as BlockOp>::Value>, <O as BlockOp>::Storage);

/// What a worker leaves, how many blocks it had, and how many bytes it downloaded.
type Outcome = (Box<dyn Any + Send>, usize, usize);

/// Makes ready a GPU with what an earlier computation left there.
fn prepare<O: BlockOp>(
    op: &O,
    device: &Device,
    scheduler: &BlockScheduler,
    data_budget: usize,
    download: bool,
    seat: Option<Box<Seat<O>>>,
) -> Result<Seat<O>, EngineError> {
    let (lanes, storage) = seat.map_or((None, None), |seat| (Some(seat.0), Some(seat.1)));
    let mut lanes = lanes.map_or_else(|| Lanes::new(device), Ok)?;
    lanes.ensure(device, scheduler.blocks().len(), scheduler.max_entries(), download)?;
    tracing::debug!("{device}: memory for blocks");
    let storage = op.storage(device, scheduler, data_budget, storage)?;
    tracing::debug!("{device}: functions");
    Ok((lanes, storage))
}

fn worker<O: BlockOp>(
    work: &Shared<'_, O>,
    gpu: usize,
    device: &Device,
    seat: Option<Box<Seat<O>>>,
    total: usize,
) -> Result<Outcome, EngineError> {
    let download = work.writer.devices().is_empty();
    let ready = || prepare(work.op, device, work.scheduler, work.data_budget, download, seat);
    let (mut lanes, mut storage) = match work.control.trace {
        Some(trace) => {
            trace.name_process(gpu, device.to_string());
            trace.time(gpu, "host", "functions to the device", ready)
        }
        None => ready(),
    }?;
    let streams = if work.op.is_resident(&storage) { 2 } else { 1 };
    // A point in both times, the device's and the host's.
    let origin = match work.control.trace {
        Some(trace) => {
            let event = lanes.compute[0].record()?;
            event.synchronize()?;
            Some((event, trace.now()))
        }
        None => None,
    };
    let context = Context { work, gpu, device, origin, total };

    let (mut blocks, mut downloaded) = (0, 0);
    let mut in_flight: VecDeque<InFlight<O::Value>> = VecDeque::new();
    while let Some((index, block)) = work.draw()? {
        in_flight.push_back(context.enqueue(&mut lanes, &mut storage, (index, block), blocks % SLOTS, blocks % streams)?);
        if in_flight.len() == SLOTS
            && let Some(oldest) = in_flight.pop_front()
        {
            context.finish(oldest, &mut lanes)?;
        }
        blocks += 1;
        downloaded += if download { block.entries() * size_of::<O::Value>() } else { 0 };
    }
    for last in in_flight {
        context.finish(last, &mut lanes)?;
    }
    Ok((Box::new((lanes, storage)), blocks, downloaded))
}

/// A worker's surroundings.
struct Context<'a, O: BlockOp> {
    work: &'a Shared<'a, O>,
    gpu: usize,
    device: &'a Device,
    origin: Option<(Event, f64)>,
    total: usize,
}

impl<O: BlockOp> Context<'_, O> {
    /// Sends a block on its way.
    fn enqueue(
        &self,
        lanes: &mut Lanes<O::Value>,
        storage: &mut O::Storage,
        (index, block): (usize, &Block),
        slot: usize,
        stream: usize,
    ) -> Result<InFlight<O::Value>, EngineError> {
        let compute = &lanes.compute[stream];
        let Slot { buffer, host } = &mut lanes.slots[slot];
        let mut entries = buffer.view_mut(..block.entries())?;
        let traced = self.origin.is_some();
        let start = if traced { Some(compute.record()?) } else { None };
        let (order, coverage) = (self.work.writer.order(), self.work.writer.coverage());
        if coverage == Coverage::LowerTriangle && block.is_diagonal() {
            // All entries of other blocks are computed.
            compute.fill_zero(&mut entries)?;
        }
        let target = Target { entries, order, coverage };
        self.work.op.run(storage, compute, block, target)?;
        let computed = compute.record()?;
        lanes.download.wait(&computed)?;
        let download_start = if traced { Some(lanes.download.record()?) } else { None };
        let entries = buffer.view(..block.entries())?;
        let leaving = if !self.work.writer.devices().is_empty() {
            self.work.writer.place(self.gpu, slot, &lanes.download, block, entries)?;
            Leaving::Place(lanes.download.record()?)
        } else {
            let host = match host.take() {
                Some(host) => host,
                None => self.device.pinned(buffer.len())?,
            };
            Leaving::Download(lanes.download.download_async(entries, host)?)
        };
        let events = match (start, download_start) {
            (Some(start), Some(download_start)) => Some([start, computed, download_start, lanes.download.record()?]),
            _ => None,
        };
        Ok(InFlight { index, slot, stream, leaving, events })
    }

    /// Waits for a block, and puts it in place.
    fn finish(&self, in_flight: InFlight<O::Value>, lanes: &mut Lanes<O::Value>) -> Result<(), EngineError> {
        let Shared { scheduler, writer, control, done, .. } = self.work;
        let InFlight { index, slot, stream, leaving, events } = in_flight;
        let block = &scheduler.blocks()[index];
        let host = match leaving {
            Leaving::Download(pending) => Some(pending.wait()?),
            Leaving::Place(event) => event.synchronize().map(|()| None)?,
        };
        let entries = lanes.slots[slot].buffer.view(..block.entries())?;
        let scatter = || match &host {
            Some(host) => writer.scatter(block, &host[..block.entries()]),
            None => writer.placed(self.gpu, slot, block, entries),
        };
        match (control.trace, &self.origin, events) {
            (Some(trace), Some(origin), Some(events)) => {
                self.record(trace, origin, index, stream, &events)?;
                trace.time(self.gpu, "host", format!("scatter {index}"), scatter)?;
            }
            _ => scatter()?,
        }
        if host.is_some() {
            lanes.slots[slot].host = host;
        }
        if let Some(queue) = control.queue {
            queue.done(index)?;
        }
        let entries = scheduler.coverage().work(block);
        let before = done.fetch_add(entries, Ordering::Relaxed);
        if let Some(progress) = control.progress {
            progress(before + entries, self.total);
        }
        Ok(())
    }

    fn record(
        &self,
        trace: &Trace,
        (origin, at): &(Event, f64),
        index: usize,
        stream: usize,
        events: &[Event; 4],
    ) -> Result<(), EngineError> {
        let block = &self.work.scheduler.blocks()[index];
        let lanes = [["compute 0", "compute 1"][stream], "download"];
        for (lane, pair) in lanes.into_iter().zip(events.chunks_exact(2)) {
            let start = at + 1e3 * pair[0].elapsed_ms(origin)?;
            let duration = 1e3 * pair[1].elapsed_ms(&pair[0])?;
            let name = format!("{} {index}", lane.trim_end_matches([' ', '0', '1']));
            let args = [("block".to_owned(), block.to_string().into())].into_iter().collect();
            trace.span(Span { process: self.gpu, lane: lane.into(), name: name.into(), start, duration, args });
        }
        Ok(())
    }
}
