//! Steps 2 to 4: launches their kernels, and owns their arrays.

use crate::common::Clock;
use cuda_std::{I32x4, launch::KernelInfo, warp::WARP_SIZE};
use gpu_kernels::list_rank::{
    Expected, Status, Value, binned,
    binned::{ChunksArgs, Cut},
    finish, grid, nodes,
    prepare::{self, HeadSearch, StartArgs},
    short,
    splitters::Splitters,
    walk,
};

use super::{
    Weight,
    launches::{BLOCK, WALK_BLOCK, blocks},
    level::Levels,
    options::{Options, Strategy},
};
use crate::{
    device::{Backend, Buffer, Device, DeviceError, Stream, View},
    launch,
};

/// Bytes of static shared memory that binning has beside its dynamic one: room for a scan.
const STATIC_SHARED: usize = 256;
/// The most windows.
const MAX_WINDOWS: usize = binned::BINS_PER_THREAD * binned::THREADS as usize;
/// Windows are no larger where they are put in place in shared memory.
const MAX_WINDOW_BITS: u32 = 15;
/// Binary logarithm of the most parts of a window that are put in place one by one: each reads all of the window, from
/// the L2 cache.
const MAX_SPLIT: u32 = 3;
/// Binary logarithm of the most elements whose windows are binned once more at a time. (Larger ones than the L2 cache
/// holds: fewer launches are worth more.)
const GROUP_BITS: u32 = 24;
/// Elements that the heads' sublists of one piece of work should have together, about: two chunks.
const UNIT: usize = 2 * binned::CHUNK_ELEMENTS;

/// Parameters of `binned` for a list on a device.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Plan {
    cut: Cut,
    /// Threads of a block of the partition.
    threads: u32,
    finish: Finish,
}

/// Ways of putting the results of a window in place.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Finish {
    /// In shared memory, part by part.
    Parts,
    /// Stored at once: of 4 bytes, in windows of more parts than are worth it.
    Stored,
    /// Binned once more, into windows that fit into shared memory: of 8 bytes.
    Regrouped,
}

impl Plan {
    /// Plans for `n` elements and values of `V`, if a block can have `shared` bytes of shared
    /// memory: the largest tile that leaves one for each multiprocessor, and the smallest windows
    /// that are worth it. Returns `None` if the shared memory is too small.
    pub fn new<V: Weight>(n: usize, shared: usize, multiprocessors: u32) -> Option<Self> {
        let shared = shared.checked_sub(STATIC_SHARED)?;
        let (pair, value) = (size_of::<V::Record>(), size_of::<V>());
        let vectors = [6, 4, 3, 2, 1].map(|vectors| (binned::THREADS, vectors));
        let tiles = vectors.into_iter().chain((5..10).rev().map(|bits| (1 << bits, 1)));
        for (threads, vectors) in tiles {
            let most = (binned::BINS_PER_THREAD * threads as usize).min(MAX_WINDOWS);
            let fits = (shared / value).checked_ilog2()?.min(MAX_WINDOW_BITS);
            let window_bits = (n / 256).max(1).ilog2().max(10).min(fits);
            let mut cut = Cut { n: n as u32, window_bits, part_bits: fits, vectors };
            while cut.windows() as usize > most {
                cut.window_bits += 1;
            }
            cut.part_bits = cut.window_bits.min(fits);
            let finish = match size_of::<V>() {
                _ if cut.window_bits <= cut.part_bits + MAX_SPLIT => Finish::Parts,
                4 => Finish::Stored,
                _ => Finish::Regrouped,
            };
            let plan = Plan { cut, threads, finish };
            let tile = cut.tile_elements(threads) as usize;
            let is_shared_out = n / tile >= multiprocessors as usize || threads == 32;
            let fits = tile * pair + 2 * size_of::<u32>() * most <= shared && cut.window_bits >= 2;
            if is_shared_out && fits && (finish != Finish::Regrouped || plan.group_bits() >= cut.window_bits) {
                return Some(plan);
            }
        }
        None
    }
}

/// A list to rank.
pub struct Job<'a, V: Weight> {
    pub stream: &'a Stream,
    pub options: &'a Options,
    pub next: &'a Buffer<i32>,
    pub weights: Option<&'a Buffer<V>>,
    pub heads: &'a Buffer<i32>,
    pub splitters: Splitters,
}

impl<V: Weight> Job<'_, V> {
    fn n(&self) -> usize {
        self.next.len()
    }

    /// Returns the number of lists that are walked as one piece of work.
    fn heads_per_unit(&self) -> usize {
        (UNIT * self.heads.len() / self.n()).clamp(1, UNIT)
    }

    fn expected(&self) -> Expected {
        Expected { ranked: if self.options.trusted { 0 } else { self.n() as u64 }, ends: self.heads.len() as u32 }
    }
}

/// The start of a list.
pub enum Head<'a> {
    /// At this element.
    At(i32),
    /// At the head of this list, which is to be found.
    Of(&'a Buffer<i32>),
    /// At several elements, which are known.
    Many,
}

/// Pairs for the results from `first` on.
pub struct Binned<'a, V: Weight> {
    pairs: View<'a, V::Record>,
    /// Number of pairs of each window.
    filled: View<'a, u32>,
    first: usize,
    plan: Plan,
}

/// A destination of results.
pub trait Results<V: Weight> {
    /// From a record for each element.
    fn of_records(
        &mut self,
        job: &Job<'_, V>,
        placed: &Buffer<V::Record>,
        levels: &Levels<V>,
        status: &Buffer<Status>,
    ) -> Result<(), DeviceError>;
    /// From binned pairs.
    fn of_pairs(
        &mut self,
        stream: &Stream,
        binned: Binned<'_, V>,
        status: &mut Buffer<Status>,
        expected: Expected,
    ) -> Result<(), DeviceError>;
    /// Bytes of an element's.
    const BYTES: u64;
}

/// One result for each element.
impl<V: Weight> Results<V> for &mut Buffer<V> {
    const BYTES: u64 = size_of::<V>() as u64;

    fn of_records(
        &mut self,
        job: &Job<'_, V>,
        placed: &Buffer<V::Record>,
        levels: &Levels<V>,
        status: &Buffer<Status>,
    ) -> Result<(), DeviceError> {
        let (grid, bases) = (blocks(job.n(), BLOCK), levels.bases.view(..levels.count())?);
        launch!(job.stream, finish::results::<V><<<grid, BLOCK>>>(placed, bases, &mut **self, status, job.expected()))
    }

    fn of_pairs(
        &mut self,
        stream: &Stream,
        Binned { pairs, first, plan, .. }: Binned<'_, V>,
        status: &mut Buffer<Status>,
        expected: Expected,
    ) -> Result<(), DeviceError> {
        let (grid, threads, shared) = plan.finish_launch(pairs.len(), size_of::<V>());
        let results = self.view_mut(first..first + pairs.len())?;
        // SAFETY: there are as many results as pairs; buffers are aligned to 256 bytes, and so are groups.
        unsafe {
            if plan.finish == Finish::Stored {
                launch!(stream, binned::finish_wide::<V><<<grid, threads>>>(pairs, results, &*status, expected))
            } else {
                launch!(stream, binned::finish::<V><<<grid, threads, shared>>>(pairs, results, plan.cut, &*status, expected))
            }
        }
    }
}

/// A rank and the number of a list for each element of a forest.
pub struct Lists<'a> {
    pub ranks: &'a mut Buffer<i32>,
    pub lists: &'a mut Buffer<i32>,
}

impl Results<i64> for Lists<'_> {
    const BYTES: u64 = 8;

    fn of_records(
        &mut self,
        job: &Job<'_, i64>,
        placed: &Buffer<<i64 as Value>::Record>,
        levels: &Levels<i64>,
        status: &Buffer<Status>,
    ) -> Result<(), DeviceError> {
        let (grid, bases) = (blocks(job.n(), BLOCK), levels.bases.view(..levels.count())?);
        launch!(job.stream, finish::lists<<<grid, BLOCK>>>(placed, bases, &mut *self.ranks, &mut *self.lists, status, job.expected()))
    }

    fn of_pairs(
        &mut self,
        stream: &Stream,
        Binned { pairs, filled, first, plan }: Binned<'_, i64>,
        status: &mut Buffer<Status>,
        expected: Expected,
    ) -> Result<(), DeviceError> {
        let (grid, threads, shared) = plan.finish_launch(pairs.len(), size_of::<i64>());
        let range = first..first + pairs.len();
        let (ranks, lists) = (self.ranks.view_mut(range.clone())?, self.lists.view_mut(range)?);
        // SAFETY: there are as many ranks and numbers as pairs, and a counter for each window.
        unsafe {
            launch!(stream, binned::finish_lists<<<grid, threads, shared>>>(
                pairs, ranks, lists, filled, plan.cut, status, expected
            ))
        }
    }
}

impl Plan {
    /// Returns the number of windows, including those of groups.
    pub fn windows(self) -> usize {
        self.cut.windows() as usize + self.group().map_or(0, |_| self.cut.n.div_ceil(1 << self.cut.part_bits) as usize)
    }

    /// Elements of a group of windows that are binned once more, if they are.
    pub fn group(self) -> Option<usize> {
        (self.finish == Finish::Regrouped).then_some(1 << self.group_bits())
    }

    /// Binary logarithm of that: as many bins as a block has.
    fn group_bits(self) -> u32 {
        GROUP_BITS.min(self.cut.part_bits + (binned::BINS_PER_THREAD as u32 * self.threads).ilog2())
    }

    /// Returns the plan for the `n` elements of a group.
    fn of_group(self, n: usize) -> Self {
        Plan { cut: Cut { n: n as u32, window_bits: self.cut.part_bits, ..self.cut }, finish: Finish::Parts, ..self }
    }

    /// The launch that puts results in place: grid, block and dynamic shared memory.
    fn finish_launch(self, n: usize, value: usize) -> (u32, u32, usize) {
        if self.finish == Finish::Stored {
            return (n.div_ceil(binned::wide_pairs(BLOCK)) as u32, BLOCK, 0);
        }
        let threads = (1 << self.cut.part_bits >> 2).clamp(32, binned::THREADS);
        (self.cut.n.div_ceil(1 << self.cut.part_bits), threads, value << self.cut.part_bits)
    }
}

/// The arrays of a ranking that adds up `V`.
pub struct Pipeline<V: Weight> {
    placed: Buffer<V::Record>,
    levels: Levels<V>,
    chunks: Buffer<I32x4>,
    values: Buffer<V>,
    /// Successors with their weights until they have been walked, then pairs for the windows.
    pairs: Buffer<V::Record>,
    /// The pairs of a group, binned once more.
    finer: Buffer<V::Record>,
    /// Two for the walk, then one for each window.
    counters: Buffer<u32>,
    search: Buffer<HeadSearch>,
}

impl<V: Weight> Pipeline<V> {
    pub fn new(device: &Device) -> Self {
        Pipeline {
            placed: device.empty(),
            levels: Levels::new(device),
            chunks: device.empty(),
            values: device.empty(),
            pairs: device.empty(),
            finer: device.empty(),
            counters: device.empty(),
            search: device.empty(),
        }
    }

    /// Returns the memory that the strategy `binned` would allocate, in bytes.
    pub fn missing(&self, n: usize, plan: Plan, splitters: usize, lists: usize, weighted: bool) -> usize {
        let chunks = binned::max_chunks(n, splitters + lists.min(n / UNIT + 1), splitters.min(lists));
        let more = |needed: usize, held: usize, size: usize| needed.saturating_sub(held) * size;
        let weights = if weighted { 1 } else { 0 };
        more(chunks * binned::CHUNK_VECTORS, self.chunks.capacity(), size_of::<I32x4>())
            + more(weights * chunks * binned::CHUNK_WORDS, self.values.capacity(), size_of::<V>())
            + more(n, self.pairs.capacity(), size_of::<V::Record>())
            + more(plan.group().unwrap_or(0), self.finer.capacity(), size_of::<V::Record>())
            + more(Levels::<V>::bytes(splitters), Levels::<V>::bytes(self.levels.bases.capacity()), 1)
    }

    /// Kernels of a strategy, but for those of the results.
    pub fn kernels(strategy: Strategy, weighted: bool) -> Vec<&'static KernelInfo> {
        let mut kernels = match strategy {
            Strategy::Block => return vec![short::rank::kernel::<V>()],
            Strategy::Grid => return vec![grid::rank::kernel()],
            Strategy::Binned => vec![binned::walk::kernel::<V>(), binned::partition::kernel::<V>()],
            Strategy::Packed => vec![prepare::copy_next::kernel(), walk::packed::kernel()],
            _ => vec![walk::split::kernel::<V>()],
        };
        if weighted && strategy == Strategy::Binned {
            kernels.push(binned::join::kernel::<V>());
        }
        kernels.extend([prepare::reset::kernel::<V>(), walk::nodes::kernel::<V>()]);
        kernels.extend([nodes::solve::kernel::<V>(), nodes::expand::kernel::<V>()]);
        kernels
    }

    /// Kernels of a strategy for one list, with those of its results.
    pub fn list_kernels(strategy: Strategy, weighted: bool) -> Vec<&'static KernelInfo> {
        let mut kernels = Self::kernels(strategy, weighted);
        match strategy {
            Strategy::Block | Strategy::Grid => {}
            Strategy::Binned => kernels.push(binned::finish::kernel::<V>()),
            _ => kernels.push(finish::results::kernel::<V>()),
        }
        kernels
    }

    /// Enqueues the start of a ranking: nothing is counted, and no node has a base. The buffer beside the head gets the one
    /// that is given or found; those of a forest stay.
    pub fn start(
        &mut self,
        stream: &Stream,
        splitters: Splitters,
        windows: usize,
        status: &mut Buffer<Status>,
        (heads, head): (&mut Buffer<i32>, Head<'_>),
    ) -> Result<(), DeviceError> {
        self.levels.reserve(splitters.count as usize)?;
        self.counters.ensure(2 + windows)?;
        self.begin_search(stream)?;
        let none = stream.device().empty();
        let (next, head) = match head {
            Head::At(head) => (&none, head),
            Head::Of(next) => (next, -1),
            Head::Many => (&none, -1),
        };
        let Levels { bases, visits, .. } = &mut self.levels;
        let most = bases.len().max(self.counters.len()).max(next.len() / 4);
        let grid = blocks(most, BLOCK).min(prepare::READ_BLOCKS * stream.device().info().multiprocessors);
        // SAFETY: the search, the status and the heads have an element; the search is 0, as each leaves it; buffers are
        // aligned to 256 bytes.
        unsafe {
            let start = StartArgs { next, search: &mut self.search, head, heads };
            launch!(stream, prepare::reset::<V><<<grid, BLOCK>>>(start, &mut *bases, &mut *visits, &mut self.counters, status))
        }
    }

    /// Allocates the search for a head, which starts at 0.
    fn begin_search(&mut self, stream: &Stream) -> Result<(), DeviceError> {
        if self.search.is_empty() {
            self.search.ensure(1)?;
            stream.fill_zero(&mut self.search)?;
        }
        Ok(())
    }

    /// Enqueues steps 2 to 4.
    pub fn run(
        &mut self,
        clock: &mut Clock<'_>,
        job: &Job<'_, V>,
        plan: Option<Plan>,
        status: &mut Buffer<Status>,
        mut results: impl Results<V>,
    ) -> Result<(), DeviceError> {
        match plan {
            Some(plan) => self.run_binned(clock, job, plan, status, &mut results),
            None => self.run_placed(clock, job, status, &mut results),
        }
    }

    /// All steps in one launch, for a list that fits into a block's shared memory.
    pub fn run_block(
        clock: &mut Clock<'_>,
        job: &Job<'_, V>,
        head: Option<i32>,
        status: &mut Buffer<Status>,
        results: &mut Buffer<V>,
    ) -> Result<(), DeviceError> {
        let (n, none) = (job.n(), job.stream.device().empty());
        let weight = job.weights.map_or(0, |_| size_of::<V>());
        let threads = (job.splitters.count + 1).next_multiple_of(32);
        let shared = short::list_bytes(n, weight);
        let weights = job.weights.unwrap_or(&none);
        // SAFETY: there are a thread and shared memory for each sublist, and all are different buffers.
        unsafe {
            launch!(job.stream, short::rank::<V><<<1, threads, shared>>>(
                job.next, weights, head.unwrap_or(-1), job.splitters, results, status
            ))?;
        }
        clock.end(finish_name(job), (n * (4 + weight + size_of::<V>())) as u64)
    }

    fn rank_nodes(&mut self, clock: &mut Clock<'_>, job: &Job<'_, V>, status: &mut Buffer<Status>) -> Result<(), DeviceError> {
        self.levels.rank(job.stream, job.options, status)?;
        clock.end("sublists", Levels::<V>::bytes(self.levels.count()) as u64)
    }

    fn run_placed<R: Results<V>>(
        &mut self,
        clock: &mut Clock<'_>,
        job: &Job<'_, V>,
        status: &mut Buffer<Status>,
        results: &mut R,
    ) -> Result<(), DeviceError> {
        let (stream, n, record) = (job.stream, job.n() as u64, size_of::<V::Record>() as u64);
        self.placed.ensure(job.n())?;
        let per_unit = job.heads_per_unit();
        let units = job.splitters.count as usize + job.heads.len().div_ceil(per_unit);
        let (grid, block) = match stream.device().backend() {
            Backend::Cuda => (blocks(units, WALK_BLOCK), WALK_BLOCK),
            // Each thread has many units, which it walks in turns.
            Backend::Cpu => (blocks(units, 1).min(CPU_THREADS * stream.device().info().multiprocessors), 1),
        };
        let (nodes, bases) = self.levels.nodes(job.heads, per_unit as u32, status);
        let (placed, splitters) = (&mut self.placed, job.splitters);
        let none = stream.device().empty();
        let weights = job.weights.unwrap_or(&none);
        // SAFETY: there is a record for each element, a node for each splitter, and all are different buffers.
        unsafe {
            launch!(stream, walk::split::<V><<<grid, block>>>(job.next, weights, placed, bases, nodes, splitters))?;
        }
        let weight = job.weights.map_or(0, |_| size_of::<V>() as u64);
        clock.end("walk", n * (4 + weight + record))?;
        self.rank_nodes(clock, job, status)?;
        results.of_records(job, &self.placed, &self.levels, status)?;
        clock.end(finish_name(job), n * (record + R::BYTES))
    }

    fn run_binned<R: Results<V>>(
        &mut self,
        clock: &mut Clock<'_>,
        job: &Job<'_, V>,
        plan: Plan,
        status: &mut Buffer<Status>,
        results: &mut R,
    ) -> Result<(), DeviceError> {
        let (stream, n) = (job.stream, job.n());
        let (record, per_unit) = (size_of::<V::Record>(), job.heads_per_unit());
        let splitters = job.splitters.count as usize;
        let units = splitters + job.heads.len().div_ceil(per_unit);
        let capacity = binned::max_chunks(n, units, splitters.min(job.heads.len()));
        self.chunks.ensure(capacity * binned::CHUNK_VECTORS)?;
        self.pairs.ensure(n)?;
        let weighted = if job.weights.is_some() { 1 } else { 0 };
        self.values.ensure(weighted * capacity * binned::CHUNK_WORDS)?;
        if let Some(weights) = job.weights {
            launch!(stream, binned::join::<V><<<blocks(n, BLOCK), BLOCK>>>(job.next, weights, &mut self.pairs))?;
            clock.end("join", (n * (4 + size_of::<V>() + record)) as u64)?;
        }
        let info = stream.device().info();
        let resident = info.multiprocessors * (info.max_threads_per_multiprocessor / binned::WALK_THREADS).max(1);
        let grid = blocks(units, binned::WALK_THREADS).min(resident);
        let shared = binned::walk_shared(weighted * size_of::<V>());
        let (nodes, bases) = self.levels.nodes(job.heads, per_unit as u32, status);
        let chunks = ChunksArgs {
            vectors: &mut self.chunks,
            values: &mut self.values,
            counters: &mut self.counters,
            capacity: capacity as u32,
        };
        // SAFETY: there is room for `capacity` chunks, a node for each splitter, and all are different buffers.
        unsafe {
            launch!(stream, binned::walk::<V><<<grid, binned::WALK_THREADS, shared>>>(
                job.next, self.pairs.view(..weighted * n)?, chunks, bases, nodes, job.splitters
            ))?;
        }
        let chunk_bytes = (capacity * (64 + weighted * binned::CHUNK_WORDS * size_of::<V>())) as u64;
        clock.end("walk", (n * if weighted > 0 { record } else { 4 }) as u64 + chunk_bytes)?;
        self.rank_nodes(clock, job, status)?;

        let bases = self.levels.bases.view(..splitters)?;
        let tiles = (capacity * binned::CHUNK_VECTORS).div_ceil((plan.threads * plan.cut.vectors) as usize) as u32;
        let shared = plan.cut.partition_shared(plan.threads, record);
        let (walked, filled) = self.counters.split_at_mut(2)?;
        // SAFETY: there are n pairs, and a counter for each window.
        unsafe {
            launch!(stream, binned::partition::<V><<<tiles, plan.threads, shared>>>(
                &self.chunks, &self.values, walked.as_view(), bases, &mut self.pairs, filled, plan.cut
            ))?;
        }
        clock.end("partition", chunk_bytes + (n * record) as u64)?;
        self.put_in_place(stream, plan, status, job.expected(), results)?;
        clock.end(finish_name(job), n as u64 * (record as u64 + R::BYTES))
    }

    /// Step 4b: the results, from the pairs.
    fn put_in_place<R: Results<V>>(
        &mut self,
        stream: &Stream,
        plan: Plan,
        status: &mut Buffer<Status>,
        expected: Expected,
        results: &mut R,
    ) -> Result<(), DeviceError> {
        let n = self.pairs.len();
        let (of_windows, mut rest) = self.counters.view_mut(2..)?.into_split_at_mut(plan.cut.windows() as usize)?;
        let Some(group) = plan.group() else {
            let binned = Binned { pairs: self.pairs.as_view(), filled: of_windows.as_view(), first: 0, plan };
            return results.of_pairs(stream, binned, status, expected);
        };
        self.finer.ensure(group.min(n))?;
        for first in (0..n).step_by(group) {
            let len = group.min(n - first);
            let of_group = plan.of_group(len);
            let (pairs, record) = (self.pairs.view(first..first + len)?, size_of::<V::Record>());
            let tiles = len.div_ceil(binned::INVERSE_WORDS * (plan.threads * plan.cut.vectors) as usize) as u32;
            let shared = of_group.cut.partition_shared(plan.threads, record);
            let mut of_these;
            (of_these, rest) = rest.into_split_at_mut(of_group.cut.windows() as usize)?;
            // SAFETY: there are as many finer pairs as pairs, and a counter for each window.
            unsafe {
                launch!(stream, binned::regroup::<V><<<tiles, plan.threads, shared>>>(
                    pairs, first as u32, &mut self.finer, of_these.reborrow(), of_group.cut, &*status, expected
                ))?;
            }
            let binned = Binned { pairs: self.finer.view(..len)?, filled: of_these.as_view(), first, plan: of_group };
            results.of_pairs(stream, binned, status, expected)?;
        }
        Ok(())
    }
}

/// Threads for each core of a CPU: enough that cores share them evenly.
const CPU_THREADS: u32 = 8;

fn finish_name<V: Weight>(job: &Job<'_, V>) -> &'static str {
    if job.weights.is_some() { "sums" } else { "ranks" }
}

impl Pipeline<i32> {
    /// All steps of the strategy `grid`.
    pub fn run_grid(
        &mut self,
        clock: &mut Clock<'_>,
        job: &Job<'_, i32>,
        head: Option<i32>,
        status: &mut Buffer<Status>,
        ranks: &mut Buffer<i32>,
    ) -> Result<(), DeviceError> {
        let (stream, n, splitters) = (job.stream, job.n(), job.splitters);
        let (device, sublists) = (stream.device(), splitters.count as usize + 1);
        self.placed.ensure(n)?;
        self.levels.bases.ensure(sublists)?;
        self.levels.length.ensure(sublists)?;
        self.begin_search(stream)?;
        let (kernel, multiprocessors) = (grid::rank::kernel(), device.info().multiprocessors);
        let (threads, most) = match device.backend() {
            Backend::Cuda => (grid::THREADS, device.occupancy(kernel, grid::THREADS, 0)? * multiprocessors),
            Backend::Cpu => (WARP_SIZE, multiprocessors),
        };
        let (Levels { bases, length, .. }, search) = (&mut self.levels, &mut self.search);
        let arrays = grid::ArraysArgs { placed: &mut self.placed, before: bases, lengths: length, search, ranks, status };
        let blocks = blocks(n, threads).min(most);
        // SAFETY: so many blocks run at once; each element has a record and a rank, and each sublist a record and a length.
        unsafe {
            launch!(stream, grid::rank<<<blocks, threads>>>(job.next, head.unwrap_or(-1), splitters, arrays, job.expected()))?
        };
        clock.end("ranks", n as u64 * 24)
    }

    /// Steps 1 to 4 of the strategy `packed`.
    pub fn run_packed(
        &mut self,
        clock: &mut Clock<'_>,
        job: &Job<'_, i32>,
        status: &mut Buffer<Status>,
        mut ranks: &mut Buffer<i32>,
    ) -> Result<(), DeviceError> {
        let (stream, n, splitters) = (job.stream, job.n(), job.splitters);
        self.placed.ensure(n)?;
        launch!(stream, prepare::copy_next<<<blocks(n, BLOCK), BLOCK>>>(job.next, &mut self.placed))?;
        clock.end("copy", n as u64 * 12)?;
        let grid = blocks(splitters.count as usize + 1, WALK_BLOCK);
        let (nodes, bases) = self.levels.nodes(job.heads, 1, status);
        // SAFETY: there is a record for each element, a node for each splitter, and all are different buffers.
        unsafe { launch!(stream, walk::packed<<<grid, WALK_BLOCK>>>(&mut self.placed, n as u32, bases, nodes, splitters))? };
        clock.end("walk", n as u64 * 16)?;
        self.rank_nodes(clock, job, status)?;
        ranks.of_records(job, &self.placed, &self.levels, status)?;
        clock.end("ranks", n as u64 * 12)
    }

    /// `order[ranks[i]] = i`, or `values[i]` where there are values, by way of windows.
    pub fn invert(
        &mut self,
        stream: &Stream,
        ranks: &Buffer<i32>,
        values: &Buffer<i32>,
        plan: Plan,
        status: &mut Buffer<Status>,
        mut order: &mut Buffer<i32>,
    ) -> Result<(), DeviceError> {
        let n = ranks.len();
        self.pairs.ensure(n)?;
        self.counters.ensure(2 + plan.windows())?;
        status.ensure(1)?;
        stream.fill_zero(&mut self.counters)?;
        let filled = self.counters.view_mut(2..)?;
        let tiles = n.div_ceil(binned::INVERSE_WORDS * (plan.threads * plan.cut.vectors) as usize) as u32;
        let shared = plan.cut.partition_shared(plan.threads, size_of::<cuda_std::U32x2>());
        // SAFETY: there are n pairs, and a counter for each window.
        unsafe {
            launch!(stream, binned::invert<<<tiles, plan.threads, shared>>>(
                ranks, values, &mut self.pairs, filled, plan.cut
            ))?;
        }
        self.put_in_place(stream, plan, status, Expected { ranked: 0, ends: 0 }, &mut order)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use bytemuck::Zeroable;

    /// Pairs of an earlier ranking may fill a place that this one has left empty.
    #[test]
    fn windows_with_other_pairs_than_elements_are_counted() {
        let device = Device::best().unwrap();
        let stream = device.stream().unwrap();
        let plan = Plan { cut: Cut { n: 7, window_bits: 2, part_bits: 1, vectors: 1 }, threads: 32, finish: Finish::Parts };
        let pair = |element: i32| i64::record(element, i64::head(1).plus(i64::count(element)));
        let none = i64::record(-1, 0);
        let all = [1, 0, 3, 2, 6, 5, 4].map(pair);
        let without_5 = [all[0], all[1], all[2], all[3], all[4], none, all[6]];
        for (pairs, filled, missing) in [(all, [4, 3], 0), (all, [4, 2], 2), (all, [5, 3], 2), (without_5, [4, 3], 1)] {
            let (pairs, filled) = (device.upload(&pairs).unwrap(), device.upload(&filled).unwrap());
            let (mut ranks, mut lists) = (device.alloc(7).unwrap(), device.alloc(7).unwrap());
            let mut status = device.upload(&[Status { ranked: 7, ends: 1, ..Status::zeroed() }]).unwrap();
            let expected = Expected { ranked: 7, ends: 1 };
            let binned = Binned { pairs: pairs.as_view(), filled: filled.as_view(), first: 0, plan };
            let mut results = Lists { ranks: &mut ranks, lists: &mut lists };
            results.of_pairs(&stream, binned, &mut status, expected).unwrap();
            assert_eq!(stream.download_vec(&status).unwrap()[0].missing, missing);
            if missing == 0 {
                assert_eq!(stream.download_vec(&ranks).unwrap(), [0, 1, 2, 3, 4, 5, 6]);
                assert_eq!(stream.download_vec(&lists).unwrap(), [1; 7]);
            }
        }
    }
}
