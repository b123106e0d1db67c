//! The sequential decision problem: what may come next.

use super::{MAX_STREAMS, Schedule, Step, check_streams};
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
    streams: u8,
    steps: Vec<Step>,
    /// The operations of alternatives that are not taken.
    absent: u64,
    /// The operations that the steps have, and those that are absent.
    placed: u64,
    /// The operations behind which there is a record.
    recorded: u64,
    /// For each operation, the predecessors that it has been made to wait for.
    waits: Vec<u64>,
    /// For each operation of the GPU that has a stream, or waits in one already, that stream.
    binding: Vec<Option<u8>>,
    /// Number of streams that the steps name.
    named: u8,
    /// Records that nothing waits for yet, and that may turn out to be needless.
    open: Vec<Open>,
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
        check_streams(streams)?;
        Ok(Prefix {
            dag,
            streams: streams as u8,
            steps: Vec::new(),
            absent: 0,
            placed: 0,
            recorded: 0,
            waits: vec![0; dag.len()],
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
            let settled = |alternative| Step::Choose { choice: choice as u8, alternative: alternative as u8 };
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
                    self.synchronise(missing, |after| Step::EventSync { after, before: v }, &mut found);
                }
                Kind::Gpu => self.streams_for(v).for_each(|stream| {
                    let missing = self.elsewhere(v, stream) & !self.waits[v.index()];
                    if missing == 0 {
                        found.push(Step::Gpu { op: v, stream });
                    }
                    self.synchronise(missing, |after| Step::StreamWait { after, before: v, stream }, &mut found);
                }),
            }
        }
        found.sort_unstable();
        found.dedup();
        let is_bet = |step: &Step| matches!(*step, Step::EventRecord { after } if self.bet_on(after).is_some());
        if self.open.is_empty() && !found.iter().any(is_bet) {
            return found;
        }
        found.retain(|&step| {
            let mut then = self.clone();
            then.push(step);
            then.is_completable()
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
                // Whoever hoped that it would go elsewhere has one hope less.
                for open in &mut self.open {
                    if self.binding[open.after.index()] == Some(stream) {
                        open.users &= !op.bit();
                    }
                }
            }
            Step::EventRecord { after } => {
                self.recorded |= after.bit();
                if let Some(users) = self.bet_on(after) {
                    self.open.push(Open { after, users });
                    self.open.sort_unstable_by_key(|open| open.after);
                }
            }
            Step::EventSync { after, before } => self.waits[before.index()] |= after.bit(),
            Step::StreamWait { after, before, stream } => {
                self.waits[before.index()] |= after.bit();
                self.bind(before, stream);
                self.open.retain(|open| open.after != after || open.users & before.bit() == 0);
            }
            Step::Choose { choice, alternative } => {
                self.absent |= self.dag.choices()[usize::from(choice)].others(usize::from(alternative));
                self.placed |= self.absent;
            }
        }
        self.steps.push(step);
    }

    /// The schedule, when it is complete.
    pub fn finish(self) -> Option<Schedule> {
        (self.placed & self.dag.end().bit() != 0).then(|| Schedule::new(self.steps))
    }

    pub(super) fn is_complete(&self) -> bool {
        self.placed & self.dag.end().bit() != 0
    }

    pub(super) fn state(&self) -> State {
        let (mut recorded, mut absent) = (0, 0);
        let mut streams = [0u64; MAX_OPERATIONS / STREAMS_PER_WORD];
        // Streams are named in the order of their operations. Streams that no successor asks for
        // are all alike.
        let mut names = [0; MAX_STREAMS];
        let mut next = 0;
        let (mut waits, mut open) = (Vec::new(), Vec::new());
        for op in self.dag.operations() {
            let unplaced = self.placed & op.bit() == 0;
            // Operations that need it and don't wait for it yet.
            let users = bits(self.dag.successor_set(op) & !self.placed).filter(|&v| self.waits[v] & op.bit() == 0);
            let users = users.fold(0, |set, v| set | 1 << v);
            if users != 0 {
                recorded |= self.recorded & op.bit();
                absent |= self.absent & op.bit();
            }
            if let Some(stream) = self.binding[op.index()]
                && (unplaced || users & self.dag.gpu_set() != 0)
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
        for Open { after, users } in &self.open {
            open.extend([after.index() as u64, users & !self.placed]);
        }
        let streams = &streams[..self.dag.len().div_ceil(STREAMS_PER_WORD)];
        // Once all are bound, it doesn't matter how many streams there are.
        let unbound = bits(self.dag.gpu_set() & !self.absent).any(|op| self.binding[op].is_none());
        let lengths = [if unbound { u64::from(self.named) } else { 0 }, waits.len() as u64];
        [&[self.placed, recorded, absent], &lengths[..], streams, &waits, &open].concat().into_boxed_slice()
    }

    /// Not placed yet, but all that it depends on is.
    fn is_ready(&self, op: OpId) -> bool {
        self.placed & op.bit() == 0 && self.dag.predecessor_set(op) & !self.placed == 0
    }

    /// The operations that a record behind `after` would be made for, where it may turn out to be needless: none where
    /// one of them is of the CPU.
    fn bet_on(&self, after: OpId) -> Option<u64> {
        let users = bits(self.dag.successor_set(after)).filter(|&v| self.is_ready(OpId(v as u8)));
        let users = users.fold(0, |set, v| set | 1 << v);
        (users & !self.dag.gpu_set() == 0).then_some(users)
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

    /// The next step towards a wait for each of these operations.
    fn synchronise(&self, missing: u64, wait: impl Fn(OpId) -> Step, found: &mut Vec<Step>) {
        found.extend(bits(missing).map(|u| {
            let after = OpId(u as u8);
            if self.recorded & after.bit() == 0 { Step::EventRecord { after } } else { wait(after) }
        }));
    }

    fn bind(&mut self, op: OpId, stream: u8) {
        self.binding[op.index()] = Some(stream);
        self.named = self.named.max(stream + 1);
    }

    /// Returns whether the operations without a stream can be given one so that no record is
    /// needless.
    fn is_completable(&self) -> bool {
        // For each operation, the streams that it can't have because someone hopes that it goes elsewhere.
        self.can_use_all(&self.open, &mut vec![0u8; self.dag.len()])
    }

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
