//! Undirected graphs: bridges, 2-edge-connected components, articulation points and biconnected components.
//!
//! A graph is a number of vertices and an array of edges, each a pair of vertices: an [`EdgeList`]
//! in host memory, which [`io`] reads from files, or a buffer on a device. [`Connectivity`] works
//! on such a buffer, end to end on the device, and [`Components`] finds connected components and
//! spanning forests, [`MinimumForests`] minimum spanning forests. For graphs in host memory there are [`components`], [`bridges`] and
//! [`biconnected`]:
//!
//! ```
//! use warpsmith::{device::Device, graph::{self, EdgeList}};
//!
//! //  0 - 1
//! //   \ / \
//! //    2   3 - 4
//! let edges = vec![[0, 1], [1, 2], [2, 0], [1, 3], [3, 4]];
//! let graph = EdgeList { vertices: 5, edges, arcs: false };
//! let device = Device::best()?;
//! assert_eq!(graph::components(&device, &graph)?, [0, 0, 0, 0, 0]);
//!
//! let (bridges, parts) = graph::bridges(&device, &graph)?;
//! assert_eq!((bridges, parts), (vec![3, 4], vec![0, 0, 0, 3, 4]));
//!
//! let (labels, points) = graph::biconnected(&device, &graph)?;
//! assert_eq!((labels, points), (vec![1, 1, 1, 3, 4], vec![1, 3]));
//! # Ok::<(), graph::GraphError>(())
//! ```
//!
//! Loops, edges from a vertex to itself, and double edges are allowed. Results depend on the graph
//! alone, not on the order of the threads or on the spanning forest that they find. Labels don't
//! depend on the order of the edges, either.

mod connectivity;
mod edges;
mod error;
pub mod generate;
mod ids;
pub mod io;
mod sequential;
mod spanning;

pub use crate::components::{Components, EdgeError, Found, MOST, repeats};
pub use connectivity::{Biconnected, Bridges, Connectivity};
pub use edges::{EdgeList, Graph, edges_of_rows};
pub use error::GraphError;
pub use ids::{Drawing, Ids};
pub use sequential::{biconnected_sequentially, bridges_sequentially, components_sequentially};
pub use spanning::{MinimumForest, MinimumForests, Weight};

use crate::device::Device;

/// The smallest vertex of each vertex's component.
///
/// # Errors
/// [`GraphError`]: an edge's end is no vertex, or the device fails.
pub fn components(device: &Device, graph: &EdgeList) -> Result<Vec<i32>, GraphError> {
    let stream = device.stream()?;
    let (edges, mut labels) = (graph.upload(device)?, device.alloc(graph.vertices)?);
    Components::new(device)?.label(&stream, &edges, &mut labels)?;
    Ok(stream.download_vec(&labels)?)
}

/// The numbers of the bridges, ascending, and the smallest vertex of each vertex's 2-edge-connected component.
pub fn bridges(device: &Device, graph: &EdgeList) -> Result<(Vec<i32>, Vec<i32>), GraphError> {
    let stream = device.stream()?;
    let edges = graph.upload(device)?;
    let (mut labels, mut bridges) = (device.alloc(graph.vertices)?, device.alloc(edges.len())?);
    Connectivity::new(device, false)?.bridges(&stream, &edges, graph.arcs, &mut labels, &mut bridges)?;
    Ok((indices_of(&stream.download_vec(&bridges)?), stream.download_vec(&labels)?))
}

/// The label of each edge's biconnected component ([`Connectivity::biconnected`] says which), and the articulation
/// points, ascending.
pub fn biconnected(device: &Device, graph: &EdgeList) -> Result<(Vec<i32>, Vec<i32>), GraphError> {
    let stream = device.stream()?;
    let edges = graph.upload(device)?;
    let (mut labels, mut points) = (device.alloc(edges.len())?, device.alloc(graph.vertices)?);
    Connectivity::new(device, false)?.biconnected(&stream, &edges, &mut labels, &mut points)?;
    Ok((stream.download_vec(&labels)?, indices_of(&stream.download_vec(&points)?)))
}

/// Returns the indices of the flags that are not 0, ascending.
pub fn indices_of(flags: &[u8]) -> Vec<i32> {
    (0..).zip(flags).filter(|&(_, &flag)| flag != 0).map(|(index, _)| index).collect()
}
