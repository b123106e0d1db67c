//! Why copies could not be packed.

use crate::{common::Cancelled, device::DeviceError, overlap::OverlapError, ranks::RanksError};

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
    /// A series has a number of copies twice.
    #[error("there are to be two packings of {count}, but a series has one of each number of copies")]
    CountTwice {
        /// The number of copies.
        count: usize,
    },
    /// The packing to start from has another number of copies.
    #[error("the packing to start from has {found} copies, and not {count}")]
    StartCount {
        /// How many it has.
        found: usize,
        /// How many it is to have.
        count: usize,
    },
    /// The packing to start from isn't valid.
    #[error("copies {first} and {second} of the packing to start from overlap by an area of {area:e}")]
    StartOverlaps {
        /// The first copy.
        first: usize,
        /// The second copy.
        second: usize,
        /// What they have in common.
        area: f64,
    },
    /// A copy of the packing to start from is turned as it must not be.
    #[error("copy {pose} of the packing to start from is turned by {theta}, which is not allowed")]
    StartTurned {
        /// The copy.
        pose: usize,
        /// Its angle (radians).
        theta: f64,
    },
    /// The packing to start from is wider than the strip.
    #[error("the packing to start from is wider than the strip, whose width is {width}")]
    StartWide {
        /// The strip's width.
        width: f64,
    },
    /// A shape doesn't fit into the strip.
    #[error("the strip is too narrow: its width is {width}, but at the allowed turns a copy of {shape} is at least {least} wide")]
    TooNarrow {
        /// The strip's width.
        width: f64,
        /// The shape's name.
        shape: String,
        /// Its least width.
        least: f64,
    },
    /// Coordinates so large that a container around them can't be told.
    #[error("there is no container around the copies in double precision")]
    NoRoom,
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
    /// The search was abandoned.
    #[error("the search was cancelled")]
    Cancelled,
    /// Another island failed, or can't be reached.
    #[error(transparent)]
    Ranks(#[from] RanksError),
    /// The evaluation failed.
    #[error(transparent)]
    Overlap(#[from] OverlapError),
}

impl From<DeviceError> for PackError {
    fn from(error: DeviceError) -> Self {
        PackError::Overlap(error.into())
    }
}

impl From<Cancelled> for PackError {
    fn from(_: Cancelled) -> Self {
        PackError::Cancelled
    }
}
