//! Experiments on the concurrency of a kernel that adds up overlaps of polygons, as data.
//!
//! [`Options`] go in, and a [`Study`] comes out: the times of each experiment, and what there was to do ([`Work`]),
//! counted on the host. The experiments vary the number of streams (launched one by one and through graphs), the
//! number of threads, the number of threads over a fixed amount of work, the reduction, the place of the shape in
//! memory, and one phase against two. They repeat those of a notebook, whose own figures are in [`notebook`].
//! docs/concurrency.md interprets the results.
//!
//! ```
//! use warpsmith::common::Cancel;
//! use warpsmith::concurrency::{Options, Study};
//! use warpsmith::device::Device;
//!
//! let device = Device::best()?;
//! let options = Options { streams: vec![1, 2], batch: vec![4, 8], poses: 40, fixed: vec![80], ..Options::of(&device) };
//! let study = Study::run(&device, &options, &Cancel::new(), |_| {})?;
//! assert_eq!(study.batch[1].work.comparisons, 8 * 40);
//! # Ok::<(), warpsmith::concurrency::ConcurrencyError>(())
//! ```

mod bench;
mod error;
mod kernels;
mod measure;
pub mod notebook;
mod options;
mod poses;
mod rows;
mod study;
mod work;

pub use error::ConcurrencyError;
pub use kernels::{Kernels, Lists, Placement, Reduction, Variant};
pub use measure::Spread;
pub use options::{MOST_ITERATIONS, MOST_POSES, MOST_RUNS, Options};
pub use poses::{Pose, poses};
pub use rows::{Agreement, BatchRow, Facts, Fixed, FixedRow, StreamsRow};
pub use study::{Study, StudyProgress};
pub use work::Work;

/// Largest block of the study's kernels, in threads.
pub const MAX_THREADS: usize = gpu_kernels::concurrency::MAX_THREADS as usize;
