//! Functions of `f32` and `f64` that agree on the GPU and on the CPU.
//!
//! They are free functions, `math::sin(x)`, and methods of [`GpuFloat`], `x.sin()`. As a method, a function of the
//! standard library comes first where a kernel is compiled for the CPU, and that may round otherwise.
//!
//! Roots, roundings, extremes and [`mul_add`] are exact, or exactly rounded. The transcendental functions err by less than
//! two units in the last place, and have the same bits on both sides. The functions of `f32` compute without
//! `f64`. [`powf`] and all functions of `f64` are the `libm` crate's. If a kernel's speed depends on one of them and about
//! twenty correct bits are enough, use [`fast`].
//!
//! In a kernel's own code, `x * y + z` may become one fused operation on the GPU, as in nvcc's code, unless `cuda_builder`
//! is told not to contract (`fma_contraction(false)`). Results then differ in the last place.

use crate::{single, sys::math as sys};

/// `f32` or `f64`: what the functions of this module take. Implemented for these types only.
#[allow(private_bounds)]
pub trait Float: Functions {}
impl Float for f32 {}
impl Float for f64 {}

macro_rules! functions {
    (
        unary { $($(#[$doc1:meta])* $f1:ident = $a32:path, $a64:path;)* }
        binary { $($(#[$doc2:meta])* $f2:ident = $b32:path, $b64:path;)* }
    ) => {
        /// The module's functions as methods, as the standard library has them for `f32` and `f64` on the CPU.
        pub trait GpuFloat: Float {
            $(
                $(#[$doc1])*
                #[inline(always)]
                fn $f1(self) -> Self {
                    <Self as Functions>::$f1(self)
                }
            )*
            $(
                $(#[$doc2])*
                #[inline(always)]
                fn $f2(self, y: Self) -> Self {
                    <Self as Functions>::$f2(self, y)
                }
            )*
            /// `self * y + z`, rounded once. GPU: `fma.rn`.
            #[inline(always)]
            fn mul_add(self, y: Self, z: Self) -> Self {
                <Self as Functions>::mul_add(self, y, z)
            }
            /// The sine and the cosine of an angle in radians.
            #[inline(always)]
            fn sin_cos(self) -> (Self, Self) {
                <Self as Functions>::sin_cos(self)
            }
            /// To an integer power, by repeated squaring.
            #[inline(always)]
            fn powi(self, n: i32) -> Self {
                <Self as Functions>::powi(self, n)
            }
        }
        impl<F: Float> GpuFloat for F {}

        /// Each function for one type.
        trait Functions: Copy {
            $(fn $f1(x: Self) -> Self;)*
            $(fn $f2(x: Self, y: Self) -> Self;)*
            fn mul_add(x: Self, y: Self, z: Self) -> Self;
            fn sin_cos(x: Self) -> (Self, Self);
            fn powi(x: Self, n: i32) -> Self;
        }
        impl Functions for f32 {
            $(
                #[inline(always)]
                fn $f1(x: f32) -> f32 { $a32(x) }
            )*
            $(
                #[inline(always)]
                fn $f2(x: f32, y: f32) -> f32 { $b32(x, y) }
            )*
            functions!(@rest f32, sys::mul_add_f32, single::sin_cos);
        }
        impl Functions for f64 {
            $(
                #[inline(always)]
                fn $f1(x: f64) -> f64 { $a64(x) }
            )*
            $(
                #[inline(always)]
                fn $f2(x: f64, y: f64) -> f64 { $b64(x, y) }
            )*
            functions!(@rest f64, sys::mul_add_f64, libm::sincos);
        }
        $(
            $(#[$doc1])*
            #[inline(always)]
            pub fn $f1<F: Float>(x: F) -> F {
                F::$f1(x)
            }
        )*
        $(
            $(#[$doc2])*
            #[inline(always)]
            pub fn $f2<F: Float>(x: F, y: F) -> F {
                F::$f2(x, y)
            }
        )*
    };
    (@rest $t:ty, $mul_add:path, $sin_cos:path) => {
        #[inline(always)]
        fn mul_add(x: $t, y: $t, z: $t) -> $t {
            $mul_add(x, y, z)
        }
        #[inline(always)]
        fn sin_cos(x: $t) -> ($t, $t) {
            $sin_cos(x)
        }
        #[inline(always)]
        fn powi(x: $t, n: i32) -> $t {
            let mut power = if n & 1 == 1 { x } else { 1.0 };
            let mut square = x;
            let mut rest = n.unsigned_abs() >> 1;
            while rest != 0 {
                square *= square;
                if rest & 1 == 1 {
                    power *= square;
                }
                rest >>= 1;
            }
            if n < 0 { 1.0 / power } else { power }
        }
    };
}
functions! {
    unary {
        /// The square root, exactly rounded. GPU: `sqrt.rn`.
        sqrt = sys::sqrt_f32, sys::sqrt_f64;
        /// The absolute value. GPU: `abs`.
        abs = f32::abs, f64::abs;
        /// The greatest integer that isn't greater. GPU: `cvt.rmi`.
        floor = sys::floor_f32, sys::floor_f64;
        /// The least integer that isn't less. GPU: `cvt.rpi`.
        ceil = sys::ceil_f32, sys::ceil_f64;
        /// The integer part. GPU: `cvt.rzi`.
        trunc = sys::trunc_f32, sys::trunc_f64;
        /// The nearest integer, halves away from zero. GPU: a few instructions; [`round_ties_even`] is one.
        round = sys::round_f32, sys::round_f64;
        /// The nearest integer, halves to the even one. GPU: `cvt.rni`.
        round_ties_even = sys::round_ties_even_f32, sys::round_ties_even_f64;
        /// The sine of an angle in radians.
        sin = single::sin, libm::sin;
        /// The cosine of an angle in radians.
        cos = single::cos, libm::cos;
        /// The tangent of an angle in radians.
        tan = single::tan, libm::tan;
        /// The arc sine.
        asin = single::asin, libm::asin;
        /// The arc cosine.
        acos = single::acos, libm::acos;
        /// The arc tangent.
        atan = single::atan, libm::atan;
        /// eˣ.
        exp = single::exp, libm::exp;
        /// 2ˣ.
        exp2 = single::exp2, libm::exp2;
        /// eˣ − 1, exact for small x.
        exp_m1 = single::exp_m1, libm::expm1;
        /// The natural logarithm.
        ln = single::ln, libm::log;
        /// The natural logarithm of 1 + x, exact for small x.
        ln_1p = single::ln_1p, libm::log1p;
        /// The logarithm to base 2.
        log2 = single::log2, libm::log2;
        /// The logarithm to base 10.
        log10 = single::log10, libm::log10;
        /// The cube root.
        cbrt = single::cbrt, libm::cbrt;
        /// The hyperbolic sine.
        sinh = single::sinh, libm::sinh;
        /// The hyperbolic cosine.
        cosh = single::cosh, libm::cosh;
        /// The hyperbolic tangent.
        tanh = single::tanh, libm::tanh;
    }
    binary {
        /// The lesser; the other one where one is a NaN; `-0.0` is less than `0.0`. GPU: `min`.
        min = sys::min_f32, sys::min_f64;
        /// The greater; the other one where one is a NaN; `-0.0` is less than `0.0`. GPU: `max`.
        max = sys::max_f32, sys::max_f64;
        /// `x` with the sign of `y`. GPU: `copysign`.
        copysign = f32::copysign, f64::copysign;
        /// The angle of the point (`y`, `x`) — `atan2(y, x)`, in this order of arguments — from −π to π.
        atan2 = single::atan2, libm::atan2;
        /// `x` to the power `y`.
        powf = libm::powf, libm::pow;
        /// √(x² + y²) without overflow in between.
        hypot = single::hypot, libm::hypot;
    }
}

/// `x * y + z`, rounded once. GPU: `fma.rn`.
#[inline(always)]
pub fn mul_add<F: Float>(x: F, y: F, z: F) -> F {
    F::mul_add(x, y, z)
}

/// The sine and the cosine of an angle in radians.
#[inline(always)]
pub fn sin_cos<F: Float>(x: F) -> (F, F) {
    F::sin_cos(x)
}

/// `x` to an integer power, by repeated squaring (a negative one is the reciprocal of the positive).
#[inline(always)]
pub fn powi<F: Float>(x: F, n: i32) -> F {
    F::powi(x, n)
}

mod sealed {
    /// Sums of products of the parts of a word.
    pub trait Dot {
        fn dp4a(a: u32, b: u32, c: Self) -> Self;
        fn dp2a_lo(a: u32, b: u32, c: Self) -> Self;
        fn dp2a_hi(a: u32, b: u32, c: Self) -> Self;
    }

    macro_rules! dot {
        ($($t:ident $byte:ident $short:ident { $($name:ident $instruction:literal |$a:ident, $b:ident| $terms:expr;)* })*) => {$(
            impl Dot for $t {
                $(
                    #[inline(always)]
                    fn $name(a: u32, b: u32, c: $t) -> $t {
                        let d: $t;
                        // SAFETY: the instruction computes.
                        unsafe {
                            crate::ptx_asm!($instruction, "{0}, {1}, {2}, {3};", out(b32) d, in(b32) a, in(b32) b, in(b32) c,
                                options(pure);
                                cpu => {
                                    let $b = b.to_le_bytes().map(|byte| byte as $byte as $t);
                                    let $a = |part: u32, bits: u32| match bits {
                                        8 => (a >> (8 * part)) as $byte as $t,
                                        _ => (a >> (16 * part)) as $short as $t,
                                    };
                                    d = $terms.fold(c, $t::wrapping_add)
                                }
                            );
                        }
                        d
                    }
                )*
            }
        )*};
    }
    dot! {
        i32 i8 i16 {
            dp4a "dp4a.s32.s32" |a, b| (0..4).map(|i| a(i, 8) * b[i as usize]);
            dp2a_lo "dp2a.lo.s32.s32" |a, b| (0..2).map(|i| a(i, 16) * b[i as usize]);
            dp2a_hi "dp2a.hi.s32.s32" |a, b| (0..2).map(|i| a(i, 16) * b[i as usize + 2]);
        }
        u32 u8 u16 {
            dp4a "dp4a.u32.u32" |a, b| (0..4).map(|i| a(i, 8) * b[i as usize]);
            dp2a_lo "dp2a.lo.u32.u32" |a, b| (0..2).map(|i| a(i, 16) * b[i as usize]);
            dp2a_hi "dp2a.hi.u32.u32" |a, b| (0..2).map(|i| a(i, 16) * b[i as usize + 2]);
        }
    }
}

/// `i32` or `u32`: what integer products of parts of words are added in, and whether the parts have a sign.
pub trait Dot: sealed::Dot {}
impl Dot for i32 {}
impl Dot for u32 {}

/// `c` plus the four products of the bytes of `a` and `b`; it wraps. GPU: `dp4a`.
///
/// ```
/// use cuda_std::math::dp4a;
/// assert_eq!(dp4a(0x04_03_02_ff, 0x01_01_01_02, 10i32), 10 + 4 + 3 + 2 - 2);
/// assert_eq!(dp4a(0x04_03_02_ff, 0x01_01_01_02, 10u32), 10 + 4 + 3 + 2 + 510);
/// ```
#[inline(always)]
pub fn dp4a<T: Dot>(a: u32, b: u32, c: T) -> T {
    T::dp4a(a, b, c)
}

/// `c` plus the products of the two halves of `a`, of 16 bits each, and the two low bytes of `b`; it wraps. GPU:
/// `dp2a.lo`.
#[inline(always)]
pub fn dp2a_lo<T: Dot>(a: u32, b: u32, c: T) -> T {
    T::dp2a_lo(a, b, c)
}

/// `c` plus the products of the two halves of `a`, of 16 bits each, and the two high bytes of `b`; it wraps. GPU:
/// `dp2a.hi`.
#[inline(always)]
pub fn dp2a_hi<T: Dot>(a: u32, b: u32, c: T) -> T {
    T::dp2a_hi(a, b, c)
}

/// The GPU's approximations, all but one for `f32`: one or two instructions of the special function unit.
///
/// They treat subnormal numbers as zero (`.ftz`, except `tanh`). Errors are PTX's bounds, relative unless said
/// otherwise.
/// **On the CPU these are the accurate functions**, so results differ between the two sides by up to the bounds.
pub mod fast {
    use crate::sys::math as sys;
    use core::f32::consts::{LN_2, LOG2_E};

    macro_rules! approximations {
        ($($(#[$doc:meta])* $name:ident($($x:ident),*) = $f:ident;)*) => {$(
            $(#[$doc])*
            #[inline(always)]
            pub fn $name($($x: f32),*) -> f32 {
                sys::$f($($x),*)
            }
        )*};
    }
    approximations! {
        /// The sine. Absolute error below 2⁻²⁰ within ±2π, growing with the angle beyond. `sin.approx.ftz.f32`.
        sin(x) = fast_sin;
        /// The cosine. Absolute error below 2⁻²⁰ within ±2π, growing with the angle beyond. `cos.approx.ftz.f32`.
        cos(x) = fast_cos;
        /// 2ˣ. Error 2⁻²². `ex2.approx.ftz.f32`.
        exp2(x) = fast_exp2;
        /// The logarithm to base 2. Error 2⁻²², absolute for x between 0.5 and 2. `lg2.approx.ftz.f32`.
        log2(x) = fast_log2;
        /// 1 / x. Error 2⁻²³. `rcp.approx.ftz.f32`.
        rcp(x) = fast_rcp;
        /// 1 / √x. Error 2⁻²²·⁹. `rsqrt.approx.ftz.f32`.
        rsqrt(x) = fast_rsqrt;
        /// √x. Error 2⁻²³. `sqrt.approx.ftz.f32`.
        sqrt(x) = fast_sqrt;
        /// The hyperbolic tangent. Error 2⁻¹¹. `tanh.approx.f32`.
        tanh(x) = fast_tanh;
        /// x / y. Two units in the last place for |y| from 2⁻¹²⁶ to 2¹²⁶; zero for greater y. `div.approx.ftz.f32`.
        div(x, y) = fast_div;
    }

    /// 1 / x in double precision. Error about 2⁻²⁰. `rcp.approx.ftz.f64`.
    #[inline(always)]
    pub fn rcp_f64(x: f64) -> f64 {
        sys::fast_rcp_f64(x)
    }

    /// eˣ, as [`exp2`] of x·log₂e: an error of about 2⁻²² + |x|·2⁻²³.
    #[inline(always)]
    pub fn exp(x: f32) -> f32 {
        if crate::is_gpu() { exp2(x * LOG2_E) } else { super::exp(x) }
    }

    /// The natural logarithm, as [`log2`] times ln 2: its error and one rounding more.
    #[inline(always)]
    pub fn ln(x: f32) -> f32 {
        if crate::is_gpu() { log2(x) * LN_2 } else { super::ln(x) }
    }

    /// `x` to the power `y` for positive `x`, as [`exp2`] of y·[`log2`]\(x): its error grows with |y·log₂x|.
    #[inline(always)]
    pub fn powf(x: f32, y: f32) -> f32 {
        if crate::is_gpu() { exp2(y * log2(x)) } else { super::powf(x, y) }
    }
}
