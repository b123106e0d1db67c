//! `src/ir/thread.ll`, and inline PTX.

use crate::atomic::device;
use crate::ptx_asm;
use crate::thread::{grid_dim, linear_thread};

// SAFETY: the signatures are those of the IR. The functions read registers, wait or order memory, which is safe
// anywhere.
unsafe extern "C" {
    #[link_name = "__cuda_std_thread_idx_x"]
    pub safe fn thread_idx_x() -> u32;
    #[link_name = "__cuda_std_thread_idx_y"]
    pub safe fn thread_idx_y() -> u32;
    #[link_name = "__cuda_std_thread_idx_z"]
    pub safe fn thread_idx_z() -> u32;
    #[link_name = "__cuda_std_block_idx_x"]
    pub safe fn block_idx_x() -> u32;
    #[link_name = "__cuda_std_block_idx_y"]
    pub safe fn block_idx_y() -> u32;
    #[link_name = "__cuda_std_block_idx_z"]
    pub safe fn block_idx_z() -> u32;
    #[link_name = "__cuda_std_block_dim_x"]
    pub safe fn block_dim_x() -> u32;
    #[link_name = "__cuda_std_block_dim_y"]
    pub safe fn block_dim_y() -> u32;
    #[link_name = "__cuda_std_block_dim_z"]
    pub safe fn block_dim_z() -> u32;
    #[link_name = "__cuda_std_grid_dim_x"]
    pub safe fn grid_dim_x() -> u32;
    #[link_name = "__cuda_std_grid_dim_y"]
    pub safe fn grid_dim_y() -> u32;
    #[link_name = "__cuda_std_grid_dim_z"]
    pub safe fn grid_dim_z() -> u32;
    #[link_name = "__cuda_std_sync_threads"]
    pub safe fn sync_threads();
    #[link_name = "__cuda_std_sync_threads_count"]
    safe fn count(predicate: u32) -> u32;
    #[link_name = "__cuda_std_sync_threads_and"]
    safe fn and(predicate: u32) -> u32;
    #[link_name = "__cuda_std_sync_threads_or"]
    safe fn or(predicate: u32) -> u32;
    #[link_name = "__cuda_std_fence_block"]
    pub safe fn fence_block();
    #[link_name = "__cuda_std_fence_device"]
    pub safe fn fence_device();
    #[link_name = "__cuda_std_fence_system"]
    pub safe fn fence_system();
    #[link_name = "__cuda_std_nanosleep"]
    pub safe fn nanosleep(ns: u32);
    #[link_name = "__cuda_std_clock64"]
    pub safe fn clock64() -> u64;
    #[link_name = "__cuda_std_globaltimer"]
    pub safe fn globaltimer() -> u64;
    #[link_name = "__cuda_std_dynamic_shared_size"]
    safe fn dynamic_size() -> u32;
    #[link_name = "__cuda_std_arch"]
    pub safe fn arch() -> u32;
    #[link_name = "__cuda_std_shared_address"]
    pub safe fn shared_address(p: *const u8) -> u32;
    #[link_name = "__cuda_std_trap"]
    pub safe fn trap() -> !;
}

#[inline(always)]
pub fn dynamic_shared_size() -> usize {
    dynamic_size() as usize
}

#[inline(always)]
pub fn sync_threads_count(predicate: bool) -> u32 {
    count(predicate.into())
}

#[inline(always)]
pub fn sync_threads_and(predicate: bool) -> bool {
    and(predicate.into()) != 0
}

#[inline(always)]
pub fn sync_threads_or(predicate: bool) -> bool {
    or(predicate.into()) != 0
}

/// The barrier is a word in memory that the driver gives to a cooperative launch. All blocks but the first add 1 to it,
/// and the first what flips its highest bit together with these; who has come waits for that.
#[inline(always)]
pub fn sync_grid() {
    const FLIPPED: u32 = 1 << 31;
    let workspace: *mut u32;
    // SAFETY: it reads registers.
    unsafe {
        ptx_asm!(
            "{{ .reg .b32 low, high; mov.b32 low, %envreg2; mov.b32 high, %envreg1; mov.b64 {0}, {{low, high}}; }}",
            out(b64) workspace,
            options(pure);
            cpu => unreachable!()
        );
    }
    if workspace.is_null() {
        trap();
    }
    sync_threads();
    if linear_thread() == 0 {
        let is_first = block_idx_x() | block_idx_y() | block_idx_z() == 0;
        let others = grid_dim().count() as u32 - 1;
        // SAFETY: in a cooperative launch, the driver's memory has the barrier in its second word.
        unsafe {
            let barrier = workspace.add(1);
            let before = device::fetch_add_acq_rel(barrier, if is_first { FLIPPED - others } else { 1 });
            while (before ^ device::load_acquire(barrier)) & FLIPPED == 0 {}
        }
    }
    sync_threads();
}
