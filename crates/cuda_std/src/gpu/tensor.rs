//! Inline PTX. Callers ensure that the architecture has it.

use crate::gpu::thread::shared_address;
use crate::ptx_asm;
use crate::tensor::Descriptor;

/// Sees to it that this thread's copies take the description that the host has written, and no older one of that address.
#[inline(always)]
pub fn acquire(descriptor: *const Descriptor) {
    // SAFETY: a fence.
    unsafe { ptx_asm!("fence.proxy.tensormap::generic.acquire.gpu [{0}], 128;", in(b64) descriptor; cpu => unreachable!()) };
}

#[inline(always)]
pub unsafe fn load<const RANK: usize>(descriptor: *const Descriptor, barrier: *mut u64, shared: *mut u8, at: [i32; RANK]) {
    let (to, report) = (shared_address(shared), shared_address(barrier.cast()));
    let (x, y, z) = (at[0], at[if RANK > 1 { 1 } else { 0 }], at[RANK - 1]);
    // SAFETY: the caller has promised what the instruction demands.
    unsafe {
        match RANK {
            1 => ptx_asm!(
                "cp.async.bulk.tensor.1d.shared::cluster.global.tile.mbarrier::complete_tx::bytes [{0}], [{1}, {{ {3} }}], [{2}];",
                in(b32) to, in(b64) descriptor, in(b32) report, in(b32) x;
                cpu => unreachable!()
            ),
            2 => ptx_asm!(
                "cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes [{0}], [{1}, {{ {3}, {4} }}], [{2}];",
                in(b32) to, in(b64) descriptor, in(b32) report, in(b32) x, in(b32) y;
                cpu => unreachable!()
            ),
            _ => ptx_asm!(
                "cp.async.bulk.tensor.3d.shared::cluster.global.tile.mbarrier::complete_tx::bytes [{0}], [{1}, {{ {3}, {4}, {5} }}], [{2}];",
                in(b32) to, in(b64) descriptor, in(b32) report, in(b32) x, in(b32) y, in(b32) z;
                cpu => unreachable!()
            ),
        }
    }
}

#[inline(always)]
pub unsafe fn store<const RANK: usize>(descriptor: *const Descriptor, shared: *const u8, at: [i32; RANK]) {
    let from = shared_address(shared);
    let (x, y, z) = (at[0], at[if RANK > 1 { 1 } else { 0 }], at[RANK - 1]);
    // SAFETY: the caller has promised what the instructions demand.
    unsafe {
        match RANK {
            1 => ptx_asm!(
                "fence.proxy.async;", "cp.async.bulk.tensor.1d.global.shared::cta.tile.bulk_group [{0}, {{ {2} }}], [{1}];",
                in(b64) descriptor, in(b32) from, in(b32) x;
                cpu => unreachable!()
            ),
            2 => ptx_asm!(
                "fence.proxy.async;", "cp.async.bulk.tensor.2d.global.shared::cta.tile.bulk_group [{0}, {{ {2}, {3} }}], [{1}];",
                in(b64) descriptor, in(b32) from, in(b32) x, in(b32) y;
                cpu => unreachable!()
            ),
            _ => ptx_asm!(
                "fence.proxy.async;", "cp.async.bulk.tensor.3d.global.shared::cta.tile.bulk_group [{0}, {{ {2}, {3}, {4} }}], [{1}];",
                in(b64) descriptor, in(b32) from, in(b32) x, in(b32) y, in(b32) z;
                cpu => unreachable!()
            ),
        }
    }
}
