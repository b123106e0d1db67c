//! Trees on the CPU, and on the GPU where there is one: `cargo bench --bench criterion -- trees`.
//!
//! GPU times are of CUDA events around the device's work; those of the CPU are wall times.

use std::time::Duration;

use crate::common::{gpu, with_font};
use criterion::{BenchmarkId, Criterion, Throughput, criterion_group};
use cuda_std::I32x2;
use warpsmith::{
    device::Device,
    list_rank::generate::Permutation,
    trees::{Rooter, Rooting, Roots},
};

fn on(criterion: &mut Criterion, device: &Device, n: usize) {
    let mut group = criterion.benchmark_group(format!("trees/{}", device.backend()));
    group.throughput(Throughput::Elements(n as u64)).sample_size(10);
    let Ok(stream) = device.stream() else {
        return eprintln!("skipped: {device} gives no stream");
    };
    let labels = Permutation::new(n as u64, 1);
    let label = |v: usize| labels.apply(v as u64) as i32;
    for (shape, children) in [("path", 1), ("binary", 2)] {
        let edges: Vec<_> = (1..n).map(|v| I32x2::new(label(v), label((v - 1) / children))).collect();
        let (Ok(edges), Ok(rooter)) = (device.upload(&edges), Rooter::new(device)) else {
            return eprintln!("skipped: {device} has too little memory for {n} vertices");
        };
        let (mut rooter, mut rooting) = (rooter.timed(), Rooting::new(device));
        group.bench_function(BenchmarkId::new("edges", format!("{shape}/{n}")), |bencher| {
            bencher.iter_custom(|iterations| {
                let mut total = Duration::ZERO;
                for _ in 0..iterations {
                    let report = rooter.edges(&stream, n, &edges, Roots::At(label(0)), &mut rooting);
                    let report = report.expect("a tree that was made to be one");
                    total += Duration::from_secs_f64(report.total_ms() / 1e3);
                }
                total
            });
        });
    }
    group.finish();
}

fn on_cpu(criterion: &mut Criterion) {
    on(criterion, &Device::cpu(), 1_000_000);
}

fn on_gpu(criterion: &mut Criterion) {
    let Some(device) = gpu("trees") else { return };
    on(criterion, &device, 1_000_000);
    on(criterion, &device, 100_000_000);
}

criterion_group! {
    name = benches;
    config = with_font();
    targets = on_cpu, on_gpu
}
