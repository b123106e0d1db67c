//! Layout of shapes, poses and packings in memory.

use super::{Scalar, clip::Point};
use bytemuck::{Pod, Zeroable};
use cuda_std::{KernelParam, math};

/// A circle that encloses a copy of a shape. With the copy's angle, it takes one or two loads of 16
/// bytes.
#[repr(C, align(16))]
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Circle<T> {
    /// Its centre.
    pub center: Point<T>,
    /// Its radius; on the device, enlarged by a bound on the rounding of the centre.
    pub radius: T,
    /// The copy's angle as a part of a half turn, from 0 to 1, for [`parallel`].
    pub angle: T,
}

/// Position of a copy, and its range of pieces.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Place<T> {
    /// The pose's x and y.
    pub position: Point<T>,
    /// Index of its first piece.
    pub first: u32,
    /// Number of its pieces.
    pub count: u32,
}

/// The octagon around a piece whose sides are level, upright and diagonal, in single precision and a little larger than
/// it has to be.
#[repr(C, align(16))]
#[derive(Clone, Copy, Debug, PartialEq, Pod, Zeroable)]
pub struct Bounds {
    /// The least x, y, x + y and x - y.
    pub low: [f32; 4],
    /// The greatest of the same.
    pub high: [f32; 4],
}

/// Margin of [`Bounds`] on each side, relative to the largest magnitude of the numbers that they
/// are made of. It exceeds the error of rounding to single precision, both of a piece and of the
/// position of the piece that it is compared with.
pub const BOUNDS_SLACK: f32 = 1e-6;

impl Bounds {
    /// The bounds relative to `position`.
    #[inline(always)]
    pub fn moved_back<T: Scalar>(&self, position: Point<T>) -> Self {
        let (x, y) = (position.x.to_f32(), position.y.to_f32());
        let back = |[a, b, c, d]: [f32; 4]| [a - x, b - y, c - (x + y), d - (x - y)];
        Bounds { low: back(self.low), high: back(self.high) }
    }

    /// Returns whether the octagons' ranges meet in all four directions, as those of overlapping
    /// pieces do.
    #[inline(always)]
    pub fn meet(&self, other: &Self) -> bool {
        let below = |[a, b, c, d]: [f32; 4], [e, f, g, h]: [f32; 4]| (a < e) & (b < f) & (c < g) & (d < h);
        below(self.low, other.high) & below(other.low, self.high)
    }
}

/// A convex quad relative to its pose's position.
#[repr(C, align(16))]
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Piece<T> {
    /// The octagon around it.
    pub bounds: Bounds,
    /// The quad, counter-clockwise.
    pub corners: [Point<T>; 4],
}

/// A shape on the device: its quads, in its own coordinates, are consecutive in an array of all.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ShapeSpan<T> {
    /// The centre of the smallest enclosing circle.
    pub center: Point<T>,
    /// Its radius.
    pub radius: T,
    /// Vector by which the two copies of a pair are moved apart to compute derivatives, so that no
    /// edge lies on another. No side of the quads is parallel to it, and it is as short as rounding
    /// allows.
    pub nudge: Point<T>,
    /// The shape's area.
    pub area: T,
    /// Index of its first quad.
    pub first: u32,
    /// Number of its quads.
    pub count: u32,
}

/// The cells of a packing, by which its poses are found, and the lattice of its images.
///
/// A point's cell is the integer part of `inverse * (point - origin)`. Poses that may overlap are
/// in cells at most `reach` apart. A packing of few poses has one cell. Without a lattice, the
/// cells at the rim extend to infinity. With a lattice, its cell is divided into `cells`, which
/// repeat.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Frame<T> {
    /// The lower left corner of cell (0, 0).
    pub origin: Point<T>,
    /// The rows of the matrix that takes a vector to a number of cells.
    pub inverse: [Point<T>; 2],
    /// The lattice's vectors.
    pub lattice: [Point<T>; 2],
    /// Number of columns and rows of cells.
    pub cells: [u32; 2],
    /// Largest distance, in columns and rows, of cells whose poses may overlap.
    pub reach: [u32; 2],
    /// The packing's first cell among all.
    pub first_cell: u32,
    /// 1 if there is a lattice, otherwise 0.
    pub periodic: u32,
}

/// A box with level sides.
#[repr(C, align(16))]
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Extent<T> {
    /// The lower left corner.
    pub low: Point<T>,
    /// The upper right one.
    pub high: Point<T>,
}

/// A position in one direction, and the number that it becomes when poses are put in order.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Mark<T> {
    /// The position.
    pub at: T,
    /// Its number.
    pub number: T,
}

macro_rules! pod {
    ($($name:ident)*) => {$(
        // SAFETY: of numbers of one size, or first those of 4 or 8 bytes and then an even number of 4, `repr(C)`: no
        // padding.
        unsafe impl<T: Scalar> Zeroable for $name<T> {}
        // SAFETY: no padding, as said for `Zeroable`, and every bit pattern is a value of numbers.
        unsafe impl<T: Scalar> Pod for $name<T> {}
    )*};
}
pod!(Point Circle Place Piece ShapeSpan Frame Extent Mark);

/// Rows of a packing that a warp takes: `first`, `first + step`, ..., `count` of them, at most [`ROWS`].
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq, Pod, Zeroable)]
pub struct Tile {
    /// The packing.
    pub packing: u32,
    /// The first row, by the order of cells.
    pub first: u32,
    /// Stride between rows.
    pub step: u32,
    /// Number of rows.
    pub count: u32,
}

/// Largest number of rows of a [`Tile`].
pub const ROWS: u32 = 32;

/// A warp's way through a tree, from leaf to leaf.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq, Pod, Zeroable)]
pub struct Way {
    /// The image of the poses, one of [`Frame::runs`].
    pub image: u32,
    /// The level of a box. Above the root there is one more.
    pub level: u32,
    /// The index of the box in its level.
    pub index: u32,
    /// Mask of the boxes in it that remain to be visited.
    pub rest: u32,
}

/// A tile whose warp has left the rest of its candidates to a warp for each row.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq, Pod, Zeroable)]
pub struct Left {
    /// The tile.
    pub tile: u32,
    /// Position at which the warp stopped.
    pub way: Way,
}

/// The remaining work of tiles that have more near pairs than one warp should process.
#[derive(Clone, Copy, Debug, KernelParam)]
pub struct Rest<T> {
    /// Number of tiles with remaining work.
    pub count: *mut u32,
    /// These tiles, in no particular order.
    pub tiles: *mut Left,
    /// By row, twice the area of the remaining work.
    pub partial: *mut T,
    /// 1 if warps take the remaining work, otherwise 0.
    pub taken: u32,
}

/// Largest number of lattice cells between a pose and an image of another that may overlap it.
pub const MAX_SHIFT: i32 = 2000;

/// Options of the kernels of phase two, as bits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, KernelParam)]
pub struct Mode(pub u32);

impl Mode {
    /// Rows and candidates are the same poses, and each pair of them is taken once: by the one that comes first.
    pub const HALF: Mode = Mode(1);
    /// Rows and candidates are the same poses, and each pair is taken twice: by either.
    pub const FULL: Mode = Mode(2);
    /// Rows are other poses than candidates.
    pub const BETWEEN: Mode = Mode(4);
    /// The result of a pair is added to the candidate, too, by atomics.
    pub const CANDIDATES: Mode = Mode(8);
    /// Sums for each pose are wanted.
    pub const PER_POSE: Mode = Mode(16);
    /// Derivatives are wanted.
    pub const GRADIENT: Mode = Mode(32);

    /// Both.
    pub const fn with(self, other: Mode) -> Mode {
        Mode(self.0 | other.0)
    }

    /// Returns whether all bits of `other` are set.
    #[inline(always)]
    pub const fn has(self, other: Mode) -> bool {
        self.0 & other.0 == other.0
    }
}

/// Poses of a list as the kernels see them, by the order of cells.
#[derive(Clone, Copy, Debug, KernelParam)]
pub struct List<T> {
    /// Their enclosing circles.
    pub circles: *const Circle<T>,
    /// Their positions and pieces.
    pub places: *const Place<T>,
    /// Their shapes' [nudges](ShapeSpan::nudge), turned.
    pub nudges: *const Point<T>,
    /// All pieces.
    pub pieces: *const Piece<T>,
    /// Their numbers in the caller's order.
    pub order: *const u32,
}

/// A tree of boxes over all poses, whose leaves have consecutive ones: [`super::boxes`].
#[derive(Clone, Copy, Debug)]
pub struct Tree<T> {
    /// The boxes, level by level.
    pub boxes: *const Extent<T>,
    /// Number of leaves; 0 if there is no tree.
    pub leaves: u32,
    /// The root's level.
    pub depth: u32,
}

/// The structure by which candidates are found.
#[derive(Clone, Copy, Debug, KernelParam)]
pub struct Cells<'a, T> {
    /// Each packing's cells.
    pub frames: &'a [Frame<T>],
    /// Each cell's first candidate, and one element more, for the end of the last.
    pub starts: *const u32,
    /// The [`Tree`]'s boxes. With a tree, each packing is one cell.
    pub boxes: *const Extent<T>,
    /// Number of the tree's leaves; 0 if there is no tree.
    pub leaves: u32,
    /// Angles between copies at which their sides may be parallel, as the bits of [`parallel`].
    pub parallels: *const u32,
}

/// Number of ranges of angles that [`parallel`] distinguishes. Each has a bit, in words of 32.
/// There are so many that few pairs of copies at random angles hit a set bit.
pub const ANGLES: u32 = 1 << 18;

/// Returns whether two copies at these angles may have parallel sides: whether the bit of the range
/// that contains the angle between them is set.
///
/// # Safety
/// There are [`ANGLES`] bits.
#[inline(always)]
pub unsafe fn parallel<T: Scalar>(parallels: *const u32, first: T, second: T) -> bool {
    let between = second - first;
    let range = ((between - math::floor(between)).to_f32() * ANGLES as f32) as u32 % ANGLES;
    // SAFETY: there is a bit for each range.
    unsafe { *parallels.add((range / 32) as usize) >> (range % 32) & 1 != 0 }
}

/// Outputs of phase two.
#[derive(Clone, Copy, Debug, KernelParam)]
pub struct Sums<T> {
    /// Twice the area of each tile or row.
    pub partial: *mut T,
    /// By pose, for rows.
    pub row_areas: *mut T,
    /// By pose, for rows.
    pub row_gradients: *mut T,
    /// By pose, for candidates that aren't the rows.
    pub areas: *mut T,
    /// By pose, for candidates that aren't the rows.
    pub gradients: *mut T,
}

impl<T> Sums<T> {
    /// The same, with those of rows for candidates that are the rows.
    #[inline(always)]
    pub fn of(self, mode: Mode) -> Self {
        if mode.has(Mode::BETWEEN) { self } else { Sums { areas: self.row_areas, gradients: self.row_gradients, ..self } }
    }
}
