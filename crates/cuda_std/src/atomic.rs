//! Atomic operations, in a module for each scope: the threads of the same [`block`], of the [`device`], or of the whole
//! [`system`] (host and other devices too). An operation is atomic, and ordered, with respect to the threads of its
//! scope only.
//!
//! Operations are relaxed unless their name says otherwise: they order nothing but the accesses to their own location.
//! To hand over data, write it, then `store_release` or `fetch_add_acq_rel` a flag that the reader takes with
//! `load_acquire`.
//!
//! On the GPU each is one `atom`, `ld` or `st` (a `red` where ptxas sees that nobody wants the old value) on global or
//! shared memory; on the CPU an atomic of the standard library, floats by compare and exchange.
//!
//! | function | types | GPU |
//! |---|---|---|
//! | `fetch_add`, `fetch_sub` | all | `atom.add` |
//! | `fetch_min`, `fetch_max` | all | `atom.min`, `atom.max` (floats: on their bits) |
//! | `fetch_and`, `fetch_or`, `fetch_xor` | integers | `atom.and`, `atom.or`, `atom.xor` |
//! | `exchange`, `compare_exchange` | all | `atom.exch`, `atom.cas` |
//! | `load`, `load_acquire`, `store`, `store_release` | all | `ld.relaxed`, `ld.acquire`, `st.relaxed`, `st.release` |
//! | `..._acq_rel` | as without it | `atom.acq_rel` |
//!
//! "All" is `u32`, `i32`, `f32`, `u64`, `i64`, `f64`.
//!
//! The relaxed `atom`s of the scope `block` carry the device's scope in PTX: LLVM 22 has no narrower form that still
//! tells global from shared memory, and a wider scope is never wrong.

use crate::sys::atomic as sys;

/// Calls a macro with a list of operations on the type `$t`, after the macro's other arguments.
macro_rules! operations {
    // Operations that are made in one way for all types.
    ($then:ident! Common $t:ty $(, $more:tt)*) => {
        $then! { $t $(, $more)*;
            fetch_add(v: $t) -> $t;
            fetch_add_acq_rel(v: $t) -> $t;
            exchange(v: $t) -> $t;
            exchange_acq_rel(v: $t) -> $t;
            compare_exchange(expected: $t, v: $t) -> $t;
            compare_exchange_acq_rel(expected: $t, v: $t) -> $t;
            load() -> $t;
            load_acquire() -> $t;
            store(v: $t) -> ();
            store_release(v: $t) -> ();
        }
    };
    ($then:ident! Extremes $t:ty $(, $more:tt)*) => {
        $then! { $t $(, $more)*;
            fetch_min(v: $t) -> $t;
            fetch_max(v: $t) -> $t;
        }
    };
    ($then:ident! Bits $t:ty $(, $more:tt)*) => {
        $then! { $t $(, $more)*;
            fetch_and(v: $t) -> $t;
            fetch_or(v: $t) -> $t;
            fetch_xor(v: $t) -> $t;
        }
    };
}
#[cfg(cuda_device)]
pub(crate) use operations;

macro_rules! declare {
    ($t:ty; $($name:ident($($argument:ident: $a:ty),*) -> $r:ty;)*) => {
        $(unsafe fn $name(p: *mut $t $(, $argument: $a)*) -> $r;)*
    };
}

/// The operations on a type in the scope `S`. Each is unsafe for its pointer: valid for the access, aligned, and not
/// accessed without atomics by another thread meanwhile.
pub(crate) trait Operations<S>: Copy {
    operations!(declare! Common Self);
    operations!(declare! Extremes Self);
}

/// The bitwise operations on an integer type in the scope `S`, with pointers as those of [`Operations`].
pub(crate) trait BitOperations<S>: Copy {
    operations!(declare! Bits Self);
}

/// Minimum and maximum of floats, by those of integers of the same width.
///
/// Among floats of one sign, the order of the bits is the order of the numbers (positive) or its reverse (negative);
/// and as signed integers all negative ones lie below, as unsigned ones above. So one integer operation, chosen by the
/// sign of `v`, is right whatever the memory holds.
macro_rules! float_extremes {
    ($t:ty, $u:ty, $i:ty, $scope:ty) => {
        #[inline(always)]
        unsafe fn fetch_min(p: *mut $t, v: $t) -> $t {
            // SAFETY: the pointer is valid for the operation, as the caller has promised, and all three types have one
            // size and alignment.
            <$t>::from_bits(unsafe {
                match v.is_sign_negative() {
                    true => <$u as Operations<$scope>>::fetch_max(p.cast(), v.to_bits()),
                    false => <$i as Operations<$scope>>::fetch_min(p.cast(), v.to_bits() as $i) as $u,
                }
            })
        }
        #[inline(always)]
        unsafe fn fetch_max(p: *mut $t, v: $t) -> $t {
            // SAFETY: the pointer is valid for the operation, as the caller has promised, and all three types have one
            // size and alignment.
            <$t>::from_bits(unsafe {
                match v.is_sign_negative() {
                    true => <$u as Operations<$scope>>::fetch_min(p.cast(), v.to_bits()),
                    false => <$i as Operations<$scope>>::fetch_max(p.cast(), v.to_bits() as $i) as $u,
                }
            })
        }
    };
}
pub(crate) use float_extremes;

/// A value that atomics work on: `u32`, `i32`, `f32`, `u64`, `i64` or `f64`. Implemented for these types only.
#[allow(private_bounds)]
pub trait Value: Negate + Operations<sys::Block> + Operations<sys::Device> + Operations<sys::System> {}

/// An integer that atomics work on: `u32`, `i32`, `u64` or `i64`. Implemented for these types only.
#[allow(private_bounds)]
pub trait Integer: Value + BitOperations<sys::Block> + BitOperations<sys::Device> + BitOperations<sys::System> {}

trait Negate {
    /// The value to add in order to subtract this.
    fn negated(self) -> Self;
}

macro_rules! values {
    ($($t:ident $negated:path;)*) => {$(
        impl Value for $t {}
        impl Negate for $t {
            #[inline(always)]
            fn negated(self) -> Self {
                $negated(self)
            }
        }
    )*};
}
values! {
    u32 u32::wrapping_neg;
    i32 i32::wrapping_neg;
    f32 core::ops::Neg::neg;
    u64 u64::wrapping_neg;
    i64 i64::wrapping_neg;
    f64 core::ops::Neg::neg;
}
impl Integer for u32 {}
impl Integer for i32 {}
impl Integer for u64 {}
impl Integer for i64 {}

macro_rules! scopes {
    ($($(#[$doc:meta])* $scope:ident $marker:ident $ptx:literal;)*) => {$(
        $(#[$doc])*
        ///
        /// # Safety
        /// Each function needs a pointer that is valid for the access and aligned to the size of `T`, into memory that
        /// no thread accesses without atomics meanwhile: into global or shared memory on the GPU.
        pub mod $scope {
            use super::{BitOperations, Integer, Operations, Value, sys::$marker as S};

            scopes! { @functions Operations Value
                /// Adds `value` and gives the old value. Integers wrap. In the GPU's global memory an `f32` sum treats
                /// subnormal numbers as zero.
                fetch_add(value: T) -> T;
                /// Stores the lesser of the memory's value and `value`, and gives the old value.
                ///
                /// Floats are compared by IEEE 754's total order, as [`f32::total_cmp`] does: `-0.0` is less than
                /// `0.0`, a NaN with its sign bit set less than everything, one without greater than everything.
                fetch_min(value: T) -> T;
                /// Stores the greater of the memory's value and `value`, and gives the old value.
                ///
                /// Floats are compared by IEEE 754's total order, as [`f32::total_cmp`] does: `-0.0` is less than
                /// `0.0`, a NaN with its sign bit set less than everything, one without greater than everything.
                fetch_max(value: T) -> T;
                /// Stores `value` and gives the old value.
                exchange(value: T) -> T;
                /// Stores `new` if the memory holds the bits of `expected`; gives the old value either way.
                ///
                /// It succeeded if the old value has the bits of `expected` (compare floats by their bits).
                compare_exchange(expected: T, new: T) -> T;
                /// Stores `value`.
                store(value: T);
                /// Stores `value`; a thread that loads it with `load_acquire` sees all that this thread wrote before.
                store_release(value: T);
                /// [`fetch_add`] that acquires what the value's writers released, and releases what this thread wrote
                /// before.
                fetch_add_acq_rel(value: T) -> T;
                /// [`exchange`] that acquires what the value's writers released, and releases what this thread wrote
                /// before.
                exchange_acq_rel(value: T) -> T;
                /// [`compare_exchange`] that, if it stores, acquires what the value's writers released, and releases
                /// what this thread wrote before. If it fails, it only acquires.
                compare_exchange_acq_rel(expected: T, new: T) -> T;
            }
            scopes! { @functions BitOperations Integer
                /// Stores the bitwise and, and gives the old value.
                fetch_and(value: T) -> T;
                /// Stores the bitwise or, and gives the old value.
                fetch_or(value: T) -> T;
                /// Stores the bitwise exclusive or, and gives the old value.
                fetch_xor(value: T) -> T;
            }

            /// Subtracts `value` and gives the old value. Integers wrap.
            ///
            /// # Safety
            /// See the [module](self).
            #[inline(always)]
            #[cfg_attr(not(cuda_device), track_caller)]
            pub unsafe fn fetch_sub<T: Value>(ptr: *mut T, value: T) -> T {
                // SAFETY: the pointer is valid for the operation, as the caller has promised.
                unsafe { fetch_add(ptr, value.negated()) }
            }

            /// The value in memory. It is read anew at each call.
            ///
            /// # Safety
            /// See the [module](self).
            #[inline(always)]
            #[cfg_attr(not(cuda_device), track_caller)]
            pub unsafe fn load<T: Value>(ptr: *const T) -> T {
                crate::demand_aligned(ptr, align_of::<T>());
                // SAFETY: the pointer is valid for the load, as the caller has promised, and a load doesn't write.
                unsafe { <T as Operations<S>>::load(ptr.cast_mut()) }
            }

            /// The value in memory, and with it all that its writer wrote before it released it.
            ///
            /// # Safety
            /// See the [module](self).
            #[inline(always)]
            #[cfg_attr(not(cuda_device), track_caller)]
            pub unsafe fn load_acquire<T: Value>(ptr: *const T) -> T {
                crate::demand_aligned(ptr, align_of::<T>());
                // SAFETY: the pointer is valid for the load, as the caller has promised, and a load doesn't write.
                unsafe { <T as Operations<S>>::load_acquire(ptr.cast_mut()) }
            }

            #[doc = concat!("Makes the relaxed stores after it release, and the relaxed loads before it acquire.\n\nGPU: `fence.acq_rel.", $ptx, "`.")]
            #[inline(always)]
            pub fn fence_acq_rel() {
                S::fence_acq_rel();
            }
        }
    )*};
    (@functions $operations:ident $bound:ident $($(#[$doc:meta])* $name:ident($($argument:ident: T),*) $(-> $r:ty)?;)*) => {$(
        $(#[$doc])*
        ///
        /// # Safety
        /// See the [module](self).
        #[inline(always)]
        #[cfg_attr(not(cuda_device), track_caller)]
        pub unsafe fn $name<T: $bound>(ptr: *mut T $(, $argument: T)*) $(-> $r)? {
            crate::demand_aligned(ptr, align_of::<T>());
            // SAFETY: the pointer is valid for the operation, as the caller has promised.
            unsafe { <T as $operations<S>>::$name(ptr $(, $argument)*) }
        }
    )*};
}
scopes! {
    /// Atomics among the threads of a block.
    block Block "cta";
    /// Atomics among all threads of the device.
    device Device "gpu";
    /// Atomics among the device, the host and other devices, in memory that all of them reach.
    system System "sys";
}
