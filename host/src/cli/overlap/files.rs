//! Results as files: arrays, tables and JSON.

use std::{io::Write as _, path::Path};

use csv::Writer;
use serde::Serialize;
use warpsmith::io::files::Destination;
use warpsmith::io::npy::Element;

use crate::cli::{
    failure::Failure,
    output::{Files, write_array},
};

/// A format of results.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    Npy,
    Csv,
    Json,
}

impl Format {
    fn extension(self) -> &'static str {
        match self {
            Format::Npy => "npy",
            Format::Csv => "csv",
            Format::Json => "json",
        }
    }
}

/// A file to write.
pub struct ResultFile {
    destination: Destination,
    pub format: Format,
}

impl ResultFile {
    /// Checks, before anything is computed, that the file can be written in one of these formats
    /// and isn't an input.
    pub fn prepare(path: &Path, inputs: &[&Path], allowed: &[Format]) -> Result<Self, Failure> {
        let extension = path.extension().map(|extension| extension.to_string_lossy().to_ascii_lowercase());
        let Some(&format) = allowed.iter().find(|format| Some(format.extension()) == extension.as_deref()) else {
            let names: Vec<_> = allowed.iter().map(|format| format!(".{}", format.extension())).collect();
            let names = match names.split_last() {
                Some((last, others)) if !others.is_empty() => format!("{} or {last}", others.join(", ")),
                _ => names.concat(),
            };
            return Err(Failure::error(format_args!("{}: the name must end in {names}, which tells the format", path.display())));
        };
        Ok(ResultFile { destination: Files::reading(inputs).write(path)?, format })
    }

    /// The file's name as given.
    pub fn name(&self) -> String {
        self.destination.name().display().to_string()
    }

    /// Writes an array.
    pub fn array<T: Element>(&self, values: &[T], shape: &[usize]) -> Result<(), Failure> {
        write_array(&self.destination, values, shape)
    }

    /// Writes a table as CSV.
    pub fn table(&self, header: &[&str], rows: impl IntoIterator<Item = Vec<String>>) -> Result<(), Failure> {
        self.destination.write(|file| {
            let mut writer = Writer::from_writer(file);
            writer.write_record(header)?;
            for row in rows {
                writer.write_record(row)?;
            }
            writer.flush()
        })?;
        tracing::info!("wrote {}", self.name());
        Ok(())
    }

    /// Writes a value as JSON.
    pub fn json(&self, value: &impl Serialize) -> Result<(), Failure> {
        self.destination.write(|file| {
            serde_json::to_writer_pretty(&mut *file, value)?;
            writeln!(file)
        })?;
        tracing::info!("wrote {}", self.name());
        Ok(())
    }
}
