//! Results of an evaluation, and the choice among them.

use crate::overlap::{Lattice, OverlapReal, Packings, Shape, convex_intersection};

/// Results to compute in addition to the packings' totals.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Wanted {
    /// Each pose's area in common with others.
    pub per_pose: bool,
    /// The totals' derivatives by every pose.
    pub gradient: bool,
}

impl Wanted {
    /// Totals alone.
    pub const TOTALS: Wanted = Wanted { per_pose: false, gradient: false };
    /// Totals and their derivatives.
    pub const GRADIENT: Wanted = Wanted { per_pose: false, gradient: true };
    /// All results.
    pub const ALL: Wanted = Wanted { per_pose: true, gradient: true };
}

/// Overlaps of one or more packings. Poses are in the order of
/// [`Packings::poses`](crate::overlap::Packings::poses).
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Evaluation<T: OverlapReal> {
    /// For each packing, the sum of the areas of overlap of all unordered pairs of poses.
    ///
    /// With a lattice, this is the sum per lattice cell, over all unordered pairs of a pose and an
    /// image of another pose or of itself.
    pub totals: Vec<T>,
    /// For each pose, the sum of its areas of overlap with others; empty unless wanted.
    pub per_pose: Vec<T>,
    /// For each pose, the derivatives of its packing's total by x and y (length) and theta (area
    /// per radian); empty unless wanted.
    ///
    /// They are exact where the total is differentiable. If an edge lies on another, or a vertex on
    /// an edge, the total has a kink, and the result is a one-sided derivative or lies between
    /// both.
    pub gradient: Vec<[T; 3]>,
    /// Areas outside the boundary; `None` if there is no boundary.
    pub outside: Option<Outside<T>>,
}

/// Areas outside a boundary.
#[derive(Clone, Debug, PartialEq)]
pub struct Outside<T: OverlapReal> {
    /// For each packing, the sum of its poses' areas outside.
    pub totals: Vec<T>,
    /// The totals' derivatives by the boundary's scale (a length, if the scale is the side of a
    /// square).
    pub by_scale: Vec<T>,
    /// For each pose, its area outside.
    pub per_pose: Vec<T>,
    /// For each pose, the derivatives of its area outside by x, y and theta.
    pub gradient: Vec<[T; 3]>,
}

/// Two poses that overlap.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct OverlapPair<T: OverlapReal> {
    /// Their packing.
    pub packing: usize,
    /// The first pose's index in the packing.
    pub first: usize,
    /// The second pose's index in the packing; at least the first's, unless they are of two lists.
    pub second: usize,
    /// Multiples of both lattice vectors by which the second pose is moved; (0, 0) without a
    /// lattice.
    pub shift: [i32; 2],
    /// The area that they have in common.
    pub area: T,
}

impl<T: OverlapReal> OverlapPair<T> {
    /// Returns the convex polygons that the first pose and the second one's image have in common, counter-clockwise.
    /// The pair is one of these packings and shapes.
    pub fn common(&self, packings: &Packings, shapes: &[Shape], lattice: Option<&Lattice>) -> Vec<Vec<[f64; 2]>> {
        let start = packings.range(self.packing).start;
        let [a, b] = lattice.map_or([[0.0; 2]; 2], Lattice::vectors);
        let pieces = |pose: usize, [across, up]: [i32; 2]| {
            let [x, y, theta] = packings.poses()[start + pose];
            let moved = [0, 1].map(|axis| f64::from(across) * a[axis] + f64::from(up) * b[axis]);
            let shape = &shapes[packings.shape_of(start + pose) as usize];
            shape.posed_pieces([x + moved[0], y + moved[1], theta]).collect::<Vec<_>>()
        };
        let (first, second) = (pieces(self.first, [0; 2]), pieces(self.second, self.shift));
        let pairs = first.iter().flat_map(|first| second.iter().map(move |second| convex_intersection(first, second)));
        pairs.filter(|ring| !ring.is_empty()).collect()
    }

    /// Returns the same pair as the second pose sees it.
    #[must_use]
    pub fn turned(self) -> Self {
        OverlapPair { first: self.second, second: self.first, shift: self.shift.map(|count| -count), ..self }
    }
}
