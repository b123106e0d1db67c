//! The device layer over a driver that isn't NVIDIA's: `fake_driver.c`, which returns codes that nobody has heard of,
//! and has other contexts.
//!
//! A process opens the driver once, so each case is a child process: this program again, told to run one test, with the
//! library on `LD_LIBRARY_PATH`. Left to themselves those tests do nothing.

use super::{
    basics::{self, is_child},
    fake_driver, modules,
};
use gpu_kernels::samples;
use std::ffi::{c_int, c_uint, c_void};
use std::time::Duration;
use std::{ptr, thread};
use warpsmith::device::{Backend, Device, DeviceError};
use warpsmith::launch;

type Result<T = (), E = DeviceError> = std::result::Result<T, E>;

const FAIL: &str = "FAKE_CUDA_FAIL";

/// Runs the test `name` of this file over the fake driver.
fn run_child(name: &str, fail: Option<&str>) {
    run_child_with(name, fail.map(|fail| (FAIL, fail)).as_slice());
}

fn run_child_with(name: &str, variables: &[(&str, &str)]) {
    let Some(folder) = fake_driver::library() else { return };
    let mut environment = vec![("LD_LIBRARY_PATH", folder.to_str().unwrap()), ("WARPSMITH_BACKEND", "cuda")];
    environment.extend(variables);
    basics::run_child(&format!("driver::{name}"), &environment);
}

/// Calls every function of the driver that the device layer uses.
fn everything() -> Result {
    let devices = Device::all_cuda()?;
    let [first, second] = &devices[..] else { panic!("{devices:?}") };
    assert_eq!((first.name(), first.info().multiprocessors, first.info().clock_khz), ("Fake GPU", 4, 1 << 20));
    assert!(first.enable_peer_access(second)?);
    assert!(first.memory()?.free > 0);

    let (stream, other) = (first.stream()?, first.stream()?);
    let x = first.upload(&[1.0f32, 2.0, 3.0, 4.0])?;
    let mut y = first.alloc_zeroed::<f32>(4)?;
    stream.fill(&mut y, 1.5)?;
    assert_eq!(stream.download_vec(&y)?, [1.5; 4]);
    stream.copy(&x, &mut y)?;
    assert_eq!(stream.download_vec(&y)?, [1.0, 2.0, 3.0, 4.0]);
    let mut halves = first.alloc::<u16>(6)?;
    stream.fill(&mut halves, 0x1234)?;
    assert_eq!(stream.download_vec(&halves)?, [0x1234; 6]);
    let pinned = stream.upload_async(first.pinned(4)?, &mut y)?.wait()?;
    assert_eq!(stream.download_async(&x, pinned)?.wait()?[..], [1.0, 2.0, 3.0, 4.0]);
    assert_eq!(first.mapped::<u8>(3)?.len(), 3);

    let (start, end) = (stream.record()?, other.record()?);
    other.wait(&start)?;
    end.synchronize()?;
    assert!(start.is_done()? && stream.is_done()?);
    assert_eq!(end.elapsed_ms(&start)?, 1.0);

    launch!(stream, samples::saxpy<<<1, 32>>>(2.0, &x, &mut y))?;
    launch!(stream, outside::kernels::linked::foreign<<<1, 32>>>(&x, &mut first.alloc(4)?))?;
    let mut values = first.upload(&[1u32, 2, 3, 4])?;
    // SAFETY: the fake's kernels do nothing.
    unsafe { launch!(stream, samples::reverse_blocks<<<2, 2, 64 << 10>>>(&mut values))? };
    assert_eq!(first.occupancy(samples::saxpy::kernel(), 128, 0)?, 2);
    // SAFETY: no kernel is running.
    unsafe { first.set_constant(&samples::COEFFICIENTS, &[1.0; 4])? };
    let graph = first.capture_branches(2, |streams| launch!(streams[1], samples::saxpy<<<1, 32>>>(2.0, &x, &mut y)))?;
    graph.prepare(&stream)?;
    // SAFETY: the fake's kernels do nothing.
    unsafe { graph.launch(&stream)? };
    // SAFETY: both are one buffer's, and nothing else uses them.
    unsafe { stream.copy_bytes(x.as_device_ptr() + 8, x.as_device_ptr(), 8)? };
    stream.synchronize()?;
    first.synchronize()
}

#[test]
fn the_fake_is_as_good_as_a_driver() {
    run_child("child_everything", None);
}

/// Processes of one host take devices in turns, and open no other.
#[test]
fn each_process_opens_its_own_device() {
    run_child("child_second_device", Some("cuDevicePrimaryCtxRetain 0:101"));
}

#[test]
fn child_second_device() -> Result {
    if !is_child() {
        return Ok(());
    }
    assert_eq!(Device::count_cuda()?, 2);
    for process in [1, 3, u32::MAX] {
        for backend in [None, Some(Backend::Cuda)] {
            assert_eq!(Device::of_process(process, backend)?.ordinal(), Some(1));
        }
        assert_eq!(Device::of_process(process, Some(Backend::Cpu))?.ordinal(), None);
    }
    // The first can't be opened: where nobody wants a GPU, the CPU is taken.
    assert!(Device::of_process(2, Some(Backend::Cuda)).is_err() && Device::best().is_err());
    assert_eq!(Device::of_process(2, None)?.backend(), Backend::Cpu);
    assert_eq!(Device::several_cuda(0..3).iter().map(std::result::Result::is_ok).collect::<Vec<_>>(), [false, true, false]);
    Ok(())
}

/// Each crate's kernels and constants come from its own PTX.
#[test]
fn modules_of_several_crates() {
    run_child("child_modules", None);
}

#[test]
fn child_modules() -> Result {
    if !is_child() {
        return Ok(());
    }
    let device = Device::best()?;
    // The higher one of its own kernels' best and of the library's.
    assert_eq!(device.image(), Some(90));
    // The fake's kernels do nothing.
    assert_eq!(modules::launch_both(&device)?, [[0.0; 4], [0.0; 4]]);
    modules::check_missing(&device)
}

/// A newer driver's codes come as what they are, whichever function returns them.
#[test]
fn unknown_codes() {
    let functions = "cuInit cuDeviceGetCount cuDeviceGet cuDeviceGetName cuDeviceTotalMem_v2 cuDeviceGetAttribute \
        cuDevicePrimaryCtxRetain cuDeviceCanAccessPeer cuCtxGetCurrent cuCtxSetCurrent cuCtxSynchronize cuCtxEnablePeerAccess \
        cuMemGetInfo_v2 cuMemAlloc_v2 cuMemHostAlloc cuMemcpyHtoDAsync_v2 cuMemcpyDtoHAsync_v2 cuMemcpyAsync cuMemsetD8Async \
        cuMemsetD16Async cuMemsetD32Async cuStreamCreate cuStreamSynchronize cuStreamQuery cuStreamWaitEvent cuStreamBeginCapture_v2 \
        cuStreamEndCapture cuGraphInstantiateWithFlags cuGraphUpload cuGraphLaunch cuEventCreate cuEventRecord cuEventQuery \
        cuEventSynchronize cuEventElapsedTime cuLinkCreate_v2 cuLinkAddData_v2 cuLinkComplete \
        cuModuleLoadDataEx cuLibraryLoadData cuLibraryGetModule cuModuleGetFunction cuModuleGetGlobal_v2 cuFuncGetAttribute \
        cuFuncSetAttribute cuOccupancyMaxActiveBlocksPerMultiprocessor cuLaunchKernel *";
    for (function, code) in functions.split_whitespace().zip([4242, 1001, 87_654_321].into_iter().cycle()) {
        run_child("child_everything", Some(&format!("{function}:{code}")));
    }
    for destructor in [
        "cuMemFree_v2",
        "cuMemFreeHost",
        "cuLinkDestroy",
        "cuStreamDestroy_v2",
        "cuGraphExecDestroy",
        "cuGraphDestroy",
        "cuEventDestroy_v2",
    ] {
        run_child("child_everything", Some(&format!("{destructor}:4242")));
    }
}

#[test]
fn child_everything() {
    if !is_child() {
        return;
    }
    let result = everything();
    let Some(fail) = std::env::var(FAIL).ok() else { return result.unwrap() };
    let (function, code) = fail.split_once(':').unwrap();
    if function.contains("Destroy") || function.contains("Free") {
        return result.unwrap();
    }
    let error = result.expect_err(function);
    match &error {
        DeviceError::Driver { call, code: found, .. } => {
            assert_eq!(found.to_string(), code, "{error}");
            let name = function.trim_end_matches("_v2");
            assert!(name.starts_with(call) || call.starts_with("cuMemset") && name.starts_with("cuMemset"), "{error}");
        }
        DeviceError::NoDevice { .. } | DeviceError::LaunchFailed { .. } | DeviceError::Module { .. } => {}
        _ => panic!("{function}: {error}"),
    }
    assert!(error.to_string().contains(code), "{error}");
}

/// Several kernels are loaded at a time. A driver that can't do so loads each at its launch.
#[test]
fn kernels_are_preloaded_side_by_side() {
    run_child_with("child_preload", &[("FAKE_CUDA_TOGETHER", "2"), ("WARPSMITH_THREADS", "2")]);
    run_child_with("child_preload", &[("FAKE_CUDA_VERSION", "11080")]);
    run_child_with("child_preload", &[("CUDA_MODULE_LOADING", "EAGER")]);
}

#[test]
fn child_preload() -> Result {
    if !is_child() {
        return Ok(());
    }
    let device = Device::best()?;
    let kernels = [samples::saxpy::kernel(), samples::reverse_blocks::kernel(), modules::count::kernel()];
    device.preload(&kernels);
    let loaded = device.compile_time();
    assert_eq!(loaded > Duration::ZERO, std::env::var_os("FAKE_CUDA_TOGETHER").is_some());
    device.preload(&kernels);
    let stream = device.stream()?;
    let mut values = device.upload(&[1u32, 2, 3, 4])?;
    // SAFETY: the fake's kernels do nothing.
    unsafe { launch!(stream, samples::reverse_blocks<<<2, 2, 8>>>(&mut values))? };
    let x = device.upload(&[1.0f32, 2.0])?;
    launch!(stream, samples::saxpy<<<1, 32>>>(2.0, &x, &mut device.alloc(2)?))?;
    assert_eq!(device.compile_time() == loaded, loaded > Duration::ZERO, "what is loaded isn't loaded again");
    // A kernel that can't be loaded fails at its launch.
    let error = launch!(stream, modules::count<<<1, 32>>>(&mut device.alloc::<u32>(1)?)).unwrap_err().to_string();
    assert!(error.contains("`modules::count`"), "{error}");
    stream.synchronize()
}

unsafe extern "C" {
    safe fn cuCtxGetCurrent(context: &mut *mut c_void) -> c_int;
    safe fn cuCtxSetCurrent(context: *mut c_void) -> c_int;
    safe fn cuCtxCreate_v2(context: &mut *mut c_void, flags: c_uint, device: c_int) -> c_int;
}

/// Which GPU an address belongs to.
fn gpu_of(address: u64) -> u64 {
    (address >> 40) - 1
}

fn current() -> *mut c_void {
    let mut context = ptr::null_mut();
    assert_eq!(cuCtxGetCurrent(&mut context), 0);
    context
}

/// Another library on the thread makes another context current, and finds it so afterwards.
#[test]
fn contexts_of_others() {
    run_child("child_contexts", None);
}

#[test]
fn child_contexts() -> Result {
    if !is_child() {
        return Ok(());
    }
    let (first, second) = (Device::cuda(0)?, Device::cuda(1)?);
    assert!(current().is_null(), "to open a device makes no context current");
    assert_eq!(gpu_of(first.upload(&[1])?.as_device_ptr()), 0);
    let primary = current();
    assert!(!primary.is_null(), "where there was none, the device's stays");

    let mut foreign = ptr::null_mut();
    assert_eq!(cuCtxCreate_v2(&mut foreign, 0, 71), 0);
    for theirs in [foreign, primary] {
        for (gpu, device) in (0..).zip([&first, &second]) {
            cuCtxSetCurrent(theirs);
            let buffer = device.upload(&[1.0f32, 2.0, 3.0])?;
            assert_eq!((gpu_of(buffer.as_device_ptr()), current()), (gpu, theirs));
            assert_eq!((gpu_of(device.alloc::<u8>(9)?.as_device_ptr()), current()), (gpu, theirs));
            let stream = device.stream()?;
            assert_eq!(stream.download_vec(&buffer)?, [1.0, 2.0, 3.0]);
            drop(stream.record()?);
            let mut out = device.alloc(3)?;
            launch!(stream, samples::saxpy<<<1, 32>>>(2.0, &buffer, &mut out))?;
            stream.synchronize()?;
            drop((buffer, stream, out, device.pinned::<u8>(1)?));
            assert_eq!(current(), theirs);
        }
    }
    // With failures, too.
    cuCtxSetCurrent(foreign);
    assert!(matches!(first.alloc::<u8>(1 << 40), Err(DeviceError::OutOfMemory { .. })));
    assert_eq!(current(), foreign);

    cuCtxSetCurrent(foreign);
    everything()?;
    assert_eq!(current(), foreign);

    // A thread without a context is at nobody's.
    let own = thread::spawn(move || second.upload(&[1]).map(|buffer| gpu_of(buffer.as_device_ptr())));
    assert_eq!(own.join().unwrap()?, 1);
    Ok(())
}
