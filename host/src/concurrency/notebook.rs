//! The notebook's figures, for comparison. It doesn't name its GPU; by its figures, double
//! precision is slow on it.

use serde::Serialize;

/// Threads of a kernel in the notebook's experiment with streams, and here.
pub const STREAM_THREADS: usize = 64;

/// Launches on each stream, and in each measurement by batch, of the notebook.
pub const ITERATIONS: usize = 20;

/// A row of the experiment with streams.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Streams {
    /// Number of streams.
    pub streams: usize,
    /// Kernels per second.
    pub kernels_per_s: f64,
    /// The time of [`ITERATIONS`] launches on each stream, in seconds.
    pub elapsed_s: f64,
}

/// Kernels per second and elapsed seconds by number of streams, with 64 poses against 500.
pub const STREAMS: [Streams; 6] = [
    Streams { streams: 1, kernels_per_s: 15.0, elapsed_s: 1.317 },
    Streams { streams: 2, kernels_per_s: 30.0, elapsed_s: 1.308 },
    Streams { streams: 4, kernels_per_s: 61.0, elapsed_s: 1.308 },
    Streams { streams: 8, kernels_per_s: 122.0, elapsed_s: 1.307 },
    Streams { streams: 16, kernels_per_s: 122.0, elapsed_s: 2.616 },
    Streams { streams: 32, kernels_per_s: 138.0, elapsed_s: 4.618 },
];

/// Threads, and milliseconds per kernel by events over 100 launches, against 500 poses.
pub const BATCH: [(usize, f64); 6] = [(4, 12.092), (8, 21.499), (16, 34.797), (32, 60.889), (64, 66.198), (128, 90.474)];

/// Threads, and milliseconds for 2,000 comparisons.
pub const FIXED: [(usize, f64); 5] = [(4, 12.100), (8, 8.674), (16, 7.695), (32, 9.503), (64, 6.225)];

/// The comparisons of [`FIXED`].
pub const FIXED_TOTAL: usize = 2000;

/// Threads, and kernels per second with the pieces in global and in constant memory, as the text
/// gives them.
pub const PLACEMENTS: [(usize, f64, f64); 3] = [(8, 83.0, 69.0), (16, 43.0, 36.0), (32, 22.0, 20.0)];
