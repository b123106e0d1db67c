//! The rankers.

use crate::common::{Clock, StepTime};
use cuda_std::launch::KernelInfo;
use gpu_kernels::{
    collectives::scan,
    list_rank::{
        Status, binned, finish,
        prepare::{self, Buckets},
        short,
        splitters::Splitters,
    },
};

use super::{
    ListError, Weight, check,
    launches::{BLOCK, blocks},
    options::{Options, SplitterRule, Strategy},
    pipeline::{Head, Job, Lists, Pipeline, Plan},
    runs::Runs,
};
use crate::{
    collectives::{ScanWorkspace, exclusive_scan_in_place},
    device::{Backend, Buffer, Device, DeviceError, Stream},
    launch,
};

/// Report of a ranking.
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
pub struct Report {
    /// The number of elements.
    pub n: usize,
    /// The number of sublists, or of runs.
    pub sublists: usize,
    /// The strategy, decided.
    pub strategy: Strategy,
    /// The head, found or given; unknown (-1) to a trusted ranker that found it on the device.
    pub head: i32,
    /// Its steps in order.
    pub steps: Vec<StepTime>,
}

impl Report {
    /// Returns the time of all steps together, in ms.
    pub fn total_ms(&self) -> f64 {
        StepTime::total_ms(&self.steps)
    }
}

/// Report of the ranking of a forest.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Forest {
    /// The number of lists. Lists are numbered by their heads' indices, ascending.
    pub lists: usize,
    /// The report of the ranking.
    pub report: Report,
}

/// Ranks lists on one device, and keeps its arrays from call to call: ranking lists of one length again allocates
/// nothing, unless one of more runs is ranked by these.
///
/// `V` is what it adds up: `i32` for ranks, or the weights' type. All arrays and streams must be of the ranker's
/// device.
pub struct ListRanker<V: Weight = i32> {
    pub(super) device: Device,
    pub(super) options: Options,
    pipeline: Pipeline<V>,
    /// Arrays for ranking forests.
    of_forests: Option<Box<Pipeline<i64>>>,
    /// Arrays for ranking by runs.
    pub(super) of_runs: Option<Box<Runs>>,
    /// The head, the heads of a forest, or the first elements of runs.
    pub(super) heads: Buffer<i32>,
    status: Buffer<Status>,
    /// The bitmap that `heads` are listed from: set for elements that aren't among them.
    pub(super) marked: Buffer<u32>,
    /// Number of heads in each word of the bitmap, and then in all words before. At its end how many heads there are, and
    /// another count: of lists' ends in a forest.
    pub(super) counts: Buffer<u32>,
    scan: Option<ScanWorkspace>,
}

/// Largest length of a list that has a splitter for each four elements on a GPU.
const FEW_ELEMENTS: usize = 120_000;

/// Largest length of a list without weights that one block ranks sooner than a grid.
const SHORT_FOR_GRID: usize = 20_000;

impl<V: Weight> ListRanker<V> {
    /// A ranker on `device`. Arrays are allocated at the first call.
    pub fn new(device: &Device, options: Options) -> Self {
        ListRanker {
            device: device.clone(),
            options,
            pipeline: Pipeline::new(device),
            of_forests: None,
            of_runs: None,
            heads: device.empty(),
            status: device.empty(),
            marked: device.empty(),
            counts: device.empty(),
            scan: None,
        }
    }

    /// Returns the options.
    pub fn options(&self) -> &Options {
        &self.options
    }

    /// Returns the number of elements per splitter.
    fn group(&self, n: usize) -> u32 {
        let (sublists, least) = match (self.options.sublists, self.device.backend()) {
            (Some(sublists), _) => (sublists.max(1) as usize, 2),
            // The longest sublist takes its time after all others, and ranking them takes theirs, so that both grow
            // like the root of n. Up to some number, sublists take the same launches.
            (None, Backend::Cuda) => (150 * n.isqrt(), if n <= FEW_ELEMENTS { 4 } else { 8 }),
            // Threads cost a core a few nanoseconds each, and many threads share the cores evenly.
            (None, Backend::Cpu) => (1024 * self.device.info().multiprocessors as usize, 16),
        };
        (n / sublists).clamp(least, 1 << 30) as u32
    }

    /// Returns the splitters of `n` elements with `heads` heads.
    fn splitters(&self, n: usize, heads: usize) -> Splitters {
        splitters(&self.options, n, heads, self.group(n))
    }

    /// Returns true if one block ranks a list of `n` elements.
    fn is_in_block(&self, n: usize, weighted: bool) -> Result<bool, ListError> {
        let Options { strategy, sublists, splitters, shared, .. } = &self.options;
        let (info, weight) = (self.device.info(), size_of::<V>());
        let most = shared.map_or(info.max_shared_per_block, |shared| shared.min(info.max_shared_per_block));
        let bytes = short::list_bytes(n, if weighted { weight } else { 0 }) + short::static_shared(weight);
        let fits = n <= short::MOST && bytes <= most;
        match strategy {
            Strategy::Block if !fits => {
                let reason = "a block's shared memory doesn't hold the list";
                Err(ListError::Unsuitable { strategy: "block", n, device: self.device.to_string(), reason })
            }
            Strategy::Block => Ok(true),
            // Other sublists than the usual ones are for comparison.
            Strategy::Auto => {
                let is_usual = sublists.is_none() && *splitters == SplitterRule::Hashed;
                Ok(fits && is_usual && info.backend == Backend::Cuda && (weighted || n <= SHORT_FOR_GRID))
            }
            _ => Ok(false),
        }
    }

    /// The exclusive prefix sums of `weights` along the list: `sums[i]` is the sum of the weights of all elements
    /// before `i`.
    ///
    /// All arrays have `n` elements. Integers wrap. Floating-point sums are formed sublist by sublist: the order of
    /// additions, and so the result to the last bit, depends on the number of sublists, the splitters, their seed, and
    /// whether the strategy is [`Strategy::Block`], and on nothing else. [`Strategy::Grid`] and [`Strategy::Packed`] do as
    /// [`Strategy::Split`].
    ///
    /// # Errors
    /// The list is invalid, lengths differ, or the device fails.
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
        check_start(next.len(), head)?;
        self.run(stream, next, head, Some(weights), |strategy, clock, job, plan, status, pipeline| match strategy {
            Strategy::Block => Pipeline::run_block(clock, job, head, status, sums),
            _ => pipeline.run(clock, job, plan, status, sums),
        })
    }

    /// Chooses the splitters and the strategy for a list of `n` elements, and plans `binned`.
    fn choose(&self, n: usize, weighted: bool) -> Result<(Splitters, Strategy, Option<Plan>), ListError> {
        if self.is_in_block(n, weighted)? {
            let group = self.group(n).max(n.div_ceil(short::SUBLISTS as usize - 1) as u32);
            let options = Options { sublists: self.options.sublists.map(|count| count.min(short::SUBLISTS)), ..self.options };
            return Ok((splitters(&options, n, 1, group), Strategy::Block, None));
        }
        let splitters = self.splitters(n, 1);
        let count = splitters.count as usize;
        let (strategy, plan) = strategy(&self.device, &self.options, &self.pipeline, n, count, 1, weighted)?;
        Ok((splitters, strategy, plan))
    }

    /// Kernels that rank a list of `n` elements of random order, or sum up their weights, for [`Device::preload`].
    pub fn kernels(&self, n: usize, weighted: bool) -> Vec<&'static KernelInfo> {
        if n == 0 || check_length(n).is_err() {
            return Vec::new();
        }
        // An error is that of the call.
        let chosen = self.choose(n, weighted);
        chosen.map_or_else(|_| Vec::new(), |(_, strategy, _)| Pipeline::<V>::list_kernels(strategy, weighted))
    }

    /// Everything that a ranking of one list has around its `steps`: the arrays, the head, the check and the report.
    fn run(
        &mut self,
        stream: &Stream,
        next: &Buffer<i32>,
        head: Option<i32>,
        weights: Option<&Buffer<V>>,
        steps: impl FnOnce(
            Strategy,
            &mut Clock<'_>,
            &Job<'_, V>,
            Option<Plan>,
            &mut Buffer<Status>,
            &mut Pipeline<V>,
        ) -> Result<(), DeviceError>,
    ) -> Result<Report, ListError> {
        let n = next.len();
        if n == 0 {
            let (strategy, _) = strategy(&self.device, &self.options, &self.pipeline, 1, 0, 1, false)?;
            return Ok(Report { n, sublists: 0, strategy, head: -1, steps: Vec::new() });
        }
        let (splitters, strategy, plan) = self.choose(n, weights.is_some())?;
        let count = splitters.count as usize;
        self.heads.ensure(1)?;
        self.status.ensure(1)?;
        let mut clock = Clock::start(stream, self.options.timed)?;
        let windows = plan.map_or(0, Plan::windows);
        if !matches!(strategy, Strategy::Block | Strategy::Grid) {
            self.device.preload(&Pipeline::<V>::list_kernels(strategy, weights.is_some()));
            let start = (&mut self.heads, head.map_or(Head::Of(next), Head::At));
            self.pipeline.start(stream, splitters, windows, &mut self.status, start)?;
            if head.is_none() {
                clock.end("head", 4 * n as u64)?;
            }
        }
        let job = Job { stream, options: &self.options, next, weights, heads: &self.heads, splitters };
        steps(strategy, &mut clock, &job, plan, &mut self.status, &mut self.pipeline)?;

        let mut found = head.unwrap_or(-1);
        if !self.options.trusted {
            let status = stream.download_vec(&self.status)?[0];
            found = status.head;
            if !is_complete(&status, n, 1) {
                check::diagnose(&stream.download_vec(next)?, head)?;
                return Err(ListError::Miscounted { ranked: status.ranked, n });
            }
        }
        Ok(Report { n, sublists: n.min(count + 1), strategy, head: found, steps: clock.steps()? })
    }
}

/// Chooses the strategy for `n` elements of `lists` lists with so many splitters, and plans
/// `binned`.
fn strategy<V: Weight>(
    device: &Device,
    options: &Options,
    pipeline: &Pipeline<V>,
    n: usize,
    splitters: usize,
    lists: usize,
    weighted: bool,
) -> Result<(Strategy, Option<Plan>), ListError> {
    let info = device.info();
    // Random accesses are slow where they go past the L2 cache; `split` makes them to these bytes of each element.
    let element = size_of::<i32>() + size_of::<V::Record>() + if weighted { size_of::<V>() } else { 0 };
    let is_worth_binning = info.backend == Backend::Cuda && n * element > info.l2_bytes / 2;
    let most = info.max_shared_per_block;
    let plan = Plan::new::<V>(n, options.shared.map_or(most, |shared| shared.min(most)), info.multiprocessors);
    match (options.strategy, plan) {
        (Strategy::Auto, Some(plan)) if is_worth_binning => {
            let missing = pipeline.missing(n, plan, splitters, lists, weighted);
            let fits = missing == 0 || missing < device.memory()?.free;
            Ok(if fits { (Strategy::Binned, Some(plan)) } else { (Strategy::Split, None) })
        }
        (Strategy::Auto, _) if info.backend == Backend::Cuda && !weighted && !is_worth_binning => Ok((Strategy::Grid, None)),
        (Strategy::Auto, _) => Ok((Strategy::Split, None)),
        (Strategy::Runs, _) => Ok((Strategy::Split, None)),
        (Strategy::Grid | Strategy::Packed, _) if weighted => Ok((Strategy::Split, None)),
        (Strategy::Binned, None) => {
            let reason = "a block can't have the shared memory that it bins in, 4 KiB at least";
            Err(ListError::Unsuitable { strategy: "binned", n, device: device.to_string(), reason })
        }
        (Strategy::Binned, plan) => Ok((Strategy::Binned, plan)),
        (strategy, _) => Ok((strategy, None)),
    }
}

impl ListRanker<i32> {
    /// Ranks a list: `ranks[i]` is how many elements come before `i`.
    ///
    /// `next` and `ranks` have `n` elements; `head` is the first element, found where it isn't given.
    ///
    /// # Errors
    /// The list is invalid (the error names the first offending element), lengths differ, or the
    /// device fails.
    pub fn rank(
        &mut self,
        stream: &Stream,
        next: &Buffer<i32>,
        head: Option<i32>,
        ranks: &mut Buffer<i32>,
    ) -> Result<Report, ListError> {
        same_length("ranks", ranks.len(), next.len())?;
        check_start(next.len(), head)?;
        if let Some(report) = self.rank_runs(stream, next, head, ranks)? {
            return Ok(report);
        }
        self.run(stream, next, head, None, |strategy, clock, job, plan, status, pipeline| match strategy {
            Strategy::Block => Pipeline::run_block(clock, job, head, status, ranks),
            Strategy::Grid => pipeline.run_grid(clock, job, head, status, ranks),
            Strategy::Packed => pipeline.run_packed(clock, job, status, ranks),
            _ => pipeline.run(clock, job, plan, status, ranks),
        })
    }

    /// The list's order from its ranks: `order[r]` is the element of rank `r`.
    ///
    /// # Errors
    /// The lengths differ, or the device fails.
    pub fn order(&mut self, stream: &Stream, ranks: &Buffer<i32>, order: &mut Buffer<i32>) -> Result<(), ListError> {
        same_length("order", order.len(), ranks.len())?;
        self.permute(stream, ranks, &self.device.empty(), order)
    }

    /// Kernels of [`permute`](Self::permute) for `n` elements.
    #[cfg(feature = "trees")]
    pub(crate) fn permute_kernels(&self, n: usize) -> Vec<&'static KernelInfo> {
        match strategy(&self.device, &self.options, &self.pipeline, n.max(1), 0, 1, false) {
            Ok((Strategy::Binned, Some(_))) => vec![binned::invert::kernel(), binned::finish::kernel::<i32>()],
            _ => vec![finish::order::kernel()],
        }
    }

    /// [`order`](Self::order), or with values `order[ranks[i]] = values[i]`. The order may be longer than the ranks.
    pub(crate) fn permute(
        &mut self,
        stream: &Stream,
        ranks: &Buffer<i32>,
        values: &Buffer<i32>,
        order: &mut Buffer<i32>,
    ) -> Result<(), ListError> {
        let n = ranks.len();
        assert!(order.len() >= n, "an order has a place for each rank");
        if n > 0
            && let (Strategy::Binned, Some(plan)) = strategy(&self.device, &self.options, &self.pipeline, n, 0, 1, false)?
        {
            return Ok(self.pipeline.invert(stream, ranks, values, plan, &mut self.status, order)?);
        }
        // SAFETY: `order` is as long as `ranks`.
        unsafe { launch!(stream, finish::order<<<blocks(n, BLOCK), BLOCK>>>(ranks, values, order))? };
        Ok(())
    }

    /// Ranks a forest of lists: `ranks[i]` is how many elements come before `i` on its list, `lists[i]` the number of
    /// that list. Lists are numbered by their heads' indices, ascending.
    ///
    /// `next`, `ranks` and `lists` have `n` elements; each tail is -1. [`Strategy::Block`],
    /// [`Strategy::Grid`] and [`Strategy::Packed`] do as [`Strategy::Split`].
    ///
    /// # Errors
    /// An element has two predecessors or lies on a cycle (the error names the first such element),
    /// lengths differ, or the device fails.
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
            let report = Report { n, sublists: 0, strategy: Strategy::Split, head: -1, steps: Vec::new() };
            return Ok(Forest { lists: 0, report });
        }
        let options = self.options.clone();
        let mut clock = Clock::start(stream, options.timed)?;
        // All of the list is read for each part of the bitmap: half of the L2 cache, which atomics past it are slower than.
        let part = match self.device.info().l2_bytes {
            0 => n,
            bytes => 4 * bytes,
        };
        let choose = |ranker: &Self, heads| {
            let splitters = ranker.splitters(n, heads);
            let device = &ranker.device;
            let empty = Pipeline::new(device);
            let pipeline = ranker.of_forests.as_deref().unwrap_or(&empty);
            let (strategy, plan) = strategy(device, &options, pipeline, n, splitters.count as usize, heads, false)?;
            Ok::<_, ListError>((splitters, if plan.is_some() { strategy } else { Strategy::Split }, plan))
        };
        // Pairs that are binned once show whether heads are missing.
        let is_binned = |plan: Option<Plan>| plan.is_some_and(|plan| plan.group().is_none());
        let (_, strategy, expected) = choose(self, 1)?;
        let mut kernels = [head_kernels(is_binned(expected)), Pipeline::<i64>::kernels(strategy, false)].concat();
        kernels.push(if expected.is_some() { binned::finish_lists::kernel() } else { finish::lists::kernel() });
        self.device.preload(&kernels);
        let mut by_buckets = is_binned(expected);
        let (heads, tails, (splitters, strategy, plan)) = loop {
            let (heads, tails) = self.find_heads(stream, next, part, by_buckets)?;
            let chosen = choose(self, heads)?;
            if !by_buckets || is_binned(chosen.2) {
                break (heads, tails, chosen);
            }
            by_buckets = false;
        };
        clock.end("heads", 4 * n as u64 + n as u64 / 8)?;
        if heads != tails && !options.trusted || heads == 0 {
            check::diagnose_forest(&stream.download_vec(next)?)?;
            return Err(ListError::Miscounted { ranked: 0, n });
        }
        let count = splitters.count as usize;
        let pipeline = self.of_forests.get_or_insert_with(|| Box::new(Pipeline::new(&self.device)));
        let windows = plan.map_or(0, Plan::windows);
        self.status.ensure(1)?;
        pipeline.start(stream, splitters, windows, &mut self.status, (&mut self.heads, Head::Many))?;
        let job = Job { stream, options: &options, next, weights: None, heads: &self.heads, splitters };
        pipeline.run(&mut clock, &job, plan, &mut self.status, Lists { ranks, lists })?;
        if !options.trusted {
            let status = stream.download_vec(&self.status)?[0];
            if !is_complete(&status, n, heads) {
                check::diagnose_forest(&stream.download_vec(next)?)?;
                return Err(ListError::Miscounted { ranked: status.ranked, n });
            }
        }
        Ok(Forest {
            lists: heads,
            report: Report { n, sublists: n.min(count + heads), strategy, head: -1, steps: clock.steps()? },
        })
    }

    /// Finds the elements without predecessor, `part` at a time; returns how many, and how many elements have no successor.
    /// By buckets, it takes a bucket with as many successors as elements for one without heads, as it is in a forest. In
    /// another list, heads may be missing. A place then stays empty, or, if each element is on one sublist, fewer are ranked.
    fn find_heads(
        &mut self,
        stream: &Stream,
        next: &Buffer<i32>,
        part: usize,
        by_buckets: bool,
    ) -> Result<(usize, usize), DeviceError> {
        let n = next.len();
        let words = n.div_ceil(32);
        let ListRanker { marked, counts, .. } = self;
        let info = self.device.info();
        let buckets = Buckets::new(n as u32, prepare::BUCKETS.min(info.max_shared_per_block / size_of::<u32>()));
        let of_buckets = if by_buckets { buckets.count() as usize } else { 0 };
        marked.ensure(words)?;
        counts.ensure(words + 2)?;
        let (mut counts, mut tails) = counts.split_at_mut(words + 1)?;
        stream.fill_zero(tails.reborrow())?;
        let most = prepare::READ_BLOCKS * info.multiprocessors;
        let (per_vector, per_word) = (blocks(n.div_ceil(4), BLOCK).min(most), blocks(words + 1, BLOCK));
        let (mut per_bucket, rest) = counts.reborrow().into_split_at_mut(of_buckets)?;
        let (mut open, _) = rest.into_split_at_mut(of_buckets.div_ceil(32))?;
        if by_buckets {
            stream.fill_zero(per_bucket.reborrow())?;
            let grid = blocks(n.div_ceil(4), prepare::COUNT_THREADS).min(2 * info.multiprocessors);
            let shared = of_buckets * size_of::<u32>();
            // SAFETY: there is a word for each bucket, and buffers are aligned to 256 bytes.
            unsafe {
                launch!(stream, prepare::count_successors<<<grid, prepare::COUNT_THREADS, shared>>>(
                    next, buckets, per_bucket.reborrow()
                ))?;
            }
            launch!(stream, prepare::start_marks<<<per_word, BLOCK>>>(&per_bucket, buckets, &mut *marked, open.reborrow()))?;
        } else {
            stream.fill_zero(&mut *marked)?;
        }
        for first in (0..n).step_by(part) {
            let count = part.min(n - first) as u32;
            // SAFETY: the bitmap has a bit for each element, and buffers are aligned to 256 bytes.
            unsafe {
                launch!(stream, prepare::mark_successors<<<per_vector, BLOCK>>>(
                    next, first as u32, count, buckets, open.as_view(), &mut *marked, &mut tails
                ))?;
            }
        }
        self.list_unmarked(stream, n)
    }

    /// Lists the elements without a bit in the bitmap, ascending, as heads. Returns how many there are, and the count that is
    /// kept behind those of words.
    pub(super) fn list_unmarked(&mut self, stream: &Stream, n: usize) -> Result<(usize, usize), DeviceError> {
        let words = n.div_ceil(32);
        let per_word = blocks(words + 1, BLOCK);
        let mut counts = self.counts.view_mut(..words + 1)?;
        launch!(stream, prepare::count_heads<<<per_word, BLOCK>>>(&self.marked, n as u32, &mut counts))?;
        let workspace = match &mut self.scan {
            Some(workspace) => workspace,
            none => none.insert(ScanWorkspace::new(&self.device)?),
        };
        exclusive_scan_in_place(stream, counts, workspace)?;
        let totals = stream.download_vec(self.counts.view(words..)?)?;
        let (heads, other) = (totals[0] as usize, totals[1] as usize);
        self.heads.ensure(heads)?;
        // SAFETY: there are as many heads as the scan counted.
        unsafe {
            launch!(stream, prepare::collect_heads<<<per_word, BLOCK>>>(&self.marked, n as u32, &self.counts, &mut self.heads))?;
        }
        Ok((heads, other))
    }
}

/// Kernels that find the heads of a forest, by buckets or without.
fn head_kernels(by_buckets: bool) -> Vec<&'static KernelInfo> {
    let mut kernels = vec![
        prepare::mark_successors::kernel(),
        prepare::count_heads::kernel(),
        scan::exclusive_in_place::kernel::<u32>(),
        prepare::collect_heads::kernel(),
    ];
    if by_buckets {
        kernels.extend([prepare::count_successors::kernel(), prepare::start_marks::kernel()]);
    }
    kernels
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

/// Checks the length of a list, and its head if it is given.
fn check_start(n: usize, head: Option<i32>) -> Result<(), ListError> {
    check_length(n)?;
    match head {
        Some(head) if !usize::try_from(head).is_ok_and(|head| head < n) => {
            Err(ListError::HeadOutOfRange { head: head.into(), n })
        }
        _ => Ok(()),
    }
}

fn check_length(n: usize) -> Result<(), ListError> {
    // The device names elements by i32, and one value more stands for none.
    if n >= i32::MAX as usize { Err(ListError::TooLong { n }) } else { Ok(()) }
}

/// Returns true if all `n` elements of the lists were ranked, and no walk met an error.
fn is_complete(status: &Status, n: usize, lists: usize) -> bool {
    status.ranked == n as u64
        && status.ends as usize == lists
        && status.out_of_range == 0
        && status.circles == 0
        && status.overflows == 0
        && status.missing == 0
}

fn same_length(what: &'static str, found: usize, n: usize) -> Result<(), ListError> {
    if found == n { Ok(()) } else { Err(ListError::Length { what, found, n }) }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Parts may begin and end within a word of the bitmap, too.
    #[test]
    fn heads_are_found_in_parts() {
        let device = Device::best().unwrap();
        let stream = device.stream().unwrap();
        for n in [1, 3, 4, 5, 1000, 70_001] {
            // Lists of seven, in descending order.
            let next: Vec<i32> = (0..n).map(|i| if i % 7 == 0 { -1 } else { i - 1 }).collect();
            let heads: Vec<i32> = (0..n).filter(|&i| i % 7 == 6 || i == n - 1).collect();
            let next = device.upload(&next).unwrap();
            for part in [7, 64, 1001, 1 << 30] {
                let mut ranker = ListRanker::<i32>::new(&device, Options::default());
                for by_buckets in [false, true] {
                    let found = ranker.find_heads(&stream, &next, part.max(n as usize / 20), by_buckets).unwrap();
                    assert_eq!(found, (heads.len(), heads.len()), "{n}, {part}");
                    assert_eq!(stream.download_vec(&ranker.heads).unwrap(), heads, "{n}, {part}");
                }
            }
        }
    }

    #[test]
    fn the_longest_list() {
        for (n, fits) in [(0, true), ((1 << 31) - 2, true), ((1 << 31) - 1, false), (usize::MAX, false)] {
            assert_eq!(check_length(n), if fits { Ok(()) } else { Err(ListError::TooLong { n }) });
        }
    }

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
                // With enough room, the number of heads makes no difference.
                let found = super::splitters(&options, 100_000, 99_000, group(100_000));
                assert_eq!(found, super::splitters(&options, 100_000, 1, group(100_000)));
            }
        }
        // The widest groups still have their splitters.
        for group in [1 << 30, (1 << 30) + 1, i32::MAX as u32 - 1] {
            let splitters = Splitters::hashed(longest as u32, group, 3);
            let numbers = (0..splitters.count).filter(|&number| (splitters.element(number) as usize) < longest);
            for number in numbers {
                assert_eq!(splitters.number(splitters.element(number)), Some(number), "{splitters:?}");
            }
        }
    }
}
