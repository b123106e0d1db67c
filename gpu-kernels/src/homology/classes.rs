//! Data that the threads of a block share: sets of vertices, and classes with their relations.

use cuda_std::prelude::*;

use super::NONE;

/// Bits per word of a set of vertices.
pub const BITS: u32 = u32::BITS;

/// Bits per word of a vector.
pub const SLOTS: u32 = u64::BITS;

/// Words per set of a cloud's vertices.
#[inline(always)]
pub const fn row(vertices: u32) -> u32 {
    vertices.div_ceil(BITS)
}

/// Sets of vertices, as bits.
#[derive(Clone, Copy)]
pub struct Sets {
    /// All words, set by set.
    pub words: *mut u32,
    /// Words per set.
    pub row: usize,
}

impl Sets {
    /// A word of a set.
    ///
    /// # Safety
    /// The set exists and has the word, which nobody writes meanwhile.
    #[inline(always)]
    pub unsafe fn word(self, set: u32, word: u32) -> u32 {
        // SAFETY: the word is within the set (this function's contract).
        unsafe { *self.words.add(set as usize * self.row + word as usize) }
    }

    /// Returns true if a vertex is in a set.
    ///
    /// # Safety
    /// The set exists, `v` is a vertex, and nobody writes the word meanwhile.
    #[inline(always)]
    pub unsafe fn has(self, set: u32, v: u32) -> bool {
        // SAFETY: the word is within the set (this function's contract).
        unsafe { self.word(set, v / BITS) >> (v % BITS) & 1 != 0 }
    }

    /// Puts a vertex into a set.
    ///
    /// # Safety
    /// The set exists, `v` is a vertex, and nobody accesses the word without atomics meanwhile.
    #[inline(always)]
    pub unsafe fn insert(self, set: u32, v: u32) {
        // SAFETY: the word is within the set (this function's contract).
        unsafe { atomic::block::fetch_or(self.words.add(set as usize * self.row + (v / BITS) as usize), 1 << (v % BITS)) };
    }

    /// Takes a vertex out of a set.
    ///
    /// # Safety
    /// As for [`insert`](Self::insert).
    #[inline(always)]
    pub unsafe fn remove(self, set: u32, v: u32) {
        // SAFETY: the word is within the set (this function's contract).
        unsafe { atomic::block::fetch_and(self.words.add(set as usize * self.row + (v / BITS) as usize), !(1 << (v % BITS))) };
    }
}

/// Numbers in shared memory about classes.
#[derive(Clone, Copy)]
pub struct Numbers {
    /// Number of classes so far.
    pub classes: *mut u32,
    /// Number of classes that are alive.
    pub alive: *mut u32,
    /// Words of vectors in use: up to the last with a class.
    pub used: *mut u32,
    /// First word that may have a free slot.
    pub free: *mut u32,
    /// Number of relations that were found together.
    pub relations: *mut u32,
    /// Number of classes that these have ended.
    pub ended: *mut u32,
    /// The first relation: its edge, and its index.
    pub first: *mut u64,
    /// The youngest class in it, and its slot.
    pub youngest: *mut u64,
}

impl Numbers {
    /// The numbers in this memory.
    ///
    /// # Safety
    /// It is the block's shared memory.
    #[inline(always)]
    pub unsafe fn new(small: SharedArray<u32, 6>, large: SharedArray<u64, 2>) -> Self {
        // SAFETY: there are as many.
        let [classes, alive, used, free, relations, ended] = [0, 1, 2, 3, 4, 5].map(|i| unsafe { small.at(i) });
        // SAFETY: as above.
        let [first, youngest] = [0, 1].map(|i| unsafe { large.at(i) });
        Numbers { classes, alive, used, free, relations, ended, first, youngest }
    }
}

/// Classes of one degree, and relations of them.
#[derive(Clone, Copy)]
pub struct Classes {
    /// Words per vector.
    pub words: usize,
    /// Number of relations that there is memory for.
    pub most: u32,
    /// Slots, the bits of vectors, that have classes. In shared memory unless there are too many.
    slots: *mut u64,
    /// Vectors of relations.
    relations: *mut u64,
    /// Class in each slot.
    class_of: *mut u32,
    /// Each relation's edge as a position, or [`NONE`] if it is trivial.
    edge_of: *mut u32,
    /// Relations that have ended classes, each with its slot.
    ends: *mut u32,
    /// For each class, the position of the edge that starts it.
    born: *mut u32,
    /// For each class, the position of the edge that ends it, or [`NONE`].
    died: *mut u32,
    /// Their numbers.
    pub numbers: Numbers,
}

/// Words of slots in shared memory.
pub const SHARED_SLOTS: usize = 128;

/// Number of 64-bit words that classes take.
pub const fn work(words: u32, relations: u32) -> u64 {
    let (words, relations) = (words as u64, relations as u64);
    words + relations * words + (words * SLOTS as u64 + 3 * relations).div_ceil(2)
}

impl Classes {
    /// Classes in this memory, of [`work`] words.
    ///
    /// # Safety
    /// There is the memory, and room for the positions of all classes.
    #[inline(always)]
    pub unsafe fn new(
        memory: *mut u64,
        (words, most): (u32, u32),
        [born, died]: [*mut u32; 2],
        numbers: Numbers,
        slots: SharedArray<u64, SHARED_SLOTS>,
    ) -> Self {
        let (size, count) = (words as usize, most as usize);
        // SAFETY: all parts are within the memory (this function's contract).
        unsafe {
            let relations = memory.add(size);
            let class_of = relations.add(count * size).cast::<u32>();
            let edge_of = class_of.add(size * SLOTS as usize);
            let ends = edge_of.add(count);
            let slots = if size <= SHARED_SLOTS { slots.as_mut_ptr() } else { memory };
            Classes { words: size, most, slots, relations, class_of, edge_of, ends, born, died, numbers }
        }
    }

    /// Starts without any: one thread.
    ///
    /// # Safety
    /// Nobody else accesses the memory.
    #[inline(always)]
    pub unsafe fn clear(self) {
        // SAFETY: there is memory of all slots.
        unsafe {
            for word in 0..self.words {
                self.slots.add(word).write(0);
            }
            let Numbers { classes, alive, used, free, .. } = self.numbers;
            for number in [classes, alive, used, free] {
                number.write(0);
            }
        }
    }

    /// Starts a class at a position: one thread. Writes its vector, which was 0, and returns true; false if all slots are
    /// taken.
    ///
    /// # Safety
    /// Nobody else accesses the memory, there is room for one class more, and `vector` has the words of one.
    #[inline(always)]
    pub unsafe fn start(self, position: u32, vector: *mut u64) -> bool {
        let Numbers { classes, alive, used, free, .. } = self.numbers;
        // SAFETY: words are below the number of words, slots below 64 per word.
        unsafe {
            let mut word = *free as usize;
            while word < self.words && *self.slots.add(word) == u64::MAX {
                word += 1;
            }
            free.write(word as u32);
            if word == self.words {
                return false;
            }
            let slot = (*self.slots.add(word)).trailing_ones();
            *self.slots.add(word) |= 1 << slot;
            let class = *classes;
            self.class_of.add(word * SLOTS as usize + slot as usize).write(class);
            self.born.add(class as usize).write(position);
            self.died.add(class as usize).write(NONE);
            *classes += 1;
            *alive += 1;
            *used = (*used).max(word as u32 + 1);
            vector.add(word).write(1 << slot);
        }
        true
    }

    /// Prepares for relations: one thread.
    ///
    /// # Safety
    /// Nobody else accesses the numbers.
    #[inline(always)]
    pub unsafe fn begin(self) {
        let Numbers { relations, ended, first, youngest, .. } = self.numbers;
        // SAFETY: they are numbers in shared memory.
        unsafe {
            relations.write(0);
            ended.write(0);
            first.write(u64::MAX);
            youngest.write(0);
        }
    }

    /// Adds a relation of an edge. If there is no memory for it, it is counted only.
    ///
    /// # Safety
    /// Relations are added by this function only, until the next barrier.
    #[inline(always)]
    pub unsafe fn add(self, position: u32, used: usize, word: impl Fn(usize) -> u64) {
        // SAFETY: there is memory for so many relations.
        unsafe {
            let relation = atomic::block::fetch_add(self.numbers.relations, 1);
            if relation < self.most {
                self.edge_of.add(relation as usize).write(position);
                let to = self.relations.add(relation as usize * self.words);
                for k in 0..used {
                    to.add(k).write(word(k));
                }
            }
        }
    }

    /// Eliminates `count` relations by ascending edge: each ends the youngest class in it, which is then replaced in the
    /// others.
    ///
    /// # Safety
    /// There are so many, after [`begin`](Self::begin) and a barrier, and all threads of the block come here together.
    #[inline(always)]
    pub unsafe fn eliminate(self, count: u32) {
        let (lane, lanes) = (thread::thread_idx_x() as usize, thread::block_dim_x() as usize);
        let Numbers { alive, used, free, ended, first, youngest, .. } = self.numbers;
        let relation = |r: usize| {
            // SAFETY: there is memory for each relation.
            unsafe { self.relations.add(r * self.words) }
        };
        // SAFETY: relations are below `count`, slots below 64 per word (this function's contract). Each relation is accessed
        // by one thread but the one that ends a class, whose vector is only read; what threads share is accessed by one of
        // them, or by atomics, or read only, between two barriers.
        unsafe {
            let used = *used as usize;
            loop {
                for r in thread::strided(lane..count as usize, lanes) {
                    let edge = *self.edge_of.add(r);
                    if edge != NONE {
                        atomic::block::fetch_min(first, u64::from(edge) << 32 | r as u64);
                    }
                }
                thread::sync_threads();
                let least = *first;
                if least == u64::MAX {
                    break;
                }
                let by = least as u32 as usize;
                for k in thread::strided(lane..used, lanes) {
                    let mut bits = *relation(by).add(k);
                    while bits != 0 {
                        let slot = k as u32 * SLOTS + bits.trailing_zeros();
                        bits &= bits - 1;
                        let class = *self.class_of.add(slot as usize);
                        atomic::block::fetch_max(youngest, u64::from(class) << 32 | u64::from(slot));
                    }
                }
                thread::sync_threads();
                let (class, slot) = ((*youngest >> 32) as u32, *youngest as u32);
                for r in thread::strided(lane..count as usize, lanes) {
                    let edge = self.edge_of.add(r);
                    if r == by || (*edge != NONE && has(relation(r), slot) && !add(relation(r), relation(by), used)) {
                        edge.write(NONE);
                    }
                }
                if lane == 0 {
                    let word = slot / SLOTS;
                    self.died.add(class as usize).write((least >> 32) as u32);
                    *self.slots.add(word as usize) &= !(1 << (slot % SLOTS));
                    *free = (*free).min(word);
                    self.ends.add(2 * *ended as usize).write(by as u32);
                    self.ends.add(2 * *ended as usize + 1).write(slot);
                    *ended += 1;
                    *alive -= 1;
                    first.write(u64::MAX);
                }
                thread::sync_threads();
                if lane == 0 {
                    youngest.write(0);
                }
            }
        }
    }

    /// Applies eliminations to a vector. Returns true if it isn't 0 afterwards.
    ///
    /// # Safety
    /// The vector, not 0, has so many words in use and is accessed by this thread only; relations aren't written.
    #[inline(always)]
    pub unsafe fn apply(self, vector: *mut u64, used: usize) -> bool {
        let mut any = true;
        // SAFETY: the eliminations exist, and their relations have the words in use.
        unsafe {
            if (0..used).all(|k| *vector.add(k) & !*self.slots.add(k) == 0) {
                return true;
            }
            for end in 0..*self.numbers.ended as usize {
                if has(vector, *self.ends.add(2 * end + 1)) {
                    let relation = *self.ends.add(2 * end) as usize;
                    any = add(vector, self.relations.add(relation * self.words), used);
                }
            }
        }
        any
    }

    /// Counts the words in use anew, after vectors have lost the classes that ended: one thread.
    ///
    /// # Safety
    /// Nobody else accesses the slots and the number.
    #[inline(always)]
    pub unsafe fn shrink(self) {
        // SAFETY: no more than all words are in use.
        unsafe {
            let mut used = *self.numbers.used;
            while used > 0 && *self.slots.add(used as usize - 1) == 0 {
                used -= 1;
            }
            self.numbers.used.write(used);
        }
    }
}

/// A word of a vector, or 0.
///
/// # Safety
/// If it `exists`, the vector has the word.
#[inline(always)]
pub unsafe fn word(exists: bool, vector: *const u64, index: usize) -> u64 {
    // SAFETY: the word exists.
    if exists { unsafe { *vector.add(index) } } else { 0 }
}

/// Returns true if a vector has a slot's bit.
///
/// # Safety
/// The vector has the bit's word.
#[inline(always)]
unsafe fn has(vector: *const u64, slot: u32) -> bool {
    // SAFETY: the word exists.
    unsafe { *vector.add((slot / SLOTS) as usize) >> (slot % SLOTS) & 1 != 0 }
}

/// Adds a vector to another one. Returns true if the sum isn't 0.
///
/// # Safety
/// Both have so many words, and nobody else accesses the first or writes the second.
#[inline(always)]
unsafe fn add(to: *mut u64, vector: *const u64, words: usize) -> bool {
    let mut any = false;
    for k in 0..words {
        // SAFETY: both have the word.
        unsafe {
            let sum = *to.add(k) ^ *vector.add(k);
            to.add(k).write(sum);
            any |= sum != 0;
        }
    }
    any
}

/// The root of a vertex's component.
///
/// # Safety
/// Parents are vertices, and one thread alone accesses them.
#[inline(always)]
pub unsafe fn root(parents: *mut u32, mut vertex: u32) -> u32 {
    // SAFETY: parents are vertices.
    unsafe {
        loop {
            let parent = *parents.add(vertex as usize);
            if parent == vertex {
                return vertex;
            }
            let next = *parents.add(parent as usize);
            *parents.add(vertex as usize) = next;
            vertex = next;
        }
    }
}
