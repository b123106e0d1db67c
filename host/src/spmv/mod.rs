//! Multiplication of a sparse matrix with a vector (SpMV), y = A x: on a device, and what it takes over ranks.
//!
//! [`Csr`] is a matrix in compressed sparse rows, of [`SpmvReal`] values: `f32` or `f64`. It is valid however it was
//! made; what isn't so is an [`SpmvError`] that names the first offending element. [`market`] reads and writes Matrix
//! Market files, and [`Band`] makes random band matrices. [`DeviceMatrix`] is a matrix on a device, to be multiplied
//! again and again:
//!
//! ```
//! use warpsmith::{device::Device, spmv::{Csr, DeviceMatrix}};
//!
//! // 1 2 0
//! // 0 0 3
//! let matrix = Csr::from_triplets((2, 3), [(0, 0, 1.0), (0, 1, 2.0), (1, 2, 3.0)])?;
//! let device = Device::best()?;
//! let stream = device.stream()?;
//! let on_device = DeviceMatrix::upload(&device, &matrix)?;
//! let x = device.upload(&[1.0, 10.0, 100.0])?;
//! let mut y = device.alloc(2)?;
//! on_device.multiply(&stream, &x, &mut y)?;
//! assert_eq!(stream.download_vec(&y)?, [21.0, 300.0]);
//! assert_eq!(matrix.multiply(&[1.0, 10.0, 100.0])?, [21.0, 300.0]); // on the host
//! # Ok::<(), warpsmith::spmv::SpmvError>(())
//! ```
//!
//! Over ranks, each rank has consecutive rows of A, x and y ([`Partition`]). Its [`Part`] of the
//! matrix is two: the *local* columns, of entries of x that it has, and the *remote* ones, of
//! entries that other ranks send it (Pearson, Javeed and Devine, *Machine Learning for CUDA+MPI
//! Design Rules*, section III-A). So y = A_L x_L + A_R x_R, of which the first product waits for
//! nobody. The part also lists the entries to exchange, and [`Traffic`] has their numbers alone,
//! for any number of ranks.

mod band;
mod csr;
mod error;
mod kernel;
pub mod market;
mod matrix;
mod partition;
mod plan;
mod real;
mod traffic;

pub use band::Band;
pub use csr::Csr;
pub use error::SpmvError;
pub use kernel::SpmvKernel;
pub use matrix::{DeviceMatrix, add, gather, spmv};
pub use partition::{Neighbour, Part, Partition};
pub use real::SpmvReal;
pub use traffic::{RankTraffic, Traffic, Transfer};
