//! The pipeline: what is launched, in which order, on which arrays.

use bytemuck::Pod;
use cuda_std::I32x4;
use gpu_kernels::list_rank::{Status, binned, finish, nodes, nodes::BasesArgs, prepare, splitters::Splitters, walk};

use super::{ListError, Options, Scan, SplitterRule, Strategy, Weight, check, level::Level, scan};
use crate::{
    collectives::{ScanWorkspace, exclusive_scan},
    device::{Backend, Buffer, Device, DeviceError, Event, LaunchConfig, Stream},
    launch,
};

/// Bytes of static shared memory that binning has beside its dynamic one: room for a scan.
const BINS_STATIC_SHARED: usize = 256;

/// Threads of a block where there is one an element.
const BLOCK: u32 = 256;
/// Threads of a block in the walks: small, so that a block ends soon after its longest sublist.
const WALK_BLOCK: u32 = 128;

/// Blocks for one thread per element.
fn blocks(n: usize, block: u32) -> u32 {
    LaunchConfig::for_elements(n, block).grid.x
}

/// One step of a ranking.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct StepTime {
    /// What it did.
    pub name: &'static str,
    /// How long it took, in ms; 0 where the ranker doesn't measure.
    pub ms: f64,
    /// The bytes that it must move: each array element that is read or written, once.
    pub bytes: u64,
}

/// How a ranking went.
#[derive(Clone, Debug, PartialEq)]
pub struct Report {
    /// The number of elements.
    pub n: usize,
    /// The number of sublists.
    pub sublists: usize,
    /// The strategy, decided.
    pub strategy: Strategy,
    /// The head, found or given; unknown (-1) to a trusted ranker that found it on the device.
    pub head: i32,
    /// Its steps in order.
    pub steps: Vec<StepTime>,
}

impl Report {
    /// All steps together, in ms.
    pub fn total_ms(&self) -> f64 {
        self.steps.iter().map(|step| step.ms).sum()
    }
}

/// What a forest was found to be.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Forest {
    /// How many lists. They are numbered by their heads' indices, ascending.
    pub lists: usize,
    /// How the ranking went.
    pub report: Report,
}

/// Ranks lists on one device, and keeps its arrays from call to call: ranking lists of one length again allocates
/// nothing.
///
/// `V` is what it adds up: `i32` for ranks, or the weights' type. All arrays and streams must be of the ranker's
/// device.
pub struct ListRanker<V: Weight = i32> {
    device: Device,
    options: Options,
    placed: Buffer<V::Placed>,
    levels: Vec<Level<V>>,
    heads: Buffer<i32>,
    status: Buffer<Status>,
    successor_sum: Buffer<i64>,
    bins: Bins,
    jumps: Option<Jumps<V>>,
    scan: Option<ScanWorkspace>,
}

/// The arrays of the strategy `binned`.
struct Bins {
    chunks: Buffer<I32x4>,
    chunk_count: Buffer<u32>,
    pairs: Buffer<binned::Pair>,
    filled: Buffer<u32>,
}

/// What pointer jumping needs beyond a level's arrays.
pub(super) struct Jumps<V: Pod> {
    pub(super) predecessor: [Buffer<i32>; 2],
    pub(super) length: Buffer<i32>,
    pub(super) sum: Buffer<V>,
    pub(super) labels: Buffer<i32>,
    marked: Buffer<u32>,
    counts: Buffer<u32>,
    places: Buffer<u32>,
}

/// Marks the ends of steps on a stream.
struct Clock<'s> {
    stream: &'s Stream,
    timed: bool,
    marks: Vec<(&'static str, u64, Option<Event>)>,
}

impl<'s> Clock<'s> {
    fn start(stream: &'s Stream, timed: bool) -> Result<Self, DeviceError> {
        let mut clock = Clock { stream, timed, marks: Vec::new() };
        clock.end("", 0)?;
        Ok(clock)
    }

    /// What was enqueued since the last mark was step `name`.
    fn end(&mut self, name: &'static str, bytes: u64) -> Result<(), DeviceError> {
        let event = if self.timed { Some(self.stream.record()?) } else { None };
        self.marks.push((name, bytes, event));
        Ok(())
    }

    fn steps(self) -> Result<Vec<StepTime>, DeviceError> {
        self.marks
            .windows(2)
            .map(|pair| {
                let (name, bytes, end) = &pair[1];
                let ms = match (&pair[0].2, end) {
                    (Some(start), Some(end)) => end.elapsed_ms(start)?,
                    _ => 0.0,
                };
                Ok(StepTime { name, ms, bytes: *bytes })
            })
            .collect()
    }
}

impl<V: Weight> ListRanker<V> {
    /// A ranker on `device`. Arrays are allocated at the first call.
    pub fn new(device: &Device, options: Options) -> Self {
        ListRanker {
            device: device.clone(),
            options,
            placed: device.empty(),
            levels: Vec::new(),
            heads: device.empty(),
            status: device.empty(),
            successor_sum: device.empty(),
            bins: Bins { chunks: device.empty(), chunk_count: device.empty(), pairs: device.empty(), filled: device.empty() },
            jumps: None,
            scan: None,
        }
    }

    /// How it ranks.
    pub fn options(&self) -> &Options {
        &self.options
    }

    /// How many elements a group of splitters has: the device's threads times four have one each, unless there would be
    /// few elements for each.
    fn group(&self, n: usize) -> u32 {
        let sublists = match (self.options.sublists, self.device.backend()) {
            (Some(sublists), _) => return (n / sublists.max(1) as usize).clamp(2, 1 << 30) as u32,
            (None, Backend::Cuda) => {
                let info = self.device.info();
                4 * (info.multiprocessors * info.max_threads_per_multiprocessor) as usize
            }
            // Threads cost a core a few nanoseconds each; the more there are, the more evenly the cores share.
            (None, Backend::Cpu) => 256 * self.device.info().multiprocessors as usize,
        };
        (n / sublists).clamp(16, 1 << 30) as u32
    }

    /// The splitters of `n` elements, of which `heads` start lists.
    fn splitters(&self, n: usize, heads: usize) -> Splitters {
        splitters(&self.options, n, heads, self.group(n))
    }

    /// The exclusive prefix sums of `weights` along the list: `sums[i]` is the sum of the weights of all elements
    /// before `i`.
    ///
    /// All arrays have `n` elements. Integers wrap. Floating-point sums are formed sublist by sublist: the order of
    /// additions, and so the result to the last bit, depends on the number of sublists, the splitters and their seed,
    /// and on nothing else.
    ///
    /// # Errors
    /// Where the list is not one, lengths differ, or the device fails.
    pub fn prefix_sums(
        &mut self,
        stream: &Stream,
        next: &Buffer<i32>,
        head: Option<i32>,
        weights: &Buffer<V>,
        sums: &mut Buffer<V>,
    ) -> Result<Report, ListError> {
        same_length("weights", weights.len(), next.len())?;
        same_length("sums", sums.len(), next.len())?;
        let (n, size) = (next.len() as u64, size_of::<V>() as u64);
        let placed_size = size_of::<V::Placed>() as u64;
        self.run(stream, next, head, Strategy::Split, |ranker, clock, splitters| {
            ranker.placed.ensure(next.len())?;
            let Self { placed, heads, levels, status, .. } = ranker;
            let grid = blocks(levels[0].count, WALK_BLOCK);
            // SAFETY: weights and records are as many as elements, and `run` has made room for the level's nodes.
            unsafe {
                launch!(stream, walk::weighted::<V><<<grid, WALK_BLOCK>>>(
                    next, weights, placed, levels[0].nodes(heads, status), splitters
                ))?;
            }
            clock.end("walk", n * (4 + size + placed_size))?;
            ranker.rank_nodes(stream, clock)?;
            let (grid, expected) = (blocks(next.len(), BLOCK), ranker.expected(next.len()));
            let base = &ranker.levels[0].base_sum;
            launch!(stream, finish::sums::<V><<<grid, BLOCK>>>(&ranker.placed, base, sums, &ranker.status, expected))?;
            clock.end("sums", n * (placed_size + size))
        })
    }

    /// Everything that a ranking of one list has around its `steps`: the arrays, the head, the check and the report.
    fn run(
        &mut self,
        stream: &Stream,
        next: &Buffer<i32>,
        head: Option<i32>,
        strategy: Strategy,
        steps: impl FnOnce(&mut Self, &mut Clock<'_>, Splitters) -> Result<(), DeviceError>,
    ) -> Result<Report, ListError> {
        let n = next.len();
        check_length(n)?;
        if let Some(head) = head
            && !usize::try_from(head).is_ok_and(|head| head < n)
        {
            return Err(ListError::HeadOutOfRange { head, n });
        }
        if n == 0 {
            return Ok(Report { n, sublists: 0, strategy, head: -1, steps: Vec::new() });
        }
        let splitters = self.splitters(n, 1);
        let sublists = splitters.count as usize + 1;
        self.reserve(sublists, 1)?;
        let mut clock = Clock::start(stream, self.options.timed)?;
        self.find_head(stream, next, head)?;
        if head.is_none() {
            clock.end("head", 4 * n as u64)?;
        }
        steps(self, &mut clock, splitters)?;

        let mut found = head.unwrap_or(-1);
        if !self.options.trusted {
            let status = self.status(stream)?;
            found = status.head;
            if !is_complete(&status, n) {
                check::diagnose(&stream.download_vec(next)?, head)?;
                return Err(ListError::Miscounted { ranked: status.ranked, n });
            }
        }
        Ok(Report { n, sublists, strategy, head: found, steps: clock.steps()? })
    }

    /// Makes the arrays large enough for `nodes` sublists.
    fn reserve(&mut self, nodes: usize, heads: usize) -> Result<(), DeviceError> {
        self.heads.ensure(heads)?;
        self.status.ensure(1)?;
        self.successor_sum.ensure(1)?;
        self.reserve_level(0, nodes, heads)
    }

    pub(super) fn reserve_level(&mut self, index: usize, nodes: usize, heads: usize) -> Result<(), DeviceError> {
        if self.levels.len() == index {
            self.levels.push(Level::new(&self.device));
        }
        self.levels[index].reserve(nodes, heads)
    }

    fn find_head(&mut self, stream: &Stream, next: &Buffer<i32>, head: Option<i32>) -> Result<(), DeviceError> {
        // SAFETY: both buffers have an element.
        unsafe { launch!(stream, prepare::reset<<<1, 32>>>(&mut self.status, &mut self.heads, head.unwrap_or(-1)))? };
        if head.is_none() {
            stream.fill_zero(&mut self.successor_sum)?;
            let grid = blocks(next.len(), BLOCK).min(16 * self.device.info().multiprocessors);
            // SAFETY: the sum is one buffer's only element, and blocks are whole warps.
            unsafe { launch!(stream, prepare::sum_successors<<<grid, BLOCK>>>(next, &mut self.successor_sum))? };
            let n = next.len() as u32;
            // SAFETY: all buffers have an element.
            unsafe { launch!(stream, prepare::set_head<<<1, 32>>>(&self.successor_sum, n, &mut self.status, &mut self.heads))? };
        }
        Ok(())
    }

    /// Step 3 for one list: ranks the nodes of the first level, and adds up what was reached.
    fn rank_nodes(&mut self, stream: &Stream, clock: &mut Clock<'_>) -> Result<(), DeviceError> {
        match self.options.scan {
            Scan::Device => {
                let last = self.solve_levels(stream)?;
                if !self.options.trusted {
                    let head_root = std::mem::replace(&mut self.levels[last].heads, self.device.empty());
                    let result = self.tally(stream, &head_root);
                    self.levels[last].heads = head_root;
                    result?;
                }
            }
            Scan::Host => scan::on_host(stream, &mut self.levels[0], &mut self.status)?,
        }
        let nodes = self.levels[0].count as u64;
        clock.end("sublists", nodes * (4 + 4 + size_of::<V>() as u64) * 2)
    }

    /// Ranks the first level's nodes recursively; returns which level was solved by one block.
    fn solve_levels(&mut self, stream: &Stream) -> Result<usize, DeviceError> {
        /// Nodes per group, level by level: walks stay a few dozen steps long, and levels few.
        const GROUP: u32 = 16;
        let mut index = 0;
        while self.levels[index].count > nodes::SOLVE_NODES {
            let count = self.levels[index].count;
            let splitters = Splitters::hashed(count as u32, GROUP, self.options.seed);
            self.reserve_level(index + 1, splitters.count as usize + 1, 1)?;
            let (lower, upper) = self.levels.split_at_mut(index + 1);
            let (lower, upper) = (&mut lower[index], &mut upper[0]);
            lower.reserve_walk()?;
            // What no walk reaches must not look reached.
            stream.fill_u32(&mut lower.sublist, u32::MAX)?;
            let grid = blocks(upper.count, WALK_BLOCK);
            let (lower, heads) = lower.lower();
            // SAFETY: both levels have room for their nodes, which for the upper are the splitters and a head.
            unsafe {
                launch!(stream, walk::nodes::<V><<<grid, WALK_BLOCK>>>(
                    lower, upper.nodes(heads, &mut self.status), splitters
                ))?;
            }
            index += 1;
        }
        let Level { next, length, sum, base_length, base_sum, root, .. } = &mut self.levels[index];
        let bases = BasesArgs { length: base_length, sum: base_sum, root };
        let shared = nodes::solve_shared(size_of::<V>());
        // SAFETY: the level's arrays have its number of nodes.
        unsafe { launch!(stream, nodes::solve::<V><<<1, nodes::SOLVE_THREADS, shared>>>(&*next, &*length, &*sum, bases))? };
        for lower in (0..index).rev() {
            let (below, above) = self.levels.split_at_mut(lower + 1);
            let (lower, upper) = (&mut below[lower], &above[0]);
            let bases = BasesArgs { length: &mut lower.base_length, sum: &mut lower.base_sum, root: &mut lower.root };
            let grid = blocks(lower.count, BLOCK);
            // SAFETY: the lower level was walked, so that its arrays have its number of nodes.
            unsafe {
                launch!(stream, nodes::expand::<V><<<grid, BLOCK>>>(
                    &lower.sublist, &lower.length_offset, &lower.sum_offset, &upper.base_length, &upper.base_sum, &upper.root, bases
                ))?;
            }
        }
        Ok(index)
    }

    /// Adds up the elements on the lists of the first level whose root is in `roots`, or of all lists where that is
    /// empty.
    fn tally(&mut self, stream: &Stream, roots: &Buffer<i32>) -> Result<(), DeviceError> {
        let level = &self.levels[0];
        let grid = blocks(level.count, BLOCK);
        // SAFETY: the level's arrays have one length; the status is changed by atomics.
        unsafe {
            launch!(stream, nodes::tally<<<grid, BLOCK>>>(
                &level.next, &level.length, &level.base_length, &level.root, roots, &mut self.status
            ))
        }
    }

    /// How many elements step 4 wants to be ranked, for it to do anything: all `n`, or 0 for a trusted list.
    fn expected(&self, n: usize) -> u64 {
        if self.options.trusted { 0 } else { n as u64 }
    }

    fn status(&self, stream: &Stream) -> Result<Status, DeviceError> {
        let mut status = [bytemuck::Zeroable::zeroed()];
        stream.download(&self.status, &mut status)?;
        Ok(status[0])
    }
}

impl ListRanker<i32> {
    /// Ranks a list: `ranks[i]` is how many elements come before `i`.
    ///
    /// `next` and `ranks` have `n` elements; `head` is the first element, found where it isn't given.
    ///
    /// # Errors
    /// Where the list is not one (the error names the first offending element), lengths differ, or the device fails.
    pub fn rank(
        &mut self,
        stream: &Stream,
        next: &Buffer<i32>,
        head: Option<i32>,
        ranks: &mut Buffer<i32>,
    ) -> Result<Report, ListError> {
        same_length("ranks", ranks.len(), next.len())?;
        let strategy = self.strategy(next.len())?;
        let n = next.len() as u64;
        self.run(stream, next, head, strategy, |ranker, clock, splitters| {
            if strategy == Strategy::Binned {
                return ranker.rank_binned(stream, next, splitters, clock, ranks);
            }
            ranker.placed.ensure(next.len())?;
            if strategy == Strategy::Packed {
                let grid = blocks(next.len(), BLOCK);
                launch!(stream, prepare::copy_next<<<grid, BLOCK>>>(next, &mut ranker.placed))?;
                clock.end("copy", n * 12)?;
            }
            ranker.walk(stream, next, splitters, strategy)?;
            clock.end("walk", n * if strategy == Strategy::Packed { 16 } else { 12 })?;
            ranker.rank_nodes(stream, clock)?;
            ranker.finish(stream, ranks)?;
            clock.end("ranks", n * 12)
        })
    }

    /// The strategy for `n` elements on this device.
    fn strategy(&self, n: usize) -> Result<Strategy, ListError> {
        /// Below, `next` fits into the L2 cache of a large GPU, or launches dominate.
        const WORTH_BINNING: usize = 1 << 23;
        let info = self.device.info();
        let shared = binned::PARTITION_SHARED + BINS_STATIC_SHARED;
        let against = if n > binned::MAX_WINDOWS * binned::WINDOW {
            Some("it bins at most 2^27 elements")
        } else if info.max_shared_per_block < shared {
            Some("a block can't have the 145 KiB of shared memory that it bins in")
        } else {
            None
        };
        match (self.options.strategy, against) {
            (Strategy::Auto, None) if n >= WORTH_BINNING && info.backend == Backend::Cuda => Ok(Strategy::Binned),
            (Strategy::Auto, _) => Ok(Strategy::Split),
            (Strategy::Binned, Some(reason)) => {
                Err(ListError::Unsuitable { strategy: "binned", n, device: self.device.to_string(), reason })
            }
            (strategy, _) => Ok(strategy),
        }
    }

    /// Steps 2 to 4 of the strategy `binned`.
    fn rank_binned(
        &mut self,
        stream: &Stream,
        next: &Buffer<i32>,
        splitters: Splitters,
        clock: &mut Clock<'_>,
        ranks: &mut Buffer<i32>,
    ) -> Result<(), DeviceError> {
        let n = next.len();
        let windows = n.div_ceil(binned::WINDOW);
        let capacity = binned::max_chunks(n, self.levels[0].count);
        self.bins.chunks.ensure(capacity * binned::CHUNK_VECTORS)?;
        self.bins.chunk_count.ensure(1)?;
        self.bins.pairs.ensure(n)?;
        self.bins.filled.ensure(windows)?;
        stream.fill_zero(&mut self.bins.chunk_count)?;
        stream.fill_zero(&mut self.bins.filled)?;
        let (level, bins) = (&mut self.levels[0], &mut self.bins);
        let grid = blocks(level.count, WALK_BLOCK);
        // SAFETY: `chunks` has room for `capacity` chunks, the node arrays hold count + heads, and all are different
        // buffers.
        unsafe {
            launch!(stream, binned::walk<<<grid, WALK_BLOCK>>>(
                next, &mut bins.chunks, &mut bins.chunk_count, capacity as u32, level.nodes(&self.heads, &mut self.status),
                splitters
            ))?;
        }
        let chunk_bytes = (capacity * binned::CHUNK_VECTORS * size_of::<I32x4>()) as u64;
        clock.end("walk", 4 * n as u64 + chunk_bytes)?;
        self.rank_nodes(stream, clock)?;

        let expected = self.expected(n);
        let (level, bins) = (&self.levels[0], &mut self.bins);
        let tiles = capacity.div_ceil(binned::TILE_CHUNKS) as u32;
        // SAFETY: `pairs` has n pairs, `filled` one counter per window.
        unsafe {
            launch!(stream, binned::partition<<<tiles, binned::THREADS, binned::PARTITION_SHARED>>>(
                &bins.chunks, &bins.chunk_count, &level.base_sum, &mut bins.pairs, &mut bins.filled, windows as u32, n as u32
            ))?;
        }
        clock.end("partition", chunk_bytes + 8 * n as u64)?;
        // SAFETY: `ranks` has as many elements as `pairs`, and buffers are aligned to 256 bytes.
        unsafe {
            launch!(stream, binned::finish<<<windows as u32, binned::THREADS, binned::FINISH_SHARED>>>(
                &bins.pairs, ranks, &self.status, expected
            ))?;
        }
        clock.end("ranks", 12 * n as u64)
    }

    fn walk(&mut self, stream: &Stream, next: &Buffer<i32>, splitters: Splitters, strategy: Strategy) -> Result<(), DeviceError> {
        let (n, level) = (next.len() as u32, &mut self.levels[0]);
        let grid = blocks(level.count, WALK_BLOCK);
        let nodes = level.nodes(&self.heads, &mut self.status);
        // SAFETY: `placed` holds n records, the node arrays count + heads, and all are different buffers.
        unsafe {
            match strategy {
                Strategy::Packed => {
                    launch!(stream, walk::packed<<<grid, WALK_BLOCK>>>(&mut self.placed, n, nodes, splitters))
                }
                _ => launch!(stream, walk::split<<<grid, WALK_BLOCK>>>(next, &mut self.placed, nodes, splitters)),
            }
        }
    }

    fn finish(&mut self, stream: &Stream, ranks: &mut Buffer<i32>) -> Result<(), DeviceError> {
        let expected = self.expected(ranks.len());
        let grid = blocks(ranks.len().div_ceil(finish::RANKS_PER_THREAD), BLOCK);
        // SAFETY: `ranks` is as long as `placed`, and buffers are aligned to 256 bytes.
        unsafe {
            launch!(stream, finish::ranks<<<grid, BLOCK>>>(
                &self.placed, &self.levels[0].base_sum, ranks, &self.status, expected
            ))
        }
    }

    /// The list's order from its ranks: `order[r]` is the element of rank `r`.
    ///
    /// # Errors
    /// Where the lengths differ, or the device fails.
    pub fn order(&self, stream: &Stream, ranks: &Buffer<i32>, order: &mut Buffer<i32>) -> Result<(), ListError> {
        same_length("order", order.len(), ranks.len())?;
        let grid = blocks(ranks.len(), BLOCK);
        // SAFETY: `order` is as long as `ranks`.
        unsafe { launch!(stream, finish::order<<<grid, BLOCK>>>(ranks, order))? };
        Ok(())
    }

    /// Ranks a forest of lists: `ranks[i]` is how many elements come before `i` on its list, `lists[i]` the number of
    /// that list. Lists are numbered by their heads' indices, ascending.
    ///
    /// `next`, `ranks` and `lists` have `n` elements; each tail is -1. The sublists are ranked by pointer jumping.
    ///
    /// # Errors
    /// Where an element has two predecessors or lies on a cycle (the error names the first such), lengths differ, or
    /// the device fails.
    pub fn forest(
        &mut self,
        stream: &Stream,
        next: &Buffer<i32>,
        ranks: &mut Buffer<i32>,
        lists: &mut Buffer<i32>,
    ) -> Result<Forest, ListError> {
        let n = next.len();
        same_length("ranks", ranks.len(), n)?;
        same_length("lists", lists.len(), n)?;
        check_length(n)?;
        if n == 0 {
            return Ok(Forest {
                lists: 0,
                report: Report { n, sublists: 0, strategy: Strategy::Split, head: -1, steps: Vec::new() },
            });
        }
        let mut clock = Clock::start(stream, self.options.timed)?;
        let heads = self.find_heads(stream, next)?;
        clock.end("heads", 4 * n as u64 + n as u64 / 8)?;
        let splitters = self.splitters(n, heads);
        let sublists = splitters.count as usize + heads;
        self.placed.ensure(n)?;
        self.reserve(sublists, heads)?;
        self.walk(stream, next, splitters, Strategy::Split)?;
        clock.end("walk", 12 * n as u64)?;
        self.jump(stream, sublists)?;
        if !self.options.trusted {
            let none = self.device.empty();
            self.tally(stream, &none)?;
        }
        clock.end("sublists", 24 * sublists as u64)?;
        self.finish(stream, ranks)?;
        let (grid, expected) = (blocks(n, BLOCK), self.expected(n));
        launch!(stream, finish::lists<<<grid, BLOCK>>>(&self.placed, &self.levels[0].root, lists, &self.status, expected))?;
        clock.end("ranks", 24 * n as u64)?;
        if !self.options.trusted {
            let status = self.status(stream)?;
            if !is_complete(&status, n) {
                check::diagnose_forest(&stream.download_vec(next)?)?;
                return Err(ListError::Miscounted { ranked: status.ranked, n });
            }
        }
        Ok(Forest { lists: heads, report: Report { n, sublists, strategy: Strategy::Split, head: -1, steps: clock.steps()? } })
    }

    /// Finds the elements without predecessor; returns how many.
    fn find_heads(&mut self, stream: &Stream, next: &Buffer<i32>) -> Result<usize, DeviceError> {
        let n = next.len();
        let words = n.div_ceil(32);
        self.reserve(1, 1)?;
        let jumps = self.jumps.get_or_insert_with(|| Jumps::new(&self.device));
        jumps.marked.ensure(words)?;
        jumps.counts.ensure(words)?;
        jumps.places.ensure(words)?;
        // SAFETY: both buffers have an element.
        unsafe { launch!(stream, prepare::reset<<<1, 32>>>(&mut self.status, &mut self.heads, -1))? };
        stream.fill_zero(&mut jumps.marked)?;
        let (per_element, per_word) = (blocks(n, BLOCK), blocks(words, BLOCK));
        // SAFETY: the bitmap has a bit for each element.
        unsafe { launch!(stream, prepare::mark_successors<<<per_element, BLOCK>>>(next, &mut jumps.marked, &mut self.status))? };
        launch!(stream, prepare::count_heads<<<per_word, BLOCK>>>(&jumps.marked, n as u32, &mut jumps.counts))?;
        let workspace = match &mut self.scan {
            Some(workspace) => workspace,
            none => none.insert(ScanWorkspace::new(&self.device)?),
        };
        exclusive_scan(stream, &jumps.counts, &mut jumps.places, workspace)?;
        let (mut count, mut place) = ([0], [0]);
        stream.download(jumps.counts.view(words - 1..)?, &mut count)?;
        stream.download(jumps.places.view(words - 1..)?, &mut place)?;
        let heads = (count[0] + place[0]) as usize;
        self.heads.ensure(heads)?;
        // SAFETY: there are as many heads as the scan counted.
        unsafe {
            launch!(stream, prepare::collect_heads<<<per_word, BLOCK>>>(&jumps.marked, n as u32, &jumps.places, &mut self.heads))?
        };
        Ok(heads)
    }

    /// Step 3 for a forest: pointer jumping over the first level's nodes.
    fn jump(&mut self, stream: &Stream, count: usize) -> Result<(), DeviceError> {
        let jumps = self.jumps.get_or_insert_with(|| Jumps::new(&self.device));
        jumps.reserve(count)?;
        let level = &mut self.levels[0];
        let grid = blocks(count, BLOCK);
        let [from, to] = &mut jumps.predecessor;
        launch!(stream, nodes::identity<<<grid, BLOCK>>>(&mut *from))?;
        // SAFETY: as many predecessors as nodes.
        unsafe { launch!(stream, nodes::find_predecessors<<<grid, BLOCK>>>(&level.next, &mut *from))? };
        // SAFETY: predecessors are nodes, and as many as the level's.
        unsafe {
            launch!(stream, nodes::first_jump::<i32><<<grid, BLOCK>>>(
                &*from, &level.length, &level.sum, &mut level.base_length, &mut level.base_sum
            ))?;
        }
        let rounds = usize::BITS - (count - 1).leading_zeros();
        for _ in 0..rounds {
            // SAFETY: all have `count` elements, and predecessors are nodes.
            unsafe {
                launch!(stream, nodes::jump::<i32><<<grid, BLOCK>>>(
                    &*from, &level.base_length, &level.base_sum, &mut *to, &mut jumps.length, &mut jumps.sum
                ))?;
            }
            std::mem::swap(from, to);
            std::mem::swap(&mut level.base_length, &mut jumps.length);
            std::mem::swap(&mut level.base_sum, &mut jumps.sum);
        }
        stream.fill_u32(&mut jumps.labels, u32::MAX)?;
        let per_head = blocks(level.heads.len(), BLOCK);
        // SAFETY: as many labels as nodes.
        unsafe { launch!(stream, nodes::label_heads<<<per_head, BLOCK>>>(&level.heads, &mut jumps.labels, count as u32))? };
        launch!(stream, nodes::label<<<grid, BLOCK>>>(&*from, &jumps.labels, &mut level.root))
    }
}

impl<V: Pod> Jumps<V> {
    fn new(device: &Device) -> Self {
        Jumps {
            predecessor: [device.empty(), device.empty()],
            length: device.empty(),
            sum: device.empty(),
            labels: device.empty(),
            marked: device.empty(),
            counts: device.empty(),
            places: device.empty(),
        }
    }

    fn reserve(&mut self, nodes: usize) -> Result<(), DeviceError> {
        for predecessor in &mut self.predecessor {
            predecessor.ensure(nodes)?;
        }
        self.length.ensure(nodes)?;
        self.sum.ensure(nodes)?;
        self.labels.ensure(nodes)
    }
}

/// The splitters of `n` elements, one for each `group` of them, or fewer: with the heads they are the nodes, which an
/// i32 numbers.
fn splitters(options: &Options, n: usize, heads: usize, group: u32) -> Splitters {
    let most = i32::MAX as usize - heads;
    match options.splitters {
        SplitterRule::Hashed => Splitters::hashed(n as u32, group.max(n.div_ceil(most) as u32), options.seed),
        // One of the sublists starts at the head.
        SplitterRule::First => {
            let sublists = options.sublists.map_or(n / group as usize, |sublists| sublists as usize);
            Splitters::first(sublists.clamp(1, n).min(most) as u32 - 1)
        }
    }
}

fn check_length(n: usize) -> Result<(), ListError> {
    // The device names elements by i32, and one value more stands for none.
    if n >= i32::MAX as usize { Err(ListError::TooLong { n }) } else { Ok(()) }
}

/// Whether all `n` elements were ranked, and no walk met anything wrong.
fn is_complete(status: &Status, n: usize) -> bool {
    status.ranked == n as u64 && status.out_of_range == 0 && status.circles == 0 && status.overflows == 0
}

fn same_length(what: &'static str, found: usize, n: usize) -> Result<(), ListError> {
    if found == n { Ok(()) } else { Err(ListError::Length { what, found, n }) }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// An i32 numbers the nodes, however many lists there are.
    #[test]
    fn splitters_leave_room_for_heads() {
        let longest = i32::MAX as usize - 1;
        for splitters in [SplitterRule::Hashed, SplitterRule::First] {
            for sublists in [None, Some(1000), Some(u32::MAX)] {
                let options = Options { splitters, sublists, ..Options::default() };
                let group = |n: usize| sublists.map_or(16, |sublists| (n / sublists as usize).clamp(2, 1 << 30) as u32);
                for heads in [1, 1 << 20, 1 << 30, longest / 16 * 15, longest - 1000, longest - 1, longest] {
                    let found = super::splitters(&options, longest, heads, group(longest));
                    assert!(found.count as usize + heads <= i32::MAX as usize, "{found:?}, {heads}");
                }
                // Where there is room, it is as before.
                let found = super::splitters(&options, 100_000, 99_000, group(100_000));
                assert_eq!(found, super::splitters(&options, 100_000, 1, group(100_000)));
            }
        }
        // The widest groups that come of it still have their splitters.
        for group in [1 << 30, (1 << 30) + 1, i32::MAX as u32 - 1] {
            let splitters = Splitters::hashed(longest as u32, group, 3);
            let numbers = (0..splitters.count).filter(|&number| (splitters.element(number) as usize) < longest);
            for number in numbers {
                assert_eq!(splitters.number(splitters.element(number)), Some(number), "{splitters:?}");
            }
        }
    }
}
