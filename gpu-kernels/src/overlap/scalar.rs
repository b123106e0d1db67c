//! The numbers that poses and vertices are made of.

use crate::number::Number;
use cuda_std::{atomic, math, warp::Shuffle};

/// The type of coordinates, angles and areas: `f32` or `f64`.
pub trait Scalar: Number + Shuffle + atomic::Value {
    /// ½.
    const HALF: Self;
    /// The distance from 1 to the next number.
    const EPSILON: Self;
    /// A number that has a reciprocal, and is lost when it is added to anything that isn't next to nothing.
    const TINY: Self;

    /// The nearest number of single precision.
    fn to_f32(self) -> f32;
    /// The nearest number.
    fn from_u32(value: u32) -> Self;
    /// The nearest number.
    fn from_i32(value: i32) -> Self;
    /// The integer part; the nearest integer that there is, where it is out of range.
    fn to_i32(self) -> i32;
    /// 1 / x within two units in the last place, for x that is neither subnormal nor so large that its reciprocal is.
    fn reciprocal(self) -> Self;
    /// Sine and cosine of up to 2^20 in magnitude, within two units in the last place of 1. Unlike
    /// [`math::sin_cos`] it needs no memory.
    fn sin_cos(self) -> (Self, Self);
}

macro_rules! scalar {
    ($t:ident, |$x:ident| $reciprocal:expr, [$($half_pi:expr),*], [$($sine:expr),*], [$($cosine:expr),*]) => {
        impl Scalar for $t {
            const HALF: $t = 0.5;
            const EPSILON: $t = $t::EPSILON;
            const TINY: $t = $t::MIN_POSITIVE / $t::EPSILON;

            #[inline(always)]
            fn to_f32(self) -> f32 {
                self as f32
            }
            #[inline(always)]
            fn from_u32(value: u32) -> $t {
                value as $t
            }
            #[inline(always)]
            fn from_i32(value: i32) -> $t {
                value as $t
            }
            #[inline(always)]
            fn to_i32(self) -> i32 {
                self as i32
            }
            #[inline(always)]
            fn reciprocal(self) -> $t {
                let $x = self;
                $reciprocal
            }
            #[inline(always)]
            fn sin_cos(self) -> ($t, $t) {
                // The nearest multiple of π/2, taken off in parts that are each exact to the type's precision (Cody and
                // Waite).
                let quarter = math::round_ties_even(self * core::$t::consts::FRAC_2_PI);
                let mut r = self;
                $(r = math::mul_add(-quarter, $half_pi, r);)*
                // Taylor's series up to the last term that exceeds the type's precision at π/4.
                let square = r * r;
                let mut sine = 0.0;
                $(sine = math::mul_add(sine, square, $sine);)*
                let sine = math::mul_add(sine * square, r, r);
                let mut cosine = 0.0;
                $(cosine = math::mul_add(cosine, square, $cosine);)*
                let cosine = math::mul_add(cosine, square, 1.0);
                let quarter = quarter as i32;
                let (sine, cosine) = if quarter & 1 == 0 { (sine, cosine) } else { (cosine, sine) };
                (if quarter & 2 == 0 { sine } else { -sine }, if (quarter + 1) & 2 == 0 { cosine } else { -cosine })
            }
        }
    };
}
scalar!(
    f32,
    |x| if cuda_std::is_gpu() { math::fast::rcp(x) } else { 1.0 / x },
    [1.570_796_4, -4.371_139e-8, -1.715_124_5e-15],
    [1.0 / 362_880.0, -1.0 / 5_040.0, 1.0 / 120.0, -1.0 / 6.0],
    [1.0 / 40_320.0, -1.0 / 720.0, 1.0 / 24.0, -0.5]
);
scalar!(
    f64,
    |x| if cuda_std::is_gpu() {
        // Newton's iteration doubles the good bits, twice from 20.
        let start = math::fast::rcp_f64(x);
        let better = math::mul_add(start, math::mul_add(-x, start, 1.0), start);
        math::mul_add(better, math::mul_add(-x, better, 1.0), better)
    } else {
        1.0 / x
    },
    [core::f64::consts::FRAC_PI_2, 6.123_233_995_736_766e-17, -1.497_384_904_859_169e-33],
    [
        1.0 / 355_687_428_096_000.0,
        -1.0 / 1_307_674_368_000.0,
        1.0 / 6_227_020_800.0,
        -1.0 / 39_916_800.0,
        1.0 / 362_880.0,
        -1.0 / 5_040.0,
        1.0 / 120.0,
        -1.0 / 6.0
    ],
    [
        1.0 / 20_922_789_888_000.0,
        -1.0 / 87_178_291_200.0,
        1.0 / 479_001_600.0,
        -1.0 / 3_628_800.0,
        1.0 / 40_320.0,
        -1.0 / 720.0,
        1.0 / 24.0,
        -0.5
    ]
);

#[cfg(test)]
mod tests {
    use super::*;

    /// The standard library's functions are the measure.
    #[test]
    fn sines_and_cosines() {
        for k in -40_000..40_000 {
            let x = f64::from(k) * 0.3173 + f64::from(k).powi(3) * 1e-9;
            if x.abs() > 1_048_576.0 {
                continue;
            }
            let (sine, cosine) = Scalar::sin_cos(x);
            assert!((sine - f64::sin(x)).abs() <= 3e-16 && (cosine - f64::cos(x)).abs() <= 3e-16, "{x}");
            let x = x as f32;
            let (sine, cosine) = Scalar::sin_cos(x);
            let exact = f64::from(x).sin_cos();
            assert!((f64::from(sine) - exact.0).abs() <= 1.5e-7, "{x}: {sine}");
            assert!((f64::from(cosine) - exact.1).abs() <= 1.5e-7, "{x}: {cosine}");
        }
        for k in -8..8 {
            let (sine, cosine) = Scalar::sin_cos(f64::from(k) * core::f64::consts::FRAC_PI_2);
            assert!((sine - (f64::from(k) * core::f64::consts::FRAC_PI_2).sin()).abs() < 1e-20, "{k}: {sine}, {cosine}");
        }
    }
}
