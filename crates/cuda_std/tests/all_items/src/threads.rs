//! `thread`.

use crate::{Out, items};
use cuda_std::prelude::*;

/// Values that differ between runs.
#[kernel]
pub unsafe fn clocks(_input: &[u64], out: *mut u64) {
    // SAFETY: `out` points to the launch's output.
    let mut out = unsafe { Out::new(out) };
    let (clock, timer) = (thread::clock64(), thread::globaltimer_ns());
    thread::nanosleep(1000);
    out.put(thread::clock64() - clock);
    out.put(thread::globaltimer_ns() - timer);
    out.put(arch());
    out.put(is_gpu());
    out.put(warp::active_mask());
}

items! {
    "threads";

    /// Every index and extent.
    fn indices(_input, out) {
        for dim in [thread::thread_idx(), thread::block_idx(), thread::block_dim(), thread::grid_dim(), thread::index_3d()] {
            out.put(dim.x);
            out.put(dim.y);
            out.put(dim.z);
        }
        let flat = thread::index_2d();
        out.put(flat.x);
        out.put(flat.y);
        out.put(thread::index_1d());
        out.put(thread::linear_thread());
        out.put(thread::grid_stride_1d());
        out.put(thread::block_dim().count());
    }

    /// The sum of a thread's share of the input.
    fn strides(input, out) {
        let mut sum = 0u64;
        for i in thread::grid_stride(input.len()) {
            sum = sum.wrapping_add(input[i]);
        }
        out.put(sum);
    }

    /// Barriers and fences.
    fn barriers(input, out) {
        let odd = input[thread::index_1d() as usize] & 1 == 1;
        out.put(thread::sync_threads_count(odd));
        out.put(thread::sync_threads_and(odd));
        out.put(thread::sync_threads_or(odd));
        thread::sync_threads();
        thread::block_fence();
        thread::device_fence();
        thread::system_fence();
        thread::nanosleep(50);
    }

    /// Every fourth lane has returned, and the others wait in two branches of their warp.
    fn divergent_barriers(input, out) {
        let words = shared_array![u64; 64];
        let t = thread::thread_idx_x() as usize;
        if t % 4 == 3 {
            return;
        }
        // SAFETY: each thread writes its own word before the barrier, and reads another's after it.
        unsafe {
            words.write(t, input[thread::index_1d() as usize]);
            if t.is_multiple_of(2) {
                thread::sync_threads();
                out.put(words.read(t / 4 * 4 + 1));
            } else {
                thread::sync_threads();
                out.put(words.read(t - 1) ^ 1);
            }
        }
        // Warps may come to different places, lanes of one warp not.
        let odd = input[t] & 1 == 1;
        out.put(if t < 32 { thread::sync_threads_count(odd) } else { thread::sync_threads_count(!odd) });
    }

    /// The first warp gives the second what it computes, and hears when that is taken.
    fn named_barriers(input, out) {
        let words = shared_array![u64; 32];
        let t = thread::thread_idx_x() as usize;
        // SAFETY: the first warp writes before the second is let in at barrier 1, and again after that has come to barrier
        // 2.
        unsafe {
            for round in 0..3 {
                if t < 32 {
                    words.write(t, input[t] ^ round);
                    thread::barrier_arrive(1, 64);
                    thread::barrier_sync(2, 64);
                } else {
                    thread::barrier_sync(1, 64);
                    out.put(words.read(63 - t));
                    thread::barrier_arrive(2, 64);
                }
            }
        }
        out.put(1u32);
    }
}
