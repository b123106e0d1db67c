//! Connected components of a graph, and a spanning forest: sets of vertices that all threads unite at the same time.
//!
//! Each vertex has a *parent* in its set: a smaller vertex, or itself, which makes it the set's root. An edge between
//! two sets *hooks* the larger root under the smaller one by one compare-and-swap. It succeeds exactly once for each
//! vertex that ends up below another, so that the edges which did are a spanning forest. A set's root is its smallest
//! vertex, whatever the order was; which edges are in the forest depends on it.
//!
//! On their way to a root, threads let vertices skip their parents (path halving). They go that way after hooking a root,
//! too: else a long path, whose vertices are all hooked at once, would be left to the one thread that comes by next.
//!
//! No thread ever waits for another: a compare-and-swap that fails was overtaken by one that succeeded.
//!
//! Parents are loaded through the L1 cache, which may hold an older parent. That is still a vertex
//! of the same set, because sets are never divided. (Else nearly all threads would ask the L2 cache
//! for the few roots of large sets.) What a compare-and-swap that fails has found is up to date.
//!
//! Most edges need no atomics in the L2 cache:
//!
//! - If edges ascend by their first end, a block unites within its window of vertices in shared memory
//!   ([`start_windows()`]): streets and meshes are numbered so that most edges are short. Windows are disjoint. In any
//!   other order of the edges few are found, and the result is right all the same.
//! - With many edges, a sample of them comes first. Then one bit per vertex tells the largest set ([`flatten_largest()`]),
//!   and edges within it are passed over by two bits. A vertex that comes to the set later gets its bit, too. If few
//!   vertices have most of the edges, a part of the sample is enough.
//! - Edges that remain wait in a list until there is one for each lane of a warp ([`hook()`]). So do edges of the forest
//!   until they take their places, because one counter gives a place to all threads.
//!
//! Sources: J. Jaiganesh and M. Burtscher, *A High-Performance Connected Components Implementation for GPUs*, HPDC
//! 2018, for hooking and path halving; M. Sutton, T. Ben-Nun and A. Barak, *Optimizing Parallel Graph Connectivity
//! Computation via Subgraph Sampling*, IPDPS 2018, for flat sets before most of the edges, and the largest of them.

use bytemuck::{Pod, Zeroable};
use cuda_std::prelude::*;

use crate::{
    collectives::{
        Sum,
        block::{Block, STORAGE},
        warp::{Lanes, inclusive_scan},
    },
    list_rank::generate::mix,
};

/// In place of an edge: none.
pub const NONE: u32 = u32::MAX;

/// Findings about the edges while sets are united.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq, Pod, Zeroable)]
pub struct Status {
    /// The first edge with a vertex out of range, or [`NONE`].
    pub outside: u32,
    /// Edges from a vertex to itself.
    pub loops: u32,
    /// Vertices that have been hooked: edges of a spanning forest.
    pub hooked: u32,
    /// 1 if most edges had an end in the largest set after the first sample. Then there is no second one.
    pub skewed: u32,
}

/// The root of a vertex's set, or one that it had.
///
/// # Safety
/// `parents` is valid for atomic access at `vertex`, and at every vertex that it leads to.
#[inline(always)]
#[cfg_attr(not(cuda_device), track_caller)]
pub unsafe fn find(parents: *mut i32, mut vertex: i32) -> i32 {
    // SAFETY: these are the vertices that `vertex` leads to (this function's contract).
    unsafe {
        loop {
            let parent = mem::load_relaxed(parents.add(vertex as usize));
            if parent == vertex {
                return vertex;
            }
            let next = mem::load_relaxed(parents.add(parent as usize));
            if next == parent {
                return parent;
            }
            // The nearer to the root, the smaller: what other threads have found is kept. (Roots alone are hooked, and
            // this vertex will never be one again.)
            atomic::device::fetch_min(parents.add(vertex as usize), next);
            vertex = next;
        }
    }
}

/// Unites the sets of two vertices; gives the root that this very call has hooked, if it has.
///
/// # Safety
/// `parents` is valid for atomic access at both vertices, and at every vertex that they lead to; no parent is larger
/// than its vertex.
#[inline(always)]
#[cfg_attr(not(cuda_device), track_caller)]
pub unsafe fn unite(parents: *mut i32, u: i32, v: i32) -> Option<i32> {
    // SAFETY: what is loaded are parents of the two vertices (this function's contract), and what is stored is a root
    // smaller than the one that it becomes the parent of.
    unsafe {
        let mut a = mem::load_relaxed(parents.add(u as usize));
        let mut b = mem::load_relaxed(parents.add(v as usize));
        while a != b {
            (a, b) = (find(parents, a), find(parents, b));
            if a == b {
                break;
            }
            let (small, large) = if a < b { (a, b) } else { (b, a) };
            let found = atomic::device::compare_exchange(parents.add(large as usize), large, small);
            if found == large {
                let root = find(parents, small);
                if root != small {
                    atomic::device::fetch_min(parents.add(large as usize), root);
                }
                return Some(large);
            }
            (a, b) = (small, found);
        }
        None
    }
}

/// Items that a thread deals with at a time, so that their loads don't wait for each other.
pub const BATCH: usize = 4;

/// Lanes that reserve places together: those of a warp on a GPU. On the CPU each thread is on its own.
pub(crate) const WIDTH: usize = if is_gpu() { 32 } else { 1 };

/// Calls `visit` with the first of [`BATCH`] items in steps of [`WIDTH`]. All lanes of a warp make the same number of
/// calls; items from `count` on aren't there. Any grid of whole warps.
#[inline(always)]
#[cfg_attr(not(cuda_device), track_caller)]
pub(crate) fn for_each_batch(count: usize, mut visit: impl FnMut(usize)) {
    let thread = thread::index_1d() as usize;
    let (group, lane) = (thread / WIDTH, if is_gpu() { warp::lane_id() as usize } else { 0 });
    let step = thread::grid_stride_1d() as usize * BATCH;
    let mut first = group * WIDTH * BATCH;
    while first < count {
        visit(first + lane);
        first += step;
    }
}

/// Reserves `own` places behind the counter, and returns the first of them.
///
/// # Safety
/// `counter` is valid for atomic access. On a GPU all lanes of the warp are here.
#[inline(always)]
#[cfg_attr(not(cuda_device), track_caller)]
pub(crate) unsafe fn reserve(counter: *mut u32, own: u32) -> usize {
    let (up_to, all) = if is_gpu() {
        let up_to = inclusive_scan(Lanes::FULL, own, Sum);
        (up_to, warp::shuffle_idx(warp::FULL_MASK, up_to, 31))
    } else {
        (own, own)
    };
    let mut first = 0;
    if all > 0 && (!is_gpu() || warp::lane_id() == 0) {
        // SAFETY: the counter is valid for atomic access (this function's contract).
        first = unsafe { atomic::device::fetch_add(counter, all) };
    }
    if is_gpu() {
        first = warp::shuffle_idx(warp::FULL_MASK, first, 0);
    }
    (first + up_to - own) as usize
}

/// Each vertex alone. Any grid.
///
/// # Safety
/// `status` is valid for a write.
#[kernel(max_threads = 256)]
pub unsafe fn start(mut parents: DisjointSlice<i32>, status: *mut Status) {
    for (vertex, parent) in parents.grid_stride_mut() {
        *parent = vertex as i32;
    }
    if thread::index_1d() == 0 {
        // SAFETY: the pointer is valid for a write (this kernel's contract), and only one thread writes.
        unsafe { status.write(Status { outside: NONE, loops: 0, hooked: 0, skewed: 0 }) };
    }
}

/// Edges that are next to each other in a sample: what a sector of memory holds.
const RUN: usize = 4;

/// A sample of the edges: runs of four, one in every `step`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, KernelParam)]
pub struct Sample {
    /// Number of edges.
    pub count: u32,
    /// Number of runs per run that is taken.
    pub step: u32,
}

impl Sample {
    /// The number of an edge of the sample.
    #[inline(always)]
    pub(crate) fn edge(self, index: usize) -> usize {
        if self.step == 1 { index } else { index / RUN * (RUN * self.step as usize) + index % RUN }
    }

    /// Calls `visit` with the number and the ends of each edge of the sample, in any grid. Each edge is loaded while the
    /// one before is dealt with.
    #[inline(always)]
    #[cfg_attr(not(cuda_device), track_caller)]
    pub fn for_each(self, edges: &[I32x2], mut visit: impl FnMut(usize, I32x2)) {
        let load = |edge: usize| edges.get(edge).copied().unwrap_or(I32x2::splat(0));
        let (count, stride) = (self.count as usize, thread::grid_stride_1d() as usize);
        let mut index = thread::index_1d() as usize;
        let mut ahead = load(self.edge(index));
        while index < count {
            let (edge, ends) = (self.edge(index), ahead);
            index += stride;
            ahead = load(self.edge(index));
            if edge < edges.len() {
                visit(edge, ends);
            }
        }
    }
}

/// Room for the edges of a spanning forest, and their count.
#[derive(Clone, Copy, Debug, KernelParam)]
pub struct Forest {
    /// Number of edges that a warp of [`hook()`] gives their places together. If it is 0, there is no room for edges, and
    /// they are counted alone.
    pub together: u32,
    /// The ends of each edge.
    pub edges: *mut I32x2,
    /// The number of each edge.
    pub indices: *mut u32,
    /// Counts the edges.
    pub status: *mut Status,
}

impl Forest {
    /// Gives an edge its place.
    ///
    /// # Safety
    /// There is room at the place, which no other edge has.
    #[inline(always)]
    #[cfg_attr(not(cuda_device), track_caller)]
    unsafe fn put(self, place: usize, edges: &[I32x2], edge: u32) {
        // SAFETY: the place is this edge's (this function's contract).
        unsafe {
            self.edges.add(place).write(edges[edge as usize]);
            self.indices.add(place).write(edge);
        }
    }

    /// Counts edges, and returns the place of the first.
    ///
    /// # Safety
    /// The status is valid for atomic access.
    #[inline(always)]
    #[cfg_attr(not(cuda_device), track_caller)]
    unsafe fn count(self, edges: u32) -> u32 {
        // SAFETY: the status is valid for atomic access (this function's contract).
        if edges > 0 { unsafe { atomic::device::fetch_add(&raw mut (*self.status).hooked, edges) } } else { 0 }
    }
}

/// The first of the edges whose first end is `vertex` or larger, if they ascend by their first ends; otherwise any. All
/// lanes of the warp come here.
#[inline(always)]
#[cfg_attr(not(cuda_device), track_caller)]
fn first_from(edges: &[I32x2], vertex: i32) -> usize {
    let (mut first, mut end) = (0, edges.len());
    while first < end {
        // The lanes look at as many edges, `step` apart.
        let step = (end - first).div_ceil(32);
        let probe = first + warp::lane_id() as usize * step;
        let before = warp::ballot(warp::FULL_MASK, probe < end && edges[probe].x < vertex).count_ones() as usize;
        if before == 0 {
            break;
        }
        (first, end) = (first + (before - 1) * step + 1, end.min(first + before * step));
    }
    first
}

/// Vertices of a window of [`start_windows()`]: its parents fit into shared memory.
pub const WINDOW: usize = 8192;

/// Threads of a block of [`start_windows()`].
pub const WINDOW_THREADS: usize = 1024;

/// Each vertex alone but for edges within its window of [`WINDOW`] vertices, if edges ascend by their first ends: a part of
/// these edges, or all. A block for each window.
///
/// In a round, each edge between two roots hooks one of them. Then all vertices find their roots, by pointer jumping: a
/// chain of any length takes its logarithm. Rounds end early; what is left over is left to [`hook()`].
///
/// # Safety
/// `parents` has `n` elements, for as many windows as there are blocks. `forest` has room for all edges of a forest, if it
/// collects them; its status is that of [`start()`], and valid for atomic access.
#[allow(clippy::needless_range_loop, reason = "loops over places unroll, and arrays stay in registers")]
#[kernel(block = [1024])]
pub unsafe fn start_windows(edges: &[I32x2], n: u32, parents: *mut i32, forest: Forest) {
    // Items of a thread, and rounds.
    const EACH: usize = WINDOW / WINDOW_THREADS;
    const ROUNDS: usize = 8;
    // A vertex's parent, and above it the edge that hooked it, counted from the window's first.
    const PARENT: u32 = WINDOW as u32 - 1;
    const SHIFT: u32 = WINDOW.ilog2();
    let (window, storage) = (shared_array![u32; WINDOW], shared_array![u32; STORAGE]);
    let (base, thread) = (thread::block_idx_x() * WINDOW as u32, thread::thread_idx_x() as usize);
    let own = |i: usize| i * WINDOW_THREADS + thread;
    // SAFETY: `vertex` is in the window at all calls.
    let load = |vertex: usize| unsafe { mem::load_relaxed_shared(window.at(vertex)) };
    for i in 0..EACH {
        // SAFETY: the vertex is this thread's, and all others wait for the barrier.
        unsafe { window.write(own(i), own(i) as u32) };
    }
    let start = first_from(edges, base as i32);
    let mut first = start;
    thread::sync_threads();
    while first < edges.len() && first + WINDOW - start <= 1 << (32 - SHIFT) {
        let end = (base + WINDOW as u32).min(n);
        let is_inside = |I32x2 { x, y }| (base..end).contains(&(x as u32)) && (base..end).contains(&(y as u32));
        let mut loaded = [I32x2::splat(-1); EACH];
        for i in 0..EACH {
            if let Some(&ends) = edges.get(first + own(i)) {
                loaded[i] = ends;
            }
        }
        // The ends within the window, in two halves of a word; 0 for an edge that isn't there.
        let mut pairs = [0; EACH];
        let mut inside = 0;
        for i in 0..EACH {
            if is_inside(loaded[i]) {
                pairs[i] = (loaded[i].x as u32 - base) << 16 | (loaded[i].y as u32 - base);
                inside += 1;
            }
        }
        for _ in 0..ROUNDS {
            let mut remains = false;
            for i in 0..EACH {
                let (a, b) = (load((pairs[i] >> 16) as usize) & PARENT, load((pairs[i] & 0xffff) as usize) & PARENT);
                if a != b {
                    let (small, large) = (a.min(b), a.max(b));
                    let edge = (first - start + own(i)) as u32;
                    // SAFETY: the root is in the window. It has its own number as long as nothing has hooked it.
                    unsafe { atomic::block::compare_exchange(window.at(large as usize), large, edge << SHIFT | small) };
                    remains = true;
                }
            }
            if !thread::sync_threads_or(remains) {
                break;
            }
            // Each thread moves its own vertices up, while all others do.
            for i in 0..EACH {
                let word = load(own(i));
                let mut parent = word & PARENT;
                let mut above = load(parent as usize) & PARENT;
                while above != parent {
                    // SAFETY: the vertex is in the window.
                    unsafe { atomic::block::fetch_min(window.at(own(i)), word & !PARENT | above) };
                    (parent, above) = (above, load(above as usize) & PARENT);
                }
            }
            thread::sync_threads();
        }
        first += WINDOW;
        // It pays while half of the threads find a quarter of their edges inside.
        if 2 * thread::sync_threads_count(inside >= EACH / 4) < WINDOW_THREADS as u32 {
            break;
        }
    }
    let mut hooked = 0;
    for i in 0..EACH {
        hooked += (load(own(i)) & PARENT != own(i) as u32) as u32;
    }
    // SAFETY: all threads of the block come here. There is a parent for each vertex, which is in one window, and a place for
    // each that was hooked (this kernel's contract).
    unsafe {
        let block = Block::with_threads(storage, WINDOW_THREADS as u32);
        let scan = block.exclusive_scan(hooked, Sum);
        let place = if thread == 0 { forest.count(scan.total) } else { 0 };
        let place = block.broadcast(place, 0) + scan.prefix;
        // The warp's edges in order of their vertices.
        let mut place = warp::shuffle_idx(warp::FULL_MASK, place, 0) as usize;
        for i in 0..EACH {
            let (vertex, word) = (base + own(i) as u32, load(own(i)));
            if vertex < n {
                parents.add(vertex as usize).write((base + (word & PARENT)) as i32);
            }
            if forest.together > 0 {
                let is_hooked = word & PARENT != own(i) as u32;
                let lanes = warp::ballot(warp::FULL_MASK, is_hooked);
                if is_hooked {
                    let before = (lanes & ((1 << warp::lane_id()) - 1)).count_ones();
                    forest.put(place + before as usize, edges, start as u32 + (word >> SHIFT));
                }
                place += lanes.count_ones() as usize;
            }
        }
    }
}

/// Threads of a block of [`hook()`].
const HOOK_THREADS: usize = 256;

/// Room for edges that wait for a lane.
const WAITING: usize = 64;

/// Room for edges of the forest that wait for a place.
const fn finding(together: u32) -> usize {
    if together > 0 { together as usize + 32 } else { 0 }
}

/// Shared memory of a block of [`hook()`] in bytes. The less there is, the more is left to the L1 cache.
pub const fn shared(together: u32) -> usize {
    HOOK_THREADS / 32 * (WAITING + finding(together)) * size_of::<u32>()
}

/// A bit for each vertex that is known to be in the largest set, or nothing.
#[derive(Clone, Copy, Debug, KernelParam)]
pub struct Largest {
    /// Words of 32 bits.
    pub words: *mut u32,
    /// Number of words.
    pub count: u32,
}

impl Largest {
    /// Returns the word that has the vertex's bit.
    ///
    /// # Safety
    /// There is a bit for the vertex, and bits are changed by atomics alone.
    #[inline(always)]
    #[cfg_attr(not(cuda_device), track_caller)]
    unsafe fn word(self, vertex: usize) -> u32 {
        // SAFETY: this function's contract.
        unsafe { mem::load_relaxed(self.words.add(vertex / 32)) }
    }

    /// Adds the other end of an edge that has one end in the set, and the root that the edge has hooked: their later edges may
    /// be within the set.
    ///
    /// # Safety
    /// There are no bits, or one for each vertex. All three are in one set.
    #[inline(always)]
    #[cfg_attr(not(cuda_device), track_caller)]
    unsafe fn join(self, u: usize, v: usize, hooked: Option<i32>) {
        if self.count == 0 {
            return;
        }
        // SAFETY: this function's contract.
        unsafe {
            let [has_u, has_v] = [u, v].map(|vertex| self.word(vertex) >> (vertex % 32) & 1 == 1);
            if has_u != has_v {
                let other = if has_u { v } else { u };
                let hooked = hooked.map_or(other, |root| root as usize);
                for vertex in [other, hooked].into_iter().take(1 + (hooked != other) as usize) {
                    atomic::device::fetch_or(self.words.add(vertex / 32), 1 << (vertex % 32));
                }
            }
        }
    }
}

/// Lists of edges that a warp keeps in shared memory.
struct Warp<'a> {
    edges: &'a [I32x2],
    parents: *mut i32,
    largest: Largest,
    forest: Forest,
    /// Edges that wait for a lane: less than [`WAITING`].
    waiting: *mut u32,
    waits: usize,
    /// Edges of the forest that wait for a place.
    found: *mut u32,
    finds: usize,
    /// Edges of the forest that have no place.
    counted: u32,
}

impl Warp<'_> {
    /// Lets an edge wait for a lane. All lanes of the warp come here.
    ///
    /// # Safety
    /// The arrays are valid for all that waits; parents are those of [`hook()`].
    #[inline(always)]
    #[cfg_attr(not(cuda_device), track_caller)]
    unsafe fn add(&mut self, edge: Option<u32>) {
        // SAFETY: the arrays are this warp's, and barriers divide its writes from its reads (this function's contract).
        unsafe {
            if !is_gpu() {
                return self.unite(edge);
            }
            self.waits = list(self.waiting, self.waits, edge);
            if self.waits >= 32 {
                self.waits -= 32;
                let edge = self.waiting.add(self.waits + warp::lane_id() as usize).read();
                warp::sync_warp(warp::FULL_MASK);
                self.unite(Some(edge));
            }
        }
    }

    /// Unites the ends of an edge per lane. All lanes of the warp come here.
    ///
    /// # Safety
    /// As [`add`](Self::add).
    #[inline(always)]
    #[cfg_attr(not(cuda_device), track_caller)]
    unsafe fn unite(&mut self, edge: Option<u32>) {
        // SAFETY: waiting edges are between vertices, and no parent is larger than its vertex; else as `add`.
        unsafe {
            let edge = edge.filter(|&edge| {
                let I32x2 { x: u, y: v } = self.edges[edge as usize];
                let hooked = unite(self.parents, u, v);
                self.largest.join(u as usize, v as usize, hooked);
                hooked.is_some()
            });
            if self.forest.together == 0 {
                self.counted += edge.is_some() as u32;
            } else if is_gpu() {
                self.finds = list(self.found, self.finds, edge);
                if self.finds >= self.forest.together as usize {
                    self.collect(self.forest.together as usize);
                }
            } else if let Some(edge) = edge {
                self.forest.put(self.forest.count(1) as usize, self.edges, edge);
            }
        }
    }

    /// Gives the last `count` edges that were found their places. All lanes of the warp come here.
    ///
    /// # Safety
    /// As [`add`](Self::add).
    #[inline(always)]
    #[cfg_attr(not(cuda_device), track_caller)]
    unsafe fn collect(&mut self, count: usize) {
        let lane = warp::lane_id() as usize;
        self.finds -= count;
        // SAFETY: these places are for this warp alone; else as `add`.
        unsafe {
            let first = if lane == 0 { self.forest.count(count as u32) } else { 0 };
            let first = warp::shuffle_idx(warp::FULL_MASK, first, 0) as usize;
            for i in (lane..count).step_by(32) {
                self.forest.put(first + i, self.edges, self.found.add(self.finds + i).read());
            }
            warp::sync_warp(warp::FULL_MASK);
        }
    }

    /// Deals with all that waits. All lanes of the warp come here.
    ///
    /// # Safety
    /// As [`add`](Self::add).
    #[inline(always)]
    #[cfg_attr(not(cuda_device), track_caller)]
    unsafe fn finish(&mut self) {
        // SAFETY: as `add`.
        unsafe {
            if !is_gpu() {
                self.forest.count(self.counted);
                return;
            }
            let lane = warp::lane_id() as usize;
            self.unite(if lane < self.waits { Some(self.waiting.add(lane).read()) } else { None });
            self.collect(self.finds);
            let counted = warp::reduce_add(warp::FULL_MASK, self.counted);
            if lane == 0 {
                self.forest.count(counted);
            }
        }
    }
}

/// Appends the lanes' edges to a list of the warp's, and returns its new length.
///
/// # Safety
/// The list has room, and is this warp's. On a GPU all lanes of the warp come here.
#[inline(always)]
#[cfg_attr(not(cuda_device), track_caller)]
unsafe fn list(list: *mut u32, length: usize, edge: Option<u32>) -> usize {
    let lanes = warp::ballot(warp::FULL_MASK, edge.is_some());
    if let Some(edge) = edge {
        let before = lanes & ((1 << warp::lane_id()) - 1);
        // SAFETY: there is room, and no other lane has this place (this function's contract).
        unsafe { list.add(length + before.count_ones() as usize).write(edge) };
    }
    warp::sync_warp(warp::FULL_MASK);
    length + lanes.count_ones() as usize
}

/// Unites the ends of edges, but for edges within the largest set, unless `largest` is empty. Counts edges from a vertex to
/// itself, and finds the first edge that isn't between vertices. Blocks of 256 threads and [`shared()`] bytes.
///
/// # Safety
/// `largest` has a bit for each vertex, or is empty, and is valid for atomic access. `parents` has `n` elements, those of
/// [`start()`] or [`start_windows()`] and of earlier edges. `forest` has room for all edges of a forest, if it collects
/// them, and its status is valid for atomic access. A block has at least the shared memory that [`shared()`] says for its
/// `together`.
#[allow(clippy::needless_range_loop, reason = "loops over places unroll, and arrays stay in registers")]
#[kernel(block = [256])]
pub unsafe fn hook(edges: &[I32x2], sample: Sample, largest: Largest, n: u32, parents: *mut i32, forest: Forest) {
    // SAFETY: the status is valid (this kernel's contract), and no thread writes this part of it meanwhile.
    if sample.step > 1 && unsafe { (*forest.status).skewed } != 0 {
        return;
    }
    let warp = if is_gpu() { warp::warp_id() as usize } else { 0 };
    // SAFETY: the block's shared memory has room for both lists of each warp (this kernel's contract).
    let (waiting, found) = unsafe {
        let waiting = dynamic_shared::<u32>().add(warp * (WAITING + finding(forest.together)));
        (waiting, waiting.add(WAITING))
    };
    let mut warp = Warp { edges, parents, largest, forest, waiting, waits: 0, found, finds: 0, counted: 0 };
    let (count, mut loops) = (sample.count as usize, 0);
    for_each_batch(count, |first| {
        let number = |i: usize| sample.edge(first + i * WIDTH);
        let mut ends = [None; BATCH];
        for i in 0..BATCH {
            if first + i * WIDTH < count {
                ends[i] = edges.get(number(i)).copied();
            }
        }
        // Anything but an edge between two vertices becomes a loop at 0.
        let mut pairs = [(0, 0); BATCH];
        for i in 0..BATCH {
            match ends[i] {
                Some(I32x2 { x: u, y: v }) if (u as u32) < n && (v as u32) < n => {
                    pairs[i] = (u as usize, v as usize);
                    loops += (u == v) as u32;
                }
                // SAFETY: the status is valid for atomic access (this kernel's contract).
                Some(_) => unsafe {
                    atomic::device::fetch_min(&raw mut (*forest.status).outside, number(i) as u32);
                },
                None => {}
            }
        }
        if n == 0 {
            return;
        }
        // All loads come before the first comparison. (A loop of long turns isn't unrolled, and arrays in it would be in
        // memory: so there is a bit for each edge.)
        let mut remain = 0u32;
        // SAFETY: all are vertices, which have parents or bits (this kernel's contract).
        unsafe {
            let mut found = [(0, 0); BATCH];
            if largest.count == 0 {
                let parent = |vertex: usize| mem::load_relaxed(parents.add(vertex)) as u32;
                for i in 0..BATCH {
                    found[i] = (parent(pairs[i].0), parent(pairs[i].1));
                }
                for i in 0..BATCH {
                    remain |= ((found[i].0 != found[i].1) as u32) << i;
                }
            } else {
                let word = |vertex: usize| largest.word(vertex);
                for i in 0..BATCH {
                    found[i] = (word(pairs[i].0), word(pairs[i].1));
                }
                for i in 0..BATCH {
                    let ((u, v), (of_u, of_v)) = (pairs[i], found[i]);
                    let is_within = of_u >> (u % 32) & of_v >> (v % 32) & 1 != 0;
                    remain |= ((u != v && !is_within) as u32) << i;
                }
            }
        }
        for i in 0..BATCH {
            // SAFETY: the arrays are this warp's, whose lanes all come by, and the edge is between vertices.
            unsafe { warp.add((remain >> i & 1 != 0).then(|| number(i) as u32)) };
        }
    });
    // SAFETY: as above; the status is valid for atomic access (this kernel's contract).
    unsafe {
        warp.finish();
        // All edges are the last sample.
        if loops > 0 && sample.step == 1 {
            atomic::device::fetch_add(&raw mut (*forest.status).loops, loops);
        }
    }
}

/// The root of a vertex's set, while no root is hooked.
///
/// # Safety
/// As [`find()`].
#[inline(always)]
#[cfg_attr(not(cuda_device), track_caller)]
unsafe fn flat(parents: *mut i32, vertex: usize) -> i32 {
    // SAFETY: these are the vertices that `vertex` leads to (this function's contract). Each vertex has its own thread,
    // and what others find meanwhile is an earlier or later parent of the same set.
    unsafe {
        let load = |vertex: i32| mem::load_relaxed(parents.add(vertex as usize));
        let parent = load(vertex as i32);
        let (mut root, mut next) = (parent, load(parent));
        while next != root {
            (root, next) = (next, load(next));
        }
        if root != parent {
            mem::store_relaxed(parents.add(vertex), root);
        }
        root
    }
}

/// Makes each vertex's root its parent. Any grid.
///
/// # Safety
/// `parents` has `n` elements, as [`hook()`] has left them.
#[kernel(max_threads = 256)]
pub unsafe fn flatten(parents: *mut i32, n: u32) {
    for vertex in thread::grid_stride(n as usize) {
        // SAFETY: parents are vertices (this kernel's contract).
        unsafe { flat(parents, vertex) };
    }
}

/// [`flatten()`], and a bit for each vertex of the set that the first ends of most of 32 edges are in. After the first sample,
/// does so only if these are more than 16 edges; after the second one, only if they were not. Any grid of whole warps.
///
/// # Safety
/// As [`flatten()`]; `largest` has a word for every 32 vertices, and `status` is valid for access. There are edges, and vertices.
#[kernel(max_threads = 256)]
pub unsafe fn flatten_largest(edges: &[I32x2], first: bool, parents: *mut i32, n: u32, largest: *mut u32, status: *mut Status) {
    // SAFETY: the status is valid (this kernel's contract), and no thread writes it unless `first`.
    if !first && unsafe { (*status).skewed } != 0 {
        return;
    }
    let lane = warp::lane_id();
    let end = edges[(((mix(lane as u64 + 1) >> 32) * edges.len() as u64) >> 32) as usize].x as u32;
    // SAFETY: the sample is of vertices, and parents are, too (this kernel's contract). A warp's vertices share a word.
    unsafe {
        let root = flat(parents, end.min(n - 1) as usize);
        let same = warp::match_any(warp::FULL_MASK, root).count_ones();
        let most = warp::reduce_max(warp::FULL_MASK, same << 5 | lane);
        let root = warp::shuffle_idx(warp::FULL_MASK, root, most & 31);
        if first {
            if most >> 5 <= 16 {
                return;
            }
            if thread::index_1d() == 0 {
                (&raw mut (*status).skewed).write(1);
            }
        }
        for vertex in thread::grid_stride((n as usize).next_multiple_of(32)) {
            let is_in = vertex < n as usize && flat(parents, vertex) == root;
            let word = warp::ballot(warp::FULL_MASK, is_in);
            if lane == 0 {
                largest.add(vertex / 32).write(word);
            }
        }
    }
}

/// Counts edges between the same two vertices as others, in whatever direction: all but one of them. Any grid.
///
/// `table` is a hash table of the edges, empty (0) at first.
///
/// # Safety
/// `table` has `mask + 1` elements, a power of two and more than there are edges, and is valid for atomic access, as
/// `repeats` is.
#[kernel(max_threads = 256)]
pub unsafe fn count_repeats(edges: &[I32x2], table: *mut u64, mask: u64, repeats: *mut u32) {
    let mut count = 0;
    for &I32x2 { x: u, y: v } in thread::grid_stride(edges.len()).map(|edge| &edges[edge]) {
        if u == v {
            continue;
        }
        // Not 0: the ends differ.
        let key = (u.min(v) as u32 as u64) << 32 | u.max(v) as u32 as u64;
        let mut place = mix(key) & mask;
        loop {
            // SAFETY: the mask keeps it in the table (this kernel's contract), which has a place left for each edge.
            let found = unsafe {
                let place = table.add(place as usize);
                match atomic::device::load(place) {
                    0 => atomic::device::compare_exchange(place, 0, key),
                    found => found,
                }
            };
            if found == 0 {
                break;
            }
            if found == key {
                count += 1;
                break;
            }
            place = (place + 1) & mask;
        }
    }
    if count > 0 {
        // SAFETY: the count is valid for atomic access (this kernel's contract).
        unsafe { atomic::device::fetch_add(repeats, count) };
    }
}
