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

/// Each element once, whatever the grid: by the thread whose tile it is in.
#[test]
fn tiles_cover_a_matrix() {
    fn fill<const WIDTH: usize, const HEIGHT: usize>(rows: usize, columns: usize) -> Vec<u32> {
        let mut values = vec![0; rows * columns + columns / 2];
        let raw = (RawSlice::new(values.as_mut_ptr(), values.len()), columns);
        run((2, 3), (8, 4), || {
            // SAFETY: the matrix lives on, and threads get at it through these views alone.
            let mut out = unsafe { DisjointMatrix::<u32, WIDTH, HEIGHT>::from_raw(raw, &Run) };
            assert_eq!((out.rows(), out.columns()), (rows, columns));
            let U32x2 { x, y } = thread::index_2d();
            for ((row, column), element) in out.tile_mut() {
                assert_eq!((row / HEIGHT, column / WIDTH), (y as usize, x as usize));
                *element += 1;
            }
            assert!(out.get_mut(HEIGHT, 0).is_none() && out.get_mut(0, WIDTH).is_none());
            let inside = (y as usize + 1) * HEIGHT <= rows && (x as usize + 1) * WIDTH <= columns;
            if let Some(last) = out.get_mut(HEIGHT - 1, WIDTH - 1) {
                assert!(inside);
                *last += 100;
            } else {
                assert!(!inside);
            }
        });
        values
    }
    fn check<const WIDTH: usize, const HEIGHT: usize>(rows: usize, columns: usize) {
        for (i, value) in fill::<WIDTH, HEIGHT>(rows, columns).into_iter().enumerate() {
            let (row, column) = (i / columns, i % columns);
            // The grid has 16 x 12 threads; what follows the last whole row is nobody's.
            let covered = row < rows && row < 12 * HEIGHT && column < 16 * WIDTH;
            let last = row % HEIGHT == HEIGHT - 1 && column % WIDTH == WIDTH - 1;
            assert_eq!(value, RUNS * (u32::from(covered) + if covered && last { 100 } else { 0 }), "({row}, {column})");
        }
    }
    check::<1, 1>(12, 16);
    check::<1, 1>(5, 40);
    check::<4, 2>(23, 63);
    check::<3, 5>(70, 50);
    check::<{ 1 << 20 }, { 1 << 20 }>(5, 7);
}

#[test]
fn matrices_are_for_two_dimensions() {
    let mut values = [0u32; 64];
    let raw = (RawSlice::new(values.as_mut_ptr(), values.len()), 8);
    let mut words = Vec::new();
    <DisjointMatrix<u32> as KernelParam>::words(raw, &mut words);
    assert_eq!(words[1..], [64, 8]);
    assert_eq!(<DisjointMatrix<u32> as KernelParam>::DIMENSIONS, 2);
    for (grid, block) in [((1, 1, 2), (8, 8, 1)), ((1, 1, 1), (4, 4, 4))] {
        let text = grid_error(grid, block, || {
            // SAFETY: the matrix lives on, and threads get at it through these views alone.
            let mut out = unsafe { DisjointMatrix::<u32>::from_raw(raw, &Run) };
            out.get_mut(0, 0);
        });
        assert!(text.to_string().contains("of one or two dimensions alone"), "{text}");
    }
}
