//! Pairwise matrices of piecewise constant functions on the CPU, and on the GPU where there is one: `cargo bench
//! --bench criterion -- pcf`.
//!
//! Wall times, from functions in host memory to a new matrix in host memory. Throughput is in merge
//! steps; each consumes a breakpoint.

use crate::common::{gpu, with_font};
use criterion::{BenchmarkId, Criterion, Throughput, criterion_group};
use warpsmith::{
    device::Device,
    engine::{Control, Engine},
    pcf::{Layout, Measure, Pairwise, PcfKernel, PcfReal, PcfSet, lp_distance, random},
};

fn matrices<T: PcfReal>(criterion: &mut Criterion, device: &Device, set: &PcfSet<T>, what: &str, kernel: PcfKernel) {
    let engine = Engine::new([device.clone()]).unwrap();
    let mut group = criterion.benchmark_group(format!("pcf/{}/{}", device.backend(), T::NAME));
    group.sample_size(10);
    let cases = [
        ("pdist_1", Pairwise::pdist(set, 1.0), Layout::Condensed),
        ("pdist_2", Pairwise::pdist(set, 2.0), Layout::Condensed),
        ("l2_kernel", Ok(Pairwise::l2_kernel(set)), Layout::Packed),
        ("cdist_1", Pairwise::cdist(set, set, Measure::Lp(1.0)), Layout::Dense),
    ];
    for (name, matrix, layout) in cases {
        let matrix = matrix.expect("a valid exponent").with_kernel(kernel);
        group.throughput(Throughput::Elements(matrix.merge_steps() as u64));
        group.bench_function(BenchmarkId::new(name, what), |bencher| {
            bencher.iter(|| matrix.compute(&engine, layout, Control::default()).expect("valid functions"));
        });
    }
    group.finish();
}

fn on_cpu(criterion: &mut Criterion) {
    let (single, double) = (random::uniform::<f32>(500, 100, 1), random::uniform::<f64>(500, 100, 1));
    let (single, double) = (single.expect("few functions"), double.expect("few functions"));
    matrices(criterion, &Device::cpu(), &single, "500 x 100", PcfKernel::Auto);
    matrices(criterion, &Device::cpu(), &double, "500 x 100", PcfKernel::Auto);
    criterion.bench_function("pcf/one pair of 100 on one core", |bencher| {
        bencher.iter(|| lp_distance(double.get(0), double.get(1), 1.0));
    });
}

fn on_gpu(criterion: &mut Criterion) {
    let Some(device) = gpu("pcf") else { return };
    let single = random::uniform::<f32>(10_000, 100, 1).expect("few functions");
    matrices(criterion, &device, &single, "10,000 x 100", PcfKernel::Auto);
    matrices(criterion, &device, &single, "10,000 x 100, kernel direct", PcfKernel::Direct);
    let double = random::uniform::<f64>(10_000, 100, 1).expect("few functions");
    matrices(criterion, &device, &double, "10,000 x 100", PcfKernel::Auto);
    let uneven = random::uneven::<f32>(5_000, 5_000, 1).expect("few functions");
    matrices(criterion, &device, &uneven, "5,000 x 1..5,000", PcfKernel::Auto);
}

criterion_group! {
    name = benches;
    config = with_font();
    targets = on_cpu, on_gpu
}
