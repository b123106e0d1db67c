//! The CPU side: what the device has an instruction for, over `simt`'s current thread.

pub mod atomic;
pub mod math;
pub mod mem;
pub mod thread;
pub mod warp;
