//! Finds the sum before a tile of a scan in one pass over the data: tiles exchange their sums
//! through global memory.
//!
//! Blocks take their tiles from a ticket counter, so that all earlier tiles are held by blocks that
//! have started. A GPU never takes a block off before it ends, so waiting for an earlier tile ends.
//!
//! # Protocol
//! A tile's sums stand in *state words* of 64 bits. A word's upper half is a tag, the scan's *epoch* and what the value
//! is; its lower half is the value. Both are stored and loaded by one relaxed atomic, so a reader that sees the tag has
//! the value with it and no fence is needed: nothing else is handed over. A 64-bit value takes two words, each with the
//! tag and half of the value. A reader takes the value if both tags are the same, since a tile stores each kind of
//! value at most once in an epoch.
//!
//! Words of another epoch count as empty. So nothing has to be reset between scans over the same
//! state: the host counts epochs, and clears the words only before it begins again at epoch 1. The
//! block that draws the last ticket resets the ticket counter.
//!
//! # Two ways to look back
//! [`Decoupled`] is Merrill and Garland's: a tile publishes its own sum, walks back over its
//! predecessors 32 at a time by one warp, adding their sums until it meets one that already knows
//! the sum of everything up to and with itself, and then publishes that of its own. The tile at
//! which it meets that prefix depends on timing, and so does the grouping of the sums: this is
//! right for integers, but floats would differ from run to run.
//!
//! [`Hierarchical`] groups by the tiles' numbers alone: 32 tiles are a group, 32 groups are a group
//! of the next level, and so on. The last tile of a group publishes the group's sum once it has
//! seen the others'. Before a tile there are fewer than 32 groups at each level. No tile waits for
//! a chain of others, only for its group at each level, so floats are the same bits each time, at
//! about the same speed.

use super::{
    Identity,
    warp::{self, Lanes, Shuffle},
};
use cuda_std::{
    atomic, thread,
    warp::{FULL_MASK, WARP_SIZE, ballot, lane_id},
};

/// The greatest epoch. The host clears the state words before it begins again at 1.
pub const MAX_EPOCH: u32 = (1 << 30) - 1;

/// The kinds of a value, in a tag's low bits. A tag is never zero, as cleared words are.
const OWN: u32 = 0;
/// The sum up to and with the tile.
const UP_TO: u32 = 1;

/// A value that fits in state words: `u32`, `f32` in one, `u64`, `f64` in two.
pub trait StateValue: Shuffle {
    /// Number of words.
    const WORDS: usize;
    /// The value's bits.
    fn to_bits(self) -> u64;
    /// The value of the bits.
    fn from_bits(bits: u64) -> Self;
}

macro_rules! state_values {
    ($($t:ty: $words:literal, |$value:ident| $to:expr, |$bits:ident| $from:expr;)*) => {$(
        impl StateValue for $t {
            const WORDS: usize = $words;
            #[inline(always)]
            fn to_bits(self) -> u64 {
                let $value = self;
                $to
            }
            #[inline(always)]
            fn from_bits($bits: u64) -> Self {
                $from
            }
        }
    )*};
}
state_values! {
    u32: 1, |v| v.into(), |b| b as u32;
    u64: 2, |v| v, |b| b;
    f32: 1, |v| v.to_bits().into(), |b| f32::from_bits(b as u32);
    f64: 2, |v| v.to_bits(), |b| f64::from_bits(b);
}

/// Returns the number of state words of a scan over `tiles` tiles, for any type and any way to look
/// back. Linear: about 2.07 per tile.
pub const fn state_words(tiles: usize) -> usize {
    let mut groups = tiles;
    let mut words = 2 * groups;
    while groups > 1 {
        groups = groups.div_ceil(WARP_SIZE as usize);
        words += 2 * groups;
    }
    words
}

/// The state words of one scan.
#[derive(Debug, Clone, Copy)]
pub struct State {
    words: *mut u64,
    epoch: u32,
}

impl State {
    /// The state of a scan.
    ///
    /// # Safety
    /// `words` points to [`state_words`] of the scan's tiles in global memory, which hold zeros or the words of scans
    /// that are done, of other epochs (1 to [`MAX_EPOCH`]), and which nothing but this scan accesses until it is done.
    #[inline(always)]
    pub const unsafe fn new(words: *mut u64, epoch: u32) -> Self {
        State { words, epoch }
    }

    #[inline(always)]
    const fn tag(self, kind: u32) -> u32 {
        self.epoch << 2 | kind
    }

    /// Publishes a value at `index`.
    ///
    /// # Safety
    /// The index is below the number of tiles, or of all levels' groups; one thread does it once for each kind.
    #[inline(always)]
    unsafe fn publish<T: StateValue>(self, index: usize, kind: u32, value: T) {
        let tag = u64::from(self.tag(kind)) << 32;
        let bits = value.to_bits();
        // SAFETY: within the words, which are accessed by atomics alone.
        unsafe {
            let word = self.words.add(index * T::WORDS);
            atomic::device::store(word, tag | (bits & u64::from(u32::MAX)));
            if T::WORDS == 2 {
                atomic::device::store(word.add(1), tag | bits >> 32);
            }
        }
    }

    /// The tag and the value at `index`. The tag is zero where there is nothing yet.
    ///
    /// # Safety
    /// The index is below the number of tiles, or of all levels' groups.
    #[inline(always)]
    unsafe fn look<T: StateValue>(self, index: usize) -> (u32, T) {
        // SAFETY: within the words, which are accessed by atomics alone.
        let (low, high) = unsafe {
            let word = self.words.add(index * T::WORDS);
            let low = atomic::device::load(word);
            (low, if T::WORDS == 2 { atomic::device::load(word.add(1)) } else { 0 })
        };
        let tag = (low >> 32) as u32;
        let whole = T::WORDS == 1 || tag == (high >> 32) as u32;
        let bits = if T::WORDS == 2 { high << 32 | (low & u64::from(u32::MAX)) } else { low };
        (if whole && tag >> 2 == self.epoch { tag } else { 0 }, T::from_bits(bits))
    }
}

/// A pause between two looks, longer each time up to a quarter of a microsecond.
struct Pause {
    ns: u32,
}

impl Pause {
    #[inline(always)]
    const fn new() -> Self {
        Pause { ns: 16 }
    }

    #[inline(always)]
    fn wait(&mut self) {
        thread::nanosleep(self.ns);
        self.ns = (self.ns * 2).min(256);
    }
}

/// A way to find what lies before a tile.
pub trait LookBack<T: StateValue> {
    /// Publishes the tile's sum, `aggregate`, and gives that of all tiles before it: the identity for tile 0.
    ///
    /// # Safety
    /// Called once for each tile below `tiles`, by all 32 lanes of one warp with the same arguments, in a block that
    /// took the tile from a ticket counter.
    unsafe fn exclusive_prefix<O: Identity<T>>(state: State, tile: usize, tiles: usize, aggregate: T, op: O) -> T;
}

/// Decoupled look-back. For operators that are associative exactly.
#[derive(Debug, Clone, Copy)]
pub struct Decoupled;

impl<T: StateValue> LookBack<T> for Decoupled {
    #[inline(always)]
    unsafe fn exclusive_prefix<O: Identity<T>>(state: State, tile: usize, _tiles: usize, aggregate: T, op: O) -> T {
        let lane = lane_id();
        if tile == 0 {
            if lane == 0 {
                // SAFETY: tile 0 exists; only the first lane of the tile's warp publishes here, once.
                unsafe { state.publish(0, UP_TO, aggregate) };
            }
            return op.identity();
        }
        if lane == 0 {
            // SAFETY: the tile exists; only the first lane of its warp publishes its own sum, once.
            unsafe { state.publish(tile, OWN, aggregate) };
        }

        let mut prefix = op.identity();
        // The window is the 32 tiles before this one; the nearest is lane 31's.
        let mut end = tile;
        loop {
            let own = (end + lane as usize).checked_sub(WARP_SIZE as usize);
            let mut pause = Pause::new();
            let (value, nearest) = loop {
                let (tag, value) = match own {
                    // SAFETY: `index` is that of an earlier tile.
                    Some(index) => unsafe { state.look::<T>(index) },
                    // Before the first tile.
                    None => (state.tag(UP_TO), op.identity()),
                };
                let known = ballot(FULL_MASK, tag != 0);
                let up_to = ballot(FULL_MASK, tag == state.tag(UP_TO));
                // Tiles from the nearest that knows everything before it are all that matter; or all, where none does.
                let nearest = if up_to == 0 { 0 } else { 31 - up_to.leading_zeros() };
                let wanted = FULL_MASK << nearest;
                if known & wanted == wanted {
                    break (if lane >= nearest { value } else { op.identity() }, up_to);
                }
                pause.wait();
            };
            prefix = op.apply(warp::reduce(Lanes::FULL, value, op), prefix);
            if nearest != 0 {
                break;
            }
            end -= WARP_SIZE as usize;
        }
        if lane == 0 {
            // SAFETY: the tile exists; only the first lane of its warp publishes the sum up to it, once.
            unsafe { state.publish(tile, UP_TO, op.apply(prefix, aggregate)) };
        }
        prefix
    }
}

/// Look-back over groups of 32 tiles, groups of 32 groups, ...: the same bits each time.
#[derive(Debug, Clone, Copy)]
pub struct Hierarchical;

impl<T: StateValue> LookBack<T> for Hierarchical {
    #[inline(always)]
    unsafe fn exclusive_prefix<O: Identity<T>>(state: State, tile: usize, tiles: usize, aggregate: T, op: O) -> T {
        let lane = lane_id();
        let mut prefix = op.identity();
        let mut has_prefix = false;
        // The tile's group at this level; the number of groups there; where their words begin.
        let (mut group, mut groups, mut first) = (tile, tiles, 0);
        // The sum of the group, which is this tile's to publish as long as it is the last of it.
        let mut of_group = aggregate;
        let mut is_last = true;
        while group != 0 || is_last {
            if is_last && lane == 0 {
                // SAFETY: within the words; one tile is the last of each group.
                unsafe { state.publish(first + group, OWN, of_group) };
            }
            let before = (group % WARP_SIZE as usize) as u32;
            if before > 0 {
                let mut pause = Pause::new();
                let value = loop {
                    let (tag, value) = if lane < before {
                        // SAFETY: within the words: an earlier group.
                        unsafe { state.look::<T>(first + group - before as usize + lane as usize) }
                    } else {
                        (state.tag(OWN), op.identity())
                    };
                    if cuda_std::warp::all(FULL_MASK, tag != 0) {
                        break value;
                    }
                    pause.wait();
                };
                let of_before = warp::reduce(Lanes::FULL, value, op);
                prefix = if has_prefix { op.apply(of_before, prefix) } else { of_before };
                has_prefix = true;
                of_group = op.apply(of_before, of_group);
            }
            is_last &= before == WARP_SIZE - 1;
            first += groups;
            groups = groups.div_ceil(WARP_SIZE as usize);
            group /= WARP_SIZE as usize;
        }
        prefix
    }
}
