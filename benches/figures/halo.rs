//! The figures of docs/performance.md on the kernels of the halo exchange: `cargo bench --bench figures -- halo`.
//!
//! A brick of cells with ghost cells, in device memory. Each time is of one launch, by events around it, medians of seven
//! after two to warm up; beside it, the bytes that have to be moved at least over that time. A copy of the whole array,
//! which reads and writes as much as the step of all cells, is what memory gives. `--quick` takes a small brick.

use std::error::Error;

use gpu_kernels::halo::{Brick, faces, stencil};
use warpsmith::{
    device::{Device, DeviceError, Stream},
    launch,
};

use crate::{RUNS, WARM_UP, median};

/// The bytes of a cell.
const CELL: u64 = 8;
/// Threads of a block, but of [`stencil::interior`].
const THREADS: u32 = 256;

fn kernels(device: &Device, extent: u32) -> Result<(), Box<dyn Error>> {
    println!("\n{extent}³ cells");
    let brick = Brick { nx: extent, ny: extent, nz: extent };
    let (nx, ny, nz) = (extent, extent, extent);
    let stream = device.stream()?;
    let (mut cells, mut next) = (device.upload(&vec![0.5; brick.padded_len()])?, device.alloc_zeroed(brick.padded_len())?);
    let both_faces = 2 * brick.face_len(0) as usize;
    let mut sent = device.alloc_zeroed(both_faces)?;
    let bench = |name: &str, bytes: u64, work: &mut dyn FnMut(&Stream) -> Result<(), DeviceError>| -> Result<(), DeviceError> {
        let times = (0..WARM_UP + RUNS).map(|_| stream.time(|stream| work(stream))).collect::<Result<Vec<f64>, _>>()?;
        let (ms, spread) = median(times[WARM_UP..].to_vec());
        println!("  {name:<10} {ms:9.3} ms {:8.1} GB/s (spread {:.1} %)", bytes as f64 / ms / 1e6, 100.0 * spread);
        Ok(())
    };
    bench("copy", 2 * CELL * brick.padded_len() as u64, &mut |stream| stream.copy(&cells, &mut next))?;
    let (inner, grid) = (u64::from(extent.saturating_sub(2)).pow(3), stencil::interior_grid(brick));
    bench("interior", CELL * (brick.cells() as u64 + inner), &mut |stream| {
        // SAFETY: both arrays are the brick's, and nothing else uses them.
        unsafe { launch!(stream, stencil::interior<<<grid, stencil::TILE>>>(&cells, &mut next, nx, ny, nz, 0.125)) }
    })?;
    // The outermost cells, those across their faces on both sides, and the results.
    let (shell, grid) = (brick.cells() as u64 - inner, brick.shell_len().div_ceil(THREADS));
    bench("shell", 4 * CELL * shell, &mut |stream| {
        // SAFETY: both arrays are the brick's, and nothing else uses them.
        unsafe { launch!(stream, stencil::shell<<<grid, THREADS>>>(&cells, &mut next, nx, ny, nz, 0.125)) }
    })?;
    for (d, name) in (0..).zip(["x", "y", "z"]) {
        let (bytes, grid) = (2 * CELL * both_faces as u64, (both_faces as u32).div_ceil(THREADS));
        bench(&format!("pack {name}"), bytes, &mut |stream| {
            // SAFETY: the cells are the brick's, and there is room for both faces.
            unsafe { launch!(stream, faces::pack<<<grid, THREADS>>>(&cells, &mut sent, nx, ny, nz, d, 0)) }
        })?;
        bench(&format!("unpack {name}"), bytes, &mut |stream| {
            // SAFETY: the cells are the brick's, nothing else uses them, and `sent` has both faces.
            unsafe { launch!(stream, faces::unpack<<<grid, THREADS>>>(&sent, &mut cells, nx, ny, nz, d, 0)) }
        })?;
    }
    Ok(())
}

pub fn main(arguments: Vec<String>) -> Result<(), Box<dyn Error>> {
    let extents: &[u32] = if arguments.iter().any(|argument| argument == "--quick") { &[48] } else { &[128, 256, 512] };
    let device = Device::best()?;
    println!("{device}, medians of {RUNS}");
    extents.iter().try_for_each(|&extent| kernels(&device, extent))
}
