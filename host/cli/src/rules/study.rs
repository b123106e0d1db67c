//! `warpsmith rules study`.

use std::path::PathBuf;

use clap::Args;
use serde::Serialize;
use warpsmith::{
    common::Cancel,
    design_rules::{
        Runs, program_of,
        search::SearchMethod,
        study::{NEAR, Repeated, Spread, Study},
    },
};

use super::learning::Learning;
use crate::{
    Global,
    draw::{
        Target,
        chart::{Chart, Line},
    },
    failure::Failure,
    format,
    output::Files,
    progress::Progress,
    terminal,
};

/// The paper's Table V: class accuracy by iterations.
const PAPER: [(usize, f64); 4] = [(50, 0.75), (100, 0.83), (200, 0.96), (400, 0.99)];

#[derive(Args, Debug)]
#[command(
    long_about = "Repeat searches on a space that was measured: times are looked up, and nothing is run.\n\n\
        FULL.CSV has all schedules of a program, as `warpsmith rules explore --exhaustive` writes it. For each search and number of \
        iterations, rules are learnt from the schedules that were found until then. The table has means and standard \
        deviations over seeds:\n  \
        the class accuracy of the rules over the whole space (the paper's Table V)\n  \
        how much longer the fastest schedule found takes than the fastest of all\n\n\
        Below, it tells after how many iterations a schedule within 1 % of the fastest is found.",
    after_help = "Examples:\n  \
        warpsmith rules study full.csv\n  \
        warpsmith rules study full.csv --iterations 25,50,100,200,400,800 --plot accuracy.svg\n  \
        warpsmith rules study full.csv --search mcts --seeds 100 --json"
)]
pub struct StudyArgs {
    /// Runs of all schedules
    #[arg(value_name = "FULL.CSV")]
    runs: PathBuf,
    /// Numbers of iterations
    #[arg(long, value_name = "LIST", value_delimiter = ',', default_values_t = PAPER.map(|(iterations, _)| iterations))]
    #[arg(value_parser = crate::count::up_to(usize::MAX))]
    iterations: Vec<usize>,
    /// Number of seeds, from 0
    #[arg(long, value_name = "N", default_value_t = 20, value_parser = clap::value_parser!(u64).range(1..=100_000))]
    seeds: u64,
    /// Search strategies
    #[arg(long, value_enum, value_delimiter = ',', default_values_t = [SearchMethod::Surrogate, SearchMethod::Mcts, SearchMethod::Random])]
    search: Vec<SearchMethod>,
    /// Runs of a second measurement of the same schedules: how near searches get to the fastest is judged by it
    #[arg(long, value_name = "SECOND.CSV")]
    judge: Option<PathBuf>,
    #[command(flatten)]
    learning: Learning,
    /// Draw the accuracy by iterations: .png or .svg
    #[arg(long, value_name = "OUT.SVG")]
    plot: Option<PathBuf>,
    /// Print one JSON object instead of tables
    #[arg(long)]
    json: bool,
}

#[derive(Serialize)]
struct Object<'a> {
    system: &'static str,
    command: &'static str,
    input_file: String,
    judge: Option<String>,
    #[serde(flatten)]
    origin: warpsmith::design_rules::measure::Origin<'a>,
    runs: usize,
    classes: usize,
    seeds: u64,
    /// Relative distance that counts as found.
    near: f64,
    searches: &'a [Repeated],
    paper: &'a [(usize, f64)],
    plot: Option<String>,
}

pub fn run(global: &Global, arguments: &StudyArgs) -> Result<(), Failure> {
    let mut files = Files::reading([&arguments.runs].into_iter().chain(&arguments.judge));
    let plot = arguments.plot.as_ref().map(|path| Target::prepare(&mut files, path)).transpose()?;
    let runs = Runs::read(&arguments.runs)?.merged();
    let (_, model) = arguments.learning.learn(&arguments.runs, &runs)?;
    let in_file = |error| Failure::error(format_args!("{}: {error}", arguments.runs.display()));
    let dag = program_of(&runs.about).map_err(in_file)?;
    let mut study = Study::new(&dag, &runs).map_err(in_file)?;
    if let Some(path) = &arguments.judge {
        let second = Runs::read(path)?.merged();
        second.check_program(&dag, path)?;
        let judged = study.judged_by(&second);
        study = judged.map_err(|error| Failure::error(format_args!("{}: {error}", path.display())))?;
    }
    let progress = Progress::new(arguments.json || global.verbose > 0);
    let mut searches = Vec::new();
    for search in &arguments.search {
        let name = search.strategy().name();
        let work = progress.costly_bar(arguments.seeds as usize, usize::MAX, format!("searching: {name}"));
        let options = arguments.learning.options(&runs)?;
        let repeated =
            study.repeat(*search, &arguments.iterations, arguments.seeds, &options, &Cancel::new(), || work.advance(1));
        searches.push(repeated.map_err(in_file)?);
    }
    if let Some(target) = &plot {
        target.write(&chart(&runs, &searches, arguments.seeds))?;
    }
    let object = Object {
        system: "rules",
        command: "study",
        input_file: arguments.runs.display().to_string(),
        judge: arguments.judge.as_ref().map(|path| path.display().to_string()),
        origin: runs.about.origin(),
        runs: runs.runs.len(),
        classes: model.labels.count(),
        seeds: arguments.seeds,
        near: NEAR,
        searches: &searches,
        paper: &PAPER,
        plot: arguments.plot.as_ref().map(|path| path.display().to_string()),
    };
    if arguments.json {
        return terminal::print_json(&object);
    }
    object.print()?;
    let one = model.without_advice(runs.about.noise).filter(|_| model.search.is_none());
    one.map_or(Ok(()), terminal::print)
}

/// Accuracy by iterations, with the paper's.
fn chart(runs: &Runs, searches: &[Repeated], seeds: u64) -> Chart {
    let line = |repeated: &Repeated| {
        let point = |point: &warpsmith::design_rules::study::Point| {
            let Spread { mean, deviation, .. } = point.accuracy?;
            Some((point.iterations as f64, mean, mean - deviation, (mean + deviation).min(1.0)))
        };
        Line { name: repeated.search.to_owned(), points: repeated.points.iter().filter_map(point).collect(), theirs: false }
    };
    let paper = PAPER.map(|(iterations, accuracy)| (iterations as f64, accuracy, accuracy, accuracy));
    let paper = Line { name: "the paper (A100s)".to_owned(), points: paper.to_vec(), theirs: true };
    Chart {
        title: format!("{}: class accuracy, mean and deviation of {seeds} seeds", runs.about.program),
        x: "iterations".to_owned(),
        y: "class accuracy".to_owned(),
        logarithmic: false,
        lines: searches.iter().map(line).chain([paper]).collect(),
    }
}

impl Object<'_> {
    fn print(&self) -> Result<(), Failure> {
        let schedules = format::counted(self.runs, "schedule", "schedules");
        let classes = format::counted(self.classes, "class", "classes");
        terminal::print(format_args!("{}: {schedules}, {classes}", self.input_file))?;
        let spread = |mean: String, deviation: String| if self.seeds > 1 { format!("{mean} ± {deviation}") } else { mean };
        let header =
            ["search", "iterations", "of all", "classes", "class accuracy", "least", "the paper's", "fastest found, above best"];
        let mut table = terminal::table(header, 1..header.len()).keys(2);
        for repeated in self.searches {
            for point in &repeated.points {
                let accuracy =
                    |text: &dyn Fn(Spread) -> String| point.accuracy.as_ref().map_or("none".to_owned(), |&all| text(all));
                let paper = PAPER.iter().find(|(iterations, _)| *iterations == point.iterations);
                let (slower, deviation) = (100.0 * point.slower.mean, 100.0 * point.slower.deviation);
                table.add_row([
                    repeated.search.to_owned(),
                    format::grouped(point.iterations),
                    format::percent(point.share),
                    format!("{:.1}", point.classes.mean),
                    accuracy(&|Spread { mean, deviation, .. }| spread(format!("{mean:.3}"), format!("{deviation:.3}"))),
                    accuracy(&|Spread { least, .. }| format!("{least:.3}")),
                    paper.map_or(String::new(), |(_, accuracy)| format!("{accuracy:.2}")),
                    spread(format!("{slower:.2}"), format!("{deviation:.2}")) + " %",
                ]);
            }
        }
        terminal::print(table)?;
        let header = ["search", "iterations until within 1 %", "of all", "at most", "search, each"];
        let mut table = terminal::table(header, 1..header.len());
        for repeated in self.searches {
            let (near, share) = (repeated.near, repeated.near_share);
            table.add_row([
                repeated.search.to_owned(),
                spread(format!("{:.1}", near.mean), format!("{:.1}", near.deviation)),
                format::percent(share.mean),
                format::percent(share.greatest),
                format::seconds(repeated.seconds_per_iteration),
            ]);
        }
        terminal::print(table)?;
        terminal::print(match self.seeds {
            1 => "Of 1 seed, so that the spread is unknown.".to_owned(),
            seeds => format!("Mean ± standard deviation of {seeds} seeds."),
        })?;
        self.plot.as_ref().map_or(Ok(()), |plot| terminal::print(format_args!("Written: {plot}")))
    }
}
