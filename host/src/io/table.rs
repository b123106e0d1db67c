//! Reads tables of text row by row, and reports errors by line and column.

use std::{
    borrow::Cow,
    collections::VecDeque,
    fmt::Display,
    ops::Range,
    path::{Path, PathBuf},
    str::FromStr,
};

use csv_core::{ReadRecordResult, Reader, ReaderBuilder, Terminator};

use super::{
    extension,
    files::{FileError, Reason},
    lines::{Lines, at},
    source::{LONGEST_LINE, listed, quoted},
};

/// Separators of fields that are detected, the most likely first.
pub(crate) const SEPARATORS: [u8; 4] = *b",\t;|";

/// Field that stands for no value, where text can't be without one.
pub(super) const NULL: &str = "\0";

/// Layout of a table. By default it is detected.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TableOptions {
    /// The columns to read: what they are for, such as `t`, and their names in the header or their numbers from 1.
    pub columns: Vec<(String, String)>,
    /// Tells whether the first row names the columns.
    pub header: Option<bool>,
    /// Separator of fields.
    pub separator: Option<u8>,
    /// True if numbers may have a comma in place of a point.
    pub decimal_comma: bool,
}

/// A column that a reader looks for.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Role {
    /// Name in options and errors. The first of a table's roles tells rows apart, if it isn't required.
    pub name: &'static str,
    /// Other names that headers have for it, in lower case without punctuation. One that ends in `?` may be an id, too:
    /// such a table has ids in the columns of its first two roles.
    pub also: &'static [&'static str],
    /// Returns true for a valid field.
    pub is: fn(&str) -> bool,
    pub required: bool,
}

/// Meaning of a table's first row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum First {
    /// Told by the options, by the file, or by names without a second meaning.
    Known,
    /// Names of columns, by the values below them.
    Names,
    /// Values, which may be names. `common` is true if headers often have them.
    Values { common: bool },
}

/// A reader of separated values. Blank lines are skipped. Spaces and quotes around a field are ignored.
///
/// Errors are clauses that follow the file's name, such as "line 3: column `t`: ...".
pub(crate) struct Table {
    lines: Lines,
    /// `None` before it is detected in the first row.
    separator: Option<u8>,
    decimal_comma: bool,
    /// Splits rows with quotes.
    parser: Reader,
    /// Names of the columns. Without a header, their numbers from 1.
    header: Vec<String>,
    /// Meaning of the first row. `Names` only if headers and values have such names.
    pub first: First,
    /// Rows that were read to find the header.
    pending: VecDeque<Row>,
    row: Row,
    /// True if the layout can be told by options.
    has_options: bool,
    /// Columns without a use that may tell rows apart, each with its first text.
    unused: Vec<(usize, Option<String>)>,
    /// Columns without a use whose fields all were whole numbers, each with the last one.
    whole: Vec<(usize, Option<f64>)>,
    roles: &'static [Role],
}

#[derive(Default)]
struct Row {
    text: String,
    fields: Vec<Range<usize>>,
    line: u64,
}

impl Row {
    fn field(&self, column: usize) -> &str {
        &self.text[self.fields[column].clone()]
    }

    fn iter(&self) -> impl Iterator<Item = &str> {
        self.fields.iter().map(|range| &self.text[range.clone()])
    }
}

impl Table {
    /// Opens the file, whose header must be one of these.
    pub fn open(path: &Path, headers: &[&[&str]]) -> Result<Self, Reason> {
        let table = Self::open_any(Lines::open(path)?)?;
        let found: Vec<_> = table.header.iter().map(String::as_str).collect();
        if found == [""] {
            return Err("is empty, but must be a table".into());
        }
        if !headers.iter().any(|header| found == **header) {
            let wanted: Vec<_> = headers.iter().map(|header| format!("`{}`", header.join(","))).collect();
            let found = quoted(&found.join(","));
            return Err(table.error(format_args!("the header is {found}, but it must be {}", wanted.join(" or "))));
        }
        Ok(table)
    }

    /// Reads the names of the columns from the first row, whatever they are.
    pub fn open_any(lines: Lines) -> Result<Self, Reason> {
        let mut table = Self::start(lines, &TableOptions::default());
        table.has_options = false;
        if table.read()? {
            table.header = table.row.iter().map(str::to_owned).collect();
        } else {
            table.header.push(String::new());
        }
        Ok(table)
    }

    /// Opens a table of numbers, and finds the column that divides its rows, if there is one. Blanks may separate its fields,
    /// unless its first row has other separators.
    pub fn open_matrix(
        mut lines: Lines,
        roles: &'static [Role; 1],
        options: &TableOptions,
    ) -> Result<(Self, Option<usize>), Reason> {
        let more = lines.next_filled()?;
        let separated = options.or_blanks(lines.line());
        lines.back();
        let mut table = Self::start(lines, &separated);
        Self::check_uses(roles, options)?;
        if !more || !table.read()? {
            return Err("is empty, but must be a table".into());
        }
        let fields = table.row.fields.len();
        let place = if options.columns.is_empty() { None } else { by_place(roles, options, fields)[0] };
        let is_number = |&column: &usize| table.row.field(column).parse::<f64>().is_ok();
        let (numbers, others): (Vec<_>, Vec<_>) = (0..fields).filter(|column| Some(*column) != place).partition(is_number);
        // Rows have names in a column without one.
        let is_known = table.lines.is_named()
            || options.has_names()
            || table.row.iter().any(|field| roles[0].matches(field, true))
            || fields > 1 && table.row.field(0).is_empty();
        let told = if is_known { Some(true) } else { options.header };
        if let (None, [number, ..], [other, ..]) = (told, &numbers[..], &others[..]) {
            let (number, other) = (quoted(table.row.field(*number)), quoted(table.row.field(*other)));
            return Err(table.error(format_args!(
                "{number} is a number, but {other} is not: if these are names of columns, tell so (--header yes)"
            )));
        }
        if told.unwrap_or(numbers.is_empty()) {
            table.header = table.row.iter().map(str::to_owned).collect();
            let place = table.by_name(roles, options)?[0];
            return Ok((table, place));
        }
        // Headers that some programs write: the columns' numbers.
        let common = options.header.is_none() && table.row.iter().enumerate().all(|(column, text)| text == column.to_string());
        table.first = First::Values { common };
        table.header = (1..=fields).map(|column| column.to_string()).collect();
        let first = std::mem::take(&mut table.row);
        table.pending.push_front(first);
        Ok((table, place))
    }

    /// Opens the file, and finds these columns. Returns their places.
    pub fn open_columns(
        path: &Path,
        roles: &'static [Role],
        options: &TableOptions,
    ) -> Result<(Self, Vec<Option<usize>>), Reason> {
        Self::of_columns(Lines::open(path)?, roles, options)
    }

    /// Finds the columns of a table as [`open_columns`](Self::open_columns) does.
    pub fn of_columns(
        lines: Lines,
        roles: &'static [Role],
        options: &TableOptions,
    ) -> Result<(Self, Vec<Option<usize>>), Reason> {
        let mut table = Self::start(lines, options);
        Self::check_uses(roles, options)?;
        if !table.read()? {
            return Err("is empty, but must be a table".into());
        }
        let first = std::mem::take(&mut table.row);
        if table.read()? {
            let second = std::mem::take(&mut table.row);
            table.pending.push_back(second);
        }
        let fields = first.fields.len();
        let by_place = by_place(roles, options, fields);
        let is_name = |sure| first.iter().any(|field| roles.iter().any(|role| role.matches(field, sure)));
        let (is_known, is_common) = (options.has_names() || is_name(true), is_name(false));
        let told = if table.lines.is_named() { Some(true) } else { options.header };
        let is_header = told.unwrap_or_else(|| {
            let differs = |(role, place): (&Role, &Option<usize>)| {
                let second = table.pending.front().filter(|row| row.fields.len() == fields);
                place.is_some_and(|place| !(role.is)(first.field(place)) && second.is_none_or(|row| (role.is)(row.field(place))))
            };
            is_known
                || if is_common { table.is_above_numbers(&first, &by_place) } else { roles.iter().zip(&by_place).any(differs) }
        });
        table.first = match (is_header, is_common) {
            _ if told.is_some() || is_known => First::Known,
            (true, false) => First::Known,
            (true, true) => First::Names,
            (false, common) => First::Values { common },
        };
        table.row.line = first.line;
        if is_header {
            table.header = first.iter().map(str::to_owned).collect();
            let places = table.by_name(roles, options)?;
            if !roles[0].required && places[0].is_none() && options.columns.iter().all(|(role, _)| role != roles[0].name) {
                let unused = (0..fields).filter(|&column| !places.contains(&Some(column)));
                table.unused = unused.clone().map(|column| (column, None)).collect();
                table.whole = unused.map(|column| (column, None)).collect();
                table.roles = roles;
            }
            return Ok((table, places));
        }
        table.header = (1..=fields).map(|column| column.to_string()).collect();
        if let Some((role, _)) = roles.iter().zip(&by_place).find(|(role, place)| role.required && place.is_none()) {
            return Err(table.error(format_args!(
                "there are {fields} fields and no names of columns: tell the number of the column `{}` (--columns {}=N)",
                role.name, role.name
            )));
        }
        table.pending.push_front(first);
        Ok((table, by_place))
    }

    /// Refuses options that contradict each other, and columns for another use.
    fn check_uses(roles: &[Role], options: &TableOptions) -> Result<(), Reason> {
        if options.decimal_comma && options.separator == Some(b',') {
            return Err("can't have commas both in numbers and between fields".into());
        }
        if let Some((role, _)) = options.columns.iter().find(|(role, _)| roles.iter().all(|known| known.name != role)) {
            let roles: Vec<_> = roles.iter().map(|role| role.name).collect();
            return Err(format!("has no use for a column `{role}`: columns are for {}", roles.join(", ")).into());
        }
        let uses = |role: &Role| options.columns.iter().filter(|(name, _)| name == role.name).count();
        match roles.iter().find(|role| uses(role) > 1) {
            Some(role) => Err(format!("can't have several columns `{}`: --columns has one for each use", role.name).into()),
            None => Ok(()),
        }
    }

    fn start(lines: Lines, options: &TableOptions) -> Self {
        let separator = if lines.is_named() { Some(b',') } else { options.separator };
        Table {
            separator,
            decimal_comma: options.decimal_comma && !lines.is_named(),
            lines,
            parser: parser(separator.unwrap_or(b',')),
            header: Vec::new(),
            first: First::Known,
            pending: VecDeque::new(),
            row: Row::default(),
            has_options: true,
            unused: Vec::new(),
            whole: Vec::new(),
            roles: &[],
        }
    }

    /// Returns true if the second row has numbers in place of the first row's words: as both ids, or in another column.
    fn is_above_numbers(&self, first: &Row, by_place: &[Option<usize>]) -> bool {
        let fields = first.fields.len();
        let Some(second) = self.pending.front().filter(|second| second.fields.len() == fields) else { return false };
        let is_number = |text: &str| text.parse::<f64>().is_ok();
        let is_above = |&place: &usize| !is_number(first.field(place)) && is_number(second.field(place));
        let (ids, others): (Vec<_>, Vec<_>) = (0..fields).partition(|&place| by_place[..2].contains(&Some(place)));
        ids.iter().all(is_above) || others.iter().any(is_above)
    }

    /// Finds the columns by the names that the user or the header has for them.
    fn by_name(&self, roles: &[Role], options: &TableOptions) -> Result<Vec<Option<usize>>, Reason> {
        let columns = || listed(self.header.iter());
        let once = |place: usize| {
            let name = &self.header[place];
            let many = self.header.iter().filter(|other| *other == name).count();
            if many == 1 {
                return Ok(Some(place));
            }
            let name = quoted(name);
            Err(self.error(format_args!("{many} columns are called {name}: choose one by its number (--columns)")))
        };
        let find = |role: &Role| {
            if let Some((_, wanted)) = options.columns.iter().find(|(name, _)| name == role.name) {
                if wanted.is_empty() && !role.required {
                    return Ok(None);
                }
                let by_name = self.header.iter().position(|name| name == wanted);
                let by_name = by_name.or_else(|| self.header.iter().position(|name| name.eq_ignore_ascii_case(wanted)));
                let number = wanted.parse::<usize>().ok().filter(|number| (1..=self.header.len()).contains(number));
                return match by_name {
                    Some(place) => once(place),
                    None if number.is_some() => Ok(number.map(|number| number - 1)),
                    None => Err(self.error(format_args!("there is no column {}: they are {}", quoted(wanted), columns()))),
                };
            }
            let all = |sure| (0..self.header.len()).filter(move |&place| role.matches(&self.header[place], sure));
            let is_sure = all(true).next().is_some();
            let mut places = all(is_sure);
            let place = places.next();
            let other = place.and_then(|one| places.find(|&other| self.header[other] != self.header[one]));
            if let (Some(one), Some(other)) = (place, other) {
                let [name, one, other] = [role.name, &self.header[one], &self.header[other]];
                let (one, other) = (quoted(one), quoted(other));
                return Err(self.error(format_args!(
                    "both {one} and {other} may be the column `{name}`: choose one (--columns {name}=NAME)"
                )));
            }
            match place {
                None if role.required => {
                    let name = role.name;
                    let is_of_ids = roles[0].also.iter().any(|also| also.ends_with('?'));
                    let alone = is_of_ids && self.pending.is_empty() && options.header.is_none();
                    let or = if alone { ", or take the row as values (--header no)" } else { "" };
                    Err(self.error(format_args!(
                        "there is no column `{name}`, only {}: choose one (--columns {name}=NAME){or}",
                        columns()
                    )))
                }
                Some(place) => once(place),
                None => Ok(None),
            }
        };
        roles.iter().map(find).collect()
    }

    /// Reads the next row, if there is one.
    pub fn next(&mut self) -> Result<bool, Reason> {
        match self.pending.pop_front() {
            Some(row) => self.row = row,
            None if !self.read()? => return Ok(false),
            None => {}
        }
        let (fields, columns) = (self.row.fields.len(), self.header.len());
        if fields == columns {
            return self.check_unused().map(|()| true);
        }
        let are = if fields == 1 { "is 1 field".to_owned() } else { format!("are {fields} fields") };
        let for_columns = if columns == 1 { "1 column".to_owned() } else { format!("{columns} columns") };
        Err(self.error(format_args!("there {are} for {for_columns}")))
    }

    /// Refuses rows of several functions that would become one, because the column that tells them apart has no use.
    fn check_unused(&mut self) -> Result<(), Reason> {
        let (row, roles) = (&self.row, self.roles);
        let is_value = |text: &str| !text.is_empty() && roles[1..].iter().any(|role| (role.is)(text));
        let is_text = |first: &Option<String>| first.as_ref().is_some_and(|first| !first.is_empty());
        self.unused.retain(|(column, first)| is_text(first) || !is_value(row.field(*column)));
        for (column, first) in &mut self.unused {
            let text = row.field(*column);
            let first = first.get_or_insert_with(|| text.to_owned());
            if first != text {
                let (column, first) = (*column, quoted(first));
                return Err(self.mixed(column, &format!("after {first}")));
            }
        }
        Ok(())
    }

    /// Refuses a row that doesn't come `after` the last one in time if a column without a use has another whole number: that
    /// may tell functions apart.
    pub fn check_order(&mut self, after: bool) -> Result<(), Reason> {
        let mut whole = std::mem::take(&mut self.whole);
        let number = |column: usize| self.text(column).parse::<f64>().ok().filter(|number| number.fract() == 0.0);
        whole.retain(|(column, _)| number(*column).is_some());
        for (column, last) in &mut whole {
            match std::mem::replace(last, number(*column)) {
                Some(before) if !after && *last != Some(before) => {
                    return Err(self.mixed(*column, &format!("after `{before}` where the time goes back or stays")));
                }
                _ => {}
            }
        }
        self.whole = whole;
        Ok(())
    }

    /// The error of a column without a use that may tell what rows belong to.
    fn mixed(&self, column: usize, after: &str) -> Reason {
        let (role, name, text) = (self.roles[0].name, quoted(&self.header[column]), quoted(self.text(column)));
        self.error(format_args!(
            "column {name} has {text} {after}, and no column tells what a row belongs to: choose one (--columns {role}=NAME) or \
             none (--columns {role}=)"
        ))
    }

    /// Splits the next row into its fields, whose numbers have points.
    fn read(&mut self) -> Result<bool, Reason> {
        let more = self.split()?;
        if self.decimal_comma {
            for field in &self.row.fields {
                if let Some(number) = with_point(&self.row.text[field.clone()]) {
                    self.row.text.replace_range(field.clone(), &number);
                }
            }
        }
        Ok(more)
    }

    /// Splits the next row into its fields.
    fn split(&mut self) -> Result<bool, Reason> {
        let more = self.lines.next_filled()?;
        self.row.line = self.lines.number();
        if !more {
            return Ok(false);
        }
        let line = self.lines.line();
        let separator = self.separator.unwrap_or_else(|| {
            let count = |separator: &u8| line.iter().filter(|&byte| byte == separator).count();
            let possible = SEPARATORS.into_iter().filter(|&separator| separator != b',' || !self.decimal_comma);
            let most = possible.rev().max_by_key(count).unwrap_or(b',');
            self.parser = parser(most);
            most
        });
        self.separator = Some(separator);
        self.row.text.clear();
        self.row.fields.clear();
        if line.contains(&b'"') {
            return self.read_quoted().map(|()| true);
        }
        let text = std::str::from_utf8(line).map_err(|error| {
            let field = line[..error.valid_up_to()].iter().filter(|&&byte| byte == separator).count();
            self.lines.error(format_args!("field {} is not UTF-8 text", field + 1))
        })?;
        self.row.text.push_str(text);
        let mut start = 0;
        for field in text.split(char::from(separator)) {
            let from = start + (field.len() - field.trim_start().len());
            // Several blanks are one separator.
            if separator != b' ' || !field.trim().is_empty() {
                self.row.fields.push(from..from + field.trim().len());
            }
            start += field.len() + 1;
        }
        Ok(true)
    }

    /// Splits a row with quotes, which may go on over several lines.
    fn read_quoted(&mut self) -> Result<(), Reason> {
        self.parser.reset();
        let (mut bytes, mut ends) = (Vec::new(), Vec::new());
        let (mut filled, mut fields, mut read) = (0, 0, 0);
        loop {
            let mut line = self.lines.with_end().to_owned();
            if !self.lines.is_ended() {
                line.push(b'\n');
            }
            read += line.len();
            if read > LONGEST_LINE {
                return Err(at(self.row.line, format_args!("it is longer than {} MiB", LONGEST_LINE >> 20)).into());
            }
            bytes.resize(filled + line.len(), 0);
            ends.resize(fields + line.len() + 1, 0);
            let (result, _, written, ended) = self.parser.read_record(&line, &mut bytes[filled..], &mut ends[fields..]);
            (filled, fields) = (filled + written, fields + ended);
            if result == ReadRecordResult::Record {
                break;
            }
            if !self.lines.next()? {
                return Err(at(self.row.line, "a quote is not closed").into());
            }
        }
        let mut start = 0;
        for (field, &end) in ends[..fields].iter().enumerate() {
            let text = std::str::from_utf8(&bytes[start..end])
                .map_err(|_| at(self.row.line, format_args!("field {} is not UTF-8 text", field + 1)))?;
            let inner = text.trim();
            // Quotes after a space are a part of the field.
            let late = inner.strip_prefix('"').and_then(|inner| inner.strip_suffix('"')).filter(|_| text.starts_with(' '));
            let inner = late.map_or(Cow::Borrowed(inner), |late| late.trim().replace("\"\"", "\"").into());
            let from = self.row.text.len();
            self.row.text.push_str(&inner);
            self.row.fields.push(from..from + inner.len());
            start = end;
        }
        Ok(())
    }

    /// The names of the columns.
    pub fn header(&self) -> &[String] {
        &self.header
    }

    /// The row's field in a column.
    pub fn text(&self, column: usize) -> &str {
        self.row.field(column)
    }

    /// Returns the name in a column of the row. Null and empty fields are no names, and NumPy's arrays lose NUL at the end of
    /// names.
    pub fn name(&self, column: usize) -> Result<&str, Reason> {
        Some(self.text(column))
            .filter(|name| !name.is_empty() && !name.ends_with('\0'))
            .ok_or_else(|| self.field_error(column, "a name"))
    }

    /// Returns true if the row has no value in this column.
    pub fn is_empty(&self, column: usize) -> bool {
        matches!(self.text(column), "" | NULL)
    }

    /// Returns true if the last line read ends with a line break.
    pub fn is_ended(&self) -> bool {
        self.lines.is_ended()
    }

    /// The row's line number, from 1.
    pub fn line(&self) -> u64 {
        self.row.line
    }

    /// Parses a number of the row. `what` names the expected value in the error.
    pub fn field<N: FromStr>(&self, column: usize, what: &str) -> Result<N, Reason> {
        self.text(column).parse().map_err(|_| self.field_error(column, what))
    }

    /// Returns the error of a field that is not `what` it must be.
    pub fn field_error(&self, column: usize, what: &str) -> Reason {
        let (text, name) = (self.text(column), &self.header[column]);
        let found = if text == NULL { "null".to_owned() } else { quoted(text) };
        let hint =
            if self.has_options && with_point(text).is_some() { "; numbers with a comma take --decimal-comma" } else { "" };
        self.error(format_args!("column `{name}`: {found} is not {what}{hint}"))
    }

    /// Returns true if the number in this column is `count`, the next one, and false if it is the
    /// last one, `count - 1`. Other numbers are errors.
    pub fn starts_next(&self, column: usize, count: usize) -> Result<bool, Reason> {
        let number: usize = self.field(column, "a whole number from 0 on")?;
        let last = count.checked_sub(1);
        if number == count || last == Some(number) {
            return Ok(number == count);
        }
        let name = &self.header[column];
        let follows = last.map_or_else(|| "is the first".to_owned(), |last| format!("comes after {last}"));
        Err(self.error(format_args!(
            "column `{name}`: {number} {follows}, but rows must be in the order of the {name}s, which are numbered from 0 without gaps"
        )))
    }

    /// Returns an error about the row.
    pub fn error(&self, reason: impl Display) -> Reason {
        at(self.row.line, reason).into()
    }
}

/// Returns a number that has a comma with a point in its place, if the text is one.
fn with_point(text: &str) -> Option<String> {
    let number = text.replacen(',', ".", 1);
    (number != text && number.parse::<f64>().is_ok()).then_some(number)
}

/// Returns a parser of rows that end with a line break, whatever other characters they have.
fn parser(separator: u8) -> Reader {
    ReaderBuilder::new().delimiter(separator).terminator(Terminator::Any(b'\n')).build()
}

impl TableOptions {
    /// Returns true if a column has a name in the header.
    pub(crate) fn has_names(&self) -> bool {
        self.columns.iter().any(|(_, column)| !column.is_empty() && column.parse::<usize>().is_err())
    }

    /// Returns the options for a table with this line: blanks separate its fields if nothing else does.
    pub(crate) fn or_blanks(&self, line: &[u8]) -> Self {
        let separates = |byte: &u8| SEPARATORS.contains(byte) && (*byte != b',' || !self.decimal_comma);
        let separator = self.separator.or((!line.iter().any(separates)).then_some(b' '));
        TableOptions { separator, ..self.clone() }
    }

    /// Refuses options if all files are NumPy's, which have no use for them.
    pub fn check(&self, files: &[PathBuf]) -> Result<(), FileError> {
        match files {
            [first, ..] if files.iter().all(|file| matches!(&*extension(file), "npy" | "npz")) => {
                self.refuse("a file of NumPy").map_err(|reason| FileError::new(first, reason))
            }
            _ => Ok(()),
        }
    }

    /// Refuses options for a file that is `what`, and no table.
    pub(crate) fn refuse(&self, what: &str) -> Result<(), Reason> {
        let set = [
            ("--columns", !self.columns.is_empty()),
            ("--header", self.header.is_some()),
            ("--separator", self.separator.is_some()),
            ("--decimal-comma", self.decimal_comma),
        ];
        match set.iter().find(|(_, is_set)| *is_set) {
            Some((option, _)) => Err(format!("{option} is for tables, but this is {what}").into()),
            None => Ok(()),
        }
    }
}

impl Role {
    /// Returns true if a header's name is one for this column: one that is no value (`sure`), or one that may be.
    pub(crate) fn matches(&self, name: &str, sure: bool) -> bool {
        let plain: String = name.chars().filter(|c| c.is_alphanumeric()).flat_map(char::to_lowercase).collect();
        sure && plain == self.name
            || self.also.iter().any(|also| also.strip_suffix('?').unwrap_or(also) == plain && also.ends_with('?') != sure)
    }
}

/// Finds the columns by their numbers: those that the user tells, or else in the order of the roles. Optional columns are
/// there if there is a field for each column.
fn by_place(roles: &[Role], options: &TableOptions, fields: usize) -> Vec<Option<usize>> {
    let in_range = |number: usize| (1..=fields).contains(&number).then(|| number - 1);
    if !options.columns.is_empty() {
        let number = |role: &Role| options.columns.iter().find(|(name, _)| name == role.name)?.1.parse().ok();
        return roles.iter().map(|role| number(role).and_then(in_range)).collect();
    }
    let all = fields == roles.len();
    let mut next = 0;
    let mut place = |role: &Role| {
        next += usize::from(all || role.required);
        if all || role.required { in_range(next) } else { None }
    };
    roles.iter().map(&mut place).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const ROLES: &[Role] = &[
        Role { name: "id", also: &["series"], is: |_| true, required: false },
        Role { name: "t", also: &["time"], is: |text| text.parse::<f64>().is_ok(), required: true },
        Role { name: "v", also: &["value"], is: |text| text.parse::<f64>().is_ok(), required: true },
    ];

    /// Returns the three columns of each row, or the error.
    fn rows(text: &str, options: &TableOptions) -> Result<Vec<[String; 3]>, String> {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("x.csv");
        std::fs::write(&path, text).unwrap();
        let fail = |reason: Reason| reason.to_string();
        let (mut table, places) = Table::open_columns(&path, ROLES, options).map_err(fail)?;
        let mut rows = Vec::new();
        while table.next().map_err(fail)? {
            rows.push([0, 1, 2].map(|role: usize| places[role].map_or("-", |place| table.text(place)).to_owned()));
        }
        Ok(rows)
    }

    fn columns(columns: &[(&str, &str)]) -> TableOptions {
        let columns = columns.iter().map(|&(role, column)| (role.to_owned(), column.to_owned())).collect();
        TableOptions { columns, ..TableOptions::default() }
    }

    #[test]
    fn rows_are_not_mixed() {
        let text = "station,t,v,unit\na,0,1,m\na,2,0,m\nb,0.5,2,m\n";
        let error = "line 4: column `station` has `b` after `a`, and no column tells what a row belongs to: choose one \
                     (--columns id=NAME) or none (--columns id=)";
        assert_eq!(rows(text, &TableOptions::default()), Err(error.to_owned()));
        let ids = |options| rows(text, &options).map(|rows| rows.into_iter().map(|[id, ..]| id).collect::<Vec<_>>());
        assert_eq!(ids(columns(&[("id", "station")])), Ok(vec!["a".to_owned(), "a".to_owned(), "b".to_owned()]));
        assert_eq!(ids(columns(&[("id", "")])), Ok(vec!["-".to_owned(); 3]));
        let error = rows("t,v,station\n0,1,\n1,2,b\n", &TableOptions::default()).unwrap_err();
        assert!(error.starts_with("line 3: column `station` has `b` after ``, and "), "{error}");
        // Numbers are other values, even if the first is missing; a text that never changes tells nothing apart.
        assert_eq!(rows("t,v,w,unit,none\n0,1,,m,\n1,2,3,m,\n2,2,4,m,\n", &TableOptions::default()).unwrap().len(), 3);
        let error = Err("line 1: 2 columns are called `v`: choose one by its number (--columns)".to_owned());
        assert_eq!(rows("id,t,v,v\na,0,1,2\n", &TableOptions::default()), error);
        assert_eq!(rows("id,t,v,v\na,0,1,2\n", &columns(&[("v", "v")])), error);
        assert_eq!(rows("id,t,v,v\na,0,1,2\n", &columns(&[("v", "4")])), Ok(vec![["a", "0", "2"].map(str::to_owned)]));
    }

    #[test]
    fn headers_and_separators_are_detected() {
        let found = Ok(vec![["a", "0", "1"].map(str::to_owned), ["b", "0.5", "2"].map(str::to_owned)]);
        for text in [
            "id,t,v\na,0,1\nb,0.5,2\n",
            "Series;Time;Value\na;0;1\nb;0.5;2",
            "value\tother\ttime\tseries\n1\tx\t0\ta\n2\ty\t0.5\tb\n",
            "\n a , 0 , 1 \n\nb,0.5,2",
            "a|0|1\nb|0.5|2\n",
            "\"id\",\"t\",\"v\"\n\"a\",\"0\",\"1\"\n\"b\", \"0.5\" ,\"2\"\n",
        ] {
            assert_eq!(rows(text, &TableOptions::default()), found, "{text}");
        }
        let named = columns(&[("id", "who"), ("t", "WHEN"), ("v", "4")]);
        assert_eq!(rows("who,when,x,y\na,0,9,1\nb,0.5,9,2\n", &named), found);
        assert_eq!(rows("1,a,0\n2,b,0.5\n", &columns(&[("id", "2"), ("t", "3"), ("v", "1")])), found);
        let plain = TableOptions { header: Some(false), ..TableOptions::default() };
        assert_eq!(rows("id,t,v\n", &plain).unwrap(), [["id", "t", "v"].map(str::to_owned)]);
        assert_eq!(rows("0,1\n2,3\n", &TableOptions::default()).unwrap().len(), 2);
        // A column that isn't there names none.
        let none = columns(&[("id", ""), ("t", "1"), ("v", "2")]);
        assert_eq!(rows("0,1\n2,3\n", &none).unwrap(), [["-", "0", "1"], ["-", "2", "3"]].map(|row| row.map(str::to_owned)));
    }

    #[test]
    fn decimal_commas() {
        let commas = TableOptions { decimal_comma: true, ..TableOptions::default() };
        let found = Ok(vec![["a,5", "0", "1.25"].map(str::to_owned), ["b", "0.5", "-2.5e3"].map(str::to_owned)]);
        for text in [
            "id;t;v\na,5;0;1,25\nb;0,5;-2,5e3\n",
            "a,5\t0\t1,25\nb\t0.5\t-2,5e3\n",
            "id;t;v\n\"a,5\";0;\"1,25\"\nb;\"0,5\";-2,5e3",
        ] {
            assert_eq!(rows(text, &commas), found, "{text}");
        }
        // A second comma is no part of a number.
        assert_eq!(rows("id;t;v\na;1,000,5;0\n", &commas).unwrap()[0][1], "1,000,5");
        let both = TableOptions { separator: Some(b','), ..commas };
        assert_eq!(rows("0,1\n", &both).unwrap_err(), "can't have commas both in numbers and between fields");
    }

    #[test]
    fn quotes() {
        let text = "id,t,v\n\"a, \"\"b\"\"\n2\",0,1\n\"c\",1,2\n";
        assert_eq!(rows(text, &TableOptions::default()).unwrap()[0][0], "a, \"b\"\n2");
        assert_eq!(rows(&text.replace('\n', "\r\n"), &TableOptions::default()).unwrap()[0][0], "a, \"b\"\r\n2");
        // Quotes are a part of a name, but not those after a space.
        let names = "id,t,v\n\"\"\"q\"\"\",0,1\n \"q\" ,0,1\n\"\"\"x,y\"\"\",0,1\n\"\"\"\"\"\",0,1\n \"a\"\"b\",0,1\n";
        let found: Vec<_> = rows(names, &TableOptions::default()).unwrap().into_iter().map(|[id, ..]| id).collect();
        assert_eq!(found, ["\"q\"", "q", "\"x,y\"", "\"\"", "a\"b"]);
        // A carriage return within a row is a character of it.
        assert_eq!(
            rows("\"id\",t,v\r\n\"a\rb\",0,1\r\n", &TableOptions::default()).unwrap(),
            [["a\rb", "0", "1"].map(str::to_owned)]
        );
        let error = |text: &str| rows(text, &TableOptions::default()).unwrap_err();
        assert_eq!(error("id,t,v\n\"a\nb\",0,1\nc,2\n"), "line 4: there are 2 fields for 3 columns");
        assert_eq!(error("id,t,v\na,0,1\n\n\"b,1,2\n3\n"), "line 4: a quote is not closed");
        let long = format!("id,t,v\n\"{}\n{}\",0,1\n", "x".repeat(LONGEST_LINE - 5), "y".repeat(5));
        assert_eq!(error(&long), "line 2: it is longer than 16 MiB");
    }

    #[test]
    fn what_is_missing_is_named() {
        let error = |text: &str, options: &TableOptions| rows(text, options).unwrap_err();
        let any = TableOptions::default();
        assert_eq!(error("", &any), "is empty, but must be a table");
        assert_eq!(
            error("id,when,v\na,0,1\n", &any),
            "line 1: there is no column `t`, only `id`, `when`, `v`: choose one (--columns t=NAME)"
        );
        assert_eq!(
            error("who,when,what\na,0,1\n", &any),
            "line 1: there is no column `t`, only `who`, `when`, `what`: choose one (--columns t=NAME)"
        );
        assert_eq!(error("id,t,v\n", &columns(&[("t", "x")])), "line 1: there is no column `x`: they are `id`, `t`, `v`");
        assert_eq!(error("id,t,v\n", &columns(&[("x", "t")])), "has no use for a column `x`: columns are for id, t, v");
        assert_eq!(
            error("0,1,2,3\n", &columns(&[("t", "1")])),
            "line 1: there are 4 fields and no names of columns: tell the number of the column `v` (--columns v=N)"
        );
    }
}
