//! Inline PTX. Callers ensure that the architecture has it.

use crate::gpu::thread::shared_address;
use crate::{arch, ptx_asm};

macro_rules! shared {
    ($($name:ident($place:ident: $t:ty $(, $argument:ident: $a:ty as $class:ident)*) = $($ptx:literal),*;)*) => {$(
        #[inline(always)]
        pub unsafe fn $name($place: $t $(, $argument: $a)*) {
            let address = shared_address($place.cast());
            // SAFETY: the caller has promised what the instruction demands.
            unsafe { ptx_asm!($($ptx,)* in(b32) address $(, in($class) $argument)*; cpu => unreachable!()) };
        }
    )*};
}
shared! {
    init_of_ampere(barrier: *mut u64, count: u32 as b32) = "mbarrier.init.shared.b64 [{0}], {1};";
    init_of_hopper(barrier: *mut u64, count: u32 as b32)
        = "mbarrier.init.shared.b64 [{0}], {1};", "fence.proxy.async;";
    arrive(barrier: *mut u64) = "{{ .reg .b64 state; mbarrier.arrive.shared.b64 state, [{0}]; }}";
    arrive_and_expect(barrier: *mut u64, bytes: u32 as b32)
        = "{{ .reg .b64 state; mbarrier.arrive.expect_tx.shared.b64 state, [{0}], {1}; }}";
    store_from(shared: *const u8, global: *mut u8 as b64, bytes: u32 as b32)
        = "fence.proxy.async;", "cp.async.bulk.global.shared::cta.bulk_group [{1}], [{0}], {2};";
}

#[inline(always)]
pub unsafe fn init(barrier: *mut u64, count: u32) {
    // SAFETY: the caller has promised what the instruction demands.
    unsafe { if arch() >= 900 { init_of_hopper(barrier, count) } else { init_of_ampere(barrier, count) } }
}

#[inline(always)]
pub unsafe fn test(barrier: *mut u64, parity: u32) -> bool {
    let address = shared_address(barrier.cast());
    let complete: u32;
    // SAFETY: the caller has promised what the instructions demand.
    unsafe {
        if arch() >= 900 {
            ptx_asm!(
                "{{ .reg .pred p; mbarrier.try_wait.parity.shared.b64 p, [{1}], {2}; selp.u32 {0}, 1, 0, p; }}",
                out(b32) complete, in(b32) address, in(b32) parity;
                cpu => unreachable!()
            );
        } else {
            ptx_asm!(
                "{{ .reg .pred p; mbarrier.test_wait.parity.shared.b64 p, [{1}], {2}; selp.u32 {0}, 1, 0, p; }}",
                out(b32) complete, in(b32) address, in(b32) parity;
                cpu => unreachable!()
            );
        }
    }
    complete != 0
}

#[inline(always)]
pub unsafe fn copy(barrier: *mut u64, shared: *mut u8, global: *const u8, bytes: u32) {
    let (to, report) = (shared_address(shared), shared_address(barrier.cast()));
    // SAFETY: the caller has promised what the instruction demands.
    unsafe {
        ptx_asm!(
            "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [{0}], [{1}], {2}, [{3}];",
            in(b32) to, in(b64) global, in(b32) bytes, in(b32) report;
            cpu => unreachable!()
        );
    }
}

#[inline(always)]
pub unsafe fn store(global: *mut u8, shared: *const u8, bytes: u32) {
    // SAFETY: the caller has promised what the instruction demands.
    unsafe { store_from(shared, global, bytes) }
}

#[inline(always)]
pub fn store_commit() {
    // SAFETY: it makes a group of copies.
    unsafe { ptx_asm!("cp.async.bulk.commit_group;"; cpu => unreachable!()) };
}

#[inline(always)]
pub fn store_wait() {
    // SAFETY: it waits.
    unsafe { ptx_asm!("cp.async.bulk.wait_group 0;"; cpu => unreachable!()) };
}
