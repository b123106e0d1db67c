//! Kernels outside of gpu-kernels, with names that are also in use there.

extern crate alloc;

pub mod clusters;
pub mod language;
pub mod linked;
pub mod products;
pub mod tensors;

cuda_std::device_heap!();

/// Kernels with names of `gpu_kernels::samples`.
pub mod samples {
    use cuda_std::prelude::*;

    constant! {
        /// The constant term, and the slope.
        pub static COEFFICIENTS: [f32; 2];
    }

    /// `y[i] = COEFFICIENTS[0] + COEFFICIENTS[1] * i`, over a grid of any size.
    #[kernel]
    pub fn saxpy(mut y: DisjointSlice<f32>) {
        for (i, y) in y.grid_stride_mut() {
            *y = COEFFICIENTS.get(0) + COEFFICIENTS.get(1) * i as f32;
        }
    }
}

/// A kernel whose parameters depend on a feature.
pub mod reals {
    use cuda_std::prelude::*;

    #[cfg(not(feature = "double"))]
    type Real = f32;
    #[cfg(feature = "double")]
    type Real = f64;

    /// A structure of the same name in both builds.
    #[derive(Clone, Copy, bytemuck::Pod, bytemuck::Zeroable)]
    #[repr(C)]
    pub struct Pair(pub Real, pub Real);

    /// Sets all elements to `value`.
    #[kernel]
    pub fn fill(value: Real, mut out: DisjointSlice<Real>) {
        for (_, out) in out.grid_stride_mut() {
            *out = value;
        }
    }

    /// Exchanges the numbers of all pairs.
    #[kernel]
    pub fn swap(mut pairs: DisjointSlice<Pair>) {
        for (_, pair) in pairs.grid_stride_mut() {
            *pair = Pair(pair.1, pair.0);
        }
    }
}

/// A kernel of which no PTX is made.
pub mod left_out {
    use cuda_std::prelude::*;

    /// Sets all elements to 1.
    #[kernel]
    pub fn ones(mut out: DisjointSlice<u32>) {
        for (_, out) in out.grid_stride_mut() {
            *out = 1;
        }
    }
}
