//! Pairwise matrices by blocks: an operation for every pair (row, column) in, a matrix or what is kept of its rows out,
//! on one or several devices.
//!
//! The engine doesn't know what rows and columns stand for.
//!
//! - [`BlockScheduler`] cuts the matrix into [`Block`]s, largest first. [`SideRule`] settles their size by the available
//!   memory.
//! - [`Engine::run`] computes the blocks with a [`BlockOp`] and gives them to a [`Writer`]: [`HostMatrix`] puts entries
//!   into a slice, in memory ([`zeroed_vec`]) or mapped from a file ([`NpyFile`], [`PartialMatrix`]), so that a result
//!   may be larger than the memory. A [`DeviceMatrix`] keeps them on the device. [`ByRows`] stores no matrix: it keeps
//!   each row's [`Smallest`] entries, those [`Below`] a bound, or the [`Sums`], on the devices.
//! - A [`PartialMatrix`] is computed in parts: from where an earlier computation ended, or by several ranks.
//! - [`Trace`] records a timeline of the work, for Perfetto; [`Cancel`] asks everything to stop.
//!
//! The method, and the worked examples in the tests, are those of masspcf's "CUDA block execution engine".

mod block;
mod by_rows;
mod checkpoint;
mod device_matrix;
mod error;
mod host_matrix;
mod layout;
mod npy_file;
mod op;
mod partial;
mod pipeline;
mod room;
mod schedule;
mod trace;
mod worker;

pub use crate::common::Cancel;
pub use block::{Block, Coverage};
pub use by_rows::{Below, BlockEntries, ByRows, DeviceEntry, FixedPoint, FoundBelow, Lists, RowReducer, Smallest, Sums};
pub use checkpoint::Checkpoint;
pub use device_matrix::DeviceMatrix;
pub use error::EngineError;
pub use host_matrix::HostMatrix;
pub use layout::{Layout, Order, condensed_len, dense_len, packed_len};
pub use npy_file::{NpyFile, advise_huge_pages, zeroed_vec};
pub use op::{BlockOp, Control, Entry, Report, Settings, Target, Writer};
pub use partial::{BegunMatrix, PartialMatrix, Parts};
pub use pipeline::Engine;
pub use schedule::{BlockScheduler, SideRule, max_output_elements, min_block_side, subdivide};
pub use trace::{Span, Trace};
