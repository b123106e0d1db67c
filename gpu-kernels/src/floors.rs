//! A device's best for benches to compare with: random gathers and random scatters.

use cuda_std::prelude::*;

/// `output[i] = values[indices[i]]`: one random 4-byte load per element.
#[kernel(max_threads = 256)]
pub fn gather(values: &[i32], indices: &[i32], mut output: DisjointSlice<i32>) {
    let i = thread::index_1d() as usize;
    if i < indices.len() {
        let index = indices[i] as usize;
        output.set(if index < values.len() { values[index] } else { 0 });
    }
}

/// `output[indices[i]] = i`: one random 4-byte store per element.
///
/// # Safety
/// `output` must have `n` elements; indices from `n` on are left out. Equal indices race.
#[kernel(max_threads = 256)]
pub unsafe fn scatter(indices: &[i32], output: *mut i32, n: u32) {
    let i = thread::index_1d();
    if (i as usize) < indices.len() && (indices[i as usize] as u32) < n {
        // SAFETY: compared with the length.
        unsafe { output.add(indices[i as usize] as usize).write(i as i32) };
    }
}
