//! Reads tables of SQLite databases: the file format of <https://sqlite.org/fileformat2.html>, without indexes.
//!
//! Changes in a write-ahead log that were not merged into the file are not seen.

use std::{io, ops::Range, path::Path};

use super::{Reason, Source, quoted};

/// The first bytes of a database.
const MAGIC: &[u8; 16] = b"SQLite format 3\0";
/// Longest row, in bytes.
const LONGEST_ROW: usize = 16 << 20;

/// A value of a row.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Value {
    Null,
    Integer(i64),
    Real(f64),
    Text(String),
    Blob,
}

impl Value {
    /// Returns the integer, if it is one.
    pub fn integer(&self) -> Option<i64> {
        if let Value::Integer(integer) = self { Some(*integer) } else { None }
    }

    /// Returns the text, if it is one.
    pub fn text(&self) -> Option<&str> {
        if let Value::Text(text) = self { Some(text) } else { None }
    }
}

/// A database that is open for reading.
///
/// Errors are clauses that follow the file's name.
pub(crate) struct Sqlite {
    source: Source,
    page_size: usize,
    /// Bytes of a page that are used.
    usable: usize,
    pages: u64,
    tables: Vec<Table>,
}

struct Table {
    name: String,
    root: u64,
    columns: Vec<String>,
    /// The column that has the row's number, and is not stored.
    key: Option<usize>,
}

impl Sqlite {
    /// Opens a database and reads its schema.
    pub fn open(path: &Path) -> Result<Self, Reason> {
        let source = Source::open(path)?;
        let size = source.size().ok_or("is not a file that can be read in any order")?;
        let mut header = [0; 100];
        if size < 100 {
            return Err("is not an SQLite database".into());
        }
        source.read_exact_at(&mut header, 0).map_err(unreadable)?;
        if header[..16] != *MAGIC {
            return Err("is not an SQLite database".into());
        }
        let page_size = match u16::from_be_bytes([header[16], header[17]]) {
            1 => 1 << 16,
            size => usize::from(size),
        };
        let usable = page_size.saturating_sub(usize::from(header[20]));
        if !page_size.is_power_of_two() || usable < 480 {
            return Err(format!("is damaged: it has pages of {page_size} bytes").into());
        }
        if u32::from_be_bytes([header[56], header[57], header[58], header[59]]) > 1 {
            return Err("has texts in UTF-16, but it takes UTF-8".into());
        }
        let mut database = Sqlite { source, page_size, usable, pages: size / page_size as u64, tables: Vec::new() };
        let mut tables = Vec::new();
        database.walk(1, None, &[0, 2, 3, 4], &mut |row| {
            if row[0].text() == Some("table") {
                let field = |column: usize| row[column].text().unwrap_or_default();
                let (columns, key) = columns(field(3));
                let root = row[2].integer().and_then(|root| u64::try_from(root).ok()).unwrap_or(0);
                // The name is in the statement, too, but may be quoted there.
                tables.push(Table { name: field(1).to_owned(), root, columns, key });
            }
            Ok(())
        })?;
        database.tables = tables;
        Ok(database)
    }

    /// Calls `take` with these columns of each row of a table. Columns that the table lacks are null. Returns false if
    /// there is no such table.
    pub fn rows(
        &self,
        table: &str,
        columns: &[&str],
        mut take: impl FnMut(&[Value]) -> Result<(), Reason>,
    ) -> Result<bool, Reason> {
        let Some(table) = self.tables.iter().find(|other| other.name == table) else { return Ok(false) };
        let place = |name: &&str| table.columns.iter().position(|other| other.eq_ignore_ascii_case(name)).unwrap_or(usize::MAX);
        let places: Vec<usize> = columns.iter().map(place).collect();
        let walked = self.walk(table.root, table.key, &places, &mut take);
        walked.map(|()| true).map_err(|reason| reason.after(format_args!("table {}: ", quoted(&table.name))))
    }

    /// Reads a page, numbered from 1.
    fn page(&self, number: u64) -> Result<Vec<u8>, Reason> {
        if number == 0 || number > self.pages {
            return Err(format!("is damaged: there is no page {number}, only {}", self.pages).into());
        }
        let mut page = vec![0; self.page_size];
        self.source.read_exact_at(&mut page, (number - 1) * self.page_size as u64).map_err(unreadable)?;
        Ok(page)
    }

    /// Goes through the rows below a page.
    fn walk(
        &self,
        root: u64,
        key: Option<usize>,
        places: &[usize],
        take: &mut dyn FnMut(&[Value]) -> Result<(), Reason>,
    ) -> Result<(), Reason> {
        let damaged = |page: u64| Reason::from(format!("is damaged: page {page} has no rows of a table"));
        let (mut open, mut visited) = (vec![root], 0);
        while let Some(number) = open.pop() {
            visited += 1;
            if visited > self.pages {
                return Err("is damaged: its pages form a cycle".into());
            }
            let page = self.page(number)?;
            // The first page begins with the file's header.
            let start = if number == 1 { 100 } else { 0 };
            let count = usize::from(be16(&page, start + 3).ok_or_else(|| damaged(number))?);
            let is_leaf = match page[start] {
                0x0d => true,
                0x05 => false,
                _ => return Err(damaged(number)),
            };
            let cells = start + if is_leaf { 8 } else { 12 };
            let cell = |index: usize| be16(&page, cells + 2 * index).map(usize::from).ok_or_else(|| damaged(number));
            if is_leaf {
                for index in 0..count {
                    let row = self.payload(&page, cell(index)?)?.ok_or_else(|| damaged(number))?;
                    let (rowid, payload) = row;
                    take(&record(&payload, rowid, key, places).ok_or_else(|| damaged(number))?)?;
                }
            } else {
                // The last in is the first out.
                open.push(be32(&page, start + 8).ok_or_else(|| damaged(number))?);
                for index in (0..count).rev() {
                    open.push(be32(&page, cell(index)?).ok_or_else(|| damaged(number))?);
                }
            }
        }
        Ok(())
    }

    /// Returns the number of a row and its content, which may go on in other pages.
    fn payload(&self, page: &[u8], at: usize) -> Result<Option<(i64, Vec<u8>)>, Reason> {
        let read = || {
            let (size, at) = varint(page, at)?;
            let (rowid, at) = varint(page, at)?;
            Some((usize::try_from(size).ok()?, rowid, at))
        };
        let Some((size, rowid, at)) = read() else { return Ok(None) };
        if size > LONGEST_ROW {
            return Err(format!("has a row of {size} bytes, but at most {LONGEST_ROW} are read").into());
        }
        let most = self.usable - 35;
        let local = if size <= most {
            size
        } else {
            let least = (self.usable - 12) * 32 / 255 - 23;
            let rest = least + (size - least) % (self.usable - 4);
            if rest <= most { rest } else { least }
        };
        let Some(first) = page.get(at..at + local) else { return Ok(None) };
        let mut payload = first.to_vec();
        let mut next = if local < size { be32(page, at + local) } else { None };
        while payload.len() < size {
            let Some(number) = next else { return Ok(None) };
            let page = self.page(number)?;
            next = be32(&page, 0);
            let part = (size - payload.len()).min(self.usable - 4);
            payload.extend_from_slice(&page[4..4 + part]);
        }
        Ok(Some((rowid, payload)))
    }
}

fn unreadable(error: io::Error) -> Reason {
    Reason::because("can't be read", error)
}

fn be16(bytes: &[u8], at: usize) -> Option<u16> {
    bytes.get(at..at + 2).map(|bytes| u16::from_be_bytes([bytes[0], bytes[1]]))
}

fn be32(bytes: &[u8], at: usize) -> Option<u64> {
    bytes.get(at..at + 4).map(|bytes| bytes.iter().fold(0, |number, &byte| number << 8 | u64::from(byte)))
}

/// Returns the integer of variable length at a place, and the place after it.
fn varint(bytes: &[u8], at: usize) -> Option<(i64, usize)> {
    let mut number = 0_i64;
    for place in 0..9 {
        let byte = *bytes.get(at + place)?;
        if place == 8 {
            return Some((number << 8 | i64::from(byte), at + 9));
        }
        number = number << 7 | i64::from(byte & 0x7f);
        if byte < 0x80 {
            return Some((number, at + place + 1));
        }
    }
    None
}

/// Returns the values at these places of a row. The column `key` has the row's number.
fn record(payload: &[u8], rowid: i64, key: Option<usize>, places: &[usize]) -> Option<Vec<Value>> {
    let (header, mut at) = varint(payload, 0)?;
    let header = usize::try_from(header).ok().filter(|&end| end <= payload.len())?;
    let mut body = header;
    let mut fields: Vec<(i64, Range<usize>)> = Vec::new();
    while at < header {
        let (kind, next) = varint(payload, at)?;
        let size = match kind {
            0 | 8 | 9 => 0,
            1..=4 => usize::try_from(kind).ok()?,
            5 => 6,
            6 | 7 => 8,
            12.. => usize::try_from((kind - 12) / 2).ok()?,
            _ => return None,
        };
        let end = body.checked_add(size).filter(|&end| end <= payload.len())?;
        fields.push((kind, body..end));
        (at, body) = (next, end);
    }
    let value = |&place: &usize| {
        if key == Some(place) {
            return Value::Integer(rowid);
        }
        let Some((kind, range)) = fields.get(place) else { return Value::Null };
        let bytes = &payload[range.clone()];
        let negative = bytes.first().is_some_and(|byte| byte & 0x80 != 0);
        let integer = bytes.iter().fold(if negative { -1 } else { 0 }, |number: i64, &byte| number << 8 | i64::from(byte));
        match kind {
            0 => Value::Null,
            1..=6 => Value::Integer(integer),
            7 => Value::Real(f64::from_bits(integer as u64)),
            8 | 9 => Value::Integer(kind - 8),
            kind if kind % 2 == 1 => Value::Text(String::from_utf8_lossy(bytes).into_owned()),
            _ => Value::Blob,
        }
    };
    Some(places.iter().map(value).collect())
}

/// Returns the names of a table's columns by the statement that made it, and the column that stands for the row's number.
fn columns(statement: &str) -> (Vec<String>, Option<usize>) {
    let without_comments: Vec<&str> = statement.lines().map(|line| line.split("--").next().unwrap_or(line)).collect();
    let text = without_comments.join(" ");
    let inner = text.find('(').zip(text.rfind(')')).and_then(|(start, end)| text.get(start + 1..end)).unwrap_or_default();
    let (mut depth, mut parts) = (0_usize, vec![String::new()]);
    for c in inner.chars() {
        match c {
            '(' => depth += 1,
            ')' => depth = depth.saturating_sub(1),
            ',' if depth == 0 => {
                parts.push(String::new());
                continue;
            }
            _ => {}
        }
        parts.last_mut().expect("there is a first").push(c);
    }
    let (mut names, mut key) = (Vec::new(), None);
    for part in parts {
        let upper = part.to_uppercase();
        let mut words = upper.split_whitespace();
        let Some(first) = words.next() else { continue };
        if ["PRIMARY", "FOREIGN", "UNIQUE", "CHECK", "CONSTRAINT"].contains(&first) {
            continue;
        }
        if words.next() == Some("INTEGER") && upper.contains("PRIMARY KEY") {
            key = Some(names.len());
        }
        let name = part.split_whitespace().next().unwrap_or_default();
        names.push(name.trim_matches(['"', '`', '[', ']']).to_owned());
    }
    (names, key)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_of_statements() {
        let (names, key) = columns(
            "CREATE TABLE \"t\" ( -- a, comment\n id INTEGER NOT NULL PRIMARY KEY, -- (b)\n \"v w\" DECIMAL(10, 2),\n x, FOREIGN KEY (x) REFERENCES u (y))",
        );
        // A name with a space is cut; exports have none.
        assert_eq!((names, key), (vec!["id".to_owned(), "v".to_owned(), "x".to_owned()], Some(0)));
        assert_eq!(columns("CREATE TABLE t (id INT PRIMARY KEY)"), (vec!["id".to_owned()], None));
    }

    #[test]
    fn integers_of_variable_length() {
        for (bytes, wanted) in [
            (&[0x7f][..], Some((127, 1))),
            (&[0x81, 0x00], Some((128, 2))),
            (&[0xff; 9], Some((-1, 9))),
            (&[0x81], None),
            (&[], None),
        ] {
            assert_eq!(varint(bytes, 0), wanted, "{bytes:?}");
        }
    }
}
