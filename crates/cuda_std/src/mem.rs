//! Loads and stores with a cache policy, and asynchronous copies from global to shared memory.
//!
//! They take a [`Word`]: 4, 8 or 16 bytes that the GPU moves with one instruction. Except for the volatile ones,
//! **pointers have to point into global memory** (buffers that the host passed), not into shared or local memory.
//!
//! Plain loads through a `&[T]` parameter of a kernel already are `ld.global.nc`. These functions are for pointers, and
//! for data whose reuse you know better than the cache does.

use crate::{F32x2, F32x4, F64x2, I32x2, I32x4, U32x2, U32x4, U64x2, arch, demand_aligned, is_gpu, sys::mem as sys};

/// A value of 4, 8 or 16 bytes that one instruction loads or stores: `u32`, `i32`, `f32`, `u64`, `i64`, `f64`, and the
/// vectors and pairs of this crate. Implemented for these types only.
#[allow(private_bounds)]
pub trait Word: WordBits {}

/// Unsigned integer of a word's size.
pub(crate) trait WordBits: Copy {
    /// The registers that hold it.
    #[cfg(cuda_device)]
    type Registers: sys::Registers;
}

macro_rules! words {
    ($($t:ty: $registers:ty;)*) => {$(
        impl $crate::mem::Word for $t {}
        impl $crate::mem::WordBits for $t {
            #[cfg(cuda_device)]
            type Registers = $registers;
        }
    )*};
}
pub(crate) use words;

words! {
    u32: u32;
    i32: u32;
    f32: u32;
    u64: u64;
    i64: u64;
    f64: u64;
    U32x2: [u32; 2];
    I32x2: [u32; 2];
    F32x2: [u32; 2];
    U32x4: [u32; 4];
    I32x4: [u32; 4];
    F32x4: [u32; 4];
    U64x2: [u64; 2];
    F64x2: [u64; 2];
}

macro_rules! loads {
    ($($(#[$doc:meta])* $name:ident;)*) => {$(
        $(#[$doc])*
        #[inline(always)]
        #[cfg_attr(not(cuda_device), track_caller)]
        pub unsafe fn $name<T: Word>(ptr: *const T) -> T {
            demand_aligned(ptr, align_of::<T>());
            // SAFETY: the pointer is as this load demands, as the caller has promised.
            unsafe { sys::$name(ptr) }
        }
    )*};
}
loads! {
    /// Loads through the read-only cache.
    ///
    /// GPU: `ld.global.nc`; the compiler may move, merge and repeat it. CPU: a plain load.
    ///
    /// # Safety
    /// `ptr` is valid for reads, aligned, in global memory, and nothing writes there while the kernel runs.
    load_nc;
    /// [`load_nc`] that leaves nothing in the L1 cache: for data that is read once, beside other data that should stay.
    ///
    /// GPU: `ld.global.nc.L1::no_allocate`. CPU: a plain load.
    ///
    /// # Safety
    /// `ptr` is valid for reads, aligned, in global memory, and nothing writes there while the kernel runs.
    load_nc_no_allocate;
    /// Loads data that is likely read once: it is the first to be evicted.
    ///
    /// GPU: `ld.global.cs`. CPU: a plain load.
    ///
    /// # Safety
    /// `ptr` is valid for reads, aligned, and in global memory; no other thread writes there without ordering.
    load_streaming;
    /// Loads past the L1 cache, from the L2 cache that all multiprocessors share.
    ///
    /// GPU: `ld.global.cg`. CPU: a plain load.
    ///
    /// # Safety
    /// `ptr` is valid for reads, aligned, and in global memory; no other thread writes there without ordering.
    load_cg;
    /// Loads data that won't be read again.
    ///
    /// GPU: `ld.global.lu`. CPU: a plain load.
    ///
    /// # Safety
    /// `ptr` is valid for reads, aligned, and in global memory; no other thread writes there without ordering.
    load_last_use;
    /// Loads anew at each call, from any memory. It orders nothing; what other threads write meanwhile should be read
    /// by [`atomic`](crate::atomic) loads. (Not from a `&[T]`, whose memory doesn't change: there it is an
    /// `ld.global.nc`.) On vectors it isn't atomic as a whole.
    ///
    /// GPU: `ld.volatile`. CPU: a volatile load.
    ///
    /// # Safety
    /// `ptr` is valid for reads and aligned.
    load_volatile;
}

macro_rules! stores {
    ($($(#[$doc:meta])* $name:ident;)*) => {$(
        $(#[$doc])*
        #[inline(always)]
        #[cfg_attr(not(cuda_device), track_caller)]
        pub unsafe fn $name<T: Word>(ptr: *mut T, value: T) {
            demand_aligned(ptr, align_of::<T>());
            // SAFETY: the pointer is as this store demands, as the caller has promised.
            unsafe { sys::$name(ptr, value) }
        }
    )*};
}
stores! {
    /// Stores data that is likely not read soon: it is the first to be evicted.
    ///
    /// GPU: `st.global.cs`. CPU: a plain store.
    ///
    /// # Safety
    /// `ptr` is valid for writes, aligned, and in global memory; no other thread accesses it without ordering.
    store_streaming;
    /// Stores into the L2 cache, past L1.
    ///
    /// GPU: `st.global.cg`. CPU: a plain store.
    ///
    /// # Safety
    /// `ptr` is valid for writes, aligned, and in global memory; no other thread accesses it without ordering.
    store_cg;
    /// Stores through the L2 cache to memory, for data that the host reads while the kernel runs.
    ///
    /// GPU: `st.global.wt`. CPU: a plain store.
    ///
    /// # Safety
    /// `ptr` is valid for writes, aligned, and in global memory; no other thread accesses it without ordering.
    store_wt;
    /// Stores at each call, to any memory. It orders nothing; what other threads read meanwhile should be written by
    /// [`atomic`](crate::atomic) stores. On vectors it isn't atomic as a whole.
    ///
    /// GPU: `st.volatile`. CPU: a volatile store.
    ///
    /// # Safety
    /// `ptr` is valid for writes and aligned.
    store_volatile;
}

/// Stores where other threads may store at the same time. In the end the memory holds one of their values; of 16 bytes,
/// each half comes from one of them. It orders nothing.
///
/// GPU: `st.relaxed.cta`. CPU: relaxed atomic stores of 4 or 8 bytes.
///
/// # Safety
/// `ptr` is valid for writes, aligned, and in global memory. While other threads may store there, all access it by this function,
/// [`load_relaxed`] and atomic operations alone, as words of one type.
#[inline(always)]
#[cfg_attr(not(cuda_device), track_caller)]
pub unsafe fn store_relaxed<T: Word>(ptr: *mut T, value: T) {
    demand_aligned(ptr, align_of::<T>());
    // SAFETY: the pointer is valid for writes and aligned, and others use it by the same functions alone, as the caller
    // has promised.
    unsafe { sys::store_relaxed(ptr, value) }
}

/// Loads what other threads may store at the same time by [`store_relaxed`] or an [`atomic`](crate::atomic) operation.
/// On a GPU it may return an older value for ever: a loop that waits for a change takes
/// [`atomic::device::load`](crate::atomic::device::load).
///
/// GPU: `ld.global`. CPU: relaxed atomic loads of 4 or 8 bytes.
///
/// # Safety
/// `ptr` is valid for reads, aligned, and in global memory. While other threads may store there, all access it by this function,
/// [`store_relaxed`] and atomic operations alone, as words of one type.
#[inline(always)]
#[cfg_attr(not(cuda_device), track_caller)]
pub unsafe fn load_relaxed<T: Word>(ptr: *const T) -> T {
    demand_aligned(ptr, align_of::<T>());
    // SAFETY: the pointer is valid for reads and aligned, and others use it by the same functions alone, as the caller
    // has promised.
    unsafe { sys::load_relaxed(ptr) }
}

/// [`load_relaxed`] from shared memory.
///
/// GPU: `ld.shared`. CPU: relaxed atomic loads of 4 or 8 bytes.
///
/// # Safety
/// As for [`load_relaxed`], of a pointer into shared memory.
#[inline(always)]
#[cfg_attr(not(cuda_device), track_caller)]
pub unsafe fn load_relaxed_shared<T: Word>(ptr: *const T) -> T {
    demand_aligned(ptr, align_of::<T>());
    // SAFETY: the pointer is valid for reads, aligned and in shared memory, and others use it by the same functions alone,
    // as the caller has promised.
    unsafe { sys::load_relaxed_shared(ptr) }
}

/// Fetches the line of `ptr` into the L2 cache.
///
/// GPU: `prefetch.global.L2`. CPU: nothing.
///
/// # Safety
/// `ptr` points into global memory.
#[inline(always)]
pub unsafe fn prefetch_l2<T>(ptr: *const T) {
    // SAFETY: the pointer points into global memory, as the caller has promised.
    unsafe { sys::prefetch_l2(ptr.cast()) }
}

/// Returns true if asynchronous copies exist: from `sm_80` on.
#[inline(always)]
fn has_copy_async() -> bool {
    is_gpu() && arch() >= 800
}

/// Starts to copy a word from global to shared memory, past the registers.
///
/// It is done once [`copy_async_wait`] has returned, for this thread; for the others of the block after a
/// [`sync_threads`](crate::thread::sync_threads) that follows it.
///
/// GPU: `cp.async.ca` (4 and 8 bytes) or `cp.async.cg` (16 bytes); before `sm_80` a load and a store. CPU: a copy at
/// once.
///
/// # Safety
/// `global` is valid for reads, aligned and in global memory, `shared` valid for writes, aligned and in shared memory.
/// Until the copy is done, nothing accesses `*shared` and nothing writes `*global`.
#[inline(always)]
#[cfg_attr(not(cuda_device), track_caller)]
pub unsafe fn copy_async<T: Word>(shared: *mut T, global: *const T) {
    demand_aligned(shared, align_of::<T>());
    demand_aligned(global, align_of::<T>());
    if has_copy_async() {
        // SAFETY: the pointers are valid, aligned and in their memories, and nothing else uses them before the copy is
        // done, as the caller has promised. The architecture has the instruction.
        unsafe { sys::copy_async(shared, global) }
    } else {
        // SAFETY: the pointers are valid and aligned, as the caller has promised.
        unsafe { shared.write(global.read()) }
    }
}

/// Makes a group of the thread's copies since the last group.
///
/// GPU: `cp.async.commit_group` from `sm_80` on. CPU: nothing.
#[inline(always)]
pub fn copy_async_commit() {
    if has_copy_async() {
        sys::copy_async_commit();
    }
}

/// Waits until at most the `PENDING` (0 to 7) latest groups of the thread's copies are still under way.
///
/// GPU: `cp.async.wait_group` from `sm_80` on. CPU: nothing.
#[inline(always)]
pub fn copy_async_wait<const PENDING: u32>() {
    const { assert!(PENDING < 8, "copy_async_wait takes 0 to 7 pending groups") };
    if has_copy_async() {
        sys::copy_async_wait::<PENDING>();
    }
}
