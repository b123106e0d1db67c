//! Parts: shapes with the paths from which they were made.

use kurbo::{Affine, BezPath, Point as Place, Shape as _, Vec2};

use super::{
    contours::Contour,
    dxf::{Bulges, bulges},
};
use crate::overlap::{OverlapError, Shape, pack::Turns};

/// Largest distance of a curve from lines that are written in its place, relative to the part.
const LINES: f64 = 1e-5;

/// A shape, and its path as it was drawn, with its curves.
#[derive(Clone, Debug)]
pub struct Part {
    /// The shape, which contains all that the path encloses.
    pub shape: Shape,
    /// The number by which an instance of jagua-rs or sparrow calls it.
    pub id: Option<u64>,
    /// Number of copies that the file asks for, 1 if it doesn't.
    pub count: usize,
    /// The angles that the file allows, which are any unless it says so.
    pub turns: Turns,
    /// Largest distance of a curve of the path from the shape's lines.
    pub deviation: f64,
    pub(super) path: BezPath,
}

impl Part {
    /// A part of a drawing.
    pub(super) fn drawn(name: impl Into<String>, contour: Contour) -> Result<Self, OverlapError> {
        let Contour { outline, holes, path, deviation, .. } = contour;
        Ok(Part { path, deviation, ..Shape::with_holes(name, &outline, &holes)?.into() })
    }

    /// A part of several shapes that keep their places.
    pub(super) fn several(name: impl Into<String>, shapes: &[Shape]) -> Result<Self, OverlapError> {
        let pieces: Vec<_> = shapes.iter().flat_map(|shape| shape.pieces().iter().cloned()).collect();
        let path = shapes.iter().flat_map(|shape| Part::from(shape.clone()).path).collect();
        Ok(Part { path, ..Shape::from_pieces(name, &pieces)?.into() })
    }

    /// Returns the mirror image of the shape and its path: x changes its sign.
    pub fn mirrored(&self) -> Self {
        Part { shape: self.shape.mirrored(), path: Affine::FLIP_X * &self.path, ..self.clone() }
    }

    /// Width and height, as drawn.
    pub fn size(&self) -> [f64; 2] {
        let size = self.path.bounding_box().size();
        [size.width, size.height]
    }

    /// Returns the closed contours at a pose, with arcs as bulges. Other curves become lines, within a 100,000th of the part.
    pub fn bulges(&self, [x, y, theta]: [f64; 3]) -> Vec<Bulges> {
        let [width, height] = self.size();
        let path = Affine::translate(Vec2::new(x, y)) * Affine::rotate(theta) * &self.path;
        bulges(&path, LINES * width.max(height))
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
        Part { shape, id: None, count: 1, turns: Turns::ANY, deviation: 0.0, path }
    }
}
