//! Functions of the files that the build script links, in PTX and in LLVM IR.

use cuda_std::{linked, prelude::*};

linked! {
    /// `x` turned by seven bits to the left, plus `y`.
    fn turn_and_add(x: u32, y: u32) -> u32 {
        x.rotate_left(7).wrapping_add(y)
    }

    /// The sum of the squares of `n` numbers, from the first on.
    fn sum_of_squares(values: *const f32, n: u64) -> f32 {
        // SAFETY: the caller's pointer is to so many numbers.
        (0..n as usize).map(|i| unsafe { *values.add(i) }).fold(0.0, |sum, value| value.mul_add(value, sum))
    }

    /// `x` and its bits in reverse, as an exclusive or.
    fn fold_bits(x: u64) -> u64 {
        x ^ x.reverse_bits()
    }
}

/// `out[i]` from `i`, and from the squares of the first `i` of `values`.
#[kernel]
pub fn foreign(values: &[f32], mut out: DisjointSlice<[u64; 3]>) {
    for (i, out) in out.grid_stride_mut() {
        // SAFETY: the files' functions have these parameters; the pointer is to so many numbers.
        *out = unsafe {
            [
                turn_and_add(0x8000_0001 + i as u32, 5).into(),
                sum_of_squares(values.as_ptr(), i.min(values.len()) as u64).to_bits().into(),
                fold_bits(i as u64),
            ]
        };
    }
}
