//! Plans of messages: their bytes and memory.

use std::ops::Range;

use super::RanksError;

/// A message to or from another rank: these bytes of a region.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Message {
    /// The other rank.
    pub rank: usize,
    /// The message's place in the region, in bytes.
    pub bytes: Range<usize>,
}

/// Memory that messages are sent from or received into: of the host, or of a GPU.
#[derive(Clone, Copy, Debug)]
pub struct Region {
    first: *mut u8,
    len: usize,
    on_device: bool,
}

// SAFETY: it is an address and a length, and only `unsafe` code accesses the memory.
unsafe impl Send for Region {}
// SAFETY: it is an address and a length, and only `unsafe` code accesses the memory.
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

    /// Returns true if it is GPU memory.
    pub fn is_on_device(&self) -> bool {
        self.on_device
    }

    /// Returns the number of bytes.
    pub fn len(&self) -> usize {
        self.len
    }

    /// Returns true if it has no bytes.
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
    /// The memory that is sent.
    pub send: Region,
    /// The memory that is received into.
    pub receive: Region,
}

/// The most bytes of a message that is sent at once. MPI counts them by an `int`.
const MOST: usize = 1 << 30;

impl Plan {
    /// Divides the plan into plans whose messages are not too long for MPI.
    pub(super) fn pieces(&self) -> impl Iterator<Item = Plan> {
        let longest = self.sends.iter().chain(&self.receives).map(|message| message.bytes.len()).max().unwrap_or(0);
        let of = |messages: &[Message], piece: usize| {
            let cut = |message: &Message| {
                let Range { start, end } = message.bytes;
                let first = start + piece * MOST;
                (first < end).then(|| Message { rank: message.rank, bytes: first..end.min(first + MOST) })
            };
            messages.iter().filter_map(cut).collect()
        };
        (0..longest.div_ceil(MOST)).map(move |piece| Plan {
            tag: self.tag,
            sends: of(&self.sends, piece),
            receives: of(&self.receives, piece),
            send: self.send,
            receive: self.receive,
        })
    }

    /// Checks that messages go to other ranks, at most one to each, and lie within their regions.
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_messages_go_in_pieces() {
        let region = Region::new(std::ptr::null_mut(), 9 * MOST);
        let message = |rank, bytes| Message { rank, bytes };
        let (long, short) = (message(1, 5..2 * MOST + 6), message(2, 0..MOST));
        let plan = Plan { tag: 7, sends: vec![long, short], receives: vec![message(2, 8..8)], send: region, receive: region };
        let pieces: Vec<_> = plan.pieces().map(|piece| (piece.sends, piece.receives)).collect();
        let expected = [
            vec![message(1, 5..MOST + 5), message(2, 0..MOST)],
            vec![message(1, MOST + 5..2 * MOST + 5)],
            vec![message(1, 2 * MOST + 5..2 * MOST + 6)],
        ];
        assert_eq!(pieces, expected.map(|sends| (sends, Vec::new())));
        assert_eq!(Plan { sends: Vec::new(), ..plan }.pieces().count(), 0);
    }
}
