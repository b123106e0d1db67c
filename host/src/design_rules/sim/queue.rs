//! Events of a simulation, in the order of time.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// Something that happens at an instant.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Event {
    /// A rank's host goes on.
    Host(usize),
    /// The next item of a stream starts.
    Start(usize),
    /// The kernel of a GPU that is the first to finish does so.
    Kernel(usize),
    /// The copy of a stream is done.
    Copied(usize),
    /// The announcement of a message reaches its receiver.
    Announced(usize),
    /// The receiver's answer reaches the sender of a message.
    Answered(usize),
    /// The first byte of a message reaches its receiver.
    Head(usize),
}

/// Events by time; events at the same time in the order of addition.
#[derive(Clone, Debug, Default)]
pub(super) struct Queue {
    /// The bits of the time, which is not negative, so that they are in order, too; then the event's number.
    heap: BinaryHeap<Reverse<(u64, u32, Event)>>,
    added: u32,
}

impl Queue {
    pub fn clear(&mut self) {
        self.heap.clear();
        self.added = 0;
    }

    /// Adds an event and returns its number.
    pub fn add(&mut self, time: f64, event: Event) -> u32 {
        let number = self.added;
        self.added = self.added.wrapping_add(1);
        self.heap.push(Reverse((time.to_bits(), number, event)));
        number
    }

    /// Removes the first event, and returns its time, its number and the event.
    pub fn next(&mut self) -> Option<(f64, u32, Event)> {
        let Reverse((time, number, event)) = self.heap.pop()?;
        Some((f64::from_bits(time), number, event))
    }
}
