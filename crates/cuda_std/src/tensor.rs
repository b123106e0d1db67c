//! Copies of boxes of tensors by descriptors (TMA): between an array of one to three dimensions in global memory and
//! shared memory, by one instruction of one thread.
//!
//! The host describes the array: its extents, the extents of a box, and the order in which shared
//! memory has the box's elements (`TensorMap` and `TensorMapMut` of `warpsmith-device`). A kernel
//! takes the description as a [`TensorMap`] to load boxes of, or as a [`TensorMapMut`] to store
//! boxes to. The first coordinate is that of the contiguous dimension. A box may lie partly or
//! wholly outside of the array: elements outside are loaded as zeroes and not stored. The hardware
//! has two limits, beyond which it reports an illegal instruction (H100, H200), and the CPU a
//! fault: the first coordinate lies a multiple of 16 bytes from the start of its row, and boxes are
//! not stored at negative ones.
//!
//! ```
//! use cuda_std::{mbarrier::{self, Barrier}, prelude::*};
//!
//! #[derive(Clone, Copy)]
//! #[repr(C, align(128))]
//! pub struct Line([f32; 32]);
//!
//! /// Copies tiles of 32 x 8 numbers, one for each block.
//! ///
//! /// # Safety
//! /// The boxes of both are of 32 x 8 elements, not swizzled.
//! #[kernel]
//! pub unsafe fn copy(from: TensorMap<f32, 2>, to: TensorMapMut<f32, 2>) {
//!     let tile = shared_array![Line; 8].as_mut_ptr().cast::<f32>();
//!     let barrier = Barrier::at(shared_array![u64; 1].as_mut_ptr());
//!     if thread::thread_idx_x() == 0 {
//!         let at = [32 * thread::block_idx_x() as i32, 8 * thread::block_idx_y() as i32];
//!         // SAFETY: one thread does all, and waits for each copy before the next.
//!         unsafe {
//!             barrier.init(1);
//!             barrier.arrive_and_expect(32 * 8 * 4);
//!             from.load(barrier, tile, at);
//!             barrier.wait(0);
//!             to.store(tile, at);
//!             mbarrier::store_commit();
//!             mbarrier::store_wait();
//!         }
//!     }
//! }
//! # fn main() {}
//! ```
//!
//! GPU: from `sm_90` on, by `cp.async.bulk.tensor`; in PTX for less these functions panic. The
//! description lies in global memory; each thread of a kernel that takes one begins with
//! `fence.proxy.tensormap`, so images are of PTX 8.3 (a driver for CUDA 12.3). CPU: a copy at once.

use crate::mbarrier::Barrier;
use crate::{arch, is_gpu, sys::tensor as sys};
use core::marker::PhantomData;

/// In which order shared memory has a box's chunks of 16 bytes: as they come, or with bits of their address exchanged, so
/// that columns of a box lie in different banks.
///
/// With a width of 2ⁿ · 16 bytes, the n lowest bits of a chunk's number are xored with those of the number of its 128
/// bytes, by addresses in shared memory. The rows of the box have at most as many bytes as the width.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(u32)]
pub enum Swizzle {
    /// As they come.
    #[default]
    None = 0,
    /// Over 32 bytes.
    Bytes32 = 1,
    /// Over 64 bytes.
    Bytes64 = 2,
    /// Over 128 bytes.
    Bytes128 = 3,
}

impl Swizzle {
    /// Returns the swizzled place of the byte at this address of shared memory.
    pub const fn place(self, address: usize) -> usize {
        address ^ (address >> 7 & ((1 << self as u32) - 1)) << 4
    }

    /// Returns the alignment of a box in shared memory, in bytes.
    pub const fn alignment(self) -> usize {
        match self {
            Swizzle::None => 128,
            swizzle => 128 << swizzle as u32,
        }
    }
}

/// Tensor descriptor: encoded by the driver, or on the CPU a `Layout`.
#[doc(hidden)]
#[derive(Clone, Copy, Debug)]
#[repr(C, align(64))]
pub struct Descriptor(pub [u64; 16]);

/// Description of an array of `RANK` dimensions (1 to 3) from which a kernel loads boxes.
#[derive(Debug)]
pub struct TensorMap<'a, T, const RANK: usize> {
    descriptor: *const Descriptor,
    elements: PhantomData<&'a [T]>,
}

/// Description of an array of `RANK` dimensions (1 to 3) to which a kernel stores boxes.
#[derive(Debug)]
pub struct TensorMapMut<'a, T, const RANK: usize> {
    descriptor: *const Descriptor,
    elements: PhantomData<&'a [T]>,
}

#[inline(always)]
fn demand() {
    assert!(!is_gpu() || arch() >= 900, "copies of boxes of tensors need sm_90");
}

macro_rules! both {
    ($($map:ident)*) => {$(
        impl<T, const RANK: usize> Clone for $map<'_, T, RANK> {
            #[inline(always)]
            fn clone(&self) -> Self {
                *self
            }
        }
        impl<T, const RANK: usize> Copy for $map<'_, T, RANK> {}

        impl<T, const RANK: usize> $map<'_, T, RANK> {
            /// # Safety
            /// There is a description of such an array, whose elements may be used as the type says.
            #[inline(always)]
            pub(crate) unsafe fn new(descriptor: *const Descriptor) -> Self {
                const { assert!(1 <= RANK && RANK <= 3, "tensors have one to three dimensions here") };
                $map { descriptor, elements: PhantomData }
            }
        }
    )*};
}
both!(TensorMap TensorMapMut);

impl<T, const RANK: usize> TensorMap<'_, T, RANK> {
    /// Starts to copy the box whose first element is `at` to shared memory, as one instruction of one thread. The current
    /// phase of `barrier` lacks as many bytes less when it is done as the whole box has, zeroes and all.
    ///
    /// GPU: `cp.async.bulk.tensor.{1,2,3}d.shared::cluster.global.tile.mbarrier::complete_tx::bytes`.
    ///
    /// # Safety
    /// There is room for the box at `shared`, in shared memory, aligned as its [`Swizzle`] says (to 128 bytes without one),
    /// and nobody else uses it before the phase is complete. `at[0]` elements are a multiple of 16 bytes. The barrier has
    /// been made, and its phase been told to expect the bytes, or will be.
    #[inline(always)]
    pub unsafe fn load(self, barrier: Barrier, shared: *mut T, at: [i32; RANK]) {
        demand();
        // SAFETY: the caller has promised what the copy demands.
        unsafe { sys::load(self.descriptor, barrier.place(), shared.cast(), at) }
    }
}

impl<T, const RANK: usize> TensorMapMut<'_, T, RANK> {
    /// Starts to copy a box from shared memory to where its first element is `at`, as one instruction of one thread.
    /// [`store_commit`](crate::mbarrier::store_commit) and [`store_wait`](crate::mbarrier::store_wait) wait for it.
    ///
    /// GPU: `fence.proxy.async`, so that the copy sees what this thread wrote, or saw of others behind a barrier; then
    /// `cp.async.bulk.tensor.{1,2,3}d.global.shared::cta.tile.bulk_group`.
    ///
    /// # Safety
    /// The box is at `shared`, in shared memory, aligned as its [`Swizzle`] says (to 128 bytes without one), and nobody
    /// writes it before the copy is done. No coordinate is negative, and `at[0]` elements are a multiple of 16 bytes. Nobody
    /// else uses the elements in global memory before that.
    #[inline(always)]
    pub unsafe fn store(self, shared: *const T, at: [i32; RANK]) {
        demand();
        // SAFETY: the caller has promised what the copy demands.
        unsafe { sys::store(self.descriptor, shared.cast(), at) }
    }
}

/// The host's description of a tensor, for copies on the CPU.
#[cfg(not(cuda_device))]
#[doc(hidden)]
pub use sys::Layout;
