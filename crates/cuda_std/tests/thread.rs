//! Indices, grid-stride loops, barriers and clocks.

mod common;
use common::{RUNS, run};
use cuda_std::{prelude::*, thread::Dim3};
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};

#[test]
fn every_index_of_a_three_dimensional_grid_comes_up_once() {
    let (grid, block) = ((3, 2, 4), (4, 3, 2));
    let seen: Vec<AtomicU32> = (0..3 * 2 * 4 * 4 * 3 * 2).map(|_| AtomicU32::new(0)).collect();
    run(grid, block, || {
        assert_eq!(thread::grid_dim(), Dim3 { x: 3, y: 2, z: 4 });
        assert_eq!(thread::block_dim(), Dim3 { x: 4, y: 3, z: 2 });
        assert_eq!(thread::block_dim().count(), 24);
        let (t, b) = (thread::thread_idx(), thread::block_idx());
        assert_eq!((t.x, t.y, t.z), (thread::thread_idx_x(), thread::thread_idx_y(), thread::thread_idx_z()));
        assert_eq!((b.x, b.y, b.z), (thread::block_idx_x(), thread::block_idx_y(), thread::block_idx_z()));
        let i = thread::index_3d();
        assert_eq!((i.x, i.y, i.z), (b.x * 4 + t.x, b.y * 3 + t.y, b.z * 2 + t.z));
        assert_eq!(thread::index_2d(), U32x2::new(i.x, i.y));
        assert_eq!(thread::index_1d(), i.x);
        assert_eq!(thread::linear_thread(), t.x + 4 * t.y + 12 * t.z);
        assert_eq!(thread::grid_stride_1d(), 12);
        assert_eq!(warp::lane_id(), thread::linear_thread() % 32);
        seen[(i.x + 12 * (i.y + 6 * i.z)) as usize].fetch_add(1, Relaxed);
    });
    assert!(seen.iter().all(|count| count.load(Relaxed) == RUNS));
}

#[test]
#[cfg_attr(simt_check, ignore = "the body allocates, and one thread gets what another has freed")]
fn grid_stride_deals_each_number_to_one_thread() {
    for (n, grid, block) in [(0, 1, 32), (1, 2, 32), (100, 1, 7), (1000, 3, 64), (192, 3, 64), (193, 3, 64)] {
        let seen: Vec<AtomicU32> = (0..n).map(|_| AtomicU32::new(0)).collect();
        run(grid, block, || {
            let share = thread::grid_stride(n);
            let (length, first) = (share.len(), thread::index_1d() as usize);
            let mine: Vec<usize> = share.collect();
            assert_eq!(mine.len(), length);
            assert_eq!(mine, (first..n).step_by((grid * block) as usize).collect::<Vec<_>>());
            mine.iter().for_each(|&i| {
                seen[i].fetch_add(1, Relaxed);
            });
        });
        assert!(seen.iter().all(|count| count.load(Relaxed) == RUNS));
    }
}

#[test]
fn grid_stride_ends_at_the_end_of_numbers() {
    run(1, 1, || {
        let mut share = thread::grid_stride(usize::MAX);
        assert_eq!(share.nth(5), Some(5));
        let last: Vec<u32> = thread::strided(u32::MAX - 5..u32::MAX, 3).collect();
        assert_eq!(last, [u32::MAX - 5, u32::MAX - 2]);
        assert_eq!(thread::strided(7..7_usize, 3).next(), None);
    });
}

#[test]
fn clocks_run_forwards_and_fences_do_nothing_visible() {
    run(1, 2, || {
        let (clock, timer) = (thread::clock64(), thread::globaltimer_ns());
        thread::block_fence();
        thread::device_fence();
        thread::system_fence();
        thread::nanosleep(100);
        assert!(thread::clock64() >= clock && thread::globaltimer_ns() >= timer);
        assert_eq!((arch(), is_gpu()), (0, false));
    });
}
