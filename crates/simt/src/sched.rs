//! Whose turn it is in a block.

use rand::rngs::SmallRng;
use rand::{Rng, SeedableRng};
use std::collections::VecDeque;
use std::ops::Range;
use std::thread;

/// The threads of a block that can run, waiting for their turns.
#[derive(Default)]
pub(crate) struct Turns {
    /// In order: those released from a barrier or an exchange. At random: all that can run.
    ready: VecDeque<u32>,
    /// In order: those that spin. They come after all others, since they wait for these.
    yielded: VecDeque<u32>,
    /// In order: those that have not had their first turn.
    unstarted: Range<u32>,
    /// Thread drawn to go next, if any.
    chosen: Option<u32>,
    rng: Option<SmallRng>,
    taken: u32,
    spins: usize,
}

/// After this many turns the threads that otherwise come last come first. Without it, two warps that poll a flag in a
/// loop of exchanges would pass the turn to each other for ever while the thread that sets the flag has not started.
const FAIRNESS: u32 = 1024;

impl Turns {
    /// Restarts with a block of `threads` threads; the first `started` have had a turn.
    pub(crate) fn reset(&mut self, threads: u32, started: u32, seed: Option<u64>) {
        self.ready.clear();
        self.yielded.clear();
        self.chosen = None;
        self.taken = 0;
        self.spins = 0;
        self.rng = seed.map(SmallRng::seed_from_u64);
        if self.rng.is_some() {
            self.ready.extend(started..threads);
            self.unstarted = 0..0;
        } else {
            self.unstarted = started..threads;
        }
    }

    /// `thread` can go on after a wait.
    pub(crate) fn release(&mut self, thread: u32) {
        self.ready.push_back(thread);
    }

    /// Returns the number of other threads that can run.
    pub(crate) fn others(&self) -> usize {
        self.ready.len() + self.yielded.len() + self.unstarted.len()
    }

    /// Returns true if no other thread can run.
    pub(crate) fn nobody_else(&self) -> bool {
        self.others() == 0
    }

    /// `thread`, whose turn it is, spins.
    pub(crate) fn give_way(&mut self, thread: u32) {
        if self.rng.is_none() {
            self.yielded.push_back(thread);
            return;
        }
        self.ready.push_back(thread);
        self.spins += 1;
        if self.spins > self.ready.len() {
            self.spins = 0;
            thread::yield_now();
        }
    }

    /// With probability 1/2 draws another thread to go next in place of `thread`, whose turn it is.
    pub(crate) fn preempt(&mut self, thread: u32) -> bool {
        let switch = !self.ready.is_empty() && self.rng.as_mut().is_some_and(|rng| rng.random());
        if switch {
            self.chosen = self.draw();
            self.ready.push_back(thread);
        }
        switch
    }

    /// Returns the thread that goes next.
    #[inline]
    pub(crate) fn next(&mut self) -> Option<u32> {
        if self.rng.is_some() {
            return self.chosen.take().or_else(|| self.draw());
        }
        self.taken = self.taken.wrapping_add(1);
        if self.taken.is_multiple_of(FAIRNESS) {
            if let Some(thread) = self.unstarted.next() {
                return Some(thread);
            }
            self.ready.append(&mut self.yielded);
        }
        if let Some(thread) = self.ready.pop_front().or_else(|| self.unstarted.next()) {
            return Some(thread);
        }
        if !self.yielded.is_empty() {
            // All that can run have spun once in vain: what they wait for must come from another worker.
            thread::yield_now();
            std::mem::swap(&mut self.ready, &mut self.yielded);
        }
        self.ready.pop_front()
    }

    fn draw(&mut self) -> Option<u32> {
        let rng = self.rng.as_mut()?;
        match self.ready.len() {
            0 => None,
            len => self.ready.swap_remove_back(rng.random_range(0..len)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn drain(turns: &mut Turns) -> Vec<u32> {
        std::iter::from_fn(|| turns.next()).collect()
    }

    #[test]
    fn released_threads_come_before_unstarted_and_those_before_spinning() {
        let mut turns = Turns::default();
        turns.reset(6, 3, None);
        turns.give_way(0);
        turns.release(2);
        turns.release(1);
        assert_eq!(drain(&mut turns), [2, 1, 3, 4, 5, 0]);
        assert!(turns.nobody_else());
    }

    #[test]
    fn nobody_starves() {
        let mut turns = Turns::default();
        turns.reset(3, 2, None);
        turns.release(0);
        let turn_of_2 = (0..10 * FAIRNESS).position(|_| {
            let thread = turns.next().unwrap();
            turns.release(thread);
            thread == 2
        });
        assert!(turn_of_2.is_some());
    }

    #[test]
    fn random_turns_depend_on_the_seed_alone_and_miss_nobody() {
        let order = |seed| {
            let mut turns = Turns::default();
            turns.reset(64, 0, Some(seed));
            drain(&mut turns)
        };
        assert_eq!(order(1), order(1));
        assert_ne!(order(1), order(2));
        let mut sorted = order(3);
        sorted.sort_unstable();
        assert!(sorted.into_iter().eq(0..64));
    }
}
