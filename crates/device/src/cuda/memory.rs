//! Memory of a device, and page-locked memory of the host.

use super::driver::{self, Code};
use super::{Cuda, DeviceError};
use std::ptr::NonNull;

/// Memory of a device, freed when dropped.
///
/// Freeing waits for all work on the device first, so that no kernel is left with a dangling pointer. Drivers up to 580
/// do so in `cuMemFree` of memory from `cuMemAlloc`; CUDA's documentation only says that they may. `cuCtxSynchronize`
/// before it would be certain, but breaks captures under way on other threads.
#[derive(Debug)]
pub(in super::super) struct DeviceMemory {
    cuda: &'static Cuda,
    address: u64,
}

impl DeviceMemory {
    /// `bytes` of memory with whatever is in there, aligned to 256 bytes. `bytes` is not 0.
    pub(in super::super) fn new(cuda: &'static Cuda, bytes: usize) -> Result<Self, DeviceError> {
        let out_of_memory = || {
            let memory = cuda.memory()?;
            Err(DeviceError::OutOfMemory { requested: bytes, free: memory.free, total: memory.total, device: cuda.to_string() })
        };
        // The driver has other answers than "out of memory" for sizes that are out of this world.
        if bytes > cuda.info.total_memory {
            return out_of_memory();
        }
        let _entered = cuda.enter()?;
        let mut address = 0;
        // SAFETY: the result may be written to.
        match unsafe { driver::cuMemAlloc_v2(&mut address, bytes) } {
            Code::OUT_OF_MEMORY => out_of_memory(),
            code => cuda.check("cuMemAlloc", code).map(|()| DeviceMemory { cuda, address }),
        }
    }

    pub(in super::super) fn address(&self) -> u64 {
        self.address
    }
}

impl Drop for DeviceMemory {
    fn drop(&mut self) {
        let _entered = self.cuda.enter();
        // SAFETY: the address is of an allocation of this device that is freed here alone. After a fault this fails,
        // and the memory is lost with the context.
        _ = unsafe { driver::cuMemFree_v2(self.address) };
    }
}

/// Page-locked memory of the host, freed when dropped.
#[derive(Debug)]
pub(in super::super) struct HostMemory {
    cuda: &'static Cuda,
    address: NonNull<u8>,
}

// SAFETY: it owns its memory, which any thread may access and free: it is locked for all contexts (`PORTABLE`).
unsafe impl Send for HostMemory {}
// SAFETY: a shared reference gives the address alone.
unsafe impl Sync for HostMemory {}

impl HostMemory {
    /// `bytes` of zeroes, aligned to a page. `bytes` is not 0.
    pub(in super::super) fn new(cuda: &'static Cuda, bytes: usize) -> Result<Self, DeviceError> {
        let _entered = cuda.enter()?;
        let mut address = std::ptr::null_mut();
        // SAFETY: the result may be written to.
        let code = unsafe { driver::cuMemHostAlloc(&mut address, bytes, driver::CU_MEMHOSTALLOC_PORTABLE) };
        match (code, NonNull::new(address.cast::<u8>())) {
            (Code::SUCCESS, Some(address)) => {
                // The driver promises nothing about the contents.
                // SAFETY: these are as many bytes, and ours.
                unsafe { address.write_bytes(0, bytes) };
                Ok(HostMemory { cuda, address })
            }
            (code, _) => {
                let memory = crate::memory::memory();
                if code == Code::OUT_OF_MEMORY || bytes > memory.total {
                    let device = "the host (page-locked)".to_owned();
                    return Err(DeviceError::OutOfMemory { requested: bytes, free: memory.free, total: memory.total, device });
                }
                Err(cuda.error("cuMemHostAlloc", code))
            }
        }
    }

    pub(in super::super) fn address(&self) -> NonNull<u8> {
        self.address
    }
}

impl Drop for HostMemory {
    fn drop(&mut self) {
        let _entered = self.cuda.enter();
        // SAFETY: the address is from cuMemHostAlloc, and freed here alone. Transfers to and from
        // it have ended: a `Pending` transfer keeps the memory until it is done.
        _ = unsafe { driver::cuMemFreeHost(self.address.as_ptr().cast()) };
    }
}
