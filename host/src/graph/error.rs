//! Errors of graphs.

use crate::{components::EdgeError, device::DeviceError, trees::TreeError};

/// Why a graph can't be made or worked on.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
#[allow(missing_docs, reason = "a message says what its fields are")]
pub enum GraphError {
    /// The device failed.
    #[error(transparent)]
    Device(#[from] DeviceError),
    /// An edge has an end that is no vertex, or there are too many edges.
    #[error(transparent)]
    Edges(EdgeError),
    /// A spanning forest can't be rooted.
    #[error(transparent)]
    Tree(#[from] TreeError),
    /// Rows of a matrix don't follow one another: the first such.
    #[error("row_ptr[{at}] is {found}, but it must be from {least} to {most}")]
    Rows { at: usize, found: i32, least: i32, most: usize },
    /// A weight is NaN: the first such.
    #[error("the weight of edge {edge} is NaN")]
    Unordered { edge: usize },
    /// An array's length doesn't fit.
    #[error("{what} has {found} elements, but there are {expected} {of}")]
    Length { what: &'static str, found: usize, expected: usize, of: &'static str },
}

impl From<EdgeError> for GraphError {
    fn from(error: EdgeError) -> Self {
        match error {
            EdgeError::Device(error) => GraphError::Device(error),
            error => GraphError::Edges(error),
        }
    }
}
