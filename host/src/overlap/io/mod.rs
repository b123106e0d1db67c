//! Reads shapes and poses, and writes poses.
//!
//! | shape | is |
//! | --- | --- |
//! | `tree` | the built-in [tree](super::Shape::tree) |
//! | `.json` | `{"outline": [[x, y], ...], "holes": [...]}`, `{"pieces": [[[x, y], ...], ...]}` of convex pieces, GeoJSON with Polygons, or an instance of jagua-rs or sparrow |
//! | `.svg` | the closed paths, polygons, rectangles, circles and ellipses of a drawing, in mm if it tells its size; y is turned upwards, and curves become lines outside of them, at most [`CURVE_TOLERANCE`] away |
//! | `.dxf` | the closed contours of a drawing, as those of `.svg`, in mm if it tells its unit; lines and arcs that meet are joined |
//! | `.wkt`, or the text itself | `POLYGON ((x y, ...), (a hole), ...)` or `MULTIPOLYGON` |
//!
//! | poses | are |
//! | --- | --- |
//! | `.npy` | an array of shape (poses, 3) or (packings, poses, 3), float32 or float64: x, y, theta in radians |
//! | `.csv` | text with the header `x,y,theta`, and in front of it `packing` (numbered from 0, one after the other), or after it `shape` (the index of the shape), or both |
//! | `.csv` | a submission to Kaggle's Santa 2025: text with the header `id,x,y,deg`, ids such as `012_3` for tree 3 of the packing of 12, and numbers such as `s0.5`; degrees |
//!
//! Files are written beside their place first, and renamed once they are complete.

mod contours;
mod dxf;
mod part;
mod poses;
mod problem;
mod shapes;
mod styles;
mod svg;

pub use contours::CURVE_TOLERANCE;
pub use dxf::Bulges;
pub(super) use dxf::dxf;
pub use part::Part;
pub use poses::{Format, PoseFile, PoseLayout, array_shape, read_poses, save_poses_at, submission_lines};
pub use shapes::{read_all, read_parts, read_shape, read_shapes, read_sheet};
