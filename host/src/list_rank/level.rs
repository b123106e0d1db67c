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
    device::{Backend, Buffer, Device, DeviceError, Stream, View, ViewMut},
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
    + nodes::tally::Instance
    + binned::join::Instance
    + binned::walk::Instance
    + binned::partition::Instance
    + binned::regroup::Instance
    + binned::finish::Instance
    + binned::finish_wide::Instance
    + finish::results::Instance
{
    /// [`nodes::solve()`] by one thread, if its sums are the same bits as those of many.
    #[doc(hidden)]
    const DIRECT: Option<Direct<Self>> = None;
}
impl Weight for i32 {
    const DIRECT: Option<Direct<i32>> = Some(solve_direct::<i32>);
}
impl Weight for i64 {
    const DIRECT: Option<Direct<i64>> = Some(solve_direct::<i64>);
}
impl Weight for f32 {}
impl Weight for f64 {}

/// Ranks nodes by their successors, sums and bases.
type Direct<V> = fn(&Stream, View<'_, i32>, View<'_, V>, ViewMut<'_, <V as Value>::Record>) -> Result<(), DeviceError>;

fn solve_direct<V: Weight + nodes::solve_direct::Instance>(
    stream: &Stream,
    next: View<'_, i32>,
    sums: View<'_, V>,
    bases: ViewMut<'_, V::Record>,
) -> Result<(), DeviceError> {
    // SAFETY: it is one thread, and all arrays have an element per node.
    unsafe { launch!(stream, nodes::solve_direct::<V><<<1, 1>>>(next, sums, bases)) }
}

/// The most nodes that a CPU ranks by one thread.
const FEW_NODES: usize = 256;

/// Nodes per splitter from one level to the next: the longest walk of a level, and how many levels there are, take about
/// as long.
const GROUP: u32 = 6;

/// The nodes of all levels, one level after another. The first level's nodes are the splitters of
/// the list.
pub struct Levels<V: Weight> {
    /// Number of nodes of each level.
    counts: Vec<usize>,
    /// Each node's successor within its level.
    next: Buffer<i32>,
    /// The sum over each node's elements.
    sum: Buffer<V>,
    /// Number of elements of each node of the first level.
    length: Buffer<i32>,
    /// The sum of everything before each node: initially for roots, finally for all.
    pub(super) bases: Buffer<V::Record>,
    /// The record that the walk over the level left for each node.
    pub(super) visits: Buffer<V::Record>,
}

impl<V: Weight> Levels<V> {
    pub(super) fn new(device: &Device) -> Self {
        Levels {
            counts: vec![0],
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
        while count > nodes::SOLVE_NODES {
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
        self.rank_levels(stream, options, status)?;
        if options.trusted || self.counts.len() > 1 {
            return Ok(());
        }
        let count = self.count();
        let grid = blocks(count, BLOCK).min(8 * stream.device().info().multiprocessors);
        let next = self.next.view(..count)?;
        // SAFETY: the first level's arrays have its number of nodes; the status is changed by atomics.
        unsafe { launch!(stream, nodes::tally::<V><<<grid, BLOCK>>>(next, &self.length, self.bases.view(..count)?, status)) }
    }

    /// Ranks all levels. If there are several, also adds up the elements that the heads lead to,
    /// unless lists are trusted.
    fn rank_levels(&mut self, stream: &Stream, options: &Options, status: &mut Buffer<Status>) -> Result<(), DeviceError> {
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
        let few = next.len() <= FEW_NODES && stream.device().backend() == Backend::Cpu;
        if let Some(solve) = V::DIRECT.filter(|_| few) {
            solve(stream, next, sum, bases)?;
        } else {
            let shared = nodes::solve_shared(size_of::<V>());
            // SAFETY: the last level's arrays have its number of nodes.
            unsafe { launch!(stream, nodes::solve::<V><<<1, nodes::SOLVE_THREADS, shared>>>(next, sum, bases))? };
        }
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
