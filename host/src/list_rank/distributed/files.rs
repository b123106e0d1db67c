//! Lists in `.npy` files: each rank reads and writes its own block.

use std::{
    fs::OpenOptions,
    io::{Seek as _, SeekFrom, Write as _},
    path::{Path, PathBuf},
};

use bytemuck::cast_slice_mut;
use gpu_kernels::list_rank::distributed::Blocks;

use super::DistributedError;
use crate::{
    common::chain,
    device::{Buffer, Stream},
    engine::{EngineError, NpyFile},
    io::{
        Reason, Source,
        files::{Destination, FileError},
        npy::{Kind, Reader},
    },
    ranks::{Communicator, RanksError},
};

/// Elements that are read or written at a time.
const PIECE: usize = if cfg!(test) { 7 } else { 8 << 20 };

/// A file of successors: int64 or int32, 1-D.
#[derive(Debug)]
pub struct ListFile {
    path: PathBuf,
    source: Source,
    kind: Kind,
    n: u64,
    header: u64,
    is_swapped: bool,
}

impl ListFile {
    /// Opens a file for several ranks to read at once.
    ///
    /// # Errors
    /// The file can't be read, is a pipe, or holds another array.
    pub fn open(path: &Path) -> Result<Self, FileError> {
        Self::of(path).map_err(|reason| FileError::new(path, reason))
    }

    fn of(path: &Path) -> Result<Self, Reason> {
        let reader = Reader::open(path)?;
        let kind = reader.kind("next", &[Kind::I32, Kind::I64])?;
        let &[n] = reader.shape() else {
            return Err(format!("holds a {}-D array, but next must be 1-D", reader.shape().len()).into());
        };
        reader.check_size(kind)?;
        let (header, is_swapped) = (reader.header_size(), reader.is_swapped());
        let source = reader.into_source();
        if source.size().is_none() {
            return Err("is a pipe, of which several ranks can't read their parts".into());
        }
        Ok(ListFile { path: path.to_owned(), source, kind, n: n as u64, header, is_swapped })
    }

    /// The number of elements.
    pub fn n(&self) -> u64 {
        self.n
    }

    /// The file.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Reads as many elements as `next` has, from `first` on.
    ///
    /// # Errors
    /// The file can't be read, or the device fails.
    pub fn read(&self, stream: &Stream, first: u64, next: &mut Buffer<i64>) -> Result<(), DistributedError> {
        let size = self.kind.size();
        let (len, mut values, mut narrow) = (next.len(), Vec::<i64>::new(), Vec::<i32>::new());
        for from in (0..len).step_by(PIECE) {
            let piece = (len - from).min(PIECE);
            values.resize(piece, 0);
            let at = self.header + (first + from as u64) * size as u64;
            let failed = |error| FileError::new(&self.path, Reason::because("can't be read", error));
            if self.kind == Kind::I64 {
                self.source.read_exact_at(cast_slice_mut(&mut values), at).map_err(failed)?;
                if self.is_swapped {
                    values.iter_mut().for_each(|value| *value = value.swap_bytes());
                }
            } else {
                narrow.resize(piece, 0);
                self.source.read_exact_at(cast_slice_mut(&mut narrow), at).map_err(failed)?;
                let widen = |&value: &i32| i64::from(if self.is_swapped { value.swap_bytes() } else { value });
                values.iter_mut().zip(&narrow).for_each(|(value, narrow)| *value = widen(narrow));
            }
            stream.upload(next.view_mut(from..from + piece)?, &values)?;
        }
        Ok(())
    }
}

/// Writes this rank's block of ranks to a file of int64 that all ranks share. Rank 0 makes the file, and gives it its
/// name once all have written. Collective.
///
/// # Errors
/// The file can't be written, another rank gave up, or the device fails.
pub fn write(
    destination: &Destination,
    stream: &Stream,
    layout: Blocks,
    block: &Buffer<i64>,
    ranks: &dyn Communicator,
) -> Result<(), DistributedError> {
    let unmade = |error: EngineError| RanksError::Message(chain(&error));
    let mut made = None;
    let mut told = Vec::new();
    if ranks.rank() == 0 {
        let file = NpyFile::<i64>::create_at(destination.clone(), &[layout.n as usize], None).map_err(unmade)?;
        let size = file.temporary_path().metadata().map_err(|error| destination.error(error))?.len();
        told = (size - 8 * layout.n).to_le_bytes().to_vec();
        told.extend(file.temporary_path().file_name().unwrap_or_default().as_encoded_bytes());
        made = Some(file);
    }
    let told = ranks.broadcast(told)?;
    let missing = || RanksError::Message("rank 0 has made no file".to_owned());
    let (header, name) = told.split_first_chunk::<8>().ok_or_else(missing)?;
    // Beside the output, under a name of ASCII.
    let path = destination.beside(&*String::from_utf8_lossy(name));
    let fail = |error| FileError::unwritten(&path, error);
    let mut file = OpenOptions::new().write(true).open(&path).map_err(fail)?;
    let at = u64::from_le_bytes(*header) + 8 * layout.first(ranks.rank());
    file.seek(SeekFrom::Start(at)).map_err(fail)?;
    for from in (0..block.len()).step_by(PIECE) {
        let piece = stream.download_vec(block.view(from..block.len().min(from + PIECE))?)?;
        file.write_all(bytemuck::cast_slice(&piece)).map_err(fail)?;
    }
    file.sync_data().map_err(fail)?;
    ranks.barrier()?;
    Ok(made.map_or(Ok(()), |file| file.finish().map_err(unmade))?)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{device::Device, list_rank::distributed::layout, ranks::threads};

    /// Blocks of less than a piece, of a piece, of more and of several, of both types.
    #[test]
    fn blocks_in_pieces() {
        let folder = tempfile::tempdir().unwrap();
        let [wide, narrow] = ["wide.npy", "narrow.npy"].map(|name| folder.path().join(name));
        for n in [6, 7, 8, 14, 15, 28, 29, 40] {
            let values: Vec<i64> = (0..n).map(|k| k * k - 3).collect();
            ndarray_npy::write_npy(&narrow, &ndarray::Array1::from_iter(values.iter().map(|&value| value as i32))).unwrap();
            threads::run(&[Device::cpu(), Device::cpu()], |device, ranks| {
                let (layout, stream) = (layout(n as u64, 2)?, device.stream()?);
                let (first, len) = (layout.first(ranks.rank()), layout.len(ranks.rank()));
                let own = &values[first as usize..first as usize + len];
                write(&Destination::prepare(&wide)?, &stream, layout, &device.upload(own)?, &*ranks)?;
                ranks.barrier()?;
                for path in [&wide, &narrow] {
                    let mut read = device.upload(&vec![-7; len])?;
                    ListFile::open(path)?.read(&stream, first, &mut read)?;
                    assert_eq!(stream.download_vec(&read)?, own, "{n}");
                }
                // The next file comes when all have read this one.
                Ok::<_, DistributedError>(ranks.barrier()?)
            })
            .unwrap();
            assert_eq!(ndarray_npy::read_npy::<_, ndarray::Array1<i64>>(&wide).unwrap().to_vec(), values);
        }
    }
}
