//! Why copies could not be packed.

use crate::{device::DeviceError, overlap::OverlapError};

/// Why copies could not be packed.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum PackError {
    /// Nothing to pack.
    #[error("count is 0: there must be at least one copy to pack")]
    NoCopies,
    /// Nothing to start from.
    #[error("starts is 0: there must be at least one packing to start from")]
    NoStarts,
    /// More poses than can be counted.
    #[error("{starts} starts of {count} copies are too many: together they can be at most {most}")]
    TooMany {
        /// The packings.
        starts: usize,
        /// The copies in each.
        count: usize,
        /// How many poses there can be.
        most: usize,
    },
    /// What was found isn't valid.
    #[error("copies {first} and {second} of the packing that was found overlap by a depth of {depth:e}")]
    Invalid {
        /// The first copy.
        first: usize,
        /// The second copy.
        second: usize,
        /// How deep one is in the other (length).
        depth: f64,
    },
    /// The evaluation failed.
    #[error(transparent)]
    Overlap(#[from] OverlapError),
}

impl From<DeviceError> for PackError {
    fn from(error: DeviceError) -> Self {
        PackError::Overlap(error.into())
    }
}
