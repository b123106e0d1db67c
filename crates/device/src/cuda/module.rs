//! Modules, and the functions in them.

use super::driver::{self, CUfunction, CUmodule, Code, function, jit};
use super::{Cuda, DeviceError, KernelAttributes, capability, image, no_image};
use crate::PtxImage;
use crate::error::Bytes;
use crate::launch::{Dim3, LaunchConfig, refused};
use cuda_std::launch::KernelInfo;
use std::collections::HashMap;
use std::ffi::{CStr, CString, c_int, c_uint, c_void};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, PoisonError, RwLock};
use std::{iter, ptr};

/// The stack of threads that call functions by address, which is how `core` prints: enough for floats.
const STACK_BYTES: usize = 4096;

/// Gives threads whose stacks the driver can't foresee at least so many bytes.
fn grow_stack(cuda: &Cuda) -> Result<(), DeviceError> {
    let mut bytes = 0;
    // SAFETY: the context is current, as the caller sees to, and the result may be written to.
    cuda.check("cuCtxGetLimit", unsafe { driver::cuCtxGetLimit(&mut bytes, driver::CU_LIMIT_STACK_SIZE) })?;
    if bytes >= STACK_BYTES {
        return Ok(());
    }
    // SAFETY: the context is current.
    cuda.check("cuCtxSetLimit", unsafe { driver::cuCtxSetLimit(driver::CU_LIMIT_STACK_SIZE, STACK_BYTES) })
}

/// Size of the buffer for messages of the driver's PTX compiler, in bytes.
const LOG_BYTES: usize = 16 << 10;

/// A loaded PTX image. It stays until the process ends, as its device does.
pub(in super::super) struct CudaModule {
    cuda: &'static Cuda,
    raw: CUmodule,
    /// The compute capability that it was built for, times ten.
    arch: u32,
    /// Keyed by the address of the kernel's unique `KernelInfo`.
    functions: RwLock<HashMap<usize, Arc<Function>>>,
}

// SAFETY: the driver's functions for modules may be called from any thread with the context
// current.
unsafe impl Send for CudaModule {}
// SAFETY: the driver's functions for modules may be called from several threads at the same time.
unsafe impl Sync for CudaModule {}

/// Options of the driver's PTX compiler and linker, and what it says.
struct Compiler {
    log: Vec<u8>,
    keys: [c_uint; 3],
    values: [*mut c_void; 3],
}

impl Compiler {
    fn new() -> Self {
        let mut log = vec![0u8; LOG_BYTES];
        Compiler {
            // Line information lets a profiler show the kernels' source; it does not change the code.
            keys: [jit::ERROR_LOG_BUFFER, jit::ERROR_LOG_BUFFER_SIZE_BYTES, jit::GENERATE_LINE_INFO],
            values: [log.as_mut_ptr().cast(), ptr::without_provenance_mut(LOG_BYTES), ptr::without_provenance_mut(1)],
            log,
        }
    }

    /// Loads PTX. The context is current. Returns the driver's last function.
    fn load(&mut self, ptx: &CStr, raw: &mut CUmodule) -> (&'static str, Code) {
        let Some(libraries) = driver::Libraries::get() else {
            // SAFETY: the image is a C string.
            return unsafe { self.load_module(ptx.as_ptr().cast(), raw) };
        };
        let mut library = ptr::null_mut();
        let (keys, values) = (self.keys.as_mut_ptr(), self.values.as_mut_ptr());
        let none = (ptr::null_mut(), ptr::null_mut());
        // SAFETY: the image is a C string; there are as many keys as values, of the kinds that the driver expects, and
        // no options of the library's own; the log is as long as it is told. All of them live until the module is loaded.
        let code = unsafe {
            (libraries.load_data)(&mut library, ptx.as_ptr().cast(), keys, values, self.keys.len() as c_uint, none.0, none.1, 0)
        };
        if code != Code::SUCCESS {
            return ("cuLibraryLoadData", code);
        }
        // SAFETY: the library is loaded and never unloaded, and the result may be written to.
        ("cuLibraryGetModule", unsafe { (libraries.get_module)(raw, library) })
    }

    /// Loads an image, which is PTX or machine code. The context is current.
    ///
    /// # Safety
    /// `image` is a C string with PTX, or what the driver's linker made.
    unsafe fn load_module(&mut self, image: *const c_void, raw: &mut CUmodule) -> (&'static str, Code) {
        let (keys, values) = (self.keys.as_mut_ptr(), self.values.as_mut_ptr());
        // SAFETY: the image is one (this function's contract); there are as many keys as values, of the kinds that the
        // driver expects; the log is as long as it is told, and lives until the call returns.
        let code = unsafe { driver::cuModuleLoadDataEx(raw, image, self.keys.len() as c_uint, keys, values) };
        ("cuModuleLoadDataEx", code)
    }

    /// Links PTX texts, with their names, and loads the result. The context is current. Returns the driver's last function.
    fn link(&mut self, texts: &[(CString, CString)], raw: &mut CUmodule) -> (&'static str, Code) {
        let mut state = ptr::null_mut();
        let (keys, values) = (self.keys.as_mut_ptr(), self.values.as_mut_ptr());
        // SAFETY: there are as many keys as values, of the kinds that the driver expects; both, and the log, which is as
        // long as it is told, outlive the linker's state.
        let code = unsafe { driver::cuLinkCreate_v2(self.keys.len() as c_uint, keys, values, &mut state) };
        if code != Code::SUCCESS {
            return ("cuLinkCreate", code);
        }
        let mut done = ("cuLinkAddData", Code::SUCCESS);
        for (name, text) in texts {
            let (data, bytes) = (text.as_ptr().cast_mut().cast(), text.as_bytes_with_nul().len());
            let none = (ptr::null_mut(), ptr::null_mut());
            // SAFETY: the state lives; the driver reads the text, of so many bytes, and the name, a C string, and has no
            // options of this text's own.
            done.1 = unsafe { driver::cuLinkAddData_v2(state, jit::INPUT_PTX, data, bytes, name.as_ptr(), 0, none.0, none.1) };
            if done.1 != Code::SUCCESS {
                break;
            }
        }
        if done.1 == Code::SUCCESS {
            let (mut image, mut bytes) = (ptr::null_mut(), 0);
            // SAFETY: the state lives, and the results may be written to.
            done = ("cuLinkComplete", unsafe { driver::cuLinkComplete(state, &mut image, &mut bytes) });
            if done.1 == Code::SUCCESS {
                // SAFETY: the linker made the image, which its state keeps.
                done = unsafe { Compiler::new().load_module(image, raw) };
            }
        }
        // SAFETY: the state lives, and nobody uses it or its image after this.
        _ = unsafe { driver::cuLinkDestroy(state) };
        done
    }

    /// The driver's messages.
    fn log(&self) -> String {
        let end = self.log.iter().position(|&byte| byte == 0).unwrap_or(self.log.len());
        String::from_utf8_lossy(&self.log[..end]).into_owned()
    }
}

impl CudaModule {
    /// Loads the PTX that suits the device best, and what it is linked with.
    pub(in super::super) fn load(cuda: &'static Cuda, image: &PtxImage) -> Result<Self, DeviceError> {
        let capability = capability(&cuda.info);
        let Some((arch, ptx)) = image::choose(image.ptx(), capability) else {
            return Err(no_image(cuda.to_string(), capability, image.ptx()));
        };
        let refused = |text: String, log: String| DeviceError::Module { device: cuda.to_string(), arch, text, log };
        let has_indirect_calls = ptx.contains(".callprototype");
        let c_string =
            |text: &str| CString::new(text).map_err(|_| refused("there is a NUL in its text".to_owned(), String::new()));
        let files = iter::once(("kernels.ptx", ptx)).chain(image.linked_files().iter().copied());
        let texts: Result<Vec<_>, DeviceError> = files.map(|(name, text)| Ok((c_string(name)?, c_string(text)?))).collect();
        let texts = texts?;
        let _entered = cuda.enter()?;
        if has_indirect_calls {
            grow_stack(cuda)?;
        }
        let (mut compiler, mut raw) = (Compiler::new(), ptr::null_mut());
        let (function, code) = match &texts[..] {
            [(_, ptx)] => compiler.load(ptx, &mut raw),
            texts => compiler.link(texts, &mut raw),
        };
        if code == Code::SUCCESS {
            return Ok(CudaModule { cuda, raw, arch, functions: RwLock::default() });
        }
        if code.is_sticky() {
            return Err(cuda.error(function, code));
        }
        let hint = match code {
            Code::UNSUPPORTED_PTX_VERSION => "; a newer NVIDIA driver would take it",
            _ => "",
        };
        Err(refused(format!("{}{hint}", code.text()), compiler.log()))
    }

    pub(super) fn function(&self, kernel: &'static KernelInfo) -> Result<Arc<Function>, DeviceError> {
        let key = ptr::from_ref(kernel).addr();
        let functions = self.functions.read().unwrap_or_else(PoisonError::into_inner);
        if let Some(function) = functions.get(&key) {
            return Ok(Arc::clone(function));
        }
        drop(functions);
        let function = Arc::new(self.find(kernel)?);
        let mut functions = self.functions.write().unwrap_or_else(PoisonError::into_inner);
        Ok(Arc::clone(functions.entry(key).or_insert(function)))
    }

    fn find(&self, kernel: &'static KernelInfo) -> Result<Function, DeviceError> {
        let cuda = self.cuda;
        let missing = || refused(kernel, format!("the module has no entry `{}`", kernel.symbol()));
        if kernel.contract.cluster.is_some() && self.arch < 90 {
            let (major, minor) = (self.arch / 10, self.arch % 10);
            return Err(refused(
                kernel,
                format!(
                    "its blocks are in clusters, which PTX has from compute capability 9.0 on, and the newest that the program \
                     has for the device is of {major}.{minor}: build it for `NvptxArch::Compute90` too"
                ),
            ));
        }
        let name = CString::new(kernel.symbol()).map_err(|_| missing())?;
        let _entered = cuda.enter()?;
        let mut raw = ptr::null_mut();
        // SAFETY: the module lives, the name is a C string, and the result may be written to.
        match unsafe { driver::cuModuleGetFunction(&mut raw, self.raw, name.as_ptr()) } {
            Code::NOT_FOUND => return Err(missing()),
            code => cuda.check("cuModuleGetFunction", code)?,
        }
        if let Some(percent) = kernel.contract.carveout {
            // SAFETY: the function is the module's, which lives.
            let code = unsafe { driver::cuFuncSetAttribute(raw, function::PREFERRED_SHARED_MEMORY_CARVEOUT, percent as c_int) };
            cuda.check("cuFuncSetAttribute", code)?;
        }
        let get = |attribute: c_int| -> Result<usize, DeviceError> {
            let mut value = 0;
            // SAFETY: the function is the module's, which lives, and the result may be written to.
            cuda.check("cuFuncGetAttribute", unsafe { driver::cuFuncGetAttribute(&mut value, attribute, raw) })?;
            Ok(value.max(0) as usize)
        };
        Ok(Function {
            raw,
            attributes: KernelAttributes {
                registers: get(function::NUM_REGS)? as u32,
                local_bytes: get(function::LOCAL_SIZE_BYTES)?,
                static_shared: get(function::SHARED_SIZE_BYTES)?,
                constant_bytes: get(function::CONST_SIZE_BYTES)?,
                max_threads: get(function::MAX_THREADS_PER_BLOCK)? as u32,
                arch: get(function::BINARY_VERSION)? as u32,
            },
            dynamic_limit: AtomicUsize::new(get(function::MAX_DYNAMIC_SHARED_SIZE_BYTES)?),
        })
    }

    pub(in super::super) fn attributes(&self, kernel: &'static KernelInfo) -> Result<KernelAttributes, DeviceError> {
        Ok(self.function(kernel)?.attributes.clone())
    }

    /// Returns the number of blocks of `block` threads with `shared` bytes of dynamic shared memory
    /// that fit on a multiprocessor.
    pub(in super::super) fn occupancy(
        &self,
        kernel: &'static KernelInfo,
        block: Dim3,
        shared: usize,
    ) -> Result<u32, DeviceError> {
        let cuda = self.cuda;
        let function = self.function(kernel)?;
        let _entered = cuda.enter()?;
        function.prepare(cuda, kernel, &LaunchConfig::new(1, block).shared(shared))?;
        let mut blocks = 0;
        // SAFETY: the function is the module's, which lives, and the result may be written to.
        let code = unsafe {
            driver::cuOccupancyMaxActiveBlocksPerMultiprocessor(&mut blocks, function.raw, block.count() as c_int, shared)
        };
        cuda.check("cuOccupancyMaxActiveBlocksPerMultiprocessor", code)?;
        Ok(blocks.max(0) as u32)
    }

    /// Fills the constant `name` of as many bytes.
    ///
    /// # Safety
    /// No kernel of the module that reads it is running.
    pub(in super::super) unsafe fn set_constant(&self, name: &'static str, bytes: &[u8]) -> Result<(), DeviceError> {
        let cuda = self.cuda;
        let wrong = |reason| DeviceError::Constant { name, reason };
        let missing = || wrong("the module has none of this name".to_owned());
        let symbol = CString::new(name).map_err(|_| missing())?;
        let _entered = cuda.enter()?;
        let (mut address, mut size) = (0, 0);
        // SAFETY: the module lives, the name is a C string, and the results may be written to.
        match unsafe { driver::cuModuleGetGlobal_v2(&mut address, &mut size, self.raw, symbol.as_ptr()) } {
            Code::NOT_FOUND => return Err(missing()),
            code => cuda.check("cuModuleGetGlobal", code)?,
        }
        if size != bytes.len() {
            return Err(wrong(format!("it has {} in the module, and {} here", Bytes(size), Bytes(bytes.len()))));
        }
        if bytes.is_empty() {
            return Ok(());
        }
        let stream = cuda.service()?;
        // SAFETY: the constant has this size, and `bytes` stays borrowed until the copy is done.
        unsafe { stream.upload(address, bytes.as_ptr(), bytes.len()) }
    }
}

/// A kernel in a module.
pub(super) struct Function {
    pub(super) raw: CUfunction,
    attributes: KernelAttributes,
    /// Dynamic shared memory that the driver currently allows, in bytes.
    dynamic_limit: AtomicUsize,
}

// SAFETY: a function's handle may be used from any thread with the context current.
unsafe impl Send for Function {}
// SAFETY: a function's handle may be used from several threads at the same time.
unsafe impl Sync for Function {}

impl Function {
    /// Checks what depends on the function, and lets it have the shared memory that it asks for.
    pub(super) fn prepare(&self, cuda: &Cuda, kernel: &KernelInfo, config: &LaunchConfig) -> Result<(), DeviceError> {
        let threads = config.block.count();
        if threads > u64::from(self.attributes.max_threads) {
            let limit = self.attributes.max_threads;
            return Err(refused(
                kernel,
                format!("its block {} has {threads} threads, and with {} at most {limit} fit", config.block, self.describe()),
            ));
        }
        if config.shared <= self.dynamic_limit.load(Ordering::Relaxed) {
            return Ok(());
        }
        // More than 48 KiB have to be asked for, by function. All that there is, so that it is asked for once.
        let fixed = self.attributes.static_shared;
        let limit = cuda.limits.shared.saturating_sub(fixed);
        if config.shared > limit {
            return Err(refused(
                kernel,
                format!(
                    "it asks for {} of dynamic shared memory besides its own {}, and {} are the device's limit",
                    Bytes(config.shared),
                    Bytes(fixed),
                    Bytes(cuda.limits.shared)
                ),
            ));
        }
        // SAFETY: the function is a loaded module's.
        let code = unsafe { driver::cuFuncSetAttribute(self.raw, function::MAX_DYNAMIC_SHARED_SIZE_BYTES, limit as c_int) };
        cuda.check("cuFuncSetAttribute", code)?;
        self.dynamic_limit.store(limit, Ordering::Relaxed);
        Ok(())
    }

    pub(super) fn describe(&self) -> String {
        let KernelAttributes { registers, local_bytes, static_shared, .. } = &self.attributes;
        format!(
            "{registers} registers and {local_bytes} bytes of local memory per thread, and {} of shared memory",
            Bytes(*static_shared)
        )
    }
}
