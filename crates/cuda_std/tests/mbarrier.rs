//! Barriers in shared memory, and bulk copies.

mod common;
use common::{Output, run, run_error};
use cuda_std::{
    mbarrier::{self, Barrier},
    prelude::*,
};

#[test]
fn producers_and_consumers() {
    // One warp fills two places in turn, and the other reads them; both only wait for barriers.
    const ROUNDS: u32 = 9;
    let mut found = vec![0u32; 32 * ROUNDS as usize];
    let out = Output::new(&mut found);
    run(1, 64, || {
        let (t, places) = (thread::thread_idx_x(), shared_array![u32; 64]);
        let barriers = shared_array![u64; 4];
        // SAFETY: thread 0 makes the barriers before others use them; places are written and read between barriers.
        unsafe {
            let [full, empty] = [0, 2].map(|first| [0, 1].map(|i| Barrier::at(barriers.at(first + i))));
            if t == 0 {
                full.into_iter().chain(empty).for_each(|barrier| barrier.init(32));
            }
            thread::sync_threads();
            for round in 0..ROUNDS {
                let (place, parity) = (round as usize % 2, round / 2 % 2);
                if t < 32 {
                    // The first time, the place is empty: the phase before the first is complete.
                    empty[place].wait(parity ^ 1);
                    places.write(32 * place + t as usize, 100 * round + t);
                    full[place].arrive();
                } else {
                    full[place].wait(parity);
                    out.set((32 * round + t - 32) as usize, places.read(32 * place + (t as usize ^ 1) - 32));
                    empty[place].arrive();
                }
            }
        }
    });
    for (i, value) in (0..).zip(&found) {
        assert_eq!(*value, 100 * (i / 32) + ((i % 32) ^ 1));
    }
}

#[repr(align(16))]
struct Aligned([u8; 512]);

#[test]
fn copies_complete_phases() {
    let from = Aligned(std::array::from_fn(|i| (7 * i) as u8));
    let mut to = Aligned([0; 512]);
    let out = Output::new(&mut to.0);
    run(1, 32, || {
        let (t, staged) = (thread::thread_idx_x(), shared_array![U32x4; 32]);
        let barrier = Barrier::at(shared_array![u64; 1].as_mut_ptr());
        // SAFETY: one thread makes the barrier before others use it, and copies; what is copied is read behind
        // barriers.
        unsafe {
            if t == 0 {
                barrier.init(2);
            }
            thread::sync_threads();
            for half in 0..2 {
                let first = 256 * half as usize;
                if t == 0 {
                    let (shared, global) = (staged.as_mut_ptr().cast::<u8>().add(first), from.0.as_ptr().add(first));
                    // Bytes may come before they are expected.
                    barrier.copy(shared, global, 64);
                    assert!(!barrier.test(half));
                    barrier.arrive_and_expect(256);
                    assert!(!barrier.test(half));
                    barrier.arrive();
                    assert!(!barrier.test(half));
                    barrier.copy(shared.add(64), global.add(64), 192);
                }
                barrier.wait(half);
                assert_eq!(staged.read(first / 16 + 15).to_array()[3].to_le_bytes()[3], (7 * (first + 255)) as u8);
                // Nobody starts the next phase but one before all have seen the end of this one.
                thread::sync_threads();
            }
            if t == 0 {
                mbarrier::store(out.at(0), staged.as_mut_ptr().cast(), 512);
                mbarrier::store_commit();
                mbarrier::store_wait();
            }
        }
    });
    assert_eq!(to.0, from.0);
}

#[test]
fn what_a_gpu_leaves_undefined_is_an_error() {
    let error =
        |body: &(dyn Fn(Barrier) + Sync)| run_error(1, || body(Barrier::at(shared_array![u64; 1].as_mut_ptr()))).to_string();
    // SAFETY: the barrier is the only thread's.
    let text = error(&|barrier| unsafe { barrier.init(0) });
    assert!(text.contains("a barrier of 0 arrivals"), "{text}");
    // SAFETY: the barrier is the only thread's.
    let text = error(&|barrier| unsafe {
        barrier.init(1);
        barrier.arrive_and_expect(16);
        barrier.arrive();
    });
    assert!(text.contains("has all of its 1 arrivals"), "{text}");
    // SAFETY: the barrier is the only thread's.
    let text = error(&|barrier| unsafe {
        barrier.init(1);
        barrier.arrive_and_expect(1 << 20);
    });
    assert!(text.contains("can't wait for 1048576 bytes"), "{text}");
    // SAFETY: nothing is copied.
    let text = error(&|_| unsafe { mbarrier::store(std::ptr::null_mut(), std::ptr::null(), 8) });
    assert!(text.contains("a bulk copy of 8 bytes"), "{text}");
}
