//! The outcome of a simulation.

use super::super::{Dag, OpId, Span, Step, Timeline};
use super::load::Load;
use super::order::{Call, Order};
use super::state::State;

/// The outcome of a simulation.
#[derive(Debug)]
pub struct Outcome<'a> {
    load: &'a Load,
    order: &'a Order,
    state: &'a State,
}

/// An operation that started before one that it depends on was done: a race.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Violation {
    /// The rank.
    pub rank: usize,
    /// The operation that started too early.
    pub op: OpId,
    /// The operation that it depends on.
    pub predecessor: OpId,
    /// When `op` started, in seconds.
    pub started: f64,
    /// When `predecessor` was done, in seconds; infinity where it never ran.
    pub done: f64,
}

impl Violation {
    /// As a clause: `` `PostSend` starts on rank 0 at 1.2 µs, and `Pack`, which it depends on, is done at 3.4 µs ``.
    pub fn text(&self, dag: &Dag) -> String {
        let (op, predecessor) = (dag.name_of(self.op), dag.name_of(self.predecessor));
        let done = if self.done.is_finite() { format!("is done at {:.3} µs", 1e6 * self.done) } else { "never runs".to_owned() };
        let started = 1e6 * self.started;
        format!("`{op}` starts on rank {} at {started:.3} µs, and `{predecessor}`, which it depends on, {done}", self.rank)
    }
}

impl<'a> Outcome<'a> {
    pub(super) fn new(load: &'a Load, order: &'a Order, state: &'a State) -> Self {
        Outcome { load, order, state }
    }

    /// When the last rank's host was done, in seconds.
    pub fn seconds(&self) -> f64 {
        self.state.hosts.iter().map(|host| host.time).fold(0.0, f64::max)
    }

    /// When a rank's host was done, in seconds.
    pub fn seconds_of(&self, rank: usize) -> f64 {
        self.state.hosts[rank].time
    }

    /// From when to when an operation was under way on a rank, in seconds: on the GPU, or in the host's thread. None
    /// where the steps don't have it.
    pub fn operation(&self, rank: usize, op: OpId) -> Option<[f64; 2]> {
        let span = self.state.operations[rank * self.load.dag.len() + op.index()];
        (!span[0].is_nan()).then_some(span)
    }

    /// All races, rank by rank and in the order of operations.
    pub fn violations(&self) -> impl Iterator<Item = Violation> + '_ {
        let dag = &self.load.dag;
        let absent = self.order.absent;
        (0..self.load.ranks).flat_map(move |rank| {
            let edges = dag.edges().filter(move |(predecessor, _)| predecessor.bit() & absent == 0);
            edges.filter_map(move |(predecessor, op)| {
                let started = self.operation(rank, op)?[0];
                let done = self.operation(rank, predecessor).map_or(f64::INFINITY, |span| span[1]);
                (started < done).then_some(Violation { rank, op, predecessor, started, done })
            })
        })
    }

    /// When each of the steps was under way. They are those of the run.
    pub fn timeline(&self, steps: &[Step]) -> Timeline {
        let Outcome { load, order, state } = *self;
        let calls = &order.calls;
        let mut spans = Vec::new();
        for rank in 0..load.ranks {
            for (index, (step, call)) in steps.iter().zip(calls).enumerate() {
                let name = step.name(&load.dag);
                let [start, end] = state.steps[rank * calls.len() + index];
                spans.push(Span { name: name.clone(), rank, stream: None, start, end });
                if let Call::Gpu { op, stream, .. } = *call
                    && let Some([start, end]) = self.operation(rank, op)
                {
                    spans.push(Span { name, rank, stream: Some(stream), start, end });
                }
            }
        }
        Timeline { spans }
    }
}
