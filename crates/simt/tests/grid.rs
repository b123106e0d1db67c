//! The threads that run, and their indices.

mod common;

use common::{executors, launch, run, run_everywhere, shared};
use simt::{Dim3, Executor, Launch, Schedule, SimtError, Stop, current};
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use std::time::{Duration, Instant};

#[test]
fn every_thread_runs_once_and_knows_its_indices() {
    let shapes: [(Dim3, Dim3); 6] = [
        (1.into(), 1.into()),
        (1000.into(), 7.into()),
        ((5, 3).into(), (4, 9).into()),
        ((2, 3, 4).into(), (3, 5, 7).into()),
        (70_000.into(), 1.into()),
        ((1, 1, 5).into(), (2, 8, 64).into()),
    ];
    for executor in executors() {
        for (grid, block) in shapes {
            let runs: Vec<AtomicU32> = (0..grid.count() * block.count()).map(|_| AtomicU32::new(0)).collect();
            run(&executor, grid, block, || {
                assert_eq!((current::grid_dim(), current::block_dim()), (grid, block));
                let (b, t) = (current::block_idx(), current::thread_idx());
                let linear_block = (b.z * grid.y + b.y) * grid.x + b.x;
                let linear_thread = (t.z * block.y + t.y) * block.x + t.x;
                assert_eq!(current::linear_thread(), linear_thread);
                assert_eq!(current::lane_id(), linear_thread % 32);
                assert!(current::is_active());
                let linear = u64::from(linear_block) * block.count() + u64::from(linear_thread);
                runs[linear as usize].fetch_add(1, Ordering::Relaxed);
            });
            assert!(runs.into_iter().all(|n| n.into_inner() == 1));
        }
    }
}

#[test]
fn indices_survive_waits() {
    let block = Dim3::new(4, 5, 6);
    run_everywhere((3, 2), block, || {
        let before = (current::block_idx(), current::thread_idx(), current::linear_thread());
        current::sync_threads();
        current::preemption_point();
        current::yield_now();
        let after = (current::block_idx(), current::thread_idx(), current::linear_thread());
        assert_eq!(before, after);
    });
}

#[test]
fn launches_out_of_bounds_are_refused_in_sentences() {
    let refused = |grid: Dim3, block: Dim3, dynamic_shared| {
        let launch = Launch { kernel: "k", grid, block, dynamic_shared };
        let error = Executor::new(1).run(&launch, &|| panic!("must not run")).unwrap_err();
        assert!(matches!(error, SimtError::InvalidLaunch { .. }), "{error}");
        let text = error.to_string();
        assert!(text.starts_with("kernel `k` cannot be launched: it"), "{text}");
        text
    };
    let one = Dim3::from(1);
    assert!(refused(one, (32, 33).into(), 0).contains("1056 threads"));
    assert!(refused(one, (1, 1, 65).into(), 0).contains("65 deep"));
    assert!(refused(one, (1, 0).into(), 0).contains("zero"));
    assert!(refused(one, (u32::MAX, u32::MAX, 4).into(), 0).contains("1024"));
    assert!(refused((1, 1, 0).into(), one, 0).contains("zero"));
    assert!(refused((1 << 31).into(), one, 0).contains("in x"));
    assert!(refused((1, 65536).into(), one, 0).contains("in y or z"));
    assert!(refused(one, one, 227 * 1024 + 1).contains("232449"));
    // As many as there may be: the first thread starts.
    for (grid, block, dynamic_shared) in [
        (one, (32, 32).into(), 0),
        (one, (1, 1, 64).into(), 0),
        (((1 << 31) - 1).into(), one, 0),
        ((1, 65535, 65535).into(), one, 0),
        (one, one, 227 * 1024),
    ] {
        let launch = Launch { kernel: "k", grid, block, dynamic_shared };
        let error = Executor::new(1).run(&launch, &|| panic!("it runs")).unwrap_err();
        assert!(error.to_string().contains("it runs"), "{error}");
    }
    assert_eq!([0, 1, 4096, 4097].map(|workers| Executor::new(workers).workers()), [1, 1, 4096, 4096]);
}

#[test]
fn a_kernel_cannot_launch_another() {
    let executor = Executor::new(2);
    let inner = executor.clone();
    run(&executor, 2, 40, || {
        let error = inner.run(&launch(1, 1), &|| ()).unwrap_err();
        assert!(error.to_string().contains("a kernel cannot launch another one (`test`)"), "{error}");
        current::sync_threads();
    });
}

#[test]
fn many_host_threads_launch_at_once() {
    let executor = Executor::new(4);
    std::thread::scope(|scope| {
        for _ in 0..8 {
            scope.spawn(|| {
                for grid in 1..40 {
                    let count = AtomicU64::new(0);
                    run(&executor, grid, 200, || {
                        current::sync_threads();
                        count.fetch_add(1, Ordering::Relaxed);
                    });
                    assert_eq!(count.into_inner(), u64::from(grid) * 200);
                }
            });
        }
    });
}

#[test]
fn more_workers_than_there_are_stacks_for() {
    let count = AtomicU64::new(0);
    Executor::new(100)
        .run(&launch(200, 1024), &|| {
            current::sync_threads();
            count.fetch_add(1, Ordering::Relaxed);
        })
        .unwrap();
    assert_eq!(count.into_inner(), 200 * 1024);
}

#[test]
fn shared_memory_belongs_to_the_block() {
    static A: u8 = 0;
    static B: u8 = 0;
    for executor in executors() {
        let launch = Launch { dynamic_shared: 4 * 100, ..launch(50, 100) };
        executor
            .run(&launch, &|| {
                let t = current::thread_idx().x;
                let b = current::block_idx().x;
                let (x, y) = (shared::<u32>(&A, 100), shared::<u64>(&B, 100));
                let z = current::dynamic_shared().cast::<u32>();
                assert_eq!(current::dynamic_shared_size(), 400);
                assert_eq!((x as usize % 4, y as usize % 8, z as usize % 16), (0, 0, 0));
                // SAFETY: there are 100 elements each; threads touch their own, and others' only
                // across a barrier.
                unsafe {
                    x.add(t as usize).write(b * 1000 + t);
                    y.add(t as usize).write(u64::from(b * 2000 + t));
                    z.add(t as usize).write(b * 3000 + t);
                    current::sync_threads();
                    let other = 99 - t;
                    assert_eq!(x.add(other as usize).read(), b * 1000 + other);
                    assert_eq!(y.add(other as usize).read(), u64::from(b * 2000 + other));
                    assert_eq!(z.add(other as usize).read(), b * 3000 + other);
                }
                assert_eq!(shared::<u32>(&A, 100), x);
            })
            .unwrap();
    }
}

#[test]
#[cfg_attr(simt_check, ignore = "the read is an error then")]
fn uninitialised_shared_memory_is_poisoned() {
    static A: u8 = 0;
    let executor = Executor::new(1).with_schedule(Schedule::Random { seed: 0 });
    let launch = Launch { dynamic_shared: 16, ..launch(3, 1) };
    executor
        .run(&launch, &|| {
            let (x, y) = (shared::<u32>(&A, 1), current::dynamic_shared().cast::<u32>());
            // SAFETY: one element each, and one thread.
            unsafe {
                assert_eq!((x.read(), y.read()), (0xA5A5_A5A5, 0xA5A5_A5A5));
                x.write(1);
                y.write(1);
            }
        })
        .unwrap();
}

#[test]
fn too_much_shared_memory_is_a_fault() {
    static A: u8 = 0;
    let launch = Launch { dynamic_shared: 200 * 1024, ..launch(1, 1) };
    let error = Executor::new(1).run(&launch, &|| _ = shared::<u8>(&A, 48 * 1024)).unwrap_err();
    assert!(matches!(error, SimtError::Fault { .. }));
    assert!(error.to_string().contains("asks for 49152 bytes"), "{error}");
}

/// `ptxas` refuses a kernel whose arrays have more than 48 KiB in all, so a launch here does, too.
#[test]
fn static_shared_memory_has_a_limit_of_its_own() {
    static A: u8 = 0;
    static B: u8 = 0;
    let launch = Launch { dynamic_shared: 100 * 1024, ..launch(2, 3) };
    for executor in executors() {
        let asks = |bytes| {
            executor.run(&launch, &|| {
                shared::<u8>(&A, 16 * 1024);
                shared::<u8>(&B, bytes);
            })
        };
        asks(32 * 1024).unwrap();
        let error = asks(32 * 1024 + 1).unwrap_err().to_string();
        for part in ["kernel `test`", "49153 bytes of static shared memory", "49152 are the limit", "dynamic shared memory"] {
            assert!(error.contains(part), "{error}");
        }
    }
}

#[test]
fn outside_a_kernel_questions_panic_in_a_sentence() {
    assert!(!current::is_active());
    current::preemption_point();
    let questions: [fn(); 6] = [
        || _ = current::thread_idx(),
        current::sync_threads,
        current::yield_now,
        || _ = current::exchange(1, "shfl", 0),
        || _ = current::dynamic_shared(),
        || current::fault("no".into()),
    ];
    for question in questions {
        let payload = std::panic::catch_unwind(question).unwrap_err();
        assert!(payload.downcast_ref::<&str>().unwrap().contains("none runs on this thread"));
    }
}

/// Launches that would never end are stopped at their barriers, by a flag or at a time; one that takes less time than it
/// has in any case runs to its end.
#[test]
fn launches_are_stopped() {
    let soon = || Some(Instant::now() + Duration::from_millis(20));
    for executor in executors() {
        for (blocks, flag, deadline) in [(1, true, None), (1, false, soon()), (50, true, None), (50, false, soon())] {
            let stop = Stop { deadline, ..Stop::default() };
            let (started, set) = (AtomicU32::new(0), stop.flag.clone());
            let result = executor.clone().stopped_by(stop).run(&launch(blocks, 64), &|| {
                if started.fetch_add(1, Ordering::Relaxed) == 10 && flag {
                    set.store(true, Ordering::Relaxed);
                }
                loop {
                    current::sync_threads();
                }
            });
            assert!(matches!(result, Err(SimtError::Stopped { kernel }) if kernel == launch(1, 1).kernel), "{executor:?}");
            let late = Stop { patience: Duration::from_secs(3600), deadline: soon(), ..Stop::default() };
            late.flag.store(true, Ordering::Relaxed);
            let done = AtomicU32::new(0);
            let body = || {
                current::sync_threads();
                done.fetch_add(1, Ordering::Relaxed);
            };
            executor.clone().stopped_by(late).run(&launch(blocks, 64), &body).unwrap();
            assert_eq!(done.into_inner(), blocks * 64);
        }
    }
}
