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

/// Warps of a tile's block.
fn warps<T>(integral: Integral) -> u32 {
    // In double precision, powers take so many registers that there is no room for more.
    if matches!(integral, Integral::Lp(_)) && size_of::<T>() == 8 { 8 } else { 16 }
}

/// Threads of a block of the kernels in `direct`.
const DIRECT_THREADS: u32 = 128;

/// Segments of each function that a tile has in shared memory.
///
/// In single precision the window leaves room for three blocks a multiprocessor, as many as run at full speed; in double precision that would be too
/// short a window, and two give as much.
fn window<T: Scalar>(device: &Device, longest: usize, warps: u32) -> u32 {
    let blocks = if size_of::<T>() == 4 { 3 } else { 2 };
    // A kilobyte of each block's shared memory is the system's.
    let shared = device.info().max_shared_per_block / blocks - 1024;
    let window = (shared / tiled::shared_bytes::<T>(1, warps)) as u32;
    window.min(u32::try_from(longest).unwrap_or(u32::MAX)).max(2)
}

/// Each kernel of one precision.
pub trait Launches: Scalar {
    fn tiled(
        stream: &Stream,
        integral: Integral,
        first: &Side<'_, Self>,
        second: &Side<'_, Self>,
        out: &mut ViewMut<'_, Self>,
        layout: Layout,
    ) -> Result<(), DeviceError>
    where
        Self: bytemuck::Pod;
    fn direct(
        stream: &Stream,
        integral: Integral,
        first: &Side<'_, Self>,
        second: &Side<'_, Self>,
        out: &mut ViewMut<'_, Self>,
        layout: Layout,
    ) -> Result<(), DeviceError>
    where
        Self: bytemuck::Pod;
}

macro_rules! launches {
    ($t:ident: $l1:ident $l2:ident $lp:ident $inner:ident) => {
        impl Launches for $t {
            fn tiled(
                stream: &Stream,
                integral: Integral,
                first: &Side<'_, $t>,
                second: &Side<'_, $t>,
                out: &mut ViewMut<'_, $t>,
                layout: Layout,
            ) -> Result<(), DeviceError> {
                let warps = warps::<$t>(integral);
                let grid = (first.order.len() as u32 / LANES, second.order.len() as u32 / warps);
                let window = window::<$t>(stream.device(), first.longest.max(second.longest), warps);
                let shared = tiled::shared_bytes::<$t>(window, warps);
                macro_rules! go {
                                                    ($kernel:ident, $p:expr) => {
                                                        // SAFETY: `Side` is what the kernels take for functions; the layout's strides are of a block as large as `out`, for the
                                                        // numbers of functions in both orders; the orders' lengths are multiples of 32, and shared memory fits the window.
                                                        unsafe {
                                                            launch!(
                                                                stream,
                                                                tiled::$kernel<<<grid, warps * LANES, shared>>>(
                                                                    &first.segments,
                                                                    &first.offsets,
                                                                    &first.order,
                                                                    &second.segments,
                                                                    &second.offsets,
                                                                    &second.order,
                                                                    window,
                                                                    layout.triangle.0,
                                                                    $p,
                                                                    out,
                                                                    layout.first_stride,
                                                                    layout.second_stride
                                                                )
                                                            )
                                                        }
                                                    };
                                                }
                match integral {
                    Integral::L1 => go!($l1, 1.0),
                    Integral::L2 => go!($l2, 2.0),
                    Integral::Lp(p) => go!($lp, p as $t),
                    Integral::Inner => go!($inner, 0.0),
                }
            }

            fn direct(
                stream: &Stream,
                integral: Integral,
                first: &Side<'_, $t>,
                second: &Side<'_, $t>,
                out: &mut ViewMut<'_, $t>,
                layout: Layout,
            ) -> Result<(), DeviceError> {
                let threads = first.order.len() / direct::CHAINS * second.order.len();
                let grid = threads.div_ceil(DIRECT_THREADS as usize) as u32;
                macro_rules! go {
                                                    ($kernel:ident, $p:expr) => {
                                                        // SAFETY: as above, but for shared memory.
                                                        unsafe {
                                                            launch!(
                                                                stream,
                                                                direct::$kernel<<<grid, DIRECT_THREADS>>>(
                                                                    &first.segments,
                                                                    &first.offsets,
                                                                    &first.order,
                                                                    &second.segments,
                                                                    &second.offsets,
                                                                    &second.order,
                                                                    layout.triangle.0,
                                                                    $p,
                                                                    out,
                                                                    layout.first_stride,
                                                                    layout.second_stride
                                                                )
                                                            )
                                                        }
                                                    };
                                                }
                match integral {
                    Integral::L1 => go!($l1, 1.0),
                    Integral::L2 => go!($l2, 2.0),
                    Integral::Lp(p) => go!($lp, p as $t),
                    Integral::Inner => go!($inner, 0.0),
                }
            }
        }
    };
}
launches!(f32: l1_f32 l2_f32 lp_f32 inner_f32);
launches!(f64: l1_f64 l2_f64 lp_f64 inner_f64);
