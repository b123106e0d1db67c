//! Output on stdout, tables that fit the terminal, and the messages of `-v`.

use std::{
    env,
    ffi::OsString,
    fmt::{self, Display},
    io::{self, ErrorKind, IsTerminal as _, Write as _},
    sync::atomic::{AtomicBool, Ordering},
};

use comfy_table::{CellAlignment, ColumnConstraint, ContentArrangement, ContentLineStyle, LineStyle, TableStyle, Width, presets};
use serde::Serialize;
use terminal_size::terminal_size_of;
use tracing::{Event, Level, Subscriber};
use tracing_subscriber::{
    field::MakeExt as _,
    fmt::{
        FmtContext,
        format::{FormatEvent, FormatFields, Writer, debug_fn},
    },
    registry::LookupSpan,
};
use warpsmith::list_rank::StepTime;

use super::{
    failure::Failure,
    format,
    printable::{obeyed, printable},
};

/// Writes `text`, without control characters, and a line break to stdout, or to stderr after [`leave_stdout`].
/// On a terminal, long lines are wrapped. Tables have their width already.
pub fn print(text: impl Display) -> Result<(), Failure> {
    let text = printable(text);
    if io::stdout().is_terminal() && !text.contains('─') { write(&wrapped(&text, width())) } else { write(&text) }
}

/// Breaks lines wider than `width` between words, and indents what follows like the line or its item of a list.
fn wrapped(text: &str, width: usize) -> String {
    let wrap = |line: &str| {
        let indent = line.len() - line.trim_start_matches([' ', '-']).len();
        let (mut lines, mut column) = (String::new(), 0);
        for word in line.split_inclusive(' ') {
            if column > indent && column + word.trim_end().chars().count() > width {
                lines.truncate(lines.trim_end().len());
                lines.push('\n');
                lines.push_str(&" ".repeat(indent));
                column = indent;
            }
            lines.push_str(word);
            column += word.chars().count();
        }
        lines
    };
    text.split('\n').map(wrap).collect::<Vec<_>>().join("\n")
}

/// True if a result goes to stdout.
static TAKEN: AtomicBool = AtomicBool::new(false);

/// Prints to stderr from now on, because a result goes to stdout.
pub fn leave_stdout() {
    TAKEN.store(true, Ordering::Relaxed);
}

fn write(text: &str) -> Result<(), Failure> {
    if TAKEN.load(Ordering::Relaxed) {
        let _ = writeln!(io::stderr(), "{text}");
        return Ok(());
    }
    let mut stdout = io::stdout().lock();
    writeln!(stdout, "{text}").and_then(|()| stdout.flush()).map_err(|error| unprinted(&error))
}

/// Converts an error of writing to stdout into the command's failure.
pub fn unprinted(error: &io::Error) -> Failure {
    match error.kind() {
        ErrorKind::BrokenPipe => Failure::Closed,
        _ => Failure::error(format_args!("stdout can't be written: {}", super::output::reason(error))),
    }
}

/// True if neither progress nor warnings show.
static QUIET: AtomicBool = AtomicBool::new(false);

/// Turns off progress and warnings, if `quiet`.
pub fn be_quiet(quiet: bool) {
    QUIET.store(quiet, Ordering::Relaxed);
}

/// Returns true if neither progress nor warnings are to show.
pub fn is_quiet() -> bool {
    QUIET.load(Ordering::Relaxed)
}

/// Prints a warning about valid results on stderr.
pub fn warn(text: impl Display) {
    if !is_quiet() {
        // If stderr is closed, the warning is lost.
        let _ = writeln!(io::stderr(), "warning: {}", printable(text));
    }
}

/// Writes one JSON object to stdout.
pub fn print_json(value: &impl Serialize) -> Result<(), Failure> {
    let text = serde_json::to_string_pretty(value).map_err(Failure::error)?;
    // JSON's writer leaves some of them, and has escapes of its own.
    write(&text.chars().fold(String::with_capacity(text.len()), |mut text, c| {
        match obeyed(c) {
            true => text.push_str(&format!("\\u{:04x}", u32::from(c))),
            false => text.push(c),
        }
        text
    }))
}

/// Width for pipes, files and terminals of unknown width, in characters.
const USUAL: usize = 80;
/// Minimum width that tables are arranged for.
const LEAST: usize = 40;
/// Minimum width of wrapped texts, and maximum length of words that aren't broken. Names of files
/// may be longer.
const NARROW: usize = 12;
const LONG_WORD: usize = 24;
/// Number of blanks around each cell.
const PADDING: usize = 2;
/// A rule below the header, and nothing between columns.
const RULES: TableStyle = TableStyle::new()
    .header_lines(ContentLineStyle::none())
    .header_separator(LineStyle::none().fill('═'))
    .content_lines(ContentLineStyle::none());
/// Returns the width for printing: `COLUMNS`, or the terminal's width, or 80.
pub fn width() -> usize {
    let said = env::var("COLUMNS").ok().and_then(|columns| columns.trim().parse().ok());
    let found = || terminal_size_of(io::stdout()).map(|(width, _)| usize::from(width.0));
    said.filter(|&columns| columns > 0).or_else(found).unwrap_or(USUAL).max(LEAST)
}

/// Returns an empty table under `header`. Columns in `numbers` are right-aligned, and their cells
/// stay in one line.
pub fn table<'a>(header: impl IntoIterator<Item = &'a str>, numbers: impl IntoIterator<Item = usize>) -> Table {
    let mut columns: Vec<_> = header.into_iter().map(|header| Column { header: header.to_owned(), number: false }).collect();
    for index in numbers {
        columns[index].number = true;
    }
    Table { columns, rows: Vec::new(), keys: 1 }
}

/// Returns a table of steps, with their total in the last row.
pub fn steps(steps: &[StepTime]) -> Table {
    let mut table = table(["step", "ms", "moved", "GB/s", "share"], 1..5);
    let total = ("total", StepTime::total_ms(steps), steps.iter().map(|step| step.bytes).sum());
    for (name, ms, bytes) in steps.iter().map(|step| (step.name, step.ms, step.bytes)).chain([total]) {
        let share = if total.1 > 0.0 { format!("{:.1} %", 100.0 * ms / total.1) } else { String::new() };
        table.add_row([name.to_owned(), format::digits(ms), format::bytes(bytes), format::bandwidth(bytes, ms), share]);
    }
    table
}

/// A table that fits the terminal. If it is too wide, headers and texts are wrapped. If that isn't
/// enough, the table is printed in parts one below the other, and each part repeats the columns
/// that name the rows.
#[derive(Clone, Debug)]
pub struct Table {
    columns: Vec<Column>,
    rows: Vec<Vec<String>>,
    keys: usize,
}

#[derive(Clone, Debug)]
struct Column {
    header: String,
    number: bool,
}

impl Table {
    /// Makes the first `keys` columns name the rows, instead of only the first.
    pub fn keys(self, keys: usize) -> Self {
        Table { keys, ..self }
    }

    /// Adds a row with one cell per column.
    pub fn add_row(&mut self, cells: impl IntoIterator<Item = impl Into<String>>) {
        let mut row: Vec<String> = cells.into_iter().map(|cell| printable(cell.into())).collect();
        row.resize(self.columns.len(), String::new());
        self.rows.push(row);
    }

    /// Splits the columns into parts that are no wider than `width`, if that is possible.
    fn parts(&self, width: usize) -> Vec<Vec<usize>> {
        let least: Vec<_> = (0..self.columns.len()).map(|column| self.least(column) + PADDING).collect();
        let mut parts: Vec<Vec<usize>> = vec![(0..self.keys.min(least.len())).collect()];
        let keys = parts[0].clone();
        for column in keys.len()..least.len() {
            let part = parts.last_mut().expect("there is a part to begin with");
            let taken: usize = part.iter().map(|&column| least[column]).sum();
            if part.len() > keys.len() && taken + least[column] > width {
                parts.push(keys.iter().copied().chain([column]).collect());
            } else {
                part.push(column);
            }
        }
        parts
    }

    /// Returns the width that a column needs. Numbers stay in one line, and words are whole up to a
    /// length.
    fn least(&self, column: usize) -> usize {
        let Column { header, number } = &self.columns[column];
        let word = |text: &str| text.split(' ').map(length).max().unwrap_or_default().min(LONG_WORD);
        let cell = |text: &str| if *number { length(text) } else { word(text).max(length(text).min(NARROW)) };
        self.rows.iter().map(|row| cell(&row[column])).chain([word(header)]).max().unwrap_or_default()
    }

    /// Formats the table in this width, with rules at the top, below the header and at the end.
    fn text(&self, width: usize) -> String {
        let part = |columns: Vec<usize>| {
            let mut table = comfy_table::Table::new();
            table.load_style(RULES).set_content_arrangement(ContentArrangement::Dynamic).set_width(width as u16);
            table.set_header(columns.iter().map(|&column| &self.columns[column].header));
            table.add_rows(self.rows.iter().map(|row| columns.iter().map(|&column| &row[column])));
            for (index, &column) in columns.iter().enumerate() {
                let Some(shown) = table.column_mut(index) else { continue };
                shown.set_constraint(ColumnConstraint::LowerBoundary(Width::Fixed((self.least(column) + PADDING) as u16)));
                if self.columns[column].number {
                    shown.set_cell_alignment(CellAlignment::Right);
                }
            }
            let text = table.to_string();
            let rule = "─".repeat(text.lines().next().map_or(0, length));
            format!("{rule}\n{text}\n{rule}")
        };
        self.parts(width).into_iter().map(part).collect::<Vec<_>>().join("\n")
    }
}

impl Display for Table {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.text(width()))
    }
}

fn length(text: &str) -> usize {
    text.chars().count()
}

/// Breaks text into lines that fit, and indents all but the first.
pub fn paragraph(text: &str) -> String {
    let mut table = comfy_table::Table::new();
    table.load_style(presets::NOTHING).set_content_arrangement(ContentArrangement::Dynamic).set_width(width() as u16);
    table.add_row([text]);
    let lines: Vec<_> = table.lines().map(|line| line.trim().to_owned()).collect();
    lines.join("\n  ")
}

/// Writes the library's warnings as the command writes its own.
struct Warnings;

impl<S, N> FormatEvent<S, N> for Warnings
where
    S: Subscriber + for<'a> LookupSpan<'a>,
    N: for<'a> FormatFields<'a> + 'static,
{
    fn format_event(&self, context: &FmtContext<'_, S, N>, mut writer: Writer<'_>, event: &Event<'_>) -> fmt::Result {
        let mut text = String::new();
        context.format_fields(Writer::new(&mut text), event)?;
        writeln!(writer, "warning: {}", printable(text))
    }
}

/// Starts logging to stderr: warnings, and events at level info (`-v`) or debug (`-vv`).
pub fn trace(verbose: u8) {
    let level = match verbose {
        0 => return tracing_subscriber::fmt().with_max_level(Level::WARN).with_writer(io::stderr).event_format(Warnings).init(),
        1 => Level::INFO,
        _ => Level::DEBUG,
    };
    tracing_subscriber::fmt()
        .with_max_level(level)
        .with_writer(io::stderr)
        .fmt_fields(
            debug_fn(|writer, field, value| match field.name() {
                "message" => write!(writer, "{}", printable(format_args!("{value:?}"))),
                name => write!(writer, "{name}={}", printable(format_args!("{value:?}"))),
            })
            .delimited(" "),
        )
        .with_ansi(coloured(io::stderr().is_terminal(), env::var_os("NO_COLOR")))
        .with_target(false)
        .with_timer(tracing_subscriber::fmt::time::uptime())
        .init();
}

/// Returns true on a terminal, unless `NO_COLOR` has any value (no-color.org).
fn coloured(terminal: bool, no_color: Option<OsString>) -> bool {
    terminal && no_color.is_none_or(|value| value.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the texts of a printed table's cells.
    fn cells(text: &str) -> Vec<&str> {
        text.lines().flat_map(|line| line.split("  ")).map(str::trim).filter(|cell| !cell.is_empty()).collect()
    }

    #[test]
    fn long_lines_are_wrapped() {
        assert_eq!(
            wrapped("To be fast:\n  - do Inner as tiles\n\nshort", 14),
            "To be fast:\n  - do Inner\n    as tiles\n\nshort"
        );
        assert_eq!(wrapped("  a-very-long-word-alone and", 10), "  a-very-long-word-alone\n  and");
        assert_eq!(wrapped("", 10), "");
    }

    #[test]
    fn tables_are_as_wide_as_there_is_room() {
        let mut small = table(["step", "ms"], [1]);
        small.add_row(["walk", "1.5"]);
        let text = small.text(80);
        assert_eq!(
            text.lines().map(str::trim).filter(|line| !line.starts_with(['─', '═'])).collect::<Vec<_>>(),
            ["step   ms", "walk  1.5"]
        );

        let names =
            ["threads", "one phase", "turning", "intersecting", "two phases", "spread", "pieces turned by one", "evaluator"];
        let mut wide = table(names, 0..names.len());
        for row in 0..3 {
            wide.add_row((0..names.len()).map(|column| format!("{row}{column},000,000")));
        }
        for width in [40, 60, 80, 100, 200] {
            let text = wide.text(width);
            assert!(text.lines().all(|line| length(line) <= width), "{width}:\n{text}");
            for row in 0..3 {
                let shown: Vec<_> = cells(&text).into_iter().filter(|cell| cell.starts_with(&row.to_string())).collect();
                // Each cell appears once, but the first is in each part.
                let mut once = shown.clone();
                once.dedup();
                once.sort_unstable();
                once.dedup();
                assert_eq!(once, (0..names.len()).map(|column| format!("{row}{column},000,000")).collect::<Vec<_>>(), "{text}");
            }
        }
        assert_eq!(wide.text(200).lines().count(), 3 + 1 + 3);
        assert_eq!(wide.text(100).lines().filter(|line| line.contains('═')).count(), 1);
        assert_eq!(wide.text(40).lines().filter(|line| line.contains('═')).count(), 4);
    }

    #[test]
    fn texts_are_broken_and_numbers_not() {
        let mut table = table(["what", "path", "n"], [2]).keys(2);
        let (what, path) =
            ("a text of many words that goes on for long enough", "a/path/without/any/blank/that/is/too/long/for/a/line.csv");
        table.add_row([what, path, "1,234,567"]);
        let text = table.text(60);
        assert!(text.lines().all(|line| length(line) <= 60) && text.contains("1,234,567"), "{text}");
        let whole = table.text(150);
        assert!(whole.contains(what) && whole.contains(path) && whole.lines().count() == 5, "{whole}");
    }

    #[test]
    fn colours() {
        let no_color = |value: &str| Some(OsString::from(value));
        assert!(coloured(true, None) && coloured(true, no_color("")));
        assert!(!coloured(true, no_color("1")) && !coloured(true, no_color("0")) && !coloured(false, None));
    }

    #[test]
    fn paragraphs() {
        let text = paragraph(&format!("a: {}", "word ".repeat(50)));
        assert!(text.lines().count() > 1 && text.lines().skip(1).all(|line| line.starts_with("  w")), "{text}");
    }
}
