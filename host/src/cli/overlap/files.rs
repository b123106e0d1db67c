//! What the commands of `overlap` write.

use std::{io::Write as _, path::Path};

use csv::Writer;
use ndarray_npy::WritableElement;
use warpsmith::io::files::Destination;

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

/// A file to write.
pub struct Target {
    destination: Destination,
    pub format: Format,
}

impl Target {
    /// Makes sure, before anything is computed, that the file can be written in one of the formats and isn't one of the
    /// inputs.
    pub fn prepare(path: &Path, inputs: &[&Path], allowed: &[(&str, Format)]) -> Result<Self, Failure> {
        let extension = path.extension().map(|extension| extension.to_string_lossy().to_ascii_lowercase());
        let found = allowed.iter().find(|(name, _)| Some(*name) == extension.as_deref());
        let Some(&(_, format)) = found else {
            let names: Vec<_> = allowed.iter().map(|(name, _)| format!(".{name}")).collect();
            let names = match names.split_last() {
                Some((last, others)) if !others.is_empty() => format!("{} or {last}", others.join(", ")),
                _ => names.concat(),
            };
            return Err(Failure::error(format_args!("{}: the name must end in {names}, which tells the format", path.display())));
        };
        Ok(Target { destination: Files::reading(inputs).write(path)?, format })
    }

    /// As it was named.
    pub fn name(&self) -> String {
        self.destination.name().display().to_string()
    }

    /// Writes an array.
    pub fn array<T: WritableElement>(&self, values: &[T], shape: &[usize]) -> Result<(), Failure> {
        write_array(&self.destination, values, shape)
    }

    /// Writes text in columns.
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

    /// Writes JSON.
    pub fn json(&self, value: &impl serde::Serialize) -> Result<(), Failure> {
        self.destination.write(|file| {
            serde_json::to_writer_pretty(&mut *file, value)?;
            writeln!(file)
        })?;
        tracing::info!("wrote {}", self.name());
        Ok(())
    }
}
