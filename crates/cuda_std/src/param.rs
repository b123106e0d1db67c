//! Kernel parameters as the PTX entry gets them (device only).

use crate::{signature, tensor::Descriptor};
use half::{bf16, f16};

/// The device's half of `KernelParam`. A kernel's PTX entry has a parameter for each of a type's fields, and makes the
/// value of them: rustc would pass the address of a larger structure, and a slice in it without the promise that nobody
/// writes there.
#[diagnostic::on_unimplemented(
    message = "`{Self}` can't be a kernel parameter",
    note = "a kernel takes scalars, `&[T]`, `&T`, `*const T`, `*mut T`, `DisjointSlice<T>`, `DisjointMatrix<T>`, and structures of these with `#[derive(KernelParam)]`"
)]
pub trait DeviceParam {
    /// A tuple of the fields; what isn't a structure is its own only field.
    type Fields: Spread;
    /// The value of these fields.
    ///
    /// # Safety
    /// They are those of a launch's argument: a structure may promise more than its fields' types do.
    unsafe fn from_fields(fields: Self::Fields) -> Self;
}

/// The address of a kernel's entry, as a static that keeps the entry.
pub struct Entry(pub *const ());

// SAFETY: nobody reads the address.
unsafe impl Sync for Entry {}

/// Parameters that take one or two words of an entry: anything but a structure.
#[diagnostic::on_unimplemented(
    message = "`{Self}` can't be a field of a kernel parameter",
    note = "such fields are scalars, `&[T]`, `&T`, `*const T`, `*mut T` and `DisjointSlice<T>`: take another structure as a parameter of its own"
)]
pub trait FieldParam {
    /// What it is, or points to.
    type Element;
}

macro_rules! spread {
    ($($f:ident)*) => {
        /// A tuple as a list of types of a fixed length, padded with `()`, for which nothing is
        /// passed.
        pub trait Spread {
            /// The signature of the fields.
            const SIGNATURE: u64;
            $(#[allow(missing_docs)] type $f;)*
            /// The tuple.
            #[allow(missing_docs, non_snake_case, clippy::too_many_arguments)]
            fn gather($($f: Self::$f),*) -> Self;
        }
        spread!(@ [] $($f)*);
    };
    (@ [$($own:ident)*] $($rest:ident)*) => {
        impl<$($own: FieldParam),*> Spread for ($($own,)*) {
            const SIGNATURE: u64 = {
                #[allow(unused_mut)]
                let mut signature = signature::EMPTY;
                $(signature = signature::field::<$own, $own::Element>(signature);)*
                signature
            };
            $(type $own = $own;)*
            $(type $rest = ();)*
            #[inline(always)]
            #[allow(non_snake_case, unused_variables)]
            fn gather($($own: $own,)* $($rest: ()),*) -> Self {
                ($($own,)*)
            }
        }
        spread!(@next [$($own)*] $($rest)*);
    };
    (@next [$($own:ident)*] $next:ident $($rest:ident)*) => {
        spread!(@ [$($own)* $next] $($rest)*);
    };
    (@next [$($own:ident)*]) => {};
}
spread!(F0 F1 F2 F3 F4 F5 F6 F7 F8 F9 F10 F11 F12 F13 F14 F15);

/// A scalar.
pub trait ScalarParam: Copy + Send + Sync + FieldParam {}

macro_rules! scalars {
    ($($t:ty)*) => {$(impl ScalarParam for $t {})*};
}
scalars!(u8 u16 u32 u64 usize i8 i16 i32 i64 isize bool f32 f64 f16 bf16);

macro_rules! alone {
    ($([$($generics:tt)*] $t:ty, $element:ty;)*) => {$(
        impl<$($generics)*> DeviceParam for $t {
            type Fields = (Self,);
            #[inline(always)]
            unsafe fn from_fields((value,): (Self,)) -> Self {
                value
            }
        }
        impl<$($generics)*> FieldParam for $t {
            type Element = $element;
        }
    )*};
}
impl<'a, T, const WIDTH: usize, const HEIGHT: usize> DeviceParam for crate::DisjointMatrix<'a, T, WIDTH, HEIGHT> {
    type Fields = (crate::DisjointSlice<'a, T>, usize);
    #[inline(always)]
    unsafe fn from_fields((elements, columns): Self::Fields) -> Self {
        // SAFETY: the caller has promised that they are those of a launch, which every thread gets alike.
        unsafe { crate::DisjointMatrix::from_slice(elements, columns) }
    }
}

macro_rules! tensors {
    ($($map:ident)*) => {$(
        impl<'a, T, const RANK: usize> DeviceParam for crate::$map<'a, T, RANK> {
            type Fields = (*const Descriptor,);
            #[inline(always)]
            unsafe fn from_fields((descriptor,): Self::Fields) -> Self {
                // In PTX for less the first copy panics.
                if crate::arch() >= 900 {
                    crate::gpu::tensor::acquire(descriptor);
                }
                // SAFETY: the caller has promised that it is a launch's.
                unsafe { crate::$map::new(descriptor) }
            }
        }
    )*};
}
tensors!(TensorMap TensorMapMut);

alone! {
    ['a, T] &'a [T], T;
    ['a, T] &'a T, T;
    [T] *const T, T;
    [T] *mut T, T;
    ['a, T] crate::DisjointSlice<'a, T>, T;
    [] u8, u8; [] u16, u16; [] u32, u32; [] u64, u64; [] usize, usize;
    [] i8, i8; [] i16, i16; [] i32, i32; [] i64, i64; [] isize, isize;
    [] bool, bool; [] f32, f32; [] f64, f64; [] f16, f16; [] bf16, bf16;
}
