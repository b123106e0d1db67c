//! The standard library of kernels, on the device and on the CPU.
//!
//! A kernel crate is compiled twice. For the device (`cfg(cuda_device)`, which `cuda_builder` sets)
//! the functions here are one PTX instruction each, or a few. Elsewhere they ask the `simt`
//! executor which thread of which block is running, and give the same results. Each item documents
//! both sides.
//!
//! | module | what |
//! |---|---|
//! | [`thread`] | indices, barriers, fences, clocks |
//! | [`cluster`] | clusters of blocks: ranks, their barrier, each other's shared memory |
//! | [`warp`] | lane masks, shuffles, votes, matches, reductions over a warp |
//! | [`atomic`] | atomics in the scopes of a block, the device and the system |
//! | [`mem`] | loads and stores with a cache policy, asynchronous copies into shared memory |
//! | [`mbarrier`] | barriers in shared memory, bulk copies |
//! | [`tensor`] | copies of boxes of tensors by descriptors |
//! | [`math`] | functions of `f32` and `f64` that agree on both sides; [`math::fast`] the hardware's approximations |
//! | [`half`](mod@half) | `f16` and `bf16`, and pairs of them |
//! | [`mma`] | tensor cores: products of small matrices by the lanes of a warp |
//! | [`wgmma`] | tensor cores of Hopper: products by warpgroups, of tiles in shared memory |
//! | [`shared`] | [`shared_array!`], dynamic shared memory |
//! | [`println!`], [`print!`] | text |
//! | [`ptx_asm!`] | inline PTX |
//! | [`heap`], [`device_heap!`] | the crate `alloc` in kernels |
//! | [`constant`](mod@constant) | [`constant!`]: memory that the host fills and kernels read |
//!
//! [`DisjointSlice`] and [`DisjointMatrix`] are output parameters in which each thread writes its
//! own elements, without `unsafe`.
#![cfg_attr(cuda_device, no_std, feature(const_type_name, f16, specialization), allow(incomplete_features))]

// Macros name the crate.
extern crate self as cuda_std;

/// Public functions that are those of a module of `sys`, which the two sides have under the same names.
macro_rules! forward {
    ($module:ident: $($(#[$doc:meta])* fn $name:ident($($x:ident: $t:ty),*) $(-> $result:ty)?;)*) => {$(
        $(#[$doc])*
        #[inline(always)]
        #[cfg_attr(not(cuda_device), track_caller)]
        pub fn $name($($x: $t),*) $(-> $result)? {
            $crate::sys::$module::$name($($x),*)
        }
    )*};
}

pub mod atomic;
pub mod cluster;
pub mod constant;
#[cfg(not(cuda_device))]
mod cpu;
mod device_copy;
mod disjoint;
mod function;
#[cfg(cuda_device)]
mod gpu;
pub mod half;
pub mod heap;
#[cfg(not(cuda_device))]
pub mod launch;
pub mod math;
pub mod mbarrier;
pub mod mem;
pub mod mma;
#[cfg(cuda_device)]
#[doc(hidden)]
pub mod param;
pub mod prelude;
mod print;
pub mod ptx;
pub mod shared;
#[doc(hidden)]
pub mod signature;
mod single;
pub mod tensor;
pub mod thread;
mod vector;
pub mod warp;
pub mod wgmma;

#[cfg(not(cuda_device))]
use cpu as sys;
#[cfg(cuda_device)]
use gpu as sys;

pub use cuda_std_macros::{DeviceCopy, KernelParam, kernel, ptx_asm};
#[cfg(not(cuda_device))]
pub use launch::ValueParam;
#[cfg(cuda_device)]
pub use param::ValueParam;

pub use device_copy::DeviceCopy;
pub use disjoint::{DisjointMatrix, DisjointSlice, GridStrideMut};
pub use function::Function;
pub use half::{Bf16x2, F16x2, bf16, f16};
pub use math::GpuFloat;
pub use shared::{SharedArray, dynamic_shared, dynamic_shared_size};
pub use tensor::{TensorMap, TensorMapMut};
pub use vector::{F32x2, F32x4, F64x2, I32x2, I32x4, U32x2, U32x4, U64x2};

/// Expansions of macros.
#[doc(hidden)]
pub mod __private {
    pub use crate::constant::Constant;
    pub use crate::device_copy::field;
    pub use crate::print::print;
    pub use crate::shared::shared_array;
    pub use crate::signature::mixed;
    pub use core::{format_args, mem::MaybeUninit};
    pub use cuda_std_macros::package;
    #[cfg(not(cuda_device))]
    pub use std::vec::Vec;

    /// The least of these, and 3.
    #[cfg(not(cuda_device))]
    pub const fn least(mut dimensions: &[u32]) -> u32 {
        let mut least = 3;
        while let [first, rest @ ..] = dimensions {
            if *first < least {
                least = *first;
            }
            dimensions = rest;
        }
        least
    }
}

/// Wraps items that `#[kernel]` writes for the device alone. (A `cfg` in the kernel crate would
/// make rustc warn about an unknown name.)
#[cfg(cuda_device)]
#[doc(hidden)]
#[macro_export]
macro_rules! __device {
    ($($token:tt)*) => { $($token)* };
}
#[cfg(not(cuda_device))]
#[doc(hidden)]
#[macro_export]
macro_rules! __device {
    ($($token:tt)*) => {};
}

/// Wraps items that `#[kernel]` writes for the host alone.
#[cfg(cuda_device)]
#[doc(hidden)]
#[macro_export]
macro_rules! __host {
    ($($token:tt)*) => {};
}
#[cfg(not(cuda_device))]
#[doc(hidden)]
#[macro_export]
macro_rules! __host {
    ($($token:tt)*) => { $($token)* };
}

/// Returns true in the device's build of the code.
///
/// A constant: the branch that isn't taken leaves nothing behind, but has to compile.
#[inline(always)]
pub const fn is_gpu() -> bool {
    cfg!(cuda_device)
}

/// Ends a launch on the CPU where an access isn't aligned, which a GPU faults at. Builds with debug assertions look.
#[inline(always)]
#[cfg_attr(not(cuda_device), track_caller)]
pub(crate) fn demand_aligned<T>(ptr: *const T, align: usize) {
    #[cfg(not(cuda_device))]
    if cfg!(debug_assertions) && !ptr.addr().is_multiple_of(align) {
        let at = core::panic::Location::caller();
        simt::current::fault(format!("accesses {ptr:p} ({at}), which isn't aligned to {align} bytes"));
    }
    _ = (ptr, align);
}

/// The compute capability that the PTX is built for, times 100: 750 for `sm_75`, 900 for `sm_90`, and 901 for `sm_90a`. 0 on
/// the CPU.
///
/// Known when the PTX is made, so a branch on it costs nothing, and instructions that only a later architecture has
/// may stand behind it.
#[inline(always)]
pub fn arch() -> u32 {
    sys::thread::arch()
}

/// A panic stops the whole grid (`trap`): the host's next call on the stream reports it. `cuda_builder` writes the
/// message where it is asked to, before it comes to this.
#[cfg(cuda_device)]
#[panic_handler]
fn panic(_: &core::panic::PanicInfo<'_>) -> ! {
    gpu::thread::trap()
}
