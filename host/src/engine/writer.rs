//! What the engine asks of an output: where the entries of computed blocks go.

use std::fmt::Display;
use std::ops::Range;

use bytemuck::Pod;

use super::{Block, Coverage, EngineError, Order};
use crate::device::{Device, Stream, View};

/// What a matrix is made of.
pub trait Entry: Pod + PartialEq + Display + Send + Sync {}

impl<T: Pod + PartialEq + Display + Send + Sync> Entry for T {}

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
