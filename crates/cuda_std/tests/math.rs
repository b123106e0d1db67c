//! The functions against the standard library's, which come from another implementation.

use cuda_std::math::{self, Float, fast};
use std::fmt::Debug;

/// Points of all magnitudes and both signs.
fn points(lowest: f64, highest: f64) -> impl Iterator<Item = f64> {
    let n = 4000;
    let across = (0..=n).map(move |i| lowest + (highest - lowest) * f64::from(i) / f64::from(n));
    let small = (-40..0).flat_map(|e| [1.0, -1.0, 1.7].map(|m| m * f64::exp2(f64::from(e))));
    across.chain(small).filter(move |&x| lowest <= x && x <= highest)
}

/// Distance in units in the last place of `expected`.
fn ulps64(got: f64, expected: f64) -> f64 {
    if got == expected || got.is_nan() && expected.is_nan() {
        return 0.0;
    }
    let unit = (f64::from_bits(expected.abs().to_bits() + 1) - expected.abs()).max(f64::MIN_POSITIVE);
    (got - expected).abs() / unit
}

fn ulps32(got: f32, expected: f64) -> f64 {
    if got == expected as f32 || got.is_nan() && expected.is_nan() {
        return 0.0;
    }
    let near = (expected as f32).abs();
    let unit = f64::from(f32::from_bits(near.to_bits() + 1) - near);
    (f64::from(got) - expected).abs() / unit
}

macro_rules! against_std {
    ($($name:ident on $range:expr;)*) => {$(
        #[test]
        fn $name() {
            for x in points($range.0, $range.1) {
                let (got, expected) = (math::$name(x), x.$name());
                assert!(ulps64(got, expected) <= 2.0, "f64 at {x:e}: {got:e}, not {expected:e}");
                let x = x as f32;
                if f64::from(x) < $range.0 || f64::from(x) > $range.1 { continue; }
                let (got, expected) = (math::$name(x), f64::from(x).$name());
                assert!(ulps32(got, expected) <= 2.0, "f32 at {x:e}: {got:e}, not {expected:e}");
            }
            assert!(math::$name(f64::NAN).is_nan() && math::$name(f32::NAN).is_nan());
        }
    )*};
}
against_std! {
    sqrt on (0.0, 1e6);
    abs on (-1e3, 1e3);
    floor on (-1e3, 1e3);
    ceil on (-1e3, 1e3);
    trunc on (-1e3, 1e3);
    round on (-1e3, 1e3);
    round_ties_even on (-1e3, 1e3);
    sin on (-50.0, 50.0);
    cos on (-50.0, 50.0);
    tan on (-50.0, 50.0);
    asin on (-1.0, 1.0);
    acos on (-1.0, 1.0);
    atan on (-100.0, 100.0);
    exp on (-80.0, 80.0);
    exp2 on (-100.0, 100.0);
    exp_m1 on (-20.0, 80.0);
    ln on (1e-20, 1e6);
    ln_1p on (-0.999, 1e3);
    log2 on (1e-20, 1e6);
    log10 on (1e-20, 1e6);
    cbrt on (-1e6, 1e6);
    sinh on (-80.0, 80.0);
    cosh on (-80.0, 80.0);
    tanh on (-20.0, 20.0);
}

/// The numbers nearest to multiples of π/2 among those from 2¹⁷ on.
const NEAR_QUARTERS: [f32; 5] = [7.729_179e28, 2.199_938_5e10, 1.545_835_8e29, 4.638_183_4e25, 1.522_789e12];

/// The functions of one `f32` with their references.
type Function = (&'static str, fn(f32) -> f32, fn(f64) -> f64);

macro_rules! of_f32 {
    ($($name:ident)*) => { &[$((stringify!($name), math::$name::<f32>, f64::$name)),*] };
}
const OF_F32: &[Function] = of_f32![sin cos tan asin acos atan exp exp2 exp_m1 ln ln_1p log2 log10 cbrt sinh cosh tanh];

/// Checks a result against the correctly rounded one, zeros with their signs, and returns its error.
fn check_f32(&(name, function, reference): &Function, x: f32) -> f64 {
    let (got, expected) = (function(x), reference(f64::from(x)));
    let zero = (expected as f32) == 0.0 && expected == 0.0;
    let error = if zero && got.to_bits() != (expected as f32).to_bits() { f64::INFINITY } else { ulps32(got, expected) };
    assert!(error <= 2.0, "{name}({x:e}) is {got:e}, not {expected:e}: {error} ulps");
    error
}

#[test]
fn functions_of_f32_at_ends_thresholds_and_samples() {
    let near = |x: f32| (-2..=2).map(move |step: i32| f32::from_bits(x.to_bits().saturating_add_signed(step)));
    // The functions or their algorithms change here.
    let thresholds = [
        0.0,
        f32::MIN_POSITIVE,
        0.346_573_6,
        0.5,
        0.6,
        2.0 / 3.0,
        1.0,
        4.0 / 3.0,
        2.0,
        10.0,
        20.0,
        88.722_84,
        89.415_985,
        103.972_08,
        127.0,
        128.0,
        149.0,
        150.0,
        131_072.0,
        f32::MAX,
        f32::INFINITY,
    ];
    let quarters = (1..400).map(|n| n as f32 * core::f32::consts::FRAC_PI_2);
    let samples = (0..u32::MAX).step_by(12_289).map(f32::from_bits);
    let points: Vec<f32> = thresholds.into_iter().chain(quarters).chain(NEAR_QUARTERS).flat_map(near).chain(samples).collect();
    for function in OF_F32 {
        for &x in &points {
            check_f32(function, x);
            check_f32(function, -x);
        }
    }
}

#[test]
fn functions_of_two_f32() {
    let ends = [0.0, 1.0, 1.5, 3e-39, f32::MIN_POSITIVE, 1e-20, 1e-7, 1e19, 3e38, f32::MAX, f32::INFINITY, f32::NAN];
    let ends = ends.into_iter().flat_map(|x| [x, -x]);
    // Numbers of all magnitudes, and of near ones.
    let samples = (0..300).map(|i: u32| f32::from_bits(i.wrapping_mul(0x9e37_79b9)));
    let points: Vec<f32> = ends.chain(samples).chain((1..100).map(|i| i as f32 / 7.0)).collect();
    for &x in &points {
        for &y in &points {
            let (angle, length) = (f64::from(y).atan2(f64::from(x)), f64::from(y).hypot(f64::from(x)));
            assert!(ulps32(math::atan2(y, x), angle) <= 2.0, "atan2({y:e}, {x:e}) is {:e}", math::atan2(y, x));
            assert!(angle.is_nan() || math::atan2(y, x).is_sign_negative() == angle.is_sign_negative(), "atan2({y:e}, {x:e})");
            assert!(ulps32(math::hypot(y, x), length) <= 2.0, "hypot({y:e}, {x:e}) is {:e}", math::hypot(y, x));
        }
    }
}

/// Finds the greatest error of each function: `cargo test --release -p warpsmith-cuda-std --test math -- --ignored
/// --nocapture`. The environment variable `FUNCTION` chooses one.
#[test]
#[ignore = "takes minutes"]
fn functions_of_every_f32() {
    let threads = std::thread::available_parallelism().map_or(1, usize::from);
    let only = std::env::var("FUNCTION").ok();
    for function in OF_F32.iter().filter(|(name, ..)| only.as_deref().is_none_or(|only| only == *name)) {
        let worst = std::thread::scope(|scope| {
            let part = |first: u32| {
                move || {
                    let inputs = (first..=u32::MAX).step_by(threads).map(f32::from_bits);
                    inputs.fold((0.0, 0.0), |worst, x| {
                        let error = check_f32(function, x);
                        if error > worst.0 { (error, x) } else { worst }
                    })
                }
            };
            let parts: Vec<_> = (0..threads as u32).map(|first| scope.spawn(part(first))).collect();
            parts.into_iter().map(|part| part.join().unwrap()).max_by(|a, b| a.0.total_cmp(&b.0)).unwrap()
        });
        println!("{}: {:.2} ulps at {:e}", function.0, worst.0, worst.1);
    }
}

#[test]
fn halves_round_away_or_to_even() {
    for (x, away, even) in [(0.5, 1.0, 0.0), (1.5, 2.0, 2.0), (2.5, 3.0, 2.0), (-0.5, -1.0, 0.0), (-2.5, -3.0, -2.0)] {
        assert_eq!((math::round(x), math::round_ties_even(x)), (away, even));
        assert_eq!((math::round(x as f32), math::round_ties_even(x as f32)), (away as f32, even as f32));
    }
    assert_eq!(math::round(0.499_999_97f32), 0.0);
    assert!(math::round_ties_even(-0.5f64).is_sign_negative());
}

fn check_extremes<F: Float + PartialOrd + Debug>(nan: F, values: [F; 5], bits: impl Fn(F) -> u64) {
    for (i, &a) in values.iter().enumerate() {
        for (j, &b) in values.iter().enumerate() {
            // `values` ascends, with -0.0 before 0.0.
            assert_eq!(bits(math::min(a, b)), bits(values[i.min(j)]), "min of {a:?} and {b:?}");
            assert_eq!(bits(math::max(a, b)), bits(values[i.max(j)]), "max of {a:?} and {b:?}");
        }
        for extreme in [math::min, math::max] {
            assert_eq!(bits(extreme(a, nan)), bits(a));
            assert_eq!(bits(extreme(nan, a)), bits(a));
            assert_eq!(extreme(nan, nan).partial_cmp(&nan), None);
        }
    }
}

#[test]
fn extremes_skip_nans_and_order_zeroes() {
    check_extremes(f32::NAN, [f32::NEG_INFINITY, -1.0, -0.0, 0.0, 1.0], |x| x.to_bits().into());
    check_extremes(f64::NAN, [f64::NEG_INFINITY, -1.0, -0.0, 0.0, 1.0], f64::to_bits);
}

#[test]
fn binary_functions() {
    for x in points(-30.0, 30.0).step_by(37) {
        for y in points(-30.0, 30.0).step_by(41) {
            assert!(ulps64(math::atan2(x, y), x.atan2(y)) <= 2.0);
            assert!(ulps32(math::atan2(x as f32, y as f32), f64::from(x as f32).atan2(f64::from(y as f32))) <= 2.0);
            assert!(ulps64(math::hypot(x, y), x.hypot(y)) <= 2.0);
            assert!(ulps32(math::hypot(x as f32, y as f32), f64::from(x as f32).hypot(f64::from(y as f32))) <= 2.0);
            let (a, f) = (x.abs() + 0.01, y.abs() / 4.0);
            assert!(ulps64(math::powf(a, f), a.powf(f)) <= 2.0);
            assert!(ulps32(math::powf(a as f32, f as f32), f64::from(a as f32).powf(f64::from(f as f32))) <= 2.0);
            assert_eq!(math::copysign(x, y), x.copysign(y));
            assert_eq!(math::mul_add(x, y, 0.1), x.mul_add(y, 0.1));
            assert_eq!(math::mul_add(x as f32, y as f32, 0.1), (x as f32).mul_add(y as f32, 0.1));
        }
        assert_eq!(math::sin_cos(x), (math::sin(x), math::cos(x)));
        assert_eq!(math::sin_cos(x as f32), (math::sin(x as f32), math::cos(x as f32)));
    }
}

#[test]
fn integer_powers() {
    for x in [0.5, -1.5, 3.0, 1e-3] {
        for n in -9..10 {
            assert!(ulps64(math::powi(x, n), x.powf(f64::from(n))) <= 8.0, "{x} to the {n}");
        }
        assert_eq!(math::powi(x, 0), 1.0);
        assert_eq!(math::powi(x as f32, 1), x as f32);
    }
    assert_eq!(math::powi(2.0f64, i32::MIN), 0.0);
    assert_eq!(math::powi(-1.0f32, i32::MAX), -1.0);
    assert_eq!(math::powi(0.0f64, -1), f64::INFINITY);
}

#[test]
fn fast_functions_are_accurate_here() {
    for x in points(0.01, 20.0) {
        let x = x as f32;
        let wide = f64::from(x);
        for (got, expected) in [
            (fast::sin(x), wide.sin()),
            (fast::cos(x), wide.cos()),
            (fast::exp(x), wide.exp()),
            (fast::exp2(x), wide.exp2()),
            (fast::ln(x), wide.ln()),
            (fast::log2(x), wide.log2()),
            (fast::rcp(x), 1.0 / wide),
            (fast::rsqrt(x), 1.0 / wide.sqrt()),
            (fast::sqrt(x), wide.sqrt()),
            (fast::tanh(x), wide.tanh()),
            (fast::div(x, 3.0), wide / 3.0),
            (fast::powf(x, 1.25), wide.powf(1.25)),
        ] {
            assert!(ulps32(got, expected) <= 2.0, "at {x}: {got}, not {expected}");
        }
    }
}
