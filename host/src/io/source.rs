//! Opens files for reading, and allocates memory for their content without exceeding what is free.

use std::{
    fmt::Display,
    fs::File,
    io::{self, Read, Seek, SeekFrom},
    path::Path,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
};

use bytemuck::Zeroable;
use rayon::prelude::*;

use super::{decoded, files::Reason};
use crate::memory::memory;

/// Longest line of a text, in bytes.
pub const LONGEST_LINE: usize = 16 << 20;
/// Longest text that is read as a whole, in bytes.
pub const LONGEST_TEXT: usize = 16 << 20;
/// Longest text of data that is read as a whole, in bytes.
pub const LONGEST_DATA: usize = 1 << 30;
/// Largest number of vertices of a shape's outline or pieces in a file.
pub const MOST_VERTICES: usize = 100_000;
/// Largest product of the other extents of an array without elements.
pub const MOST_EMPTY: usize = 1 << 20;

/// Returns the size limit of an array in an archive of `size` bytes. Zeros compress to a
/// thousandth, but numbers rarely to a tenth.
pub const fn archived(size: u64) -> u64 {
    let by_size = size.saturating_mul(100);
    if by_size > 64 << 20 { by_size } else { 64 << 20 }
}

/// Returns the largest number of rows, columns or vertices that a file of `size` bytes may declare.
/// Each takes memory, even without entries.
pub const fn declared(size: u64) -> u64 {
    let by_size = size.saturating_mul(100);
    if by_size > 1 << 20 { by_size } else { 1 << 20 }
}

/// Bytes per read and thread: the size of a core's cache.
const PIECE: usize = 2 << 20;
/// Allocations up to this many bytes are not checked against the free memory.
pub(super) const LITTLE: usize = 1 << 20;
/// Bytes that must stay free while a text is read.
pub(super) const SPARE: usize = 32 << 20;

/// A file that is open for reading.
///
/// Errors are clauses that follow the file's name, such as "can't be read: no such file or directory".
#[derive(Clone, Debug)]
pub struct Source {
    file: Arc<File>,
    size: Option<u64>,
}

impl Source {
    /// Opens the file. `-` is the standard input.
    ///
    /// # Errors
    /// The file can't be opened, or is a directory.
    pub fn open(path: &Path) -> Result<Self, Reason> {
        let is_standard = path == Path::new("-");
        let file = if is_standard { standard_input() } else { File::open(path) }.map_err(unreadable)?;
        let size = match file.metadata() {
            // Windows knows nothing of a pipe.
            Err(_) if is_standard => None,
            Err(error) => return Err(unreadable(error)),
            Ok(metadata) if metadata.is_dir() => return Err("is a directory, not a file".into()),
            Ok(metadata) => metadata.is_file().then_some(metadata.len()),
        };
        Ok(Source { file: Arc::new(file), size })
    }

    /// The file's size in bytes. `None` for pipes and devices.
    pub fn size(&self) -> Option<u64> {
        self.size
    }

    /// Returns the file itself, whose position it shares.
    #[cfg(feature = "parquet")]
    pub(super) fn file(&self) -> io::Result<File> {
        self.file.try_clone()
    }

    /// Fills the buffer from this offset, in bytes. Several threads may do so at once.
    ///
    /// # Errors
    /// Reading fails, or the file is too short.
    pub fn read_exact_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<()> {
        read_exact_at(&self.file, buffer, offset)
    }

    /// Reads as [`read_exact_at`](Source::read_exact_at), on all threads. Returns the results of
    /// `each` on the pieces, in order.
    pub fn read_pieces_at<R: Send>(
        &self,
        buffer: &mut [u8],
        offset: u64,
        each: impl Fn(&[u8]) -> R + Sync,
    ) -> io::Result<Vec<R>> {
        let read = |(i, piece): (usize, &mut [u8])| {
            self.read_exact_at(piece, offset + (i * PIECE) as u64)?;
            Ok(each(piece))
        };
        buffer.par_chunks_mut(PIECE).enumerate().map(read).collect()
    }
}

/// Fills the buffer from this offset of the file, in bytes. Several threads may do so at once.
pub(crate) fn read_exact_at(file: &File, buffer: &mut [u8], offset: u64) -> io::Result<()> {
    #[cfg(unix)]
    return std::os::unix::fs::FileExt::read_exact_at(file, buffer, offset);
    #[cfg(windows)]
    whole(buffer.len(), io::ErrorKind::UnexpectedEof, |done| {
        std::os::windows::fs::FileExt::seek_read(file, &mut buffer[done..], offset + done as u64)
    })
}

/// Writes the bytes at this offset of the file. Several threads may do so at once.
#[cfg(feature = "engine")]
pub(crate) fn write_all_at(file: &File, bytes: &[u8], offset: u64) -> io::Result<()> {
    #[cfg(unix)]
    return std::os::unix::fs::FileExt::write_all_at(file, bytes, offset);
    #[cfg(windows)]
    whole(bytes.len(), io::ErrorKind::WriteZero, |done| {
        std::os::windows::fs::FileExt::seek_write(file, &bytes[done..], offset + done as u64)
    })
}

/// Transfers this many bytes: `part` returns how many follow those that are done. If none follow, the error is of the kind
/// `none`.
#[cfg(windows)]
fn whole(bytes: usize, none: io::ErrorKind, mut part: impl FnMut(usize) -> io::Result<usize>) -> io::Result<()> {
    let mut done = 0;
    while done < bytes {
        match part(done)? {
            0 => return Err(none.into()),
            more => done += more,
        }
    }
    Ok(())
}

impl Read for Source {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        (&*self.file).read(buffer)
    }
}

/// Returns the standard input as a file, once: nothing would be left of it.
fn standard_input() -> io::Result<File> {
    static TAKEN: AtomicBool = AtomicBool::new(false);
    if TAKEN.swap(true, Ordering::Relaxed) {
        return Err(io::Error::other("standard input can be read only once"));
    }
    #[cfg(unix)]
    return std::os::fd::AsFd::as_fd(&io::stdin()).try_clone_to_owned().map(File::from);
    #[cfg(windows)]
    return std::os::windows::io::AsHandle::as_handle(&io::stdin()).try_clone_to_owned().map(File::from);
}

/// A source of large arrays.
pub trait Input: Read {
    /// Fills the buffer with the next bytes. Returns their number, which is smaller than the buffer
    /// only at the end.
    ///
    /// # Errors
    /// Reading fails.
    fn fill(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        fill(self, buffer)
    }
}

/// Fills the buffer as [`Input::fill`] does, on this thread.
pub(crate) fn fill(input: &mut (impl Read + ?Sized), buffer: &mut [u8]) -> io::Result<usize> {
    let mut filled = 0;
    while filled < buffer.len() {
        match input.read(&mut buffer[filled..]) {
            Ok(0) => break,
            Ok(read) => filled += read,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(filled)
}

impl Input for &[u8] {}

/// Files are read by several threads, pipes by one.
impl Input for Source {
    fn fill(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let Some(size) = self.size else { return fill(self, buffer) };
        let start = self.stream_position()?;
        let len = buffer.len().min(usize::try_from(size.saturating_sub(start)).unwrap_or(usize::MAX));
        self.read_pieces_at(&mut buffer[..len], start, |_| ())?;
        self.seek(SeekFrom::Start(start + len as u64))?;
        Ok(len)
    }
}

impl Seek for Source {
    fn seek(&mut self, to: SeekFrom) -> io::Result<u64> {
        (&*self.file).seek(to)
    }
}

/// Returns a name's extension in lower case, without that of a compressed file: `csv` for `a.CSV.gz`.
pub(crate) fn extension(path: &Path) -> String {
    let of = |path: &Path| path.extension().and_then(|extension| extension.to_str()).unwrap_or_default().to_ascii_lowercase();
    match of(path).as_str() {
        "gz" | "zst" => path.file_stem().map(|stem| of(Path::new(stem))).unwrap_or_default(),
        other => other.to_owned(),
    }
}

/// Reads a text as a whole, without a byte order mark: at most [`LONGEST_TEXT`] bytes after decompression.
///
/// # Errors
/// The file can't be read, is longer, or isn't UTF-8. Errors are clauses that follow the file's
/// name.
pub fn text(path: &Path) -> Result<String, Reason> {
    as_text(bytes(path, LONGEST_TEXT)?)
}

/// As [`text`], for data: at most [`LONGEST_DATA`] bytes.
pub(crate) fn large_text(path: &Path) -> Result<String, Reason> {
    as_text(bytes(path, LONGEST_DATA)?)
}

pub(super) fn as_text(bytes: Vec<u8>) -> Result<String, Reason> {
    String::from_utf8(bytes).map_err(|_| "is not UTF-8 text".into())
}

/// As [`text`]; what isn't UTF-8 counts as Latin-1.
pub(crate) fn any_text(path: &Path) -> Result<String, Reason> {
    Ok(String::from_utf8(bytes(path, LONGEST_TEXT)?)
        .unwrap_or_else(|error| error.into_bytes().into_iter().map(char::from).collect()))
}

fn bytes(path: &Path, longest: usize) -> Result<Vec<u8>, Reason> {
    rest(Vec::new(), &mut decoded::open(path)?, longest)
}

/// Appends the rest of a text to its first `bytes`, up to `longest` in all.
pub(super) fn rest(mut bytes: Vec<u8>, source: &mut impl Read, longest: usize) -> Result<Vec<u8>, Reason> {
    loop {
        let start = bytes.len();
        // While the vector grows, its old and new memory coexist.
        if !within(2 * (start + LONGEST_TEXT)) {
            return Err(too_little());
        }
        let more = source.by_ref().take(LONGEST_TEXT as u64 + 1).read_to_end(&mut bytes).map_err(unreadable)?;
        if bytes.len() > longest {
            return Err(format!("is longer than {} MiB, which is too long for such a file", longest >> 20).into());
        }
        if more <= LONGEST_TEXT {
            break;
        }
    }
    if bytes.starts_with("\u{feff}".as_bytes()) {
        bytes.drain(..3);
    }
    Ok(bytes)
}

/// Reserves memory for this many more elements. The capacity doubles, so that repeated calls take
/// amortized constant time.
///
/// # Errors
/// There is too little free memory. The clause follows the name of the file that is read.
pub fn reserve<T>(values: &mut Vec<T>, additional: usize) -> Result<(), Reason> {
    let room = values.capacity() - values.len();
    if additional <= room {
        return Ok(());
    }
    // Double the capacity, or add an eighth if memory is short.
    let least = additional - room;
    let steps = [least.max(values.capacity()), least.max(values.capacity() / 8)];
    let fits = |&more: &usize| more.checked_mul(size_of::<T>()).is_some_and(within);
    let room_and = steps.iter().find(|more| fits(more)).and_then(|more| room.checked_add(*more));
    match room_and.map(|additional| values.try_reserve_exact(additional)) {
        Some(Ok(())) => Ok(()),
        _ => Err(too_little()),
    }
}

/// Appends an element.
pub fn push<T>(values: &mut Vec<T>, value: T) -> Result<(), Reason> {
    reserve(values, 1)?;
    values.push(value);
    Ok(())
}

/// Returns a vector of this many equal elements.
pub fn filled<T: Clone>(value: T, len: usize) -> Result<Vec<T>, Reason> {
    let mut values = Vec::new();
    reserve(&mut values, len)?;
    values.resize(len, value);
    Ok(values)
}

/// Returns a vector of zeros. The system maps its pages at their first write, on the writing
/// thread.
pub fn zeroed<T: Zeroable>(len: usize) -> Result<Vec<T>, Reason> {
    let fits = len.checked_mul(size_of::<T>()).is_some_and(within);
    let values = if fits { bytemuck::allocation::try_zeroed_vec(len).ok() } else { None };
    values.ok_or_else(too_little)
}

/// Collects all elements into a vector.
pub fn collect<T>(elements: impl ExactSizeIterator<Item = T>) -> Result<Vec<T>, Reason> {
    let mut values = Vec::new();
    reserve(&mut values, elements.len())?;
    values.extend(elements);
    Ok(values)
}

/// Checks that this many bytes of memory are free.
pub(crate) fn check_room(bytes: usize) -> Result<(), Reason> {
    if within(bytes) { Ok(()) } else { Err(too_little()) }
}

/// Returns true if this many bytes of memory are free.
pub(super) fn within(bytes: usize) -> bool {
    bytes <= LITTLE || bytes.checked_add(SPARE).is_some_and(|bytes| bytes <= memory().free)
}

pub(super) fn too_little() -> Reason {
    let text = format!("it takes more memory than there is ({} MiB are free)", memory().free >> 20);
    unreadable(io::Error::new(io::ErrorKind::OutOfMemory, text))
}

/// Shortens a parser's error for a message, to its first line and 300 characters: it may quote the
/// file.
pub fn brief(error: impl Display) -> String {
    const MOST: usize = 300;
    let text = error.to_string();
    let line = text.lines().next().unwrap_or_default().trim_end();
    match line.char_indices().nth(MOST) {
        Some((end, _)) => format!("{}...", &line[..end]),
        None => line.to_owned(),
    }
}

/// Quotes a part of a file for a message, shortened to 100 characters.
pub(crate) fn quoted(text: &str) -> String {
    const MOST: usize = 100;
    match text.char_indices().nth(MOST) {
        Some((end, _)) => format!("`{}...`", &text[..end]),
        None => format!("`{text}`"),
    }
}

/// Lists names of a file for a message: the first 8, and the number of others.
pub(crate) fn listed<'a>(names: impl ExactSizeIterator<Item = &'a String>) -> String {
    const MOST: usize = 8;
    let more = names.len().saturating_sub(MOST);
    let names = names.take(MOST).map(|name| quoted(name)).collect::<Vec<_>>().join(", ");
    if more == 0 { names } else { format!("{names} and {more} more") }
}

/// Returns the reason for a failure of the system to read.
pub(crate) fn unreadable(error: io::Error) -> Reason {
    Reason::because("can't be read", error)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::io::lines::Lines;

    #[test]
    fn no_more_than_there_is() {
        let mut values = vec![0u8; 3];
        for additional in [usize::MAX, usize::MAX / 2, memory().total] {
            let error = reserve(&mut values, additional).unwrap_err().to_string();
            assert!(error.starts_with("can't be read: it takes more memory than there is ("), "{error}");
            assert_eq!((values.len(), values.capacity()), (3, 3));
        }
        reserve(&mut values, 1).unwrap();
        assert!(values.capacity() >= 6, "{}", values.capacity());
        assert!(reserve(&mut Vec::<u64>::new(), usize::MAX / 8 + 1).is_err());
        assert_eq!(collect([1, 2, 3].into_iter()).unwrap(), [1, 2, 3]);
    }

    #[test]
    fn texts() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("x");
        for (bytes, found) in [
            (&b""[..], Ok("")),
            (b"\xef\xbb\xbfa\xef\xbb\xbf", Ok("a\u{feff}")),
            (b"a\xff", Err("is not UTF-8 text")),
            (&vec![b' '; LONGEST_TEXT + 1], Err("is longer than 16 MiB, which is too long for such a file")),
        ] {
            std::fs::write(&path, bytes).unwrap();
            assert_eq!(text(&path).map_err(|reason| reason.to_string()), found.map(str::to_owned).map_err(str::to_owned));
        }
        std::fs::write(&path, vec![b' '; LONGEST_TEXT]).unwrap();
        assert_eq!(text(&path).unwrap().len(), LONGEST_TEXT);
        let mut lines = Lines::open(&path).unwrap();
        assert!(lines.next().unwrap() && lines.line().len() == LONGEST_LINE && !lines.next().unwrap());
        std::fs::write(&path, [&[b'\n'][..], &vec![b' '; LONGEST_LINE], b"\n"].concat()).unwrap();
        let mut lines = Lines::open(&path).unwrap();
        assert!(lines.next().unwrap());
        assert_eq!(lines.next().unwrap_err().to_string(), "line 2: it is longer than 16 MiB");
        assert_eq!(text(folder.path()).unwrap_err().to_string(), "is a directory, not a file");
        #[cfg(target_os = "linux")]
        assert!(text(Path::new("/dev/zero")).unwrap_err().to_string().starts_with("is longer than 16 MiB"));
    }

    #[test]
    fn parts_of_files() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("x");
        std::fs::write(&path, "0123456789").unwrap();
        let source = Source::open(&path).unwrap();
        let mut buffer = [0; 3];
        source.read_exact_at(&mut buffer, 4).unwrap();
        assert_eq!((&buffer, source.size()), (b"456", Some(10)));
        assert_eq!(source.read_exact_at(&mut buffer, 8).unwrap_err().kind(), io::ErrorKind::UnexpectedEof);
    }

    /// All pieces arrive in order, and the next read continues after them.
    #[test]
    fn large_files_are_read_in_pieces() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("x");
        let bytes: Vec<u8> = (0..2 * PIECE + 10).map(|i| (i % 251) as u8).collect();
        std::fs::write(&path, &bytes).unwrap();
        let mut source = Source::open(&path).unwrap();
        let mut buffer = vec![0; 2 * PIECE + 3];
        assert_eq!(source.read(&mut buffer[..5]).unwrap(), 5);
        assert_eq!(source.fill(&mut buffer).unwrap(), buffer.len());
        assert!(buffer == bytes[5..][..buffer.len()]);
        assert_eq!(source.fill(&mut buffer).unwrap(), 2);
        assert!(buffer[..2] == bytes[bytes.len() - 2..]);
        assert_eq!(source.fill(&mut buffer).unwrap(), 0);
        let lengths = source.read_pieces_at(&mut buffer, 7, <[u8]>::len).unwrap();
        assert_eq!((lengths, &buffer[..]), (vec![PIECE, PIECE, 3], &bytes[7..][..buffer.len()]));
        assert_eq!(source.read_pieces_at(&mut buffer, 8, |_| ()).unwrap_err().kind(), io::ErrorKind::UnexpectedEof);
    }
}
