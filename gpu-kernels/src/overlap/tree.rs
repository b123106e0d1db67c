//! Orders poses along a space-filling curve, and builds a tree of boxes over them, for packings
//! that no uniform grid fits.
//!
//! The width of a grid's cells grows with the extent of the scene. The cost of a tree depends on
//! neighbours only, not on the distances between clusters or the sizes of shapes.
//!
//! 1. *Marks*: of each packing, up to [`MARKS`] positions in both directions, taken from poses and put in order.
//! 2. *Keys*: positions become whole numbers that grow with them, at most by one for each [`Order::unit`] of length,
//!    and between two marks, below the first or above the last by no more than there is room for, so that wide gaps
//!    take none; poses are sorted by packing, class of size, and place along the Hilbert curve through these numbers.
//! 3. *Boxes*: around each [`LEAF`] consecutive circles, and each [`FAN`] boxes of one level.
//!
//! Keys affect the size of boxes, not the result: poses of equal keys are merely not
//! distinguished.
//!
//! Sources: I. Kamel and C. Faloutsos, *On packing R-trees*, CIKM 1993.

use super::{
    Scalar,
    boxes::{FAN, LEAF, count, depth, place},
    clip::Point,
    layout::{Circle, Extent, Frame, Mark},
    transform::{Source, circle, image},
};
use crate::collectives::{
    Identity, Sum,
    block::{Block, STORAGE},
};
use cuda_std::prelude::*;

/// The most marks of a packing in one direction, each found by a thread.
pub const MARKS: u32 = 1024;
/// Number of marks at either end whose extent is taken for that of the poses beyond.
const END_MARKS: u32 = 4;
/// Parameters of the order of poses.
#[derive(Clone, Copy, Debug, KernelParam)]
pub struct Order<'a> {
    /// Each pose's packing.
    pub packing_of: &'a [u32],
    /// Start of each packing's poses, and the end of the last.
    pub offsets: &'a [u32],
    /// Start of each packing's marks in one direction, and the end of the last.
    pub mark_offsets: &'a [u32],
    /// The least length that numbers tell apart; the smallest shape's radius.
    pub unit: f64,
    /// Number of a key's bits for the class of size.
    pub class_bits: u32,
    /// Number of a key's bits for each direction.
    pub axis_bits: u32,
}

impl Order<'_> {
    /// Largest growth of numbers between two of `marks` marks.
    #[inline(always)]
    fn most<T: Scalar>(&self, marks: u32) -> T {
        T::from_u32(1 << self.axis_bits) / T::from_u32(marks + 1)
    }
}

/// The centre of a pose's circle, brought into the lattice's cell, and its radius.
///
/// # Safety
/// The source has this pose, and its shape.
#[inline(always)]
unsafe fn place_of<T: Scalar>(source: &Source<'_, T>, pose: u32, frame: &Frame<T>) -> (Point<T>, T) {
    // SAFETY: the source has this pose, and its shape (this function's contract).
    let circle = unsafe {
        let (position, theta) = source.pose(pose);
        circle(position, theta.sin_cos(), &source.shape(pose))
    };
    let vector = if frame.periodic == 0 { Point::ORIGIN } else { image(circle.center, frame).1 };
    (circle.center.minus(vector), circle.radius)
}

/// Each packing's marks, those in x and then those in y. Blocks of whole warps, up to [`MARKS`] threads: one for each
/// packing, along the grid's x, and direction, with a thread for each mark.
///
/// # Safety
/// There are poses, shapes, packings and frames as the arrays say; each packing with poses has a mark, and none more
/// than a block has threads or than it has poses; there is room for twice as many as `mark_offsets` says.
#[kernel(for T in [f32, f64], max_threads = 1024)]
pub unsafe fn marks<T: Scalar>(source: Source<'_, T>, order: Order<'_>, frames: &[Frame<T>], marks: *mut Mark<T>)
where
    Sum: Identity<T>,
{
    let (packing, upright) = (thread::block_idx_x() as usize, thread::block_idx_y());
    let (thread, own) = (thread::thread_idx_x(), thread::thread_idx_x() as usize);
    let (taken, sorted) = (shared_array![T; MARKS as usize], shared_array![T; MARKS as usize]);
    // SAFETY: the arrays fit each other, and have room (this kernel's contract). Threads write elements of their own,
    // of `sorted` those of different ranks, and barriers stand between writes and reads of others.
    unsafe {
        let (start, end) = (*order.offsets.get_unchecked(packing), *order.offsets.get_unchecked(packing + 1));
        let first = *order.mark_offsets.get_unchecked(packing);
        let count = *order.mark_offsets.get_unchecked(packing + 1) - first;
        let mut mine = T::INFINITY;
        if thread < count {
            // One of each so many poses; which, is scattered, in case that poses repeat in step.
            let nth = |k: u32| start + (u64::from(k) * u64::from(end - start) / u64::from(count)) as u32;
            let (from, to) = (nth(thread), nth(thread + 1));
            let pose = from + thread.wrapping_mul(0x9e37_79b9) % (to - from);
            let (center, _) = place_of(&source, pose, frames.get_unchecked(packing));
            let at = if upright == 0 { center.x } else { center.y };
            // NaN and infinities count as 0.
            mine = if math::abs(at) < T::INFINITY { at } else { T::ZERO };
            taken.write(own, mine);
        }
        thread::sync_threads();
        let mut rank = 0;
        if thread < count {
            for other in 0..count {
                let at = taken.read(other as usize);
                rank += u32::from(at < mine || (at == mine && other < thread));
            }
            sorted.write(rank as usize, mine);
        }
        thread::sync_threads();
        let (unit, most): (T, T) = (T::from_f64(order.unit), order.most(count));
        let mut width = T::ZERO;
        if thread + 1 < count {
            mine = sorted.read(own);
            width = math::min((sorted.read(own + 1) - mine) / unit, most);
        } else if thread < count {
            mine = sorted.read(own);
        }
        let before = Block::new(shared_array![T; STORAGE]).exclusive_scan(width, Sum).prefix;
        if thread < count {
            // There is room below the first mark, too.
            *marks.add((2 * first + upright * count + thread) as usize) = Mark { at: mine, number: most + before };
        }
    }
}

/// The number that a position becomes, with `count` marks.
///
/// # Safety
/// The marks are there, one at least.
#[inline(always)]
unsafe fn number<T: Scalar>(at: T, marks: *const Mark<T>, count: u32, order: &Order<'_>) -> u32 {
    let (unit, most): (T, T) = (T::from_f64(order.unit), order.most(count));
    // SAFETY: from here on, indices are below `count`.
    unsafe {
        // Number of marks that are not above it.
        let (mut low, mut high) = (0, count);
        while low < high {
            let middle = low.midpoint(high);
            if (*marks.add(middle as usize)).at <= at {
                low = middle + 1;
            } else {
                high = middle;
            }
        }
        let mark = |index: u32| *marks.add(index as usize);
        // Length per number, if this length is to have room.
        let unit_for = |length: T| math::max(unit, length / most);
        let end = END_MARKS.min(count - 1);
        let number = if low == 0 {
            let first = mark(0);
            first.number - math::min((first.at - at) / unit_for(mark(end).at - first.at), most)
        } else {
            let below = mark(low - 1);
            let length = if low < count { mark(low).at - below.at } else { below.at - mark(count - 1 - end).at };
            below.number + math::min((at - below.at) / unit_for(length), most)
        };
        (number.to_i32().max(0) as u32).min((1 << order.axis_bits) - 1)
    }
}

/// The place of a point along the Hilbert curve through a square of 2^`bits` to a side.
#[inline(always)]
pub fn hilbert([mut x, mut y]: [u32; 2], bits: u32) -> u64 {
    let mut place = 0u64;
    let mut bit = bits;
    while bit > 0 {
        bit -= 1;
        let (right, up) = (x >> bit & 1, y >> bit & 1);
        place = place << 2 | u64::from((3 * right) ^ up);
        // Each quarter's curve is the whole one's, turned.
        if up == 0 {
            if right == 1 {
                (x, y) = (!x, !y);
            }
            (x, y) = (y, x);
        }
    }
    place
}

/// Each pose's key: its packing, its class of size, from the smallest shapes' on by factors of four, and its place
/// along the curve. A thread for each of `n` poses.
///
/// # Safety
/// There are poses, shapes, packings and frames as the arrays say, with their packings' marks, and room for keys.
#[kernel(for T in [f32, f64], max_threads = 128)]
pub unsafe fn keys<T: Scalar>(
    n: u32,
    source: Source<'_, T>,
    order: Order<'_>,
    frames: &[Frame<T>],
    marks: *const Mark<T>,
    keys: *mut u32,
) {
    let pose = thread::index_1d();
    if pose >= n {
        return;
    }
    // SAFETY: the arrays fit each other, and have room (this kernel's contract).
    unsafe {
        let packing = *order.packing_of.get_unchecked(pose as usize);
        let (center, radius) = place_of(&source, pose, frames.get_unchecked(packing as usize));
        let first = *order.mark_offsets.get_unchecked(packing as usize);
        let count = *order.mark_offsets.get_unchecked(packing as usize + 1) - first;
        let marks = marks.add(2 * first as usize);
        let x = number(center.x, marks, count, &order);
        let y = number(center.y, marks.add(count as usize), count, &order);
        let mut class = 0;
        let mut next = T::from_f64(4.0 * order.unit);
        while class + 1 < 1 << order.class_bits && radius > next {
            class += 1;
            next = T::from_f64(4.0) * next;
        }
        let group = u64::from(packing) << order.class_bits | class;
        *keys.add(pose as usize) = (group << (2 * order.axis_bits) | hilbert([x, y], order.axis_bits)) as u32;
    }
}

/// The boxes of leaves: a thread for each, around up to [`LEAF`] of `n` circles.
///
/// # Safety
/// There are as many circles, and room for their tree's boxes.
#[kernel(for T in [f32, f64], max_threads = 128)]
pub unsafe fn leaves<T: Scalar>(n: u32, circles: *const Circle<T>, leaves: u32, boxes: *mut Extent<T>) {
    let leaf = thread::index_1d();
    if leaf >= leaves {
        return;
    }
    // SAFETY: each row has a circle, and each leaf a box (this kernel's contract).
    unsafe {
        let mut extent = Extent::empty();
        for row in leaf * LEAF..(leaf * LEAF + LEAF).min(n) {
            extent = extent.with(&Extent::around(&*circles.add(row as usize)));
        }
        *boxes.add(place(depth(leaves), 0, leaf) as usize) = extent;
    }
}

/// The boxes of a level above the leaves': a thread for each, around up to [`FAN`] of the level below.
///
/// # Safety
/// There is room for the boxes of the tree of so many leaves, and those of the level below are there.
#[kernel(for T in [f32, f64], max_threads = 128)]
pub unsafe fn parents<T: Scalar>(leaves: u32, level: u32, boxes: *mut Extent<T>) {
    let index = thread::index_1d();
    if index >= count(leaves, level) {
        return;
    }
    let depth = depth(leaves);
    // SAFETY: these are boxes of the tree; nothing writes those of the level below meanwhile (this kernel's contract).
    unsafe {
        let mut extent = Extent::empty();
        for child in index * FAN..(index * FAN + FAN).min(count(leaves, level - 1)) {
            extent = extent.with(&*boxes.add(place(depth, level - 1, child) as usize));
        }
        *boxes.add(place(depth, level, index) as usize) = extent;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    extern crate std;
    use std::vec;

    /// Points that follow one another are neighbours, and each comes once.
    #[test]
    fn the_curve_has_no_gaps() {
        for bits in 1..6 {
            let side = 1u32 << bits;
            let mut points = vec![None; (side * side) as usize];
            for x in 0..side {
                for y in 0..side {
                    let place = hilbert([x, y], bits) as usize;
                    assert!(points[place].replace([x, y]).is_none());
                }
            }
            for pair in points.windows(2) {
                let ([x, y], [u, v]) = (pair[0].unwrap_or_default(), pair[1].unwrap_or_default());
                assert_eq!(x.abs_diff(u) + y.abs_diff(v), 1, "{bits} bits");
            }
        }
    }
}
