//! Atomic operations, in a module for each scope: the threads of the own [`block`], of the [`device`], or of the whole
//! [`system`] (host and other devices too). An operation is atomic, and ordered, with respect to the threads of its scope
//! only.
//!
//! Operations are relaxed unless their name says otherwise: they order nothing but the accesses to their own location. To hand
//! over data, write it, then `store_release` or `fetch_add_acq_rel` a flag that the reader takes with `load_acquire`.
//!
//! On the GPU each is one `atom`, `ld` or `st` (a `red` where ptxas sees that nobody wants the old value) on global or shared
//! memory; on the CPU an atomic of the standard library, floats by compare and exchange.
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
//! The relaxed `atom`s of the scope `block` carry the device's scope in PTX: LLVM 22 has no narrower form that still tells
//! global from shared memory, and a wider scope is never wrong.

use crate::sys::atomic as sys;

pub(crate) mod raw {
    //! The operations on bits, by scope.

    macro_rules! scope_trait {
        ($($name:ident($p:ty $(, $argument:ident: $t:ty)*) $(-> $r:ty)?;)*) => {
            /// The operations of one scope. Each is unsafe for its pointer: valid for the access, aligned, and not accessed
            /// without atomics by another thread meanwhile.
            #[allow(missing_docs, clippy::missing_safety_doc)]
            pub trait Scope {
                $(unsafe fn $name(p: *mut $p $(, $argument: $t)*) $(-> $r)?;)*
                fn fence_acq_rel();
            }
        };
    }

    /// Hands the list of operations to a macro.
    macro_rules! with_operations {
        ($then:ident! $($prefix:tt)*) => {
            $then! {
                $($prefix)*
                add_u32(u32, v: u32) -> u32;
                add_u64(u64, v: u64) -> u64;
                add_f32(f32, v: f32) -> f32;
                add_f64(f64, v: f64) -> f64;
                and_u32(u32, v: u32) -> u32;
                and_u64(u64, v: u64) -> u64;
                or_u32(u32, v: u32) -> u32;
                or_u64(u64, v: u64) -> u64;
                xor_u32(u32, v: u32) -> u32;
                xor_u64(u64, v: u64) -> u64;
                min_u32(u32, v: u32) -> u32;
                min_u64(u64, v: u64) -> u64;
                min_i32(i32, v: i32) -> i32;
                min_i64(i64, v: i64) -> i64;
                max_u32(u32, v: u32) -> u32;
                max_u64(u64, v: u64) -> u64;
                max_i32(i32, v: i32) -> i32;
                max_i64(i64, v: i64) -> i64;
                exchange_u32(u32, v: u32) -> u32;
                exchange_u64(u64, v: u64) -> u64;
                compare_exchange_u32(u32, expected: u32, v: u32) -> u32;
                compare_exchange_u64(u64, expected: u64, v: u64) -> u64;
                load_u32(u32) -> u32;
                load_u64(u64) -> u64;
                load_acquire_u32(u32) -> u32;
                load_acquire_u64(u64) -> u64;
                store_u32(u32, v: u32);
                store_u64(u64, v: u64);
                store_release_u32(u32, v: u32);
                store_release_u64(u64, v: u64);
                add_acq_rel_u32(u32, v: u32) -> u32;
                add_acq_rel_u64(u64, v: u64) -> u64;
                add_acq_rel_f32(f32, v: f32) -> f32;
                add_acq_rel_f64(f64, v: f64) -> f64;
                exchange_acq_rel_u32(u32, v: u32) -> u32;
                exchange_acq_rel_u64(u64, v: u64) -> u64;
                compare_exchange_acq_rel_u32(u32, expected: u32, v: u32) -> u32;
                compare_exchange_acq_rel_u64(u64, expected: u64, v: u64) -> u64;
            }
        };
    }
    #[cfg(cuda_device)]
    pub(crate) use with_operations;

    with_operations!(scope_trait!);
}
use raw::Scope;

/// A value that atomics work on: `u32`, `i32`, `f32`, `u64`, `i64` or `f64`. For these alone.
#[allow(private_bounds)]
pub trait Value: Operations {}

/// An integer that atomics work on: `u32`, `i32`, `u64` or `i64`. For these alone.
#[allow(private_bounds)]
pub trait Integer: Value + BitOperations {}

/// Each operation for one type, over a scope. The caller answers for the pointer as in [`raw::Scope`].
trait Operations: Copy {
    unsafe fn fetch_add<S: Scope>(p: *mut Self, v: Self) -> Self;
    unsafe fn fetch_sub<S: Scope>(p: *mut Self, v: Self) -> Self;
    unsafe fn fetch_min<S: Scope>(p: *mut Self, v: Self) -> Self;
    unsafe fn fetch_max<S: Scope>(p: *mut Self, v: Self) -> Self;
    unsafe fn exchange<S: Scope>(p: *mut Self, v: Self) -> Self;
    unsafe fn compare_exchange<S: Scope>(p: *mut Self, expected: Self, v: Self) -> Self;
    unsafe fn load<S: Scope>(p: *const Self) -> Self;
    unsafe fn load_acquire<S: Scope>(p: *const Self) -> Self;
    unsafe fn store<S: Scope>(p: *mut Self, v: Self);
    unsafe fn store_release<S: Scope>(p: *mut Self, v: Self);
    unsafe fn fetch_add_acq_rel<S: Scope>(p: *mut Self, v: Self) -> Self;
    unsafe fn exchange_acq_rel<S: Scope>(p: *mut Self, v: Self) -> Self;
    unsafe fn compare_exchange_acq_rel<S: Scope>(p: *mut Self, expected: Self, v: Self) -> Self;
}

/// The bitwise operations of an integer type, over a scope.
trait BitOperations: Copy {
    unsafe fn fetch_and<S: Scope>(p: *mut Self, v: Self) -> Self;
    unsafe fn fetch_or<S: Scope>(p: *mut Self, v: Self) -> Self;
    unsafe fn fetch_xor<S: Scope>(p: *mut Self, v: Self) -> Self;
}

/// What is the same for all types: bits moved in and out. `$to` and `$from` convert to and from the unsigned type `$u`.
macro_rules! word_operations {
    (32, $to:expr, $from:expr) => {
        word_operations!(
            u32, $to, $from, exchange_u32 compare_exchange_u32 load_u32 load_acquire_u32 store_u32 store_release_u32
            exchange_acq_rel_u32 compare_exchange_acq_rel_u32
        );
    };
    (64, $to:expr, $from:expr) => {
        word_operations!(
            u64, $to, $from, exchange_u64 compare_exchange_u64 load_u64 load_acquire_u64 store_u64 store_release_u64
            exchange_acq_rel_u64 compare_exchange_acq_rel_u64
        );
    };
    ($u:ty, $to:expr, $from:expr, $exchange:ident $cas:ident $load:ident $acquire:ident $store:ident $release:ident
     $exchange_ar:ident $cas_ar:ident) => {
        #[inline(always)]
        unsafe fn exchange<S: Scope>(p: *mut Self, v: Self) -> Self {
            // SAFETY: the caller's; both types have the same size and alignment.
            $from(unsafe { S::$exchange(p.cast::<$u>(), $to(v)) })
        }
        #[inline(always)]
        unsafe fn compare_exchange<S: Scope>(p: *mut Self, expected: Self, v: Self) -> Self {
            // SAFETY: as above.
            $from(unsafe { S::$cas(p.cast::<$u>(), $to(expected), $to(v)) })
        }
        #[inline(always)]
        unsafe fn load<S: Scope>(p: *const Self) -> Self {
            // SAFETY: as above; a load doesn't write.
            $from(unsafe { S::$load(p.cast_mut().cast::<$u>()) })
        }
        #[inline(always)]
        unsafe fn load_acquire<S: Scope>(p: *const Self) -> Self {
            // SAFETY: as above.
            $from(unsafe { S::$acquire(p.cast_mut().cast::<$u>()) })
        }
        #[inline(always)]
        unsafe fn store<S: Scope>(p: *mut Self, v: Self) {
            // SAFETY: as above.
            unsafe { S::$store(p.cast::<$u>(), $to(v)) }
        }
        #[inline(always)]
        unsafe fn store_release<S: Scope>(p: *mut Self, v: Self) {
            // SAFETY: as above.
            unsafe { S::$release(p.cast::<$u>(), $to(v)) }
        }
        #[inline(always)]
        unsafe fn exchange_acq_rel<S: Scope>(p: *mut Self, v: Self) -> Self {
            // SAFETY: as above.
            $from(unsafe { S::$exchange_ar(p.cast::<$u>(), $to(v)) })
        }
        #[inline(always)]
        unsafe fn compare_exchange_acq_rel<S: Scope>(p: *mut Self, expected: Self, v: Self) -> Self {
            // SAFETY: as above.
            $from(unsafe { S::$cas_ar(p.cast::<$u>(), $to(expected), $to(v)) })
        }
    };
}

macro_rules! integers {
    ($($t:ty: $bits:tt $u:ty, $add:ident $add_ar:ident $min:ident $max:ident $and:ident $or:ident $xor:ident;)*) => {$(
        impl Value for $t {}
        impl Integer for $t {}
        impl Operations for $t {
            #[inline(always)]
            unsafe fn fetch_add<S: Scope>(p: *mut Self, v: Self) -> Self {
                // SAFETY: the caller's; sums don't depend on the sign.
                unsafe { S::$add(p.cast::<$u>(), v as $u) as $t }
            }
            #[inline(always)]
            unsafe fn fetch_sub<S: Scope>(p: *mut Self, v: Self) -> Self {
                // SAFETY: as above.
                unsafe { S::$add(p.cast::<$u>(), v.wrapping_neg() as $u) as $t }
            }
            #[inline(always)]
            unsafe fn fetch_add_acq_rel<S: Scope>(p: *mut Self, v: Self) -> Self {
                // SAFETY: as above.
                unsafe { S::$add_ar(p.cast::<$u>(), v as $u) as $t }
            }
            #[inline(always)]
            unsafe fn fetch_min<S: Scope>(p: *mut Self, v: Self) -> Self {
                // SAFETY: as above.
                unsafe { S::$min(p, v) }
            }
            #[inline(always)]
            unsafe fn fetch_max<S: Scope>(p: *mut Self, v: Self) -> Self {
                // SAFETY: as above.
                unsafe { S::$max(p, v) }
            }
            word_operations!($bits, <$t>::cast_unsigned_bits, <$t>::from_unsigned_bits);
        }
        impl BitOperations for $t {
            #[inline(always)]
            unsafe fn fetch_and<S: Scope>(p: *mut Self, v: Self) -> Self {
                // SAFETY: as above.
                unsafe { S::$and(p.cast::<$u>(), v as $u) as $t }
            }
            #[inline(always)]
            unsafe fn fetch_or<S: Scope>(p: *mut Self, v: Self) -> Self {
                // SAFETY: as above.
                unsafe { S::$or(p.cast::<$u>(), v as $u) as $t }
            }
            #[inline(always)]
            unsafe fn fetch_xor<S: Scope>(p: *mut Self, v: Self) -> Self {
                // SAFETY: as above.
                unsafe { S::$xor(p.cast::<$u>(), v as $u) as $t }
            }
        }
        impl UnsignedBits for $t {
            type Unsigned = $u;
            #[inline(always)]
            fn cast_unsigned_bits(self) -> $u { self as $u }
            #[inline(always)]
            fn from_unsigned_bits(bits: $u) -> Self { bits as $t }
        }
    )*};
}

/// Integers as unsigned ones of the same width.
trait UnsignedBits {
    type Unsigned;
    fn cast_unsigned_bits(self) -> Self::Unsigned;
    fn from_unsigned_bits(bits: Self::Unsigned) -> Self;
}

integers! {
    u32: 32 u32, add_u32 add_acq_rel_u32 min_u32 max_u32 and_u32 or_u32 xor_u32;
    i32: 32 u32, add_u32 add_acq_rel_u32 min_i32 max_i32 and_u32 or_u32 xor_u32;
    u64: 64 u64, add_u64 add_acq_rel_u64 min_u64 max_u64 and_u64 or_u64 xor_u64;
    i64: 64 u64, add_u64 add_acq_rel_u64 min_i64 max_i64 and_u64 or_u64 xor_u64;
}

macro_rules! floats {
    ($($t:ty: $bits:tt $u:ty, $i:ty, $add:ident $add_ar:ident $min_u:ident $max_u:ident $min_i:ident $max_i:ident;)*) => {$(
        impl Value for $t {}
        impl Operations for $t {
            #[inline(always)]
            unsafe fn fetch_add<S: Scope>(p: *mut Self, v: Self) -> Self {
                // SAFETY: the caller's.
                unsafe { S::$add(p, v) }
            }
            #[inline(always)]
            unsafe fn fetch_sub<S: Scope>(p: *mut Self, v: Self) -> Self {
                // SAFETY: the caller's.
                unsafe { S::$add(p, -v) }
            }
            #[inline(always)]
            unsafe fn fetch_add_acq_rel<S: Scope>(p: *mut Self, v: Self) -> Self {
                // SAFETY: the caller's.
                unsafe { S::$add_ar(p, v) }
            }
            // Among floats of one sign, the order of the bits is the order of the numbers (positive) or its reverse
            // (negative); and as signed integers all negative ones lie below, as unsigned ones above. So one integer
            // operation, chosen by the sign of `v`, is right whatever the memory holds.
            #[inline(always)]
            unsafe fn fetch_min<S: Scope>(p: *mut Self, v: Self) -> Self {
                let old = if v.is_sign_negative() {
                    // SAFETY: the caller's; the types have the same size and alignment.
                    unsafe { S::$max_u(p.cast::<$u>(), v.to_bits()) }
                } else {
                    // SAFETY: as above.
                    unsafe { S::$min_i(p.cast::<$i>(), v.to_bits() as $i) as $u }
                };
                <$t>::from_bits(old)
            }
            #[inline(always)]
            unsafe fn fetch_max<S: Scope>(p: *mut Self, v: Self) -> Self {
                let old = if v.is_sign_negative() {
                    // SAFETY: as above.
                    unsafe { S::$min_u(p.cast::<$u>(), v.to_bits()) }
                } else {
                    // SAFETY: as above.
                    unsafe { S::$max_i(p.cast::<$i>(), v.to_bits() as $i) as $u }
                };
                <$t>::from_bits(old)
            }
            word_operations!($bits, <$t>::to_bits, <$t>::from_bits);
        }
    )*};
}
floats! {
    f32: 32 u32, i32, add_f32 add_acq_rel_f32 min_u32 max_u32 min_i32 max_i32;
    f64: 64 u64, i64, add_f64 add_acq_rel_f64 min_u64 max_u64 min_i64 max_i64;
}

macro_rules! scopes {
    ($($(#[$doc:meta])* $scope:ident $marker:ident $ptx:literal;)*) => {$(
        $(#[$doc])*
        ///
        /// # Safety
        /// Each function needs a pointer that is valid for the access and aligned to the size of `T`, into memory that
        /// no thread accesses without atomics meanwhile: into global or shared memory on the GPU.
        pub mod $scope {
            use super::{Integer, Scope, Value, sys::$marker as S};

            scopes! { @functions
                /// Adds `value` and gives the old value. Integers wrap. In the GPU's global memory an `f32` sum treats
                /// subnormal numbers as zero.
                fetch_add(T: Value, value: T) -> T;
                /// Subtracts `value` and gives the old value. Integers wrap.
                fetch_sub(T: Value, value: T) -> T;
                /// Stores the lesser of the memory's value and `value`, and gives the old value.
                ///
                /// Floats are compared by IEEE 754's total order, as [`f32::total_cmp`] does: `-0.0` is less than `0.0`, a
                /// NaN with its sign bit set less than everything, one without greater than everything.
                fetch_min(T: Value, value: T) -> T;
                /// Stores the greater of the memory's value and `value`, and gives the old value.
                ///
                /// Floats are compared by IEEE 754's total order, as [`f32::total_cmp`] does: `-0.0` is less than `0.0`, a
                /// NaN with its sign bit set less than everything, one without greater than everything.
                fetch_max(T: Value, value: T) -> T;
                /// Stores the bitwise and, and gives the old value.
                fetch_and(T: Integer, value: T) -> T;
                /// Stores the bitwise or, and gives the old value.
                fetch_or(T: Integer, value: T) -> T;
                /// Stores the bitwise exclusive or, and gives the old value.
                fetch_xor(T: Integer, value: T) -> T;
                /// Stores `value` and gives the old value.
                exchange(T: Value, value: T) -> T;
                /// Stores `new` if the memory holds the bits of `expected`; gives the old value either way.
                ///
                /// It succeeded if the old value has the bits of `expected` (compare floats by their bits).
                compare_exchange(T: Value, expected: T, new: T) -> T;
                /// Stores `value`.
                store(T: Value, value: T);
                /// Stores `value`; who takes it with `load_acquire` sees all that this thread wrote before.
                store_release(T: Value, value: T);
                /// [`fetch_add`] that acquires what the value's writers released, and releases what this thread wrote before.
                fetch_add_acq_rel(T: Value, value: T) -> T;
                /// [`exchange`] that acquires what the value's writers released, and releases what this thread wrote before.
                exchange_acq_rel(T: Value, value: T) -> T;
                /// [`compare_exchange`] that, if it stores, acquires what the value's writers released, and releases what
                /// this thread wrote before. If it fails, it only acquires.
                compare_exchange_acq_rel(T: Value, expected: T, new: T) -> T;
            }

            /// The value in memory. It is read anew at each call.
            ///
            /// # Safety
            /// See the [module](self).
            #[inline(always)]
            pub unsafe fn load<T: Value>(ptr: *const T) -> T {
                // SAFETY: the caller's.
                unsafe { T::load::<S>(ptr) }
            }

            /// The value in memory, and with it all that its writer wrote before it released it.
            ///
            /// # Safety
            /// See the [module](self).
            #[inline(always)]
            pub unsafe fn load_acquire<T: Value>(ptr: *const T) -> T {
                // SAFETY: the caller's.
                unsafe { T::load_acquire::<S>(ptr) }
            }

            #[doc = concat!("Makes the relaxed stores after it release, and the relaxed loads before it acquire.\n\nGPU: `fence.acq_rel.", $ptx, "`.")]
            #[inline(always)]
            pub fn fence_acq_rel() {
                S::fence_acq_rel();
            }
        }
    )*};
    (@functions $($(#[$doc:meta])* $name:ident(T: $bound:ident $(, $argument:ident: T)*) $(-> $r:ty)?;)*) => {$(
        $(#[$doc])*
        ///
        /// # Safety
        /// See the [module](self).
        #[inline(always)]
        pub unsafe fn $name<T: $bound>(ptr: *mut T $(, $argument: T)*) $(-> $r)? {
            // SAFETY: the caller's.
            unsafe { T::$name::<S>(ptr $(, $argument)*) }
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
