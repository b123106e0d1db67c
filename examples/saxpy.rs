//! Launches kernels of `gpu_kernels::samples`, on a GPU if there is one, then runs one of them on the CPU in 20 random
//! orders of its threads.
//!
//! `cargo run --example saxpy`

use gpu_kernels::samples;
use simt::{Executor, Schedule};
use warpsmith::{
    device::{Device, DeviceError},
    launch,
};

fn main() -> Result<(), DeviceError> {
    let device = Device::best()?;
    let stream = device.stream()?;
    let x = device.upload(&[1.0f32, 2.0, 3.0])?;
    let mut y = device.upload(&[10.0f32, 20.0, 30.0])?;
    // The compiler checks the number, the types and the mutability of the arguments.
    launch!(stream, samples::saxpy<<<1, 32>>>(2.0, &x, &mut y))?;
    assert_eq!(stream.download_vec(&y)?, [12.0, 24.0, 36.0]);

    // A missing barrier in the kernel would show as a wrong answer in some of these orders.
    for seed in 0..20 {
        let device = Device::cpu_with(Executor::default().with_schedule(Schedule::Random { seed }));
        let stream = device.stream()?;
        let mut values = device.upload(&[1u32, 2, 3, 4, 5, 6, 7, 8])?;
        // SAFETY: the kernel needs one element and 4 bytes of shared memory per thread; both are there.
        unsafe { launch!(stream, samples::reverse_blocks<<<2, 4, 4 * 4>>>(&mut values))? };
        assert_eq!(stream.download_vec(&values)?, [4, 3, 2, 1, 8, 7, 6, 5]);
    }
    println!("saxpy on {device}: right; block reversal in 20 thread orders: right");
    Ok(())
}
