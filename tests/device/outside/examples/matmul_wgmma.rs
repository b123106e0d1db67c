//! Tensor cores' operations per second in `matmul_wgmma`, by the device's clock: for each size given (by default 4096 and
//! 8192) the median of 21 products of square matrices.

use cuda_std::{half::f16, tensor::Swizzle};
use outside::kernels::products::{self, COLUMNS, DEPTH, ROWS};
use warpsmith_device::{Device, DeviceError, TensorLayout, TensorMap, View, launch};

fn main() -> Result<(), DeviceError> {
    let sizes: Vec<usize> = std::env::args().skip(1).map(|size| size.parse().expect("sizes are numbers")).collect();
    let device = Device::best()?;
    let stream = device.stream()?;
    for size in if sizes.is_empty() { vec![4096, 8192] } else { sizes } {
        assert!(size > 0 && size.is_multiple_of(COLUMNS), "a size is a multiple of {COLUMNS}");
        let halves: Vec<f16> = (0..size * size).map(|i| f16::from_f32((i % 13) as f32 - 6.0)).collect();
        let (a, b, mut c) = (device.upload(&halves)?, device.upload(&halves)?, device.alloc_zeroed::<f32>(size * size)?);
        let layout = |rows: usize| TensorLayout {
            swizzle: Swizzle::Bytes128,
            ..TensorLayout::dense([size, size], [DEPTH as u32, rows as u32])
        };
        let (a, b) = (TensorMap::new(View::from(&a), layout(ROWS))?, TensorMap::new(View::from(&b), layout(COLUMNS))?);
        let (grid, side) = (((size / COLUMNS) as u32, (size / ROWS) as u32), size as u32);
        let mut times = Vec::new();
        for _ in 0..22 {
            // SAFETY: the extents are multiples of the tiles', and the maps are as the kernel asks.
            times.push(stream.time(|stream| unsafe {
                launch!(stream, products::matmul_wgmma<<<grid, products::THREADS, products::SHARED>>>(&a, &b, &mut c, side, side))
            })?);
        }
        // Not the first, which compiles the kernel.
        times.remove(0);
        times.sort_by(f64::total_cmp);
        let (ms, operations) = (times[times.len() / 2], 2.0 * (size as f64).powi(3));
        println!("{device}: {size} x {size}: {ms:.3} ms, {:.1} TFLOP/s", operations / ms / 1e9);
    }
    Ok(())
}
