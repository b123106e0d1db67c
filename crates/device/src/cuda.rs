//! The CUDA backend.
//!
//! With the feature `cust`, the types of the driver's handles are `cust`'s. Calls go to the driver's functions
//! ([`driver`]): an enum like `cust`'s for results is undefined behaviour where a driver is newer than it, and
//! measurement with `cust` 0.3.2 found out:
//!
//! - its `Stream::new` takes `NON_BLOCKING` out of the flags, and its copies and fills run on the legacy default
//!   stream, which non-blocking streams don't wait for; its copies panic where lengths differ;
//! - its `Stream::wait_event` destroys the event, and its `Module::from_ptx` has no compiler log;
//! - its `graph` module has graphs of nodes, but no capture of a stream, and nothing that instantiates or launches a
//!   graph; its `kernel_invocation!` gives a function other arguments than that one takes, and so doesn't compile;
//! - a stream that is dropped after its context makes the driver crash.
//!
//! Because of the last, the state of a device, its context among it, is made once and kept until the process ends.
//!
//! A thread has a current context, which other libraries set, too. So each entry asks the driver
//! for it ([`Cuda::enter`]), and makes a foreign context current again afterwards. If there was
//! none, the device's stays, so the next entry only has to ask.

mod driver;
mod event;
mod fault;
mod graph;
mod memory;
mod module;
mod stream;
mod tensor;

pub(super) use event::CudaEvent;
pub(super) use graph::CudaGraph;
pub(super) use memory::{DeviceMemory, HostMemory};
pub(super) use module::CudaModule;
pub(super) use stream::CudaStream;

use self::driver::{CUcontext, CUdevice, Code};
use super::error::DeviceError;
use super::image;
use super::info::{Backend, DeviceInfo, KernelAttributes, MemoryInfo};
use super::launch::{Dim3, Limits};
use super::order::Ledger;
use super::threads;
use cuda_std::launch::KernelInfo;
use std::collections::{BTreeSet, HashMap};
use std::ffi::{CStr, c_char, c_int};
use std::fmt;
use std::ptr;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Mutex, OnceLock, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

/// One CUDA device with all that the process keeps for it.
pub(super) struct Cuda {
    ordinal: u32,
    handle: CUdevice,
    info: DeviceInfo,
    pub(super) limits: Limits,
    context: Context,
    /// The program's images, each from its first use on.
    modules: Vec<OnceLock<Result<CudaModule, DeviceError>>>,
    /// The images of kernels that were asked for before their launches, by the kernels' addresses.
    preloaded: Mutex<HashMap<usize, Option<usize>>>,
    /// Time that loading them has taken, in ns.
    loading: AtomicU64,
    /// For transfers that belong to no stream of the caller's.
    service: OnceLock<CudaStream>,
    faults: fault::Faults,
    pub(super) ledger: Ledger<CudaStream>,
    /// True if each launch is waited for (`WARPSMITH_SYNC=1`), so that a fault names its kernel.
    synchronous: bool,
}

/// A device's primary context, which is retained and never released.
#[derive(Clone, Copy, PartialEq, Eq)]
struct Context(CUcontext);

// SAFETY: the driver's functions take a context from any thread.
unsafe impl Send for Context {}
// SAFETY: at the same time, too: the handle itself is never changed.
unsafe impl Sync for Context {}

/// While it lives, a device's context is current on this thread. Then the one is again that was before, if there was
/// one.
#[must_use = "the context is current only as long as this lives"]
struct Entered {
    /// Null where nothing is to be done.
    before: CUcontext,
}

impl Drop for Entered {
    #[inline]
    fn drop(&mut self) {
        if !self.before.is_null() {
            // SAFETY: the driver said that this context was current here. If it has been destroyed
            // since, the driver reports that to its next user.
            _ = unsafe { driver::cuCtxSetCurrent(self.before) };
        }
    }
}

/// Returns the number of CUDA devices, at least one.
pub(super) fn count() -> Result<u32, DeviceError> {
    if let Some(reason) = cuda_loader::no_device_reason() {
        return Err(DeviceError::NoDevice { reason });
    }
    let device = || "the CUDA driver".to_owned();
    // SAFETY: no precondition.
    check(device, "cuInit", unsafe { driver::cuInit(0) })?;
    let mut count = 0;
    // SAFETY: the result may be written to.
    check(device, "cuDeviceGetCount", unsafe { driver::cuDeviceGetCount(&mut count) })?;
    Ok(count.max(0) as u32)
}

/// The device whose memory this address is in.
pub(super) fn of_address(address: u64) -> Result<&'static Cuda, DeviceError> {
    count()?;
    let mut ordinal: c_int = -1;
    // SAFETY: the attribute is a number of the result's size; of an address that is no device's the driver says so.
    let code =
        unsafe { driver::cuPointerGetAttribute((&raw mut ordinal).cast(), driver::CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL, address) };
    check(|| "the CUDA driver".to_owned(), "cuPointerGetAttribute", code)?;
    // An invalid ordinal finds no device.
    Cuda::get(ordinal as u32)
}

/// Why there is no CUDA device to use with these kernels.
pub(super) fn unusable_reason() -> Option<String> {
    match of_process(0) {
        Ok(_) => None,
        Err(DeviceError::NoDevice { reason }) => Some(reason),
        Err(error) => Some(error.to_string()),
    }
}

/// The CUDA device of one of a host's processes, which are numbered from 0, if all kernels can run there: each takes
/// another one, as far as there are enough. No other is opened.
pub(super) fn of_process(process: u32) -> Result<&'static Cuda, DeviceError> {
    let ordinal = process % count()?.max(1);
    // The driver takes longer to list attributes than some work takes.
    if let Some(cuda) = Cuda::opened(ordinal) {
        return check_image(&cuda.info).map(|()| cuda);
    }
    // Before a context is made for nothing.
    check_image(&Attributes::of(ordinal)?.info()?)?;
    Cuda::get(ordinal)
}

fn check_image(info: &DeviceInfo) -> Result<(), DeviceError> {
    let capability = capability(info);
    image::suiting(capability).map(drop).map_err(|images| no_image(info.name.clone(), capability, images))
}

fn no_image(device: String, capability: u32, images: &[(u32, &str)]) -> DeviceError {
    DeviceError::NoImage { device, capability, archs: images.iter().map(|(arch, _)| *arch).collect() }
}

/// A device's compute capability, times ten.
fn capability(info: &DeviceInfo) -> u32 {
    info.compute_capability.map_or(0, |(major, minor)| 10 * major + minor)
}

/// Makes an error of the result of `call`, if it is one.
#[inline]
fn check(device: impl FnOnce() -> String, call: &'static str, code: Code) -> Result<(), DeviceError> {
    if code == Code::SUCCESS { Ok(()) } else { Err(failure(device(), call, code)) }
}

#[cold]
fn failure(device: String, call: &'static str, code: Code) -> DeviceError {
    DeviceError::Driver { device, call, code: code.0, text: code.text() }
}

/// The device with this ordinal, whose attributes can be asked for without a context.
#[derive(Clone, Copy)]
struct Attributes {
    ordinal: u32,
    device: CUdevice,
}

impl Attributes {
    fn of(ordinal: u32) -> Result<Self, DeviceError> {
        let mut device = 0;
        // An ordinal that doesn't fit the driver's type becomes -1, and the driver finds no such
        // device.
        let number = c_int::try_from(ordinal).unwrap_or(-1);
        // SAFETY: the result may be written to.
        let code = unsafe { driver::cuDeviceGet(&mut device, number) };
        let found = Attributes { ordinal, device };
        found.check("cuDeviceGet", code).map(|()| found)
    }

    fn check(self, call: &'static str, code: Code) -> Result<(), DeviceError> {
        check(|| format!("CUDA device {}", self.ordinal), call, code)
    }

    fn get(self, attribute: c_int) -> Result<u32, DeviceError> {
        let mut value = 0;
        // SAFETY: the device is one of the driver's, and the result may be written to.
        let code = unsafe { driver::cuDeviceGetAttribute(&mut value, attribute, self.device) };
        self.check("cuDeviceGetAttribute", code)?;
        Ok(value.max(0) as u32)
    }

    fn extent(self, attributes: [c_int; 3]) -> Result<Dim3, DeviceError> {
        let [x, y, z] = attributes.map(|attribute| self.get(attribute));
        Ok(Dim3::new(x?, y?, z?))
    }

    fn name(self) -> Result<String, DeviceError> {
        const BYTES: usize = 256;
        let mut name = [0u8; BYTES];
        // SAFETY: as many bytes as are told may be written to, less the one that keeps a 0 behind the name.
        let code = unsafe { driver::cuDeviceGetName(name.as_mut_ptr().cast::<c_char>(), BYTES as c_int - 1, self.device) };
        self.check("cuDeviceGetName", code)?;
        Ok(CStr::from_bytes_until_nul(&name).map_or_else(|_| String::new(), |name| name.to_string_lossy().into_owned()))
    }

    fn total_memory(self) -> Result<usize, DeviceError> {
        let mut bytes = 0;
        // SAFETY: the result may be written to.
        self.check("cuDeviceTotalMem", unsafe { driver::cuDeviceTotalMem_v2(&mut bytes, self.device) })?;
        Ok(bytes)
    }

    /// Returns the device's properties.
    fn info(self) -> Result<DeviceInfo, DeviceError> {
        // Older drivers, and some devices, know one of the two only.
        let max_shared = match self.get(driver::device::MAX_SHARED_MEMORY_PER_BLOCK_OPTIN) {
            Ok(bytes @ 1..) => bytes,
            _ => self.get(driver::device::MAX_SHARED_MEMORY_PER_BLOCK)?,
        };
        Ok(DeviceInfo {
            name: self.name()?,
            backend: Backend::Cuda,
            compute_capability: Some((
                self.get(driver::device::COMPUTE_CAPABILITY_MAJOR)?,
                self.get(driver::device::COMPUTE_CAPABILITY_MINOR)?,
            )),
            multiprocessors: self.get(driver::device::MULTIPROCESSOR_COUNT)?,
            total_memory: self.total_memory()?,
            l2_bytes: self.get(driver::device::L2_CACHE_SIZE)? as usize,
            max_shared_per_block: max_shared as usize,
            max_threads_per_block: self.get(driver::device::MAX_THREADS_PER_BLOCK)?,
            max_threads_per_multiprocessor: self.get(driver::device::MAX_THREADS_PER_MULTIPROCESSOR)?,
            warp_size: self.get(driver::device::WARP_SIZE)?,
            // CUDA 13 took the clock's rate out of its header; the driver may answer with an error one day.
            clock_khz: self.get(driver::device::CLOCK_RATE).unwrap_or(0),
            driver_version: cuda_loader::load().ok().map(|driver| {
                let version = driver.version();
                (version.major, version.minor)
            }),
        })
    }
}

/// The devices by their ordinals, those that are open. There is a lock for each, so that several are opened side by side.
static DEVICES: OnceLock<Vec<Mutex<Option<&Cuda>>>> = OnceLock::new();

impl Cuda {
    /// The device with this ordinal, if it is open.
    fn opened(ordinal: u32) -> Option<&'static Self> {
        *DEVICES.get()?.get(ordinal as usize)?.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The device with this ordinal.
    pub(super) fn get(ordinal: u32) -> Result<&'static Self, DeviceError> {
        let devices = match DEVICES.get() {
            Some(devices) => devices,
            None => {
                let count = count()?;
                DEVICES.get_or_init(|| (0..count).map(|_| Mutex::default()).collect())
            }
        };
        let Some(device) = devices.get(ordinal as usize) else {
            let last = devices.len().saturating_sub(1);
            return Err(DeviceError::NoDevice {
                reason: format!("there is none with ordinal {ordinal}; they are numbered from 0 to {last}"),
            });
        };
        let mut device = device.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(cuda) = *device {
            return Ok(cuda);
        }
        let cuda: &'static Self = Box::leak(Box::new(Self::new(ordinal)?));
        Ok(device.insert(cuda))
    }

    fn new(ordinal: u32) -> Result<Self, DeviceError> {
        let device = Attributes::of(ordinal)?;
        let info = device.info()?;
        let limits = Limits {
            threads_per_block: info.max_threads_per_block,
            block: device.extent(driver::device::MAX_BLOCK_DIM)?,
            grid: device.extent(driver::device::MAX_GRID_DIM)?,
            shared: info.max_shared_per_block,
            capability: info.compute_capability,
        };
        let mut context = ptr::null_mut();
        // SAFETY: the device is one of the driver's, and the result may be written to.
        let code = unsafe { driver::cuDevicePrimaryCtxRetain(&mut context, device.device) };
        check(|| info.name.clone(), "cuDevicePrimaryCtxRetain", code)?;
        Ok(Cuda {
            ordinal,
            handle: device.device,
            info,
            limits,
            context: Context(context),
            loading: AtomicU64::new(0),
            modules: image::images().iter().map(|_| OnceLock::new()).collect(),
            preloaded: Mutex::default(),
            service: OnceLock::new(),
            faults: fault::Faults::default(),
            ledger: Ledger::default(),
            synchronous: std::env::var_os("WARPSMITH_SYNC").is_some_and(|value| value == "1"),
        })
    }

    pub(super) fn ordinal(&self) -> u32 {
        self.ordinal
    }

    pub(super) fn info(&self) -> &DeviceInfo {
        &self.info
    }

    /// Makes the device's context current on this thread, for as long as the result lives.
    #[inline]
    fn enter(&self) -> Result<Entered, DeviceError> {
        let mut before = ptr::null_mut();
        // SAFETY: the result may be written to.
        self.check("cuCtxGetCurrent", unsafe { driver::cuCtxGetCurrent(&mut before) })?;
        if before == self.context.0 {
            return Ok(Entered { before: ptr::null_mut() });
        }
        // SAFETY: the context is never destroyed.
        self.check("cuCtxSetCurrent", unsafe { driver::cuCtxSetCurrent(self.context.0) })?;
        Ok(Entered { before })
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
        failure(self.to_string(), call, code)
    }

    /// Free and total memory.
    pub(super) fn memory(&self) -> Result<MemoryInfo, DeviceError> {
        let _entered = self.enter()?;
        let mut memory = MemoryInfo { free: 0, total: 0 };
        // SAFETY: both results may be written to.
        self.check("cuMemGetInfo", unsafe { driver::cuMemGetInfo_v2(&mut memory.free, &mut memory.total) })?;
        Ok(memory)
    }

    /// Sets the size of the kernels' heap.
    pub(super) fn set_heap_size(&self, bytes: usize) -> Result<(), DeviceError> {
        let _entered = self.enter()?;
        // SAFETY: the context is current.
        self.check("cuCtxSetLimit", unsafe { driver::cuCtxSetLimit(driver::CU_LIMIT_MALLOC_HEAP_SIZE, bytes) })
    }

    /// Lets this device access the other's memory, if it can; whether it can.
    pub(super) fn enable_peer_access(&self, other: &Self) -> Result<bool, DeviceError> {
        if self.ordinal == other.ordinal {
            return Ok(true);
        }
        let mut can = 0;
        // SAFETY: both devices are the driver's, and the result may be written to.
        let code = unsafe { driver::cuDeviceCanAccessPeer(&mut can, self.handle, other.handle) };
        self.check("cuDeviceCanAccessPeer", code)?;
        if can == 0 {
            return Ok(false);
        }
        let _entered = self.enter()?;
        // SAFETY: the other context is never destroyed.
        match unsafe { driver::cuCtxEnablePeerAccess(other.context.0, 0) } {
            Code::PEER_ACCESS_ALREADY_ENABLED => Ok(true),
            code => self.check("cuCtxEnablePeerAccess", code).map(|()| true),
        }
    }

    /// Waits for all work on the device.
    pub(super) fn synchronize(&self) -> Result<(), DeviceError> {
        let _entered = self.enter()?;
        // SAFETY: no precondition.
        self.check("cuCtxSynchronize", unsafe { driver::cuCtxSynchronize() })
    }

    /// Waits for the legacy default stream.
    pub(super) fn synchronize_default(&self) -> Result<(), DeviceError> {
        let _entered = self.enter()?;
        let legacy = std::ptr::without_provenance_mut(driver::CU_STREAM_LEGACY);
        // SAFETY: each context has this stream as long as it lives.
        self.check("cuStreamSynchronize", unsafe { driver::cuStreamSynchronize(legacy) })
    }

    /// The stream for transfers that belong to no stream of the caller's.
    pub(super) fn service(&'static self) -> Result<&'static CudaStream, DeviceError> {
        if let Some(stream) = self.service.get() {
            return Ok(stream);
        }
        let stream = CudaStream::new(self)?;
        Ok(self.service.get_or_init(|| stream))
    }

    /// The image with this number, loaded.
    pub(super) fn module(&'static self, image: usize) -> Result<&'static CudaModule, DeviceError> {
        let load = || {
            let start = Instant::now();
            let module = self.load(image);
            self.count_loading(start);
            module
        };
        self.modules[image].get_or_init(load).as_ref().map_err(Clone::clone)
    }

    /// Loads the kernels' images, on all cores. An error is that of the first launch.
    pub(super) fn preload(&'static self, kernels: &[&'static KernelInfo]) {
        let mut preloaded = self.preloaded.lock().unwrap_or_else(PoisonError::into_inner);
        let number = |kernel: &&'static KernelInfo| {
            let address = ptr::from_ref(*kernel).addr();
            *preloaded.entry(address).or_insert_with(|| image::having(kernel).ok())
        };
        let images: BTreeSet<usize> =
            kernels.iter().filter_map(number).filter(|&image| self.modules[image].get().is_none()).collect();
        drop(preloaded);
        if images.is_empty() || driver::Libraries::get().is_none() {
            return;
        }
        let start = Instant::now();
        let (images, next) = (Vec::from_iter(images), AtomicUsize::new(0));
        let load = || {
            while let Some(&image) = images.get(next.fetch_add(1, Ordering::Relaxed)) {
                // Another thread's is waited for.
                _ = self.modules[image].get_or_init(|| self.load(image));
            }
        };
        let cores = threads::count().unwrap_or(1);
        thread::scope(|scope| {
            // With fewer threads it takes longer.
            for number in 1..cores.min(images.len()) {
                _ = threads::spawn(scope, format!("load-{number}"), load);
            }
            load();
        });
        self.count_loading(start);
    }

    fn load(&'static self, image: usize) -> Result<CudaModule, DeviceError> {
        CudaModule::load(self, &image::images()[image].1)
    }

    fn count_loading(&self, start: Instant) {
        self.loading.fetch_add(start.elapsed().as_nanos() as u64, Ordering::Relaxed);
    }

    /// Returns the time that loading images has taken.
    pub(super) fn compile_time(&self) -> Duration {
        Duration::from_nanos(self.loading.load(Ordering::Relaxed))
    }

    /// Returns the architecture of the images it uses.
    pub(super) fn image(&self) -> Option<u32> {
        image::suiting(capability(&self.info)).ok().flatten()
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
