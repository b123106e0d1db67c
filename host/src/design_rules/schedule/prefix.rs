//! The sequential decision problem: what may come next.

use super::{MAX_STREAMS, Schedule, Space, Step, check_streams};
use crate::design_rules::RulesError;
use crate::design_rules::program::{Dag, Kind, MAX_OPERATIONS, OpId, bits};

/// Number of bits of an operation's stream in a state; the value 0 means no stream.
const STREAM_BITS: usize = 4;
const STREAMS_PER_WORD: usize = 64 / STREAM_BITS;
const _: () = assert!(MAX_STREAMS < 1 << STREAM_BITS);

/// The first steps of a schedule, and what may follow them (`P_k` in the paper's section III-B).
///
/// ```
/// use warpsmith::design_rules::{Dag, schedule::Prefix};
///
/// let dag = Dag::builder("axpy").gpu("scale").gpu("add").edge("scale", "add").build()?;
/// let mut prefix = Prefix::new(&dag, 2)?;
/// while let Some(&step) = prefix.next().first() {
///     prefix.push(step);
/// }
/// let schedule = prefix.finish().expect("every prefix can be completed");
/// assert_eq!(schedule.text(&dag), "scale@0;add@0;CER-after-add;CES-b4-end");
/// # Ok::<(), warpsmith::design_rules::RulesError>(())
/// ```
#[derive(Clone, Debug)]
pub struct Prefix<'a> {
    dag: &'a Dag,
    space: Space,
    streams: u8,
    steps: Vec<Step>,
    /// The operations of alternatives that are not taken.
    absent: u64,
    /// The operations that the steps have, and those that are absent.
    placed: u64,
    /// The records in order.
    records: Vec<Record>,
    /// For each operation, the predecessors that it has been made to wait for.
    waits: Vec<u64>,
    /// For each stream, the operations that it has been made to wait for, whichever operation needed it. It is
    /// empty in [`Space::Warpsmith`].
    heard: [u64; MAX_STREAMS],
    /// For each operation of the GPU that has a stream, or waits in one already, that stream.
    binding: Vec<Option<u8>>,
    /// Number of streams that the steps name.
    named: u8,
    /// Records that nothing waits for yet, and that may turn out to be needless.
    open: Vec<Open>,
}

/// A record, and what it counts for.
#[derive(Clone, Copy, Debug)]
struct Record {
    after: OpId,
    /// The operations whose end its event marks.
    covered: u64,
}

/// A record made for operations whose streams are not settled.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct Open {
    after: OpId,
    /// The operations that it was made for: one of them has to go to another stream than `after`'s.
    users: u64,
}

/// Everything that the number of completions depends on, as words: prefixes with equal states have
/// equally many. The order of the steps and the names of streams are left out, and so is what is
/// known of operations whose successors are all done.
pub(super) type State = Box<[u64]>;

impl<'a> Prefix<'a> {
    /// The empty prefix of schedules that use at most this many streams.
    ///
    /// # Errors
    /// [`RulesError::Streams`] unless there are 1 to [`MAX_STREAMS`].
    pub fn new(dag: &'a Dag, streams: usize) -> Result<Self, RulesError> {
        Self::within(Space::default(), dag, streams)
    }

    pub(super) fn within(space: Space, dag: &'a Dag, streams: usize) -> Result<Self, RulesError> {
        check_streams(streams)?;
        Ok(Prefix {
            dag,
            space,
            streams: streams as u8,
            steps: Vec::new(),
            absent: 0,
            placed: 0,
            records: Vec::new(),
            waits: vec![0; dag.len()],
            heard: [0; MAX_STREAMS],
            binding: vec![None; dag.len()],
            named: 0,
            open: Vec::new(),
        })
    }

    /// The steps that may come next, ascending; none when the schedule is complete. Whichever is taken, the schedule
    /// can be completed.
    pub fn next(&self) -> Vec<Step> {
        // Choices are the first steps, so that there are as many of them as steps.
        let choice = self.steps.len();
        if let Some(pending) = self.dag.choices().get(choice) {
            let settled = |alternative| Step::Choose { choice: choice as u8, alternative: alternative as u16 };
            return (0..pending.alternatives().len()).map(settled).collect();
        }
        let mut found = Vec::new();
        for v in self.dag.operations().filter(|&v| self.is_ready(v)) {
            match self.dag.kind(v) {
                Kind::Cpu => {
                    let missing = self.gpu_predecessors(v) & !self.waits[v.index()];
                    if missing == 0 {
                        found.push(Step::Cpu(v));
                    }
                    self.synchronise(v, missing, |after| Step::EventSync { after, before: v }, &mut found);
                }
                Kind::Gpu => self.streams_for(v).for_each(|stream| {
                    let missing = self.elsewhere(v, stream) & !self.waits[v.index()] & !self.heard[usize::from(stream)];
                    if missing == 0 {
                        found.push(Step::Gpu { op: v, stream });
                    }
                    self.synchronise(v, missing, |after| Step::StreamWait { after, before: v, stream }, &mut found);
                }),
            }
        }
        found.sort_unstable();
        found.dedup();
        let is_bet = |step: &Step| matches!(*step, Step::EventRecord { after } if self.bet_on(after).is_some());
        if self.open.is_empty() && !found.iter().any(is_bet) {
            return found;
        }
        // The operations without a stream can be given one so that no record is needless.
        found.retain(|&step| {
            let mut then = self.clone();
            then.push(step);
            then.can_use_all(&then.open, &mut vec![0u8; then.dag.len()])
        });
        found
    }

    /// Appends one of the steps that [`next`](Self::next) gives.
    pub fn push(&mut self, step: Step) {
        match step {
            Step::Cpu(op) => self.placed |= op.bit(),
            Step::Gpu { op, stream } => {
                self.placed |= op.bit();
                self.bind(op, stream);
                self.settle(op, stream);
                // Whoever hoped that it would go elsewhere has one hope less.
                for open in &mut self.open {
                    open.users &= !op.bit();
                }
            }
            Step::EventRecord { after } => {
                let (covered, bet) = (self.covered_by_record(after), self.bet_on(after));
                self.records.push(Record { after, covered });
                if let Some(users) = bet {
                    self.open.push(Open { after, users });
                    self.open.sort_unstable_by_key(|open| open.after);
                }
            }
            Step::EventSync { after, before } => {
                let covered = self.covered(after);
                match self.space {
                    Space::Warpsmith => self.waits[before.index()] |= covered,
                    Space::Tenzing => {
                        for v in self.dag.operations().filter(|&v| self.dag.kind(v) == Kind::Cpu) {
                            self.waits[v.index()] |= covered & self.dag.predecessor_set(v);
                        }
                    }
                }
            }
            Step::StreamWait { after, before, stream } => {
                let covered = self.covered(after);
                match self.space {
                    Space::Warpsmith => self.waits[before.index()] |= covered,
                    Space::Tenzing => self.heard[usize::from(stream)] |= covered,
                }
                self.bind(before, stream);
                self.settle(before, stream);
            }
            Step::Choose { choice, alternative } => {
                self.absent |= self.dag.choices()[usize::from(choice)].others(usize::from(alternative));
                self.placed |= self.absent;
            }
        }
        self.steps.push(step);
    }

    /// Returns the program.
    pub(super) fn dag(&self) -> &'a Dag {
        self.dag
    }

    /// The schedule, when it is complete.
    pub fn finish(self) -> Option<Schedule> {
        (self.placed & self.dag.end().bit() != 0).then(|| Schedule::new(self.steps))
    }

    pub(super) fn is_complete(&self) -> bool {
        self.placed & self.dag.end().bit() != 0
    }

    pub(super) fn state(&self) -> State {
        let (mut needed, mut absent) = (0, 0);
        let mut streams = [0u64; MAX_OPERATIONS / STREAMS_PER_WORD];
        // Streams are named in the order of their operations. Streams that no successor asks for
        // are all alike.
        let mut names = [0; MAX_STREAMS];
        let mut next = 0;
        let (mut waits, mut open, mut heard) = (Vec::new(), Vec::new(), Vec::new());
        for op in self.dag.operations() {
            let unplaced = self.placed & op.bit() == 0;
            // Operations that need it and don't wait for it yet.
            let users = bits(self.dag.successor_set(op) & !self.placed).filter(|&v| self.waits[v] & op.bit() == 0);
            let users = users.fold(0, |set, v| set | 1 << v);
            if users != 0 {
                needed |= op.bit();
                absent |= self.absent & op.bit();
            }
            if let Some(stream) = self.binding[op.index()]
                && (unplaced || users & self.dag.gpu_set() != 0 || users != 0 && self.space == Space::Tenzing)
            {
                let name = &mut names[usize::from(stream)];
                if *name == 0 {
                    next += 1;
                    *name = next;
                }
                streams[op.index() / STREAMS_PER_WORD] |= *name << (op.index() % STREAMS_PER_WORD * STREAM_BITS);
            }
            if unplaced && self.waits[op.index()] != 0 {
                waits.extend([op.index() as u64, self.waits[op.index()]]);
            }
        }
        // A record is never waited for if earlier ones cover all of its operations that are needed.
        let mut recorded = 0;
        for &Record { covered, .. } in &self.records {
            if covered & needed & !recorded != 0 && self.space == Space::Tenzing {
                heard.push(covered & needed);
            }
            recorded |= covered & needed;
        }
        heard.sort_unstable();
        let records = heard.len() as u64;
        let of_streams = names.iter().zip(&self.heard).map(|(&name, &heard)| (name, heard & needed));
        let mut of_streams: Vec<_> = of_streams.filter(|&(_, heard)| heard != 0).collect();
        of_streams.sort_unstable();
        heard.extend(of_streams.iter().flat_map(|&(name, heard)| [name, heard]));
        for Open { after, users } in &self.open {
            open.extend([after.index() as u64, users & !self.placed]);
        }
        let streams = &streams[..self.dag.len().div_ceil(STREAMS_PER_WORD)];
        // Once all are bound, it doesn't matter how many streams there are.
        let unbound = bits(self.dag.gpu_set() & !self.absent).any(|op| self.binding[op].is_none());
        let named = if unbound { u64::from(self.named) } else { 0 };
        let lengths = [named, waits.len() as u64, records, heard.len() as u64];
        [&[self.placed, recorded, absent], &lengths[..], streams, &waits, &heard, &open].concat().into_boxed_slice()
    }

    /// Not placed yet, but all that it depends on is.
    fn is_ready(&self, op: OpId) -> bool {
        self.placed & op.bit() == 0 && self.dag.predecessor_set(op) & !self.placed == 0
    }

    /// The operations that a record behind `after` would be made for, where it may turn out to be needless: none where
    /// one of them is of the CPU.
    fn bet_on(&self, after: OpId) -> Option<u64> {
        let home = self.binding[after.index()];
        let mut users = 0;
        for v in self.dag.successors(after).filter(|&v| self.is_ready(v) && self.event_for(v, after) == after) {
            let is_elsewhere = self.binding[v.index()].is_some_and(|stream| Some(stream) != home);
            if self.dag.kind(v) == Kind::Cpu || is_elsewhere {
                return None;
            }
            users |= v.bit();
        }
        Some(users)
    }

    /// Returns the operations that a record behind `after` would cover.
    fn covered_by_record(&self, after: OpId) -> u64 {
        match self.space {
            Space::Warpsmith => after.bit(),
            Space::Tenzing => self.in_stream_of(after) & self.placed,
        }
    }

    /// Returns the operations that the record behind `after` covers.
    fn covered(&self, after: OpId) -> u64 {
        self.records.iter().find(|record| record.after == after).map_or(0, |record| record.covered)
    }

    /// Returns the operation behind which to record the event that `before` needs of `after`.
    fn event_for(&self, before: OpId, after: OpId) -> OpId {
        match self.space {
            Space::Warpsmith => after,
            Space::Tenzing => {
                let recorded = self.records.iter().fold(0, |set, record| set | record.covered);
                let needed = self.gpu_predecessors(before) & self.in_stream_of(after) & !recorded;
                bits(needed).last().map_or(after, |last| OpId(last as u8))
            }
        }
    }

    /// Returns the operations that are bound to the stream of one.
    fn in_stream_of(&self, op: OpId) -> u64 {
        let stream = self.binding[op.index()];
        bits(self.dag.gpu_set()).filter(|&other| self.binding[other] == stream).fold(0, |set, other| set | 1 << other)
    }

    fn gpu_predecessors(&self, op: OpId) -> u64 {
        self.dag.predecessor_set(op) & self.dag.gpu_set() & !self.absent
    }

    /// The predecessors in other streams than this.
    fn elsewhere(&self, op: OpId, stream: u8) -> u64 {
        bits(self.gpu_predecessors(op)).filter(|&u| self.binding[u] != Some(stream)).fold(0, |set, u| set | 1 << u)
    }

    /// The streams that an operation may go to: those that have a name, and one that hasn't.
    fn streams_for(&self, op: OpId) -> std::ops::Range<u8> {
        match self.binding[op.index()] {
            Some(stream) => stream..stream + 1,
            None => 0..(self.named + 1).min(self.streams),
        }
    }

    /// The next step towards a wait of `before` for each of these operations.
    fn synchronise(&self, before: OpId, missing: u64, wait: impl Fn(OpId) -> Step, found: &mut Vec<Step>) {
        found.extend(bits(missing).map(|u| match self.records.iter().find(|record| record.covered & 1 << u != 0) {
            Some(record) => wait(record.after),
            None => Step::EventRecord { after: self.event_for(before, OpId(u as u8)) },
        }));
    }

    /// Drops the records that are needed since `op` is bound to another stream.
    fn settle(&mut self, op: OpId, stream: u8) {
        let binding = &self.binding;
        self.open.retain(|open| open.users & op.bit() == 0 || binding[open.after.index()] == Some(stream));
    }

    fn bind(&mut self, op: OpId, stream: u8) {
        self.binding[op.index()] = Some(stream);
        self.named = self.named.max(stream + 1);
    }

    /// `excluded` has, for each operation, the streams that it can't have because someone hopes that it goes elsewhere.
    fn can_use_all(&self, open: &[Open], excluded: &mut Vec<u8>) -> bool {
        let Some((first, rest)) = open.split_first() else { return true };
        let home = self.binding[first.after.index()].expect("a record is behind an operation that has a stream");
        bits(first.users & !self.placed).any(|v| {
            let before = excluded[v];
            excluded[v] |= 1 << home;
            let free = match self.binding[v] {
                Some(stream) => excluded[v] & 1 << stream == 0,
                None => (0..self.streams).any(|stream| excluded[v] & 1 << stream == 0),
            };
            let possible = free && self.can_use_all(rest, excluded);
            excluded[v] = before;
            possible
        })
    }
}
