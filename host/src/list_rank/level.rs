//! Step 3: ranks the sublists, level by level.

use cuda_std::launch::IntoParam;
use gpu_kernels::list_rank::{
    Status, Value, binned, finish, nodes, prepare, short,
    splitters::Splitters,
    walk::{self, LowerArgs, Nodes, NodesArgs, UpperArgs},
};

use super::{
    launches::{BLOCK, WALK_BLOCK, blocks},
    options::Options,
};
use crate::{
    device::{Backend, Buffer, Device, DeviceError, Stream},
    launch,
};

/// A type that can be summed along a list: `i32`, `i64`, `f32`, `f64`.
pub trait Weight:
    Value
    + prepare::reset::Instance
    + short::rank::Instance
    + walk::split::Instance
    + walk::nodes::Instance
    + nodes::solve::Instance
    + nodes::expand::Instance
    + binned::join::Instance
    + binned::walk::Instance
    + binned::partition::Instance
    + binned::regroup::Instance
    + binned::finish::Instance
    + binned::finish_wide::Instance
    + finish::results::Instance
{
}
impl Weight for i32 {}
impl Weight for i64 {}
impl Weight for f32 {}
impl Weight for f64 {}

/// The most nodes that a CPU ranks by one thread.
const FEW_NODES: usize = 256;
/// Number of threads that rank more on a CPU, where they take turns.
const CPU_THREADS: u32 = 32;

/// Nodes per splitter from one level to the next: the longest walk of a level, and how many levels there are, take about
/// as long.
const GROUP: u32 = 6;

/// The nodes of all levels, one level after another. The first level's nodes are the splitters of
/// the list.
pub struct Levels<V: Weight> {
    /// Number of nodes of each level.
    counts: Vec<usize>,
    /// The most nodes of the last one.
    most: usize,
    /// Each node's successor within its level.
    next: Buffer<i32>,
    /// The sum over each node's elements.
    sum: Buffer<V>,
    /// Number of elements of each node of the first level.
    pub(super) length: Buffer<i32>,
    /// The sum of everything before each node: initially for roots, finally for all.
    pub(super) bases: Buffer<V::Record>,
    /// The record that the walk over the level left for each node.
    pub(super) visits: Buffer<V::Record>,
}

impl<V: Weight> Levels<V> {
    pub(super) fn new(device: &Device) -> Self {
        Levels {
            counts: vec![0],
            most: nodes::most(device.info().max_shared_per_block, size_of::<V>()),
            next: device.empty(),
            sum: device.empty(),
            length: device.empty(),
            bases: device.empty(),
            visits: device.empty(),
        }
    }

    /// Reserves memory for `nodes` nodes and the levels above them.
    pub(super) fn reserve(&mut self, nodes: usize) -> Result<(), DeviceError> {
        self.counts = vec![nodes];
        let mut count = nodes;
        while count > self.most {
            count = count.div_ceil(GROUP as usize);
            self.counts.push(count);
        }
        let all = self.counts.iter().sum();
        self.next.ensure(all)?;
        self.sum.ensure(all)?;
        self.length.ensure(nodes)?;
        self.bases.ensure(all)?;
        self.visits.ensure(all)
    }

    /// Bytes of all levels' arrays for so many nodes, about.
    pub(super) const fn bytes(nodes: usize) -> usize {
        nodes * (2 * size_of::<i32>() + size_of::<V>() + 2 * size_of::<V::Record>()) / (GROUP as usize - 1) * GROUP as usize
    }

    /// Returns the number of nodes of the first level.
    pub(super) fn count(&self) -> usize {
        self.counts[0]
    }

    /// The first level's nodes, for a walk of elements that starts at `heads` to find, and the bases of its roots.
    pub(super) fn nodes<'a>(
        &'a mut self,
        heads: &'a Buffer<i32>,
        heads_per_unit: u32,
        status: &'a mut Buffer<Status>,
    ) -> (impl IntoParam<Nodes<'static, V>> + use<'a, V>, &'a mut Buffer<V::Record>) {
        let Levels { next, length, sum, bases, .. } = self;
        (NodesArgs { heads, heads_per_unit, next, length, sum, status }, bases)
    }

    /// Ranks the first level's nodes, and adds up in `status` what the heads lead to.
    pub(super) fn rank(&mut self, stream: &Stream, options: &Options, status: &mut Buffer<Status>) -> Result<(), DeviceError> {
        if self.count() == 0 {
            return Ok(());
        }
        let mut start = 0;
        for pair in self.counts.windows(2) {
            let (count, end, above) = (pair[0], start + pair[0], pair[1]);
            let splitters = Splitters::hashed(count as u32, GROUP, options.seed);
            let (next, upper_next) = self.next.split_at_mut(end)?;
            let (sum, upper_sum) = self.sum.split_at_mut(end)?;
            let (bases, upper_bases) = self.bases.split_at_mut(end)?;
            let lower = LowerArgs { next: next.as_view().view(start..)?, sum: sum.as_view().view(start..)? };
            let upper = UpperArgs { next: upper_next, sum: upper_sum };
            let grid = blocks(above + count, WALK_BLOCK);
            // SAFETY: each level has its number of nodes in all arrays, and those of the upper one are the splitters.
            unsafe {
                launch!(stream, walk::nodes::<V><<<grid, WALK_BLOCK>>>(
                    lower, bases.as_view().view(start..)?, self.visits.view_mut(start..end)?, upper, upper_bases, splitters, &mut *status
                ))?;
            }
            start = end;
        }
        let (next, sum) = (self.next.view(start..)?, self.sum.view(start..)?);
        let bases = self.bases.view_mut(start..)?;
        let m = next.len();
        let threads = match stream.device().backend() {
            Backend::Cuda => (m / 8).next_multiple_of(32).clamp(32, short::SUBLISTS as usize) as u32,
            Backend::Cpu if m <= FEW_NODES => 1,
            Backend::Cpu => CPU_THREADS,
        };
        let group = m.div_ceil(threads as usize).max(2) as u32;
        let splitters = if threads == 1 { Splitters::first(0) } else { Splitters::hashed(m as u32, group, options.seed) };
        let shared = short::list_bytes(m, size_of::<V>());
        let lengths = self.length.view(..if start == 0 && !options.trusted { m } else { 0 })?;
        // SAFETY: the last level's arrays have its number of nodes; each splitter has a thread.
        unsafe {
            launch!(stream, nodes::solve::<V><<<1, threads, shared>>>(next, sum, bases, lengths, splitters, &mut *status))?
        };
        for &count in self.counts.iter().rev().skip(1) {
            let (mut bases, upper) = self.bases.split_at_mut(start)?;
            let above = start..;
            start -= count;
            let visits = self.visits.view(start..above.start)?;
            let tallied = if start == 0 && !options.trusted { count } else { 0 };
            let (next, lengths) = (self.next.view(..tallied)?, self.length.view(..tallied)?);
            let grid = blocks(count, BLOCK).min(8 * stream.device().info().multiprocessors);
            // SAFETY: the level was walked, so that its arrays have its number of nodes; the status is changed by atomics.
            unsafe {
                launch!(stream, nodes::expand::<V><<<grid, BLOCK>>>(
                    visits, upper.as_view(), bases.view_mut(start..)?, next, lengths, &mut *status
                ))?;
            }
        }
        Ok(())
    }
}
