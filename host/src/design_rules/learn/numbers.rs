//! Tables of numbers that describe inputs.

use std::collections::HashMap;
use std::path::{Path, PathBuf};

use crate::design_rules::error::RulesError;
use crate::io::files::{FileError, Reason};
use crate::io::{Lines, Table, quoted};

/// A table with a row for each file of runs: its name, and numbers that describe the program's input.
#[derive(Clone, Debug, PartialEq)]
pub struct InputTable {
    path: PathBuf,
    names: Vec<String>,
    rows: HashMap<String, Vec<f64>>,
}

impl InputTable {
    /// Reads a CSV table. Its header names the numbers, after a first column for the files of runs.
    ///
    /// # Errors
    /// [`RulesError::File`] if it can't be read, has no numbers, names a column or a file twice, or has a field that is
    /// not a finite number.
    pub fn read(path: &Path) -> Result<Self, RulesError> {
        Self::parse(path).map_err(|reason| FileError::new(path, reason).into())
    }

    fn parse(path: &Path) -> Result<Self, Reason> {
        let mut table = Table::open_any(Lines::open(path)?)?;
        let names = table.header()[1..].to_vec();
        if names.is_empty() {
            return Err(table.error("there is one column, but it takes one for the files of runs, and one for each number"));
        }
        if let Some(name) =
            (1..names.len()).map(|place| &names[place]).zip(1..).find(|(name, place)| names[..*place].contains(name))
        {
            return Err(table.error(format_args!("the column {} is there twice", quoted(name.0))));
        }
        let mut rows = HashMap::new();
        while table.next()? {
            let number = |column| {
                let number: f64 = table.field(column, "a number")?;
                if number.is_finite() { Ok(number) } else { Err(table.field_error(column, "a finite number")) }
            };
            let numbers = (1..=names.len()).map(number).collect::<Result<Vec<f64>, Reason>>()?;
            let file = table.text(0).to_owned();
            if rows.contains_key(&file) {
                return Err(table.error(format_args!("{} is there twice", quoted(&file))));
            }
            rows.insert(file, numbers);
        }
        Ok(InputTable { path: path.to_owned(), names, rows })
    }

    /// Returns the names of the numbers.
    pub fn names(&self) -> &[String] {
        &self.names
    }

    /// Returns the numbers of a file of runs, which the table has by its path or by its name without folders.
    ///
    /// # Errors
    /// [`RulesError::File`] if the table doesn't have it.
    pub fn numbers(&self, runs: &Path) -> Result<&[f64], RulesError> {
        let name = runs.file_name().unwrap_or_default();
        let found = [runs.as_os_str(), name].into_iter().find_map(|name| self.rows.get(name.to_str()?));
        found
            .map(Vec::as_slice)
            .ok_or_else(|| FileError::new(&self.path, format!("there is no row for {}", quoted(&runs.to_string_lossy()))).into())
    }
}
