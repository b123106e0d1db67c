//! The kernels. They are compiled twice: to PTX for GPUs, where there is no `std`, and for the CPU.

use cuda_std::prelude::*;

/// `y[i] += a * x[i]`, over a grid of any size.
///
/// Each thread gets at its own elements of `y` only, so nothing here is unsafe.
#[kernel]
pub fn saxpy(a: f32, x: &[f32], mut y: DisjointSlice<f32>) {
    for (i, y) in y.grid_stride_mut() {
        *y += a * x[i];
    }
}

/// Threads of a block of [`block_sums()`].
pub const BLOCK: u32 = 256;

/// The sum of each block's elements of `values`, in shared memory: `sums[b]` for the [`BLOCK`] elements from
/// `b * BLOCK` on.
///
/// # Safety
/// Blocks of [`BLOCK`] threads in one dimension, and as many elements of `sums` as blocks.
#[kernel(max_threads = 256)]
pub unsafe fn block_sums(values: &[f32], sums: *mut f32) {
    let partial = shared_array![f32; BLOCK as usize];
    let me = thread::thread_idx_x() as usize;
    let own = values
        .get(thread::index_1d() as usize)
        .copied()
        .unwrap_or(0.0);
    // SAFETY: `me` is below BLOCK. Between two barriers each thread writes its own element, and reads one that no other
    // thread writes. Thread 0 alone writes its block's sum, for which there is an element.
    unsafe {
        partial.write(me, own);
        thread::sync_threads();
        let mut half = BLOCK as usize / 2;
        while half > 0 {
            if me < half {
                partial.write(me, partial.read(me) + partial.read(me + half));
            }
            thread::sync_threads();
            half /= 2;
        }
        if me == 0 {
            *sums.add(thread::block_idx_x() as usize) = partial.read(0);
        }
    }
}
