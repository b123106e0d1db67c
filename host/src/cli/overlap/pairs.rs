//! `warpsmith overlap pairs`.

use std::path::PathBuf;

use clap::Args;
use serde::Serialize;
use warpsmith::overlap::{OverlapPair, OverlapReal};

use super::{
    files::{Format, Target},
    input::{Dtype, Evaluation, Input, Loaded, parse_area},
    total::{ROWS, area},
};
use crate::cli::{
    Global,
    failure::Failure,
    format,
    progress::Progress,
    terminal::{self, Table},
};

/// Options of `overlap pairs`.
#[derive(Args, Debug)]
#[command(
    long_about = "List the pairs of poses of a packing that overlap, each once, and the areas that they have in common.\n\n\
        Poses are numbered from 0 within their packing. With --against the second one is of the other file. With --lattice it is \
        the image of the second one that is moved by this many of each vector.",
    after_help = "Examples:\n  \
        warpsmith overlap pairs poses.npy                             a table\n  \
        warpsmith overlap pairs poses.npy --output pairs.csv          packing,first,second,area\n  \
        warpsmith overlap pairs poses.npy --above 1e-6 --output pairs.npy\n  \
        warpsmith overlap pairs submission.csv --json                 one JSON object"
)]
pub struct Arguments {
    #[command(flatten)]
    input: Input,
    #[command(flatten)]
    evaluation: Evaluation,
    /// Areas up to this are rounding, and left out [default: 1e-12; 1e-6 with f32]
    #[arg(long, value_name = "AREA", value_parser = parse_area, allow_hyphen_values = true)]
    above: Option<f64>,
    /// Write the pairs: .csv, .json, or .npy with a row of four float64 for each (six with --lattice)
    #[arg(long, value_name = "PAIRS.CSV")]
    output: Option<PathBuf>,
    /// Print one JSON object instead of a table
    #[arg(long)]
    json: bool,
}

/// Two poses that overlap.
#[derive(Clone, Debug, Serialize)]
pub struct Pair {
    packing: usize,
    first: usize,
    second: usize,
    /// By how many of each lattice vector the second one is moved.
    #[serde(skip_serializing_if = "Option::is_none")]
    shift: Option<[i32; 2]>,
    pub area: f64,
}

impl Pair {
    pub fn of<T: OverlapReal>(loaded: &Loaded, pair: &OverlapPair<T>, lattice: bool) -> Self {
        let OverlapPair { packing, first, second, shift, area } = *pair;
        Pair { packing: loaded.label(packing), first, second, shift: lattice.then_some(shift), area: area.to_f64() }
    }

    /// The numbers before the area.
    fn numbers(&self) -> impl Iterator<Item = i64> {
        let counts = [self.packing, self.first, self.second].map(|count| count as i64);
        counts.into_iter().chain(self.shift.into_iter().flatten().map(i64::from))
    }
}

#[derive(Serialize)]
struct Object {
    system: &'static str,
    command: &'static str,
    input: String,
    against: Option<String>,
    dtype: &'static str,
    layout: &'static str,
    above: f64,
    count: usize,
    /// The sum of the areas of those listed.
    area: f64,
    /// Absent where they are written.
    #[serde(skip_serializing_if = "Option::is_none")]
    pairs: Option<Vec<Pair>>,
    output: Option<String>,
}

/// Runs the command.
pub fn run(global: &Global, arguments: &Arguments) -> Result<(), Failure> {
    match arguments.evaluation.dtype {
        Dtype::F32 => arguments.run::<f32>(global),
        Dtype::F64 => arguments.run::<f64>(global),
    }
}

impl Arguments {
    fn run<T: OverlapReal>(&self, global: &Global) -> Result<(), Failure> {
        let against = self.evaluation.against.as_deref();
        let inputs = self.input.files(against);
        let formats = [("csv", Format::Csv), ("json", Format::Json), ("npy", Format::Npy)];
        let target = self.output.as_ref().map(|path| Target::prepare(path, &inputs, &formats)).transpose()?;
        let loaded = self.input.load::<T>(against)?;
        let device = global.open()?;
        let overlap = self.evaluation.evaluator::<T>(&device, &loaded.shapes, false)?;
        let progress = Progress::new(self.json || global.verbose > 0);
        let work = progress.spinner(100 * loaded.packings.poses().len(), format!("evaluating on {device}"));
        let pairs = match &loaded.others {
            Some(others) => overlap.pairs_between(&loaded.packings, others)?,
            None => overlap.pairs(&loaded.packings)?,
        };
        drop(work);
        let above = self.above.unwrap_or_else(|| self.evaluation.rounding());
        let lattice = self.evaluation.lattice.is_some();
        let pairs = pairs.iter().map(|pair| Pair::of(&loaded, pair, lattice)).filter(|pair| pair.area > above);
        let pairs: Vec<Pair> = pairs.collect();
        if let Some(target) = &target {
            write(target, &pairs, lattice)?;
        }
        let sum = pairs.iter().fold(0.0, |sum, pair| sum + pair.area);
        if self.json {
            return terminal::print_json(&Object {
                system: "overlap",
                command: "pairs",
                input: self.input.poses.display().to_string(),
                against: against.map(|path| path.display().to_string()),
                dtype: T::NAME,
                layout: loaded.layout_name(),
                above,
                count: pairs.len(),
                area: sum,
                pairs: target.is_none().then_some(pairs),
                output: target.map(|target| target.name()),
            });
        }
        let count = format::counted(pairs.len(), "pair that overlaps", "pairs that overlap");
        let summary = format!("{count} by more than {above:e}, {} in all", area(sum));
        if let Some(target) = &target {
            return terminal::print(format_args!("Written: {} ({summary})", target.name()));
        }
        if !pairs.is_empty() {
            terminal::print(pair_table(&pairs, ROWS))?;
        }
        if pairs.len() > ROWS {
            let more = format::grouped(pairs.len() - ROWS);
            terminal::print(format_args!("... and {more} more; --output and --json have all."))?;
        }
        terminal::print(format_args!("{summary}."))
    }
}

fn write(target: &Target, pairs: &[Pair], lattice: bool) -> Result<(), Failure> {
    match target.format {
        Format::Json => target.json(&pairs),
        Format::Npy => {
            let row = |pair: &Pair| pair.numbers().map(|number| number as f64).chain([pair.area]).collect::<Vec<_>>();
            let numbers: Vec<f64> = pairs.iter().flat_map(row).collect();
            target.array(&numbers, &[pairs.len(), if lattice { 6 } else { 4 }])
        }
        Format::Csv => {
            let header: &[&str] = if lattice {
                &["packing", "first", "second", "shift_a", "shift_b", "area"]
            } else {
                &["packing", "first", "second", "area"]
            };
            let row = |pair: &Pair| pair.numbers().map(|number| number.to_string()).chain([format!("{:?}", pair.area)]).collect();
            target.table(header, pairs.iter().map(row))
        }
    }
}

/// The first `rows` of the pairs.
pub fn pair_table(pairs: &[Pair], rows: usize) -> Table {
    let mut table = terminal::table(["packing", "first", "second", "area"], 0..4);
    for pair in &pairs[..pairs.len().min(rows)] {
        let shift = pair.shift.filter(|&shift| shift != [0, 0]);
        let shift = shift.map_or_else(String::new, |[a, b]| format!(" + ({a}, {b})"));
        let second = format!("{}{shift}", pair.second);
        table.add_row([pair.packing.to_string(), pair.first.to_string(), second, area(pair.area)]);
    }
    table
}
