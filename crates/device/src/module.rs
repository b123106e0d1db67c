//! Kernels that were built elsewhere.

use super::cuda::CudaModule;
use super::launch::Dim3;
use super::{Device, DeviceError};
use bytemuck::Pod;
use cuda_std::constant::Constant;
use cuda_std::launch::KernelInfo;
use std::fmt;

/// The kernels of a crate other than gpu-kernels, loaded on a device: [`Device::load_module`].
///
/// On the CPU there is nothing to load: a kernel is a function of the program.
pub struct Module {
    pub(super) device: Device,
    pub(super) cuda: Option<CudaModule>,
}

/// What the driver's compiler made of a kernel.
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

impl Module {
    /// The device that it is loaded on.
    pub fn device(&self) -> &Device {
        &self.device
    }

    /// The compute capability, times ten, that the loaded image was built for; `None` on the CPU.
    pub fn arch(&self) -> Option<u32> {
        self.cuda.as_ref().map(CudaModule::arch)
    }

    /// Like [`Device::occupancy`], of a kernel of this module.
    ///
    /// # Errors
    /// [`DeviceError::LengthMismatch`], and [`DeviceError::Constant`] where the module has none of its name and size.
    pub fn occupancy(&self, kernel: &'static KernelInfo, block: impl Into<Dim3>, shared: usize) -> Result<u32, DeviceError> {
        self.cuda.as_ref().map_or(Ok(1), |module| module.occupancy(kernel, block.into(), shared))
    }

    /// Like [`Device::kernel_attributes`], of a kernel of this module.
    ///
    /// # Errors
    /// [`DeviceError::LengthMismatch`], and [`DeviceError::Constant`] where the module has none of its name and size.
    pub fn kernel_attributes(&self, kernel: &'static KernelInfo) -> Result<KernelAttributes, DeviceError> {
        self.cuda.as_ref().map_or_else(|| Ok(cpu_attributes()), |module| module.attributes(kernel))
    }

    /// Like [`Device::set_constant`], of a constant of this module.
    ///
    /// # Safety
    /// No kernel that reads it is running on the device, also not on a stream that nobody has waited for, nor does a
    /// reference to the values live on in the host.
    ///
    /// # Errors
    /// [`DeviceError::LengthMismatch`], and [`DeviceError::Constant`] where the module has none of its name and size.
    pub unsafe fn set_constant<T: Pod, const N: usize>(
        &self,
        constant: &'static Constant<T, N>,
        values: &[T],
    ) -> Result<(), DeviceError> {
        // SAFETY: no kernel that reads the constant is running, by the contract of this function.
        unsafe { set_constant(self.cuda.as_ref(), constant, values) }
    }
}

impl fmt::Debug for Module {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Module").field("device", &self.device).field("arch", &self.arch()).finish()
    }
}

/// On the CPU the compiler of the program says nothing about a kernel.
pub(super) fn cpu_attributes() -> KernelAttributes {
    KernelAttributes { max_threads: simt::MAX_BLOCK_THREADS, ..KernelAttributes::default() }
}

/// Fills a constant in a module, or without one on the CPU.
///
/// # Safety
/// No kernel that reads it is running on the device, also not on a stream that nobody has waited for, nor does a
/// reference to the values live on in the host.
pub(super) unsafe fn set_constant<T: Pod, const N: usize>(
    module: Option<&CudaModule>,
    constant: &'static Constant<T, N>,
    values: &[T],
) -> Result<(), DeviceError> {
    let Ok(values) = <&[T; N]>::try_from(values) else {
        return Err(DeviceError::LengthMismatch { what: "the slice for a constant", found: values.len(), expected: N });
    };
    match module {
        // SAFETY: no kernel that reads it is running, by the contract of this function.
        Some(module) => unsafe { module.set_constant(constant.name(), bytemuck::cast_slice(values)) },
        None => {
            // SAFETY: nobody reads it meanwhile, by the contract of this function.
            unsafe { constant.store(values) };
            Ok(())
        }
    }
}
