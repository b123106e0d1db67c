//! Measures schedules: platforms that run them, repeated measurements, and files of runs.
//!
//! A [`Platform`] takes a schedule and returns its time: [`platform`] runs programs on GPUs or the
//! CPU, and [`external`] asks another process. A [`Measurer`] repeats measurements until a
//! schedule's time is known well enough. [`Runs`] are schedules with their times, as a file.

#[cfg_attr(windows, path = "no_dialogue.rs")]
mod dialogue;
pub mod external;
mod measurer;
pub mod platform;
mod runs;

pub use dialogue::kill_programs;
pub use measurer::{Measurer, Precision};
pub(super) use measurer::{ONE_SIDED, deviation, noise_of};
pub use platform::{Platform, Span, Timeline};
pub(super) use runs::Journal;
pub use runs::{About, Failed, Measured, Origin, Run, Runs};
