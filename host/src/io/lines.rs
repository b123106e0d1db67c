//! Reads texts line by line.

use std::{
    fmt::Display,
    io::{BufRead as _, Read as _},
    path::Path,
};

use super::{
    decoded::{self, Decoded},
    files::Reason,
    source::{LITTLE, LONGEST_DATA, LONGEST_LINE, SPARE, as_text, rest, too_little, unreadable, within},
};

/// A reader that keeps one line of a text in memory.
///
/// Errors are clauses that follow the file's name, such as "line 3: ...".
pub(crate) struct Lines {
    input: Decoded,
    line: Vec<u8>,
    number: u64,
    /// Number of bytes read, after decompression.
    bytes: u64,
    /// Value of `bytes` at the last check of the free memory.
    checked: u64,
    /// True if the line is to be read again.
    again: bool,
    named: bool,
}

impl Lines {
    /// Opens the file, which may be compressed.
    pub fn open(path: &Path) -> Result<Self, Reason> {
        let (input, named) = decoded::open_as_table(path)?;
        Ok(Lines { input, line: Vec::new(), number: 0, bytes: 0, checked: 0, again: false, named })
    }

    /// Returns true if the first line names the columns of a table, whatever it looks like.
    pub fn is_named(&self) -> bool {
        self.named
    }

    /// Reads the next line. Returns false at the end.
    pub fn next(&mut self) -> Result<bool, Reason> {
        if std::mem::take(&mut self.again) {
            return Ok(!self.line.is_empty());
        }
        self.line.clear();
        self.number += 1;
        let read = (&mut self.input).take(LONGEST_LINE as u64 + 1).read_until(b'\n', &mut self.line).map_err(unreadable)?;
        if read > LONGEST_LINE {
            return Err(self.error(format_args!("it is longer than {} MiB", LONGEST_LINE >> 20)));
        }
        if self.number == 1 {
            if self.line.starts_with("\u{feff}".as_bytes()) {
                self.line.drain(..3);
            } else if self.line.starts_with(b"\x93NUMPY") {
                return Err("is an array of NumPy, but must be text; arrays are files whose name ends in .npy".into());
            } else if self.line.starts_with(b"PK\x03\x04") {
                return Err("is an archive, but must be text; those of NumPy are files whose name ends in .npz".into());
            }
        }
        self.bytes += read as u64;
        // The caller keeps parts of the lines, in allocations too small to check one by one.
        if self.bytes - self.checked > LITTLE as u64 {
            if !within(SPARE) {
                return Err(too_little());
            }
            self.checked = self.bytes;
        }
        Ok(read > 0)
    }

    /// Goes back before the line that was read last.
    pub fn back(&mut self) {
        self.again = true;
    }

    /// Reads the line and all after it, at most [`LONGEST_DATA`] bytes.
    pub fn into_text(mut self) -> Result<String, Reason> {
        as_text(rest(self.line, &mut self.input, LONGEST_DATA)?)
    }

    /// Reads up to the next line that isn't blank. Returns false at the end.
    pub fn next_filled(&mut self) -> Result<bool, Reason> {
        while self.next()? {
            if !self.line.trim_ascii().is_empty() {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// The line's bytes, without its end.
    pub fn line(&self) -> &[u8] {
        let line = self.line.strip_suffix(b"\n").unwrap_or(&self.line);
        line.strip_suffix(b"\r").unwrap_or(line)
    }

    /// The line's bytes, with its end if it has one.
    pub fn with_end(&self) -> &[u8] {
        &self.line
    }

    /// The line as text.
    pub fn text(&self) -> Result<&str, Reason> {
        std::str::from_utf8(self.line()).map_err(|_| self.error("is not UTF-8 text"))
    }

    /// Returns true if the line ends with a line break, which the last one may lack.
    pub fn is_ended(&self) -> bool {
        self.line.ends_with(b"\n")
    }

    /// The line's number, from 1.
    pub fn number(&self) -> u64 {
        self.number
    }

    /// Number of bytes of the text read so far.
    pub fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Returns an error about the line.
    pub fn error(&self, reason: impl Display) -> Reason {
        at(self.number, reason).into()
    }
}

/// Returns the text of an error about the line of this number.
pub(crate) fn at(line: u64, reason: impl Display) -> String {
    format!("line {line}: {reason}")
}

/// Splits a line into words at blanks and tabs.
pub(crate) fn words(line: &[u8]) -> impl Iterator<Item = &[u8]> {
    line.split(u8::is_ascii_whitespace).filter(|word| !word.is_empty())
}

/// Parses a nonnegative integer that consists of digits only.
pub(crate) fn number(word: &[u8]) -> Option<u64> {
    if word.is_empty() {
        return None;
    }
    word.iter().try_fold(0u64, |number, byte| match byte {
        b'0'..=b'9' => number.checked_mul(10)?.checked_add(u64::from(byte - b'0')),
        _ => None,
    })
}
