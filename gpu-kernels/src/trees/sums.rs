//! Sums along root paths and over subtrees.
//!
//! A path's sum is a prefix sum over the tour, where entering a vertex adds its weight and leaving it takes it back. A
//! subtree is a run of preorder numbers, and its sum the difference of two prefix sums over these.

use cuda_std::prelude::*;

/// The weights of vertices: `i32`, `i64`, `f32`, `f64`. Integers wrap.
pub trait Weight: bytemuck::Pod + Send + Sync + 'static {
    /// The type of the sums: `f64` for `f32`, else the type itself.
    type Sum: bytemuck::Pod + Send + Sync;
    /// The weight as a sum of one.
    fn widen(self) -> Self::Sum;
    /// The sum as a weight, rounded.
    fn narrow(sum: Self::Sum) -> Self;
    /// `a + b`.
    fn plus(a: Self::Sum, b: Self::Sum) -> Self::Sum;
    /// `a - b`.
    fn minus(a: Self::Sum, b: Self::Sum) -> Self::Sum;
    /// Nothing.
    const ZERO: Self::Sum;
}

macro_rules! weights {
    ($($t:ty: $sum:ty, $zero:expr, $plus:expr, $minus:expr;)*) => {$(
        impl Weight for $t {
            type Sum = $sum;
            const ZERO: $sum = $zero;
            #[inline(always)]
            fn widen(self) -> $sum {
                self as $sum
            }
            #[inline(always)]
            fn narrow(sum: $sum) -> $t {
                sum as $t
            }
            #[inline(always)]
            fn plus(a: $sum, b: $sum) -> $sum {
                let plus: fn($sum, $sum) -> $sum = $plus;
                plus(a, b)
            }
            #[inline(always)]
            fn minus(a: $sum, b: $sum) -> $sum {
                let minus: fn($sum, $sum) -> $sum = $minus;
                minus(a, b)
            }
        }
    )*};
}
weights! {
    i32: i32, 0, i32::wrapping_add, i32::wrapping_sub;
    i64: i64, 0, i64::wrapping_add, i64::wrapping_sub;
    f32: f64, 0.0, |a, b| a + b, |a, b| a - b;
    f64: f64, 0.0, |a, b| a + b, |a, b| a - b;
}

/// Puts each vertex's weight where the tour enters it, and less than nothing where it leaves. Any grid.
///
/// # Safety
/// `preorder`, `size` and `depth` are those of a forest's vertices, and `weights` is as long. `tour` points to twice as
/// many elements.
#[kernel(for V in [i32, i64, f32, f64], max_threads = 256)]
pub unsafe fn along_tour<V: Weight>(preorder: &[i32], size: &[i32], depth: &[i32], weights: &[V], tour: *mut <V as Weight>::Sum) {
    for v in thread::grid_stride(weights.len()) {
        let first = 2 * preorder[v] - depth[v];
        let weight = weights[v].widen();
        // SAFETY: the tour enters and leaves each vertex at places of its own, below twice the number of vertices.
        unsafe {
            tour.add(first as usize).write(weight);
            tour.add((first + 2 * size[v] - 1) as usize).write(V::minus(V::ZERO, weight));
        }
    }
}

/// The sums of paths: what comes before a vertex in `tour`, the exclusive scan of [`along_tour()`]'s, and its own. Any
/// grid.
#[kernel(for V in [i32, i64, f32, f64], max_threads = 256)]
pub fn of_paths<V: Weight>(
    preorder: &[i32],
    depth: &[i32],
    weights: &[V],
    tour: &[<V as Weight>::Sum],
    mut sums: DisjointSlice<V>,
) {
    for (v, sum) in sums.grid_stride_mut() {
        let first = 2 * preorder[v] - depth[v];
        *sum = V::narrow(V::plus(tour[first as usize], weights[v].widen()));
    }
}

/// Puts the weights in preorder, and nothing after them. Any grid.
///
/// # Safety
/// `preorder` is a permutation of 0 .. n, and `weights` is as long. `placed` points to n + 1 elements.
#[kernel(for V in [i32, i64, f32, f64], max_threads = 256)]
pub unsafe fn in_preorder<V: Weight>(preorder: &[i32], weights: &[V], placed: *mut <V as Weight>::Sum) {
    for v in thread::grid_stride(weights.len() + 1) {
        // SAFETY: preorder numbers are below n, and different.
        unsafe {
            if v < weights.len() {
                placed.add(preorder[v] as usize).write(weights[v].widen());
            } else {
                placed.add(v).write(V::ZERO);
            }
        }
    }
}

/// The sums of subtrees from `before`, the exclusive scan of [`in_preorder()`]'s. Any grid.
#[kernel(for V in [i32, i64, f32, f64], max_threads = 256)]
pub fn of_subtrees<V: Weight>(preorder: &[i32], size: &[i32], before: &[<V as Weight>::Sum], mut sums: DisjointSlice<V>) {
    for (v, sum) in sums.grid_stride_mut() {
        let end = (preorder[v] + size[v]) as usize;
        *sum = V::narrow(V::minus(before[end], before[preorder[v] as usize]));
    }
}
