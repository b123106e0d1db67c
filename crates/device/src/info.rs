//! Properties of devices.

use crate::DeviceError;
use std::{env, fmt};

/// Kind of device that runs kernels.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Backend {
    /// An NVIDIA GPU.
    Cuda,
    /// The cores of this machine, by way of the [`simt`] executor.
    Cpu,
}

impl Backend {
    /// Returns the backend that `WARPSMITH_BACKEND` requests, if it is set.
    ///
    /// # Errors
    /// [`DeviceError::InvalidBackend`] if it is neither `cuda` nor `cpu`.
    pub fn wished() -> Result<Option<Self>, DeviceError> {
        let wish = env::var_os("WARPSMITH_BACKEND").unwrap_or_default();
        match wish.to_str() {
            Some("") => Ok(None),
            Some("cuda") => Ok(Some(Backend::Cuda)),
            Some("cpu") => Ok(Some(Backend::Cpu)),
            _ => Err(DeviceError::InvalidBackend { value: wish.to_string_lossy().into_owned() }),
        }
    }
}

impl fmt::Display for Backend {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Backend::Cuda => "cuda",
            Backend::Cpu => "cpu",
        })
    }
}

/// Facts about a device that don't change.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct DeviceInfo {
    /// The GPU's name, or the processor's.
    pub name: String,
    /// Kind of device.
    pub backend: Backend,
    /// Compute capability, such as (9, 0); `None` on the CPU.
    pub compute_capability: Option<(u32, u32)>,
    /// The number of multiprocessors. CPU: of worker threads.
    pub multiprocessors: u32,
    /// The device's memory, in bytes. CPU: the machine's.
    pub total_memory: usize,
    /// The L2 cache, in bytes. CPU: the last-level cache; 0 where that is unknown.
    pub l2_bytes: usize,
    /// The most shared memory, static and dynamic together, that a block may ask for, in bytes.
    pub max_shared_per_block: usize,
    /// The most threads that a block may have.
    pub max_threads_per_block: u32,
    /// The most threads that a multiprocessor holds at a time. CPU: those of one block.
    pub max_threads_per_multiprocessor: u32,
    /// The number of lanes of a warp.
    pub warp_size: u32,
    /// The clock's rate, in kHz; 0 where that is unknown.
    pub clock_khz: u32,
    /// The newest version of CUDA that the driver supports, such as (13, 0); `None` on the CPU.
    pub driver_version: Option<(u32, u32)>,
}

/// A device's memory, in bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MemoryInfo {
    /// Memory that can be allocated, in bytes. CPU: the system's estimate without swapping.
    pub free: usize,
    /// Total memory, in bytes.
    pub total: usize,
}

/// Resources of a kernel as the driver compiled it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct KernelAttributes {
    /// 32-bit registers of a thread.
    pub registers: u32,
    /// Local memory of a thread, in bytes: spilled registers, and arrays with computed indices.
    pub local_bytes: usize,
    /// Static shared memory of a block, in bytes.
    pub static_shared: usize,
    /// Constant memory that the kernel uses, in bytes.
    pub constant_bytes: usize,
    /// The most threads that a block may have, given these registers.
    pub max_threads: u32,
    /// The compute capability that the code is for, times ten; 0 on the CPU.
    pub arch: u32,
}

impl KernelAttributes {
    /// On the CPU the compiler of the program says nothing about a kernel.
    pub(super) fn of_cpu() -> Self {
        KernelAttributes { max_threads: simt::MAX_BLOCK_THREADS, ..KernelAttributes::default() }
    }
}
