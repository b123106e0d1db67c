//! The kernels that exist once for each type of value, behind one trait.

use bytemuck::Pod;
use gpu_kernels::list_rank::{Status, Value, finish, nodes, splitters::Splitters, walk};

use crate::{
    device::{Buffer, DeviceError, LaunchConfig, Stream},
    launch,
};

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

/// A type that can be summed along a list: `i32`, `i64`, `f32`, `f64`.
pub trait Weight: Value + Pod + Send + Sync + sealed::Launches {}

pub(super) mod sealed {
    use super::*;

    /// Each kernel of one type.
    ///
    /// # Safety
    /// Arrays have the lengths that the kernels ask for, and those of a level are as long as it has nodes. Different
    /// arguments are different buffers.
    #[allow(missing_docs, clippy::missing_safety_doc, clippy::too_many_arguments)]
    pub trait Launches: Value + Pod {
        unsafe fn walk_weighted(
            stream: &Stream,
            next: &Buffer<i32>,
            weights: &Buffer<Self>,
            placed: &mut Buffer<Self::Placed>,
            heads: &Buffer<i32>,
            level: &mut Level<Self>,
            status: &mut Buffer<Status>,
            splitters: Splitters,
        ) -> Result<(), DeviceError>;
        unsafe fn walk_nodes(
            stream: &Stream,
            lower: &mut Level<Self>,
            upper: &mut Level<Self>,
            status: &mut Buffer<Status>,
            splitters: Splitters,
        ) -> Result<(), DeviceError>;
        unsafe fn solve(stream: &Stream, level: &mut Level<Self>) -> Result<(), DeviceError>;
        unsafe fn expand(stream: &Stream, lower: &mut Level<Self>, upper: &Level<Self>) -> Result<(), DeviceError>;
        unsafe fn first_jump(stream: &Stream, level: &mut Level<Self>, predecessors: &Buffer<i32>) -> Result<(), DeviceError>;
        unsafe fn jump(
            stream: &Stream,
            from: (&Buffer<i32>, &Buffer<i32>, &Buffer<Self>),
            to: (&mut Buffer<i32>, &mut Buffer<i32>, &mut Buffer<Self>),
        ) -> Result<(), DeviceError>;
        fn sums(
            stream: &Stream,
            placed: &Buffer<Self::Placed>,
            level: &Level<Self>,
            sums: &mut Buffer<Self>,
            status: &Buffer<Status>,
            expected: u64,
        ) -> Result<(), DeviceError>;
    }
}

/// Threads of a block in the node kernels.
const BLOCK: u32 = 256;
/// Threads of a block in the walks: small, so that a block ends soon after its longest sublist.
pub(super) const WALK_BLOCK: u32 = 128;

/// Blocks for one thread per element.
pub(super) fn blocks(n: usize, block: u32) -> u32 {
    LaunchConfig::for_elements(n, block).grid.x
}

macro_rules! weights {
    ($($t:ty: $walk:ident, $walk_nodes:ident, $solve:ident, $expand:ident, $first:ident, $jump:ident, $sums:ident;)*) => {$(
        impl Weight for $t {}
        impl sealed::Launches for $t {
            unsafe fn walk_weighted(
                stream: &Stream,
                next: &Buffer<i32>,
                weights: &Buffer<$t>,
                placed: &mut Buffer<Self::Placed>,
                heads: &Buffer<i32>,
                level: &mut Level<$t>,
                status: &mut Buffer<Status>,
                splitters: Splitters,
            ) -> Result<(), DeviceError> {
                let Splitters { count, group, magic, shift, seed } = splitters;
                let (n, grid) = (next.len() as u32, blocks(level.count, WALK_BLOCK));
                // SAFETY: `placed` holds n records, the node arrays `level.count` = count + heads (this method's
                // contract); all are different buffers.
                unsafe {
                    launch!(stream, walk::$walk<<<grid, WALK_BLOCK>>>(
                        next, weights, placed, n, heads, &mut level.heads, &mut level.next, &mut level.length, &mut level.sum,
                        status, count, group, magic, shift, seed
                    ))
                }
            }

            unsafe fn walk_nodes(
                stream: &Stream,
                lower: &mut Level<$t>,
                upper: &mut Level<$t>,
                status: &mut Buffer<Status>,
                splitters: Splitters,
            ) -> Result<(), DeviceError> {
                let Splitters { count, group, magic, shift, seed } = splitters;
                let (n, grid) = (lower.count as u32, blocks(upper.count, WALK_BLOCK));
                // SAFETY: the lower level's arrays hold `lower.count` nodes, the upper's count + heads (this method's
                // contract); all are different buffers.
                unsafe {
                    launch!(stream, walk::$walk_nodes<<<grid, WALK_BLOCK>>>(
                        &lower.next, &lower.length, &lower.sum, &mut lower.sublist, &mut lower.length_offset, &mut lower.sum_offset,
                        n, &lower.heads, &mut upper.heads, &mut upper.next, &mut upper.length, &mut upper.sum,
                        status, count, group, magic, shift, seed
                    ))
                }
            }

            unsafe fn solve(stream: &Stream, level: &mut Level<$t>) -> Result<(), DeviceError> {
                let shared = nodes::solve_shared(size_of::<$t>());
                // SAFETY: all arrays hold `level.count` nodes (this method's contract), and are different buffers.
                unsafe {
                    launch!(stream, nodes::$solve<<<1, nodes::SOLVE_THREADS, shared>>>(
                        &level.next, &level.length, &level.sum, &mut level.base_length, &mut level.base_sum, &mut level.root
                    ))
                }
            }

            unsafe fn expand(stream: &Stream, lower: &mut Level<$t>, upper: &Level<$t>) -> Result<(), DeviceError> {
                let grid = blocks(lower.count, BLOCK);
                // SAFETY: the arrays written hold as many nodes as `lower.sublist` (this method's contract), and are
                // different buffers.
                unsafe {
                    launch!(stream, nodes::$expand<<<grid, BLOCK>>>(
                        &lower.sublist, &lower.length_offset, &lower.sum_offset, &upper.base_length, &upper.base_sum, &upper.root,
                        &mut lower.base_length, &mut lower.base_sum, &mut lower.root
                    ))
                }
            }

            unsafe fn first_jump(stream: &Stream, level: &mut Level<$t>, predecessors: &Buffer<i32>) -> Result<(), DeviceError> {
                let grid = blocks(level.count, BLOCK);
                // SAFETY: all arrays hold `level.count` nodes, and predecessors are nodes (this method's contract).
                unsafe {
                    launch!(stream, nodes::$first<<<grid, BLOCK>>>(
                        predecessors, &level.length, &level.sum, &mut level.base_length, &mut level.base_sum
                    ))
                }
            }

            unsafe fn jump(
                stream: &Stream,
                from: (&Buffer<i32>, &Buffer<i32>, &Buffer<$t>),
                to: (&mut Buffer<i32>, &mut Buffer<i32>, &mut Buffer<$t>),
            ) -> Result<(), DeviceError> {
                let grid = blocks(from.0.len(), BLOCK);
                // SAFETY: all arrays are of one length (this method's contract), and those written are other buffers
                // than those read.
                unsafe { launch!(stream, nodes::$jump<<<grid, BLOCK>>>(from.0, from.1, from.2, to.0, to.1, to.2)) }
            }

            fn sums(stream: &Stream, placed: &Buffer<Self::Placed>, level: &Level<$t>, sums: &mut Buffer<$t>, status: &Buffer<Status>, expected: u64) -> Result<(), DeviceError> {
                let grid = blocks(sums.len(), BLOCK);
                launch!(stream, finish::$sums<<<grid, BLOCK>>>(placed, &level.base_sum, sums, status, expected))
            }
        }
    )*};
}
weights! {
    i32: weighted_i32, nodes_i32, solve_i32, expand_i32, first_jump_i32, jump_i32, sums_i32;
    i64: weighted_i64, nodes_i64, solve_i64, expand_i64, first_jump_i64, jump_i64, sums_i64;
    f32: weighted_f32, nodes_f32, solve_f32, expand_f32, first_jump_f32, jump_f32, sums_f32;
    f64: weighted_f64, nodes_f64, solve_f64, expand_f64, first_jump_f64, jump_f64, sums_f64;
}
