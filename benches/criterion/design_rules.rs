//! Design rules on the CPU: schedules listed, counted and simulated per second, searches; classes,
//! features, trees and Algorithm 1 of as many schedules as a space has: `cargo bench --bench
//! criterion -- design_rules`.
//!
//! All by one thread; wall times.

use std::hint::black_box;

use crate::common::with_font;
use criterion::{Criterion, Throughput, criterion_group};
use rand_chacha::{
    ChaCha8Rng,
    rand_core::{RngCore, SeedableRng},
};
use warpsmith::design_rules::{
    BitColumns, Class, FeatureSet, LabelOptions, Labels, Platform as _, Traversal, TraversalTable, TreeOptions,
    learn::{
        DecisionTree,
        tree::{Limits, Size},
    },
};
use warpsmith::design_rules::{
    programs::spmv,
    schedule::{Schedules, count},
    search::{Explorer, Mcts},
    sim::{Machine, SimPlatform, spmv::SpmvModel},
};
use warpsmith::spmv::{Band, Traffic};

const SCHEDULES: usize = 5_000;
const FEATURES: usize = 200;
const STEPS: usize = 15;

/// Features by chance, and four classes that five of them settle, but for one sample in 100.
fn samples() -> (BitColumns, Vec<Class>) {
    let mut rng = ChaCha8Rng::seed_from_u64(1);
    let mut columns = BitColumns::new(SCHEDULES);
    (0..FEATURES).for_each(|_| columns.push(|_| rng.next_u32() & 1 == 1));
    let class = |row: usize| {
        let [a, b, c, d, e] = [3, 50, 71, 120, 199].map(|column| columns.get(row, column));
        let class = if a && !b { 0 } else { usize::from(c != d) + usize::from(e) + 1 };
        Class::from_index(if rng.next_u32().is_multiple_of(100) { 0 } else { class })
    };
    let classes = (0..SCHEDULES).map(class).collect();
    (columns, classes)
}

/// Returns random orders of steps, with some synchronisation among them.
fn schedules() -> Vec<Traversal> {
    let mut rng = ChaCha8Rng::seed_from_u64(2);
    let mut schedule = || {
        let mut order: Vec<usize> = (0..STEPS).collect();
        for last in (1..STEPS).rev() {
            order.swap(last, rng.next_u32() as usize % (last + 1));
        }
        let name = |step: usize| match step {
            0..4 => format!("gpu{step}@{}", rng.next_u32() & 1),
            4..10 => format!("cpu{step}"),
            _ => format!("CER-after-{step}"),
        };
        order.into_iter().map(name).collect::<Vec<_>>().join(";").parse().expect("different names")
    };
    (0..SCHEDULES).map(|_| schedule()).collect()
}

fn learning(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("design_rules/learning/5,000 schedules");
    group.throughput(Throughput::Elements(SCHEDULES as u64));

    let mut rng = ChaCha8Rng::seed_from_u64(3);
    let times: Vec<f64> = (0..SCHEDULES).map(|_| f64::from(rng.next_u32() % 4 + 1) + f64::from(rng.next_u32()) * 1e-11).collect();
    group.bench_function("classes", |bencher| {
        bencher.iter(|| Labels::with(black_box(&times), &LabelOptions::PAPER).expect("times"))
    });

    let all = schedules();
    let table = TraversalTable::new(&all);
    let rows: Vec<usize> = (0..SCHEDULES).collect();
    group.bench_function("table", |bencher| bencher.iter(|| TraversalTable::new(black_box(&all))));
    group.bench_function("features", |bencher| bencher.iter(|| FeatureSet::learn(black_box(&table), &rows)));

    let (columns, classes) = samples();
    let options = TreeOptions::default();
    for leaves in [8, 30] {
        group.bench_function(format!("tree of {leaves} leaves, 200 features"), |bencher| {
            bencher
                .iter(|| DecisionTree::train(black_box(&columns), &classes, options, Limits::leaves(leaves)).expect("samples"));
        });
    }
    group.bench_function("Algorithm 1, 200 features", |bencher| {
        bencher.iter(|| Size::Paper.train(black_box(&columns), &classes, options).expect("samples"));
    });
    group.finish();
}

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
    targets = learning, spaces
}
