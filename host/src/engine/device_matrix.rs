//! Matrices that stay on the device.

use std::fmt;
use std::sync::{Mutex, PoisonError};

use gpu_kernels::engine::{CONDENSED, DENSE, PACKED, Place, SYMMETRIC, THREADS, place};

use super::{Block, Coverage, EngineError, Entry, Order, Writer, condensed_len, dense_len, packed_len};
use crate::{
    device::{Device, DeviceError, Stream, View, ViewMut},
    launch,
};

/// The most blocks of threads in a grid's second direction.
const MOST_LINES: usize = 65_535;

/// Launches the kernel for this type of entries.
type Launch<T> = fn(&Stream, (u32, u32), View<'_, T>, Place, &mut ViewMut<'_, T>) -> Result<(), DeviceError>;

/// A matrix in the memory of one device, in one of the layouts that [`Condensed`](super::Condensed),
/// [`Packed`](super::Packed), [`Symmetric`](super::Symmetric) and [`Dense`](super::Dense) have on the host. Only an
/// engine that has this device, and no other, writes it.
pub struct DeviceMatrix<'a, T: Entry> {
    layout: u32,
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
    fn new(
        name: &'static str,
        layout: u32,
        shape: (usize, usize),
        expected: usize,
        out: ViewMut<'a, T>,
    ) -> Result<Self, EngineError> {
        if out.len() != expected {
            let (rows, columns) = shape;
            return Err(EngineError::OutputLength { layout: name, rows, columns, expected, found: out.len() });
        }
        // SAFETY: `place` has checked that the entries are a block's of this matrix, whose memory is as large as its layout
        // says.
        let launch: Launch<T> =
            |stream, grid, entries, at, out| unsafe { launch!(stream, place::<T><<<grid, THREADS>>>(&entries, at, out)) };
        Ok(DeviceMatrix { layout, shape, device: out.device().clone(), out: Mutex::new(out), launch })
    }

    /// A condensed matrix of n x n in memory of n (n - 1) / 2 elements.
    ///
    /// # Errors
    /// [`OutputLength`](EngineError::OutputLength) where the memory has another length, as for the other layouts.
    pub fn condensed(n: usize, out: ViewMut<'a, T>) -> Result<Self, EngineError> {
        Self::new("condensed", CONDENSED, (n, n), condensed_len(n)?, out)
    }

    /// A packed triangle of n x n in memory of n (n + 1) / 2 elements.
    ///
    /// # Errors
    /// As [`condensed`](Self::condensed).
    pub fn packed(n: usize, out: ViewMut<'a, T>) -> Result<Self, EngineError> {
        Self::new("packed", PACKED, (n, n), packed_len(n)?, out)
    }

    /// All of a symmetric matrix of n x n. Where blocks don't compute the diagonal, it becomes zero.
    ///
    /// # Errors
    /// As [`condensed`](Self::condensed).
    pub fn symmetric(n: usize, out: ViewMut<'a, T>) -> Result<Self, EngineError> {
        Self::new("symmetric", SYMMETRIC, (n, n), dense_len(n, n)?, out)
    }

    /// All of a matrix of `rows` x `cols`.
    ///
    /// # Errors
    /// As [`condensed`](Self::condensed).
    pub fn dense(rows: usize, cols: usize, out: ViewMut<'a, T>) -> Result<Self, EngineError> {
        Self::new("dense", DENSE, (rows, cols), dense_len(rows, cols)?, out)
    }
}

impl<T: Entry> Writer<T> for DeviceMatrix<'_, T> {
    fn order(&self) -> Order {
        if self.layout == CONDENSED { Order::ColumnMajor } else { Order::RowMajor }
    }

    fn coverage(&self) -> Coverage {
        if self.layout == DENSE { Coverage::Full } else { Coverage::LowerTriangle }
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
        block.check(self.shape, entries.len())?;
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
            layout: self.layout,
        };
        let mut out = self.out.lock().unwrap_or_else(PoisonError::into_inner);
        Ok((self.launch)(stream, grid, entries, at, &mut out)?)
    }
}
