//! The device side: functions of `src/ir/*.ll`, and those that `cuda_builder` makes from their names. It links them in,
//! and LLVM inlines them.

pub mod atomic;
pub mod half;
pub mod math;
pub mod mbarrier;
pub mod mem;
pub mod mma;
mod panic;
pub mod tensor;
pub mod thread;
pub mod warp;
pub mod wgmma;
