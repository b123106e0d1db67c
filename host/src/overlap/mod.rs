//! Overlap of many copies of a few shapes, for packing: areas, exact derivatives, pairs, and areas
//! outside a boundary.
//!
//! A [`Shape`] is a simple polygon, cut into convex pieces. [`Packings`] are poses (x, y, theta) of
//! copies. [`Overlap`] evaluates one packing or thousands at a time on a device: among themselves
//! or against others, with a [`Boundary`] or with the images of a [`Lattice`]. A [`Scene`] keeps
//! packings on the device, for optimisers that run there.
//!
//! The modules, from the bottom up: `shape` makes shapes, [`io`] reads and writes files, `evaluate`
//! evaluates packings, and [`pack`] searches for dense ones. The kernels are in
//! `gpu_kernels::overlap`.
//!
//! Sources: the two-phase design (transform each polygon once, then intersect) is from the notebook
//! that ends in J. Cottaar's packing program for Kaggle's Santa 2025
//! (github.com/jcottaar/packing, `core/pack_cuda.py`). The derivatives use Reynolds' transport
//! theorem (O. Reynolds, *The Sub-Mechanics of the Universe*, 1903).

pub mod contest;
mod error;
mod evaluate;
pub mod io;
mod lattice;
pub mod nest;
pub mod pack;
mod packings;
pub mod random;
mod real;
mod shape;

pub use error::{Field, OverlapError, ShapeProblem};
pub use evaluate::{Boundary, Evaluation, Outside, Overlap, OverlapKernel, OverlapPair, Scene, Search, Wanted};
pub use lattice::Lattice;
pub use pack::Periodic;
pub use packings::Packings;
pub use real::OverlapReal;
use shape::convex::{self, Point};
pub use shape::{
    Shape,
    convex::{area, convex_intersection},
};
