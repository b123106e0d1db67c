//! The study: its data, and the order of its experiments.

use serde::Serialize;

use super::bench::{Bench, block_of};
use super::kernels::{Kernels, Variant};
use super::options::Options;
use super::poses::poses;
use super::rows::{Agreement, BatchRow, Facts, Fixed, StreamsRow};
use super::work::Work;
use super::{ConcurrencyError, notebook};
use crate::{common::Cancel, device::Device};

/// Results of all experiments.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Study {
    /// The device.
    pub device: Facts,
    /// Options, as they were carried out.
    pub options: Options,
    /// Number of the shape's pieces.
    pub pieces: usize,
    /// Number of threads per launch in the experiment with streams.
    pub stream_threads: usize,
    /// Work of such a launch.
    pub stream_work: Work,
    /// One row per number of streams.
    pub streams: Vec<StreamsRow>,
    /// One row per number of threads.
    pub batch: Vec<BatchRow>,
    /// The experiment with fixed work, by number of comparisons.
    pub fixed: Vec<Fixed>,
    /// The check of all kernels against each other.
    pub agreement: Agreement,
}

/// Progress of a study.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct StudyProgress {
    /// Number of finished steps.
    pub done: usize,
    /// Number of all steps.
    pub steps: usize,
    /// Name of the current step.
    pub what: &'static str,
}

impl Study {
    /// Carries out all experiments, until `cancel` is set. `progress` is called before each step and at the end.
    ///
    /// # Errors
    /// [`ConcurrencyError::Option`] for options out of range, [`ConcurrencyError::Disagreement`] if
    /// two kernels find different totals, [`ConcurrencyError::Cancelled`], and errors of the device.
    pub fn run(
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
