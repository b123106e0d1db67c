//! Vectors: entries that are packed for other ranks, and the sum of two results.

use cuda_std::prelude::*;

macro_rules! kernels {
    ($($t:ty: $gather:ident, $add:ident;)*) => {$(
        /// `out[i] = x[indices[i]]`, over a grid of any size.
        #[kernel(max_threads = 256)]
        pub fn $gather(x: &[$t], indices: &[u32], mut out: DisjointSlice<$t>) {
            for (i, out) in out.grid_stride_mut() {
                *out = x[indices[i] as usize];
            }
        }

        /// `out[i] = a[i] + b[i]`, over a grid of any size.
        #[kernel(max_threads = 256)]
        pub fn $add(a: &[$t], b: &[$t], mut out: DisjointSlice<$t>) {
            for (i, out) in out.grid_stride_mut() {
                *out = a[i] + b[i];
            }
        }
    )*};
}
kernels! {
    f32: gather_f32, add_f32;
    f64: gather_f64, add_f64;
}
