//! The floating-point types that systems compute with.

use core::ops::{Add, Div, Mul, Neg, Sub};
use cuda_std::math::Float;

/// `f32` or `f64`. Each system extends this trait with the operations that it needs.
pub trait Number:
    Float
    + PartialOrd
    + Add<Output = Self>
    + Sub<Output = Self>
    + Mul<Output = Self>
    + Div<Output = Self>
    + Neg<Output = Self>
    + bytemuck::Pod
    + Send
    + Sync
{
    /// 0.
    const ZERO: Self;
    /// 1.
    const ONE: Self;
    /// Infinity.
    const INFINITY: Self;
    /// Smallest positive normal number.
    const MIN_POSITIVE: Self;

    /// The nearest number of this type, infinite where `value` is too large for it.
    fn from_f64(value: f64) -> Self;
}

macro_rules! number {
    ($($type:ident)*) => {$(
        impl Number for $type {
            const ZERO: $type = 0.0;
            const ONE: $type = 1.0;
            const INFINITY: $type = $type::INFINITY;
            const MIN_POSITIVE: $type = $type::MIN_POSITIVE;

            #[inline(always)]
            fn from_f64(value: f64) -> $type {
                value as $type
            }
        }
    )*};
}
number!(f32 f64);
