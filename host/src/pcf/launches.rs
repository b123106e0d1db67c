//! Which kernel computes an integral, and how it is launched.

use gpu_kernels::pcf::{LANES, Placement, Scalar, direct, op, set::FunctionsArgs, tiled};

use super::{Measure, PcfReal};
use crate::{
    device::{Device, DeviceError, Stream, View, ViewMut},
    launch,
};

/// A band of functions on a device.
#[derive(Clone, Copy, Debug)]
pub struct Side<'a, T: Scalar> {
    pub functions: FunctionsArgs<View<'a, T::Segment>, View<'a, u64>, View<'a, u32>>,
    /// The number of segments of the longest function.
    pub longest: usize,
}

/// Threads of a block of the kernels in `direct`.
const DIRECT_THREADS: u32 = 128;

/// How the kernels in `tiled` are launched.
#[derive(Clone, Copy, Debug)]
struct Tile {
    grid: (u32, u32),
    /// Of a block.
    warps: u32,
    /// Segments of each function in shared memory.
    window: u32,
    /// Bytes of shared memory.
    shared: usize,
}

impl Tile {
    fn new<T: Scalar>(device: &Device, measure: Measure, first: &Side<'_, T>, second: &Side<'_, T>) -> Self {
        let single = size_of::<T>() == 4;
        // In double precision, powers take so many registers that there is no room for more.
        let warps = if measure.has_power() && !single { 8 } else { 16 };
        // In single precision the window leaves room for three blocks per multiprocessor; in double precision that
        // would be too short a window, and two run as fast. A kilobyte of each block's shared memory is the system's.
        let available = device.info().max_shared_per_block / if single { 3 } else { 2 } - 1024;
        let window = (available / tiled::shared_bytes::<T>(1, warps)) as u32;
        let longest = u32::try_from(first.longest.max(second.longest)).unwrap_or(u32::MAX);
        let window = window.min(longest).max(2);
        Tile {
            grid: (first.functions.order.len() as u32 / LANES, second.functions.order.len() as u32 / warps),
            warps,
            window,
            shared: tiled::shared_bytes::<T>(window, warps),
        }
    }
}

/// An operation that both kernels exist for.
pub trait Operation: op::Operation + tiled::integrals::Instance + direct::integrals::Instance {}

impl<O: tiled::integrals::Instance + direct::integrals::Instance> Operation for O {}

/// The operations in one precision.
pub trait Operations: Scalar {
    type L1: Operation<Scalar = Self>;
    type L2: Operation<Scalar = Self>;
    type Lp: Operation<Scalar = Self>;
    type Inner: Operation<Scalar = Self>;
}

macro_rules! operations {
    ($($t:ident)*) => {$(
        impl Operations for $t {
            type L1 = op::L1<$t>;
            type L2 = op::L2<$t>;
            type Lp = op::Lp<$t>;
            type Inner = op::Inner<$t>;
        }
    )*};
}
operations!(f32 f64);

/// Launches the kernel of `tiled` or of `direct` for this measure.
pub fn launch<T: PcfReal>(
    stream: &Stream,
    tiled: bool,
    measure: Measure,
    first: &Side<'_, T>,
    second: &Side<'_, T>,
    out: &mut ViewMut<'_, T>,
    placement: Placement,
) -> Result<(), DeviceError> {
    let tile = tiled.then(|| Tile::new(stream.device(), measure, first, second));
    match measure {
        Measure::Lp(1.0) => launch_one::<T::L1>(stream, tile, T::ONE, first, second, out, placement),
        Measure::Lp(2.0) => launch_one::<T::L2>(stream, tile, T::ONE, first, second, out, placement),
        Measure::Lp(p) => launch_one::<T::Lp>(stream, tile, T::from_f64(p), first, second, out, placement),
        Measure::Inner => launch_one::<T::Inner>(stream, tile, T::ONE, first, second, out, placement),
    }
}

/// Launches it for one operation, of `tiled` where there is a tile.
fn launch_one<O: Operation>(
    stream: &Stream,
    tile: Option<Tile>,
    p: O::Scalar,
    first: &Side<'_, O::Scalar>,
    second: &Side<'_, O::Scalar>,
    out: &mut ViewMut<'_, O::Scalar>,
    placement: Placement,
) -> Result<(), DeviceError> {
    let (rows, columns) = (first.functions, second.functions);
    // SAFETY: `Side` is what the kernels take for functions; the strides are of a block as large as `out`, for the
    // numbers of functions in both orders; the orders' lengths are multiples of 32, and shared memory fits the window.
    unsafe {
        match tile {
            Some(Tile { grid, warps, window, shared }) => {
                launch!(
                    stream,
                    tiled::integrals::<O><<<grid, warps * LANES, shared>>>(rows, columns, window, p, placement, out)
                )
            }
            None => {
                let threads = rows.order.len() / direct::CHAINS * columns.order.len();
                let grid = threads.div_ceil(DIRECT_THREADS as usize) as u32;
                launch!(stream, direct::integrals::<O><<<grid, DIRECT_THREADS>>>(rows, columns, p, placement, out))
            }
        }
    }
}
