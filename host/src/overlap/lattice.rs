//! Lattices of periodic images.

use super::{OverlapError, Point};

/// Two vectors that make a packing repeat: every pose has images at all sums of their integer
/// multiples.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Lattice {
    vectors: [Point; 2],
}

impl Lattice {
    /// The lattice of vectors `a` and `b`, in length units.
    ///
    /// # Errors
    /// [`OverlapError::Lattice`] if a number isn't finite, or the vectors are parallel.
    pub fn new(a: Point, b: Point) -> Result<Self, OverlapError> {
        let reason = if let Some(number) = [a, b].as_flattened().iter().find(|number| !number.is_finite()) {
            format!("{number} is not a finite number")
        } else {
            let (lengths, area) = (length(a) * length(b), a[0] * b[1] - a[1] * b[0]);
            if area.abs() > 1e-9 * lengths {
                return Ok(Lattice { vectors: [a, b] });
            }
            "the vectors are parallel, or one is 0".to_owned()
        };
        Err(OverlapError::Lattice { a, b, reason })
    }

    /// The vectors, in length units.
    pub fn vectors(&self) -> [Point; 2] {
        self.vectors
    }

    fn determinant(&self) -> f64 {
        let [a, b] = self.vectors;
        a[0] * b[1] - a[1] * b[0]
    }

    /// Rows of the matrix that maps a vector to its coordinates in units of `a` and `b`.
    pub(super) fn inverse(&self) -> [Point; 2] {
        let ([a, b], determinant) = (self.vectors, self.determinant());
        [[b[1] / determinant, -b[0] / determinant], [-a[1] / determinant, a[0] / determinant]]
    }
}

pub(super) fn length(vector: Point) -> f64 {
    vector[0].hypot(vector[1])
}
