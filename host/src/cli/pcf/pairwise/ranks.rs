//! Processes that compute one matrix together.

use std::sync::Arc;

use bytemuck::Pod;
use ndarray_npy::WritableElement;
use warpsmith::{
    device::Device,
    engine::{Begun, BlockScheduler, Checkpoint, EngineError, NpyFile, Report},
    io::files::FileError,
    ranks::Communicator,
};

use crate::cli::{failure::Failure, processes};

/// The processes, of which this is one.
pub struct Ranks(pub Arc<dyn Communicator>);

impl Ranks {
    /// Whether this one makes the file, and says what was done.
    pub fn is_first(&self) -> bool {
        self.0.rank() == 0
    }

    /// The side of blocks on all ranks: of those in the file, which rank 0 has `found`, or as large as they may be on the
    /// rank that has least memory.
    pub fn side(&self, found: Option<usize>, own: usize) -> Result<usize, Failure> {
        let least = -self.0.max(-(own as f64))? as usize;
        let side = self.0.broadcast((found.unwrap_or(least) as u64).to_le_bytes().to_vec())?;
        Ok(side.try_into().map_or(least, |bytes| u64::from_le_bytes(bytes) as usize))
    }

    /// The file that all write to, and that deals out its blocks to all. Rank 0 has `begun` it; when it has all of its
    /// room and a table of these blocks, the others open it.
    pub fn share<T: Pod + WritableElement>(
        &self,
        begun: Option<(Begun<T>, Checkpoint)>,
        schedule: &BlockScheduler,
        join: impl FnOnce() -> Result<(NpyFile<T>, Checkpoint), Failure>,
    ) -> Result<(NpyFile<T>, Checkpoint), Failure> {
        let (file, checkpoint) = match begun {
            Some((begun, checkpoint)) => {
                let file = begun.wait()?;
                checkpoint.prepare(schedule)?;
                self.0.barrier()?;
                (file, checkpoint)
            }
            None => {
                self.0.barrier()?;
                join()?
            }
        };
        let counter = self.0.counter()?;
        let name = file.temporary_path().to_owned();
        let next = move || match counter.next() {
            Ok(next) => Ok(usize::try_from(next).unwrap_or(usize::MAX)),
            Err(error) => Err(EngineError::from(FileError::new(&name, format!("its blocks can't be dealt out: {error}")))),
        };
        Ok((file, checkpoint.sharing(next)))
    }

    /// Returns when all have written their blocks; on rank 0, with what all of them did, and on which hosts and devices.
    pub fn join(&self, report: &mut Report, device: &Device) -> Result<Vec<String>, Failure> {
        let blocks: usize = report.blocks_by_gpu.iter().sum();
        let mut mine = [blocks as u64, report.downloaded as u64].map(u64::to_le_bytes).concat();
        mine.extend(format!("{}: {}", processes::host(), device.name()).into_bytes());
        let all = self.0.gather(mine)?;
        self.0.barrier()?;
        let number = |bytes: &[u8], i: usize| {
            bytes.get(8 * i..8 * i + 8).and_then(|bytes| bytes.try_into().ok()).map_or(0, u64::from_le_bytes) as usize
        };
        if self.is_first() {
            report.blocks_by_gpu = all.iter().map(|bytes| number(bytes, 0)).collect();
            report.downloaded = all.iter().map(|bytes| number(bytes, 1)).sum();
        }
        Ok(all.iter().map(|bytes| String::from_utf8_lossy(bytes.get(16..).unwrap_or_default()).into_owned()).collect())
    }

    /// Ends all processes because of this.
    pub fn abort(&self, failure: &Failure) {
        self.0.abort(&failure.to_string());
    }
}
