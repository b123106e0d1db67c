//! Launch sizes, and the checks before a launch reaches the driver or the executor.

use super::Device;
use super::error::{Bytes, DeviceError};
use cuda_std::launch::{Arguments, KernelInfo, Location};

pub use cuda_std::launch::{Dim3, LaunchConfig};

/// Launch limits of a device.
#[derive(Clone, Copy, Debug)]
pub(super) struct Limits {
    pub(super) threads_per_block: u32,
    pub(super) block: Dim3,
    pub(super) grid: Dim3,
    /// Static and dynamic shared memory of a block together, in bytes.
    pub(super) shared: usize,
    /// The GPU's compute capability; `None` on the CPU.
    pub(super) capability: Option<(u32, u32)>,
}

/// Location reported for a `&T` argument whose buffer is empty. The launch then fails, because
/// binding can't.
pub(super) const NOWHERE: Location = Location::Cuda(u32::MAX);

/// A location in words.
pub(super) fn place(location: Location) -> String {
    match location {
        Location::Cpu => "the CPU".to_owned(),
        Location::Cuda(ordinal) => format!("CUDA device {ordinal}"),
    }
}

/// Checks a launch. Returns false if its grid is empty.
pub(super) fn check(
    kernel: &KernelInfo,
    arguments: &Arguments,
    config: &LaunchConfig,
    device: &Device,
) -> Result<bool, DeviceError> {
    let LaunchConfig { grid, block, shared } = *config;
    let (limits, home) = (device.limits(), device.location());
    for location in arguments.memory().iter().map(|(memory, _)| memory.location).filter(|&location| location != home) {
        if location != NOWHERE {
            return Err(DeviceError::ArgumentElsewhere {
                kernel: kernel.name(),
                buffer: place(location),
                stream: device.to_string(),
            });
        }
        if grid.count() > 0 {
            return Err(refused(kernel, "a reference to one element was asked of an empty buffer".to_owned()));
        }
    }
    let threads = block.count();
    let reason = if threads == 0 {
        format!("its block {block} has an extent of zero")
    } else if threads > u64::from(limits.threads_per_block) {
        format!("its block {block} has {threads} threads, and {} are the device's limit", limits.threads_per_block)
    } else if let Some(bound) = kernel.contract.max_threads.filter(|&bound| threads > u64::from(bound)) {
        format!("its block {block} has {threads} threads, and the kernel declares at most {bound}")
    } else if let Some(made_for) = kernel.contract.block.filter(|&made_for| made_for != block) {
        format!("its block is {block}, and the kernel is made for blocks of {made_for}")
    } else if exceeds(block, limits.block) {
        format!("its block {block} is beyond the device's limit {} in some dimension", limits.block)
    } else if exceeds(grid, limits.grid) {
        format!("its grid {grid} is beyond the device's limit {} in some dimension", limits.grid)
    } else if kernel.contract.dimensions < dimensions(grid).max(dimensions(block)) {
        let takes = match kernel.contract.dimensions {
            1 => "a DisjointSlice, which one-dimensional grids and blocks",
            _ => "a DisjointMatrix, which grids and blocks of one or two dimensions",
        };
        format!("it takes {takes} alone share out rightly, and its grid is {grid}, its block {block}")
    } else if let Some(cluster) = kernel.contract.cluster.filter(|&cluster| !grid.is_multiple_of(cluster)) {
        format!("its grid is {grid}, and the kernel is made for grids that are a multiple of its clusters of {cluster} blocks")
    } else if let (Some(_), Some((major @ ..9, minor))) = (kernel.contract.cluster, limits.capability) {
        format!("its blocks are in clusters, which GPUs have from compute capability 9.0 on, and the device has {major}.{minor}")
    } else if shared > limits.shared {
        format!("it asks for {} of dynamic shared memory, and {} are the device's limit", Bytes(shared), Bytes(limits.shared))
    } else {
        return Ok(grid.count() > 0);
    };
    Err(refused(kernel, reason))
}

pub(super) fn refused(kernel: &KernelInfo, reason: String) -> DeviceError {
    DeviceError::LaunchFailed { kernel: kernel.name(), reason }
}

fn exceeds(extent: Dim3, limit: Dim3) -> bool {
    extent.x > limit.x || extent.y > limit.y || extent.z > limit.z
}

fn dimensions(extent: Dim3) -> u32 {
    // An extent of zero launches nothing, in whichever dimension.
    match extent {
        Dim3 { y: 0 | 1, z: 0 | 1, .. } => 1,
        Dim3 { z: 0 | 1, .. } => 2,
        _ => 3,
    }
}
