//! The integrands.

use super::Scalar;
use core::marker::PhantomData;
use cuda_std::math;

/// An integral over the pairs of values of two functions.
pub trait Operation: Copy {
    /// The type of times, values and the integral.
    type Scalar: Scalar;

    /// The operation, for this exponent if it has one.
    fn new(p: Self::Scalar) -> Self;

    /// The sum with the contribution of `width` units of time on which the functions are `f` and `g`.
    ///
    /// A width of zero contributes exactly zero.
    fn add(self, sum: Self::Scalar, width: Self::Scalar, f: Self::Scalar, g: Self::Scalar) -> Self::Scalar;

    /// The result, from the sum up to the last breakpoint and the values that hold from there on for ever.
    fn finish(self, sum: Self::Scalar, f: Self::Scalar, g: Self::Scalar) -> Self::Scalar;
}

/// The type of an operation's times and values.
pub type ScalarOf<O> = <O as Operation>::Scalar;

/// ∫|f - g|.
#[derive(Debug, Clone, Copy)]
pub struct L1<T>(PhantomData<T>);

/// (∫|f - g|²)^½.
#[derive(Debug, Clone, Copy)]
pub struct L2<T>(PhantomData<T>);

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
pub struct Inner<T>(PhantomData<T>);

/// A distance, infinite if the functions differ for ever.
#[inline(always)]
fn distance<T: Scalar>(finite: T, f: T, g: T) -> T {
    if f == g { finite } else { T::INFINITY }
}

impl<T: Scalar> Operation for L1<T> {
    type Scalar = T;

    #[inline(always)]
    fn new(_: T) -> Self {
        L1(PhantomData)
    }

    #[inline(always)]
    fn add(self, sum: T, width: T, f: T, g: T) -> T {
        sum + width * math::abs(f - g)
    }

    #[inline(always)]
    fn finish(self, sum: T, f: T, g: T) -> T {
        distance(sum, f, g)
    }
}

impl<T: Scalar> Operation for L2<T> {
    type Scalar = T;

    #[inline(always)]
    fn new(_: T) -> Self {
        L2(PhantomData)
    }

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

impl<T: Scalar> Operation for Lp<T> {
    type Scalar = T;

    #[inline(always)]
    fn new(p: T) -> Self {
        Lp { p, root: T::ONE / p }
    }

    #[inline(always)]
    fn add(self, sum: T, width: T, f: T, g: T) -> T {
        // A width of zero contributes nothing even if the power overflows.
        if width == T::ZERO { sum } else { sum + width * T::power(math::abs(f - g), self.p) }
    }

    #[inline(always)]
    fn finish(self, sum: T, f: T, g: T) -> T {
        distance(math::powf(sum, self.root), f, g)
    }
}

impl<T: Scalar> Operation for Inner<T> {
    type Scalar = T;

    #[inline(always)]
    fn new(_: T) -> Self {
        Inner(PhantomData)
    }

    #[inline(always)]
    fn add(self, sum: T, width: T, f: T, g: T) -> T {
        sum + width * (f * g)
    }

    #[inline(always)]
    fn finish(self, sum: T, f: T, g: T) -> T {
        if f == T::ZERO || g == T::ZERO {
            sum
        } else if (f > T::ZERO) == (g > T::ZERO) {
            T::INFINITY
        } else {
            T::ZERO - T::INFINITY
        }
    }
}
