//! Sparse matrices times vectors on the CPU, and on the GPU where there is one: `cargo bench --bench criterion --
//! spmv`.
//!
//! Matrices are random bands and vectors are in device memory. GPU times are of CUDA events around each multiplication
//! by itself; those of the CPU are wall times. Throughput is in bytes that have to be moved at least.

use std::time::Duration;

use crate::common::{gpu, with_font};
use criterion::{BenchmarkId, Criterion, Throughput, criterion_group};
use warpsmith::{
    device::Device,
    spmv::{Band, Csr, DeviceMatrix, Part, SpmvKernel, SpmvReal},
};

/// Multiplications by each of the kernels.
fn multiplications<T: SpmvReal>(criterion: &mut Criterion, device: &Device, what: &str, matrix: &Csr<T>, kernels: &[SpmvKernel]) {
    let mut group = criterion.benchmark_group(format!("spmv/{}/{}", device.backend(), T::NAME));
    group.sample_size(10).throughput(Throughput::Bytes(matrix.floor_bytes() as u64));
    let stream = device.stream().expect("a stream");
    let x = device.upload(&vec![T::from_f64(0.5); matrix.columns()]).expect("memory for x");
    let mut y = device.alloc(matrix.rows()).expect("memory for y");
    for &kernel in kernels {
        let on_device = DeviceMatrix::with_kernel(device, matrix, kernel).expect("a kernel, and memory for the matrix");
        group.bench_function(BenchmarkId::new(on_device.kernel().to_string(), what), |bencher| {
            bencher.iter_custom(|iterations| {
                let mut total = Duration::ZERO;
                for _ in 0..iterations {
                    let ms = stream.time(|stream| on_device.multiply(stream, &x, &mut y)).expect("vectors of the right lengths");
                    total += Duration::from_secs_f64(ms / 1e3);
                }
                total
            });
        });
    }
    group.finish();
}

fn on_cpu(criterion: &mut Criterion) {
    let band = Band::new(30_000, 300_000, 1);
    let (single, double) = (band.matrix::<f32>().expect("a wide band"), band.matrix::<f64>().expect("a wide band"));
    multiplications(criterion, &Device::cpu(), "300,000", &single, &[SpmvKernel::Auto]);
    multiplications(criterion, &Device::cpu(), "300,000", &double, &[SpmvKernel::Auto, SpmvKernel::Tiles { threads: 256 }]);
    let x = vec![0.5; double.columns()];
    let mut y = vec![0.0; double.rows()];
    criterion.bench_function("spmv/host/float64/300,000", |bencher| bencher.iter(|| double.multiply_into(&x, &mut y)));
    criterion.bench_function("spmv/band/1,500,000", |bencher| bencher.iter(|| Band::default().matrix::<f64>()));
    let whole = Band::default().matrix::<f64>().expect("a wide band");
    criterion.bench_function("spmv/part/1,500,000 over 4", |bencher| bencher.iter(|| Part::new(&whole, 4, 1)));
}

fn on_gpu(criterion: &mut Criterion) {
    let Some(device) = gpu("spmv") else { return };
    for (what, band) in [("1,500,000", Band::default()), ("15,000,000", Band::new(1_500_000, 15_000_000, 1))] {
        let kernels = [SpmvKernel::Auto, SpmvKernel::Rows { lanes: 4 }];
        multiplications(criterion, &device, what, &band.matrix::<f32>().expect("a wide band"), &kernels);
        multiplications(criterion, &device, what, &band.matrix::<f64>().expect("a wide band"), &kernels);
    }
}

criterion_group! {
    name = benches;
    config = with_font();
    targets = on_cpu, on_gpu
}
