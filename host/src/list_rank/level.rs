//! Levels of the recursion, and what they add up.

use bytemuck::Pod;
use cuda_std::launch::IntoParam;
use gpu_kernels::list_rank::{
    Status, Value, finish, nodes,
    walk::{self, Lower, LowerArgs, Nodes, NodesArgs},
};

use crate::device::{Buffer, Device, DeviceError};

/// A type that can be summed along a list: `i32`, `i64`, `f32`, `f64`.
pub trait Weight:
    Value
    + Pod
    + walk::weighted::Instance
    + walk::nodes::Instance
    + nodes::solve::Instance
    + nodes::expand::Instance
    + nodes::first_jump::Instance
    + nodes::jump::Instance
    + finish::sums::Instance
{
}
impl Weight for i32 {}
impl Weight for i64 {}
impl Weight for f32 {}
impl Weight for f64 {}

/// A list of nodes on its way through step 3.
pub struct Level<V: Pod> {
    /// How many nodes: the splitters of the level below, and its heads.
    pub(super) count: usize,
    /// Each node's successor.
    pub(super) next: Buffer<i32>,
    /// How many elements each node stands for.
    pub(super) length: Buffer<i32>,
    /// The sum over them.
    pub(super) sum: Buffer<V>,
    /// The node of each head of the level below.
    pub(super) heads: Buffer<i32>,
    /// The sublist of each node, where the level is walked itself.
    pub(super) sublist: Buffer<i32>,
    /// How many elements come before it there.
    pub(super) length_offset: Buffer<i32>,
    /// Their sum.
    pub(super) sum_offset: Buffer<V>,
    /// Result: how many elements come before the node on its list.
    pub(super) base_length: Buffer<i32>,
    /// Result: their sum.
    pub(super) base_sum: Buffer<V>,
    /// Result: which node of the last level the node hangs from, or -1.
    pub(super) root: Buffer<i32>,
}

impl<V: Weight> Level<V> {
    pub(super) fn new(device: &Device) -> Self {
        Level {
            count: 0,
            next: device.empty(),
            length: device.empty(),
            sum: device.empty(),
            heads: device.empty(),
            sublist: device.empty(),
            length_offset: device.empty(),
            sum_offset: device.empty(),
            base_length: device.empty(),
            base_sum: device.empty(),
            root: device.empty(),
        }
    }

    /// Makes room for so many nodes, and heads of the level below.
    pub(super) fn reserve(&mut self, nodes: usize, heads: usize) -> Result<(), DeviceError> {
        self.count = nodes;
        self.next.ensure(nodes)?;
        self.length.ensure(nodes)?;
        self.sum.ensure(nodes)?;
        self.heads.ensure(heads)?;
        self.base_length.ensure(nodes)?;
        self.base_sum.ensure(nodes)?;
        self.root.ensure(nodes)
    }

    /// Makes room for a walk of the level.
    pub(super) fn reserve_walk(&mut self) -> Result<(), DeviceError> {
        self.sublist.ensure(self.count)?;
        self.length_offset.ensure(self.count)?;
        self.sum_offset.ensure(self.count)
    }

    /// The level's nodes, for a walk that starts at `heads` to find.
    pub(super) fn nodes<'a>(
        &'a mut self,
        heads: &'a Buffer<i32>,
        status: &'a mut Buffer<Status>,
    ) -> impl IntoParam<Nodes<'static, V>> + use<'a, V> {
        let Level { heads: head_nodes, next, length, sum, .. } = self;
        NodesArgs { heads, head_nodes, next, length, sum, status }
    }

    /// The level's nodes, to be walked, and the nodes from which their lists start.
    pub(super) fn lower<'a>(&'a mut self) -> (impl IntoParam<Lower<'static, V>> + use<'a, V>, &'a Buffer<i32>) {
        let Level { next, length, sum, sublist, length_offset, sum_offset, heads, .. } = self;
        (LowerArgs { next: &*next, length: &*length, sum: &*sum, sublist, length_offset, sum_offset }, heads)
    }
}
