//! A kernel's output in which each thread writes its own elements.

use crate::thread::{wide_index, wide_stride};
use core::{fmt, marker::PhantomData};

/// A kernel parameter: memory of which each thread may access only its own elements, so that no `unsafe` is needed.
///
/// A thread's own elements are that of its [`index_1d`](crate::thread::index_1d) and, in steps of the grid's size, those
/// after it: over a one-dimensional grid, which the host insists on for such kernels, no two threads share one.
///
/// ```
/// use cuda_std::prelude::*;
///
/// #[kernel]
/// pub fn double(input: &[f32], mut output: DisjointSlice<f32>) {
///     if let (Some(x), Some(y)) = (input.get(thread::index_1d() as usize), output.get_mut()) {
///         *y = 2.0 * x;
///     }
/// }
/// # fn main() {}
/// ```
///
/// GPU: two parameters, pointer and length. The pointer carries no promise of being the only one, so stores are plain
/// `st.global`.
// Neither Copy nor Clone, and the methods take `&mut self`: a thread has at most one reference to each of its elements.
pub struct DisjointSlice<T> {
    first: *mut T,
    len: usize,
}

impl<T> DisjointSlice<T> {
    /// The slice as one thread of the running kernel sees it.
    ///
    /// # Safety
    /// `first` points to `len` initialised values that live and are aligned as long as the result is used, and that are
    /// accessed only through the results of this function, one for each thread of a one-dimensional grid of one-dimensional
    /// blocks.
    #[inline(always)]
    pub const unsafe fn from_raw_parts(first: *mut T, len: usize) -> Self {
        DisjointSlice { first, len }
    }

    /// The number of elements, of all threads together.
    #[inline(always)]
    pub const fn len(&self) -> usize {
        self.len
    }

    /// Whether there are no elements.
    #[inline(always)]
    pub const fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// The element at the thread's index, if the slice goes so far.
    #[inline(always)]
    pub fn get_mut(&mut self) -> Option<&mut T> {
        let index = wide_index();
        if index >= self.len {
            return None;
        }
        // SAFETY: within the slice. No other thread of a one-dimensional grid has this index or reaches it in steps of the
        // grid's size, and this thread has no other reference to it while `self` is borrowed.
        Some(unsafe { &mut *self.first.add(index) })
    }

    /// Sets the element at the thread's index, and says whether there is one.
    #[inline(always)]
    pub fn set(&mut self, value: T) -> bool {
        match self.get_mut() {
            Some(element) => {
                *element = value;
                true
            }
            None => false,
        }
    }

    /// The thread's elements with their indices: that at its index, and from there in steps of the grid's size.
    #[inline(always)]
    pub fn grid_stride_mut(&mut self) -> GridStrideMut<'_, T> {
        GridStrideMut { first: self.first, len: self.len, next: wide_index(), step: wide_stride(), borrow: PhantomData }
    }
}

impl<T> fmt::Debug for DisjointSlice<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "DisjointSlice({:p}; {})", self.first, self.len)
    }
}

/// The iterator of [`DisjointSlice::grid_stride_mut`].
#[derive(Debug)]
pub struct GridStrideMut<'a, T> {
    first: *mut T,
    len: usize,
    next: usize,
    step: usize,
    borrow: PhantomData<&'a mut T>,
}

impl<'a, T> Iterator for GridStrideMut<'a, T> {
    type Item = (usize, &'a mut T);

    #[inline(always)]
    fn next(&mut self) -> Option<Self::Item> {
        let index = self.next;
        if index >= self.len {
            return None;
        }
        self.next = index.saturating_add(self.step);
        // SAFETY: within the slice. Indices grow from one call to the next, so this thread gets each element once while the
        // slice is borrowed; those of two threads differ by other than a multiple of the step, which is the number of
        // threads.
        Some((index, unsafe { &mut *self.first.add(index) }))
    }
}

impl<T> crate::DeviceParam for DisjointSlice<T> {}

#[cfg(not(cuda_device))]
mod host {
    use super::DisjointSlice;
    use crate::launch::{KernelParam, RawSlice};

    // SAFETY: a structure of a pointer and a length is passed as these two under the Rust ABI.
    unsafe impl<T: Send> KernelParam for DisjointSlice<T> {
        type Raw = RawSlice<T>;

        unsafe fn from_raw(raw: RawSlice<T>) -> Self {
            // SAFETY: the caller vouches for pointer, length and sharing, and the host launches such kernels on one-dimensional
            // grids only.
            unsafe { DisjointSlice::from_raw_parts(raw.ptr, raw.len) }
        }

        fn words(raw: RawSlice<T>, out: &mut Vec<u64>) {
            out.push(raw.ptr as u64);
            out.push(raw.len as u64);
        }
    }
}
