//! Reads shapes and poses, and writes poses.
//!
//! | shape | is |
//! | --- | --- |
//! | `tree` | the built-in [tree](super::Shape::tree) |
//! | `.json` | `{"outline": [[x, y], ...]}`, `{"pieces": [[[x, y], ...], ...]}` of convex pieces, or a GeoJSON Polygon |
//! | `.svg` | the only closed path, polygon, rectangle, circle or ellipse of a drawing; y is turned upwards, and curves become lines that are off by [`CURVE_TOLERANCE`] at most |
//! | `.wkt`, or the text itself | `POLYGON ((x y, ...))` |
//!
//! | poses | are |
//! | --- | --- |
//! | `.npy` | an array of shape (poses, 3) or (packings, poses, 3), float32 or float64: x, y, theta in radians |
//! | `.csv` | text with the header `x,y,theta`, and in front of it `packing` (numbered from 0, one after the other), or after it `shape` (the index of the shape), or both |
//! | `.csv` | a submission to Kaggle's Santa 2025: text with the header `id,x,y,deg`, ids such as `012_3` for tree 3 of the packing of 12, and numbers such as `s0.5`; degrees |
//!
//! Files are written beside their place first, and renamed once they are complete.

mod poses;
mod problem;
mod shapes;
mod svg;

pub use poses::{Format, PoseFile, PoseLayout, read_poses, save_poses, save_poses_at, submission_lines};
pub use shapes::read_shape;
pub use svg::CURVE_TOLERANCE;
