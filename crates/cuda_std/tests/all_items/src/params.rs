//! Structures by value, and kernels of a type.

use core::ops::{Add, Mul};
use cuda_std::prelude::*;

/// `f32` or `f64`.
pub trait Number: cuda_std::ValueParam + Add<Output = Self> + Mul<Output = Self> + 'static {}
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

/// Structures, arrays and vectors within each other.
#[derive(Clone, Copy, Debug, KernelParam)]
pub struct Rest {
    /// A structure, twice.
    pub lines: [Line<f32>; 2],
    /// A vector.
    pub vector: F32x4,
    /// Rows.
    pub matrix: [[i16; 2]; 3],
    /// Two words.
    pub wide: u128,
}

/// An array of structures that point to memory.
#[derive(Debug, KernelParam)]
pub struct Several<'a> {
    /// Read.
    pub inputs: [&'a [f32]; 2],
    /// A part of the result.
    pub part: Arrays<'a, f32>,
}

/// `out` gets the words of `nested` and the elements of `several`, as far as there are some.
#[kernel]
pub fn nested(nested: Rest, several: Several<'_>, more: [u8; 3], wide: [i128; 1]) {
    let Several { inputs: [first, second], part: Arrays { input, mut out } } = several;
    let i = thread::index_1d();
    let [a, b] = nested.lines;
    let [x, y, z, w] = nested.vector.to_array();
    let value = match i {
        0 => a.factor,
        1 => a.offset,
        2 => b.factor,
        3 => b.offset,
        4 => x,
        5 => y,
        6 => z,
        7 => w,
        8..14 => {
            let [[a, b], [c, d], [e, f]] = nested.matrix;
            f32::from(match i {
                8 => a,
                9 => b,
                10 => c,
                11 => d,
                12 => e,
                _ => f,
            })
        }
        14 => (nested.wide >> 64) as u64 as f32,
        15 => nested.wide as u64 as f32,
        16 => f32::from(more[0]),
        17 => f32::from(more[1]),
        18 => f32::from(more[2]),
        19 => wide[0] as i64 as f32,
        20..22 => first[i as usize - 20],
        22..24 => second[i as usize - 22],
        24..26 => input[i as usize - 24],
        _ => return,
    };
    out.set(value);
}

/// A product with a constant, which is part of the type.
#[derive(Clone, Copy, Debug)]
pub struct Times<const N: u32>;

/// A function of a value.
pub trait Function {
    /// Returns it of `x`.
    fn of<T: Add<Output = T> + Copy>(x: T) -> T;
}

impl<const N: u32> Function for Times<N> {
    #[inline(always)]
    fn of<T: Add<Output = T> + Copy>(x: T) -> T {
        (1..N).fold(x, |sum, _| sum + x)
    }
}

/// Types and numbers, in any order: `out[i] = f(x[i]) + x[i + K]`.
#[kernel(for (K, T, F) in [(1, f32, Times<2>), (1, f32, Times<3>) { max_threads = 64 }, (2, u64, Times<2>)])]
// Bounds may stand in either place.
#[allow(clippy::multiple_bound_locations)]
pub fn mapped<const K: usize, T: Add<Output = T> + Copy + Send + Sync, F>(x: &[T], more: [T; K], mut out: DisjointSlice<T>)
where
    T: cuda_std::ValueParam,
    F: Function,
{
    let i = thread::index_1d() as usize;
    if i < x.len() {
        let behind = more.into_iter().enumerate().fold(x[i], |found, (k, next)| if i + K == x.len() + k { next } else { found });
        out.set(F::of(x[i]) + if i + K < x.len() { x[i + K] } else { behind });
    }
}

function! {
    /// Distance of a point from the origin.
    pub Length = |x: f32, y: f32| -> f32 { math::sqrt(x * x + y * y) };
    /// The larger coordinate.
    pub Larger = |x: f32, y: f32| -> f32 { if x < y { y } else { x } };
}

/// Functions by name: `out[i] = f(x[i], y)`.
#[kernel(for F in [Length, Larger])]
pub fn of_points<F: cuda_std::Function<(f32, f32), Output = f32>>(x: &[f32], y: f32, mut out: DisjointSlice<f32>) {
    let i = thread::index_1d() as usize;
    if i < x.len() {
        out.set(F::call((x[i], y)));
    }
}

/// Numbers alone: `out[i] = N`.
#[kernel(for N in [-1, 1])]
pub fn constant<const N: i32>(mut out: DisjointSlice<i32>) {
    out.set(N);
}

/// A function of a value, which may hold others.
pub trait Apply: cuda_std::ValueParam {
    /// Returns it of `x`.
    fn apply(self, x: f32) -> f32;
}

impl Apply for Line<f32> {
    fn apply(self, x: f32) -> f32 {
        self.factor * x + self.offset
    }
}

impl Apply for Count {
    fn apply(self, x: f32) -> f32 {
        self.0 as f32 * x
    }
}

/// Functions with values of their own: `out[i] = function(x[i])`.
#[kernel(for F in [Line<f32>, Count])]
pub fn applied<F: Apply>(x: &[f32], mut out: DisjointSlice<f32>, function: F) {
    let i = thread::index_1d() as usize;
    if i < x.len() {
        out.set(function.apply(x[i]));
    }
}
