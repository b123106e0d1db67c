//! The kernels beside the same computations on the host. `WARPSMITH_BACKEND=cpu` or `cuda` says where they run.

use @CRATE@::{saxpy, sum};

use warpsmith_device::{Device, DeviceError};

/// None, one, and numbers around a block's size and a warp's.
const LENGTHS: [usize; 8] = [0, 1, 31, 255, 256, 257, 1000, 100_000];

/// Small whole numbers, whose sums are exact.
fn numbers(len: usize) -> Vec<f32> {
    (0..len).map(|i| (i % 7) as f32).collect()
}

#[test]
fn saxpy_is_exact_for_small_numbers() -> Result<(), DeviceError> {
    let device = Device::best()?;
    let stream = device.stream()?;
    for len in LENGTHS {
        let x = device.upload(&numbers(len))?;
        let mut y = device.upload(&vec![1.0; len])?;
        saxpy(&stream, 2.0, &x, &mut y)?;
        let expected: Vec<f32> = (0..len).map(|i| 2.0 * (i % 7) as f32 + 1.0).collect();
        assert_eq!(stream.download_vec(&y)?, expected, "{len} elements");
    }
    Ok(())
}

#[test]
fn sums_of_any_length() -> Result<(), DeviceError> {
    let device = Device::best()?;
    let stream = device.stream()?;
    for len in LENGTHS {
        let values = device.upload(&numbers(len))?;
        let expected: usize = (0..len).map(|i| i % 7).sum();
        assert_eq!(sum(&stream, &values)?, expected as f32, "{len} elements");
    }
    Ok(())
}
