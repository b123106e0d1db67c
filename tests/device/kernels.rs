//! Tensor cores, blocks that wait for each other, and what kernels demand of their launches.

use cuda_std::f16;
use gpu_kernels::samples::{self, matmul};
use simt::{Executor, Schedule};
use warpsmith::device::{Device, DeviceError};
use warpsmith::launch;

type Result<T = (), E = DeviceError> = std::result::Result<T, E>;

/// Small integers, whose products and sums are exact.
fn halves(count: usize, seed: u32) -> Vec<f16> {
    (0..count as u32).map(|i| f16::from_f32((((i + seed).wrapping_mul(0x9e37_79b9) >> 20) % 31) as f32 - 15.0)).collect()
}

#[test]
fn products_on_tensor_cores() -> Result {
    products(&Device::best()?)?;
    products(&Device::cpu_with(Executor::new(2).with_schedule(Schedule::Random { seed: 3 })))
}

fn products(device: &Device) -> Result {
    if device.info().compute_capability.is_some_and(|capability| capability < (8, 0)) {
        return Ok(());
    }
    let (m, n, k) = (2 * matmul::TILE, matmul::TILE, 96);
    let (a, b) = (halves(m * k, 1), halves(k * n, 50_000));
    let stream = device.stream()?;
    let (x, y, mut z) = (device.upload(&a)?, device.upload(&b)?, device.alloc_zeroed::<f32>(m * n)?);
    let (grid, side) = (((n / matmul::TILE) as u32, (m / matmul::TILE) as u32), n as u32);
    // SAFETY: the arrays have these sizes, which are multiples of what the kernel takes.
    unsafe {
        launch!(stream, matmul::matmul_f16<<<grid, matmul::THREADS, matmul::SHARED>>>(&x, &y, &mut z, side, k as u32))?;
    }
    let found = stream.download_vec(&z)?;
    for (place, &value) in found.iter().enumerate() {
        let (row, column) = (place / n, place % n);
        let expected: f32 = (0..k).map(|i| a[row * k + i].to_f32() * b[i * n + column].to_f32()).sum();
        assert_eq!(value, expected, "({row}, {column})");
    }
    // SAFETY: it is refused.
    let refused = unsafe { launch!(stream, matmul::matmul_f16<<<grid, 64, matmul::SHARED>>>(&x, &y, &mut z, side, k as u32)) };
    let text = refused.unwrap_err().to_string();
    assert!(text.contains("its block is (64, 1, 1), and the kernel is made for blocks of (128, 1, 1)"), "{text}");
    Ok(())
}

#[test]
fn blocks_wait_for_each_other() -> Result {
    for device in [Device::best()?, Device::cpu_with(Executor::new(5))] {
        let kernel = samples::mirror::kernel();
        let together = device.occupancy(kernel, 64, 0)? * device.info().multiprocessors;
        let stream = device.stream()?;
        for blocks in [1, together.min(5), together] {
            let n = 64 * blocks;
            let mut values = device.upload(&(0..n).collect::<Vec<u32>>())?;
            let mut after = device.alloc_zeroed::<u32>(n as usize)?;
            // SAFETY: there is an element for each thread.
            unsafe { launch!(stream, samples::mirror<<<blocks, 64>>>(&mut values, &mut after))? };
            assert!(stream.download_vec(&after)?.into_iter().eq((0..n).rev().map(|i| 2 * i)), "{blocks} blocks");
        }
        let (mut values, mut after) = (device.alloc_zeroed::<u32>(1)?, device.alloc_zeroed::<u32>(1)?);
        // SAFETY: it is refused.
        let refused = unsafe { launch!(stream, samples::mirror<<<together + 1, 64>>>(&mut values, &mut after)) };
        let text = refused.unwrap_err().to_string();
        let reason = format!("its {} blocks wait for each other, and {together} run at once", together + 1);
        assert!(text.contains(&reason), "{text}");
    }
    Ok(())
}
