//! What a kernel may take.

/// A type that a kernel may take as a parameter: scalars, `&[T]`, `&T`, `*const T`, `*mut T`, and
/// [`DisjointSlice<T>`](crate::DisjointSlice). `#[kernel]` checks it on both targets.
#[diagnostic::on_unimplemented(
    message = "`{Self}` can't be a kernel parameter",
    note = "a kernel takes scalars, `&[T]`, `&T`, `*const T`, `*mut T` and `DisjointSlice<T>`: pass a structure by reference"
)]
pub trait DeviceParam {}

impl<T> DeviceParam for &[T] {}
impl<T> DeviceParam for &T {}
impl<T> DeviceParam for *const T {}
impl<T> DeviceParam for *mut T {}

macro_rules! scalar {
    ($($t:ty)*) => {$(impl DeviceParam for $t {})*};
}
scalar!(u8 u16 u32 u64 usize i8 i16 i32 i64 isize bool f32 f64);
