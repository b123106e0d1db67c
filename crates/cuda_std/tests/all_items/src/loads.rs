//! `mem`, for every word.

use crate::{Out, list};
use cuda_std::{mem::Word, prelude::*};

/// The words of a 16-byte value.
#[inline(always)]
fn put_words<T: Word>(out: &mut Out, value: T) {
    let mut bytes = [0u64; 2];
    // SAFETY: at most 16 bytes.
    unsafe { bytes.as_mut_ptr().cast::<T>().write_unaligned(value) };
    out.put(bytes[0]);
    if size_of::<T>() > 8 {
        out.put(bytes[1]);
    }
}

#[inline(always)]
unsafe fn every<T: Word>(input: &[u64], out: *mut u64) {
    // SAFETY: `out` points to the launch's output.
    let mut out = unsafe { Out::new(out) };
    let i = thread::index_1d() as usize & 31;
    let p = input.as_ptr().cast::<T>();
    // SAFETY: the input has at least 64 words, nobody writes it, and it is aligned to 16 bytes as the output is.
    unsafe {
        mem::prefetch_l2(p.add(i));
        put_words(&mut out, mem::load_nc(p.add(i)));
        put_words(&mut out, mem::load_nc_no_allocate(p.add(i)));
        put_words(&mut out, mem::load_streaming(p.add(i)));
        put_words(&mut out, mem::load_cg(p.add(i)));
        put_words(&mut out, mem::load_last_use(p.add(i)));
        put_words(&mut out, mem::load_relaxed(p.add(i)));
        let value = mem::load_nc(p.add(i ^ 1));
        // Whole slots of 16 bytes; the value fills the start.
        let slot = |k: usize| {
            let slot = out.next().add(20 + 2 * k);
            slot.write(0);
            slot.add(1).write(0);
            slot.cast::<T>()
        };
        mem::store_streaming(slot(0), value);
        mem::store_cg(slot(1), value);
        mem::store_wt(slot(2), value);
        mem::store_volatile(slot(3), value);
        let place = slot(4);
        mem::store_relaxed(place, value);
        let stored = mem::load_volatile(place);
        put_words(&mut out, stored);
    }
}

macro_rules! words {
    ($($name:ident $t:ty;)*) => {
        list!("loads" => $($name)* asynchronous);
        $(
            /// All loads and stores of one word.
            #[kernel]
            pub unsafe fn $name(input: &[u64], out: *mut u64) {
                // SAFETY: the input and the output are the launch's.
                unsafe { every::<$t>(input, out) }
            }
        )*
    };
}
words! {
    word_u32 u32;
    word_i32 i32;
    word_f32 f32;
    word_u64 u64;
    word_i64 i64;
    word_f64 f64;
    word_u32x2 U32x2;
    word_i32x2 I32x2;
    word_f32x2 F32x2;
    word_u32x4 U32x4;
    word_i32x4 I32x4;
    word_f32x4 F32x4;
    word_u64x2 U64x2;
    word_f64x2 F64x2;
}

/// Asynchronous copies of 4, 8 and 16 bytes, in eight groups.
#[kernel]
pub unsafe fn asynchronous(input: &[u64], out: *mut u64) {
    // SAFETY: `out` points to the launch's output.
    let mut out = unsafe { Out::new(out) };
    let (small, middle, large) = (shared_array![f32; 64], shared_array![u64; 64], shared_array![F32x4; 64]);
    let t = thread::thread_idx_x() as usize;
    // SAFETY: the input has 64 words and is aligned to 16 bytes; each thread fills its own elements, and reads those of
    // others only after its copies and a barrier.
    unsafe {
        mem::copy_async(small.at(t), input.as_ptr().cast::<f32>().add(t));
        mem::copy_async_commit();
        mem::copy_async(middle.at(t), input.as_ptr().add(t));
        mem::copy_async_commit();
        mem::copy_async(large.at(t), input.as_ptr().cast::<F32x4>().add(t / 2));
        mem::copy_async_commit();
        mem::copy_async_wait::<7>();
        mem::copy_async_wait::<6>();
        mem::copy_async_wait::<5>();
        mem::copy_async_wait::<4>();
        mem::copy_async_wait::<3>();
        mem::copy_async_wait::<2>();
        out.put(small.read(t));
        mem::copy_async_wait::<1>();
        out.put(middle.read(t));
        mem::copy_async_wait::<0>();
        thread::sync_threads();
        let other = large.read(63 - t);
        for value in other.to_array() {
            out.put(value);
        }
    }
}
