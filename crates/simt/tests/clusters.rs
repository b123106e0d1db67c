//! Clusters: blocks that meet and access each other's shared memory.

mod common;

use common::{launch, run, shared, works};
use simt::{Dim3, Executor, Schedule, SimtError, current};
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};

static VALUES: u8 = 0;
static OTHERS: u8 = 0;

fn executors() -> Vec<Executor> {
    let mut all: Vec<_> = [1, 4, 9].map(Executor::new).into();
    all.extend((0..3).map(|seed| Executor::new(4).with_schedule(Schedule::Random { seed })));
    all
}

#[test]
fn blocks_have_their_places() {
    for executor in executors() {
        for (grid, cluster) in [((6, 1, 1), (3, 1, 1)), ((4, 6, 2), (2, 3, 1)), ((5, 2, 4), (1, 1, 4)), ((7, 1, 1), (1, 1, 1))] {
            let [grid, cluster] = [grid, cluster].map(|(x, y, z)| Dim3::new(x, y, z));
            let seen: Vec<AtomicU32> = (0..grid.count()).map(|_| AtomicU32::new(0)).collect();
            executor
                .run_clusters(&launch(grid, 3), cluster, None, &|| {
                    let at = current::block_idx();
                    let place = Dim3::new(at.x % cluster.x, at.y % cluster.y, at.z % cluster.z);
                    assert_eq!(current::cluster_rank(), place.x + cluster.x * (place.y + cluster.y * place.z));
                    assert_eq!(current::cluster_dim(), cluster);
                    seen[(at.x + grid.x * (at.y + grid.y * at.z)) as usize].fetch_add(1, Ordering::Relaxed);
                })
                .unwrap();
            assert!(seen.iter().all(|count| count.load(Ordering::Relaxed) == 3));
        }
    }
}

/// Each thread gives a value to the same thread of the next block, over and over: what it has at last has come around.
#[test]
fn values_go_around() {
    const THREADS: u32 = 40;
    for executor in executors() {
        for size in [1, 2, 5, 8] {
            let sum = AtomicU64::new(0);
            executor
                .run_clusters(&launch(3 * size, THREADS), size.into(), None, &|| {
                    let (me, rank) = (current::linear_thread(), current::cluster_rank());
                    // Blocks come to their arrays in different orders, and not every block to the second.
                    if rank == 1 {
                        shared::<u64>(&OTHERS, 7);
                    }
                    let values = shared::<u32>(&VALUES, THREADS as usize);
                    // SAFETY: each thread has an element of its own, in its block and in the next.
                    let own = unsafe { values.add(me as usize) };
                    let next = current::cluster_map(own.cast(), (rank + 1) % size).cast::<u32>();
                    let mut value = 1000 * current::block_idx().x + me;
                    for _ in 0..size {
                        current::cluster_arrive();
                        current::cluster_wait();
                        // SAFETY: the element is there as long as blocks of the cluster come to its barrier, and nobody
                        // reads it before the next.
                        unsafe { next.write_volatile(value) };
                        current::cluster_arrive();
                        current::preemption_point();
                        current::cluster_wait();
                        // SAFETY: it has been written, and is written again after the next barrier.
                        value = unsafe { own.read_volatile() };
                    }
                    assert_eq!(value, 1000 * current::block_idx().x + me);
                    sum.fetch_add(value.into(), Ordering::Relaxed);
                })
                .unwrap();
            let (blocks, threads) = (u64::from(3 * size), u64::from(THREADS));
            assert_eq!(sum.into_inner(), 1000 * threads * (blocks * (blocks - 1) / 2) + blocks * (threads * (threads - 1) / 2));
        }
    }
}

#[test]
fn threads_that_have_returned_are_not_waited_for() {
    for executor in executors() {
        let rounds = AtomicU32::new(0);
        executor
            .run_clusters(&launch(8, 20), 4.into(), None, &|| {
                // Of block r as many threads stay on for round i as this leaves; some blocks end before the others.
                for _ in 0..current::linear_thread().min(5 * current::cluster_rank()) {
                    current::cluster_arrive();
                    current::cluster_wait();
                    rounds.fetch_add(1, Ordering::Relaxed);
                }
            })
            .unwrap();
        let expected: u32 = (0..4).flat_map(|rank| (0..20).map(move |t: u32| t.min(5 * rank))).sum();
        assert_eq!(rounds.into_inner(), 2 * expected);
    }
}

#[test]
fn a_block_in_no_cluster_is_one_of_its_own() {
    let executor = Executor::new(2);
    run(&executor, 3, 64, || {
        assert_eq!((current::cluster_rank(), current::cluster_dim()), (0, Dim3::new(1, 1, 1)));
        let values = shared::<u32>(&VALUES, 64);
        let me = current::linear_thread() as usize;
        // SAFETY: there are 64 elements, each written by its thread, and read by another behind a barrier.
        unsafe {
            current::cluster_map(values.add(me).cast(), 0).cast::<u32>().write_volatile(me as u32);
            current::cluster_arrive();
            current::cluster_wait();
            assert_eq!(values.add(63 - me).read_volatile(), 63 - me as u32);
        }
    });
}

#[test]
fn what_a_gpu_hangs_on_or_leaves_undefined_is_an_error() {
    let error = |grid: Dim3, cluster: Dim3, body: &(dyn Fn() + Sync)| {
        let mut error = None;
        for executor in executors() {
            error = Some(executor.run_clusters(&launch(grid, 40), cluster, None, body).unwrap_err());
            works(&executor);
        }
        error.unwrap().to_string()
    };
    let says = |text: String, part: &str| assert!(text.contains(part), "`{part}` is not in: {text}");
    let nothing = || {};
    says(error(3.into(), 2.into(), &nothing), "its grid (3, 1, 1) isn't a multiple of its cluster (2, 1, 1)");
    says(error(9.into(), 9.into(), &nothing), "has 9 blocks, and from 1 to 8 are possible");
    says(error(9.into(), 0.into(), &nothing), "has 0 blocks");
    says(error(2.into(), 2.into(), &|| current::cluster_wait()), "without having arrived");
    says(
        error(2.into(), 2.into(), &|| {
            current::cluster_arrive();
            current::cluster_arrive();
        }),
        "before it has waited",
    );
    says(error(2.into(), 2.into(), &|| current::cluster_arrive()), "returns between its arrival");
    says(
        error(2.into(), 2.into(), &|| {
            current::cluster_map(shared::<u32>(&VALUES, 4).cast(), 2);
        }),
        "asks for the shared memory of block 2 of its cluster",
    );
    says(
        error(2.into(), 2.into(), &|| {
            current::cluster_map(std::ptr::without_provenance_mut(64), 1);
        }),
        "it isn't in its own",
    );
    says(
        error(4.into(), 2.into(), &|| {
            if current::linear_thread() == 3 && current::cluster_rank() == 1 {
                current::sync_threads();
            }
            current::cluster_arrive();
            current::cluster_wait();
        }),
        "for a thread of its block that waits elsewhere",
    );
}

#[test]
fn a_panic_ends_all_blocks_of_all_clusters() {
    for executor in executors() {
        let error = executor
            .run_clusters(&launch(400, 8), 4.into(), None, &|| {
                assert!(current::block_idx().x != 6 || current::linear_thread() != 5, "there");
                current::cluster_arrive();
                current::cluster_wait();
            })
            .unwrap_err();
        assert!(matches!(&error, SimtError::Panic { at, message, .. } if at.block.x == 6 && message == "there"), "{error}");
        works(&executor);
    }
}
