//! What an engine takes and gives: an operation, an output, settings and a control in; a report out.

use std::fmt::{self, Display};
use std::ops::Range;
use std::time::Duration;

use bytemuck::Pod;

use super::{Block, BlockScheduler, Cancel, Coverage, EngineError, Order, Queue, Trace};
use crate::device::{Device, Stream, View, ViewMut};

/// What a matrix is made of.
pub trait Entry: Pod + PartialEq + Display + Send + Sync {}

impl<T: Pod + PartialEq + Display + Send + Sync> Entry for T {}

/// Where a block's entries go in the memory of its device.
#[derive(Debug)]
pub struct Target<'a, T: Entry> {
    /// As many as the block has. Those that aren't asked for are zero.
    pub entries: ViewMut<'a, T>,
    /// How they lie.
    pub order: Order,
    /// Which of them are asked for. The others have to stay zero.
    pub coverage: Coverage,
}

impl<T: Entry> Target<'_, T> {
    /// By how much the place of an entry grows with its row, and with its column.
    pub fn strides(&self, block: &Block) -> (usize, usize) {
        match self.order {
            Order::RowMajor => (block.width(), 1),
            Order::ColumnMajor => (1, block.height()),
        }
    }
}

/// Computes blocks of a matrix on a device: the policy that `BlockOp` is in the document (*BlockOp policy*).
///
/// One value serves all GPUs; what each of them keeps is its storage.
pub trait BlockOp: Sync {
    /// An entry of the matrix.
    type Value: Entry;
    /// A GPU's arrays for the functions.
    type Storage: Send + 'static;

    /// The memory of a GPU that the functions of these rows and columns take, in bytes.
    fn data_bytes(&self, rows: &Range<usize>, cols: &Range<usize>) -> usize;

    /// Makes ready a device: allocates its arrays, as large as the largest block needs them and not above `budget`
    /// bytes. What this returns is there when it returns: blocks may be computed on any stream.
    ///
    /// `kept` is what an earlier computation with an operation of this type left on the device, whose memory can be
    /// used again; where it isn't, it is best dropped first, so that the device needn't hold both.
    ///
    /// # Errors
    /// [`EngineError::Device`] where there is too little memory, for example.
    fn storage(
        &self,
        device: &Device,
        scheduler: &BlockScheduler,
        budget: usize,
        kept: Option<Self::Storage>,
    ) -> Result<Self::Storage, EngineError>;

    /// Whether [`run`](Self::run) leaves this storage as it is, so that two blocks may be computed at a time, on two
    /// streams.
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
    /// How the entries of the blocks must lie.
    fn order(&self) -> Order;

    /// Which entries it takes from the blocks.
    fn coverage(&self) -> Coverage;

    /// The matrix's numbers of rows and columns.
    fn shape(&self) -> (usize, usize);

    /// Puts one block's entries in place. They lie in this writer's [`order`](Writer::order).
    ///
    /// Entries that a block must not compute have to be zero. The output is worthless after an error.
    ///
    /// # Errors
    /// - [`NotZero`](EngineError::NotZero) with the first such entry, row by row, that isn't zero. NaN is not; -0.0 is.
    /// - [`BlockOutside`](EngineError::BlockOutside), [`BlockLength`](EngineError::BlockLength) and, where another
    ///   thread is just writing some of the same entries, [`Overlap`](EngineError::Overlap).
    fn scatter(&self, block: &Block, entries: &[T]) -> Result<(), EngineError>;

    /// The devices whose memory the output is in: those of the engine, in its order. Then blocks are
    /// [placed](Writer::place) there, and never leave the device that computed them.
    fn devices(&self) -> &[Device] {
        &[]
    }

    /// Enqueues the way of a block's entries from one place in a device's memory to theirs in the output. The device is
    /// that of number `gpu`. Blocks of one `slot` are placed one after the other.
    ///
    /// # Errors
    /// What the device reports.
    fn place(&self, gpu: usize, slot: usize, stream: &Stream, block: &Block, entries: View<'_, T>) -> Result<(), EngineError>
    where
        T: Pod,
    {
        _ = (gpu, slot, stream, block, entries);
        Ok(())
    }

    /// Called when what [`place`](Writer::place) has enqueued is done, and before the slot is used again.
    ///
    /// # Errors
    /// What the device reports.
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

/// How an [`Engine`](super::Engine) divides its work. The default leaves it to the engine.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Settings {
    /// What an engine may use of each GPU's memory, in bytes: half of it for blocks, half for the functions. By default
    /// 80 % of what is free.
    pub memory_budget: Option<usize>,
    /// The side of the blocks, whatever follows from the other settings; smaller ones are used where the budget does
    /// not allow it.
    pub block_side: Option<usize>,
}

/// What a computation tells, and listens to, while it goes on.
#[derive(Clone, Copy, Default)]
pub struct Control<'a> {
    /// Called with the number of entries that are in place, and of all that will be.
    pub progress: Option<&'a (dyn Fn(usize, usize) + Sync)>,
    /// Ends the computation early when it is set.
    pub cancel: Option<&'a Cancel>,
    /// Records what happens when.
    pub trace: Option<&'a Trace>,
    /// Deals out the blocks.
    pub queue: Option<&'a dyn Queue>,
}

impl fmt::Debug for Control<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Control { progress, cancel, trace, queue } = self;
        let mut debug = f.debug_struct("Control");
        debug.field("progress", &progress.is_some()).field("cancel", cancel);
        debug.field("trace", &trace.is_some()).field("queue", &queue.is_some()).finish()
    }
}

/// What a computation took.
#[derive(Clone, Debug, Default, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
pub struct Report {
    /// The side of the blocks, in entries.
    pub side: usize,
    /// How many blocks there were.
    pub blocks: usize,
    /// How many blocks each GPU computed.
    #[cfg_attr(feature = "serde", serde(skip))]
    pub blocks_by_gpu: Vec<usize>,
    /// Bytes that came from GPUs.
    #[cfg_attr(feature = "serde", serde(rename = "downloaded_bytes"))]
    pub downloaded: usize,
    /// From the first allocation to the last entry, without `compile_time`.
    #[cfg_attr(feature = "serde", serde(rename = "total_ms", serialize_with = "in_ms"))]
    pub time: Duration,
    /// How long the first use of a kernel waited for the driver to compile it.
    #[cfg_attr(feature = "serde", serde(rename = "compile_ms", serialize_with = "in_ms"))]
    pub compile_time: Duration,
}

#[cfg(feature = "serde")]
fn in_ms<S: serde::Serializer>(time: &Duration, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_f64(1e3 * time.as_secs_f64())
}
