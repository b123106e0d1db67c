//! Streams and events for schedules: those of a GPU, or threads of the CPU.

use std::sync::mpsc::{self, Sender};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::Instant;

use crate::common::reason;
use crate::design_rules::program::{Program, guarded};
use crate::design_rules::{OpId, RulesError};
use crate::device::{Backend, Device, Event, Stream};

/// The streams and events of schedules on a device.
pub(super) enum Lanes {
    Gpu {
        program: Arc<dyn Program>,
        streams: Vec<Stream>,
        /// By operation.
        events: Vec<Event>,
    },
    /// Work on a stream of the CPU is done at once; so each has a thread, which does one thing after another.
    Threads { workers: Vec<Worker>, shared: Arc<Shared> },
}

/// A stream.
pub(super) struct Worker {
    queue: Option<Sender<Order>>,
    thread: Option<JoinHandle<()>>,
}

/// An order to a worker.
enum Order {
    Operation(OpId),
    Record(OpId),
    Wait(OpId),
}

/// The state that workers share with the host's thread.
pub(super) struct Shared {
    program: Arc<dyn Program>,
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Default)]
pub(super) struct State {
    /// The operations whose records have been reached.
    reached: u64,
    /// Number of orders that are not done.
    pending: usize,
    /// The first error.
    failed: Option<RulesError>,
    /// When operations started and ended, where that is asked for.
    pub log: Option<Vec<(OpId, Instant, Instant)>>,
}

impl Shared {
    pub fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn wait_until(&self, done: impl Fn(&State) -> bool) -> MutexGuard<'_, State> {
        let wait = self.changed.wait_while(self.state(), |state| !done(state));
        wait.unwrap_or_else(PoisonError::into_inner)
    }

    fn work(&self, stream: &Stream, order: Order) {
        match order {
            Order::Operation(op) => {
                let start = Instant::now();
                // After an error the rest is empty: waits for records must still end.
                let result = if self.state().failed.is_none() { guarded::gpu(&*self.program, op, stream) } else { Ok(()) };
                let mut state = self.state();
                if let Err(error) = result {
                    state.failed.get_or_insert(error);
                }
                if let Some(log) = &mut state.log {
                    log.push((op, start, Instant::now()));
                }
            }
            Order::Record(op) => self.state().reached |= op.bit(),
            Order::Wait(op) => drop(self.wait_until(|state| state.reached & op.bit() != 0)),
        }
        self.state().pending -= 1;
        self.changed.notify_all();
    }
}

impl Lanes {
    pub fn new(device: &Device, program: Arc<dyn Program>, streams: usize) -> Result<Self, RulesError> {
        if device.backend() == Backend::Cuda {
            let events = program.dag().operations().map(|_| device.untimed_event()).collect::<Result<_, _>>()?;
            let streams = (0..streams).map(|_| device.stream()).collect::<Result<_, _>>()?;
            return Ok(Lanes::Gpu { program, streams, events });
        }
        let shared = Arc::new(Shared { program, state: Mutex::default(), changed: Condvar::new() });
        let worker = |index| {
            let stream = device.stream()?;
            let (queue, orders) = mpsc::channel();
            let shared = shared.clone();
            let thread = thread::Builder::new().spawn(move || orders.into_iter().for_each(|order| shared.work(&stream, order)));
            let thread = thread.map_err(|error| {
                RulesError::Setup(format!("the thread of stream {index} can't be started: {}", reason(&error)))
            })?;
            Ok(Worker { queue: Some(queue), thread: Some(thread) })
        };
        let workers = (0..streams).map(worker).collect::<Result<_, RulesError>>()?;
        Ok(Lanes::Threads { workers, shared })
    }

    /// Starts an invocation: nothing is recorded.
    pub fn begin(&self) {
        if let Lanes::Threads { shared, .. } = self {
            shared.state().reached = 0;
        }
    }

    pub fn enqueue(&self, op: OpId, stream: u8) -> Result<(), RulesError> {
        match self {
            Lanes::Gpu { program, streams, .. } => guarded::gpu(&**program, op, &streams[usize::from(stream)]),
            Lanes::Threads { .. } => self.order(stream, Order::Operation(op)),
        }
    }

    /// Records `op`'s event in its stream.
    pub fn record(&self, op: OpId, stream: u8) -> Result<(), RulesError> {
        match self {
            Lanes::Gpu { streams, events, .. } => Ok(streams[usize::from(stream)].record_into(&events[op.index()])?),
            Lanes::Threads { .. } => self.order(stream, Order::Record(op)),
        }
    }

    /// Lets the host wait for `op`'s event.
    pub fn synchronize(&self, op: OpId) -> Result<(), RulesError> {
        match self {
            Lanes::Gpu { events, .. } => Ok(events[op.index()].synchronize()?),
            Lanes::Threads { shared, .. } => {
                drop(shared.wait_until(|state| state.reached & op.bit() != 0));
                Ok(())
            }
        }
    }

    /// Lets a stream wait for `op`'s event.
    pub fn wait(&self, op: OpId, stream: u8) -> Result<(), RulesError> {
        match self {
            Lanes::Gpu { streams, events, .. } => Ok(streams[usize::from(stream)].wait(&events[op.index()])?),
            Lanes::Threads { .. } => self.order(stream, Order::Wait(op)),
        }
    }

    /// Waits until all streams are done.
    pub fn finish(&self) -> Result<(), RulesError> {
        match self {
            Lanes::Gpu { streams, .. } => Ok(streams.iter().try_for_each(Stream::synchronize)?),
            Lanes::Threads { shared, .. } => match shared.wait_until(|state| state.pending == 0).failed.take() {
                Some(error) => Err(error),
                None => Ok(()),
            },
        }
    }

    /// Returns the error of a thread, if one failed. On a GPU, the next call returns it.
    pub fn check(&self) -> Result<(), RulesError> {
        match self {
            Lanes::Threads { shared, .. } if shared.state().failed.is_some() => self.finish(),
            _ => Ok(()),
        }
    }

    fn order(&self, stream: u8, order: Order) -> Result<(), RulesError> {
        let Lanes::Threads { workers, shared } = self else { return Ok(()) };
        shared.state().pending += 1;
        let queue = workers[usize::from(stream)].queue.as_ref();
        let sent = queue.is_some_and(|queue| queue.send(order).is_ok());
        if sent { Ok(()) } else { Err(RulesError::Setup(format!("the thread of stream {stream} has ended"))) }
    }
}

impl Drop for Worker {
    fn drop(&mut self) {
        // Without a sender the thread's loop ends.
        self.queue = None;
        if let Some(thread) = self.thread.take() {
            _ = thread.join();
        }
    }
}
