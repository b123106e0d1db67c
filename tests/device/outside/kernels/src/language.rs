//! What kernels are written in: the language, `core`, and crates without `std`. A kernel for each part of it.

use alloc::{boxed::Box, collections::BTreeMap, format, string::String, vec::Vec};
use core::{
    fmt::{self, Write as _},
    mem::{self, MaybeUninit},
    num::NonZero,
    ops::ControlFlow,
    ptr::{self, NonNull},
    sync::atomic::{AtomicU32, Ordering},
};
use cuda_std::prelude::*;
use glam::{Mat3, Mat4, Quat, Vec3};

/// Loops with labels, ranges of either direction, early returns: `out[i]` is the number of primes up to `n[i]`.
#[kernel]
pub fn control_flow(n: &[u32], mut out: DisjointSlice<u32>) {
    fn divides(d: u32, n: u32) -> Option<bool> {
        if d * d > n {
            return None;
        }
        Some(n.is_multiple_of(d))
    }
    for (i, out) in out.grid_stride_mut() {
        let mut primes = 0;
        'candidates: for candidate in (2..=n[i]).rev() {
            let mut d = 2;
            loop {
                match divides(d, candidate) {
                    None => break,
                    Some(true) => continue 'candidates,
                    Some(false) if d == 2 => d = 3,
                    Some(false) => d += 2,
                }
            }
            primes += 1;
        }
        *out = primes;
    }
}

struct Fibonacci(u64, u64);

impl Iterator for Fibonacci {
    type Item = u64;
    fn next(&mut self) -> Option<u64> {
        let next = self.0 + self.1;
        self.0 = mem::replace(&mut self.1, next);
        Some(self.0)
    }
}

/// Iterators and closures: `out[i]` is the sum of the even Fibonacci numbers up to `most[i]`, plus those of the first
/// ten in pairs with 1 to 10, largest first.
#[kernel]
pub fn iterators(most: &[u64], mut out: DisjointSlice<u64>) {
    for (i, out) in out.grid_stride_mut() {
        let limit = most[i];
        let even: u64 = Fibonacci(1, 1).take_while(|&x| x <= limit).filter(|x| x.is_multiple_of(2)).sum();
        let pairs = Fibonacci(0, 1).take(10).zip((1..=10).rev()).map(|(x, y)| x * y);
        *out = pairs.chain([0, 0]).step_by(1).fold(even, |sum, x| sum + x);
    }
}

/// Arrays of all kinds of numbers, in two dimensions, as slices, sorted, searched. `out` has the sorted `values`, and in
/// its last element a checksum of the others.
///
/// # Safety
/// One thread. `out` has an element more than `values`, of which there are at most 16.
#[kernel]
pub unsafe fn arrays(values: &[i32], out: *mut i32) {
    let mut own = [0i32; 16];
    let own = &mut own[..values.len()];
    own.copy_from_slice(values);
    own.sort_unstable();
    let bytes = [1i8; 7];
    let shorts = [[2i16; 3]; 2];
    let words: [i64; 5] = core::array::from_fn(|i| i as i64);
    let sum = bytes.iter().map(|&x| i64::from(x)).sum::<i64>()
        + shorts.as_flattened().chunks(4).map(|part| part.len() as i64 * i64::from(part[0])).sum::<i64>()
        + words.windows(2).map(|pair| pair[0] * pair[1]).sum::<i64>();
    let place = own.binary_search(&own[own.len() / 2]).map_or(-1, |place| (place == own.len() / 2) as i64);
    // SAFETY: this is the one thread, and there are so many elements.
    unsafe {
        ptr::copy_nonoverlapping(own.as_ptr(), out, own.len());
        *out.add(own.len()) = (sum + place) as i32;
    }
}

trait Shape {
    const SIDES: u32;
    fn area(&self) -> f64;
    fn doubled(&self) -> f64 {
        2.0 * self.area()
    }
}

struct Square(f64);
struct Rectangle<const W: usize, const H: usize>;

impl Shape for Square {
    const SIDES: u32 = 4;
    fn area(&self) -> f64 {
        self.0 * self.0
    }
}

impl<const W: usize, const H: usize> Shape for Rectangle<W, H> {
    const SIDES: u32 = 4;
    fn area(&self) -> f64 {
        (W * H) as f64
    }
}

enum Any {
    Square(Square),
    Fixed(Rectangle<3, 2>),
    Scaled { factor: f64, inner: Square },
}

impl Any {
    fn doubled(&self) -> f64 {
        match self {
            Any::Square(square) => square.doubled(),
            Any::Fixed(rectangle) => rectangle.doubled(),
            Any::Scaled { factor, inner: Square(side) } if *side > 0.0 => factor * Square(*side).doubled(),
            Any::Scaled { .. } => -1.0,
        }
    }
}

fn apply<T>(value: T, f: impl Fn(T) -> f64) -> f64 {
    f(value)
}

/// Traits, generics, constant parameters, enumerations and closures: twice the area of one of four shapes, plus its sides.
#[kernel]
pub fn types(sides: &[f64], mut out: DisjointSlice<f64>) {
    for (i, out) in out.grid_stride_mut() {
        let shape = match i % 4 {
            0 => Any::Square(Square(sides[i])),
            1 => Any::Fixed(Rectangle),
            2 => Any::Scaled { factor: 0.5, inner: Square(sides[i]) },
            _ => Any::Scaled { factor: 0.5, inner: Square(-sides[i]) },
        };
        let more = f64::from(Square::SIDES + Rectangle::<1, 1>::SIDES);
        *out = apply(&shape, |shape| shape.doubled() + more);
    }
}

const fn powers() -> [u64; 20] {
    let mut table = [1; 20];
    let mut i = 1;
    while i < table.len() {
        table[i] = 10 * table[i - 1];
        i += 1;
    }
    table
}

static POWERS: [u64; 20] = powers();
const NAMES: [&str; 3] = ["one", "three", "seventeen"];
const LIMIT: &u64 = &1000;

/// Constants, statics, texts: `out[i]` is the number of digits of `n[i]`, plus the length of one of three names, plus 100
/// where `n[i]` is over a thousand.
#[kernel]
pub fn constants(n: &[u64], mut out: DisjointSlice<u64>) {
    for (i, out) in out.grid_stride_mut() {
        let digits = POWERS.iter().skip(1).take_while(|&&power| power <= n[i]).count() as u64 + 1;
        *out = digits + NAMES[i % 3].len() as u64 + if n[i] > *LIMIT { 100 } else { 0 };
    }
}

/// `Option`, `Result`, `?`, `ControlFlow`: the digit at the end of the sum of what the bytes of `text` say, or the
/// position of the first that says nothing, from -1 down.
#[kernel]
pub fn options(text: &[u8], mut out: DisjointSlice<i32>) {
    fn digit(byte: u8) -> Result<u32, char> {
        char::from(byte).to_digit(10).ok_or(char::from(byte))
    }
    fn sum(text: &[u8]) -> Result<Option<NonZero<u32>>, usize> {
        let flow = text.iter().enumerate().try_fold(0, |sum, (at, &byte)| match digit(byte) {
            Ok(digit) => ControlFlow::Continue(sum + digit),
            Err(_) => ControlFlow::Break(at),
        });
        let sum = match flow {
            ControlFlow::Continue(sum) => sum,
            ControlFlow::Break(at) => Err(at)?,
        };
        Ok(NonZero::new(sum))
    }
    for (i, out) in out.grid_stride_mut() {
        *out = match sum(&text[i..]) {
            Ok(sum) => sum.map_or(0, |sum| (sum.get() % 10) as i32),
            Err(at) => -1 - at as i32,
        };
    }
}

/// Integers' methods: nine numbers from each of `values`.
#[kernel]
pub fn integers(values: &[u32], mut out: DisjointSlice<[u32; 9]>) {
    for (i, out) in out.grid_stride_mut() {
        let x = values[i];
        let (low, over) = x.overflowing_mul(3);
        let wide = u128::from(x) * u128::from(u64::MAX) / 7;
        *out = [
            x.swap_bytes(),
            x.reverse_bits(),
            x.leading_zeros() * 10_000 + x.trailing_zeros() * 100 + x.count_ones(),
            x.rotate_left(7) ^ x.rotate_right(3),
            x.checked_add(0x8000_0000).unwrap_or(12),
            x.saturating_mul(5),
            low ^ u32::from(over),
            x.isqrt().wrapping_add((x % 6).pow(5)).wrapping_add(x.abs_diff(1000)).wrapping_add((x as i32).rem_euclid(13) as u32),
            (wide >> 61) as u32 ^ wide as u32,
        ];
    }
}

/// Floats' methods, of `core`, of [`GpuFloat`] and of the crate `libm`.
#[kernel]
pub fn floats(values: &[f64], mut out: DisjointSlice<[f64; 8]>) {
    for (i, out) in out.grid_stride_mut() {
        let x = values[i];
        let bits = f64::from_bits(x.to_bits() & !(1 << 63));
        *out = [
            x.signum() + x.clamp(-1.0, 1.0) + f64::from(x.total_cmp(&0.5) as i8),
            bits.sqrt() + x.round() + x % 2.0,
            math::sin(x) + math::cos(x),
            math::log10(bits) + math::exp(-bits),
            libm::erf(x) + libm::erfc(x),
            libm::j0(x),
            libm::lgamma(bits + 1.0),
            f64::from(x as f32) - x + x.to_radians().max(x.recip()),
        ];
    }
}

/// The number of results of [`singles()`].
pub const SINGLES: usize = 22;

/// The transcendental functions of one or two `f32`, in a build that may contract operations.
pub fn all_of_f32(x: f32, y: f32) -> [f32; SINGLES] {
    let (sine, cosine) = math::sin_cos(x);
    [
        math::sin(x),
        math::cos(x),
        sine,
        cosine,
        math::tan(x),
        math::asin(x),
        math::acos(x),
        math::atan(x),
        math::exp(x),
        math::exp2(x),
        math::exp_m1(x),
        math::ln(x),
        math::ln_1p(x),
        math::log2(x),
        math::log10(x),
        math::cbrt(x),
        math::sinh(x),
        math::cosh(x),
        math::tanh(x),
        math::atan2(y, x),
        math::powf(x, y),
        math::hypot(x, y),
    ]
}

/// `all_of_f32` of `values[i]` and the value after it.
#[kernel]
pub fn singles(values: &[f32], mut out: DisjointSlice<[f32; SINGLES]>) {
    for (i, out) in out.grid_stride_mut() {
        *out = all_of_f32(values[i], values[(i + 1) % values.len()]);
    }
}

union Bits {
    float: f32,
    word: u32,
}

struct Empty;
struct Zero {
    first: Empty,
    second: Empty,
}

/// Raw memory: what isn't initialised, null and dangling pointers, unions, references to nothing, swapped values.
#[kernel]
pub fn memory(values: &[f32], mut out: DisjointSlice<u32>) {
    fn is_there(_: &Empty) -> u32 {
        1
    }
    for (i, out) in out.grid_stride_mut() {
        let mut array: [MaybeUninit<u32>; 4] = [const { MaybeUninit::uninit() }; 4];
        for (at, element) in array.iter_mut().enumerate() {
            element.write(at as u32);
        }
        // SAFETY: all elements have been written.
        let mut array: [u32; 4] = unsafe { mem::transmute(array) };
        let (left, right) = array.split_at_mut(2);
        mem::swap(&mut left[0], &mut right[1]);
        let nothing = ptr::null::<u32>().is_null() as u32 + (NonNull::<u64>::dangling().as_ptr() as usize == 8) as u32;
        let zero = Zero { first: Empty, second: Empty };
        let bits = Bits { float: values[i] };
        // SAFETY: any bits are a word.
        let word = unsafe { bits.word };
        *out =
            word ^ (array[0] * 1000 + nothing * 100 + is_there(&zero.first) + is_there(&zero.second) + size_of::<Zero>() as u32);
    }
}

/// Vectors and matrices of the crate `glam`: `points[i]` turned by `angles[i]` about z, moved and moved back.
#[kernel]
pub fn vectors(angles: &[f32], points: &[[f32; 3]], mut out: DisjointSlice<[f32; 3]>) {
    for (i, out) in out.grid_stride_mut() {
        let point = Vec3::from(points[i]);
        let turned = Mat3::from_rotation_z(angles[i]) * point;
        let moved = Mat4::from_rotation_translation(Quat::IDENTITY, Vec3::new(1.0, -2.0, 3.0));
        let back = moved.inverse().transform_point3(moved.transform_point3(turned));
        *out = (back + point.cross(point)).to_array();
    }
}

/// The longest text of [`texts()`].
pub const TEXT: usize = 64;

struct Text {
    bytes: [u8; TEXT],
    len: usize,
}

impl fmt::Write for Text {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        let end = self.len + text.len();
        self.bytes.get_mut(self.len..end).ok_or(fmt::Error)?.copy_from_slice(text.as_bytes());
        self.len = end;
        Ok(())
    }
}

/// `core::fmt`: three numbers as text, filled up with zeros.
#[kernel]
pub fn texts(values: &[i32], mut out: DisjointSlice<[u8; TEXT]>) {
    for (i, out) in out.grid_stride_mut() {
        let mut text = Text { bytes: [0; TEXT], len: 0 };
        let x = values[i];
        if write!(text, "{x} {x:#010x} {:?} {:>6}", x.checked_div(3), x / 7).is_err() {
            text.bytes[0] = b'!';
        }
        *out = text.bytes;
    }
}

fn factorial(n: u64) -> u64 {
    if n < 2 { 1 } else { n * core::hint::black_box(factorial)(n - 1) }
}

/// Recursion, and a function by its pointer: `out[i]` is the factorial of `i`.
#[kernel]
pub fn recursion(mut out: DisjointSlice<u64>) {
    for (i, out) in out.grid_stride_mut() {
        *out = factorial(i as u64);
    }
}

/// `core`'s atomics, in the scope of the system: `sums[0]` grows by all of `values`, `sums[1]` is the greatest.
///
/// # Safety
/// Two elements of `sums`, which nobody else uses.
#[kernel]
pub unsafe fn atomics(values: &[u32], sums: *mut u32) {
    // SAFETY: there are two elements, which are used as atomics only.
    let (sum, greatest) = unsafe { (AtomicU32::from_ptr(sums), AtomicU32::from_ptr(sums.add(1))) };
    for i in thread::grid_stride(values.len()) {
        sum.fetch_add(values[i], Ordering::Relaxed);
        greatest.fetch_max(values[i], Ordering::AcqRel);
    }
}

#[repr(align(64))]
struct Line([u8; 64]);

/// The crate `alloc`: `out[i]` is the sum of the digits of all numbers below `n[i]`, each digit times how many numbers end
/// with it, plus one for each allocation that is aligned as it should be.
#[kernel]
pub fn heap(n: &[u32], mut out: DisjointSlice<u32>) {
    for (i, out) in out.grid_stride_mut() {
        let texts: Vec<String> = (0..n[i]).map(|k| format!("{k}")).collect();
        let mut ending: BTreeMap<char, Vec<&str>> = BTreeMap::new();
        for text in &texts {
            ending.entry(text.chars().next_back().unwrap_or('0')).or_default().push(text);
        }
        let many: Box<dyn Fn(char) -> u32> = match n[i] {
            0 => Box::new(|_| 0),
            _ => Box::new(|digit| ending.get(&digit).map_or(0, |texts| texts.len() as u32)),
        };
        let sum: u32 =
            texts.iter().flat_map(|text| text.chars()).map(|digit| digit.to_digit(10).unwrap_or(0) * many(digit)).sum();
        let lines: Vec<Box<Line>> = (0..3).map(|k| Box::new(Line([k; 64]))).collect();
        let aligned = lines.iter().filter(|line| (&raw const ***line).addr() % 64 == 0 && line.0[0] == line.0[63]).count();
        *out = sum + aligned as u32;
    }
}

/// `out[i]` is 1 where `bytes[i]` can be allocated, else 0.
#[kernel]
pub fn heap_limit(bytes: &[usize], mut out: DisjointSlice<u32>) {
    for (i, out) in out.grid_stride_mut() {
        let mut memory = Vec::<u8>::new();
        *out = memory.try_reserve_exact(bytes[i]).is_ok().into();
        core::hint::black_box(memory.as_mut_ptr());
    }
}
