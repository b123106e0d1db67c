//! Integrals over pairs of piecewise constant functions: each entry of a block of a pairwise matrix.
//!
//! A function is a sequence of *segments* (value, end): the value holds until the end, the next segment starts there,
//! and the last segment ends at infinity. Two functions are merged in order of time ([`merge`]): each step takes the
//! segment that ends first, adds the integral since the step before, and goes on to that function's next segment. Two
//! functions of m and n segments take m + n - 2 steps, one for each breakpoint but the two at t = 0. The idea of one
//! thread per pair, and of skipping half of a symmetric matrix in the kernel, is masspcf's ("CUDA block execution
//! engine", *Rectangle iteration kernel*).
//!
//! There are these kernels for each [operation](op):
//! - [`tiled`], for GPUs: a block of threads takes 32 functions, one per lane, times one for each warp, and merges them
//!   from shared memory; merges of long functions in pieces;
//! - [`direct`], for CPUs: a thread merges a pair straight from the functions' memory;
//! - [`aligned`], a kernel of each kind for functions that all have the same times.

pub mod aligned;
pub mod barcode;
pub mod direct;
pub mod merge;
pub mod op;
pub mod power;
pub mod set;
pub mod tiled;

pub use set::{Functions, LANES, Pairs, Placement, Scalar, Triangle};
