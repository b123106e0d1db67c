//! Thread indices; barriers, fences and clocks.
//!
//! Names and meanings are CUDA's: a grid of blocks of threads, each in up to three dimensions.

use core::ops::Range;

use crate::{U32x2, ptx_asm, sys::thread as sys};

#[cfg(not(cuda_device))]
pub use simt::Dim3;

/// The device's version of `simt`'s type.
#[cfg(cuda_device)]
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Dim3 {
    /// Fastest-varying dimension.
    pub x: u32,
    /// Second dimension.
    pub y: u32,
    /// Third dimension.
    pub z: u32,
}

#[cfg(cuda_device)]
impl Dim3 {
    /// The number of positions in an extent; `u64::MAX` where it is larger than that.
    #[inline(always)]
    pub const fn count(self) -> u64 {
        (self.x as u64 * self.y as u64).saturating_mul(self.z as u64)
    }
}

macro_rules! special_registers {
    ($($what:literal, $register:literal: $x:ident $y:ident $z:ident $all:ident;)*) => {$(
        special_registers!(@one $what, "x", $register, $x);
        special_registers!(@one $what, "y", $register, $y);
        special_registers!(@one $what, "z", $register, $z);
        #[doc = concat!($what, " in all dimensions (`%", $register, "`).")]
        #[inline(always)]
        pub fn $all() -> Dim3 {
            Dim3 { x: $x(), y: $y(), z: $z() }
        }
    )*};
    (@one $what:literal, $dimension:literal, $register:literal, $name:ident) => {
        #[doc = concat!($what, " in dimension ", $dimension, ".\n\nGPU: the special register `%", $register, ".", $dimension, "`. CPU: the executor's.")]
        #[inline(always)]
        #[cfg_attr(not(cuda_device), track_caller)]
        pub fn $name() -> u32 {
            sys::$name()
        }
    };
}
special_registers! {
    "The thread's index in its block", "tid": thread_idx_x thread_idx_y thread_idx_z thread_idx;
    "The block's index in the grid", "ctaid": block_idx_x block_idx_y block_idx_z block_idx;
    "The number of threads of a block", "ntid": block_dim_x block_dim_y block_dim_z block_dim;
    "The number of blocks of the grid", "nctaid": grid_dim_x grid_dim_y grid_dim_z grid_dim;
}

/// The thread's index in dimension x over the whole grid: `block_idx_x() * block_dim_x() + thread_idx_x()`.
///
/// It wraps on grids of 2³² threads or more in x; [`grid_stride`] doesn't.
#[inline(always)]
pub fn index_1d() -> u32 {
    block_idx_x().wrapping_mul(block_dim_x()).wrapping_add(thread_idx_x())
}

/// The thread's index over the whole grid in dimensions x and y.
#[inline(always)]
pub fn index_2d() -> U32x2 {
    U32x2 { x: index_1d(), y: block_idx_y().wrapping_mul(block_dim_y()).wrapping_add(thread_idx_y()) }
}

/// The thread's index over the whole grid in all dimensions.
#[inline(always)]
pub fn index_3d() -> Dim3 {
    let U32x2 { x, y } = index_2d();
    Dim3 { x, y, z: block_idx_z().wrapping_mul(block_dim_z()).wrapping_add(thread_idx_z()) }
}

/// The thread's number in its block: x varies fastest, then y, then z. Warps are 32 consecutive numbers.
#[inline(always)]
pub fn linear_thread() -> u32 {
    thread_idx_x() + block_dim_x() * (thread_idx_y() + block_dim_y() * thread_idx_z())
}

/// The number of threads of the grid in dimension x: how far a thread steps in a grid-stride loop.
#[inline(always)]
pub fn grid_stride_1d() -> u32 {
    grid_dim_x().wrapping_mul(block_dim_x())
}

/// [`index_1d`] that doesn't wrap.
#[inline(always)]
pub(crate) fn wide_index() -> usize {
    block_idx_x() as usize * block_dim_x() as usize + thread_idx_x() as usize
}

/// [`grid_stride_1d`] that doesn't wrap.
#[inline(always)]
pub(crate) fn wide_stride() -> usize {
    grid_dim_x() as usize * block_dim_x() as usize
}

/// This thread's share of `0..n`: from [`index_1d`] in steps of the grid's threads in dimension x.
///
/// Over a one-dimensional grid, whatever its size, each number below `n` comes to exactly one thread.
#[inline(always)]
pub fn grid_stride(n: usize) -> Strided<usize> {
    strided(wide_index()..n, wide_stride())
}

/// Every `step`-th number of `range`: `range.step_by(step)` without the division that tells the number of steps, which
/// takes as long as dozens of steps on a GPU. With a step of 0 it never ends.
#[inline(always)]
pub fn strided<T: Number>(range: Range<T>, step: T) -> Strided<T> {
    Strided { range, step }
}

/// The iterator of [`grid_stride`] and [`strided`].
#[derive(Debug, Clone)]
pub struct Strided<T> {
    range: Range<T>,
    step: T,
}

/// `u32` or `usize`.
pub trait Number: Copy + PartialOrd {
    /// Returns the number `step` further on, or the greatest.
    #[doc(hidden)]
    fn plus(self, step: Self) -> Self;
    /// Returns the number of steps from here to `end`.
    #[doc(hidden)]
    fn steps(self, end: Self, step: Self) -> usize;
}

macro_rules! numbers {
    ($($t:ty)*) => {$(
        impl Number for $t {
            #[inline(always)]
            fn plus(self, step: Self) -> Self {
                self.saturating_add(step)
            }
            #[inline(always)]
            fn steps(self, end: Self, step: Self) -> usize {
                end.saturating_sub(self).div_ceil(step) as usize
            }
        }
    )*};
}
numbers! { u32 usize }

impl<T: Number> Iterator for Strided<T> {
    type Item = T;

    #[inline(always)]
    fn next(&mut self) -> Option<T> {
        let Range { start, end } = self.range;
        (start < end).then(|| {
            self.range.start = start.plus(self.step);
            start
        })
    }

    #[inline(always)]
    fn size_hint(&self) -> (usize, Option<usize>) {
        let left = self.range.start.steps(self.range.end, self.step);
        (left, Some(left))
    }
}

impl<T: Number> ExactSizeIterator for Strided<T> {}

forward! {
    thread:
    /// Waits until every thread of the block that hasn't returned has come to a barrier, and makes what each wrote before it
    /// visible to all.
    ///
    /// Threads may return before: from then on nobody waits for them. All others have to come to a call of this function.
    /// Calls in several branches are one barrier, for lanes of one warp, too. A thread that waits elsewhere leaves the
    /// others waiting for ever on a GPU; on the CPU the executor reports it, unless that thread waits in a loop of its
    /// own.
    ///
    /// GPU: `barrier.sync 0`, without `.aligned`: PTX leaves that form undefined where threads of the block diverge. CPU:
    /// the executor's barrier.
    fn sync_threads();

    /// [`sync_threads`], and for how many of the threads that come `predicate` holds.
    ///
    /// The lanes of a warp come together: on a GPU those in another branch of their warp get 0, on the CPU that is an
    /// error. The same holds of [`sync_threads_and`] and [`sync_threads_or`].
    ///
    /// GPU: `barrier.red.popc.u32`. CPU: the executor's barrier.
    fn sync_threads_count(predicate: bool) -> u32;

    /// [`sync_threads`], and whether `predicate` holds for every thread that comes.
    ///
    /// GPU: `barrier.red.and.pred`. CPU: the executor's barrier.
    fn sync_threads_and(predicate: bool) -> bool;

    /// [`sync_threads`], and whether `predicate` holds for some thread that comes.
    ///
    /// GPU: `barrier.red.or.pred`. CPU: the executor's barrier.
    fn sync_threads_or(predicate: bool) -> bool;

    /// Waits until every thread of the grid has come, and makes what each wrote before visible to all. It is for kernels
    /// that are `#[kernel(cooperative)]`, whose blocks all run at once: on a GPU as many as fit
    /// (`warpsmith_device::Device::occupancy` for each of its multiprocessors), on the CPU as many as the executor has
    /// workers.
    ///
    /// GPU: [`sync_threads`], and atomics on the word that the driver keeps for a cooperative launch; in another launch a
    /// trap. CPU: the executor's barrier; in another launch, or where a block returns instead, an error.
    ///
    /// ```
    /// use cuda_std::prelude::*;
    ///
    /// /// Each element of `b` becomes that of `a`'s mirror image after `a` has been doubled.
    /// ///
    /// /// # Safety
    /// /// A thread for each of `n` elements.
    /// #[kernel(cooperative)]
    /// pub unsafe fn mirror(a: *mut u32, b: *mut u32) {
    ///     let (i, n) = (thread::index_1d() as usize, thread::grid_stride_1d() as usize);
    ///     // SAFETY: before the barrier each thread has its own element, and after it nobody writes `a`.
    ///     unsafe {
    ///         *a.add(i) *= 2;
    ///         thread::sync_grid();
    ///         *b.add(i) = *a.add(n - 1 - i);
    ///     }
    /// }
    /// # fn main() {}
    /// ```
    fn sync_grid();
}

/// Waits at the block's barrier number `barrier` (1 to 15) until `threads` threads have come to it,
/// by this function or by [`barrier_arrive`], and makes their earlier writes visible to the waiting
/// threads. The barrier can then be reused. It lets some warps of a block wait for each other, and
/// consumers for producers.
///
/// `threads` is a multiple of 32, and the same for all that come. Threads come by whole warps, whose
/// lanes that have returned count as well; a warp either waits or arrives. (Barrier 0 is that of
/// [`sync_threads`].)
///
/// GPU: `barrier.sync`. CPU: the executor's barrier; a thread that doesn't come is an error there, and a hang on a GPU.
#[inline(always)]
#[cfg_attr(not(cuda_device), track_caller)]
pub fn barrier_sync(barrier: u32, threads: u32) {
    // SAFETY: waiting is safe anywhere.
    unsafe {
        ptx_asm!("barrier.sync {0}, {1};", in(b32) barrier, in(b32) threads;
            cpu => simt::current::named_barrier(barrier, threads, true));
    }
}

/// Comes to the barrier without waiting there: see [`barrier_sync`].
///
/// GPU: `barrier.arrive`. CPU: the executor's barrier.
#[inline(always)]
#[cfg_attr(not(cuda_device), track_caller)]
pub fn barrier_arrive(barrier: u32, threads: u32) {
    // SAFETY: to arrive is safe anywhere.
    unsafe {
        ptx_asm!("barrier.arrive {0}, {1};", in(b32) barrier, in(b32) threads;
            cpu => simt::current::named_barrier(barrier, threads, false));
    }
}

forward! {
    thread:
    /// Orders this thread's memory accesses as seen by its block: those before the fence come before those after it.
    ///
    /// GPU: `fence.sc.cta`. CPU: a sequentially consistent fence.
    fn block_fence();

    /// Orders this thread's memory accesses as seen by the whole device: those before the fence come before those after it.
    /// [`atomic::device::fence_acq_rel`](crate::atomic::device::fence_acq_rel) is cheaper, and enough to publish data with
    /// a flag.
    ///
    /// GPU: `fence.sc.gpu`. CPU: a sequentially consistent fence.
    fn device_fence();

    /// Orders this thread's memory accesses as seen by the device, the host and other devices.
    ///
    /// GPU: `fence.sc.sys`. CPU: a sequentially consistent fence.
    fn system_fence();

    /// Lets the thread sleep for about `ns` nanoseconds, at most one millisecond; somewhere between none and twice as long.
    /// For loops that wait for another block.
    ///
    /// GPU: `nanosleep.u32`. CPU: lets the block's other threads run.
    fn nanosleep(ns: u32);

    /// A counter of clock cycles, for differences within one block.
    ///
    /// GPU: the multiprocessor's `%clock64`. CPU: nanoseconds since the process first asked.
    fn clock64() -> u64;

    /// A clock in nanoseconds that all blocks share. A GPU may advance it in steps of a microsecond or so.
    ///
    /// GPU: `%globaltimer`. CPU: nanoseconds since the process first asked.
    fn globaltimer_ns() -> u64;
}
