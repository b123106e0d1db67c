//! What a study is, and how it goes.

use serde::Serialize;

use super::bench::{Bench, block_of};
use super::kernels::{Kernels, Variant};
use super::measure::Spread;
use super::options::Options;
use super::poses::poses;
use super::work::Work;
use super::{ConcurrencyError, notebook};
use crate::{common::Cancel, device::Device};

/// What is known of the device.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Facts {
    /// Its name.
    pub name: String,
    /// `cuda` or `cpu`.
    pub backend: String,
    /// Multiprocessors; of the CPU worker threads.
    pub multiprocessors: u32,
    /// The highest clock's rate in MHz; none where that is unknown.
    pub clock_mhz: Option<f64>,
    /// Double-precision instructions that a multiprocessor starts per clock; none where that is unknown.
    pub fp64_lanes: Option<u32>,
    /// Hardware queues between the host and the device, which streams share: `CUDA_DEVICE_MAX_CONNECTIONS`, 8 unless it
    /// is set. None on the CPU.
    pub queues: Option<u32>,
    /// Registers of a thread of the notebook's kernel; 0 on the CPU.
    pub registers: u32,
    /// How many blocks of the experiment with streams a multiprocessor holds.
    pub blocks_per_multiprocessor: u32,
    /// The second-level cache, in bytes; 0 where that is unknown.
    pub l2_bytes: usize,
}

/// The times of one number of streams, by the host's clock: on each as many launches, of 64 poses against all, as there
/// are iterations.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct StreamsRow {
    /// How many.
    pub streams: usize,
    /// All launches one by one, in turns over the streams: milliseconds until all are done.
    pub plain_ms: Spread,
    /// A graph per stream, with all of its launches.
    pub graphs_ms: Spread,
    /// One graph, with a branch for each stream.
    pub branches_ms: Spread,
    /// One stream, with the launches of all at once as one of so many blocks.
    pub blocks_ms: Spread,
    /// As `plain_ms`, of a kernel that does nothing.
    pub empty_ms: Spread,
}

/// The times of one number of threads, in milliseconds on the device, per launch.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct BatchRow {
    /// Poses of the first list, and threads.
    pub threads: usize,
    /// Blocks.
    pub blocks: usize,
    /// What there is to do.
    pub work: Work,
    /// Of the notebook's kernel, back to back on one stream by the host's clock.
    pub kernels_per_s: Spread,
    /// One phase from global memory, with each reduction in the order of [`Reduction::ALL`](super::Reduction::ALL).
    pub reductions: Vec<Spread>,
    /// One phase with the notebook's reduction, with the pieces in each of [`Placement::ALL`](super::Placement::ALL).
    pub placements: Vec<Spread>,
    /// Turning the pieces of both lists.
    pub transform: Spread,
    /// Intersecting turned pieces.
    pub turned: Spread,
    /// Both.
    pub two_phase: Spread,
    /// The library's evaluator ([`Overlap`](crate::overlap::Overlap)), from the poses to the total.
    pub engine: Spread,
    /// The total overlap, a pair that is in both lists counting twice.
    pub total: f64,
}

impl BatchRow {
    /// The notebook's kernel: one phase, global memory, interleaved tree.
    pub fn one_phase(&self) -> Spread {
        self.reductions.first().copied().unwrap_or_default()
    }
}

impl StreamsRow {
    /// Launches per second, where `ms` is one of its times.
    pub fn rate(&self, ms: Spread, iterations: usize) -> Spread {
        ms.map(|ms| 1e3 * (self.streams * iterations) as f64 / ms)
    }
}

/// A number of comparisons, shared out over ever more threads.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Fixed {
    /// Comparisons, at most: lists are whole.
    pub total: usize,
    /// By threads.
    pub rows: Vec<FixedRow>,
}

/// One way to share them out.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct FixedRow {
    /// Poses of the first list, and threads.
    pub threads: usize,
    /// Poses of the second.
    pub poses: usize,
    /// What there is to do.
    pub work: Work,
    /// The notebook's kernel, on the device.
    pub ms: Spread,
}

/// Whether all kernels found the same.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
#[non_exhaustive]
pub struct Agreement {
    /// How many kernels.
    pub variants: usize,
    /// The largest difference of two totals, as a share of them.
    pub largest_difference: f64,
}

/// All that was measured.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Study {
    /// The device.
    pub device: Facts,
    /// What was asked for, as it was carried out.
    pub options: Options,
    /// Pieces of the shape.
    pub pieces: usize,
    /// Threads of a launch of the experiment with streams.
    pub stream_threads: usize,
    /// What such a launch has to do.
    pub stream_work: Work,
    /// By number of streams.
    pub streams: Vec<StreamsRow>,
    /// By number of threads.
    pub batch: Vec<BatchRow>,
    /// Fixed work.
    pub fixed: Vec<Fixed>,
    /// The check of all kernels against each other.
    pub agreement: Agreement,
}

/// How far a study is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct StudyProgress {
    /// Steps that are done.
    pub done: usize,
    /// Steps in all.
    pub steps: usize,
    /// What is being done.
    pub what: &'static str,
}

impl Study {
    /// Carries out all experiments.
    ///
    /// `progress` is called before each step and at the end.
    ///
    /// # Errors
    /// [`ConcurrencyError::Option`] for options out of range, [`ConcurrencyError::Disagreement`] where two kernels find
    /// different totals, and what the device has against it.
    pub fn run(device: &Device, options: &Options, progress: impl FnMut(StudyProgress)) -> Result<Self, ConcurrencyError> {
        Study::run_until(device, options, &Cancel::new(), progress)
    }

    /// As [`run`](Self::run), until `cancel` is set.
    ///
    /// # Errors
    /// As [`run`](Self::run), and [`ConcurrencyError::Cancelled`].
    pub fn run_until(
        device: &Device,
        options: &Options,
        cancel: &Cancel,
        mut progress: impl FnMut(StudyProgress),
    ) -> Result<Self, ConcurrencyError> {
        let options = options.checked()?;
        let steps = options.streams.len() + options.batch.len() + options.fixed.len();
        let mut done = 0;
        let mut step = |what| {
            progress(StudyProgress { done, steps, what });
            done += 1;
        };
        let bench = Bench { device, stream: device.stream()?, kernels: Kernels::new(device)?, options: &options, cancel };
        let all = poses(options.poses, options.seed);

        let mut batch = Vec::new();
        let mut agreement = Agreement { variants: Variant::all().count(), largest_difference: 0.0 };
        for &threads in &options.batch {
            step("by threads");
            batch.push(bench.batch(&all[..threads], &all, &mut agreement)?);
        }
        let mut fixed = Vec::new();
        for &total in &options.fixed {
            step("fixed work");
            fixed.push(bench.fixed(total)?);
        }
        let stream_threads = notebook::STREAM_THREADS.min(all.len());
        let mut streams = Vec::new();
        for &count in &options.streams {
            step("by streams");
            streams.push(bench.streams(count, &all[..stream_threads], &all)?);
        }
        step("done");
        let device = bench.facts(stream_threads)?;
        let pieces = bench.kernels.pieces();
        let stream_work = Work::count(&all[..stream_threads], &all, pieces, bench.kernels.reach(), block_of(stream_threads));
        let options = options.clone();
        Ok(Study { device, options, pieces, stream_threads, stream_work, streams, batch, fixed, agreement })
    }
}
