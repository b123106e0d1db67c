//! The concurrency study: what limits a kernel that adds up the overlap of polygons, and what helps.
//!
//! It repeats the experiments of a notebook that tried streams, atomic additions and constant memory on such a kernel,
//! found that none of them helped, and came to turn each polygon once, before they are compared. [`Study::run`]
//! measures: kernels per second by number of streams, launched one by one and through graphs; the time by number of
//! threads; a fixed amount of work over ever more of them; each reduction; each place in memory for the shape; one
//! phase against two. Beside the times stands what there was to do ([`Work`]), counted on the host.
//!
//! [`findings()`] is what the figures show: ratios, what follows from comparing them, and which resource is the limit.
//! Nothing in there is known beforehand. The command makes sentences of it. [`notebook`] has the figures of the
//! notebook.
//!
//! ```
//! use warpsmith::concurrency::{Options, Study, findings};
//! use warpsmith::device::Device;
//!
//! let device = Device::best()?;
//! let options = Options { streams: vec![1, 2], batch: vec![4, 8], poses: 40, fixed: vec![80], ..Options::of(&device) };
//! let study = Study::run(&device, &options, |_| {})?;
//! assert_eq!(study.batch[1].work.comparisons, 8 * 40);
//! let found = findings(&study);
//! for claim in &found.claims {
//!     println!("{:?}: {:?}", claim.statement, claim.verdict);
//! }
//! assert_eq!(found.phases.unwrap().threads, 8);
//! # Ok::<(), warpsmith::concurrency::ConcurrencyError>(())
//! ```

mod bench;
mod error;
pub mod findings;
mod kernels;
mod measure;
pub mod notebook;
mod options;
mod poses;
mod study;
mod work;

pub use error::ConcurrencyError;
pub use findings::findings;
pub use kernels::{Kernels, Lists, Placement, Reduction, Variant};
pub use measure::Spread;
pub use options::{MOST_ITERATIONS, MOST_POSES, MOST_RUNS, Options};
pub use poses::{Pose, poses};
pub use study::{Agreement, BatchRow, Facts, Fixed, FixedRow, StreamsRow, Study, StudyProgress};
pub use work::{CLIP, TRANSFORM, Work};

/// The most threads of a block of the study's kernels.
pub const MAX_THREADS: usize = gpu_kernels::concurrency::MAX_THREADS as usize;
