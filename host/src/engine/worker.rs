//! A GPU's worker: each block is computed while the one before it is downloaded, and the one before that put in place.

use std::{
    any::Any,
    collections::VecDeque,
    sync::atomic::{AtomicUsize, Ordering},
};

use super::{Block, BlockOp, BlockScheduler, Cancel, Control, Coverage, EngineError, Entry, Span, Target, Trace, Writer};
use crate::device::{Buffer, Device, Event, Pending, PinnedBuffer, Stream};

/// Blocks that are under way on a GPU at a time: one is computed, one downloaded, and one put in place.
pub const SLOTS: usize = 3;

/// A GPU's buffers.
pub struct Lanes<T: Entry> {
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

/// State that the workers of a computation share.
pub struct Shared<'a, O: BlockOp> {
    op: &'a O,
    scheduler: &'a BlockScheduler,
    writer: &'a dyn Writer<O::Value>,
    control: Control<'a>,
    /// Bytes of each GPU's memory for the functions.
    data_budget: usize,
    /// Number of entries to compute.
    total: usize,
    /// Entries in place.
    done: AtomicUsize,
    /// The next block to draw.
    next: AtomicUsize,
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

impl<'a, O: BlockOp> Shared<'a, O> {
    pub fn new(
        op: &'a O,
        scheduler: &'a BlockScheduler,
        writer: &'a dyn Writer<O::Value>,
        control: Control<'a>,
        (data_budget, total, done): (usize, usize, usize),
    ) -> Self {
        let (next, failed) = (AtomicUsize::new(0), Cancel::new());
        Shared { op, scheduler, writer, control, data_budget, total, done: AtomicUsize::new(done), next, failed }
    }

    /// Set when a worker has failed.
    pub fn failed(&self) -> &Cancel {
        &self.failed
    }

    /// Does a GPU's work, with what an earlier computation left there. If that fails, the other workers stop.
    pub fn run(&self, gpu: usize, device: &Device, seat: Option<Box<Seat<O>>>) -> Result<Outcome, EngineError> {
        let stop = StopOthers(&self.failed);
        let outcome = worker(self, gpu, device, seat)?;
        std::mem::forget(stop);
        Ok(outcome)
    }

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

/// Buffers and storage that a computation leaves on a GPU for the next one.
pub type Seat<O> = (Lanes<<O as BlockOp>::Value>, <O as BlockOp>::Storage);

/// A worker's seat, its number of blocks, and the bytes that it downloaded.
pub type Outcome = (Box<dyn Any + Send>, usize, usize);

/// Makes ready a GPU with what an earlier computation left there.
pub fn prepare<O: BlockOp>(
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
    let context = Context { work, gpu, device, origin };

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
            progress(before + entries, self.work.total);
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
