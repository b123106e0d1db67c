//! Steps for packings that are squeezed, by Adam (D. P. Kingma and J. Ba, *Adam: A Method for Stochastic Optimization*,
//! 2015).
//!
//! What is made small is a packing's overlap and its area outside the boundary, plus a *pressure* times the boundary's
//! scale. Poses and scales are stepped by kernels of their own, since a thread for a pose and one for a packing have
//! nothing in common.
//!
//! The running means start at zero. What the original divides by, 1 - beta^t, is kept as the sum of a mean's weights,
//! so that no thread needs to know how many steps there were: zeros in all of a packing's memory start it afresh.
//!
//! A scale takes steps of another kind: inwards at the full rate where nothing pushes back, outwards at the full rate
//! where what pushes back is twice the pressure or more, and in between in proportion; smoothed by a running mean.
//! Copies that lie flat against the boundary push with all of an edge's length or not at all. Adam would divide by the
//! memory of that for long, and not come back.

use super::{Scalar, boundary::kept, clip::Point};
use cuda_std::prelude::*;

/// Numbers that Adam keeps of a pose: three first moments, three second ones, and the sums of either's weights.
pub const POSE_MEMORY: usize = 8;

/// What one step does to all packings.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Step<T> {
    /// How far a position goes in a step at most, about (length).
    pub rate: T,
    /// Radians that an angle goes for a unit of length.
    pub turn: T,
    /// How much the scale goes for a unit of length.
    pub scale_rate: T,
    /// What a unit of scale costs (area).
    pub pressure: T,
    /// The share of a first moment that is kept.
    pub beta1: T,
    /// The share of a second moment that is kept.
    pub beta2: T,
    /// What keeps the quotient of moments finite.
    pub epsilon: T,
}

// SAFETY: seven numbers of one type leave no gaps, and any bits are numbers.
unsafe impl<T: Scalar> bytemuck::Zeroable for Step<T> {}
// SAFETY: no gaps, and any bits are numbers.
unsafe impl<T: Scalar> bytemuck::Pod for Step<T> {}

/// A mean's next value.
#[inline(always)]
fn blend<T: Scalar>(mean: T, value: T, keep: T) -> T {
    math::mul_add(keep, mean - value, value)
}

/// By how much to go, in units of the rate, against a derivative with these moments and weights.
#[inline(always)]
fn quotient<T: Scalar>(first: T, second: T, weights: (T, T), epsilon: T) -> T {
    (first / weights.0) / (math::sqrt(second / weights.1) + epsilon)
}

/// The packings of poses.
#[derive(Clone, Copy, Debug, KernelParam)]
pub struct Lanes<'a, T> {
    /// Each pose's packing.
    pub packing_of: &'a [u32],
    /// Each packing's rate, in units of the step's; poses of rate 0 stay.
    pub rates: &'a [T],
    /// Each packing's scale.
    pub scales: &'a [T],
    /// The half-planes that positions are [kept] in.
    pub half_planes: &'a [T],
}

/// Derivatives by poses.
#[derive(Clone, Copy, Debug, KernelParam)]
pub struct Slopes<'a, T> {
    /// Of the overlap.
    pub overlap: &'a [T],
    /// Of what is outside.
    pub outside: &'a [T],
}

/// Moves every pose by one step, `steps[number]`. A thread for each.
///
/// # Safety
/// There are packings as `packing_of` says, three numbers for each pose in the slopes and in `poses`, and
/// [`POSE_MEMORY`] in `memory`.
#[kernel(for T in [f32, f64], max_threads = 128)]
pub unsafe fn poses<T: Scalar>(
    steps: &[Step<T>],
    number: u32,
    lanes: Lanes<'_, T>,
    slopes: Slopes<'_, T>,
    memory: *mut T,
    poses: *mut T,
) {
    let (step, Lanes { packing_of, rates, scales, half_planes }) = (&steps[number as usize], lanes);
    let pose = thread::index_1d() as usize;
    let Some(&packing) = packing_of.get(pose) else { return };
    // SAFETY: the arrays fit each other (this kernel's contract); each thread's numbers are its pose's own.
    unsafe {
        let rate = step.rate * *rates.get_unchecked(packing as usize);
        if rate == T::ZERO {
            return;
        }
        let scale = *scales.get_unchecked(packing as usize);
        let memory = memory.add(POSE_MEMORY * pose);
        let poses = poses.add(3 * pose);
        let weights = (blend(*memory.add(6), T::ONE, step.beta1), blend(*memory.add(7), T::ONE, step.beta2));
        *memory.add(6) = weights.0;
        *memory.add(7) = weights.1;
        for k in 0..3 {
            let slope = *slopes.overlap.get_unchecked(3 * pose + k) + *slopes.outside.get_unchecked(3 * pose + k);
            let first = blend(*memory.add(k), slope, step.beta1);
            let second = blend(*memory.add(3 + k), slope * slope, step.beta2);
            *memory.add(k) = first;
            *memory.add(3 + k) = second;
            let rate = if k == 2 { rate * step.turn } else { rate };
            *poses.add(k) = *poses.add(k) - rate * quotient(first, second, weights, step.epsilon);
        }
        let position = kept(half_planes, scale, Point::new(*poses, *poses.add(1)));
        *poses = position.x;
        *poses.add(1) = position.y;
    }
}

/// Moves every packing's scale by one step, `steps[number]`. A thread for each of `rates`; those of rate 0 stay.
/// `by_scale` is the derivative of what is outside, and the step's pressure is above 0.
///
/// # Safety
/// There is a number for each packing in `by_scale`, `memory` and `scales`.
#[kernel(for T in [f32, f64], max_threads = 128)]
pub unsafe fn scales<T: Scalar>(steps: &[Step<T>], number: u32, rates: &[T], by_scale: &[T], memory: *mut T, scales: *mut T) {
    let step = &steps[number as usize];
    let packing = thread::index_1d() as usize;
    let Some(&rate) = rates.get(packing) else { return };
    let rate = rate * step.rate * step.scale_rate;
    if rate == T::ZERO {
        return;
    }
    // SAFETY: the arrays fit each other (this kernel's contract); each thread's numbers are its packing's own.
    unsafe {
        let memory = memory.add(packing);
        let drive = T::ONE + *by_scale.get_unchecked(packing) / step.pressure;
        let drive = blend(*memory, math::min(math::max(drive, -T::ONE), T::ONE), step.beta1);
        *memory = drive;
        // Whatever happens, there is a boundary left.
        let scale = *scales.add(packing);
        *scales.add(packing) = math::max(math::mul_add(-rate, drive, scale), T::HALF * scale);
    }
}
