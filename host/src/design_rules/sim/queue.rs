//! What is going to happen, in the order of time.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// Something that happens at an instant.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Event {
    /// A rank's host goes on.
    Host(usize),
    /// The next item of a stream starts.
    Start(usize),
    /// The kernel of a GPU that is the first to finish does so.
    Kernel(usize),
    /// The copy of a stream is done.
    Copied(usize),
    /// The receiver of a message hears of it.
    Announced(usize),
    /// The sender of a message hears that the receiver is ready.
    Answered(usize),
    /// The first byte of a message is there.
    Head(usize),
}

/// Events by their time; those of one time in the order in which they were added.
#[derive(Clone, Debug, Default)]
pub(super) struct Queue {
    /// Time, number and event in one word: times are not negative, so that their bits are in order, too.
    heap: BinaryHeap<Reverse<u128>>,
    added: u32,
}

impl Queue {
    pub fn clear(&mut self) {
        self.heap.clear();
        self.added = 0;
    }

    /// Adds an event, and says its number.
    pub fn add(&mut self, time: f64, event: Event) -> u32 {
        let (kind, index) = match event {
            Event::Host(index) => (0, index),
            Event::Start(index) => (1, index),
            Event::Kernel(index) => (2, index),
            Event::Copied(index) => (3, index),
            Event::Announced(index) => (4, index),
            Event::Answered(index) => (5, index),
            Event::Head(index) => (6, index),
        };
        let number = self.added;
        self.added = self.added.wrapping_add(1);
        let word = u128::from(time.to_bits()) << 64 | u128::from(number) << 32 | (index as u128) << 3 | kind;
        self.heap.push(Reverse(word));
        number
    }

    /// The first: its time, its number, itself.
    pub fn next(&mut self) -> Option<(f64, u32, Event)> {
        let Reverse(word) = self.heap.pop()?;
        let index = (word as u32 >> 3) as usize;
        let event = match word & 7 {
            0 => Event::Host(index),
            1 => Event::Start(index),
            2 => Event::Kernel(index),
            3 => Event::Copied(index),
            4 => Event::Announced(index),
            5 => Event::Answered(index),
            _ => Event::Head(index),
        };
        Some((f64::from_bits((word >> 64) as u64), (word >> 32) as u32, event))
    }
}
