//! Functions that the Criterion benches share.

use criterion::Criterion;
use plotters::style::{FontStyle, register_font};
use warpsmith::device::{Backend, Device, no_cuda_reason};

/// Criterion with a font for its plots, which come without the system's.
pub fn with_font() -> Criterion {
    // It fails only for invalid fonts.
    _ = register_font("sans-serif", FontStyle::Normal, dejavu::sans::regular());
    Criterion::default()
}

/// Returns the GPU, or prints why there is none.
pub fn gpu(bench: &str) -> Option<Device> {
    let gpu = Device::best().ok().filter(|device| device.backend() == Backend::Cuda);
    if gpu.is_none() {
        eprintln!("{bench} on a GPU: skipped, {}", no_cuda_reason().unwrap_or_else(|| "the CPU was asked for".into()));
    }
    gpu
}
