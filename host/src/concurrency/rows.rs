//! Rows of the study's tables.

use serde::Serialize;

use super::measure::Spread;
use super::work::Work;

/// Properties of the device.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Facts {
    /// Its name.
    pub name: String,
    /// `cuda` or `cpu`.
    pub backend: String,
    /// Number of multiprocessors, or of worker threads on the CPU.
    pub multiprocessors: u32,
    /// Highest clock rate in MHz, if it is known.
    pub clock_mhz: Option<f64>,
    /// Double-precision instructions that a multiprocessor starts per clock, if the number is
    /// known.
    pub fp64_lanes: Option<u32>,
    /// Hardware queues between the host and the device, which streams share:
    /// `CUDA_DEVICE_MAX_CONNECTIONS`, 8 unless it is set. None on the CPU.
    pub queues: Option<u32>,
    /// Registers of a thread of the notebook's kernel; 0 on the CPU.
    pub registers: u32,
    /// Number of blocks of the experiment with streams that fit on a multiprocessor.
    pub blocks_per_multiprocessor: u32,
    /// Size of the L2 cache in bytes; 0 if it is unknown.
    pub l2_bytes: usize,
}

/// Times of one number of streams by the host's clock. Each stream has one launch of 64 poses
/// against all per iteration.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct StreamsRow {
    /// Number of streams.
    pub streams: usize,
    /// All launches one by one, in turns over the streams: milliseconds until all are done.
    pub plain_ms: Spread,
    /// A graph per stream, with all of its launches.
    pub graphs_ms: Spread,
    /// One graph, with a branch for each stream.
    pub branches_ms: Spread,
    /// One stream, where one launch with a block per stream replaces the launches of all streams.
    pub blocks_ms: Spread,
    /// The same as `plain_ms` for a kernel that does nothing.
    pub empty_ms: Spread,
}

/// Times of one number of threads, per launch, in milliseconds on the device.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct BatchRow {
    /// Number of poses in the first list, which is the number of threads.
    pub threads: usize,
    /// Number of blocks.
    pub blocks: usize,
    /// Work of a launch.
    pub work: Work,
    /// Rate of the notebook's kernel, back to back on one stream by the host's clock.
    pub kernels_per_s: Spread,
    /// One phase from global memory, with each reduction in the order of
    /// [`Reduction::ALL`](super::Reduction::ALL).
    pub reductions: Vec<Spread>,
    /// One phase with the notebook's reduction, with the pieces in each of
    /// [`Placement::ALL`](super::Placement::ALL).
    pub placements: Vec<Spread>,
    /// Turning the pieces of both lists.
    pub transform: Spread,
    /// Intersecting turned pieces.
    pub turned: Spread,
    /// Turning and intersecting.
    pub two_phase: Spread,
    /// The library's evaluator ([`Overlap`](crate::overlap::Overlap)), from the poses to the total.
    pub engine: Spread,
    /// Total overlap. A pair that is in both lists counts twice.
    pub total: f64,
}

impl BatchRow {
    /// The notebook's kernel: one phase, global memory, interleaved tree.
    pub fn one_phase(&self) -> Spread {
        self.reductions.first().copied().unwrap_or_default()
    }
}

impl StreamsRow {
    /// Converts `ms`, one of the row's times, to launches per second.
    pub fn rate(&self, ms: Spread, iterations: usize) -> Spread {
        ms.map(|ms| 1e3 * (self.streams * iterations) as f64 / ms)
    }
}

/// A fixed number of comparisons, divided among different numbers of threads.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Fixed {
    /// Maximum number of comparisons; lists of whole poses may have fewer.
    pub total: usize,
    /// One row per number of threads.
    pub rows: Vec<FixedRow>,
}

/// One number of threads.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct FixedRow {
    /// Number of poses in the first list, which is the number of threads.
    pub threads: usize,
    /// Number of poses in the second list.
    pub poses: usize,
    /// Work of a launch.
    pub work: Work,
    /// Time of the notebook's kernel on the device.
    pub ms: Spread,
}

/// Agreement of all kernels.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
#[non_exhaustive]
pub struct Agreement {
    /// Number of kernels.
    pub variants: usize,
    /// Largest relative difference of two totals.
    pub largest_difference: f64,
}
