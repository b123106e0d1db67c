//! Sorting by keys.

use cuda_std::launch::KernelInfo;
use gpu_kernels::collectives::{
    scan,
    sort::{self, Digit, MAX_BITS, THREADS},
};

use super::{ScanWorkspace, exclusive_scan_in_place};
use crate::{
    device::{Backend, Buffer, Device, DeviceError, Stream, View},
    launch,
};

/// The kernels that sort a tile of keys. Both give the same result.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SortKernel {
    /// A block, in shared memory: the default on GPUs.
    Tiled,
    /// A single thread: the default on CPUs.
    Direct,
}

/// Workspace of [`sort()`], with the result that it leaves: a little more than 16 bytes per key. It
/// grows with the longest input, and never shrinks.
#[derive(Debug)]
pub struct SortWorkspace {
    /// Keys and indices after the last pass.
    sorted: [Buffer<u32>; 2],
    /// Those before it.
    spare: [Buffer<u32>; 2],
    counts: Buffer<u32>,
    scan: ScanWorkspace,
    kernel: SortKernel,
}

impl SortWorkspace {
    /// A workspace for sorting on streams of `device`.
    pub fn new(device: &Device) -> Result<Self, DeviceError> {
        let kernel = match device.backend() {
            Backend::Cuda => SortKernel::Tiled,
            Backend::Cpu => SortKernel::Direct,
        };
        Ok(SortWorkspace {
            kernel,
            sorted: [device.empty(), device.empty()],
            spare: [device.empty(), device.empty()],
            counts: device.empty(),
            scan: ScanWorkspace::new(device)?,
        })
    }

    /// The same for sorting by `kernel`, whatever the device.
    pub fn with_kernel(self, kernel: SortKernel) -> Self {
        SortWorkspace { kernel, ..self }
    }

    /// Kernels of a sort, for [`Device::preload`].
    pub fn kernels(&self) -> Vec<&'static KernelInfo> {
        let [count, scatter] = match self.kernel {
            SortKernel::Tiled => [sort::count::kernel(), sort::scatter::kernel()],
            SortKernel::Direct => [sort::count_direct::kernel(), sort::scatter_direct::kernel()],
        };
        vec![count, scan::exclusive_in_place::kernel::<u32>(), scatter]
    }

    /// The keys of the last [`sort()`], ascending.
    pub fn keys(&self) -> &Buffer<u32> {
        &self.sorted[0]
    }

    /// The order of the last [`sort()`]: `keys()[i]` was the key at the index `order()[i]`.
    pub fn order(&self) -> &Buffer<u32> {
        &self.sorted[1]
    }
}

/// Sorts `keys`, all below 2^`bits`, and leaves them with their indices in `workspace`
/// ([`keys`](SortWorkspace::keys), [`order`](SortWorkspace::order)). Equal keys keep their order. Doesn't wait.
///
/// A radix sort in `bits / 8` passes, rounded up, one at least: of each, the keys are read twice, and keys and indices
/// written once. Bits from `bits` on are left out of account.
///
/// ```
/// use warpsmith::{collectives::{SortWorkspace, sort}, device::{Device, DeviceError}};
///
/// let device = Device::best()?;
/// let stream = device.stream()?;
/// let mut workspace = SortWorkspace::new(&device)?;
/// sort(&stream, &device.upload(&[3u32, 1, 4, 1, 5])?, 3, &mut workspace)?;
/// assert_eq!(stream.download_vec(workspace.keys())?, [1, 1, 3, 4, 5]);
/// assert_eq!(stream.download_vec(workspace.order())?, [1, 3, 0, 2, 4]);
/// # Ok::<(), DeviceError>(())
/// ```
///
/// # Errors
/// [`DeviceError::LengthMismatch`] for 2^31 keys or more, [`DeviceError::ArgumentElsewhere`] if
/// something is on another device than the stream, and errors of earlier work on the device.
pub fn sort<'a>(
    stream: &Stream,
    keys: impl Into<View<'a, u32>>,
    bits: u32,
    workspace: &mut SortWorkspace,
) -> Result<(), DeviceError> {
    passes(stream, keys.into(), bits, workspace, false)
}

/// Sorts by more significant keys after [`sort()`], or after this function: `keys[i]` is that of the item `order()[i]`.
/// Items with equal keys keep their order, so that both together sort by keys of any length. Doesn't wait.
///
/// # Errors
/// As [`sort()`], and [`DeviceError::LengthMismatch`] unless there are as many keys as before.
pub fn sort_further<'a>(
    stream: &Stream,
    keys: impl Into<View<'a, u32>>,
    bits: u32,
    workspace: &mut SortWorkspace,
) -> Result<(), DeviceError> {
    let (keys, expected) = (keys.into(), workspace.order().len());
    if keys.len() != expected {
        return Err(DeviceError::LengthMismatch { what: "keys to sort further", found: keys.len(), expected });
    }
    passes(stream, keys, bits, workspace, true)
}

/// Sorts `keys` with their indices, or with the workspace's order if they are sorted `further`.
fn passes(
    stream: &Stream,
    keys: View<'_, u32>,
    bits: u32,
    workspace: &mut SortWorkspace,
    further: bool,
) -> Result<(), DeviceError> {
    let n = keys.len();
    if n > i32::MAX as usize {
        return Err(DeviceError::LengthMismatch { what: "keys to sort", found: n, expected: i32::MAX as usize });
    }
    let SortWorkspace { sorted, spare, counts, scan, kernel } = workspace;
    for buffer in sorted.iter_mut().chain(&mut *spare) {
        buffer.ensure(n)?;
    }
    if n == 0 {
        return Ok(());
    }
    // Passes of about as many bits each, as few as can be.
    let bits = bits.clamp(1, u32::BITS);
    let passes = bits.div_ceil(MAX_BITS);
    let tiles = sort::tiles(n);
    let none = stream.device().empty();
    for pass in 0..passes {
        let shift = bits * pass / passes;
        let digit = Digit { shift, bits: bits * (pass + 1) / passes - shift };
        counts.ensure(tiles * digit.values() as usize)?;
        std::mem::swap(sorted, spare);
        let (keys, values) = match pass {
            0 if further => (keys, &spare[1]),
            0 => (keys, &none),
            _ => (spare[0].as_view(), &spare[1]),
        };
        let grid = tiles as u32;
        // SAFETY: there are as many blocks as tiles, and a count for each of them and each digit.
        unsafe {
            match kernel {
                SortKernel::Tiled => launch!(stream, sort::count<<<grid, THREADS>>>(keys, &mut *counts, digit))?,
                SortKernel::Direct => launch!(stream, sort::count_direct<<<grid, 1>>>(keys, &mut *counts, digit))?,
            }
        }
        exclusive_scan_in_place(stream, &mut *counts, scan)?;
        let [sorted_keys, sorted_values] = &mut *sorted;
        // SAFETY: there are as many blocks as tiles; the starts are those of these keys and this digit, and all arrays
        // are as long as the keys, or empty.
        unsafe {
            match kernel {
                SortKernel::Tiled => launch!(stream, sort::scatter<<<grid, THREADS>>>(
                    keys, values, &*counts, sorted_keys, sorted_values, digit
                ))?,
                SortKernel::Direct => launch!(stream, sort::scatter_direct<<<grid, 1>>>(
                    keys, values, &mut *counts, sorted_keys, sorted_values, digit
                ))?,
            }
        }
    }
    Ok(())
}
