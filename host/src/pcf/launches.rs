//! Choice and launch of the kernels that compute integrals.

use std::ops::Range;

use cuda_std::math;
use gpu_kernels::pcf::{LANES, Pairs, Placement, Scalar, aligned, direct, op, op::Exponent, set::FunctionsArgs, tiled};

use super::{Measure, PcfReal};
use crate::{
    device::{Buffer, Device, DeviceError, Stream, View, ViewMut},
    launch,
};

/// A band of functions on a device.
#[derive(Clone, Copy, Debug)]
pub struct Side<'a, T: Scalar> {
    pub functions: FunctionsArgs<View<'a, T::Segment>, View<'a, u64>, View<'a, u32>>,
    /// The number of segments of the longest function.
    pub longest: usize,
    /// Number of long functions, which are the first in the order.
    pub long: usize,
}

impl<'a, T: Scalar> Side<'a, T> {
    /// The functions at some positions of the order, which have at most so many segments.
    pub fn part(&self, positions: Range<usize>, longest: usize) -> Result<Side<'a, T>, DeviceError> {
        let long = self.long.clamp(positions.start, positions.end) - positions.start;
        let order = self.functions.order.view(positions)?;
        Ok(Side { functions: FunctionsArgs { order, ..self.functions }, longest, long })
    }

    /// The functions that are long, up to a whole number of tiles.
    pub fn long(&self) -> Result<Side<'a, T>, DeviceError> {
        self.part(0..self.long.next_multiple_of(LANES as usize), self.longest)
    }

    /// True if some functions are not long.
    pub fn has_rest(&self) -> bool {
        self.functions.offsets.len() - 1 > self.long
    }

    /// The functions that are not long, of at most `longest` segments, from a whole number of tiles
    /// on; and that position.
    pub fn rest(&self, longest: u32) -> Result<(u32, Side<'a, T>), DeviceError> {
        let start = self.long / LANES as usize * LANES as usize;
        let rest = self.part(start..self.functions.order.len(), self.longest.min(longest as usize))?;
        Ok((start as u32, rest))
    }
}

/// Cuts of the merges of long functions.
#[derive(Debug)]
pub struct Cut<'a, T: Scalar> {
    /// Functions with more segments are long.
    pub longest: u32,
    /// From 0 to infinity: one more than there are pieces.
    pub cuts: View<'a, T>,
    /// Memory for the sums over pieces, and their greatest number at a time.
    pub partials: &'a mut Buffer<T>,
    pub most_partials: usize,
}

/// Least number of sums of each piece that are computed at a time: those of a block.
pub const LEAST_PARTIALS: usize = LANES as usize * MOST_WARPS as usize;

/// The most warps of a block.
const MOST_WARPS: u32 = 16;

/// Threads of a block of the kernels that add up pieces.
const COMBINE_THREADS: u32 = 256;

/// Threads of a block of the kernels in `direct`.
const DIRECT_THREADS: u32 = 128;

/// Launch configuration of the kernels in `tiled`.
#[derive(Clone, Copy, Debug)]
struct Tile {
    grid: (u32, u32),
    /// Warps per block.
    warps: u32,
    /// Segments of each function in shared memory.
    window: u32,
    /// Bytes of shared memory.
    shared: usize,
}

/// The integrals of a matrix.
#[derive(Clone, Copy, Debug)]
pub struct Integrals<T: Scalar> {
    pub measure: Measure,
    pub exponent: Exponent<T>,
    /// True if all functions have the same times.
    pub aligned: bool,
}

impl<T: PcfReal> Integrals<T> {
    /// The integrals of functions whose differences are at most `largest`, up to a time.
    pub fn new(measure: Measure, largest: f64, time: T, aligned: bool) -> Self {
        let p = if let Measure::Lp(p) = measure { p } else { 1.0 };
        let (one, tiny) = (1.0, T::MIN_POSITIVE.to_f64());
        // The exponent of two above the largest difference; 2 has the biased one 1024.
        let above = (largest.to_bits() >> 52) as i32 - 1022;
        // GPUs flush tiny powers to zero. Squares by products lose their last digits only.
        let lost = if measure.has_power() { T::UNIT_ROUNDOFF } else { one };
        let (exponent, halves) = (T::from_f64(p), p.fract() != 0.0);
        let root = T::ONE / exponent;
        let factors = if halves { 2.0 * p } else { p };
        let factors = if p <= MOST_FACTORS && factors.fract() == 0.0 { factors as u32 } else { 0 };
        let exponent = Exponent {
            factors,
            bit: if factors == 0 { 0 } else { 1 << factors.ilog2() >> 1 },
            halves: halves.into(),
            root,
            root_rest: math::mul_add(-exponent, root, T::ONE) / exponent,
            p: exponent,
            scale: T::from_f64(2f64.powi(-above).min(one / tiny)),
            least: T::from_f64(tiny * (time.to_f64() / lost).max(one)),
        };
        Integrals { measure, exponent, aligned }
    }

    /// The most warps of a block.
    fn most_warps(self) -> u32 {
        // In double precision, powers take so many registers that there is no room for more.
        let by_polynomial = self.measure.has_power() && self.exponent.factors == 0;
        if by_polynomial && size_of::<T>() == 8 { 8 } else { MOST_WARPS }
    }
}

/// The largest exponent whose powers are made by products. Larger ones take about as many as polynomials have terms.
const MOST_FACTORS: f64 = 32.0;

impl Tile {
    fn new<T: Scalar>(device: &Device, warps: u32, first: &Side<'_, T>, second: &Side<'_, T>) -> Self {
        // In single precision the window leaves room for three blocks per multiprocessor; in double precision that
        // would be too short a window, and two run as fast. A kilobyte of each block's shared memory is the system's.
        let available = device.info().max_shared_per_block / if size_of::<T>() == 4 { 3 } else { 2 } - 1024;
        let window = (available / tiled::shared_bytes::<T>([1; 2], warps)) as u32;
        let longest = u32::try_from(first.longest.max(second.longest)).unwrap_or(u32::MAX);
        let window = window.min(longest).max(2);
        Tile {
            grid: (first.functions.order.len() as u32 / LANES, second.functions.order.len() as u32 / warps),
            warps,
            window,
            shared: tiled::shared_bytes::<T>([window; 2], warps),
        }
    }
}

/// The windows of the kernel for pieces, in blocks of so many warps.
fn windows<T: Scalar>(device: &Device, warps: u32, first: usize, second: usize) -> [u32; 2] {
    // The number of warps per multiprocessor is the same for all blocks.
    let blocks = 32 / warps as usize;
    let available = (device.info().max_shared_per_block / blocks - 1024) / size_of::<T::Segment>();
    let (lanes, warps) = (LANES as usize, warps as usize);
    let even = available / (lanes + warps);
    // The second window gets the room that short functions leave.
    let first_window = first.min(even);
    let second_window = second.min((available - lanes * first_window) / warps);
    [first_window, second_window].map(|window| window.max(2) as u32)
}

/// An operation that all kernels exist for.
pub trait Operation:
    op::Operation
    + tiled::integrals::Instance
    + tiled::pieces::Instance
    + tiled::combine::Instance
    + direct::integrals::Instance
    + aligned::tiled::Instance
    + aligned::direct::Instance
{
}

impl<O> Operation for O where
    O: tiled::integrals::Instance
        + tiled::pieces::Instance
        + tiled::combine::Instance
        + direct::integrals::Instance
        + aligned::tiled::Instance
        + aligned::direct::Instance
{
}

/// The operations in one precision.
pub trait Operations: Scalar {
    type L1: Operation<Scalar = Self>;
    type L2: Operation<Scalar = Self>;
    type Lp: Operation<Scalar = Self>;
    type Products: Operation<Scalar = Self>;
    type Supremum: Operation<Scalar = Self>;
    type Inner: Operation<Scalar = Self>;
}

macro_rules! operations {
    ($($t:ident)*) => {$(
        impl Operations for $t {
            type L1 = op::L1<$t>;
            type L2 = op::L2<$t>;
            type Lp = op::Lp<$t>;
            type Products = op::Products<$t>;
            type Supremum = op::Supremum<$t>;
            type Inner = op::Inner<$t>;
        }
    )*};
}
operations!(f32 f64);

/// `$launch::<O>(exponent, ..)` for the operation of some integrals.
macro_rules! for_integrals {
    ($t:ident, $integrals:expr, $launch:ident($($argument:expr),*)) => {{
        let exponent = $integrals.exponent;
        match $integrals.measure {
            Measure::Lp(1.0) => $launch::<$t::L1>(exponent, $($argument),*),
            Measure::Lp(2.0) => $launch::<$t::L2>(exponent, $($argument),*),
            Measure::Lp(f64::INFINITY) => $launch::<$t::Supremum>(exponent, $($argument),*),
            Measure::Lp(_) if exponent.factors > 0 => $launch::<$t::Products>(exponent, $($argument),*),
            Measure::Lp(_) => $launch::<$t::Lp>(exponent, $($argument),*),
            Measure::Inner => $launch::<$t::Inner>(exponent, $($argument),*),
        }
    }};
}
pub(super) use for_integrals;

/// Has the driver load the kernel that [`launch()`] launches, which it would do before its first launch.
pub fn load<T: PcfReal>(device: &Device, tiled: bool, integrals: Integrals<T>) -> Result<(), DeviceError> {
    for_integrals!(T, integrals, load_one(device, tiled, integrals.aligned))
}

fn load_one<O: Operation>(_: Exponent<O::Scalar>, device: &Device, tiled: bool, aligned: bool) -> Result<(), DeviceError> {
    let kernel = match (tiled, aligned) {
        (true, false) => tiled::integrals::kernel::<O>(),
        (false, false) => direct::integrals::kernel::<O>(),
        (true, true) => aligned::tiled::kernel::<O>(),
        (false, true) => aligned::direct::kernel::<O>(),
    };
    device.kernel_attributes(kernel).map(drop)
}

/// Launches the kernel for GPUs or CPUs for these integrals. Pairs with a function of more than `longest`
/// segments are left out by `tiled::integrals`.
pub fn launch<T: PcfReal>(
    stream: &Stream,
    tiled: bool,
    integrals: Integrals<T>,
    longest: u32,
    [first, second]: [&Side<'_, T>; 2],
    out: &mut ViewMut<'_, T>,
    placement: Placement,
) -> Result<(), DeviceError> {
    if integrals.aligned {
        return for_integrals!(T, integrals, launch_aligned(stream, tiled, [first, second], out, placement));
    }
    let tile = tiled.then(|| Tile::new(stream.device(), integrals.most_warps(), first, second));
    for_integrals!(T, integrals, launch_one(stream, tile, longest, [first, second], out, placement))
}

/// Launches the kernels that merge in pieces, over pairs of a function of a part of one band and a long one of another,
/// for a few of their positions at a time.
pub fn launch_pieces<T: PcfReal>(
    stream: &Stream,
    integrals: Integrals<T>,
    cut: &mut Cut<'_, T>,
    pairs: Pairs,
    [first, second]: [&Side<'_, T>; 2],
    out: &mut ViewMut<'_, T>,
    placement: Placement,
) -> Result<(), DeviceError> {
    let (firsts, seconds, pieces) = (first.functions.order.len(), second.long, cut.cuts.len() - 1);
    let (lanes, warps) = (LANES as usize, MOST_WARPS as usize);
    let step = |most: usize, of: usize| (most / of * of).max(of);
    let second_step = step(cut.most_partials / (pieces * lanes), warps).min(seconds);
    let first_step = step(cut.most_partials / (pieces * second_step), lanes).min(firsts);
    cut.partials.ensure(pieces * first_step * second_step)?;
    for second_start in (0..seconds).step_by(second_step) {
        let end = (second_start + second_step).next_multiple_of(warps).min(second.functions.order.len());
        let part = second.part(second_start..end, second.longest)?;
        for first_start in (0..firsts).step_by(first_step) {
            let sides = [first.part(first_start..firsts.min(first_start + first_step), first.longest)?, part];
            let pairs = Pairs {
                first_start: pairs.first_start + first_start as u32,
                second_start: pairs.second_start + second_start as u32,
                seconds: second_step.min(seconds - second_start) as u32,
                ..pairs
            };
            for_integrals!(T, integrals, launch_part(stream, integrals.most_warps(), cut, pairs, &sides, out, placement))?;
        }
    }
    Ok(())
}

/// Launches them for one operation, with room for all partial sums.
#[expect(clippy::too_many_arguments, reason = "those of two kernels")]
fn launch_part<O: Operation>(
    exponent: Exponent<O::Scalar>,
    stream: &Stream,
    most_warps: u32,
    cut: &mut Cut<'_, O::Scalar>,
    pairs: Pairs,
    [first, second]: &[Side<'_, O::Scalar>; 2],
    out: &mut ViewMut<'_, O::Scalar>,
    placement: Placement,
) -> Result<(), DeviceError> {
    let (firsts, pieces) = (first.functions.order.len(), cut.cuts.len() - 1);
    // Warps without a function are idle.
    let warps = pairs.seconds.next_power_of_two().clamp(4, most_warps);
    let [first_window, second_window] = windows::<O::Scalar>(stream.device(), warps, first.longest, second.longest);
    let shared = tiled::shared_bytes::<O::Scalar>([first_window, second_window], warps);
    let grid = (firsts as u32 / LANES, pairs.seconds.div_ceil(warps), pieces as u32);
    let threads = (firsts * pairs.seconds as usize).div_ceil(COMBINE_THREADS as usize) as u32;
    let (rows, columns) = (first.functions, second.functions);
    let partials = &mut *cut.partials;
    // SAFETY: `Side` is what the kernels take for functions; the strides are of a block as large as `out`, for the
    // numbers of functions in both orders; the orders' lengths are multiples of 32, and shared memory fits the windows.
    // There is room for all sums.
    unsafe {
        launch!(stream, tiled::pieces::<O><<<grid, warps * LANES, shared>>>(
            rows, columns, first_window, second_window, &cut.cuts, pairs, exponent, placement, &mut *partials
        ))?;
        launch!(stream, tiled::combine::<O><<<threads, COMBINE_THREADS>>>(
            rows, columns, pieces as u32, pairs, exponent, placement, &*partials, out
        ))
    }
}

/// Launches the kernel for functions that have the same times, for one operation.
fn launch_aligned<O: Operation>(
    exponent: Exponent<O::Scalar>,
    stream: &Stream,
    tiled: bool,
    [first, second]: [&Side<'_, O::Scalar>; 2],
    out: &mut ViewMut<'_, O::Scalar>,
    placement: Placement,
) -> Result<(), DeviceError> {
    let (rows, columns) = (first.functions, second.functions);
    let groups = |side: usize| (rows.order.len().div_ceil(side) as u32, columns.order.len().div_ceil(side) as u32);
    // SAFETY: `Side` is what the kernels take for functions; the strides are of a block as large as `out`, for the
    // numbers of functions in both orders. All functions have the same times.
    unsafe {
        if tiled {
            let grid = groups(aligned::TILE);
            launch!(stream, aligned::tiled::<O><<<grid, aligned::TILED_THREADS>>>(rows, columns, exponent, placement, out))
        } else {
            let (x, y) = groups(aligned::SIDE);
            let grid = (x as usize * y as usize).div_ceil(DIRECT_THREADS as usize) as u32;
            launch!(stream, aligned::direct::<O><<<grid, DIRECT_THREADS>>>(rows, columns, exponent, placement, out))
        }
    }
}

/// Launches it for one operation, of `tiled` if there is a tile.
fn launch_one<O: Operation>(
    exponent: Exponent<O::Scalar>,
    stream: &Stream,
    tile: Option<Tile>,
    longest: u32,
    [first, second]: [&Side<'_, O::Scalar>; 2],
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
                    tiled::integrals::<O><<<grid, warps * LANES, shared>>>(
                        rows, columns, window, longest, exponent, placement, out
                    )
                )
            }
            None => {
                let threads = rows.order.len() / direct::CHAINS * columns.order.len();
                let grid = threads.div_ceil(DIRECT_THREADS as usize) as u32;
                launch!(stream, direct::integrals::<O><<<grid, DIRECT_THREADS>>>(rows, columns, exponent, placement, out))
            }
        }
    }
}
