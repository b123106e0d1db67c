//! Indices, grid-stride loops, barriers and clocks.

mod common;
use common::{Output, RUNS, run};
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
fn barriers_reduce_predicates_over_the_block() {
    run(2, (40, 2), || {
        let t = thread::linear_thread();
        assert_eq!(thread::sync_threads_count(t.is_multiple_of(3)), 27);
        assert!(thread::sync_threads_and(t < 80));
        assert!(!thread::sync_threads_and(t < 79));
        assert!(thread::sync_threads_or(t == 79));
        assert!(!thread::sync_threads_or(t == 80));
    });
}

#[test]
fn a_barrier_separates_writes_from_reads() {
    let mut values = vec![0; 256];
    let out = Output::new(&mut values);
    run(1, 256, || {
        let t = thread::thread_idx_x() as usize;
        for round in 0..4 {
            out.set(t, t as u32 + round);
            thread::sync_threads();
            // SAFETY: written before the barrier, and overwritten after the next.
            assert_eq!(unsafe { *out.at(255 - t) }, (255 - t) as u32 + round);
            thread::sync_threads();
        }
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

#[test]
fn blocks_wait_for_each_other_by_a_flag() {
    let mut memory = [0u32; 2];
    let out = Output::new(&mut memory);
    run(2, 1, || {
        let (data, flag) = (out.at(0), out.at(1));
        // SAFETY: the flag is atomic, and the data is handed over with it.
        unsafe {
            if thread::block_idx_x() == 0 {
                data.write(42);
                atomic::device::store_release(flag, 1);
            } else {
                while atomic::device::load_acquire(flag) == 0 {
                    thread::nanosleep(20);
                }
                assert_eq!(data.read(), 42);
                atomic::device::store(flag, 0);
            }
        }
    });
}
