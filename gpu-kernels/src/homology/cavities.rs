//! Degree 2: annotations of triangles, in the order of the filtration.
//!
//! A block takes a cloud, and in each step one edge `uv` with all triangles that enter with it, one for each vertex of its
//! lune `W`. Vectors of edges are as in [`reduce`](super::reduce). Triangles `uvw` come by ascending `w`:
//! - The first takes the edge's own cycle away.
//! - A triangle without an edge from `w` to an earlier vertex of the lune either ends a class of degree 1, if its relation
//!   isn't trivial, or starts a class of degree 2.
//! - Any other gets its vector from the tetrahedron with one such vertex. Tetrahedra with others give relations.

use cuda_std::prelude::*;

use super::{
    Cloud, Found, Link, MOST_VERTICES_OF_CAVITIES,
    classes::{self, BITS, Classes, Numbers, SHARED_SLOTS, Sets, root, row, word},
    number,
};

/// Words of a set of vertices.
const WORDS: usize = MOST_VERTICES_OF_CAVITIES.div_ceil(BITS as usize);

/// Memory of all clouds.
#[derive(Clone, Copy, Debug, KernelParam)]
pub struct Space {
    /// For each cloud, [`Cloud::words`] words for each edge, then [`Cloud::words_of_triangles`] for each triangle; all 0 at
    /// first.
    pub vectors: *mut u64,
    /// [`work`] words for each cloud.
    pub work: *mut u64,
    /// For each class, the position of the edge that starts it.
    pub born: *mut u32,
    /// For each class, the position of the edge that ends it, or [`NONE`](super::NONE).
    pub died: *mut u32,
}

/// Number of triangles.
pub const fn triangles(vertices: u32) -> u64 {
    let n = vertices as u64;
    n * n.saturating_sub(1) / 2 * n.saturating_sub(2) / 3
}

/// Number of 64-bit words of [`Space::work`] for a cloud: classes of both degrees with their positions in degree 1, parents
/// of vertices, and sets of vertices.
pub const fn work(cloud: &Cloud) -> u64 {
    let n = cloud.vertices as u64;
    classes::work(cloud.words, cloud.relations)
        + classes::work(cloud.words_of_triangles, cloud.relations)
        + cloud.classes as u64
        + (n + (n * n + 3 * n) * row(cloud.vertices) as u64).div_ceil(2)
}

/// The memory of one cloud.
#[derive(Clone, Copy)]
struct Memory {
    /// Number of vertices.
    n: u32,
    /// Vectors by the number of edges.
    of_edges: *mut u64,
    /// Vectors by the number of triangles.
    of_triangles: *mut u64,
    cycles: Classes,
    cavities: Classes,
    /// For each vertex, those that it has an edge to.
    adjacent: Sets,
    /// For each vertex, those to which it has an edge whose vector isn't 0.
    nonzero: Sets,
    /// For each vertex, those with which it had a triangle whose vector wasn't 0.
    pairs: Sets,
    /// For each two vertices, those with which they have a triangle whose vector isn't 0.
    filled: Sets,
}

impl Memory {
    /// The vector of an edge.
    ///
    /// # Safety
    /// Both are vertices.
    #[inline(always)]
    unsafe fn edge(self, u: u32, v: u32) -> *mut u64 {
        // SAFETY: there is a vector for each edge.
        unsafe { self.of_edges.add(number(u, v) as usize * self.cycles.words) }
    }

    /// The vector of a triangle.
    ///
    /// # Safety
    /// All are vertices.
    #[inline(always)]
    unsafe fn triangle(self, a: u32, b: u32, c: u32) -> *mut u64 {
        let (low, high) = (a.min(b), a.max(b));
        let (small, middle, large) = if c < low {
            (c, low, high)
        } else if c < high {
            (low, c, high)
        } else {
            (low, high, c)
        };
        let place = triangles(large) as usize + number(small, middle) as usize;
        // SAFETY: there is a vector for each triangle.
        unsafe { self.of_triangles.add(place * self.cavities.words) }
    }

    /// Number of the set of two vertices.
    #[inline(always)]
    fn pair(self, a: u32, b: u32) -> u32 {
        a * self.n + b
    }

    /// Notes that the vector of a triangle isn't 0.
    ///
    /// # Safety
    /// All are vertices, and nobody accesses the sets without atomics meanwhile.
    #[inline(always)]
    unsafe fn fill(self, a: u32, b: u32, c: u32) {
        // SAFETY: the sets exist.
        unsafe {
            for (a, b, c) in [(a, b, c), (b, c, a), (a, c, b)] {
                self.filled.insert(self.pair(a, b), c);
                self.filled.insert(self.pair(b, a), c);
                self.pairs.insert(a, b);
                self.pairs.insert(b, a);
            }
        }
    }

    /// A word of the sum of the vectors of a tetrahedron's faces but the first, `uvw`.
    ///
    /// # Safety
    /// All are vertices, and nobody writes vectors and sets.
    #[inline(always)]
    unsafe fn others(self, (u, v, w, x): (u32, u32, u32, u32), k: usize) -> u64 {
        // SAFETY: there are vectors of all triangles.
        unsafe {
            [(u, v, x), (u, w, x), (v, w, x)]
                .map(|(a, b, c)| word(self.filled.has(self.pair(a, b), c), self.triangle(a, b, c), k))
                .into_iter()
                .fold(0, |sum, word| sum ^ word)
        }
    }
}

/// Vertices of a lune that are below a vertex and have an edge to it, by words.
///
/// # Safety
/// `w` and the word exist.
#[inline(always)]
unsafe fn below(memory: Memory, lune: u32, w: u32, i: u32) -> u32 {
    let below = if i < w / BITS {
        u32::MAX
    } else if i == w / BITS {
        (1 << (w % BITS)) - 1
    } else {
        0
    };
    // SAFETY: the word exists (this function's contract).
    unsafe { lune & below & memory.adjacent.word(w, i) }
}

/// Bars' edges of each cloud's degree 2. A block per cloud. If there is not enough memory for classes,
/// [`Found::full`] is 1 afterwards.
///
/// # Safety
/// The links are those of these clouds with their distances and findings, from which `reduce` has found classes; clouds have
/// at most [`MOST_VERTICES_OF_CAVITIES`] vertices, and `space` has what its fields say.
#[kernel(max_threads = 256)]
pub unsafe fn fill(clouds: &[Cloud], links: &[Link], found: *mut Found, space: Space) {
    let index = thread::block_idx_x() as usize;
    let cloud = &clouds[index];
    let n = cloud.vertices;
    let (lane, lanes) = (thread::thread_idx_x(), thread::block_dim_x());
    let lune = shared_array![u32; WORDS];
    let settled = shared_array![u32; WORDS];
    let alone = shared_array![u32; MOST_VERTICES_OF_CAVITIES];
    let shared = shared_array![u32; 2];
    // SAFETY: all parts are within the cloud's memory, vertices below its number of vertices (this kernel's contract). What
    // threads share is accessed by one of them, or by atomics, or read only, between two barriers.
    unsafe {
        let found = found.add(index);
        let (size, words) = (n as usize, row(n) as usize);
        let of_edges = space.vectors.add(cloud.vectors as usize);
        let of_triangles = of_edges.add(cloud.edges() as usize * cloud.words as usize);
        let work = space.work.add(cloud.work as usize);
        let numbers = Numbers::new(shared_array![u32; 6], shared_array![u64; 2]);
        let slots = shared_array![u64; SHARED_SLOTS];
        let end = work.add(classes::work(cloud.words, cloud.relations) as usize);
        let other_end = end.add(classes::work(cloud.words_of_triangles, cloud.relations) as usize);
        let positions = other_end.cast::<u32>();
        let of_cycles = [positions, positions.add(cloud.classes as usize)];
        let cycles = Classes::new(work, (cloud.words, cloud.relations), of_cycles, numbers, slots);
        let numbers = Numbers::new(shared_array![u32; 6], shared_array![u64; 2]);
        let slots = shared_array![u64; SHARED_SLOTS];
        let of_cavities = [space.born, space.died].map(|positions| positions.add(cloud.cavity as usize));
        let cavities = Classes::new(end, (cloud.words_of_triangles, cloud.relations), of_cavities, numbers, slots);
        let parents = positions.add(2 * cloud.classes as usize);
        let sets = parents.add(size);
        let [adjacent, nonzero, pairs, filled] = [0, 1, 2, 3].map(|i| Sets { words: sets.add(i * size * words), row: words });
        let memory = Memory { n, of_edges, of_triangles, cycles, cavities, adjacent, nonzero, pairs, filled };
        let (count, full) = (shared.at(0), shared.at(1));
        for v in thread::strided(lane..n, lanes) {
            parents.add(v as usize).write(v);
        }
        for i in thread::strided(lane as usize..(size * size + 3 * size) * words, lanes as usize) {
            sets.add(i).write(0);
        }
        if lane == 0 {
            cycles.clear();
            cavities.clear();
            full.write(0);
        }
        thread::sync_threads();

        for position in 0..(*found).within {
            let (u, v) = links.get_unchecked((cloud.edge + position) as usize).ends();
            for i in thread::strided(lane..words as u32, lanes) {
                lune.write(i as usize, adjacent.word(u, i) & adjacent.word(v, i));
                settled.write(i as usize, 0);
            }
            if lane == 0 {
                count.write(0);
            }
            thread::sync_threads();
            let first = (0..words as u32).find(|&i| lune.read(i as usize) != 0);
            let Some(first) = first.map(|i| i * BITS + lune.read(i as usize).trailing_zeros()) else {
                if lane == 0 {
                    let (a, b) = (root(parents, u), root(parents, v));
                    if a != b {
                        parents.add(a.max(b) as usize).write(a.min(b));
                    } else if cycles.start(position, memory.edge(u, v)) {
                        nonzero.insert(u, v);
                        nonzero.insert(v, u);
                    }
                    adjacent.insert(u, v);
                    adjacent.insert(v, u);
                }
                thread::sync_threads();
                continue;
            };
            // The edge's vector, from its first triangle. Vertices without an edge to an earlier one.
            if lane == 0 {
                let (one, other) = (nonzero.has(u, first), nonzero.has(v, first));
                let mut any = false;
                for k in 0..*cycles.numbers.used as usize {
                    let sum = word(one, memory.edge(u, first), k) ^ word(other, memory.edge(v, first), k);
                    memory.edge(u, v).add(k).write(sum);
                    any |= sum != 0;
                }
                if any {
                    nonzero.insert(u, v);
                    nonzero.insert(v, u);
                }
            }
            for w in thread::strided(lane..n, lanes) {
                let is_in = lune.read((w / BITS) as usize) >> (w % BITS) & 1 != 0;
                if is_in && w != first && (0..=w / BITS).all(|i| below(memory, lune.read(i as usize), w, i) == 0) {
                    alone.write(atomic::block::fetch_add(count, 1) as usize, w);
                }
            }
            thread::sync_threads();
            for i in 0..*count as usize {
                let w = alone.read(i);
                if lane == 0 {
                    cycles.begin();
                    let (one, other, own) = (nonzero.has(u, w), nonzero.has(v, w), nonzero.has(u, v));
                    let sum =
                        |k| word(one, memory.edge(u, w), k) ^ word(other, memory.edge(v, w), k) ^ word(own, memory.edge(u, v), k);
                    let used = *cycles.numbers.used as usize;
                    if (0..used).any(|k| sum(k) != 0) {
                        cycles.add(position, used, sum);
                    } else if *cavities.numbers.classes == cloud.cavities || !cavities.start(position, memory.triangle(u, v, w)) {
                        full.write(1);
                    } else {
                        memory.fill(u, v, w);
                    }
                }
                thread::sync_threads();
                if *full != 0 {
                    break;
                }
                if *cycles.numbers.relations > 0 {
                    cycles.eliminate(1);
                    apply_to_edges(memory);
                    if lane == 0 {
                        cycles.shrink();
                    }
                }
                thread::sync_threads();
            }
            if *full != 0 {
                break;
            }
            if *cavities.numbers.alive > 0 {
                if lane == 0 {
                    settled.write((first / BITS) as usize, 1 << (first % BITS));
                    for i in 0..*count as usize {
                        let w = alone.read(i);
                        settled.write((w / BITS) as usize, settled.read((w / BITS) as usize) | 1 << (w % BITS));
                    }
                }
                thread::sync_threads();
                annotate(memory, (u, v), lune, settled);
                relate(memory, (u, v), position, lune);
            }
            if lane == 0 {
                adjacent.insert(u, v);
                adjacent.insert(v, u);
            }
            thread::sync_threads();
        }
        if lane == 0 {
            (*found).cavities = *cavities.numbers.classes;
            (*found).full = *full;
        }
    }
}

/// Returns true if a vertex is in a set in shared memory.
///
/// # Safety
/// It is a vertex, and nobody writes the set meanwhile.
#[inline(always)]
unsafe fn is_in(set: SharedArray<u32, WORDS>, w: u32) -> bool {
    // SAFETY: the word exists.
    unsafe { set.read((w / BITS) as usize) >> (w % BITS) & 1 != 0 }
}

/// Puts a vertex into a set in shared memory.
///
/// # Safety
/// It is a vertex, and nobody accesses the set without atomics meanwhile.
#[inline(always)]
unsafe fn insert(set: SharedArray<u32, WORDS>, w: u32) {
    // SAFETY: the word exists.
    unsafe { atomic::block::fetch_or(set.at((w / BITS) as usize), 1 << (w % BITS)) };
}

/// Computes the vectors of the triangles of an edge whose third vertex isn't settled, from those that are.
///
/// # Safety
/// `settled` has the vertices of the lune without an edge to an earlier one; all threads of the block come here together.
#[inline(always)]
unsafe fn annotate(memory: Memory, (u, v): (u32, u32), lune: SharedArray<u32, WORDS>, settled: SharedArray<u32, WORDS>) {
    let (lane, lanes) = (thread::thread_idx_x(), thread::block_dim_x());
    let ready = shared_array![u32; WORDS];
    let fresh = shared_array![u32; WORDS];
    // SAFETY: vertices of the lune are vertices. A vector is written by one thread; sets are written between two barriers,
    // and read between others.
    unsafe {
        let used = *memory.cavities.numbers.used as usize;
        loop {
            for i in thread::strided(lane as usize..WORDS, lanes as usize) {
                ready.write(i, 0);
                fresh.write(i, 0);
            }
            thread::sync_threads();
            for w in thread::strided(lane..memory.n, lanes) {
                if !is_in(lune, w) || is_in(settled, w) {
                    continue;
                }
                let word = |i: &u32| below(memory, lune.read(*i as usize), w, *i);
                let Some(i) = (0..=w / BITS).find(|i| word(i) != 0) else { continue };
                let x = i * BITS + word(&i).trailing_zeros();
                if !is_in(settled, x) {
                    continue;
                }
                let mut any = false;
                for k in 0..used {
                    let sum = memory.others((u, v, w, x), k);
                    memory.triangle(u, v, w).add(k).write(sum);
                    any |= sum != 0;
                }
                insert(ready, w);
                if any {
                    insert(fresh, w);
                }
            }
            thread::sync_threads();
            let mut waits = false;
            for w in thread::strided(lane..memory.n, lanes) {
                if is_in(ready, w) {
                    insert(settled, w);
                    if is_in(fresh, w) {
                        memory.fill(u, v, w);
                    }
                } else if is_in(lune, w) {
                    // Other threads write the word meanwhile.
                    waits |= atomic::block::load(settled.at((w / BITS) as usize)) >> (w % BITS) & 1 == 0;
                }
            }
            if !thread::sync_threads_or(waits) {
                break;
            }
        }
    }
}

/// Finds and eliminates relations of the tetrahedra that enter with an edge.
///
/// # Safety
/// The triangles of the edge have their vectors, and all threads of the block come here together.
#[inline(always)]
unsafe fn relate(memory: Memory, (u, v): (u32, u32), position: u32, lune: SharedArray<u32, WORDS>) {
    let (lane, lanes) = (thread::thread_idx_x(), thread::block_dim_x());
    let Memory { cavities, filled, .. } = memory;
    // SAFETY: vertices of the lune are vertices; vectors and sets are read only, until relations are applied.
    unsafe {
        loop {
            if lane == 0 {
                cavities.begin();
            }
            thread::sync_threads();
            let used = *cavities.numbers.used as usize;
            for w in thread::strided(lane..memory.n, lanes) {
                if !is_in(lune, w) {
                    continue;
                }
                let own = filled.has(memory.pair(u, v), w);
                for i in 0..=w / BITS {
                    let of_pair = |a, b| filled.word(memory.pair(a, b), i);
                    let relevant = if own { u32::MAX } else { of_pair(u, v) | of_pair(u, w) | of_pair(v, w) };
                    let mut bits = relevant & below(memory, lune.read(i as usize), w, i);
                    while bits != 0 {
                        let x = i * BITS + bits.trailing_zeros();
                        bits &= bits - 1;
                        let sum = |k| word(own, memory.triangle(u, v, w), k) ^ memory.others((u, v, w, x), k);
                        if (0..used).any(|k| sum(k) != 0) {
                            cavities.add(position, used, sum);
                        }
                    }
                }
            }
            thread::sync_threads();
            let count = *cavities.numbers.relations;
            if count > 0 {
                cavities.eliminate(count.min(cavities.most));
                apply_to_triangles(memory);
                if lane == 0 {
                    cavities.shrink();
                }
            }
            thread::sync_threads();
            // All enter at the same time: those left are found again.
            if count <= cavities.most {
                break;
            }
        }
    }
}

/// Applies eliminations to the vectors of all edges.
///
/// # Safety
/// All threads of the block come here together, after [`Classes::eliminate`].
#[inline(always)]
unsafe fn apply_to_edges(memory: Memory) {
    let Memory { n, cycles, nonzero, .. } = memory;
    // SAFETY: vectors are those of the larger vertex's row, which one thread accesses; words of sets are accessed by atomics.
    unsafe {
        let used = *cycles.numbers.used as usize;
        for v in thread::strided(thread::thread_idx_x()..n, thread::block_dim_x()) {
            for i in 0..=v / BITS {
                let mut bits = atomic::block::load(nonzero.words.add(v as usize * nonzero.row + i as usize));
                while bits != 0 {
                    let u = i * BITS + bits.trailing_zeros();
                    bits &= bits - 1;
                    if u < v && !cycles.apply(memory.edge(u, v), used) {
                        nonzero.remove(u, v);
                        nonzero.remove(v, u);
                    }
                }
            }
        }
        thread::sync_threads();
    }
}

/// Applies eliminations to the vectors of all triangles.
///
/// # Safety
/// As for [`apply_to_edges`].
#[inline(always)]
unsafe fn apply_to_triangles(memory: Memory) {
    let Memory { n, cavities, pairs, filled, .. } = memory;
    // SAFETY: vectors are those of the set of their two smaller vertices, which one thread accesses; words of sets are
    // accessed by atomics.
    unsafe {
        let used = *cavities.numbers.used as usize;
        for pair in thread::strided(thread::thread_idx_x()..n * n, thread::block_dim_x()) {
            let (a, b) = (pair / n, pair % n);
            if a >= b || !pairs.has(a, b) {
                continue;
            }
            for i in b / BITS..filled.row as u32 {
                let mut bits = atomic::block::load(filled.words.add(pair as usize * filled.row + i as usize));
                while bits != 0 {
                    let c = i * BITS + bits.trailing_zeros();
                    bits &= bits - 1;
                    if c <= b || cavities.apply(memory.triangle(a, b, c), used) {
                        continue;
                    }
                    for (a, b, c) in [(a, b, c), (b, c, a), (a, c, b)] {
                        filled.remove(memory.pair(a, b), c);
                        filled.remove(memory.pair(b, a), c);
                    }
                }
            }
        }
        thread::sync_threads();
    }
}
