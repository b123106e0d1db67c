//! Kernels of other crates than gpu-kernels: of `outside`, which declares a module, and of this one, which has none.

use cuda_std::prelude::*;
use gpu_kernels::samples;
use outside::kernels;
use warpsmith::device::{Backend, Device, DeviceError, kernel_modules};
use warpsmith::launch;

type Result<T = (), E = DeviceError> = std::result::Result<T, E>;

/// A kernel that no build script has built.
#[kernel]
pub fn count(mut out: DisjointSlice<u32>) {
    for (i, out) in out.grid_stride_mut() {
        *out = i as u32;
    }
}

/// Launches kernels of both crates, whose names and whose constants' names are the same.
pub fn launch_both(device: &Device) -> Result<[Vec<f32>; 2]> {
    let stream = device.stream()?;
    let x = device.upload(&[1.0f32, 2.0, 3.0, 4.0])?;
    let [mut own, mut outside] = [device.alloc_zeroed::<f32>(4)?, device.alloc_zeroed::<f32>(4)?];
    // SAFETY: the caller alone uses the constants, and waits for its kernels.
    unsafe {
        device.set_constant(&kernels::samples::COEFFICIENTS, &[10.0, 0.5])?;
        device.set_constant(&samples::COEFFICIENTS, &[1.0; 4])?;
    }
    launch!(stream, samples::saxpy<<<1, 32>>>(2.0, &x, &mut own))?;
    launch!(stream, kernels::samples::saxpy<<<1, 32>>>(&mut outside))?;
    assert!(device.occupancy(kernels::samples::saxpy::kernel(), 128, 0)? > 0);
    assert!(device.kernel_attributes(kernels::samples::saxpy::kernel())?.max_threads >= 32);
    Ok([stream.download_vec(&own)?, stream.download_vec(&outside)?])
}

/// What a GPU says of kernels that it has no PTX of, or PTX of other types.
pub fn check_missing(device: &Device) -> Result {
    let stream = device.stream()?;
    let mut out = device.alloc::<u32>(100)?;
    let error = launch!(stream, count<<<1, 32>>>(&mut out)).unwrap_err().to_string();
    assert!(error.contains("`modules::count`") && error.contains("of the crate device"), "{error}");
    assert!(error.contains("`warpsmith_device::kernel_module!(device);`"), "{error}");
    let error = launch!(stream, kernels::left_out::ones<<<1, 32>>>(&mut out)).unwrap_err().to_string();
    assert!(error.contains("`left_out::ones`") && error.contains("without the feature"), "{error}");
    let (mut reals, mut pairs) = (device.alloc::<f32>(4)?, device.alloc(4)?);
    let error = launch!(stream, kernels::reals::fill<<<1, 32>>>(1.0, &mut reals)).unwrap_err().to_string();
    assert!(error.contains("`reals::fill`") && error.contains("other types on GPUs than on the host"), "{error}");
    let error = launch!(stream, kernels::reals::swap<<<1, 32>>>(&mut pairs)).unwrap_err().to_string();
    assert!(error.contains("`reals::swap`") && error.contains("other types"), "{error}");
    // An enum of the same size, with a variant more.
    let mut numbers = device.upload(&[kernels::reals::Number::Signed(1)])?;
    let error = launch!(stream, kernels::reals::count<<<1, 32>>>(&mut numbers)).unwrap_err().to_string();
    assert!(error.contains("`reals::count`") && error.contains("other types"), "{error}");
    Ok(())
}

#[test]
fn kernels_of_several_crates() -> Result {
    let device = Device::best()?;
    assert_eq!(launch_both(&device)?, [vec![2.0, 4.0, 6.0, 8.0], vec![10.0, 10.5, 11.0, 11.5]]);
    if device.backend() == Backend::Cuda {
        check_missing(&device)?;
    }
    Ok(())
}

/// On the CPU a kernel is a function of the program.
#[test]
fn the_cpu_needs_no_module() -> Result {
    let device = Device::cpu();
    let stream = device.stream()?;
    let mut out = device.alloc::<u32>(100)?;
    launch!(stream, count<<<4, 32>>>(&mut out))?;
    assert_eq!(stream.download_vec(&out)?, (0..100).collect::<Vec<_>>());
    launch!(stream, kernels::left_out::ones<<<4, 32>>>(&mut out))?;
    assert_eq!(stream.download_vec(&out)?, [1; 100]);
    Ok(())
}

#[test]
fn a_program_knows_the_modules_of_all_its_crates() {
    let mut modules: Vec<_> = kernel_modules().collect();
    modules.sort_by_key(|module| module.crate_name());
    let names: Vec<_> = modules.iter().map(|module| module.crate_name()).collect();
    assert_eq!(names, ["gpu_kernels", "outside_kernels"]);
    assert!(modules[0].images().iter().all(|image| image.kernels().len() == 1));
    let [image] = modules[1].images() else { panic!("{} images", modules[1].images().len()) };
    assert!(image.kernels().contains(&"samples_saxpy") && !image.kernels().contains(&"left_out_ones"), "{:?}", image.kernels());
    let architectures: Vec<_> = image.ptx().iter().map(|&(arch, _)| arch).collect();
    assert_eq!(architectures, [75, 90, 90], "the last is sm_90a");
    for (arch, ptx) in image.ptx() {
        assert!(ptx.contains(".entry samples_saxpy(") && !ptx.contains("left_out"), "sm_{arch}");
    }
}
