//! Integrals over pairs of functions as an operation of the engine.

use std::ops::{Range, RangeInclusive};

use gpu_kernels::pcf::{Pairs, Placement, Triangle};

use super::{
    PcfReal, PcfSet,
    band::{self, Bands},
    cuts::Cuts,
    launches::{self, Cut, Integrals, LEAST_PARTIALS, Side},
};
use crate::{
    device::{Backend, Buffer, Device, DeviceError, Stream},
    engine::{Block, BlockOp, BlockScheduler, Coverage, EngineError, Order, Target},
};

/// The kernel to use: `gpu_kernels::pcf::tiled` or `gpu_kernels::pcf::direct`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum PcfKernel {
    /// Tiles on a GPU, direct on the CPU.
    #[default]
    Auto,
    /// Merges from shared memory.
    Tiled,
    /// Merges straight from the functions' memory.
    Direct,
}

impl PcfKernel {
    /// True if this device uses the kernel of `tiled`.
    pub(super) fn is_tiled(self, device: &Device) -> bool {
        match self {
            PcfKernel::Auto => device.backend() == Backend::Cuda,
            PcfKernel::Tiled => true,
            PcfKernel::Direct => false,
        }
    }
}

/// The integral over each pair of a function of `rows` and one of `cols`.
pub struct PcfOp<'a, T: PcfReal> {
    pub rows: &'a PcfSet<T>,
    /// `None` if they are the same functions.
    pub cols: Option<&'a PcfSet<T>>,
    pub integrals: Integrals<T>,
    pub kernel: PcfKernel,
    /// True if entries (i, i) of a triangle are computed.
    pub diagonal: bool,
    /// Cuts of the merges of long functions.
    pub cuts: Option<Cuts<T>>,
}

/// The functions on a device: all of them if they fit, otherwise those of one block.
pub struct Storage<T: PcfReal> {
    rows: Bands<T>,
    cols: Bands<T>,
    resident: bool,
    side: usize,
    upload: Stream,
    cuts: Buffer<T>,
    /// Sums over pieces, for two blocks that are computed at a time in turns.
    partials: [Buffer<T>; 2],
    most_partials: usize,
}

/// The most sums over pieces that are computed at a time: with more, there is nothing to gain.
const MOST_PARTIALS: usize = 1 << 22;

impl<T: PcfReal> PcfOp<'_, T> {
    fn cols(&self) -> &PcfSet<T> {
        self.cols.unwrap_or(self.rows)
    }

    /// Least number of sums over pieces that memory must hold.
    fn least_partials(&self) -> usize {
        self.cuts.as_ref().map_or(0, |cuts| cuts.pieces() * LEAST_PARTIALS)
    }
}

impl<T: PcfReal> BlockOp for PcfOp<'_, T> {
    type Value = T;
    type Storage = Storage<T>;

    fn data_bytes(&self, rows: &Range<usize>, cols: &Range<usize>) -> usize {
        let partials = 2 * self.least_partials() * size_of::<T>();
        band::bytes(self.rows, rows) + band::bytes(self.cols(), cols) + partials
    }

    fn storage(
        &self,
        device: &Device,
        scheduler: &BlockScheduler,
        budget: usize,
        kept: Option<Storage<T>>,
    ) -> Result<Storage<T>, EngineError> {
        launches::load::<T>(device, self.kernel.is_tiled(device), self.integrals)?;
        tracing::debug!("{device}: kernels");
        let mut storage = match kept {
            Some(kept) => kept,
            None => {
                let (rows, cols) = (Bands::new(device), Bands::new(device));
                let (cuts, partials, upload) = (device.empty(), [device.empty(), device.empty()], device.stream()?);
                Storage { rows, cols, resident: false, side: 1, upload, cuts, partials, most_partials: 0 }
            }
        };
        if let Some(cuts) = &self.cuts {
            storage.cuts = device.upload(cuts.times())?;
        }
        storage.side = scheduler.side();
        let (all_rows, all_cols) = (0..self.rows.len(), 0..self.cols.map_or(0, PcfSet::len));
        let all_bytes = self.data_bytes(&all_rows, &all_cols);
        storage.resident = all_bytes <= budget;
        let left = if storage.resident { (budget - all_bytes) / 2 / size_of::<T>() } else { 0 };
        storage.most_partials = left.min(MOST_PARTIALS).max(self.least_partials());
        if storage.resident {
            storage.rows.load(&storage.upload, self.rows, all_rows, storage.side)?;
            if let Some(cols) = self.cols {
                storage.cols.load(&storage.upload, cols, all_cols, storage.side)?;
            }
            storage.upload.synchronize()?;
        } else {
            storage.rows.reserve(self.rows, scheduler.blocks().iter().map(|block| block.rows.clone()))?;
            storage.cols.reserve(self.cols(), scheduler.blocks().iter().map(|block| block.cols.clone()))?;
        }
        Ok(storage)
    }

    fn is_resident(&self, storage: &Storage<T>) -> bool {
        storage.resident
    }

    fn run(
        &self,
        storage: &mut Storage<T>,
        stream: &Stream,
        block: &Block,
        mut target: Target<'_, T>,
    ) -> Result<(), EngineError> {
        let on_diagonal = target.coverage == Coverage::LowerTriangle && block.is_diagonal();
        let same_bands = self.cols.is_none() && (storage.resident || block.rows == block.cols);
        if !storage.resident {
            storage.rows.load(stream, self.rows, block.rows.clone(), storage.side)?;
            if !same_bands {
                storage.cols.load(stream, self.cols(), block.cols.clone(), storage.side)?;
            }
        }
        let mut rows = storage.rows.side(&block.rows)?;
        let mut cols = if same_bands { &storage.rows } else { &storage.cols }.side(&block.cols)?;
        storage.partials.swap(0, 1);
        let cut = self.cuts.as_ref().map(|cuts| {
            rows.long = cuts.long(self.rows, &block.rows);
            cols.long = cuts.long(self.cols(), &block.cols);
            Cut {
                longest: cuts.longest(),
                cuts: storage.cuts.as_view(),
                partials: &mut storage.partials[0],
                most_partials: storage.most_partials,
            }
        });

        let triangle = match (on_diagonal, self.diagonal) {
            (false, _) => Triangle::NONE,
            (true, false) => Triangle::STRICT,
            (true, true) => Triangle::WITH_DIAGONAL,
        };
        Ok(enqueue(stream, self.kernel, self.integrals, [&rows, &cols], cut, triangle, block, &mut target)?)
    }
}

/// Enqueues the integrals between the functions of a block's rows and columns, which are on the stream's device.
#[expect(clippy::too_many_arguments, reason = "each is something else")]
pub fn enqueue<T: PcfReal>(
    stream: &Stream,
    kernel: PcfKernel,
    integrals: Integrals<T>,
    [rows, cols]: [&Side<'_, T>; 2],
    cut: Option<Cut<'_, T>>,
    triangle: Triangle,
    block: &Block,
    target: &mut Target<'_, T>,
) -> Result<(), DeviceError> {
    let (row_stride, col_stride) = target.strides(block);
    let (row_stride, col_stride) = (row_stride as u64, col_stride as u64);
    // Neighbouring lanes have neighbouring functions of the first band, so that is the one whose entries lie side by
    // side. In the lower triangle the row is the greater of the two.
    let (first, second, first_stride, second_stride) = match target.order {
        Order::RowMajor => (cols, rows, col_stride, row_stride),
        Order::ColumnMajor => (rows, cols, row_stride, col_stride),
    };
    let triangle = triangle.first_is_greater(target.order == Order::ColumnMajor);
    let placement = Placement { triangle: triangle.0, first_stride, second_stride };
    let tiled = kernel.is_tiled(stream.device());
    let entries = &mut target.entries;
    let Some(mut cut) = cut.filter(|_| tiled && first.long + second.long > 0) else {
        return launches::launch(stream, tiled, integrals, u32::MAX, [first, second], entries, placement);
    };
    // Lanes have the others' functions, so that all have something to do however few long ones there are.
    let longest = cut.longest;
    let (of_long, of_rest) = (longest.saturating_add(1)..=u32::MAX, 1..=longest);
    let mut pieces = |lengths: &RangeInclusive<u32>, start, sides: [&Side<'_, T>; 2], entries: &mut _, placement| {
        let pairs = Pairs {
            first_start: start,
            first_least: *lengths.start(),
            first_most: *lengths.end(),
            second_least: *of_long.start(),
            ..Pairs::of_at_most(u32::MAX)
        };
        launches::launch_pieces(stream, integrals, &mut cut, pairs, sides, entries, placement)
    };
    let swapped = Placement { triangle: triangle.swapped().0, ..placement };
    if first.long > 0 && second.long > 0 {
        pieces(&of_long, 0, [&second.long()?, first], entries, swapped)?;
    }
    if first.long > 0 && second.has_rest() {
        let (start, rest) = second.rest(longest)?;
        pieces(&of_rest, start, [&rest, first], entries, swapped)?;
    }
    // In a triangle, these pairs were among the last ones.
    if second.long > 0 && first.has_rest() && !triangle.is_half() {
        let (start, rest) = first.rest(longest)?;
        pieces(&of_rest, start, [&rest, second], entries, placement)?;
    }
    if first.has_rest() && second.has_rest() {
        let (first, second) = (first.rest(longest)?.1, second.rest(longest)?.1);
        launches::launch(stream, tiled, integrals, longest, [&first, &second], entries, placement)?;
    }
    Ok(())
}
