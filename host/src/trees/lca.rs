//! Lowest common ancestors.

use cuda_std::I32x2;
use gpu_kernels::trees::lca;

use super::{
    error::{TreeError, same_length},
    rooting::Rooting,
};
use crate::{
    components::{THREADS, grid},
    device::{Buffer, Device, DeviceError, LaunchConfig, Stream},
    launch,
};

/// Answers which vertex is the lowest common ancestor of two, for many pairs in one call.
///
/// Takes 20 bytes per vertex (the preorder number, and four numbers in preorder), and a table of 4
/// bytes per 32 vertices and level: 3 bytes per vertex for 10^8 vertices.
pub struct Ancestors {
    preorder: Buffer<i32>,
    entries: Buffer<I32x2>,
    ends: Buffer<I32x2>,
    table: Buffer<i32>,
    /// 0 between calls.
    bad: Buffer<u32>,
}

impl Ancestors {
    /// For a forest of no vertices, which [`build`](Self::build) changes.
    ///
    /// # Errors
    /// The device fails.
    pub fn new(device: &Device) -> Result<Self, DeviceError> {
        let (preorder, entries, ends, table) = (device.empty(), device.empty(), device.empty(), device.empty());
        Ok(Ancestors { preorder, entries, ends, table, bad: device.alloc_zeroed(1)? })
    }

    /// Makes ready for questions about a forest. Doesn't wait.
    ///
    /// # Errors
    /// The device fails.
    pub fn build(&mut self, stream: &Stream, rooting: &Rooting) -> Result<(), DeviceError> {
        let n = rooting.n();
        let (blocks, levels) = lca::table_size(n);
        self.entries.ensure(n)?;
        self.ends.ensure(n)?;
        self.table.ensure(blocks * levels)?;
        self.preorder.ensure(n)?;
        if n == 0 {
            return Ok(());
        }
        stream.copy(rooting.preorder(), &mut self.preorder)?;
        // SAFETY: preorder numbers are a permutation, and there are as many entries.
        unsafe {
            launch!(stream, lca::entries<<<grid(stream, n), THREADS>>>(
                rooting.parent(), rooting.preorder(), &mut self.entries
            ))?;
        }
        let (per_block, per_entry) = (grid(stream, blocks), LaunchConfig::for_elements(n, THREADS).grid.x);
        // SAFETY: the table's first level has an element for each block.
        unsafe { launch!(stream, lca::blocks<<<per_entry, THREADS>>>(&self.entries, &mut self.ends, &mut self.table))? };
        for level in 1..levels {
            let (before, mut minima) = self.table.split_at_mut(level * blocks)?;
            let before = before.as_view().view((level - 1) * blocks..)?;
            launch!(stream, lca::level<<<per_block, THREADS>>>(before, 1 << (level - 1), minima.view_mut(..blocks)?))?;
        }
        Ok(())
    }

    /// The lowest common ancestor of each pair of vertices, where a vertex is an ancestor of itself; -1 for vertices of
    /// different trees.
    ///
    /// # Errors
    /// A pair isn't of vertices (the error names the first), lengths differ, or the device fails.
    pub fn of(&mut self, stream: &Stream, pairs: &Buffer<I32x2>, ancestors: &mut Buffer<i32>) -> Result<(), TreeError> {
        same_length("ancestors", ancestors.len(), pairs.len())?;
        // SAFETY: the counter is a buffer's only element.
        unsafe {
            launch!(stream, lca::query<<<grid(stream, pairs.len()), THREADS>>>(
                pairs, &self.preorder, &self.entries, &self.ends, &self.table, ancestors, &mut self.bad
            ))?;
        }
        if stream.download_vec(&self.bad)? == [0] {
            return Ok(());
        }
        stream.fill_zero(&mut self.bad)?;
        let n = self.preorder.len();
        let is_vertex = |vertex: i32| usize::try_from(vertex).is_ok_and(|vertex| vertex < n);
        let pairs = stream.download_vec(pairs)?.into_iter().map(I32x2::to_array);
        match pairs.enumerate().find(|(_, ends)| !ends.iter().copied().all(is_vertex)) {
            Some((pair, ends)) => Err(TreeError::PairOutOfRange { pair, ends, n }),
            None => Err(TreeError::Miscounted { n }),
        }
    }
}
