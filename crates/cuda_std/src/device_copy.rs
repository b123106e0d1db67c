//! Types whose values are copied between the memories of host and devices.

use crate::signature::{self, mixed};
use bytemuck::Pod;
use core::num::NonZero;

/// A type whose values mean the same in the host's memory and in a device's. Buffers hold such types.
///
/// Every `bytemuck::Pod` type is one. Other structures and enums of such fields derive it:
/// ```
/// use cuda_std::prelude::*;
///
/// #[derive(Clone, Copy, Debug, PartialEq, DeviceCopy)]
/// #[repr(u8)]
/// pub enum Shape {
///     Circle { radius: f32 },
///     Polygon { corners: [f32; 4], closed: bool },
/// }
///
/// // Three bytes of padding.
/// #[derive(Clone, Copy, Debug, PartialEq, DeviceCopy)]
/// #[repr(C)]
/// pub struct Item {
///     shape: Shape,
///     visible: bool,
/// }
/// ```
/// The layout is written down, because a kernel crate is compiled twice: `#[repr(C)]`, `#[repr(transparent)]`, or
/// `#[repr(u8)]` and the like.
/// ```compile_fail
/// # use cuda_std::prelude::*;
/// #[derive(Clone, Copy, DeviceCopy)]
/// pub struct Item {
///     value: f32,
///     visible: bool,
/// }
/// ```
/// References are addresses of one memory:
/// ```compile_fail,E0277
/// # use cuda_std::prelude::*;
/// #[derive(Clone, Copy, DeviceCopy)]
/// #[repr(C)]
/// pub struct Item {
///     value: &'static f32,
/// }
/// ```
///
/// # Safety
/// A bitwise copy of a value in another memory is a value: there are no references in it. The type has a specified
/// layout, and the same one in the device's build of its crate.
#[diagnostic::on_unimplemented(
    message = "`{Self}` can't be in a device's memory",
    note = "buffers hold `bytemuck::Pod` types, and structures and enums with `#[derive(DeviceCopy)]`, whose fields are such types, arrays of them, `bool`, `char` or `NonZero`"
)]
pub unsafe trait DeviceCopy: Copy + 'static {
    /// A hash of the layout. It is 0 for `Pod` types, since any bits are a value of theirs.
    #[doc(hidden)]
    const LAYOUT: u64 = signature::EMPTY;
}

// SAFETY: `Pod` types hold no references, and any bits are a value of theirs.
#[diagnostic::do_not_recommend]
unsafe impl<T: Pod> DeviceCopy for T {
    const LAYOUT: u64 = 0;
}

/// A field of a [`DeviceCopy`] type. `Kind` tells types with that trait from those that have it here alone, because
/// `bytemuck` might make them `Pod`.
///
/// # Safety
/// The contract is that of [`DeviceCopy`].
#[doc(hidden)]
#[diagnostic::on_unimplemented(
    message = "`{Self}` can't be in a device's memory",
    label = "not `DeviceCopy`",
    note = "a `DeviceCopy` type has fields of `bytemuck::Pod` and `DeviceCopy` types, arrays of them, `bool`, `char` and `NonZero`"
)]
pub unsafe trait Field<Kind>: Copy + 'static {
    const LAYOUT: u64;
}

#[doc(hidden)]
#[derive(Debug)]
pub struct Whole;
#[doc(hidden)]
#[derive(Debug)]
pub struct Part;

// SAFETY: it is of this trait.
#[diagnostic::do_not_recommend]
unsafe impl<T: DeviceCopy> Field<Whole> for T {
    const LAYOUT: u64 = T::LAYOUT;
}

macro_rules! parts {
    ($($t:ty)*) => {$(
        // SAFETY: it holds no references, and Rust specifies its layout.
        unsafe impl Field<Part> for $t {
            const LAYOUT: u64 = mixed(signature::EMPTY, stringify!($t), 0);
        }
    )*};
}
parts! {
    bool char
    NonZero<u8> NonZero<u16> NonZero<u32> NonZero<u64> NonZero<u128> NonZero<usize>
    NonZero<i8> NonZero<i16> NonZero<i32> NonZero<i64> NonZero<i128> NonZero<isize>
}

/// The hash of a layout, and a field behind it, or an array of such.
#[doc(hidden)]
pub const fn field<T: Field<Kind>, Kind>(layout: u64, of: usize) -> u64 {
    let layout = mixed(layout, "field", T::LAYOUT);
    let layout = mixed(layout, "size", (of * size_of::<T>()) as u64);
    mixed(layout, "alignment", align_of::<T>() as u64)
}
