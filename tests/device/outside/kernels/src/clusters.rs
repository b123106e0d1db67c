//! Clusters of blocks.

use cuda_std::prelude::*;

/// The counters of a block of [`histogram()`].
pub const COUNTERS: usize = 256;
/// The blocks of a cluster of [`histogram()`].
pub const BLOCKS: usize = 4;

/// `counts[v]` grows by how often `v` is among the values, which are below 1024: each block of a cluster has a quarter of
/// the counters, and all add to all of them.
///
/// # Safety
/// There are 1024 counts, which nobody else uses.
#[kernel(cluster = 4, block = 256)]
pub unsafe fn histogram(values: &[u32], counts: *mut u32) {
    let (t, counters) = (thread::thread_idx_x() as usize, shared_array![u32; COUNTERS]);
    // SAFETY: counters are written before the first barrier by their threads, used as atomics up to the second, and read by
    // their block then. Nobody uses another block's after that.
    unsafe {
        counters.write(t, 0);
        cluster::sync();
        for i in thread::grid_stride(values.len()) {
            let value = values[i] as usize % (BLOCKS * COUNTERS);
            let of_block = counters.of_block((value / COUNTERS) as u32);
            atomic::device::fetch_add(of_block.at(value % COUNTERS), 1);
        }
        cluster::sync();
        atomic::device::fetch_add(counts.add(COUNTERS * cluster::rank() as usize + t), counters.read(t));
    }
}
