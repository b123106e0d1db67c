//! A crate with kernels of its own. Of the project it knows the device layer alone, and what builds kernels.

pub use outside_kernels as kernels;

warpsmith_device::kernel_module!(outside_kernels);
