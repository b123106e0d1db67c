//! Bytes per second of `saxpy`, by the device's clock: the median of 21 runs. `cargo bench`

use @CRATE@::saxpy;

use warpsmith_device::{Backend, Device, DeviceError};

fn main() -> Result<(), DeviceError> {
    let device = Device::best()?;
    let stream = device.stream()?;
    let len: usize = if device.backend() == Backend::Cuda {
        1 << 28
    } else {
        1 << 22
    };
    let x = device.upload(&vec![1.0f32; len])?;
    let mut y = device.upload(&vec![2.0f32; len])?;
    // Not timed: the first launch compiles the kernel.
    saxpy(&stream, 0.5, &x, &mut y)?;
    let mut times = Vec::new();
    for _ in 0..21 {
        times.push(stream.time(|stream| saxpy(stream, 0.5, &x, &mut y))?);
    }
    times.sort_by(f64::total_cmp);
    let (ms, bytes) = (times[10], 3 * len * size_of::<f32>());
    println!(
        "{device}: saxpy of {len} elements: {ms:.3} ms, {:.1} GB/s",
        bytes as f64 / ms / 1e6
    );
    Ok(())
}
