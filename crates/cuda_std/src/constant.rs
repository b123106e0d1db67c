//! Constant memory: small tables that the host fills and every thread reads.

#[cfg(not(cuda_device))]
use crate::launch::Origin;
use bytemuck::Pod;
use core::cell::UnsafeCell;

/// Declares arrays in constant memory: `constant! { pub static COEFFS: [f32; 64]; }`.
///
/// Each is a [`Constant<T, N>`](crate::constant::Constant): zero until the host fills it, the same for every thread,
/// and fastest where the threads of a warp read the same element. A module has 64 KiB of it.
///
/// **On the device its name is global**: the variable in the PTX module has the static's name (`COEFFS`), whichever
/// Rust module declares it, so that the host finds it. Two constants of one name in a kernel crate don't link.
///
/// GPU: a variable in `.const` memory, read by `ld.const`. CPU: a static.
///
/// ```
/// use cuda_std::prelude::*;
///
/// constant! {
///     /// The polynomial's coefficients, the constant term first.
///     pub static COEFFS: [f32; 4];
/// }
///
/// fn polynomial(x: f32) -> f32 {
///     COEFFS.as_slice().iter().rev().fold(0.0, |sum, c| sum * x + c)
/// }
/// ```
#[macro_export]
macro_rules! constant {
    ($($(#[$attribute:meta])* $vis:vis static $name:ident: [$t:ty; $n:expr];)*) => {$(
        $crate::__constant!([$(#[$attribute])*] $vis $name $t, { $n });
    )*};
}

/// The device's half of [`constant!`].
#[cfg(cuda_device)]
#[doc(hidden)]
#[macro_export]
macro_rules! __constant {
    ([$($attributes:tt)*] $vis:vis $name:ident $t:ty, $n:expr) => {
        $($attributes)*
        // `cuda_builder` turns everything in this section into constants that the host initialises.
        #[unsafe(link_section = ".cuda.constant")]
        #[unsafe(no_mangle)]
        $vis static $name: $crate::__private::Constant<$t, { $n }> =
            $crate::__private::Constant::zeroed(stringify!($name), ::core::module_path!(), $crate::__private::package!());
    };
}

/// The CPU's half of [`constant!`].
#[cfg(not(cuda_device))]
#[doc(hidden)]
#[macro_export]
macro_rules! __constant {
    ([$($attributes:tt)*] $vis:vis $name:ident $t:ty, $n:expr) => {
        $($attributes)*
        $vis static $name: $crate::__private::Constant<$t, { $n }> =
            $crate::__private::Constant::zeroed(stringify!($name), ::core::module_path!(), $crate::__private::package!());
    };
}

/// An array in constant memory, from [`constant!`](crate::constant!).
///
/// On the CPU it holds the values for kernels that run there, and its name in PTX modules.
#[repr(C)]
pub struct Constant<T: Pod, const N: usize> {
    // The device's variable is this alone. The cell keeps the compiler from treating the initial zeroes as the values.
    values: UnsafeCell<[T; N]>,
    #[cfg(not(cuda_device))]
    name: &'static str,
    /// The path of the Rust module that declares it.
    #[cfg(not(cuda_device))]
    path: &'static str,
    #[cfg(not(cuda_device))]
    package: u64,
}

// SAFETY: threads share it to read it. `store` alone writes it, which is unsafe and demands that nobody reads it
// meanwhile; on the device the host writes it, between launches only.
unsafe impl<T: Pod, const N: usize> Sync for Constant<T, N> {}

#[allow(clippy::len_without_is_empty)]
impl<T: Pod, const N: usize> Constant<T, N> {
    #[doc(hidden)]
    #[cfg_attr(cuda_device, allow(unused_variables))]
    pub const fn zeroed(name: &'static str, path: &'static str, package: u64) -> Self {
        Constant {
            // SAFETY: all zeroes are a value of any `Pod` type.
            values: UnsafeCell::new(unsafe { core::mem::zeroed() }),
            #[cfg(not(cuda_device))]
            name,
            #[cfg(not(cuda_device))]
            path,
            #[cfg(not(cuda_device))]
            package,
        }
    }

    /// Element `index`. It panics outside the array.
    #[inline(always)]
    pub fn get(&self, index: usize) -> T {
        self.as_slice()[index]
    }

    /// All elements.
    #[inline(always)]
    pub fn as_slice(&self) -> &[T] {
        // SAFETY: the values are initialised, and nothing writes them while a reference lives: `store` demands it, and
        // the host writes the device's between launches only.
        unsafe { &*self.values.get() }
    }

    /// `N`.
    #[inline(always)]
    pub const fn len(&self) -> usize {
        N
    }
}

#[cfg(not(cuda_device))]
impl<T: Pod, const N: usize> Constant<T, N> {
    /// The name of the variable in a PTX module.
    pub const fn name(&self) -> &'static str {
        self.name
    }

    /// The crate that declares it.
    pub fn origin(&self) -> Origin {
        Origin::of(self.package, self.path)
    }

    /// The variable's size in bytes.
    pub const fn byte_len(&self) -> usize {
        size_of::<[T; N]>()
    }

    /// Sets the values that kernels on the CPU read.
    ///
    /// # Safety
    /// No kernel that reads this constant runs on the CPU meanwhile, and no reference from [`as_slice`](Self::as_slice)
    /// lives on.
    pub unsafe fn store(&self, values: &[T; N]) {
        // SAFETY: nobody else accesses the values, as the caller has promised.
        unsafe { *self.values.get() = *values };
    }
}
