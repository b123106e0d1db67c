//! Overlaps of trees on the CPU, and on the GPU where there is one: `cargo bench --bench criterion -- overlap`.
//!
//! Poses are uniform in a square of side 0.65 sqrt(n), in device memory. GPU times are of CUDA events around each
//! evaluation by itself; those of the CPU are wall times.

use std::time::Duration;

use crate::common::{gpu, with_font};
use criterion::{BenchmarkId, Criterion, Throughput, criterion_group};
use warpsmith::{
    device::Device,
    overlap::{Overlap, OverlapKernel, OverlapReal, Packings, Shape, Wanted, random},
};

/// Packings, and poses in each.
type Size = (usize, usize);

fn packings((count, each): Size) -> Packings {
    random::uniform(count, each, 0.65 * (each as f64).sqrt(), 1)
}

/// Evaluations of packings of each size by the device's own kernel, or by another.
fn evaluations<T: OverlapReal>(criterion: &mut Criterion, device: &Device, sizes: &[Size], kernel: Option<OverlapKernel>) {
    let mut group = criterion.benchmark_group(format!("overlap/{}/{}", device.backend(), T::NAME));
    group.sample_size(10);
    for &size in sizes {
        let packings = packings(size);
        group.throughput(Throughput::Elements(packings.poses().len() as u64));
        for (name, wanted, deterministic) in [
            ("totals", Wanted::TOTALS, false),
            ("gradients", Wanted::GRADIENT, false),
            ("gradients, deterministic", Wanted::GRADIENT, true),
        ] {
            let mut overlap = Overlap::<T>::new(device, &[Shape::tree()]).expect("one shape").deterministic(deterministic);
            let mut what = format!("{} x {}", size.0, size.1);
            if let Some(kernel) = kernel {
                overlap = overlap.kernel(kernel);
                what.push_str(&format!(", kernel {kernel:?}").to_lowercase());
            }
            let mut scene = overlap.load(&packings).expect("poses near the origin");
            let stream = overlap.stream();
            group.bench_function(BenchmarkId::new(name, what), |bencher| {
                bencher.iter_custom(|iterations| {
                    let mut total = Duration::ZERO;
                    for _ in 0..iterations {
                        let ms =
                            stream.time(|stream| overlap.enqueue(stream, &mut scene, wanted)).expect("memory for the results");
                        total += Duration::from_secs_f64(ms / 1e3);
                    }
                    total
                });
            });
        }
    }
    group.finish();
}

fn on_cpu(criterion: &mut Criterion) {
    let sizes = [(64, 120), (1, 120), (1, 500), (1, 10_000)];
    evaluations::<f64>(criterion, &Device::cpu(), &sizes, None);
    evaluations::<f32>(criterion, &Device::cpu(), &sizes, None);
}

fn on_gpu(criterion: &mut Criterion) {
    let Some(device) = gpu("overlap") else { return };
    let sizes = [(1024, 120), (1, 120), (1, 500), (1, 100_000)];
    evaluations::<f64>(criterion, &device, &sizes, None);
    evaluations::<f64>(criterion, &device, &sizes, Some(OverlapKernel::Direct));
    evaluations::<f32>(criterion, &device, &sizes, None);
    evaluations::<f32>(criterion, &device, &sizes, Some(OverlapKernel::Direct));
}

criterion_group! {
    name = benches;
    config = with_font();
    targets = on_cpu, on_gpu
}
