//! Tensor cores of Hopper: products of matrices in shared memory, by the 128 threads of a warpgroup together
//! (`wgmma.mma_async`).
//!
//! A warpgroup is four consecutive warps of a block; the first one's number is a multiple of four.
//! A tile is `rows` x 64 halves: row r of A, or column r of B, has its 64 elements along the sum in
//! 128 bytes, which are swizzled over 128 bytes
//! ([`Swizzle::Bytes128`](crate::tensor::Swizzle::Bytes128)). So [`TensorMap::load`] brings a box
//! of 64 x `rows` elements.
//!
//! GPU: PTX for `sm_90a` (`NvptxArch::Compute90a`), which only GPUs of compute capability 9.0 run;
//! in other PTX the functions panic. CPU: exact products, added in double precision and rounded
//! once for each 64 of them; GPUs add with less.
//!
//! The model is `matmul_wgmma` in `tests/device/outside/kernels/src/products.rs`.
//!
//! [`TensorMap::load`]: crate::TensorMap::load

use crate::half::{bf16, f16};
use crate::{F32x2, arch, is_gpu, ptx_asm, sys::wgmma as sys};

/// `f16` or `bf16`: what [`multiply_add`] multiplies.
pub trait Half: sealed::Half {}
impl Half for f16 {}
impl Half for bf16 {}

mod sealed {
    use super::sys;
    use crate::half::{bf16, f16};

    /// The product for each number of registers of D.
    pub trait Half {
        #[cfg_attr(not(cuda_device), track_caller)]
        unsafe fn multiply_add<const R: usize>(d: &mut [f32; R], a: *const u8, b: *const u8);
    }
    macro_rules! halves {
        ($($t:ty: $n64:ident $n128:ident $n256:ident;)*) => {$(
            impl Half for $t {
                #[inline(always)]
                unsafe fn multiply_add<const R: usize>(d: &mut [f32; R], a: *const u8, b: *const u8) {
                    let d = d.as_mut_ptr();
                    // SAFETY: the array has as many elements as its type says; the caller has promised the rest.
                    unsafe {
                        match R {
                            32 => sys::$n64(&mut *d.cast(), a, b),
                            64 => sys::$n128(&mut *d.cast(), a, b),
                            _ => sys::$n256(&mut *d.cast(), a, b),
                        }
                    }
                }
            }
        )*};
    }
    halves! {
        f16: n64_f16 n128_f16 n256_f16;
        bf16: n64_bf16 n128_bf16 n256_bf16;
    }
}

#[inline(always)]
fn demand() {
    assert!(!is_gpu() || arch() == 901, "products by warpgroups need sm_90a");
}

/// Sums to begin with, all zero. An array `[0.0; 128]` is filled by a loop, which the compiler doesn't unroll, so that it
/// would be kept in local memory.
#[inline(always)]
pub const fn zeroes<const R: usize>() -> [f32; R] {
    // SAFETY: all bits zero are the number 0.
    unsafe { core::mem::zeroed() }
}

/// `D += A B` of 64 x 64 and 64 x N elements, in single precision; N is 64, 128 or 256. A thread
/// has N / 2 elements of D, which begin as [`zeroes`]. It is done when the call returns. With t the
/// thread's number in its warpgroup, `d[i]` is the element of row `16 (t / 32) + t % 32 / 4 + 8 (i
/// / 2 % 2)` and column `8 (i / 4) + 2 (t % 4) + i % 2`.
///
/// GPU: `wgmma.fence`, four `wgmma.mma_async.sync.aligned.m64n..k16.f32`, `wgmma.commit_group`, `wgmma.wait_group`. CPU:
/// each warp meets in the executor.
///
/// # Safety
/// All threads of the warpgroup make the call. `a` and `b` point to tiles of 64 and N rows, in shared memory, aligned to
/// 1024 bytes, which nobody writes meanwhile. Copies of boxes have brought them, and the threads have waited for the
/// barrier; or threads have written them and called [`fence_writes`] before a barrier.
#[inline(always)]
#[cfg_attr(not(cuda_device), track_caller)]
pub unsafe fn multiply_add<H: Half, const R: usize>(d: &mut [f32; R], a: *const H, b: *const H) {
    const { assert!(R == 32 || R == 64 || R == 128, "D has 64, 128 or 256 columns: 32, 64 or 128 elements for each thread") };
    demand();
    // SAFETY: the caller has promised what the product demands.
    unsafe { H::multiply_add(d, a.cast(), b.cast()) }
}

/// Calls `f` with row, column and values of each pair of neighbours in a row of D that thread `t`
/// of the warpgroup holds. No register is indexed at run time.
#[inline(always)]
pub fn pairs<const R: usize>(d: &[f32; R], t: u32, mut f: impl FnMut(usize, usize, F32x2)) {
    let (row, column) = (16 * (t / 32) + t % 32 / 4, 2 * (t % 4));
    macro_rules! unrolled {
        ($($i:literal)*) => {$(
            if 2 * $i < R {
                f(row as usize + 8 * ($i % 2), column as usize + 8 * ($i / 2), F32x2::new(d[2 * $i % R], d[(2 * $i + 1) % R]));
            }
        )*};
    }
    unrolled! {
        0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20 21 22 23 24 25 26 27 28 29 30 31
        32 33 34 35 36 37 38 39 40 41 42 43 44 45 46 47 48 49 50 51 52 53 54 55 56 57 58 59 60 61 62 63
    }
}

/// Lets products, and copies out of shared memory, see what this thread has written there, once a barrier is passed.
///
/// GPU: `fence.proxy.async`. CPU: nothing.
#[inline(always)]
pub fn fence_writes() {
    assert!(!is_gpu() || arch() >= 900, "`fence.proxy.async` needs sm_90");
    // SAFETY: a fence.
    unsafe { ptx_asm!("fence.proxy.async;"; cpu => {}) }
}
