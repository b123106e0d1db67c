//! Vectors: entries that are packed for other ranks, and the sum of two results.

use super::Scalar;
use cuda_std::prelude::*;

/// `out[i] = x[indices[i]]`, over a grid of any size.
#[kernel(for T in [f32, f64], max_threads = 256)]
pub fn gather<T: Scalar>(x: &[T], indices: &[u32], mut out: DisjointSlice<T>) {
    for (i, out) in out.grid_stride_mut() {
        *out = x[indices[i] as usize];
    }
}

/// `out[i] = a[i] + b[i]`, over a grid of any size.
#[kernel(for T in [f32, f64], max_threads = 256)]
pub fn add<T: Scalar>(a: &[T], b: &[T], mut out: DisjointSlice<T>) {
    for (i, out) in out.grid_stride_mut() {
        *out = a[i] + b[i];
    }
}
