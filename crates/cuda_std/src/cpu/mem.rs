//! Cache policies mean nothing here: loads and stores are plain ones.

use crate::mem::Word;
use simt::current::preemption_point;

macro_rules! plain {
    (loads $($load:ident)*; stores $($store:ident)*;) => {
        $(
            #[inline(always)]
            pub unsafe fn $load<T: Word>(ptr: *const T) -> T {
                // SAFETY: the caller's.
                unsafe { ptr.read() }
            }
        )*
        $(
            #[inline(always)]
            pub unsafe fn $store<T: Word>(ptr: *mut T, value: T) {
                // SAFETY: the caller's.
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
    // SAFETY: the caller's.
    unsafe { ptr.read_volatile() }
}

#[inline(always)]
pub unsafe fn store_volatile<T: Word>(ptr: *mut T, value: T) {
    preemption_point();
    // SAFETY: the caller's.
    unsafe { ptr.write_volatile(value) }
}

#[inline(always)]
pub unsafe fn prefetch_l2(_ptr: *const u8) {}

#[inline(always)]
pub unsafe fn copy_async<T: Word>(shared: *mut T, global: *const T) {
    // SAFETY: the caller's.
    unsafe { shared.write(global.read()) }
}

#[inline(always)]
pub fn copy_async_commit() {}

#[inline(always)]
pub fn copy_async_wait<const PENDING: u32>() {}
