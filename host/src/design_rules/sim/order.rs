//! A sequence of steps, made ready to be simulated.

use super::super::schedule::MAX_STREAMS;
use super::super::{Dag, OpId, RulesError, Step};
use super::load::Load;

/// The call of the host's thread in a step.
#[derive(Clone, Copy, Debug)]
pub(super) enum Call {
    Cpu {
        op: OpId,
    },
    /// Enqueues an operation's items: they have successive slots.
    Gpu {
        op: OpId,
        stream: u8,
        slot: u32,
    },
    Record {
        stream: u8,
        slot: u32,
    },
    StreamWait {
        stream: u8,
        slot: u32,
    },
    /// Waits for an event.
    Sync {
        event: u32,
    },
    /// Waits for an event that was never recorded, which ends at once.
    Idle,
    /// Takes no time.
    Nothing,
}

/// An entry of a stream.
#[derive(Clone, Copy, Debug)]
pub(super) enum Entry {
    Gpu {
        op: OpId,
        step: u32,
        slot: u32,
    },
    Record {
        event: u32,
        slot: u32,
    },
    /// Waits for an event; `None` where it was never recorded, so that the wait ends at once.
    Wait {
        event: Option<u32>,
        slot: u32,
    },
}

/// The calls of a sequence of steps, and what they put into each stream.
#[derive(Clone, Debug, Default)]
pub(super) struct Order {
    pub calls: Vec<Call>,
    pub streams: Vec<Vec<Entry>>,
    /// Number of streams in use.
    pub used: usize,
    /// Number of slots for enqueued items.
    pub slots: usize,
    /// Number of records.
    pub events: usize,
    /// The step of each operation.
    pub step_of: Vec<Option<u32>>,
    /// The stream of each operation that has one.
    stream_of: Vec<Option<u8>>,
    /// The latest record behind each operation.
    recorded: Vec<Option<u32>>,
    /// The operations of alternatives that are not taken.
    pub absent: u64,
}

impl Order {
    /// Reads steps. No operation may occur twice, and each record must be behind an operation that
    /// has been enqueued.
    pub fn fill(&mut self, load: &Load, steps: &[Step]) -> Result<(), RulesError> {
        self.calls.clear();
        self.streams.resize_with(MAX_STREAMS, Vec::new);
        self.streams.iter_mut().for_each(Vec::clear);
        (self.used, self.slots, self.events, self.absent) = (0, 0, 0, 0);
        for list in [&mut self.step_of, &mut self.recorded] {
            list.clear();
            list.resize(load.dag.len(), None);
        }
        self.stream_of.clear();
        self.stream_of.resize(load.dag.len(), None);
        if let Some(odd) = steps.iter().find(|step| !is_of(step, &load.dag)) {
            let (program, schedule) = (load.dag.name().to_owned(), format!("{odd:?}"));
            return Err(RulesError::Schedule { program, schedule, reason: "the step is one of another program".to_owned() });
        }
        let wrong = |reason: String| {
            let names: Vec<String> = steps.iter().map(|step| step.name(&load.dag)).collect();
            RulesError::Schedule { program: load.dag.name().to_owned(), schedule: names.join(";"), reason }
        };
        for (index, &step) in steps.iter().enumerate() {
            let call = self.call(load, index as u32, step).map_err(wrong)?;
            self.calls.push(call);
        }
        Ok(())
    }

    fn call(&mut self, load: &Load, index: u32, step: Step) -> Result<Call, String> {
        let name = |op: OpId| load.dag.name_of(op);
        if let Some(stream) = step.stream() {
            if usize::from(stream) >= MAX_STREAMS {
                return Err(format!("stream {stream} is more than {MAX_STREAMS} streams have"));
            }
            self.used = self.used.max(usize::from(stream) + 1);
        }
        if let Step::Cpu(op) | Step::Gpu { op, .. } = step
            && self.step_of[op.index()].replace(index).is_some()
        {
            return Err(format!("`{}` stands twice", name(op)));
        }
        let slot = self.slots as u32;
        Ok(match step {
            Step::Cpu(op) => Call::Cpu { op },
            Step::Gpu { op, stream } => {
                self.slots += load.widths[op.index()].max(1);
                self.stream_of[op.index()] = Some(stream);
                self.streams[usize::from(stream)].push(Entry::Gpu { op, step: index, slot });
                Call::Gpu { op, stream, slot }
            }
            Step::EventRecord { after } => {
                let stream = self.stream_of[after.index()];
                let stream = stream.ok_or_else(|| format!("it records behind `{}`, which no stream has yet", name(after)))?;
                let event = self.events as u32;
                self.slots += 1;
                self.events += 1;
                self.recorded[after.index()] = Some(event);
                self.streams[usize::from(stream)].push(Entry::Record { event, slot });
                Call::Record { stream, slot }
            }
            Step::EventSync { after, .. } => match self.recorded[after.index()] {
                Some(event) => Call::Sync { event },
                None => Call::Idle,
            },
            Step::StreamWait { after, stream, .. } => {
                self.slots += 1;
                self.streams[usize::from(stream)].push(Entry::Wait { event: self.recorded[after.index()], slot });
                Call::StreamWait { stream, slot }
            }
            Step::Choose { choice, alternative } => {
                self.absent |= load.dag.choices()[usize::from(choice)].others(usize::from(alternative));
                Call::Nothing
            }
        })
    }
}

/// Returns whether a step's operations, or its alternative, are the program's.
fn is_of(step: &Step, dag: &Dag) -> bool {
    let has = |op: OpId| op.index() < dag.len();
    match *step {
        Step::Cpu(op) | Step::Gpu { op, .. } | Step::EventRecord { after: op } => has(op),
        Step::EventSync { after, before } | Step::StreamWait { after, before, .. } => has(after) && has(before),
        Step::Choose { choice, alternative } => {
            let choice = dag.choices().get(usize::from(choice));
            choice.is_some_and(|choice| usize::from(alternative) < choice.alternatives().len())
        }
    }
}
