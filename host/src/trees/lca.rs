//! Lowest common ancestors.

use cuda_std::{I32x2, U32x2};
use gpu_kernels::trees::lca;

use super::{
    error::{TreeError, same_length},
    rooter::of_device,
    rooting::Rooting,
};
use crate::{
    components::{THREADS, grid},
    device::{Buffer, Device, DeviceError, LaunchConfig, MappedBuffer, Stream},
    launch,
    list_rank::{ListRanker, Options},
};

/// Answers which vertex is the lowest common ancestor of two, for many pairs in one call.
///
/// Takes 32 bytes per vertex, and a table of 4 bytes per 32 vertices and level: 3 bytes per vertex for 10^8 vertices.
pub struct Ancestors {
    ranker: ListRanker,
    /// The vertices in preorder.
    order: Buffer<i32>,
    ups: Buffer<i32>,
    ends: Buffer<I32x2>,
    records: Buffer<U32x2>,
    table: Buffer<i32>,
    /// 0 between calls. The host needs no copy to look at it.
    bad: MappedBuffer<u32>,
}

impl Ancestors {
    /// For a forest of no vertices, which [`build`](Self::build) changes.
    pub fn new(device: &Device) -> Result<Self, DeviceError> {
        Ok(Ancestors {
            ranker: ListRanker::new(device, Options::default()),
            order: device.empty(),
            ups: device.empty(),
            ends: device.empty(),
            records: device.empty(),
            table: device.empty(),
            bad: device.mapped(1)?,
        })
    }

    /// Makes ready for questions about a forest. Doesn't wait.
    pub fn build(&mut self, stream: &Stream, rooting: &Rooting) -> Result<(), DeviceError> {
        let n = rooting.n();
        let (blocks, levels) = lca::table_size(n);
        self.order.ensure(n)?;
        self.ups.ensure(n)?;
        self.ends.ensure(n)?;
        self.records.ensure(n)?;
        self.table.ensure(blocks * levels)?;
        if n == 0 {
            return Ok(());
        }
        let (parent, preorder) = (rooting.parent(), rooting.preorder());
        self.ranker.order(stream, preorder, &mut self.order).map_err(of_device)?;
        let (per_block, per_position) = (grid(stream, blocks), LaunchConfig::for_elements(n, THREADS).grid.x);
        // SAFETY: the table's first level has an element for each block.
        unsafe {
            launch!(stream, lca::blocks<<<per_position, THREADS>>>(
                &self.order, parent, preorder, &mut self.ups, &mut self.ends, &mut self.table
            ))?;
        }
        launch!(stream, lca::records<<<grid(stream, n), THREADS>>>(preorder, &self.ends, &mut self.records))?;
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
        // A thread's second pair would wait for its first.
        let blocks = LaunchConfig::for_elements(pairs.len(), THREADS).grid.x;
        // SAFETY: the flag is a buffer's only element.
        unsafe {
            launch!(stream, lca::query<<<blocks, THREADS>>>(
                pairs, &self.records, &self.order, &self.ups, &self.ends, &self.table, ancestors, self.bad.as_view_mut()
            ))?;
        }
        stream.synchronize()?;
        // SAFETY: the kernel that writes it is done.
        if std::mem::take(unsafe { &mut self.bad.as_mut_slice()[0] }) == 0 {
            return Ok(());
        }
        let n = self.records.len();
        let is_vertex = |vertex: i32| usize::try_from(vertex).is_ok_and(|vertex| vertex < n);
        let pairs = stream.download_vec(pairs)?.into_iter().map(I32x2::to_array);
        match pairs.enumerate().find(|(_, ends)| !ends.iter().copied().all(is_vertex)) {
            Some((pair, ends)) => Err(TreeError::PairOutOfRange { pair, ends, n }),
            None => Err(TreeError::Miscounted { n }),
        }
    }
}
