//! `src/ir/mem.ll`.

use crate::mem::{Word, WordBits};
use core::mem::{MaybeUninit, transmute_copy};

/// The registers of a word: one or two or four of 32 bits, one or two of 64.
pub trait Registers: Copy {
    unsafe fn load_nc(p: *const Self) -> Self;
    unsafe fn load_nc_no_allocate(p: *const Self) -> Self;
    unsafe fn load_streaming(p: *const Self) -> Self;
    unsafe fn load_cg(p: *const Self) -> Self;
    unsafe fn load_last_use(p: *const Self) -> Self;
    unsafe fn load_volatile(p: *const Self) -> Self;
    unsafe fn store_streaming(p: *mut Self, v: Self);
    unsafe fn store_cg(p: *mut Self, v: Self);
    unsafe fn store_wt(p: *mut Self, v: Self);
    unsafe fn store_volatile(p: *mut Self, v: Self);
    unsafe fn copy_async(shared: *mut Self, global: *const Self);
}

macro_rules! copy_async {
    ($size:literal) => {
        #[inline(always)]
        unsafe fn copy_async(shared: *mut Self, global: *const Self) {
            // SAFETY: the signature is that of the IR.
            unsafe extern "C" {
                #[link_name = concat!("__cuda_std_copy_async_", $size)]
                fn copy(shared: *mut u8, global: *const u8);
            }
            // SAFETY: the caller's.
            unsafe { copy(shared.cast(), global.cast()) }
        }
    };
}

macro_rules! scalar {
    ($t:ty, $size:literal, $suffix:literal) => {
        impl Registers for $t {
            scalar!(@load $t, $suffix: load_nc "nc", load_nc_no_allocate "nc_no_allocate", load_streaming "cs", load_cg "cg", load_last_use "lu", load_volatile "volatile");
            scalar!(@store $t, $suffix: store_streaming "cs", store_cg "cg", store_wt "wt", store_volatile "volatile");
            copy_async!($size);
        }
    };
    (@load $t:ty, $suffix:literal: $($name:ident $ptx:literal),*) => {$(
        #[inline(always)]
        unsafe fn $name(p: *const Self) -> Self {
            // SAFETY: the signature is that of the IR.
            unsafe extern "C" {
                #[link_name = concat!("__cuda_std_load_", $ptx, "_", $suffix)]
                fn load(p: *const $t) -> $t;
            }
            // SAFETY: the caller's.
            unsafe { load(p) }
        }
    )*};
    (@store $t:ty, $suffix:literal: $($name:ident $ptx:literal),*) => {$(
        #[inline(always)]
        unsafe fn $name(p: *mut Self, v: Self) {
            // SAFETY: the signature is that of the IR.
            unsafe extern "C" {
                #[link_name = concat!("__cuda_std_store_", $ptx, "_", $suffix)]
                fn store(p: *mut $t, v: $t);
            }
            // SAFETY: the caller's.
            unsafe { store(p, v) }
        }
    )*};
}
scalar!(u32, "4", "b32");
scalar!(u64, "8", "b64");

macro_rules! vector {
    ([$t:ty; $n:literal], $size:literal, $suffix:literal, $components:tt) => {
        impl Registers for [$t; $n] {
            vector!(@loads [$t; $n], $suffix: load_nc "nc", load_nc_no_allocate "nc_no_allocate", load_streaming "cs", load_cg "cg", load_last_use "lu", load_volatile "volatile");
            vector!(@store [$t; $n], $suffix, $components, store_streaming "cs");
            vector!(@store [$t; $n], $suffix, $components, store_cg "cg");
            vector!(@store [$t; $n], $suffix, $components, store_wt "wt");
            vector!(@store [$t; $n], $suffix, $components, store_volatile "volatile");
            copy_async!($size);
        }
    };
    (@loads [$t:ty; $n:literal], $suffix:literal: $($name:ident $ptx:literal),*) => {$(
        #[inline(always)]
        unsafe fn $name(p: *const Self) -> Self {
            // SAFETY: the signature is that of the IR.
            unsafe extern "C" {
                #[link_name = concat!("__cuda_std_load_", $ptx, "_", $suffix)]
                fn load(p: *const [$t; $n], out: *mut [$t; $n]);
            }
            let mut out = MaybeUninit::uninit();
            // SAFETY: the caller answers for `p`; `load` fills `out`.
            unsafe {
                load(p, out.as_mut_ptr());
                out.assume_init()
            }
        }
    )*};
    (@store [$t:ty; $n:literal], $suffix:literal, ($($component:ident),*), $name:ident $ptx:literal) => {
        #[inline(always)]
        unsafe fn $name(p: *mut Self, [$($component),*]: Self) {
            // SAFETY: the signature is that of the IR.
            unsafe extern "C" {
                #[link_name = concat!("__cuda_std_store_", $ptx, "_", $suffix)]
                fn store(p: *mut [$t; $n], $($component: $t),*);
            }
            // SAFETY: the caller's.
            unsafe { store(p, $($component),*) }
        }
    };
}
vector!([u32; 2], "8", "v2b32", (x, y));
vector!([u32; 4], "16", "v4b32", (x, y, z, w));
vector!([u64; 2], "16", "v2b64", (x, y));

macro_rules! functions {
    (loads $($load:ident)*; stores $($store:ident)*;) => {
        $(
            #[inline(always)]
            pub unsafe fn $load<T: Word>(ptr: *const T) -> T {
                // SAFETY: the caller answers for the pointer; a word and its registers have the same size and no invalid bits.
                unsafe { transmute_copy(&<T as WordBits>::Registers::$load(ptr.cast())) }
            }
        )*
        $(
            #[inline(always)]
            pub unsafe fn $store<T: Word>(ptr: *mut T, value: T) {
                // SAFETY: as above.
                unsafe { <T as WordBits>::Registers::$store(ptr.cast(), transmute_copy(&value)) }
            }
        )*
    };
}
functions! {
    loads load_nc load_nc_no_allocate load_streaming load_cg load_last_use load_volatile;
    stores store_streaming store_cg store_wt store_volatile;
}

#[inline(always)]
pub unsafe fn copy_async<T: Word>(shared: *mut T, global: *const T) {
    // SAFETY: the caller's.
    unsafe { <T as WordBits>::Registers::copy_async(shared.cast(), global.cast()) }
}

/// LLVM gives plain stores that race with each other a meaning, and the GPU moves a word at once.
#[inline(always)]
pub unsafe fn store_relaxed<T: Word>(ptr: *mut T, value: T) {
    // SAFETY: the pointer is valid for writes and aligned, as the caller has promised.
    unsafe { ptr.write(value) }
}

/// A load that races has one of the values, since it is one instruction.
#[inline(always)]
pub unsafe fn load_relaxed<T: Word>(ptr: *const T) -> T {
    // SAFETY: the pointer is valid for reads and aligned, as the caller has promised.
    unsafe { ptr.read() }
}

// SAFETY: the signatures are those of the IR; those that are safe only order or wait for copies.
unsafe extern "C" {
    #[link_name = "__cuda_std_prefetch_l2"]
    pub fn prefetch_l2(p: *const u8);
    #[link_name = "__cuda_std_copy_async_commit"]
    pub safe fn copy_async_commit();
    #[link_name = "__cuda_std_copy_async_wait_0"]
    safe fn wait_0();
    #[link_name = "__cuda_std_copy_async_wait_1"]
    safe fn wait_1();
    #[link_name = "__cuda_std_copy_async_wait_2"]
    safe fn wait_2();
    #[link_name = "__cuda_std_copy_async_wait_3"]
    safe fn wait_3();
    #[link_name = "__cuda_std_copy_async_wait_4"]
    safe fn wait_4();
    #[link_name = "__cuda_std_copy_async_wait_5"]
    safe fn wait_5();
    #[link_name = "__cuda_std_copy_async_wait_6"]
    safe fn wait_6();
    #[link_name = "__cuda_std_copy_async_wait_7"]
    safe fn wait_7();
}

#[inline(always)]
pub fn copy_async_wait<const PENDING: u32>() {
    match PENDING {
        0 => wait_0(),
        1 => wait_1(),
        2 => wait_2(),
        3 => wait_3(),
        4 => wait_4(),
        5 => wait_5(),
        6 => wait_6(),
        _ => wait_7(),
    }
}
