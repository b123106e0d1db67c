//! Model kernels, small enough to read at a glance: what a kernel may take and use, and what `tests/device.rs`
//! launches.

use cuda_std::prelude::*;

pub mod matmul;

/// `y[i] += a * x[i]`, over a grid of any size.
///
/// A thread gets at its own elements of `y` only, so that nothing here is unsafe.
#[kernel]
pub fn saxpy(a: f32, x: &[f32], mut y: DisjointSlice<f32>) {
    for (i, y) in y.grid_stride_mut() {
        *y += a * x[i];
    }
}

/// `out[i] = values[indices[i]]`, over a grid of any size. An index beyond `values` panics.
#[kernel]
pub fn gather(values: &[u32], indices: &[u32], mut out: DisjointSlice<u32>) {
    for (i, out) in out.grid_stride_mut() {
        *out = values[indices[i] as usize];
    }
}

/// Sets every element of `out` to `*value`, over a grid of any size.
#[kernel]
pub fn broadcast(value: &u64, mut out: DisjointSlice<u64>) {
    for (_, out) in out.grid_stride_mut() {
        *out = *value;
    }
}

/// `after[i]` is the mirror image of twice `values`, with one value per thread. All blocks wait for
/// each other in between.
///
/// # Safety
/// One-dimensional grid and block; as many elements of both as threads.
#[kernel(cooperative)]
pub unsafe fn mirror(values: *mut u32, after: *mut u32) {
    let (i, n) = (thread::index_1d() as usize, thread::grid_stride_1d() as usize);
    // SAFETY: before the barrier each thread has its own element, and after it nobody writes `values`.
    unsafe {
        *values.add(i) = (*values.add(i)).wrapping_mul(2);
        thread::sync_grid();
        *after.add(i) = *values.add(n - 1 - i);
    }
}

/// The sum (wrapping) of each block's elements of `input`, in shared memory: `sums[b]` for the elements from
/// `b * block` on, as many as the block has threads.
///
/// # Safety
/// One-dimensional grid and block; the block's size is a power of two, and `sums` points to an element for each block.
#[kernel(max_threads = 256)]
pub unsafe fn block_sum(input: &[u32], sums: *mut u32) {
    let partial = shared_array![u32; 256];
    let me = thread::thread_idx_x() as usize;
    let own = input.get(thread::index_1d() as usize).copied().unwrap_or(0);
    // SAFETY: `me` is below 256, the kernel's launch bound. Between two barriers a thread writes its own element and
    // reads one that no other writes. Thread 0 alone writes its block's sum.
    unsafe {
        partial.write(me, own);
        thread::sync_threads();
        let mut half = thread::block_dim_x() as usize / 2;
        while half > 0 {
            if me < half {
                partial.write(me, partial.read(me).wrapping_add(partial.read(me + half)));
            }
            thread::sync_threads();
            half /= 2;
        }
        if me == 0 {
            *sums.add(thread::block_idx_x() as usize) = partial.read(0);
        }
    }
}

/// Reverses each block's elements of `values`, by way of dynamic shared memory: 4 bytes for each thread.
///
/// # Safety
/// One-dimensional grid and block, 4 bytes of dynamic shared memory for each thread, and `values` points to an element
/// for each thread of the grid.
#[kernel]
pub unsafe fn reverse_blocks(values: *mut u32) {
    let staged = dynamic_shared::<u32>();
    let (me, threads) = (thread::thread_idx_x() as usize, thread::block_dim_x() as usize);
    // SAFETY: both indices are below the number of threads, and both arrays have an element per
    // thread. A barrier stands between the writes of `staged` and the reads of others' elements.
    unsafe {
        let own = values.add(thread::block_idx_x() as usize * threads + me);
        *staged.add(me) = *own;
        thread::sync_threads();
        *own = *staged.add(threads - 1 - me);
    }
}

constant! {
    /// The coefficients of [`polynomial`], the constant term first.
    pub static COEFFICIENTS: [f32; 4];
}

/// `y[i] = c0 + c1 * x[i] + c2 * x[i]² + c3 * x[i]³` with [`COEFFICIENTS`], over a grid of any size.
#[kernel]
pub fn polynomial(x: &[f32], mut y: DisjointSlice<f32>) {
    for (i, y) in y.grid_stride_mut() {
        *y = COEFFICIENTS.as_slice().iter().rev().fold(0.0, |sum, c| sum * x[i] + c);
    }
}
