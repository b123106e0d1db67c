//! The kernels of the halo exchange, on the CPU, and on the GPU where there is one: `cargo bench --bench criterion --
//! halo`.
//!
//! A brick of cells with ghost cells, in device memory. GPU times are of CUDA events around each launch by itself;
//! those of the CPU are wall times. Throughput is in bytes that have to be moved at least; a copy of the whole array,
//! which reads and writes as much as the step of all cells, is what memory gives.

use std::time::Duration;

use crate::common::{gpu, with_font};
use criterion::{BenchmarkId, Criterion, Throughput, criterion_group};
use gpu_kernels::halo::{Brick, faces, stencil};
use warpsmith::{
    device::{Device, DeviceError, Stream},
    launch,
};

/// The bytes of a cell.
const CELL: u64 = 8;
/// Threads of a block, but of [`stencil::interior`].
const THREADS: u32 = 256;

fn kernels(criterion: &mut Criterion, device: &Device, extent: u32) {
    let mut group = criterion.benchmark_group(format!("halo/{}", device.backend()));
    group.sample_size(10);
    let brick = Brick { nx: extent, ny: extent, nz: extent };
    let (nx, ny, nz) = (extent, extent, extent);
    let stream = device.stream().expect("a stream");
    let mut cells = device.upload(&vec![0.5; brick.padded_len()]).expect("memory for the cells");
    let mut next = device.alloc_zeroed(brick.padded_len()).expect("memory for the result");
    let both_faces = 2 * brick.face_len(0) as usize;
    let mut sent = device.alloc_zeroed(both_faces).expect("memory for faces");
    let inner = u64::from(extent.saturating_sub(2)).pow(3);
    let what = format!("{extent}³");

    let mut bench = |name: &str, bytes: u64, work: &mut dyn FnMut(&Stream) -> Result<(), DeviceError>| {
        group.throughput(Throughput::Bytes(bytes));
        group.bench_function(BenchmarkId::new(name, &what), |bencher| {
            bencher.iter_custom(|iterations| {
                let mut total = Duration::ZERO;
                for _ in 0..iterations {
                    let ms = stream.time(|stream| work(stream)).expect("a launch");
                    total += Duration::from_secs_f64(ms / 1e3);
                }
                total
            });
        });
    };
    bench("copy", 2 * CELL * brick.padded_len() as u64, &mut |stream| stream.copy(&cells, &mut next));
    let grid = stencil::interior_grid(brick);
    bench("interior", CELL * (brick.cells() as u64 + inner), &mut |stream| {
        // SAFETY: both arrays are the brick's, and nothing else uses them.
        unsafe { launch!(stream, stencil::interior<<<grid, stencil::TILE>>>(&cells, &mut next, nx, ny, nz, 0.125)) }
    });
    // The outermost cells, those across their faces on both sides, and the results.
    let shell = brick.cells() as u64 - inner;
    bench("shell", 4 * CELL * shell, &mut |stream| {
        let grid = brick.shell_len().div_ceil(THREADS);
        // SAFETY: both arrays are the brick's, and nothing else uses them.
        unsafe { launch!(stream, stencil::shell<<<grid, THREADS>>>(&cells, &mut next, nx, ny, nz, 0.125)) }
    });
    for (d, name) in ["x", "y", "z"].into_iter().enumerate() {
        let (bytes, grid, d) = (2 * CELL * both_faces as u64, (both_faces as u32).div_ceil(THREADS), d as u32);
        bench(&format!("pack {name}"), bytes, &mut |stream| {
            // SAFETY: the cells are the brick's, and there is room for both faces.
            unsafe { launch!(stream, faces::pack<<<grid, THREADS>>>(&cells, &mut sent, nx, ny, nz, d, 0)) }
        });
        bench(&format!("unpack {name}"), bytes, &mut |stream| {
            // SAFETY: the cells are the brick's, nothing else uses them, and `sent` has both faces.
            unsafe { launch!(stream, faces::unpack<<<grid, THREADS>>>(&sent, &mut cells, nx, ny, nz, d, 0)) }
        });
    }
    group.finish();
}

fn on_cpu(criterion: &mut Criterion) {
    kernels(criterion, &Device::cpu(), 48);
}

fn on_gpu(criterion: &mut Criterion) {
    let Some(device) = gpu("halo") else { return };
    for extent in [128, 256, 512] {
        kernels(criterion, &device, extent);
    }
}

criterion_group! {
    name = benches;
    config = with_font();
    targets = on_cpu, on_gpu
}
