//! Reduction: annotations of edges, in the order of the filtration.
//!
//! A block takes a cloud, and in each step as many edges as it has threads.
//! 1. One thread goes through those with empty lunes, which merge components or start classes.
//! 2. The others get their vectors, each as soon as the edges of its triangle have theirs.
//! 3. All find relations of their edges' lunes.
//! 4. Relations are eliminated by ascending edge, and what they say of the classes that end is applied to all vectors.
//!
//! If there are too many relations for the memory of a cloud, the first half of the edges is dealt with before the rest.

use cuda_std::prelude::*;

use super::{Cloud, Found, Link, NONE, Scalar, number, precedes};

/// Bits per word of a set of vertices.
pub const BITS: u32 = u32::BITS;

/// Bits per word of a vector.
const CLASSES: u32 = u64::BITS;

/// Memory of all clouds.
#[derive(Clone, Copy, Debug, KernelParam)]
pub struct Space {
    /// [`Cloud::words`] words for each edge, 0 at first.
    pub vectors: *mut u64,
    /// [`work`] words for each cloud.
    pub work: *mut u64,
    /// For each vertex, the position of the edge of a merge.
    pub merged: *mut u32,
    /// For each class, the position of the edge that starts it.
    pub born: *mut u32,
    /// For each class, the position of the edge that ends it, or [`NONE`].
    pub died: *mut u32,
}

/// Words per set of a cloud's vertices.
#[inline(always)]
pub const fn row(vertices: u32) -> u32 {
    vertices.div_ceil(BITS)
}

/// Number of 64-bit words of [`Space::work`] for a cloud: the slots in use, the relations, the classes of slots, the edges
/// and the eliminations of relations, the parents of vertices, and rows of bits.
pub const fn work(vertices: u32, words: u32, relations: u32) -> u64 {
    let (n, words, relations) = (vertices as u64, words as u64, relations as u64);
    let numbers = words * CLASSES as u64 + 3 * relations + n + (3 * n + 1) * row(vertices) as u64;
    words + relations * words + numbers.div_ceil(2)
}

/// The memory of one cloud.
#[derive(Clone, Copy)]
struct Memory {
    /// Vectors by the number of edges.
    vectors: *mut u64,
    /// Words per vector.
    words: usize,
    /// Slots, the bits of vectors, that have classes.
    slots: *mut u64,
    /// Vectors of relations.
    relations: *mut u64,
    /// Class in each slot.
    class_of: *mut u32,
    /// Each relation's edge as a position, or [`NONE`] if it is trivial.
    edge_of: *mut u32,
    /// Relations that have ended classes, each with its slot.
    ends: *mut u32,
    /// Parent of each vertex in its component, in shared memory if the launch has enough.
    parents: *mut u32,
    /// For each vertex, those that it has an edge to, of earlier steps.
    earlier: *mut u32,
    /// For each vertex, those that it has an edge to.
    adjacent: *mut u32,
    /// For each vertex, those to which it has an edge whose vector isn't 0; then the set of vertices that have any.
    nonzero: *mut u32,
    /// Words per set of vertices.
    row: usize,
}

impl Memory {
    /// # Safety
    /// There is [`work`] memory for the cloud.
    #[inline(always)]
    unsafe fn new(cloud: &Cloud, space: Space) -> Self {
        let (n, words, relations) = (cloud.vertices as usize, cloud.words as usize, cloud.relations as usize);
        let row = row(cloud.vertices) as usize;
        // SAFETY: all parts are within the cloud's memory (this function's contract).
        unsafe {
            let slots = space.work.add(cloud.work as usize);
            let relation = slots.add(words);
            let class_of = relation.add(relations * words).cast::<u32>();
            let edge_of = class_of.add(words * CLASSES as usize);
            let ends = edge_of.add(relations);
            let mut parents = ends.add(2 * relations);
            let earlier = parents.add(n);
            if dynamic_shared_size() >= n * size_of::<u32>() {
                parents = dynamic_shared();
            }
            let adjacent = earlier.add(n * row);
            let nonzero = adjacent.add(n * row);
            let vectors = space.vectors.add(cloud.vectors as usize);
            Memory {
                vectors,
                words,
                slots,
                relations: relation,
                class_of,
                edge_of,
                ends,
                parents,
                earlier,
                adjacent,
                nonzero,
                row,
            }
        }
    }

    /// The vector of an edge.
    ///
    /// # Safety
    /// Both are vertices.
    #[inline(always)]
    unsafe fn vector(self, u: u32, v: u32) -> *mut u64 {
        // SAFETY: there is a vector for each edge.
        unsafe { self.vectors.add(number(u, v) as usize * self.words) }
    }

    /// The set of vertices that have an edge whose vector isn't 0.
    ///
    /// # Safety
    /// `vertices` is the number of vertices.
    #[inline(always)]
    unsafe fn touched(self, vertices: u32) -> *mut u32 {
        // SAFETY: it follows the rows of the vertices.
        unsafe { self.nonzero.add(vertices as usize * self.row) }
    }

    /// Returns true if `v` is in set `u`.
    ///
    /// # Safety
    /// `sets` has set `u`, and `v` is a vertex.
    #[inline(always)]
    unsafe fn has(self, sets: *mut u32, u: u32, v: u32) -> bool {
        // SAFETY: the word is within the set.
        unsafe { *sets.add(u as usize * self.row + (v / BITS) as usize) >> (v % BITS) & 1 != 0 }
    }

    /// Puts `v` into set `u`.
    ///
    /// # Safety
    /// As for [`has`](Self::has), and nobody reads the word without atomics meanwhile.
    #[inline(always)]
    unsafe fn insert(self, sets: *mut u32, u: u32, v: u32) {
        // SAFETY: the word is within the set.
        unsafe { atomic::block::fetch_or(sets.add(u as usize * self.row + (v / BITS) as usize), 1 << (v % BITS)) };
    }

    /// Takes `v` out of set `u`.
    ///
    /// # Safety
    /// As for [`insert`](Self::insert).
    #[inline(always)]
    unsafe fn remove(self, sets: *mut u32, u: u32, v: u32) {
        // SAFETY: the word is within the set.
        unsafe { atomic::block::fetch_and(sets.add(u as usize * self.row + (v / BITS) as usize), !(1 << (v % BITS))) };
    }

    /// Notes that the vector of `uv` isn't 0.
    ///
    /// # Safety
    /// As for [`insert`](Self::insert), for the sets of both, and for the set of touched vertices.
    #[inline(always)]
    unsafe fn touch(self, vertices: u32, u: u32, v: u32) {
        // SAFETY: both are vertices.
        unsafe {
            self.insert(self.nonzero, u, v);
            self.insert(self.nonzero, v, u);
            self.insert(self.nonzero, vertices, u);
            self.insert(self.nonzero, vertices, v);
        }
    }

    /// The root of a vertex's component.
    ///
    /// # Safety
    /// Parents are vertices, and one thread alone accesses them.
    #[inline(always)]
    unsafe fn root(self, mut vertex: u32) -> u32 {
        // SAFETY: parents are vertices.
        unsafe {
            loop {
                let parent = *self.parents.add(vertex as usize);
                if parent == vertex {
                    return vertex;
                }
                let next = *self.parents.add(parent as usize);
                *self.parents.add(vertex as usize) = next;
                vertex = next;
            }
        }
    }
}

/// Bars' edges of each cloud's degrees 0 and 1: positions go to `space`, their numbers to `found`. A block per cloud.
///
/// # Safety
/// The links are those of these clouds with their distances and findings; each cloud has words for as many classes as are
/// alive at once, at most the edges with empty lunes, or no words, and no classes are found; `space` has what its fields say.
#[kernel(for T in [f32, f64], max_threads = 1024)]
pub unsafe fn reduce<T: Scalar>(clouds: &[Cloud], distances: &[T], links: &[Link], found: *mut Found, space: Space) {
    let index = thread::block_idx_x() as usize;
    let cloud = &clouds[index];
    let n = cloud.vertices;
    let (lane, lanes) = (thread::thread_idx_x(), thread::block_dim_x());
    // Positions of edges with empty lunes among those of a step, as bits.
    let empty = shared_array![u32; 32];
    // Edges of a step, and those whose lunes are looked at.
    let links_of_step = shared_array![Link; 1024];
    let looked_at = shared_array![u32; 1024];
    // Number of these; relations found; words of vectors in use; classes alive; eliminations; first word with a free slot.
    let shared = shared_array![u32; 6];
    let [listed, relations, used, alive, ended, free] = [0, 1, 2, 3, 4, 5].map(|i| {
        // SAFETY: there are as many.
        unsafe { shared.at(i) }
    });
    // The first relation: its edge, and its index. The youngest class in it, and its slot.
    let of_relation = shared_array![u64; 2];
    // SAFETY: links are of edges, vertices are below the number of vertices, slots below 64 per word (this kernel's
    // contract). What threads share is accessed by one of them, or by atomics, or read only, between two barriers.
    unsafe {
        let memory = Memory::new(cloud, space);
        let found = found.add(index);
        let Found { within, last, .. } = *found;
        let (first, youngest) = (of_relation.at(0), of_relation.at(1));
        for i in (lane..n).step_by(lanes as usize) {
            memory.parents.add(i as usize).write(i);
        }
        for i in (lane as usize..(3 * n as usize + 1) * memory.row).step_by(lanes as usize) {
            memory.earlier.add(i).write(0);
        }
        if lane == 0 {
            for i in 0..memory.words {
                memory.slots.add(i).write(0);
            }
            used.write(0);
            alive.write(0);
            free.write(0);
            (*found).merges = 0;
            (*found).classes = 0;
            for i in 0..32 {
                empty.write(i, 0);
            }
        }
        thread::sync_threads();

        let touched = memory.touched(n);
        // Threads that look at a lune together: one for each word of a set, as far as a warp goes.
        let group = if lanes < 32 { 1 } else { row(n).next_power_of_two().min(32) };
        let mut from = 0;
        let mut link = Link(0);
        while from < within {
            if from >= last && *alive == 0 {
                break;
            }
            let (u, v) = link.ends();
            if u != v {
                memory.insert(memory.earlier, u, v);
                memory.insert(memory.earlier, v, u);
            }
            let position = from + lane;
            let exists = position < within;
            link = if exists { *links.get_unchecked((cloud.edge + position) as usize) } else { Link(0) };
            links_of_step.write(lane as usize, link);
            let (u, v) = link.ends();
            let witness = if exists { link.witness() } else { None };
            if exists && witness.is_none() {
                atomic::block::fetch_or(empty.at((lane / 32) as usize), 1 << (lane % 32));
            }
            thread::sync_threads();
            if lane == 0 {
                enter(cloud, memory, space, links_of_step, found, from, empty, [used, alive, free]);
            }
            thread::sync_threads();

            // Vectors, from those of the triangle's other edges.
            let mut waits = witness.is_some();
            loop {
                let w = witness.unwrap_or(0);
                let ready = waits && memory.has(memory.adjacent, u, w) && memory.has(memory.adjacent, v, w);
                let mut any = false;
                if ready {
                    let (one, other) = (memory.has(memory.nonzero, u, w), memory.has(memory.nonzero, v, w));
                    if one || other {
                        let (to, one_of, other_of) = (memory.vector(u, v), memory.vector(u, w), memory.vector(v, w));
                        for i in 0..*used as usize {
                            let bits = word(one, one_of, i) ^ word(other, other_of, i);
                            to.add(i).write(bits);
                            any |= bits != 0;
                        }
                    }
                    waits = false;
                }
                thread::sync_threads();
                if ready {
                    memory.insert(memory.adjacent, u, v);
                    memory.insert(memory.adjacent, v, u);
                    if any {
                        memory.touch(n, u, v);
                    }
                }
                if !thread::sync_threads_or(waits) {
                    break;
                }
            }

            // Relations of the edges low..high of this step.
            let (mut low, mut high) = (0, lanes);
            while low < lanes {
                if lane == 0 {
                    listed.write(0);
                    relations.write(0);
                    ended.write(0);
                    first.write(u64::MAX);
                    youngest.write(0);
                }
                thread::sync_threads();
                let in_range = witness.is_some() && lane >= low && lane < high;
                if in_range && (memory.has(touched, 0, u) || memory.has(touched, 0, v)) {
                    looked_at.write(atomic::block::fetch_add(listed, 1) as usize, lane);
                }
                thread::sync_threads();
                for i in (lane / group..*listed).step_by((lanes / group) as usize) {
                    let edge = looked_at.read(i as usize);
                    let link = links_of_step.read(edge as usize);
                    let part = (lane % group, group);
                    find(cloud, memory, distances, link, from + edge, *used as usize, relations, part);
                }
                thread::sync_threads();
                let count = *relations;
                let all = count <= cloud.relations;
                if !all && high - low > 1 {
                    high = low + (high - low) / 2;
                    thread::sync_threads();
                    continue;
                }
                if count > 0 {
                    let count = count.min(cloud.relations);
                    eliminate(memory, space, cloud, count, [ended, alive, free], [first, youngest], *used as usize);
                    apply(memory, n, *ended, *used as usize);
                    if lane == 0 {
                        used.write(in_use(memory, *used));
                    }
                }
                thread::sync_threads();
                // Of one edge's relations, those left are found again: they all enter at the same time.
                if all {
                    (low, high) = (high, lanes);
                }
            }
            from += lanes;
        }
    }
}

/// A word of a vector, or 0.
///
/// # Safety
/// If it `exists`, the vector has the word.
#[inline(always)]
unsafe fn word(exists: bool, vector: *const u64, index: usize) -> u64 {
    // SAFETY: the word exists.
    if exists { unsafe { *vector.add(index) } } else { 0 }
}

/// Lets edges with empty lunes enter, in order: one thread.
///
/// # Safety
/// `empty` has the bits of such edges among the `links` of a step, which has the positions from `from` on; no other thread
/// accesses the cloud's memory.
#[inline(always)]
unsafe fn enter(
    cloud: &Cloud,
    memory: Memory,
    space: Space,
    links: SharedArray<Link, 1024>,
    found: *mut Found,
    from: u32,
    empty: SharedArray<u32, 32>,
    [used, alive, free]: [*mut u32; 3],
) {
    // SAFETY: there are slots for all classes (this function's contract).
    unsafe {
        let Found { mut merges, mut classes, .. } = *found;
        for i in 0..thread::block_dim_x().div_ceil(32) {
            let mut bits = empty.read(i as usize);
            if bits == 0 {
                continue;
            }
            empty.write(i as usize, 0);
            while bits != 0 {
                let place = 32 * i + bits.trailing_zeros();
                bits &= bits - 1;
                let (u, v) = links.read(place as usize).ends();
                memory.insert(memory.adjacent, u, v);
                memory.insert(memory.adjacent, v, u);
                let (a, b) = (memory.root(u), memory.root(v));
                if a != b {
                    memory.parents.add(a.max(b) as usize).write(a.min(b));
                    space.merged.add((cloud.vertex + merges) as usize).write(from + place);
                    merges += 1;
                    continue;
                }
                if memory.words == 0 {
                    continue;
                }
                let at = (cloud.class + classes) as usize;
                space.born.add(at).write(from + place);
                space.died.add(at).write(NONE);
                let mut word = *free as usize;
                while *memory.slots.add(word) == u64::MAX {
                    word += 1;
                }
                free.write(word as u32);
                let bit = (*memory.slots.add(word)).trailing_ones();
                *memory.slots.add(word) |= 1 << bit;
                memory.class_of.add(word * CLASSES as usize + bit as usize).write(classes);
                *used = (*used).max(word as u32 + 1);
                memory.vector(u, v).add(word).write(1 << bit);
                memory.touch(cloud.vertices, u, v);
                classes += 1;
                *alive += 1;
            }
        }
        (*found).merges = merges;
        (*found).classes = classes;
    }
}

/// Finds relations of an edge's lune, and counts them. `part` is the first word of sets to look at, and the stride.
///
/// Two vertices of the lune with an edge between them give the same relation, because they form a tetrahedron. So those
/// with an edge to the witness, whose relation is trivial, are left out.
///
/// # Safety
/// The edge has a witness and has entered, with all that come before it; nobody writes vectors or sets meanwhile.
#[inline(always)]
unsafe fn find<T: Scalar>(
    cloud: &Cloud,
    memory: Memory,
    distances: &[T],
    link: Link,
    position: u32,
    used: usize,
    count: *mut u32,
    part: (u32, u32),
) {
    let (u, v) = link.ends();
    let witness = link.witness().unwrap_or(u);
    // SAFETY: all are vertices of the cloud (this function's contract), and there is room for its relations.
    unsafe {
        let of_edge = memory.has(memory.nonzero, u, v);
        let (vector, edge) = (memory.vector(u, v), (*distances.get_unchecked(cloud.distance(u, v)), number(u, v)));
        for i in (part.0..memory.row as u32).step_by(part.1 as usize) {
            let at = |sets: *mut u32, u: u32| *sets.add(u as usize * memory.row + i as usize);
            let (one, other) = (at(memory.nonzero, u), at(memory.nonzero, v));
            let mut bits = if of_edge { u32::MAX } else { one | other };
            if bits != 0 {
                bits &= at(memory.adjacent, u) & at(memory.adjacent, v) & !at(memory.earlier, witness);
            }
            while bits != 0 {
                let bit = bits.trailing_zeros();
                bits &= bits - 1;
                let w = i * BITS + bit;
                let (one, other) = (one >> bit & 1 != 0, other >> bit & 1 != 0);
                let (one_of, other_of) = (memory.vector(u, w), memory.vector(v, w));
                let sum = |k| word(of_edge, vector, k) ^ word(one, one_of, k) ^ word(other, other_of, k);
                if (0..used).all(|k| sum(k) == 0) {
                    continue;
                }
                // Edges that enter later in the same step are no part of the lune.
                if !precedes(distances, cloud, (u, w), edge) || !precedes(distances, cloud, (v, w), edge) {
                    continue;
                }
                let relation = atomic::block::fetch_add(count, 1);
                if relation < cloud.relations {
                    memory.edge_of.add(relation as usize).write(position);
                    let to = memory.relations.add(relation as usize * memory.words);
                    for k in 0..used {
                        to.add(k).write(sum(k));
                    }
                }
            }
        }
    }
}

/// Eliminates relations by ascending edge: each ends the youngest class in it, which is then replaced in the others.
///
/// # Safety
/// There are `count` relations, `first` is the largest number and `youngest` 0, and all threads of the block come here
/// together.
#[inline(always)]
unsafe fn eliminate(
    memory: Memory,
    space: Space,
    cloud: &Cloud,
    count: u32,
    [ended, alive, free]: [*mut u32; 3],
    [first, youngest]: [*mut u64; 2],
    used: usize,
) {
    let (lane, lanes) = (thread::thread_idx_x() as usize, thread::block_dim_x() as usize);
    let relation = |r: usize| {
        // SAFETY: there is memory for each relation.
        unsafe { memory.relations.add(r * memory.words) }
    };
    // SAFETY: relations are below `count`, slots below 64 per word (this function's contract). Each relation is accessed by
    // one thread but the one that ends a class, whose vector is only read; what threads share is accessed by one of them,
    // or by atomics, or read only, between two barriers.
    unsafe {
        loop {
            for r in (lane..count as usize).step_by(lanes) {
                let edge = *memory.edge_of.add(r);
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
            for k in (lane..used).step_by(lanes) {
                let mut bits = *relation(by).add(k);
                while bits != 0 {
                    let slot = k as u32 * CLASSES + bits.trailing_zeros();
                    bits &= bits - 1;
                    let class = *memory.class_of.add(slot as usize);
                    atomic::block::fetch_max(youngest, u64::from(class) << 32 | u64::from(slot));
                }
            }
            thread::sync_threads();
            let (class, pivot) = ((*youngest >> 32) as u32, *youngest as u32);
            for r in (lane..count as usize).step_by(lanes) {
                if r == by {
                    memory.edge_of.add(r).write(NONE);
                } else if *memory.edge_of.add(r) != NONE && bit(relation(r), pivot) && !add(relation(r), relation(by), used) {
                    memory.edge_of.add(r).write(NONE);
                }
            }
            if lane == 0 {
                let word = pivot / CLASSES;
                space.died.add((cloud.class + class) as usize).write((least >> 32) as u32);
                *memory.slots.add(word as usize) &= !(1 << (pivot % CLASSES));
                *free = (*free).min(word);
                memory.ends.add(2 * *ended as usize).write(by as u32);
                memory.ends.add(2 * *ended as usize + 1).write(pivot);
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

/// Returns true if a vector has a bit.
///
/// # Safety
/// The vector has the bit's word.
#[inline(always)]
unsafe fn bit(vector: *const u64, slot: u32) -> bool {
    // SAFETY: the word exists.
    unsafe { *vector.add((slot / CLASSES) as usize) >> (slot % CLASSES) & 1 != 0 }
}

/// Adds a vector to another one. Returns true if the sum isn't 0.
///
/// # Safety
/// Both have so many words, and nobody else accesses them, or writes the second.
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

/// Applies eliminations to the vectors of all edges.
///
/// # Safety
/// There are so many eliminations, whose relations aren't written any more; all threads of the block come here together.
#[inline(always)]
unsafe fn apply(memory: Memory, vertices: u32, ended: u32, used: usize) {
    let (lane, lanes) = (thread::thread_idx_x() as usize, thread::block_dim_x() as usize);
    // SAFETY: rows are of vertices. Vectors are those of the larger vertex's row, which one thread accesses; words of sets
    // are accessed by atomics until the barrier.
    unsafe {
        let touched = memory.touched(vertices);
        for i in (lane..vertices as usize * memory.row).step_by(lanes) {
            let (v, word) = ((i / memory.row) as u32, (i % memory.row) as u32);
            if word * BITS >= v || !memory.has(touched, 0, v) {
                continue;
            }
            let mut bits = atomic::block::load(memory.nonzero.add(i));
            if v / BITS == word {
                bits &= (1 << (v % BITS)) - 1;
            }
            while bits != 0 {
                let u = word * BITS + bits.trailing_zeros();
                bits &= bits - 1;
                let (vector, mut any) = (memory.vector(u, v), true);
                for end in 0..ended as usize {
                    if bit(vector, *memory.ends.add(2 * end + 1)) {
                        let relation = *memory.ends.add(2 * end) as usize;
                        any = add(vector, memory.relations.add(relation * memory.words), used);
                    }
                }
                if !any {
                    memory.remove(memory.nonzero, u, v);
                    memory.remove(memory.nonzero, v, u);
                }
            }
        }
        thread::sync_threads();
        for v in (lane as u32..vertices).step_by(lanes) {
            if (0..memory.row).all(|k| *memory.nonzero.add(v as usize * memory.row + k) == 0) {
                memory.remove(touched, 0, v);
            }
        }
    }
}

/// Number of words of vectors in use: up to the last with a class.
///
/// # Safety
/// One thread alone accesses the slots.
#[inline(always)]
unsafe fn in_use(memory: Memory, mut words: u32) -> u32 {
    // SAFETY: no more than all words are in use.
    unsafe {
        while words > 0 && *memory.slots.add(words as usize - 1) == 0 {
            words -= 1;
        }
    }
    words
}
