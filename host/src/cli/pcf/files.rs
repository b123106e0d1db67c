//! Sets of functions from and to files, and summaries of them.

use std::{fs, path::Path};

use serde::Serialize;
use warpsmith::{
    io::{files::Destination, npy::Kind},
    pcf::{
        PcfError, PcfReal, PcfSet, Repairs,
        io::{self, Format, PcfData},
    },
};

use super::Dtype;
use crate::cli::{failure::Failure, format, output::Files, progress::Progress, terminal};

/// A file of functions to write.
pub struct Target {
    destination: Destination,
    format: Format,
}

impl Target {
    /// Makes sure, before anything is computed, that the file can be written and isn't one of the inputs.
    pub fn prepare(path: &Path, inputs: &[&Path]) -> Result<Self, Failure> {
        let format = Format::of(path)?;
        Ok(Target { destination: Files::reading(inputs).write(path)?, format })
    }

    /// Writes the functions, and says so, and what was repaired.
    pub fn save(&self, data: &PcfData, repairs: Option<Repairs>, json: bool) -> Result<(), Failure> {
        match data {
            PcfData::F32(set) => io::save_at(set, &self.destination, self.format)?,
            PcfData::F64(set) => io::save_at(set, &self.destination, self.format)?,
        }
        let mut summary = Summary::of(self.destination.name(), data);
        summary.repaired = repairs;
        if json { terminal::print_json(&summary) } else { terminal::print(summary.written()) }
    }
}

/// Loads functions, in the precision asked for or else in the file's.
pub fn load(path: &Path, dtype: Option<Dtype>, progress: Progress) -> Result<PcfData, Failure> {
    reading(path, progress, || match dtype {
        None => io::load(path),
        Some(Dtype::F32) => io::load_as(path).map(PcfData::F32),
        Some(Dtype::F64) => io::load_as(path).map(PcfData::F64),
    })
}

/// As [`load`], and repairs what can be repaired.
pub fn load_repaired(path: &Path, dtype: Option<Dtype>, progress: Progress) -> Result<(PcfData, Repairs), Failure> {
    let mut repairs = Repairs::default();
    let data = reading(path, progress, || {
        let (data, done) = io::load_repaired(path)?;
        repairs = done;
        match dtype {
            None => Ok(data),
            Some(Dtype::F32) => data.into_set().map(PcfData::F32),
            Some(Dtype::F64) => data.into_set().map(PcfData::F64),
        }
    })?;
    Ok((data, repairs))
}

fn reading(path: &Path, progress: Progress, load: impl FnOnce() -> Result<PcfData, PcfError>) -> Result<PcfData, Failure> {
    // An estimate of the number of numbers.
    let size = fs::metadata(path).map_or(0, |metadata| metadata.len());
    let work = progress.spinner((size / 8) as usize, format!("reading {}", path.display()));
    let data = load().map_err(|error| match error {
        PcfError::File { .. } => error.into(),
        error => in_file(path)(error),
    })?;
    drop(work);
    tracing::info!(functions = data.len(), "read {} ({})", path.display(), data.kind().name());
    Ok(data)
}

/// Adds the file's name to an error that lacks it.
pub fn in_file(path: &Path) -> impl Fn(PcfError) -> Failure {
    move |error| Failure::error(format_args!("{}: {error}", path.display()))
}

/// Size and extent of a set.
#[derive(Serialize)]
pub struct Summary {
    file: String,
    count: usize,
    shape: Vec<usize>,
    dtype: &'static str,
    breakpoints: Breakpoints,
    max_time: f64,
    /// Functions whose last value isn't 0.
    nonzero_tails: usize,
    memory_bytes: usize,
    #[serde(skip_serializing_if = "Option::is_none")]
    repaired: Option<Repairs>,
}

#[derive(Serialize)]
struct Breakpoints {
    total: usize,
    /// `None` for an empty set.
    min: Option<usize>,
    mean: Option<f64>,
    max: Option<usize>,
}

impl Summary {
    pub fn of(path: &Path, data: &PcfData) -> Self {
        match data {
            PcfData::F32(set) => Summary::of_set(path, set, Kind::F32),
            PcfData::F64(set) => Summary::of_set(path, set, Kind::F64),
        }
    }

    fn of_set<T: PcfReal>(path: &Path, set: &PcfSet<T>, kind: Kind) -> Self {
        let total = set.points().len();
        Summary {
            file: path.display().to_string(),
            count: set.len(),
            shape: set.shape().to_vec(),
            dtype: kind.name(),
            breakpoints: Breakpoints {
                total,
                min: set.lengths().min(),
                mean: (!set.is_empty()).then(|| total as f64 / set.len() as f64),
                max: set.lengths().max(),
            },
            max_time: set.max_time().to_f64(),
            nonzero_tails: set.iter().filter(|f| f.tail() != T::ZERO).count(),
            memory_bytes: size_of_val(set.points()) + size_of_val(set.offsets()),
            repaired: None,
        }
    }

    /// One line for a file that was written.
    fn written(&self) -> String {
        let functions = format::counted(self.count, "function", "functions");
        let breakpoints = format::counted(self.breakpoints.total, "breakpoint", "breakpoints");
        let repaired = self.repaired.as_ref().map_or_else(String::new, |repaired| {
            let Repairs { empty, sorted, shifted, merged, .. } = repaired;
            format!(
                "\nRepaired functions: {sorted} put in order, {shifted} shifted, {merged} with breakpoints merged, {empty} empty"
            )
        });
        format!("Written: {} ({functions}, {breakpoints}, {}){repaired}", self.file, self.dtype)
    }

    /// A row for each number.
    pub fn print(&self) -> Result<(), Failure> {
        let mut table = terminal::table([self.file.as_str(), ""], []);
        let extents: Vec<_> = self.shape.iter().map(|&extent| format::grouped(extent)).collect();
        let none = || "-".to_owned();
        let Breakpoints { total, min, mean, max } = self.breakpoints;
        for (name, value) in [
            ("functions", format::grouped(self.count)),
            ("shape", if extents.is_empty() { "()".to_owned() } else { extents.join(" x ") }),
            ("dtype", self.dtype.to_owned()),
            ("breakpoints", format::grouped(total)),
            ("  per function, min", min.map_or_else(none, format::grouped)),
            ("  per function, mean", mean.map_or_else(none, format::digits)),
            ("  per function, max", max.map_or_else(none, format::grouped)),
            ("max. time", self.max_time.to_string()),
            ("not 0 at the end", format::grouped(self.nonzero_tails)),
            ("memory", format::memory(self.memory_bytes)),
        ] {
            table.add_row([name.to_owned(), value]);
        }
        terminal::print(table)
    }
}
