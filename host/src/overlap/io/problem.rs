//! Errors of texts that hold shapes, and the limit on vertices.

use crate::{
    io::MOST_VERTICES,
    overlap::{OverlapError, Point, Shape},
};

/// An error of a text.
pub(super) enum Problem {
    /// The text has other content. A clause that follows the file's name.
    Text(String),
    /// The shape is invalid.
    Shape(OverlapError),
}

impl From<OverlapError> for Problem {
    fn from(error: OverlapError) -> Self {
        Problem::Shape(error)
    }
}

pub(super) fn problem<T>(reason: impl Into<String>) -> Result<T, Problem> {
    Err(Problem::Text(reason.into()))
}

/// Makes the shape of a polygon, of its outline and its holes, unless it has too many vertices.
pub(super) fn polygon(name: &str, rings: Vec<Vec<Point>>) -> Result<Shape, Problem> {
    check_vertices(rings.iter().map(Vec::len).sum())?;
    match &rings[..] {
        [] => problem("is a polygon without vertices"),
        [outline, holes @ ..] => Ok(Shape::with_holes(name, outline, holes)?),
    }
}

pub(super) fn check_vertices(count: usize) -> Result<(), Problem> {
    if count <= MOST_VERTICES { Ok(()) } else { problem(format!("has more than {MOST_VERTICES} vertices")) }
}
