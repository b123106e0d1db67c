//! Matrices on a device.

use std::sync::{Mutex, PoisonError};

use cuda_std::launch::IntoParam;
use gpu_kernels::spmv::{
    Matrix, MatrixArgs, rows,
    tiles::{self, ITEMS, Tile},
    vector,
};

use super::{Csr, SpmvError, SpmvKernel, SpmvReal, csr::check_x, error::same_length, plan::Plan};
use crate::{
    device::{Buffer, Device, DeviceError, LaunchConfig, Stream, View, ViewMut},
    launch,
};

/// Threads of a block, but of [`tiles`].
const THREADS: u32 = 256;

/// A matrix on a device, to be multiplied with any number of vectors.
#[derive(Debug)]
pub struct DeviceMatrix<T: SpmvReal> {
    shape: (usize, usize),
    nnz: usize,
    kernel: SpmvKernel,
    row_ptr: Buffer<u32>,
    columns: Buffer<u32>,
    values: Buffer<T>,
    method: Method<T>,
}

#[derive(Debug)]
enum Method<T: SpmvReal> {
    Rows { log_lanes: u32 },
    Tiles(Box<Tiles<T>>),
}

/// A matrix divided for [`tiles`].
#[derive(Debug)]
struct Tiles<T: SpmvReal> {
    /// All of its rows and nonzeros, in tiles for blocks of `threads`.
    tiles: Buffer<Tile>,
    threads: u32,
    /// The rows that are divided, and where each one's partial sums are.
    long_rows: Buffer<u32>,
    offsets: Buffer<u32>,
    /// Held while a multiplication is enqueued.
    partials: Mutex<Buffer<T>>,
}

impl<T: SpmvReal> DeviceMatrix<T> {
    /// The matrix on `device`, with the kernel that suits both. Waits for the copy.
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
        let method = match kernel {
            SpmvKernel::Tiles { threads } => {
                let plan = Plan::new(matrix.row_ptr(), threads);
                Method::Tiles(Box::new(Tiles {
                    tiles: device.upload(&plan.tiles)?,
                    threads,
                    long_rows: device.upload(&plan.long_rows)?,
                    offsets: device.upload(&plan.offsets)?,
                    partials: Mutex::new(device.alloc(plan.partials())?),
                }))
            }
            SpmvKernel::Rows { lanes } => Method::Rows { log_lanes: lanes.ilog2() },
            SpmvKernel::Auto => unreachable!("a kernel that is resolved is one of the others"),
        };
        Ok(DeviceMatrix {
            shape: (matrix.rows(), matrix.columns()),
            nnz: matrix.nnz(),
            kernel,
            row_ptr: device.upload(matrix.row_ptr())?,
            columns: device.upload(matrix.column_indices())?,
            values: device.upload(matrix.values())?,
            method,
        })
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

    /// Returns the number of kernels that a multiplication launches: two if rows are so long that
    /// they are divided, otherwise one.
    pub fn launches(&self) -> usize {
        match &self.method {
            Method::Tiles(tiles) if !tiles.long_rows.is_empty() => 2,
            _ => 1,
        }
    }

    /// The device that it is on.
    pub fn device(&self) -> &Device {
        self.row_ptr.device()
    }

    /// Enqueues y = A x. Doesn't wait. The result is the same bits each time.
    ///
    /// If [`launches`](Self::launches) is two, the matrix has memory for one multiplication at a
    /// time. Multiplications on different streams then have to be ordered by events, like other
    /// uses of one buffer.
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
        let (x, mut y) = (x.into(), y.into());
        check_x(self.shape.1, x.len())?;
        same_length("y", y.len(), self.shape.0, "as many as the matrix has rows")?;
        match &self.method {
            Method::Rows { log_lanes } => {
                let grid = LaunchConfig::for_elements(y.len() << log_lanes, THREADS).grid;
                // SAFETY: the matrix is valid, x and y have its lengths, and a row has 32 lanes at most.
                unsafe { launch!(stream, rows::multiply::<T><<<grid, THREADS>>>(self.argument(), &x, &mut y, *log_lanes))? }
            }
            Method::Tiles(tiles) => self.multiply_tiles(stream, tiles, &x, &mut y)?,
        }
        Ok(())
    }

    fn multiply_tiles(&self, stream: &Stream, of: &Tiles<T>, x: &View<'_, T>, y: &mut ViewMut<'_, T>) -> Result<(), DeviceError> {
        let mut partials = of.partials.lock().unwrap_or_else(PoisonError::into_inner);
        // Tiles have a nonzero or a row each, so there are fewer than 2^33; more than 2^31 - 1 don't fit into a
        // device's memory.
        let (grid, long) = (of.tiles.len() as u32, of.long_rows.len() as u32);
        let shared = (ITEMS * of.threads) as usize * size_of::<T>();
        // SAFETY: the matrix is valid; x and y have its lengths, and tiles and partial sums are of its plan, for blocks
        // of this many threads. The first kernel writes the partial sums that the second reads.
        unsafe {
            launch!(stream, tiles::multiply::<T><<<grid, of.threads, shared>>>(
                &of.tiles, self.argument(), x, &mut *y, &mut *partials
            ))?;
            launch!(stream, tiles::long_rows::<T><<<long, THREADS>>>(&of.long_rows, &of.offsets, &*partials, y))
        }
    }

    /// The matrix for a kernel.
    fn argument(&self) -> impl IntoParam<Matrix<'static, T>> {
        MatrixArgs { row_ptr: &self.row_ptr, columns: &self.columns, values: &self.values }
    }
}

/// y = A x on a device: uploads both, multiplies once, and waits for the result. [`DeviceMatrix`] is for more than one.
///
/// # Errors
/// [`SpmvError::Length`] where x isn't as long as there are columns, and what the device says.
pub fn spmv<T: SpmvReal>(device: &Device, matrix: &Csr<T>, x: &[T]) -> Result<Vec<T>, SpmvError> {
    check_x(matrix.columns(), x.len())?;
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
    let (x, indices, mut out) = (x.into(), indices.into(), out.into());
    same_length("out", out.len(), indices.len(), "as many as indices")?;
    let grid = LaunchConfig::for_elements(out.len(), THREADS).grid;
    Ok(launch!(stream, vector::gather::<T><<<grid, THREADS>>>(&x, &indices, &mut out))?)
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
    let (a, b, mut out) = (a.into(), b.into(), out.into());
    same_length("b", b.len(), a.len(), "as many as a")?;
    same_length("out", out.len(), a.len(), "as many as a")?;
    let grid = LaunchConfig::for_elements(out.len(), THREADS).grid;
    Ok(launch!(stream, vector::add::<T><<<grid, THREADS>>>(&a, &b, &mut out))?)
}
