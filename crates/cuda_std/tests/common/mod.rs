//! Launches for the tests of this crate.
#![allow(dead_code)]

use simt::{Dim3, Executor, Launch, Schedule, SimtError};

/// Runs `body` once under each of some schedules.
pub fn run(grid: impl Into<Dim3>, block: impl Into<Dim3>, body: impl Fn() + Sync) {
    run_shared(grid, block, 0, body);
}

/// [`run`] with dynamic shared memory.
pub fn run_shared(grid: impl Into<Dim3>, block: impl Into<Dim3>, dynamic_shared: usize, body: impl Fn() + Sync) {
    let (grid, block) = (grid.into(), block.into());
    for schedule in [Schedule::InOrder, Schedule::Random { seed: 1 }, Schedule::Random { seed: 2 }] {
        let launch = Launch { kernel: "test", grid, block, dynamic_shared };
        if let Err(error) = Executor::new(2).with_schedule(schedule).run(&launch, &body) {
            panic!("{schedule:?}: {error}");
        }
    }
}

/// The number of schedules that [`run`] goes through.
pub const RUNS: u32 = 3;

/// The error of one run of a block.
pub fn run_error(block: impl Into<Dim3>, body: impl Fn() + Sync) -> SimtError {
    grid_error(1, block, body)
}

/// The error of one run.
pub fn grid_error(grid: impl Into<Dim3>, block: impl Into<Dim3>, body: impl Fn() + Sync) -> SimtError {
    let launch = Launch { kernel: "test", grid: grid.into(), block: block.into(), dynamic_shared: 0 };
    Executor::new(1).run(&launch, &body).expect_err("the launch should fail")
}

/// Memory that kernels of a test write to, thread by thread.
pub struct Output<T>(*mut T, usize);

// SAFETY: the tests write disjoint elements, or with atomics.
unsafe impl<T: Send> Sync for Output<T> {}

impl<T> Output<T> {
    /// All of `values`.
    pub fn new(values: &mut [T]) -> Self {
        Output(values.as_mut_ptr(), values.len())
    }

    /// Element `index`.
    pub fn at(&self, index: usize) -> *mut T {
        assert!(index < self.1);
        // SAFETY: within the slice.
        unsafe { self.0.add(index) }
    }

    /// Writes element `index`.
    pub fn set(&self, index: usize, value: T)
    where
        T: Copy,
    {
        // SAFETY: within the slice, and this thread's own.
        unsafe { self.at(index).write(value) }
    }
}
