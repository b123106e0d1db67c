//! Opening `libcuda.so.1`.

use std::ffi::{CStr, CString, c_int, c_void};
use std::fmt;
use std::path::{Path, PathBuf};
use std::ptr::NonNull;
use std::sync::OnceLock;

use crate::library::{Handle, file_of};
use crate::{device_files, fallback, trampolines};

/// Candidates, tried in this order until one is found.
///
/// Never `libcuda.so`: that is what a toolkit calls the stub that it links against. The paths are where WSL and NixOS
/// keep the driver, which is not always where the dynamic linker looks.
const CANDIDATES: [&CStr; 3] = [c"libcuda.so.1", c"/usr/lib/wsl/lib/libcuda.so.1", c"/run/opengl-driver/lib/libcuda.so.1"];

/// A version of CUDA, such as 13.0.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct CudaVersion {
    /// 13 in 13.0
    pub major: u32,
    /// 0 in 13.0
    pub minor: u32,
}

impl CudaVersion {
    /// Converts the driver's notation, in which 12.8 is 12080.
    fn from_raw(raw: c_int) -> Self {
        let raw = raw.unsigned_abs();
        Self { major: raw / 1000, minor: raw % 1000 / 10 }
    }
}

impl fmt::Display for CudaVersion {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}", self.major, self.minor)
    }
}

/// The CUDA driver library, opened for the life of the program. It may still have no device: see
/// [`no_device_reason`](crate::no_device_reason).
#[derive(Debug)]
pub struct Driver {
    handle: Handle,
    path: PathBuf,
    version: CudaVersion,
    missing: Vec<&'static str>,
}

impl Driver {
    /// The file it was loaded from.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The newest version of CUDA that it supports.
    pub fn version(&self) -> CudaVersion {
        self.version
    }

    /// The functions that `cust_raw` declares and that it lacks. They return `CUDA_ERROR_NOT_FOUND`.
    pub fn missing(&self) -> &[&'static str] {
        &self.missing
    }

    /// The address of any function of the driver, among them those that came after `cust_raw`'s CUDA 11.4.
    ///
    /// The name is that of the symbol, version suffix and all (`cuMemAlloc_v2`).
    pub fn symbol(&self, name: &CStr) -> Option<NonNull<c_void>> {
        self.handle.symbol(name)
    }
}

/// Why there is no driver to call. Its `Display` is a sentence that says what to do.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
#[allow(missing_docs, reason = "a message says what its fields are")]
pub enum LoadError {
    /// The program runs on another system than Linux, or on another processor.
    #[error("NVIDIA GPUs are used on Linux alone, on x86-64 and aarch64")]
    System,
    /// There is no `libcuda.so.1` where the dynamic linker looks.
    #[error("{}", not_found(dlopen, *device_files))]
    NotFound { dlopen: String, device_files: bool },
    /// The dynamic linker refuses an existing `libcuda.so.1`.
    #[error(
        "the NVIDIA driver's libcuda.so.1 cannot be loaded (dlopen said: {dlopen}); \
         check that it is the one for this system's architecture and that the driver's installation is whole"
    )]
    Unloadable { dlopen: String },
    /// The library is the CUDA toolkit's stub, which is for linking only.
    #[error(
        "{} is a CUDA toolkit's stub and not the NVIDIA driver; \
         take its folder off LD_LIBRARY_PATH, and install the driver if there is none",
        path.display()
    )]
    Stub { path: PathBuf },
    /// The library does not answer as every driver does.
    #[error(
        "{} is not a working NVIDIA driver ({problem}); reinstall the driver, or take the file's folder off LD_LIBRARY_PATH",
        path.display()
    )]
    NotADriver { path: PathBuf, problem: String },
}

fn not_found(dlopen: &str, device_files: bool) -> String {
    let (what, remedy) = if device_files {
        (
            "the GPU's device files are here but the NVIDIA driver's libraries are not",
            "in a container, give it the driver capability `compute` (NVIDIA_DRIVER_CAPABILITIES=compute,utility), \
             otherwise install the driver's CUDA libraries or put their folder on LD_LIBRARY_PATH",
        )
    } else {
        (
            "no NVIDIA driver is installed",
            "to use a GPU, install the driver, or start the container with its GPUs (docker run --gpus all)",
        )
    };
    format!("{what}: libcuda.so.1 was not found (dlopen said: {dlopen}); {remedy}")
}

/// Opens the driver, the first time; afterwards gives the same answer again.
///
/// Calling it is optional, since any call through `cust` does the same. It does not initialise CUDA.
pub fn load() -> Result<&'static Driver, LoadError> {
    fill().as_ref().map_err(Clone::clone)
}

/// Fills the trampolines' table, the first time. Whoever comes in the meantime waits.
fn fill() -> &'static Result<Driver, LoadError> {
    static DRIVER: OnceLock<Result<Driver, LoadError>> = OnceLock::new();
    DRIVER.get_or_init(|| {
        let mut driver = open();
        match &mut driver {
            Ok(Driver { handle, missing, .. }) => trampolines::fill(|name| {
                let symbol = CString::new(name).ok().and_then(|name| handle.symbol(&name));
                match symbol {
                    Some(function) => function.as_ptr(),
                    None => {
                        missing.push(name);
                        fallback::substitute(name, true)
                    }
                }
            }),
            Err(_) => trampolines::fill(|name| fallback::substitute(name, false)),
        }
        driver
    })
}

/// Called by the trampolines before their first jump. Returns once the table is filled.
///
/// Rust names every `no_mangle` function of every crate at the head of the linker's command line,
/// so this one also brings the trampolines into a program, wherever `cust_raw` comes among the
/// libraries.
#[unsafe(no_mangle)]
extern "C" fn cuda_loader_fill() {
    fill();
}

fn open() -> Result<Driver, LoadError> {
    if cfg!(not(trampolines)) {
        return Err(LoadError::System);
    }
    let mut first_error = None;
    for candidate in CANDIDATES {
        match Handle::open(candidate) {
            Ok(handle) => return check(handle, candidate),
            Err(dlopen) if is_not_found(&dlopen) => _ = first_error.get_or_insert(dlopen),
            Err(dlopen) => return Err(LoadError::Unloadable { dlopen }),
        }
    }
    Err(LoadError::NotFound {
        dlopen: first_error.unwrap_or_default(),
        device_files: device_files::has_device_files(Path::new("/dev")),
    })
}

/// Returns true if the dynamic linker found no such file, rather than an unusable one.
fn is_not_found(dlopen: &str) -> bool {
    dlopen.contains("libcuda.so.1") && dlopen.contains("No such file")
}

/// Sees to it that the library is a driver.
fn check(handle: Handle, candidate: &CStr) -> Result<Driver, LoadError> {
    let get_version = handle.symbol(c"cuDriverGetVersion");
    let path = handle.symbol(c"cuInit").and_then(file_of).unwrap_or_else(|| candidate.to_string_lossy().into_owned().into());
    let Some(get_version) = get_version else {
        let problem = "it has no cuDriverGetVersion".into();
        return Err(LoadError::NotADriver { path, problem });
    };
    // SAFETY: every libcuda has had this function with this signature since CUDA 2.2.
    let get_version: extern "C" fn(&mut c_int) -> c_int = unsafe { std::mem::transmute(get_version.as_ptr()) };
    let mut version = 0;
    // The one function besides cuInit that may come before cuInit. A driver always has an answer, a stub never.
    match get_version(&mut version) {
        fallback::SUCCESS => Ok(Driver { handle, path, version: CudaVersion::from_raw(version), missing: Vec::new() }),
        fallback::STUB_LIBRARY => Err(LoadError::Stub { path }),
        code => {
            let problem = format!("cuDriverGetVersion returned error {code}");
            Err(LoadError::NotADriver { path, problem })
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_are_read_as_the_driver_writes_them() {
        let version = CudaVersion::from_raw(12080);
        assert_eq!((version.major, version.minor), (12, 8));
        assert_eq!(CudaVersion::from_raw(13000).to_string(), "13.0");
        assert!(CudaVersion::from_raw(13000) > version);
    }

    #[test]
    fn a_missing_file_is_told_from_a_bad_one() {
        for (message, not_found) in [
            ("libcuda.so.1: cannot open shared object file: No such file or directory", true),
            ("Error loading shared library libcuda.so.1: No such file or directory", true),
            ("libcuda.so.1: wrong ELF class: ELFCLASS32", false),
            ("/opt/x/libcuda.so.1: file too short", false),
            ("libnvidia-ptxjitcompiler.so.1: cannot open shared object file: No such file or directory", false),
        ] {
            assert_eq!(is_not_found(message), not_found, "{message}");
        }
    }

    #[test]
    fn each_reason_is_one_sentence_with_a_remedy() {
        let not_found =
            |device_files| LoadError::NotFound { dlopen: "libcuda.so.1: cannot open shared object file".into(), device_files };
        let text = not_found(false).to_string();
        assert!(text.starts_with("no NVIDIA driver is installed: libcuda.so.1 was not found (dlopen said: "), "{text}");
        assert!(not_found(true).to_string().contains("compute,utility"));
        let path = PathBuf::from("/usr/local/cuda/lib64/stubs/libcuda.so.1");
        let text = LoadError::Stub { path }.to_string();
        assert!(text.starts_with("/usr/local/cuda") && text.contains("stub"), "{text}");
    }
}
