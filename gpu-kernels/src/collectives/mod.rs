//! Building blocks that the systems' kernels share: reductions, scans, sorting and counting over a
//! warp, a block and the whole device.
//!
//! The layers are CUB's. Each uses those before it:
//!
//! | module | over | what |
//! |---|---|---|
//! | [`op`] | | the operators: [`Sum`], [`Min`], [`Max`], and any closure |
//! | [`warp`] | 32 lanes, or the first few | [`reduce`](warp::reduce), [`inclusive_scan`](warp::inclusive_scan), [`exclusive_scan`](warp::exclusive_scan), [`broadcast`](warp::broadcast) |
//! | [`block`] | a block of any size | reductions, exclusive scans and broadcasts: methods of [`Block`](block::Block) |
//! | [`histogram`] | a block of any size | [`Histogram`](histogram::Histogram) counts items by bin |
//! | [`tile`] | a block of 256 | moves 4096 items between global memory and registers, 16 bytes at a time |
//! | [`look_back`] | the grid | what lies before a tile, without a second pass |
//! | [`scan`](mod@scan), [`reduce`](mod@reduce), [`sort`] | the grid | the kernels that the host launches |
//!
//! Scans take two forms. The inclusive scan of `x` is `x[0], x[0]∘x[1], ..`: element `i` is of all items up to and with
//! `i`. The exclusive one is of all items before `i`, and starts with the operator's identity.
//!
//! Sources: D. Merrill and M. Garland, *Single-pass Parallel Prefix Scan with Decoupled Look-back*,
//! NVIDIA technical report NVR-2016-002, 2016; CUB (github.com/NVIDIA/cccl), the source of the
//! layers and their names; W. D. Hillis and G. L. Steele, *Data Parallel Algorithms*, 1986, for the
//! scan of a warp.

pub mod block;
pub mod histogram;
pub mod look_back;
pub mod op;
pub mod probe;
pub mod reduce;
pub mod scan;
pub mod sort;
pub mod tile;
pub mod warp;

use block::STORAGE;
use cuda_std::shared_array;
use look_back::{Decoupled, Hierarchical};
pub use op::{Identity, Max, Min, Op, Sum};

/// A type whose arrays are scanned and reduced: `u32`, `i32`, `u64`, `i64`, `f32`, `f64`.
pub trait Value: bytemuck::Pod {
    /// Scans one tile of an array of so many items, as the kernels of [`scan`](mod@scan) do.
    ///
    /// # Safety
    /// As for these kernels. With `READ_ONLY`, nothing writes the first array.
    #[doc(hidden)]
    unsafe fn scan<const READ_ONLY: bool>(arrays: (*const Self, *mut Self, usize), control: scan::Control<Self>);

    /// Scans an array in place by one thread, as [`scan::direct()`] does.
    ///
    /// # Safety
    /// As for this kernel.
    #[doc(hidden)]
    unsafe fn scan_direct(data: *mut Self, n: usize, total: *mut Self);

    /// Reduces an array by the whole grid, as [`reduce::of_array()`] does.
    ///
    /// # Safety
    /// As for this kernel.
    #[doc(hidden)]
    unsafe fn reduce(input: &[Self], results: reduce::Results<Self>, operator: u32);
}

macro_rules! values {
    ($($t:ty as $bits:ty, $look_back:ident, $v:literal;)*) => {$(
        impl Value for $t {
            #[inline(always)]
            unsafe fn scan<const READ_ONLY: bool>((input, output, n): (*const $t, *mut $t, usize), control: scan::Control<$t>) {
                let scan::Control { total, ticket, state } = control;
                // SAFETY: this function's contract, and the shared memory is new. A type and its bits have the same size,
                // and the sums of the bits are those of the type.
                unsafe {
                    scan::scan::<$bits, $look_back, $v, READ_ONLY>(
                        (input.cast(), output.cast(), n),
                        scan::Control { total: total.cast(), ticket, state },
                        shared_array![$bits; STORAGE],
                        shared_array![u32; 1],
                    );
                }
            }

            #[inline(always)]
            unsafe fn scan_direct(data: *mut $t, n: usize, total: *mut $t) {
                let mut sum: $t = Sum.identity();
                // SAFETY: there are so many items, and a place for the total (this function's contract).
                unsafe {
                    for i in 0..n {
                        let item = data.add(i).replace(sum);
                        sum = Sum.apply(sum, item);
                    }
                    total.write(sum);
                }
            }

            #[inline(always)]
            unsafe fn reduce(input: &[$t], results: reduce::Results<$t>, operator: u32) {
                let (storage, flag) = (shared_array![$t; STORAGE], shared_array![u32; 1]);
                // SAFETY: this function's contract, and the shared memory is new.
                unsafe {
                    match operator {
                        reduce::SUM => reduce::reduce::<$t, _, $v>(input, results, Sum, storage, flag),
                        reduce::MIN => reduce::reduce::<$t, _, $v>(input, results, Min, storage, flag),
                        _ => reduce::reduce::<$t, _, $v>(input, results, Max, storage, flag),
                    }
                }
            }
        }
    )*};
}
values! {
    u32 as u32, Decoupled, 4;
    i32 as u32, Decoupled, 4;
    u64 as u64, Decoupled, 2;
    i64 as u64, Decoupled, 2;
    f32 as f32, Hierarchical, 4;
    f64 as f64, Hierarchical, 2;
}

/// The result of a scan: each thread's part of it, and the whole.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Scan<P, T = P> {
    /// The scan's values at the thread's own items.
    pub prefix: P,
    /// All items together, the same for every thread.
    pub total: T,
}
