//! Kernels that use every item of `cuda_std`.
//!
//! All have one signature, `(input: &[u64], out: *mut u64)`, and are launched on [`GRID`] blocks of [`BLOCK`] threads
//! with [`DYNAMIC_SHARED`] bytes. Each thread writes up to [`SLOTS`] words of its own, a function of the input alone,
//! so that the outputs of two backends can be compared word by word.
#![cfg_attr(cuda_device, no_std)]
#![allow(clippy::missing_safety_doc)]

extern crate alloc;

pub mod arithmetic;
pub mod atomics;
pub mod clusters;
pub mod functions;
pub mod heap;
pub mod inline;
pub mod loads;
pub mod memory;
pub mod params;
pub mod products;
pub mod threads;
pub mod warps;

use cuda_std::prelude::*;

cuda_std::device_heap!();

/// Blocks of a launch.
pub const GRID: u32 = 2;
/// Threads of a block.
pub const BLOCK: u32 = 64;
/// Bytes of dynamic shared memory of a launch.
pub const DYNAMIC_SHARED: usize = 64 * 16;
/// Words of output of a thread.
pub const SLOTS: usize = 128;
/// Words of output of a launch.
pub const OUTPUT: usize = GRID as usize * BLOCK as usize * SLOTS;

/// A kernel as the CPU calls it.
#[cfg(not(cuda_device))]
pub type Kernel = unsafe fn(&[u64], *mut u64);

/// A kernel with its PTX name.
#[cfg(not(cuda_device))]
pub type Named = (&'static str, Kernel);

/// All kernels that promise the same output on every backend.
#[cfg(not(cuda_device))]
pub fn kernels() -> impl Iterator<Item = Named> {
    [
        threads::KERNELS,
        warps::KERNELS,
        atomics::KERNELS,
        atomics::block::KERNELS,
        atomics::device::KERNELS,
        atomics::system::KERNELS,
        loads::KERNELS,
        memory::KERNELS,
        functions::KERNELS,
        arithmetic::KERNELS,
        inline::KERNELS,
        products::KERNELS,
    ]
    .into_iter()
    .flatten()
    .copied()
}

/// Declares `KERNELS`, the list of a module's kernels.
macro_rules! list {
    ($prefix:expr => $($name:ident)*) => {
        /// The kernels of this module that promise the same output on every backend.
        #[cfg(not(cuda_device))]
        pub const KERNELS: &[$crate::Named] = &[$((concat!($prefix, "_", stringify!($name)), $name)),*];
    };
}
pub(crate) use list;

/// Declares kernels of the one signature, whose `out` is the thread's [`Out`], and `KERNELS`: these `and` others.
macro_rules! items {
    ($prefix:literal $(and $($other:ident)*)?; $($(#[$doc:meta])* fn $name:ident($input:ident, $out:ident) $body:block)*) => {
        $crate::list!($prefix => $($name)* $($($other)*)?);
        $(
            $(#[$doc])*
            #[kernel]
            pub unsafe fn $name($input: &[u64], out: *mut u64) {
                // SAFETY: `out` points to the launch's output.
                let mut $out = unsafe { Out::new(out) };
                $body
            }
        )*
    };
}
pub(crate) use items;

/// The running thread's words of output.
pub struct Out(*mut u64);

impl Out {
    /// # Safety
    /// `first` points to the launch's [`OUTPUT`] words.
    #[inline(always)]
    pub unsafe fn new(first: *mut u64) -> Self {
        // SAFETY: within the output.
        Out(unsafe { first.add(thread::index_1d() as usize * SLOTS) })
    }

    /// Returns the place of the next word.
    #[inline(always)]
    pub fn next(&self) -> *mut u64 {
        self.0
    }

    /// Writes the next word.
    #[inline(always)]
    pub fn put(&mut self, value: impl Bits) {
        // SAFETY: no kernel writes more than its slots.
        unsafe {
            self.0.write(value.bits());
            self.0 = self.0.add(1);
        }
    }
}

/// Values that fit into a word.
pub trait Bits {
    /// As a word.
    fn bits(self) -> u64;
}

macro_rules! bits {
    ($($t:ty: |$v:ident| $bits:expr;)*) => {$(
        impl Bits for $t {
            #[inline(always)]
            fn bits(self) -> u64 { let $v = self; $bits }
        }
    )*};
}
bits! {
    bool: |v| v as u64;
    u8: |v| v as u64;
    u16: |v| v as u64;
    u32: |v| v as u64;
    u64: |v| v;
    usize: |v| v as u64;
    i8: |v| v as u64;
    i16: |v| v as u64;
    i32: |v| v as u64;
    i64: |v| v as u64;
    isize: |v| v as u64;
    f32: |v| v.to_bits() as u64;
    f64: |v| v.to_bits();
}
