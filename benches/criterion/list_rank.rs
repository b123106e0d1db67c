//! List ranking on the CPU, and on the GPU where there is one: `cargo bench --bench criterion -- list_rank`.
//!
//! GPU times are of CUDA events around the device's work; those of the CPU are wall times.

use std::time::Duration;

use crate::common::{gpu, with_font};
use criterion::{BenchmarkId, Criterion, Throughput, criterion_group};
use warpsmith::{
    device::Device,
    list_rank::{ListRanker, Options, Strategy, generate, rank_sequentially},
};

fn on(criterion: &mut Criterion, device: &Device, n: u32, strategies: &[Strategy]) {
    let mut group = criterion.benchmark_group(format!("list_rank/{}", device.backend()));
    group.throughput(Throughput::Elements(u64::from(n))).sample_size(10);
    let Ok(stream) = device.stream() else {
        return eprintln!("skipped: {device} gives no stream");
    };
    for (kind, list) in [("random", generate::random(n, 1)), ("sequential", generate::sequential(n))] {
        let (Ok(next), Ok(mut ranks)) = (device.upload(&list), device.alloc(list.len())) else {
            return eprintln!("skipped: {device} has too little memory for {n} elements");
        };
        for &strategy in strategies {
            let mut ranker = ListRanker::new(device, Options { strategy, timed: true, ..Options::default() });
            group.bench_function(BenchmarkId::new(strategy.name(), format!("{kind}/{n}")), |bencher| {
                bencher.iter_custom(|iterations| {
                    let mut total = Duration::ZERO;
                    for _ in 0..iterations {
                        let report = ranker.rank(&stream, &next, None, &mut ranks).expect("a list that was made to be one");
                        total += Duration::from_secs_f64(report.total_ms() / 1e3);
                    }
                    total
                });
            });
        }
    }
    group.finish();
}

fn on_cpu(criterion: &mut Criterion) {
    let n = 1_000_000;
    on(criterion, &Device::cpu(), n, &[Strategy::Split, Strategy::Packed]);
    let list = generate::random(n, 1);
    criterion.bench_function("list_rank/sequential walk on one core", |bencher| bencher.iter(|| rank_sequentially(&list, None)));
}

fn on_gpu(criterion: &mut Criterion) {
    let Some(device) = gpu("list_rank") else { return };
    on(criterion, &device, 1_000_000, &[Strategy::Split]);
    on(criterion, &device, 100_000_000, &[Strategy::Binned, Strategy::Split, Strategy::Packed]);
}

criterion_group! {
    name = benches;
    config = with_font();
    targets = on_cpu, on_gpu
}
