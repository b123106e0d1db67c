//! Errors of the concurrency study.

use crate::common::Cancelled;
use crate::device::DeviceError;
use crate::overlap::OverlapError;

/// An error of the concurrency study.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
#[allow(missing_docs, reason = "a message says what its fields are")]
pub enum ConcurrencyError {
    /// An option is out of range, or its list has no entries.
    #[error("{option} has {}; {expected}", found.map_or_else(|| "no entries".to_owned(), |found| format!("the entry {found}")))]
    Option { option: &'static str, found: Option<usize>, expected: &'static str },
    /// Two kernels find different totals, so their times can't be compared.
    #[error("{kernel} finds a total overlap of {found} for {threads} poses with {poses}, and {reference} {expected}")]
    Disagreement { kernel: String, found: f64, reference: String, expected: f64, threads: usize, poses: usize },
    /// The study was cancelled.
    #[error("the study was cancelled")]
    Cancelled,
    /// An error of the device.
    #[error(transparent)]
    Device(#[from] DeviceError),
    /// An error of the library's evaluator.
    #[error(transparent)]
    Overlap(#[from] OverlapError),
}

impl From<Cancelled> for ConcurrencyError {
    fn from(_: Cancelled) -> Self {
        ConcurrencyError::Cancelled
    }
}
