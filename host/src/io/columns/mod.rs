//! Reads files of columns as tables of text: Parquet by the crate `parquet`, Arrow by the crate `arrow-ipc`.
//!
//! Columns of lists and maps are left out. A field of a structure has the name `structure.field`.

mod arrow;
mod parquet;

use std::{
    cell::Cell,
    io::{self, Cursor, Read},
    panic::{self, AssertUnwindSafe},
    sync::Once,
};

use ::parquet::{data_type::Decimal, record::Field};
use chrono::{DateTime, SecondsFormat, Utc};

use super::{
    decoded::invalid,
    files::Reason,
    source::{Source, quoted},
};

/// Number of rows that are read at once.
const BATCH: usize = 1024;
/// Largest number of decimal places.
const MOST_PLACES: i32 = 38;

/// Rows of a file.
trait Rows: Send {
    /// Names of the columns.
    fn names(&self) -> Vec<&str>;

    /// Returns the next rows as CSV. It is empty at the end.
    fn batch(&mut self) -> io::Result<Vec<u8>>;
}

/// The table as CSV with a header, and [`NULL`](super::table::NULL) for no value.
struct Table<T> {
    rows: T,
    text: Cursor<Vec<u8>>,
}

/// Opens a Parquet file. `input` has the bytes of a pipe, from its start.
pub(super) fn parquet(source: &Source, input: &mut impl Read) -> Result<Box<dyn Read + Send>, Reason> {
    table("Parquet", || parquet::Parquet::new(source, input))
}

/// Opens an Arrow file (Feather version 2), or a stream.
pub(super) fn arrow(source: &Source, input: impl Read + Send + 'static) -> Result<Box<dyn Read + Send>, Reason> {
    table("Arrow", || arrow::Arrow::new(source.size(), input))
}

fn table<T: Rows + 'static>(format: &str, rows: impl FnOnce() -> io::Result<T>) -> Result<Box<dyn Read + Send>, Reason> {
    let table = guarded(|| {
        let rows = rows()?;
        if rows.names().is_empty() {
            return Err(invalid("it has no columns of single values".into()));
        }
        Ok(Table { text: Cursor::new(lines([rows.names()])?), rows })
    });
    Ok(Box::new(table.map_err(|error| Reason::because(&format!("can't be read as {format}"), error))?))
}

impl<T: Rows> Read for Table<T> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let read = self.text.read(buffer)?;
        if read > 0 || buffer.is_empty() {
            return Ok(read);
        }
        self.text = Cursor::new(guarded(|| self.rows.batch())?);
        self.text.read(buffer)
    }
}

/// Writes rows as CSV.
fn lines<R: IntoIterator<Item: AsRef<[u8]>>>(rows: impl IntoIterator<Item = R>) -> io::Result<Vec<u8>> {
    let mut text = csv::Writer::from_writer(Vec::new());
    rows.into_iter().try_for_each(|row| text.write_record(row))?;
    text.into_inner().map_err(|error| error.into_error())
}

fn in_column(name: &str, error: io::Error) -> io::Error {
    io::Error::new(error.kind(), format!("column {}: {error}", quoted(name)))
}

fn decimal(value: Decimal) -> String {
    Field::Decimal(value).to_string().trim_end_matches('.').to_owned()
}

/// Shows an integer with decimal places.
fn places(value: i64, places: i32) -> String {
    decimal(Decimal::from_i64(value, places, places))
}

/// Shows a day, counted from 1970-01-01.
fn date(day: i64) -> String {
    let midnight = time(DateTime::from_timestamp(86_400 * day, 0), SecondsFormat::Secs, false);
    midnight.trim_end_matches("T00:00:00").to_owned()
}

/// Shows a date and time as in RFC 3339. Without one, the text is an error where readers need a time.
fn time(time: Option<DateTime<Utc>>, digits: SecondsFormat, utc: bool) -> String {
    let Some(time) = time else { return "a time out of range".to_owned() };
    let digits = if time.timestamp_subsec_nanos() == 0 { SecondsFormat::Secs } else { digits };
    let text = time.to_rfc3339_opts(digits, true);
    if utc { text } else { text.trim_end_matches('Z').to_owned() }
}

/// Shows a UUID; other bytes as they are.
fn uuid(bytes: &[u8]) -> Vec<u8> {
    let Ok(bytes) = <[u8; 16]>::try_from(bytes) else { return bytes.to_vec() };
    let digits = format!("{:032x}", u128::from_be_bytes(bytes));
    [&digits[..8], &digits[8..12], &digits[12..16], &digits[16..20], &digits[20..]].join("-").into()
}

/// Runs a part of a reader. Panics of its crate, which damaged files cause, are errors.
fn guarded<T>(work: impl FnOnce() -> io::Result<T>) -> io::Result<T> {
    thread_local!(static IS_QUIET: Cell<bool> = const { Cell::new(false) });
    static HOOK: Once = Once::new();
    // Messages of these panics say nothing to users.
    HOOK.call_once(|| {
        let others = panic::take_hook();
        panic::set_hook(Box::new(move |info| {
            if !IS_QUIET.get() {
                others(info);
            }
        }));
    });
    IS_QUIET.set(true);
    let outcome = panic::catch_unwind(AssertUnwindSafe(work));
    IS_QUIET.set(false);
    outcome.unwrap_or_else(|_| Err(invalid("it is damaged".into())))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn decimals() {
        for (number, digits, wanted) in [(0, 0, "0"), (-50, 0, "-50"), (5, 3, "0.005"), (-1234, 3, "-1.234"), (-4, 1, "-0.4")] {
            assert_eq!(places(number, digits), wanted);
        }
    }
}
