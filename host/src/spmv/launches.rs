//! The kernels that exist once for each precision, behind one trait.

use gpu_kernels::spmv::{
    rows,
    tiles::{self, ITEMS, Tile},
    vector,
};

use crate::{
    device::{Buffer, DeviceError, LaunchConfig, Stream, View, ViewMut},
    launch,
};

/// Threads of a block, but of [`tiles`].
const THREADS: u32 = 256;

/// A matrix in compressed sparse rows on a device: valid, as [`Csr`](super::Csr) is.
#[derive(Debug)]
pub struct Arrays<T: bytemuck::Pod> {
    pub row_ptr: Buffer<u32>,
    pub columns: Buffer<u32>,
    pub values: Buffer<T>,
}

/// How `tiles` divides a matrix.
#[derive(Debug)]
pub struct Tiles {
    /// All of its rows and nonzeros, in tiles for blocks of `threads`.
    pub tiles: Buffer<Tile>,
    pub threads: u32,
    /// The rows that are divided, and where each one's partial sums are.
    pub long_rows: Buffer<u32>,
    pub offsets: Buffer<u32>,
}

/// The kernels of one precision.
pub trait Launches: bytemuck::Pod {
    /// # Safety
    /// `x` is as long as the matrix is wide, `y` as it is high, and 2^`log_lanes` is at most 32.
    unsafe fn launch_rows(
        stream: &Stream,
        matrix: &Arrays<Self>,
        x: View<'_, Self>,
        y: ViewMut<'_, Self>,
        log_lanes: u32,
    ) -> Result<(), DeviceError>;

    /// # Safety
    /// `x` is as long as the matrix is wide, and `y` as it is high. The tiles were made for the matrix, and `partials`
    /// has room for all of their partial sums.
    unsafe fn launch_tiles(
        stream: &Stream,
        matrix: &Arrays<Self>,
        tiles: &Tiles,
        x: View<'_, Self>,
        y: ViewMut<'_, Self>,
        partials: &mut Buffer<Self>,
    ) -> Result<(), DeviceError>;

    /// `indices` and `out` are as long, or the kernel reports it.
    fn launch_gather(
        stream: &Stream,
        x: View<'_, Self>,
        indices: View<'_, u32>,
        out: ViewMut<'_, Self>,
    ) -> Result<(), DeviceError>;

    /// All are as long, or the kernel reports it.
    fn launch_add(stream: &Stream, a: View<'_, Self>, b: View<'_, Self>, out: ViewMut<'_, Self>) -> Result<(), DeviceError>;
}

macro_rules! launches {
    ($($t:ty: $multiply:ident $long_rows:ident $gather:ident $add:ident;)*) => {$(
        impl Launches for $t {
            unsafe fn launch_rows(
                stream: &Stream,
                matrix: &Arrays<$t>,
                x: View<'_, $t>,
                mut y: ViewMut<'_, $t>,
                log_lanes: u32,
            ) -> Result<(), DeviceError> {
                let grid = LaunchConfig::for_elements(y.len() << log_lanes, THREADS).grid;
                let Arrays { row_ptr, columns, values } = matrix;
                // SAFETY: the matrix is valid; x and y have the matrix's lengths, and a row has 32 lanes at most (this
                // method's contract).
                unsafe { launch!(stream, rows::$multiply<<<grid, THREADS>>>(row_ptr, columns, values, &x, &mut y, log_lanes)) }
            }

            unsafe fn launch_tiles(
                stream: &Stream,
                matrix: &Arrays<$t>,
                tiles: &Tiles,
                x: View<'_, $t>,
                mut y: ViewMut<'_, $t>,
                partials: &mut Buffer<$t>,
            ) -> Result<(), DeviceError> {
                let Arrays { row_ptr, columns, values } = matrix;
                let Tiles { tiles, threads, long_rows, offsets } = tiles;
                // Tiles have a nonzero or a row each, so there are fewer than 2^33; more than 2^31 - 1 don't fit into a
                // device's memory.
                let (grid, long) = (tiles.len() as u32, long_rows.len() as u32);
                let shared = (ITEMS * threads) as usize * size_of::<$t>();
                // SAFETY: the matrix is valid; x and y have its lengths, and the tiles were made for it, for blocks of
                // this many threads (this method's contract). The partial sums are those of the tiles, which the first
                // kernel has written.
                unsafe {
                    launch!(stream, tiles::$multiply<<<grid, *threads, shared>>>(
                        tiles, row_ptr, columns, values, &x, &mut y, &mut *partials
                    ))?;
                    launch!(stream, tiles::$long_rows<<<long, THREADS>>>(long_rows, offsets, &*partials, &mut y))
                }
            }

            fn launch_gather(
                stream: &Stream,
                x: View<'_, $t>,
                indices: View<'_, u32>,
                mut out: ViewMut<'_, $t>,
            ) -> Result<(), DeviceError> {
                let grid = LaunchConfig::for_elements(out.len(), THREADS).grid;
                launch!(stream, vector::$gather<<<grid, THREADS>>>(&x, &indices, &mut out))
            }

            fn launch_add(
                stream: &Stream,
                a: View<'_, $t>,
                b: View<'_, $t>,
                mut out: ViewMut<'_, $t>,
            ) -> Result<(), DeviceError> {
                let grid = LaunchConfig::for_elements(out.len(), THREADS).grid;
                launch!(stream, vector::$add<<<grid, THREADS>>>(&a, &b, &mut out))
            }
        }
    )*};
}
launches! {
    f32: multiply_f32 long_rows_f32 gather_f32 add_f32;
    f64: multiply_f64 long_rows_f64 gather_f64 add_f64;
}
