//! stdout, and the messages of `-v`.

use std::io::{self, ErrorKind, IsTerminal as _, Write as _};

use comfy_table::{CellAlignment, Table, presets::UTF8_HORIZONTAL_ONLY};
use serde::Serialize;
use tracing::Level;

use super::failure::Failure;

/// Writes `text` and a line's end to stdout.
pub fn print(text: impl std::fmt::Display) -> Result<(), Failure> {
    let mut stdout = io::stdout().lock();
    writeln!(stdout, "{text}").and_then(|()| stdout.flush()).map_err(|error| unprinted(&error))
}

/// What an error of stdout means for the command.
pub fn unprinted(error: &io::Error) -> Failure {
    match error.kind() {
        ErrorKind::BrokenPipe => Failure::Closed,
        _ => Failure::error(format_args!("stdout can't be written: {}", super::output::reason(error))),
    }
}

/// Writes one JSON object to stdout.
pub fn print_json(value: &impl Serialize) -> Result<(), Failure> {
    print(serde_json::to_string_pretty(value).map_err(Failure::error)?)
}

/// An empty table under `header`; the columns in `numbers` are aligned to the right.
pub fn table<const N: usize>(header: [&str; N], numbers: impl IntoIterator<Item = usize>) -> Table {
    let mut table = Table::new();
    table.load_style(UTF8_HORIZONTAL_ONLY).set_header(header);
    // Rules stand at the top, below the header and at the end alone.
    table.style_mut().row_separator = Default::default();
    for index in numbers {
        if let Some(column) = table.column_mut(index) {
            column.set_cell_alignment(CellAlignment::Right);
        }
    }
    table
}

/// Starts the messages on stderr: none, info (`-v`) or debug (`-vv`).
pub fn trace(verbose: u8) {
    let level = match verbose {
        0 => return,
        1 => Level::INFO,
        _ => Level::DEBUG,
    };
    tracing_subscriber::fmt()
        .with_max_level(level)
        .with_writer(io::stderr)
        .with_ansi(io::stderr().is_terminal())
        .with_target(false)
        .with_timer(tracing_subscriber::fmt::time::uptime())
        .init();
}
