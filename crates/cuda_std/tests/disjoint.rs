//! Output slices, and kernels that take them.

mod common;
use common::{RUNS, grid_error, run};
use cuda_std::{
    DisjointSlice,
    launch::{KernelParam, RawSlice, Run},
    prelude::*,
};

/// Runs `body` on each thread's view of `values`.
fn with(values: &mut [u32], grid: u32, block: u32, body: impl Fn(DisjointSlice<u32>) + Sync) {
    let raw = RawSlice::new(values.as_mut_ptr(), values.len());
    // SAFETY: the slice lives on, and threads get at it through these views alone.
    run(grid, block, || body(unsafe { DisjointSlice::from_raw(raw, &Run) }));
}

#[test]
fn set_reaches_each_element_once() {
    for n in [0, 1, 31, 64, 200] {
        let mut values = vec![0; n];
        with(&mut values, 3, 64, |mut out| {
            let i = thread::index_1d();
            assert_eq!((out.len(), out.is_empty()), (n, n == 0));
            assert_eq!(out.get_mut().is_some(), (i as usize) < n);
            let old = out.get_mut().map_or(0, |v| *v);
            assert_eq!(out.set(old + i + 1), (i as usize) < n);
        });
        for (i, &value) in values.iter().enumerate() {
            assert_eq!(value, if i < 192 { RUNS * (i as u32 + 1) } else { 0 });
        }
    }
}

#[test]
fn grid_stride_covers_every_element_once() {
    for n in [0, 1, 100, 192, 193, 1000] {
        let mut values = vec![0; n];
        with(&mut values, 3, 64, |mut out| {
            for (i, value) in out.grid_stride_mut() {
                assert_eq!(i % 192, thread::index_1d() as usize);
                *value += i as u32 + 1;
            }
            // The thread's own element is free again.
            out.get_mut();
        });
        assert!(values.iter().enumerate().all(|(i, &value)| value == RUNS * (i as u32 + 1)), "n = {n}");
    }
}

#[test]
fn it_is_passed_as_pointer_and_length() {
    let mut values = [0u32; 5];
    let raw = RawSlice::new(values.as_mut_ptr(), 5);
    let mut words = vec![7];
    <DisjointSlice<u32> as KernelParam>::words(raw, &mut words);
    assert_eq!(words, [7, values.as_ptr() as u64, 5]);
}

/// Threads of other grids would share elements: they get none.
#[test]
fn other_grids_panic() {
    let mut values = [0u32; 64];
    let raw = RawSlice::new(values.as_mut_ptr(), values.len());
    let extents = [((1, 2, 1), (32, 1, 1)), ((2, 1, 1), (16, 2, 1)), ((1, 1, 2), (32, 1, 1)), ((1, 1, 1), (16, 1, 2))];
    for (grid, block) in extents {
        for all in [false, true] {
            let text = grid_error(grid, block, || {
                // SAFETY: the slice lives on, and threads get at it through these views alone.
                let mut out: DisjointSlice<u32> = unsafe { DisjointSlice::from_raw(raw, &Run) };
                if all {
                    out.grid_stride_mut().for_each(|(_, value)| *value = 1);
                } else {
                    out.set(1);
                }
            });
            assert!(text.to_string().contains("one-dimensional"), "{text}");
        }
    }
    assert_eq!(values, [0; 64]);
}
