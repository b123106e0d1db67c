//! Measures the executor's cost: `cargo run --release -p warpsmith-simt --example cost`.

use simt::{Executor, Launch, Schedule, current};
use std::hint::black_box;
use std::time::Instant;

/// The best of some runs, in seconds.
fn time(executor: &Executor, grid: u32, block: u32, body: &(dyn Fn() + Sync)) -> f64 {
    let launch = Launch { kernel: "cost", grid: grid.into(), block: block.into(), dynamic_shared: 0 };
    (0..5)
        .map(|_| {
            let start = Instant::now();
            executor.run(&launch, body).expect("these kernels are right");
            start.elapsed().as_secs_f64()
        })
        .fold(f64::INFINITY, f64::min)
}

fn main() {
    let (one, all) = (Executor::new(1), Executor::default());
    let random = Executor::new(1).with_schedule(Schedule::Random { seed: 1 });

    let index = || {
        let i = current::block_idx().x * current::block_dim().x + current::thread_idx().x;
        black_box(i);
    };
    for (name, executor) in [("one worker", &one), ("all workers", &all)] {
        let (grid, block) = (39_063, 256);
        let ns = time(executor, grid, block, &index) * 1e9 / f64::from(grid * block);
        println!("{name}, no barrier, 10^7 threads: {ns:.2} ns a thread");
    }

    for block in [32, 256, 1024] {
        let (blocks, rounds) = (64, 100);
        let arrivals = f64::from(blocks * block * rounds);
        let barriers = || (0..rounds).for_each(|_| current::sync_threads());
        let exchanges = || {
            for round in 0..rounds {
                black_box(current::exchange(u32::MAX, "shfl", round.into()));
            }
        };
        let (barrier, exchange) = (time(&one, blocks, block, &barriers), time(&one, blocks, block, &exchanges));
        println!(
            "blocks of {block}: {:.1} ns for a thread at a barrier ({:.1} at random), {:.1} ns at an exchange",
            barrier * 1e9 / arrivals,
            time(&random, blocks, block, &barriers) * 1e9 / arrivals,
            exchange * 1e9 / arrivals,
        );
        let once = time(&one, 1000, block, &current::sync_threads) * 1e9 / f64::from(1000 * block);
        println!("blocks of {block}: {once:.1} ns for a thread with one barrier, all told");
    }

    for (name, grid, block) in [("1 thread", 1, 1), ("1 block of 256", 1, 256), ("4 blocks of 64", 4, 64)] {
        println!(
            "launch of {name}: {:.2} us, with a barrier {:.2} us",
            time(&all, grid, block, &index) * 1e6,
            time(&all, grid, block, &current::sync_threads) * 1e6
        );
    }
    println!("launch of 64 blocks of 64 on all workers: {:.2} us", time(&all, 64, 64, &index) * 1e6);
}
