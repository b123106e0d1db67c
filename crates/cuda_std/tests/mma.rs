//! Products of small matrices by the lanes of a warp against a plain product. Places of elements
//! are given as in the PTX manual: by the number of the element in its lane's fragment.

mod common;
use common::{Output, run, run_error};
use cuda_std::{half::*, prelude::*, ptx::Register};
use std::ops::{Add, Mul};

/// The row and column of element `i` of a lane's fragment.
type Place = fn(lane: usize, i: usize) -> (usize, usize);

/// A number that is small, and tells places apart.
fn number(seed: usize, row: usize, column: usize) -> i32 {
    let mix = (seed + 37 * row + 101 * column).wrapping_mul(0x9e37_79b1) >> 7;
    (mix % 15) as i32 - 7
}

/// Runs `multiply(A, B, C)` on fragments of matrices of `m` x `n` and depth `k`, and compares the result.
fn check<T, S, const A: usize, const B: usize, const C: usize>(
    (m, n, k): (usize, usize, usize),
    (place_a, place_b, place_c): (Place, Place, Place),
    of: impl Fn(i32) -> T + Sync,
    sum_of: impl Fn(i32) -> S + Sync,
    multiply: impl Fn([T; A], [T; B], [S; C]) -> [S; C] + Sync,
) where
    T: Copy,
    S: Copy + Send + Default + PartialEq + std::fmt::Debug,
{
    assert_eq!((32 * A, 32 * B, 32 * C), (m * k, k * n, m * n));
    let mut found = vec![S::default(); m * n];
    let out = Output::new(&mut found);
    run(1, 32, || {
        let lane = warp::lane_id() as usize;
        let fragment = |seed, place: Place, i| {
            let (row, column) = place(lane, i);
            number(seed, row, column)
        };
        let d = multiply(
            std::array::from_fn(|i| of(fragment(1, place_a, i))),
            std::array::from_fn(|i| of(fragment(2, place_b, i))),
            std::array::from_fn(|i| sum_of(fragment(3, place_c, i))),
        );
        for (i, value) in d.into_iter().enumerate() {
            let (row, column) = place_c(lane, i);
            out.set(n * row + column, value);
        }
    });
    for row in 0..m {
        for column in 0..n {
            let products = (0..k).map(|i| number(1, row, i) * number(2, i, column));
            let expected = number(3, row, column) + products.sum::<i32>();
            assert_eq!(found[n * row + column], sum_of(expected), "({row}, {column})");
        }
    }
}

const C_16_8: Place = |lane, i| (lane / 4 + if i < 2 { 0 } else { 8 }, lane % 4 * 2 + (i & 1));

fn pairs<T: Copy, P, const N: usize>(values: &[T], new: impl Fn(T, T) -> P) -> [P; N] {
    std::array::from_fn(|i| new(values[2 * i], values[2 * i + 1]))
}

#[test]
fn halves() {
    const A: Place = |lane, i| {
        let row = if i < 2 || (4..6).contains(&i) { lane / 4 } else { lane / 4 + 8 };
        (row, lane % 4 * 2 + (i & 1) + if i < 4 { 0 } else { 8 })
    };
    const B: Place = |lane, i| (lane % 4 * 2 + (i & 1) + if i < 2 { 0 } else { 8 }, lane / 4);
    let places = (A, B, C_16_8);
    check(
        (16, 8, 16),
        places,
        |x| f16::from_f32(x as f32),
        |x| x as f32,
        |a: [f16; 8], b: [f16; 4], c: [f32; 4]| mma::m16n8k16(pairs(&a, F16x2::new), pairs(&b, F16x2::new), c),
    );
    check(
        (16, 8, 16),
        places,
        |x| bf16::from_f32(x as f32),
        |x| x as f32,
        |a: [bf16; 8], b: [bf16; 4], c: [f32; 4]| mma::m16n8k16(pairs(&a, Bf16x2::new), pairs(&b, Bf16x2::new), c),
    );
}

#[test]
fn reals() {
    const A: Place = |lane, i| (lane / 4 + if i == 0 || i == 2 { 0 } else { 8 }, lane % 4 + if i < 2 { 0 } else { 4 });
    const B: Place = |lane, i| (lane % 4 + 4 * i, lane / 4);
    check((16, 8, 8), (A, B, C_16_8), |x| x as f32, |x| x as f32, mma::m16n8k8_tf32);
    const A8: Place = |lane, _| (lane / 4, lane % 4);
    const B4: Place = |lane, _| (lane % 4, lane / 4);
    const C8: Place = |lane, i| (lane / 4, lane % 4 * 2 + i);
    check((8, 8, 4), (A8, B4, C8), f64::from, f64::from, |[a], [b], c| mma::m8n8k4_f64(a, b, c));
}

#[test]
fn numbers_of_11_digits() {
    // Between 1 and the next number.
    let step = 1.0 / 1024.0;
    for (x, rounded) in [(0.4, 0.0), (0.5, 1.0), (0.6, 1.0), (1.5, 2.0)] {
        assert_eq!(mma::tf32(1.0 + x * step), 1.0 + rounded * step);
        assert_eq!(mma::tf32(-1.0 - x * step), -1.0 - rounded * step);
    }
    assert_eq!(mma::tf32(f32::MAX), f32::INFINITY);
    assert!(mma::tf32(f32::NAN).is_nan());
    // Numbers that aren't rounded are cut.
    run(1, 32, || {
        let d = mma::m16n8k8_tf32([1.0 + 0.9 * step; 4], [1.0; 2], [0.0; 4]);
        assert_eq!(d, [8.0; 4]);
    });
}

#[test]
fn bytes() {
    const A: Place = |lane, i| {
        let row = if i < 4 || (8..12).contains(&i) { lane / 4 } else { lane / 4 + 8 };
        (row, lane % 4 * 4 + (i & 3) + if i < 8 { 0 } else { 16 })
    };
    const B: Place = |lane, i| (lane % 4 * 4 + (i & 3) + if i < 4 { 0 } else { 16 }, lane / 4);
    // Without memory of the heap, which threads would get from each other.
    fn fours<const N: usize>(bytes: &[i32]) -> [u32; N] {
        std::array::from_fn(|k| u32::from_le_bytes(std::array::from_fn(|i| bytes[4 * k + i] as u8)))
    }
    let multiply = |a: [i32; 16], b: [i32; 8], c| mma::m16n8k32::<i8>(fours(&a), fours(&b), c);
    check((16, 8, 32), (A, B, C_16_8), |x| x, |x| x, multiply);
    // The largest bytes, with and without a sign; and a sum that wraps.
    run(1, 32, || {
        let all = u32::MAX;
        assert_eq!(mma::m16n8k32::<u8>([all; 4], [all; 2], [0; 4]), [32 * 255 * 255; 4]);
        assert_eq!(mma::m16n8k32::<i8>([all; 4], [all; 2], [i32::MAX; 4]), [i32::MIN + 31; 4]);
    });
}

#[test]
fn products_are_of_bytes() {
    let (a, b) = (0x80_7f_ff_01u32, 0x7f_80_ff_02u32);
    let bytes = |x: u32| x.to_le_bytes();
    let sum = |count: usize, first: usize, of: &dyn Fn(usize, usize) -> i64| (0..count).map(|i| of(i, first + i)).sum::<i64>();
    fn product<T: Add<Output = T> + Mul<Output = T>>(x: T, y: T) -> T {
        x * y
    }
    let signed = sum(4, 0, &|i, j| product(i64::from(bytes(a)[i] as i8), i64::from(bytes(b)[j] as i8)));
    assert_eq!(i64::from(math::dp4a(a, b, -5)), signed - 5);
    let unsigned = sum(4, 0, &|i, j| product(i64::from(bytes(a)[i]), i64::from(bytes(b)[j])));
    assert_eq!(i64::from(math::dp4a(a, b, 7u32)), unsigned + 7);
    for (first, found) in [
        (0, [i64::from(math::dp2a_lo(a, b, 1)), i64::from(math::dp2a_lo(a, b, 1u32))]),
        (2, [i64::from(math::dp2a_hi(a, b, 1)), i64::from(math::dp2a_hi(a, b, 1u32))]),
    ] {
        let halves = [a as u16, (a >> 16) as u16];
        let signed = sum(2, first, &|i, j| product(i64::from(halves[i] as i16), i64::from(bytes(b)[j] as i8)));
        let unsigned = sum(2, first, &|i, j| product(i64::from(halves[i]), i64::from(bytes(b)[j])));
        assert_eq!(found, [signed + 1, unsigned + 1]);
    }
}

#[test]
fn loads_give_fragments() {
    run(1, 32, || {
        let rows = shared_array![[u16; 8]; 32];
        let lane = warp::lane_id() as usize;
        // Element (row, column) of matrix m is 100 m + 10 row + column; matrices lie backwards.
        let at = |matrix: usize, row: usize| 31 - (8 * matrix + row);
        let row: [u16; 8] = std::array::from_fn(|column| (100 * (lane / 8) + 10 * (lane % 8) + column) as u16);
        // SAFETY: each lane writes a row of its own, and all are read after the barrier; a row is of 16 bytes.
        unsafe {
            rows.write(at(lane / 8, lane % 8), row);
            thread::sync_threads();
            let from: *const u32 = rows.at(at(lane / 8, lane % 8)).cast();
            let (four, turned) = (mma::load::<4, u32>(from), mma::load_transposed::<4, u32>(from));
            for m in 0..4 {
                let first = (100 * m + 10 * (lane / 4) + lane % 4 * 2) as u32;
                assert_eq!(four[m], first | (first + 1) << 16);
                let first = (100 * m + 10 * (lane % 4 * 2) + lane / 4) as u32;
                assert_eq!(turned[m], first | (first + 10) << 16);
            }
            assert_eq!(mma::load::<1, u32>(from), four[..1]);
            let [x, y] = mma::load_transposed::<2, F16x2>(from.cast());
            assert_eq!([x.to_register(), y.to_register()], turned[..2]);
        }
    });
}

#[test]
fn all_lanes_take_part() {
    let error = run_error(32, || {
        if warp::lane_id() < 31 {
            mma::m8n8k4_f64(1.0, 1.0, [0.0; 2]);
        }
    });
    assert!(error.to_string().contains("m8n8k4_f64") && error.to_string().contains(file!()), "{error}");
}
