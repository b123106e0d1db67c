//! Functions as tables of text.

use std::{
    borrow::Cow,
    io::{self, Write},
    path::Path,
    sync::Arc,
};

use chrono::{DateTime, NaiveDate, NaiveDateTime, Utc};
use csv::Writer;

use super::Raw;
use crate::{
    io::{Names, Reason, Role, Table, TableOptions, at, npy::Element, push},
    pcf::{Field, PcfError, PcfReal, PcfSet, Point, Repairs, Window, set::check_number},
};

/// The columns of functions.
const ROLES: &[Role] = &[
    Role {
        name: "id",
        also: &["function", "series", "seriesid", "name", "curve", "key", "sensor"],
        is: |_| true,
        required: false,
    },
    Role { name: "t", also: &["time", "timestamp", "date", "datetime", "ts"], is: |text| time(text).is_some(), required: true },
    Role { name: "v", also: &["value", "y", "reading"], is: |text| text.parse::<f64>().is_ok(), required: true },
];

/// Parses a time: a number, a date, or a date and time as in RFC 3339, in seconds since 1970. UTC unless an offset is given.
/// Seconds may be left out.
pub fn time(text: &str) -> Option<f64> {
    Some(Time::parse(text)?.since(0))
}

/// A time of a table.
#[derive(Clone, Copy)]
enum Time {
    Number(f64),
    /// One of a calendar.
    Utc(DateTime<Utc>),
}

impl Time {
    fn parse(text: &str) -> Option<Self> {
        let text = text.trim();
        text.parse().ok().map(Time::Number).or_else(|| instant(&text.to_ascii_uppercase()).map(Time::Utc))
    }

    /// Seconds since 1970, less `base`.
    fn since(self, base: i64) -> f64 {
        match self {
            Time::Number(number) => number - base as f64,
            Time::Utc(time) => {
                let seconds = i128::from(time.timestamp() - base);
                (1_000_000_000 * seconds + i128::from(time.timestamp_subsec_nanos())) as f64 / 1e9
            }
        }
    }
}

fn instant(text: &str) -> Option<DateTime<Utc>> {
    let utc = text.strip_suffix('Z').or_else(|| text.strip_suffix(" UTC"));
    let text = utc.map_or(Cow::Borrowed(text), |local| format!("{local}+00:00").into());
    let formats = ["%Y-%m-%dT%H:%M:%S%.f", "%Y-%m-%d %H:%M:%S%.f", "%Y-%m-%dT%H:%M", "%Y-%m-%d %H:%M"];
    let with_offset = |format: &&str| DateTime::parse_from_str(&text, &format!("{format}%#z")).ok().map(|time| time.to_utc());
    let without = |format: &&str| NaiveDateTime::parse_from_str(&text, format).ok().map(|time| time.and_utc());
    let date = || Some(NaiveDate::parse_from_str(&text, "%Y-%m-%d").ok()?.and_hms_opt(0, 0, 0)?.and_utc());
    formats.iter().find_map(|format| with_offset(format).or_else(|| without(format))).or_else(date)
}

/// Returns the names, unless they are the numbers from 0 on.
pub(super) fn unless_numbers(names: Names) -> Option<Arc<[String]>> {
    let names = names.into_vec();
    let is_number = names.iter().enumerate().all(|(number, name)| *name == number.to_string());
    (!is_number).then(|| names.into())
}

/// A row of a table: the function, the breakpoint and the line.
type Row = (usize, Point<f64>, u64);

/// The rows of a table.
struct Rows<T> {
    functions: usize,
    names: Option<Arc<[String]>>,
    rows: Vec<Row>,
    /// The breakpoints in order of their lines, rounded once, not to `f64` first. Only for other types than `f64`.
    narrow: Vec<(u64, Point<T>)>,
    /// Second since 1970 from which times are counted, if they are those of a calendar: a second of 1970 has more digits than
    /// one of today.
    base: Option<i64>,
}

impl<T: PcfReal> Rows<T> {
    /// Reads rows. Times of a calendar count from the first one if they are `relative`, or else from 1970.
    fn read(path: &Path, options: &TableOptions, relative: bool) -> Result<Self, Reason> {
        let with_hint = |reason: Reason| match reason.to_string() {
            text if text.contains("`birth`") => format!("{text}; barcodes become functions by --curve").into(),
            _ => reason,
        };
        let (mut table, places) = Table::open_columns(path, ROLES, options).map_err(with_hint)?;
        let [id, Some(t), Some(v)] = places[..] else { unreachable!("the columns are required") };
        let (mut names, mut rows, mut narrow, mut base) = (Names::default(), Vec::new(), Vec::new(), None);
        while table.next()? {
            let function = names.number(id.map_or(Ok("0"), |id| table.name(id))?)?;
            let of_time = Time::parse(table.text(t)).ok_or_else(|| table.field_error(t, "a number or a time of RFC 3339"))?;
            match (of_time, base) {
                (Time::Number(_), Some(_)) => return Err(table.field_error(t, "a time of a calendar, unlike earlier ones")),
                (Time::Utc(_), None) if !rows.is_empty() => return Err(table.field_error(t, "a number, unlike earlier times")),
                (Time::Utc(time), None) => base = Some(if relative { time.timestamp() } else { 0 }),
                _ => {}
            }
            let of_time = of_time.since(base.unwrap_or(0));
            table.check_order(rows.last().is_none_or(|(_, last, _): &Row| last.t < of_time))?;
            push(&mut rows, (function, Point::new(of_time, table.field(v, "a number")?), table.line()))?;
            if T::KIND != f64::KIND {
                let of_time = table.text(t).parse().unwrap_or_else(|_| T::from_f64(of_time));
                push(&mut narrow, (table.line(), Point::new(of_time, table.field(v, "a number")?)))?;
            }
        }
        Ok(Rows { functions: names.len(), names: unless_numbers(names), rows, narrow, base })
    }

    /// Sorts rows by function and time. Of those at the same time, the first stays first.
    fn sort(&mut self) {
        // Zeros of both signs are the same time.
        let key = |row: &Row| (row.0, row.1.t + 0.0);
        if !self.rows.is_sorted_by(|a, b| key(a) <= key(b)) {
            self.rows.sort_by(|a, b| key(a).0.cmp(&key(b).0).then(key(a).1.total_cmp(&key(b).1)));
        }
    }

    fn offsets(&self) -> Vec<usize> {
        (0..=self.functions).map(|function| self.rows.partition_point(|row| row.0 < function)).collect()
    }

    fn raw<U>(&self, point: impl Fn(&Row) -> Point<U>) -> Raw<U> {
        let points = self.rows.iter().map(point).collect();
        Raw { offsets: self.offsets(), points, shape: None, names: self.names.clone() }
    }
}

/// Reads functions. Their rows may have any order. With `repairs`, those that need it are repaired.
pub fn load<T: PcfReal>(path: &Path, options: &TableOptions, repairs: Option<&mut Repairs>) -> Result<PcfSet<T>, PcfError> {
    let fail = |reason: Reason| PcfError::file(path, reason);
    let mut rows = Rows::<T>::read(path, options, false).map_err(fail)?;
    rows.sort();
    let place = |point: Option<usize>, error: PcfError| match point {
        Some(point) => fail(at(rows.rows[point].2, with_hint(error)).into()),
        None => PcfError::file(path, error.to_string()),
    };
    let wide = rows.raw(|row| row.1).set(&Window::default(), repairs, place)?;
    if rows.narrow.is_empty() {
        return wide.into_cast();
    }
    let narrow = |row: &Row| rows.narrow[rows.narrow.partition_point(|(line, _)| *line < row.2)].1;
    rows.raw(narrow).set(&Window::default(), None, place).map_err(|error| match wide.cast::<T>() {
        Err(narrow) => PcfError::file(path, narrow.to_string()),
        Ok(_) => error,
    })
}

/// The error's text, for a function that starts late with what to do.
fn with_hint(error: PcfError) -> String {
    let hint = if let PcfError::Start { .. } = error { ": choose a window (--from T) or shift functions (--align)" } else { "" };
    format!("{error}{hint}")
}

/// Reads the part of functions in a window. They may start at any time. With `repairs`, the last of several breakpoints at
/// one time counts.
pub fn load_window(
    path: &Path,
    options: &TableOptions,
    window: &Window,
    mut repairs: Option<&mut Repairs>,
) -> Result<PcfSet<f64>, PcfError> {
    let fail = |reason: Reason| PcfError::file(path, reason);
    window.range()?;
    let mut rows = Rows::<f64>::read(path, options, true).map_err(fail)?;
    rows.sort();
    if !rows.rows.is_empty() && window.of_calendar == Some(rows.base.is_none()) {
        let both = if rows.base.is_none() { ["numbers", "of a calendar"] } else { ["of a calendar", "numbers"] };
        return Err(fail(format!("the times are {}, but those of the window are {}", both[0], both[1]).into()));
    }
    let base = rows.base.unwrap_or(0) as f64;
    let mut functions: Vec<Vec<Point<f64>>> = Vec::new();
    for (function, own) in rows.offsets().windows(2).enumerate() {
        let own = &rows.rows[own[0]..own[1]];
        let mut given: Vec<Point<f64>> = Vec::with_capacity(own.len());
        let mut merged = false;
        for (breakpoint, (_, point, line)) in own.iter().enumerate() {
            let wrong = |error: PcfError| fail(at(*line, error).into());
            check_number(function, breakpoint, Field::Time, point.t).map_err(wrong)?;
            check_number(function, breakpoint, Field::Value, point.v).map_err(wrong)?;
            match given.last_mut() {
                Some(last) if last.t == point.t && repairs.is_some() => {
                    last.v = point.v;
                    merged = true;
                }
                Some(last) if last.t == point.t => {
                    let t = base + point.t;
                    return Err(wrong(PcfError::Order { function, breakpoint, t, previous: t }));
                }
                _ => given.push(*point),
            }
        }
        if let Some(repairs) = &mut repairs {
            repairs.merged += usize::from(merged);
        }
        functions.push(given);
    }
    // A time of the window has microseconds at most.
    let shifted = |time: f64| if rows.base.is_some() { ((time - base) * 1e6).round() / 1e6 } else { time };
    let from = if window.align { window.from } else { Some(shifted(window.from.unwrap_or(0.0))) };
    let until = if window.align { window.until } else { window.until.map(shifted) };
    let set = PcfSet::in_window(functions.iter().map(|function| &function[..]), &Window { from, until, ..*window });
    set.map_err(|error| PcfError::file(path, error.to_string()))?.with_names(rows.names)
}

/// Writes functions, with the fewest digits that identify each number.
pub fn write<T: PcfReal>(set: &PcfSet<T>, file: impl Write) -> io::Result<()> {
    let mut writer = Writer::from_writer(file);
    writer.write_record(["function", "t", "v"]).map_err(io::Error::from)?;
    for (function, f) in set.iter().enumerate() {
        let number = function.to_string();
        let name = set.names().map_or(&number, |names| &names[function]);
        for point in f.points() {
            writer.write_record([&**name, &format!("{:?}", point.t), &format!("{:?}", point.v)]).map_err(io::Error::from)?;
        }
    }
    writer.flush()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times() {
        for (text, seconds) in [
            ("1.5", Some(1.5)),
            ("-2e3", Some(-2000.0)),
            ("1970-01-01", Some(0.0)),
            ("1970-01-02T00:00:01.25Z", Some(86401.25)),
            ("1970-01-02 00:00:01", Some(86401.0)),
            ("1970-01-01T02:00:00+02:00", Some(0.0)),
            ("2000-03-01T00:00", Some(951_868_800.0)),
            ("2000-03-01 01:00Z", Some(951_872_400.0)),
            ("2000-03-01 01:00:00.5-0100", Some(951_876_000.5)),
            ("2000-03-01t01:00:00z", Some(951_872_400.0)),
            ("2000-03-01 01:00:00+00", Some(951_872_400.0)),
            ("2000-03-01 01:00:00 UTC", Some(951_872_400.0)),
            ("1969-12-31T23:59:59.5Z", Some(-0.5)),
            ("2000-13-01", None),
            ("noon", None),
            ("", None),
        ] {
            assert_eq!(time(text), seconds, "{text}");
        }
    }
}
