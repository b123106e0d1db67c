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
        for (index, &step) in steps.iter().enumerate() {
            let call = self.call(load, index as u32, step).map_err(|reason| wrong(&load.dag, steps, reason))?;
            self.calls.push(call);
        }
        Ok(())
    }

    fn call(&mut self, load: &Load, index: u32, step: Step) -> Result<Call, String> {
        let name = |op: OpId| load.dag.name_of(op);
        let (Step::Cpu(subject)
        | Step::Gpu { op: subject, .. }
        | Step::EventRecord { after: subject }
        | Step::EventSync { after: subject, .. }
        | Step::StreamWait { after: subject, .. }) = step
        else {
            return self.choose(load, step);
        };
        if subject.index() >= load.dag.len() {
            return Err(format!("operation {} is not one of the program's", subject.index()));
        }
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
            Step::Choose { .. } => Call::Nothing,
        })
    }

    /// Leaves out the alternatives that are not chosen.
    fn choose(&mut self, load: &Load, step: Step) -> Result<Call, String> {
        if let Step::Choose { choice, alternative } = step {
            let found = load.dag.choices().get(usize::from(choice));
            let found = found.filter(|found| usize::from(alternative) < found.alternatives().len());
            let found = found.ok_or_else(|| format!("choice {choice} has no alternative {alternative}"))?;
            self.absent |= found.others(usize::from(alternative));
        }
        Ok(Call::Nothing)
    }
}

fn wrong(dag: &Dag, steps: &[Step], reason: String) -> RulesError {
    let known = |step: &Step| match *step {
        Step::Cpu(op) | Step::Gpu { op, .. } | Step::EventRecord { after: op } => op.index() < dag.len(),
        Step::EventSync { after, before } | Step::StreamWait { after, before, .. } => {
            after.index().max(before.index()) < dag.len()
        }
        Step::Choose { choice, .. } => usize::from(choice) < dag.choices().len(),
    };
    let name = |step: &Step| if known(step) { step.name(dag) } else { "?".to_owned() };
    RulesError::Schedule {
        program: dag.name().to_owned(),
        schedule: steps.iter().map(name).collect::<Vec<_>>().join(";"),
        reason,
    }
}
