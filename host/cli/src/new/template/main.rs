//! Runs the kernels on the GPU, or on the CPU if there is no GPU.

use @CRATE@::{saxpy, sum};

use warpsmith_device::{Device, DeviceError};

fn main() -> Result<(), DeviceError> {
    let device = Device::best()?;
    let stream = device.stream()?;
    let x = device.upload(&vec![1.0f32; 1 << 20])?;
    let mut y = device.upload(&vec![2.0f32; 1 << 20])?;
    saxpy(&stream, 3.0, &x, &mut y)?;
    println!(
        "{device}: the sum of {} elements is {}",
        y.len(),
        sum(&stream, &y)?
    );
    Ok(())
}
