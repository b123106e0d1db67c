//! Piecewise constant functions (PCFs) of time: sets of them, their integrals, and their sources.
//!
//! A function has steps that are continuous from the right: the value `v_k` on [`t_k`, `t_(k+1)`).
//! Its first breakpoint is at t = 0, and its last value holds to infinity. Times and values are
//! [`PcfReal`]: `f32` or `f64`. [`Pcf`] is one function, [`PcfSet`] any number of them, and both
//! are valid however they were made: breakpoints ascend strictly, and all numbers are finite.
//! Anything else is a [`PcfError`] that names the function and the breakpoint.
//!
//! ```
//! use warpsmith::pcf::{Pcf, PcfSet, lp_distance};
//!
//! let f = Pcf::new([(0.0, 3.0), (1.0, 1.0), (3.0, 0.0)])?;
//! let g = Pcf::new([(0.0, 2.0), (2.0, 0.0)])?;
//! assert_eq!(lp_distance(&f, &g, 1.0)?, 3.0);
//!
//! let set = PcfSet::from_functions([f, g]);
//! assert_eq!(set.mean()?, Pcf::new([(0.0, 2.5), (1.0, 1.5), (2.0, 0.5), (3.0, 0.0)])?);
//! # Ok::<(), warpsmith::pcf::PcfError>(())
//! ```
//!
//! [`Pairwise`] is a matrix of distances or inner products, computed on GPUs, or what is kept of its rows. [`io`] loads
//! and saves sets, [`barcode`] makes them from persistence barcodes, and [`random`] draws them.

mod arithmetic;
mod band;
pub mod barcode;
mod cuts;
pub mod entries;
mod error;
pub mod io;
mod launches;
mod op;
mod pairwise;
pub mod random;
mod real;
mod reduced;
mod repair;
mod scalar;
mod set;
mod summary;
mod window;

pub use crate::engine::Layout;
pub use error::{Field, PcfError};
pub use op::PcfKernel;
pub use pairwise::{Measure, Pairwise, PairwiseError};
pub use real::PcfReal;
pub use reduced::{Nearest, Sparse};
pub use repair::Repairs;
pub use scalar::{integral, l2_inner, lp_distance, lp_norm};
#[cfg_attr(not(feature = "homology"), allow(unused_imports))]
pub(crate) use set::Resident;
pub use set::{Pcf, PcfRef, PcfSet, Point};
pub use window::Window;
