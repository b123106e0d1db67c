//! Damages files.

use std::io::{Cursor, Read as _, Write as _};

use zip::{CompressionMethod, ZipArchive, ZipWriter, write::SimpleFileOptions};

use crate::Random;

/// The content of a file, split into parts that can be damaged one by one.
#[derive(Clone)]
pub enum Content {
    Text(Vec<u8>),
    Binary(Vec<u8>),
    /// Header and elements.
    Npy(Vec<u8>, Vec<u8>),
    /// Entries; true if they are compressed.
    Npz(Vec<(String, Content)>, bool),
}

/// Replacements for numbers in texts, separated by `~`.
const NUMBERS: &str = "\
    0~-0~1~2~3~-1~0.5~7~100~1e6~-1e6~1e-6~1e-13~1e-320~5e-324~1e38~3.5e38~1e300~1e308~1e999~\
    -1e999~nan~NaN~inf~-inf~Infinity~127~255~256~65535~65536~2147483647~2147483648~4294967295~\
    4294967296~9007199254740993~9223372036854775807~9223372036854775808~-9223372036854775808~\
    18446744073709551615~18446744073709551616~1000000000000000~1048576~1048577~0x10~1_000~+1~.5~\
    5.~1e~~0.30000000000000004~123456789012345678901234567890";

/// Texts to insert anywhere, separated by `~`.
const WORDS: &str = "\
    \n~\r\n~\r~,~,,~\"~'~(~)~((~))~[~]~{~}~<~>~<g>~</g>~&~&a;~%~#~;~:~@~@255~@256~\0~\u{feff}~\
    \u{fffd}~\t~ ~EMPTY~Z~null~true~nan~inf~symmetric~pattern~skew-symmetric~array~complex~\
    A1 1 0 0 1~C~z~m~matrix(1 2 3 4 5 6)~scale(0)~scale(1e200)~<f4~>f8~<i8~<u8~|O~True";

impl Content {
    /// The content of a file of this extension.
    pub fn of(extension: &str, bytes: &[u8]) -> Content {
        match extension {
            "npy" => Content::npy(bytes),
            "npz" => {
                let mut zip = ZipArchive::new(Cursor::new(bytes)).unwrap();
                let mut packed = false;
                let entries = (0..zip.len()).map(|index| {
                    let mut entry = zip.by_index(index).unwrap();
                    packed |= entry.compression() != CompressionMethod::Stored;
                    let mut bytes = Vec::new();
                    entry.read_to_end(&mut bytes).unwrap();
                    (entry.name().to_owned(), Content::npy(&bytes))
                });
                let entries = entries.collect();
                Content::Npz(entries, packed)
            }
            "parquet" | "arrow" | "arrows" => Content::Binary(bytes.to_vec()),
            _ => Content::Text(bytes.to_vec()),
        }
    }

    fn npy(bytes: &[u8]) -> Content {
        let (start, length) = match bytes[6] {
            1 => (10, usize::from(u16::from_le_bytes([bytes[8], bytes[9]]))),
            _ => (12, u32::from_le_bytes(bytes[8..12].try_into().unwrap()) as usize),
        };
        Content::Npy(bytes[start..start + length].to_vec(), bytes[start + length..].to_vec())
    }

    /// The file.
    pub fn bytes(&self) -> Vec<u8> {
        match self {
            Content::Text(bytes) | Content::Binary(bytes) => bytes.clone(),
            Content::Npy(header, body) => {
                let length = (header.len() as u32).to_le_bytes();
                [b"\x93NUMPY\x02\x00", &length[..], header, body].concat()
            }
            Content::Npz(entries, packed) => {
                let method = if *packed { CompressionMethod::Deflated } else { CompressionMethod::Stored };
                let options = SimpleFileOptions::default().compression_method(method);
                let mut zip = ZipWriter::new(Cursor::new(Vec::new()));
                for (name, content) in entries {
                    // Two of one name can't be written.
                    if zip.start_file(name.as_str(), options).is_ok() {
                        zip.write_all(&content.bytes()).unwrap();
                    }
                }
                zip.finish().unwrap().into_inner()
            }
        }
    }

    /// Damages the content once, possibly with parts of others.
    pub fn damage(&mut self, random: &mut Random, others: &[Content]) {
        match self {
            Content::Text(text) => damage_text(text, random, others),
            Content::Binary(bytes) => damage_numbers(bytes, random),
            Content::Npy(header, body) => match random.below(4) {
                0 | 1 => {
                    damage_text(header, random, &[]);
                    if !random.one_in(4) && header.last() != Some(&b'\n') {
                        header.push(b'\n');
                    }
                }
                _ => damage_numbers(body, random),
            },
            Content::Npz(entries, packed) => match random.below(10) {
                0 => *packed = !*packed,
                1 if entries.len() > 1 => drop(entries.remove(random.below(entries.len()))),
                2 => {
                    let (first, second) = (random.below(entries.len()), random.below(entries.len()));
                    entries[first].1 = entries[second].1.clone();
                }
                _ => {
                    let entry = random.below(entries.len());
                    entries[entry].1.damage(random, &[]);
                }
            },
        }
    }
}

/// Returns the range of the first number after a random position of a text.
fn token(text: &[u8], random: &mut Random) -> Option<std::ops::Range<usize>> {
    let is_number = |byte: &u8| byte.is_ascii_digit() || b"+-.eE".contains(byte);
    let from = random.below(text.len().max(1));
    let start = from + text.get(from..)?.iter().position(u8::is_ascii_digit)?;
    let start = text[..start].iter().rposition(|byte| !is_number(byte)).map_or(0, |before| before + 1);
    let end = text[start..].iter().position(|byte| !is_number(byte)).map_or(text.len(), |length| start + length);
    Some(start..end)
}

fn damage_text(text: &mut Vec<u8>, random: &mut Random, others: &[Content]) {
    let length = text.len();
    let place = random.below(length + 1);
    let part = place..(place + 1 + random.below(40)).min(length);
    match random.below(16) {
        // Numbers tell readers how much there is.
        0..=5 => {
            if let Some(token) = token(text, random) {
                // Small ones are accepted more often, and bring later damage to where it counts.
                let by = if random.one_in(2) { random.below(10).to_string() } else { random.word(NUMBERS).to_owned() };
                text.splice(token, by.into_bytes());
            }
        }
        6 | 7 => {
            let word = random.word(WORDS).bytes();
            text.splice(place..place, word);
        }
        8 if length > 0 => text[place.min(length - 1)] ^= 1 << random.below(8),
        9 if length > 0 => text[place.min(length - 1)] = random.next() as u8,
        10 => drop(text.drain(part)),
        11 => {
            let copy = text[part].to_vec();
            let to = random.below(length + 1);
            text.splice(to..to, copy);
        }
        // Over and over.
        12 => {
            let copy = text[part].repeat(1 + random.below(300));
            text.splice(place..place, copy);
        }
        13 => text.truncate(place),
        14 => {
            if let Some(Content::Text(other)) = (!others.is_empty()).then(|| random.of(others)) {
                let from = random.below(other.len() + 1);
                let to = (from + random.below(200)).min(other.len());
                text.splice(part, other[from..to].iter().copied());
            }
        }
        // Lines change places.
        _ => {
            let mut lines: Vec<&[u8]> = text.split_inclusive(|&byte| byte == b'\n').collect();
            if !lines.is_empty() {
                let (first, second) = (random.below(lines.len()), random.below(lines.len()));
                lines.swap(first, second);
                *text = lines.concat();
            }
        }
    }
}

/// Damages numbers of 4 and 8 bytes.
fn damage_numbers(body: &mut Vec<u8>, random: &mut Random) {
    const WIDE: &[u64] = &[0, 1, u64::MAX, i64::MAX as u64, i64::MIN as u64, 1 << 40, u32::MAX as u64, 1 << 31];
    const FLOATS: &[f64] =
        &[0.0, -0.0, 1.0, -1.0, f64::NAN, f64::INFINITY, f64::NEG_INFINITY, 1e308, 1e38, 5e-324, 1e-40, 1e20, 0.5];
    let length = body.len();
    match random.below(8) {
        0 => body.truncate(random.below(length + 1)),
        1 => body.extend_from_within(..random.below(length + 1)),
        2 if length > 0 => {
            let place = random.below(length);
            body[place] ^= 1 << random.below(8);
        }
        3 | 4 if length >= 4 => {
            let place = random.below(length / 4) * 4;
            let number = *random.of(FLOATS) as f32;
            body[place..place + 4].copy_from_slice(&number.to_le_bytes());
        }
        _ if length >= 8 => {
            let place = random.below(length / 8) * 8;
            let number = if random.one_in(2) { random.of(FLOATS).to_bits() } else { *random.of(WIDE) };
            body[place..place + 8].copy_from_slice(&number.to_le_bytes());
        }
        _ => body.push(0),
    }
}
