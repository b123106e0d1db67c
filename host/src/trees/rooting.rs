//! Rooted forests on a device.

use gpu_kernels::trees::tour;

use super::Rooted;
use crate::{
    components::{THREADS, grid},
    device::{Buffer, Device, DeviceError, Stream},
    launch,
};

/// A rooted forest on a device: the numbers that [`Rooter`](super::Rooter) computes for each
/// vertex.
///
/// Trees follow each other by their roots, ascending, and children by their edges' numbers, or by their own where they
/// come from parents: everything depends on the input alone.
#[derive(Debug)]
pub struct Rooting {
    pub(super) trees: usize,
    pub(super) parent: Buffer<i32>,
    pub(super) preorder: Buffer<i32>,
    pub(super) size: Buffer<i32>,
    pub(super) depth: Buffer<i32>,
}

impl Rooting {
    /// A forest of no vertices, for [`Rooter`](super::Rooter) to fill.
    pub fn new(device: &Device) -> Self {
        let [parent, preorder, size, depth] = [(); 4].map(|()| device.empty());
        Rooting { trees: 0, parent, preorder, size, depth }
    }

    /// Uploads a rooted forest to a device.
    pub fn upload(device: &Device, forest: &Rooted) -> Result<Self, DeviceError> {
        Ok(Rooting {
            trees: forest.trees,
            parent: device.upload(&forest.parent)?,
            preorder: device.upload(&forest.preorder)?,
            size: device.upload(&forest.size)?,
            depth: device.upload(&forest.depth)?,
        })
    }

    /// The number of vertices.
    pub fn n(&self) -> usize {
        self.parent.len()
    }

    /// The number of trees.
    pub fn trees(&self) -> usize {
        self.trees
    }

    /// Returns each vertex's parent, -1 for roots.
    pub fn parent(&self) -> &Buffer<i32> {
        &self.parent
    }

    /// Each vertex's preorder number, from 0 to n - 1 over all trees: how many vertices a depth-first search enters
    /// before it.
    pub fn preorder(&self) -> &Buffer<i32> {
        &self.preorder
    }

    /// Returns the number of vertices of each vertex's subtree, including itself. Their preorder
    /// numbers follow the vertex's own.
    pub fn size(&self) -> &Buffer<i32> {
        &self.size
    }

    /// Returns the number of edges between each vertex and its root.
    pub fn depth(&self) -> &Buffer<i32> {
        &self.depth
    }

    /// Computes postorder numbers, and the positions of the Euler tour (two per vertex) that enter
    /// and leave each vertex. Doesn't wait.
    pub fn visits(&self, stream: &Stream) -> Result<Visits, DeviceError> {
        let alloc = || stream.device().alloc(self.n());
        let mut visits = Visits { postorder: alloc()?, first: alloc()?, last: alloc()? };
        let (grid, Visits { postorder, first, last }) = (grid(stream, self.n()), &mut visits);
        launch!(stream, tour::other_numbers<<<grid, THREADS>>>(
            &self.preorder, &self.size, &self.depth, postorder, first, last
        ))?;
        Ok(visits)
    }

    /// Makes room for the numbers of `n` vertices.
    pub(super) fn ensure(&mut self, n: usize) -> Result<(), DeviceError> {
        self.trees = 0;
        for buffer in [&mut self.parent, &mut self.preorder, &mut self.size, &mut self.depth] {
            buffer.ensure(n)?;
        }
        Ok(())
    }
}

/// Other numbers of a [`Rooting`]'s vertices.
#[derive(Debug)]
pub struct Visits {
    /// Number of vertices that a depth-first search leaves before each vertex.
    pub postorder: Buffer<i32>,
    /// Position at which the tour enters each vertex, from 0 to 2n - 1.
    pub first: Buffer<i32>,
    /// Position at which the tour leaves each vertex.
    pub last: Buffer<i32>,
}
