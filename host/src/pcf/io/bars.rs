//! Barcodes: tables, and what ripser, GUDHI and giotto-tda write.

use std::{
    collections::BTreeSet,
    fmt::{self, Display},
    path::Path,
    sync::Arc,
};

use serde::de::{Deserialize, Deserializer, Error, MapAccess, SeqAccess, Visitor};
use serde_json::{Map, Value};

use super::{BarcodeOptions, Barcodes, Infinite, bars_of, csv::unless_numbers, npz};
use crate::{
    io::{Lines, Names, Reason, Role, Source, Table, TableOptions, at, brief, check_room, extension, npy::Reader, push, quoted},
    pcf::{
        PcfError,
        barcode::{Bar, Barcode, Filtration},
    },
};

const ROLES: &[Role] = &[
    Role { name: "barcode", also: &["id", "name", "sample", "cloud", "diagram", "index"], is: |_| true, required: false },
    Role {
        name: "dimension",
        also: &["dim", "degree", "homologydimension", "q"],
        is: |text| text.is_empty() || text.parse::<u32>().is_ok(),
        required: false,
    },
    Role { name: "birth", also: &["b", "start"], is: is_number, required: true },
    Role { name: "death", also: &["d", "end"], is: is_number, required: true },
];

fn is_number(text: &str) -> bool {
    text.is_empty() || text.parse::<f64>().is_ok()
}

/// Bars as they are read, before those of one dimension are chosen.
#[derive(Default)]
pub(super) struct Bars {
    /// The barcodes' names, `None` if they have numbers.
    pub names: Option<Arc<[String]>>,
    pub barcodes: usize,
    /// True if the file can hold several barcodes.
    pub many: bool,
    pub rows: Vec<Row>,
    /// Dimensions that the file has a place for, even without bars.
    pub dimensions: BTreeSet<u32>,
}

/// A bar as it is read.
pub(super) struct Row {
    barcode: usize,
    dimension: Option<u32>,
    bar: Bar,
    /// The line or the row of an array.
    place: u64,
}

impl Bars {
    pub fn push(&mut self, barcode: usize, dimension: Option<u32>, bar: Bar, place: u64) -> Result<(), Reason> {
        push(&mut self.rows, Row { barcode, dimension, bar, place })
    }

    /// Divides the bars among barcodes by offsets.
    pub fn divide(&mut self, offsets: &[usize]) {
        self.many = true;
        self.barcodes = offsets.len() - 1;
        for (barcode, range) in offsets.windows(2).enumerate() {
            self.rows[range[0]..range[1]].iter_mut().for_each(|row| row.barcode = barcode);
        }
    }

    /// Chooses the bars, and checks them. `place` puts a place before an error.
    pub fn choose(mut self, options: BarcodeOptions, place: impl Fn(u64, String) -> Reason) -> Result<Chosen, Reason> {
        let mut lack = None;
        let dimensions: BTreeSet<u32> = self.rows.iter().filter_map(|row| row.dimension).collect();
        let named = || {
            let names: Vec<_> = dimensions.iter().take(10).map(u32::to_string).collect();
            let more = if dimensions.len() > names.len() { ", ..." } else { "" };
            format!("{}{more}", names.join(", "))
        };
        let whose = |barcode: usize| match &self.names {
            Some(names) => format!(", barcode {}", quoted(&names[barcode])),
            None if self.many => format!(", barcode {barcode}"),
            None => String::new(),
        };
        let untold = self.rows.iter().find(|row| row.dimension.is_none()).filter(|_| !dimensions.is_empty());
        if let (Some(row), Some(wanted)) = (untold, options.dimension) {
            let text = format!("a bar without a dimension{}: there is none to choose dimension {wanted} by", whose(row.barcode));
            return Err(place(row.place, text));
        }
        match options.dimension {
            None if dimensions.len() > 1 => {
                return Err(format!("has bars of the dimensions {}: choose one (--dimension)", named()).into());
            }
            Some(wanted) if dimensions.is_empty() && !self.rows.is_empty() => {
                return Err(
                    format!("doesn't tell the dimensions of its bars: there are none to choose dimension {wanted} by").into()
                );
            }
            Some(wanted) => {
                if !dimensions.is_empty() && !dimensions.contains(&wanted) && !self.dimensions.contains(&wanted) {
                    lack = Some(format!("has no bars of dimension {wanted}, only of {}", named()));
                }
                self.rows.retain(|row| row.dimension == Some(wanted));
            }
            None => {}
        }
        if !self.rows.is_sorted_by_key(|row| row.barcode) {
            self.rows.sort_by_key(|row| row.barcode);
        }
        let mut rest = &self.rows[..];
        let of = |barcode: usize| {
            let (own, after) = rest.split_at(rest.partition_point(|row| row.barcode <= barcode));
            rest = after;
            Barcode::of(options.filtration, own.iter().map(|row| row.bar)).map(|code| ends(code, options)).map_err(|error| {
                match error {
                    PcfError::Bar { bar, .. } if self.many => {
                        let name = self.names.as_ref().map_or_else(|| barcode.to_string(), |names| quoted(&names[barcode]));
                        place(own[bar].place, format!("barcode {name}, {error}"))
                    }
                    PcfError::Bar { bar, .. } => place(own[bar].place, error.to_string()),
                    error => error.to_string().into(),
                }
            })
        };
        let barcodes = (0..self.barcodes).map(of).collect::<Result<_, _>>()?;
        Ok(Chosen { barcodes: Barcodes { barcodes, names: self.names }, lack })
    }
}

/// The barcodes of a file, and an error's text if it lacks the dimension that is asked for.
pub(super) struct Chosen {
    pub barcodes: Barcodes,
    pub lack: Option<String>,
}

/// Drops bars without end, or gives them one.
fn ends(barcode: Barcode, options: BarcodeOptions) -> Barcode {
    let end = match options.infinite {
        Infinite::Keep => return barcode,
        Infinite::Drop => None,
        Infinite::Cap(end) => Some(end),
    };
    let capped = barcode.bars().iter().filter_map(|&bar| match end {
        _ if bar.death.is_finite() => Some(bar),
        Some(end) => {
            let death = if options.filtration == Filtration::Sublevel { end.max(bar.birth) } else { end.min(bar.birth) };
            Some(Bar { death, ..bar })
        }
        None => None,
    });
    Barcode::of_valid(options.filtration, capped.collect())
}

/// Reads barcodes from any file but an archive; the content tells the format.
pub fn load(path: &Path, options: BarcodeOptions, table: &TableOptions) -> Result<Chosen, PcfError> {
    let fail = |reason: Reason| PcfError::file(path, reason);
    // Values of JSON have no lines.
    let lined = |line: u64, text: String| if line == 0 { text.into() } else { at(line, text).into() };
    match extension(path).as_str() {
        "npy" => return array(path, options).map_err(fail),
        "npz" => return npz::load_barcodes(path, options),
        _ => {}
    }
    let mut lines = Lines::open(path).map_err(fail)?;
    let more = lines.next_filled().map_err(fail)?;
    let first = lines.line().trim_ascii_start().to_owned();
    lines.back();
    let bars = match &first[..] {
        _ if lines.is_named() || *table != TableOptions::default() => rows(lines, table),
        [b'{', ..] => json(lines),
        [b'[', ..] if !first.contains(&b')') => json(lines),
        start if is_ripser(start) => ripser(lines),
        start if more && (start.starts_with(b"#") || is_pers(start)) => pers(lines),
        _ => rows(lines, table),
    };
    bars.and_then(|bars| bars.choose(options, lined)).map_err(fail)
}

/// Reads a table.
fn rows(lines: Lines, options: &TableOptions) -> Result<Bars, Reason> {
    let (mut table, places) = Table::of_columns(lines, ROLES, options)?;
    let [barcode, dimension, Some(birth), Some(death)] = places[..] else { unreachable!("the columns are required") };
    let (mut names, mut bars) = (Names::default(), Bars { many: barcode.is_some(), ..Bars::default() });
    while table.next()? {
        let number = names.number(barcode.map_or(Ok("0"), |barcode| table.name(barcode))?)?;
        let others = (0..table.header().len()).filter(|column| ![barcode, dimension].contains(&Some(*column)));
        let is_empty = barcode.is_some() && others.clone().count() > 0 && others.into_iter().all(|column| table.is_empty(column));
        let dimension = dimension.filter(|&column| !(is_empty && table.is_empty(column)));
        let dimension =
            dimension.map(|column| table.field::<u32>(column, "a dimension, a whole number from 0 on")).transpose()?;
        if is_empty {
            bars.dimensions.extend(dimension);
            continue;
        }
        let bar =
            Bar { birth: table.field(birth, "a number")?, death: table.field(death, "a number, or inf for a bar without end")? };
        bars.push(number, dimension, bar, table.line())?;
    }
    bars.barcodes = if barcode.is_some() { names.len() } else { 1 };
    bars.names = unless_numbers(names);
    Ok(bars)
}

fn is_ripser(line: &[u8]) -> bool {
    let starts: [&[u8]; 6] =
        [b"value range", b"persistence intervals", b"distance matrix with", b"point cloud with", b"sparse distance matrix", b"["];
    starts.iter().any(|start| line.starts_with(start))
}

/// Reads what ripser prints: bars like `[0,1.5)` and `[0, )` below the line of their dimension.
fn ripser(mut lines: Lines) -> Result<Bars, Reason> {
    let mut bars = Bars { barcodes: 1, ..Bars::default() };
    let mut dimension = None;
    while lines.next_filled()? {
        let line = lines.text()?.trim();
        if let Some(rest) = line.strip_prefix("persistence intervals in dim") {
            let number = rest.trim().trim_end_matches(':').parse();
            dimension = Some(number.map_err(|_| lines.error("the dimension is not a whole number"))?);
            bars.dimensions.extend(dimension);
        } else if let Some(interval) = line.strip_prefix('[') {
            // Representatives of cycles may follow the bar.
            let (interval, _) = interval.split_once(')').ok_or_else(|| lines.error("a bar is like `[0,1.5)`"))?;
            let ends = interval.split_once(',').map(|(birth, death)| (birth.trim().parse(), death.trim()));
            let bar = match ends {
                Some((Ok(birth), "")) => Some(Bar { birth, death: f64::INFINITY }),
                Some((Ok(birth), death)) => death.parse().ok().map(|death| Bar { birth, death }),
                _ => None,
            };
            let bar = bar.ok_or_else(|| lines.error(format_args!("{} is no bar: one is like `[0,1.5)`", quoted(line))))?;
            bars.push(0, dimension, bar, lines.number())?;
        }
    }
    Ok(bars)
}

/// Numbers of a row of GUDHI's persistence files.
fn numbers(line: &str) -> impl Iterator<Item = &str> {
    line.split(|c: char| c.is_whitespace() || ",;|".contains(c)).filter(|word| !word.is_empty())
}

fn is_pers(line: &[u8]) -> bool {
    let Ok(line) = std::str::from_utf8(line) else { return false };
    (2..=4).contains(&numbers(line).count()) && numbers(line).all(|word| word.parse::<f64>().is_ok())
}

/// Reads GUDHI's persistence files: lines of `[[field] dimension] birth death`.
fn pers(mut lines: Lines) -> Result<Bars, Reason> {
    let mut bars = Bars { barcodes: 1, ..Bars::default() };
    while lines.next_filled()? {
        let line = lines.text()?.trim();
        if line.starts_with('#') {
            continue;
        }
        let words: Vec<&str> = numbers(line).collect();
        let (dimension, ends) = match words[..] {
            [birth, death] => (None, [birth, death]),
            [dimension, birth, death] | [_, dimension, birth, death] => (Some(dimension), [birth, death]),
            _ => {
                let count = words.len();
                return Err(
                    lines.error(format_args!("there are {count} numbers, but a bar has 2 to 4: [[field] dimension] birth death"))
                );
            }
        };
        let whole =
            |word: &str| word.parse::<u32>().map_err(|_| lines.error(format_args!("{} is not a dimension", quoted(word))));
        let number = |word: &str| word.parse::<f64>().map_err(|_| lines.error(format_args!("{} is not a number", quoted(word))));
        let (dimension, bar) = (dimension.map(whole).transpose()?, Bar { birth: number(ends[0])?, death: number(ends[1])? });
        bars.push(0, dimension, bar, lines.number())?;
    }
    Ok(bars)
}

/// Reads an array of bars.
fn array(path: &Path, options: BarcodeOptions) -> Result<Chosen, Reason> {
    let mut bars = Bars::default();
    add_array(&mut bars, Reader::<Source>::open(path)?)?;
    bars.choose(options, |_, text| text.into())
}

/// Adds the barcodes of an array: (bars, 2), (bars, 3) with dimensions last, or (barcodes, bars, 3), where bars of length
/// 0 fill the rows up.
pub(super) fn add_array(bars: &mut Bars, array: Reader<impl crate::io::Input>) -> Result<(), Reason> {
    let (barcodes, rows, columns) = match *array.shape() {
        [rows, columns @ (2 | 3)] => (1, rows, columns),
        [barcodes, rows, 3] => (barcodes, rows, 3),
        _ => (0, 0, 0),
    };
    let many = array.shape().len() == 3;
    let values = bars_of(array)?;
    let first = bars.barcodes;
    bars.barcodes += barcodes;
    bars.many |= many;
    for (row, values) in values.chunks_exact(columns.max(1)).enumerate() {
        let bar = Bar { birth: values[0], death: values[1] };
        let dimension = match values.get(2) {
            None => None,
            Some(&number) if number >= 0.0 && number.fract() == 0.0 && number <= f64::from(u32::MAX) => Some(number as u32),
            Some(number) => return Err(format!("row {row}: {number} is not a dimension").into()),
        };
        // Giotto-tda's padding.
        if many && bar.birth == bar.death {
            bars.dimensions.extend(dimension);
            continue;
        }
        bars.push(first + row / rows.max(1), dimension, bar, row as u64)?;
    }
    Ok(())
}

/// Reads barcodes as JSON: one like `{"dgms": [[[0, 1.5]], []]}` or lists of `[birth, death]` or
/// `[dimension, [birth, death]]`, or a list or an object of such.
fn json(lines: Lines) -> Result<Bars, Reason> {
    let text = with_infinities(&lines.into_text()?);
    // About what the values take.
    check_room(4 * text.len())?;
    let Unique(value) = serde_json::from_str(&text).map_err(brief)?;
    let mut bars = Bars { barcodes: 1, ..Bars::default() };
    let several = |bars: &mut Bars, name: &dyn Display, barcode, value| {
        add_json(bars, barcode, value).map_err(|reason| reason.after(format_args!("barcode {name}: ")))
    };
    match value {
        value if is_one(&value) => add_json(&mut bars, 0, &value)?,
        Value::Array(values) => {
            bars = Bars { barcodes: values.len(), many: true, ..bars };
            values.iter().enumerate().try_for_each(|(barcode, value)| several(&mut bars, &barcode, barcode, value))?;
        }
        Value::Object(values) => {
            let names = values.keys().cloned().collect();
            bars = Bars { barcodes: values.len(), many: true, names: Some(names), ..bars };
            let mut each = values.iter().enumerate();
            each.try_for_each(|(barcode, (name, value))| several(&mut bars, &quoted(name), barcode, value))?;
        }
        _ => return Err("has no barcodes".into()),
    }
    Ok(bars)
}

/// A value whose objects have no key twice.
struct Unique(Value);

impl<'de> Deserialize<'de> for Unique {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        from.deserialize_any(UniqueVisitor)
    }
}

struct UniqueVisitor;

impl<'de> Visitor<'de> for UniqueVisitor {
    type Value = Unique;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a value")
    }

    fn visit_bool<E>(self, value: bool) -> Result<Unique, E> {
        Ok(Unique(value.into()))
    }

    fn visit_i64<E>(self, value: i64) -> Result<Unique, E> {
        Ok(Unique(value.into()))
    }

    fn visit_u64<E>(self, value: u64) -> Result<Unique, E> {
        Ok(Unique(value.into()))
    }

    fn visit_f64<E>(self, value: f64) -> Result<Unique, E> {
        Ok(Unique(value.into()))
    }

    fn visit_str<E>(self, value: &str) -> Result<Unique, E> {
        Ok(Unique(value.into()))
    }

    fn visit_unit<E>(self) -> Result<Unique, E> {
        Ok(Unique(Value::Null))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Unique, A::Error> {
        let mut values = Vec::new();
        while let Some(Unique(value)) = list.next_element()? {
            values.push(value);
        }
        Ok(Unique(values.into()))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut object: A) -> Result<Unique, A::Error> {
        let mut values = Map::new();
        while let Some(key) = object.next_key::<String>()? {
            let Unique(value) = object.next_value()?;
            let name = quoted(&key);
            if values.insert(key, value).is_some() {
                return Err(A::Error::custom(format_args!("the key {name} is there twice")));
            }
        }
        Ok(Unique(values.into()))
    }
}

/// Quotes the infinities and NaN that Python writes, which JSON lacks.
fn with_infinities(text: &str) -> String {
    let (mut quoted, mut rest, mut within) = (String::with_capacity(text.len()), text, false);
    while let Some(at) = rest.find(['"', 'I', 'N', '-', '\\']) {
        let (before, after) = rest.split_at(at);
        quoted.push_str(before);
        let word = ["-Infinity", "Infinity", "NaN"].into_iter().find(|word| !within && after.starts_with(word));
        let length = match (word, after.as_bytes()[0]) {
            (Some(word), _) => {
                quoted.extend(["\"", word, "\""]);
                word.len()
            }
            (None, b'\\') => {
                let length = 1 + after[1..].chars().next().map_or(0, char::len_utf8);
                quoted.push_str(&after[..length]);
                length
            }
            (None, byte) => {
                within ^= byte == b'"';
                quoted.push_str(&after[..1]);
                1
            }
        };
        rest = &after[length..];
    }
    quoted.push_str(rest);
    quoted
}

fn number_of(value: &Value) -> Option<f64> {
    match value {
        Value::Number(number) => number.as_f64(),
        // A death that is missing.
        Value::Null => Some(f64::INFINITY),
        Value::String(text) => text.parse().ok(),
        _ => None,
    }
}

fn pair(value: &Value) -> Option<(Option<u32>, Bar)> {
    let Value::Array(values) = value else { return None };
    match &values[..] {
        [dimension, nested @ Value::Array(_)] => {
            let dimension = u32::try_from(dimension.as_u64()?).ok()?;
            pair(nested).filter(|(inner, _)| inner.is_none()).map(|(_, bar)| (Some(dimension), bar))
        }
        [birth, death] => Some((None, Bar { birth: birth.as_f64()?, death: number_of(death)? })),
        _ => None,
    }
}

/// The diagrams of an object, each with its dimension.
fn diagrams(object: &Map<String, Value>) -> Option<Vec<(u32, &Value)>> {
    if let Some(Value::Array(diagrams)) = object.get("dgms") {
        return Some((0..).zip(diagrams).collect());
    }
    let dimension = |key: &str| key.trim_start_matches(|c: char| c.is_alphabetic() || c == '_').parse().ok();
    object.iter().map(|(key, value)| Some((dimension(key)?, value))).collect()
}

/// Returns true if this is a barcode rather than several.
fn is_one(value: &Value) -> bool {
    let is_bar = |value: &Value| pair(value).is_some();
    match value {
        Value::Object(object) => {
            let is_list = |value: &Value| value.as_array().is_some_and(|bars| bars.iter().all(is_bar));
            let of_dimensions = object.get("dgms").and_then(Value::as_array).is_some_and(|lists| !lists.iter().any(is_bar));
            let all = |diagrams: Vec<(u32, &Value)>| diagrams.iter().all(|(_, bars)| is_list(bars));
            of_dimensions || !object.is_empty() && diagrams(object).is_some_and(all)
        }
        Value::Array(bars) => bars.iter().any(is_bar),
        _ => false,
    }
}

fn add_json(bars: &mut Bars, barcode: usize, value: &Value) -> Result<(), Reason> {
    let mut add = |dimension: Option<u32>, list: &Value| -> Result<(), Reason> {
        let list = list.as_array().ok_or("bars must be a list of [birth, death]")?;
        for (index, value) in list.iter().enumerate() {
            let (own, bar) = pair(value).ok_or_else(|| {
                format!("bar {index}: {} is neither [birth, death] nor [dimension, [birth, death]]", quoted(&value.to_string()))
            })?;
            bars.push(barcode, dimension.or(own), bar, 0)?;
        }
        Ok(())
    };
    match value {
        Value::Object(object) => {
            let diagrams = diagrams(object).ok_or("an object must have `dgms`, or lists of bars by dimension")?;
            for &(dimension, list) in &diagrams {
                add(Some(dimension), list).map_err(|reason| reason.after(format_args!("dimension {dimension}: ")))?;
            }
            bars.dimensions.extend(diagrams.iter().map(|&(dimension, _)| dimension));
            Ok(())
        }
        list => add(None, list),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn infinities_of_python() {
        for (text, found) in [
            ("[0, Infinity]", "[0, \"Infinity\"]"),
            ("[-Infinity,NaN,-1]", "[\"-Infinity\",\"NaN\",-1]"),
            ("{\"Infinity \\\" NaN\": 1, \"\\\\\": NaN}", "{\"Infinity \\\" NaN\": 1, \"\\\\\": \"NaN\"}"),
            ("\\", "\\"),
        ] {
            assert_eq!(with_infinities(text), found);
        }
    }
}
