//! Helpers of the tests.
#![allow(dead_code, reason = "each test binary uses a part of it")]

use simt::{Dim3, Executor, Launch, Schedule, SimtError, current};
use std::sync::atomic::{AtomicU64, Ordering};

/// Executors of several widths, in order and at random.
pub fn executors() -> Vec<Executor> {
    let mut all: Vec<_> = [1, 2, 8].map(Executor::new).into();
    for seed in 0..4 {
        all.push(Executor::new(2).with_schedule(Schedule::Random { seed }));
    }
    all
}

pub fn launch(grid: impl Into<Dim3>, block: impl Into<Dim3>) -> Launch<'static> {
    Launch { kernel: "test", grid: grid.into(), block: block.into(), dynamic_shared: 0 }
}

/// Runs `body`, which must succeed.
#[track_caller]
pub fn run(executor: &Executor, grid: impl Into<Dim3>, block: impl Into<Dim3>, body: impl Fn() + Sync) {
    executor.run(&launch(grid, block), &body).unwrap();
}

/// Runs `body`, which must succeed, on each of the [`executors`].
#[track_caller]
pub fn run_everywhere(grid: impl Into<Dim3>, block: impl Into<Dim3>, body: impl Fn() + Sync) {
    let launch = launch(grid, block);
    executors().iter().for_each(|executor| executor.run(&launch, &body).unwrap());
}

/// Runs `body` and returns its error, the same on every executor where `same`.
pub fn error(grid: impl Into<Dim3>, block: impl Into<Dim3>, body: &(dyn Fn() + Sync)) -> SimtError {
    let launch = launch(grid, block);
    for executor in executors() {
        executor.run(&launch, body).expect_err("the launch must fail");
        // Nothing of the failure stays behind.
        works(&executor);
    }
    Executor::new(1).run(&launch, body).unwrap_err()
}

/// Checks that a launch with barriers and exchanges works.
pub fn works(executor: &Executor) {
    let sum = AtomicU64::new(0);
    executor
        .run(&launch(3, 48), &|| {
            let mask = if current::linear_thread() < 32 { u32::MAX } else { 0xFFFF };
            let lanes = current::exchange(mask, "sum", u64::from(current::lane_id()));
            let positive = current::sync_threads_count(current::lane_id() > 0);
            if current::linear_thread() == 47 {
                sum.fetch_add(lanes.iter().sum::<u64>() + u64::from(positive), Ordering::Relaxed);
            }
        })
        .unwrap();
    assert_eq!(sum.into_inner(), 3 * (120 + 46));
}

/// A shared array of the block: call sites with the same `key` get the same memory.
pub fn shared<T>(key: &'static u8, len: usize) -> *mut T {
    current::shared_static((&raw const *key).cast(), len * size_of::<T>(), align_of::<T>()).cast()
}
