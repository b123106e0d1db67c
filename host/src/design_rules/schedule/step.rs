//! Steps, and schedules made of them.

use std::fmt;

use crate::design_rules::RulesError;
use crate::design_rules::program::{Dag, Kind, OpId};

/// The most streams that a schedule may use.
pub const MAX_STREAMS: usize = 8;

/// That schedules can use this many streams.
///
/// # Errors
/// [`RulesError::Streams`] unless there are 1 to [`MAX_STREAMS`].
pub fn check_streams(streams: usize) -> Result<(), RulesError> {
    if (1..=MAX_STREAMS).contains(&streams) { Ok(()) } else { Err(RulesError::Streams { found: streams }) }
}

/// One thing that the host's thread does, in the order of the schedule.
///
/// The three kinds of synchronisation are those of the paper's Table III; their names are the paper's, as
/// [`Schedule::names`] gives them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[allow(missing_docs, reason = "the variants' documentation covers the fields")]
pub enum Step {
    /// Does an operation of the CPU.
    Cpu(OpId),
    /// Enqueues an operation of the GPU (`BoundGPU` in the paper). Streams are numbered from 0, in the order of first use in
    /// the schedule.
    Gpu { op: OpId, stream: u8 },
    /// `cudaEventRecord` behind a GPU operation, in its stream: `CER-after-u`.
    EventRecord { after: OpId },
    /// `cudaEventSynchronize`: the host waits for a GPU operation's event, which the CPU operation `before` needs: `CES-b4-v`.
    EventSync { after: OpId, before: OpId },
    /// `cudaStreamWaitEvent`: the stream of the GPU operation `before` waits for the event of `after`, which is in another:
    /// `CSWE-b4-v`.
    StreamWait { after: OpId, before: OpId, stream: u8 },
    /// Settles which of a choice's alternatives the schedule has: `y_L=tiles`. The host does nothing then. The choice is
    /// numbered among the program's, and the alternative among the choice's.
    Choose { choice: u8, alternative: u16 },
}

impl Step {
    /// The step's name as in the paper, without streams: `Pack`, `CER-after-Pack`,
    /// `CES-b4-PostSend`, `CSWE-b4-add`. If `v` needs several GPU operations, the name says which
    /// one: `CSWE-b4-add-after-y_L`.
    pub fn name(self, dag: &Dag) -> String {
        let wait = |kind: &str, after: OpId, before: OpId| {
            // Alternatives may have one name.
            let is_other = |op: OpId| dag.kind(op) == Kind::Gpu && dag.name_of(op) != dag.name_of(after);
            let several = dag.predecessors(before).any(is_other);
            let (before, after) = (dag.name_of(before), dag.name_of(after));
            if several { format!("{kind}-b4-{before}-after-{after}") } else { format!("{kind}-b4-{before}") }
        };
        match self {
            Step::Cpu(op) | Step::Gpu { op, .. } => dag.name_of(op).to_owned(),
            Step::EventRecord { after } => format!("CER-after-{}", dag.name_of(after)),
            Step::EventSync { after, before } => wait("CES", after, before),
            Step::StreamWait { after, before, .. } => wait("CSWE", after, before),
            Step::Choose { choice, alternative } => {
                let choice = &dag.choices()[usize::from(choice)];
                let alternative = choice.alternatives().nth(usize::from(alternative)).unwrap_or("?");
                format!("{}={alternative}", choice.name())
            }
        }
    }

    /// The stream that an operation of the GPU is bound to.
    pub fn bound(self) -> Option<u8> {
        if let Step::Gpu { stream, .. } = self { Some(stream) } else { None }
    }

    /// The stream that the step names: that of a GPU operation, or the one that waits.
    pub fn stream(self) -> Option<u8> {
        match self {
            Step::Gpu { stream, .. } | Step::StreamWait { stream, .. } => Some(stream),
            _ => None,
        }
    }
}

/// Returns the operation whose position in the author's order a step has: its own, or for
/// synchronisation that of the operation which needs it.
pub(in crate::design_rules) fn place(dag: &Dag, step: &Step) -> OpId {
    match *step {
        Step::Cpu(op) | Step::Gpu { op, .. } => op,
        Step::EventSync { before, .. } | Step::StreamWait { before, .. } => before,
        Step::EventRecord { after } => dag.successors(after).find(|&op| dag.kind(op) == Kind::Cpu).unwrap_or(dag.end()),
        Step::Choose { .. } => dag.end(),
    }
}

/// A complete traversal of a program: every operation once, of alternatives those of one, each after what it depends on,
/// with the synchronisation that the streams take.
///
/// Precisely (sections III-A to III-C of the paper, without needless synchronisation; [`Space`](super::Space) has another set):
/// 1. each operation comes after its predecessors; `end`, which is implied, is the last;
/// 2. an edge from a GPU operation u to a CPU operation v takes `CER-after-u` and then `CES-b4-v` before v;
/// 3. an edge from a GPU operation u to a GPU operation v in another stream takes `CER-after-u` and then `CSWE-b4-v`
///    before v; one to v in the same stream takes nothing;
/// 4. there is one record behind u if some edge takes it, and no other synchronisation;
/// 5. synchronisation is inserted when it is what holds up a next operation. `CES-b4-v` and
///    `CSWE-b4-v` come after all predecessors of v. `CER-after-u` comes after all predecessors of
///    some v that uses it;
/// 6. streams are numbered in the order in which steps first name them, so that no two schedules differ in the names of
///    streams alone;
/// 7. before all else, each choice is settled, in the program's order of choices: of its alternatives' operations, those
///    of one are in the schedule, and edges to and from the others are not.
///
/// Only [`Prefix`](super::Prefix), [`Schedules`](super::Schedules) and [`Schedule::parse`] make one, so that a schedule is
/// always one of its program.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Schedule {
    steps: Vec<Step>,
}

impl Schedule {
    /// A schedule of these steps, which are one of their program.
    pub(super) fn new(steps: Vec<Step>) -> Self {
        Schedule { steps }
    }

    /// Its steps in order. The last is the CPU operation [`END`](crate::design_rules::program::END).
    pub fn steps(&self) -> &[Step] {
        &self.steps
    }

    /// The stream that an operation of the GPU is bound to; `None` for one of the host, and one that isn't in the schedule.
    pub fn stream_of(&self, wanted: OpId) -> Option<u8> {
        self.steps.iter().find_map(|&step| match step {
            Step::Gpu { op, stream } if op == wanted => Some(stream),
            _ => None,
        })
    }

    /// The steps' names in order, as [`Step::name`] has them.
    pub fn names(&self, dag: &Dag) -> Vec<String> {
        self.steps.iter().map(|step| step.name(dag)).collect()
    }

    /// Returns the number of streams that it uses.
    pub fn streams(&self) -> usize {
        self.steps.iter().filter_map(|step| step.stream()).max().map_or(0, |last| usize::from(last) + 1)
    }

    /// The text that [`parse`](Self::parse) reads: names with `;` between them, and with `@` and the stream behind
    /// those that name one, such as `Pack@0;CER-after-Pack;PostRecv;CES-b4-PostSend`. The end is left out.
    pub fn text(&self, dag: &Dag) -> String {
        let shown = |step: &Step| match step.stream() {
            Some(stream) => format!("{}@{stream}", step.name(dag)),
            None => step.name(dag),
        };
        self.steps.iter().filter(|&&step| step != Step::Cpu(dag.end())).map(shown).collect::<Vec<_>>().join(";")
    }
}

/// Shows the steps as numbers of operations; [`Schedule::text`] has names.
impl fmt::Display for Schedule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, step) in self.steps.iter().enumerate() {
            let comma = if index == 0 { "" } else { ";" };
            match step {
                Step::Cpu(op) => write!(f, "{comma}{}", op.index())?,
                Step::Gpu { op, stream } => write!(f, "{comma}{}@{stream}", op.index())?,
                Step::EventRecord { after } => write!(f, "{comma}R{}", after.index())?,
                Step::EventSync { after, before } => write!(f, "{comma}S{}>{}", after.index(), before.index())?,
                Step::StreamWait { after, before, stream } => {
                    write!(f, "{comma}W{}>{}@{stream}", after.index(), before.index())?;
                }
                Step::Choose { choice, alternative } => write!(f, "{comma}C{choice}={alternative}")?,
            }
        }
        Ok(())
    }
}
