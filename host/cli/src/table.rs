//! Options of tables to read.

use std::path::PathBuf;

use clap::{Args, ValueEnum};
use warpsmith::io::{TableOptions, files::FileError};

/// The layout of a table.
#[derive(Args, Clone, Debug, Default)]
pub struct TableArgs {
    /// Columns to read, by names in the header or numbers from 1: id, t, v of functions; barcode, dimension, birth, death
    /// of bars; source, target, weight of edges; cloud of points; `id=` for no column [default: detected]
    #[arg(id = "columns of tables", long = "columns", value_name = "USE=COLUMN", value_delimiter = ',', value_parser = column, help_heading = "Tables")]
    columns: Vec<(String, String)>,
    /// The first line of a table names the columns [default: detected]
    #[arg(long, value_enum, help_heading = "Tables")]
    header: Option<Header>,
    /// Separator of fields: a character, or `tab` [default: comma, semicolon, tab or bar, detected]
    #[arg(long, value_name = "C", value_parser = separator, help_heading = "Tables")]
    separator: Option<u8>,
    /// Numbers may have a comma in place of a point
    #[arg(long, help_heading = "Tables")]
    decimal_comma: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Header {
    /// It has their names
    Yes,
    /// It is a row of values
    No,
}

impl TableArgs {
    /// Returns the options for these files, at least one of them a table.
    pub fn options(&self, files: &[PathBuf]) -> Result<TableOptions, FileError> {
        let options = TableOptions {
            columns: self.columns.clone(),
            header: self.header.map(|header| header == Header::Yes),
            separator: self.separator,
            decimal_comma: self.decimal_comma,
        };
        options.check(files).map(|()| options)
    }
}

fn column(text: &str) -> Result<(String, String), String> {
    match text.split_once('=').map(|(role, column)| (role.trim(), column.trim())) {
        Some((role, column)) if !role.is_empty() => Ok((role.to_owned(), column.to_owned())),
        _ => Err("write t=NAME".to_owned()),
    }
}

fn separator(text: &str) -> Result<u8, String> {
    match (text, text.as_bytes()) {
        ("tab" | "\\t", _) => Ok(b'\t'),
        (_, &[byte]) if byte.is_ascii() && !byte.is_ascii_alphanumeric() && !b"\"\r\n.+-".contains(&byte) => Ok(byte),
        _ => Err("write one character, such as ;".to_owned()),
    }
}
