//! Happens-before by vector clocks, which a block's barrier compresses to one number.
//!
//! The time of a thread has two parts: the barriers that its block has passed, and the thread's
//! releases (to lanes of its warp, or by an atomic operation) since the last one. A thread's
//! knowledge of a block is the barrier up to which it knows all of the block's threads, plus the
//! times of single threads.

use super::shadow::Access;
use crate::Scope;
use std::collections::{BTreeMap, HashMap};
use std::mem;
use std::sync::Arc;

/// A time: barriers, releases since.
pub(crate) type Time = (u32, u32);

/// Knowledge of other threads.
#[derive(Clone, Debug, Default)]
struct Clock {
    /// All accesses of a block that come before this many of its barriers.
    blocks: BTreeMap<u32, u32>,
    /// The accesses of a thread up to a time.
    threads: BTreeMap<(u32, u16), Time>,
}

impl Clock {
    fn knows(&self, access: &Access) -> bool {
        let Access { block, thread, epoch, part, .. } = *access;
        self.blocks.get(&block).is_some_and(|&known| epoch < known)
            || self.threads.get(&(block, thread)).is_some_and(|&known| (epoch, part) <= known)
    }

    fn join(&mut self, other: &Clock) {
        for (&block, &epoch) in &other.blocks {
            let known = self.blocks.entry(block).or_default();
            *known = epoch.max(*known);
        }
        for (&thread, &time) in &other.threads {
            let known = self.threads.entry(thread).or_default();
            *known = time.max(*known);
        }
    }
}

fn join(clock: &mut Arc<Clock>, other: &Arc<Clock>) {
    if !Arc::ptr_eq(clock, other) {
        Arc::make_mut(clock).join(other);
    }
}

/// [`join`], into what may be nothing yet.
fn join_into(clock: &mut Option<Arc<Clock>>, other: &Arc<Clock>) {
    match clock {
        Some(clock) => join(clock, other),
        None => *clock = Some(Arc::clone(other)),
    }
}

/// An atomic operation, as far as it orders others.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Operation {
    pub(crate) reads: bool,
    pub(crate) writes: bool,
    pub(crate) acquires: bool,
    pub(crate) releases: bool,
}

/// Knowledge released by atomic writes, by address.
#[derive(Default)]
pub(crate) struct Released(HashMap<usize, Messages>);

/// Knowledge released by the threads of a meeting, which all acquire when it is complete.
#[derive(Default)]
pub(crate) struct Meeting {
    number: u64,
    clock: Clock,
    /// The last clock that is part of it. Most have the same.
    joined: Option<Arc<Clock>>,
    /// The joined knowledge, once all have come.
    whole: Option<Arc<Clock>>,
}

#[derive(Default)]
struct Messages {
    /// From the threads of each block to that block.
    within: BTreeMap<u32, Arc<Clock>>,
    /// To all.
    beyond: Option<Arc<Clock>>,
}

impl Released {
    pub(crate) fn clear(&mut self) {
        self.0.clear();
    }
}

/// The order among the accesses of one block's threads and others.
#[derive(Default)]
pub(crate) struct Order {
    pub(crate) block: u32,
    epoch: u32,
    threads: Vec<Thread>,
}

#[derive(Clone, Default)]
struct Thread {
    clock: Arc<Clock>,
    part: u32,
    /// Its knowledge on arrival at its last meeting.
    came_with: Option<Arc<Clock>>,
    /// Knowledge that relaxed writes release since the last fence: within the block, and beyond.
    fenced: [Option<Arc<Clock>>; 2],
    /// Knowledge found by relaxed reads, for the next fence to acquire: within the block, and
    /// beyond.
    found: [Option<Arc<Clock>>; 2],
}

impl Order {
    pub(crate) fn reset(&mut self, block: u32, threads: u32) {
        (self.block, self.epoch) = (block, 0);
        let fresh = Thread::default();
        self.threads.clear();
        self.threads.resize(threads as usize, fresh);
    }

    pub(crate) fn now(&self, thread: u32) -> Time {
        (self.epoch, self.threads[thread as usize].part)
    }

    /// Returns true if `access` happens before the next operation of `thread`.
    pub(crate) fn knows(&self, thread: u32, access: &Access) -> bool {
        access.block == self.block && (access.epoch < self.epoch || u32::from(access.thread) == thread)
            || self.threads[thread as usize].clock.knows(access)
    }

    /// All threads of the block have met.
    pub(crate) fn barrier(&mut self) {
        let mut known = Arc::clone(&self.threads[0].clock);
        for thread in &self.threads {
            join(&mut known, &thread.clock);
        }
        self.epoch += 1;
        if known.threads.keys().any(|&(block, _)| block == self.block) {
            Arc::make_mut(&mut known).threads.retain(|&(block, _), _| block != self.block);
        }
        for thread in &mut self.threads {
            thread.clock = Arc::clone(&known);
            thread.part = 0;
        }
    }

    /// These threads have met.
    pub(crate) fn meet(&mut self, threads: impl Iterator<Item = u32> + Clone) {
        let Some(first) = threads.clone().next() else { return };
        let mut known = Arc::clone(&self.threads[first as usize].clock);
        for thread in threads.clone() {
            join(&mut known, &self.threads[thread as usize].clock);
        }
        let clock = Arc::make_mut(&mut known);
        for thread in threads.clone() {
            clock.threads.insert((self.block, thread as u16), (self.epoch, self.threads[thread as usize].part));
        }
        for thread in threads {
            let thread = &mut self.threads[thread as usize];
            thread.clock = Arc::clone(&known);
            thread.part += 1;
        }
    }

    /// All that comes before what `thread` does next.
    fn release(&mut self, thread: u32) -> Arc<Clock> {
        let state = &mut self.threads[thread as usize];
        let mut clock = Clock::clone(&state.clock);
        clock.blocks.insert(self.block, self.epoch);
        clock.threads.insert((self.block, thread as u16), (self.epoch, state.part));
        state.part += 1;
        Arc::new(clock)
    }

    /// `thread` has done an atomic operation at `address`.
    pub(crate) fn atomic(&mut self, thread: u32, released: &mut Released, address: usize, operation: Operation, scope: Scope) {
        let far = scope == Scope::Device;
        let state = &mut self.threads[thread as usize];
        if operation.reads
            && let Some(messages) = released.0.get(&address)
        {
            let found = [messages.within.get(&self.block), messages.beyond.as_ref().filter(|_| far)];
            for (clock, kept) in found.into_iter().zip(&mut state.found) {
                match clock {
                    Some(clock) if operation.acquires => join(&mut state.clock, clock),
                    Some(clock) => join_into(kept, clock),
                    None => {}
                }
            }
        }
        if operation.writes {
            let [mut within, mut beyond] = state.fenced.clone();
            if operation.releases {
                let clock = self.release(thread);
                join_into(&mut within, &clock);
                join_into(&mut beyond, &clock);
            }
            if !operation.reads {
                // A write overwrites what others have released there; a read-modify-write hands it
                // on.
                released.0.remove(&address);
            }
            if let Some(clock) = within {
                let messages = released.0.entry(address).or_default();
                let mut old = messages.within.remove(&self.block);
                join_into(&mut old, &clock);
                messages.within.extend(old.map(|clock| (self.block, clock)));
            }
            if let Some(clock) = beyond.filter(|_| far) {
                join_into(&mut released.0.entry(address).or_default().beyond, &clock);
            }
        }
    }

    /// `thread` comes to the meeting of this number.
    pub(crate) fn come(&mut self, thread: u32, meeting: &mut Meeting, number: u64) {
        if meeting.number != number {
            *meeting = Meeting { number, ..Meeting::default() };
        }
        let state = &mut self.threads[thread as usize];
        if !meeting.joined.as_ref().is_some_and(|joined| Arc::ptr_eq(joined, &state.clock)) {
            meeting.clock.join(&state.clock);
            meeting.joined = Some(Arc::clone(&state.clock));
        }
        meeting.clock.blocks.insert(self.block, self.epoch);
        meeting.clock.threads.insert((self.block, thread as u16), (self.epoch, state.part));
        state.part += 1;
        state.came_with = Some(Arc::clone(&state.clock));
    }

    /// All have come that `thread` met.
    pub(crate) fn go(&mut self, thread: u32, meeting: &mut Meeting) {
        let whole = meeting.whole.get_or_insert_with(|| Arc::new(mem::take(&mut meeting.clock)));
        let state = &mut self.threads[thread as usize];
        match state.came_with.take() {
            // It has learnt nothing since, so that the meeting's knowledge has all of its own.
            Some(clock) if Arc::ptr_eq(&clock, &state.clock) => state.clock = Arc::clone(whole),
            _ => join(&mut state.clock, whole),
        }
    }

    /// Returns true if the start of `block` happens before the next operation of `thread`.
    pub(crate) fn has_met(&self, thread: u32, block: u32) -> bool {
        let Clock { blocks, threads } = &*self.threads[thread as usize].clock;
        blocks.contains_key(&block) || threads.range((block, 0)..=(block, u16::MAX)).next().is_some()
    }

    /// Returns true if `access` happens before the end of the block.
    pub(crate) fn ends_after(&self, access: &Access) -> bool {
        access.block == self.block || self.threads.iter().any(|thread| thread.clock.knows(access))
    }

    /// `thread` has passed a fence.
    pub(crate) fn fence(&mut self, thread: u32, acquires: bool, releases: bool, scope: Scope) {
        let reached = if scope == Scope::Device { 2 } else { 1 };
        if acquires {
            let state = &mut self.threads[thread as usize];
            for found in &mut state.found[..reached] {
                if let Some(found) = mem::take(found) {
                    join(&mut state.clock, &found);
                }
            }
        }
        if releases {
            let clock = self.release(thread);
            self.threads[thread as usize].fenced[..reached].fill(Some(clock));
        }
    }
}
