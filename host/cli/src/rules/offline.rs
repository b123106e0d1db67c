//! `warpsmith rules next` and `rules add`: a search whose schedules are measured elsewhere.

use std::path::PathBuf;

use clap::Args;
use warpsmith::design_rules::{About, Dag, external, offline, schedule::check_streams, search::SearchMethod};

use super::{check_named, program::Choice};
use crate::{failure::Failure, output::Files, terminal};

#[derive(Args, Debug)]
#[command(
    long_about = "Print the schedules that a search would measure next, one per line, from what RUNS.CSV says of those before. Measure \
        them by any means, and add their times with `rules add`, or as rows of a table of your own with columns `schedule` and `seconds`. \
        Equal runs and seeds give equal schedules. Where all schedules were tried, nothing is printed.",
    after_help = "Examples:\n  \
        warpsmith rules next mine.json --runs runs.csv\n  \
        warpsmith rules next mine.json --runs runs.csv --count 16 --steps     lines of JSON, as a program hears them\n  \
        warpsmith rules add mine.json --runs runs.csv 'Inner@0;Pack@0;..' 1.2e-4"
)]
pub struct NextArgs {
    #[command(flatten)]
    choice: Choice,
    /// Runs measured so far; none if the file doesn't exist
    #[arg(long, value_name = "RUNS.CSV")]
    runs: PathBuf,
    /// Number of schedules to print
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u64).range(1..=10_000))]
    count: u64,
    /// Print the JSON line of the protocol instead
    #[arg(long)]
    steps: bool,
    #[command(flatten)]
    settings: Settings,
}

#[derive(Args, Debug)]
#[command(
    override_usage = "warpsmith rules add [OPTIONS] --runs <RUNS.CSV> <PROGRAM> <SCHEDULE>\n       <SECONDS>",
    long_about = "Add the time of a schedule to RUNS.CSV, which is made if it isn't there. The schedule has to be one of the program. Several \
        processes may add to one file at a time: its folder is locked meanwhile.",
    after_help = "Examples:\n  \
        warpsmith rules add mine.json --runs runs.csv 'Inner@0;Pack@0;..' 1.2e-4\n  \
        warpsmith rules add mine.json --runs runs.csv 'Pack@0;Inner@0;..' failed"
)]
pub struct AddArgs {
    #[command(flatten)]
    choice: Choice,
    /// The runs
    #[arg(long, value_name = "RUNS.CSV")]
    runs: PathBuf,
    /// A schedule, as `rules next` prints it
    #[arg(value_name = "SCHEDULE")]
    schedule: String,
    /// Time of the schedule in seconds, or `failed`
    #[arg(value_name = "SECONDS", value_parser = parse_time, allow_hyphen_values = true)]
    seconds: Time,
    /// Description of the platform, for a new file
    #[arg(long, value_name = "TEXT", default_value = "")]
    platform: String,
    #[command(flatten)]
    settings: Settings,
}

/// Options of the search.
#[derive(Args, Debug)]
struct Settings {
    /// The most streams that a schedule may use [default: 2, or what RUNS.CSV says]
    #[arg(long, value_name = "S")]
    streams: Option<usize>,
    /// Search strategy
    #[arg(long, value_enum, default_value_t = SearchMethod::Surrogate)]
    search: SearchMethod,
    /// Seed of all that is random
    #[arg(long, value_name = "S", default_value_t = 0)]
    seed: u64,
}

/// A time in seconds, if there is one.
#[derive(Clone, Copy, Debug)]
struct Time(Option<f64>);

fn parse_time(text: &str) -> Result<Time, String> {
    let time = text.parse().ok().filter(|seconds: &f64| seconds.is_finite() && *seconds > 0.0);
    match time {
        None if text == "failed" => Ok(Time(None)),
        None => Err("neither a time in seconds, above 0, nor `failed`".to_owned()),
        time => Ok(Time(time)),
    }
}

impl Settings {
    /// Returns the description of a new file's runs.
    fn about(&self, dag: &Dag, platform: &str) -> Result<About, Failure> {
        if let Some(streams) = self.streams {
            check_streams(streams)?;
        }
        Ok(About {
            platform: platform.to_owned(),
            streams: self.streams.unwrap_or(0),
            search: self.search.strategy().name().to_owned(),
            seed: self.seed,
            ..About::program(dag)
        })
    }
}

/// Runs `next`.
pub fn next(arguments: &NextArgs) -> Result<(), Failure> {
    let NextArgs { choice, runs: path, settings, .. } = arguments;
    check_named(path)?;
    let dag = choice.program.dag()?;
    let runs = offline::open(&dag, path, settings.about(&dag, "")?)?;
    for schedule in offline::next(&dag, &runs, path, settings.search, settings.seed, arguments.count as usize)? {
        terminal::print(if arguments.steps { external::question(&dag, &schedule) } else { schedule.text(&dag) })?;
    }
    Ok(())
}

/// Runs `add`.
pub fn add(arguments: &AddArgs) -> Result<(), Failure> {
    let AddArgs { choice, settings, runs, .. } = arguments;
    check_named(runs)?;
    let dag = choice.program.dag()?;
    let destination = Files::reading(choice.program.file()).write(&arguments.runs)?;
    if runs.extension().is_none_or(|extension| !extension.eq_ignore_ascii_case("csv")) {
        return Err(Failure::error(format_args!("{}: the name must end in .csv", runs.display())));
    }
    let about = settings.about(&dag, &arguments.platform)?;
    Ok(offline::add(&dag, &destination, about, &arguments.schedule, arguments.seconds.0)?)
}
