//! Opens files for reading, and allocates memory for their content without exceeding what is free.

use std::{
    fmt::Display,
    fs::File,
    io::{self, Read, Seek, SeekFrom},
    path::Path,
    sync::Arc,
};

use bytemuck::Zeroable;
use rayon::prelude::*;

use super::files::Reason;
use crate::memory::memory;

/// The longest line of a text, in bytes.
pub const LONGEST_LINE: usize = 16 << 20;
/// The longest text that is read as a whole, in bytes.
pub const LONGEST_TEXT: usize = 16 << 20;
/// The most vertices of a shape's outline or pieces from a file.
pub const MOST_VERTICES: usize = 100_000;
/// The most that an array without elements may have along its other dimensions together.
pub const MOST_EMPTY: usize = 1 << 20;

/// The most bytes of an array in an archive of this many bytes: zeros are packed to a thousandth, numbers hardly ever
/// to a tenth.
pub const fn archived(size: u64) -> u64 {
    let by_size = size.saturating_mul(100);
    if by_size > 64 << 20 { by_size } else { 64 << 20 }
}

/// The most rows, columns or vertices that a file of this many bytes may declare. Each takes memory, whether it has
/// entries or not.
pub const fn declared(size: u64) -> u64 {
    let by_size = size.saturating_mul(100);
    if by_size > 1 << 20 { by_size } else { 1 << 20 }
}

/// How much one thread reads at a time, in bytes: what its cache holds.
const PIECE: usize = 2 << 20;
/// Below this many bytes nobody asks whether there is as much memory.
pub(super) const LITTLE: usize = 1 << 20;
/// While texts are read, this many bytes must be free.
pub(super) const SPARE: usize = 32 << 20;

/// A file that was opened to be read.
///
/// Errors are clauses that follow the file's name, such as "can't be read: no such file or directory".
#[derive(Clone, Debug)]
pub struct Source {
    file: Arc<File>,
    size: Option<u64>,
}

impl Source {
    /// Opens the file.
    ///
    /// # Errors
    /// Where it can't be opened, or is a directory.
    pub fn open(path: &Path) -> Result<Self, Reason> {
        let file = File::open(path).map_err(unreadable)?;
        let metadata = file.metadata().map_err(unreadable)?;
        if metadata.is_dir() {
            return Err("is a directory, not a file".into());
        }
        Ok(Source { file: Arc::new(file), size: metadata.is_file().then_some(metadata.len()) })
    }

    /// The file's size in bytes; pipes and devices have none.
    pub fn size(&self) -> Option<u64> {
        self.size
    }

    /// Fills the buffer with what starts this many bytes after the file's start. Several threads may do so at once.
    ///
    /// # Errors
    /// Where reading fails, or the file ends before.
    pub fn read_exact_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<()> {
        #[cfg(unix)]
        return std::os::unix::fs::FileExt::read_exact_at(&*self.file, buffer, offset);
        #[cfg(windows)]
        {
            let (mut buffer, mut offset) = (buffer, offset);
            while !buffer.is_empty() {
                match std::os::windows::fs::FileExt::seek_read(&*self.file, buffer, offset)? {
                    0 => return Err(io::ErrorKind::UnexpectedEof.into()),
                    read => (buffer, offset) = (&mut buffer[read..], offset + read as u64),
                }
            }
            Ok(())
        }
    }

    /// As [`read_exact_at`](Source::read_exact_at), by all threads. Gives what `each` makes of the pieces, in their order.
    ///
    /// # Errors
    /// As [`read_exact_at`](Source::read_exact_at).
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

impl Read for Source {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        (&*self.file).read(buffer)
    }
}

/// What large arrays are read from.
pub trait Input: Read {
    /// Fills the buffer with what comes next; gives how many bytes there were, which are fewer only at the end.
    ///
    /// # Errors
    /// Where reading fails.
    fn fill(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        fill(self, buffer)
    }
}

/// As [`Input::fill`], by this thread.
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

/// Several threads read what is not a pipe.
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

/// Reads a text as a whole, without a byte order mark: at most [`LONGEST_TEXT`] bytes.
///
/// # Errors
/// Where the file can't be read, is longer, or isn't UTF-8. They are clauses that follow the file's name.
pub fn text(path: &Path) -> Result<String, Reason> {
    let source = Source::open(path)?;
    let mut bytes = Vec::new();
    // Half of this may be in the way while the vector grows.
    if !within(2 * LONGEST_TEXT) {
        return Err(too_little().into());
    }
    source.take(LONGEST_TEXT as u64 + 1).read_to_end(&mut bytes).map_err(unreadable)?;
    if bytes.len() > LONGEST_TEXT {
        return Err(format!("is longer than {} MiB, which is too long for such a file", LONGEST_TEXT >> 20).into());
    }
    if bytes.starts_with("\u{feff}".as_bytes()) {
        bytes.drain(..3);
    }
    String::from_utf8(bytes).map_err(|_| "is not UTF-8 text".into())
}

/// Makes room for so many more elements; by so many that pushing one at a time is no matter.
///
/// # Errors
/// Where there isn't as much memory. The clause follows the name of the file that is read.
pub fn reserve<T>(values: &mut Vec<T>, additional: usize) -> Result<(), Reason> {
    let room = values.capacity() - values.len();
    if additional <= room {
        return Ok(());
    }
    // Doubled; where there isn't that much memory, a little more.
    let least = additional - room;
    let steps = [least.max(values.capacity()), least.max(values.capacity() / 8)];
    let fits = |&more: &usize| more.checked_mul(size_of::<T>()).is_some_and(within);
    let room_and = steps.iter().find(|more| fits(more)).and_then(|more| room.checked_add(*more));
    match room_and.map(|additional| values.try_reserve_exact(additional)) {
        Some(Ok(())) => Ok(()),
        _ => Err(too_little().into()),
    }
}

/// Adds an element.
///
/// # Errors
/// As [`reserve`].
pub fn push<T>(values: &mut Vec<T>, value: T) -> Result<(), Reason> {
    reserve(values, 1)?;
    values.push(value);
    Ok(())
}

/// A vector of this many equal elements.
///
/// # Errors
/// As [`reserve`].
pub fn filled<T: Clone>(value: T, len: usize) -> Result<Vec<T>, Reason> {
    let mut values = Vec::new();
    reserve(&mut values, len)?;
    values.resize(len, value);
    Ok(values)
}

/// A vector of zeros, whose pages the system makes when they are first written: by whoever does so.
///
/// # Errors
/// As [`reserve`].
pub fn zeroed<T: Zeroable>(len: usize) -> Result<Vec<T>, Reason> {
    let fits = len.checked_mul(size_of::<T>()).is_some_and(within);
    let values = if fits { bytemuck::allocation::try_zeroed_vec(len).ok() } else { None };
    Ok(values.ok_or_else(too_little)?)
}

/// All elements in a vector.
///
/// # Errors
/// As [`reserve`].
pub fn collect<T>(elements: impl ExactSizeIterator<Item = T>) -> Result<Vec<T>, Reason> {
    let mut values = Vec::new();
    reserve(&mut values, elements.len())?;
    values.extend(elements);
    Ok(values)
}

/// Whether so many bytes of memory are free.
pub(super) fn within(bytes: usize) -> bool {
    bytes <= LITTLE || bytes.checked_add(SPARE).is_some_and(|bytes| bytes <= memory().free)
}

pub(super) fn too_little() -> String {
    format!("can't be read: it takes more memory than there is ({} MiB are free)", memory().free >> 20)
}

/// What a parser says, in a message: its first line, and of what is long the start. It may repeat what the file has.
pub fn brief(error: impl Display) -> String {
    const MOST: usize = 300;
    let text = error.to_string();
    let line = text.lines().next().unwrap_or_default().trim_end();
    match line.char_indices().nth(MOST) {
        Some((end, _)) => format!("{}...", &line[..end]),
        None => line.to_owned(),
    }
}

/// What a file says, in a message: in quotes, and of what is long the start.
pub(crate) fn quoted(text: &str) -> String {
    const MOST: usize = 100;
    match text.char_indices().nth(MOST) {
        Some((end, _)) => format!("`{}...`", &text[..end]),
        None => format!("`{text}`"),
    }
}

/// That the system failed to read.
pub(crate) fn unreadable(error: io::Error) -> Reason {
    Reason::because("can't be read", error)
}

#[cfg(test)]
mod tests {
    use super::*;

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

    /// All pieces are there, in their order, and what comes behind them is read next.
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
