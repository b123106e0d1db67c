//! The integrands.

use super::{Scalar, power::several};
use cuda_std::{KernelParam, math};

/// An integral over the pairs of values of two functions.
pub trait Operation: Copy + From<Exponent<Self::Scalar>> {
    /// The type of times, values and the integral.
    type Scalar: Scalar;

    /// True if each term takes a long polynomial, whose latency CPUs hide by several terms at a time.
    const HAS_POLYNOMIAL: bool = false;

    /// The integrand at each of these pairs of values.
    fn terms<const N: usize>(self, values: [[Self::Scalar; 2]; N]) -> [Self::Scalar; N];

    /// The sum with the contribution of a step: its width, and the integrand.
    #[inline(always)]
    fn add_term(self, sum: Self::Scalar, width: Self::Scalar, term: Self::Scalar) -> Self::Scalar {
        sum + width * term
    }

    /// The sum with the contribution of a step: its width, and the values of both functions.
    #[inline(always)]
    fn add(self, sum: Self::Scalar, [width, f, g]: [Self::Scalar; 3]) -> Self::Scalar {
        let [term] = self.terms([[f, g]]);
        self.add_term(sum, width, term)
    }

    /// The sum over two pieces of time, from the sums over each.
    #[inline(always)]
    fn join(self, first: Self::Scalar, second: Self::Scalar) -> Self::Scalar {
        first + second
    }

    /// The result, from the sum up to the last breakpoint and the values that hold from there on for ever.
    ///
    /// `steps` yields the merge once more, for a sum that the type's range has spoilt: the width and both values of each
    /// step.
    fn finish(
        self,
        sum: Self::Scalar,
        f: Self::Scalar,
        g: Self::Scalar,
        steps: impl Iterator<Item = [Self::Scalar; 3]> + Clone,
    ) -> Self::Scalar;
}

/// The exponent of a distance, and the range in which sums of powers are accurate.
#[derive(Clone, Copy, Debug, KernelParam)]
pub struct Exponent<T: Scalar> {
    /// The exponent, at least 1.
    pub p: T,
    /// Power of two that keeps all differences at most 1 when they are multiplied by it.
    pub scale: T,
    /// Least sum that is accurate: what underflow takes from a sum is negligible in it.
    pub least: T,
    /// The reciprocal of the exponent.
    pub root: T,
    /// Difference of the exact reciprocal from `root`.
    pub root_rest: T,
    /// The exponent, or its double if [`halves`](Self::halves), for powers by products.
    pub factors: u32,
    /// The highest bit of `factors` but one; 0 for other exponents.
    pub bit: u32,
    /// 1 if the factors are square roots of differences.
    pub halves: u32,
}

impl<T: Scalar> Exponent<T> {
    /// The distance: infinite if the functions end on different values, `root` of the sum if that is accurate, and
    /// otherwise [`norm`].
    #[inline(always)]
    fn distance(self, sum: T, [f, g]: [T; 2], steps: impl Iterator<Item = [T; 3]> + Clone, root: impl FnOnce(T) -> T) -> T {
        if f != g {
            T::INFINITY
        } else if sum >= self.least && sum < T::INFINITY {
            root(sum)
        } else {
            // Steps without width count for nothing.
            norm(self, steps.map(|[width, f, g]| (width, if width > T::ZERO { math::abs(f - g) } else { T::ZERO })))
        }
    }
}

/// (Σ width · difference^p)^(1/p), with all terms relative to the largest one.
///
/// It overflows only if the result does. Underflow takes at most the smallest normal number from each
/// width^(1/p) · difference.
#[cold]
fn norm<T: Scalar>(exponent: Exponent<T>, terms: impl Iterator<Item = (T, T)> + Clone) -> T {
    let root = |number: T| T::accurate_power(number, [exponent.root, exponent.root_rest]);
    // Times this, any positive number is normal, and has a root.
    let large = T::from_f64((1u64 << 60) as f64);
    let rest = root(T::ONE / large);
    let terms = terms.map(|(width, difference)| {
        let width = if width < T::ONE { root(width * large) * rest } else { root(width) };
        width * difference
    });
    let largest = terms.clone().fold(T::ZERO, |largest, term| if term > largest { term } else { largest });
    if largest == T::ZERO {
        return T::ZERO;
    }
    let power = |term: T| T::accurate_power(term / largest, [exponent.p, T::ZERO]);
    largest * root(terms.fold(T::ZERO, |sum, term| sum + power(term)))
}

/// The type of an operation's times and values.
pub type ScalarOf<O> = <O as Operation>::Scalar;

macro_rules! operations {
    ($($(#[$doc:meta])* $name:ident;)*) => {$(
        $(#[$doc])*
        #[derive(Debug, Clone, Copy)]
        pub struct $name<T: Scalar>(Exponent<T>);

        impl<T: Scalar> From<Exponent<T>> for $name<T> {
            #[inline(always)]
            fn from(exponent: Exponent<T>) -> Self {
                $name(exponent)
            }
        }
    )*};
}
operations! {
    /// ∫|f - g|.
    L1;
    /// (∫|f - g|²)^½.
    L2;
    /// (∫|f - g|^p)^(1/p), for p ≥ 1.
    Lp;
    /// The same for multiples of a half, by products and square roots.
    Products;
    /// The largest |f - g|, the limit of the others as p grows. Its sum is a maximum.
    Supremum;
    /// ∫f·g.
    Inner;
}

impl<T: Scalar> Operation for L1<T> {
    type Scalar = T;

    #[inline(always)]
    fn terms<const N: usize>(self, values: [[T; 2]; N]) -> [T; N] {
        values.map(|[f, g]| math::abs(f - g))
    }

    #[inline(always)]
    fn finish(self, sum: T, f: T, g: T, _: impl Iterator<Item = [T; 3]> + Clone) -> T {
        if f == g { sum } else { T::INFINITY }
    }
}

impl<T: Scalar> Operation for L2<T> {
    type Scalar = T;

    #[inline(always)]
    fn terms<const N: usize>(self, values: [[T; 2]; N]) -> [T; N] {
        values.map(|[f, g]| (f - g) * (f - g))
    }

    #[inline(always)]
    fn finish(self, sum: T, f: T, g: T, steps: impl Iterator<Item = [T; 3]> + Clone) -> T {
        self.0.distance(sum, [f, g], steps, math::sqrt)
    }
}

impl<T: Scalar> Operation for Lp<T> {
    type Scalar = T;
    const HAS_POLYNOMIAL: bool = size_of::<T>() == 8 || !cuda_std::is_gpu();

    #[inline(always)]
    fn terms<const N: usize>(self, values: [[T; 2]; N]) -> [T; N] {
        let Exponent { p, scale, .. } = self.0;
        let number = |[f, g]: [T; 2]| math::abs(f - g) * scale;
        if cuda_std::is_gpu() {
            return values.map(|values| T::power(number(values), p));
        }
        let mut numbers = [T::ZERO; N];
        for (to, values) in numbers.iter_mut().zip(values) {
            *to = number(values);
        }
        several(&numbers, [p, T::ZERO])
    }

    #[inline(always)]
    fn finish(self, sum: T, f: T, g: T, steps: impl Iterator<Item = [T; 3]> + Clone) -> T {
        self.0.distance(sum, [f, g], steps, |sum| T::accurate_power(sum, [self.0.root, self.0.root_rest]) / self.0.scale)
    }
}

impl<T: Scalar> Operation for Products<T> {
    type Scalar = T;

    #[inline(always)]
    fn terms<const N: usize>(self, values: [[T; 2]; N]) -> [T; N] {
        if cuda_std::is_gpu() && size_of::<T>() == 4 {
            // A GPU's special function units are faster than a few products.
            return Lp(self.0).terms(values);
        }
        let Exponent { scale, factors, mut bit, halves, .. } = self.0;
        let mut factor = values.map(|[f, g]| math::abs(f - g) * scale);
        if halves != 0 {
            factor = factor.map(T::root);
        }
        let mut powers = factor;
        // Branches are those of all threads.
        while bit != 0 {
            powers = powers.map(|power| power * power);
            if factors & bit != 0 {
                powers.iter_mut().zip(factor).for_each(|(power, factor)| *power = *power * factor);
            }
            bit >>= 1;
        }
        powers
    }

    #[inline(always)]
    fn finish(self, sum: T, f: T, g: T, steps: impl Iterator<Item = [T; 3]> + Clone) -> T {
        Lp(self.0).finish(sum, f, g, steps)
    }
}

impl<T: Scalar> Operation for Supremum<T> {
    type Scalar = T;

    #[inline(always)]
    fn terms<const N: usize>(self, values: [[T; 2]; N]) -> [T; N] {
        L1(self.0).terms(values)
    }

    #[inline(always)]
    fn add_term(self, sum: T, width: T, term: T) -> T {
        // Steps without width count for nothing.
        if width > T::ZERO { self.join(sum, term) } else { sum }
    }

    #[inline(always)]
    fn join(self, first: T, second: T) -> T {
        if first < second { second } else { first }
    }

    #[inline(always)]
    fn finish(self, sum: T, f: T, g: T, _: impl Iterator<Item = [T; 3]> + Clone) -> T {
        self.join(sum, math::abs(f - g))
    }
}

impl<T: Scalar> Operation for Inner<T> {
    type Scalar = T;

    #[inline(always)]
    fn terms<const N: usize>(self, values: [[T; 2]; N]) -> [T; N] {
        values.map(|[f, g]| f * g)
    }

    #[inline(always)]
    fn finish(self, sum: T, f: T, g: T, _: impl Iterator<Item = [T; 3]> + Clone) -> T {
        if f == T::ZERO || g == T::ZERO {
            sum
        } else if (f > T::ZERO) == (g > T::ZERO) {
            T::INFINITY
        } else {
            T::ZERO - T::INFINITY
        }
    }
}
