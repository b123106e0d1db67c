//! Functions that `cuda_builder` makes from their names (its module `intrinsics`).

use crate::mem::{Word, WordBits};
use core::mem::{MaybeUninit, transmute_copy};

macro_rules! registers {
    ($($t:ty, $suffix:literal;)*) => {
        $(impl Registers for $t {
            registers!(@moves $t, $suffix: load_nc load_nc_no_allocate load_streaming load_cg load_last_use load_volatile
                load_relaxed load_relaxed_shared store_relaxed store_streaming store_cg store_wt store_volatile copy_async);
        })*
    };
    (@moves $t:ty, $suffix:literal: $($name:ident)*) => {$(
        #[inline(always)]
        unsafe fn $name(from: *const Self, to: *mut Self) {
            // SAFETY: the signature is that of the function that is made from the name.
            unsafe extern "C" {
                #[link_name = concat!("__cuda_std_", stringify!($name), "_", $suffix)]
                fn moves(from: *const $t, to: *mut $t);
            }
            // SAFETY: the caller has promised that both pointers are valid for this instruction.
            unsafe { moves(from, to) }
        }
    )*};
}
registers! {
    u32, "b32";
    u64, "b64";
    [u32; 2], "v2b32";
    [u32; 4], "v4b32";
    [u64; 2], "v2b64";
}

macro_rules! functions {
    (loads $($load:ident)*; stores $($store:ident)*;) => {
        /// The registers of a word: one or two or four of 32 bits, one or two of 64. Each function moves them by one
        /// instruction.
        pub trait Registers: Copy {
            $(unsafe fn $load(from: *const Self, to: *mut Self);)*
            $(unsafe fn $store(from: *const Self, to: *mut Self);)*
            unsafe fn copy_async(from: *const Self, to: *mut Self);
        }
        $(
            #[inline(always)]
            pub unsafe fn $load<T: Word>(ptr: *const T) -> T {
                let mut registers = MaybeUninit::uninit();
                // SAFETY: the pointer is valid for the load, as the caller has promised, and the load fills the
                // registers. A word and its registers have the same size and no invalid bits.
                unsafe {
                    <T as WordBits>::Registers::$load(ptr.cast(), registers.as_mut_ptr());
                    transmute_copy(&registers.assume_init())
                }
            }
        )*
        $(
            #[inline(always)]
            pub unsafe fn $store<T: Word>(ptr: *mut T, value: T) {
                // SAFETY: the pointer is valid for the store, as the caller has promised. A word and its registers have
                // the same size and no invalid bits.
                unsafe { <T as WordBits>::Registers::$store((&raw const value).cast(), ptr.cast()) }
            }
        )*
    };
}
functions! {
    loads load_nc load_nc_no_allocate load_streaming load_cg load_last_use load_volatile load_relaxed
        load_relaxed_shared;
    stores store_streaming store_cg store_wt store_volatile store_relaxed;
}

#[inline(always)]
pub unsafe fn copy_async<T: Word>(shared: *mut T, global: *const T) {
    // SAFETY: the pointers are valid for the copy, as the caller has promised; a word and its registers have the same
    // size.
    unsafe { <T as WordBits>::Registers::copy_async(global.cast(), shared.cast()) }
}

// SAFETY: the signatures are those of the functions that are made from the names; the safe one orders copies.
unsafe extern "C" {
    #[link_name = "__cuda_std_prefetch_l2"]
    pub fn prefetch_l2(p: *const u8);
    #[link_name = "__cuda_std_copy_async_commit"]
    pub safe fn copy_async_commit();
}

macro_rules! copy_async_wait {
    ($($pending:literal)*) => {
        #[inline(always)]
        pub fn copy_async_wait<const PENDING: u32>() {
            match PENDING {
                $($pending => {
                    // SAFETY: the signature is that of the function that is made from the name, and waiting is safe
                    // anywhere.
                    unsafe extern "C" {
                        #[link_name = concat!("__cuda_std_copy_async_wait_", $pending)]
                        safe fn wait();
                    }
                    wait();
                })*
                _ => unreachable!(),
            }
        }
    };
}
copy_async_wait!(0 1 2 3 4 5 6 7);
