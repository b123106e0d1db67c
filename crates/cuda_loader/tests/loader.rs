//! The trampolines and the loader, with a driver, without one, and with things that only look like one.
//!
//! A process opens the driver once, so each case is a child process: this test program again, told to run one test
//! (`child_*`), with a `libcuda.so.1` of the case's own on `LD_LIBRARY_PATH`. Left to themselves those tests do
//! nothing.

use std::collections::HashSet;
use std::ffi::{CStr, c_double, c_float, c_int, c_long};
use std::path::{Path, PathBuf};
use std::process::Command;

use cuda_loader::{CudaVersion, LoadError};
use cust::CudaFlags;
use cust::error::CudaError;

#[path = "../../../tests/common/skip.rs"]
mod skip;
#[path = "../src/symbols.rs"]
mod symbols;
use skip::skip;
use symbols::with_symbols;

const CHILD: &str = "CUDA_LOADER_TEST_CHILD";

fn is_child() -> bool {
    std::env::var_os(CHILD).is_some()
}

/// Runs the test `name` of this file in a process that sees the libraries in `folder` first.
fn run_child(name: &str, folder: Option<&Path>) {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.args(["--exact", name, "--nocapture"]).env(CHILD, "1");
    match folder {
        Some(folder) => command.env("LD_LIBRARY_PATH", folder),
        None => command.env_remove("LD_LIBRARY_PATH"),
    };
    let output = command.output().unwrap();
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(
        output.status.success() && text.contains("1 passed"),
        "{name}: {}\n{text}\n{}",
        output.status,
        String::from_utf8_lossy(&output.stderr)
    );
    print!("{text}");
}

/// Builds `libcuda.so.1` from `fake_driver.c`, or gives `None` where there is no C compiler.
fn build(kind: &str) -> Option<tempfile::TempDir> {
    let folder = tempfile::tempdir().unwrap();
    let source = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/fake_driver.c");
    let result = Command::new("cc")
        .args(["-shared", "-fPIC", "-O1", "-w", "-Wl,-soname,libcuda.so.1"])
        .arg(format!("-D{kind}"))
        .arg("-o")
        .arg(folder.path().join("libcuda.so.1"))
        .arg(source)
        .output();
    match result {
        Ok(output) if output.status.success() => Some(folder),
        Ok(output) => {
            let text = String::from_utf8_lossy(&output.stderr);
            skip("cc", format_args!("cc builds no shared library here: {text}"));
            None
        }
        Err(error) => {
            skip("cc", format_args!("there is no C compiler: {error}"));
            None
        }
    }
}

fn with_library(kind: &str, child: &str) {
    if let Some(folder) = build(kind) {
        run_child(child, Some(folder.path()));
    }
}

macro_rules! addresses {
    ($($name:ident)*) => { [$(cust::sys::$name as *const () as usize),*] };
}

#[test]
fn every_symbol_is_a_trampoline_of_its_own() {
    // That this compiles says that cust_raw declares each, that it links that each is defined.
    let addresses = with_symbols!(addresses);
    assert_eq!(addresses.len(), 353);
    let distinct: HashSet<usize> = addresses.into_iter().collect();
    assert_eq!(distinct.len(), 353);
    // All lie side by side, in this program and not in a library.
    let span = distinct.iter().max().unwrap() - distinct.iter().min().unwrap();
    assert!(span <= 353 * 64, "{span}");
}

#[test]
fn arguments_survive_the_first_call() {
    with_library("DRIVER", "child_arguments");
}

#[test]
fn threads_may_all_come_first() {
    with_library("DRIVER", "child_threads");
}

#[test]
fn cust_works_through_a_driver() {
    with_library("DRIVER", "child_driver");
}

#[test]
fn a_stub_library_is_no_driver() {
    with_library("STUB", "child_stub");
}

#[test]
fn a_library_that_is_not_cuda_is_no_driver() {
    with_library("NOT_A_DRIVER", "child_not_a_driver");
}

#[test]
fn a_file_that_is_no_library_is_no_driver() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("libcuda.so.1"), [b'x'; 4096]).unwrap();
    run_child("child_unloadable", Some(folder.path()));
}

#[test]
fn the_program_runs_with_or_without_a_driver() {
    run_child("child_this_machine", None);
}

// cust declares cuLaunchKernel otherwise; a trampoline does not care.
unsafe extern "C" {
    #[link_name = "cuLaunchKernel"]
    fn many_arguments(
        a: c_int,
        b: c_long,
        c: c_int,
        d: c_long,
        e: c_int,
        f: c_long,
        g: c_int,
        h: c_long,
        i: c_int,
        j: c_long,
        p: c_double,
        q: c_float,
        r: c_double,
        s: c_float,
        t: c_double,
        u: c_float,
        v: c_double,
        w: c_float,
        x: c_double,
        y: c_double,
        out: &mut [c_double; 20],
    ) -> c_int;
}

fn assert_arguments_pass() {
    let mut out = [0.0; 20];
    // SAFETY: it is the function of fake_driver.c, with the same declaration.
    let code =
        unsafe { many_arguments(-1, 2, -3, 4, -5, 6, -7, 8, -9, 10, 0.5, 1.5, 2.5, 3.5, 4.5, 5.5, 6.5, 7.5, 8.5, 9.5, &mut out) };
    assert_eq!(code, 77);
    assert_eq!(out[..10], [-1.0, 2.0, -3.0, 4.0, -5.0, 6.0, -7.0, 8.0, -9.0, 10.0]);
    assert_eq!(out[10..], [0.5, 1.5, 2.5, 3.5, 4.5, 5.5, 6.5, 7.5, 8.5, 9.5]);
}

#[test]
fn child_arguments() {
    if is_child() {
        assert_arguments_pass(); // this one finds the driver
        assert_arguments_pass();
    }
}

#[test]
fn child_threads() {
    if is_child() {
        let barrier = std::sync::Barrier::new(16);
        std::thread::scope(|scope| {
            for _ in 0..16 {
                scope.spawn(|| {
                    barrier.wait();
                    assert_arguments_pass();
                });
            }
        });
    }
}

#[test]
fn child_driver() {
    if !is_child() {
        return;
    }
    assert_eq!(cust::init(CudaFlags::empty()), Ok(()));
    assert_eq!(cust::device::Device::num_devices(), Ok(3));
    assert_eq!(cust::device::Device::get_device(0), Err(CudaError::NotFound));
    assert!(!CudaError::NotFound.to_string().is_empty());
    assert_eq!(cuda_loader::no_device_reason(), None);

    let driver = cuda_loader::load().unwrap();
    assert!(driver.symbol(c"cuDeviceGetCount").is_some());
    assert!(driver.symbol(c"cuDeviceGet").is_none());
    let folder = PathBuf::from(std::env::var_os("LD_LIBRARY_PATH").unwrap());
    assert_eq!(driver.path(), folder.join("libcuda.so.1"));
    let (major, minor) = (13, 0);
    assert_eq!(driver.version(), CudaVersion { major, minor });
    let missing = driver.missing();
    assert_eq!(missing.len(), 353 - 4);
    assert!(missing.contains(&"cuDeviceGet") && !missing.contains(&"cuInit"));
}

/// Asserts cust's answers on a machine without a driver.
fn assert_no_driver() -> LoadError {
    assert_eq!(cust::init(CudaFlags::empty()), Err(CudaError::NoDevice));
    assert_eq!(cust::quick_init().map(drop), Err(CudaError::NoDevice));
    assert_eq!(cust::CudaApiVersion::get().map(drop), Err(CudaError::NoDevice));
    assert_eq!(cust::memory::DeviceBuffer::from_slice(&[1, 2, 3]).map(drop), Err(CudaError::NoDevice));
    assert_eq!(CudaError::NoDevice.to_string(), "\"no CUDA-capable device is detected\"");
    assert!(!CudaError::OutOfMemory.to_string().is_empty());
    let mut name = std::ptr::null();
    // SAFETY: `name` may be written to.
    let code = unsafe { cust::sys::cuGetErrorName(cust::sys::cudaError_enum::CUDA_ERROR_NO_DEVICE, &mut name) };
    assert_eq!(code, cust::sys::cudaError_enum::CUDA_SUCCESS);
    // SAFETY: on success it is a C string.
    assert_eq!(unsafe { CStr::from_ptr(name) }, c"CUDA_ERROR_NO_DEVICE");

    let error = cuda_loader::load().unwrap_err();
    assert_eq!(cuda_loader::no_device_reason(), Some(error.to_string()));
    error
}

#[test]
fn child_stub() {
    if is_child() {
        let error = assert_no_driver();
        assert!(matches!(error, LoadError::Stub { .. }), "{error}");
    }
}

#[test]
fn child_not_a_driver() {
    if is_child() {
        let error = assert_no_driver();
        assert!(matches!(error, LoadError::NotADriver { .. }), "{error}");
    }
}

#[test]
fn child_unloadable() {
    if is_child() {
        let error = assert_no_driver();
        assert!(matches!(error, LoadError::Unloadable { .. }), "{error}");
    }
}

#[test]
fn child_this_machine() {
    if !is_child() {
        return;
    }
    match cuda_loader::load() {
        Err(reason) => {
            println!("{reason}");
            assert_no_driver();
        }
        Ok(_) => {
            let reason = cuda_loader::no_device_reason();
            assert_eq!(cust::init(CudaFlags::empty()).is_err(), reason.is_some());
        }
    }
}
