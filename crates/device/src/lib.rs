//! One face for CUDA devices and the CPU: memory, streams, events and typed launches.
//!
//! A [`Device`] is an NVIDIA GPU or the CPU, where the [`simt`] executor runs the same kernels. Code
//! that is written against this module runs on either: [`Device::best`] takes a GPU where there is one.
//!
//! ```
//! use gpu_kernels::samples;
//! use warpsmith::device::{Device, DeviceError};
//! use warpsmith::launch;
//!
//! let device = Device::best()?;
//! let stream = device.stream()?;
//! let x = device.upload(&[1.0f32, 2.0, 3.0])?;
//! let mut y = device.upload(&[10.0f32, 20.0, 30.0])?;
//! launch!(stream, samples::saxpy<<<1, 32>>>(2.0, &x, &mut y))?;
//! assert_eq!(stream.download_vec(&y)?, [12.0, 24.0, 36.0]);
//! # Ok::<(), DeviceError>(())
//! ```
//!
//! Differences between the two:
//! - On a GPU a stream's work goes on while the host does something else; on the CPU it is done when the call returns.
//! - A GPU reports a kernel's fault at a later call, as [`DeviceError::Fault`]; the device can't be
//!   used any more. On the CPU the launch itself fails, with a [`DeviceError::Simt`] that names the
//!   thread and the place in the source.
//! - New memory holds anything at all on a GPU, and zeroes on the CPU.
//!
//! # Environment
//! - `WARPSMITH_BACKEND`: `cuda` or `cpu`, for [`Device::best`].
//! - `WARPSMITH_THREADS`: how many worker threads [`Device::cpu`] has ([`threads`]).
//! - `WARPSMITH_SYNC=1`: every launch on a GPU is waited for, so that a fault names its kernel.
//!
//! # Threads
//! All types here may be used from any thread. Several GPUs are best driven by a thread each.

mod buffer;
#[cfg(simt_check)]
mod checked;
mod cpu;
mod cuda;
mod error;
mod event;
mod graph;
mod image;
mod info;
mod launch;
mod mapped;
pub mod memory;
mod order;
mod param;
mod pinned;
mod stream;
mod tensor;
pub mod threads;

pub use buffer::{Buffer, View, ViewMut};
pub use cuda_std::DeviceCopy;
pub use cuda_std::launch::Rows;
pub use error::{Bytes, DeviceError};
pub use event::Event;
pub use graph::Graph;
pub use image::{KernelModule, PtxImage, kernel_modules};
pub use info::{Backend, DeviceInfo, KernelAttributes, MemoryInfo};
pub use launch::{Dim3, LaunchConfig};
pub use mapped::MappedBuffer;
pub use pinned::{Pending, PinnedBuffer};
pub use simt::Stop;
pub use stream::Stream;
pub use tensor::{TensorLayout, TensorMap};

#[doc(hidden)]
pub use cuda_std_macros::launch as __launch;
/// Expansion of [`kernel_module!`].
#[doc(hidden)]
pub mod __private {
    pub use inventory;
}

use bytemuck::{AnyBitPattern, Pod, Zeroable};
use cpu::Cpu;
use cuda::{Cuda, CudaModule};
use cuda_std::constant::Constant;
use cuda_std::launch::{KernelInfo, Location};
use std::fmt;
use std::ops::Range;
use std::panic::resume_unwind;
use std::sync::{Arc, OnceLock};
use std::thread::{self, ScopedJoinHandle};
use std::time::Duration;

/// Launches a kernel on a stream: `launch!(stream, module::kernel<<<grid, block>>>(arguments))`, and with dynamic
/// shared memory `<<<grid, block, bytes>>>`.
///
/// It stands for `stream.launch(module::kernel::bind(LaunchConfig::new(grid, block).shared(bytes), arguments))` and so
/// gives what [`Stream::launch`](Stream::launch) does, a `Result<(), DeviceError>`. Grid and block are
/// each a `u32`, `(u32, u32)`, `(u32, u32, u32)` or [`Dim3`](Dim3). A kernel that is `unsafe` makes the
/// launch `unsafe`.
///
/// Buffers and views are passed by `&` for `&[T]`, `&T` and `*const T`, by `&mut` for `*mut T` and `DisjointSlice<T>`;
/// scalars have exactly the parameter's type.
///
/// ```
/// # use gpu_kernels::samples;
/// # use warpsmith::{device::{Device, DeviceError}, launch};
/// # let device = Device::best()?;
/// # let stream = device.stream()?;
/// let x = device.upload(&[1.0f32, 2.0])?;
/// let mut y = device.upload(&[3.0f32, 4.0])?;
/// launch!(stream, samples::saxpy<<<1, 32>>>(10.0, &x, &mut y))?;
/// assert_eq!(stream.download_vec(&y)?, [13.0, 24.0]);
///
/// let mut values = device.upload(&[1u32, 2, 3, 4])?;
/// // SAFETY: there are as many elements as threads, and 4 bytes of shared memory for each thread of a block.
/// unsafe { launch!(stream, samples::reverse_blocks<<<2, 2, 2 * 4>>>(&mut values))? };
/// assert_eq!(stream.download_vec(&values)?, [2, 1, 4, 3]);
/// # Ok::<(), DeviceError>(())
/// ```
///
/// An argument too few or too many doesn't compile:
/// ```compile_fail,E0061
/// # use gpu_kernels::samples;
/// # use warpsmith::{device::{Device, DeviceError}, launch};
/// # let device = Device::best()?;
/// # let stream = device.stream()?;
/// # let x = device.upload(&[1.0f32, 2.0])?;
/// # let mut y = device.upload(&[3.0f32, 4.0])?;
/// launch!(stream, samples::saxpy<<<1, 32>>>(&x, &mut y))?;
/// # Ok::<(), DeviceError>(())
/// ```
/// Nor does a scalar or a buffer of another type:
/// ```compile_fail,E0277
/// # use gpu_kernels::samples;
/// # use warpsmith::{device::{Device, DeviceError}, launch};
/// # let device = Device::best()?;
/// # let stream = device.stream()?;
/// # let x = device.upload(&[1.0f32, 2.0])?;
/// # let mut y = device.upload(&[3.0f32, 4.0])?;
/// launch!(stream, samples::saxpy<<<1, 32>>>(10u32, &x, &mut y))?;
/// # Ok::<(), DeviceError>(())
/// ```
/// ```compile_fail,E0277
/// # use gpu_kernels::samples;
/// # use warpsmith::{device::{Device, DeviceError}, launch};
/// # let device = Device::best()?;
/// # let stream = device.stream()?;
/// # let mut y = device.upload(&[3.0f32, 4.0])?;
/// let x = device.upload(&[1.0f64, 2.0])?;
/// launch!(stream, samples::saxpy<<<1, 32>>>(10.0, &x, &mut y))?;
/// # Ok::<(), DeviceError>(())
/// ```
/// Nor does an output that is only borrowed to read, or one that is an input as well:
/// ```compile_fail,E0277
/// # use gpu_kernels::samples;
/// # use warpsmith::{device::{Device, DeviceError}, launch};
/// # let device = Device::best()?;
/// # let stream = device.stream()?;
/// # let x = device.upload(&[1.0f32, 2.0])?;
/// # let mut y = device.upload(&[3.0f32, 4.0])?;
/// launch!(stream, samples::saxpy<<<1, 32>>>(10.0, &x, &y))?;
/// # Ok::<(), DeviceError>(())
/// ```
/// ```compile_fail,E0502
/// # use gpu_kernels::samples;
/// # use warpsmith::{device::{Device, DeviceError}, launch};
/// # let device = Device::best()?;
/// # let stream = device.stream()?;
/// # let mut y = device.upload(&[3.0f32, 4.0])?;
/// launch!(stream, samples::saxpy<<<1, 32>>>(10.0, &y, &mut y))?;
/// # Ok::<(), DeviceError>(())
/// ```
/// Nor does an `unsafe` kernel outside `unsafe`:
/// ```compile_fail,E0133
/// # use gpu_kernels::samples;
/// # use warpsmith::{device::{Device, DeviceError}, launch};
/// # let device = Device::best()?;
/// # let stream = device.stream()?;
/// let mut values = device.upload(&[1u32, 2, 3, 4])?;
/// launch!(stream, samples::reverse_blocks<<<2, 2, 2 * 4>>>(&mut values))?;
/// # Ok::<(), DeviceError>(())
/// ```
#[macro_export]
macro_rules! launch {
    ($($tokens:tt)*) => {
        $crate::__launch!(($crate) $($tokens)*)
    };
}

/// A GPU, or the CPU in its place. As cheap to clone as a reference.
///
/// A GPU is opened once in a process, and stays open until it ends.
#[derive(Clone)]
pub struct Device {
    inner: Inner,
}

#[derive(Clone)]
enum Inner {
    Cuda(&'static Cuda),
    Cpu(Arc<Cpu>),
}

/// Why no CUDA device can be used, as a sentence that says what to do; `None` where one can.
pub fn no_cuda_reason() -> Option<String> {
    cuda::unusable_reason()
}

impl Device {
    /// The first CUDA device where one can be used, and else the CPU; or what `WARPSMITH_BACKEND` (`cuda` or `cpu`)
    /// says.
    ///
    /// # Errors
    /// [`DeviceError::NoDevice`] and the like if it is `cuda` and there is no GPU,
    /// [`DeviceError::InvalidBackend`] if it is neither `cuda` nor `cpu`; on the CPU
    /// [`DeviceError::Threads`] if `WARPSMITH_THREADS` isn't a number of threads.
    pub fn best() -> Result<Self, DeviceError> {
        Self::of_process(0, Backend::wished()?)
    }

    /// As [`best`](Self::best), for one of several processes of a host, which are numbered from 0: each takes another
    /// CUDA device, as far as there are enough, and opens no other. A `backend` is what [`best`](Self::best) has from
    /// `WARPSMITH_BACKEND`.
    ///
    /// # Errors
    /// As [`best`](Self::best).
    pub fn of_process(process: u32, backend: Option<Backend>) -> Result<Self, DeviceError> {
        let cpu = || threads::count().map(|_| Self::cpu()).map_err(DeviceError::from);
        match backend {
            None => cuda::of_process(process).map_or_else(|_| cpu(), |cuda| Ok(Self::of_cuda(cuda))),
            Some(Backend::Cuda) => cuda::of_process(process).map(Self::of_cuda),
            Some(Backend::Cpu) => cpu(),
        }
    }

    fn of_cuda(cuda: &'static Cuda) -> Self {
        Device { inner: Inner::Cuda(cuda) }
    }

    /// The CUDA device with this ordinal: they are numbered from 0.
    ///
    /// # Errors
    /// [`DeviceError::NoDevice`] if it doesn't exist.
    pub fn cuda(ordinal: u32) -> Result<Self, DeviceError> {
        Cuda::get(ordinal).map(Self::of_cuda)
    }

    /// Returns the number of CUDA devices without opening any.
    ///
    /// # Errors
    /// [`DeviceError::NoDevice`] if there is no CUDA device.
    pub fn count_cuda() -> Result<u32, DeviceError> {
        cuda::count()
    }

    /// All CUDA devices, by ordinal.
    ///
    /// # Errors
    /// [`DeviceError::NoDevice`] if there is no CUDA device.
    pub fn all_cuda() -> Result<Vec<Self>, DeviceError> {
        Self::several_cuda(0..Self::count_cuda()?).into_iter().collect()
    }

    /// Each of the CUDA devices with these ordinals, or why it can't be used. They are opened side by side.
    pub fn several_cuda(ordinals: Range<u32>) -> Vec<Result<Self, DeviceError>> {
        // The first by this thread.
        let others = ordinals.clone().skip(1);
        thread::scope(|scope| {
            let open = |ordinal| threads::spawn(scope, format!("open-{ordinal}"), move || Self::cuda(ordinal));
            let others: Vec<_> = others.map(open).collect();
            let first = ordinals.take(1).map(Self::cuda);
            let join = |opened: ScopedJoinHandle<'_, _>| opened.join().unwrap_or_else(|panic| resume_unwind(panic));
            first.chain(others.into_iter().map(|opened| opened.map_err(DeviceError::from).and_then(join))).collect()
        })
    }

    /// As [`best`](Self::best), but all of its kind: every CUDA device, or the CPU.
    ///
    /// # Errors
    /// As [`best`](Self::best).
    pub fn all() -> Result<Vec<Self>, DeviceError> {
        let best = Self::best()?;
        match best.backend() {
            Backend::Cuda => Self::all_cuda(),
            Backend::Cpu => Ok(vec![best]),
        }
    }

    /// The CPU, with as many worker threads as [`threads::count`] says; where that is an error, one for each core that
    /// the process may use.
    pub fn cpu() -> Self {
        static CPU: OnceLock<Device> = OnceLock::new();
        let executor = || threads::count().map_or_else(|_| simt::Executor::default(), simt::Executor::new);
        CPU.get_or_init(|| Self::cpu_with(executor())).clone()
    }

    /// The CPU with another executor, such as one that runs threads in a random order.
    pub fn cpu_with(executor: simt::Executor) -> Self {
        Device { inner: Inner::Cpu(Arc::new(Cpu::new(executor))) }
    }

    /// The same device for work that may end early: on the CPU, launches then fail with [`simt::SimtError::Stopped`].
    /// On a GPU nothing changes. Buffers of the one and streams of the other don't go together.
    pub fn stopped_by(&self, stop: Stop) -> Self {
        match &self.inner {
            Inner::Cuda(_) => self.clone(),
            Inner::Cpu(cpu) => Self::cpu_with(cpu.executor.clone().stopped_by(stop)),
        }
    }

    /// The CUDA device whose memory this address is in.
    ///
    /// # Errors
    /// [`DeviceError::Driver`] where it is in none's.
    pub fn of_address(address: u64) -> Result<Self, DeviceError> {
        cuda::of_address(address).map(Self::of_cuda)
    }

    /// A CUDA device's number, from 0; `None` of the CPU.
    pub fn ordinal(&self) -> Option<u32> {
        match &self.inner {
            Inner::Cuda(cuda) => Some(cuda.ordinal()),
            Inner::Cpu(_) => None,
        }
    }

    /// Returns the kind of device.
    pub fn backend(&self) -> Backend {
        match &self.inner {
            Inner::Cuda(_) => Backend::Cuda,
            Inner::Cpu(_) => Backend::Cpu,
        }
    }

    /// The GPU's name, or the processor's.
    pub fn name(&self) -> &str {
        &self.info().name
    }

    /// Facts about the device that don't change.
    pub fn info(&self) -> &DeviceInfo {
        match &self.inner {
            Inner::Cuda(cuda) => cuda.info(),
            Inner::Cpu(cpu) => cpu.info(),
        }
    }

    /// The device's memory now.
    pub fn memory(&self) -> Result<MemoryInfo, DeviceError> {
        match &self.inner {
            Inner::Cuda(cuda) => cuda.memory(),
            Inner::Cpu(_) => Ok(memory::memory()),
        }
    }

    /// A buffer of `len` elements of unspecified contents.
    ///
    /// On the CPU they are zero, and memory is used only as it is touched. Any bytes have to be a value of the type:
    /// elements of others are [uploaded](Self::upload) or [zeroed](Self::alloc_zeroed).
    ///
    /// # Errors
    /// [`DeviceError::OutOfMemory`].
    pub fn alloc<T: DeviceCopy + AnyBitPattern>(&self, len: usize) -> Result<Buffer<T>, DeviceError> {
        Buffer::new(self, len)
    }

    /// An array of `len` zeroed elements in page-locked memory of the host.
    ///
    /// # Errors
    /// [`DeviceError::OutOfMemory`].
    pub fn pinned<T: DeviceCopy + Zeroable>(&self, len: usize) -> Result<PinnedBuffer<T>, DeviceError> {
        PinnedBuffer::new(self, len)
    }

    /// An array of `len` zeroed elements in memory of the host that kernels of this device read and write in place.
    ///
    /// # Errors
    /// [`DeviceError::OutOfMemory`].
    pub fn mapped<T: DeviceCopy + Zeroable>(&self, len: usize) -> Result<MappedBuffer<T>, DeviceError> {
        MappedBuffer::new(self, len)
    }

    /// A stream.
    pub fn stream(&self) -> Result<Stream, DeviceError> {
        Stream::new(self)
    }

    /// An event that has not been recorded.
    pub fn event(&self) -> Result<Event, DeviceError> {
        Event::new(self, true)
    }

    /// An event that has not been recorded, and that has no time: [`Event::elapsed_ms`] fails. It is cheaper to record
    /// and to wait for.
    pub fn untimed_event(&self) -> Result<Event, DeviceError> {
        Event::new(self, false)
    }

    /// Lets this device access the memory of `other`, if it can: whether it can. Copies between the two
    /// ([`Stream::copy_bytes`]) then go straight from one to the other, and else by way of the host. Once in a process
    /// is enough.
    ///
    /// # Errors
    /// What the driver says.
    pub fn enable_peer_access(&self, other: &Self) -> Result<bool, DeviceError> {
        match (&self.inner, &other.inner) {
            (Inner::Cuda(cuda), Inner::Cuda(other)) => cuda.enable_peer_access(other),
            (Inner::Cpu(_), Inner::Cpu(_)) => Ok(true),
            _ => Ok(false),
        }
    }

    /// Waits until all streams are done.
    ///
    /// # Errors
    /// [`DeviceError::Fault`] where a kernel went wrong.
    pub fn synchronize(&self) -> Result<(), DeviceError> {
        match &self.inner {
            Inner::Cuda(cuda) => cuda.synchronize(),
            Inner::Cpu(_) => Ok(()),
        }
    }

    /// Waits for all work on the legacy default stream, whose handle is 1. Other libraries enqueue work there, or let
    /// it wait for theirs; streams of this library are independent of it.
    ///
    /// # Errors
    /// [`DeviceError::Fault`] if a kernel went wrong.
    pub fn synchronize_default(&self) -> Result<(), DeviceError> {
        match &self.inner {
            Inner::Cuda(cuda) => cuda.synchronize_default(),
            Inner::Cpu(_) => Ok(()),
        }
    }

    /// The compute capability, times ten, of the PTX images that this device uses, such as 75 or 80: the highest if
    /// [modules](kernel_module!) differ. `None` on the CPU, and if a module has no image for the GPU.
    pub fn image(&self) -> Option<u32> {
        match &self.inner {
            Inner::Cuda(cuda) => cuda.image(),
            Inner::Cpu(_) => None,
        }
    }

    /// Fills a constant with as many values as it has, there when this returns.
    ///
    /// On a GPU that is the device's own; on the CPU the one of the process, whatever the device. Its elements are `Pod`:
    /// it is copied as bytes, to a variable whose type in the device's build nothing compares.
    ///
    /// # Safety
    /// No kernel that reads it is running on the device, also not on a stream that nobody has waited for, nor does a
    /// reference to the values live on in the host.
    ///
    /// # Errors
    /// [`DeviceError::LengthMismatch`], and [`DeviceError::Constant`] where the program has no PTX with it.
    pub unsafe fn set_constant<T: Pod, const N: usize>(
        &self,
        constant: &'static Constant<T, N>,
        values: &[T],
    ) -> Result<(), DeviceError> {
        let Ok(values) = <&[T; N]>::try_from(values) else {
            return Err(DeviceError::LengthMismatch { what: "the slice for a constant", found: values.len(), expected: N });
        };
        match &self.inner {
            Inner::Cuda(cuda) => {
                for image in image::with_constant(constant.origin(), constant.name())? {
                    let module = cuda.module(image)?;
                    // SAFETY: no kernel that reads the constant is running, by the contract of this function.
                    unsafe { module.set_constant(constant.name(), bytemuck::cast_slice(values))? };
                }
            }
            // SAFETY: nobody reads the constant meanwhile, by the contract of this function.
            Inner::Cpu(_) => unsafe { constant.store(values) },
        }
        Ok(())
    }

    /// Returns the number of blocks of `block` threads with `shared` bytes of dynamic shared memory
    /// that a multiprocessor holds at a time. CPU: one.
    ///
    /// # Errors
    /// [`DeviceError::LaunchFailed`] if such blocks can't be launched, or the program has
    /// no PTX of the kernel.
    pub fn occupancy(&self, kernel: &'static KernelInfo, block: impl Into<Dim3>, shared: usize) -> Result<u32, DeviceError> {
        self.module_of(kernel)?.map_or(Ok(1), |module| module.occupancy(kernel, block.into(), shared))
    }

    /// Returns the resources of a kernel as the driver compiled it.
    ///
    /// # Errors
    /// [`DeviceError::LaunchFailed`] if the program has no PTX of it.
    pub fn kernel_attributes(&self, kernel: &'static KernelInfo) -> Result<KernelAttributes, DeviceError> {
        self.module_of(kernel)?.map_or_else(|| Ok(KernelAttributes::of_cpu()), |module| module.attributes(kernel))
    }

    /// Loads kernels that will be launched soon, on as many threads as [`threads::count`] says. A kernel that is loaded costs
    /// next to nothing. A failure is the error of the kernel's first launch.
    ///
    /// Without it each kernel is loaded at its first launch. Unless the driver's cache has it, the driver then compiles its
    /// PTX, which takes 10 to 300 ms. Drivers before CUDA 12.0, or with `CUDA_MODULE_LOADING=EAGER`, compile one kernel at a
    /// time: with them, as on the CPU, this does nothing.
    pub fn preload(&self, kernels: &[&'static KernelInfo]) {
        if let Inner::Cuda(cuda) = &self.inner {
            cuda.preload(kernels);
        }
    }

    /// The loaded image with this kernel; none on the CPU.
    fn module_of(&self, kernel: &KernelInfo) -> Result<Option<&'static CudaModule>, DeviceError> {
        match &self.inner {
            Inner::Cuda(cuda) => cuda.module(image::having(kernel)?).map(Some),
            Inner::Cpu(_) => Ok(None),
        }
    }

    /// Sets the size of the heap that kernels allocate from (`cuda_std::device_heap!`), in bytes. It is 8 MiB otherwise.
    /// To be called before a kernel that allocates is launched, or asked about: afterwards the driver refuses. On the CPU
    /// kernels allocate from the program's heap, and this does nothing.
    ///
    /// # Errors
    /// [`DeviceError::Driver`] where the driver refuses.
    pub fn set_heap_size(&self, bytes: usize) -> Result<(), DeviceError> {
        match &self.inner {
            Inner::Cuda(cuda) => cuda.set_heap_size(bytes),
            Inner::Cpu(_) => Ok(()),
        }
    }

    /// Returns the time that this process has waited for the driver to compile the device's
    /// kernels, or to load them from its cache, before their first launches. CPU: zero.
    pub fn compile_time(&self) -> Duration {
        match &self.inner {
            Inner::Cuda(cuda) => cuda.compile_time(),
            Inner::Cpu(_) => Duration::ZERO,
        }
    }

    /// Returns the location of its buffers.
    fn location(&self) -> Location {
        match &self.inner {
            Inner::Cuda(cuda) => Location::Cuda(cuda.ordinal()),
            Inner::Cpu(_) => Location::Cpu,
        }
    }

    fn limits(&self) -> &launch::Limits {
        match &self.inner {
            Inner::Cuda(cuda) => &cuda.limits,
            Inner::Cpu(_) => &cpu::LIMITS,
        }
    }
}

/// `NVIDIA H200 (CUDA device 0)`, or `the CPU`.
impl fmt::Display for Device {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.inner {
            Inner::Cuda(cuda) => fmt::Display::fmt(cuda, f),
            Inner::Cpu(_) => f.write_str("the CPU"),
        }
    }
}

impl fmt::Debug for Device {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Device({self})")
    }
}
