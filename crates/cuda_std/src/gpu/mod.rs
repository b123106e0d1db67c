//! The device side: functions of `src/ir/*.ll`, which `cuda_builder` links in and LLVM inlines.

pub mod atomic;
pub mod math;
pub mod mem;
pub mod thread;
pub mod warp;
