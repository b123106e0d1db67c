//! Threads that merge straight from the functions' memory, for CPUs.
//!
//! A processor runs one merge as a chain of dependent steps, each as long as a load, a comparison
//! and an addition take, and mispredicts every other branch of a merge that branches. So a thread
//! here merges [`CHAINS`] functions of the first band with one of the second, side by side and
//! without branches. On a GPU this is the plain kernel that reads global memory: the baseline for
//! the gain by shared memory in [`tiled`](super::tiled).

use super::{
    Functions, Placement, Scalar,
    op::{Inner, L1, L2, Lp, Operation, ScalarOf},
};
use crate::number::Number as _;
use cuda_std::prelude::*;

/// Functions of the first band that a thread merges at a time.
pub const CHAINS: usize = 4;

/// A merge under way.
#[derive(Clone, Copy)]
struct Chain<T: Scalar> {
    first: *const T::Segment,
    second: *const T::Segment,
    time: T,
    sum: T,
    /// Steps to go.
    left: u32,
}

impl<T: Scalar> Chain<T> {
    /// Takes the breakpoint that comes first, and goes on to the next segment of its function.
    ///
    /// # Safety
    /// There are steps to go.
    #[inline(always)]
    unsafe fn step(&mut self, op: impl Operation<Scalar = T>) {
        // SAFETY: with steps to go, a function whose end comes first has a next segment.
        unsafe {
            let (f, f_end) = T::read_parts(self.first);
            let (g, g_end) = T::read_parts(self.second);
            // One instruction on a CPU, where `math::min` is several: neither is NaN or a negative zero.
            let end = if f_end < g_end { f_end } else { g_end };
            self.sum = op.add(self.sum, end - self.time, f, g);
            self.time = end;
            // Numbers in place of a branch.
            let ends = usize::from(f_end <= g_end);
            self.first = self.first.add(ends);
            self.second = self.second.add(1 - ends);
        }
    }
}

/// The integrals over pairs of functions. A thread for each position of the second band and each [`CHAINS`] of the
/// first.
///
/// # Safety
/// Both bands are as [`Functions`] says, and every result has its place in `out`.
#[kernel(
    for O in [L1<f32>, L2<f32>, Lp<f32>, Inner<f32>, L1<f64>, L2<f64>, Lp<f64>, Inner<f64>],
    max_threads = 256,
)]
pub unsafe fn integrals<O: Operation>(
    first: Functions<'_, ScalarOf<O>>,
    second: Functions<'_, ScalarOf<O>>,
    p: ScalarOf<O>,
    placement: Placement,
    out: *mut ScalarOf<O>,
) {
    let op = O::new(p);
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
        let mut functions = [0; CHAINS];
        let mut wanted = [false; CHAINS];
        let mut chains =
            [Chain { first: first.segments, second: second_segments, time: O::Scalar::ZERO, sum: O::Scalar::ZERO, left: 0 };
                CHAINS];
        let mut together = u32::MAX;
        for (k, chain) in chains.iter_mut().enumerate() {
            let position = first_position + k as u32;
            let (function, segments, length) = first.at(position);
            functions[k] = function;
            wanted[k] = length != 0 && placement.wants(position, second_position);
            if wanted[k] {
                chain.first = segments;
                chain.left = (length - 1) + (second_length - 1);
            }
            together = together.min(chain.left);
        }
        for _ in 0..together {
            for chain in &mut chains {
                chain.step(op);
            }
        }
        for (k, chain) in chains.iter_mut().enumerate() {
            if wanted[k] {
                for _ in together..chain.left {
                    chain.step(op);
                }
                let (f, g) = (O::Scalar::parts(*chain.first).0, O::Scalar::parts(*chain.second).0);
                out.add(placement.index(functions[k], second_function)).write(op.finish(chain.sum, f, g));
            }
        }
    }
}
