//! Streams.

use super::driver::{self, CUstream, Code};
use super::fault::Recent;
use super::{Cuda, CudaEvent, CudaModule, DeviceError};
use crate::launch::{Dim3, LaunchConfig, refused};
use cuda_std::launch::{Arguments, KernelInfo};
use std::ffi::c_void;
use std::ptr;
use std::sync::{Arc, Mutex, PoisonError};

/// Number of argument words passed without an allocation.
const FEW_WORDS: usize = 24;

/// A driver's stream that doesn't wait for the legacy default stream, destroyed when dropped.
#[derive(Debug)]
pub(in super::super) struct CudaStream {
    pub(super) cuda: &'static Cuda,
    pub(super) raw: CUstream,
    pub(super) recent: Arc<Recent>,
    /// For a captured stream, the kernels launched on it, each once. Its work doesn't run by
    /// itself.
    captured: Option<Mutex<Vec<&'static str>>>,
}

// SAFETY: the driver's functions for streams may be called from any thread with the context
// current.
unsafe impl Send for CudaStream {}
// SAFETY: the driver's functions for streams may be called from several threads at the same time, in no order that
// could be relied on.
unsafe impl Sync for CudaStream {}

impl CudaStream {
    pub(in super::super) fn new(cuda: &'static Cuda) -> Result<Self, DeviceError> {
        let _entered = cuda.enter()?;
        let mut raw = ptr::null_mut();
        // SAFETY: the result may be written to.
        cuda.check("cuStreamCreate", unsafe { driver::cuStreamCreate(&mut raw, driver::CU_STREAM_NON_BLOCKING) })?;
        Ok(CudaStream { cuda, raw, recent: cuda.faults.register(), captured: None })
    }

    pub(in super::super) fn cuda(&self) -> &'static Cuda {
        self.cuda
    }

    /// A stream that is to be captured.
    pub(in super::super) fn for_capture(cuda: &'static Cuda) -> Result<Self, DeviceError> {
        let mut stream = Self::new(cuda)?;
        stream.captured = Some(Mutex::default());
        Ok(stream)
    }

    /// Returns true if its work goes into a graph.
    pub(in super::super) fn is_captured(&self) -> bool {
        self.captured.is_some()
    }

    /// The kernels that were launched on it while it was captured.
    pub(super) fn take_captured(&self) -> Vec<&'static str> {
        let names = self.captured.as_ref().map(|names| names.lock().unwrap_or_else(PoisonError::into_inner));
        names.map_or_else(Vec::new, |mut names| std::mem::take(&mut *names))
    }

    /// Enqueues a kernel of `module`, whose arguments and configuration have been checked.
    ///
    /// # Safety
    /// `module` was built from the source of `kernel`, and these are its arguments: pointers among them are to memory
    /// of this device.
    pub(in super::super) unsafe fn launch(
        &self,
        module: &CudaModule,
        kernel: &'static KernelInfo,
        arguments: &Arguments,
        config: &LaunchConfig,
    ) -> Result<(), DeviceError> {
        let _entered = self.cuda.enter()?;
        let function = module.function(kernel)?;
        function.prepare(self.cuda, kernel, config)?;
        let words = arguments.words().len();
        if kernel.contract.cooperative {
            let together =
                u64::from(module.occupancy(kernel, config.block, config.shared)?) * u64::from(self.cuda.info.multiprocessors);
            let blocks = config.grid.count();
            if blocks > together {
                return Err(refused(kernel, format!("its {blocks} blocks wait for each other, and {together} run at once")));
            }
        }

        let mut few = [ptr::null_mut::<c_void>(); FEW_WORDS];
        let mut many = Vec::new();
        let pointers = if words <= FEW_WORDS {
            &mut few[..words]
        } else {
            many.resize(words, ptr::null_mut());
            &mut many[..]
        };
        for (pointer, word) in pointers.iter_mut().zip(arguments.words()) {
            *pointer = ptr::from_ref(word).cast_mut().cast();
        }

        // The note comes first: another thread may be the one that sees the kernel fail.
        let name = kernel.name();
        let new = self.captured.is_none() && self.recent.note(name);
        let LaunchConfig { grid, block, shared } = *config;
        let (function_raw, stream, pointers) = (function.raw, self.raw, pointers.as_mut_ptr());
        let (Dim3 { x, y, z }, bytes) = (block, shared as u32);
        // SAFETY: function and stream are of this context. By this function's contract, the arguments are the kernel's, one
        // for each parameter. Each pointer is to 8 bytes, which the driver copies before it returns.
        let (called, code) = unsafe {
            if kernel.contract.cooperative {
                let launch = driver::cuLaunchCooperativeKernel;
                ("cuLaunchCooperativeKernel", launch(function_raw, grid.x, grid.y, grid.z, x, y, z, bytes, stream, pointers))
            } else {
                let (launch, extra) = (driver::cuLaunchKernel, ptr::null_mut());
                ("cuLaunchKernel", launch(function_raw, grid.x, grid.y, grid.z, x, y, z, bytes, stream, pointers, extra))
            }
        };
        if code == Code::SUCCESS {
            if let Some(captured) = &self.captured {
                let mut captured = captured.lock().unwrap_or_else(PoisonError::into_inner);
                if !captured.contains(&name) {
                    captured.push(name);
                }
                return Ok(());
            }
            return if self.cuda.synchronous { self.synchronize() } else { Ok(()) };
        }
        if new {
            self.recent.take_back(name);
        }
        if code.is_sticky() || code == Code::INVALID_CONTEXT {
            return Err(self.cuda.error(called, code));
        }
        let more = match code {
            Code::LAUNCH_OUT_OF_RESOURCES => format!("; {} on {grid} blocks of {block} threads", function.describe()),
            _ => String::new(),
        };
        Err(refused(kernel, format!("{} says: {}{more}", self.cuda, code.text())))
    }

    /// Enqueues a copy of `bytes` from the host.
    ///
    /// # Safety
    /// Both ranges are live memory, `to` of this device. `from` stays as it is until the copy is done.
    pub(in super::super) unsafe fn copy_from_host(&self, to: u64, from: *const u8, bytes: usize) -> Result<(), DeviceError> {
        let _entered = self.cuda.enter()?;
        // SAFETY: both ranges are live, and `from` stays as it is until the copy is done (this function's contract).
        self.cuda.check("cuMemcpyHtoDAsync", unsafe { driver::cuMemcpyHtoDAsync_v2(to, from.cast(), bytes, self.raw) })
    }

    /// Copies `bytes` from the host, and waits. After an error of the call the copy may be under way all the same.
    ///
    /// # Safety
    /// Both ranges are live memory, `to` of this device.
    pub(in super::super) unsafe fn upload(&self, to: u64, from: *const u8, bytes: usize) -> Result<(), DeviceError> {
        // SAFETY: both ranges are live (this function's contract), until the copy is done.
        let copied = unsafe { self.copy_from_host(to, from, bytes) };
        let done = self.synchronize();
        copied.and(done)
    }

    /// Enqueues a copy of `bytes` to the host.
    ///
    /// # Safety
    /// Both ranges are live memory, `from` of this device. Nobody accesses `to` until the copy is done.
    pub(in super::super) unsafe fn copy_to_host(&self, to: *mut u8, from: u64, bytes: usize) -> Result<(), DeviceError> {
        let _entered = self.cuda.enter()?;
        // SAFETY: both ranges are live, and nobody accesses `to` until the copy is done (this function's contract).
        self.cuda.check("cuMemcpyDtoHAsync", unsafe { driver::cuMemcpyDtoHAsync_v2(to.cast(), from, bytes, self.raw) })
    }

    /// Enqueues a copy of `bytes` within the device, or between its memory, that of others, and memory of the host that
    /// it sees.
    ///
    /// # Safety
    /// Both ranges are live memory of this process's devices, or mapped for this one.
    pub(in super::super) unsafe fn copy(&self, to: u64, from: u64, bytes: usize) -> Result<(), DeviceError> {
        let _entered = self.cuda.enter()?;
        // SAFETY: both ranges are live memory of this process's devices, or mapped for this one (this function's
        // contract).
        self.cuda.check("cuMemcpyAsync", unsafe { driver::cuMemcpyAsync(to, from, bytes, self.raw) })
    }

    /// Enqueues a fill with `n` repetitions of the `width` low bytes (1, 2 or 4) of `pattern`.
    ///
    /// # Safety
    /// As many bytes from `to` on are live memory of this device, and `to` is aligned to `width`.
    pub(in super::super) unsafe fn fill(&self, to: u64, pattern: u32, width: usize, n: usize) -> Result<(), DeviceError> {
        let _entered = self.cuda.enter()?;
        // SAFETY: the range is live memory of this device, aligned to `width` (this function's contract).
        let code = unsafe {
            match width {
                1 => driver::cuMemsetD8Async(to, pattern as u8, n, self.raw),
                2 => driver::cuMemsetD16Async(to, pattern as u16, n, self.raw),
                _ => driver::cuMemsetD32Async(to, pattern, n, self.raw),
            }
        };
        self.cuda.check("cuMemsetAsync", code)
    }

    /// Records `event`, which is of the same device, behind all that was enqueued so far.
    pub(in super::super) fn record(&self, event: &CudaEvent) -> Result<(), DeviceError> {
        let _entered = self.cuda.enter()?;
        // SAFETY: both live, and are of one context.
        self.cuda.check("cuEventRecord", unsafe { driver::cuEventRecord(event.raw, self.raw) })
    }

    /// Lets all that is enqueued from now on wait for `event`, of whatever device.
    pub(in super::super) fn wait(&self, event: &CudaEvent) -> Result<(), DeviceError> {
        let _entered = self.cuda.enter()?;
        // SAFETY: both live; an event may be of another context.
        self.cuda.check("cuStreamWaitEvent", unsafe { driver::cuStreamWaitEvent(self.raw, event.raw, 0) })
    }

    /// The driver's name for it.
    pub(in super::super) fn handle(&self) -> u64 {
        self.raw as u64
    }

    /// Makes all later work wait for the work enqueued so far on another library's stream.
    ///
    /// # Safety
    /// The handle is of a live stream of the same device.
    pub(in super::super) unsafe fn wait_for_handle(&self, handle: u64) -> Result<(), DeviceError> {
        let event = CudaEvent::new(self.cuda, false)?;
        let _entered = self.cuda.enter()?;
        let other = ptr::with_exposed_provenance_mut::<c_void>(handle as usize).cast();
        // SAFETY: event and stream live, and are of one device (this function's contract).
        self.cuda.check("cuEventRecord", unsafe { driver::cuEventRecord(event.raw, other) })?;
        self.wait(&event)
    }

    pub(in super::super) fn synchronize(&self) -> Result<(), DeviceError> {
        let _entered = self.cuda.enter()?;
        // SAFETY: the stream lives.
        let code = self.recent.while_waiting(|| unsafe { driver::cuStreamSynchronize(self.raw) });
        self.cuda.check("cuStreamSynchronize", code)
    }

    pub(in super::super) fn is_done(&self) -> Result<bool, DeviceError> {
        let _entered = self.cuda.enter()?;
        // SAFETY: the stream lives.
        match unsafe { driver::cuStreamQuery(self.raw) } {
            Code::NOT_READY => Ok(false),
            code => self.cuda.check("cuStreamQuery", code).map(|()| true),
        }
    }
}

impl Drop for CudaStream {
    fn drop(&mut self) {
        let _entered = self.cuda.enter();
        // SAFETY: the stream lives until here. The driver finishes enqueued work before it frees
        // the stream.
        unsafe {
            if self.captured.is_none() && driver::cuStreamQuery(self.raw) != Code::SUCCESS {
                self.cuda.faults.keep(&self.recent);
            }
            _ = driver::cuStreamDestroy_v2(self.raw);
        }
    }
}
