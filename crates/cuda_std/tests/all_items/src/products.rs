//! `mma`, of integers, whose products and sums are exact, and `mbarrier`. For `sm_80` and later, `bulk` for `sm_90`.

use crate::{Out, items};
use cuda_std::{half::*, mbarrier, mbarrier::Barrier, prelude::*, ptx::Register};

/// Signed integers of few digits.
#[inline(always)]
fn small(word: u64, k: u32) -> f32 {
    (word >> (4 * k) & 15) as f32 - 8.0
}

/// Bulk copies there and back.
#[kernel]
pub unsafe fn bulk(input: &[u64], out: *mut u64) {
    let (t, staged) = (thread::thread_idx_x() as usize, shared_array![U64x2; 64]);
    let barrier = Barrier::at(shared_array![u64; 1].as_mut_ptr());
    // SAFETY: one thread makes the barrier before others come to it, and copies a kilobyte; what is copied is used
    // behind barriers alone. The block's first words of the output are its first thread's.
    unsafe {
        if t == 0 {
            barrier.init(64);
        }
        thread::sync_threads();
        if t == 0 {
            barrier.arrive_and_expect(1024);
            barrier.copy(staged.as_mut_ptr().cast(), input.as_ptr().cast(), 1024);
        } else {
            barrier.arrive();
        }
        barrier.wait(0);
        let mirrored = staged.read(63 - t);
        let mirrored = U64x2::new(mirrored.y, mirrored.x);
        thread::sync_threads();
        staged.write(t, mirrored);
        thread::sync_threads();
        if t == 0 {
            let first = out.add(thread::index_1d() as usize * crate::SLOTS);
            mbarrier::store(first.cast(), staged.as_mut_ptr().cast(), 1024);
            mbarrier::store_commit();
            mbarrier::store_wait();
        }
    }
}

items! {
    "products" and bulk;

    /// Halves of both kinds.
    fn halves(input, out) {
        let word = input[thread::index_1d() as usize];
        macro_rules! product {
            ($t:ident, $pair:ident) => {{
                let pair = |k: u32| $pair::new(narrow::<$t>(small(word, 2 * k)), narrow::<$t>(small(word, 2 * k + 1)));
                let c = [0, 3, 6, 9].map(|k| small(word, k));
                for value in mma::m16n8k16([pair(0), pair(1), pair(2), pair(3)], [pair(4), pair(5)], c) {
                    out.put(value);
                }
            }};
        }
        product!(f16, F16x2);
        product!(bf16, Bf16x2);
    }

    /// Numbers of 11 digits.
    fn reals(input, out) {
        let word = input[thread::index_1d() as usize];
        let x = |k| small(word, k);
        for value in mma::m16n8k8_tf32([x(0), x(1), x(2), x(3)], [x(4), x(5)], [x(6), x(7), x(8), x(9)]) {
            out.put(value);
        }
        for k in 0..4 {
            out.put(mma::tf32((word >> k & 0x3f_ffff) as f32));
        }
    }

    /// Bytes with and without a sign.
    fn bytes(input, out) {
        let word = input[thread::index_1d() as usize];
        let [low, high] = [word as u32, (word >> 32) as u32];
        let (a, b, c) = ([low, high, low ^ high, low.rotate_left(9)], [high, low.wrapping_add(high)], [1, -2, high as i32, 4]);
        for value in mma::m16n8k32::<i8>(a, b, c) {
            out.put(value);
        }
        for value in mma::m16n8k32::<u8>(a, b, c) {
            out.put(value);
        }
    }

    /// Doubles.
    fn doubles(input, out) {
        let word = input[thread::index_1d() as usize];
        let x = |k| f64::from(small(word, k)) / 3.0;
        for value in mma::m8n8k4_f64(x(0), x(1), [x(2), x(3)]) {
            out.put(value);
        }
    }

    /// Matrices from shared memory.
    fn loads(input, out) {
        let words = shared_array![U64x2; 64];
        let t = thread::thread_idx_x() as usize;
        // SAFETY: each thread writes a row of its own, and all are read after a barrier. A row is of 16 bytes.
        unsafe {
            words.write(t, U64x2::new(input[t], input[t + 64]));
            thread::sync_threads();
            let row: *const F16x2 = words.at(t ^ 1).cast();
            macro_rules! put {
                ($($pair:ident)* = $pairs:expr) => {{
                    let [$($pair),*] = $pairs;
                    $(out.put($pair.to_register());)*
                }};
            }
            put!(a b c d = mma::load::<4, _>(row));
            put!(a b c d = mma::load_transposed::<4, _>(row));
            put!(a b = mma::load::<2, _>(row));
            put!(a b = mma::load_transposed::<2, _>(row));
            let row: *const u32 = row.cast();
            put!(a = mma::load::<1, _>(row));
            put!(a = mma::load_transposed::<1, _>(row));
        }
    }
}
