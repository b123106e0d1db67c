//! Errors of the block engine.

use super::Block;
use crate::common::Cancelled;
use crate::device::{Bytes, DeviceError};
use crate::io::files::FileError;
use crate::ranks::RanksError;
use crate::threads::ThreadsError;

/// A number of devices, in words.
fn counted(devices: usize) -> String {
    if devices == 1 { "a device".to_owned() } else { format!("{devices} devices") }
}

/// The reason why a matrix could not be computed or written. Entries are named by row and column,
/// from 0.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
#[allow(missing_docs, reason = "a message says what its fields are")]
pub enum EngineError {
    /// There are no devices to compute on.
    #[error("an engine needs at least one device")]
    NoDevices,
    /// The output is in the memory of other devices than the engine's.
    #[error("what stays in the memory of {} is computed there, not by {}", counted(*homes), counted(*devices))]
    OtherDevices { homes: usize, devices: usize },
    /// A GPU's worker can't be started.
    #[error(transparent)]
    Threads(#[from] ThreadsError),
    /// A device failed.
    #[error(transparent)]
    Device(#[from] DeviceError),
    /// A file can't be written.
    #[error(transparent)]
    File(#[from] FileError),
    /// The ranks that compute a matrix together can't talk to each other.
    #[error(transparent)]
    Ranks(#[from] RanksError),
    /// It was asked to stop, by [`Cancel`](super::Cancel).
    #[error("cancelled")]
    Cancelled,
    /// The host's memory doesn't suffice. `requested` is in bytes, and `usize::MAX` if it is even larger.
    #[error("out of memory: {} asked for", Bytes(*requested))]
    OutOfMemory { requested: usize },
    /// The smallest possible block needs more than the budget.
    #[error("a memory budget of {} is too small: at least {} are needed", Bytes(*budget), Bytes(*needed))]
    BudgetTooSmall { needed: usize, budget: usize },
    /// No memory could ever hold so many entries.
    #[error("a matrix of {rows} x {columns} entries is larger than any memory")]
    TooLarge { rows: usize, columns: usize },
    /// A triangle was asked for of a matrix that isn't square.
    #[error("a lower triangle needs a square matrix, not one of {rows} x {columns}")]
    NotSquare { rows: usize, columns: usize },
    /// The output doesn't have the length of the matrix.
    #[error("the output has {found} elements, but a {layout} matrix of {rows} x {columns} has {expected}")]
    OutputLength { layout: &'static str, rows: usize, columns: usize, expected: usize, found: usize },
    /// An entry that no kernel may compute is not zero.
    #[error("entry ({row}, {column}) is skipped by this computation and must be zero, but it is {value}: the kernel is at fault")]
    NotZero { row: usize, column: usize, value: String },
    /// A block reaches beyond the matrix.
    #[error("the block of {block} is not within a matrix of {rows} x {columns}")]
    BlockOutside { block: Block, rows: usize, columns: usize },
    /// A block came with too few or too many entries.
    #[error("the block of {block} has {} entries, but {found} were given", block.entries())]
    BlockLength { block: Block, found: usize },
    /// Two blocks that are written at the same time share entries.
    #[error("the blocks of {block} and of {other} overlap")]
    Overlap { block: Block, other: Block },
}

impl From<Cancelled> for EngineError {
    fn from(_: Cancelled) -> Self {
        EngineError::Cancelled
    }
}
