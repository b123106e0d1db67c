//! How large a launch is, and what is checked before the driver or the executor sees it.

use super::error::{Bytes, DeviceError};
use cuda_std::launch::{ArgWords, KernelInfo, Location};

pub use simt::Dim3;

/// Extents of a launch: blocks in the grid, threads in a block, bytes of dynamic shared memory in a block.
///
/// [`launch!`](crate::launch!) makes one of what stands between its chevrons.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LaunchConfig {
    /// How many blocks. With an extent of zero a launch does nothing.
    pub grid: Dim3,
    /// How many threads in a block.
    pub block: Dim3,
    /// Bytes of dynamic shared memory of a block.
    pub shared: usize,
}

impl LaunchConfig {
    /// A launch of `grid` blocks of `block` threads: each a `u32`, `(u32, u32)`, `(u32, u32, u32)` or [`Dim3`].
    pub fn new(grid: impl Into<Dim3>, block: impl Into<Dim3>) -> Self {
        LaunchConfig { grid: grid.into(), block: block.into(), shared: 0 }
    }

    /// Enough blocks of `block` threads, in one dimension, that each of `n` elements has a thread.
    ///
    /// The grid has at most 2³¹ - 1 blocks, so a kernel for more elements than that has threads for loops over them. No elements:
    /// no blocks, and the launch does nothing.
    pub fn for_elements(n: usize, block: u32) -> Self {
        let blocks = n.div_ceil(block.max(1) as usize);
        LaunchConfig::new(u32::try_from(blocks).unwrap_or(u32::MAX).min(i32::MAX as u32), block)
    }

    /// The same with `bytes` of dynamic shared memory for each block.
    pub fn shared(self, bytes: usize) -> Self {
        LaunchConfig { shared: bytes, ..self }
    }
}

/// What a device can launch.
#[derive(Clone, Copy, Debug)]
pub(super) struct Limits {
    pub(super) threads_per_block: u32,
    pub(super) block: Dim3,
    pub(super) grid: Dim3,
    /// Static and dynamic shared memory of a block together, in bytes.
    pub(super) shared: usize,
}

/// What an argument for a `&T` is said to point into where its buffer is empty. The launch then fails; binding can't.
pub(super) const NOWHERE: Location = Location::Cuda(u32::MAX);

/// A location in words.
pub(super) fn place(location: Location) -> String {
    match location {
        Location::Cpu => "the CPU".to_owned(),
        Location::Cuda(ordinal) => format!("CUDA device {ordinal}"),
    }
}

/// Whether there is anything to launch, if it is launched rightly.
///
/// `home` is where the stream's device has its memory, and `device` the device in words.
pub(super) fn check(
    kernel: &KernelInfo,
    args: &ArgWords,
    config: &LaunchConfig,
    limits: &Limits,
    home: Location,
    device: impl Fn() -> String,
) -> Result<bool, DeviceError> {
    let LaunchConfig { grid, block, shared } = *config;
    for &location in args.locations.iter().filter(|&&location| location != home) {
        if location != NOWHERE {
            return Err(DeviceError::ArgumentElsewhere { kernel: kernel.name(), buffer: place(location), stream: device() });
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
    } else if let Some(bound) = kernel.max_threads.filter(|&bound| threads > u64::from(bound)) {
        format!("its block {block} has {threads} threads, and the kernel declares at most {bound}")
    } else if exceeds(block, limits.block) {
        format!("its block {block} is beyond the device's limit {} in some dimension", limits.block)
    } else if exceeds(grid, limits.grid) {
        format!("its grid {grid} is beyond the device's limit {} in some dimension", limits.grid)
    } else if kernel.one_dimensional && !(is_flat(grid) && is_flat(block)) {
        format!(
            "it takes a DisjointSlice, which one-dimensional grids and blocks alone share out rightly, and its grid is {grid}, \
             its block {block}"
        )
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

fn is_flat(extent: Dim3) -> bool {
    // An extent of zero launches nothing, in whichever dimension.
    extent.y <= 1 && extent.z <= 1
}
