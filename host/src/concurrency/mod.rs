//! The concurrency study: what limits a kernel that adds up the overlap of polygons, and what helps.
//!
//! It repeats the experiments of a notebook that tried streams, atomic additions and constant memory on such a kernel, found that none
//! of them helped, and came to turn each polygon once, before they are compared. [`Study::run`] measures: kernels per second by
//! number of streams, launched one by one and through graphs; the time by number of threads; a fixed amount of work over ever more of
//! them; each reduction; each place in memory for the shape; one phase against two. Beside the times stands what there was to do
//! ([`Work`]), counted on the host.
//!
//! [`findings`] says in words what the figures show, and which resource is the limit. Nothing in there is known beforehand: other
//! figures give other sentences. [`notebook`] has the figures of the notebook.
//!
//! ```
//! use warpsmith::concurrency::{Options, Study, findings};
//! use warpsmith::device::Device;
//!
//! let device = Device::best()?;
//! let options = Options { streams: vec![1, 2], batch: vec![4, 8], poses: 40, fixed: vec![80], ..Options::of(&device) };
//! let study = Study::run(&device, &options, |_| {})?;
//! assert_eq!(study.batch[1].work.comparisons, 8 * 40);
//! for finding in findings(&study) {
//!     println!("{}: {}", finding.topic, finding.text);
//! }
//! # Ok::<(), warpsmith::concurrency::ConcurrencyError>(())
//! ```

mod error;
mod findings;
mod kernels;
mod measure;
pub mod notebook;
mod poses;
mod study;
mod work;

pub use error::ConcurrencyError;
pub use findings::{Claim, Finding, Fit, Verdict, claims, findings};
pub use kernels::{Kernels, Lists, Placement, Reduction, Variant};
pub use measure::Spread;
pub use poses::{Pose, poses};
pub use study::{
    Agreement, BatchRow, Facts, Fixed, FixedRow, MOST_ITERATIONS, MOST_POSES, MOST_RUNS, Options, Step, StreamsRow, Study,
};
pub use work::{CLIP, TRANSFORM, Work};

/// The most threads of a block of the study's kernels.
pub const MAX_THREADS: usize = gpu_kernels::concurrency::MAX_THREADS as usize;
