//! Structures by value, and kernels of a type.

use core::ops::{Add, Mul};
use cuda_std::prelude::*;

/// `f32` or `f64`.
pub trait Number: cuda_std::ScalarParam + Add<Output = Self> + Mul<Output = Self> + 'static {}
impl Number for f32 {}
impl Number for f64 {}

/// Scalars of the kernel's type.
#[derive(Clone, Copy, Debug, KernelParam)]
pub struct Line<T> {
    /// Factor of the inputs.
    pub factor: T,
    /// Summand.
    pub offset: T,
}

/// One field, without a name.
#[derive(Clone, Copy, Debug, KernelParam)]
pub struct Count(pub u32);

/// No field.
#[derive(Clone, Copy, Debug, KernelParam)]
pub struct Nothing;

/// Parameters that point to memory.
#[derive(Debug, KernelParam)]
pub struct Arrays<'a, T: Send> {
    /// Read by all.
    pub input: &'a [T],
    /// Written, each element by its thread.
    pub out: DisjointSlice<'a, T>,
}

/// `out[i] = factor * input[i] + offset + more`, for the first `count`.
#[kernel(for T in [f32 { max_threads = 64 }, f64], max_threads = 128, min_blocks = 2)]
pub fn line<T: Number>(arrays: Arrays<'_, T>, line: Line<T>, _: Nothing, count: Count, more: T) {
    let Arrays { input, mut out } = arrays;
    let i = thread::index_1d();
    if i < count.0 {
        out.set(line.factor * input[i as usize] + line.offset + more);
    }
}

/// The same of parameters one by one.
#[kernel(max_threads = 64, min_blocks = 2)]
pub fn one_by_one(input: &[f32], mut out: DisjointSlice<f32>, factor: f32, offset: f32, count: u32, more: f32) {
    let i = thread::index_1d();
    if i < count {
        out.set(factor * input[i as usize] + offset + more);
    }
}

/// Reverses each block's 64 values, by way of a shared array of the kernel's type.
///
/// # Safety
/// Blocks of 64 threads, and a value for each.
#[kernel(for T in [f32, f64])]
pub unsafe fn reverse<T: Number>(values: *mut T) {
    let staged = shared_array![T; 64];
    let (me, first) = (thread::thread_idx_x() as usize, thread::block_idx_x() as usize * 64);
    // SAFETY: each thread has a value and a place of its own; a barrier stands between writes and reads.
    unsafe {
        staged.write(me, *values.add(first + me));
        thread::sync_threads();
        *values.add(first + me) = staged.read(63 - me);
    }
}
