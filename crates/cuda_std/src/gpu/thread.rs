//! `src/ir/thread.ll`, and inline PTX.

use crate::atomic::device;
use crate::ptx_asm;
use crate::thread::{grid_dim, linear_thread};

// The functions read registers, wait, order memory or end the grid, which is safe anywhere.
ir! {
    "__cuda_std_thread_idx_x" fn thread_idx_x() -> u32;
    "__cuda_std_thread_idx_y" fn thread_idx_y() -> u32;
    "__cuda_std_thread_idx_z" fn thread_idx_z() -> u32;
    "__cuda_std_block_idx_x" fn block_idx_x() -> u32;
    "__cuda_std_block_idx_y" fn block_idx_y() -> u32;
    "__cuda_std_block_idx_z" fn block_idx_z() -> u32;
    "__cuda_std_block_dim_x" fn block_dim_x() -> u32;
    "__cuda_std_block_dim_y" fn block_dim_y() -> u32;
    "__cuda_std_block_dim_z" fn block_dim_z() -> u32;
    "__cuda_std_grid_dim_x" fn grid_dim_x() -> u32;
    "__cuda_std_grid_dim_y" fn grid_dim_y() -> u32;
    "__cuda_std_grid_dim_z" fn grid_dim_z() -> u32;
    "__cuda_std_sync_threads" fn sync_threads();
    "__cuda_std_sync_threads_count" fn count(predicate: u32) -> u32;
    "__cuda_std_sync_threads_and" fn and(predicate: u32) -> u32;
    "__cuda_std_sync_threads_or" fn or(predicate: u32) -> u32;
    "__cuda_std_fence_block" fn block_fence();
    "__cuda_std_fence_device" fn device_fence();
    "__cuda_std_fence_system" fn system_fence();
    "__cuda_std_nanosleep" fn nanosleep(ns: u32);
    "__cuda_std_clock64" fn clock64() -> u64;
    "__cuda_std_globaltimer" fn globaltimer_ns() -> u64;
    "__cuda_std_dynamic_shared_size" fn dynamic_size() -> u32;
    "__cuda_std_arch" fn arch() -> u32;
    "__cuda_std_shared_address" fn shared_address(p: *const u8) -> u32;
    "__cuda_std_trap" fn trap() -> !;
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
