//! The numbers that functions are made of.

use std::ops::AddAssign;

use rand_chacha::ChaCha8Rng;

use super::{
    Pcf, PcfError, PcfRef, PcfSet, Point, entries, random, scalar,
    summary::{self, Summary},
};
use crate::common::Real;

/// `f32` or `f64`: the type of a function's times and values, and of all that is computed from them.
pub trait PcfReal:
    Real + Loops + crate::io::npy::Element + super::launches::Operations + crate::engine::DeviceEntry + Into<f64> + AddAssign
{
    /// The largest time and the largest magnitude of a value, 2^63 or 2^511: squares of larger ones would be too large
    /// for the type.
    const MAX_VALUE: Self;

    /// The magnitude.
    fn abs(self) -> Self;
    /// The square root.
    fn sqrt(self) -> Self;
    /// `self` to the power of `exponent`.
    fn powf(self, exponent: Self) -> Self;
}

/// Loops of generic functions. As they belong to a type, they are compiled in this crate, also
/// where the functions are instantiated in one without optimisation.
pub trait Loops: Sized {
    fn distance(f: PcfRef<'_, Self>, g: PcfRef<'_, Self>, p: f64) -> Self;
    fn inner(f: PcfRef<'_, Self>, g: PcfRef<'_, Self>) -> Self;
    fn draw(points: &mut [Point<Self>], random: &mut ChaCha8Rng);
    fn summary(set: &PcfSet<Self>, summary: Summary) -> Result<Pcf<Self>, PcfError>
    where
        Self: PcfReal;
    fn count_infinite(entries: &[Self]) -> usize;
    fn widen(numbers: &[Self], swapped: bool, into: &mut Vec<f64>);
}

macro_rules! real {
    ($type:ident, $max_value:expr) => {
        impl Loops for $type {
            fn distance(f: PcfRef<'_, Self>, g: PcfRef<'_, Self>, p: f64) -> Self {
                scalar::distance(f, g, p)
            }
            fn inner(f: PcfRef<'_, Self>, g: PcfRef<'_, Self>) -> Self {
                scalar::inner(f, g)
            }
            fn draw(points: &mut [Point<Self>], random: &mut ChaCha8Rng) {
                random::fill(points, random);
            }
            fn summary(set: &PcfSet<Self>, summary: Summary) -> Result<Pcf<Self>, PcfError> {
                summary::summary(set, summary)
            }
            fn count_infinite(entries: &[Self]) -> usize {
                entries::infinite(entries)
            }
            fn widen(numbers: &[Self], swapped: bool, into: &mut Vec<f64>) {
                entries::widened(numbers, swapped, into);
            }
        }

        impl PcfReal for $type {
            const MAX_VALUE: Self = $max_value;

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
