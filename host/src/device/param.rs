//! Buffers and views as kernel arguments.

use super::buffer::{Buffer, View, ViewMut};
use super::launch::NOWHERE;
use bytemuck::Pod;
use cuda_std::DisjointSlice;
use cuda_std::launch::{IntoParam, Location, RawPtr, RawSlice};

/// `$source` for parameters that read.
macro_rules! reads {
    ($($source:ty),* $(,)?) => {$(
        impl<T: Pod> IntoParam<&'static [T]> for $source {
            fn raw(&self) -> RawSlice<T> {
                let view = self.as_view();
                RawSlice { ptr: view.first(), len: view.len() }
            }
            fn location(&self) -> Option<Location> {
                Some(self.device().location())
            }
        }

        /// For the first element. A launch with an empty buffer fails.
        impl<T: Pod> IntoParam<&'static T> for $source {
            fn raw(&self) -> RawPtr<T> {
                RawPtr(self.as_view().first())
            }
            fn location(&self) -> Option<Location> {
                Some(if self.is_empty() { NOWHERE } else { self.device().location() })
            }
        }

        impl<T: Pod> IntoParam<*const T> for $source {
            fn raw(&self) -> RawPtr<T> {
                RawPtr(self.as_view().first())
            }
            fn location(&self) -> Option<Location> {
                Some(self.device().location())
            }
        }
    )*};
}
reads!(&Buffer<T>, View<'_, T>, &View<'_, T>, &ViewMut<'_, T>);

/// `$source` for parameters that write.
macro_rules! writes {
    ($($source:ty),* $(,)?) => {$(
        impl<T: Pod> IntoParam<*mut T> for $source {
            fn raw(&self) -> RawPtr<T> {
                RawPtr(self.as_view().first())
            }
            fn location(&self) -> Option<Location> {
                Some(self.device().location())
            }
        }

        impl<T: Pod> IntoParam<*const T> for $source {
            fn raw(&self) -> RawPtr<T> {
                RawPtr(self.as_view().first())
            }
            fn location(&self) -> Option<Location> {
                Some(self.device().location())
            }
        }

        impl<T: Pod + Send> IntoParam<DisjointSlice<T>> for $source {
            fn raw(&self) -> RawSlice<T> {
                let view = self.as_view();
                RawSlice { ptr: view.first(), len: view.len() }
            }
            fn location(&self) -> Option<Location> {
                Some(self.device().location())
            }
        }
    )*};
}
writes!(&mut Buffer<T>, ViewMut<'_, T>, &mut ViewMut<'_, T>);
