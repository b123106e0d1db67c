//! Products of matrices by warpgroups, on the backend that `WARPSMITH_BACKEND` names, or on a GPU where there is one.
//! Elements are small integers, of which all sums are exact.

use bytemuck::Pod;
use cuda_std::{
    half::{bf16, f16},
    tensor::Swizzle,
};
use outside::kernels::products::{self, product_64, product_128, product_256};
use std::{fs, path::Path, process::Command};
use warpsmith_device::{Device, DeviceError, Stream, TensorLayout, TensorMap, View, kernel_modules, launch};

type Result<T = (), E = DeviceError> = std::result::Result<T, E>;

/// None where the GPU has no warpgroups.
fn stream() -> Option<Stream> {
    let device = Device::best().unwrap();
    let other = device.info().compute_capability.is_some_and(|(major, _)| major != 9);
    (!other).then(|| device.stream().unwrap())
}

/// From -15 to 15.
fn integers(count: usize, seed: u32) -> impl Iterator<Item = i16> {
    (0..count as u32).map(move |i| ((i + seed).wrapping_mul(0x9e37_79b9) >> 20) as i16 % 31 - 15)
}

/// `c + a bᵀ`, of rows of `depth`.
fn product(a: &[i16], b: &[i16], depth: usize, c: impl Fn(usize) -> f32) -> Vec<f32> {
    let rows = a.chunks(depth).flat_map(|a| b.chunks(depth).map(move |b| (a, b)));
    let dot = |a: &[i16], b: &[i16]| a.iter().zip(b).map(|(&a, &b)| i32::from(a) * i32::from(b)).sum::<i32>();
    rows.enumerate().map(|(i, (a, b))| c(i) + dot(a, b) as f32).collect()
}

macro_rules! one_tile {
    ($($test:ident: $kernel:ident $columns:literal;)*) => {$(
        #[test]
        fn $test() -> Result {
            fn check<H: Pod>(of: fn(f32) -> H, launch: impl Fn(&[H], &[H], &[f32]) -> Result<Vec<f32>>) -> Result {
                let (a, b): (Vec<i16>, Vec<i16>) = (integers(64 * 64, 1).collect(), integers(64 * $columns, 9999).collect());
                let halves = |values: &[i16]| values.iter().map(|&value| of(value.into())).collect::<Vec<H>>();
                let c: Vec<f32> = (0..64 * $columns).map(|i| i as f32).collect();
                assert_eq!(launch(&halves(&a), &halves(&b), &c)?, product(&a, &b, 64, |i| i as f32));
                Ok(())
            }
            let Some(stream) = stream() else { return Ok(()) };
            let device = stream.device();
            macro_rules! of {
                ($h:ty) => {
                    check::<$h>(<$h>::from_f32, |a, b, c| {
                        let (a, b, mut d) = (device.upload(a)?, device.upload(b)?, device.upload(c)?);
                        // SAFETY: the arrays and the shared memory have the sizes that the kernel asks for.
                        unsafe { launch!(stream, $kernel::<$h><<<1, 128, 128 * (64 + $columns) + 1024>>>(&a, &b, &mut d))? };
                        stream.download_vec(&d)
                    })?
                };
            }
            of!(f16);
            of!(bf16);
            Ok(())
        }
    )*};
}
one_tile! {
    tiles_of_64: product_64 64;
    tiles_of_128: product_128 128;
    tiles_of_256: product_256 256;
}

#[test]
fn a_product_of_matrices() -> Result {
    let Some(stream) = stream() else { return Ok(()) };
    let device = stream.device();
    // More steps than stages on a GPU; on the CPU they take long.
    let (m, n, k) = if device.info().compute_capability.is_some() { (384, 768, 640) } else { (128, 256, 128) };
    let (a, b): (Vec<i16>, Vec<i16>) = (integers(m * k, 1).collect(), integers(n * k, 77_777).collect());
    let halves = |values: &[i16]| values.iter().map(|&value| f16::from_f32(value.into())).collect::<Vec<_>>();
    let (on_a, on_b, mut c) = (device.upload(&halves(&a))?, device.upload(&halves(&b))?, device.alloc_zeroed::<f32>(m * n)?);
    let layout = |rows: usize, tile: usize| TensorLayout {
        swizzle: Swizzle::Bytes128,
        ..TensorLayout::dense([k, rows], [products::DEPTH as u32, tile as u32])
    };
    let map_a = TensorMap::new(View::from(&on_a), layout(m, products::ROWS))?;
    let map_b = TensorMap::new(View::from(&on_b), layout(n, products::COLUMNS))?;
    let grid = ((n / products::COLUMNS) as u32, (m / products::ROWS) as u32);
    // SAFETY: the extents are multiples of the tiles', and the maps are as the kernel asks.
    unsafe {
        launch!(stream, products::matmul_wgmma<<<grid, products::THREADS, products::SHARED>>>(
            &map_a, &map_b, &mut c, n as u32, k as u32
        ))?;
    }
    assert_eq!(stream.download_vec(&c)?, product(&a, &b, k, |_| 0.0));
    Ok(())
}

#[test]
fn ptx() {
    let module = kernel_modules().find(|module| module.crate_name() == "outside_kernels").unwrap();
    let image = module.images().iter().find(|image| image.kernels().contains(&"products_matmul_wgmma")).unwrap();
    let texts = image.ptx();
    let specific = |(_, text): &&(u32, &str)| text.contains(".target sm_90a");
    let &(_, text) = texts.iter().find(specific).unwrap();
    for columns in [64, 128, 256] {
        for half in ["f16", "bf16"] {
            let name = format!("wgmma.mma_async.sync.aligned.m64n{columns}k16.f32.{half}.{half}");
            assert_eq!(text.matches(&name).count() % 4, 0, "{name}");
            assert!(text.contains(&name), "{name}");
        }
    }
    assert!(texts.iter().filter(|text| !specific(text)).all(|(_, text)| !text.contains("wgmma.mma")));
    if let Some(ptxas) = std::env::var_os("PTXAS") {
        let folder = Path::new(env!("CARGO_TARGET_TMPDIR"));
        fs::write(folder.join("products.ptx"), text).unwrap();
        // Functions of other files are linked when the image is loaded.
        let arguments = ["-c", "-arch", "sm_90a", "-v", "-o", "products.cubin", "products.ptx"];
        let output = Command::new(ptxas).current_dir(folder).args(arguments).output().unwrap();
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success() && !said.contains("serialized"), "{said}");
        // The sums stay in registers.
        for of_kernel in said.split("Compiling entry function '").filter(|text| text.starts_with("products_")) {
            assert!(of_kernel.contains(" 0 bytes stack frame, 0 bytes spill stores"), "{of_kernel}");
        }
    }
}
