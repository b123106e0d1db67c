//! What computes a block: the one thing that knows the type of the functions.

use std::ops::Range;

use super::{Block, BlockScheduler, Coverage, EngineError, Entry, Order};
use crate::device::{Device, Stream, ViewMut};

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
