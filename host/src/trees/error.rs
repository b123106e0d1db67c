//! Errors of trees and forests.

use crate::device::DeviceError;

/// Why a tree could not be rooted, or not be asked. Vertices and edges are named by their indices,
/// from 0; if several offend, the first is named.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum TreeError {
    /// The device failed.
    #[error(transparent)]
    Device(#[from] DeviceError),
    /// More vertices than the tour's 32-bit positions can number.
    #[error("a forest of {n} vertices is too large: at most {} can be rooted", MOST_VERTICES)]
    TooLarge {
        /// The number of vertices.
        n: usize,
    },
    /// More edges than can be numbered.
    #[error("{m} edges are too many: at most 2^31 - 1 can be numbered")]
    TooManyEdges {
        /// The number of edges.
        m: usize,
    },
    /// An array has another length than it needs.
    #[error("{what} has {found} elements, but {expected} are needed")]
    Length {
        /// The array's name.
        what: &'static str,
        /// Its length.
        found: usize,
        /// The length that it should have.
        expected: usize,
    },
    /// The root isn't a vertex.
    #[error("root {root} is not a vertex: there are {n}, from 0")]
    RootOutOfRange {
        /// The root given.
        root: i32,
        /// The number of vertices.
        n: usize,
    },
    /// An end of an edge isn't a vertex.
    #[error("edge {edge} is ({}, {}), but there are {n} vertices, from 0", ends[0], ends[1])]
    EdgeOutOfRange {
        /// The edge.
        edge: usize,
        /// Its ends.
        ends: [i32; 2],
        /// The number of vertices.
        n: usize,
    },
    /// An edge joins a vertex with itself.
    #[error("edge {edge} joins vertex {vertex} with itself")]
    SelfLoop {
        /// The edge.
        edge: usize,
        /// Its two ends.
        vertex: i32,
    },
    /// An edge is repeated, and the edges are not all given in both directions.
    #[error(
        "edge {edge}, ({}, {}), repeats edge {earlier}: edges are given once each, or all of them in both directions",
        ends[0], ends[1]
    )]
    Repeated {
        /// The later edge.
        edge: usize,
        /// Its ends.
        ends: [i32; 2],
        /// The earlier one.
        earlier: usize,
    },
    /// An edge joins what was joined before.
    #[error("edge {edge}, ({}, {}), closes a circle with edges before it", ends[0], ends[1])]
    Circle {
        /// The first edge that does.
        edge: usize,
        /// Its ends.
        ends: [i32; 2],
    },
    /// A vertex isn't connected with the root.
    #[error("vertex {vertex} is not connected with root {root}")]
    Unreachable {
        /// The first such vertex.
        vertex: usize,
        /// The root.
        root: usize,
    },
    /// A tree has two vertices that are marked as its root, or none.
    #[error("the tree of vertex {vertex} has {roots} roots by its labels, and needs one")]
    RootsOfTree {
        /// The tree's least vertex.
        vertex: usize,
        /// The number of its roots.
        roots: usize,
    },
    /// A parent isn't a vertex.
    #[error("the parent of vertex {vertex} is {parent}, which is neither a vertex (there are {n}, from 0) nor -1")]
    ParentOutOfRange {
        /// The vertex.
        vertex: usize,
        /// Its parent.
        parent: i32,
        /// The number of vertices.
        n: usize,
    },
    /// A vertex is its own parent.
    #[error("vertex {vertex} is its own parent: a root's parent is -1")]
    OwnParent {
        /// The vertex.
        vertex: usize,
    },
    /// Another vertex is the root, or there is a second one.
    #[error("vertex {vertex} has no parent, though the root is {root}")]
    SecondRoot {
        /// The vertex.
        vertex: usize,
        /// The root: the one asked for, else the first vertex without a parent.
        root: usize,
    },
    /// The vertex that should be the root has a parent.
    #[error("vertex {root} is not the root: its parent is {parent}")]
    RootHasParent {
        /// The root asked for.
        root: usize,
        /// Its parent.
        parent: i32,
    },
    /// The parents lead around in a circle.
    #[error("vertex {vertex} is its own ancestor: its parents lead back to it after {length} steps")]
    Cycle {
        /// The first vertex on a circle.
        vertex: usize,
        /// The number of vertices on the circle.
        length: usize,
    },
    /// A pair to ask about isn't of vertices.
    #[error("pair {pair} is ({}, {}), but there are {n} vertices, from 0", ends[0], ends[1])]
    PairOutOfRange {
        /// The pair.
        pair: usize,
        /// Its vertices.
        ends: [i32; 2],
        /// The number of vertices.
        n: usize,
    },
    /// The device says that the forest is bad, and the host finds nothing wrong with it.
    #[error("the device found fault with a forest of {n} vertices that is right: its memory or its driver is at fault")]
    Miscounted {
        /// The number of vertices.
        n: usize,
    },
}

/// The most vertices: a tour has two elements per vertex, and a list less than 2^31 elements.
pub const MOST_VERTICES: usize = (1 << 30) - 1;

/// Checks the length of an array.
pub(super) fn same_length(what: &'static str, found: usize, expected: usize) -> Result<(), TreeError> {
    if found == expected { Ok(()) } else { Err(TreeError::Length { what, found, expected }) }
}
