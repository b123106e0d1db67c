//! Clusters of blocks, whose launches take more than the signature of the other kernels; and a
//! limit on registers.

use cuda_std::prelude::*;

/// Each thread has the value of the same thread of the cluster's next block; by x, y and z of the cluster and ranks.
#[kernel(cluster = [2, 2], block = 32)]
pub unsafe fn around(input: &[u32], out: *mut u32) {
    let (t, values) = (thread::thread_idx_x() as usize, shared_array![u32; 32]);
    let block = (thread::block_idx_x() + thread::grid_dim_x() * thread::block_idx_y()) as usize;
    // SAFETY: each thread writes its own elements, and reads follow the barrier; no block returns before the last barrier.
    unsafe {
        values.write(t, input[32 * block + t]);
        let next = values.of_block((cluster::rank() + 1) % cluster::size());
        cluster::sync();
        let value = next.read(t) + 1000 * (cluster::dim_x() + 10 * cluster::dim_y() + 100 * cluster::dim_z());
        cluster::arrive();
        *out.add(32 * block + t) = value;
        cluster::wait();
    }
}

/// A kernel of at most 40 registers.
#[kernel(max_threads = 64, max_registers = 40)]
pub fn lean(a: f32, mut out: DisjointSlice<f32>) {
    for (_, out) in out.grid_stride_mut() {
        *out *= a;
    }
}
