//! `math`.

use crate::{Bits, Out, items};
use cuda_std::{
    math::{self, Float, fast},
    prelude::*,
};

#[inline(always)]
fn every<F: Float + Bits>(out: &mut Out, x: F, positive: F, small: F) {
    out.put(math::sqrt(positive));
    out.put(math::abs(x));
    out.put(math::floor(x));
    out.put(math::ceil(x));
    out.put(math::trunc(x));
    out.put(math::round(x));
    out.put(math::round_ties_even(x));
    out.put(math::mul_add(x, positive, small));
    out.put(math::min(x, small));
    out.put(math::max(x, small));
    out.put(math::copysign(positive, x));
    out.put(math::sin(x));
    out.put(math::cos(x));
    let (sin, cos) = math::sin_cos(positive);
    out.put(sin);
    out.put(cos);
    out.put(math::tan(x));
    out.put(math::asin(small));
    out.put(math::acos(small));
    out.put(math::atan(x));
    out.put(math::atan2(x, small));
    out.put(math::exp(small));
    out.put(math::exp2(small));
    out.put(math::exp_m1(small));
    out.put(math::ln(positive));
    out.put(math::ln_1p(positive));
    out.put(math::log2(positive));
    out.put(math::log10(positive));
    out.put(math::powf(positive, small));
    out.put(math::powi(x, 7));
    out.put(math::powi(x, -3));
    out.put(math::cbrt(x));
    out.put(math::hypot(x, positive));
    out.put(math::sinh(small));
    out.put(math::cosh(small));
    out.put(math::tanh(x));
}

/// A number of either sign, a positive one and one in ±1, from bits.
#[inline(always)]
fn arguments(bits: u64) -> (f64, f64, f64) {
    let x = (bits >> 11) as f64 / (1u64 << 53) as f64;
    ((x - 0.5) * 200.0, x * 50.0 + 1e-3, 2.0 * x - 1.0)
}

/// The approximations, which differ between GPU and CPU.
#[kernel]
pub unsafe fn approximations(input: &[u64], out: *mut u64) {
    // SAFETY: `out` points to the launch's output.
    let mut out = unsafe { Out::new(out) };
    let (_, positive, small) = arguments(input[thread::index_1d() as usize]);
    let (positive, small) = (positive as f32, small as f32);
    out.put(fast::sin(small * 6.0));
    out.put(fast::cos(small * 6.0));
    out.put(fast::exp2(small * 20.0));
    out.put(fast::exp(small * 20.0));
    out.put(fast::log2(positive));
    out.put(fast::ln(positive));
    out.put(fast::rcp(positive));
    out.put(fast::rsqrt(positive));
    out.put(fast::sqrt(positive));
    out.put(fast::div(small, positive));
    out.put(fast::tanh(small * 4.0));
    out.put(fast::powf(positive, small));
}

/// Multiplications and additions that are not fused.
#[kernel]
pub unsafe fn unfused(input: &[u64], out: *mut u64) {
    // SAFETY: `out` points to the launch's output.
    let mut out = unsafe { Out::new(out) };
    let (x, positive, small) = arguments(input[thread::index_1d() as usize]);
    out.put(x as f32 * positive as f32 + small as f32);
    out.put(x * positive + small);
}

items! {
    "functions";

    /// All functions of `f32`.
    fn f32s(input, out) {
        let (x, positive, small) = arguments(input[thread::index_1d() as usize]);
        every(&mut out, x as f32, positive as f32, small as f32);
    }

    /// The transcendental functions of `f32` that are `cuda_std`'s own, of any bits.
    fn singles(input, out) {
        let bits = input[thread::index_1d() as usize];
        let (x, y) = (f32::from_bits(bits as u32), f32::from_bits((bits >> 32) as u32));
        // Backends have different NaNs.
        let mut put = |value: f32| out.put(if value.is_nan() { f32::NAN } else { value });
        let (sine, cosine) = math::sin_cos(x);
        put(sine);
        put(cosine);
        put(math::sin(x));
        put(math::cos(x));
        put(math::tan(x));
        put(math::asin(x));
        put(math::acos(x));
        put(math::atan(x));
        put(math::exp(x));
        put(math::exp2(x));
        put(math::exp_m1(x));
        put(math::ln(x));
        put(math::ln_1p(x));
        put(math::log2(x));
        put(math::log10(x));
        put(math::cbrt(x));
        put(math::sinh(x));
        put(math::cosh(x));
        put(math::tanh(x));
        put(math::atan2(y, x));
        put(math::hypot(x, y));
    }

    /// All functions of `f64`.
    fn f64s(input, out) {
        let (x, positive, small) = arguments(input[thread::index_1d() as usize]);
        every(&mut out, x, positive, small);
    }
}
