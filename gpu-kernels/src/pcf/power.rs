//! Powers by polynomials, without branches or tables: compilers turn several side by side into vector instructions.
//!
//! x = m 2^e with m from √½ to √2. The logarithm of m is a polynomial in s = (m - 1) / (m + 1). p log2 x is an integer,
//! which becomes the exponent, and a rest from -½ to ½, whose exponential is a polynomial. Products of e with the upper
//! bits of p are exact, so that the error doesn't grow with e. Coefficients interpolate at Chebyshev nodes.

// Coefficients of interpolations come near those of series.
#![allow(clippy::approx_constant, clippy::excessive_precision)]

use super::Scalar;
use crate::number::Number;
use core::array::from_fn;
use cuda_std::math;

/// Polynomials with these coefficients, from the constant one on.
#[inline(always)]
fn polynomials<T: Number, const K: usize, const N: usize>(x: [T; K], coefficients: [T; N]) -> [T; K] {
    let mut sums = [coefficients[N - 1]; K];
    for n in (0..N - 1).rev() {
        sums = from_fn(|k| sums[k] * x[k] + coefficients[n]);
    }
    sums
}

/// Powers of several numbers, which CPUs compute by vectors: see [`by_vectors`].
#[inline(always)]
pub fn several<T: Scalar, const N: usize>(numbers: &[T; N], p: [T; 2]) -> [T; N] {
    // In double precision, 8 lanes of each chain fill the widest vectors.
    if size_of::<T>() == 8 && N < 32 { in_chains::<T, 2, N>(numbers, p) } else { in_chains::<T, 4, N>(numbers, p) }
}

/// Powers by `K` vectors side by side: each operation of a power waits for the one before it.
#[inline(always)]
fn in_chains<T: Scalar, const K: usize, const N: usize>(numbers: &[T; N], p: [T; 2]) -> [T; N] {
    let lanes = N / K;
    // Not by `map`, which stays a function of its own, without these vectors, for long arrays.
    let mut powers = [T::ZERO; N];
    for lane in 0..lanes {
        let chains = T::accurate_powers::<K>(from_fn(|chain| numbers[chain * lanes + lane]), p);
        for (chain, power) in chains.into_iter().enumerate() {
            powers[chain * lanes + lane] = power;
        }
    }
    for rest in lanes * K..N {
        powers[rest] = T::accurate_power(numbers[rest], p);
    }
    powers
}

/// A computation that gains from vectors.
pub trait Vectorized {
    /// The result.
    type Output;

    /// Computes the result. Implementations take `#[inline(always)]`, which closures can't.
    fn run(self) -> Self::Output;
}

/// Runs a computation, compiled for the widest vectors that the processor has.
///
/// Wider vectors make the same operations: results have the same bits.
#[inline(always)]
pub fn by_vectors<V: Vectorized>(computation: V) -> V::Output {
    #[cfg(all(target_arch = "x86_64", not(cuda_device)))]
    if std::is_x86_feature_detected!("avx512f") {
        // SAFETY: the processor has AVX-512.
        return unsafe { by_avx512(computation) };
    } else if std::is_x86_feature_detected!("avx2") {
        // SAFETY: the processor has AVX2.
        return unsafe { by_avx2(computation) };
    }
    computation.run()
}

#[cfg(all(target_arch = "x86_64", not(cuda_device)))]
#[target_feature(enable = "avx512f")]
#[inline(never)]
fn by_avx512<V: Vectorized>(computation: V) -> V::Output {
    computation.run()
}

#[cfg(all(target_arch = "x86_64", not(cuda_device)))]
#[target_feature(enable = "avx2")]
#[inline(never)]
fn by_avx2<V: Vectorized>(computation: V) -> V::Output {
    computation.run()
}

/// A quotient of normal numbers that is not extreme, within two units in the last place.
#[inline(always)]
fn quotient(a: f64, b: f64) -> f64 {
    if !cuda_std::is_gpu() {
        return a / b;
    }
    let rough = math::fast::rcp_f64(b);
    let reciprocal = math::mul_add(rough, math::mul_add(-b, rough, 1.0), rough);
    let quotient = a * reciprocal;
    math::mul_add(reciprocal, math::mul_add(-b, quotient, a), quotient)
}

macro_rules! power {
    ($(#[$doc:meta])* $name:ident($t:ident, $bits:ident, $lower:literal, $divide:expr, $log:expr, $exp:expr)) => {
        $(#[$doc])*
        #[inline(always)]
        pub fn $name<const K: usize>(x: [$t; K], [p, tail]: [$t; 2]) -> [$t; K] {
            const FRACTION: u32 = $t::MANTISSA_DIGITS - 1;
            const ONE: $bits = (1.0 as $t).to_bits();
            const ROOT_HALF: $bits = core::$t::consts::FRAC_1_SQRT_2.to_bits();
            const BIAS: $t = $t::MAX_EXP as $t - 1.0;
            // Sums with these have an integer in their last bits.
            const WHOLE: $t = (1u64 << FRACTION) as $t;
            const ROUND: $t = 1.5 * WHOLE;
            let bits = x.map(|x| x.to_bits().wrapping_add(ONE - ROOT_HALF));
            let s = bits.map(|bits| {
                let m = $t::from_bits((bits & ((1 << FRACTION) - 1)) + ROOT_HALF);
                $divide(m - 1.0, m + 1.0)
            });
            let logs = polynomials(s.map(|s| s * s), $log);
            let upper = $t::from_bits(p.to_bits() >> $lower << $lower);
            let parts: [_; K] = from_fn(|k| {
                let e = $t::from_bits(WHOLE.to_bits() | (bits[k] >> FRACTION)) - (WHOLE + BIAS);
                let log = s[k] * logs[k];
                let whole = p * (e + log);
                let shifted = whole + ROUND;
                (whole, shifted, (upper * e - (shifted - ROUND)) + ((p - upper + tail) * e + p * log))
            });
            let powers = polynomials(parts.map(|(_, _, rest)| rest), $exp);
            from_fn(|k| {
                let (whole, shifted, rest) = parts[k];
                let power = 1.0 + rest * powers[k];
                let power = $t::from_bits(power.to_bits().wrapping_add(shifted.to_bits() << FRACTION));
                if whole < 2.0 - BIAS { 0.0 } else { power }
            })
        }
    };
}

power! {
    /// x^p for x from 0 to 1 and p of at least 1, or a normal x and p from 0 to 1. p is the sum of two numbers. The error is at
    /// most 2 p + 4 roundoffs (half units in the last place). Most powers below twice the smallest normal number become 0.
    /// Powers of 1, and of 2 to a whole exponent, are exact.
    double(f64, u64, 27, quotient, [
        2.8853900817779268, 0.9617966939259898, 0.577078016345514, 0.4121985858422942, 0.3205985347650481,
        0.26233436060329546, 0.22091286734180157, 0.21366122502798326,
    ], [
        0.6931471805599453, 0.24022650695910097, 0.0555041086648216, 0.009618129107606888, 0.0013333558146416936,
        0.0001540353044173605, 1.525273382983612e-05, 1.321544258792169e-06, 1.0178062445845774e-07, 7.072585949269223e-09,
        4.4549605981865186e-10,
    ])
}
power! {
    /// As [`double()`], in single precision.
    single(f32, u32, 12, |a, b| a / b, [2.885_390_04, 0.961_798_85, 0.576_715_1, 0.431_719_72], [
        0.693_147_18, 0.240_226_51, 0.055_503_57, 0.009_618_083, 0.001_339_086_3, 0.000_154_531_63,
    ])
}
