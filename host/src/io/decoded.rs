//! Reads texts, which may be compressed.

use std::{
    io::{self, BufRead, BufReader, Read},
    path::Path,
};

use flate2::bufread::MultiGzDecoder;
use ruzstd::decoding::StreamingDecoder;

use super::{
    files::Reason,
    source::{Source, unreadable},
};

/// First bytes of a gzip file and of a Zstandard frame.
const GZIP: &[u8] = &[0x1f, 0x8b];
const ZSTD: &[u8] = &[0x28, 0xb5, 0x2f, 0xfd];

/// A text as a stream.
pub(crate) type Decoded = BufReader<Box<dyn Read + Send>>;

/// Opens a text. If its first bytes are those of gzip or Zstandard, the result decompresses it.
pub(crate) fn open(path: &Path) -> Result<Decoded, Reason> {
    let mut input = BufReader::with_capacity(1 << 16, Source::open(path)?);
    let start = start(&mut input, ZSTD.len()).map_err(unreadable)?;
    let stream: Box<dyn Read + Send> = if start.starts_with(GZIP) {
        Box::new(MultiGzDecoder::new(input))
    } else if start.starts_with(ZSTD) {
        Box::new(Frames(Some(Frame::Between(input))))
    } else {
        Box::new(input)
    };
    Ok(BufReader::with_capacity(1 << 16, stream))
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

fn invalid(error: String) -> io::Error {
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
        assert!(read(&[GZIP, b"x"].concat()).is_err() && read(&[ZSTD, b"x"].concat()).is_err());
    }
}
