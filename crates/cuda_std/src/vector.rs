//! Short vectors that one instruction loads or stores.

use bytemuck::{Pod, Zeroable};

macro_rules! vectors {
    ($($name:ident($($derive:ident)*): $t:ty, $n:literal, $align:literal, $bits:literal { $($field:ident $i:literal),* })*) => {$(
        #[doc = concat!(stringify!($n), " values of `", stringify!($t), "`, aligned to ", stringify!($align), " bytes: one `ld.v", $bits, "`/`st.v", $bits, "`.")]
        #[derive(Debug, Clone, Copy, PartialEq, Default, Pod, Zeroable, $($derive),*)]
        #[repr(C, align($align))]
        pub struct $name {
            $(#[doc = concat!("Component ", stringify!($i), ".")] pub $field: $t,)*
        }

        impl $name {
            /// A vector of these components.
            #[inline(always)]
            pub const fn new($($field: $t),*) -> Self {
                Self { $($field),* }
            }

            /// A vector whose components are all `value`.
            #[inline(always)]
            pub const fn splat(value: $t) -> Self {
                Self { $($field: value),* }
            }

            /// The components in order.
            #[inline(always)]
            pub const fn to_array(self) -> [$t; $n] {
                [$(self.$field),*]
            }
        }

        impl From<[$t; $n]> for $name {
            #[inline(always)]
            fn from([$($field),*]: [$t; $n]) -> Self {
                Self { $($field),* }
            }
        }

        impl From<$name> for [$t; $n] {
            #[inline(always)]
            fn from(vector: $name) -> Self {
                vector.to_array()
            }
        }
    )*};
}
vectors! {
    U32x2(Eq Hash): u32, 2, 8, "2.b32" { x 0, y 1 }
    U32x4(Eq Hash): u32, 4, 16, "4.b32" { x 0, y 1, z 2, w 3 }
    I32x2(Eq Hash): i32, 2, 8, "2.b32" { x 0, y 1 }
    I32x4(Eq Hash): i32, 4, 16, "4.b32" { x 0, y 1, z 2, w 3 }
    F32x2(): f32, 2, 8, "2.b32" { x 0, y 1 }
    F32x4(): f32, 4, 16, "4.b32" { x 0, y 1, z 2, w 3 }
    U64x2(Eq Hash): u64, 2, 16, "2.b64" { x 0, y 1 }
    F64x2(): f64, 2, 16, "2.b64" { x 0, y 1 }
}
