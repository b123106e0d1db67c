//! Floats of 16 bits: [`f16`](struct@f16) and [`bf16`] of the crate `half`, and pairs of them in one register.
//!
//! Kernels take them by value and in slices, and lanes shuffle them. One by one they are for storage: [`widen`] and
//! [`narrow`] convert to and from `f32`, by one instruction on a GPU, where the methods and operators of the crate
//! `half` are many. Pairs ([`F16x2`], [`Bf16x2`]) have arithmetic, by one instruction for both.
//!
//! ```
//! use cuda_std::{half::{narrow, widen}, prelude::*};
//!
//! /// `y[i] += a * x[i]`, in single precision.
//! #[kernel]
//! pub fn axpy(a: f32, x: &[f16], mut y: DisjointSlice<f16>) {
//!     for (i, y) in y.grid_stride_mut() {
//!         *y = narrow(a * widen(x[i]) + widen(*y));
//!     }
//! }
//! # fn main() {}
//! ```

use crate::{F32x2, mem, ptx::Register, sys::half as sys};
use bytemuck::{Pod, Zeroable};
use core::ops::{Add, Mul, Neg, Sub};

pub use ::half::{bf16, f16};

mod sealed {
    /// The conversions of one type.
    pub trait Conversions: bytemuck::Pod {
        fn widen(self) -> f32;
        fn narrow(x: f32) -> Self;
    }
}
use sealed::Conversions;

/// [`f16`](struct@f16) or [`bf16`].
pub trait Half: Conversions {}

/// The same number in single precision. GPU: `cvt.f32.f16`, or a shift.
#[inline(always)]
pub fn widen<H: Half>(x: H) -> f32 {
    x.widen()
}

/// The nearest number, ties to even. (Of a NaN, the bits may differ between GPU and CPU.)
///
/// GPU: `cvt.rn.f16.f32`; `cvt.rn.bf16.f32` from `sm_80` on, a few instructions before.
#[inline(always)]
pub fn narrow<H: Half>(x: f32) -> H {
    H::narrow(x)
}

/// `a * b + c` rounded to odd: towards zero, with 1 for the last digit where that isn't exact. So rounding it to no
/// more than 22 digits is rounding the exact result. `a` and `b` have no more digits themselves.
#[inline(always)]
pub(crate) fn fma_to_odd(a: f32, b: f32, c: f32) -> f32 {
    let (product, c) = (f64::from(a) * f64::from(b), f64::from(c));
    let mut sum = product + c;
    // The exact rounding error of the sum.
    let of_product = sum - c;
    let rest = (product - of_product) + (c - (sum - of_product));
    // An even last digit: the odd neighbour on the side of the exact result.
    if rest != 0.0 && sum.is_finite() && sum.to_bits() & 1 == 0 {
        sum = f64::from_bits(if (rest > 0.0) == (sum > 0.0) { sum.to_bits() + 1 } else { sum.to_bits() - 1 });
    }
    let single = sum as f32;
    let wide = f64::from(single);
    if wide != sum && sum.is_finite() && single.to_bits() & 1 == 0 {
        return f32::from_bits(if sum.abs() > wide.abs() { single.to_bits() + 1 } else { single.to_bits() - 1 });
    }
    single
}

macro_rules! halves {
    ($($t:ident $pair:ident $what:literal, $fma:ident $add:ident $mul:ident, $widen:ident $narrow:ident;)*) => {$(
        impl Conversions for $t {
            #[inline(always)]
            fn widen(self) -> f32 {
                sys::$widen(self)
            }
            #[inline(always)]
            fn narrow(x: f32) -> Self {
                sys::$narrow(x)
            }
        }
        impl Half for $t {}

        impl Register<u16> for $t {
            #[inline(always)]
            fn to_register(self) -> u16 {
                self.to_bits()
            }
            #[inline(always)]
            fn from_register(bits: u16) -> Self {
                $t::from_bits(bits)
            }
        }

        #[doc = concat!("Two `", stringify!($t), "` in one register. ", $what)]
        #[derive(Debug, Clone, Copy, PartialEq, Default, Pod, Zeroable)]
        #[repr(C, align(4))]
        pub struct $pair {
            /// The low 16 bits.
            pub x: $t,
            /// The high 16 bits.
            pub y: $t,
        }

        impl $pair {
            /// A pair of these.
            #[inline(always)]
            pub const fn new(x: $t, y: $t) -> Self {
                Self { x, y }
            }

            /// A pair of one value.
            #[inline(always)]
            pub const fn splat(value: $t) -> Self {
                Self { x: value, y: value }
            }

            /// [`widen`] of both.
            #[inline(always)]
            pub fn widen(self) -> F32x2 {
                F32x2::new(widen(self.x), widen(self.y))
            }

            /// [`narrow`] of both.
            #[inline(always)]
            pub fn narrow(pair: F32x2) -> Self {
                Self::new(narrow(pair.x), narrow(pair.y))
            }

            /// `self * b + c`, rounded once.
            #[inline(always)]
            pub fn mul_add(self, b: Self, c: Self) -> Self {
                sys::$fma(self, b, c)
            }
        }

        impl Register<u32> for $pair {
            #[inline(always)]
            fn to_register(self) -> u32 {
                u32::from(self.x.to_bits()) | u32::from(self.y.to_bits()) << 16
            }
            #[inline(always)]
            fn from_register(bits: u32) -> Self {
                Self::new($t::from_bits(bits as u16), $t::from_bits((bits >> 16) as u16))
            }
        }

        impl Add for $pair {
            type Output = Self;
            #[inline(always)]
            fn add(self, other: Self) -> Self {
                sys::$add(self, other)
            }
        }

        impl Sub for $pair {
            type Output = Self;
            #[inline(always)]
            fn sub(self, other: Self) -> Self {
                sys::$add(self, -other)
            }
        }

        impl Mul for $pair {
            type Output = Self;
            #[inline(always)]
            fn mul(self, other: Self) -> Self {
                sys::$mul(self, other)
            }
        }

        impl Neg for $pair {
            type Output = Self;
            #[inline(always)]
            fn neg(self) -> Self {
                Self::from_register(self.to_register() ^ 0x8000_8000)
            }
        }

        mem::words! {
            $pair: u32;
        }
    )*};
}
halves! {
    f16 F16x2 "Arithmetic on a GPU: `fma.rn.f16x2`, `add.rn.f16x2`, `mul.rn.f16x2`.",
        fma_f16x2 add_f16x2 mul_f16x2, widen_f16 narrow_f16;
    bf16 Bf16x2 "Arithmetic on a GPU: `fma.rn.bf16x2` from `sm_80` on; a function before, as `sm_75` has none.",
        fma_bf16x2 add_bf16x2 mul_bf16x2, widen_bf16 narrow_bf16;
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Integer arithmetic: `a * b + c` as a multiple of 2⁻⁴⁸, which all of these are, rounded by looking at neighbours.
    #[test]
    fn products_are_rounded_once() {
        let scaled = |x: f16| {
            let exponent = i32::from(x.to_bits() >> 10 & 31);
            let digits = i128::from(x.to_bits() & 1023) | if exponent > 0 { 1024 } else { 0 };
            let value = digits << (exponent.max(1) - 1);
            if x.to_bits() >> 15 == 1 { -value } else { value }
        };
        let mut state = 1u32;
        let mut any = || {
            state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            f16::from_bits((state >> 16) as u16)
        };
        let mut inexact = 0;
        for _ in 0..200_000 {
            let (a, b, c) = (any(), any(), any());
            if !(a.is_finite() && b.is_finite() && c.is_finite()) {
                continue;
            }
            let exact = scaled(a) * scaled(b) + (scaled(c) << 24);
            let found = F16x2::splat(a).mul_add(F16x2::splat(b), F16x2::splat(c)).y;
            if found.is_infinite() {
                assert!(exact.abs() >= 65520 << 48, "{a} {b} {c}");
                continue;
            }
            let error = ((scaled(found) << 24) - exact).abs();
            inexact += u32::from(error != 0);
            for step in [1u16, u16::MAX] {
                let other = f16::from_bits(found.to_bits().wrapping_add(step));
                if other.is_finite() {
                    let its = ((scaled(other) << 24) - exact).abs();
                    assert!(error < its || error == its && found.to_bits() & 1 == 0, "{a} {b} {c}: {found}");
                }
            }
        }
        assert!(inexact > 10_000);
    }

    /// Ties, apart from the rounding error of a sum of two doubles.
    #[test]
    fn sums_are_not_rounded_twice() {
        let tie = 1.0 + 1.0 / 256.0;
        for (rest, expected) in [(0.0, 1.0), (2f32.powi(-100), 1.0 + 1.0 / 128.0), (-(2f32.powi(-100)), 1.0)] {
            assert_eq!(bf16::from_f32(fma_to_odd(tie, 1.0, rest)).to_f32(), expected);
            assert_eq!(bf16::from_f32(fma_to_odd(tie, -1.0, -rest)).to_f32(), -expected);
        }
        assert_eq!(fma_to_odd(f32::MAX, 2.0, 0.0), f32::MAX);
        assert_eq!(fma_to_odd(f32::MIN_POSITIVE, -f32::MIN_POSITIVE, 0.0).to_bits(), 0x8000_0001);
    }
}
