//! Scans, reductions and sorting of whole buffers.
//!
//! The first two are one kernel each ([`gpu_kernels::collectives`]) that reads every item once. All need a workspace,
//! which is made once and used again: then nothing is allocated, and no call waits for the device.
//!
//! ```
//! use warpsmith::collectives::{self, Operator, ReduceWorkspace, ScanWorkspace};
//! use warpsmith::device::{Device, DeviceError};
//!
//! let device = Device::best()?;
//! let stream = device.stream()?;
//! let input = device.upload(&[3u32, 1, 4, 1, 5])?;
//! let mut output = device.alloc::<u32>(5)?;
//!
//! let mut scan = ScanWorkspace::new(&device)?;
//! collectives::exclusive_scan(&stream, &input, &mut output, &mut scan)?;
//! assert_eq!(stream.download_vec(&output)?, [0, 3, 4, 8, 9]);
//! assert_eq!(stream.download_vec(scan.total())?, [14]);
//!
//! let mut reduce = ReduceWorkspace::new(&device)?;
//! collectives::reduce(&stream, &input, Operator::Max, &mut reduce)?;
//! assert_eq!(stream.download_vec(reduce.result())?, [5]);
//! # Ok::<(), DeviceError>(())
//! ```
//!
//! Integers wrap. Sums of floats are grouped by the number of items alone, so that they are
//! bit-for-bit reproducible, on every GPU and on the CPU.

mod sort;

pub use sort::{SortKernel, SortWorkspace, sort, sort_further};

use crate::device::{Backend, Buffer, Device, DeviceError, Stream, View, ViewMut};
use crate::launch;
use gpu_kernels::collectives::{self as kernels, look_back, reduce as reduce_kernels, scan as scan_kernels, tile};

/// Workspace of [`exclusive_scan`], with the total that it leaves.
///
/// It grows with the longest input, to between 17 and 34 bytes for every 4096 items, and never shrinks. Scans that
/// share a workspace run one after another, also on different streams. A graph with a scan uses the workspace's memory,
/// which a scan of more items than ever before replaces.
#[derive(Debug)]
pub struct ScanWorkspace<T: Value = u32> {
    total: Buffer<T>,
    ticket: Buffer<u32>,
    state: Buffer<u64>,
    /// Epoch of the last scan over the present state words; 0 if they have to be cleared.
    epoch: u32,
}

impl<T: Value> ScanWorkspace<T> {
    /// A workspace for scans on streams of `device`.
    pub fn new(device: &Device) -> Result<Self, DeviceError> {
        Ok(ScanWorkspace { total: device.alloc_zeroed(1)?, ticket: device.alloc_zeroed(1)?, state: device.empty(), epoch: 0 })
    }

    /// [`new`](Self::new) with memory for scans of up to `n` items, so that not even the first allocates.
    pub fn with_capacity(device: &Device, n: usize) -> Result<Self, DeviceError> {
        let mut workspace = Self::new(device)?;
        workspace.state.ensure(look_back::state_words(tile::tiles(n)))?;
        Ok(workspace)
    }

    /// The sum of all items of the last scan, one element: on the device, once the scan's stream has come to it. Zero
    /// before the first scan.
    pub fn total(&self) -> &Buffer<T> {
        &self.total
    }

    /// Prepares the state for a scan of `n` items: long enough, and without words of the scan's
    /// epoch, which it returns.
    fn prepare(&mut self, stream: &Stream, n: usize) -> Result<u32, DeviceError> {
        let words = look_back::state_words(tile::tiles(n));
        if words > self.state.capacity() {
            self.epoch = 0;
            self.state.ensure(words.next_power_of_two())?;
        }
        // A scan in a graph is done again with the same epoch, and whenever the graph is launched.
        let captured = stream.is_captured();
        if captured || self.epoch == 0 || self.epoch == look_back::MAX_EPOCH {
            // All of the memory: a longer scan may use more of it.
            self.epoch = 0;
            self.state.ensure(self.state.capacity())?;
            stream.fill_zero(&mut self.state)?;
            stream.fill_zero(&mut self.ticket)?;
        }
        if captured {
            // The epoch stays 0, as nothing is cleared before the graph is launched.
            return Ok(1);
        }
        self.epoch += 1;
        Ok(self.epoch)
    }
}

/// `output[i]` is the sum of `input[..i]`; the sum of all is the workspace's [`total`](ScanWorkspace::total). Doesn't
/// wait.
///
/// One pass with decoupled look-back: each item is read and written once.
///
/// # Errors
/// [`DeviceError::LengthMismatch`] if `output` isn't as long as `input`,
/// [`DeviceError::ArgumentElsewhere`] if something is on another device than the stream, and errors
/// of earlier work on the device.
pub fn exclusive_scan<'a, 'b, T: Value>(
    stream: &Stream,
    input: impl Into<View<'a, T>>,
    output: impl Into<ViewMut<'b, T>>,
    workspace: &mut ScanWorkspace<T>,
) -> Result<(), DeviceError> {
    let (input, mut output) = (input.into(), output.into());
    if output.len() != input.len() {
        let what = "the output of a scan";
        return Err(DeviceError::LengthMismatch { what, found: output.len(), expected: input.len() });
    }
    if short::<T>(stream, input.len()).is_some() {
        stream.copy(input, output.reborrow())?;
        return exclusive_scan_in_place(stream, output, workspace);
    }
    scan(stream, input.len(), workspace, |workspace, blocks, epoch| {
        let ScanWorkspace { total, ticket, state, .. } = workspace;
        let threads = tile::threads::<T>();
        // SAFETY: there are as many blocks as tiles, the output is as long as the input, and the workspace is ready.
        unsafe { launch!(stream, scan_kernels::exclusive::<T><<<blocks, threads>>>(input, output, total, ticket, state, epoch)) }
    })
}

/// [`exclusive_scan`] of `data`, which it replaces.
pub fn exclusive_scan_in_place<'a, T: Value>(
    stream: &Stream,
    data: impl Into<ViewMut<'a, T>>,
    workspace: &mut ScanWorkspace<T>,
) -> Result<(), DeviceError> {
    let data = data.into();
    let n = data.len();
    if let Some(direct) = short::<T>(stream, n) {
        return direct(stream, data, &mut workspace.total);
    }
    scan(stream, n, workspace, |workspace, blocks, epoch| {
        let ScanWorkspace { total, ticket, state, .. } = workspace;
        let threads = tile::threads::<T>();
        // SAFETY: there are as many blocks as tiles, and the workspace is ready.
        unsafe {
            launch!(stream, scan_kernels::exclusive_in_place::<T><<<blocks, threads>>>(data, n, total, ticket, state, epoch))
        }
    })
}

/// A scan in place by one thread.
type Direct<T> = fn(&Stream, ViewMut<'_, T>, &mut Buffer<T>) -> Result<(), DeviceError>;

/// Returns the scan by one thread if it takes less time: on CPUs, up to a tile.
fn short<T: Value>(stream: &Stream, n: usize) -> Option<Direct<T>> {
    T::DIRECT.filter(|_| n <= tile::TILE && stream.device().backend() == Backend::Cpu)
}

fn direct<T: Value + scan_kernels::direct::Instance>(
    stream: &Stream,
    data: ViewMut<'_, T>,
    total: &mut Buffer<T>,
) -> Result<(), DeviceError> {
    let n = data.len();
    // SAFETY: it is one thread, and the data has so many items.
    unsafe { launch!(stream, scan_kernels::direct::<T><<<1, 1>>>(data, n, total)) }
}

/// Has `launch` enqueue a scan of `n` items, in so many blocks and this epoch. The workspace has prepared state words for
/// them, which no other scan uses before this one is done; the last scan left the ticket at 0.
fn scan<T: Value>(
    stream: &Stream,
    n: usize,
    workspace: &mut ScanWorkspace<T>,
    launch: impl FnOnce(&mut ScanWorkspace<T>, u32, u32) -> Result<(), DeviceError>,
) -> Result<(), DeviceError> {
    let epoch = workspace.prepare(stream, n)?;
    let done = launch(workspace, blocks(tile::tiles(n)), epoch);
    if done.is_err() {
        // Its progress is unknown.
        workspace.epoch = 0;
    }
    done
}

/// Operators of [`reduce`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u32)]
pub enum Operator {
    /// Their sum; zero without items.
    Sum = reduce_kernels::SUM,
    /// The least. Of no items, the type's greatest value, infinity for floats. A NaN counts for nothing beside a
    /// number, and `-0.0` is less than `0.0`.
    Min = reduce_kernels::MIN,
    /// The greatest. Of no items, the type's least value, minus infinity for floats. A NaN counts for nothing beside a
    /// number, and `-0.0` is less than `0.0`.
    Max = reduce_kernels::MAX,
}

/// Workspace of [`reduce`], with the result that it leaves. Reductions that share a workspace run
/// one after another, also on different streams.
#[derive(Debug)]
pub struct ReduceWorkspace<T: Value = u32> {
    result: Buffer<T>,
    partials: Buffer<T>,
    done: Buffer<u32>,
    /// A reduction failed, and may not have set `done` back.
    failed: bool,
}

impl<T: Value> ReduceWorkspace<T> {
    /// A workspace for reductions on streams of `device`, of any number of items.
    pub fn new(device: &Device) -> Result<Self, DeviceError> {
        Ok(ReduceWorkspace {
            result: device.alloc_zeroed(1)?,
            partials: device.alloc(reduce_kernels::MAX_BLOCKS)?,
            done: device.alloc_zeroed(1)?,
            failed: false,
        })
    }

    /// The last reduction's result, one element: on the device, once the reduction's stream has come to it. Zero before
    /// the first.
    pub fn result(&self) -> &Buffer<T> {
        &self.result
    }
}

/// All items of `input` together, as the workspace's [`result`](ReduceWorkspace::result). Doesn't wait.
///
/// One pass: each item is read once.
///
/// # Errors
/// [`DeviceError::ArgumentElsewhere`] if something is on another device than the stream, and errors
/// of earlier work on the device.
pub fn reduce<'a, T: Value>(
    stream: &Stream,
    input: impl Into<View<'a, T>>,
    operator: Operator,
    workspace: &mut ReduceWorkspace<T>,
) -> Result<(), DeviceError> {
    let input = input.into();
    // A graph may be launched after a failure.
    if workspace.failed || stream.is_captured() {
        stream.fill_zero(&mut workspace.done)?;
    }
    let (blocks, threads) = (blocks(reduce_kernels::blocks(input.len())), tile::threads::<T>());
    let ReduceWorkspace { partials, done, result, failed } = workspace;
    // SAFETY: the workspace has an item for every block, and no other reduction makes use of it before this one is
    // done; that one left the counter at 0.
    let launched = unsafe {
        launch!(stream, reduce_kernels::of_array::<T><<<blocks, threads>>>(input, operator as u32, partials, done, result))
    };
    *failed = launched.is_err();
    launched
}

/// Converts a number of blocks. A number that no grid has stays invalid, so that the launch reports
/// it.
fn blocks(count: usize) -> u32 {
    u32::try_from(count).unwrap_or(u32::MAX)
}

/// A type that scans and reductions work on: `u32`, `i32`, `f32`, `u64`, `i64` or `f64`. For these alone.
pub trait Value:
    kernels::Value
    + scan_kernels::exclusive::Instance
    + scan_kernels::exclusive_in_place::Instance
    + reduce_kernels::of_array::Instance
{
    /// The scan by one thread, if its sums are the same bits as those of many.
    #[doc(hidden)]
    const DIRECT: Option<Direct<Self>> = None;
}

macro_rules! integers {
    ($($t:ty)*) => {$(
        impl Value for $t {
            const DIRECT: Option<Direct<$t>> = Some(direct::<$t>);
        }
    )*};
}
integers!(u32 i32 u64 i64);
impl Value for f32 {}
impl Value for f64 {}

#[cfg(test)]
mod tests {
    use super::*;

    fn scans_rightly(stream: &Stream, workspace: &mut ScanWorkspace<u32>, n: usize) -> bool {
        let mut data = stream.device().upload(&vec![1u32; n]).unwrap();
        exclusive_scan_in_place(stream, &mut data, workspace).unwrap();
        stream.download_vec(&data).unwrap().into_iter().eq(0..n as u32)
            && stream.download_vec(workspace.total()).unwrap() == [n as u32]
    }

    #[test]
    fn epochs_begin_again_and_memory_need_not_be_clear() {
        let stream = Device::best().unwrap().stream().unwrap();
        let mut workspace = ScanWorkspace::with_capacity(stream.device(), 20_000).unwrap();
        // As if the memory were a GPU's, with anything in it: even words of the first epochs.
        let capacity = workspace.state.capacity();
        stream.upload(&mut workspace.state, &vec![1 << 34 | 1 << 32 | 77; capacity]).unwrap();
        assert!(scans_rightly(&stream, &mut workspace, 20_000));
        assert_eq!(workspace.epoch, 1);

        workspace.epoch = look_back::MAX_EPOCH - 1;
        for epoch in [look_back::MAX_EPOCH, 1, 2] {
            assert!(scans_rightly(&stream, &mut workspace, 20_000));
            assert_eq!(workspace.epoch, epoch);
        }
        assert_eq!(workspace.state.capacity(), capacity);
    }

    #[test]
    fn a_scan_after_a_failed_one_is_right() {
        let stream = Device::cpu().stream().unwrap();
        let mut workspace = ScanWorkspace::new(stream.device()).unwrap();
        assert!(scans_rightly(&stream, &mut workspace, 9000));
        // As a scan that stopped halfway would leave it.
        stream.upload(&mut workspace.ticket, &[2]).unwrap();
        workspace.epoch = 0;
        assert!(scans_rightly(&stream, &mut workspace, 9000));
    }

    #[test]
    fn short_scans_after_long_ones_allocate_nothing() {
        let stream = Device::best().unwrap().stream().unwrap();
        let mut workspace = ScanWorkspace::new(stream.device()).unwrap();
        assert!(scans_rightly(&stream, &mut workspace, 50_000));
        let address = workspace.state.as_device_ptr();
        for n in [0, 1, 4097, 50_000] {
            assert!(scans_rightly(&stream, &mut workspace, n));
        }
        assert_eq!(workspace.state.as_device_ptr(), address);
    }
}
