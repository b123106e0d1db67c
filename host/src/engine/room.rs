//! Allocation of a file's room, on its disk or in memory, by a thread beside other work.

use std::{
    fs::File,
    io::{self, Read as _, Seek as _, SeekFrom},
    ops::Range,
    sync::mpsc::{self, Receiver, Sender},
};

use super::EngineError;
use crate::{io::files::Destination, threads};

/// Bytes that are taken at a time.
const STEP: usize = 64 << 20;

/// The room of a file, which a thread takes: the result of each step, until the last. The default
/// is for a file that has all of its room.
///
/// The mapped file is written only when all of its room is taken. On a full disk, writing would end
/// the process by a signal. In memory (tmpfs), writing to pages while others are allocated makes
/// both slow.
#[derive(Debug)]
pub(super) struct Room(Receiver<Result<(), EngineError>>);

impl Default for Room {
    fn default() -> Self {
        Room(mpsc::channel().1)
    }
}

impl Room {
    /// Takes a part of a file up to its end: at once if it is small, otherwise on a thread, which
    /// ends soon after this is dropped. The file has its size from the start.
    pub(super) fn take(destination: &Destination, file: &File, part: Range<usize>) -> Result<Self, EngineError> {
        let io_error = |error| EngineError::from(destination.error(error));
        let (steps, taken) = mpsc::channel();
        if part.len() <= STEP {
            reserve(file, part).map_err(io_error)?;
        } else {
            file.set_len(part.end as u64).map_err(io_error)?;
            let (file, destination) = (file.try_clone().map_err(io_error)?, destination.clone());
            threads::spawn_alone("room".to_owned(), move || take_steps(&file, &destination, part, &steps))?;
        }
        Ok(Room(taken))
    }

    /// Waits until all of it is taken.
    pub(super) fn wait(self) -> Result<(), EngineError> {
        self.0.into_iter().collect()
    }
}

/// Takes a part of a file, step by step, until that fails or nobody is interested any more.
fn take_steps(file: &File, destination: &Destination, part: Range<usize>, steps: &Sender<Result<(), EngineError>>) {
    for start in part.clone().step_by(STEP) {
        let taken = reserve(file, start..part.end.min(start + STEP)).map_err(|error| destination.error(error).into());
        let failed = taken.is_err();
        if steps.send(taken).is_err() || failed {
            return;
        }
    }
    tracing::debug!("room for {}", destination.name().display());
}

/// Takes the room of a part of a file that holds zeros or isn't there yet.
fn reserve(file: &File, part: Range<usize>) -> io::Result<()> {
    if part.is_empty() {
        return Ok(());
    }
    #[cfg(target_os = "linux")]
    {
        use rustix::fs::{FallocateFlags, fallocate};
        use rustix::io::{Errno, retry_on_intr};
        match retry_on_intr(|| fallocate(file, FallocateFlags::empty(), part.start as u64, part.len() as u64)) {
            Ok(()) => return Ok(()),
            // Some file systems can't, and some kernels in small.
            Err(Errno::OPNOTSUPP | Errno::NOSYS) => {}
            Err(error) => return Err(error.into()),
        }
    }
    write_zeros(file, part)
}

fn write_zeros(mut file: &File, part: Range<usize>) -> io::Result<()> {
    file.seek(SeekFrom::Start(part.start as u64))?;
    io::copy(&mut io::repeat(0).take(part.len() as u64), &mut file).map(drop)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    #[test]
    fn is_waited_for() {
        let directory = tempfile::tempdir().unwrap();
        let destination = Destination::prepare(&directory.path().join("x")).unwrap();
        for size in [128, 129, STEP, 2 * STEP + 133] {
            let temporary = destination.temporary().unwrap();
            let file = temporary.file();
            Room::take(&destination, file, 128..size).unwrap().wait().unwrap();
            let metadata = file.metadata().unwrap();
            assert!(size == 128 || metadata.len() == size as u64);
            #[cfg(target_os = "linux")]
            {
                use std::os::unix::fs::MetadataExt as _;
                assert!(metadata.blocks() * 512 >= size as u64 - 128);
            }
        }
        Room::default().wait().unwrap();
    }

    #[test]
    fn ends_early() {
        let directory = tempfile::tempdir().unwrap();
        let destination = Destination::prepare(&directory.path().join("x")).unwrap();
        let temporary = destination.temporary().unwrap();
        let (steps, taken) = mpsc::channel();
        drop(taken);
        take_steps(temporary.file(), &destination, 0..2 * STEP, &steps);
        assert_eq!(temporary.file().metadata().unwrap().len(), STEP as u64, "nobody is interested");
    }

    #[test]
    fn too_little_is_an_error() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("x");
        fs::write(&path, "").unwrap();
        // It can't be written.
        let (file, destination) = (File::open(&path).unwrap(), Destination::prepare(&path).unwrap());
        let (steps, taken) = mpsc::channel();
        take_steps(&file, &destination, 0..2 * STEP, &steps);
        drop(steps);
        for error in [Room(taken).wait().unwrap_err(), Room::take(&destination, &file, 0..1).unwrap_err()] {
            let text = crate::common::chain(&error);
            assert!(text.contains("x can't be written: "), "{text}");
        }
    }

    #[test]
    fn zeros_where_the_file_system_has_no_better_way() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("x");
        fs::write(&path, b"header").unwrap();
        write_zeros(&File::options().write(true).open(&path).unwrap(), 6..100_006).unwrap();
        let bytes = fs::read(&path).unwrap();
        assert!(bytes.len() == 100_006 && bytes.starts_with(b"header") && bytes[6..].iter().all(|&byte| byte == 0));
    }
}
