//! Threads that merge straight from the functions' memory, for CPUs.
//!
//! A processor runs one merge as a chain of dependent steps, each as long as a load, a comparison
//! and an addition take, and mispredicts every other branch of a merge that branches. So a thread
//! here merges [`CHAINS`] functions of the first band with one of the second, side by side and
//! without branches. On a GPU this is the plain kernel that reads global memory: the baseline for
//! the gain by shared memory in [`tiled`](super::tiled).

use super::{
    Functions, Placement,
    merge::Steps,
    op::{Exponent, Inner, L1, L2, Lp, Operation, Products, ScalarOf, Supremum},
    power::{Vectorized, by_vectors},
};
use crate::number::Number as _;
use cuda_std::prelude::*;

/// Functions of the first band that a thread merges at a time.
pub const CHAINS: usize = 4;

/// Steps of each merge whose powers are computed at a time.
const BATCH: usize = 8;

/// The integrals over pairs of functions. A thread for each position of the second band and each [`CHAINS`] of the
/// first.
///
/// # Safety
/// Both bands are as [`Functions`] says, and every result has its place in `out`.
#[kernel(
    for O in [
        L1<f32>, L2<f32>, Lp<f32>, Products<f32>, Supremum<f32>, Inner<f32>,
        L1<f64>, L2<f64>, Lp<f64>, Products<f64>, Supremum<f64>, Inner<f64>,
    ],
    max_threads = 256,
)]
pub unsafe fn integrals<O: Operation>(
    first: Functions<'_, ScalarOf<O>>,
    second: Functions<'_, ScalarOf<O>>,
    exponent: Exponent<ScalarOf<O>>,
    placement: Placement,
    out: *mut ScalarOf<O>,
) {
    let op = O::from(exponent);
    let groups = first.order.len() / CHAINS;
    let index = thread::index_1d() as usize;
    let (second_position, first_position) = ((index / groups) as u32, (index % groups * CHAINS) as u32);
    if second_position as usize >= second.order.len() {
        return;
    }
    // SAFETY: both positions are in the orders, whose lengths are multiples of 32. A chain takes
    // one step per breakpoint of its functions, not counting their first ones.
    unsafe {
        let (second_function, second_segments, second_length) = second.at(second_position);
        if second_length == 0 {
            return;
        }
        let none = Steps::<O::Scalar>::new((second_segments, 1), (second_segments, 1));
        let (mut functions, mut merges, mut sums) = ([None; CHAINS], [none; CHAINS], [O::Scalar::ZERO; CHAINS]);
        for (k, merge) in merges.iter_mut().enumerate() {
            let position = first_position + k as u32;
            let (function, segments, length) = first.at(position);
            if length != 0 && placement.wants(position, second_position) {
                functions[k] = Some(function);
                *merge = Steps::new((segments, length), (second_segments, second_length));
            }
        }
        if O::HAS_POLYNOMIAL {
            by_vectors(Batches { op, merges: &mut merges, sums: &mut sums });
        }
        for _ in 0..merges.iter().map(Steps::left).fold(u32::MAX, u32::min) {
            let steps = merges.each_mut().map(|merge| merge.step());
            let terms = op.terms(steps.map(|[_, f, g]| [f, g]));
            for k in 0..CHAINS {
                sums[k] = op.add_term(sums[k], steps[k][0], terms[k]);
            }
        }
        for ((function, merge), mut sum) in functions.into_iter().zip(&mut merges).zip(sums) {
            let Some(function) = function else { continue };
            for step in &mut *merge {
                sum = op.add(sum, step);
            }
            let ([f, g], again) = (merge.values(), Steps::new(first.segments_of(function), (second_segments, second_length)));
            out.add(placement.index(function, second_function)).write(op.finish(sum, f, g, again));
        }
    }
}

/// The steps that all merges have, by whole batches.
struct Batches<'a, O: Operation> {
    op: O,
    merges: &'a mut [Steps<O::Scalar>; CHAINS],
    sums: &'a mut [O::Scalar; CHAINS],
}

impl<O: Operation> Vectorized for Batches<'_, O> {
    type Output = ();

    #[inline(always)]
    fn run(self) {
        while self.merges.iter().all(|merge| merge.left() as usize >= BATCH) {
            let (mut widths, mut values) = ([O::Scalar::ZERO; CHAINS * BATCH], [[O::Scalar::ZERO; 2]; CHAINS * BATCH]);
            for step in 0..BATCH {
                for (k, merge) in self.merges.iter_mut().enumerate() {
                    // SAFETY: each merge has a batch of steps to go.
                    let [width, f, g] = unsafe { merge.step() };
                    (widths[step * CHAINS + k], values[step * CHAINS + k]) = (width, [f, g]);
                }
            }
            for (index, term) in self.op.terms(values).into_iter().enumerate() {
                self.sums[index % CHAINS] = self.op.add_term(self.sums[index % CHAINS], widths[index], term);
            }
        }
    }
}
