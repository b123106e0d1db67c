//! Tensor cores: products of small matrices, `D = A B + C`, by the 32 lanes of a warp together.
//!
//! Each lane holds a *fragment* of each matrix: a few elements in registers. All lanes of a full warp call the function
//! together, as they do a shuffle with the full mask. With `g = lane / 4` and `t = lane % 4` a lane holds
//!
//! | | of A, at (row, column) | of B, at (row, column) | of C and D, at (row, column) |
//! | --- | --- | --- | --- |
//! | [`m16n8k16`] | 4 pairs, `(g, 2t)`, `(g + 8, 2t)`, `(g, 2t + 8)`, `(g + 8, 2t + 8)` | 2 pairs, `(2t, g)`, `(2t + 8, g)` | `(g, 2t)`, `(g, 2t + 1)`, `(g + 8, 2t)`, `(g + 8, 2t + 1)` |
//! | [`m16n8k8_tf32`] | `(g, t)`, `(g + 8, t)`, `(g, t + 4)`, `(g + 8, t + 4)` | `(t, g)`, `(t + 4, g)` | the same |
//! | [`m16n8k32`] | 4 fours, `(g, 4t)`, `(g + 8, 4t)`, `(g, 4t + 16)`, `(g + 8, 4t + 16)` | 2 fours, `(4t, g)`, `(4t + 16, g)` | the same |
//! | [`m8n8k4_f64`] | `(g, t)` | `(t, g)` | `(g, 2t)`, `(g, 2t + 1)` |
//!
//! A pair or a four is in one register: elements that follow each other in a row of A, or in a column of B, the first
//! in the low bits. [`load`] and [`load_transposed`] fill such registers from shared memory.
//!
//! All but [`load`] need `sm_80`: in PTX for less they panic. The CPU multiplies exactly, adds in double precision and
//! rounds once. GPUs add in single precision, with an order and a rounding of their own, so that results differ in
//! their last digits; integers and [`m8n8k4_f64`] are exact, or rounded, as on a GPU.
//!
//! ```
//! use cuda_std::{mma, prelude::*};
//!
//! /// `d = a b` of 16 x 16 and 16 x 8 elements, `a` by rows and `b` by columns, by one warp.
//! ///
//! /// # Safety
//! /// A block of 32 threads, and arrays of these sizes.
//! #[kernel]
//! pub unsafe fn product(a: *const F16x2, b: *const F16x2, d: *mut F32x2) {
//!     let (g, t) = (warp::lane_id() as usize / 4, warp::lane_id() as usize % 4);
//!     // SAFETY: rows of A and columns of B have 8 pairs, rows of D 4.
//!     unsafe {
//!         let a = [(g, t), (g + 8, t), (g, t + 4), (g + 8, t + 4)].map(|(row, pair)| *a.add(8 * row + pair));
//!         let b = [t, t + 4].map(|pair| *b.add(8 * g + pair));
//!         let [d0, d1, d2, d3] = mma::m16n8k16(a, b, [0.0; 4]);
//!         *d.add(4 * g + t) = F32x2::new(d0, d1);
//!         *d.add(4 * (g + 8) + t) = F32x2::new(d2, d3);
//!     }
//! }
//! # fn main() {}
//! ```

use crate::{
    arch,
    half::{Bf16x2, F16x2},
    is_gpu,
    ptx::Register,
    sys::mma as sys,
};

mod sealed {
    use crate::half::{Bf16x2, F16x2};

    /// The product of pairs.
    pub trait Pair: crate::ptx::Register<u32> {
        #[cfg_attr(not(cuda_device), track_caller)]
        fn m16n8k16(a: [Self; 4], b: [Self; 2], c: [f32; 4]) -> [f32; 4];
    }
    /// The product of bytes.
    pub trait Byte {
        #[cfg_attr(not(cuda_device), track_caller)]
        fn m16n8k32(a: [u32; 4], b: [u32; 2], c: [i32; 4]) -> [i32; 4];
    }
    macro_rules! implement {
        ($($trait:ident for $t:ty: $name:ident($a:ty, $c:ty) = $f:ident;)*) => {$(
            impl $trait for $t {
                #[inline(always)]
                fn $name(a: [$a; 4], b: [$a; 2], c: [$c; 4]) -> [$c; 4] {
                    super::sys::$f(a, b, c)
                }
            }
        )*};
    }
    implement! {
        Pair for F16x2: m16n8k16(Self, f32) = m16n8k16_f16;
        Pair for Bf16x2: m16n8k16(Self, f32) = m16n8k16_bf16;
        Byte for i8: m16n8k32(u32, i32) = m16n8k32_s8;
        Byte for u8: m16n8k32(u32, i32) = m16n8k32_u8;
    }
}

/// [`F16x2`] or [`Bf16x2`]: what [`m16n8k16`] multiplies.
pub trait Pair: sealed::Pair {}
impl Pair for F16x2 {}
impl Pair for Bf16x2 {}

/// `i8` or `u8`: what [`m16n8k32`] multiplies.
pub trait Byte: sealed::Byte {}
impl Byte for i8 {}
impl Byte for u8 {}

#[inline(always)]
fn demand_ampere() {
    assert!(!is_gpu() || arch() >= 800, "this product of matrices needs sm_80");
}

/// The product of 16 x 16 and 16 x 8 halves, in single precision.
///
/// GPU: `mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32`, or `bf16`. CPU: the lanes meet in the executor.
#[inline(always)]
#[cfg_attr(not(cuda_device), track_caller)]
pub fn m16n8k16<P: Pair>(a: [P; 4], b: [P; 2], c: [f32; 4]) -> [f32; 4] {
    demand_ampere();
    P::m16n8k16(a, b, c)
}

/// Multiplies 16 x 8 and 8 x 8 numbers, in single precision. Only their leading 11 binary digits
/// count ([`tf32`] rounds to these; others are cut off).
///
/// GPU: `mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32`. CPU: the lanes meet in the executor.
#[inline(always)]
#[cfg_attr(not(cuda_device), track_caller)]
pub fn m16n8k8_tf32(a: [f32; 4], b: [f32; 2], c: [f32; 4]) -> [f32; 4] {
    demand_ampere();
    sys::m16n8k8_tf32(a, b, c)
}

/// The nearest number of 11 binary digits, halves away from zero. GPU: `cvt.rna.tf32.f32`.
#[inline(always)]
pub fn tf32(x: f32) -> f32 {
    demand_ampere();
    sys::tf32(x)
}

/// Multiplies 16 x 32 and 32 x 8 bytes, four per `u32`; sums wrap.
///
/// GPU: `mma.sync.aligned.m16n8k32.row.col.s32.s8.s8.s32`, or `u8`. CPU: the lanes meet in the executor.
#[inline(always)]
#[cfg_attr(not(cuda_device), track_caller)]
pub fn m16n8k32<B: Byte>(a: [u32; 4], b: [u32; 2], c: [i32; 4]) -> [i32; 4] {
    demand_ampere();
    B::m16n8k32(a, b, c)
}

/// The product of 8 x 4 and 4 x 8 numbers, by fused multiply-adds in the order of the columns of A.
///
/// GPU: `mma.sync.aligned.m8n8k4.row.col.f64.f64.f64.f64`. CPU: the lanes meet in the executor.
#[inline(always)]
#[cfg_attr(not(cuda_device), track_caller)]
pub fn m8n8k4_f64(a: f64, b: f64, c: [f64; 2]) -> [f64; 2] {
    demand_ampere();
    sys::m8n8k4_f64(a, b, c)
}

/// Loads `N` (1, 2 or 4) matrices of 8 x 8 elements of 16 bits from shared memory. Lane `8i + r` gives the address of
/// row `r` of matrix `i`, 16 bytes; those of lanes from `8N` on don't matter. Register `i` is the pair at row `lane /
/// 4` and columns `2 (lane % 4)`, `2 (lane % 4) + 1` of matrix `i`. So rows of A, and columns of B where these are
/// contiguous, become fragments of [`m16n8k16`].
///
/// GPU: `ldmatrix.sync.aligned.m8n8.x4.shared.b16`. CPU: the lanes meet in the executor.
///
/// # Safety
/// The rows' addresses are valid for reads of 16 bytes, aligned to 16 bytes and in shared memory; no thread writes
/// there meanwhile. All lanes of a full warp make the call.
#[inline(always)]
#[cfg_attr(not(cuda_device), track_caller)]
pub unsafe fn load<const N: usize, P: Register<u32>>(row: *const P) -> [P; N] {
    const { assert!(N == 1 || N == 2 || N == 4, "ldmatrix loads 1, 2 or 4 matrices") };
    // SAFETY: the caller has promised what the load demands.
    unsafe { sys::load::<N, false>(row.cast()) }.map(P::from_register)
}

/// [`load`] of the transposed matrices: a register has the elements at column `lane / 4` and rows `2 (lane % 4)`, `2
/// (lane % 4) + 1`. So B becomes fragments where its rows are contiguous.
///
/// GPU: `ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16`. CPU: the lanes meet in the executor.
///
/// # Safety
/// As that of [`load`].
#[inline(always)]
#[cfg_attr(not(cuda_device), track_caller)]
pub unsafe fn load_transposed<const N: usize, P: Register<u32>>(row: *const P) -> [P; N] {
    const { assert!(N == 1 || N == 2 || N == 4, "ldmatrix loads 1, 2 or 4 matrices") };
    // SAFETY: the caller has promised what the load demands.
    unsafe { sys::load::<N, true>(row.cast()) }.map(P::from_register)
}
