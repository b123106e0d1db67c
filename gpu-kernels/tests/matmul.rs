//! The product of matrices on tensor cores against three loops.

use cuda_std::{F32x2, U32x4, f16};
use gpu_kernels::samples::matmul::{SHARED, THREADS, TILE, matmul_f16};
use simt::{Executor, Launch, Schedule};

/// Integers, so that products and sums are exact.
fn number(i: usize) -> f32 {
    (i.wrapping_mul(0x9e37_79b9) >> 13) as u8 as i8 as f32 / 8.0
}

#[test]
fn products_are_those_of_three_loops() {
    let (m, n, k) = (TILE, 2 * TILE, 160);
    let halves = |count: usize, seed: usize| -> Vec<U32x4> {
        let number = |i| number(i + seed).trunc();
        let pair = |i| u32::from(f16::from_f32(number(i)).to_bits()) | u32::from(f16::from_f32(number(i + 1)).to_bits()) << 16;
        (0..count / 8).map(|i| [0, 2, 4, 6].map(|j| pair(8 * i + j)).into()).collect()
    };
    let (a, b) = (halves(m * k, 1), halves(k * n, 70_001));
    let (rows_a, rows_b): (&[f16], &[f16]) = (bytemuck::cast_slice(&a), bytemuck::cast_slice(&b));
    for schedule in [Schedule::InOrder, Schedule::Random { seed: 3 }] {
        let mut c = vec![F32x2::splat(f32::NAN); m * n / 2];
        let launch = Launch {
            kernel: "matmul_f16",
            grid: ((n / TILE) as u32, (m / TILE) as u32).into(),
            block: THREADS.into(),
            dynamic_shared: SHARED,
        };
        let (a, b, out) = (rows_a.as_ptr() as usize, rows_b.as_ptr() as usize, c.as_mut_ptr() as usize);
        let body = || {
            // SAFETY: the arrays have these sizes and are there until the launch is over.
            unsafe { matmul_f16(a as *const f16, b as *const f16, out as *mut f32, n as u32, k as u32) }
        };
        Executor::new(2).with_schedule(schedule).run(&launch, &body).unwrap();
        let c: &[f32] = bytemuck::cast_slice(&c);
        for row in 0..m {
            for column in 0..n {
                let products = (0..k).map(|i| rows_a[k * row + i].to_f32() * rows_b[n * i + column].to_f32());
                assert_eq!(c[n * row + column], products.sum::<f32>(), "({row}, {column})");
            }
        }
    }
}
