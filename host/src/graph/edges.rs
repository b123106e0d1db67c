//! Graphs in host memory.

use cuda_std::I32x2;
use gpu_kernels::graph as kernels;

use super::{GraphError, Ids};
use crate::{
    components::{EdgeError, MOST, THREADS, grid},
    device::{Buffer, Device, DeviceError, Stream},
    launch,
};

/// An undirected graph in host memory.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct EdgeList {
    /// The number of vertices, which are numbered from 0.
    pub vertices: usize,
    /// The two vertices of each edge, in any order.
    pub edges: Vec<[i32; 2]>,
    /// True if the edges are arcs: all arcs between the same two vertices, in either direction, are
    /// one edge. Otherwise each is an edge of its own.
    pub arcs: bool,
}

/// A graph of a file.
#[derive(Clone, Debug, PartialEq)]
pub struct Graph {
    /// Its vertices and edges.
    pub list: EdgeList,
    /// The file's names for the vertices.
    pub ids: Ids,
}

impl EdgeList {
    /// Makes the graph of a matrix in compressed sparse rows, with an arc for each nonzero: row i
    /// has the columns `columns[row_ptr[i]..row_ptr[i + 1]]`.
    ///
    /// # Errors
    /// [`GraphError::Edges`] if there are too many, and [`GraphError::Rows`] if `row_ptr` doesn't
    /// ascend from 0 to the number of columns. Columns are checked by the functions that take the
    /// graph.
    pub fn from_rows(row_ptr: &[i32], columns: &[i32]) -> Result<Self, GraphError> {
        check_rows(row_ptr, columns.len())?;
        let vertices = row_ptr.len().saturating_sub(1);
        let row = |row: usize| columns[row_ptr[row] as usize..row_ptr[row + 1] as usize].iter().map(move |&v| [row as i32, v]);
        Ok(EdgeList { vertices, edges: (0..vertices).flat_map(row).collect(), arcs: true })
    }

    /// The edges on a device.
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

/// The graph of a matrix in compressed sparse rows on a device, as [`EdgeList::from_rows`]: its edges, which are arcs, to
/// `edges`.
///
/// # Errors
/// As [`EdgeList::from_rows`], and the device fails.
pub fn edges_of_rows(
    stream: &Stream,
    row_ptr: &Buffer<i32>,
    columns: &Buffer<i32>,
    edges: &mut Buffer<I32x2>,
) -> Result<(), GraphError> {
    let m = columns.len();
    check_numbers(row_ptr.len().saturating_sub(1), m)?;
    edges.ensure(m)?;
    let (mut wrong, mut end) = (stream.device().alloc_zeroed::<u32>(1)?, [0]);
    // SAFETY: the count is one element.
    unsafe {
        let grid = grid(stream, m.max(row_ptr.len()));
        launch!(stream, kernels::rows<<<grid, THREADS>>>(row_ptr, columns, edges, &mut wrong))?;
    }
    if !row_ptr.is_empty() {
        stream.download(row_ptr.view(row_ptr.len() - 1..)?, &mut end)?;
    }
    if stream.download_vec(&wrong)?[0] > 0 || end[0] as usize != m {
        check_rows(&stream.download_vec(row_ptr)?, m)?;
    }
    Ok(())
}

/// Makes sure that rows follow one another.
fn check_rows(row_ptr: &[i32], nonzeros: usize) -> Result<(), GraphError> {
    check_numbers(row_ptr.len().saturating_sub(1), nonzeros)?;
    let wrong = |at: usize, least: i32, most: usize| Err(GraphError::Rows { at, found: row_ptr[at], least, most });
    match row_ptr {
        [] if nonzeros == 0 => return Ok(()),
        [] => return Err(GraphError::Length { what: "columns", found: nonzeros, expected: 0, of: "rows" }),
        [0, ..] => {}
        _ => return wrong(0, 0, 0),
    }
    if let Some(row) = row_ptr.windows(2).position(|pair| pair[1] < pair[0] || pair[1] as usize > nonzeros) {
        return wrong(row + 1, row_ptr[row], nonzeros);
    }
    let last = row_ptr.len() - 1;
    if row_ptr[last] as usize == nonzeros { Ok(()) } else { wrong(last, nonzeros as i32, nonzeros) }
}

/// Makes sure that vertices and edges can be numbered.
pub(super) fn check_numbers(vertices: usize, edges: usize) -> Result<(), GraphError> {
    match [("vertices", vertices), ("edges", edges)].into_iter().find(|&(_, count)| count > MOST) {
        Some((what, count)) => Err(EdgeError::TooMany { what, count }.into()),
        None => Ok(()),
    }
}
