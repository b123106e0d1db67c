//! Clusters of blocks, which run at once, wait for each other, and access each other's shared memory.
//!
//! A kernel has clusters by `#[kernel(cluster = 4)]`, or `cluster = [2, 2]`: the grid is a multiple of them. A block of
//! another kernel is a cluster of its own.
//!
//! ```
//! use cuda_std::prelude::*;
//!
//! /// `sums[i]` is the sum of the values of the `i`-th cluster's threads, one for each.
//! ///
//! /// # Safety
//! /// Blocks of 32 threads. There are as many values as threads, and as many sums as clusters.
//! #[kernel(cluster = 4, block = 32)]
//! pub unsafe fn sums(values: &[u32], sums: *mut u32) {
//!     let partial = shared_array![u32; 1];
//!     let sum = warp::reduce_add(warp::FULL_MASK, values[thread::index_1d() as usize]);
//!     // SAFETY: a block writes its own sum, and reads follow the barrier; no block returns before the last one.
//!     unsafe {
//!         if thread::thread_idx_x() == 0 {
//!             partial.write(0, sum);
//!         }
//!         cluster::sync();
//!         if cluster::rank() == 0 && thread::thread_idx_x() == 0 {
//!             let sum = (0..cluster::size()).map(|rank| partial.of_block(rank).read(0)).sum();
//!             *sums.add((thread::block_idx_x() / cluster::size()) as usize) = sum;
//!         }
//!         cluster::sync();
//!     }
//! }
//! # fn main() {}
//! ```
//!
//! GPU: from `sm_90` on. In PTX for less these functions panic, and a kernel with clusters isn't launched. CPU: each
//! block of a cluster has an OS thread.

use crate::{arch, is_gpu, ptx_asm, thread::Dim3};

#[inline(always)]
fn demand_hopper() {
    assert!(!is_gpu() || arch() >= 900, "clusters of blocks need sm_90");
}

macro_rules! registers {
    ($($(#[$doc:meta])* $name:ident = $ptx:literal, |$dim:ident| $cpu:expr;)*) => {$(
        $(#[$doc])*
        #[inline(always)]
        #[cfg_attr(not(cuda_device), track_caller)]
        pub fn $name() -> u32 {
            demand_hopper();
            let value: u32;
            // SAFETY: it reads a register.
            unsafe {
                ptx_asm!($ptx, out(b32) value, options(pure); cpu => value = {
                    let $dim = simt::current::cluster_dim();
                    $cpu
                });
            }
            value
        }
    )*};
}
registers! {
    /// The block's number in its cluster, x running fastest, from 0.
    ///
    /// GPU: `%cluster_ctarank`. CPU: the executor's.
    rank = "mov.u32 {0}, %cluster_ctarank;", |_dim| simt::current::cluster_rank();
    /// The number of blocks of the cluster.
    ///
    /// GPU: `%cluster_nctarank`. CPU: the executor's.
    size = "mov.u32 {0}, %cluster_nctarank;", |dim| dim.count() as u32;
    /// The number of blocks of the cluster in dimension x.
    ///
    /// GPU: `%cluster_nctaid.x`. CPU: the executor's.
    dim_x = "mov.u32 {0}, %cluster_nctaid.x;", |dim| dim.x;
    /// The number of blocks of the cluster in dimension y.
    ///
    /// GPU: `%cluster_nctaid.y`. CPU: the executor's.
    dim_y = "mov.u32 {0}, %cluster_nctaid.y;", |dim| dim.y;
    /// The number of blocks of the cluster in dimension z.
    ///
    /// GPU: `%cluster_nctaid.z`. CPU: the executor's.
    dim_z = "mov.u32 {0}, %cluster_nctaid.z;", |dim| dim.z;
}

/// The number of blocks of the cluster in all dimensions.
#[inline(always)]
#[cfg_attr(not(cuda_device), track_caller)]
pub fn dim() -> Dim3 {
    Dim3 { x: dim_x(), y: dim_y(), z: dim_z() }
}

/// Comes to the barrier of all threads of the cluster, and goes on. [`wait`] follows, before the thread returns or comes
/// again.
///
/// GPU: `barrier.cluster.arrive.release`. CPU: the executor's barrier; what the GPU leaves undefined is an error.
#[inline(always)]
#[cfg_attr(not(cuda_device), track_caller)]
pub fn arrive() {
    demand_hopper();
    // SAFETY: to arrive is safe anywhere.
    unsafe { ptx_asm!("barrier.cluster.arrive.release;"; cpu => simt::current::cluster_arrive()) }
}

/// Waits until all threads of the cluster have [arrived](arrive) that haven't returned, and makes what they wrote before
/// visible.
///
/// GPU: `barrier.cluster.wait.acquire`. CPU: the executor's barrier.
#[inline(always)]
#[cfg_attr(not(cuda_device), track_caller)]
pub fn wait() {
    demand_hopper();
    // SAFETY: waiting is safe anywhere.
    unsafe { ptx_asm!("barrier.cluster.wait.acquire;"; cpu => simt::current::cluster_wait()) }
}

/// Waits until all threads of the cluster are here that haven't returned, and makes what they wrote before visible:
/// [`arrive`] and [`wait`].
#[inline(always)]
#[cfg_attr(not(cuda_device), track_caller)]
pub fn sync() {
    arrive();
    wait();
}

/// Maps an address in this block's shared memory to the same place in that of the cluster's block
/// `rank`. The result is an ordinary address: loads, stores and atomics (of the device's scope)
/// take it.
///
/// [`SharedArray::of_block`](crate::SharedArray::of_block) does so for an array.
///
/// GPU: `mapa.u64` of generic addresses. CPU: the same in the executor's memory.
///
/// # Safety
/// `address` is in the block's shared memory, and the cluster has a block of that rank. There is memory at the result
/// only after that block has started (it has when it comes to a barrier of the cluster) and until it returns.
#[inline(always)]
#[cfg_attr(not(cuda_device), track_caller)]
pub unsafe fn map<T>(address: *mut T, rank: u32) -> *mut T {
    demand_hopper();
    let mapped: *mut T;
    // SAFETY: the caller has promised what the instruction demands.
    unsafe {
        ptx_asm!("mapa.u64 {0}, {1}, {2};", out(b64) mapped, in(b64) address, in(b32) rank;
            cpu => mapped = simt::current::cluster_map(address.cast(), rank).cast());
    }
    mapped
}
