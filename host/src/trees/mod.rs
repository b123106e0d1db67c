//! Trees: rooting, traversals, sums and lowest common ancestors, by list ranking.
//!
//! [`Rooter`] roots a tree or a forest that is on a device as edges or as parents. It leaves each
//! vertex's parent, depth, subtree size and preorder number there ([`Rooting`]). [`Visits`],
//! [`TreeSums`] and [`Ancestors`] follow from these. [`root`] is the same for slices of the host:
//!
//! ```
//! use warpsmith::{device::Device, trees::{Roots, root}};
//!
//! //   0
//! //  / \
//! // 3   1
//! //    / \
//! //   4   2
//! let tree = root(&Device::best()?, 5, &[[1, 0], [1, 4], [0, 3], [2, 1]], Roots::At(0))?;
//! assert_eq!(tree.parent, [-1, 0, 1, 0, 1]);
//! assert_eq!(tree.depth, [0, 1, 2, 1, 2]);
//! assert_eq!(tree.size, [5, 3, 1, 1, 1]);
//! assert_eq!(tree.preorder, [0, 1, 3, 4, 2]);
//! # Ok::<(), warpsmith::trees::TreeError>(())
//! ```
//!
//! The method is Tarjan and Vishkin's (SIAM J. Comput. 1985): the Euler tour of the forest is made as a linked list,
//! and ranked ([`list_rank`](crate::list_rank)) once. All else are scans and lookups. The kernels are in
//! `gpu_kernels::trees`.
//!
//! Input is checked, at the price of reading it once more and of reading back a few bytes: edges
//! are those of a forest exactly if they are as many as vertices less roots, each vertex has one or
//! is a root, and the tour that starts at the first root comes by all of them. Otherwise the host
//! finds the first offender.

mod check;
mod error;
mod lca;
mod rooter;
mod rooting;
mod roots;
mod sequential;
mod sums;

#[cfg(feature = "graph")]
pub(crate) use check::Sets;
pub use check::{diagnose_edges, diagnose_parents};
pub use error::{MOST_VERTICES, TreeError};
pub use lca::Ancestors;
pub use rooter::{Report, Rooter};
pub use rooting::{Rooting, Visits};
pub use roots::Roots;
pub use sequential::{root_parents_sequentially, root_sequentially, small};
pub use sums::{TreeSums, Weight};

use crate::device::{Device, Stream};

/// A rooted forest in host memory. All arrays have an element for each vertex.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rooted {
    /// The number of trees.
    pub trees: usize,
    /// The parent, -1 for roots.
    pub parent: Vec<i32>,
    /// The number of edges between the vertex and its root.
    pub depth: Vec<i32>,
    /// The number of vertices of the subtree, including this one.
    pub size: Vec<i32>,
    /// The number of vertices that a depth-first search enters before this one.
    pub preorder: Vec<i32>,
    /// The number of vertices that it leaves before this one.
    pub postorder: Vec<i32>,
    /// The position at which the Euler tour, of two positions per vertex, enters this one.
    pub first: Vec<i32>,
    /// The position at which it leaves this one.
    pub last: Vec<i32>,
}

impl Rooted {
    /// Brings a rooted forest to the host.
    pub fn download(stream: &Stream, rooting: &Rooting) -> Result<Self, TreeError> {
        let visits = rooting.visits(stream)?;
        Ok(Rooted {
            trees: rooting.trees(),
            parent: stream.download_vec(rooting.parent())?,
            depth: stream.download_vec(rooting.depth())?,
            size: stream.download_vec(rooting.size())?,
            preorder: stream.download_vec(rooting.preorder())?,
            postorder: stream.download_vec(&visits.postorder)?,
            first: stream.download_vec(&visits.first)?,
            last: stream.download_vec(&visits.last)?,
        })
    }
}

/// Roots a forest of `n` vertices in host memory on a device, from its edges in any order and of any directions, each
/// once, or all of them in both directions.
///
/// # Errors
/// The edges are not those of a forest with such roots (the error names the first that offends), or
/// the device fails.
pub fn root(device: &Device, n: usize, edges: &[[i32; 2]], roots: Roots<&[i32]>) -> Result<Rooted, TreeError> {
    let stream = device.stream()?;
    let edges = device.upload(&edges.iter().map(|&edge| edge.into()).collect::<Vec<_>>())?;
    let mut rooting = Rooting::new(device);
    let labels = match roots {
        Roots::Labels(labels) => device.upload(labels)?,
        _ => device.empty(),
    };
    Rooter::new(device)?.edges(&stream, n, &edges, roots.map(|_| &labels), &mut rooting)?;
    Rooted::download(&stream, &rooting)
}

/// Roots a forest in host memory on a device, from the parent of each vertex, -1 for roots: of one tree where `root` is
/// given, else any number.
///
/// # Errors
/// The parents are not those of such a forest (the error names the first that offends), or the
/// device fails.
pub fn root_parents(device: &Device, parents: &[i32], root: Option<i32>) -> Result<Rooted, TreeError> {
    let stream = device.stream()?;
    let mut rooting = Rooting::new(device);
    Rooter::new(device)?.parents(&stream, &device.upload(parents)?, root, &mut rooting)?;
    Rooted::download(&stream, &rooting)
}
