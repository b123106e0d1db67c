//! Kernel parameters as the PTX entry gets them (device only).

use crate::{
    Bf16x2, DisjointMatrix, DisjointSlice, F16x2, F32x2, F32x4, F64x2, I32x2, I32x4, U32x2, U32x4, U64x2, bf16, f16, signature,
    tensor::Descriptor,
};

/// The device's half of `KernelParam`. A kernel's PTX entry has a parameter for each of a type's words, and makes the
/// value of them: rustc would pass the address of a larger structure, and a slice in it without the promise that nobody
/// writes there.
#[diagnostic::on_unimplemented(
    message = "`{Self}` can't be a kernel parameter",
    note = "a kernel takes scalars, vectors (`F32x4`), `&[T]`, `&T`, `*const T`, `*mut T`, `DisjointSlice<T>`, `DisjointMatrix<T>`, arrays of up to 16, and structures of these with `#[derive(KernelParam)]`"
)]
pub trait DeviceParam: Sized {
    /// Its words, before those of `Rest`.
    type Before<Rest: Words>: Words;
    /// Takes the value off the front of a list.
    ///
    /// # Safety
    /// The words are those of a launch's argument: a structure may promise more than its fields' types do.
    unsafe fn take<Rest: Words>(words: Self::Before<Rest>) -> (Self, Rest);
}

/// The address of a kernel's entry, as a static that keeps the entry.
pub struct Entry(pub *const ());

// SAFETY: nobody reads the address.
unsafe impl Sync for Entry {}

/// A scalar or a pointer, which takes a word or two of an entry.
pub trait Word {
    /// Type of the word, or of its target if it is a pointer.
    type Element;
}

/// Stops the compiler, whose error names the parameter `P`.
fn too_large<P>() -> ! {
    const { assert!(size_of::<P>() == usize::MAX, "a kernel parameter has at most 16 words: make it two parameters") }
    unreachable!()
}

/// A list of words: `(f32, (u32, ()))`. By index, a word behind the last one is `()`: nothing is passed for it.
macro_rules! words {
    ($first:ident $($word:ident)*; $($behind:ident)*) => {
        /// A list of words, as nested pairs.
        #[allow(missing_docs)]
        pub trait Words: Sized {
            /// The signature of the words.
            const SIGNATURE: u64;
            /// The sum of the layouts of what they are, or point to.
            const LAYOUTS: u64;
            type First;
            type Rest: Words;
            type $first;
            $(type $word;)*
            fn join(first: Self::First, rest: Self::Rest) -> Self;
            /// The list behind the last index, in those of the parameter `P`.
            fn end<P>() -> Self;
        }
        impl Words for () {
            const SIGNATURE: u64 = signature::EMPTY;
            const LAYOUTS: u64 = 0;
            type First = ();
            type Rest = ();
            type $first = ();
            $(type $word = ();)*
            #[inline(always)]
            fn join(_: (), _: ()) {}
            #[inline(always)]
            fn end<P>() {}
        }
        impl<F: Word, R: Words> Words for (F, R) {
            const SIGNATURE: u64 = signature::field::<F, F::Element>(R::SIGNATURE);
            const LAYOUTS: u64 = <F::Element as signature::Layout>::LAYOUT.wrapping_add(R::LAYOUTS);
            type First = F;
            type Rest = R;
            type $first = F;
            $(type $word = R::$behind;)*
            #[inline(always)]
            fn join(first: F, rest: R) -> Self {
                (first, rest)
            }
            fn end<P>() -> Self {
                too_large::<P>()
            }
        }
    };
}
words!(F0 F1 F2 F3 F4 F5 F6 F7 F8 F9 F10 F11 F12 F13 F14 F15; F0 F1 F2 F3 F4 F5 F6 F7 F8 F9 F10 F11 F12 F13 F14);

/// A parameter that is the same on the host and in a kernel: a scalar, or a structure of scalars.
pub trait ValueParam: Copy + Send + Sync + DeviceParam {}
impl<T: Copy + Send + Sync + DeviceParam> ValueParam for T {}

macro_rules! alone {
    ($([$($generics:tt)*] $t:ty, $element:ty;)*) => {$(
        impl<$($generics)*> DeviceParam for $t {
            type Before<Rest: Words> = (Self, Rest);
            #[inline(always)]
            unsafe fn take<Rest: Words>(words: (Self, Rest)) -> (Self, Rest) {
                words
            }
        }
        impl<$($generics)*> Word for $t {
            type Element = $element;
        }
    )*};
}
alone! {
    ['a, T] &'a [T], T;
    ['a, T] &'a T, T;
    [T] *const T, T;
    [T] *mut T, T;
    ['a, T] DisjointSlice<'a, T>, T;
    [] u8, u8; [] u16, u16; [] u32, u32; [] u64, u64; [] usize, usize;
    [] i8, i8; [] i16, i16; [] i32, i32; [] i64, i64; [] isize, isize;
    [] bool, bool; [] f32, f32; [] f64, f64; [] f16, f16; [] bf16, bf16;
}

/// Parameters that are made of others: `type: the others => the value`.
macro_rules! made {
    ($([$($generics:tt)*] $t:ty: $($name:ident: $of:ty),* => $value:expr;)*) => {$(
        impl<$($generics)*> DeviceParam for $t {
            type Before<Rest: Words> = made!(@ Rest $($of),*);
            #[inline(always)]
            unsafe fn take<Rest: Words>(words: Self::Before<Rest>) -> (Self, Rest) {
                // SAFETY: the words are those of a launch, of these types in order.
                unsafe {
                    made!(@take words Rest $($name: $of),*);
                    ($value, words)
                }
            }
        }
    )*};
    (@ $rest:ident $first:ty $(, $of:ty)*) => { <$first as DeviceParam>::Before<made!(@ $rest $($of),*)> };
    (@ $rest:ident) => { $rest };
    (@take $words:ident $rest:ident $name:ident: $first:ty $(, $names:ident: $of:ty)*) => {
        let ($name, $words) = <$first as DeviceParam>::take::<made!(@ $rest $($of),*)>($words);
        made!(@take $words $rest $($names: $of),*);
    };
    (@take $words:ident $rest:ident) => {};
}
made! {
    ['a, T, const WIDTH: usize, const HEIGHT: usize] DisjointMatrix<'a, T, WIDTH, HEIGHT>:
        elements: DisjointSlice<'a, T>, columns: usize => DisjointMatrix::from_slice(elements, columns);
    [] u128: low: u64, high: u64 => u128::from(high) << 64 | u128::from(low);
    [] i128: bits: u128 => bits as i128;
    [] F16x2: x: f16, y: f16 => F16x2::new(x, y);
    [] Bf16x2: x: bf16, y: bf16 => Bf16x2::new(x, y);
    [] F32x2: all: [f32; 2] => all.into();
    [] F32x4: all: [f32; 4] => all.into();
    [] F64x2: all: [f64; 2] => all.into();
    [] I32x2: all: [i32; 2] => all.into();
    [] I32x4: all: [i32; 4] => all.into();
    [] U32x2: all: [u32; 2] => all.into();
    [] U32x4: all: [u32; 4] => all.into();
    [] U64x2: all: [u64; 2] => all.into();
}

/// Arrays, of up to as many elements as there are names.
macro_rules! arrays {
    ($first:ident $($name:ident)*) => {
        made! { [T: DeviceParam] [T; { [stringify!($first), $(stringify!($name)),*].len() }]: $first: T $(, $name: T)* => [$first $(, $name)*]; }
        arrays!($($name)*);
    };
    () => {};
}
arrays!(a b c d e f g h i j k l m n o p);

macro_rules! tensors {
    ($($map:ident)*) => {$(
        impl<'a, T, const RANK: usize> DeviceParam for crate::$map<'a, T, RANK> {
            type Before<Rest: Words> = (*const Descriptor, Rest);
            #[inline(always)]
            unsafe fn take<Rest: Words>((descriptor, rest): (*const Descriptor, Rest)) -> (Self, Rest) {
                // In PTX for less the first copy panics.
                if crate::arch() >= 900 {
                    crate::gpu::tensor::acquire(descriptor);
                }
                // SAFETY: the caller has promised that it is a launch's.
                (unsafe { crate::$map::new(descriptor) }, rest)
            }
        }
    )*};
}
tensors!(TensorMap TensorMapMut);
