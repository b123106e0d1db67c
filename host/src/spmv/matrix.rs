//! Matrices on a device.

use std::sync::{Mutex, PoisonError};

use super::{
    Csr, SpmvError, SpmvKernel, SpmvReal,
    csr::check_lengths,
    error::same_length,
    launches::{Arrays, Tiles},
    plan::Plan,
};
use crate::device::{Buffer, Device, Stream, View, ViewMut};

/// A matrix on a device, to be multiplied with any number of vectors.
#[derive(Debug)]
pub struct DeviceMatrix<T: SpmvReal> {
    shape: (usize, usize),
    nnz: usize,
    kernel: SpmvKernel,
    arrays: Arrays<T>,
    method: Method<T>,
}

#[derive(Debug)]
enum Method<T: SpmvReal> {
    Rows {
        log_lanes: u32,
    },
    Tiles {
        tiles: Box<Tiles>,
        /// Held while a multiplication is enqueued.
        partials: Mutex<Buffer<T>>,
    },
}

impl<T: SpmvReal> DeviceMatrix<T> {
    /// The matrix on `device`, with the kernel that suits both. Waits until it is there.
    ///
    /// # Errors
    /// What the device says, such as that it has too little memory.
    pub fn upload(device: &Device, matrix: &Csr<T>) -> Result<Self, SpmvError> {
        Self::with_kernel(device, matrix, SpmvKernel::Auto)
    }

    /// The same with a kernel that is chosen.
    ///
    /// # Errors
    /// [`SpmvError::NoSuchKernel`], and as [`upload`](Self::upload).
    pub fn with_kernel(device: &Device, matrix: &Csr<T>, kernel: SpmvKernel) -> Result<Self, SpmvError> {
        let kernel = kernel.resolve(matrix, device.info())?;
        let arrays = Arrays {
            row_ptr: device.upload(matrix.row_ptr())?,
            columns: device.upload(matrix.column_indices())?,
            values: device.upload(matrix.values())?,
        };
        let method = match kernel {
            SpmvKernel::Tiles { threads } => {
                let plan = Plan::new(matrix.row_ptr(), threads);
                let partials = Mutex::new(device.alloc(plan.partials())?);
                let tiles = Box::new(Tiles {
                    tiles: device.upload(&plan.tiles)?,
                    threads,
                    long_rows: device.upload(&plan.long_rows)?,
                    offsets: device.upload(&plan.offsets)?,
                });
                Method::Tiles { tiles, partials }
            }
            SpmvKernel::Rows { lanes } => Method::Rows { log_lanes: lanes.ilog2() },
            SpmvKernel::Auto => unreachable!("a kernel that is resolved is one of the others"),
        };
        Ok(DeviceMatrix { shape: (matrix.rows(), matrix.columns()), nnz: matrix.nnz(), kernel, arrays, method })
    }

    /// The number of rows.
    pub fn rows(&self) -> usize {
        self.shape.0
    }

    /// The number of columns.
    pub fn columns(&self) -> usize {
        self.shape.1
    }

    /// The number of nonzeros.
    pub fn nnz(&self) -> usize {
        self.nnz
    }

    /// The kernel that multiplies it: never [`SpmvKernel::Auto`].
    pub fn kernel(&self) -> SpmvKernel {
        self.kernel
    }

    /// How many kernels a multiplication launches: two where rows are so long that they are divided, else one.
    pub fn launches(&self) -> usize {
        match &self.method {
            Method::Tiles { tiles, .. } if !tiles.long_rows.is_empty() => 2,
            _ => 1,
        }
    }

    /// The device that it is on.
    pub fn device(&self) -> &Device {
        self.arrays.row_ptr.device()
    }

    /// Enqueues y = A x. Doesn't wait. The result is the same bits each time.
    ///
    /// Where [`launches`](Self::launches) is two, the matrix has memory for one multiplication at a time: those on
    /// different streams have to be ordered by events, like other uses of one buffer.
    ///
    /// # Errors
    /// [`SpmvError::Length`] where x isn't as long as there are columns, or y as there are rows; and what the device
    /// says.
    pub fn multiply<'x, 'y>(
        &self,
        stream: &Stream,
        x: impl Into<View<'x, T>>,
        y: impl Into<ViewMut<'y, T>>,
    ) -> Result<(), SpmvError> {
        let (x, y) = (x.into(), y.into());
        check_lengths(self.shape, x.len(), y.len())?;
        match &self.method {
            // SAFETY: the lengths were just checked, and a row has 32 lanes at most.
            Method::Rows { log_lanes } => unsafe { T::launch_rows(stream, &self.arrays, x, y, *log_lanes)? },
            Method::Tiles { tiles, partials } => {
                let mut partials = partials.lock().unwrap_or_else(PoisonError::into_inner);
                // SAFETY: the lengths were just checked. Tiles and partial sums are of the matrix's plan.
                unsafe { T::launch_tiles(stream, &self.arrays, tiles, x, y, &mut partials)? };
            }
        }
        Ok(())
    }
}

/// y = A x on a device: uploads both, multiplies once, and waits for the result. [`DeviceMatrix`] is for more than one.
///
/// # Errors
/// [`SpmvError::Length`] where x isn't as long as there are columns, and what the device says.
pub fn spmv<T: SpmvReal>(device: &Device, matrix: &Csr<T>, x: &[T]) -> Result<Vec<T>, SpmvError> {
    matrix.check_lengths(x.len(), matrix.rows())?;
    let stream = device.stream()?;
    let (x, mut y) = (device.upload(x)?, device.alloc(matrix.rows())?);
    DeviceMatrix::upload(device, matrix)?.multiply(&stream, &x, &mut y)?;
    Ok(stream.download_vec(&y)?)
}

/// Enqueues `out[i] = x[indices[i]]`: entries of x that are packed to be sent. Doesn't wait.
///
/// # Errors
/// [`SpmvError::Length`] where `out` isn't as long as `indices`, and what the device says. An index out of range is a
/// fault on a GPU ([`DeviceError::Fault`](crate::device::DeviceError::Fault) at a later call) and an error at once on
/// the CPU.
pub fn gather<'x, 'i, 'o, T: SpmvReal>(
    stream: &Stream,
    x: impl Into<View<'x, T>>,
    indices: impl Into<View<'i, u32>>,
    out: impl Into<ViewMut<'o, T>>,
) -> Result<(), SpmvError> {
    let (x, indices, out) = (x.into(), indices.into(), out.into());
    same_length("out", out.len(), indices.len(), "as many as indices")?;
    Ok(T::launch_gather(stream, x, indices, out)?)
}

/// Enqueues `out[i] = a[i] + b[i]`. Doesn't wait.
///
/// # Errors
/// [`SpmvError::Length`] where the three aren't as long, and what the device says.
pub fn add<'a, 'b, 'o, T: SpmvReal>(
    stream: &Stream,
    a: impl Into<View<'a, T>>,
    b: impl Into<View<'b, T>>,
    out: impl Into<ViewMut<'o, T>>,
) -> Result<(), SpmvError> {
    let (a, b, out) = (a.into(), b.into(), out.into());
    same_length("b", b.len(), a.len(), "as many as a")?;
    same_length("out", out.len(), a.len(), "as many as a")?;
    Ok(T::launch_add(stream, a, b, out)?)
}
