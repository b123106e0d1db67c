//! A matrix in a `.npy` file that is computed in parts: afresh, from where an earlier computation ended, or by several
//! ranks together.
//!
//! [`PartialMatrix::begin`] makes or finds the file, [`BegunMatrix::side`] settles the side of its
//! blocks, and [`BegunMatrix::open`] returns the matrix as soon as its room on the disk is taken.
//! Its [parts](PartialMatrix::parts) go to [`Engine::run`](super::Engine::run), then ranks
//! [join](PartialMatrix::join), and the first one [finishes](PartialMatrix::finish) the file.
//!
//! Under [`Parts::ranks`], `side`, `open` and `join` are collective. A rank on which a call fails has to
//! [abort](Communicator::abort) the others.

use std::{fmt, hash::Hasher as _, sync::Arc};

use siphasher::sip::SipHasher13;

use super::{BlockScheduler, Checkpoint, EngineError, NpyFile, Report, room::Room};
use crate::io::npy::Element;
use crate::{
    io::files::{Destination, FileError},
    ranks::Communicator,
};

/// Division of a matrix into parts, by time or by ranks. By default it is one part, computed afresh
/// by this process.
#[derive(Clone, Default)]
pub struct Parts {
    /// Go on from the [partial](Destination::partial) file that an earlier computation has left, and leave one if this
    /// computation ends early.
    pub resume: bool,
    /// Compute the matrix together with these ranks, which share a file system. They leave a partial file, too.
    pub ranks: Option<Arc<dyn Communicator>>,
}

impl Parts {
    /// Go on from a partial file, or leave one.
    pub const RESUME: Self = Parts { resume: true, ranks: None };

    /// True if this process makes the file and gives it its name.
    pub fn is_first(&self) -> bool {
        self.ranks.as_ref().is_none_or(|ranks| ranks.rank() == 0)
    }

    /// True if the file has a table of its blocks.
    fn has_table(&self) -> bool {
        self.resume || self.ranks.is_some()
    }
}

impl fmt::Debug for Parts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let rank = self.ranks.as_ref().map(|ranks| ranks.rank());
        f.debug_struct("Parts").field("resume", &self.resume).field("rank", &rank).finish()
    }
}

/// A matrix whose file may lack some of its room. Unless it is [opened](Self::open), a file without blocks is removed.
#[derive(Debug)]
pub struct BegunMatrix<T> {
    destination: Destination,
    shape: Vec<usize>,
    field: Option<&'static str>,
    parts: Parts,
    /// `None` on all ranks but the first.
    begun: Option<(Room, NpyFile<T>)>,
    identity: u64,
    checkpoint: Option<Checkpoint>,
}

/// A matrix whose blocks are written to its file.
#[derive(Debug)]
pub struct PartialMatrix<T> {
    parts: Parts,
    file: NpyFile<T>,
    checkpoint: Option<Checkpoint>,
    found: usize,
}

impl<T: Element> PartialMatrix<T> {
    /// Makes the file, or finds a partial one. A thread takes the room of a large file meanwhile.
    ///
    /// With a `field`, elements are structures of one field of this name: see [`NpyFile::create_at`].
    ///
    /// # Errors
    /// As [`NpyFile::create`], and if a partial file is of another matrix.
    pub fn begin(
        destination: Destination,
        shape: &[usize],
        field: Option<&'static str>,
        parts: Parts,
    ) -> Result<BegunMatrix<T>, EngineError> {
        let begun = match (parts.is_first(), parts.has_table()) {
            (false, _) => None,
            (true, false) => Some(NpyFile::begin_at(destination.clone(), shape, field)?),
            (true, true) => Some(NpyFile::resume_at(destination.clone(), shape, field)?),
        };
        Ok(BegunMatrix { destination, shape: shape.to_vec(), field, parts, begun, identity: 0, checkpoint: None })
    }

    /// The matrix's elements, and the queue of blocks that are still to be computed, for
    /// [`Control::queue`](super::Control::queue).
    pub fn parts(&mut self) -> (&mut [T], Option<&Checkpoint>) {
        (self.file.as_mut_slice(), self.checkpoint.as_ref())
    }

    /// The matrix's elements.
    pub fn as_slice(&self) -> &[T] {
        self.file.as_slice()
    }

    /// Number of blocks that an earlier computation left.
    pub fn blocks_found(&self) -> usize {
        self.found
    }

    /// Waits until all ranks have written their blocks. On the first rank, `report` becomes that of all, and the result
    /// has each rank's `name`, in order. Without ranks there is nothing to wait for, and the result is empty.
    ///
    /// # Errors
    /// If the file can't be written, or a rank gave up.
    pub fn join(&mut self, report: &mut Report, name: &str) -> Result<Vec<String>, EngineError> {
        let Some(ranks) = &self.parts.ranks else { return Ok(Vec::new()) };
        self.file.flush()?;
        if let Some(checkpoint) = self.checkpoint.take() {
            checkpoint.end();
        }
        let blocks: usize = report.blocks_by_gpu.iter().sum();
        let mut own = [blocks as u64, report.downloaded as u64].map(u64::to_le_bytes).concat();
        own.extend(name.as_bytes());
        let all = ranks.gather(own)?;
        ranks.barrier()?;
        if !self.parts.is_first() {
            return Ok(Vec::new());
        }
        let number = |bytes: &[u8], i: usize| u64::from_le_bytes(std::array::from_fn(|k| bytes[8 * i + k])) as usize;
        report.blocks_by_gpu = all.iter().map(|bytes| number(bytes, 0)).collect();
        report.downloaded = all.iter().map(|bytes| number(bytes, 1)).sum();
        Ok(all.iter().map(|bytes| String::from_utf8_lossy(&bytes[16..]).into_owned()).collect())
    }

    /// Writes to the disk what is still in memory, which may take long. [`finish`](Self::finish) then has little left
    /// to do.
    pub fn flush(&self) -> Result<(), EngineError> {
        self.file.flush()
    }

    /// Writes what is still in memory, and on the first rank gives the file its name.
    pub fn finish(self) -> Result<(), EngineError> {
        if self.parts.is_first() { self.file.finish() } else { Ok(()) }
    }
}

impl<T: Element> BegunMatrix<T> {
    /// The side that blocks must have: that of the blocks in the file or, with ranks, the least of their `own`. `None`
    /// if any side will do.
    ///
    /// `what` is bytes that tell the matrix from others of the same shape and type. It is only called if the file has a
    /// table of its blocks.
    ///
    /// # Errors
    /// If the partial file is of another matrix, or has blocks that aren't to be [resumed](Parts::resume).
    pub fn side<B: AsRef<[u8]>>(&mut self, what: impl FnOnce() -> B, own: usize) -> Result<Option<usize>, EngineError> {
        if !self.parts.has_table() {
            return Ok(None);
        }
        let mut hasher = SipHasher13::new();
        hasher.write(what().as_ref());
        hasher.write(env!("CARGO_PKG_VERSION").as_bytes());
        self.identity = hasher.finish();
        let mut found = None;
        if let Some((_, file)) = &self.begun {
            let checkpoint = file.checkpoint(self.identity)?;
            found = checkpoint.block_side();
            self.checkpoint = Some(checkpoint);
        }
        if found.is_some() && !self.parts.resume {
            let reason = "may have a part of a matrix; go on from it with --resume, or remove it";
            return Err(FileError::new(&self.destination.partial_path(), reason).into());
        }
        let Some(ranks) = &self.parts.ranks else { return Ok(found) };
        let least = -ranks.max(-(own as f64))? as usize;
        let side = ranks.broadcast((found.unwrap_or(least) as u64).to_le_bytes().to_vec())?;
        Ok(Some(side.try_into().map_or(least, |bytes| u64::from_le_bytes(bytes) as usize)))
    }

    /// Waits for the room, and returns the matrix, to be computed in these blocks. The other ranks
    /// open the file as soon as the first one has written the table of its blocks.
    ///
    /// # Errors
    /// If there is too little room, or the blocks in the file have another side.
    pub fn open(self, scheduler: &BlockScheduler) -> Result<PartialMatrix<T>, EngineError> {
        let BegunMatrix { destination, shape, field, parts, begun, identity, mut checkpoint } = self;
        let file = match begun {
            Some((room, file)) => {
                room.wait()?;
                if let Some(checkpoint) = &mut checkpoint {
                    checkpoint.prepare(scheduler)?;
                }
                parts.ranks.as_ref().map_or(Ok(()), |ranks| ranks.barrier())?;
                file
            }
            None => {
                parts.ranks.as_ref().map_or(Ok(()), |ranks| ranks.barrier())?;
                let (file, joined) = NpyFile::join_at(destination, &shape, field, identity)?;
                checkpoint = Some(joined);
                file
            }
        };
        if let (Some(checkpoint), Some(ranks)) = (&mut checkpoint, &parts.ranks) {
            checkpoint.share(ranks.counter()?);
        }
        let found = checkpoint.as_ref().map_or(0, Checkpoint::blocks_found);
        Ok(PartialMatrix { parts, file, checkpoint, found })
    }
}
