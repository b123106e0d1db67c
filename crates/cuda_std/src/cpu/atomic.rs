//! Atomics of the standard library. A scope has no meaning here: all are the system's.

use crate::atomic::raw::Scope;
use core::sync::atomic::{
    AtomicI32, AtomicI64, AtomicU32, AtomicU64,
    Ordering::{AcqRel, Acquire, Relaxed, Release},
    fence,
};
use simt::current::preemption_point;

/// Every scope.
pub struct System;
pub use self::{System as Block, System as Device};

macro_rules! operations {
    ($($name:ident: $atomic:ident $t:ty, $method:ident, $order:ident;)*) => {$(
        #[inline(always)]
        unsafe fn $name(p: *mut $t, v: $t) -> $t {
            preemption_point();
            // SAFETY: the caller answers for the pointer.
            unsafe { $atomic::from_ptr(p) }.$method(v, $order)
        }
    )*};
    (@compare_exchange $($name:ident: $atomic:ident $t:ty, $success:ident, $failure:ident;)*) => {$(
        #[inline(always)]
        unsafe fn $name(p: *mut $t, expected: $t, v: $t) -> $t {
            preemption_point();
            // SAFETY: the caller answers for the pointer.
            let (Ok(old) | Err(old)) = unsafe { $atomic::from_ptr(p) }.compare_exchange(expected, v, $success, $failure);
            old
        }
    )*};
    (@load $($name:ident: $atomic:ident $t:ty, $order:ident;)*) => {$(
        #[inline(always)]
        unsafe fn $name(p: *mut $t) -> $t {
            preemption_point();
            // SAFETY: the caller answers for the pointer.
            unsafe { $atomic::from_ptr(p) }.load($order)
        }
    )*};
    (@store $($name:ident: $atomic:ident $t:ty, $order:ident;)*) => {$(
        #[inline(always)]
        unsafe fn $name(p: *mut $t, v: $t) {
            preemption_point();
            // SAFETY: the caller answers for the pointer.
            unsafe { $atomic::from_ptr(p) }.store(v, $order);
        }
    )*};
    (@float $($name:ident: $atomic:ident $t:ty, $success:ident, $failure:ident;)*) => {$(
        #[inline(always)]
        unsafe fn $name(p: *mut $t, v: $t) -> $t {
            preemption_point();
            // SAFETY: the caller answers for the pointer; bits and float have the same size and alignment.
            let bits = unsafe { $atomic::from_ptr(p.cast()) };
            let mut old = bits.load($failure);
            while let Err(now) = bits.compare_exchange_weak(old, (<$t>::from_bits(old) + v).to_bits(), $success, $failure) {
                old = now;
            }
            <$t>::from_bits(old)
        }
    )*};
}

impl Scope for System {
    operations! {
        add_u32: AtomicU32 u32, fetch_add, Relaxed;
        add_u64: AtomicU64 u64, fetch_add, Relaxed;
        and_u32: AtomicU32 u32, fetch_and, Relaxed;
        and_u64: AtomicU64 u64, fetch_and, Relaxed;
        or_u32: AtomicU32 u32, fetch_or, Relaxed;
        or_u64: AtomicU64 u64, fetch_or, Relaxed;
        xor_u32: AtomicU32 u32, fetch_xor, Relaxed;
        xor_u64: AtomicU64 u64, fetch_xor, Relaxed;
        min_u32: AtomicU32 u32, fetch_min, Relaxed;
        min_u64: AtomicU64 u64, fetch_min, Relaxed;
        min_i32: AtomicI32 i32, fetch_min, Relaxed;
        min_i64: AtomicI64 i64, fetch_min, Relaxed;
        max_u32: AtomicU32 u32, fetch_max, Relaxed;
        max_u64: AtomicU64 u64, fetch_max, Relaxed;
        max_i32: AtomicI32 i32, fetch_max, Relaxed;
        max_i64: AtomicI64 i64, fetch_max, Relaxed;
        exchange_u32: AtomicU32 u32, swap, Relaxed;
        exchange_u64: AtomicU64 u64, swap, Relaxed;
        add_acq_rel_u32: AtomicU32 u32, fetch_add, AcqRel;
        add_acq_rel_u64: AtomicU64 u64, fetch_add, AcqRel;
        exchange_acq_rel_u32: AtomicU32 u32, swap, AcqRel;
        exchange_acq_rel_u64: AtomicU64 u64, swap, AcqRel;
    }
    operations! { @compare_exchange
        compare_exchange_u32: AtomicU32 u32, Relaxed, Relaxed;
        compare_exchange_u64: AtomicU64 u64, Relaxed, Relaxed;
        compare_exchange_acq_rel_u32: AtomicU32 u32, AcqRel, Acquire;
        compare_exchange_acq_rel_u64: AtomicU64 u64, AcqRel, Acquire;
    }
    operations! { @load
        load_u32: AtomicU32 u32, Relaxed;
        load_u64: AtomicU64 u64, Relaxed;
        load_acquire_u32: AtomicU32 u32, Acquire;
        load_acquire_u64: AtomicU64 u64, Acquire;
    }
    operations! { @store
        store_u32: AtomicU32 u32, Relaxed;
        store_u64: AtomicU64 u64, Relaxed;
        store_release_u32: AtomicU32 u32, Release;
        store_release_u64: AtomicU64 u64, Release;
    }
    operations! { @float
        add_f32: AtomicU32 f32, Relaxed, Relaxed;
        add_f64: AtomicU64 f64, Relaxed, Relaxed;
        add_acq_rel_f32: AtomicU32 f32, AcqRel, Acquire;
        add_acq_rel_f64: AtomicU64 f64, AcqRel, Acquire;
    }

    #[inline(always)]
    fn fence_acq_rel() {
        preemption_point();
        fence(AcqRel);
    }
}
