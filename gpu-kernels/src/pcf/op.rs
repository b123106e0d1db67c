//! What is integrated.

use super::Scalar;
use cuda_std::math;

/// An integral over the pairs of values of two functions.
pub trait Operation<T: Scalar>: Copy {
    /// The sum with the contribution of `width` units of time on which the functions are `f` and `g`.
    ///
    /// A width of zero contributes exactly zero.
    fn add(self, sum: T, width: T, f: T, g: T) -> T;

    /// The result, from the sum up to the last breakpoint and the values that hold from there on for ever.
    fn finish(self, sum: T, f: T, g: T) -> T;
}

/// ∫|f - g|.
#[derive(Debug, Clone, Copy)]
pub struct L1;

/// (∫|f - g|²)^½.
#[derive(Debug, Clone, Copy)]
pub struct L2;

/// (∫|f - g|^p)^(1/p), for p ≥ 1.
#[derive(Debug, Clone, Copy)]
pub struct Lp<T> {
    /// The exponent.
    pub p: T,
    /// Its reciprocal.
    pub root: T,
}

/// ∫f·g.
#[derive(Debug, Clone, Copy)]
pub struct Inner;

/// A distance, infinite where the functions differ for ever.
#[inline(always)]
fn distance<T: Scalar>(finite: T, f: T, g: T) -> T {
    if f == g { finite } else { T::infinity() }
}

impl<T: Scalar> Operation<T> for L1 {
    #[inline(always)]
    fn add(self, sum: T, width: T, f: T, g: T) -> T {
        sum + width * math::abs(f - g)
    }

    #[inline(always)]
    fn finish(self, sum: T, f: T, g: T) -> T {
        distance(sum, f, g)
    }
}

impl<T: Scalar> Operation<T> for L2 {
    #[inline(always)]
    fn add(self, sum: T, width: T, f: T, g: T) -> T {
        let difference = f - g;
        sum + width * difference * difference
    }

    #[inline(always)]
    fn finish(self, sum: T, f: T, g: T) -> T {
        distance(math::sqrt(sum), f, g)
    }
}

impl<T: Scalar> Operation<T> for Lp<T> {
    #[inline(always)]
    fn add(self, sum: T, width: T, f: T, g: T) -> T {
        // Also where the power overflows, nothing is nothing.
        if width == T::zero() { sum } else { sum + width * T::power(math::abs(f - g), self.p) }
    }

    #[inline(always)]
    fn finish(self, sum: T, f: T, g: T) -> T {
        distance(math::powf(sum, self.root), f, g)
    }
}

impl<T: Scalar> Operation<T> for Inner {
    #[inline(always)]
    fn add(self, sum: T, width: T, f: T, g: T) -> T {
        sum + width * (f * g)
    }

    #[inline(always)]
    fn finish(self, sum: T, f: T, g: T) -> T {
        if f == T::zero() || g == T::zero() {
            sum
        } else if (f > T::zero()) == (g > T::zero()) {
            T::infinity()
        } else {
            T::zero() - T::infinity()
        }
    }
}
