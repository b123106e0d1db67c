//! Queries of device code while a body runs: its indices, its block's memory, and waits for others.
//!
//! Outside a kernel each function panics, save [`is_active`], [`preemption_point`] and [`atomic`].
//!
//! In checked runs nothing here is inlined into kernels, so the executor's accesses aren't taken
//! for the kernel's.

use crate::block::{BarrierKind, Block};
use crate::error::Place;
use crate::{Dim3, Scope, WARP_SIZE};
use std::cell::Cell;
#[cfg(unix)]
use std::fmt;
use std::panic::Location;
use std::ptr;

thread_local! {
    /// The block that this OS thread runs. All its threads run here, so it is the same on each of their stacks.
    static CURRENT: Cell<*const Block<'static>> = const { Cell::new(ptr::null()) };
}

/// Calls `f` with `block` as the current block.
pub(crate) fn scope<R>(block: &Block<'_>, f: impl FnOnce() -> R) -> R {
    struct Reset;
    impl Drop for Reset {
        fn drop(&mut self) {
            CURRENT.set(ptr::null());
        }
    }
    CURRENT.set(ptr::from_ref(block).cast());
    let _reset = Reset;
    f()
}

#[inline]
fn get<'b>() -> Option<&'b Block<'static>> {
    // SAFETY: `scope` borrows the block for as long as the pointer is set, and of the functions here none keeps the
    // reference for longer than its call, which ends within `scope`.
    unsafe { CURRENT.get().as_ref() }
}

#[inline]
#[track_caller]
fn block<'b>() -> &'b Block<'static> {
    match get() {
        Some(block) => block,
        None => outside(),
    }
}

#[cold]
#[inline(never)]
#[track_caller]
fn outside() -> ! {
    panic!(
        "only a kernel that simt runs can ask for its indices, its shared memory or its barriers, and none runs on this thread"
    )
}

/// Calls `f` with the current block, if any.
#[cfg(simt_check)]
#[inline]
pub(crate) fn with_block(f: impl FnOnce(&Block<'static>)) {
    if let Some(block) = get() {
        f(block);
    }
}

/// The running thread, if any.
pub(crate) fn place() -> Option<Box<Place>> {
    get().map(Block::place)
}

/// Notes how and where a body panics; false where no body is running.
pub(crate) fn note_panic(message: &str, location: Option<String>) -> bool {
    get().map(|block| block.note_panic(message, location)).is_some()
}

/// Writes what a signal on this OS thread comes upon, if a kernel is running.
#[cfg(unix)]
pub(crate) fn report(out: &mut impl fmt::Write, signal: &str, address: Option<usize>) -> fmt::Result {
    get().map_or(Ok(()), |block| block.report(out, signal, address))
}

/// The thread's index in its block.
#[cfg_attr(not(simt_check), inline)]
#[track_caller]
pub fn thread_idx() -> Dim3 {
    block().thread_idx()
}

/// The block's index in the grid.
#[cfg_attr(not(simt_check), inline)]
#[track_caller]
pub fn block_idx() -> Dim3 {
    block().block_idx()
}

/// The block's extent.
#[cfg_attr(not(simt_check), inline)]
#[track_caller]
pub fn block_dim() -> Dim3 {
    block().block_dim()
}

/// The grid's extent.
#[cfg_attr(not(simt_check), inline)]
#[track_caller]
pub fn grid_dim() -> Dim3 {
    block().grid_dim()
}

/// The thread's lane in its warp.
#[cfg_attr(not(simt_check), inline)]
#[track_caller]
pub fn lane_id() -> u32 {
    block().linear_thread() % WARP_SIZE
}

/// The thread's linear index in its block, `x` running fastest.
#[cfg_attr(not(simt_check), inline)]
#[track_caller]
pub fn linear_thread() -> u32 {
    block().linear_thread()
}

/// Returns true if a kernel is running on this OS thread.
#[cfg_attr(not(simt_check), inline)]
pub fn is_active() -> bool {
    get().is_some()
}

/// Waits until all threads of the block are here that haven't returned.
#[cfg_attr(not(simt_check), inline(always))]
#[track_caller]
pub fn sync_threads() {
    block().barrier(BarrierKind::Sync, false, Location::caller());
}

/// [`sync_threads`], and counts the threads that pass `true`.
#[cfg_attr(not(simt_check), inline(always))]
#[track_caller]
pub fn sync_threads_count(p: bool) -> u32 {
    block().barrier(BarrierKind::Count, p, Location::caller())
}

/// [`sync_threads`], and tells whether all threads that come pass `true`.
#[cfg_attr(not(simt_check), inline(always))]
#[track_caller]
pub fn sync_threads_and(p: bool) -> bool {
    block().barrier(BarrierKind::And, p, Location::caller()) > 0
}

/// [`sync_threads`], and tells whether some thread passes `true`.
#[cfg_attr(not(simt_check), inline(always))]
#[track_caller]
pub fn sync_threads_or(p: bool) -> bool {
    block().barrier(BarrierKind::Or, p, Location::caller()) > 0
}

/// Waits until all threads of the grid are here, which takes
/// [`Executor::run_cooperative`](crate::Executor::run_cooperative).
#[cfg_attr(not(simt_check), inline(always))]
#[track_caller]
pub fn sync_grid() {
    block().sync_grid(Location::caller());
}

/// The extent of the block's cluster; one block where it is in none.
#[cfg_attr(not(simt_check), inline)]
#[track_caller]
pub fn cluster_dim() -> Dim3 {
    block().cluster_dim()
}

/// The block's number in its cluster, `x` running fastest.
#[cfg_attr(not(simt_check), inline)]
#[track_caller]
pub fn cluster_rank() -> u32 {
    block().cluster_rank()
}

/// Maps an address in the block's shared memory to the same place in that of block `rank` of its
/// cluster.
#[track_caller]
pub fn cluster_map(address: *mut u8, rank: u32) -> *mut u8 {
    block().cluster_map(address, rank, Location::caller())
}

/// Comes to the barrier of the cluster's threads, and goes on.
#[track_caller]
pub fn cluster_arrive() {
    block().cluster_arrive(Location::caller());
}

/// Waits until all threads of the cluster have arrived at its barrier that haven't returned.
#[track_caller]
pub fn cluster_wait() {
    block().cluster_wait(Location::caller());
}

/// Comes to the block's barrier `number` (1 to 15), and where `wait` is true stays there until `threads` threads of the
/// block have come: a multiple of 32, and the same for all. Then the barrier can serve anew.
#[cfg_attr(not(simt_check), inline(always))]
#[track_caller]
pub fn named_barrier(number: u32, threads: u32, wait: bool) {
    block().named_barrier(number, threads, wait, Location::caller());
}

/// Waits until the lanes of `mask` are here with the same `mask` and `op`, and returns their values by lane (0 for lanes
/// outside `mask`). The caller must be one of them.
///
/// `op` names the operation (`"shfl"`, `"ballot"`, ...) in errors.
#[cfg_attr(not(simt_check), inline(always))]
#[track_caller]
pub fn exchange(mask: u32, op: &'static str, value: u64) -> [u64; 32] {
    block().exchange(mask, op, value, Location::caller())
}

/// [`exchange`] for one value: returns what lane `source` passed, and a bit for each lane of `mask` that passed another
/// value than 0.
#[cfg_attr(not(simt_check), inline(always))]
#[track_caller]
pub fn exchange_one(mask: u32, op: &'static str, value: u64, source: u32) -> (u64, u32) {
    block().exchange_one(mask, op, value, source, Location::caller())
}

/// The block's memory for the shared static that `key` is the address of: `size` bytes, the same for all threads of the
/// block and for as long as it runs.
///
/// A launch whose blocks ask for more than they can have ends in [`SimtError::Fault`](crate::SimtError::Fault).
#[cfg_attr(not(simt_check), inline)]
#[track_caller]
pub fn shared_static(key: *const (), size: usize, align: usize) -> *mut u8 {
    block().shared_static(key, size, align)
}

/// The block's dynamic shared memory, aligned to 16 bytes.
#[cfg_attr(not(simt_check), inline)]
#[track_caller]
pub fn dynamic_shared() -> *mut u8 {
    block().dynamic_shared()
}

/// The size of the block's dynamic shared memory, in bytes.
#[cfg_attr(not(simt_check), inline)]
#[track_caller]
pub fn dynamic_shared_size() -> usize {
    block().dynamic_shared_size()
}

/// To be called in loops that wait for another thread's store: lets the block's other threads run, or another OS thread
/// where none of these can. Ends the thread if the launch has failed.
#[track_caller]
pub fn yield_now() {
    block().yield_now();
}

/// To be called at atomics and volatile accesses.
///
/// Under [`Schedule::Random`](crate::Schedule::Random) passes the turn to another thread of the block with probability
/// 1/2. Else it costs a decrement, and only after many thousands of calls in one turn, when the thread may be waiting
/// for another one in a loop, it is [`yield_now`]. Outside a kernel it does nothing, so that the same code can run
/// there.
#[cfg_attr(not(simt_check), inline)]
pub fn preemption_point() {
    if let Some(block) = get() {
        block.preemption_point();
    }
}

/// An atomic operation or a fence under way: see [`atomic`].
#[derive(Debug)]
#[must_use = "it says how long the operation is under way"]
pub struct Atomic(());

/// [`preemption_point`] before an atomic operation or a fence, which has this scope until the result is dropped.
///
/// The scope matters to [checked runs](crate#checked-runs) alone. Operations of [`core::sync::atomic`] elsewhere have
/// the device's.
#[cfg_attr(not(simt_check), inline)]
pub fn atomic(scope: Scope) -> Atomic {
    preemption_point();
    #[cfg(simt_check)]
    with_block(|block| block.checks().set_scope(scope));
    #[cfg(not(simt_check))]
    let _ = scope;
    Atomic(())
}

#[cfg(simt_check)]
impl Drop for Atomic {
    #[inline(never)]
    fn drop(&mut self) {
        with_block(|block| block.checks().set_scope(Scope::Device));
    }
}

/// Ends the launch with [`SimtError::Fault`](crate::SimtError::Fault), which names kernel, block, thread and `message`.
#[track_caller]
pub fn fault(message: String) -> ! {
    block().fault(message)
}
