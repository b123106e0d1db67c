//! Matrices that stay on the device.

use std::sync::{Mutex, PoisonError};

use gpu_kernels::engine::{CONDENSED, DENSE, PACKED, Place, SYMMETRIC, THREADS, place};

use super::{Block, Coverage, EngineError, Entry, Layout, Order, Writer, op::check_block};
use crate::{
    device::{Device, Stream, View, ViewMut},
    launch,
};

/// The most blocks of threads in a grid's second direction.
const MOST_LINES: usize = 65_535;

/// A matrix in the memory of one device. Only an engine that has this device, and no other, writes it.
#[derive(Debug)]
pub struct DeviceMatrix<'a, T: Entry> {
    layout: Layout,
    coverage: Coverage,
    shape: (usize, usize),
    device: Device,
    out: Mutex<ViewMut<'a, T>>,
}

impl<'a, T: Entry + place::Instance> DeviceMatrix<'a, T> {
    /// A symmetric matrix of `n` x `n`, whose blocks compute the lower triangle. Diagonal entries
    /// that no block computes become zero.
    ///
    /// # Errors
    /// [`OutputLength`](EngineError::OutputLength) if the memory isn't as large as the layout says.
    pub fn symmetric(layout: Layout, n: usize, out: ViewMut<'a, T>) -> Result<Self, EngineError> {
        Self::new(layout, Coverage::LowerTriangle, (n, n), out)
    }

    /// A dense matrix of `rows` x `cols`, whose blocks compute all entries.
    pub fn full(rows: usize, cols: usize, out: ViewMut<'a, T>) -> Result<Self, EngineError> {
        Self::new(Layout::Dense, Coverage::Full, (rows, cols), out)
    }

    fn new(layout: Layout, coverage: Coverage, shape: (usize, usize), out: ViewMut<'a, T>) -> Result<Self, EngineError> {
        layout.check_len(coverage, shape, out.len())?;
        Ok(DeviceMatrix { layout, coverage, shape, device: out.device().clone(), out: Mutex::new(out) })
    }
}

impl<T: Entry + place::Instance> Writer<T> for DeviceMatrix<'_, T> {
    fn order(&self) -> Order {
        self.layout.order()
    }

    fn coverage(&self) -> Coverage {
        self.coverage
    }

    fn shape(&self) -> (usize, usize) {
        self.shape
    }

    fn scatter(&self, block: &Block, entries: &[T]) -> Result<(), EngineError> {
        let (entries, stream) = (self.device.upload(entries)?, self.device.stream()?);
        self.place(0, 0, &stream, block, entries.as_view())?;
        Ok(stream.synchronize()?)
    }

    fn devices(&self) -> &[Device] {
        std::slice::from_ref(&self.device)
    }

    fn place(&self, _gpu: usize, _slot: usize, stream: &Stream, block: &Block, entries: View<'_, T>) -> Result<(), EngineError> {
        check_block(block, self.shape, entries.len())?;
        let columns = self.shape.1;
        let (lines, len) = match self.order() {
            Order::RowMajor => (block.height(), block.width()),
            Order::ColumnMajor => (block.width(), block.height()),
        };
        let grid = (len.div_ceil(THREADS as usize) as u32, lines.min(MOST_LINES) as u32);
        let at = Place {
            row: block.rows.start as u64,
            column: block.cols.start as u64,
            lines: lines as u64,
            len: len as u64,
            columns: columns as u64,
            layout: match (self.layout, self.coverage) {
                (Layout::Condensed, _) => CONDENSED,
                (Layout::Packed, _) => PACKED,
                (Layout::Dense, Coverage::LowerTriangle) => SYMMETRIC,
                (Layout::Dense, Coverage::Full) => DENSE,
            },
        };
        let mut out = self.out.lock().unwrap_or_else(PoisonError::into_inner);
        // SAFETY: the entries are a block's of this matrix, whose memory is as large as its layout says.
        Ok(unsafe { launch!(stream, place::<T><<<grid, THREADS>>>(&entries, at, &mut *out)) }?)
    }
}
