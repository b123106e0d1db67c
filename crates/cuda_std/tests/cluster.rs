//! Clusters of blocks.

mod common;
use all_items::clusters::around;
use common::Output;
use cuda_std::launch::Contract;
use cuda_std::prelude::*;
use simt::{Executor, Launch, Schedule};
use std::sync::atomic::{AtomicU32, Ordering};

#[test]
fn blocks_read_each_others_shared_memory() {
    // A grid of 4 x 6 blocks in clusters of 2 x 2.
    let input: Vec<u32> = (0..32 * 24).map(|i| 7 * i).collect();
    for schedule in [Schedule::InOrder, Schedule::Random { seed: 1 }, Schedule::Random { seed: 2 }] {
        let mut found = vec![0u32; input.len()];
        let out = Output::new(&mut found);
        let launch = Launch { kernel: "around", grid: (4, 6).into(), block: 32.into(), dynamic_shared: 0 };
        let executor = Executor::new(4).with_schedule(schedule);
        // SAFETY: the grid and the block are those that the kernel takes, and there is an element for each thread.
        executor.run_clusters(&launch, (2, 2).into(), None, &|| unsafe { around(&input, out.at(0)) }).unwrap();
        for (i, &value) in found.iter().enumerate() {
            let (block, t) = (i / 32, i % 32);
            let (x, y) = (block % 4, block / 4);
            // Ranks go 0 1 / 2 3.
            let (next_x, next_y) = match (x % 2, y % 2) {
                (0, 0) => (x + 1, y),
                (1, 0) => (x - 1, y + 1),
                (0, 1) => (x + 1, y),
                _ => (x - 1, y - 1),
            };
            assert_eq!(value, 7 * (32 * (next_x + 4 * next_y) + t) as u32 + 1000 * (2 + 20 + 100), "{x} {y} {t}");
        }
    }
}

#[test]
fn histograms_over_a_cluster() {
    // Each block has a part of the counters, and all blocks of the cluster add to it.
    let sums = [const { AtomicU32::new(0) }; 64];
    let launch = Launch { kernel: "histogram", grid: 8.into(), block: 48.into(), dynamic_shared: 0 };
    let body = || {
        let counters = shared_array![u32; 16];
        let t = thread::thread_idx_x();
        // SAFETY: counters are written before the barrier, and then used as atomics, until the last barrier.
        unsafe {
            if t < 16 {
                counters.write(t as usize, 0);
            }
            cluster::sync();
            let value = (thread::index_1d() * 37) % 64;
            let of = counters.of_block(value / 16);
            atomic::device::fetch_add(of.at(value as usize % 16), 1);
            cluster::sync();
            if t < 16 {
                sums[(16 * cluster::rank() + t) as usize].fetch_add(counters.read(t as usize), Ordering::Relaxed);
            }
        }
    };
    Executor::new(8).run_clusters(&launch, 4.into(), None, &body).unwrap();
    let mut expected = [0; 64];
    (0..8 * 48u32).for_each(|i| expected[(i * 37 % 64) as usize] += 1);
    assert_eq!(sums.map(AtomicU32::into_inner), expected);
}

#[test]
fn contracts_are_facts() {
    let contract = Contract { block: Some(32.into()), cluster: Some((2, 2).into()), ..Contract::default() };
    assert_eq!(around::kernel().contract, contract);
}
