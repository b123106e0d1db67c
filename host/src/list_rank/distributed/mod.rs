//! Lists over several ranks: longer than a device's memory, or than 2^31 elements.
//!
//! A list is an array `next` of `n` 64-bit indices, -1 after the last element. Each rank has a
//! block of it on its device, as [`layout`] defines. Ranks are threads of a process with a GPU
//! each, or processes under MPI: see [`ranks`](crate::ranks). [`DistributedRanker`] computes the
//! ranks of all elements, in equal blocks:
//!
//! ```
//! use warpsmith::{
//!     device::Device,
//!     list_rank::distributed::{DistributedError, DistributedRanker, Options, layout},
//!     ranks::threads,
//! };
//!
//! //              2 -> 0 -> 3 -> 1
//! let next = [3i64, -1, 0, 1];
//! let device = Device::cpu();
//! let parts = threads::run(&[device.clone(), device], |device, ranks| {
//!     let layout = layout(4, 2)?;
//!     let first = layout.first(ranks.rank()) as usize;
//!     let own = device.upload(&next[first..first + layout.len(ranks.rank())])?;
//!     let (stream, mut result) = (device.stream()?, device.alloc(own.len())?);
//!     DistributedRanker::new(device, ranks, Options::default()).rank(&stream, 4, &own, None, &mut result)?;
//!     Ok::<_, DistributedError>(stream.download_vec(&result)?)
//! })?;
//! assert_eq!(parts, [[1, 3], [0, 2]]);
//! # Ok::<(), DistributedError>(())
//! ```
//!
//! `docs/cluster.md` explains the method, and [`gpu_kernels::list_rank::distributed`] the kernels.
//! In addition to `next` and the ranks, splitters are all that takes memory.
//!
//! The check of a list costs nothing. A splitter that two travellers reach would show; if there is
//! none, each element is passed at most once, and the list is valid exactly if `n` elements are
//! passed on the way from its head. Otherwise the host finds the first offending element.

mod check;
mod error;
#[cfg(feature = "engine")]
pub mod files;
mod group;
mod remainder;
mod travel;

use std::{sync::Arc, time::Instant};

use gpu_kernels::list_rank::{
    distributed::{self, Blocks, HEAD, UNREACHED},
    generate::{self, Permutation, Runs},
    splitters::Splitters,
};

pub use error::DistributedError;
use group::Group;
use remainder::Remainder;
use travel::{Level, Rounds, Task, Travel};

use super::{
    ListError, StepTime,
    launches::{BLOCK, blocks},
};
use crate::{
    common::chain,
    device::{Buffer, Device, DeviceError, Stream},
    launch,
    ranks::Communicator,
};

/// Returns the block of each of `ranks` ranks: `len(rank)` indices from `first(rank)` on. All
/// blocks are equally long, except that the last ones may be shorter or empty.
///
/// # Errors
/// [`DistributedError::Count`], [`DistributedError::TooLong`].
pub fn layout(n: u64, ranks: usize) -> Result<Blocks, DistributedError> {
    if !(1..=MOST_RANKS).contains(&ranks) {
        return Err(DistributedError::Count { ranks });
    }
    let block = n.div_ceil(ranks as u64).max(1);
    if block >= i32::MAX as u64 {
        return Err(DistributedError::TooLong { n, ranks });
    }
    Ok(Blocks::new(n, block))
}

/// The most ranks: their counts fit into a block's shared memory on any device.
const MOST_RANKS: usize = 8192;

/// Rounds per element between two splitters after which the list is checked before travellers go
/// on. (Sublists of a random list are rarely longer than 30 times their average.) More rounds than
/// elements always mean a cycle.
const PATIENCE: usize = 50;

/// Options of [`DistributedRanker`].
#[derive(Clone, Debug)]
pub struct Options {
    /// Number of elements per splitter, at least 2. Fewer elements mean fewer rounds of messages;
    /// more elements mean a shorter remainder, for which one rank gets 16 bytes per splitter.
    pub group: u32,
    /// The most splitters that one rank's device ranks, at about 90 bytes of memory each. More
    /// splitters are ranked by splitters of their own.
    pub remainder: u64,
    /// Seed of the splitters.
    pub seed: u32,
}

impl Default for Options {
    fn default() -> Self {
        Options { group: 32, remainder: 1 << 28, seed: 0 }
    }
}

/// Report of a ranking, on this rank.
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
#[non_exhaustive]
pub struct Report {
    /// The number of elements on all ranks.
    pub n: u64,
    /// The head, found or given.
    pub head: u64,
    /// Number of splitters on all ranks, of splitters of these, and so on.
    pub nodes: Vec<u64>,
    /// Number of rounds of exchanged travellers.
    pub rounds: usize,
    /// Bytes that this rank sent.
    pub sent: u64,
    /// Time that this took, in ms.
    pub exchange_ms: f64,
    /// Steps by this rank's clock: `measure`, `remainder`, `number`. Their bytes count the rank's
    /// elements.
    pub steps: Vec<StepTime>,
}

impl Report {
    /// Returns the time of all steps together, in ms.
    pub fn total_ms(&self) -> f64 {
        StepTime::total_ms(&self.steps)
    }
}

/// Ranks lists together with the other ranks, and keeps its arrays from call to call. All buffers
/// and streams must be of its device.
pub struct DistributedRanker {
    device: Device,
    group: Group,
    options: Options,
    travel: Travel,
    remainder: Remainder,
    /// One entry per level, except for the remainder.
    nodes: Vec<Option<Nodes>>,
    /// No weights.
    none: Buffer<i64>,
}

/// This rank's splitters of a level.
struct Nodes {
    /// The splitter before each splitter on the list, and the distance to it.
    before: Buffer<i64>,
    distance: Buffer<i64>,
    /// The sum of everything after each splitter: the list of splitters runs backwards.
    after: Buffer<i64>,
}

/// Sums over the splitters of a level.
struct Measured {
    /// The sum of the whole list, and of the part up to its last splitter.
    total: i64,
    to_last: i64,
    first_node: u64,
    nodes: usize,
}

impl DistributedRanker {
    /// Makes the ranker of this rank, on its device. All ranks pass the same options.
    pub fn new(device: &Device, ranks: Arc<dyn Communicator>, options: Options) -> Self {
        DistributedRanker {
            device: device.clone(),
            group: Group::new(ranks, device.backend()),
            options,
            travel: Travel::new(device),
            remainder: Remainder::new(device),
            nodes: Vec::new(),
            none: device.empty(),
        }
    }

    /// Ranks a list of `n` elements: `ranks[i]` is how many come before this rank's element `i`. All ranks call it with
    /// the same `n` and `head`, the first element, which is found where it isn't given.
    ///
    /// `next` and `ranks` have as many elements as this rank's block in the [`layout`].
    ///
    /// # Errors
    /// The list is invalid (all ranks get the same error, which names the first offending element),
    /// lengths differ, or a device fails. A failing device ends the work of all ranks: see
    /// [`Communicator::abort`].
    pub fn rank(
        &mut self,
        stream: &Stream,
        n: u64,
        next: &Buffer<i64>,
        head: Option<u64>,
        ranks: &mut Buffer<i64>,
    ) -> Result<Report, DistributedError> {
        let result = self.rank_all(stream, n, next, head, ranks);
        self.tell(result)
    }

    /// Tells the other ranks of an error that only this rank has.
    fn tell<T>(&self, result: Result<T, DistributedError>) -> Result<T, DistributedError> {
        match &result {
            Err(error) if !error.is_shared() => self.group.ranks.abort(&chain(error)),
            _ => {}
        }
        result
    }

    fn rank_all(
        &mut self,
        stream: &Stream,
        n: u64,
        next: &Buffer<i64>,
        head: Option<u64>,
        ranks: &mut Buffer<i64>,
    ) -> Result<Report, DistributedError> {
        let layout = self.check(n, head, &[("next", next.len()), ("ranks", ranks.len())])?;
        if n == 0 {
            let steps = Vec::new();
            return Ok(Report { n, head: 0, nodes: Vec::new(), rounds: 0, sent: 0, exchange_ms: 0.0, steps });
        }
        (self.group.sent, self.group.exchanging_ms) = (0, 0.0);
        let mut clock = Clock { last: Instant::now(), steps: Vec::new() };
        let bytes = 8 * next.len() as u64;
        let first = match head {
            Some(head) => head,
            None => self.find_head(stream, layout, next)?,
        };
        let none = self.device.empty();
        let splitters = self.splitters(next.len());
        let level = Level { blocks: layout, next, weights: &none, splitters, head: first };
        let mut counts = Counts::default();
        let measured = match self.measure(stream, &level, 0, head, &mut counts, &mut clock)? {
            Some(measured) if measured.total as u64 == n => measured,
            found => {
                check::diagnose(&mut self.group, stream, layout, next, head)?;
                let reached = found.as_ref().map_or(0, |found| found.total as u64);
                if let Some(measured) = found {
                    stream.fill(&mut *ranks, -1)?;
                    self.number(stream, &level, 0, &measured, ranks, &mut counts)?;
                    if let Some(element) = check::unreached(&self.group, stream, layout, ranks)? {
                        return Err(DistributedError::Cycle { element, head: first, reached, n });
                    }
                }
                return Err(DistributedError::Miscounted { ranked: reached, n });
            }
        };
        self.number(stream, &level, 0, &measured, ranks, &mut counts)?;
        stream.synchronize()?;
        clock.end("number", 2 * bytes);
        let Group { sent, exchanging_ms, .. } = self.group;
        let Counts { nodes, rounds } = counts;
        Ok(Report { n, head: first, nodes, rounds, sent, exchange_ms: exchanging_ms, steps: clock.steps })
    }

    /// Checks everything but the list itself, with the same result on all ranks.
    fn check(&self, n: u64, head: Option<u64>, arrays: &[(&'static str, usize)]) -> Result<Blocks, DistributedError> {
        let given =
            [n, head.unwrap_or(u64::MAX), u64::from(self.options.group), self.options.remainder, u64::from(self.options.seed)];
        if self.group.share(given)?.iter().any(|of_rank| *of_rank != given) {
            return Err(DistributedError::Different);
        }
        let layout = layout(n, self.group.size())?;
        for &(what, found) in arrays {
            for (rank, found) in self.group.share(found as u64)?.into_iter().enumerate() {
                let (found, expected) = (found as usize, layout.len(rank));
                if found != expected {
                    return Err(DistributedError::Length { what, rank, found, expected });
                }
            }
        }
        match head {
            Some(head) if head >= n => Err(ListError::HeadOutOfRange { head: head as i64, n: n as usize }.into()),
            _ => Ok(layout),
        }
    }

    /// Returns the element that the sum of all successors lacks, or some element if `next` is not a
    /// list.
    fn find_head(&self, stream: &Stream, layout: Blocks, next: &Buffer<i64>) -> Result<u64, DistributedError> {
        let mut sum = self.device.alloc_zeroed(1)?;
        let grid = blocks(next.len(), BLOCK).min(16 * self.device.info().multiprocessors);
        // SAFETY: the sum is one buffer's only element, and blocks are whole warps.
        unsafe { launch!(stream, distributed::sum_successors<<<grid, BLOCK>>>(next, &mut sum))? };
        let sum = self.group.share(stream.download_vec(&sum)?[0])?.into_iter().fold(0, u64::wrapping_add);
        let n = u128::from(layout.n);
        let head = ((n * (n - 1) / 2) as u64).wrapping_sub(sum);
        Ok(if head < layout.n { head } else { 0 })
    }

    fn splitters(&self, len: usize) -> Splitters {
        Splitters::hashed(len as u32, self.options.group.clamp(2, 1 << 30), self.options.seed)
    }

    /// Sums up what comes after each splitter; returns nothing if the list is bad.
    fn measure(
        &mut self,
        stream: &Stream,
        level: &Level<'_>,
        depth: usize,
        given: Option<u64>,
        counts: &mut Counts,
        clock: &mut Clock,
    ) -> Result<Option<Measured>, DistributedError> {
        let (rank, size) = (self.group.rank(), self.group.size());
        let splitters = level.splitters;
        // Each rank has equally many, except for the last ranks; the last splitter of a short group
        // may stand for no element.
        let block = level.blocks.block.div_ceil(u64::from(splitters.group));
        let is_there = |number: u32| (splitters.element(number) as usize) < level.next.len();
        let nodes = match splitters.count {
            count @ 1.. if !is_there(count - 1) => count - 1,
            count => count,
        } as usize;
        let layout = Blocks::new(size as u64 * block, block);
        let first_node = rank as u64 * block;
        counts.nodes.push(self.group.share(nodes as u64)?.iter().sum());

        if self.nodes.len() == depth {
            self.nodes.push(None);
        }
        let none = || Nodes { before: self.device.empty(), distance: self.device.empty(), after: self.device.empty() };
        let mut of_level = self.nodes[depth].take().unwrap_or_else(none);
        let Nodes { before, distance, after } = &mut of_level;
        before.ensure(nodes)?;
        distance.ensure(nodes)?;
        stream.fill(&mut *before, UNREACHED)?;
        stream.fill_zero(&mut *distance)?;
        let count = self.travel.start(stream, level, (first_node, nodes), &self.none, 0, rank)?;
        let limit = (depth == 0).then(|| (PATIENCE * splitters.group as usize).min(level.blocks.n as usize));
        let mut rounds = Rounds { limit, ..Rounds::default() };
        let mut task = Task::Measure { before, distance };
        if !self.travel.run(&mut self.group, stream, level, count, &mut task, &mut rounds)? {
            check::diagnose(&mut self.group, stream, level.blocks, level.next, given)?;
            let count = rounds.waiting;
            rounds.limit = None;
            self.travel.run(&mut self.group, stream, level, count, &mut task, &mut rounds)?;
        }
        counts.rounds += rounds.done;

        let found = self.travel.findings(stream)?;
        let all = self.group.share(found)?;
        let place = |(rank, first): (usize, u32)| rank as u64 * block + u64::from(first) - 1;
        let first = all.iter().map(|found| found.first).enumerate().find(|&(_, first)| first > 0).map(place);
        let last = all.iter().find(|found| found.ends > 0);
        let ends: u64 = all.iter().map(|found| u64::from(found.ends)).sum();
        let is_sound = ends == 1 && all.iter().all(|found| found.lost == 0);
        let Some(last) = last.filter(|_| is_sound) else {
            self.nodes[depth] = Some(of_level);
            return Ok(None);
        };
        clock.end(if depth == 0 { "measure" } else { "remainder" }, if depth == 0 { 8 * level.next.len() as u64 } else { 0 });
        let mut to_last = 0;
        let mut is_complete = true;
        if last.last == HEAD {
            // No splitter is on the list.
            after.ensure(nodes)?;
            stream.fill(&mut *after, -1)?;
        } else if let Some(first) = first {
            if layout.n <= self.options.remainder || block <= u64::from(splitters.group) {
                let list = (&*before, &*distance);
                to_last = self.remainder.rank(&mut self.group, stream, layout, list, (last.last, first), after)?;
            } else {
                let above =
                    Level { blocks: layout, next: before, weights: distance, splitters: self.splitters(nodes), head: last.last };
                after.ensure(nodes)?;
                stream.fill(&mut *after, -1)?;
                match self.measure(stream, &above, depth + 1, None, counts, clock)? {
                    Some(measured) => {
                        self.number(stream, &above, depth + 1, &measured, after, counts)?;
                        to_last = measured.total;
                    }
                    None => is_complete = false,
                }
            }
        } else {
            is_complete = false;
        }
        stream.synchronize()?;
        clock.end("remainder", 0);
        self.nodes[depth] = Some(of_level);
        Ok(is_complete.then(|| Measured { total: to_last + last.sum as i64, to_last, first_node, nodes }))
    }

    /// Stores for each element the sum of everything before it.
    fn number(
        &mut self,
        stream: &Stream,
        level: &Level<'_>,
        depth: usize,
        measured: &Measured,
        sums: &mut Buffer<i64>,
        counts: &mut Counts,
    ) -> Result<(), DistributedError> {
        let Measured { to_last, first_node, nodes, .. } = *measured;
        let rank = self.group.rank();
        let after = self.nodes[depth].as_ref().map_or(&self.none, |nodes| &nodes.after);
        let count = self.travel.start(stream, level, (first_node, nodes), after, to_last, rank)?;
        let mut rounds = Rounds::default();
        self.travel.run(&mut self.group, stream, level, count, &mut Task::Number { sums }, &mut rounds)?;
        counts.rounds += rounds.done;
        Ok(())
    }

    /// Verifies the ranks of a valid list: each successor's rank is one more than its element's,
    /// and the last element's is `n - 1`. All ranks call it, with arguments as for
    /// [`rank`](Self::rank).
    ///
    /// # Errors
    /// [`DistributedError::WrongRank`], and as [`rank`](Self::rank).
    pub fn verify(&mut self, stream: &Stream, n: u64, next: &Buffer<i64>, ranks: &Buffer<i64>) -> Result<(), DistributedError> {
        let layout = self.check(n, None, &[("next", next.len()), ("ranks", ranks.len())]);
        let verify = |layout| check::verify(&mut self.group, &mut self.travel, stream, layout, next, ranks);
        let result = layout.and_then(verify);
        self.tell(result)
    }
}

#[derive(Default)]
struct Counts {
    nodes: Vec<u64>,
    rounds: usize,
}

/// The time since the last step.
struct Clock {
    last: Instant,
    steps: Vec<StepTime>,
}

impl Clock {
    /// Adds the time since the last call to step `name`.
    fn end(&mut self, name: &'static str, bytes: u64) {
        let now = Instant::now();
        let ms = (now - self.last).as_secs_f64() * 1e3;
        self.last = now;
        match self.steps.iter_mut().find(|step| step.name == name) {
            Some(step) => step.ms += ms,
            None => self.steps.push(StepTime { name, ms, bytes }),
        }
    }
}

/// Generates this rank's block of a list on its device: runs of `run` consecutive elements each, in
/// pseudorandom order. Runs of one element make a random list. The last run, if shorter, stays
/// last.
///
/// # Errors
/// The device has too little memory.
pub fn generate(stream: &Stream, layout: Blocks, rank: usize, run: u64, seed: u64) -> Result<Buffer<i64>, DeviceError> {
    let runs = Runs { n: layout.n, run: run.max(1) };
    let order = Permutation::new(runs.whole(), seed);
    let mut next = stream.device().alloc(layout.len(rank))?;
    let grid = blocks(next.len(), BLOCK);
    launch!(stream, generate::runs<<<grid, BLOCK>>>(runs, order, layout.first(rank), &mut next))?;
    Ok(next)
}
