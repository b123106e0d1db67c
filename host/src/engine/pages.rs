//! The pages of a file in memory, which its writers and spare threads make side by side.
//!
//! The system makes the pages of such a file when it allocates it or when they are first written, one after the other,
//! and so takes longer than a GPU does for what they hold. Here threads ask for them by pieces, beside other work,
//! and whoever is about to write asks for what isn't there yet. Asking is safe where the memory is full: writing would
//! end the process by a signal.

use std::{
    io,
    ops::Range,
    panic::resume_unwind,
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicBool, AtomicUsize, Ordering},
    },
    thread::{self, ScopedJoinHandle},
};

use memmap2::MmapRaw;
use rayon::prelude::*;

use super::EngineError;
use crate::{files::Destination, threads};

/// How many bytes are made at a time.
const PIECE: usize = 4 << 20;

/// The pages of a mapped file, some of which may still be made.
#[derive(Debug)]
pub struct Pages {
    map: Arc<MmapRaw>,
    destination: Destination,
    /// Where the array starts in the file, in bytes.
    data: usize,
    /// Whether the pages of each piece are there.
    pieces: Vec<Mutex<bool>>,
    next: AtomicUsize,
    all: AtomicBool,
}

impl Pages {
    /// Those of a mapped file, none of which is there yet.
    pub(super) fn new(map: Arc<MmapRaw>, destination: Destination, data: usize) -> Self {
        let pieces = (0..map.len().div_ceil(PIECE)).map(|_| Mutex::new(false)).collect();
        Pages { map, destination, data, pieces, next: AtomicUsize::new(0), all: AtomicBool::new(false) }
    }

    /// Makes all pages that nobody makes meanwhile, on as many threads as do the CPU's work. Not on those themselves,
    /// which may have other work. Where a thread can't be started, the others do its part.
    ///
    /// # Errors
    /// [`File`](EngineError::File) where there is no room for them.
    pub fn make_all(&self) -> Result<(), EngineError> {
        let run = || {
            loop {
                let piece = self.next.fetch_add(1, Ordering::Relaxed);
                if piece >= self.pieces.len() {
                    return Ok(());
                }
                self.piece(piece)?;
            }
        };
        on_each_thread(self.pieces.len(), run).map_err(|error| self.error(error))?;
        self.all.store(true, Ordering::Release);
        Ok(())
    }

    /// Makes the pages under these ranges of the array's elements, of `size` bytes each, as far as they aren't there.
    ///
    /// # Errors
    /// As [`make_all`](Self::make_all).
    pub fn make(&self, size: usize, ranges: &[Range<usize>]) -> Result<(), EngineError> {
        if self.all.load(Ordering::Acquire) {
            return Ok(());
        }
        let make = |range: &Range<usize>| {
            if range.is_empty() {
                return Ok(());
            }
            let byte = |element: usize| self.data + element * size;
            (byte(range.start) / PIECE..byte(range.end).div_ceil(PIECE)).try_for_each(|piece| self.piece(piece))
        };
        ranges.par_iter().try_for_each(make).map_err(|error| self.error(error))
    }

    fn error(&self, error: io::Error) -> EngineError {
        self.destination.error(error).into()
    }

    fn piece(&self, piece: usize) -> io::Result<()> {
        // Nothing panics while it is locked.
        let mut made = self.pieces[piece].lock().unwrap_or_else(PoisonError::into_inner);
        if !*made {
            let start = piece * PIECE;
            populate(&self.map, start, PIECE.min(self.map.len() - start))?;
            *made = true;
        }
        Ok(())
    }
}

/// Makes the pages of a part of a file in memory.
#[cfg(target_os = "linux")]
fn populate(map: &MmapRaw, start: usize, len: usize) -> io::Result<()> {
    map.advise_range(memmap2::Advice::PopulateWrite, start, len).map_err(|error| match error.raw_os_error() {
        // EFAULT: what would be a signal.
        Some(14) => io::ErrorKind::StorageFull.into(),
        _ => error,
    })
}

/// Whether the system makes pages when it is asked to, as Linux does from 5.14 on.
pub(super) fn can_be_made(map: &MmapRaw) -> bool {
    #[cfg(target_os = "linux")]
    {
        // Of no page.
        map.advise_range(memmap2::Advice::PopulateWrite, 0, 0).is_ok()
    }
    #[cfg(not(target_os = "linux"))]
    {
        let _ = map;
        false
    }
}

#[cfg(not(target_os = "linux"))]
fn populate(_: &MmapRaw, _: usize, _: usize) -> io::Result<()> {
    Ok(())
}

/// Takes the pages of a mapped file out of the process's memory, on all threads: one would take long. They stay in the
/// file.
pub(super) fn release(map: &MmapRaw) {
    #[cfg(target_os = "linux")]
    {
        let (pieces, next) = (map.len().div_ceil(PIECE), AtomicUsize::new(0));
        let run = || {
            loop {
                let start = next.fetch_add(1, Ordering::Relaxed) * PIECE;
                if start >= map.len() {
                    return Ok(());
                }
                let len = PIECE.min(map.len() - start);
                // SAFETY: the mapping is shared, so that what its pages hold is the file's, and is there again when
                // they are next used.
                unsafe { map.unchecked_advise_range(memmap2::UncheckedAdvice::DontNeed, start, len) }?;
            }
        };
        // Whoever drops the mapping does what is left.
        let _ = on_each_thread(pieces, run);
    }
    #[cfg(not(target_os = "linux"))]
    let _ = map;
}

/// Runs `work` on as many threads as do the CPU's work, at most `most`, this one among them.
fn on_each_thread(most: usize, work: impl Fn() -> io::Result<()> + Sync) -> io::Result<()> {
    thread::scope(|scope| {
        let others = threads::count().unwrap_or(1).min(most).saturating_sub(1);
        let others: Vec<_> = (0..others).map_while(|i| threads::spawn(scope, format!("pages-{i}"), &work).ok()).collect();
        let mine = work();
        let join = |thread: ScopedJoinHandle<'_, _>| thread.join().unwrap_or_else(|panic| resume_unwind(panic));
        others.into_iter().map(join).fold(mine, Result::and)
    })
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;
    use memmap2::MmapOptions;
    use std::path::Path;

    fn pages(directory: &Path, file: usize, map: usize) -> Pages {
        let destination = Destination::prepare(&directory.join("x")).unwrap();
        let temporary = destination.temporary().unwrap();
        temporary.file().set_len(file as u64).unwrap();
        let map = MmapOptions::new().len(map).map_raw(temporary.file()).unwrap();
        Pages::new(Arc::new(map), destination, 128)
    }

    #[test]
    fn pieces_are_made_by_whoever_needs_them() {
        let directory = tempfile::tempdir().unwrap();
        let pages = pages(directory.path(), 3 * PIECE + 5, 3 * PIECE + 5);
        let made = || pages.pieces.iter().map(|piece| *piece.lock().unwrap()).collect::<Vec<_>>();
        assert_eq!(made(), [false; 4]);
        pages.make(4, &[0..0, PIECE / 4..PIECE / 4 + 1]).unwrap();
        assert_eq!(made(), [false, true, false, false]);
        // Across the end of a piece.
        pages.make(8, &[3 * PIECE / 8 - 17..3 * PIECE / 8 - 15]).unwrap();
        assert_eq!(made(), [false, true, true, true]);
        pages.make_all().unwrap();
        assert_eq!(made(), [true; 4]);
        release(&pages.map);
        // SAFETY: as many bytes are mapped, and nobody writes them.
        let bytes = unsafe { std::slice::from_raw_parts(pages.map.as_ptr(), pages.map.len()) };
        assert!(bytes.iter().all(|&byte| byte == 0));
    }

    /// What is mapped beyond a file's end has no pages, as where the memory is full.
    #[test]
    fn no_room_is_an_error() {
        let directory = tempfile::tempdir().unwrap();
        let pages = pages(directory.path(), PIECE, 3 * PIECE);
        pages.make(1, &[0..100]).unwrap();
        for error in [pages.make(1, &[0..2 * PIECE]), pages.make_all()] {
            let text = crate::files::chain(&error.unwrap_err());
            assert!(text.ends_with("x can't be written: no storage space"), "{text}");
        }
    }
}
