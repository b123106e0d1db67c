//! Transcendental functions of `f32`, computed in `f32` and integers alone: a GPU has few units for `f64`.
//!
//! Polynomials are minimax fits by Remez exchange, with coefficients rounded to `f32` and relative errors below 2⁻²⁶.
//! A product that is added to something is an explicit [`fma`], so that results have the same bits with and without
//! contraction.

use crate::sys::math::{mul_add_f32 as fma, sqrt_f32 as sqrt};
use core::f32::consts::{FRAC_2_PI, FRAC_PI_2, LOG2_E, LOG10_E};

/// The polynomial in `$x` with these coefficients, in ascending order.
macro_rules! polynomial {
    ($x:expr; $last:literal) => { $last };
    ($x:expr; $first:literal, $($rest:literal),+) => { fma($x, polynomial!($x; $($rest),+), $first) };
}

/// `x * y`, which isn't fused with an addition of the caller's.
#[inline]
fn product(x: f32, y: f32) -> f32 {
    fma(x, y, -0.0)
}

/// Added to a number below 2²² and subtracted again, it rounds to an integer, whose low bits are those of the sum.
const ROUND: f32 = 12_582_912.0;

/// π/2 in three parts, none negative, so that subtracting zero times each leaves -0.
const QUARTER: [f32; 3] = [f32::from_bits(FRAC_PI_2.to_bits() - 1), 7.549_789_4e-8, 5.390_303e-15];

/// π/2 less [`FRAC_PI_2`].
const FRAC_PI_2_REST: f32 = -4.371_139e-8;

/// 2/π: 31 zeros, the binary point, and 225 bits.
static FRAC_2_PI_BITS: [u32; 8] = [0, 0xa2f9_836e, 0x4e44_1529, 0xfc27_57d1, 0xf534_ddc0, 0xdb62_9599, 0x3c43_9041, 0xfe51_63ab];

/// Returns the number of quarter turns nearest to an angle, right in the last two bits, the rest of the angle within an
/// ulp, and most of what is left of it.
#[inline]
fn quarters(x: f32) -> (u32, f32, f32) {
    if x.abs() < 131_072.0 {
        let shifted = fma(x, FRAC_2_PI, ROUND);
        let n = shifted - ROUND;
        // Exact.
        let first = fma(-n, QUARTER[0], x);
        let second = fma(-n, QUARTER[1], first);
        let rest = fma(-n, QUARTER[2], second);
        // The differences are exact, the latter where the first part of π/2 did most.
        let left = if rest.abs() < 0.03125 { second - rest } else { fma(-n, QUARTER[1], first - rest) };
        return (shifted.to_bits(), rest, fma(-n, QUARTER[2], left));
    }
    // The angle is an integer times a power of two, so that the first bits of 2/π give whole turns alone. The product
    // with the 96 bits after them is in units of 2⁻⁶² quarter turns, modulo 4 quarter turns.
    let bits = x.to_bits();
    let integer = u64::from(bits & 0x7f_ffff | 0x80_0000);
    let start = (bits >> 23 & 0xff) - 120;
    let word = |i: u32| u64::from(FRAC_2_PI_BITS[(start / 32 + i) as usize % 8]);
    let shift = start % 32;
    let (first, second) = (word(0) << 32 | word(1), word(2) << 32 | word(3));
    let window = first << shift | second >> 1 >> (63 - shift);
    let turn = integer.wrapping_mul(window).wrapping_add((integer * (second << shift >> 32)) >> 32);
    let n = (turn.wrapping_add(1 << 61) >> 62) as u32;
    let rest = (turn << 2) as i64;
    let (n, rest) = if x < 0.0 { (n.wrapping_neg(), rest.wrapping_neg()) } else { (n, rest) };

    /// π/2 · 2⁻⁶⁴ in two parts.
    const UNIT: [f32; 2] = [8.515_304e-20, -2.369_599_1e-27];
    let (more, less) = (rest as f32, rest.wrapping_sub(rest as f32 as i64) as f32);
    // The addend is zero, or NaN for an infinity.
    let high = fma(more, UNIT[0], 0.0 * x);
    let low = fma(more, UNIT[1], fma(less, UNIT[0], fma(more, UNIT[0], -high)));
    let rest = high + low;
    (n, rest, low - (rest - high))
}

/// The sine or, for odd `n`, the cosine of an angle within an eighth of a turn, negated if `n` has the second bit.
#[inline]
fn quarter_sine(n: u32, angle: f32) -> f32 {
    let z = angle * angle;
    let value = if n & 1 == 0 {
        // The sum of zeros would be positive.
        fma(angle * z, polynomial!(z; -0.166_666_54, 0.008_332_106, -0.000_195_078_3), angle).copysign(angle)
    } else {
        fma(z * z, polynomial!(z; 0.041_666_653, -0.001_388_760_3, 2.446_038_3e-5), fma(z, -0.5, 1.0))
    };
    if n & 2 == 0 { value } else { -value }
}

#[inline]
pub fn sin(x: f32) -> f32 {
    let (n, angle, _) = quarters(x);
    quarter_sine(n, angle)
}

#[inline]
pub fn cos(x: f32) -> f32 {
    let (n, angle, _) = quarters(x);
    quarter_sine(n.wrapping_add(1), angle)
}

#[inline]
pub fn sin_cos(x: f32) -> (f32, f32) {
    let (n, angle, _) = quarters(x);
    (quarter_sine(n, angle), quarter_sine(n.wrapping_add(1), angle))
}

#[inline]
pub fn tan(x: f32) -> f32 {
    let (n, angle, left) = quarters(x);
    let z = angle * angle;
    let series =
        polynomial!(z; 0.333_333_43, 0.133_328_07, 0.054_048_67, 0.021_323_849, 0.010_757_694, 0.000_160_237_93, 0.004_352_346);
    let rough = fma(angle * z, series, angle);
    let rest = fma(angle * z, series, fma(left * rough, rough, left));
    let tangent = angle + rest;
    if n & 1 == 0 {
        return tangent.copysign(angle);
    }
    // Newton's step makes up for the roundings of the tangent and of the quotient.
    let quotient = -1.0 / tangent;
    let missed = fma((angle - tangent) + rest, quotient, fma(tangent, quotient, 1.0));
    fma(quotient, missed, quotient)
}

/// `addend` plus `factor` times asin x - x over x, for |x| up to 1/2 and its square.
#[inline]
fn arc_sine(factor: f32, square: f32, addend: f32) -> f32 {
    let series = polynomial!(square; 0.166_667_31, 0.074_959_576, 0.045_401_372, 0.024_476_29, 0.041_714_78);
    fma(factor * square, series, addend)
}

#[inline]
pub fn asin(x: f32) -> f32 {
    let size = x.abs();
    if size <= 0.5 {
        return arc_sine(x, x * x, x);
    }
    // The angle is a quarter turn less twice the arc sine of this root.
    let square = fma(size, -0.5, 0.5);
    let root = sqrt(square);
    let most = fma(-2.0, root, FRAC_PI_2);
    let rest = fma(-2.0, root, FRAC_PI_2 - most) + FRAC_PI_2_REST;
    (most + arc_sine(-2.0 * root, square, rest)).copysign(x)
}

#[inline]
pub fn acos(x: f32) -> f32 {
    if x.abs() <= 0.5 {
        return FRAC_PI_2 - arc_sine(x, x * x, x - FRAC_PI_2_REST);
    }
    let square = fma(x.abs(), -0.5, 0.5);
    let root = sqrt(square);
    let half = arc_sine(root, square, root);
    if x < 0.0 { 2.0 * (FRAC_PI_2 - (half - FRAC_PI_2_REST)) } else { 2.0 * half }
}

/// The arc tangent of `small / large`, or with `swap` of its reciprocal, from the quotient.
#[inline]
fn arc_tangent(quotient: f32, swap: bool) -> f32 {
    let z = quotient * quotient;
    let series = polynomial!(
        z; -0.333_333_13, 0.199_989_07, -0.142_675_7, 0.109_678_77, -0.084_456_3,
        0.058_631_875, -0.031_812_157, 0.011_238_842, -0.001_863_096_8
    );
    let angle = fma(quotient * z, series, quotient);
    if swap { FRAC_PI_2 - (angle - FRAC_PI_2_REST) } else { angle }
}

#[inline]
pub fn atan(x: f32) -> f32 {
    let size = x.abs();
    let swap = size > 1.0;
    arc_tangent(if swap { 1.0 / size } else { size }, swap).copysign(x)
}

#[inline]
pub fn atan2(y: f32, x: f32) -> f32 {
    let swap = y.abs() > x.abs();
    let (small, large) = if swap { (x.abs(), y.abs()) } else { (y.abs(), x.abs()) };
    let quotient = match small == large {
        // 0/0 and ∞/∞ have the angles of 0 and 1.
        true => f32::from(large > 0.0),
        false => small / large,
    };
    let angle = arc_tangent(quotient, swap);
    let angle = if x.is_sign_negative() { 2.0 * (FRAC_PI_2 - (0.5 * angle - FRAC_PI_2_REST)) } else { angle };
    angle.copysign(y)
}

/// ln 2 in two parts, the first of 16 bits.
const LN_2: [f32; 2] = [0.693_145_75, 1.428_606_8e-6];

/// 2ⁿ for `n` from -126 to 127, and 0 for -127.
#[inline]
fn power_of_two(n: i32) -> f32 {
    f32::from_bits(((n + 127) << 23) as u32)
}

/// Two factors of `x`·2ⁿ for `n` from -252 to 254, the second a power of two: only their product is rounded.
#[inline]
fn scale(x: f32, n: i32) -> (f32, f32) {
    (x * power_of_two(n >> 1), power_of_two(n - (n >> 1)))
}

/// eʳ - 1 for |r| up to (ln 2)/2.
#[inline]
fn exp_m1_near_zero(r: f32) -> f32 {
    fma(r * r, polynomial!(r; 0.499_999_94, 0.166_665_21, 0.041_668_21, 0.008_367_912, 0.001_381_765_5), r)
}

/// The integer `n` for which x - n ln 2 is least, and this difference, for |x| up to 1000.
#[inline]
fn halvings(x: f32) -> (i32, f32) {
    let shifted = fma(x, LOG2_E, ROUND);
    let n = shifted - ROUND;
    (shifted.to_bits().wrapping_sub(ROUND.to_bits()) as i32, fma(-n, LN_2[1], fma(-n, LN_2[0], x)))
}

/// Two factors of eˣ·2ᵏ for a small `k`.
#[inline]
fn scaled_exp(x: f32, k: i32) -> (f32, f32) {
    let (n, r) = halvings(x.clamp(-105.0, 90.0));
    scale(1.0 + exp_m1_near_zero(r), n.wrapping_add(k))
}

#[inline]
pub fn exp(x: f32) -> f32 {
    let (factor, power) = scaled_exp(x, 0);
    product(factor, power)
}

#[inline]
pub fn exp2(x: f32) -> f32 {
    let x = x.clamp(-151.0, 129.0);
    let shifted = x + ROUND;
    let r = (x - (shifted - ROUND)) * core::f32::consts::LN_2;
    let (factor, power) = scale(1.0 + exp_m1_near_zero(r), shifted.to_bits().wrapping_sub(ROUND.to_bits()) as i32);
    product(factor, power)
}

#[inline]
pub fn exp_m1(x: f32) -> f32 {
    let (n, r) = halvings(x.clamp(-20.0, 89.0));
    let near = exp_m1_near_zero(r);
    if n == 0 {
        return near.copysign(x);
    }
    // Half of it, because 2ⁿ may be too large.
    let power = power_of_two(n.wrapping_sub(1));
    2.0 * fma(near, power, power - 0.5)
}

/// (eˣ + `sign`·e⁻ˣ)/2.
#[inline]
fn half_exp_plus(x: f32, sign: f32) -> f32 {
    let ((factor, power), (other, other_power)) = (scaled_exp(x, -1), scaled_exp(-x, -1));
    fma(factor, power, product(other * other_power, sign))
}

#[inline]
pub fn sinh(x: f32) -> f32 {
    let (size, z) = (x.abs(), x * x);
    let value = match size < 1.0 {
        true => fma(size * z, polynomial!(z; 0.166_666_67, 0.008_333_307, 0.000_198_438_73, 2.776_058_4e-6), size),
        false => half_exp_plus(size, -1.0),
    };
    value.copysign(x)
}

#[inline]
pub fn cosh(x: f32) -> f32 {
    half_exp_plus(x.abs(), 1.0)
}

#[inline]
pub fn tanh(x: f32) -> f32 {
    let (size, z) = (x.abs(), x * x);
    let value = match size < 0.6 {
        true => fma(size * z, polynomial!(z; -0.333_333_05, 0.133_320_64, -0.053_794, 0.020_826_302, -0.005_927_162), size),
        false => 1.0 - 2.0 / (exp(2.0 * size) + 1.0),
    };
    value.copysign(x)
}

/// The bits of 2/3: logarithms are those of a number from 2/3 to 4/3 and of a power of two.
const TWO_THIRDS: u32 = 0x3f2a_aaab;

/// A base of logarithms.
struct Base {
    /// The logarithm of e, in two parts.
    of_e: [f32; 2],
    /// The logarithm of 2, in two parts, the first of 16 bits at most.
    of_2: [f32; 2],
}
const E: Base = Base { of_e: [1.0, 0.0], of_2: LN_2 };
const TWO: Base = Base { of_e: [LOG2_E, 1.925_963e-8], of_2: [1.0, 0.0] };
const TEN: Base = Base { of_e: [LOG10_E, -1.010_305e-8], of_2: [0.301_025_4, 4.605_039e-6] };

/// The logarithm of (1 + f)·2ᵉ for `f` from -1/3 to 1/3.
#[inline(always)]
fn log_of_parts(f: f32, e: f32, base: &Base) -> f32 {
    let series = polynomial!(
        f; -0.5, 0.333_332_1, -0.249_997_17, 0.200_107_26, -0.166_823_22,
        0.140_014_66, -0.121_670_745, 0.140_035_05, -0.129_489_72
    );
    let small = fma(f * f, series * base.of_e[0], fma(f, base.of_e[1], e * base.of_2[1]));
    fma(e, base.of_2[0], fma(f, base.of_e[0], small))
}

#[inline(always)]
fn log(x: f32, base: &Base) -> f32 {
    let (normal, less) = if x < f32::MIN_POSITIVE { (x * 8_388_608.0, 23.0) } else { (x, 0.0) };
    let above = normal.to_bits().wrapping_sub(TWO_THIRDS) as i32;
    let mantissa = f32::from_bits((above as u32 & 0x7f_ffff) + TWO_THIRDS);
    let value = log_of_parts(mantissa - 1.0, (above >> 23) as f32 - less, base);
    match x {
        _ if x > 0.0 && x < f32::INFINITY => value,
        0.0 => f32::NEG_INFINITY,
        _ if x < 0.0 => f32::NAN,
        _ => x,
    }
}

#[inline]
pub fn ln(x: f32) -> f32 {
    log(x, &E)
}

#[inline]
pub fn log2(x: f32) -> f32 {
    log(x, &TWO)
}

#[inline]
pub fn log10(x: f32) -> f32 {
    log(x, &TEN)
}

#[inline]
pub fn ln_1p(x: f32) -> f32 {
    // The exponent of the rounded sum, and the exact sum divided by that power of two.
    let e = (1.0 + x).to_bits().wrapping_sub(TWO_THIRDS) as i32 >> 23;
    let scaled = f32::from_bits(x.to_bits().wrapping_sub((e << 23) as u32));
    let value = log_of_parts(scaled + (power_of_two((-e).max(-127)) - 1.0), e as f32, &E);
    match x {
        _ if x > -1.0 && x < f32::INFINITY => value.copysign(x),
        -1.0 => f32::NEG_INFINITY,
        _ if x < -1.0 => f32::NAN,
        _ => x,
    }
}

#[inline]
pub fn cbrt(x: f32) -> f32 {
    let size = x.abs();
    let (normal, unit) = if size < f32::MIN_POSITIVE { (size * 16_777_216.0, 1.0 / 256.0) } else { (size, 1.0) };
    // The reciprocal root: its exponent by the bits, within 4 percent, and two steps towards it.
    let mut root = f32::from_bits(0x54a1_f400 - normal.to_bits() / 3);
    let missed = fma(-(normal * root), root * root, 1.0);
    root = fma(root * missed, polynomial!(missed; 0.333_333_34, 0.222_222_22, 0.172_839_5), root);
    let missed = fma(-(normal * root), root * root, 1.0);
    root = fma(root * missed, 0.333_333_34, root);
    // Newton's step for the root itself, whose cube is formed without rounding.
    let rough = normal * root * root;
    let square = rough * rough;
    let missed = fma(-fma(rough, rough, -square), rough, fma(-square, rough, normal));
    let value = fma(missed, root * root * 0.333_333_34, rough) * unit;
    if size > 0.0 && size < f32::INFINITY { value.copysign(x) } else { x }
}

#[inline]
pub fn hypot(x: f32, y: f32) -> f32 {
    let (x, y) = (x.abs(), y.abs());
    let large = if x > y { x } else { y };
    // A power of two keeps the squares from overflowing and from vanishing.
    let (factor, back) = match large {
        _ if large > 9.2e18 => (1.355_252_7e-20, 7.378_698e19),
        _ if large < 8.9e-16 => (1.237_940_1e27, 8.077_936e-28),
        _ => (1.0, 1.0),
    };
    let (a, b) = (x * factor, y * factor);
    // The greater square loses nothing.
    let (a, b) = if a > b { (a, b) } else { (b, a) };
    let value = product(sqrt(fma(a, a, b * b)), back);
    if x == f32::INFINITY || y == f32::INFINITY { f32::INFINITY } else { value }
}
