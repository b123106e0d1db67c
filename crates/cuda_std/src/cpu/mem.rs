//! Cache policies mean nothing here: loads and stores are plain ones.

use crate::mem::Word;
use core::mem::MaybeUninit;
use core::sync::atomic::{AtomicU32, AtomicU64, Ordering::Relaxed};
use simt::current::preemption_point;

macro_rules! plain {
    (loads $($load:ident)*; stores $($store:ident)*;) => {
        $(
            #[inline(always)]
            pub unsafe fn $load<T: Word>(ptr: *const T) -> T {
                // SAFETY: the pointer is valid for reads and aligned, as the caller has promised.
                unsafe { ptr.read() }
            }
        )*
        $(
            #[inline(always)]
            pub unsafe fn $store<T: Word>(ptr: *mut T, value: T) {
                // SAFETY: the pointer is valid for writes and aligned, as the caller has promised.
                unsafe { ptr.write(value) }
            }
        )*
    };
}
plain! {
    loads load_nc load_nc_no_allocate load_streaming load_cg load_last_use;
    stores store_streaming store_cg store_wt;
}

#[inline(always)]
pub unsafe fn load_volatile<T: Word>(ptr: *const T) -> T {
    preemption_point();
    // SAFETY: the pointer is valid for reads and aligned, as the caller has promised.
    unsafe { ptr.read_volatile() }
}

#[inline(always)]
pub unsafe fn store_volatile<T: Word>(ptr: *mut T, value: T) {
    preemption_point();
    // SAFETY: the pointer is valid for writes and aligned, as the caller has promised.
    unsafe { ptr.write_volatile(value) }
}

#[inline(always)]
pub unsafe fn store_relaxed<T: Word>(ptr: *mut T, value: T) {
    let from = &raw const value;
    // SAFETY: the pointer is valid for writes and aligned, and other threads access the word by the
    // same atomics only, as the caller has promised. A word is of 4 bytes, or of 8 or 16 and
    // aligned to 8 at least; it has no padding.
    unsafe {
        if size_of::<T>() == 4 {
            AtomicU32::from_ptr(ptr.cast()).store(from.cast::<u32>().read(), Relaxed);
        } else {
            for k in 0..size_of::<T>() / 8 {
                AtomicU64::from_ptr(ptr.cast::<u64>().add(k)).store(from.cast::<u64>().add(k).read(), Relaxed);
            }
        }
    }
}

pub use load_relaxed as load_relaxed_shared;

#[inline(always)]
pub unsafe fn load_relaxed<T: Word>(ptr: *const T) -> T {
    let mut value = MaybeUninit::<T>::uninit();
    let to = value.as_mut_ptr();
    // SAFETY: the pointer is valid for reads and aligned, as the caller has promised, and the atomics aren't written
    // through. A word has 4, 8 or 16 bytes, which are all copied to the value.
    unsafe {
        if size_of::<T>() == 4 {
            to.cast::<u32>().write(AtomicU32::from_ptr(ptr.cast_mut().cast()).load(Relaxed));
        } else {
            for k in 0..size_of::<T>() / 8 {
                to.cast::<u64>().add(k).write(AtomicU64::from_ptr(ptr.cast_mut().cast::<u64>().add(k)).load(Relaxed));
            }
        }
        value.assume_init()
    }
}

#[inline(always)]
pub unsafe fn prefetch_l2(_ptr: *const u8) {}

#[inline(always)]
pub unsafe fn copy_async<T: Word>(shared: *mut T, global: *const T) {
    // SAFETY: the pointers are valid and aligned, as the caller has promised.
    unsafe { shared.write(global.read()) }
}

#[inline(always)]
pub fn copy_async_commit() {}

#[inline(always)]
pub fn copy_async_wait<const PENDING: u32>() {}
