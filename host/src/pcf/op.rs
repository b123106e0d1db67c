//! Integrals over pairs of functions as an operation of the engine.

use std::ops::Range;

use gpu_kernels::pcf::{Placement, Triangle};

use super::{
    Measure, PcfReal, PcfSet,
    band::{self, Bands},
    launches::{self, Side},
};
use crate::{
    device::{Backend, Device, DeviceError, Stream},
    engine::{Block, BlockOp, BlockScheduler, Coverage, EngineError, Order, Target},
};

/// Which kernel computes: `gpu_kernels::pcf::tiled` or `gpu_kernels::pcf::direct`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum PcfKernel {
    /// Tiles on a GPU, direct on the CPU.
    #[default]
    Auto,
    /// Merges from shared memory.
    Tiled,
    /// Merges from where the functions lie.
    Direct,
}

/// The integral over each pair of a function of `rows` and one of `cols`.
pub struct PcfOp<'a, T: PcfReal> {
    pub rows: &'a PcfSet<T>,
    /// `None` where they are the same functions.
    pub cols: Option<&'a PcfSet<T>>,
    pub measure: Measure,
    pub kernel: PcfKernel,
    /// Whether entries (i, i) are computed, where only a triangle is.
    pub diagonal: bool,
}

/// The functions on a device: all of them where they fit, else those of one block.
pub struct Storage<T: PcfReal> {
    rows: Bands<T>,
    cols: Bands<T>,
    resident: bool,
    side: usize,
    upload: Stream,
}

impl<T: PcfReal> PcfOp<'_, T> {
    fn cols(&self) -> &PcfSet<T> {
        self.cols.unwrap_or(self.rows)
    }
}

impl<T: PcfReal> BlockOp for PcfOp<'_, T> {
    type Value = T;
    type Storage = Storage<T>;

    fn data_bytes(&self, rows: &Range<usize>, cols: &Range<usize>) -> usize {
        band::bytes(self.rows, rows) + band::bytes(self.cols(), cols)
    }

    fn storage(
        &self,
        device: &Device,
        scheduler: &BlockScheduler,
        budget: usize,
        kept: Option<Storage<T>>,
    ) -> Result<Storage<T>, EngineError> {
        let mut storage = match kept {
            Some(kept) => kept,
            None => {
                Storage { rows: Bands::new(device), cols: Bands::new(device), resident: false, side: 1, upload: device.stream()? }
            }
        };
        storage.side = scheduler.side();
        let (all_rows, all_cols) = (0..self.rows.len(), 0..self.cols.map_or(0, PcfSet::len));
        storage.resident = self.data_bytes(&all_rows, &all_cols) <= budget;
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
        let rows = storage.rows.side(&block.rows)?;
        let cols = if same_bands { &storage.rows } else { &storage.cols }.side(&block.cols)?;

        let triangle = match (on_diagonal, self.diagonal) {
            (false, _) => Triangle::NONE,
            (true, false) => Triangle::STRICT,
            (true, true) => Triangle::WITH_DIAGONAL,
        };
        Ok(enqueue(stream, self.kernel, self.measure, [&rows, &cols], triangle, block, &mut target)?)
    }
}

/// Enqueues the integrals between the functions of a block's rows and columns, which are on the stream's device.
pub fn enqueue<T: PcfReal>(
    stream: &Stream,
    kernel: PcfKernel,
    measure: Measure,
    [rows, cols]: [&Side<'_, T>; 2],
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
    let triangle = triangle.first_is_greater(target.order == Order::ColumnMajor).0;
    let placement = Placement { triangle, first_stride, second_stride };
    let tiled = match kernel {
        PcfKernel::Auto => stream.device().backend() == Backend::Cuda,
        PcfKernel::Tiled => true,
        PcfKernel::Direct => false,
    };
    launches::launch(stream, tiled, measure, first, second, &mut target.entries, placement)
}
