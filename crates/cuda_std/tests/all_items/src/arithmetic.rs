//! The language itself: operators, conversions and the standard library's atomics. Some of them are
//! functions on a GPU.

use crate::{Out, items};
use core::sync::atomic::{AtomicI32, AtomicU8, AtomicU32, AtomicU64, Ordering::*, compiler_fence, fence};
use cuda_std::prelude::*;

/// Two words of the input; the first may be a special float.
#[inline(always)]
fn words(input: &[u64]) -> (u64, u64) {
    let i = thread::index_1d() as usize;
    (input[i], input[i + 128])
}

items! {
    "arithmetic";

    /// Remainders of floats, near each other and far apart.
    fn remainders(input, out) {
        let (a, b) = words(input);
        macro_rules! remainders {
            ($x:expr, $y:expr) => {{
                let (x, y) = ($x, $y);
                let values = [x % y, y % x, x % 3.0, x % 0.1, 1e10 % y, x % 1.0, (x * 1e-3) % (y * 1e3)];
                // Backends agree on numbers, but not on the bits of a NaN.
                for value in values {
                    out.put(value.is_nan());
                    out.put(if value.is_nan() { 0.0 } else { value });
                }
            }};
        }
        remainders!(f64::from_bits(a), f64::from_bits(b));
        remainders!(f32::from_bits(a as u32), f32::from_bits(b as u32));
        remainders!((a >> 20) as f64, (b >> 44) as f64 + 0.1);
        remainders!((a >> 44) as f32, (b >> 54) as f32 + 0.1);
    }

    /// `as` from floats of any size, and of about the integers' limits.
    fn from_floats(input, out) {
        let (a, b) = words(input);
        macro_rules! all {
            ($x:expr) => {{
                let x = $x;
                out.put(x as u8);
                out.put(x as i8);
                out.put(x as u16);
                out.put(x as i16);
                out.put(x as u32);
                out.put(x as i32);
                out.put(x as u64);
                out.put(x as i64);
                let (unsigned, signed) = (x as u128, x as i128);
                out.put(unsigned as u64);
                out.put((unsigned >> 64) as u64);
                out.put(signed as u64);
                out.put((signed >> 64) as u64);
            }};
        }
        // An exponent from 0 to 131.
        let near = (b as i64 >> 11) as f64 / (1u64 << 52) as f64 * f64::from_bits((1023 + b % 132) << 52);
        all!(f64::from_bits(a));
        all!(f32::from_bits(a as u32));
        all!(near);
        all!(near as f32);
        all!(-near);
    }

    /// `as` to floats, which rounds to the nearest.
    fn from_integers(input, out) {
        let (a, b) = words(input);
        macro_rules! both {
            ($($x:expr),*) => {$(
                out.put($x as f64);
                out.put($x as f32);
            )*};
        }
        let wide = (u128::from(a) << 64 | u128::from(b)) >> (b % 128);
        // In the middle between two floats of either kind, and a little beside it.
        let (double, single) = ((1u128 << 53 | 1) << (a % 74), (1u128 << 24 | 1) << (a % 103));
        both!(a, a as i64, a as u32, a as i32, a as u16, a as i8, wide, wide as i128, !wide as i128);
        both!(double, double + 1, double - 1, single, single + 1, single - 1);
    }

    /// Integers of 128 bits.
    fn wide(input, out) {
        let (a, b) = words(input);
        let (x, y) = (u128::from(a) << 64 | u128::from(b), (u128::from(b) << 64 | u128::from(a)) >> (a % 120) | 1);
        let mut put = |value: u128| {
            out.put(value as u64);
            out.put((value >> 64) as u64);
        };
        put(x.wrapping_mul(y));
        put(x / y);
        put(x % y);
        put((x as i128).wrapping_div(y as i128) as u128);
        put((x as i128).wrapping_rem(y as i128) as u128);
        put(x << (b % 128));
        put((x as i128 >> (b % 128)) as u128);
        put(x.rotate_left(b as u32));
        put(x.reverse_bits());
        put(x.saturating_mul(y));
        put(x.checked_add(y).unwrap_or(5));
        put((x as i128).checked_mul(y as i128).unwrap_or(6) as u128);
        put(u128::from(x.leading_zeros() + 1000 * y.trailing_zeros() + 1_000_000 * x.count_ones()));
    }

    /// The standard library's atomics, in all orders and widths, on words of the thread's own.
    fn atomics(input, out) {
        let (a, b) = words(input);
        macro_rules! operations {
            ($atomic:ident, $t:ty: $($method:ident $order:ident),*) => {{
                let p = out.next().cast::<$t>();
                out.put(a);
                // SAFETY: a word of the thread's own, which holds one of any of the types.
                let word = unsafe { $atomic::from_ptr(p) };
                $(out.put(word.$method(b as $t, $order));)*
                out.put(word.load(SeqCst));
            }};
        }
        operations!(AtomicU64, u64: fetch_add SeqCst, fetch_xor AcqRel, swap Acquire, fetch_sub Release, fetch_max Relaxed, fetch_and SeqCst);
        operations!(AtomicU32, u32: fetch_add AcqRel, fetch_or Relaxed, fetch_nand SeqCst, fetch_sub Acquire, fetch_min Release, swap SeqCst);
        operations!(AtomicI32, i32: fetch_min AcqRel, fetch_max SeqCst, fetch_add Relaxed, swap Relaxed, fetch_xor Acquire, fetch_sub SeqCst);
        operations!(AtomicU8, u8: fetch_add SeqCst, fetch_xor SeqCst, fetch_and Release, fetch_or AcqRel, swap AcqRel, fetch_max Relaxed);
        // A byte that isn't its word's first, and the word after it.
        let p = out.next();
        out.put(a);
        // SAFETY: the third byte of a word of the thread's own.
        let byte = unsafe { AtomicU8::from_ptr(p.cast::<u8>().add(2)) };
        out.put(byte.fetch_and(b as u8, AcqRel));
        out.put(byte.fetch_xor((b >> 8) as u8, SeqCst));
        out.put(byte.fetch_or((b >> 16) as u8, Relaxed));
        out.put(byte.compare_exchange((b >> 16) as u8, 3, SeqCst, Acquire).is_ok());
        compiler_fence(SeqCst);
        fence(AcqRel);
        // SAFETY: a word of the thread's own.
        out.put(unsafe { AtomicU64::from_ptr(p) }.compare_exchange(a, b, Release, Relaxed).unwrap_or_else(|now| now));
    }
}
