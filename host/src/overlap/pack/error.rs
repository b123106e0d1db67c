//! Errors of the packer.

use crate::{
    common::Cancelled,
    device::DeviceError,
    overlap::{OverlapError, error::short},
    ranks::RanksError,
};

/// Why copies could not be packed.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
#[allow(missing_docs, reason = "a message says what its fields are")]
pub enum PackError {
    /// There is nothing to pack.
    #[error("count is 0: there must be at least one copy to pack")]
    NoCopies,
    /// There is no candidate to improve.
    #[error("starts is 0: there must be at least one packing to start from")]
    NoStarts,
    /// There are more poses than the search can count.
    #[error("{starts} starts of {count} copies are too many: together they can be at most {most}")]
    TooMany { starts: usize, count: usize, most: usize },
    /// A packing has a number of copies for more or fewer shapes than there are.
    #[error("a packing has {counts} numbers of copies, but there must be one for each of {shapes} shapes")]
    CountsOfShapes { counts: usize, shapes: usize },
    /// There are turns for more or fewer shapes than there are.
    #[error("there are {turns} sets of allowed angles, but there must be one for all shapes or one for each of {shapes}")]
    TurnsOfShapes { turns: usize, shapes: usize },
    /// Angles are not allowed ones.
    #[error("{reason}")]
    Turns { reason: String },
    /// Two packings have the same numbers of copies.
    #[error("two packings have {count} copies, but each number of copies can be searched for only once")]
    CountTwice { count: usize },
    /// A sheet has no room.
    #[error("{} with margins of {}: there must be room, and lengths must be below 1e6", sheet(*width, *height), short(*margin))]
    Sheet { width: f64, height: f64, margin: f64 },
    /// An irregular sheet isn't a polygon with holes, or reaches beyond its rectangle.
    #[error("the sheet {sheet} must be one polygon, maybe with holes, within its width and height, which must be below 1e6")]
    Form { sheet: String },
    /// A roll is among several sheets.
    #[error("a roll must be the only sheet")]
    Roll,
    /// A length is negative or too large.
    #[error("{what} is {}, but it must be from 0 to below 1e6", short(*length))]
    Length { what: &'static str, length: f64 },
    /// There are numbers for more or fewer parts than there are.
    #[error("there are {found} {what}, but there must be one for each of {parts} parts")]
    OfParts { what: &'static str, found: usize, parts: usize },
    /// A part's value is not a positive number, or too large to add up.
    #[error("the value of {part} is {}, but it must be positive and finite, also times the number of all parts", short(*value))]
    Value { part: String, value: f64 },
    /// The text is not a container.
    #[error("container {text}: {reason}")]
    Container { text: String, reason: String },
    /// The packing to start from has another number of copies.
    #[error("the packing to start from has {found} copies, and not {count}")]
    StartCount { found: usize, count: usize },
    /// The packing to start from isn't valid.
    #[error("copies {first} and {second} of the packing to start from overlap by an area of {area:e}")]
    StartOverlaps { first: usize, second: usize, area: f64 },
    /// A copy of the packing to start from has an angle, in radians, that is not allowed.
    #[error("copy {pose} of the packing to start from is turned by {theta}, which is not allowed")]
    StartTurned { pose: usize, theta: f64 },
    /// The packing to start from is wider than the strip.
    #[error("the packing to start from is wider than the strip, whose width is {width}")]
    StartWide { width: f64 },
    /// A shape doesn't fit into the strip.
    #[error("the strip is too narrow: its width is {width}, but at the allowed turns a copy of {shape} is at least {least} wide")]
    TooNarrow { width: f64, shape: String, least: f64 },
    /// Coordinates are too large to compute a container around them.
    #[error("there is no container around the copies in double precision")]
    NoRoom,
    /// The result isn't valid, which is a bug.
    #[error("copies {first} and {second} of the packing that was found overlap by a depth of {depth:e}")]
    Invalid { first: usize, second: usize, depth: f64 },
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

impl PackError {
    /// Returns true if a launch was stopped, so that there is no result.
    fn is_stopped(&self) -> bool {
        matches!(self, PackError::Overlap(OverlapError::Device(error)) if error.is_stopped())
    }
}

/// Describes a sheet, or a roll, which is infinite in one direction.
fn sheet(width: f64, height: f64) -> String {
    match [width, height] {
        [f64::INFINITY, extent] | [extent, f64::INFINITY] => format!("a roll of {}", short(extent)),
        [width, height] => format!("a sheet of {} x {}", short(width), short(height)),
    }
}

/// Returns none if the work was stopped.
pub fn unless_stopped<R>(result: Result<R, PackError>) -> Result<Option<R>, PackError> {
    match result {
        Err(error) if error.is_stopped() => Ok(None),
        result => result.map(Some),
    }
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
