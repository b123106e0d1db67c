//! Shadow memory: the last accesses to each word.

use std::collections::HashMap;
use std::hash::{BuildHasherDefault, Hasher};
use std::ops::Range;

/// An access to bytes of one word.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Access {
    pub(crate) callers: Callers,
    pub(crate) block: u32,
    /// Number of barriers that the block had passed.
    pub(crate) epoch: u32,
    /// Number of the thread's releases since then.
    pub(crate) part: u32,
    pub(crate) thread: u16,
    pub(crate) kind: Kind,
    /// Mask of the word's bytes.
    mask: u8,
}

/// Return addresses of an access, from the call that announced it outwards, as distances from a
/// place in the program; 0 if unknown.
pub(crate) type Callers = [i32; 3];

/// Kind of access: read or write, plain or atomic.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Kind {
    pub(crate) writes: bool,
    pub(crate) atomicity: Atomicity,
}

/// From the least to the most that goes together with it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Atomicity {
    Plain,
    /// Atomic for the threads of the block.
    Block,
    /// Atomic for all.
    Device,
}

impl Kind {
    pub(crate) fn name(self) -> &'static str {
        match (self.writes, self.atomicity) {
            (false, Atomicity::Plain) => "reads",
            (true, Atomicity::Plain) => "writes",
            (false, Atomicity::Block) => "reads (atomically, in the scope of its block)",
            (true, Atomicity::Block) => "writes (atomically, in the scope of its block)",
            (false, Atomicity::Device) => "reads (atomically)",
            (true, Atomicity::Device) => "writes (atomically)",
        }
    }
}

impl Access {
    pub(crate) fn new(callers: Callers, block: u32, (epoch, part): (u32, u32), thread: u32, kind: Kind) -> Self {
        Access { callers, block, epoch, part, thread: thread as u16, kind, mask: 0 }
    }

    /// Returns true if the two need an order: they share bytes, at least one writes, and they are
    /// not atomic for each other.
    fn conflicts(&self, other: &Access) -> bool {
        let atomic = match self.kind.atomicity.min(other.kind.atomicity) {
            Atomicity::Plain => false,
            Atomicity::Block => self.block == other.block,
            Atomicity::Device => true,
        };
        self.mask & other.mask != 0 && (self.kind.writes || other.kind.writes) && !atomic
    }

    /// Returns true if every later access that conflicts with `earlier` conflicts with this one,
    /// too.
    fn stands_for(&self, earlier: &Access) -> bool {
        self.mask & earlier.mask == earlier.mask
            && self.kind.writes >= earlier.kind.writes
            && self.kind.atomicity <= earlier.kind.atomicity
    }

    fn is_like(&self, other: &Access) -> bool {
        self.kind == other.kind && self.block == other.block
    }
}

/// The bytes of a word are told apart by a mask.
const WORD: usize = 4;

const PAGE: usize = 256;

/// At most this many unordered accesses of a word are kept: reads or atomic operations of many threads, say. Of more,
/// the first ones and the latest are kept, so a race with one of the others is not found.
const KEPT: usize = 8;

type Page = Box<[Vec<Access>; PAGE]>;

/// The last accesses of each word: those that a later one may be in a race with.
#[derive(Default)]
pub(crate) struct Shadow {
    pages: HashMap<usize, Page, BuildHasherDefault<Multiply>>,
}

impl Shadow {
    pub(crate) fn clear(&mut self) {
        self.pages.clear();
    }

    /// The accesses that are kept of these bytes, with addresses.
    pub(crate) fn of(&self, bytes: &Range<usize>) -> impl Iterator<Item = (usize, &Access)> {
        let words = bytes.start / WORD..bytes.end.div_ceil(WORD);
        let pages = (words.start / PAGE..words.end.div_ceil(PAGE)).filter_map(|page| Some((page, self.pages.get(&page)?)));
        let kept = pages.flat_map(|(page, kept)| (PAGE * page..).zip(kept.iter()));
        kept.filter(move |(word, _)| words.contains(word))
            .flat_map(|(word, kept)| kept.iter().map(move |access| (WORD * word + access.mask.trailing_zeros() as usize, access)))
    }

    /// Notes that `access` comes to `bytes`; gives an address and an earlier access there that it is in a race with.
    /// `knows` says whether an access comes before this one.
    pub(crate) fn touch(
        &mut self,
        bytes: Range<usize>,
        access: Access,
        knows: impl Fn(&Access) -> bool,
    ) -> Option<(usize, Access)> {
        let mut at = bytes.start;
        while at < bytes.end {
            let (word, first) = (at / WORD, at % WORD);
            let count = (WORD - first).min(bytes.end - at);
            let access = Access { mask: ((1 << count) - 1) << first, ..access };
            let page = self.pages.entry(word / PAGE).or_insert_with(|| Box::new([const { Vec::new() }; PAGE]));
            if let Some(other) = touch(&mut page[word % PAGE], access, &knows) {
                return Some((at, other));
            }
            at += count;
        }
        None
    }
}

fn touch(word: &mut Vec<Access>, access: Access, knows: impl Fn(&Access) -> bool) -> Option<Access> {
    if let Some(other) = word.iter().find(|other| access.conflicts(other) && !knows(other)) {
        return Some(*other);
    }
    word.retain(|other| !(access.stands_for(other) && knows(other)));
    if word.len() == KEPT {
        let same_warp = |other: &Access| other.thread / 32 == access.thread / 32;
        let last = word.iter().rposition(|other| access.is_like(other) && same_warp(other));
        let last = last.or_else(|| word.iter().rposition(|other| access.is_like(other)));
        word.remove(last.or_else(|| word.iter().rposition(|other| !other.kind.writes)).unwrap_or(0));
    }
    word.push(access);
    None
}

/// A hash for numbers of pages.
#[derive(Default)]
struct Multiply(u64);

impl Hasher for Multiply {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, bytes: &[u8]) {
        bytes.iter().for_each(|&byte| self.write_usize(byte.into()));
    }

    fn write_usize(&mut self, number: usize) {
        self.0 = (self.0.rotate_left(5) ^ number as u64).wrapping_mul(0x9E37_79B9_7F4A_7C15);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const READ: Kind = Kind { writes: false, atomicity: Atomicity::Plain };
    const WRITE: Kind = Kind { writes: true, atomicity: Atomicity::Plain };

    fn access(thread: u32, kind: Kind) -> Access {
        Access::new([0; 3], 0, (0, 0), thread, kind)
    }

    /// Returns the readers that are found to race with a write that comes after all the others, out of `readers` threads
    /// without an order.
    fn found(readers: u32) -> Vec<u32> {
        let race = |&unknown: &u32| {
            let mut shadow = Shadow::default();
            for thread in 0..readers {
                assert!(shadow.touch(0..4, access(thread, READ), |_| false).is_none());
            }
            let other = shadow.touch(0..4, access(100, WRITE), |other| u32::from(other.thread) != unknown);
            other.inspect(|(_, other)| assert_eq!(u32::from(other.thread), unknown)).is_some()
        };
        (0..readers).filter(race).collect()
    }

    #[test]
    fn eight_readers_of_a_word_are_kept() {
        for readers in [1, 7, 8] {
            assert_eq!(found(readers), (0..readers).collect::<Vec<_>>());
        }
        // docs/checking.md says so.
        assert_eq!(found(9), [0, 1, 2, 3, 4, 5, 6, 8]);
        assert_eq!(found(10), [0, 1, 2, 3, 4, 5, 6, 9]);
    }
}
