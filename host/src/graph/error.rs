//! What can be wrong with a graph.

use crate::{components::EdgeError, device::DeviceError, trees::TreeError};

/// Why a graph can't be made or worked on.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum GraphError {
    /// The device failed.
    #[error(transparent)]
    Device(DeviceError),
    /// An edge is none, or there are too many.
    #[error(transparent)]
    Edges(EdgeError),
    /// A spanning forest can't be rooted.
    #[error(transparent)]
    Tree(#[from] TreeError),
    /// Rows of a matrix don't follow one another: the first such.
    #[error("row_ptr[{at}] is {found}, but it must be from {least} to {most}")]
    Rows {
        /// The element.
        at: usize,
        /// What it is.
        found: i32,
        /// The least that it may be: the element before it, or 0.
        least: i32,
        /// The most that it may be: the number of columns, or of the first element 0.
        most: usize,
    },
    /// An output's length doesn't fit.
    #[error("{what} has {found} elements, but there are {expected} {of}")]
    Length {
        /// Which array.
        what: &'static str,
        /// Its length.
        found: usize,
        /// The length that it must have.
        expected: usize,
        /// Of what it has one each: vertices or edges.
        of: &'static str,
    },
}

impl From<DeviceError> for GraphError {
    fn from(error: DeviceError) -> Self {
        GraphError::Device(error)
    }
}

impl From<EdgeError> for GraphError {
    fn from(error: EdgeError) -> Self {
        match error {
            EdgeError::Device(error) => GraphError::Device(error),
            error => GraphError::Edges(error),
        }
    }
}
