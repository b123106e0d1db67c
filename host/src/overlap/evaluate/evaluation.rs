//! What can be asked for, and what comes of it.

use crate::overlap::OverlapReal;

/// What to compute besides the packings' totals.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Wanted {
    /// For every pose the area that it has in common with others.
    pub per_pose: bool,
    /// The totals' derivatives by every pose.
    pub gradient: bool,
}

impl Wanted {
    /// Totals alone.
    pub const TOTALS: Wanted = Wanted { per_pose: false, gradient: false };
    /// Totals and their derivatives.
    pub const GRADIENT: Wanted = Wanted { per_pose: false, gradient: true };
    /// All there is.
    pub const ALL: Wanted = Wanted { per_pose: true, gradient: true };
}

/// Overlaps of one or more packings. Poses are in the order of [`Packings::poses`](crate::overlap::Packings::poses).
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Evaluation<T: OverlapReal> {
    /// For each packing the sum of the areas that two poses have in common, each unordered pair counted once.
    ///
    /// With a lattice: per lattice cell, each unordered pair of a pose and an image of another or of itself counted
    /// once.
    pub totals: Vec<T>,
    /// For each pose the area that it has in common with all others, if wanted, else empty.
    pub per_pose: Vec<T>,
    /// For each pose the derivatives of its packing's total by x and y (length) and theta (area a radian), if wanted,
    /// else empty.
    ///
    /// They are exact wherever they exist. Where an edge lies on another, or a vertex on an edge, the total has a kink,
    /// and this is one of its one-sided derivatives or lies between them.
    pub gradient: Vec<[T; 3]>,
    /// What is outside the boundary, where there is one.
    pub outside: Option<Outside<T>>,
}

/// What is outside a boundary.
#[derive(Clone, Debug, PartialEq)]
pub struct Outside<T: OverlapReal> {
    /// For each packing the area of all its poses outside.
    pub totals: Vec<T>,
    /// The totals' derivatives by the boundary's scale (length, where the scale is the side of a square).
    pub by_scale: Vec<T>,
    /// For each pose its area outside.
    pub per_pose: Vec<T>,
    /// For each pose the derivatives of its area outside by x, y and theta.
    pub gradient: Vec<[T; 3]>,
}

/// Two poses that overlap.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct OverlapPair<T: OverlapReal> {
    /// Their packing.
    pub packing: usize,
    /// The first one's index in the packing.
    pub first: usize,
    /// The second one's index; not below the first's, unless they are of two lists.
    pub second: usize,
    /// How many of each lattice vector the second one's image is moved by: (0, 0) without a lattice.
    pub shift: [i32; 2],
    /// The area that they have in common.
    pub area: T,
}
