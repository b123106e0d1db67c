//! Degrees 0 and 1: annotations of edges, in the order of the filtration.
//!
//! A block takes a cloud, and in each step as many edges as it has threads.
//! 1. One thread goes through those with empty lunes, which merge components or start classes.
//! 2. The others get their vectors, each as soon as the edges of its triangle have theirs.
//! 3. All find relations of their edges' lunes.
//! 4. Relations are eliminated by ascending edge, and what they say of the classes that end is applied to all vectors.
//!
//! If there are too many relations for the memory of a cloud, the first half of the edges is dealt with before the rest.

use cuda_std::prelude::*;

use super::{
    Cloud, Found, Link, Scalar,
    classes::{self, BITS, Classes, Numbers, SHARED_SLOTS, Sets, root, row, word},
    number, precedes,
};

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
    /// For each class, the position of the edge that ends it, or [`NONE`](super::NONE).
    pub died: *mut u32,
}

/// Number of 64-bit words of [`Space::work`] for a cloud: classes, the parents of vertices, and sets of vertices.
pub const fn work(vertices: u32, words: u32, relations: u32) -> u64 {
    let n = vertices as u64;
    classes::work(words, relations) + (n + (3 * n + 1) * row(vertices) as u64).div_ceil(2)
}

/// The memory of one cloud.
#[derive(Clone, Copy)]
struct Memory {
    /// Number of vertices.
    n: u32,
    /// Vectors by the number of edges.
    vectors: *mut u64,
    classes: Classes,
    /// Parent of each vertex in its component, in shared memory if the launch has enough.
    parents: *mut u32,
    /// For each vertex, those that it has an edge to, of earlier steps.
    earlier: Sets,
    /// For each vertex, those that it has an edge to.
    adjacent: Sets,
    /// For each vertex, those to which it has an edge whose vector isn't 0; then the set of vertices that have any.
    nonzero: Sets,
}

impl Memory {
    /// # Safety
    /// There is [`work`] memory for the cloud.
    #[inline(always)]
    unsafe fn new(cloud: &Cloud, space: Space, numbers: Numbers) -> Self {
        let (n, row) = (cloud.vertices as usize, row(cloud.vertices) as usize);
        // SAFETY: all parts are within the cloud's memory (this function's contract).
        unsafe {
            let work = space.work.add(cloud.work as usize);
            let positions = [space.born, space.died].map(|positions| positions.add(cloud.class as usize));
            let slots = shared_array![u64; SHARED_SLOTS];
            let classes = Classes::new(work, (cloud.words, cloud.relations), positions, numbers, slots);
            let mut parents = work.add(classes::work(cloud.words, cloud.relations) as usize).cast::<u32>();
            let words = parents.add(n);
            if dynamic_shared_size() >= n * size_of::<u32>() {
                parents = dynamic_shared();
            }
            let [earlier, adjacent, nonzero] = [0, 1, 2].map(|i| Sets { words: words.add(i * n * row), row });
            let vectors = space.vectors.add(cloud.vectors as usize);
            Memory { n: cloud.vertices, vectors, classes, parents, earlier, adjacent, nonzero }
        }
    }

    /// The vector of an edge.
    ///
    /// # Safety
    /// Both are vertices.
    #[inline(always)]
    unsafe fn vector(self, u: u32, v: u32) -> *mut u64 {
        // SAFETY: there is a vector for each edge.
        unsafe { self.vectors.add(number(u, v) as usize * self.classes.words) }
    }

    /// Returns true if an edge of the vertex has a vector that isn't 0.
    ///
    /// # Safety
    /// It is a vertex, and nobody writes the sets.
    #[inline(always)]
    unsafe fn is_touched(self, v: u32) -> bool {
        // SAFETY: the set follows those of the vertices.
        unsafe { self.nonzero.has(self.n, v) }
    }

    /// Notes that the vector of `uv` isn't 0.
    ///
    /// # Safety
    /// Both are vertices, and nobody accesses the sets without atomics meanwhile.
    #[inline(always)]
    unsafe fn touch(self, u: u32, v: u32) {
        // SAFETY: the sets exist.
        unsafe {
            self.nonzero.insert(u, v);
            self.nonzero.insert(v, u);
            self.nonzero.insert(self.n, u);
            self.nonzero.insert(self.n, v);
        }
    }
}

/// Bars' edges of each cloud's degrees 0 and 1: positions go to `space`, their numbers to `found`. A block per cloud.
///
/// # Safety
/// The links are those of these clouds with their distances and findings. Each cloud has words for all classes that are
/// alive at once, which are at most the edges with empty lunes; without words no classes are found. `space` has what its
/// fields say.
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
    let listed = shared_array![u32; 1];
    // SAFETY: links are of edges, vertices are below the number of vertices (this kernel's contract). What threads share is
    // accessed by one of them, or by atomics, or read only, between two barriers.
    unsafe {
        let memory = Memory::new(cloud, space, Numbers::new(shared_array![u32; 6], shared_array![u64; 2]));
        let Memory { classes, adjacent, nonzero, earlier, .. } = memory;
        let Numbers { alive, used, relations, .. } = classes.numbers;
        let (found, listed) = (found.add(index), listed.at(0));
        let Found { within, last, .. } = *found;
        for i in thread::strided(lane..n, lanes) {
            memory.parents.add(i as usize).write(i);
        }
        // The sets are behind each other.
        for i in thread::strided(lane as usize..(3 * n as usize + 1) * earlier.row, lanes as usize) {
            earlier.words.add(i).write(0);
        }
        if lane == 0 {
            classes.clear();
            (*found).merges = 0;
            for i in 0..32 {
                empty.write(i, 0);
            }
        }
        thread::sync_threads();

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
                earlier.insert(u, v);
                earlier.insert(v, u);
            }
            let exists = from + lane < within;
            link = if exists { *links.get_unchecked((cloud.edge + from + lane) as usize) } else { Link(0) };
            links_of_step.write(lane as usize, link);
            let (u, v) = link.ends();
            let witness = if exists { link.witness() } else { None };
            if exists && witness.is_none() {
                atomic::block::fetch_or(empty.at((lane / 32) as usize), 1 << (lane % 32));
            }
            thread::sync_threads();
            if lane == 0 {
                enter(cloud, memory, space.merged, links_of_step, found, from, empty);
            }
            thread::sync_threads();

            // Vectors, from those of the triangle's other edges.
            let mut waits = witness.is_some();
            loop {
                let w = witness.unwrap_or(0);
                let ready = waits && adjacent.has(u, w) && adjacent.has(v, w);
                let mut any = false;
                if ready {
                    let (one, other) = (nonzero.has(u, w), nonzero.has(v, w));
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
                    adjacent.insert(u, v);
                    adjacent.insert(v, u);
                    if any {
                        memory.touch(u, v);
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
                    classes.begin();
                }
                thread::sync_threads();
                let in_range = witness.is_some() && lane >= low && lane < high;
                if in_range && (memory.is_touched(u) || memory.is_touched(v)) {
                    looked_at.write(atomic::block::fetch_add(listed, 1) as usize, lane);
                }
                thread::sync_threads();
                for i in thread::strided(lane / group..*listed, lanes / group) {
                    let edge = looked_at.read(i as usize);
                    find(cloud, memory, distances, links_of_step.read(edge as usize), from + edge, (lane % group, group));
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
                    classes.eliminate(count.min(cloud.relations));
                    apply(memory);
                    if lane == 0 {
                        classes.shrink();
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
        if lane == 0 {
            (*found).classes = *classes.numbers.classes;
        }
    }
}

/// Lets edges with empty lunes enter, in order: one thread.
///
/// # Safety
/// `empty` has the bits of such edges among the `links` of a step, which has the positions from `from` on; there are slots
/// for all classes, or no words, and no other thread accesses the cloud's memory.
#[inline(always)]
unsafe fn enter(
    cloud: &Cloud,
    memory: Memory,
    merged: *mut u32,
    links: SharedArray<Link, 1024>,
    found: *mut Found,
    from: u32,
    empty: SharedArray<u32, 32>,
) {
    // SAFETY: positions and vertices are below their numbers (this function's contract).
    unsafe {
        let mut merges = (*found).merges;
        let first = merges;
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
                memory.adjacent.insert(u, v);
                memory.adjacent.insert(v, u);
                let (a, b) = (root(memory.parents, u), root(memory.parents, v));
                if a != b {
                    memory.parents.add(a.max(b) as usize).write(a.min(b));
                    merged.add((cloud.vertex + merges) as usize).write(from + place);
                    merges += 1;
                } else if memory.classes.words > 0 && memory.classes.start(from + place, memory.vector(u, v)) {
                    memory.touch(u, v);
                }
            }
        }
        if merges != first {
            (*found).merges = merges;
        }
    }
}

/// Finds relations of an edge's lune. `part` is the first word of sets to look at, and the stride.
///
/// Two vertices of the lune with an edge between them give the same relation, because they form a tetrahedron. So those
/// with an edge to the witness, whose relation is trivial, are left out.
///
/// # Safety
/// The edge has a witness and has entered, with all that come before it; nobody writes vectors or sets meanwhile.
#[inline(always)]
unsafe fn find<T: Scalar>(cloud: &Cloud, memory: Memory, distances: &[T], link: Link, position: u32, part: (u32, u32)) {
    let Memory { classes, adjacent, nonzero, earlier, .. } = memory;
    let (u, v) = link.ends();
    let witness = link.witness().unwrap_or(u);
    // SAFETY: all are vertices of the cloud (this function's contract).
    unsafe {
        let used = *classes.numbers.used as usize;
        let of_edge = nonzero.has(u, v);
        let (vector, edge) = (memory.vector(u, v), (*distances.get_unchecked(cloud.distance(u, v)), number(u, v)));
        for i in thread::strided(part.0..nonzero.row as u32, part.1) {
            let (one, other) = (nonzero.word(u, i), nonzero.word(v, i));
            let mut bits = if of_edge { u32::MAX } else { one | other };
            if bits != 0 {
                bits &= adjacent.word(u, i) & adjacent.word(v, i) & !earlier.word(witness, i);
            }
            while bits != 0 {
                let bit = bits.trailing_zeros();
                bits &= bits - 1;
                let w = i * BITS + bit;
                let (one, other) = (one >> bit & 1 != 0, other >> bit & 1 != 0);
                let (one_of, other_of) = (memory.vector(u, w), memory.vector(v, w));
                let sum = |k| word(of_edge, vector, k) ^ word(one, one_of, k) ^ word(other, other_of, k);
                // Edges that enter later in the same step are no part of the lune.
                if (0..used).any(|k| sum(k) != 0)
                    && precedes(distances, cloud, (u, w), edge)
                    && precedes(distances, cloud, (v, w), edge)
                {
                    classes.add(position, used, sum);
                }
            }
        }
    }
}

/// Applies eliminations to the vectors of all edges.
///
/// # Safety
/// All threads of the block come here together, after [`Classes::eliminate`].
#[inline(always)]
unsafe fn apply(memory: Memory) {
    let (lane, lanes) = (thread::thread_idx_x() as usize, thread::block_dim_x() as usize);
    let Memory { n, classes, nonzero, .. } = memory;
    // SAFETY: rows are of vertices. Vectors are those of the larger vertex's row, which one thread accesses; words of sets
    // are accessed by atomics until the barrier.
    unsafe {
        let used = *classes.numbers.used as usize;
        for i in thread::strided(lane..n as usize * nonzero.row, lanes) {
            let (v, word) = ((i / nonzero.row) as u32, (i % nonzero.row) as u32);
            if word * BITS >= v || !memory.is_touched(v) {
                continue;
            }
            let mut bits = atomic::block::load(nonzero.words.add(i));
            if v / BITS == word {
                bits &= (1 << (v % BITS)) - 1;
            }
            while bits != 0 {
                let u = word * BITS + bits.trailing_zeros();
                bits &= bits - 1;
                if !classes.apply(memory.vector(u, v), used) {
                    nonzero.remove(u, v);
                    nonzero.remove(v, u);
                }
            }
        }
        thread::sync_threads();
        for v in thread::strided(lane as u32..n, lanes as u32) {
            if (0..nonzero.row as u32).all(|k| nonzero.word(v, k) == 0) {
                nonzero.remove(n, v);
            }
        }
    }
}
