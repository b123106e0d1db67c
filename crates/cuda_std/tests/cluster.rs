//! Clusters of blocks.

mod common;
use all_items::clusters::around;
use common::Output;
use cuda_std::launch::Contract;
use simt::{Executor, Launch, Schedule};

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
fn contracts_are_facts() {
    let contract = Contract { block: Some(32.into()), cluster: Some((2, 2).into()), ..Contract::default() };
    assert_eq!(around::kernel().contract, contract);
}
