//! Table of the blocks that are in a matrix's file: a computation that was ended goes on from it.

use std::fmt;
use std::fs::File;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};

use super::{BlockScheduler, EngineError};
use crate::io::files::{FileError, keep};
use crate::io::{read_exact_at, write_all_at};
use crate::ranks::Counter;

/// First bytes of a file's table of blocks.
const MAGIC: &[u8; 8] = b"WSBLOCKS";
/// Size of the table without its blocks, in bytes: [`MAGIC`], identity, side and number of blocks.
const HEADER: usize = 32;

/// A queue of the blocks that are not yet in a matrix's file. Behind the array, the file has a table with a byte per
/// block, which becomes 1 as soon as the block is in place.
///
/// A process may be killed at any time: what it has written stays. If the machine itself fails, the file and its table
/// may be of different times.
pub struct Checkpoint {
    file: File,
    path: PathBuf,
    /// Offset of the table in the file.
    at: u64,
    /// Hash that tells matrices apart.
    identity: u64,
    /// The table as it was read or written.
    table: Option<Table>,
    next: AtomicUsize,
    /// A counter that ranks share, in place of `next`.
    shared: Option<Box<dyn Counter>>,
}

struct Table {
    side: usize,
    /// 1 for each block in place.
    done: Vec<u8>,
}

impl fmt::Debug for Checkpoint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Checkpoint").field("path", &self.path).field("block_side", &self.block_side()).finish_non_exhaustive()
    }
}

impl Checkpoint {
    /// Reads the table at offset `at` of the file, if it has one.
    ///
    /// # Errors
    /// If the file can't be read, or its table is of another matrix.
    pub(super) fn open(file: File, path: &Path, at: u64, identity: u64) -> Result<Self, EngineError> {
        let io_error = |error| FileError::unwritten(path, error);
        let mut table = None;
        if let Some(blocks) = file.metadata().map_err(io_error)?.len().checked_sub(at + HEADER as u64) {
            let mut header = [0; HEADER];
            read_exact_at(&file, &mut header, at).map_err(io_error)?;
            let number = |i: usize| u64::from_le_bytes(std::array::from_fn(|k| header[8 * i + k]));
            if header[..8] != MAGIC[..] || number(1) != identity || number(3) != blocks {
                let reason =
                    "has a part of another matrix, or one that another version of this program computed; remove it to begin anew";
                return Err(FileError::new(path, reason).into());
            }
            let mut done = vec![0; usize::try_from(blocks).unwrap_or(0)];
            read_exact_at(&file, &mut done, at + HEADER as u64).map_err(io_error)?;
            table = Some(Table { side: usize::try_from(number(2)).unwrap_or(0), done });
        }
        Ok(Checkpoint { file, path: path.to_owned(), at, identity, table, next: AtomicUsize::new(0), shared: None })
    }

    /// The side of the blocks that the table is of.
    pub(super) fn block_side(&self) -> Option<usize> {
        self.table.as_ref().map(|table| table.side)
    }

    /// Number of blocks that were in place when this was opened.
    pub(super) fn blocks_found(&self) -> usize {
        self.table.as_ref().map_or(0, |table| table.done.iter().filter(|&&done| done == 1).count())
    }

    /// Writes the table of these blocks, unless the file has it. From then on the file stays, whatever happens.
    ///
    /// # Errors
    /// If it can't be written, or the blocks that are in place have another side.
    pub(super) fn prepare(&mut self, scheduler: &BlockScheduler) -> Result<(), EngineError> {
        if self.table.is_some() {
            return self.check(scheduler);
        }
        let (side, blocks) = (scheduler.side(), scheduler.blocks().len());
        let mut table = MAGIC.to_vec();
        for number in [self.identity, side as u64, blocks as u64] {
            table.extend(number.to_le_bytes());
        }
        table.resize(HEADER + blocks, 0);
        self.write(&table, self.at)?;
        keep(&self.path);
        self.table = Some(Table { side, done: vec![0; blocks] });
        Ok(())
    }

    /// Has ranks that write to the same file draw its blocks from this counter.
    pub(super) fn share(&mut self, counter: Box<dyn Counter>) {
        self.shared = Some(counter);
    }

    /// Ends the drawing. Collective if a counter is shared.
    pub(super) fn end(self) {
        if let Some(counter) = self.shared {
            counter.end();
        }
    }

    /// An error unless the table is of these blocks.
    fn check(&self, scheduler: &BlockScheduler) -> Result<(), EngineError> {
        let found = self.table.as_ref().map(|table| (table.side, table.done.len()));
        if found == Some((scheduler.side(), scheduler.blocks().len())) {
            return Ok(());
        }
        let reason = format!(
            "has blocks of side {}, and with the memory that there is they would be of side {}: give it as much as before, or remove the \
             file to begin anew",
            found.map_or(0, |(side, _)| side),
            scheduler.side()
        );
        Err(FileError::new(&self.path, reason).into())
    }

    fn done_before(&self) -> &[u8] {
        self.table.as_ref().map_or(&[], |table| &table.done)
    }

    fn write(&self, bytes: &[u8], at: u64) -> Result<(), EngineError> {
        Ok(write_all_at(&self.file, bytes, at).map_err(|error| FileError::unwritten(&self.path, error))?)
    }

    /// Checks that the table is of these blocks, before any is drawn. Returns the number of entries that need no
    /// computing.
    pub(super) fn begin(&self, scheduler: &BlockScheduler) -> Result<usize, EngineError> {
        self.check(scheduler)?;
        self.next.store(0, Ordering::Relaxed);
        let done = scheduler.blocks().iter().zip(self.done_before()).filter(|&(_, &done)| done == 1);
        Ok(done.map(|(block, _)| scheduler.coverage().work(block)).sum())
    }

    /// The index of a block to compute, each once; `None` when there are no more.
    pub(super) fn draw(&self) -> Result<Option<usize>, EngineError> {
        loop {
            let index = match &self.shared {
                Some(counter) => {
                    let undealt = |error| FileError::new(&self.path, format!("its blocks can't be dealt out: {error}"));
                    usize::try_from(counter.next().map_err(undealt)?).unwrap_or(usize::MAX)
                }
                None => self.next.fetch_add(1, Ordering::Relaxed),
            };
            match self.done_before().get(index) {
                None => return Ok(None),
                Some(1) => {}
                Some(_) => return Ok(Some(index)),
            }
        }
    }

    /// Notes that a block's entries are in place.
    pub(super) fn done(&self, index: usize) -> Result<(), EngineError> {
        self.write(&[1], self.at + (HEADER + index) as u64)
    }
}
