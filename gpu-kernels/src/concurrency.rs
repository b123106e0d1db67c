//! Kernels of the concurrency study: the total overlap of one list of poses with another, in the
//! way of the study's source. A thread takes one pose of the first list and compares it with all of
//! the second.
//!
//! - [`global`], [`constant`](mod@constant) and [`shared`]: in one phase. A thread transforms the
//!   pieces of both poses anew for each comparison. The modules differ in where it reads the
//!   shape's quads from.
//! - [`two_phase`]: the same loop over quads that [`transform()`] has turned before.
//!
//! Each module has one kernel per reduction of the threads' sums to one sum per block:
//! `interleaved`, `sequential`, `shuffle`, `atomic`, and `separate`, which leaves the reduction
//! out.
//!
//! These kernels are models to measure; the module `overlap` computes overlaps. They take one
//! shape, in double precision.

use crate::collectives::{
    Sum,
    warp::{self, Lanes},
};
use crate::overlap::Scalar;
use crate::overlap::clip::{Point, Quad, intersect};
use cuda_std::prelude::*;

/// A pose: x, y, and the angle in radians, of up to 2²⁰ in magnitude.
pub type Pose = [f64; 3];

/// The vertices (x, y) of a convex quad, counter-clockwise. A triangle repeats its last.
pub type Piece = [[f64; 2]; 4];

/// Maximum number of a shape's pieces.
pub const MAX_PIECES: usize = 16;

/// Maximum block size in threads. Clipping takes more registers than a thread can have in blocks of
/// 512.
pub const MAX_THREADS: u32 = 256;

/// Number of doubles per piece.
const DOUBLES: usize = 8;

constant! {
    /// The pieces of the shape that [`constant`](mod@constant)'s kernels compare.
    pub static ONE_PHASE_PIECES: [[[f64; 2]; 4]; MAX_PIECES];
}

/// Memory that a thread reads the shape's pieces from.
trait Pieces: Copy {
    /// # Safety
    /// There are more than `index` pieces.
    unsafe fn get(self, index: usize) -> Piece;
}

#[derive(Clone, Copy)]
struct InGlobal<'a>(&'a [Piece]);

impl Pieces for InGlobal<'_> {
    #[inline(always)]
    unsafe fn get(self, index: usize) -> Piece {
        // SAFETY: there are more pieces than `index` says (this function's contract).
        unsafe { *self.0.get_unchecked(index) }
    }
}

#[derive(Clone, Copy)]
struct InConstant;

impl Pieces for InConstant {
    #[inline(always)]
    unsafe fn get(self, index: usize) -> Piece {
        // SAFETY: there are more pieces than `index` says (this function's contract).
        unsafe { *ONE_PHASE_PIECES.as_slice().get_unchecked(index) }
    }
}

type Shared = SharedArray<f64, { MAX_PIECES * DOUBLES }>;

#[derive(Clone, Copy)]
struct InShared(Shared);

impl InShared {
    /// Copies the pieces, as many as fit.
    ///
    /// # Safety
    /// All threads of the block call it together with the same arguments, and nobody uses the array
    /// before.
    #[inline(always)]
    unsafe fn fill(array: Shared, pieces: &[Piece]) -> Self {
        let doubles = (pieces.len() * DOUBLES).min(array.len());
        let mut index = thread::thread_idx_x() as usize;
        while index < doubles {
            // SAFETY: within both, and this thread's alone until the barrier.
            unsafe { array.write(index, pieces.as_ptr().cast::<f64>().add(index).read()) };
            index += thread::block_dim_x() as usize;
        }
        thread::sync_threads();
        InShared(array)
    }
}

impl Pieces for InShared {
    #[inline(always)]
    unsafe fn get(self, index: usize) -> Piece {
        // SAFETY: such a piece was copied by `fill`, by the caller's word, and nobody has written
        // it since.
        unsafe { self.0.as_mut_ptr().cast::<Piece>().add(index).read() }
    }
}

/// Turns the piece, then moves it by (x, y).
#[inline(always)]
fn turned(piece: &Piece, (sin, cos): (f64, f64), x: f64, y: f64) -> Quad<f64> {
    let vertex = |[vx, vy]: [f64; 2]| Point::new(cos * vx - sin * vy + x, math::mul_add(sin, vx, cos * vy) + y);
    [vertex(piece[0]), vertex(piece[1]), vertex(piece[2]), vertex(piece[3])]
}

/// Returns the other pose's position relative to this one, unless the two are the same or too far
/// apart to overlap.
#[inline(always)]
fn offset(own: &Pose, other: &Pose, reach: f64) -> Option<(f64, f64)> {
    let (x, y) = (other[0] - own[0], other[1] - own[1]);
    let same = x == 0.0 && y == 0.0 && other[2] == own[2];
    (!same && math::mul_add(x, x, y * y) <= reach).then_some((x, y))
}

/// Returns the overlap of this thread's pose of `first` with all of `second`, or 0 if the thread
/// has no pose.
#[inline(always)]
fn row(first: &[Pose], second: &[Pose], pieces: impl Pieces, count: usize, reach: f64) -> f64 {
    let Some(own) = first.get(thread::index_1d() as usize) else { return 0.0 };
    let own_turn = Scalar::sin_cos(own[2]);
    let mut sum = 0.0;
    for other in second {
        let Some((x, y)) = offset(own, other, reach) else { continue };
        let other_turn = Scalar::sin_cos(other[2]);
        for i in 0..count {
            // SAFETY: there are `count` pieces.
            let mine = turned(&unsafe { pieces.get(i) }, own_turn, 0.0, 0.0);
            for j in 0..count {
                // SAFETY: there are `count` pieces.
                let its = turned(&unsafe { pieces.get(j) }, other_turn, x, y);
                sum += intersect(&mine, &its).twice_area;
            }
        }
    }
    0.5 * sum
}

/// Returns the same from turned pieces, `count` per pose.
#[inline(always)]
fn turned_row(first: &[Pose], second: &[Pose], first_pieces: &[Piece], second_pieces: &[Piece], count: usize, reach: f64) -> f64 {
    let index = thread::index_1d() as usize;
    let Some(own) = first.get(index) else { return 0.0 };
    let at = |[x, y]: [f64; 2], dx: f64, dy: f64| Point::new(x + dx, y + dy);
    let moved = |piece: Piece, x: f64, y: f64| [at(piece[0], x, y), at(piece[1], x, y), at(piece[2], x, y), at(piece[3], x, y)];
    let mut sum = 0.0;
    for (k, other) in second.iter().enumerate() {
        let Some((x, y)) = offset(own, other, reach) else { continue };
        for i in 0..count {
            // SAFETY: there are `count` pieces for each pose of either list.
            let mine = moved(unsafe { *first_pieces.get_unchecked(index * count + i) }, 0.0, 0.0);
            for j in 0..count {
                // SAFETY: there are `count` pieces for each pose of either list.
                let its = moved(unsafe { *second_pieces.get_unchecked(k * count + j) }, x, y);
                sum += intersect(&mine, &its).twice_area;
            }
        }
    }
    0.5 * sum
}

/// Turns the pieces of all poses without moving them, one thread per pose.
///
/// Those of pose i go to `turned[i * pieces.len()..]`.
///
/// # Safety
/// The grid and block are one-dimensional, and `turned` points to `pieces.len()` elements per pose.
#[kernel(max_threads = 256, min_blocks = 1)]
pub unsafe fn transform(poses: &[Pose], pieces: &[Piece], turned: *mut Piece) {
    for index in thread::grid_stride(poses.len()) {
        let turn = Scalar::sin_cos(poses[index][2]);
        for (i, piece) in pieces.iter().enumerate() {
            let [a, b, c, d] = self::turned(piece, turn, 0.0, 0.0);
            // SAFETY: this pose's own elements.
            unsafe { turned.add(index * pieces.len() + i).write([[a.x, a.y], [b.x, b.y], [c.x, c.y], [d.x, d.y]]) };
        }
    }
}

/// Does nothing, to measure a launch by itself.
#[kernel(max_threads = 256, min_blocks = 1)]
pub fn nothing() {}

/// Shared array with one element per thread of a block.
type Sums = SharedArray<f64, { MAX_THREADS as usize }>;

// The contract of the reductions below: all threads of the block call them together, `totals`
// points to one element per block, and the shared array has no other use. Each thread writes its
// own element first, and between two barriers no element is written by one thread and accessed by
// another.

/// Adds neighbours first: the distance between the threads that still add doubles each time.
#[inline(always)]
unsafe fn interleaved(value: f64, sums: Sums, totals: *mut f64) {
    let (me, threads) = (thread::thread_idx_x() as usize, thread::block_dim_x() as usize);
    // SAFETY: see above; indices are below the number of threads.
    unsafe {
        sums.write(me, value);
        thread::sync_threads();
        let mut stride = 1;
        while stride < threads {
            let index = 2 * stride * me;
            if index + stride < threads {
                sums.write(index, sums.read(index) + sums.read(index + stride));
            }
            thread::sync_threads();
            stride *= 2;
        }
        if me == 0 {
            totals.add(thread::block_idx_x() as usize).write(sums.read(0));
        }
    }
}

/// Adds the upper half to the lower half: the threads that still add are the first ones.
#[inline(always)]
unsafe fn sequential(value: f64, sums: Sums, totals: *mut f64) {
    let (me, mut left) = (thread::thread_idx_x() as usize, thread::block_dim_x() as usize);
    // SAFETY: see above; indices are below the number of threads.
    unsafe {
        sums.write(me, value);
        thread::sync_threads();
        while left > 1 {
            let half = left.div_ceil(2);
            if me < left - half {
                sums.write(me, sums.read(me) + sums.read(me + half));
            }
            thread::sync_threads();
            left = half;
        }
        if me == 0 {
            totals.add(thread::block_idx_x() as usize).write(sums.read(0));
        }
    }
}

/// Adds within each warp by shuffles, then the warps' sums within the first warp.
#[inline(always)]
unsafe fn shuffle(value: f64, sums: Sums, totals: *mut f64) {
    let threads = thread::block_dim_x();
    let warps = threads.div_ceil(cuda_std::warp::WARP_SIZE);
    let (me, warp) = (cuda_std::warp::lane_id(), cuda_std::warp::warp_id());
    let mut total = warp::reduce(Lanes::of_block(threads), value, Sum);
    // SAFETY: see above; each warp has an element, because there are fewer warps than threads. If
    // there are two warps or more, the first has 32 lanes, and a block has at most 32 warps.
    unsafe {
        if warps > 1 {
            if me == 0 {
                sums.write(warp as usize, total);
            }
            thread::sync_threads();
            if warp == 0 {
                total = warp::reduce(Lanes::FULL, if me < warps { sums.read(me as usize) } else { 0.0 }, Sum);
            }
        }
        if warp == 0 && me == 0 {
            totals.add(thread::block_idx_x() as usize).write(total);
        }
    }
}

/// Adds each thread's sum to the total, which was 0.
#[inline(always)]
unsafe fn atomic(value: f64, totals: *mut f64) {
    // SAFETY: there is one element per block, and all accesses to it are atomic.
    unsafe { atomic::device::fetch_add(totals.add(thread::block_idx_x() as usize), value) };
}

/// Stores each thread's sum without a reduction, as if the thread were a block.
#[inline(always)]
unsafe fn separate(value: f64, totals: *mut f64) {
    // SAFETY: this kernel's contract asks for one element per thread.
    unsafe { totals.add(thread::index_1d() as usize).write(value) };
}

/// Defines one kernel per reduction: `|arguments| setup, sum of a thread`.
macro_rules! reductions {
    (($($argument:ident: $type:ty),*) { $($setup:tt)* } $row:expr) => {
        reductions! { @one "A tree that doubles its stride.", interleaved, (sums), ($($argument: $type),*) { $($setup)* } $row }
        reductions! { @one "A tree that halves the number of threads.", sequential, (sums), ($($argument: $type),*) { $($setup)* } $row }
        reductions! { @one "Shuffles within warps, then within the first.", shuffle, (sums), ($($argument: $type),*) { $($setup)* } $row }
        reductions! { @one "An atomic addition a thread. `totals` must be 0 before, or the overlap adds to what is there.",
            atomic, (), ($($argument: $type),*) { $($setup)* } $row }
        reductions! { @one "No reduction: `totals` has an element for each thread of the grid.",
            separate, (), ($($argument: $type),*) { $($setup)* } $row }
    };
    (@one $doc:literal, $name:ident, ($($sums:ident)?), ($($argument:ident: $type:ty),*) { $($setup:tt)* } $row:expr) => {
        #[doc = $doc]
        ///
        /// # Safety
        /// The grid and block are one-dimensional, `totals` points to one element per block (for
        /// `separate`, per thread), and there are as many pieces as the module says.
        #[kernel(max_threads = 256, min_blocks = 1)]
        pub unsafe fn $name($($argument: $type),*, totals: *mut f64) {
            $(let $sums = shared_array![f64; MAX_THREADS as usize];)?
            $($setup)*
            let value = $row;
            // SAFETY: all threads of the block get here.
            unsafe { super::$name(value, $($sums,)? totals) };
        }
    };
}

/// In one phase, with the shape's pieces in global memory: no more than [`MAX_PIECES`].
///
/// Poses whose distance squared is above `reach` are taken not to overlap.
pub mod global {
    use super::*;
    reductions! {
        (first: &[Pose], second: &[Pose], pieces: &[Piece], reach: f64) {}
        row(first, second, InGlobal(pieces), pieces.len(), reach)
    }
}

/// In one phase, with the shape's pieces in constant memory: the first `count` of
/// [`ONE_PHASE_PIECES`].
///
/// Poses whose distance squared is above `reach` are taken not to overlap.
pub mod constant {
    use super::*;
    reductions! {
        (first: &[Pose], second: &[Pose], count: usize, reach: f64) {}
        row(first, second, InConstant, count.min(MAX_PIECES), reach)
    }
}

/// In one phase, with the shape's pieces, no more than [`MAX_PIECES`], copied to shared memory by
/// each block.
///
/// Poses whose distance squared is above `reach` are taken not to overlap.
pub mod shared {
    use super::*;
    reductions! {
        (first: &[Pose], second: &[Pose], pieces: &[Piece], reach: f64) {
            let array = shared_array![f64; MAX_PIECES * DOUBLES];
            // SAFETY: this is the array's only use, by all threads.
            let copied = unsafe { InShared::fill(array, pieces) };
        }
        row(first, second, copied, pieces.len().min(MAX_PIECES), reach)
    }
}

/// The second of two phases: `count` turned pieces for each pose of either list, from
/// [`transform()`].
///
/// Poses whose distance squared is above `reach` are taken not to overlap.
pub mod two_phase {
    use super::*;
    reductions! {
        (first: &[Pose], second: &[Pose], first_pieces: &[Piece], second_pieces: &[Piece], count: usize, reach: f64) {}
        turned_row(first, second, first_pieces, second_pieces, count, reach)
    }
}
