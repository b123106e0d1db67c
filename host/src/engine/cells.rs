//! One slice that many threads write.

use std::marker::PhantomData;
use std::ops::Range;
use std::ptr::NonNull;
use std::slice;

/// A slice of which threads write disjoint parts at the same time.
#[derive(Debug)]
pub struct Cells<'a, T> {
    first: NonNull<T>,
    len: usize,
    slice: PhantomData<&'a mut [T]>,
}

// SAFETY: it is a `&mut [T]`, which goes to another thread where `T` does.
unsafe impl<T: Send> Send for Cells<'_, T> {}

// SAFETY: all that a shared one gives is `&mut [T]`, never to the same element twice at a time, as `slice_mut` demands.
// So an element is in one thread's hands at a time, for which `T: Send` suffices.
unsafe impl<T: Send> Sync for Cells<'_, T> {}

impl<'a, T> Cells<'a, T> {
    /// Takes the slice for itself.
    pub fn new(slice: &'a mut [T]) -> Self {
        Cells { len: slice.len(), first: NonNull::from(slice).cast(), slice: PhantomData }
    }

    /// The slice's length.
    pub fn len(&self) -> usize {
        self.len
    }

    /// Whether the slice has no elements.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// A part of the slice.
    ///
    /// # Panics
    /// Where `range` reaches beyond the slice.
    ///
    /// # Safety
    /// While the part is in use, no other part that shares elements with it is.
    #[expect(clippy::mut_from_ref, reason = "disjoint parts are what it is for")]
    pub unsafe fn slice_mut(&self, range: Range<usize>) -> &mut [T] {
        assert!(range.start <= range.end && range.end <= self.len, "{range:?} is not within 0..{}", self.len);
        // SAFETY: the range lies within the slice, which is borrowed mutably for 'a, and the caller sees to it that
        // nobody else uses these elements.
        unsafe { slice::from_raw_parts_mut(self.first.add(range.start).as_ptr(), range.len()) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn threads_write_disjoint_parts() {
        let mut values = vec![0usize; 1000];
        let cells = Cells::new(&mut values);
        assert!(cells.len() == 1000 && !cells.is_empty());
        std::thread::scope(|scope| {
            for thread in 0..4 {
                let cells = &cells;
                scope.spawn(move || {
                    for i in (thread * 10..1000).step_by(40) {
                        // SAFETY: the threads' tens differ.
                        let part = unsafe { cells.slice_mut(i..i + 10) };
                        part.iter_mut().zip(i..).for_each(|(value, i)| *value = i);
                    }
                });
            }
        });
        assert!(values.iter().copied().eq(0..1000));
    }

    #[test]
    #[should_panic = "3..5 is not within 0..4"]
    fn beyond_the_end() {
        let mut values = [0; 4];
        let cells = Cells::new(&mut values);
        // SAFETY: it is the only part.
        unsafe { cells.slice_mut(3..5) };
    }
}
