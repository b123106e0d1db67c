//! Processes that compute one matrix together.

use std::sync::Arc;

use bytemuck::Pod;
use ndarray_npy::WritableElement;
use warpsmith::{
    device::Device,
    engine::{BlockScheduler, Checkpoint, EngineError, NpyFile, Report},
    files::{Destination, FileError},
    ranks::Communicator,
};

use crate::cli::{failure::Failure, processes};

/// The processes, of which this is one.
pub struct Ranks(pub Arc<dyn Communicator>);

impl Ranks {
    /// Opens the file that all write to, and deals out blocks of the same size on all. Rank 0 makes the file.
    pub fn open<T: Pod + WritableElement>(
        &self,
        output: Destination,
        shape: &[usize],
        field: Option<&str>,
        identity: u64,
        resume: bool,
        schedule: impl Fn(Option<usize>) -> Result<BlockScheduler, Failure>,
    ) -> Result<(NpyFile<T>, Checkpoint), Failure> {
        let Ranks(ranks) = self;
        // As large as they may be on the rank that has least memory.
        let side = -ranks.max(-(schedule(None)?.side() as f64)).map_err(Failure::error)? as usize;
        let (file, checkpoint);
        if ranks.rank() == 0 {
            let partial = output.partial_path();
            if !resume && partial.exists() {
                return Err(Failure::error(format_args!(
                    "{} is there: it may have a part of a matrix; go on from it with --resume, or remove it",
                    partial.display()
                )));
            }
            (file, checkpoint) = NpyFile::resume_at(output, shape, field, identity)?;
            checkpoint.prepare(&schedule(checkpoint.block_side().or(Some(side)))?)?;
            ranks.broadcast(Vec::new()).map_err(Failure::error)?;
        } else {
            // The file is there when rank 0 comes to this.
            ranks.broadcast(Vec::new()).map_err(Failure::error)?;
            (file, checkpoint) = NpyFile::join_at(output, shape, field, identity)?;
        }
        let counter = ranks.counter().map_err(Failure::error)?;
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
        let all = self.0.gather(mine).map_err(Failure::error)?;
        self.0.barrier().map_err(Failure::error)?;
        let number = |bytes: &[u8], i: usize| {
            bytes.get(8 * i..8 * i + 8).and_then(|bytes| bytes.try_into().ok()).map_or(0, u64::from_le_bytes) as usize
        };
        if self.0.rank() == 0 {
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
