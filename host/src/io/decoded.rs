//! Reads texts, which may be compressed or in UTF-16.

use std::{
    io::{self, BufRead, BufReader, Cursor, Read},
    path::Path,
};

use flate2::bufread::MultiGzDecoder;
use ruzstd::decoding::StreamingDecoder;

#[cfg(feature = "parquet")]
use super::columns;
use super::{
    files::Reason,
    source::{Source, unreadable},
};

/// First bytes of a gzip file, of a Zstandard frame, of an Arrow file and stream, of its predecessor, and of a Parquet
/// file.
const GZIP: &[u8] = &[0x1f, 0x8b];
const ZSTD: &[u8] = &[0x28, 0xb5, 0x2f, 0xfd];
const ARROW: &[u8] = b"ARRO";
const STREAM: &[u8] = &[0xff; 4];
const FEATHER: &[u8] = b"FEA1";
const PARQUET: &[u8] = b"PAR1";

/// A text as a stream.
pub(crate) type Decoded = BufReader<Box<dyn Read + Send>>;

/// Opens a text. If its first bytes are those of gzip or Zstandard, the result decompresses it. A text that begins with the
/// byte order mark of UTF-16 is read as UTF-8, and a Parquet or Arrow file as CSV.
pub(crate) fn open(path: &Path) -> Result<Decoded, Reason> {
    open_as_table(path).map(|(text, _)| text)
}

/// Opens a text as [`open`] does. Returns true, too, if its first line is known to name the columns of a table.
pub(super) fn open_as_table(path: &Path) -> Result<(Decoded, bool), Reason> {
    let source = Source::open(path)?;
    let mut input = BufReader::with_capacity(1 << 16, source.clone());
    let first = start(&mut input, ZSTD.len()).map_err(unreadable)?;
    if first == FEATHER {
        return Err("is a file of Feather version 1, which can't be read: write it as version 2, Parquet or CSV".into());
    }
    let is_arrow = first == ARROW || first == STREAM;
    if is_arrow || first == PARQUET {
        #[cfg(feature = "parquet")]
        let table = if is_arrow { columns::arrow(&source, input)? } else { columns::parquet(&source, &mut input)? };
        #[cfg(feature = "parquet")]
        return Ok((BufReader::with_capacity(1 << 16, table), true));
        #[cfg(not(feature = "parquet"))]
        return Err(format!(
            "is {} file, which this build can't read: build it with `cargo build --release --features parquet`, or convert the \
             file to CSV",
            if is_arrow { "an Arrow" } else { "a Parquet" }
        )
        .into());
    }
    let stream: Box<dyn Read + Send> = if first.starts_with(GZIP) {
        Box::new(MultiGzDecoder::new(input))
    } else if first.starts_with(ZSTD) {
        Box::new(Frames(Some(Frame::Between(input))))
    } else {
        Box::new(input)
    };
    let mut text = BufReader::with_capacity(1 << 16, stream);
    let unit: fn([u8; 2]) -> u16 = match start(&mut text, 2).map_err(unreadable)? {
        [0xff, 0xfe] => u16::from_le_bytes,
        [0xfe, 0xff] => u16::from_be_bytes,
        _ => return Ok((text, false)),
    };
    let utf8 = Utf16 { input: text, unit, text: Cursor::default(), high: None };
    Ok((BufReader::with_capacity(1 << 16, Box::new(utf8)), false))
}

/// UTF-16, read as UTF-8.
struct Utf16 {
    input: Decoded,
    /// Joins the bytes of a unit.
    unit: fn([u8; 2]) -> u16,
    text: Cursor<Vec<u8>>,
    /// First half of a character whose second half is still to be read.
    high: Option<u16>,
}

impl Read for Utf16 {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        const BYTES: u64 = 1 << 14;
        let read = self.text.read(buffer)?;
        if read > 0 || buffer.is_empty() {
            return Ok(read);
        }
        let mut bytes = Vec::new();
        let ends = (&mut self.input).take(BYTES).read_to_end(&mut bytes)? < BYTES as usize;
        let (pairs, []) = bytes.as_chunks() else { return Err(invalid("the UTF-16 text ends within a character".into())) };
        let mut units: Vec<u16> = self.high.take().into_iter().chain(pairs.iter().copied().map(self.unit)).collect();
        if !ends {
            self.high = units.pop_if(|unit| (0xd800..0xdc00).contains(unit));
        }
        let text = String::from_utf16(&units).map_err(|_| invalid("the UTF-16 text has a half of a character".into()))?;
        self.text = Cursor::new(text.into_bytes());
        self.text.read(buffer)
    }
}

/// Returns the first bytes, without consuming them. A pipe may deliver fewer than asked for.
fn start(input: &mut impl BufRead, most: usize) -> io::Result<&[u8]> {
    loop {
        match input.fill_buf() {
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
            Ok(_) => break,
        }
    }
    let buffer = input.fill_buf()?;
    Ok(&buffer[..buffer.len().min(most)])
}

/// Zstandard frames, one after the other.
struct Frames<R: BufRead>(Option<Frame<R>>);

enum Frame<R: BufRead> {
    Between(R),
    Within(Box<StreamingDecoder<R, ruzstd::decoding::FrameDecoder>>),
}

impl<R: BufRead> Read for Frames<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        loop {
            match self.0.take() {
                None => return Ok(0),
                Some(Frame::Between(mut input)) => {
                    if start(&mut input, 1)?.is_empty() {
                        return Ok(0);
                    }
                    let frame = StreamingDecoder::new(input).map_err(|error| invalid(error.to_string()))?;
                    self.0 = Some(Frame::Within(Box::new(frame)));
                }
                Some(Frame::Within(mut frame)) => {
                    let read = frame.read(buffer).map_err(|error| invalid(error.to_string()))?;
                    self.0 = Some(if read > 0 || buffer.is_empty() {
                        Frame::Within(frame)
                    } else {
                        Frame::Between(frame.into_inner())
                    });
                    if read > 0 || buffer.is_empty() {
                        return Ok(read);
                    }
                }
            }
        }
    }
}

pub(super) fn invalid(error: String) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, error)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write as _;

    fn read(bytes: &[u8]) -> Result<String, String> {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("x.csv");
        std::fs::write(&path, bytes).unwrap();
        let mut text = String::new();
        let mut decoded = open(&path).map_err(|error| error.to_string())?;
        decoded.read_to_string(&mut text).map_err(|error| error.to_string())?;
        Ok(text)
    }

    fn gzip(text: &str) -> Vec<u8> {
        let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::default());
        encoder.write_all(text.as_bytes()).unwrap();
        encoder.finish().unwrap()
    }

    fn zstd(text: &str) -> Vec<u8> {
        ruzstd::encoding::compress_to_vec(text.as_bytes(), ruzstd::encoding::CompressionLevel::Fastest)
    }

    #[test]
    fn content_tells_the_compression() {
        let long = "a,b\n1,2\n".repeat(100_000);
        for text in ["", "a", "a,b\n", &long] {
            assert_eq!(read(text.as_bytes()).as_deref(), Ok(text));
            for (compress, ignores_more) in [(gzip as fn(&str) -> Vec<u8>, true), (zstd, false)] {
                let bytes = compress(text);
                assert_eq!(read(&bytes).as_deref(), Ok(text));
                // As `cat a.gz b.gz` makes it.
                assert_eq!(read(&[&bytes[..], &compress("end")].concat()), Ok(format!("{text}end")));
                assert!(read(&bytes[..bytes.len() - 1]).is_err() || text.is_empty());
                assert!(read(&[&bytes[..], b"no frame"].concat()).is_err() || ignores_more);
            }
        }
        for text in ["", "a;b\n1;2\n", "\u{e4}\u{20ac}\u{1d11e}", &"ab\u{1d11e}".repeat(9_000), &"a\u{1d11e}".repeat(9_000)] {
            let marked = format!("\u{feff}{text}");
            for bytes in
                [u16::to_le_bytes, u16::to_be_bytes].map(|bytes| marked.encode_utf16().flat_map(bytes).collect::<Vec<u8>>())
            {
                // Readers of texts leave out the mark.
                assert_eq!(read(&bytes).as_ref(), Ok(&marked));
                let cut = read(&bytes[..bytes.len() - 1]).unwrap_err();
                assert!(text.is_empty() || cut.contains("ends within a character"), "{cut}");
            }
        }
        assert!(read(b"ARROW1\0\0").unwrap_err().contains("Arrow") && read(b"PAR").is_ok());
        assert!(read(&[0xff; 8]).unwrap_err().contains("Arrow") && read(b"FEA1").unwrap_err().contains("Feather version 1"));
        #[cfg(not(feature = "parquet"))]
        assert!(read(b"PAR1").unwrap_err().contains("--features parquet"));
        let half = [0xff, 0xfe, 0x00, 0xd8, b'a', 0];
        assert!(read(&half).unwrap_err().contains("half of a character") && read(&half[..4]).is_err());
        assert!(read(&[GZIP, b"x"].concat()).is_err() && read(&[ZSTD, b"x"].concat()).is_err());
    }
}
