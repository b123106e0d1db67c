//! Matrices that stay on the device.

use std::fmt;
use std::sync::{Mutex, PoisonError};

use gpu_kernels::engine::{CONDENSED, DENSE, PACKED, Place, SYMMETRIC, THREADS, place};

use super::{Block, Coverage, EngineError, Entry, Layout, Order, Writer, op::check_block};
use crate::{
    device::{Device, DeviceError, Stream, View, ViewMut},
    launch,
};

/// The most blocks of threads in a grid's second direction.
const MOST_LINES: usize = 65_535;

/// Launches the kernel for this type of entries.
type Launch<T> = fn(&Stream, (u32, u32), View<'_, T>, Place, &mut ViewMut<'_, T>) -> Result<(), DeviceError>;

/// A matrix in the memory of one device. Only an engine that has this device, and no other, writes it.
pub struct DeviceMatrix<'a, T: Entry> {
    layout: Layout,
    coverage: Coverage,
    shape: (usize, usize),
    device: Device,
    out: Mutex<ViewMut<'a, T>>,
    launch: Launch<T>,
}

impl<T: Entry> fmt::Debug for DeviceMatrix<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let DeviceMatrix { layout, shape, out, .. } = self;
        f.debug_struct("DeviceMatrix").field("layout", layout).field("shape", shape).field("out", out).finish()
    }
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
    ///
    /// # Errors
    /// As [`symmetric`](Self::symmetric).
    pub fn full(rows: usize, cols: usize, out: ViewMut<'a, T>) -> Result<Self, EngineError> {
        Self::new(Layout::Dense, Coverage::Full, (rows, cols), out)
    }

    fn new(layout: Layout, coverage: Coverage, shape: (usize, usize), out: ViewMut<'a, T>) -> Result<Self, EngineError> {
        layout.check_len(coverage, shape, out.len())?;
        // SAFETY: `place` has checked that the entries are a block's of this matrix, whose memory is as large as its
        // layout says.
        let launch: Launch<T> =
            |stream, grid, entries, at, out| unsafe { launch!(stream, place::<T><<<grid, THREADS>>>(&entries, at, out)) };
        Ok(DeviceMatrix { layout, coverage, shape, device: out.device().clone(), out: Mutex::new(out), launch })
    }
}

impl<T: Entry> Writer<T> for DeviceMatrix<'_, T> {
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
        Ok((self.launch)(stream, grid, entries, at, &mut out)?)
    }
}
