//! Products of matrices: the lanes show each other their fragments, and each computes its own elements.

use crate::half::{Bf16x2, F16x2};
use crate::ptx::Register;
use core::array;
use simt::current::{exchange, lane_id};

/// Register `i` of each lane.
#[track_caller]
fn registers<const N: usize>(op: &'static str, own: [u64; N]) -> [[u64; 32]; N] {
    let mut all = [[0; 32]; N];
    // No closure: an error names the caller's line.
    for (values, register) in all.iter_mut().zip(own) {
        *values = exchange(u32::MAX, op, register);
    }
    all
}

/// The elements of D that the lane has, `c` plus the sum over `depth` of products. A register holds `packed` elements
/// that follow each other; `a` and `b` take the one of that number out of it. A has as many registers for each half of
/// its rows as B has.
#[track_caller]
fn product<T, S, const A: usize, const B: usize, const C: usize>(
    op: &'static str,
    (own_a, own_b): ([u64; A], [u64; B]),
    packed: usize,
    element: impl Fn(u64, usize) -> T,
    c: [S; C],
    add: impl Fn(S, &mut dyn Iterator<Item = (T, T)>) -> S,
) -> [S; C] {
    let (a, b) = (registers(op, own_a), registers(op, own_b));
    let (g, t) = (lane_id() as usize / 4, lane_id() as usize % 4);
    let mut c = c.into_iter();
    array::from_fn(|i| {
        let (half, row, column) = (i / 2, g, 2 * t + i % 2);
        // The registers of a lane are 4 lanes' worth of elements apart.
        let mut terms = (0..4 * packed * B).map(|k| {
            let (register, lane, place) = (k / (4 * packed), k % (4 * packed) / packed, k % packed);
            (element(a[A / B * register + half][4 * row + lane], place), element(b[register][4 * column + lane], place))
        });
        add(c.next().expect("there are C"), &mut terms)
    })
}

/// Products of no more than 24 digits each are exact as doubles.
fn sum(c: f32, terms: &mut dyn Iterator<Item = (f32, f32)>) -> f32 {
    terms.fold(f64::from(c), |sum, (a, b)| sum + f64::from(a) * f64::from(b)) as f32
}

macro_rules! halves {
    ($($name:ident $pair:ident $op:literal;)*) => {$(
        #[track_caller]
        pub fn $name(a: [$pair; 4], b: [$pair; 2], c: [f32; 4]) -> [f32; 4] {
            let bits = |pair: $pair| pair.to_register().into();
            let element = |register, place| {
                let pair = $pair::from_register(register as u32);
                if place == 0 { pair.x.to_f32() } else { pair.y.to_f32() }
            };
            product($op, (a.map(bits), b.map(bits)), 2, element, c, sum)
        }
    )*};
}
halves! {
    m16n8k16_f16 F16x2 "m16n8k16 of f16";
    m16n8k16_bf16 Bf16x2 "m16n8k16 of bf16";
}

#[track_caller]
pub fn m16n8k8_tf32(a: [f32; 4], b: [f32; 2], c: [f32; 4]) -> [f32; 4] {
    let bits = |x: f32| u64::from(x.to_bits());
    let element = |register, _| f32::from_bits(register as u32 & !0x1fff);
    product("m16n8k8_tf32", (a.map(bits), b.map(bits)), 1, element, c, sum)
}

pub fn tf32(x: f32) -> f32 {
    // Numbers that aren't finite are not rounded.
    let half = if x.is_finite() { 0x1000 } else { 0 };
    f32::from_bits((x.to_bits() + half) & !0x1fff)
}

macro_rules! bytes {
    ($($name:ident $t:ident $op:literal;)*) => {$(
        #[track_caller]
        pub fn $name(a: [u32; 4], b: [u32; 2], c: [i32; 4]) -> [i32; 4] {
            let element = |register: u64, place| i32::from((register >> (8 * place)) as $t);
            product($op, (a.map(u64::from), b.map(u64::from)), 4, element, c, |c, terms| {
                terms.fold(c, |sum, (a, b)| sum.wrapping_add(a * b))
            })
        }
    )*};
}
bytes! {
    m16n8k32_s8 i8 "m16n8k32 of i8";
    m16n8k32_u8 u8 "m16n8k32 of u8";
}

#[track_caller]
pub fn m8n8k4_f64(a: f64, b: f64, c: [f64; 2]) -> [f64; 2] {
    product(
        "m8n8k4_f64",
        ([a.to_bits()], [b.to_bits()]),
        1,
        |register, _| f64::from_bits(register),
        c,
        |c, terms| terms.fold(c, |sum, (a, b)| a.mul_add(b, sum)),
    )
}

/// # Safety
/// The rows that lanes give are valid for reads of 16 bytes, aligned, and nobody writes there meanwhile.
#[track_caller]
pub unsafe fn load<const N: usize, const TRANSPOSED: bool>(row: *const u32) -> [u32; N] {
    let op = if TRANSPOSED { "load_transposed" } else { "load" };
    if lane_id() < 8 * N as u32 {
        crate::demand_aligned(row, 16);
    }
    let rows = exchange(u32::MAX, op, row.expose_provenance() as u64);
    let (g, t) = (lane_id() as usize / 4, lane_id() as usize % 4);
    let element = |matrix: usize, row: usize, column: usize| {
        let row = core::ptr::with_exposed_provenance::<u16>(rows[8 * matrix + row] as usize);
        // SAFETY: the caller has promised that the row has 8 elements.
        u32::from(unsafe { row.add(column).read() })
    };
    let loaded = array::from_fn(|i| match TRANSPOSED {
        true => element(i, 2 * t, g) | element(i, 2 * t + 1, g) << 16,
        false => element(i, g, 2 * t) | element(i, g, 2 * t + 1) << 16,
    });
    // Nobody goes on, and perhaps writes there, before all have read.
    exchange(u32::MAX, op, 0);
    loaded
}
