//! Signatures of kernels: hashes of parameter types, which both builds of a kernel crate have to agree on.
//!
//! A parameter counts by its type's name, and by the sizes and alignments of its fields or, for pointers, of their
//! elements. The layouts of the elements of each argument's memory ([`DeviceCopy`](crate::DeviceCopy)) are added to the
//! hash, because some bits may be no value of theirs.

use core::any::type_name;

/// The signature of nothing.
pub const EMPTY: u64 = 0xcbf2_9ce4_8422_2325;

/// `signature`, and a text and a number (FNV-1a).
pub const fn mixed(mut signature: u64, text: &str, number: u64) -> u64 {
    let mut rest = text.as_bytes();
    while let [byte, behind @ ..] = rest {
        signature = (signature ^ *byte as u64).wrapping_mul(0x100_0000_01b3);
        rest = behind;
    }
    (signature ^ number).wrapping_mul(0x100_0000_01b3)
}

/// Functions that are constant on the device, where unstable features are.
macro_rules! functions {
    ($($(#[$doc:meta])* fn $name:ident<$($t:ident),*>($($argument:ident),*) { $body:expr })*) => {$(
        $(#[$doc])*
        #[cfg(cuda_device)]
        pub const fn $name<$($t),*>($($argument: u64),*) -> u64 { $body }
        $(#[$doc])*
        #[cfg(not(cuda_device))]
        pub fn $name<$($t),*>($($argument: u64),*) -> u64 { $body }
    )*};
}
functions! {
    /// `signature`, and a parameter whose fields have the signature `fields`.
    fn parameter<P>(signature, fields) { mixed(signature, type_name::<P>(), fields) }
    /// `signature`, and a field that is an `E`, or points to such.
    fn field<F, E>(signature) { mixed(signature, type_name::<F>(), (size_of::<E>() << 32 | align_of::<E>()) as u64) }
}

/// The layout of what a word is, or points to.
#[cfg(cuda_device)]
pub trait Layout {
    /// 0 of types that no buffer holds.
    const LAYOUT: u64;
}
#[cfg(cuda_device)]
impl<T> Layout for T {
    default const LAYOUT: u64 = 0;
}
#[cfg(cuda_device)]
impl<T: crate::DeviceCopy> Layout for T {
    const LAYOUT: u64 = T::LAYOUT;
}
