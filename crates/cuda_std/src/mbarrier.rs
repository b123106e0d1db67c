//! Barriers in shared memory (`mbarrier`), and bulk copies that report to them.
//!
//! A barrier counts arrivals, and bytes that copies still have to bring. Its phase is complete when
//! the expected number of threads have arrived and no byte is missing; the next phase begins at
//! once. Phases are told apart by their parity: the first is 0, the next 1, then 0 again. A wait
//! for a parity lasts until the phase with that parity, the current or the previous one, is
//! complete.
//!
//! ```
//! use cuda_std::{mbarrier::Barrier, prelude::*};
//!
//! /// The sum of 256 numbers from `values` on, which one instruction brings into shared memory.
//! ///
//! /// # Safety
//! /// A block of 32 threads; 256 numbers, aligned to 16 bytes.
//! #[kernel]
//! pub unsafe fn sum(values: *const u32, out: *mut u32) {
//!     let staged = shared_array![U32x4; 64];
//!     let barrier = Barrier::at(shared_array![u64; 1].as_mut_ptr());
//!     // SAFETY: one thread makes the barrier, before others come to it, and starts the copy of 1,024 bytes; nobody
//!     // reads them before the phase is complete.
//!     unsafe {
//!         if thread::thread_idx_x() == 0 {
//!             barrier.init(1);
//!         }
//!         thread::sync_threads();
//!         if thread::thread_idx_x() == 0 {
//!             barrier.arrive_and_expect(1024);
//!             barrier.copy(staged.as_mut_ptr().cast(), values.cast(), 1024);
//!         }
//!         barrier.wait(0);
//!         let [a, b] = [0, 32].map(|first| staged.read(first + thread::thread_idx_x() as usize).to_array());
//!         let own = a.into_iter().chain(b).sum::<u32>();
//!         *out = warp::reduce_add(warp::FULL_MASK, own);
//!     }
//! }
//! # fn main() {}
//! ```
//!
//! Barriers need `sm_80`; bytes and copies need `sm_90`: in PTX for less they panic. On the CPU a copy is done when its
//! call returns.

use crate::{arch, is_gpu, sys::mbarrier as sys};

/// A barrier in shared memory, which takes 8 bytes there. It is a pointer: copies name the same barrier.
#[derive(Clone, Copy, Debug)]
pub struct Barrier(*mut u64);

#[inline(always)]
fn demand(least: u32) {
    assert!(!is_gpu() || arch() >= least, "barriers in shared memory need sm_80, and bulk copies sm_90");
}

impl Barrier {
    /// The barrier at `place`.
    #[inline(always)]
    pub const fn at(place: *mut u64) -> Self {
        Barrier(place)
    }

    pub(crate) fn place(self) -> *mut u64 {
        self.0
    }

    /// Makes a barrier whose phases take `count` arrivals, from 1 to 2²⁰ − 1. Order other threads'
    /// uses behind this, for example by [`sync_threads`](crate::thread::sync_threads).
    ///
    /// GPU: `mbarrier.init`, and `fence.proxy.async` from `sm_90` on, so that copies see the barrier.
    ///
    /// # Safety
    /// The place is shared memory that is aligned to 8 bytes, and nobody else uses it meanwhile.
    #[inline(always)]
    pub unsafe fn init(self, count: u32) {
        demand(800);
        // SAFETY: the caller has promised that the place is the barrier's.
        unsafe { sys::init(self.0, count) }
    }

    /// Arrives, and makes this thread's earlier writes visible to threads that wait for the phase.
    ///
    /// GPU: `mbarrier.arrive`, which releases in the scope of the block.
    ///
    /// # Safety
    /// The barrier has been made, and its current phase lacks an arrival.
    #[inline(always)]
    pub unsafe fn arrive(self) {
        demand(800);
        // SAFETY: the caller has promised a live barrier.
        unsafe { sys::arrive(self.0) }
    }

    /// [`arrive`](Self::arrive), after the phase has been told to wait for so many bytes of copies: below 2²⁰, with
    /// those that it waits for already.
    ///
    /// GPU: `mbarrier.arrive.expect_tx`.
    ///
    /// # Safety
    /// The barrier has been made, and its current phase lacks an arrival.
    #[inline(always)]
    pub unsafe fn arrive_and_expect(self, bytes: u32) {
        demand(900);
        // SAFETY: the caller has promised a live barrier.
        unsafe { sys::arrive_and_expect(self.0, bytes) }
    }

    /// Returns true if the phase of that parity (0 or 1) is complete. Writes before its arrivals
    /// are then visible, and so are the bytes of its copies. It may wait briefly.
    ///
    /// GPU: `mbarrier.try_wait.parity`, before `sm_90` `mbarrier.test_wait.parity`.
    ///
    /// # Safety
    /// The barrier has been made, and the parity is that of its current phase or of the one before.
    #[inline(always)]
    #[must_use]
    pub unsafe fn test(self, parity: u32) -> bool {
        demand(800);
        // SAFETY: the caller has promised a live barrier.
        unsafe { sys::test(self.0, parity) }
    }

    /// Waits until [`test`](Self::test) succeeds. Without arrivals it hangs, on the CPU too.
    ///
    /// # Safety
    /// As that of [`test`](Self::test).
    #[inline(always)]
    pub unsafe fn wait(self, parity: u32) {
        // SAFETY: the caller has promised what the test demands.
        while !unsafe { self.test(parity) } {}
    }

    /// Starts to copy `bytes` from global to shared memory, as one instruction of one thread; the current phase lacks
    /// so many bytes less when it is done.
    ///
    /// GPU: `cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes`.
    ///
    /// # Safety
    /// `bytes` is a multiple of 16; as many are valid at `global`, for reads, and at `shared`, for writes; both are
    /// aligned to 16 bytes, in their memories, and nobody else uses them before the phase is complete. The phase has
    /// been told to expect them, or will be.
    #[inline(always)]
    pub unsafe fn copy(self, shared: *mut u8, global: *const u8, bytes: u32) {
        demand(900);
        // SAFETY: the caller has promised what the copy demands.
        unsafe { sys::copy(self.0, shared, global, bytes) }
    }
}

/// Starts to copy `bytes` from shared to global memory. [`store_commit`] and [`store_wait`] wait for it.
///
/// GPU: `fence.proxy.async`, so that the copy sees what this thread wrote, or saw of others behind a barrier; then
/// `cp.async.bulk.global.shared::cta.bulk_group`. CPU: a copy at once.
///
/// # Safety
/// `bytes` is a multiple of 16; as many are valid at `shared`, for reads, and at `global`, for writes; both are aligned
/// to 16 bytes, in their memories, and nobody else writes the one, or uses the other, before the copy is done.
#[inline(always)]
pub unsafe fn store(global: *mut u8, shared: *const u8, bytes: u32) {
    demand(900);
    // SAFETY: the caller has promised what the copy demands.
    unsafe { sys::store(global, shared, bytes) }
}

/// Makes a group of this thread's [`store`]s since the last. GPU: `cp.async.bulk.commit_group`.
#[inline(always)]
pub fn store_commit() {
    demand(900);
    sys::store_commit();
}

/// Waits until this thread's groups of [`store`]s are all done. GPU: `cp.async.bulk.wait_group 0`.
#[inline(always)]
pub fn store_wait() {
    demand(900);
    sys::store_wait();
}
