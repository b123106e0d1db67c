//! Functions that stay on a device, for blocks of a matrix that are computed one by one, on any stream.

use std::ops::Range;

use gpu_kernels::pcf::Triangle;

use super::{Measure, PcfKernel, PcfReal, PcfSet, band::Bands, launches::Side, op};
use crate::{
    device::{Device, DeviceError, Stream, ViewMut},
    engine::{Block, Coverage, Order, Target, subdivide},
};

/// Some rows of the matrix of L₁ distances of a set, in blocks of as many rows; a block has all columns.
pub(crate) struct ResidentRows<T: PcfReal> {
    rows: Bands<T>,
    cols: Bands<T>,
    blocks: Vec<Block>,
}

impl<T: PcfReal> ResidentRows<T> {
    /// Uploads what the rows of these functions take: there when this returns.
    pub fn new(device: &Device, set: &PcfSet<T>, rows: Range<usize>, rows_per_block: usize) -> Result<Self, DeviceError> {
        let stream = device.stream()?;
        let (mut row_bands, mut col_bands) = (Bands::new(device), Bands::new(device));
        row_bands.load(&stream, set, rows.clone(), rows_per_block)?;
        col_bands.load(&stream, set, 0..set.len(), set.len())?;
        stream.synchronize()?;
        let band = |band: Range<usize>| Block { rows: rows.start + band.start..rows.start + band.end, cols: 0..set.len() };
        let blocks = subdivide(rows_per_block, rows.len()).into_iter().map(band).collect();
        Ok(ResidentRows { rows: row_bands, cols: col_bands, blocks })
    }

    /// The blocks, in order; the last may be smaller.
    pub fn blocks(&self) -> &[Block] {
        &self.blocks
    }

    /// Enqueues one of the blocks: its distances go to `entries`, row by row.
    pub fn enqueue(&self, stream: &Stream, block: &Block, entries: ViewMut<'_, T>) -> Result<(), DeviceError> {
        let sides: [Side<'_, T>; 2] = [self.rows.side(&block.rows)?, self.cols.side(&block.cols)?];
        let mut target = Target { entries, order: Order::RowMajor, coverage: Coverage::Full };
        op::enqueue(stream, PcfKernel::Auto, Measure::Lp(1.0), [&sides[0], &sides[1]], None, Triangle::NONE, block, &mut target)
    }
}
