//! Pairwise matrices by blocks: what is computed for every pair (row, column), on as many devices as there are.
//!
//! The engine knows nothing of what the rows and columns stand for.
//!
//! - [`BlockScheduler`] cuts the matrix into [`Block`]s, largest first. [`SideRule`] settles how large they are by the
//!   memory there is.
//! - A [`Writer`] puts the entries of blocks in place: [`Condensed`] and [`Packed`] triangles, [`Symmetric`] and
//!   [`Dense`] matrices. The output is a slice, in memory ([`zeroed_vec`]) or mapped from a file ([`NpyFile`]), so that
//!   a result may be larger than the memory. A [`DeviceMatrix`] keeps them on the device. [`ByRows`] stores no matrix: it
//!   keeps each row's [`Smallest`] entries, those [`Below`] a bound, or the [`Sums`], on the devices.
//! - [`Trace`] records a timeline of the work, for Perfetto; [`Cancel`] asks everything to stop. A [`Checkpoint`]
//!   lets a computation that was ended go on.
//!
//! The method, and the worked examples in the tests, are those of masspcf's "CUDA block execution engine".

mod by_rows;
mod cells;
mod checkpoint;
mod device_matrix;
mod error;
mod npy_file;
mod op;
mod pipeline;
mod room;
mod schedule;
mod trace;
mod writer;

pub use crate::common::Cancel;
pub use by_rows::{Below, BlockEntries, ByRows, DeviceEntry, FixedPoint, FoundBelow, Lists, RowReducer, Smallest, Sums};
pub use cells::Cells;
pub use checkpoint::{Checkpoint, Queue};
pub use device_matrix::DeviceMatrix;
pub use error::EngineError;
pub use npy_file::{Begun, NpyFile, advise_huge_pages, zeroed_vec};
pub use op::{BlockOp, Target};
pub use pipeline::{Control, Engine, Report, Settings};
pub use schedule::{Block, BlockScheduler, Coverage, SideRule, max_output_elements, min_block_side, subdivide};
pub use trace::{Span, Trace};
pub use writer::{Condensed, Dense, Entry, Order, Packed, Symmetric, Writer, condensed_len, dense_len, packed_len};
