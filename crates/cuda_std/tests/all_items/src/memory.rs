//! Shared and constant memory, output slices, panics.

use crate::{Out, SLOTS, items};
use cuda_std::prelude::*;

constant! {
    /// Filled by the host.
    pub static ALL_ITEMS_TABLE: [u64; 8];
    /// Filled by the host.
    pub static ALL_ITEMS_PAIRS: [F32x2; 4];
}

/// A tile of a matrix for each thread.
#[kernel]
pub fn tiles(input: &[u32], mut out: DisjointMatrix<u32, 2, 2>) {
    let columns = out.columns();
    for ((row, column), element) in out.tile_mut() {
        *element = input[row * columns + column];
    }
}

/// The thread's own element, without `unsafe`.
#[kernel]
pub fn disjoint_set(input: &[u64], mut out: DisjointSlice<u64>) {
    let length = out.len() as u64;
    if let Some(x) = input.get(thread::index_1d() as usize) {
        out.set(x.wrapping_add(length));
    }
}

/// A grid-stride loop, without `unsafe`.
#[kernel]
pub fn disjoint_stride(input: &[u64], mut out: DisjointSlice<u64>) {
    for (i, value) in out.grid_stride_mut() {
        *value = input[i % input.len()].wrapping_add(i as u64);
    }
}

/// A panic where the input asks for one.
#[kernel(max_threads = 256)]
pub unsafe fn panics(input: &[u64], out: *mut u64) {
    let i = thread::index_1d() as usize;
    assert!(input[i] != 0, "zero");
    // SAFETY: `out` points to the launch's output.
    unsafe { out.add(i * SLOTS).write(input[i]) };
}

items! {
    "memory";

    /// Static shared memory.
    fn shared(input, out) {
        let words = shared_array![u64; 64];
        let vectors = shared_array![F32x4; 64];
        let t = thread::thread_idx_x() as usize;
        // SAFETY: each thread writes its own elements, and a barrier lies between writes and reads.
        unsafe {
            words.write(t, input[thread::index_1d() as usize]);
            vectors.write(t, F32x4::splat(t as f32));
            thread::sync_threads();
            out.put(words.read(63 - t));
            out.put(*words.get(t ^ 1));
            out.put(words.as_slice()[t ^ 3]);
            out.put(vectors.read(t ^ 5).z);
            out.put(mem::load_volatile(words.at(t ^ 7)));
            out.put(mem::load_relaxed_shared(words.at(t ^ 9)));
            out.put(words.len());
        }
    }

    /// Dynamic shared memory.
    fn dynamic(input, out) {
        let t = thread::thread_idx_x() as usize;
        let words = dynamic_shared::<u64>();
        // SAFETY: each thread writes its own elements of the launch's 16 bytes per thread, and a barrier lies
        // between.
        unsafe {
            words.add(2 * t).write(input[t]);
            words.add(2 * t + 1).write(t as u64);
            thread::sync_threads();
            let pair = dynamic_shared::<U64x2>().add(63 - t).read();
            out.put(pair.x);
            out.put(pair.y);
        }
        out.put(dynamic_shared_size());
    }

    /// Constant memory.
    fn constants(_input, out) {
        let t = thread::thread_idx_x() as usize;
        out.put(ALL_ITEMS_TABLE.get(t % 8));
        let mut sum = 0u64;
        for value in ALL_ITEMS_TABLE.as_slice() {
            sum = sum.wrapping_add(*value);
        }
        out.put(sum);
        out.put(ALL_ITEMS_PAIRS.get(t % 4).y);
        out.put(ALL_ITEMS_PAIRS.len());
    }
}
