//! Kernels with one bug each, and their PTX. `tests/bugs.rs` launches them.

pub use bug_kernels as kernels;

warpsmith_device::kernel_module!(bug_kernels);
