//! Why a study could not be made.

use crate::common::Cancelled;
use crate::device::DeviceError;
use crate::overlap::OverlapError;

use super::Variant;

/// Why a study could not be made.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum ConcurrencyError {
    /// A list of the options has no entries, or one that is out of range.
    #[error("{option} has {}; {expected}", found.map_or_else(|| "no entries".to_owned(), |found| format!("the entry {found}")))]
    Option {
        /// The option: `streams`, `batch`, `poses`, `iterations` or `runs`.
        option: &'static str,
        /// The first entry that can't be.
        found: Option<usize>,
        /// What it may be.
        expected: &'static str,
    },
    /// The kernels of [`overlap`](crate::overlap) don't agree with those of the study.
    #[error("the library finds a total overlap of {found} for {threads} poses with {poses}, and the study {expected}")]
    Engine {
        /// The library's total, without that of a pose with itself.
        found: f64,
        /// The study's.
        expected: f64,
        /// Poses of the first list.
        threads: usize,
        /// Poses of the second list.
        poses: usize,
    },
    /// Two kernels don't agree, so that there is no sense in comparing their times.
    #[error("{variant} finds a total overlap of {found} for {threads} poses with {poses}, and {reference} {expected}")]
    Disagreement {
        /// The kernel.
        variant: Variant,
        /// Its total.
        found: f64,
        /// The kernel that it was compared with.
        reference: Variant,
        /// That one's total.
        expected: f64,
        /// Poses of the first list.
        threads: usize,
        /// Poses of the second list.
        poses: usize,
    },
    /// The study was cancelled.
    #[error("the study was cancelled")]
    Cancelled,
    /// The device could not do it.
    #[error(transparent)]
    Device(#[from] DeviceError),
    /// The library could not do it.
    #[error(transparent)]
    Overlap(#[from] OverlapError),
}

impl From<Cancelled> for ConcurrencyError {
    fn from(_: Cancelled) -> Self {
        ConcurrencyError::Cancelled
    }
}
