//! Buffers and views as kernel arguments.

use super::buffer::{Buffer, View, ViewMut};
use super::launch::NOWHERE;
use cuda_std::launch::{Arguments, IntoParam, RawPtr, RawSlice};
use cuda_std::{DeviceCopy, DisjointSlice};

/// `$source` for the parameter `$parameter`, whose raw form is `$raw` of a view.
macro_rules! passes {
    ($($source:ty => $parameter:ty $(where T: $bound:ident)?, $raw:ident $of:ident;)*) => {$(
        // SAFETY: a view's elements are initialised and live as long as it is borrowed; parameters
        // that only read take shared references, the others exclusive ones. The uses are noted.
        unsafe impl<T: DeviceCopy $(+ $bound)?> IntoParam<$parameter> for $source {
            fn raw(&self) -> $raw<T> {
                $of(self.as_view())
            }
            fn memory(&self, arguments: &mut Arguments) {
                arguments.note::<$parameter>(self.as_view().memory());
            }
        }
    )*};
}

fn slice<T: DeviceCopy>(view: View<'_, T>) -> RawSlice<T> {
    RawSlice::new(view.first(), view.len())
}

fn pointer<T: DeviceCopy>(view: View<'_, T>) -> RawPtr<T> {
    RawPtr::new(view.first())
}

macro_rules! reads {
    ($($source:ty),* $(,)?) => {$(
        passes! {
            $source => &'static [T], RawSlice slice;
            $source => *const T, RawPtr pointer;
        }

        /// For the first element. A launch with an empty buffer fails.
        // SAFETY: the view's first element is initialised and lives as long as it is borrowed, and nobody writes it
        // meanwhile. A launch with memory that is nowhere fails.
        unsafe impl<T: DeviceCopy> IntoParam<&'static T> for $source {
            fn raw(&self) -> RawPtr<T> {
                pointer(self.as_view())
            }
            fn memory(&self, arguments: &mut Arguments) {
                let mut memory = self.as_view().memory();
                if self.is_empty() {
                    memory.location = NOWHERE;
                }
                memory.bytes.end = memory.bytes.end.min(memory.bytes.start + size_of::<T>());
                arguments.note::<&'static T>(memory);
            }
        }
    )*};
}
reads!(&Buffer<T>, View<'_, T>, &View<'_, T>, &ViewMut<'_, T>);

macro_rules! writes {
    ($($source:ty),* $(,)?) => {
        passes! {$(
            $source => *mut T, RawPtr pointer;
            $source => *const T, RawPtr pointer;
            $source => DisjointSlice<'static, T> where T: Send, RawSlice slice;
        )*}
    };
}
writes!(&mut Buffer<T>, ViewMut<'_, T>, &mut ViewMut<'_, T>);
