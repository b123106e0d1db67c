//! The room of a file on its disk or in memory, which is taken while others already write where it is there.

use std::{
    fs::File,
    io,
    ops::Range,
    sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError, Weak},
    time::Duration,
};

use super::EngineError;
use crate::{files::Destination, threads};

/// How many bytes are taken at a time.
const STEP: usize = 64 << 20;

/// How long is waited before it is seen whether to wait on.
const PATIENCE: Duration = Duration::from_millis(10);

/// The room of an array's file, which a thread takes from the start to the end.
///
/// Who writes to the mapped file [waits](Room::wait) until the room for it is there: where there is none, writing would
/// end the process by a signal. The thread ends with the room, or soon after all have let go of it.
#[derive(Debug)]
pub struct Room {
    /// Where the array starts in the file, and the size of all of it, in bytes.
    data: usize,
    size: usize,
    /// Up to where there is room, in bytes, or why there is no more.
    there: Mutex<Result<usize, EngineError>>,
    grown: Condvar,
}

impl Room {
    /// Takes the room of a file of this size: a first step at once, and what is left on a thread, which is none where
    /// the file is small. The file then has its size. None where the file system can't, and the file is as it was.
    pub(super) fn take(
        destination: &Destination,
        file: &File,
        data: usize,
        size: usize,
    ) -> Result<Option<Arc<Self>>, EngineError> {
        let there = size.min(STEP);
        let fail = |error| EngineError::from(destination.error(error));
        if !reserve(file, 0..there).map_err(fail)? {
            return Ok(None);
        }
        file.set_len(size as u64).map_err(fail)?;
        let room = Arc::new(Room { data, size, there: Mutex::new(Ok(there)), grown: Condvar::new() });
        if there < size {
            let (weak, file, destination) = (Arc::downgrade(&room), file.try_clone().map_err(fail)?, destination.clone());
            threads::spawn_alone("room".to_owned(), move || take_rest(&weak, &file, &destination))?;
        }
        Ok(Some(room))
    }

    /// Waits until there is room for the array's elements up to `end`, of `size` bytes each, or for all where there are
    /// fewer. Meanwhile asks `go_on` again and again whether to wait on.
    ///
    /// # Errors
    /// [`File`](EngineError::File) where there is no room, and that of `go_on`.
    pub fn wait(&self, size: usize, end: usize, go_on: impl Fn() -> Result<(), EngineError>) -> Result<(), EngineError> {
        self.wait_for(end.saturating_mul(size).saturating_add(self.data).min(self.size), go_on)
    }

    /// Waits for all of it.
    ///
    /// # Errors
    /// [`File`](EngineError::File) where there is no room.
    pub fn wait_for_all(&self) -> Result<(), EngineError> {
        self.wait_for(self.size, || Ok(()))
    }

    fn wait_for(&self, end: usize, go_on: impl Fn() -> Result<(), EngineError>) -> Result<(), EngineError> {
        let mut there = self.there();
        while there.clone()? < end {
            go_on()?;
            there = self.grown.wait_timeout(there, PATIENCE).unwrap_or_else(PoisonError::into_inner).0;
        }
        Ok(())
    }

    fn there(&self) -> MutexGuard<'_, Result<usize, EngineError>> {
        // Nothing panics while it is locked.
        self.there.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Takes what is left, step by step, until that fails or nobody is interested any more.
fn take_rest(room: &Weak<Room>, file: &File, destination: &Destination) {
    while let Some(room) = room.upgrade() {
        let Ok(start) = *room.there() else { return };
        if start == room.size {
            tracing::debug!("room for {}", destination.name().display());
            return;
        }
        let end = room.size.min(start + STEP);
        let taken = reserve(file, start..end).and_then(|can| if can { Ok(end) } else { Err(io::ErrorKind::Unsupported.into()) });
        *room.there() = taken.map_err(|error| destination.error(error).into());
        room.grown.notify_all();
    }
}

/// Takes the room of a part of a file, which grows where it is shorter. False where the file system can't.
pub(super) fn reserve(file: &File, part: Range<usize>) -> io::Result<bool> {
    #[cfg(target_os = "linux")]
    {
        use rustix::fs::{FallocateFlags, fallocate};
        use rustix::io::{Errno, retry_on_intr};
        match retry_on_intr(|| fallocate(file, FallocateFlags::empty(), part.start as u64, part.len() as u64)) {
            Ok(()) => Ok(true),
            // Some file systems can't, and some kernels in small.
            Err(Errno::OPNOTSUPP | Errno::NOSYS) => Ok(false),
            Err(error) => Err(error.into()),
        }
    }
    #[cfg(not(target_os = "linux"))]
    {
        _ = (file, part);
        Ok(false)
    }
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;
    use std::{fs, os::unix::fs::MetadataExt as _, thread};

    const SIZE: usize = 2 * STEP + 5;

    /// Room of which the first step is taken.
    fn begun() -> Arc<Room> {
        Arc::new(Room { data: 128, size: SIZE, there: Mutex::new(Ok(STEP)), grown: Condvar::new() })
    }

    #[test]
    fn is_waited_for() {
        let directory = tempfile::tempdir().unwrap();
        let destination = Destination::prepare(&directory.path().join("x")).unwrap();
        let temporary = destination.temporary().unwrap();
        let file = temporary.file();
        if !reserve(file, 0..1).unwrap() {
            return;
        }
        let room = begun();
        // Elements that end with the first step, and one that doesn't.
        let all = (STEP - 128) / 4;
        room.wait(4, all, || Err(EngineError::Cancelled)).unwrap();
        assert_eq!(room.wait(4, all + 1, || Err(EngineError::Cancelled)), Err(EngineError::Cancelled));
        thread::scope(|scope| {
            let waiting = [all + 1, (SIZE - 128) / 4, usize::MAX].map(|end| {
                let room = &room;
                scope.spawn(move || room.wait(4, end, || Ok(())))
            });
            thread::sleep(3 * PATIENCE);
            assert!(waiting.iter().all(|waiting| !waiting.is_finished()));
            take_rest(&Arc::downgrade(&room), file, &destination);
            waiting.into_iter().for_each(|waiting| waiting.join().unwrap().unwrap());
        });
        room.wait_for_all().unwrap();
        // The first step is what it began with.
        assert!(file.metadata().unwrap().len() == SIZE as u64 && file.metadata().unwrap().blocks() * 512 > STEP as u64);

        file.set_len(0).unwrap();
        take_rest(&Weak::new(), file, &destination);
        assert_eq!(file.metadata().unwrap().len(), 0, "nobody is interested");
        let room = Room::take(&destination, file, 128, SIZE).unwrap().unwrap();
        room.wait_for_all().unwrap();
        assert!(file.metadata().unwrap().blocks() * 512 >= SIZE as u64);
    }

    /// Whoever waits gets the error, as does whoever comes later.
    #[test]
    fn none_is_an_error() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("x");
        fs::write(&path, "").unwrap();
        let (file, destination) = (File::open(&path).unwrap(), Destination::prepare(&path).unwrap());
        assert!(Room::take(&destination, &file, 128, SIZE).is_err(), "it can't be written");
        let room = begun();
        thread::scope(|scope| {
            let waiting = scope.spawn(|| room.wait(1, STEP, || Ok(())));
            thread::sleep(PATIENCE);
            take_rest(&Arc::downgrade(&room), &file, &destination);
            for result in [waiting.join().unwrap(), room.wait(1, 1, || Ok(())), room.wait_for_all()] {
                let text = crate::files::chain(&result.unwrap_err());
                assert!(text.contains("x can't be written: "), "{text}");
            }
        });
    }
}
