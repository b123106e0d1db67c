//! Launches that would hang a GPU, and other failures.

mod common;

use common::{error, executors, launch, run_everywhere, works};
use simt::{Dim3, Executor, Schedule, SimtError, current};
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::mpsc;
use std::time::Duration;

fn dim(x: u32) -> Dim3 {
    Dim3::new(x, 0, 0)
}

#[track_caller]
fn says(error: &SimtError, parts: &[&str]) {
    let text = error.to_string();
    for part in parts {
        assert!(text.contains(part), "`{part}` is not in: {text}");
    }
}

#[test]
fn barriers_of_different_kinds() {
    let e = error(1, 64, &|| {
        if current::thread_idx().x < 10 {
            current::sync_threads();
        } else {
            current::sync_threads_count(true);
        }
    });
    says(&e, &["thread (10, 0, 0): reached sync_threads_count (", "while 10 threads of its block waited at sync_threads ("]);
}

#[test]
fn results_of_barriers_are_for_lanes_that_come_together() {
    let e = error(1, 64, &|| {
        if current::lane_id() < 10 {
            current::sync_threads_or(true);
        } else {
            current::sync_threads_or(false);
        }
    });
    says(&e, &["thread (10, 0, 0): reached sync_threads_or (", "while lanes of its warp waited at another one ("]);
    // Two warps are at different places, and once more each at the other's.
    run_everywhere(1, 64, || {
        let count = |first| if first { current::sync_threads_count(true) } else { current::sync_threads_count(false) };
        let first = current::thread_idx().x < 32;
        assert_eq!([first, !first].map(count), [32, 32]);
    });
}

#[test]
fn a_barrier_that_waits_for_an_exchange_that_waits_for_it() {
    let e = error(1, 64, &|| {
        if current::thread_idx().x == 5 {
            current::sync_threads();
        } else {
            if current::thread_idx().x < 32 {
                current::exchange(u32::MAX, "shfl", 0);
            }
            current::sync_threads();
        }
    });
    says(&e, &["thread (5, 0, 0): waits at sync_threads (", "33 threads in all, while thread (0, 0, 0) waits in shfl ("]);
    says(&e, &["mask 0xffffffff), 31 threads in all exchanges, for lane 5", "nobody can go on"]);
}

#[test]
fn a_lane_that_left() {
    // It leaves before the others come, and after.
    for leaver in [0, 31] {
        let e = error(2, 64, &|| {
            if current::lane_id() != leaver {
                current::exchange(u32::MAX, "shfl_down", 0);
            }
        });
        let left = format!("is a shuffle from a lane that left: lane {leaver} has returned");
        says(&e, &["kernel `test`", "thread", ": shfl_down with mask 0xffffffff (", &left]);
    }
}

#[test]
fn a_lane_that_does_not_exist() {
    let e = error(1, 40, &|| _ = current::exchange(u32::MAX, "ballot", 1));
    says(&e, &["names lane 8", "does not exist in this block (40 threads)"]);
}

#[test]
fn a_mask_without_the_own_lane() {
    let e = error(1, 32, &|| _ = current::exchange(0xFFFF, "shfl", 1));
    says(&e, &["shfl with mask 0x0000ffff (", "which lacks the thread's own lane 16"]);
}

#[test]
fn masks_that_overlap() {
    let e = error(1, 32, &|| {
        let mask = if current::lane_id() < 16 { u32::MAX } else { 0xFFFF_FF00 };
        current::exchange(mask, "shfl", 1);
    });
    says(&e, &["thread (16, 0, 0): shfl with mask 0xffffff00 (", "waits for it in shfl with mask 0xffffffff"]);
}

#[test]
fn masks_in_a_ring() {
    let e = error(1, 3, &|| {
        let mask = [0b011, 0b110, 0b101][current::lane_id() as usize];
        current::exchange(mask, "shfl", 1);
    });
    says(&e, &["shfl with mask 0x00000003 (", "waits for it in shfl with mask 0x00000006"]);
}

#[test]
fn exchanges_of_different_names() {
    let e = error(1, 32, &|| {
        let op = if current::lane_id() < 16 { "shfl" } else { "ballot" };
        current::exchange(u32::MAX, op, 1);
    });
    says(&e, &[": ballot with mask", "waits for it in shfl with mask"]);
}

#[test]
fn panics_become_errors_with_message_and_place() {
    // On the worker's stack, on a fibre, and with others waiting.
    for culprit in [0, 17, 63] {
        for late in [false, true] {
            let e = error(5, 64, &|| {
                if late {
                    current::sync_threads();
                }
                if current::block_idx().x == 3 && current::thread_idx().x == culprit {
                    panic!("index {} out of bounds", culprit + 1000);
                }
                current::sync_threads();
            });
            let SimtError::Panic { at, message, location } = &e else { panic!("{e}") };
            assert_eq!((at.block, at.thread, at.kernel.as_str()), (dim(3), dim(culprit), "test"));
            assert_eq!(*message, format!("index {} out of bounds", culprit + 1000));
            assert!(location.as_ref().unwrap().contains("errors.rs:"), "{location:?}");
        }
    }
}

#[test]
fn panics_of_any_payload() {
    struct Awkward;
    impl Drop for Awkward {
        fn drop(&mut self) {
            panic!("once more");
        }
    }
    let e = error(1, 1, &|| panic!("plain"));
    assert!(matches!(&e, SimtError::Panic { message, .. } if message == "plain"));
    let e = error(1, 8, &|| {
        current::sync_threads();
        std::panic::panic_any(Awkward)
    });
    assert!(matches!(&e, SimtError::Panic { message, .. } if message.contains("not text")));
    let e = error(1, 1, &|| drop(std::hint::black_box(&[1, 2, 3][..])[current::block_dim().x as usize + 2].to_string()));
    assert!(matches!(&e, SimtError::Panic { message, .. } if message.contains("index out of bounds")));
}

#[test]
fn faults() {
    let e = error(2, (2, 2), &|| {
        current::sync_threads();
        if current::block_idx().x == 1 && current::linear_thread() == 2 {
            current::fault(format!("lane {} is out of luck", current::lane_id()));
        }
    });
    assert!(matches!(&e, SimtError::Fault { at, .. } if at.thread == Dim3::new(0, 1, 0)));
    assert_eq!(e.to_string(), "kernel `test`, block (1, 0, 0), thread (0, 1, 0): lane 2 is out of luck");
}

#[test]
fn destructors_run_and_may_meet_barriers() {
    static ALIVE: AtomicU32 = AtomicU32::new(0);
    struct Guard;
    impl Guard {
        fn new() -> Self {
            ALIVE.fetch_add(1, Ordering::Relaxed);
            Guard
        }
    }
    impl Drop for Guard {
        fn drop(&mut self) {
            // Waits for nothing while its thread unwinds.
            current::sync_threads();
            current::yield_now();
            current::preemption_point();
            ALIVE.fetch_sub(1, Ordering::Relaxed);
        }
    }
    for culprit in [0, 30, 99] {
        error(4, 100, &|| {
            let _guard = Guard::new();
            current::sync_threads();
            assert!(current::thread_idx().x != culprit);
            current::sync_threads();
        });
        assert_eq!(ALIVE.load(Ordering::Relaxed), 0);
    }
}

#[test]
fn a_body_that_catches_panics_cannot_go_on() {
    let e = error(1, 64, &|| {
        let _ = std::panic::catch_unwind(|| {
            if current::thread_idx().x == 3 {
                current::fault("first".into());
            }
            current::sync_threads();
        });
        current::sync_threads();
    });
    says(&e, &["first"]);
}

#[test]
fn a_body_may_catch_its_own_panics() {
    run_everywhere(2, 64, || {
        let caught = std::panic::catch_unwind(|| panic!("mine"));
        assert!(caught.is_err());
        current::sync_threads();
    });
}

#[test]
fn the_first_block_that_fails_is_reported() {
    for executor in executors() {
        let e = executor.run(&launch(1000, 64), &|| panic!("all of them")).unwrap_err();
        let SimtError::Panic { at, .. } = e else { panic!("{e}") };
        assert_eq!(at.block, dim(0));
    }
}

#[test]
fn a_failure_ends_blocks_that_spin() {
    type Spin = fn();
    let spins: [Spin; 3] = [current::yield_now, current::preemption_point, current::sync_threads];
    for executor in executors().into_iter().filter(|executor| executor.workers() > 1) {
        for spin in spins {
            let failed = AtomicBool::new(false);
            let started = AtomicU32::new(0);
            let e = executor
                .run(&launch(100, 64), &|| {
                    if current::thread_idx().x == 0 {
                        started.fetch_add(1, Ordering::Relaxed);
                    }
                    if current::block_idx().x == 0 {
                        while started.load(Ordering::Relaxed) < 2 {
                            current::yield_now();
                        }
                        failed.store(true, Ordering::Relaxed);
                        panic!("the others wait for me");
                    }
                    loop {
                        spin();
                    }
                })
                .unwrap_err();
            says(&e, &["the others wait for me"]);
            works(&executor);
        }
    }
}

#[test]
fn a_launch_from_a_destructor_during_a_panic() {
    struct Launches(mpsc::Sender<bool>);
    impl Drop for Launches {
        fn drop(&mut self) {
            works(&Executor::new(1));
            let failed = Executor::new(1)
                .run(&launch(1, 8), &|| {
                    current::sync_threads();
                    panic!("inside")
                })
                .is_err();
            self.0.send(failed).unwrap();
        }
    }
    let (send, receive) = mpsc::channel();
    let outer = std::panic::catch_unwind(move || {
        let _launches = Launches(send);
        std::panic::resume_unwind(Box::new(()));
    });
    assert!(outer.is_err());
    assert_eq!(receive.recv_timeout(Duration::from_secs(10)), Ok(true));
}

#[test]
fn many_failures_leave_nothing_behind() {
    for seed in 0..100 {
        let executor = Executor::new(2).with_schedule(Schedule::Random { seed });
        let e = executor
            .run(&launch(20, 500), &|| {
                let kept = vec![1u8; 100];
                current::sync_threads();
                if current::block_idx().x == 7 && current::thread_idx().x == 100 {
                    current::sync_threads_count(true);
                }
                current::sync_threads();
                drop(kept);
            })
            .unwrap_err();
        says(&e, &["all threads of a block must reach the same barrier"]);
    }
}

#[test]
fn barriers_that_some_do_not_reach() {
    let text = |body: &(dyn Fn() + Sync)| error(1, 64, body).to_string();
    let found = text(&|| {
        if current::linear_thread() < 32 {
            current::named_barrier(3, 64, true);
        }
    });
    assert!(found.contains("waits at barrier 3") && found.contains("for 64 threads, of which 32 have come"), "{found}");
    for number in [0, 16] {
        let found = text(&|| current::named_barrier(number, 64, true));
        assert!(found.contains(&format!("there is no named barrier {number}")), "{found}");
    }
    let found = text(&|| current::named_barrier(1, 33, true));
    assert!(found.contains("a multiple of 32, and no more than the block's 64"), "{found}");
    let found = text(&|| current::named_barrier(1, if current::linear_thread() == 9 { 32 } else { 64 }, true));
    assert!(found.contains("and for"), "{found}");
}

#[test]
fn grids_that_cannot_meet() {
    let executor = Executor::new(4);
    let found = executor.run(&launch(2, 32), &|| current::sync_grid()).unwrap_err().to_string();
    assert!(found.contains("cooperative launches"), "{found}");
    let found = executor.run_cooperative(&launch(5, 32), None, &|| current::sync_grid()).unwrap_err().to_string();
    assert!(found.contains("its 5 blocks wait for each other, and 4 run at once"), "{found}");
    let found = executor.run_cooperative(&launch(4, 32), None, &|| {
        if current::block_idx().x != 2 {
            current::sync_grid();
        }
    });
    let found = found.unwrap_err().to_string();
    assert!(found.contains("another block has returned"), "{found}");
    // Every thread has to come, whether it would return before the others come or after.
    for leaving in [0, 31] {
        let e = executor.run_cooperative(&launch(4, 32), None, &|| {
            if current::block_idx().x != 2 || current::thread_idx().x != leaving {
                current::sync_grid();
            }
        });
        let left = format!("thread ({leaving}, 0, 0) has returned and will never reach it");
        says(&e.unwrap_err(), &["block (2, 0, 0)", ": waits at sync_grid (", &left]);
    }
    works(&executor);
}
