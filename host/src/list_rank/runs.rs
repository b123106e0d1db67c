//! The strategy `runs`.

use gpu_kernels::{
    collectives::scan,
    list_rank::{
        prepare,
        runs::{self, BitsArgs},
    },
};

use super::{
    ListError, Options, Strategy,
    launches::{BLOCK, blocks},
    options::SplitterRule,
    ranker::{ListRanker, Report},
};
use crate::{
    common::Clock,
    device::{Backend, Buffer, Device, DeviceError, Stream},
    launch,
};

/// Least length of a list that is sampled for long runs. (The sample takes 0.02 ms, and ranking a shorter list less than 0.8.)
const FEWEST: usize = 1 << 24;
/// Least mean length of runs that are ranked unasked.
const LONG: usize = 5;

/// The arrays of the strategy `runs`.
pub struct Runs {
    /// A bit for each element that is the entry of its run.
    is_entry: Buffer<u32>,
    successors: Buffer<i32>,
    lengths: Buffer<i32>,
    entries: Buffer<i32>,
    /// Number of elements before each run.
    before: Buffer<i32>,
    ranker: ListRanker,
}

impl Runs {
    fn new(device: &Device, options: &Options) -> Self {
        let options = Options { trusted: options.trusted, seed: options.seed, shared: options.shared, ..Options::default() };
        Runs {
            is_entry: device.empty(),
            successors: device.empty(),
            lengths: device.empty(),
            entries: device.empty(),
            before: device.empty(),
            ranker: ListRanker::new(device, options),
        }
    }
}

impl ListRanker<i32> {
    /// Ranks a list by its runs, if that is the strategy, or if a sample shows that they are long. Returns `None` if the
    /// list is to be ranked otherwise: its runs are short, or it is invalid.
    pub(super) fn rank_runs(
        &mut self,
        stream: &Stream,
        next: &Buffer<i32>,
        head: Option<i32>,
        ranks: &mut Buffer<i32>,
    ) -> Result<Option<Report>, ListError> {
        let (n, is_asked) = (next.len(), self.options.strategy == Strategy::Runs);
        if n == 0 || !(is_asked || self.has_long_runs(stream, next)?) {
            return Ok(None);
        }
        let mut of_runs = self.of_runs.take().unwrap_or_else(|| Box::new(Runs::new(&self.device, &self.options)));
        match self.rank_with(stream, next, head, ranks, &mut of_runs) {
            Err(ListError::Device(DeviceError::OutOfMemory { .. })) if !is_asked => {
                // The memory that was taken is for another strategy.
                (self.marked, self.counts, self.heads) = (self.device.empty(), self.device.empty(), self.device.empty());
                Ok(None)
            }
            // The error is to name elements of the list, not runs.
            Err(error) if !matches!(error, ListError::Device(_)) => Ok(None),
            result => {
                self.of_runs = Some(of_runs);
                result
            }
        }
    }

    /// Returns true if the runs of `next` are to be ranked unasked: a call of a trusted ranker doesn't wait for the stream,
    /// and short lists or other sublists are for other strategies.
    fn has_long_runs(&mut self, stream: &Stream, next: &Buffer<i32>) -> Result<bool, DeviceError> {
        let Options { strategy, splitters, sublists, trusted, .. } = self.options;
        let is_usual = strategy == Strategy::Auto && splitters == SplitterRule::Hashed && sublists.is_none();
        if !is_usual || trusted || next.len() < FEWEST || self.device.backend() == Backend::Cpu {
            return Ok(false);
        }
        self.counts.ensure(1)?;
        // SAFETY: there is a word for the count.
        unsafe { launch!(stream, runs::sample<<<1, runs::SAMPLE_THREADS>>>(next, self.counts.view_mut(..1)?))? };
        let joined = stream.download_vec(self.counts.view(..1)?)?[0] as usize;
        Ok(joined * LONG >= runs::SAMPLE as usize * (LONG - 1))
    }

    fn rank_with(
        &mut self,
        stream: &Stream,
        next: &Buffer<i32>,
        head: Option<i32>,
        ranks: &mut Buffer<i32>,
        of_runs: &mut Runs,
    ) -> Result<Option<Report>, ListError> {
        let n = next.len();
        let words = n.div_ceil(32);
        let Runs { is_entry, successors, lengths, entries, before, ranker } = of_runs;
        self.device.preload(&[
            runs::mark::kernel(),
            prepare::count_heads::kernel(),
            scan::exclusive_in_place::kernel::<u32>(),
            prepare::collect_heads::kernel(),
            runs::contract::kernel(),
            runs::expand::kernel(),
        ]);
        let mut clock = Clock::start(stream, self.options.timed)?;
        self.marked.ensure(words)?;
        self.counts.ensure(words + 2)?;
        is_entry.ensure(words)?;
        let mut wrong = self.counts.view_mut(words + 1..)?;
        stream.fill_zero(wrong.reborrow())?;
        // SAFETY: both bitmaps have a bit for each element, and there is a word for the count.
        unsafe {
            launch!(stream, runs::mark<<<n.div_ceil(runs::MARKED) as u32, BLOCK>>>(
                next, &mut self.marked, &mut *is_entry, wrong
            ))?;
        }
        let (count, wrong) = self.list_unmarked(stream, n)?;
        clock.end("runs", 4 * n as u64 + n as u64 / 4)?;
        let is_asked = self.options.strategy == Strategy::Runs;
        if wrong > 0 || count * LONG > n && !is_asked {
            return Ok(None);
        }
        for of_each in [&mut *successors, &mut *lengths, &mut *entries, &mut *before] {
            of_each.ensure(count)?;
        }
        let bits = || BitsArgs { joined: &self.marked, entries: &*is_entry, before: &self.counts };
        launch!(stream, runs::contract<<<blocks(count, BLOCK), BLOCK>>>(
            next, bits(), &self.heads, &mut *successors, &mut *lengths, &mut *entries
        ))?;
        ranker.prefix_sums(stream, successors, None, lengths, before)?;
        clock.end("ranks of runs", 32 * count as u64)?;
        let mut found = lengths.view_mut(..1)?;
        // SAFETY: there is a rank and a bit for each element, and buffers are aligned to 256 bytes.
        unsafe {
            launch!(stream, runs::expand<<<blocks(n.div_ceil(4), BLOCK), BLOCK>>>(
                bits(), &*entries, &*before, &mut *ranks, n as u32, found.reborrow()
            ))?;
        }
        clock.end("ranks", 4 * n as u64 + n as u64 / 4)?;
        let found = if self.options.trusted { head.unwrap_or(-1) } else { stream.download_vec(found.as_view())?[0] };
        if head.is_some_and(|head| head != found) {
            return Ok(None);
        }
        Ok(Some(Report { n, sublists: count, strategy: Strategy::Runs, head: found, steps: clock.steps()? }))
    }
}
