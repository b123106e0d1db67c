//! Functions that `cuda_builder` makes from their names (its module `intrinsics`).

use crate::atomic::{BitOperations, Operations, float_extremes, operations};

macro_rules! implement {
    ($t:ty, $scope:literal; $($name:ident($($argument:ident: $a:ty),*) -> $r:ty;)*) => {$(
        #[inline(always)]
        unsafe fn $name(p: *mut $t $(, $argument: $a)*) -> $r {
            // SAFETY: the signature is that of the function that is made from the name.
            unsafe extern "C" {
                #[link_name = concat!("__cuda_std_atomic_", stringify!($name), "_", stringify!($t), "_", $scope)]
                fn operation(p: *mut $t $(, $argument: $a)*) -> $r;
            }
            // SAFETY: the pointer is valid for the operation, as the caller has promised.
            unsafe { operation(p $(, $argument)*) }
        }
    )*};
}

macro_rules! scope {
    ($marker:ident $scope:literal) => {
        pub struct $marker;

        impl $marker {
            #[inline(always)]
            pub fn fence_acq_rel() {
                // SAFETY: the signature is that of the function that is made from the name, and a fence is safe
                // anywhere.
                unsafe extern "C" {
                    #[link_name = concat!("__cuda_std_atomic_fence_acq_rel_", $scope)]
                    safe fn fence();
                }
                fence();
            }
        }
        scope!(@integers $marker $scope u32 i32 u64 i64);
        scope!(@floats $marker $scope f32 u32 i32, f64 u64 i64);
    };
    (@integers $marker:ident $scope:literal $($t:ident)*) => {$(
        impl Operations<$marker> for $t {
            operations!(implement! Common $t, $scope);
            operations!(implement! Extremes $t, $scope);
        }
        impl BitOperations<$marker> for $t {
            operations!(implement! Bits $t, $scope);
        }
    )*};
    (@floats $marker:ident $scope:literal $($t:ident $u:ident $i:ident),*) => {$(
        impl Operations<$marker> for $t {
            operations!(implement! Common $t, $scope);
            float_extremes!($t, $u, $i, $marker);
        }
    )*};
}
scope!(Block "block");
scope!(Device "device");
scope!(System "system");
