//! Graphs in host memory.

use cuda_std::I32x2;

use super::GraphError;
use crate::{
    components::{EdgeError, MOST},
    device::{Buffer, Device, DeviceError},
};

/// An undirected graph in host memory.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct EdgeList {
    /// The number of vertices, which are numbered from 0.
    pub vertices: usize,
    /// The two vertices of each edge, in any order.
    pub edges: Vec<[i32; 2]>,
    /// Whether these are arcs: an edge may be there in both directions, and all between two vertices are the same.
    /// Otherwise they are edges of their own.
    pub arcs: bool,
}

impl EdgeList {
    /// The graph of a matrix in compressed sparse rows, of which each nonzero is an arc: row i has the columns
    /// `columns[row_ptr[i]..row_ptr[i + 1]]`.
    ///
    /// # Errors
    /// [`GraphError::TooMany`], and [`GraphError::Rows`] where `row_ptr` doesn't ascend from 0 to the number of columns.
    /// Columns are looked at by whatever takes the graph.
    pub fn from_rows(row_ptr: &[i32], columns: &[i32]) -> Result<Self, GraphError> {
        let vertices = row_ptr.len().saturating_sub(1);
        for (what, count) in [("vertices", vertices), ("edges", columns.len())] {
            if count > MOST {
                return Err(EdgeError::TooMany { what, count }.into());
            }
        }
        let start = row_ptr.first().copied().unwrap_or(0);
        let wrong = |at: usize, found: i32, least: i32| GraphError::Rows { at, found, least, most: columns.len() };
        if start != 0 {
            return Err(GraphError::Rows { at: 0, found: start, least: 0, most: 0 });
        }
        if let Some(row) = row_ptr.windows(2).position(|pair| pair[1] < pair[0] || pair[1] as usize > columns.len()) {
            return Err(wrong(row + 1, row_ptr[row + 1], row_ptr[row]));
        }
        let end = row_ptr.last().copied().unwrap_or(0);
        if end as usize != columns.len() {
            return Err(wrong(vertices, end, columns.len() as i32));
        }
        let row = |row: usize| columns[row_ptr[row] as usize..row_ptr[row + 1] as usize].iter().map(move |&v| [row as i32, v]);
        Ok(EdgeList { vertices, edges: (0..vertices).flat_map(row).collect(), arcs: true })
    }

    /// The edges on a device.
    ///
    /// # Errors
    /// [`DeviceError::OutOfMemory`], and what earlier work on the device came to.
    pub fn upload(&self, device: &Device) -> Result<Buffer<I32x2>, DeviceError> {
        upload(device, &self.edges)
    }
}

/// Edges on a device.
pub(super) fn upload(device: &Device, edges: &[[i32; 2]]) -> Result<Buffer<I32x2>, DeviceError> {
    match bytemuck::try_cast_slice(edges) {
        Ok(edges) => device.upload(edges),
        // Not at a multiple of 8 bytes.
        Err(_) => device.upload(&edges.iter().map(|&edge| edge.into()).collect::<Vec<_>>()),
    }
}
