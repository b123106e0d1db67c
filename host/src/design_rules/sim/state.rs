//! The state of a simulation. It is kept from one run to the next, so that nothing is allocated.

use super::load::Load;
use super::order::Order;
use super::queue::Queue;

/// The host's thread of a rank.
#[derive(Clone, Copy, Debug)]
pub(super) struct Host {
    /// Its time, which may be ahead of the simulation's as long as no other rank or stream can
    /// tell.
    pub time: f64,
    pub step: usize,
    /// The part of the step's operation.
    pub item: usize,
    /// The part of a call of MPI that it is in; 0 outside.
    pub part: u32,
    pub blocked: Blocked,
}

/// The reason for which a host's thread waits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Blocked {
    No,
    /// An event of its GPU.
    Event(u32),
    /// The sends of an exchange.
    Sends(u32),
    /// The receives of an exchange.
    Receives(u32),
}

/// A stream of a rank.
#[derive(Clone, Copy, Debug)]
pub(super) struct Stream {
    /// Until when it has done what it has done.
    pub time: f64,
    /// When its last kernel or copy was enqueued.
    pub enqueued: f64,
    /// When its next kernel or copy can start at the earliest.
    pub earliest: f64,
    pub entry: usize,
    /// The part of the entry's operation.
    pub item: usize,
    pub at: At,
    /// Number of entries until a copy to the device stalls nothing more: the copy, the entry behind
    /// it, and the one that waits.
    pub held: u8,
    /// True if its last entry was a copy; `None` before the first.
    pub copied: Option<bool>,
}

/// The current activity of a stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum At {
    /// Nothing: the host has enqueued no more.
    Idle,
    /// A kernel or copy, which an event will start or end.
    Task,
    /// Waiting for an event.
    Event(u32),
}

/// The requests that a rank has posted in an exchange.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Requests {
    pub sends: Pending,
    pub receives: Pending,
}

/// Requests of one kind.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Pending {
    /// Number of requests under way.
    pub left: u32,
    /// When the last of the others was done.
    pub done: f64,
}

/// The progress of a message.
#[derive(Clone, Copy, Debug)]
pub(super) struct Mail {
    /// When its receive was posted; infinity if it hasn't been.
    pub posted: f64,
    /// When it, or its announcement, got to the receiver; infinity if it hasn't.
    pub arrived: f64,
}

/// The kernels of a GPU.
#[derive(Clone, Debug, Default)]
pub(super) struct Kernels {
    /// Work that each of them would have done since the first one's start. All progress at the same
    /// rate.
    pub work: f64,
    /// The time of this amount of work.
    pub time: f64,
    pub rate: f64,
    /// End of the last finished one.
    pub done: f64,
    /// Number of the event at which the first one finishes.
    pub next: Option<u32>,
    pub running: Vec<Running>,
}

/// A kernel that runs.
#[derive(Clone, Copy, Debug)]
pub(super) struct Running {
    /// It is done when so much work is.
    pub until: f64,
    pub share: f64,
    pub stream: usize,
}

/// A host or stream that can go on without time having to pass.
#[derive(Clone, Copy, Debug)]
pub(super) enum Ready {
    Host(usize),
    Stream(usize),
}

/// Everything that changes.
#[derive(Clone, Debug, Default)]
pub(super) struct State {
    pub now: f64,
    pub queue: Queue,
    pub ready: Vec<Ready>,
    pub hosts: Vec<Host>,
    /// Rank by rank.
    pub streams: Vec<Stream>,
    /// When each slot was enqueued, rank by rank; infinity if it hasn't been.
    pub enqueued: Vec<f64>,
    /// When each event was complete, rank by rank; infinity if it isn't.
    pub events: Vec<f64>,
    pub gpus: Vec<Kernels>,
    /// Until when the copies to the host and to the device take.
    pub copies: Vec<[f64; 2]>,
    /// Until when messages take, out and in.
    pub ports: Vec<[f64; 2]>,
    /// Rank by rank.
    pub requests: Vec<Requests>,
    pub mail: Vec<Mail>,
    /// The chores of ranks in their next call of MPI: messages to answer, and answered ones to
    /// send.
    pub chores: Vec<Vec<(usize, bool)>>,
    /// When each operation was under way, rank by rank; not a number where it wasn't.
    pub operations: Vec<[f64; 2]>,
    /// When the host did each step, likewise.
    pub steps: Vec<[f64; 2]>,
}

impl State {
    /// The start of a run.
    pub fn reset(&mut self, load: &Load, order: &Order, ranks_per_gpu: usize) {
        let ranks = load.ranks;
        self.now = 0.0;
        self.queue.clear();
        self.ready.clear();
        fill(&mut self.hosts, ranks, Host { time: 0.0, step: 0, item: 0, part: 0, blocked: Blocked::No });
        let stream = Stream { time: 0.0, enqueued: 0.0, earliest: 0.0, entry: 0, item: 0, at: At::Idle, held: 0, copied: None };
        fill(&mut self.streams, ranks * order.used, stream);
        fill(&mut self.enqueued, ranks * order.slots, f64::INFINITY);
        fill(&mut self.events, ranks * order.events, f64::INFINITY);
        let gpus = ranks.div_ceil(ranks_per_gpu);
        self.gpus.resize_with(gpus, Kernels::default);
        for gpu in &mut self.gpus {
            (gpu.work, gpu.time, gpu.rate, gpu.done, gpu.next) = (0.0, 0.0, 1.0, 0.0, None);
            gpu.running.clear();
        }
        fill(&mut self.copies, gpus, [0.0; 2]);
        fill(&mut self.ports, load.ports, [0.0; 2]);
        fill(&mut self.requests, ranks * load.exchanges, Requests::default());
        fill(&mut self.mail, load.transfers.len(), Mail { posted: f64::INFINITY, arrived: f64::INFINITY });
        self.chores.resize_with(ranks, Vec::new);
        self.chores.iter_mut().for_each(Vec::clear);
        fill(&mut self.operations, ranks * load.dag.len(), [f64::NAN; 2]);
        fill(&mut self.steps, ranks * order.calls.len(), [f64::NAN; 2]);
    }
}

fn fill<T: Copy>(list: &mut Vec<T>, len: usize, value: T) {
    list.clear();
    list.resize(len, value);
}
