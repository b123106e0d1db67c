//! Evaluates packings on a device: areas, derivatives, pairs, and what is outside a boundary.
//!
//! In come [`Packings`](super::Packings) of [`Shape`](super::Shape)s; out come [`Evaluation`]s or
//! [`OverlapPair`]s, or, in a [`Scene`], buffers on the device. [`Overlap`] is the way in; `phases`
//! has its launches, `buffers` what kernels take.

mod boundary;
mod buffers;
mod evaluation;
mod evaluator;
mod frames;
mod pairs;
mod phases;
mod scene;
mod search;
mod shapes;
mod tree;

pub use boundary::Boundary;
pub use evaluation::{Evaluation, Outside, OverlapPair, Wanted};
pub use evaluator::Overlap;
pub use phases::OverlapKernel;
pub use scene::Scene;
pub use search::Search;
