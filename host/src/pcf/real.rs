//! The numbers that functions are made of.

use std::ops::{Add, AddAssign, Div, Mul, Neg, Sub};

use crate::common::Real;

/// `f32` or `f64`: the type of a function's times and values, and of all that is computed from them.
pub trait PcfReal:
    Real
    + crate::io::npy::Element
    + super::launches::Operations
    + crate::engine::DeviceEntry
    + Into<f64>
    + Add<Output = Self>
    + Sub<Output = Self>
    + Mul<Output = Self>
    + Div<Output = Self>
    + Neg<Output = Self>
    + AddAssign
{
    /// Zero.
    const ZERO: Self;
    /// One.
    const ONE: Self;
    /// Positive infinity.
    const INFINITY: Self;
    /// The largest time and the largest magnitude of a value, 2^63 or 2^511: squares of larger ones would be too large
    /// for the type.
    const MAX_VALUE: Self;

    /// The nearest number of this type, infinite where `value` is too large for it.
    fn from_f64(value: f64) -> Self;
    /// The magnitude.
    fn abs(self) -> Self;
    /// The square root.
    fn sqrt(self) -> Self;
    /// `self` to the power of `exponent`.
    fn powf(self, exponent: Self) -> Self;
    /// True if it is neither infinite nor NaN.
    fn is_finite(self) -> bool;
}

macro_rules! real {
    ($type:ident, $max_value:expr) => {
        impl PcfReal for $type {
            const ZERO: Self = 0.0;
            const ONE: Self = 1.0;
            const INFINITY: Self = $type::INFINITY;
            const MAX_VALUE: Self = $max_value;

            #[inline]
            fn from_f64(value: f64) -> Self {
                value as $type
            }
            #[inline]
            fn abs(self) -> Self {
                self.abs()
            }
            #[inline]
            fn sqrt(self) -> Self {
                self.sqrt()
            }
            #[inline]
            fn powf(self, exponent: Self) -> Self {
                self.powf(exponent)
            }
            #[inline]
            fn is_finite(self) -> bool {
                self.is_finite()
            }
        }
    };
}

// Bits of the two powers of two: 2^63 has the biased exponent 127 + 63, and 2^511 has 1023 + 511.
real!(f32, f32::from_bits(190 << 23));
real!(f64, f64::from_bits(1534 << 52));

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn limits() {
        assert_eq!(<f32 as PcfReal>::MAX_VALUE, 2f32.powi(63));
        assert_eq!(<f64 as PcfReal>::MAX_VALUE, 2f64.powi(511));
    }
}
