//! Sets of functions from and to files, and summaries of them.

use std::{
    fmt::{self, Display},
    fs,
    path::{Path, PathBuf},
    sync::Arc,
};

use clap::{Args, ValueEnum};
use serde::Serialize;
use warpsmith::{
    io::{files::Destination, names_of_files, npy::Kind},
    pcf::{
        PcfError, PcfReal, PcfSet, Repairs, Window,
        barcode::{Barcode, Filtration, accumulated_persistences, betti_curves, stable_ranks},
        io::{self, BarcodeOptions, Format, Infinite, LoadOptions, PcfData},
    },
};

use super::Dtype;
use crate::{duration, failure::Failure, format, output::Files, progress::Progress, table::TableArgs, terminal};

/// A file of functions to write.
pub struct Target {
    destination: Destination,
    format: Format,
}

impl Target {
    /// Makes sure, before anything is computed, that the file can be written and isn't one of the inputs.
    pub fn prepare(path: &Path, inputs: &[PathBuf]) -> Result<Self, Failure> {
        let format = Format::of(path)?;
        Ok(Target { destination: Files::reading(inputs).write(path)?, format })
    }

    /// Writes the functions, and says so, and what was repaired.
    pub fn save(&self, data: &PcfData, repairs: Option<Repairs>, json: bool) -> Result<(), Failure> {
        match data {
            PcfData::F32(set) => io::save_at(set, &self.destination, self.format)?,
            PcfData::F64(set) => io::save_at(set, &self.destination, self.format)?,
        }
        let mut summary = Summary::of(self.destination.name().display(), data);
        summary.repaired = repairs;
        if json { terminal::print_json(&summary) } else { terminal::print(summary.written()) }
    }
}

/// The files of a set of functions, and the part of them that is read.
#[derive(Args, Debug)]
pub struct SetArgs {
    #[command(flatten)]
    table: TableArgs,
    /// Compare functions from this time on, a number or a time as 2024-05-01T12:00Z; it becomes t = 0
    #[arg(long, value_name = "T", value_parser = time, help_heading = "Time")]
    from: Option<Time>,
    /// Compare functions until this time; they are zero afterwards
    #[arg(long, value_name = "T", value_parser = time, help_heading = "Time")]
    until: Option<Time>,
    /// Shift each function first, so that it starts at 0
    #[arg(long, help_heading = "Time")]
    align: bool,
    /// Sample functions at multiples of this step, a number or a duration as 15m
    #[arg(long, value_name = "DT", value_parser = step, help_heading = "Time")]
    step: Option<f64>,
    /// Read barcodes, and make such a function of each
    #[arg(long, value_enum, help_heading = "Barcodes")]
    curve: Option<Curve>,
    #[command(flatten)]
    bars: BarsArgs,
}

/// The bars to read.
#[derive(Args, Debug)]
pub struct BarsArgs {
    /// Read only the bars of this dimension; needed if there are several
    #[arg(long, value_name = "D", help_heading = "Barcodes")]
    dimension: Option<u32>,
    /// The bars are of a superlevel filtration: deaths are below births
    #[arg(long, help_heading = "Barcodes")]
    superlevel: bool,
    /// Bars without end: `keep` or `drop` them, or a time at which they end
    #[arg(long, value_name = "END", value_parser = infinite, default_value = "keep", help_heading = "Barcodes")]
    infinite: Infinite,
}

/// The function to make of a barcode.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Curve {
    /// At t, the number of bars with birth <= t < death
    Betti,
    /// At t, the number of bars longer than t
    StableRank,
    /// At t, the sum of the lengths of the bars whose middle is at most t
    Accumulated,
}

/// A time, in seconds since 1970 if it is one of a calendar.
#[derive(Clone, Copy, Debug)]
struct Time {
    time: f64,
    of_calendar: bool,
}

fn time(text: &str) -> Result<Time, String> {
    let time = io::time(text).filter(|time| time.is_finite());
    let time = time.ok_or_else(|| "write a number, or a time as 2024-05-01T12:00Z".to_owned())?;
    Ok(Time { time, of_calendar: text.trim().parse::<f64>().is_err() })
}

fn step(text: &str) -> Result<f64, String> {
    let number = text.parse().ok().filter(|step: &f64| step.is_finite());
    let seconds = || duration::parse(text).ok().map(|step| step.as_secs_f64());
    number.or_else(seconds).ok_or_else(|| "write a number, or a duration as 15m or 1h".to_owned())
}

fn infinite(text: &str) -> Result<Infinite, String> {
    match (text, text.parse::<f64>()) {
        ("keep", _) => Ok(Infinite::Keep),
        ("drop", _) => Ok(Infinite::Drop),
        (_, Ok(end)) if end.is_finite() => Ok(Infinite::Cap(end)),
        _ => Err("write keep, drop or a number".to_owned()),
    }
}

/// The files of one set, for messages.
#[derive(Clone, Copy, Debug)]
pub struct Inputs<'a>(pub &'a [PathBuf]);

impl Display for Inputs<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            [] => Ok(()),
            [one] => write!(f, "{}", one.display()),
            [first, more @ ..] => write!(f, "{} and {} more", first.display(), more.len()),
        }
    }
}

impl Inputs<'_> {
    /// Adds the files' name to an error that lacks it.
    pub fn fail(&self, error: PcfError) -> Failure {
        match error {
            PcfError::File { .. } => error.into(),
            error => Failure::error(format_args!("{self}: {error}")),
        }
    }
}

impl SetArgs {
    /// Loads functions, in the precision asked for or else in the files'.
    pub fn load(&self, inputs: Inputs<'_>, dtype: Option<Dtype>, progress: Progress) -> Result<PcfData, Failure> {
        self.check()?;
        reading(inputs, progress, || match self.curve {
            Some(curve) => {
                self.bars.functions(inputs, &self.table, curve, dtype.unwrap_or(Dtype::F64)).and_then(|data| self.cut(data))
            }
            None => {
                let options = self.options(inputs.0)?;
                join(inputs, |path| match dtype {
                    None => io::load_with(path, &options),
                    Some(Dtype::F32) => io::load_as_with(path, &options).map(PcfData::F32),
                    Some(Dtype::F64) => io::load_as_with(path, &options).map(PcfData::F64),
                })
            }
        })
    }

    /// As [`load`](Self::load), and repairs what can be repaired.
    pub fn load_repaired(
        &self,
        input: &PathBuf,
        dtype: Option<Dtype>,
        progress: Progress,
    ) -> Result<(PcfData, Repairs), Failure> {
        self.check()?;
        let mut repairs = Repairs::default();
        let input = std::slice::from_ref(input);
        let data = reading(Inputs(input), progress, || {
            let (data, done) = io::load_repaired_with(&input[0], &self.options(input)?)?;
            repairs = done;
            cast(data, dtype)
        })?;
        Ok((data, repairs))
    }

    /// Refuses empty windows, and options of barcodes without `--curve`.
    fn check(&self) -> Result<(), Failure> {
        if let (Some(from), Some(until)) = (self.from, self.until)
            && from.of_calendar != until.of_calendar
        {
            return Err(Failure::error("--from and --until must both be numbers, or both be times of a calendar"));
        }
        self.window().range().map_err(Failure::error)?;
        let BarsArgs { dimension, superlevel, infinite } = self.bars;
        if self.curve.is_none() && (dimension.is_some() || superlevel || infinite != Infinite::Keep) {
            let text = "--dimension, --superlevel and --infinite are for barcodes: choose the function to make of them (--curve)";
            return Err(Failure::error(text));
        }
        Ok(())
    }

    fn window(&self) -> Window {
        // Functions that are shifted have other times than the table.
        let of_calendar = self.from.or(self.until).map(|end| end.of_calendar).filter(|of_calendar| *of_calendar || !self.align);
        let [from, until] = [self.from, self.until].map(|end| end.map(|end| end.time));
        Window { from, until, align: self.align, of_calendar, step: self.step }
    }

    fn options(&self, files: &[PathBuf]) -> Result<LoadOptions, PcfError> {
        Ok(LoadOptions { table: self.table.options(files)?, window: self.window() })
    }

    fn cut(&self, data: PcfData) -> Result<PcfData, PcfError> {
        let window = self.window();
        match data {
            _ if window.is_all() => Ok(data),
            PcfData::F32(set) => set.windowed(&window).map(PcfData::F32),
            PcfData::F64(set) => set.windowed(&window).map(PcfData::F64),
        }
    }
}

impl BarsArgs {
    /// Makes a function of each barcode.
    pub fn functions(&self, inputs: Inputs<'_>, table: &TableArgs, curve: Curve, dtype: Dtype) -> Result<PcfData, PcfError> {
        let filtration = if self.superlevel { Filtration::Superlevel } else { Filtration::Sublevel };
        let options = BarcodeOptions { dimension: self.dimension, filtration, infinite: self.infinite };
        let table = table.options(inputs.0)?;
        let (mut barcodes, mut names) = (Vec::new(), Names::of(inputs));
        for read in io::load_barcodes_of(inputs.0, options, &table)? {
            names.add(read.barcodes.len(), read.names.as_deref());
            barcodes.extend(read.barcodes);
        }
        fn made<T: PcfReal>(curve: Curve, barcodes: &[Barcode], names: Names) -> Result<PcfSet<T>, PcfError> {
            let make = match curve {
                Curve::Betti => betti_curves,
                Curve::StableRank => stable_ranks,
                Curve::Accumulated => accumulated_persistences,
            };
            make(barcodes)?.with_names(names.finish())
        }
        match dtype {
            Dtype::F32 => made(curve, &barcodes, names).map(PcfData::F32),
            Dtype::F64 => made(curve, &barcodes, names).map(PcfData::F64),
        }
    }
}

/// Names of the functions of several files: those of the file, after the file's own name if there are several files.
struct Names {
    /// Names of the files that are still to come, if there are several.
    files: Option<std::vec::IntoIter<String>>,
    names: Option<Vec<String>>,
}

impl Names {
    fn of(inputs: Inputs<'_>) -> Self {
        let files = (inputs.0.len() > 1).then(|| names_of_files(inputs.0).into_iter());
        Names { files, names: None }
    }

    /// Adds those of the next file.
    fn add(&mut self, count: usize, names: Option<&[String]>) {
        let Some(files) = &mut self.files else {
            self.names = names.map(<[String]>::to_vec);
            return;
        };
        let file = files.next().unwrap_or_default();
        let name = |index: usize| match names {
            _ if count == 1 => file.clone(),
            Some(names) => format!("{file}/{}", names[index]),
            None => format!("{file}/{index}"),
        };
        self.names.get_or_insert_default().extend((0..count).map(name));
    }

    fn finish(self) -> Option<Arc<[String]>> {
        self.names.map(Into::into)
    }
}

/// Loads the functions of each file, and joins them.
fn join(inputs: Inputs<'_>, load: impl Fn(&Path) -> Result<PcfData, PcfError>) -> Result<PcfData, PcfError> {
    if let [one] = inputs.0 {
        return load(one);
    }
    let sets: Vec<PcfData> = inputs.0.iter().map(|path| load(path)).collect::<Result<_, _>>()?;
    fn joined<T: PcfReal>(inputs: Inputs<'_>, sets: Vec<PcfData>) -> Result<PcfSet<T>, PcfError> {
        let sets: Vec<PcfSet<T>> = sets.into_iter().map(PcfData::into_set).collect::<Result<_, _>>()?;
        let mut names = Names::of(inputs);
        for set in &sets {
            names.add(set.len(), set.names().map(|names| &**names));
        }
        PcfSet::joined(&sets).with_names(names.finish())
    }
    if sets.iter().any(|set| set.kind() == Kind::F64) {
        joined(inputs, sets).map(PcfData::F64)
    } else {
        joined(inputs, sets).map(PcfData::F32)
    }
}

fn cast(data: PcfData, dtype: Option<Dtype>) -> Result<PcfData, PcfError> {
    match dtype {
        None => Ok(data),
        Some(Dtype::F32) => data.into_set().map(PcfData::F32),
        Some(Dtype::F64) => data.into_set().map(PcfData::F64),
    }
}

fn reading(inputs: Inputs<'_>, progress: Progress, load: impl FnOnce() -> Result<PcfData, PcfError>) -> Result<PcfData, Failure> {
    // An estimate of the number of numbers.
    let size: u64 = inputs.0.iter().map(|path| fs::metadata(path).map_or(0, |metadata| metadata.len())).sum();
    let work = progress.spinner((size / 8) as usize, format!("reading {inputs}"));
    let data = load().map_err(|error| inputs.fail(error))?;
    drop(work);
    tracing::info!(functions = data.len(), "read {inputs} ({})", data.kind().name());
    Ok(data)
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
    /// The functions' names.
    #[serde(skip_serializing_if = "Option::is_none")]
    names: Option<Vec<String>>,
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
    pub fn of(file: impl Display, data: &PcfData) -> Self {
        match data {
            PcfData::F32(set) => Summary::of_set(file, set, Kind::F32),
            PcfData::F64(set) => Summary::of_set(file, set, Kind::F64),
        }
    }

    fn of_set<T: PcfReal>(file: impl Display, set: &PcfSet<T>, kind: Kind) -> Self {
        let total = set.points().len();
        Summary {
            file: file.to_string(),
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
            names: set.names().map(|names| names.to_vec()),
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
        ]
        .into_iter()
        .chain(self.names.as_deref().map(|names| ("names", few(names))))
        {
            table.add_row([name.to_owned(), value]);
        }
        terminal::print(table)
    }
}

/// The first names of many.
fn few(names: &[String]) -> String {
    match names {
        [a, b, c, _, ..] => format!("{a}, {b}, {c}, ..."),
        few => few.join(", "),
    }
}
