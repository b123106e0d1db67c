//! Sizes of memory: reads them as people write them, and compares them with the free memory.

use std::fmt::Display;

use warpsmith::device::Device;

use super::{failure::Failure, format};

/// Units by their names without the `B` of bytes, longest first.
const UNITS: [(&str, u64); 8] = [
    ("ki", 1 << 10),
    ("mi", 1 << 20),
    ("gi", 1 << 30),
    ("ti", 1 << 40),
    ("k", 1_000),
    ("m", 1_000_000),
    ("g", 1_000_000_000),
    ("t", 1_000_000_000_000),
];

/// Returns an error if `what` would take about `bytes` and less of the host's memory is free. The
/// system itself would hand out more memory than it has.
pub fn check_memory(what: impl Display, bytes: f64) -> Result<(), Failure> {
    let free = Device::cpu().memory()?.free;
    if bytes <= free as f64 {
        return Ok(());
    }
    let (bytes, free) = (format::memory(bytes as usize), format::memory(free));
    Err(Failure::error(format_args!("{what} would take about {bytes} of memory, and {free} are free")))
}

/// Reads a number of bytes: `500M` and `500MB` (k, M, G and T are powers of ten), `2GiB` (powers of
/// two), `1.5G`, `1e9`, `4_096`.
pub fn parse(text: &str) -> Result<usize, String> {
    let bad = || "not a size; write 500M, 2GiB or a number of bytes".to_owned();
    let plain: String = text.chars().filter(|&character| character != '_').collect::<String>().to_ascii_lowercase();
    let number = plain.strip_suffix('b').unwrap_or(&plain);
    let (number, unit) = UNITS.iter().find_map(|(name, unit)| Some((number.strip_suffix(name)?, *unit))).unwrap_or((number, 1));
    // Excludes what Rust's parser would also accept: words, such as `inf`, and signs.
    if !number.starts_with(|first: char| first.is_ascii_digit() || first == '.') {
        return Err(bad());
    }
    let bytes = number.trim_end().parse::<f64>().map_err(|_| bad())? * unit as f64;
    match bytes {
        1.0.. if bytes < usize::MAX as f64 => Ok(bytes as usize),
        1.0.. => Err("larger than any memory".to_owned()),
        _ => Err("there must be at least 1 byte".to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_as_written() {
        for (text, bytes) in [
            ("1", 1),
            ("4_096", 4096),
            ("500M", 500_000_000),
            ("500MB", 500_000_000),
            ("500 MB", 500_000_000),
            ("2GiB", 2 << 30),
            ("2gib", 2 << 30),
            ("2Gi", 2 << 30),
            ("0.5KiB", 512),
            ("1.5G", 1_500_000_000),
            (".5k", 500),
            ("1e9", 1_000_000_000),
            ("12b", 12),
            ("1T", 1_000_000_000_000),
            ("3TiB", 3 << 40),
        ] {
            assert_eq!(parse(text), Ok(bytes), "{text}");
        }
    }

    #[test]
    fn what_is_none() {
        for text in ["", "M", "GiB", "-1", "+1", "1X", "inf", "nan", "1.2.3", "1 2", "0x10", "5MM", "5iB", "½"] {
            assert!(parse(text).unwrap_err().starts_with("not a size"), "{text}");
        }
        for text in ["0", "0G", "0.5", "1e-9"] {
            assert_eq!(parse(text).unwrap_err(), "there must be at least 1 byte", "{text}");
        }
        for text in ["1e30", "99999999999T", "1e999"] {
            assert_eq!(parse(text).unwrap_err(), "larger than any memory", "{text}");
        }
    }
}
