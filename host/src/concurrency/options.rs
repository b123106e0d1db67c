//! Options of a study.

use serde::Serialize;

use super::{ConcurrencyError, notebook};
use crate::device::{Backend, Device};

/// Maximum number of poses in either list.
pub const MOST_POSES: usize = 1 << 20;
/// Maximum number of launches on each stream.
pub const MOST_ITERATIONS: usize = 10_000;
/// Maximum number of measurements of each time.
pub const MOST_RUNS: usize = 1000;

/// Maximum number of poses in all streams' lists together.
const MOST_OF_STREAMS: usize = 1 << 24;

/// Sizes and repetitions of the experiments.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Options {
    /// Numbers of streams, from 1 to 1,024.
    pub streams: Vec<usize>,
    /// Numbers of poses in the first list, one thread each, at least 1. Numbers above `poses` are
    /// left out.
    pub batch: Vec<usize>,
    /// Number of poses in the second list, at least 1.
    pub poses: usize,
    /// Number of launches on each stream, and most launches in a row for one time, from 1 to
    /// 10,000.
    pub iterations: usize,
    /// Number of measurements per median, from 1 to 1,000.
    pub runs: usize,
    /// The seed of the poses.
    pub seed: u32,
    /// Numbers of comparisons for the experiment with fixed work, from 1 to 1,048,576. May be empty.
    pub fixed: Vec<usize>,
}

impl Options {
    /// Returns the notebook's options with medians of 7 runs, or on the CPU of 3 runs of single
    /// launches.
    pub fn of(device: &Device) -> Self {
        let gpu = device.backend() == Backend::Cuda;
        Options {
            streams: vec![1, 2, 4, 8, 16, 32],
            batch: vec![4, 8, 16, 32, 64, 128, 256],
            poses: 500,
            iterations: if gpu { notebook::ITERATIONS } else { 1 },
            runs: if gpu { 7 } else { 3 },
            seed: 123,
            fixed: vec![notebook::FIXED_TOTAL, 128_000],
        }
    }

    /// Checks the options, and sorts the lists without repetitions.
    pub(super) fn checked(&self) -> Result<Self, ConcurrencyError> {
        let mut options = self.clone();
        for list in [&mut options.streams, &mut options.batch] {
            list.sort_unstable();
            list.dedup();
        }
        let ranges = [
            ("streams", &options.streams[..], 1..=1024, "a number of streams is from 1 to 1,024"),
            ("batch", &options.batch, 1..=MOST_POSES, "a batch has from 1 to 1,048,576 poses"),
            ("poses", &[options.poses], 1..=MOST_POSES, "there are from 1 to 1,048,576"),
            ("iterations", &[options.iterations], 1..=MOST_ITERATIONS, "there are from 1 to 10,000"),
            ("runs", &[options.runs], 1..=MOST_RUNS, "there are from 1 to 1,000"),
            ("fixed", &options.fixed, 1..=MOST_POSES, "there are from 1 to 1,048,576 comparisons"),
        ];
        for (option, entries, range, expected) in ranges {
            let found = entries.iter().copied().find(|entry| !range.contains(entry));
            if found.is_some() || entries.is_empty() && option != "fixed" {
                return Err(ConcurrencyError::Option { option, found, expected });
            }
        }
        // Each stream has lists of its own, of about 300 bytes for each pose.
        if let Some(&streams) = options.streams.last()
            && streams * options.poses > MOST_OF_STREAMS
        {
            let expected = "that many streams have no room for lists of so many poses: together they may have 2^24";
            return Err(ConcurrencyError::Option { option: "streams", found: Some(streams), expected });
        }
        if options.batch[0] > options.poses {
            let expected = "it is taken from the poses, of which there are fewer";
            return Err(ConcurrencyError::Option { option: "batch", found: Some(options.batch[0]), expected });
        }
        options.batch.retain(|&threads| threads <= options.poses);
        Ok(options)
    }
}
