//! Inline PTX, text, and floats of 16 bits.

use crate::{Out, items};
use cuda_std::{half::*, prelude::*, println};

/// A parameter of 16 bits, and pairs in memory.
#[kernel(block = [32, 2], min_blocks = 2)]
pub unsafe fn by_value(factor: f16, pairs: &[F16x2], out: *mut F16x2) {
    let i = thread::linear_thread() as usize;
    // SAFETY: there are as many pairs as threads.
    unsafe { mem::store_cg(out.add(i), F16x2::splat(factor) * mem::load_nc(&raw const pairs[i])) }
}

/// Lines of text. (Floats are a lot of code, which would be assembled again and again.)
#[kernel]
pub fn text(number: u32, name: &[u8]) {
    let first = name.first();
    println!("thread {:>3}: {number:#010x}, {first:?}", thread::thread_idx_x());
    println!();
}

/// A message that is known, one that isn't, and an index.
#[kernel]
pub fn messages(number: u32, values: &[u32]) {
    assert!(number != 3, "three is a crowd");
    assert!(values[number as usize] == 0, "{number} has {}", values[number as usize]);
}

/// A barrier of all blocks.
#[kernel(carveout = 50, cooperative)]
pub unsafe fn together(out: *mut u32) {
    let (i, n) = (thread::index_1d() as usize, thread::grid_stride_1d() as usize);
    // SAFETY: a word for each thread, which it alone writes, and others read after the barrier.
    unsafe {
        out.add(i).write(i as u32);
        thread::sync_grid();
        let other = out.add(n - 1 - i).read();
        thread::sync_grid();
        out.add(i).write(other + 1);
    }
}

items! {
    "inline";

    /// Registers of all classes.
    fn registers(input, out) {
        let value = input[thread::index_1d() as usize];
        let (h, w, l, f, d): (i16, i32, u64, f32, f64);
        let (x, y) = ((value & 0xff) as f32, (value >> 8 & 0xff) as f64);
        // SAFETY: the instructions compute.
        unsafe {
            ptx_asm!("add.s16 {0}, {1}, {1};", out(b16) h, in(b16) value as i16, options(pure);
                cpu => h = (value as i16).wrapping_add(value as i16));
            ptx_asm!("mad24.lo.s32 {sum}, {0}, {0}, {1};", in(b32) value as i32 & 0xfff, in(imm) 17, sum = out(b32) w,
                options(pure);
                cpu => w = (value as i32 & 0xfff) * (value as i32 & 0xfff) + 17);
            ptx_asm!("not.b64 {0}, {1};", out(b64) l, in(b64) value, options(nomem); cpu => l = !value);
            ptx_asm!("fma.rn.f32 {0}, {1}, {1}, {1};", out(f32) f, in(f32) x; cpu => f = x.mul_add(x, x));
            ptx_asm!("{{ .reg .f64 t;", "add.f64 t, {1}, {1};", "mul.f64 {0}, t, {1}; }}", out(f64) d, in(f64) y;
                cpu => d = 2.0 * y * y);
        }
        out.put(h);
        out.put(w);
        out.put(l);
        out.put(f);
        out.put(d);
    }

    /// Memory, several outputs, and registers that are read and written.
    fn effects(input, out) {
        let value = input[thread::index_1d() as usize];
        let place = out.next();
        out.put(0u64);
        let (mut low, high) = (value as u32, (value >> 32) as u32);
        let carried: u32;
        // SAFETY: the thread's own word; the rest computes.
        unsafe {
            ptx_asm!("st.global.u64 [{0}], {1};", in(b64) place, in(b64) value; cpu => place.write(value));
            ptx_asm!("add.cc.u32 {0}, {0}, {2};", "addc.u32 {1}, {2}, 0;", inout(b32) low, out(b32) carried, in(b32) high,
                options(pure);
                cpu => {
                    let (sum, carry) = low.overflowing_add(high);
                    low = sum;
                    carried = high.wrapping_add(u32::from(carry));
                }
            );
            out.put(place.read());
        }
        out.put(low);
        out.put(carried);
    }

    /// Halves and pairs of them.
    fn halves(input, out) {
        let i = thread::index_1d() as usize;
        let words = [input[i], input[i + 1], input[i + 2]];
        macro_rules! all {
            ($t:ident, $pair:ident, $mask:literal) => {{
                // Finite.
                let [a, b, c] =
                    words.map(|word| $pair::new($t::from_bits(word as u16 & $mask), $t::from_bits((word >> 16) as u16 & $mask)));
                let mut put = |pair: $pair| {
                    out.put(pair.x.to_bits());
                    out.put(pair.y.to_bits());
                };
                put(a + b);
                put(a - b);
                put(a * b);
                put(a.mul_add(b, c));
                put(-a);
                put(warp::shuffle_xor(warp::FULL_MASK, a, 5));
                out.put(widen(a.x));
                out.put(narrow::<$t>(widen(a.y) * 1.001).to_bits());
                out.put($pair::narrow(b.widen()).x.to_bits());
                out.put(warp::shuffle_idx(warp::FULL_MASK, c.y, 3).to_bits());
            }};
        }
        all!(f16, F16x2, 0xbbff);
        all!(bf16, Bf16x2, 0xbf7f);
    }

    /// Products of the bytes of words.
    fn bytes(input, out) {
        let word = input[thread::index_1d() as usize];
        let [low, high] = [word as u32, (word >> 32) as u32];
        out.put(math::dp4a(low, high, high as i32));
        out.put(math::dp4a(low, high, high));
        out.put(math::dp2a_lo(low, high, high as i32));
        out.put(math::dp2a_lo(low, high, high));
        out.put(math::dp2a_hi(low, high, high as i32));
        out.put(math::dp2a_hi(low, high, high));
    }
}
