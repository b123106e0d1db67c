//! Packs copies of shapes into as small a container as possible: a square, a strip, a disk or a
//! convex polygon ([`Boundary`](super::Boundary)).
//!
//! [`Settings`] go in, and [`Packed`] comes out. The [`Packer`] improves many candidates at once on
//! the device, each in a container of its own. The container's scale is a variable like the copies'
//! poses. A *squeeze* minimises the area of overlap plus the area outside plus a *pressure* times
//! the scale. It takes steps of Adam whose rate and pressure fall together: copies give way while
//! the pressure is high, and come to rest as it falls.
//!
//! Copies of several shapes start at random. They are separated in smaller and smaller containers:
//! one copy after the other moves to where it overlaps least, and pairs that keep overlapping count
//! more and more. If shapes have few angles, depths of overlaps are looked up in tables that are made
//! first, one for two shapes and the angle between them. Then all candidates work on a container that
//! is a little smaller than the best one so far. One that makes no progress goes on from another that
//! overlaps less, after two of its copies have exchanged places. If shapes may have any angle, they
//! first have four for most of the budget, as that finds more. In the rest of it, areas are computed
//! in place of depths, and candidates are squeezed and separated again. Copies count as apart only if
//! shapes that are a little larger are apart. Otherwise the search would put copies into notches that
//! fit exactly, where any margin makes them overlap.
//!
//! Copies of one shape start as containers cut out of the densest lattices of the shape and its
//! half turn ([`Periodic`]), and few copies also at random. Then a few copies of each candidate are
//! taken away, placed anew where there is most room, and all are squeezed again. The result is kept
//! if it is smaller, or by chance if it is not much larger (N. Metropolis et al., *Equation of
//! State Calculations by Fast Computing Machines*, 1953). Now and then a candidate replaces a worse
//! one. With an even number of copies, half of the candidates are symmetric under half a turn. That
//! symmetry, lattices of pairs as cores, and packings derived from those of one copy more did well
//! in Kaggle's Santa 2025.
//!
//! At the end the best candidates with any angles are squeezed by ever smaller steps. Then copies
//! move apart by the shortest translations. Containers grow until that is possible, and shrink as
//! long as it stays so. All but the translations works on a copy of the shape that is grown by a
//! small margin, so that shapes that touch there are apart.
//!
//! ```
//! use warpsmith::{device::Device, overlap::{Shape, pack::{Budget, Packer, Settings}}};
//!
//! let settings = Settings { starts: Some(2), budget: Budget::Steps(500), ..Settings::of([(Shape::tree(), 2)]) };
//! let packed = Packer::new(&Device::best()?, settings)?.run(|_| {})?;
//! let smallest = &packed.packings[0];
//! assert!(smallest.poses.len() == 2 && smallest.side < 1.5);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod container;
mod cuts;
mod error;
mod exchange;
mod explore;
mod fields;
mod islands;
mod lanes;
mod limit;
mod moves;
mod packed;
mod packer;
mod periodic;
mod problem;
mod real;
mod resolve;
mod run;
mod search;
mod separate;
mod settings;
mod settle;
mod source;
mod state;
mod submission;
mod symmetry;
mod task;
mod trials;
mod turns;
mod walk;

pub use container::read_container;
pub use error::PackError;
pub use packed::{Packed, Packing, Progress};
pub use packer::Packer;
pub use periodic::Periodic;
pub use settings::{Budget, Copies, MOST_POSES, Saving, Settings};
pub use submission::Submission;
pub use turns::{MOST_ANGLES, Turns};
