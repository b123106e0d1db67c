//! What is sent, and from where.

use std::ops::Range;

use super::RanksError;

/// A message to or from another rank: these bytes of a region.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Message {
    /// The other rank.
    pub rank: usize,
    /// Where the message stands in the region, in bytes.
    pub bytes: Range<usize>,
}

/// Memory that messages are sent from or received into: of the host, or of a GPU.
#[derive(Clone, Copy, Debug)]
pub struct Region {
    first: *mut u8,
    len: usize,
    on_device: bool,
}

// SAFETY: it is an address and a length; only `unsafe` code accesses what is there.
unsafe impl Send for Region {}
// SAFETY: it is an address and a length; only `unsafe` code accesses what is there.
unsafe impl Sync for Region {}

impl Region {
    /// `len` bytes of the host's memory from `first` on.
    pub fn new(first: *mut u8, len: usize) -> Self {
        Region { first, len, on_device: false }
    }

    /// `len` bytes of a GPU's memory from this address on.
    pub fn on_device(first: u64, len: usize) -> Self {
        Region { first: std::ptr::with_exposed_provenance_mut(first as usize), len, on_device: true }
    }

    /// Whether it is a GPU's memory.
    pub fn is_on_device(&self) -> bool {
        self.on_device
    }

    /// How many bytes there are.
    pub fn len(&self) -> usize {
        self.len
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// The address of a message in it; the message lies within it, as [`Plan::check`] sees to.
    pub(super) fn at(&self, message: &Message) -> *mut u8 {
        self.first.wrapping_add(message.bytes.start)
    }
}

/// The messages of a [`Link`](super::Link): at most one to each rank, and one from each.
#[derive(Clone, Debug)]
pub struct Plan {
    /// Tells links between the same ranks apart.
    pub tag: u16,
    /// The messages to others, within `send`.
    pub sends: Vec<Message>,
    /// The messages from others, within `receive`.
    pub receives: Vec<Message>,
    /// What is sent.
    pub send: Region,
    /// What is received.
    pub receive: Region,
}

impl Plan {
    /// Sees to it that messages go to other ranks, one to each, and lie within their regions.
    pub(super) fn check(&self, rank: usize, size: usize) -> Result<(), RanksError> {
        for (what, messages, region) in [("to", &self.sends, &self.send), ("from", &self.receives, &self.receive)] {
            for (index, message) in messages.iter().enumerate() {
                let Message { rank: other, bytes } = message;
                let wrong =
                    |reason: &str| Err(RanksError::Message(format!("rank {rank} has a message {what} rank {other} {reason}")));
                if *other >= size {
                    return wrong(&format!("of {size}"));
                }
                if *other == rank {
                    return wrong("itself");
                }
                if messages[..index].iter().any(|earlier| earlier.rank == *other) {
                    return wrong("twice");
                }
                if bytes.start > bytes.end || bytes.end > region.len() {
                    return wrong(&format!("at bytes {bytes:?} of {}", region.len()));
                }
            }
        }
        Ok(())
    }
}
