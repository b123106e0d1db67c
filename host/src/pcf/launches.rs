//! The kernels that exist once for each operation and precision, behind one trait.

use gpu_kernels::pcf::{LANES, Scalar, Triangle, direct, tiled};

use crate::{
    device::{Device, DeviceError, Stream, View, ViewMut},
    launch,
};

/// What is integrated, with the exponent.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Integral {
    L1,
    L2,
    Lp(f64),
    Inner,
}

/// A band of functions on a device, as `gpu_kernels::pcf::set::Functions` has it.
#[derive(Clone, Copy, Debug)]
pub struct Side<'a, T: Scalar> {
    pub segments: View<'a, T::Segment>,
    pub offsets: View<'a, u64>,
    pub order: View<'a, u32>,
    /// The number of segments of the longest function.
    pub longest: usize,
}

/// Which pairs, and where their entries go: (i, j) to `i * first_stride + j * second_stride`.
#[derive(Clone, Copy, Debug)]
pub struct Layout {
    pub triangle: Triangle,
    pub first_stride: u64,
    pub second_stride: u64,
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
    fn new<T: Scalar>(device: &Device, integral: Integral, first: &Side<'_, T>, second: &Side<'_, T>) -> Self {
        let single = size_of::<T>() == 4;
        // In double precision, powers take so many registers that there is no room for more.
        let warps = if matches!(integral, Integral::Lp(_)) && !single { 8 } else { 16 };
        // In single precision the window leaves room for three blocks per multiprocessor; in double precision that
        // would be too short a window, and two run as fast. A kilobyte of each block's shared memory is the system's.
        let available = device.info().max_shared_per_block / if single { 3 } else { 2 } - 1024;
        let window = (available / tiled::shared_bytes::<T>(1, warps)) as u32;
        let longest = u32::try_from(first.longest.max(second.longest)).unwrap_or(u32::MAX);
        let window = window.min(longest).max(2);
        Tile {
            grid: (first.order.len() as u32 / LANES, second.order.len() as u32 / warps),
            warps,
            window,
            shared: tiled::shared_bytes::<T>(window, warps),
        }
    }
}

/// The kernels of one precision.
pub trait Launches: Scalar + bytemuck::Pod {
    /// Launches the one for this integral, of `tiled` or of `direct`.
    fn launch(
        stream: &Stream,
        tiled: bool,
        integral: Integral,
        first: &Side<'_, Self>,
        second: &Side<'_, Self>,
        out: &mut ViewMut<'_, Self>,
        layout: Layout,
    ) -> Result<(), DeviceError>;
}

/// Launches a kernel of `tiled` on the method's arguments.
macro_rules! launch_tiled {
    ($kernel:ident, $p:expr, $stream:ident, $first:ident, $second:ident, $out:ident, $layout:ident, $tile:ident) => {
        // SAFETY: `Side` is what the kernels take for functions; the layout's strides are of a block as large as `out`,
        // for the numbers of functions in both orders; the orders' lengths are multiples of 32, and shared memory fits
        // the window.
        unsafe {
            launch!(
                $stream,
                tiled::$kernel<<<$tile.grid, $tile.warps * LANES, $tile.shared>>>(
                    &$first.segments,
                    &$first.offsets,
                    &$first.order,
                    &$second.segments,
                    &$second.offsets,
                    &$second.order,
                    $tile.window,
                    $layout.triangle.0,
                    $p,
                    $out,
                    $layout.first_stride,
                    $layout.second_stride
                )
            )
        }
    };
}

/// Launches a kernel of `direct` on the method's arguments.
macro_rules! launch_direct {
    ($kernel:ident, $p:expr, $stream:ident, $first:ident, $second:ident, $out:ident, $layout:ident) => {{
        let threads = $first.order.len() / direct::CHAINS * $second.order.len();
        let grid = threads.div_ceil(DIRECT_THREADS as usize) as u32;
        // SAFETY: `Side` is what the kernels take for functions; the layout's strides are of a block as large as `out`,
        // for the numbers of functions in both orders; the orders' lengths are multiples of 32.
        unsafe {
            launch!(
                $stream,
                direct::$kernel<<<grid, DIRECT_THREADS>>>(
                    &$first.segments,
                    &$first.offsets,
                    &$first.order,
                    &$second.segments,
                    &$second.offsets,
                    &$second.order,
                    $layout.triangle.0,
                    $p,
                    $out,
                    $layout.first_stride,
                    $layout.second_stride
                )
            )
        }
    }};
}

macro_rules! launches {
    ($t:ident: $l1:ident $l2:ident $lp:ident $inner:ident) => {
        impl Launches for $t {
            fn launch(
                stream: &Stream,
                tiled: bool,
                integral: Integral,
                first: &Side<'_, $t>,
                second: &Side<'_, $t>,
                out: &mut ViewMut<'_, $t>,
                layout: Layout,
            ) -> Result<(), DeviceError> {
                let tile = Tile::new::<$t>(stream.device(), integral, first, second);
                match (integral, tiled) {
                    (Integral::L1, true) => launch_tiled!($l1, 1.0, stream, first, second, out, layout, tile),
                    (Integral::L2, true) => launch_tiled!($l2, 2.0, stream, first, second, out, layout, tile),
                    (Integral::Lp(p), true) => launch_tiled!($lp, p as $t, stream, first, second, out, layout, tile),
                    (Integral::Inner, true) => launch_tiled!($inner, 0.0, stream, first, second, out, layout, tile),
                    (Integral::L1, false) => launch_direct!($l1, 1.0, stream, first, second, out, layout),
                    (Integral::L2, false) => launch_direct!($l2, 2.0, stream, first, second, out, layout),
                    (Integral::Lp(p), false) => launch_direct!($lp, p as $t, stream, first, second, out, layout),
                    (Integral::Inner, false) => launch_direct!($inner, 0.0, stream, first, second, out, layout),
                }
            }
        }
    };
}
launches!(f32: l1_f32 l2_f32 lp_f32 inner_f32);
launches!(f64: l1_f64 l2_f64 lp_f64 inner_f64);
