//! The driver's functions, with results as the numbers that they are.
//!
//! A Rust enum for the result would be undefined behaviour: a driver that is newer than the enum returns other codes.

use std::ffi::{CStr, c_char, c_int, c_uchar, c_uint, c_ulonglong, c_ushort, c_void};
use std::{mem, ptr};

#[cfg(feature = "cust")]
pub(super) use cust::sys::{
    CUcontext, CUdevice, CUdeviceptr, CUevent, CUfunction, CUgraph, CUgraphExec, CUlinkState, CUmodule, CUstream,
};

/// `cust`'s types, for builds without it.
#[cfg(not(feature = "cust"))]
mod handles {
    /// A device's number.
    pub(crate) type CUdevice = std::ffi::c_int;
    /// An address in a device's memory.
    pub(crate) type CUdeviceptr = std::ffi::c_ulonglong;

    macro_rules! handles {
        ($($handle:ident: $object:ident,)*) => {$(
            /// An object of the driver's, known by its address only.
            pub(crate) enum $object {}
            pub(crate) type $handle = *mut $object;
        )*};
    }

    handles! {
        CUcontext: Context,
        CUevent: Event,
        CUfunction: Function,
        CUgraph: Graph,
        CUgraphExec: GraphExec,
        CUlinkState: LinkState,
        CUmodule: Module,
        CUstream: Stream,
    }
}
#[cfg(not(feature = "cust"))]
pub(super) use handles::*;

/// A driver function's result.
#[repr(transparent)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[must_use]
pub(super) struct Code(pub(super) c_uint);

impl Code {
    pub(super) const SUCCESS: Code = Code(0);
    pub(super) const OUT_OF_MEMORY: Code = Code(2);
    pub(super) const INVALID_CONTEXT: Code = Code(201);
    pub(super) const UNSUPPORTED_PTX_VERSION: Code = Code(222);
    pub(super) const NOT_FOUND: Code = Code(500);
    pub(super) const NOT_READY: Code = Code(600);
    pub(super) const LAUNCH_OUT_OF_RESOURCES: Code = Code(701);
    pub(super) const PEER_ACCESS_ALREADY_ENABLED: Code = Code(704);
    pub(super) const ILLEGAL_INSTRUCTION: Code = Code(715);
    pub(super) const LAUNCH_FAILED: Code = Code(719);

    /// Returns true if the context answers every later call with this code, too.
    pub(super) fn is_sticky(self) -> bool {
        // Uncorrectable memory and link errors, contained ones, illegal address, timeout, a destroyed context, assert,
        // hardware stack error, illegal instruction, misaligned address, invalid address space, invalid program
        // counter, launch failure.
        matches!(self.0, 214 | 220 | 226 | 227 | 700 | 702 | 709 | 710 | 714..=719)
    }

    /// The driver's name and text for it.
    pub(super) fn text(self) -> String {
        let (mut name, mut text) = (ptr::null(), ptr::null());
        // SAFETY: both may be called at any time and write a pointer to a static C string, or null.
        let (name, text) = unsafe {
            _ = cuGetErrorName(self, &mut name);
            _ = cuGetErrorString(self, &mut text);
            (c_str(name), c_str(text))
        };
        match (name, text) {
            (Some(name), Some(text)) => format!("{text} ({name}, {})", self.0),
            _ => format!("an error that the driver has no text for ({})", self.0),
        }
    }
}

/// # Safety
/// `text` is null, or a C string that is never freed.
unsafe fn c_str(text: *const c_char) -> Option<&'static str> {
    // SAFETY: `text` isn't null, and so a C string that is never freed (this function's contract).
    (!text.is_null()).then(|| unsafe { CStr::from_ptr(text) }.to_str().ok()).flatten()
}

pub(super) const CU_STREAM_NON_BLOCKING: c_uint = 1;
/// The thread's other calls are not part of the capture and are not forbidden.
pub(super) const CU_STREAM_CAPTURE_MODE_RELAXED: c_uint = 2;
pub(super) const CU_EVENT_DEFAULT: c_uint = 0;
pub(super) const CU_EVENT_DISABLE_TIMING: c_uint = 2;
pub(super) const CU_MEMHOSTALLOC_PORTABLE: c_uint = 1;
/// Attribute: ordinal of the device that a pointer belongs to.
pub(super) const CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL: c_uint = 9;

/// The bytes of a thread's stack where the driver doesn't know how deep it gets.
pub(super) const CU_LIMIT_STACK_SIZE: c_uint = 0;
/// The bytes of the heap that kernels allocate from.
pub(super) const CU_LIMIT_MALLOC_HEAP_SIZE: c_uint = 2;
/// Handle of the legacy default stream.
pub(super) const CU_STREAM_LEGACY: usize = 1;

const CU_MODULE_LAZY_LOADING: c_uint = 2;

/// Options of `cuModuleLoadDataEx` and `cuLinkCreate`, and a kind of input.
pub(super) mod jit {
    use super::c_uint;
    pub(in super::super) const ERROR_LOG_BUFFER: c_uint = 5;
    pub(in super::super) const ERROR_LOG_BUFFER_SIZE_BYTES: c_uint = 6;
    pub(in super::super) const GENERATE_LINE_INFO: c_uint = 13;
    pub(in super::super) const INPUT_PTX: c_uint = 1;
}

/// Attributes of a function.
pub(super) mod function {
    use super::c_int;
    pub(in super::super) const MAX_THREADS_PER_BLOCK: c_int = 0;
    pub(in super::super) const SHARED_SIZE_BYTES: c_int = 1;
    pub(in super::super) const CONST_SIZE_BYTES: c_int = 2;
    pub(in super::super) const LOCAL_SIZE_BYTES: c_int = 3;
    pub(in super::super) const NUM_REGS: c_int = 4;
    pub(in super::super) const BINARY_VERSION: c_int = 6;
    pub(in super::super) const MAX_DYNAMIC_SHARED_SIZE_BYTES: c_int = 8;
    pub(in super::super) const PREFERRED_SHARED_MEMORY_CARVEOUT: c_int = 9;
}

/// Attributes of a device.
pub(super) mod device {
    use super::c_int;
    pub(in super::super) const MAX_THREADS_PER_BLOCK: c_int = 1;
    pub(in super::super) const MAX_BLOCK_DIM: [c_int; 3] = [2, 3, 4];
    pub(in super::super) const MAX_GRID_DIM: [c_int; 3] = [5, 6, 7];
    pub(in super::super) const MAX_SHARED_MEMORY_PER_BLOCK: c_int = 8;
    pub(in super::super) const WARP_SIZE: c_int = 10;
    pub(in super::super) const CLOCK_RATE: c_int = 13;
    pub(in super::super) const MULTIPROCESSOR_COUNT: c_int = 16;
    pub(in super::super) const L2_CACHE_SIZE: c_int = 38;
    pub(in super::super) const MAX_THREADS_PER_MULTIPROCESSOR: c_int = 39;
    pub(in super::super) const COMPUTE_CAPABILITY_MAJOR: c_int = 75;
    pub(in super::super) const COMPUTE_CAPABILITY_MINOR: c_int = 76;
    pub(in super::super) const MAX_SHARED_MEMORY_PER_BLOCK_OPTIN: c_int = 97;
}

/// Functions that came with CUDA 12.0. The driver compiles the PTX of several libraries at a time, and that of modules one
/// after another.
#[derive(Clone, Copy)]
pub(super) struct Libraries {
    pub(super) load_data: LibraryLoadData,
    pub(super) get_module: LibraryGetModule,
}

type LibraryLoadData = unsafe extern "C" fn(
    library: *mut *mut c_void,
    image: *const c_void,
    keys: *mut c_uint,
    values: *mut *mut c_void,
    options: c_uint,
    library_keys: *mut c_uint,
    library_values: *mut *mut c_void,
    library_options: c_uint,
) -> Code;
type LibraryGetModule = unsafe extern "C" fn(module: *mut CUmodule, library: *mut c_void) -> Code;

impl Libraries {
    /// The functions, if the driver has them and loads lazily: else it would load each library for all devices.
    pub(super) fn get() -> Option<Self> {
        let driver = cuda_loader::load().ok().filter(|driver| driver.version().major >= 12)?;
        let load_data = driver.symbol(c"cuLibraryLoadData")?;
        let get_module = driver.symbol(c"cuLibraryGetModule")?;
        let get_mode = driver.symbol(c"cuModuleGetLoadingMode")?;
        // SAFETY: it is the driver's function of this name, which has this signature since CUDA 12.0.
        let load_data = unsafe { mem::transmute::<*mut c_void, LibraryLoadData>(load_data.as_ptr()) };
        // SAFETY: as above.
        let get_module = unsafe { mem::transmute::<*mut c_void, LibraryGetModule>(get_module.as_ptr()) };
        // SAFETY: as above, since CUDA 11.7.
        let get_mode = unsafe { mem::transmute::<*mut c_void, unsafe extern "C" fn(*mut c_uint) -> Code>(get_mode.as_ptr()) };
        let mut mode = 0;
        // SAFETY: the result may be written to.
        let code = unsafe { get_mode(&mut mode) };
        (code == Code::SUCCESS && mode == CU_MODULE_LAZY_LOADING).then_some(Libraries { load_data, get_module })
    }
}

unsafe extern "C" {
    fn cuGetErrorName(error: Code, name: *mut *const c_char) -> Code;
    fn cuGetErrorString(error: Code, text: *mut *const c_char) -> Code;
    pub(super) fn cuInit(flags: c_uint) -> Code;
    pub(super) fn cuDeviceGetCount(count: *mut c_int) -> Code;
    pub(super) fn cuDeviceGet(device: *mut CUdevice, ordinal: c_int) -> Code;
    pub(super) fn cuDeviceGetName(name: *mut c_char, bytes: c_int, device: CUdevice) -> Code;
    pub(super) fn cuDeviceTotalMem_v2(bytes: *mut usize, device: CUdevice) -> Code;
    pub(super) fn cuDevicePrimaryCtxRetain(context: *mut CUcontext, device: CUdevice) -> Code;
    pub(super) fn cuDeviceGetAttribute(value: *mut c_int, attribute: c_int, device: CUdevice) -> Code;
    pub(super) fn cuDeviceCanAccessPeer(can: *mut c_int, device: CUdevice, peer: CUdevice) -> Code;
    pub(super) fn cuCtxEnablePeerAccess(peer: CUcontext, flags: c_uint) -> Code;
    pub(super) fn cuCtxGetCurrent(context: *mut CUcontext) -> Code;
    pub(super) fn cuCtxSetCurrent(context: CUcontext) -> Code;
    pub(super) fn cuCtxSynchronize() -> Code;
    pub(super) fn cuCtxGetLimit(value: *mut usize, limit: c_uint) -> Code;
    pub(super) fn cuCtxSetLimit(limit: c_uint, value: usize) -> Code;

    pub(super) fn cuMemGetInfo_v2(free: *mut usize, total: *mut usize) -> Code;
    pub(super) fn cuPointerGetAttribute(value: *mut c_void, attribute: c_uint, address: CUdeviceptr) -> Code;
    pub(super) fn cuMemAlloc_v2(address: *mut CUdeviceptr, bytes: usize) -> Code;
    pub(super) fn cuMemFree_v2(address: CUdeviceptr) -> Code;
    pub(super) fn cuMemHostAlloc(address: *mut *mut c_void, bytes: usize, flags: c_uint) -> Code;
    pub(super) fn cuMemFreeHost(address: *mut c_void) -> Code;
    pub(super) fn cuMemcpyHtoDAsync_v2(to: CUdeviceptr, from: *const c_void, bytes: usize, stream: CUstream) -> Code;
    pub(super) fn cuMemcpyDtoHAsync_v2(to: *mut c_void, from: CUdeviceptr, bytes: usize, stream: CUstream) -> Code;
    pub(super) fn cuMemcpyAsync(to: CUdeviceptr, from: CUdeviceptr, bytes: usize, stream: CUstream) -> Code;
    pub(super) fn cuMemsetD8Async(to: CUdeviceptr, value: c_uchar, n: usize, stream: CUstream) -> Code;
    pub(super) fn cuMemsetD16Async(to: CUdeviceptr, value: c_ushort, n: usize, stream: CUstream) -> Code;
    pub(super) fn cuMemsetD32Async(to: CUdeviceptr, value: c_uint, n: usize, stream: CUstream) -> Code;

    pub(super) fn cuStreamCreate(stream: *mut CUstream, flags: c_uint) -> Code;
    pub(super) fn cuStreamDestroy_v2(stream: CUstream) -> Code;
    pub(super) fn cuStreamSynchronize(stream: CUstream) -> Code;
    pub(super) fn cuStreamQuery(stream: CUstream) -> Code;
    pub(super) fn cuStreamWaitEvent(stream: CUstream, event: CUevent, flags: c_uint) -> Code;
    pub(super) fn cuStreamBeginCapture_v2(stream: CUstream, mode: c_uint) -> Code;
    pub(super) fn cuStreamEndCapture(stream: CUstream, graph: *mut CUgraph) -> Code;

    pub(super) fn cuGraphInstantiateWithFlags(exec: *mut CUgraphExec, graph: CUgraph, flags: c_ulonglong) -> Code;
    pub(super) fn cuGraphUpload(exec: CUgraphExec, stream: CUstream) -> Code;
    pub(super) fn cuGraphLaunch(exec: CUgraphExec, stream: CUstream) -> Code;
    pub(super) fn cuGraphExecDestroy(exec: CUgraphExec) -> Code;
    pub(super) fn cuGraphDestroy(graph: CUgraph) -> Code;

    pub(super) fn cuEventCreate(event: *mut CUevent, flags: c_uint) -> Code;
    pub(super) fn cuEventDestroy_v2(event: CUevent) -> Code;
    pub(super) fn cuEventRecord(event: CUevent, stream: CUstream) -> Code;
    pub(super) fn cuEventQuery(event: CUevent) -> Code;
    pub(super) fn cuEventSynchronize(event: CUevent) -> Code;
    pub(super) fn cuEventElapsedTime(milliseconds: *mut f32, start: CUevent, end: CUevent) -> Code;

    pub(super) fn cuModuleLoadDataEx(
        module: *mut CUmodule,
        image: *const c_void,
        options: c_uint,
        keys: *mut c_uint,
        values: *mut *mut c_void,
    ) -> Code;
    pub(super) fn cuLinkCreate_v2(options: c_uint, keys: *mut c_uint, values: *mut *mut c_void, state: *mut CUlinkState) -> Code;
    pub(super) fn cuLinkAddData_v2(
        state: CUlinkState,
        kind: c_uint,
        data: *mut c_void,
        bytes: usize,
        name: *const c_char,
        options: c_uint,
        keys: *mut c_uint,
        values: *mut *mut c_void,
    ) -> Code;
    pub(super) fn cuLinkComplete(state: CUlinkState, image: *mut *mut c_void, bytes: *mut usize) -> Code;
    pub(super) fn cuLinkDestroy(state: CUlinkState) -> Code;
    pub(super) fn cuModuleGetFunction(function: *mut CUfunction, module: CUmodule, name: *const c_char) -> Code;
    pub(super) fn cuModuleGetGlobal_v2(
        address: *mut CUdeviceptr,
        bytes: *mut usize,
        module: CUmodule,
        name: *const c_char,
    ) -> Code;

    pub(super) fn cuFuncGetAttribute(value: *mut c_int, attribute: c_int, function: CUfunction) -> Code;
    pub(super) fn cuFuncSetAttribute(function: CUfunction, attribute: c_int, value: c_int) -> Code;
    pub(super) fn cuOccupancyMaxActiveBlocksPerMultiprocessor(
        blocks: *mut c_int,
        function: CUfunction,
        threads: c_int,
        dynamic_shared: usize,
    ) -> Code;
    pub(super) fn cuLaunchCooperativeKernel(
        function: CUfunction,
        grid_x: c_uint,
        grid_y: c_uint,
        grid_z: c_uint,
        block_x: c_uint,
        block_y: c_uint,
        block_z: c_uint,
        dynamic_shared: c_uint,
        stream: CUstream,
        parameters: *mut *mut c_void,
    ) -> Code;
    pub(super) fn cuLaunchKernel(
        function: CUfunction,
        grid_x: c_uint,
        grid_y: c_uint,
        grid_z: c_uint,
        block_x: c_uint,
        block_y: c_uint,
        block_z: c_uint,
        dynamic_shared: c_uint,
        stream: CUstream,
        parameters: *mut *mut c_void,
        extra: *mut *mut c_void,
    ) -> Code;
}
