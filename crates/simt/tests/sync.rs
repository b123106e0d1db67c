//! Barriers, exchanges and spinning that go well.

mod common;

use common::{executors, launch, run, run_everywhere, shared};
use simt::{Executor, Schedule, current};
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};

static SUMS: u8 = 0;

/// Sums up `value(thread)` over the block in shared memory, from the low half onto the high half. The answer is right
/// in the last thread. The first barrier can be left out.
fn reduce(value: impl Fn(usize) -> u64, first_barrier: bool) -> u64 {
    let (t, n) = (current::thread_idx().x as usize, current::block_dim().x as usize);
    let sums = shared::<u64>(&SUMS, n);
    let load = |i| {
        current::preemption_point();
        // SAFETY: `sums` has n elements; the threads of a block take turns on one OS thread.
        unsafe { sums.add(i).read_volatile() }
    };
    let store = |i, value| {
        current::preemption_point();
        // SAFETY: `sums` has n elements; the threads of a block take turns on one OS thread.
        unsafe { sums.add(i).write_volatile(value) };
    };
    store(t, value(t));
    if first_barrier {
        current::sync_threads();
    }
    let mut stride = n / 2;
    while stride > 0 {
        if t >= n - stride {
            store(t, load(t).wrapping_add(load(t - stride)));
        }
        current::sync_threads();
        stride /= 2;
    }
    load(n - 1)
}

#[test]
fn a_block_reduces_in_shared_memory() {
    for executor in executors() {
        for n in [1, 2, 64, 1024] {
            let wrong = AtomicU32::new(0);
            run(&executor, 20, n, || {
                let b = u64::from(current::block_idx().x);
                let sum = reduce(|t| b + t as u64, true);
                let n = u64::from(n);
                if sum != n * b + n * (n - 1) / 2 {
                    wrong.fetch_add(1, Ordering::Relaxed);
                }
            });
            assert_eq!(wrong.into_inner(), 0, "n = {n}, {executor:?}");
        }
    }
}

/// The answer of one block of 256 threads whose sum is 256.
fn answer(executor: &Executor, first_barrier: bool) -> u64 {
    let answer = AtomicU64::new(0);
    run(executor, 1, 256, || {
        let sum = reduce(|_| 1, first_barrier);
        if current::thread_idx().x == 255 {
            answer.store(sum, Ordering::Relaxed);
        }
    });
    answer.into_inner()
}

#[test]
#[cfg_attr(simt_check, ignore = "the barrier that is missing is an error then")]
fn a_random_order_shows_a_barrier_left_out() {
    // In order, each thread stores before those above it add: the kernel looks right.
    assert_eq!(answer(&Executor::new(1), false), 256);
    let mut found = 0;
    for seed in 0..20 {
        let executor = Executor::new(1).with_schedule(Schedule::Random { seed });
        assert_eq!(answer(&executor, true), 256, "the right kernel, seed {seed}");
        let wrong = answer(&executor, false);
        assert_eq!(wrong, answer(&executor, false), "a seed fixes the order");
        found += u32::from(wrong != 256);
    }
    assert!(found >= 19, "found with {found} of 20 seeds");
}

#[test]
fn a_random_order_interrupts_between_load_and_store() {
    // Each thread adds one, not atomically: in order nothing is lost.
    let count = |executor: &Executor| {
        let counter = AtomicU32::new(0);
        run(executor, 1, 64, || {
            let old = counter.load(Ordering::Relaxed);
            current::preemption_point();
            counter.store(old + 1, Ordering::Relaxed);
        });
        counter.into_inner()
    };
    assert_eq!(count(&Executor::new(1)), 64);
    for seed in 0..10 {
        assert!(count(&Executor::new(1).with_schedule(Schedule::Random { seed })) < 64);
    }
}

#[test]
fn threads_run_in_order_between_barriers() {
    let next = AtomicU32::new(0);
    Executor::new(1)
        .run(&launch(2, 300), &|| {
            let (b, t) = (current::block_idx().x, current::thread_idx().x);
            for phase in 0..3 {
                assert_eq!(next.fetch_add(1, Ordering::Relaxed), b * 900 + phase * 300 + t);
                if phase < 2 {
                    current::sync_threads();
                }
            }
        })
        .unwrap();
}

#[test]
fn barriers_in_nested_loops() {
    for executor in executors() {
        for n in [1, 2, 33, 256] {
            let arrivals = AtomicU32::new(0);
            run(&executor, 1, n, || {
                let mut expected = 0;
                for i in 0..5 {
                    for _ in 0..i {
                        arrivals.fetch_add(1, Ordering::Relaxed);
                        current::sync_threads();
                        expected += n;
                        assert_eq!(arrivals.load(Ordering::Relaxed), expected);
                        current::sync_threads();
                    }
                    if i % 2 == 0 {
                        current::sync_threads();
                    }
                }
            });
        }
    }
}

#[test]
fn barriers_that_vote() {
    run_everywhere(3, 100, || {
        let t = current::thread_idx().x;
        for k in 0..=100 {
            assert_eq!(current::sync_threads_count(t < k), k);
            assert_eq!(current::sync_threads_and(t < k), k == 100);
            assert_eq!(current::sync_threads_or(t < k), k > 0);
        }
    });
}

/// The lanes of this thread's warp that exist.
fn full_mask() -> u32 {
    let left = current::block_dim().count() as u32 - current::linear_thread() / 32 * 32;
    if left >= 32 { u32::MAX } else { (1 << left) - 1 }
}

#[test]
fn warps_sum_by_shuffles() {
    for executor in executors() {
        // With 70 and 33 threads the last warp is partial.
        for n in [32, 64, 70, 33, 1024] {
            run(&executor, 4, n, || {
                let (lane, mask) = (current::lane_id(), full_mask());
                let lanes = mask.count_ones();
                let mut sum = u64::from(current::linear_thread());
                let mut offset = 16;
                while offset > 0 {
                    let all = current::exchange(mask, "shfl_down", sum);
                    if lane + offset < lanes {
                        sum += all[(lane + offset) as usize];
                    }
                    offset /= 2;
                }
                if lane == 0 {
                    let (first, lanes) = (u64::from(current::linear_thread()), u64::from(lanes));
                    assert_eq!(sum, lanes * first + lanes * (lanes - 1) / 2);
                }
            });
        }
    }
}

#[test]
fn disjoint_masks_meet_independently() {
    run_everywhere(2, 64, || {
        let (lane, t) = (current::lane_id(), u64::from(current::linear_thread()));
        let mask = if lane % 3 == 0 { 0x4924_9249 } else { !0x4924_9249 };
        for round in 0..(3 + 2 * (lane % 3).min(1)) {
            let value = t + 100 * u64::from(round);
            let all = current::exchange(mask, "shfl", value);
            for other in 0..32u32 {
                let there = mask >> other & 1 == 1;
                let expected = value + u64::from(other) - u64::from(lane);
                assert_eq!(all[other as usize], if there { expected } else { 0 });
            }
        }
        // Back together, and by other parts than before: no result may be lost to a faster lane.
        let pair = 0b11 << (lane & !1);
        let all = current::exchange(pair, "shfl", t);
        assert_eq!(all[(lane ^ 1) as usize], t ^ 1);
        let all = current::exchange(u32::MAX, "ballot", t);
        assert_eq!(all[31 - lane as usize], t / 32 * 64 + 31 - t);
        assert_eq!(current::exchange(1 << lane, "shfl", 7)[lane as usize], 7);
    });
}

#[test]
fn half_a_warp_may_meet_while_the_other_waits_for_all() {
    for executor in executors() {
        for low in [true, false] {
            run(&executor, 2, 64, || {
                let lane = current::lane_id();
                if (lane < 16) == low {
                    let mask = if low { 0xFFFF } else { 0xFFFF_0000 };
                    for _ in 0..3 {
                        let all = current::exchange(mask, "shfl", lane.into());
                        assert_eq!(all[lane as usize ^ 1], u64::from(lane ^ 1));
                    }
                }
                let all = current::exchange(u32::MAX, "shfl", 1);
                assert_eq!(all.iter().sum::<u64>(), 32);
            });
        }
    }
}

#[test]
fn exchanges_and_barriers_mix() {
    run_everywhere(3, 96, || {
        for round in 0..10 {
            // Warps do different numbers of exchanges between two barriers.
            for _ in 0..current::linear_thread() / 32 * round {
                let all = current::exchange(u32::MAX, "shfl", round.into());
                assert_eq!(all, [u64::from(round); 32]);
            }
            assert_eq!(current::sync_threads_count(true), 96);
        }
    });
}

#[test]
fn warps_that_leave_early_do_no_harm_without_a_barrier() {
    run_everywhere(3, 128, || {
        if current::linear_thread() / 32 % 2 == 1 {
            current::exchange(u32::MAX, "shfl", 0);
        }
    });
}

/// Each block spins for its predecessor's sum and adds its own number.
fn look_back(executor: &Executor, blocks: u32, threads: u32, spin: fn()) {
    let sums: Vec<AtomicU64> = (0..blocks).map(|_| AtomicU64::new(u64::MAX)).collect();
    run(executor, blocks, threads, || {
        let b = current::block_idx().x as usize;
        if current::thread_idx().x == 0 {
            let mut before = 0;
            if b > 0 {
                loop {
                    before = sums[b - 1].load(Ordering::Acquire);
                    if before != u64::MAX {
                        break;
                    }
                    spin();
                }
            }
            sums[b].store(before + b as u64, Ordering::Release);
        }
        current::sync_threads();
        assert_ne!(sums[b].load(Ordering::Relaxed), u64::MAX);
    });
    let last = u64::from(blocks - 1);
    assert_eq!(sums[last as usize].load(Ordering::Relaxed), last * (last + 1) / 2);
}

#[test]
fn blocks_spin_for_earlier_blocks() {
    for executor in executors() {
        look_back(&executor, 500, 64, current::yield_now);
        look_back(&executor, 50, 1, current::yield_now);
        look_back(&executor, 200, 32, current::preemption_point);
    }
}

#[test]
fn threads_of_a_block_spin_for_each_other() {
    for executor in executors() {
        for upwards in [true, false] {
            let turn = AtomicU32::new(0);
            run(&executor, 1, 200, || {
                let t = current::thread_idx().x;
                let mine = if upwards { t } else { 199 - t };
                while turn.load(Ordering::Relaxed) != mine {
                    current::yield_now();
                }
                turn.fetch_add(1, Ordering::Relaxed);
                current::sync_threads();
            });
            assert_eq!(turn.into_inner(), 200);
        }
    }
}

#[test]
fn a_loop_over_atomics_alone_lets_others_run() {
    for executor in executors() {
        let flag = AtomicBool::new(false);
        run(&executor, 1, 40, || {
            if current::thread_idx().x == 39 {
                flag.store(true, Ordering::Relaxed);
            }
            while !flag.load(Ordering::Relaxed) {
                current::preemption_point();
            }
        });
    }
}

#[test]
fn a_warp_that_polls_in_exchanges_lets_others_start() {
    for executor in executors() {
        let flag = AtomicBool::new(false);
        run(&executor, 1, 64, || {
            if current::linear_thread() == 63 {
                flag.store(true, Ordering::Relaxed);
            }
            while current::linear_thread() < 32 {
                let all = current::exchange(u32::MAX, "any", flag.load(Ordering::Relaxed).into());
                if all.contains(&1) {
                    break;
                }
            }
        });
    }
}

static HANDED: u8 = 0;

/// Two warps hand numbers to two others through one word each, by barriers of 64 of the block's threads.
#[test]
fn parts_of_a_block_meet_at_barriers_of_their_own() {
    run_everywhere(2, 128, || {
        let (t, words) = (current::linear_thread() as usize, shared::<usize>(&HANDED, 64));
        let (full, empty) = if t % 64 < 32 { (1, 2) } else { (14, 15) };
        for round in 0..5 {
            // SAFETY: the word is the pair's, and one is let in after the other has come to a barrier.
            unsafe {
                if t < 64 {
                    words.add(t).write_volatile(10 * t + round);
                    current::named_barrier(full, 64, false);
                    current::named_barrier(empty, 64, true);
                } else {
                    current::named_barrier(full, 64, true);
                    assert_eq!(words.add(t - 64).read_volatile(), 10 * (t - 64) + round);
                    current::named_barrier(empty, 64, false);
                }
            }
        }
        current::sync_threads();
    });
}

/// Lanes that return, before or after the others come, hold up neither their warp nor its count of 32 threads.
#[test]
fn lanes_that_return_count_at_barriers_of_a_part_of_the_block() {
    for executor in executors() {
        for (skipping, late) in [(0, false), (31, true), (32, true), (71, false)] {
            let passed = AtomicU32::new(0);
            // The third warp has 8 lanes.
            run(&executor, 1, 72, || {
                let t = current::linear_thread();
                if t == skipping || t % 32 == 5 {
                    (0..if late { 5 } else { 0 }).for_each(|_| current::yield_now());
                    return;
                }
                for round in 0..3 {
                    if t < 32 {
                        current::named_barrier(1, 96, false);
                    } else {
                        current::named_barrier(1, 96, true);
                    }
                    current::sync_threads();
                    assert_eq!(passed.load(Ordering::Relaxed) / 68, round);
                    current::sync_threads();
                    passed.fetch_add(1, Ordering::Relaxed);
                    current::sync_threads();
                }
            });
            assert_eq!(passed.into_inner(), 3 * 68);
        }
    }
}

#[test]
fn a_grid_meets_where_all_blocks_run() {
    let sums: Vec<AtomicU32> = (0..4).map(|_| AtomicU32::new(0)).collect();
    for executor in [Executor::new(6), Executor::new(9).with_schedule(Schedule::Random { seed: 7 })] {
        executor
            .run_cooperative(&launch(6, 40), None, &|| {
                for (round, sum) in sums.iter().enumerate() {
                    sum.fetch_add(1, Ordering::Relaxed);
                    current::sync_grid();
                    assert_eq!(sum.load(Ordering::Relaxed), 6 * 40, "{round}");
                }
                current::sync_grid();
                if current::linear_thread() == 0 && current::block_idx().x == 0 {
                    sums.iter().for_each(|sum| sum.store(0, Ordering::Relaxed));
                }
            })
            .unwrap();
    }
}

/// Threads return one after another, and the others go on meeting: round `r` is for those from `r` on.
#[test]
fn threads_that_have_returned_are_not_waited_for() {
    const THREADS: u32 = 100;
    for executor in executors() {
        let rounds = AtomicU32::new(0);
        run(&executor, 3, THREADS, || {
            let me = current::linear_thread();
            for round in 0..=me {
                current::preemption_point();
                match round % 4 {
                    0 => current::sync_threads(),
                    1 => assert_eq!(
                        current::sync_threads_count(me % 2 == 1),
                        (round..THREADS).filter(|t| t % 2 == 1).count() as u32
                    ),
                    2 => {
                        assert!(current::sync_threads_and(me >= round));
                        assert!(round == THREADS - 1 || !current::sync_threads_and(me > round));
                    }
                    _ => {
                        assert!(current::sync_threads_or(me == round));
                        assert!(!current::sync_threads_or(me < round));
                    }
                }
                rounds.fetch_add(1, Ordering::Relaxed);
            }
        });
        assert_eq!(rounds.into_inner(), 3 * THREADS * (THREADS + 1) / 2);
    }
}

/// The barrier is passed when the last thread that could still have come returns, before or after the others came.
#[test]
fn a_thread_that_skips_a_barrier_and_returns() {
    for executor in executors() {
        for skipping in [0, 31, 32, 99] {
            let (after, passed) = (AtomicBool::new(false), AtomicU32::new(0));
            run(&executor, 1, 100, || {
                if current::linear_thread() == skipping {
                    (0..5).for_each(|_| current::yield_now());
                    after.store(true, Ordering::Relaxed);
                    return;
                }
                current::sync_threads();
                assert!(after.load(Ordering::Relaxed));
                passed.fetch_add(current::sync_threads_count(true), Ordering::Relaxed);
            });
            assert_eq!(passed.into_inner(), 99 * 99);
        }
    }
}

/// A thread that waits for another's store may let the block's barrier wait: it is no deadlock as long as it can end.
#[test]
fn half_a_block_returns_while_the_rest_meets_in_a_loop() {
    for executor in executors() {
        let sum = AtomicU64::new(0);
        run(&executor, 4, 64, || {
            let me = current::linear_thread();
            let mut value = 0;
            for i in 0..10 {
                if me.is_multiple_of(3) && i == 7 {
                    return;
                }
                value += u64::from(current::sync_threads_count(true));
            }
            sum.fetch_add(value, Ordering::Relaxed);
        });
        // 22 of the 64 threads return after seven rounds.
        assert_eq!(sum.into_inner(), 4 * 42 * (7 * 64 + 3 * 42));
    }
}
