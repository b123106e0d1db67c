//! Writes NumPy archives, `.npz`.

use std::io::{self, Seek, SeekFrom, Write};

use zip::{CompressionMethod, ZipWriter, result::ZipError, write::SimpleFileOptions};

use super::npy::{self, Element};

/// A writer of an uncompressed archive of arrays.
#[allow(missing_debug_implementations)]
pub struct Arrays<W: Write + Seek>(ZipWriter<Latch<W>>);

impl<W: Write + Seek> Arrays<W> {
    /// Starts an archive at the beginning of `file`.
    pub fn new(file: W) -> Self {
        Arrays(ZipWriter::new(Latch { file, position: 0, end: 0, failed: false }))
    }

    /// Adds an array of this shape, whose elements are given in C order.
    ///
    /// # Errors
    /// The file's errors, and a number of elements that differs from the shape's.
    pub fn add<T: Element>(&mut self, name: &str, values: &[T], shape: &[usize]) -> io::Result<()> {
        self.start(name, size_of_val(values))?;
        npy::write(&mut self.0, values, shape)
    }

    /// Adds a string as NumPy stores it: a zero-dimensional array of bytes.
    pub fn add_text(&mut self, name: &str, text: &str) -> io::Result<()> {
        self.start(name, text.len())?;
        self.0.write_all(&npy::header(&format!("'|S{}'", text.len()), &[]))?;
        self.0.write_all(text.as_bytes())
    }

    /// Adds strings, as [`npy::write_texts`] does.
    pub fn add_texts<S: AsRef<str>>(&mut self, name: &str, texts: &[S]) -> io::Result<()> {
        self.start(name, npy::texts_size(texts))?;
        npy::write_texts(&mut self.0, texts)
    }

    /// Writes the end of the archive.
    pub fn finish(self) -> io::Result<()> {
        self.0.finish().map(drop).map_err(zip_to_io)
    }

    fn start(&mut self, name: &str, bytes: usize) -> io::Result<()> {
        // Sizes beyond 32 bits need longer fields.
        let options = SimpleFileOptions::default().compression_method(CompressionMethod::Stored).large_file(bytes >= 1 << 31);
        self.0.start_file(format!("{name}.npy"), options).map_err(zip_to_io)
    }
}

/// A file that ignores all writes after the first that failed. Otherwise the archive's writer,
/// which writes the end on drop, would print another error to stderr.
struct Latch<W> {
    file: W,
    /// Current position and end of the file, in bytes.
    position: u64,
    end: u64,
    failed: bool,
}

impl<W: Write + Seek> Latch<W> {
    /// Runs `act`, or returns `pretended` if an earlier call failed.
    fn latched<T>(&mut self, act: impl FnOnce(&mut W) -> io::Result<T>, pretended: T) -> io::Result<T> {
        if self.failed {
            return Ok(pretended);
        }
        act(&mut self.file).inspect_err(|error| self.failed = error.kind() != io::ErrorKind::Interrupted)
    }
}

impl<W: Write + Seek> Write for Latch<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let written = self.latched(|file| file.write(bytes), bytes.len())?;
        self.position += written as u64;
        self.end = self.end.max(self.position);
        Ok(written)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.latched(W::flush, ())
    }
}

impl<W: Write + Seek> Seek for Latch<W> {
    fn seek(&mut self, to: SeekFrom) -> io::Result<u64> {
        let pretended = match to {
            SeekFrom::Start(position) => position,
            SeekFrom::Current(offset) => self.position.saturating_add_signed(offset),
            SeekFrom::End(offset) => self.end.saturating_add_signed(offset),
        };
        self.position = self.latched(|file| file.seek(to), pretended)?;
        Ok(self.position)
    }
}

fn zip_to_io(error: ZipError) -> io::Error {
    match error {
        ZipError::Io(error) => error,
        error => io::Error::other(error),
    }
}
