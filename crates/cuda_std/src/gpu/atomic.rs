//! Functions that `cuda_builder` makes from their names (its module `intrinsics`).

use crate::atomic::raw::{Scope, with_operations};

macro_rules! scope {
    ($marker:ident $scope:literal $($name:ident($p:ty $(, $argument:ident: $t:ty)*) $(-> $r:ty)?;)*) => {
        pub struct $marker;

        impl Scope for $marker {
            $(
                #[inline(always)]
                unsafe fn $name(p: *mut $p $(, $argument: $t)*) $(-> $r)? {
                    // SAFETY: the signature is that of the function that is made from the name.
                    unsafe extern "C" {
                        #[link_name = concat!("__cuda_std_atomic_", stringify!($name), "_", $scope)]
                        fn operation(p: *mut $p $(, $argument: $t)*) $(-> $r)?;
                    }
                    // SAFETY: the pointer is valid for the operation, as the caller has promised.
                    unsafe { operation(p $(, $argument)*) }
                }
            )*

            #[inline(always)]
            fn fence_acq_rel() {
                // SAFETY: the signature is that of the function that is made from the name, and a fence is safe anywhere.
                unsafe extern "C" {
                    #[link_name = concat!("__cuda_std_atomic_fence_acq_rel_", $scope)]
                    safe fn fence();
                }
                fence();
            }
        }
    };
}
with_operations!(scope! Block "block");
with_operations!(scope! Device "device");
with_operations!(scope! System "system");
