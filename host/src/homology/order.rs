//! Sorts of many parts by keys of 32 or 64 bits.

use cuda_std::launch::KernelInfo;
use gpu_kernels::homology::edges;

use crate::{
    collectives::{SortWorkspace, sort, sort_further},
    components::{THREADS, grid},
    device::{Backend, Buffer, Device, DeviceError, Stream},
    launch,
};

/// Bytes of static shared memory of a block that sorts, at most.
const STATIC_SHARED: usize = 9 << 10;

/// Largest number of keys of a part that a GPU's block sorts.
const LARGEST: usize = 1 << 13;

/// Keys of many parts, and their order.
#[derive(Debug)]
pub struct PartSorter {
    /// Lower and upper halves; no upper ones of keys of 32 bits.
    keys: [Buffer<u32>; 2],
    gathered: Buffer<u32>,
    /// For the sort of all parts together.
    sorter: SortWorkspace,
    /// The order, and memory for it, if a block sorts each part.
    order: [Buffer<u32>; 2],
    in_blocks: bool,
    /// Threads of such a block, if not chosen by the device; 0 sorts all parts together.
    forced: Option<u32>,
}

impl PartSorter {
    pub fn new(device: &Device) -> Result<Self, DeviceError> {
        Ok(PartSorter {
            keys: [device.empty(), device.empty()],
            gathered: device.empty(),
            sorter: SortWorkspace::new(device)?,
            order: [device.empty(), device.empty()],
            in_blocks: false,
            forced: None,
        })
    }

    /// Sets the threads of a block that sorts a part; 0 sorts all parts together.
    pub fn force(&mut self, threads: u32) {
        self.forced = Some(threads);
    }

    /// Returns memory for so many keys.
    pub fn ensure(&mut self, count: usize, are_wide: bool) -> Result<[&mut Buffer<u32>; 2], DeviceError> {
        let [low, high] = &mut self.keys;
        low.ensure(count)?;
        high.ensure(if are_wide { count } else { 0 })?;
        Ok([low, high])
    }

    /// The keys.
    pub fn keys(&self) -> [&Buffer<u32>; 2] {
        self.keys.each_ref()
    }

    /// Threads of the block that sorts a part of `largest` keys; 0 if all parts are sorted together.
    fn threads(&self, device: &Device, largest: usize) -> u32 {
        self.forced.unwrap_or(match device.backend() {
            Backend::Cpu => 1,
            Backend::Cuda if largest <= LARGEST => edges::SORT_THREADS,
            Backend::Cuda => 0,
        })
    }

    /// Kernels that sort parts of at most `largest` keys.
    pub fn kernels(&self, device: &Device, largest: usize) -> Vec<&'static KernelInfo> {
        match self.threads(device, largest) {
            0 => self.sorter.kernels(),
            _ => vec![edges::sort::kernel()],
        }
    }

    /// Sorts each part. Part i begins at `times` times `firsts[i]`, and the last one ends with the keys; the largest has `largest`
    /// keys. `owners` computes the part of each key in an order.
    pub fn sort(
        &mut self,
        stream: &Stream,
        (firsts, times): (&Buffer<u32>, u32),
        largest: usize,
        owners: impl FnOnce(&Buffer<u32>, &mut Buffer<u32>) -> Result<(), DeviceError>,
    ) -> Result<(), DeviceError> {
        let threads = self.threads(stream.device(), largest);
        let PartSorter { keys: [low, high], gathered, sorter, order, .. } = self;
        let parts = firsts.len() - 1;
        self.in_blocks = threads > 0;
        if self.in_blocks {
            let [order, spare] = order;
            order.ensure(low.len())?;
            spare.ensure(low.len())?;
            let info = stream.device().info();
            // Beside the block's own.
            let room = info.max_shared_per_block.saturating_sub(STATIC_SHARED) / 2;
            let shared = if threads > 1 && 8 * largest <= room { 8 * largest } else { 0 };
            // SAFETY: there are keys of all parts, and room for their numbers.
            return unsafe {
                launch!(stream, edges::sort<<<parts as u32, threads, shared>>>(firsts, times, &*low, &*high, order, spare))
            };
        }
        gathered.ensure(low.len())?;
        sort(stream, &*low, u32::BITS, sorter)?;
        if !high.is_empty() {
            let each = grid(stream, low.len());
            launch!(stream, edges::gather<<<each, THREADS>>>(&*high, sorter.order(), &mut *gathered))?;
            sort_further(stream, &*gathered, u32::BITS, sorter)?;
        }
        if parts > 1 {
            owners(sorter.order(), gathered)?;
            sort_further(stream, &*gathered, usize::BITS - parts.leading_zeros(), sorter)?;
        }
        Ok(())
    }

    /// The numbers of the keys in order.
    pub fn order(&self) -> &Buffer<u32> {
        if self.in_blocks { &self.order[0] } else { self.sorter.order() }
    }
}
