//! Design rules on the CPU: schedules listed, counted and simulated per second, and searches: `cargo bench --bench
//! criterion -- design_rules`.
//!
//! All by one thread; wall times.

use std::hint::black_box;

use crate::common::with_font;
use criterion::{Criterion, Throughput, criterion_group};
use warpsmith::design_rules::{
    Platform as _,
    programs::spmv,
    schedule::{Schedules, count},
    search::{Explorer, Mcts},
    sim::{Machine, SimPlatform, spmv::SpmvModel},
};
use warpsmith::spmv::{Band, Traffic};

/// The paper's program on two streams.
fn spaces(c: &mut Criterion) {
    let dag = spmv::dag();
    let all: Vec<_> = Schedules::new(&dag, 2).expect("two streams").collect();
    let mut group = c.benchmark_group("space");
    group.throughput(Throughput::Elements(all.len() as u64));
    group.bench_function("list", |b| b.iter(|| Schedules::new(black_box(&dag), 2).expect("two streams").count()));
    group.bench_function("count", |b| b.iter(|| count(black_box(&dag), 2)));

    let matrix = Band::default().matrix::<f32>().expect("the paper's");
    let model = SpmvModel::new(Traffic::new(&matrix, 4).expect("square"));
    let mut platform = SimPlatform::new(&model, Machine::h200_node()).expect("it has ranks");
    group.bench_function("simulate on 4 ranks", |b| {
        b.iter(|| all.iter().map(|schedule| platform.measure(schedule).expect("no deadlock")).sum::<f64>());
    });

    // Cost of a search besides measuring: an iteration is a proposal and its record.
    group.throughput(Throughput::Elements(400));
    group.bench_function("search, 400 iterations", |b| {
        b.iter(|| {
            let mut explorer = Explorer::new(&dag, 2, Mcts::default(), 1).expect("two streams");
            for iteration in 0..400 {
                let schedule = explorer.propose().expect("there are more");
                explorer.record(&schedule, f64::from(iteration % 7)).expect("a time");
            }
            explorer.statistics()
        });
    });
}

criterion_group! {
    name = benches;
    config = with_font();
    targets = spaces
}
