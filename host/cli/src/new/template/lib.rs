//! Launches of the kernels.

pub use @CRATE@_kernels as kernels;

use warpsmith_device::{Buffer, DeviceError, Stream, launch};

// The PTX of these kernels, which build.rs makes.
warpsmith_device::kernel_module!(@CRATE@_kernels);

/// `y += a * x`, element by element. Only as many elements as the shorter of both has are computed.
///
/// # Errors
/// Returns the device's errors.
pub fn saxpy(
    stream: &Stream,
    a: f32,
    x: &Buffer<f32>,
    y: &mut Buffer<f32>,
) -> Result<(), DeviceError> {
    let len = x.len().min(y.len());
    if len == 0 {
        return Ok(());
    }
    let blocks = len.div_ceil(256).min(1 << 16) as u32;
    launch!(stream, kernels::saxpy<<<blocks, 256>>>(a, &x.view(..len)?, &mut y.view_mut(..len)?))
}

/// The sum of `values`: each block's on the device, and the sum of these on the host.
///
/// # Errors
/// Returns the device's errors.
pub fn sum(stream: &Stream, values: &Buffer<f32>) -> Result<f32, DeviceError> {
    if values.is_empty() {
        return Ok(0.0);
    }
    let blocks = values.len().div_ceil(kernels::BLOCK as usize);
    let mut sums = stream.device().alloc::<f32>(blocks)?;
    // SAFETY: blocks of BLOCK threads in one dimension, each of which has an element of `sums`.
    unsafe {
        launch!(stream, kernels::block_sums<<<blocks as u32, kernels::BLOCK>>>(values, &mut sums))?
    };
    Ok(stream.download_vec(&sums)?.iter().sum())
}
