//! `warpsmith overlap total`.

use std::path::PathBuf;

use clap::Args;
use serde::Serialize;
use warpsmith::overlap::{OverlapReal, Wanted, io::PoseLayout};

use super::{
    check::Checked,
    evaluate::{EvaluateArgs, Evaluated, Evaluating, Header, ROWS, area, areas, evaluated},
    files::{Format, ResultFile},
    input::parse_side,
};
use crate::{Global, failure::Failure, format, terminal};

#[derive(Args, Debug)]
#[command(
    long_about = "Compute for each packing the area in which its poses overlap, each pair counted once, and with --boundary the area \
        of all poses outside of a square around the origin.\n\n\
        A submission to Kaggle's Santa 2025 also gets its score: the sum of side^2 / n over its packings, where side is that of the \
        smallest square, with sides along the axes, around the n trees. And it is checked by the contest's rules, with exit code 1 if \
        it breaks one: a packing of each size from 1 to 200, |x| and |y| at most 100, and no two trees that overlap.\n\n\
        The contest rounds all vertices to double precision, and then allows no overlap, however small. Pairs count as overlapping if \
        they do so whatever that rounding is: by a depth of more than 1e-14, or 2e-13 far from the origin. Pairs that are nearer to \
        touching are counted separately: a gap of 1e-12 keeps them safe.",
    after_help = "Examples:\n  \
        warpsmith overlap total submission.csv                         the score, and violations of the rules\n  \
        warpsmith overlap total submission.csv --all                   all pairs that overlap\n  \
        warpsmith overlap total poses.npy --boundary 4 --json          one JSON object\n  \
        warpsmith overlap total poses.npy --output totals.npy          a number for each packing\n  \
        warpsmith overlap total cell.csv --lattice 1,0,0.5,0.9         of a packing that repeats\n  \
        warpsmith overlap total a.csv --against b.csv                  of the poses of one file with those of another\n  \
        warpsmith overlap total poses.csv --shape l.svg --shape tree   two shapes; the column `shape` is 0 or 1"
)]
pub struct TotalArgs {
    #[command(flatten)]
    options: EvaluateArgs,
    /// Also compute the area outside a square of this side around the origin, with sides along the
    /// axes
    #[arg(long, value_name = "H", value_parser = parse_side, allow_hyphen_values = true, conflicts_with_all = ["lattice", "against"])]
    boundary: Option<f64>,
    /// Check the packings by the rules of Kaggle's Santa 2025; exit code 1 if they break one
    /// [default: for submissions]
    #[arg(long, conflicts_with_all = ["lattice", "against"])]
    check: bool,
    /// Don't check a submission
    #[arg(long, conflicts_with = "check")]
    no_check: bool,
    /// Show all pairs that overlap instead of the ten with the largest areas
    #[arg(long, conflicts_with = "no_check")]
    all: bool,
    /// Write the areas: .npy of shape (packings,), with --boundary (packings, 2), or .csv
    #[arg(long, value_name = "TOTALS.NPY")]
    output: Option<PathBuf>,
}

#[derive(Serialize)]
struct Report {
    #[serde(flatten)]
    header: Header,
    shapes: Vec<String>,
    packings: Vec<Row>,
    /// Total over all packings.
    overlap: f64,
    outside: Option<f64>,
    score: Option<f64>,
    /// Violations of the contest's rules.
    check: Option<Checked>,
}

/// The result for one packing.
#[derive(Serialize)]
struct Row {
    packing: usize,
    poses: usize,
    overlap: f64,
    outside: Option<f64>,
    /// The smallest square's side; only in submissions.
    side: Option<f64>,
    score: Option<f64>,
}

impl Evaluating for TotalArgs {
    const NAME: &'static str = "total";
    const FORMATS: &'static [Format] = &[Format::Npy, Format::Csv];

    fn options(&self) -> &EvaluateArgs {
        &self.options
    }

    fn boundary(&self) -> Option<f64> {
        self.boundary
    }

    fn output(&self) -> Option<&PathBuf> {
        self.output.as_ref()
    }

    fn run_in<T: OverlapReal>(&self, global: &Global) -> Result<(), Failure> {
        let Evaluated { loaded, target, header, result } = evaluated::<T, _, _>(global, self, |overlap, loaded, _| {
            let alone = loaded.others.is_none() && self.options.lattice.is_none();
            let checks = self.check || loaded.layout == PoseLayout::Submission && alone && !self.no_check;
            if self.all && !checks {
                return Err(Failure::error("--all is for packings that are checked (--check)"));
            }
            Ok((areas(overlap, loaded, self.boundary, Wanted::TOTALS)?, checks))
        })?;
        let (evaluation, checks) = result;
        let check = checks.then(|| Checked::of(&loaded));
        let submitted = loaded.layout == PoseLayout::Submission;
        let outside = evaluation.outside.as_ref().map(|outside| &outside.totals);
        let row = |packing: usize| {
            let poses = loaded.packings.get(packing).len();
            let side = submitted.then(|| loaded.packings.side(packing, &loaded.shapes));
            Row {
                packing: loaded.label(packing),
                poses,
                overlap: evaluation.totals[packing].to_f64(),
                outside: outside.map(|totals| totals[packing].to_f64()),
                side,
                score: side.map(|side| side * side / poses as f64),
            }
        };
        let rows: Vec<Row> = (0..loaded.packings.len()).map(row).collect();
        if let Some(target) = &target {
            self.write::<T>(target, &rows)?;
        }
        let sum = |number: fn(&Row) -> Option<f64>| rows.iter().try_fold(0.0, |sum, row| Some(sum + number(row)?));
        let report = Report {
            header,
            shapes: loaded.shapes.iter().map(|shape| shape.name().to_owned()).collect(),
            overlap: rows.iter().fold(0.0, |sum, row| sum + row.overlap),
            outside: sum(|row| row.outside).filter(|_| self.boundary.is_some()),
            score: sum(|row| row.score).filter(|_| submitted),
            check,
            packings: rows,
        };
        if self.options.json { terminal::print_json(&report) } else { report.print(self.all) }?;
        let broken = report.check.and_then(|check| check.broken());
        broken.map_or(Ok(()), |what| Err(Failure::Verification(format!("{}: {what}", report.header.input))))
    }
}

impl TotalArgs {
    fn write<T: OverlapReal>(&self, target: &ResultFile, rows: &[Row]) -> Result<(), Failure> {
        let bounded = self.boundary.is_some();
        if target.format == Format::Npy {
            let numbers = rows.iter().flat_map(|row| [Some(row.overlap), row.outside]).flatten();
            let numbers: Vec<T> = numbers.map(T::from_f64).collect();
            let shape: &[usize] = if bounded { &[rows.len(), 2] } else { &[rows.len()] };
            return target.array(&numbers, shape);
        }
        let scored = rows.iter().any(|row| row.score.is_some());
        let names =
            [(true, "packing"), (true, "poses"), (true, "overlap"), (bounded, "outside"), (scored, "side"), (scored, "score")];
        let header: Vec<_> = names.into_iter().filter_map(|(there, name)| there.then_some(name)).collect();
        target.table(
            &header,
            rows.iter().map(|row| {
                let numbers = [Some(row.overlap), row.outside, row.side, row.score];
                let counts = [row.packing, row.poses].map(|count| count.to_string());
                counts.into_iter().chain(numbers.into_iter().flatten().map(|number| format!("{number:?}"))).collect()
            }),
        )
    }
}

impl Report {
    fn print(&self, all: bool) -> Result<(), Failure> {
        let mut header = vec!["packing", "poses", "overlap (area)"];
        header.extend(self.outside.map(|_| "outside (area)"));
        if self.score.is_some() {
            header.extend(["side (length)", "side^2 / n"]);
        }
        let columns = header.len();
        let mut table = terminal::table(header, 0..columns);
        for row in &self.packings[..self.packings.len().min(ROWS)] {
            let numbers = [Some(row.overlap), row.outside].map(|number| number.map(area));
            let scores = [row.side, row.score].map(|number| number.map(|number| format!("{number:.9}")));
            let counts = [row.packing.to_string(), format::grouped(row.poses)];
            table.add_row(counts.into_iter().chain(numbers.into_iter().chain(scores).flatten()));
        }
        terminal::print(table)?;
        if self.packings.len() > ROWS {
            let more = format::counted(self.packings.len() - ROWS, "packing", "packings");
            terminal::print(format_args!("... and {more} more; --output and --json have all."))?;
        }
        let (packings, poses) = (self.packings.len(), self.packings.iter().map(|row| row.poses).sum::<usize>());
        let outside = self.outside.map_or_else(String::new, |outside| format!(", outside {}", area(outside)));
        terminal::print(format_args!(
            "{} of {} in all, {}: overlap {}{outside}; {} on {}.",
            format::counted(packings, "packing", "packings"),
            self.shapes.join(", "),
            format::counted(poses, "pose", "poses"),
            area(self.overlap),
            format::time(self.header.ms),
            self.header.device
        ))?;
        let valid = match &self.check {
            Some(check) => {
                check.print(all)?;
                if check.valid { "" } else { " if it were valid" }
            }
            None => "",
        };
        if let Some(score) = self.score {
            terminal::print(format_args!("Score{valid}: {score:.12}"))?;
        }
        self.header.output.as_ref().map_or(Ok(()), |output| terminal::print(format_args!("Written: {output}")))
    }
}
