//! Overlap of many copies of a few shapes: areas, and their derivatives by the copies' poses.
//!
//! A *shape* is cut into convex quads, its *pieces*. A *pose* (x, y, theta) puts a copy of a shape into the plane:
//! turned by theta about the origin of the shape's coordinates, then moved. Poses come in *packings*, within which they
//! may overlap.
//!
//! | step | module | what |
//! |---|---|---|
//! | 1 | [`grid`] | many poses: their order by the cells of a uniform grid |
//! | | [`tree`] | cells too crowded: their order along a curve, and a tree of [`boxes`] |
//! | 2 | [`transform`] | each pose's pieces, turned, with their bounds; its enclosing circle |
//! | 3 | [`queue`], for GPUs; [`direct`], for CPUs | the pairs of poses that are near ([`walk`]), of pieces whose bounds meet, and their intersections ([`clip`]) |
//! | 4 | [`sums`] | totals of the packings |
//!
//! [`boundary`] measures areas outside a convex region, [`adam`] moves poses against derivatives,
//! and [`separate`] separates copies that overlap. [`layout`] has the data that kernels share. The
//! concurrency study fuses steps 2 and 3 in kernels of its own, in [`crate::concurrency`].
//!
//! Pieces lie relative to their pose, so that what is computed of a pair depends on the difference of two positions
//! alone, and is as accurate far from the origin as near it.
pub mod adam;
pub mod boundary;
pub mod boxes;
pub mod clip;
pub mod direct;
pub mod fields;
pub mod grid;
pub mod layout;
pub mod queue;
pub mod scalar;
pub mod separate;
pub mod sums;
pub mod transform;
pub mod tree;
pub mod walk;

pub use scalar::Scalar;
