//! `warpsmith overlap pairs`.

use std::path::PathBuf;

use clap::Args;
use serde::Serialize;
use warpsmith::overlap::{OverlapPair, OverlapReal};

use super::{
    evaluate::{Dtype, EvaluateArgs, Evaluated, Evaluating, Header, ROWS, area, evaluated},
    files::{Format, ResultFile},
    input::{Loaded, parse_area},
};
use crate::{Global, failure::Failure, format, terminal};

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
pub struct PairsArgs {
    #[command(flatten)]
    options: EvaluateArgs,
    /// Areas up to this are rounding, and left out [default: 1e-12; 1e-6 with f32]
    #[arg(long, value_name = "AREA", value_parser = parse_area, allow_hyphen_values = true)]
    above: Option<f64>,
    /// Write the pairs: .csv, .json, or .npy with a row of four float64 for each (six with
    /// --lattice)
    #[arg(long, value_name = "PAIRS.CSV")]
    output: Option<PathBuf>,
}

/// Two poses that overlap, as they are written.
#[derive(Clone, Debug, Serialize)]
struct Pair {
    packing: usize,
    first: usize,
    second: usize,
    /// Shift of the second one, in multiples of the lattice vectors.
    #[serde(skip_serializing_if = "Option::is_none")]
    shift: Option<[i32; 2]>,
    area: f64,
}

impl Pair {
    fn of<T: OverlapReal>(loaded: &Loaded, pair: &OverlapPair<T>, lattice: bool) -> Self {
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
struct Report {
    #[serde(flatten)]
    header: Header,
    above: f64,
    count: usize,
    /// Total area of these pairs.
    area: f64,
    /// Absent if they are written to a file.
    #[serde(skip_serializing_if = "Option::is_none")]
    pairs: Option<Vec<Pair>>,
}

impl Evaluating for PairsArgs {
    const NAME: &'static str = "pairs";
    const FORMATS: &'static [Format] = &[Format::Csv, Format::Json, Format::Npy];

    fn options(&self) -> &EvaluateArgs {
        &self.options
    }

    fn output(&self) -> Option<&PathBuf> {
        self.output.as_ref()
    }

    fn run_in<T: OverlapReal>(&self, global: &Global) -> Result<(), Failure> {
        let Evaluated { loaded, target, header, result } =
            evaluated::<T, _, _>(global, self, |overlap, loaded, _| match &loaded.others {
                Some(others) => Ok(overlap.pairs_between(&loaded.packings, others)?),
                None => Ok(overlap.pairs(&loaded.packings)?),
            })?;
        let above = self.above.unwrap_or(match self.options.dtype {
            Dtype::F32 => 1e-6,
            Dtype::F64 => 1e-12,
        });
        let lattice = self.options.lattice.is_some();
        let pairs = result.iter().map(|pair| Pair::of(&loaded, pair, lattice)).filter(|pair| pair.area > above);
        let pairs: Vec<Pair> = pairs.collect();
        if let Some(target) = &target {
            write(target, &pairs, lattice)?;
        }
        let (count, sum) = (pairs.len(), pairs.iter().fold(0.0, |sum, pair| sum + pair.area));
        if self.options.json {
            let pairs = target.is_none().then_some(pairs);
            return terminal::print_json(&Report { header, above, count, area: sum, pairs });
        }
        let counted = format::counted(count, "pair that overlaps", "pairs that overlap");
        let summary = format!("{counted} by more than {above:e}, {} in all", area(sum));
        if let Some(target) = &target {
            return terminal::print(format_args!("Written: {} ({summary})", target.name()));
        }
        if count > 0 {
            let mut table = terminal::table(["packing", "first", "second", "area"], 0..4);
            for pair in &pairs[..count.min(ROWS)] {
                let shift = pair.shift.filter(|&shift| shift != [0, 0]);
                let shift = shift.map_or_else(String::new, |[a, b]| format!(" + ({a}, {b})"));
                let second = format!("{}{shift}", pair.second);
                table.add_row([pair.packing.to_string(), pair.first.to_string(), second, area(pair.area)]);
            }
            terminal::print(table)?;
        }
        if count > ROWS {
            let more = format::grouped(count - ROWS);
            terminal::print(format_args!("... and {more} more; --output and --json have all."))?;
        }
        terminal::print(format_args!("{summary}."))
    }
}

fn write(target: &ResultFile, pairs: &[Pair], lattice: bool) -> Result<(), Failure> {
    match target.format {
        Format::Json => target.json(&pairs),
        Format::Npy => {
            let row = |pair: &Pair| pair.numbers().map(|number| number as f64).chain([pair.area]).collect::<Vec<_>>();
            let numbers: Vec<f64> = pairs.iter().flat_map(row).collect();
            target.array(&numbers, &[pairs.len(), if lattice { 6 } else { 4 }])
        }
        _ => {
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
