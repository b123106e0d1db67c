//! The functions that code compiled with rustc's `-Zsanitizer=thread` calls before its accesses and for its atomics, by
//! the names and signatures that LLVM's pass gives them.
//!
//! ThreadSanitizer's own runtime isn't linked. Accesses of OS threads that run no kernel are
//! ignored.

use super::order::Operation;
use crate::current::with_block;
use std::arch::naked_asm;
use std::sync::atomic::{AtomicU8, AtomicU16, AtomicU32, AtomicU64, Ordering::SeqCst};

#[cfg(not(all(target_arch = "x86_64", unix)))]
compile_error!("checked runs of kernels are written for x86-64 and Unix");

/// LLVM's numbers of memory orders.
fn order(order: i32) -> (bool, bool) {
    (matches!(order, 1 | 2 | 4 | 5), matches!(order, 3..=5))
}

/// In the number that a shim passes: the access writes.
const WRITES: u32 = 1 << 8;
/// It is volatile, which a GPU takes for atomic.
const VOLATILE: u32 = 1 << 9;
/// The compiler knows of no alignment to the size, or to 8.
const UNALIGNED: u32 = 1 << 10;

extern "C" fn access(address: usize, what: u32, pc: usize, frame: usize) {
    with_block(|block| {
        let size = (what & 0xFF) as usize;
        let writes = what & WRITES != 0;
        if what & UNALIGNED == 0 && !address.is_multiple_of(size.min(8)) {
            block.misaligned(address, size, writes, (pc, frame));
        }
        if what & VOLATILE != 0 {
            let operation = Operation { reads: !writes, writes, acquires: false, releases: false };
            block.atomic_access(address, size, (!writes, writes), (pc, frame), || ((), operation));
        } else {
            block.access(address, size, writes, (pc, frame));
        }
    });
}

/// Passes on what the access is, and where: the address that the call returns to, and the caller's frame pointer.
macro_rules! accesses {
    ($($size:literal: $($name:ident $what:expr),*;)*) => {$($(
        #[unsafe(naked)]
        #[unsafe(no_mangle)]
        unsafe extern "C" fn $name(address: usize) {
            naked_asm!("mov esi, {what}", "mov rdx, [rsp]", "mov rcx, rbp", "jmp {access}", what = const $size | $what, access = sym access)
        }
    )*)*};
}
accesses! {
    1: __tsan_read1 0, __tsan_write1 WRITES, __tsan_volatile_read1 VOLATILE, __tsan_volatile_write1 VOLATILE | WRITES;
    2: __tsan_read2 0, __tsan_write2 WRITES, __tsan_volatile_read2 VOLATILE, __tsan_volatile_write2 VOLATILE | WRITES,
        __tsan_unaligned_read2 UNALIGNED, __tsan_unaligned_write2 WRITES | UNALIGNED,
        __tsan_unaligned_volatile_read2 VOLATILE | UNALIGNED, __tsan_unaligned_volatile_write2 VOLATILE | WRITES | UNALIGNED;
    4: __tsan_read4 0, __tsan_write4 WRITES, __tsan_volatile_read4 VOLATILE, __tsan_volatile_write4 VOLATILE | WRITES,
        __tsan_unaligned_read4 UNALIGNED, __tsan_unaligned_write4 WRITES | UNALIGNED,
        __tsan_unaligned_volatile_read4 VOLATILE | UNALIGNED, __tsan_unaligned_volatile_write4 VOLATILE | WRITES | UNALIGNED;
    8: __tsan_read8 0, __tsan_write8 WRITES, __tsan_volatile_read8 VOLATILE, __tsan_volatile_write8 VOLATILE | WRITES,
        __tsan_unaligned_read8 UNALIGNED, __tsan_unaligned_write8 WRITES | UNALIGNED,
        __tsan_unaligned_volatile_read8 VOLATILE | UNALIGNED, __tsan_unaligned_volatile_write8 VOLATILE | WRITES | UNALIGNED;
    16: __tsan_read16 0, __tsan_write16 WRITES, __tsan_volatile_read16 VOLATILE, __tsan_volatile_write16 VOLATILE | WRITES,
        __tsan_unaligned_read16 UNALIGNED, __tsan_unaligned_write16 WRITES | UNALIGNED,
        __tsan_unaligned_volatile_read16 VOLATILE | UNALIGNED, __tsan_unaligned_volatile_write16 VOLATILE | WRITES | UNALIGNED;
}

extern "C" fn copy(to: *mut u8, from: *const u8, bytes: usize, pc: usize, frame: usize) -> *mut u8 {
    with_block(|block| {
        block.access(from.addr(), bytes, false, (pc, frame));
        block.access(to.addr(), bytes, true, (pc, frame));
    });
    // SAFETY: the call stands for one of `memcpy` or `memmove`, whose caller has promised so many bytes at both.
    unsafe { std::ptr::copy(from, to, bytes) };
    to
}

extern "C" fn fill(to: *mut u8, byte: i32, bytes: usize, pc: usize, frame: usize) -> *mut u8 {
    with_block(|block| block.access(to.addr(), bytes, true, (pc, frame)));
    // SAFETY: the call stands for one of `memset`, whose caller has promised so many bytes.
    unsafe { to.write_bytes(byte as u8, bytes) };
    to
}

#[unsafe(no_mangle)]
extern "C" fn __tsan_atomic_thread_fence(sort: i32) {
    std::sync::atomic::fence(SeqCst);
    let (acquires, releases) = order(sort);
    with_block(|block| block.fence(acquires, releases));
}

/// Passes on where the call is, as two more arguments: in the registers that are next.
macro_rules! calls {
    ($($pc:literal $frame:literal $before:literal: $($name:ident($($argument:ident: $t:ty),*) $(-> $r:ty)? = $function:path),*;)*) => {$($(
        #[unsafe(naked)]
        #[unsafe(no_mangle)]
        unsafe extern "C" fn $name($($argument: $t),*) $(-> $r)? {
            naked_asm!(
                $before,
                concat!("mov ", $pc, ", [rsp]"),
                concat!("mov ", $frame, ", rbp"),
                "jmp {function}",
                function = sym $function,
            )
        }
    )*)*};
}
calls! {
    "rcx" "r8" "": __tsan_memcpy(to: *mut u8, from: *const u8, bytes: usize) -> *mut u8 = copy,
        __tsan_memmove(to: *mut u8, from: *const u8, bytes: usize) -> *mut u8 = copy,
        __tsan_memset(to: *mut u8, byte: i32, bytes: usize) -> *mut u8 = fill;
}

/// The standard library's function under the hook's name, with the memory order that is always enough.
macro_rules! atomics {
    ($($bits:ident $t:ty, $atomic:ty: $load:ident $store:ident $compare:ident $($name:ident $method:ident)*;)*) => {$(
        mod $bits {
            use super::*;

            fn at<'a>(address: usize) -> &'a $atomic {
                // SAFETY: the call stands for an atomic operation on this address, whose caller has promised that it is
                // valid and aligned; the reference lives for this operation.
                unsafe { <$atomic>::from_ptr(std::ptr::with_exposed_provenance_mut(address)) }
            }

            /// Does `operation`, which gives the value, whether it has written, and LLVM's number of its order then.
            fn atomic(
                address: usize,
                caller: (usize, usize),
                (reads, may_write): (bool, bool),
                mut operation: impl FnMut() -> ($t, bool, i32),
            ) -> $t {
                let mut done = None;
                with_block(|block| {
                    done = Some(block.atomic_access(address, size_of::<$t>(), (reads, may_write), caller, || {
                        let (value, writes, sort) = operation();
                        let (acquires, releases) = order(sort);
                        (value, Operation { reads, writes, acquires, releases })
                    }));
                });
                done.unwrap_or_else(|| operation().0)
            }

            extern "C" fn load(address: usize, sort: i32, pc: usize, frame: usize) -> $t {
                atomic(address, (pc, frame), (true, false), || (at(address).load(SeqCst), false, sort))
            }

            extern "C" fn store(address: usize, value: $t, sort: i32, pc: usize, frame: usize) {
                atomic(address, (pc, frame), (false, true), || {
                    at(address).store(value, SeqCst);
                    (value, true, sort)
                });
            }

            extern "C" fn compare(address: usize, expected: $t, value: $t, sorts: i32, pc: usize, frame: usize) -> $t {
                atomic(address, (pc, frame), (true, true), || {
                    match at(address).compare_exchange(expected, value, SeqCst, SeqCst) {
                        Ok(old) => (old, true, sorts & 0xFF),
                        Err(old) => (old, false, sorts >> 8),
                    }
                })
            }

            $(
                extern "C" fn $method(address: usize, value: $t, sort: i32, pc: usize, frame: usize) -> $t {
                    atomic(address, (pc, frame), (true, true), || (at(address).$method(value, SeqCst), true, sort))
                }
            )*

            calls! {
                "rdx" "rcx" "": $load(address: usize, sort: i32) -> $t = load;
                "rcx" "r8" "": $store(address: usize, value: $t, sort: i32) = store,
                    $($name(address: usize, value: $t, sort: i32) -> $t = $method),*;
                // Both orders go into one register, for there are six.
                "r8" "r9" "shl r8d, 8\nor ecx, r8d": $compare(address: usize, expected: $t, value: $t, sort: i32, failed: i32) -> $t = compare;
            }
        }
    )*};
}
atomics! {
    bits8 u8, AtomicU8: __tsan_atomic8_load __tsan_atomic8_store __tsan_atomic8_compare_exchange_val
        __tsan_atomic8_exchange swap __tsan_atomic8_fetch_add fetch_add __tsan_atomic8_fetch_sub fetch_sub
        __tsan_atomic8_fetch_and fetch_and __tsan_atomic8_fetch_or fetch_or __tsan_atomic8_fetch_xor fetch_xor
        __tsan_atomic8_fetch_nand fetch_nand;
    bits16 u16, AtomicU16: __tsan_atomic16_load __tsan_atomic16_store __tsan_atomic16_compare_exchange_val
        __tsan_atomic16_exchange swap __tsan_atomic16_fetch_add fetch_add __tsan_atomic16_fetch_sub fetch_sub
        __tsan_atomic16_fetch_and fetch_and __tsan_atomic16_fetch_or fetch_or __tsan_atomic16_fetch_xor fetch_xor
        __tsan_atomic16_fetch_nand fetch_nand;
    bits32 u32, AtomicU32: __tsan_atomic32_load __tsan_atomic32_store __tsan_atomic32_compare_exchange_val
        __tsan_atomic32_exchange swap __tsan_atomic32_fetch_add fetch_add __tsan_atomic32_fetch_sub fetch_sub
        __tsan_atomic32_fetch_and fetch_and __tsan_atomic32_fetch_or fetch_or __tsan_atomic32_fetch_xor fetch_xor
        __tsan_atomic32_fetch_nand fetch_nand;
    bits64 u64, AtomicU64: __tsan_atomic64_load __tsan_atomic64_store __tsan_atomic64_compare_exchange_val
        __tsan_atomic64_exchange swap __tsan_atomic64_fetch_add fetch_add __tsan_atomic64_fetch_sub fetch_sub
        __tsan_atomic64_fetch_and fetch_and __tsan_atomic64_fetch_or fetch_or __tsan_atomic64_fetch_xor fetch_xor
        __tsan_atomic64_fetch_nand fetch_nand;
}

/// Called by compiled modules when the program starts.
#[unsafe(no_mangle)]
extern "C" fn __tsan_init() {}

/// A fence for the compiler alone.
#[unsafe(no_mangle)]
extern "C" fn __tsan_atomic_signal_fence(_order: i32) {
    std::sync::atomic::compiler_fence(SeqCst);
}
