//! The device side: functions of `src/ir/*.ll`, and those that `cuda_builder` makes from their names. It links them in,
//! and LLVM inlines them.

pub mod atomic;
pub mod math;
pub mod mem;
pub mod thread;
pub mod warp;
