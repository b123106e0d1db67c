//! Parts: shapes with the paths from which they were made.

use kurbo::{Affine, BezPath, Point as Place, Vec2};

use crate::overlap::Shape;

/// A shape, and its path as it was drawn, with its curves.
#[derive(Clone, Debug)]
pub struct Part {
    /// The shape, which contains all that the path encloses.
    pub shape: Shape,
    path: BezPath,
}

impl Part {
    pub(super) fn drawn(shape: Shape, path: BezPath) -> Self {
        Part { shape, path }
    }

    /// Returns the text of an SVG path's attribute `d` for the part at a pose, with y downwards from `top`.
    pub fn svg_path(&self, [x, y, theta]: [f64; 3], top: f64) -> String {
        let flip = Affine::translate(Vec2::new(0.0, top)) * Affine::FLIP_Y;
        (flip * Affine::translate(Vec2::new(x, y)) * Affine::rotate(theta) * &self.path).to_svg()
    }

    /// Returns the part with another path, whose [`svg_path`](Self::svg_path) at the pose 0 and the top 0 is this text.
    /// None if it isn't the text of a path.
    pub fn with_svg_path(self, path: &str) -> Option<Self> {
        let path = Affine::FLIP_Y * BezPath::from_svg(path).ok()?;
        Some(Part { path, ..self })
    }
}

/// A part that is drawn as its shape's outlines.
impl From<Shape> for Part {
    fn from(shape: Shape) -> Self {
        let mut path = BezPath::new();
        for outline in shape.outlines() {
            let mut points = outline.iter().map(|&[x, y]| Place::new(x, y));
            points.next().into_iter().for_each(|start| path.move_to(start));
            points.for_each(|point| path.line_to(point));
            path.close_path();
        }
        Part { shape, path }
    }
}
