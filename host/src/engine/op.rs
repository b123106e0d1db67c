//! The engine's interface: an operation, an output, settings and a control in; a report out.

use std::fmt::{self, Display};
use std::ops::Range;
use std::time::Duration;

use bytemuck::Pod;

use super::{Block, BlockScheduler, Cancel, Checkpoint, Coverage, EngineError, Order, Trace};
use crate::device::{Device, Stream, View, ViewMut};

/// An entry of a matrix.
pub trait Entry: Pod + PartialEq + Display + Send + Sync {}

impl<T: Pod + PartialEq + Display + Send + Sync> Entry for T {}

/// Memory of a device for a block's entries.
#[derive(Debug)]
pub struct Target<'a, T: Entry> {
    /// One element per entry of the block. Entries that aren't wanted are zero.
    pub entries: ViewMut<'a, T>,
    /// Order of the entries.
    pub order: Order,
    /// The entries that are wanted. The others have to stay zero.
    pub coverage: Coverage,
}

impl<T: Entry> Target<'_, T> {
    /// The strides of an entry's index, by row and by column.
    pub fn strides(&self, block: &Block) -> (usize, usize) {
        match self.order {
            Order::RowMajor => (block.width(), 1),
            Order::ColumnMajor => (1, block.height()),
        }
    }
}

/// Computes blocks of a matrix on a device: the document's *BlockOp policy*.
///
/// One value serves all GPUs; what each of them keeps is its storage.
pub trait BlockOp: Sync {
    /// An entry of the matrix.
    type Value: Entry;
    /// A GPU's arrays for the functions.
    type Storage: Send + 'static;

    /// The memory of a GPU that the functions of these rows and columns take, in bytes.
    fn data_bytes(&self, rows: &Range<usize>, cols: &Range<usize>) -> usize;

    /// Prepares a device: allocates its arrays, as large as the largest block needs them and at
    /// most `budget` bytes. All uploads are done when it returns, so blocks may be computed on any
    /// stream.
    ///
    /// `kept` is the storage that an earlier computation with an operation of this type left on the
    /// device. Reuse its memory, or drop it first, so that the device needn't hold both.
    ///
    /// # Errors
    /// [`EngineError::Device`] if there is too little memory, for example.
    fn storage(
        &self,
        device: &Device,
        scheduler: &BlockScheduler,
        budget: usize,
        kept: Option<Self::Storage>,
    ) -> Result<Self::Storage, EngineError>;

    /// True if [`run`](Self::run) doesn't change this storage, so that two blocks may be computed
    /// at a time, on two streams.
    fn is_resident(&self, storage: &Self::Storage) -> bool {
        _ = storage;
        false
    }

    /// Uploads what the block needs and launches its kernels on `stream`, without waiting for them.
    ///
    /// # Errors
    /// [`EngineError::Device`], usually.
    fn run(
        &self,
        storage: &mut Self::Storage,
        stream: &Stream,
        block: &Block,
        target: Target<'_, Self::Value>,
    ) -> Result<(), EngineError>;
}

/// Puts blocks into an output, from many threads at once.
pub trait Writer<T>: Sync {
    /// Order that the entries of blocks must have.
    fn order(&self) -> Order;

    /// The entries that it takes from the blocks.
    fn coverage(&self) -> Coverage;

    /// The matrix's numbers of rows and columns.
    fn shape(&self) -> (usize, usize);

    /// Puts one block's entries in place. They lie in this writer's [`order`](Writer::order).
    ///
    /// Entries that a block must not compute have to be zero. The output is worthless after an error.
    ///
    /// # Errors
    /// - [`NotZero`](EngineError::NotZero) with the first such entry, row by row, that isn't zero. NaN is not; -0.0 is.
    /// - [`BlockOutside`](EngineError::BlockOutside), [`BlockLength`](EngineError::BlockLength)
    ///   and, if another thread is writing some of the same entries,
    ///   [`Overlap`](EngineError::Overlap).
    fn scatter(&self, block: &Block, entries: &[T]) -> Result<(), EngineError>;

    /// The devices whose memory the output is in: those of the engine, in its order. Then blocks are
    /// [placed](Writer::place) there, and never leave the device that computed them.
    fn devices(&self) -> &[Device] {
        &[]
    }

    /// Enqueues the copy of a block's entries to their places in the output, within the memory of
    /// device number `gpu`. Blocks of one `slot` are placed one after the other.
    fn place(&self, gpu: usize, slot: usize, stream: &Stream, block: &Block, entries: View<'_, T>) -> Result<(), EngineError>
    where
        T: Pod,
    {
        _ = (gpu, slot, stream, block, entries);
        Ok(())
    }

    /// Called when what [`place`](Writer::place) has enqueued is done, and before the slot is used again.
    fn placed(&self, gpu: usize, slot: usize, block: &Block, entries: View<'_, T>) -> Result<(), EngineError>
    where
        T: Pod,
    {
        _ = (gpu, slot, block, entries);
        Ok(())
    }
}

/// An error unless the block lies within a matrix of this shape, and has as many entries as were `found`.
pub(super) fn check_block(block: &Block, (rows, columns): (usize, usize), found: usize) -> Result<(), EngineError> {
    let within = |range: &Range<usize>, n: usize| range.start <= range.end && range.end <= n;
    if !(within(&block.rows, rows) && within(&block.cols, columns)) {
        return Err(EngineError::BlockOutside { block: block.clone(), rows, columns });
    }
    if found != block.entries() {
        return Err(EngineError::BlockLength { block: block.clone(), found });
    }
    Ok(())
}

/// Limits on the division of an [`Engine`](super::Engine)'s work. By default the engine decides.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Settings {
    /// Memory that the engine may use of each GPU, in bytes: half for blocks, half for the
    /// functions. By default 80 % of the free memory.
    pub memory_budget: Option<usize>,
    /// Side of the blocks, in entries, at most 2^17. Blocks are smaller if the budget doesn't allow
    /// this side.
    pub block_side: Option<usize>,
}

/// Connections to a computation while it runs.
#[derive(Clone, Copy, Default)]
pub struct Control<'a> {
    /// Called with the number of entries that are in place, and of all that will be.
    pub progress: Option<&'a (dyn Fn(usize, usize) + Sync)>,
    /// Ends the computation early when it is set.
    pub cancel: Option<&'a Cancel>,
    /// Records what happens when.
    pub trace: Option<&'a Trace>,
    /// Deals out the blocks that a [`PartialMatrix`](super::PartialMatrix) lacks. By default all are computed.
    pub queue: Option<&'a Checkpoint>,
}

impl fmt::Debug for Control<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Control { progress, cancel, trace, queue } = self;
        let mut debug = f.debug_struct("Control");
        debug.field("progress", &progress.is_some()).field("cancel", cancel);
        debug.field("trace", &trace.is_some()).field("queue", &queue.is_some()).finish()
    }
}

/// Work and time of a computation.
#[derive(Clone, Debug, Default, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
pub struct Report {
    /// The side of the blocks, in entries.
    pub side: usize,
    /// Number of blocks.
    pub blocks: usize,
    /// Number of blocks that each GPU computed.
    #[cfg_attr(feature = "serde", serde(skip))]
    pub blocks_by_gpu: Vec<usize>,
    /// Bytes that came from GPUs.
    #[cfg_attr(feature = "serde", serde(rename = "downloaded_bytes"))]
    pub downloaded: usize,
    /// From the first allocation to the last entry, without `compile_time`.
    #[cfg_attr(feature = "serde", serde(rename = "total_ms", serialize_with = "in_ms"))]
    pub time: Duration,
    /// Time that first uses of kernels waited for the driver to compile them.
    #[cfg_attr(feature = "serde", serde(rename = "compile_ms", serialize_with = "in_ms"))]
    pub compile_time: Duration,
}

#[cfg(feature = "serde")]
fn in_ms<S: serde::Serializer>(time: &Duration, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_f64(1e3 * time.as_secs_f64())
}
