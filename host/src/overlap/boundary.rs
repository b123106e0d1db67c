//! The region that poses should stay in.

use super::{OverlapError, Point, Shape};

/// A convex polygon, times a scale about the origin that goes with the poses: the side of the square, where the polygon
/// is the unit square.
#[derive(Clone, Debug)]
pub struct Boundary {
    shape: Shape,
}

impl Boundary {
    /// A square around the origin, whose scale is its side.
    pub fn square() -> Self {
        let unit = [[-0.5, -0.5], [0.5, -0.5], [0.5, 0.5], [-0.5, 0.5]];
        // A square is a convex polygon around the origin.
        Self::polygon(&unit).unwrap_or_else(|error| unreachable!("{error}"))
    }

    /// Any convex polygon with the origin inside, at scale 1, in length units.
    ///
    /// # Errors
    /// As [`Shape::from_pieces`]; [`OverlapError::Origin`] where the origin isn't inside.
    pub fn polygon(vertices: &[Point]) -> Result<Self, OverlapError> {
        let boundary = Boundary { shape: Shape::from_pieces("boundary", &[vertices.to_vec()])? };
        match boundary.half_planes().iter().position(|plane| plane[2] <= 0.0) {
            Some(edge) => Err(OverlapError::Origin { edge }),
            None => Ok(boundary),
        }
    }

    /// The polygon at scale 1, counter-clockwise.
    pub fn vertices(&self) -> &[Point] {
        &self.shape.pieces()[0]
    }

    /// Convex quads that make it up.
    pub(super) fn quads(&self) -> &[[Point; 4]] {
        self.shape.quads()
    }

    /// For each edge the inward unit normal, and the distance from the origin.
    pub(super) fn half_planes(&self) -> Vec<[f64; 3]> {
        let vertices = self.vertices();
        let edge = |(k, from): (usize, &Point)| {
            let to = vertices[(k + 1) % vertices.len()];
            let length = (to[0] - from[0]).hypot(to[1] - from[1]);
            let normal = [(from[1] - to[1]) / length, (to[0] - from[0]) / length];
            [normal[0], normal[1], -(normal[0] * from[0] + normal[1] * from[1])]
        };
        vertices.iter().enumerate().map(edge).collect()
    }
}
