//! Which blocks of a matrix are in its file: what a computation that was ended goes on from.

use std::fmt;
use std::fs::File;
use std::os::unix::fs::FileExt as _;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicUsize, Ordering};

use super::{BlockScheduler, EngineError};
use crate::io::files::{FileError, keep};

/// Deals out the blocks of a matrix. By default a computation deals them to its own devices, from the first to the last.
pub trait Queue: Sync {
    /// Learns which blocks there are, before any is drawn, and says how many entries need no computing.
    ///
    /// # Errors
    /// Where the queue is of other blocks, for example.
    fn begin(&self, scheduler: &BlockScheduler) -> Result<usize, EngineError>;

    /// The index of a block to compute, each once; `None` when there are no more.
    ///
    /// # Errors
    /// What the queue fails with.
    fn draw(&self) -> Result<Option<usize>, EngineError>;

    /// Learns that a block's entries are in place.
    ///
    /// # Errors
    /// What the queue fails with.
    fn done(&self, index: usize) -> Result<(), EngineError>;
}

/// What a file starts its table of blocks with.
const MAGIC: &[u8; 8] = b"WSBLOCKS";
/// The size of the table without its blocks: [`MAGIC`], identity, side and number of blocks.
const HEADER: usize = 32;

/// A [`Queue`] of the blocks that are not yet in a file. Behind the array, the file has a table of a byte per block,
/// which is 1 as soon as the block is in place.
///
/// A process may be killed at any time: what it has written stays. That a machine fails is another matter, as then the
/// file and its table may be of different times.
pub struct Checkpoint {
    file: File,
    path: PathBuf,
    /// Where the table is in the file.
    at: u64,
    /// What the matrix is of.
    identity: u64,
    /// The side of the blocks, and which were in place when the table was read or written.
    found: OnceLock<(usize, Vec<u8>)>,
    next: AtomicUsize,
    deal: Option<Deal>,
}

/// Gives each whole number once, in ascending order, to all that share it.
type Deal = Box<dyn Fn() -> Result<usize, EngineError> + Send + Sync>;

impl Checkpoint {
    /// Reads the table of a file that it follows at `at`, or prepares to write one. The `identity` tells matrices apart.
    ///
    /// # Errors
    /// Where the file can't be read, or its table is of another matrix.
    pub(super) fn open(file: File, path: &Path, at: u64, identity: u64) -> Result<Self, EngineError> {
        let io_error = |error| FileError::unwritten(path, error);
        let found = OnceLock::new();
        match file.metadata().map_err(io_error)?.len().checked_sub(at + HEADER as u64) {
            None => {}
            Some(blocks) => {
                let mut header = [0; HEADER];
                file.read_exact_at(&mut header, at).map_err(io_error)?;
                let number = |i: usize| u64::from_le_bytes(std::array::from_fn(|k| header[8 * i + k]));
                if header[..8] != MAGIC[..] || number(1) != identity || number(3) != blocks {
                    let reason = "has a part of another matrix, or one that another version of this program computed; remove it to begin \
                                  anew";
                    return Err(FileError::new(path, reason).into());
                }
                let mut done = vec![0; usize::try_from(blocks).unwrap_or(0)];
                file.read_exact_at(&mut done, at + HEADER as u64).map_err(io_error)?;
                let _ = found.set((usize::try_from(number(2)).unwrap_or(0), done));
            }
        }
        Ok(Checkpoint { file, path: path.to_owned(), at, identity, found, next: AtomicUsize::new(0), deal: None })
    }

    /// The side of the blocks that some of are in place: for [`Settings::block_side`](super::Settings::block_side).
    pub fn block_side(&self) -> Option<usize> {
        self.found.get().map(|(side, _)| *side)
    }

    /// How many blocks were in place when this was opened.
    pub fn blocks_found(&self) -> usize {
        self.found.get().map_or(0, |(_, done)| done.iter().filter(|&&done| done == 1).count())
    }

    /// Has processes that write to the same file deal out blocks by a counter that they share, instead of one's own. They
    /// must all have [begun](Checkpoint::prepare) with the same blocks.
    pub fn sharing(self, next: impl Fn() -> Result<usize, EngineError> + Send + Sync + 'static) -> Self {
        Checkpoint { deal: Some(Box::new(next)), ..self }
    }

    /// Writes the table, if there is none, for blocks of this side: before other processes open it. From then on the file
    /// stays, whatever happens.
    ///
    /// # Errors
    /// Where it can't be written, or the blocks that are in place have another side.
    pub fn prepare(&self, scheduler: &BlockScheduler) -> Result<(), EngineError> {
        let blocks = scheduler.blocks();
        match self.found.get() {
            Some((side, done)) if (*side, done.len()) != (scheduler.side(), blocks.len()) => {
                let reason = format!(
                    "has blocks of side {side}, and with the memory that there is they would be of side {}: give it as much as before, or \
                     remove the file to begin anew",
                    scheduler.side()
                );
                Err(FileError::new(&self.path, reason).into())
            }
            Some(_) => Ok(()),
            None => {
                let mut table = MAGIC.to_vec();
                for number in [self.identity, scheduler.side() as u64, blocks.len() as u64] {
                    table.extend(number.to_le_bytes());
                }
                table.resize(HEADER + blocks.len(), 0);
                self.write(&table, self.at)?;
                keep(&self.path);
                // From now on others may write to it.
                let _ = self.found.set((scheduler.side(), vec![0; blocks.len()]));
                Ok(())
            }
        }
    }

    fn is_done(&self, index: usize) -> bool {
        self.found.get().is_some_and(|(_, done)| done.get(index) == Some(&1))
    }

    fn write(&self, bytes: &[u8], at: u64) -> Result<(), EngineError> {
        Ok(self.file.write_all_at(bytes, at).map_err(|error| FileError::unwritten(&self.path, error))?)
    }
}

impl fmt::Debug for Checkpoint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Checkpoint").field("path", &self.path).field("block_side", &self.block_side()).finish_non_exhaustive()
    }
}

impl Queue for Checkpoint {
    fn begin(&self, scheduler: &BlockScheduler) -> Result<usize, EngineError> {
        let blocks = scheduler.blocks();
        self.prepare(scheduler)?;
        self.next.store(0, Ordering::Relaxed);
        let done = blocks.iter().enumerate().filter(|&(index, _)| self.is_done(index));
        Ok(done.map(|(_, block)| scheduler.coverage().work(block)).sum())
    }

    fn draw(&self) -> Result<Option<usize>, EngineError> {
        let blocks = self.found.get().map_or(0, |(_, done)| done.len());
        loop {
            let index = match &self.deal {
                Some(deal) => deal()?,
                None => self.next.fetch_add(1, Ordering::Relaxed),
            };
            if index >= blocks || !self.is_done(index) {
                return Ok(Some(index).filter(|&index| index < blocks));
            }
        }
    }

    fn done(&self, index: usize) -> Result<(), EngineError> {
        self.write(&[1], self.at + (HEADER + index) as u64)
    }
}
