//! Shared memory: one copy for each block, uninitialised when the block starts.
//!
//! [`shared_array!`](crate::shared_array!) declares an array of fixed size, [`dynamic_shared`] gives the memory whose
//! size the launch states.

use crate::sys;
use core::{fmt, mem::MaybeUninit};

/// An array in the block's shared memory: [`SharedArray<T, N>`](crate::SharedArray) from `shared_array![T; N]`.
///
/// Each place in the source where it stands is one array, which all threads of a block share; a block that comes by
/// again (in a loop, from another caller) finds the same array. In a generic function there is one for each `T`; `N`
/// can't depend on generic parameters. The arrays of a kernel have at most 48 KiB in all.
///
/// GPU: a variable in `.shared` memory, accessed by `ld.shared` and `st.shared`. CPU: memory that the executor keeps
/// for the block.
///
/// ```
/// # use cuda_std::prelude::*;
/// /// The sum of the block's values, for thread 0.
/// fn block_sum(value: u32) -> u32 {
///     let partial = shared_array![u32; 32];
///     let sum = warp::reduce_add(warp::FULL_MASK, value);
///     // SAFETY: lane 0 of each warp writes its own element, and reads follow the barrier.
///     unsafe {
///         if warp::lane_id() == 0 {
///             partial.write(warp::warp_id() as usize, sum);
///         }
///         thread::sync_threads();
///         (0..thread::block_dim_x() as usize / 32).map(|i| partial.read(i)).sum()
///     }
/// }
/// ```
#[macro_export]
macro_rules! shared_array {
    ($t:ty; $n:expr) => {{
        struct __Place;
        $crate::__private::shared_array::<$t, { $n }, __Place>()
    }};
}

/// Expansion of [`shared_array!`]: the array of this place in the source.
///
/// GPU: `cuda_builder` replaces each call by a shared variable. Every instance of this function has
/// one call, because it isn't inlined before.
#[cfg(cuda_device)]
#[doc(hidden)]
#[inline(never)]
pub fn shared_array<T, const N: usize, Place>() -> SharedArray<T, N> {
    unsafe extern "C" {
        safe fn __cuda_std_shared_array(size: usize, align: usize) -> *mut MaybeUninit<u8>;
    }
    SharedArray::from_ptr(__cuda_std_shared_array(const { size_of::<[T; N]>() }, const { align_of::<T>() }).cast())
}

/// Expansion of [`shared_array!`]: the array of this place in the source.
#[cfg(not(cuda_device))]
#[doc(hidden)]
pub fn shared_array<T: 'static, const N: usize, Place: 'static>() -> SharedArray<T, N> {
    use std::{
        any::TypeId,
        hash::{Hash, Hasher},
    };

    /// An id is a hash already.
    struct Same(u64);
    impl Hasher for Same {
        fn write(&mut self, bytes: &[u8]) {
            self.0 = bytes.iter().fold(self.0, |word, &byte| word.rotate_left(8) ^ u64::from(byte));
        }
        fn finish(&self) -> u64 {
            self.0
        }
    }
    // It tells this array from the block's others.
    let mut key = Same(0);
    TypeId::of::<(Place, [T; N])>().hash(&mut key);
    let key = core::ptr::without_provenance(key.finish() as usize);
    SharedArray::from_ptr(simt::current::shared_static(key, size_of::<[T; N]>(), align_of::<T>()).cast())
}

/// An array of `N` values in shared memory, from [`shared_array!`](crate::shared_array!). It is a pointer: copies name
/// the same array.
///
/// Accesses are unsafe as those through a raw pointer are: other threads may be at the same element, unless a barrier
/// lies between.
pub struct SharedArray<T, const N: usize> {
    first: *mut T,
}

impl<T, const N: usize> Clone for SharedArray<T, N> {
    #[inline(always)]
    fn clone(&self) -> Self {
        *self
    }
}

impl<T, const N: usize> Copy for SharedArray<T, N> {}

impl<T, const N: usize> fmt::Debug for SharedArray<T, N> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "SharedArray({:p}; {N})", self.first)
    }
}

// `len` isn't empty-checkable in any useful way: N is a constant.
#[allow(clippy::len_without_is_empty)]
impl<T, const N: usize> SharedArray<T, N> {
    #[doc(hidden)]
    #[inline(always)]
    pub const fn from_ptr(first: *mut T) -> Self {
        SharedArray { first }
    }

    /// `N`.
    #[inline(always)]
    pub const fn len(self) -> usize {
        N
    }

    /// The first element.
    #[inline(always)]
    pub const fn as_mut_ptr(self) -> *mut T {
        self.first
    }

    /// The same array in the shared memory of the cluster's block `rank`.
    ///
    /// # Safety
    /// As that of [`cluster::map`](crate::cluster::map).
    #[inline(always)]
    #[cfg_attr(not(cuda_device), track_caller)]
    pub unsafe fn of_block(self, rank: u32) -> Self {
        // SAFETY: the array is in shared memory, and the caller has promised the rest.
        SharedArray::from_ptr(unsafe { crate::cluster::map(self.first, rank) })
    }

    /// Debug builds check an index. On a GPU the message doesn't have it, which would take code.
    #[inline(always)]
    #[track_caller]
    fn check(index: usize, is_inside: bool) {
        if cfg!(cuda_device) {
            debug_assert!(is_inside, "index outside a shared array");
        } else {
            debug_assert!(is_inside, "index {index} is outside a shared array of length {N}");
        }
    }

    /// Element `index`, or the end of the array: for atomics, and for the accesses of [`mem`](crate::mem) that take any
    /// memory.
    ///
    /// # Safety
    /// `index <= N`.
    #[inline(always)]
    #[track_caller]
    pub unsafe fn at(self, index: usize) -> *mut T {
        Self::check(index, index <= N);
        // SAFETY: the place is within the array or at its end, as the caller has promised.
        unsafe { self.first.add(index) }
    }

    /// Element `index`.
    ///
    /// # Safety
    /// `index < N`, the element has been written, and no thread writes it meanwhile.
    #[inline(always)]
    #[track_caller]
    pub unsafe fn read(self, index: usize) -> T
    where
        T: Copy,
    {
        Self::check(index, index < N);
        // SAFETY: the element is within the array, has been written, and nobody writes it meanwhile, as the caller has
        // promised.
        unsafe { self.first.add(index).read() }
    }

    /// Writes element `index`.
    ///
    /// # Safety
    /// `index < N`, and no other thread accesses the element meanwhile.
    #[inline(always)]
    #[track_caller]
    pub unsafe fn write(self, index: usize, value: T)
    where
        T: Copy,
    {
        Self::check(index, index < N);
        // SAFETY: the element is within the array, and no other thread accesses it meanwhile, as the caller has
        // promised.
        unsafe { self.first.add(index).write(value) }
    }

    /// A reference to element `index`.
    ///
    /// # Safety
    /// `index < N`, the element has been written, and no thread writes it during `'a`.
    #[inline(always)]
    #[track_caller]
    pub unsafe fn get<'a>(self, index: usize) -> &'a T {
        Self::check(index, index < N);
        // SAFETY: the element is within the array, has been written, and nobody writes it during `'a`, as the caller
        // has promised.
        unsafe { &*self.first.add(index) }
    }

    /// The array as a slice.
    ///
    /// # Safety
    /// All elements have been written, and no thread writes any during `'a`.
    #[inline(always)]
    pub unsafe fn as_slice<'a>(self) -> &'a [T] {
        // SAFETY: the array has N elements; the caller has promised that all have been written and
        // that nobody writes them during `'a`.
        unsafe { core::slice::from_raw_parts(self.first, N) }
    }
}

/// The block's dynamic shared memory: [`dynamic_shared_size`] bytes, as many as the launch asked for. Every call gives
/// its start, whatever `T`.
///
/// Its alignment is 16 bytes, and `T`'s may not be more.
///
/// GPU: the external array of `.shared` memory. CPU: memory that the executor keeps for the block.
#[inline(always)]
pub fn dynamic_shared<T>() -> *mut T {
    const { assert!(align_of::<T>() <= 16, "dynamic shared memory is aligned to 16 bytes") };
    dynamic_start().cast()
}

#[cfg(cuda_device)]
#[inline(always)]
fn dynamic_start() -> *mut MaybeUninit<u8> {
    unsafe extern "C" {
        // `cuda_builder` makes the external shared array of it.
        static mut __cuda_std_dynamic_shared: [u8; 0];
    }
    (&raw mut __cuda_std_dynamic_shared).cast()
}

#[cfg(not(cuda_device))]
#[inline(always)]
fn dynamic_start() -> *mut MaybeUninit<u8> {
    simt::current::dynamic_shared().cast()
}

/// The size in bytes of the block's dynamic shared memory.
///
/// GPU: `%dynamic_smem_size`. CPU: what the launch asked for.
#[inline(always)]
pub fn dynamic_shared_size() -> usize {
    sys::thread::dynamic_shared_size()
}
