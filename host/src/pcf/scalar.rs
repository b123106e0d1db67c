//! Integrals of one function or one pair, on the host.
//!
//! Sums are made in the functions' own type, from t = 0 on, one term for each interval between breakpoints of either
//! function.

use std::iter;

use gpu_kernels::{
    number::Number as _,
    pcf::op::{Exponent, Operation},
};

use super::{
    Measure, PcfError, PcfReal, PcfRef,
    launches::{Integrals, for_integrals},
};

/// The L_p distance of two functions: the p-th root of the integral of |f - g|^p from 0 to infinity, which is infinite
/// where they differ for ever; for infinite p, the largest |f - g|.
///
/// Powers don't leave the range of the functions' type: only the result may.
///
/// # Errors
/// If p is below 1, NaN, or too large for the type.
///
/// ```
/// use warpsmith::pcf::{Pcf, lp_distance};
///
/// let f = Pcf::new([(0.0, 3.0), (1.0, 1.0), (3.0, 0.0)])?;
/// let g = Pcf::new([(0.0, 2.0), (2.0, 0.0)])?;
/// // |3 - 2| + |1 - 2| + |1 - 0|
/// assert_eq!(lp_distance(&f, &g, 1.0)?, 3.0);
/// assert_eq!(lp_distance(&f, &g, 2.0)?, 3f64.sqrt());
/// # Ok::<(), warpsmith::pcf::PcfError>(())
/// ```
pub fn lp_distance<'a, 'b, T: PcfReal>(f: impl Into<PcfRef<'a, T>>, g: impl Into<PcfRef<'b, T>>, p: f64) -> Result<T, PcfError> {
    check_exponent::<T>(p)?;
    Ok(T::distance(f.into(), g.into(), p))
}

pub(super) fn distance<T: PcfReal>(f: PcfRef<'_, T>, g: PcfRef<'_, T>, p: f64) -> T {
    let largest = |f: PcfRef<'_, T>| f.points().iter().fold(0.0, |largest: f64, point| largest.max(point.v.to_f64().abs()));
    let end = if f.max_time() < g.max_time() { g.max_time() } else { f.max_time() };
    let integrals = Integrals::new(Measure::Lp(p), largest(f) + largest(g), end, false);
    for_integrals!(T, integrals, distance_by(f, g))
}

/// The distance by the operation of its exponent, as kernels compute it.
fn distance_by<O: Operation<Scalar: PcfReal>>(
    exponent: Exponent<O::Scalar>,
    f: PcfRef<'_, O::Scalar>,
    g: PcfRef<'_, O::Scalar>,
) -> O::Scalar {
    let (op, steps) = (O::from(exponent), steps(f, g));
    let sum = steps.clone().fold(O::Scalar::ZERO, |sum, step| op.add(sum, step));
    op.finish(sum, f.tail(), g.tail(), steps)
}

/// The L_p norm of a function: its [distance](lp_distance) from zero.
///
/// # Errors
/// If p is below 1, NaN, or too large for the type.
pub fn lp_norm<'a, T: PcfReal>(f: impl Into<PcfRef<'a, T>>, p: f64) -> Result<T, PcfError> {
    lp_distance(f, &super::Pcf::zero(), p)
}

/// The L_2 inner product of two functions: the integral of their product from 0 to infinity. If
/// neither ends on 0, it is infinite, with the sign of the product of their last values.
pub fn l2_inner<'a, 'b, T: PcfReal>(f: impl Into<PcfRef<'a, T>>, g: impl Into<PcfRef<'b, T>>) -> T {
    let (f, g) = (f.into(), g.into());
    if f.tail() != T::ZERO && g.tail() != T::ZERO {
        // Not by the product, which may be too small for the type.
        return if (f.tail() > T::ZERO) == (g.tail() > T::ZERO) { T::INFINITY } else { -T::INFINITY };
    }
    T::inner(f, g)
}

pub(super) fn inner<T: PcfReal>(f: PcfRef<'_, T>, g: PcfRef<'_, T>) -> T {
    steps(f, g).fold(T::ZERO, |sum, [width, f, g]| sum + width * (f * g))
}

/// The integral of a function from `start` to `end`, which may be infinite; 0 if it is not after `start`.
pub fn integral<'a, T: PcfReal>(f: impl Into<PcfRef<'a, T>>, start: T, end: T) -> T {
    let f = f.into();
    intervals(f, f).fold(T::ZERO, |mut sum, interval| {
        let left = if interval.start > start { interval.start } else { start };
        let right = if interval.end < end { interval.end } else { end };
        // The product of 0 and infinity would be NaN.
        if left < right && interval.values[0] != T::ZERO {
            sum += (right - left) * interval.values[0];
        }
        sum
    })
}

/// An error where `p` is not the exponent of a norm, or not a number of the functions' type.
pub(super) fn check_exponent<T: PcfReal>(p: f64) -> Result<(), PcfError> {
    if p >= 1.0 && (p == f64::INFINITY || T::from_f64(p).is_finite()) { Ok(()) } else { Err(PcfError::Exponent { p }) }
}

/// The widths and both values of all intervals up to the last breakpoint of either function.
fn steps<T: PcfReal>(f: PcfRef<'_, T>, g: PcfRef<'_, T>) -> impl Iterator<Item = [T; 3]> + Clone {
    let finite = intervals(f, g).take_while(|interval| interval.end < T::INFINITY);
    finite.map(|Interval { start, end, values: [f, g] }| [end - start, f, g])
}

/// A time from one breakpoint of either of two functions to the next.
pub(super) struct Interval<T> {
    pub start: T,
    /// Infinite for the last one.
    pub end: T,
    /// The values of the two functions.
    pub values: [T; 2],
}

/// All such times, in order.
pub(super) fn intervals<T: PcfReal>(f: PcfRef<'_, T>, g: PcfRef<'_, T>) -> impl Iterator<Item = Interval<T>> + Clone {
    let (f, g) = (f.points(), g.points());
    let next = |points: &[super::Point<T>], index: usize| points.get(index + 1).map_or(T::INFINITY, |point| point.t);
    let (mut i, mut j) = (0, 0);
    let mut start = T::ZERO;
    iter::from_fn(move || {
        if start == T::INFINITY {
            return None;
        }
        let (f_next, g_next) = (next(f, i), next(g, j));
        let end = if f_next < g_next { f_next } else { g_next };
        let interval = Interval { start, end, values: [f[i].v, g[j].v] };
        i += usize::from(f_next == end);
        j += usize::from(g_next == end);
        start = end;
        Some(interval)
    })
}
