//! Inline PTX: [`ptx_asm!`](crate::ptx_asm!).
//!
//! ```
//! use cuda_std::prelude::*;
//!
//! /// The low 32 bits of `a * b + c` as numbers of 24 bits.
//! pub fn mad24(a: u32, b: u32, c: u32) -> u32 {
//!     let d: u32;
//!     // SAFETY: the instruction computes.
//!     unsafe {
//!         ptx_asm!(
//!             "mad24.lo.u32 {d}, {0}, {1}, {2};",
//!             in(b32) a,
//!             in(b32) b,
//!             in(b32) c,
//!             d = out(b32) d,
//!             options(pure);
//!             cpu => d = (a & 0xff_ffff).wrapping_mul(b & 0xff_ffff).wrapping_add(c)
//!         );
//!     }
//!     d
//! }
//! assert_eq!(mad24(0x100_0003, 5, 2), 17);
//! ```

/// Values that [`ptx_asm!`](crate::ptx_asm!) keeps in a register whose bits `R` holds: `u16` for `b16`, `u32` for
/// `b32`, `u64` for `b64`, `f32`, `f64`.
pub trait Register<R>: Copy {
    /// The register's bits.
    fn to_register(self) -> R;
    /// The value of these bits.
    fn from_register(bits: R) -> Self;
}

macro_rules! registers {
    ($([$($generics:tt)*] $t:ty, $r:ty: |$value:ident| $to:expr, |$bits:ident| $from:expr;)*) => {$(
        impl<$($generics)*> Register<$r> for $t {
            #[inline(always)]
            fn to_register(self) -> $r { let $value = self; $to }
            #[inline(always)]
            fn from_register($bits: $r) -> Self { $from }
        }
    )*};
}
registers! {
    [] u16, u16: |v| v, |b| b;
    [] i16, u16: |v| v as u16, |b| b as i16;
    [] u32, u32: |v| v, |b| b;
    [] i32, u32: |v| v as u32, |b| b as i32;
    [] u64, u64: |v| v, |b| b;
    [] i64, u64: |v| v as u64, |b| b as i64;
    [] usize, u64: |v| v as u64, |b| b as usize;
    [] isize, u64: |v| v as u64, |b| b as isize;
    [T] *const T, u64: |v| v.expose_provenance() as u64, |b| core::ptr::with_exposed_provenance(b as usize);
    [T] *mut T, u64: |v| v.expose_provenance() as u64, |b| core::ptr::with_exposed_provenance_mut(b as usize);
    [] f32, f32: |v| v, |b| b;
    [] f64, f64: |v| v, |b| b;
}

/// Makes `ptx_asm!` unsafe on the CPU, too.
///
/// # Safety
/// None.
#[doc(hidden)]
#[inline(always)]
pub const unsafe fn demand_unsafe() {}

/// Declares functions that a file of device code defines, which the build links (`CudaBuilder::link`), with what the CPU
/// does in their place. They are unsafe to call, because nothing checks that the file's have these parameters.
///
/// Parameters and results are numbers of 32 or 64 bits and pointers. On a GPU the functions are `extern "C"`, by their
/// names.
///
/// ```
/// cuda_std::linked! {
///     /// Exchanges the halves of a word.
///     pub fn exchange_halves(x: u32) -> u32 {
///         x.rotate_left(16)
///     }
/// }
/// // SAFETY: the PTX has this function of a word.
/// assert_eq!(unsafe { exchange_halves(0x1234_5678) }, 0x5678_1234);
/// ```
#[macro_export]
macro_rules! linked {
    ($($(#[$attribute:meta])* $visibility:vis fn $name:ident($($x:ident: $t:ty),* $(,)?) $(-> $result:ty)? $cpu:block)*) => {$(
        $crate::__device! {
            // SAFETY: who calls the function promises that the file's has these parameters.
            unsafe extern "C" {
                $(#[$attribute])*
                $visibility fn $name($($x: $t),*) $(-> $result)?;
            }
        }
        $crate::__host! {
            $(#[$attribute])*
            #[allow(clippy::missing_safety_doc)]
            $visibility unsafe fn $name($($x: $t),*) $(-> $result)? $cpu
        }
    )*};
}
