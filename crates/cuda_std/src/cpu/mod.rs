//! The CPU side: what the device has an instruction for, over `simt`'s current thread.

pub mod atomic;
pub mod half;
pub mod math;
pub mod mbarrier;
pub mod mem;
pub mod mma;
pub mod tensor;
pub mod thread;
pub mod warp;
pub mod wgmma;
