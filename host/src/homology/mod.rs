//! Persistent homology: persistence diagrams of Vietoris-Rips filtrations, for many clouds of points at once.
//!
//! [`Clouds`] are point clouds or matrices of distances. A [`Rips`] computes their bars of degrees 0, 1 and 2 over Z/2 on a
//! device, and keeps its arrays from call to call.
//!
//! ```
//! use warpsmith::{device::Device, homology::{Clouds, Options, Rips}};
//!
//! // The corners of a square.
//! let points = [0.0, 0.0, 1.0, 0.0, 1.0, 1.0, 0.0, 1.0];
//! let clouds = Clouds::points(&points, 2, vec![4])?;
//! let device = Device::best()?;
//! let diagrams = Rips::new(&device, false)?.compute(&device.stream()?, &clouds, &Options::default())?;
//! // Three components end where the square closes; its cycle lives until the diagonals.
//! assert_eq!(diagrams.values(0), [[0.0, 1.0], [0.0, 1.0], [0.0, 1.0], [0.0, f64::INFINITY]]);
//! assert_eq!(diagrams.values(1), [[1.0, 2f64.sqrt()]]);
//! # Ok::<(), warpsmith::homology::HomologyError>(())
//! ```
//!
//! The bars are those of Ripser: all of positive length, up to the enclosing radius of a cloud or a threshold. Bars that
//! don't end by then are infinite. The method is described in [`gpu_kernels::homology`].

mod clouds;
mod curves;
mod diagrams;
mod error;
pub mod io;
mod order;
mod rips;

pub use clouds::Clouds;
pub use curves::{CurveReal, Sampled};
pub use diagrams::{Bar, Diagrams, Parts};
pub use error::HomologyError;
pub use rips::{HomologyReal, Options, Rips, rips};
