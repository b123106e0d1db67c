//! The CUDA backend: the one place that names `cust`.
//!
//! `cust` serves for the driver's start, its devices, their attributes and primary contexts. Streams, events, modules, memory
//! and launches go to the driver's functions ([`driver`]), for reasons found out by measurement with `cust` 0.3.2:
//!
//! - its `Stream::new` takes `NON_BLOCKING` out of the flags, and its copies and fills run on the legacy default stream, which
//!   non-blocking streams don't wait for; its copies panic where lengths differ;
//! - its `Stream::wait_event` destroys the event, and its `Module::from_ptx` has no compiler log;
//! - its `graph` module has graphs of nodes, but no capture of a stream, and nothing that instantiates or launches a graph; its
//!   `kernel_invocation!` gives a function other arguments than that one takes, and so doesn't compile;
//! - a stream that is dropped after its context makes the driver crash.
//!
//! Because of the last, the state of a device, its context among it, is made once and kept until the process ends.
//!
//! Each entry makes the device's context current for the calling thread, unless it was this module that did so last there. A
//! thread that uses the driver otherwise, too, must leave the context as it was.

mod driver;
mod event;
mod fault;
mod graph;
mod memory;
mod module;
mod stream;

pub(super) use event::CudaEvent;
pub(super) use graph::CudaGraph;
pub(super) use memory::{DeviceMemory, HostMemory};
pub(super) use module::CudaModule;
pub(super) use stream::CudaStream;

use self::driver::Code;
use super::error::DeviceError;
use super::info::{Backend, DeviceInfo, MemoryInfo};
use super::launch::{Dim3, Limits};
use super::{image, module::KernelAttributes};
use cust::CudaFlags;
use cust::context::Context;
use cust::device::DeviceAttribute;
use cust::error::CudaError;
use std::cell::Cell;
use std::collections::BTreeMap;
use std::fmt;
use std::sync::{Mutex, OnceLock, PoisonError};

/// One CUDA device with all that the process keeps for it.
pub(super) struct Cuda {
    ordinal: u32,
    info: DeviceInfo,
    limits: Limits,
    context: Context,
    /// The module of gpu-kernels, from its first use on.
    builtin: OnceLock<Result<CudaModule, DeviceError>>,
    /// For transfers that belong to no stream of the caller's.
    service: OnceLock<CudaStream>,
    faults: fault::Faults,
    /// Whether each launch is waited for (`WARPSMITH_SYNC=1`), so that a fault names its kernel.
    synchronous: bool,
}

thread_local! {
    /// The device whose context [`Cuda::enter`] has made current on this thread.
    static CURRENT: Cell<Option<u32>> = const { Cell::new(None) };
}

/// How many CUDA devices there are, at least one.
pub(super) fn count() -> Result<u32, DeviceError> {
    if let Some(reason) = cuda_loader::no_device_reason() {
        return Err(DeviceError::NoDevice { reason });
    }
    cust::init(CudaFlags::empty())
        .and_then(|()| cust::device::Device::num_devices())
        .map_err(|error| failure("the CUDA driver".to_owned(), "cuInit", error))
}

/// Why there is no CUDA device to use with these kernels.
pub(super) fn unusable_reason() -> Option<String> {
    match first() {
        Ok(_) => None,
        Err(DeviceError::NoDevice { reason }) => Some(reason),
        Err(error) => Some(error.to_string()),
    }
}

/// The first CUDA device, if one of the library's images runs there.
pub(super) fn first() -> Result<&'static Cuda, DeviceError> {
    count()?;
    // Before a context is made for nothing.
    let (_, info) = describe(0)?;
    check_image(&info)?;
    Cuda::get(0)
}

fn check_image(info: &DeviceInfo) -> Result<(), DeviceError> {
    let capability = capability(info);
    match image::choose(image::PTX_IMAGES, capability) {
        Some(_) => Ok(()),
        None => Err(no_image(info.name.clone(), capability, image::PTX_IMAGES)),
    }
}

fn no_image(device: String, capability: u32, images: &[(u32, &str)]) -> DeviceError {
    DeviceError::NoImage { device, capability, archs: images.iter().map(|(arch, _)| *arch).collect() }
}

/// A device's compute capability, times ten.
fn capability(info: &DeviceInfo) -> u32 {
    info.compute_capability.map_or(0, |(major, minor)| 10 * major + minor)
}

/// A failure that `cust` reports.
fn failure(device: String, call: &'static str, error: CudaError) -> DeviceError {
    let code = Code(error as u32);
    DeviceError::Driver { device, call, code: code.0, text: code.text() }
}

/// What is known of a device without a context.
fn describe(ordinal: u32) -> Result<(cust::device::Device, DeviceInfo), DeviceError> {
    let label = || format!("CUDA device {ordinal}");
    let failure = |call, error| failure(label(), call, error);
    let device = cust::device::Device::get_device(ordinal).map_err(|error| failure("cuDeviceGet", error))?;
    let get = |attribute| -> Result<u32, DeviceError> {
        let value = device.get_attribute(attribute).map_err(|error| failure("cuDeviceGetAttribute", error))?;
        Ok(value.max(0) as u32)
    };
    // CUDA 13 took the clock's rate out of its header; the driver may answer with an error one day.
    let clock_khz = get(DeviceAttribute::ClockRate).unwrap_or(0);
    let mut max_shared = 0;
    // SAFETY: the device is one of the driver's, and the result may be written to.
    let code = unsafe {
        driver::cuDeviceGetAttribute(&mut max_shared, driver::device::MAX_SHARED_MEMORY_PER_BLOCK_OPTIN, device.as_raw())
    };
    if code != Code::SUCCESS || max_shared <= 0 {
        max_shared = get(DeviceAttribute::MaxSharedMemoryPerBlock)? as i32;
    }
    let info = DeviceInfo {
        name: device.name().map_err(|error| failure("cuDeviceGetName", error))?,
        backend: Backend::Cuda,
        compute_capability: Some((get(DeviceAttribute::ComputeCapabilityMajor)?, get(DeviceAttribute::ComputeCapabilityMinor)?)),
        multiprocessors: get(DeviceAttribute::MultiprocessorCount)?,
        total_memory: device.total_memory().map_err(|error| failure("cuDeviceTotalMem", error))?,
        l2_bytes: get(DeviceAttribute::L2CacheSize)? as usize,
        max_shared_per_block: max_shared as usize,
        max_threads_per_block: get(DeviceAttribute::MaxThreadsPerBlock)?,
        max_threads_per_multiprocessor: get(DeviceAttribute::MaxThreadsPerMultiprocessor)?,
        warp_size: get(DeviceAttribute::WarpSize)?,
        clock_khz,
        driver_version: cuda_loader::load().ok().map(|driver| {
            let version = driver.version();
            (version.major, version.minor)
        }),
    };
    Ok((device, info))
}

impl Cuda {
    /// The device with this ordinal.
    pub(super) fn get(ordinal: u32) -> Result<&'static Self, DeviceError> {
        static DEVICES: Mutex<BTreeMap<u32, &'static Cuda>> = Mutex::new(BTreeMap::new());
        let mut devices = DEVICES.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(cuda) = devices.get(&ordinal) {
            return Ok(cuda);
        }
        let count = count()?;
        if ordinal >= count {
            let last = count - 1;
            return Err(DeviceError::NoDevice {
                reason: format!("there is none with ordinal {ordinal}; they are numbered from 0 to {last}"),
            });
        }
        let cuda: &'static Self = Box::leak(Box::new(Self::new(ordinal)?));
        devices.insert(ordinal, cuda);
        Ok(cuda)
    }

    fn new(ordinal: u32) -> Result<Self, DeviceError> {
        let (device, info) = describe(ordinal)?;
        let get = |attribute| -> Result<u32, DeviceError> {
            let value = device.get_attribute(attribute);
            value.map(|value| value.max(0) as u32).map_err(|error| failure(info.name.clone(), "cuDeviceGetAttribute", error))
        };
        let limits = Limits {
            threads_per_block: info.max_threads_per_block,
            block: Dim3::new(
                get(DeviceAttribute::MaxBlockDimX)?,
                get(DeviceAttribute::MaxBlockDimY)?,
                get(DeviceAttribute::MaxBlockDimZ)?,
            ),
            grid: Dim3::new(
                get(DeviceAttribute::MaxGridDimX)?,
                get(DeviceAttribute::MaxGridDimY)?,
                get(DeviceAttribute::MaxGridDimZ)?,
            ),
            shared: info.max_shared_per_block,
        };
        let context = Context::new(device).map_err(|error| failure(info.name.clone(), "cuDevicePrimaryCtxRetain", error))?;
        // That made it current here.
        CURRENT.set(Some(ordinal));
        Ok(Cuda {
            ordinal,
            info,
            limits,
            context,
            builtin: OnceLock::new(),
            service: OnceLock::new(),
            faults: fault::Faults::default(),
            synchronous: std::env::var_os("WARPSMITH_SYNC").is_some_and(|value| value == "1"),
        })
    }

    pub(super) fn ordinal(&self) -> u32 {
        self.ordinal
    }

    pub(super) fn info(&self) -> &DeviceInfo {
        &self.info
    }

    pub(super) fn limits(&self) -> &Limits {
        &self.limits
    }

    /// Makes the device's context current on this thread.
    #[inline]
    fn enter(&self) -> Result<(), DeviceError> {
        if CURRENT.get() == Some(self.ordinal) { Ok(()) } else { self.make_current() }
    }

    #[cold]
    fn make_current(&self) -> Result<(), DeviceError> {
        // SAFETY: the context is never destroyed.
        self.check("cuCtxSetCurrent", unsafe { driver::cuCtxSetCurrent(self.context.as_raw()) })?;
        CURRENT.set(Some(self.ordinal));
        Ok(())
    }

    /// [`enter`](Self::enter), for destructors: what follows then fails by itself.
    fn try_enter(&self) {
        _ = self.enter();
    }

    /// Makes an error of the result of `call`, if it is one.
    #[inline]
    fn check(&self, call: &'static str, code: Code) -> Result<(), DeviceError> {
        if code == Code::SUCCESS { Ok(()) } else { Err(self.error(call, code)) }
    }

    #[cold]
    fn error(&self, call: &'static str, code: Code) -> DeviceError {
        if code.is_sticky() {
            return self.faults.fault(&self.to_string(), code);
        }
        if code == Code::INVALID_CONTEXT {
            // Somebody else has made another context current, or none.
            CURRENT.set(None);
        }
        DeviceError::Driver { device: self.to_string(), call, code: code.0, text: code.text() }
    }

    /// Free and total memory.
    pub(super) fn memory(&self) -> Result<MemoryInfo, DeviceError> {
        self.enter()?;
        let mut memory = MemoryInfo { free: 0, total: 0 };
        // SAFETY: both results may be written to.
        self.check("cuMemGetInfo", unsafe { driver::cuMemGetInfo_v2(&mut memory.free, &mut memory.total) })?;
        Ok(memory)
    }

    /// Lets this device access the other's memory, if it can; whether it can.
    pub(super) fn enable_peer_access(&self, other: &Self) -> Result<bool, DeviceError> {
        if self.ordinal == other.ordinal {
            return Ok(true);
        }
        let handle = |cuda: &Self| {
            let device = cust::device::Device::get_device(cuda.ordinal);
            device.map(|device| device.as_raw()).map_err(|error| failure(cuda.to_string(), "cuDeviceGet", error))
        };
        let mut can = 0;
        // SAFETY: both devices are the driver's, and the result may be written to.
        let code = unsafe { driver::cuDeviceCanAccessPeer(&mut can, handle(self)?, handle(other)?) };
        self.check("cuDeviceCanAccessPeer", code)?;
        if can == 0 {
            return Ok(false);
        }
        self.enter()?;
        // SAFETY: the other context is never destroyed.
        match unsafe { driver::cuCtxEnablePeerAccess(other.context.as_raw(), 0) } {
            Code::PEER_ACCESS_ALREADY_ENABLED => Ok(true),
            code => self.check("cuCtxEnablePeerAccess", code).map(|()| true),
        }
    }

    /// Waits for all work on the device.
    pub(super) fn synchronize(&self) -> Result<(), DeviceError> {
        self.enter()?;
        // SAFETY: no precondition.
        self.check("cuCtxSynchronize", unsafe { driver::cuCtxSynchronize() })
    }

    /// The stream for transfers that belong to no stream of the caller's.
    pub(super) fn service(&'static self) -> Result<&'static CudaStream, DeviceError> {
        if let Some(stream) = self.service.get() {
            return Ok(stream);
        }
        let stream = CudaStream::new(self)?;
        Ok(self.service.get_or_init(|| stream))
    }

    /// The module of gpu-kernels.
    pub(super) fn builtin(&'static self) -> Result<&'static CudaModule, DeviceError> {
        self.builtin.get_or_init(|| CudaModule::load(self, image::PTX_IMAGES)).as_ref().map_err(Clone::clone)
    }

    /// Which of the library's images suits the device.
    pub(super) fn image(&self) -> Option<u32> {
        image::choose(image::PTX_IMAGES, capability(&self.info)).map(|(arch, _)| arch)
    }
}

impl fmt::Display for Cuda {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} (CUDA device {})", self.info.name, self.ordinal)
    }
}

impl fmt::Debug for Cuda {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}
