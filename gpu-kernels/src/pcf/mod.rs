//! Integrals over pairs of piecewise constant functions: each entry of a block of a pairwise matrix.
//!
//! A function is a sequence of *segments* (value, end): the value holds until the end, the next segment starts there,
//! and the last segment ends at infinity. Two functions are merged in order of time ([`merge`]): each step takes the
//! segment that ends first, adds the integral since the step before, and goes on to that function's next segment. Two
//! functions of m and n segments take m + n - 2 steps, one for each breakpoint but the two at t = 0. The idea of one
//! thread per pair, and of skipping half of a symmetric matrix in the kernel, is masspcf's ("CUDA block execution
//! engine", *Rectangle iteration kernel*).
//!
//! There are two kernels for each [operation](op):
//! - [`tiled`], for GPUs: a block of threads takes 32 functions, one per lane, times one for each warp, and merges them
//!   from shared memory;
//! - [`direct`], for CPUs: a thread merges a pair from where the functions lie.

/// Calls a macro with every combination of operation and precision: name, launch bounds of the tiled
/// kernel (under which no registers spill on sm_90), type of scalars, type of segments, operation for an exponent.
macro_rules! for_operations {
    ($macro:ident) => {
        $macro! {
            /// ∫|f - g| in single precision. `p` is not used.
            l1_f32(max_threads = 512, min_blocks = 3): f32, F32x2, |_| L1;
            /// (∫|f - g|²)^½ in single precision. `p` is not used.
            l2_f32(max_threads = 512, min_blocks = 3): f32, F32x2, |_| L2;
            /// (∫|f - g|^p)^(1/p) in single precision.
            lp_f32(max_threads = 512, min_blocks = 2): f32, F32x2, |p| Lp { p, root: 1.0 / p };
            /// ∫f·g in single precision. `p` is not used.
            inner_f32(max_threads = 512, min_blocks = 3): f32, F32x2, |_| Inner;
            /// ∫|f - g| in double precision. `p` is not used.
            l1_f64(max_threads = 512): f64, F64x2, |_| L1;
            /// (∫|f - g|²)^½ in double precision. `p` is not used.
            l2_f64(max_threads = 512): f64, F64x2, |_| L2;
            /// (∫|f - g|^p)^(1/p) in double precision.
            lp_f64(max_threads = 256, min_blocks = 2): f64, F64x2, |p| Lp { p, root: 1.0 / p };
            /// ∫f·g in double precision. `p` is not used.
            inner_f64(max_threads = 512): f64, F64x2, |_| Inner;
        }
    };
}
use for_operations;

pub mod direct;
pub mod merge;
pub mod op;
pub mod set;
pub mod tiled;

pub use set::{LANES, Scalar, Triangle};
