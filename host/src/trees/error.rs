//! Errors of trees and forests.

use crate::device::DeviceError;

/// Why a tree could not be rooted, or not be asked. Vertices and edges are named by their indices,
/// from 0; if several offend, the first is named.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
#[allow(missing_docs, reason = "a message says what its fields are")]
pub enum TreeError {
    /// The device failed.
    #[error(transparent)]
    Device(#[from] DeviceError),
    /// More vertices than the tour's 32-bit positions can number.
    #[error("a forest of {n} vertices is too large: at most {} can be rooted", MOST_VERTICES)]
    TooLarge { n: usize },
    /// More edges than can be numbered.
    #[error("{m} edges are too many: at most 2^31 - 1 can be numbered")]
    TooManyEdges { m: usize },
    /// An array has another length than it needs.
    #[error("{what} has {found} elements, but {expected} are needed")]
    Length { what: &'static str, found: usize, expected: usize },
    /// The root isn't a vertex.
    #[error("root {root} is not a vertex: there are {n}, from 0")]
    RootOutOfRange { root: i32, n: usize },
    /// An end of an edge isn't a vertex.
    #[error("edge {edge} is ({}, {}), but there are {n} vertices, from 0", ends[0], ends[1])]
    EdgeOutOfRange { edge: usize, ends: [i32; 2], n: usize },
    /// An edge joins a vertex with itself.
    #[error("edge {edge} joins vertex {vertex} with itself")]
    SelfLoop { edge: usize, vertex: i32 },
    /// An edge is repeated, and the edges are not all given in both directions.
    #[error(
        "edge {edge}, ({}, {}), repeats edge {earlier}: edges are given once each, or all of them in both directions",
        ends[0], ends[1]
    )]
    Repeated { edge: usize, ends: [i32; 2], earlier: usize },
    /// An edge joins what was joined before.
    #[error("edge {edge}, ({}, {}), closes a circle with edges before it", ends[0], ends[1])]
    Circle { edge: usize, ends: [i32; 2] },
    /// A vertex isn't connected with the root.
    #[error("vertex {vertex} is not connected with root {root}")]
    Unreachable { vertex: usize, root: usize },
    /// A tree has two vertices that are marked as its root, or none.
    #[error("the tree of vertex {vertex} has {roots} roots by its labels, and needs one")]
    RootsOfTree { vertex: usize, roots: usize },
    /// A parent isn't a vertex.
    #[error("the parent of vertex {vertex} is {parent}, which is neither a vertex (there are {n}, from 0) nor -1")]
    ParentOutOfRange { vertex: usize, parent: i32, n: usize },
    /// A vertex is its own parent.
    #[error("vertex {vertex} is its own parent: a root's parent is -1")]
    OwnParent { vertex: usize },
    /// Another vertex is the root, or there is a second one.
    #[error("vertex {vertex} has no parent, though the root is {root}")]
    SecondRoot { vertex: usize, root: usize },
    /// The vertex that should be the root has a parent.
    #[error("vertex {root} is not the root: its parent is {parent}")]
    RootHasParent { root: usize, parent: i32 },
    /// The parents lead around in a circle.
    #[error("vertex {vertex} is its own ancestor: its parents lead back to it after {length} steps")]
    Cycle { vertex: usize, length: usize },
    /// A pair to ask about isn't of vertices.
    #[error("pair {pair} is ({}, {}), but there are {n} vertices, from 0", ends[0], ends[1])]
    PairOutOfRange { pair: usize, ends: [i32; 2], n: usize },
    /// The device says that the forest is bad, and the host finds nothing wrong with it.
    #[error("the device found fault with a forest of {n} vertices that is right: its memory or its driver is at fault")]
    Miscounted { n: usize },
}

/// The most vertices: a tour has two elements per vertex, and a list less than 2^31 elements.
pub const MOST_VERTICES: usize = (1 << 30) - 1;

/// Checks the length of an array.
pub(super) fn same_length(what: &'static str, found: usize, expected: usize) -> Result<(), TreeError> {
    if found == expected { Ok(()) } else { Err(TreeError::Length { what, found, expected }) }
}
