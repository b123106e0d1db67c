//! Results as files: arrays, tables and JSON.

use std::{io::Write as _, path::Path};

use serde::Serialize;
use warpsmith::io::files::Destination;
use warpsmith::io::npy::Element;

pub use crate::output::Format;
use crate::{
    failure::Failure,
    output::{Files, write_array, write_rows},
};

/// A file to write.
pub struct ResultFile {
    destination: Destination,
    pub format: Format,
}

impl ResultFile {
    /// Checks, before anything is computed, that the file can be written in one of these formats
    /// and isn't an input.
    pub fn prepare(path: &Path, inputs: &[&Path], allowed: &[Format]) -> Result<Self, Failure> {
        let format = Format::of(path, allowed)?;
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
        self.destination.write(|file| write_rows(file, header, rows))?;
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
