//! Steps for packings that are squeezed, by Adam (D. P. Kingma and J. Ba, *Adam: A Method for Stochastic Optimization*,
//! 2015).
//!
//! A step reduces a packing's overlap plus its area outside the boundary plus a *pressure* times
//! the boundary's scale.
//!
//! The running means start at zero. Adam divides by 1 - beta^t; here that number is kept as the sum
//! of a mean's weights, so that no thread has to count steps. Filling a packing's memory with zeros
//! restarts it.
//!
//! A scale steps by another rule. It moves inwards at the full rate if nothing pushes back, and
//! outwards at the full rate if the resistance is at least twice the pressure; in between the rate
//! is proportional. A running mean smooths it. The reason: copies that lie flat against the
//! boundary push with the whole length of an edge or not at all, and Adam would divide by the
//! memory of such a push for a long time.

use super::{Scalar, boundary::kept, clip::Point};
use crate::collectives::block::{Block, STORAGE};
use cuda_std::prelude::*;

/// Numbers that Adam keeps per pose: three first moments, three second moments, and the sums of
/// their weights.
pub const POSE_MEMORY: usize = 8;

/// Parameters of one step of all packings.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Step<T> {
    /// Approximate largest distance that a position moves in a step (length).
    pub rate: T,
    /// Radians that an angle turns per unit of length.
    pub turn: T,
    /// Change of the scale per unit of length.
    pub scale_rate: T,
    /// Cost of a unit of scale (area).
    pub pressure: T,
    /// The share of a first moment that is kept.
    pub beta1: T,
    /// The share of a second moment that is kept.
    pub beta2: T,
    /// Constant that keeps the quotient of moments finite.
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

/// Size of a step, in units of the rate, against a derivative with these moments and weights.
#[inline(always)]
fn quotient<T: Scalar>(first: T, second: T, weights: (T, T), epsilon: T) -> T {
    (first / weights.0) / (math::sqrt(second / weights.1) + epsilon)
}

/// Packings that are stepped.
#[derive(Clone, Copy, Debug, KernelParam)]
pub struct Lanes<'a, T> {
    /// Start of each packing's poses, and the end of the last.
    pub offsets: &'a [u32],
    /// x, y and theta of every pose.
    pub poses: *mut T,
    /// Each packing's scale.
    pub scales: *mut T,
    /// Smallest value allowed for each scale.
    pub least: &'a [T],
    /// The half-planes that positions are [kept] in.
    pub half_planes: &'a [T],
}

/// Derivatives, by pose.
#[derive(Clone, Copy, Debug, KernelParam)]
pub struct Slopes<'a, T> {
    /// Derivatives of the overlap, by pose.
    pub overlap: &'a [T],
    /// Derivatives of the area outside, by pose.
    pub outside: &'a [T],
    /// Derivatives of the area outside, by scale.
    pub by_scale: &'a [T],
}

/// Memory kept from step to step.
#[derive(Clone, Copy, Debug, KernelParam)]
pub struct Memory<T> {
    /// [`POSE_MEMORY`] numbers for each pose.
    pub poses: *mut T,
    /// One for each packing.
    pub scales: *mut T,
}

/// Moves the poses and the scale of every packing by one step, `steps[number]`. Its pressure is
/// positive unless its `scale_rate` is 0. One block of whole warps per packing.
///
/// # Safety
/// There is one offset more than packings, a scale and its least for each, and all that `Lanes`, `Slopes` and
/// `Memory` say for each pose of theirs. Blocks are one-dimensional.
#[kernel(for T in [f32, f64], max_threads = 1024)]
pub unsafe fn step<T: Scalar>(steps: &[Step<T>], number: u32, lanes: Lanes<'_, T>, slopes: Slopes<'_, T>, memory: Memory<T>) {
    let (step, packing) = (&steps[number as usize], thread::block_idx_x() as usize);
    let (thread, threads) = (thread::thread_idx_x() as usize, thread::block_dim_x() as usize);
    let rate = step.rate;
    // SAFETY: the arrays fit each other (this kernel's contract); each thread's numbers are its poses' own. The scale is
    // written by one thread, after a barrier that all pass once they have read it. The rate of a step is
    // the same for all threads of the block, so that all of them come to the reduction, which uses its shared array once.
    unsafe {
        let (start, end) = (*lanes.offsets.get_unchecked(packing) as usize, *lanes.offsets.get_unchecked(packing + 1) as usize);
        let scale = *lanes.scales.add(packing);
        let mut by_scale = T::ZERO;
        for pose in thread::strided(start + thread..end, threads) {
            let memory = memory.poses.add(POSE_MEMORY * pose);
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
                let to = lanes.poses.add(3 * pose + k);
                *to = *to - rate * quotient(first, second, weights, step.epsilon);
            }
            let [x, y] = [0, 1].map(|k| lanes.poses.add(3 * pose + k));
            let position = kept(lanes.half_planes, scale, Point::new(*x, *y));
            *x = position.x;
            *y = position.y;
            by_scale = by_scale + *slopes.by_scale.get_unchecked(pose);
        }
        let rate = rate * step.scale_rate;
        if rate == T::ZERO {
            return;
        }
        let by_scale = Block::new(shared_array![T; STORAGE]).reduce(by_scale, T::add);
        thread::sync_threads();
        if thread == 0 {
            let memory = memory.scales.add(packing);
            let drive = T::ONE + by_scale / step.pressure;
            let drive = blend(*memory, math::min(math::max(drive, -T::ONE), T::ONE), step.beta1);
            *memory = drive;
            let least = *lanes.least.get_unchecked(packing);
            *lanes.scales.add(packing) = math::max(math::mul_add(-rate, drive, scale), least);
        }
    }
}
