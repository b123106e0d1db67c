//! `warpsmith rules next` and `rules add`: a search whose schedules are measured elsewhere.

use std::{
    fs::File,
    path::{Path, PathBuf},
};

use clap::Args;
use warpsmith::design_rules::{
    About, Dag, Runs, Schedule, Traversal, external,
    schedule::{check_streams, count},
    search::{Explorer, SearchMethod},
};

use super::program::Choice;
use crate::cli::{failure::Failure, format, output::Files, terminal};

/// Options of `rules next`.
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
pub struct Next {
    #[command(flatten)]
    choice: Choice,
    /// What was measured; it need not be there yet
    #[arg(long, value_name = "RUNS.CSV")]
    runs: PathBuf,
    /// How many schedules to print
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u64).range(1..=10_000))]
    count: u64,
    /// Print each as the line of JSON that a program of your own is asked with
    #[arg(long)]
    steps: bool,
    #[command(flatten)]
    settings: Settings,
}

/// Options of `rules add`.
#[derive(Args, Debug)]
#[command(
    long_about = "Add the time of a schedule to RUNS.CSV, which is made if it isn't there. The schedule has to be one of the program. Several \
        processes may add to one file at a time: its folder is locked meanwhile.",
    after_help = "Examples:\n  \
        warpsmith rules add mine.json --runs runs.csv 'Inner@0;Pack@0;..' 1.2e-4\n  \
        warpsmith rules add mine.json --runs runs.csv 'Pack@0;Inner@0;..' failed"
)]
pub struct Add {
    #[command(flatten)]
    choice: Choice,
    /// The runs
    #[arg(long, value_name = "RUNS.CSV")]
    runs: PathBuf,
    /// A schedule, as `rules next` prints it
    #[arg(value_name = "SCHEDULE")]
    schedule: String,
    /// Its time in seconds, or `failed`
    #[arg(value_name = "SECONDS", value_parser = parse_time, allow_hyphen_values = true)]
    seconds: Time,
    /// Where it was measured, for a new file
    #[arg(long, value_name = "TEXT", default_value = "")]
    platform: String,
    #[command(flatten)]
    settings: Settings,
}

/// What is said of a search.
#[derive(Args, Debug)]
struct Settings {
    /// The most streams that a schedule may use [default: 2, or what RUNS.CSV says]
    #[arg(long, value_name = "S")]
    streams: Option<usize>,
    /// How to choose schedules
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
    let time = text.parse().ok().filter(|seconds: &f64| seconds.is_finite() && *seconds >= 0.0);
    match time {
        None if text == "failed" => Ok(Time(None)),
        None => Err("neither a time in seconds nor `failed`".to_owned()),
        time => Ok(Time(time)),
    }
}

impl Settings {
    /// The runs of a file, or none yet.
    fn runs(&self, dag: &Dag, path: &Path, platform: &str) -> Result<Runs, Failure> {
        let streams = self.streams.unwrap_or(2);
        check_streams(streams)?;
        let about = About {
            platform: platform.to_owned(),
            ranks: 1,
            streams,
            search: self.search.strategy().name().to_owned(),
            seed: self.seed,
            space: count(dag, streams).ok().map(|space| space.to_string()),
            ..About::program(dag)
        };
        if !path.exists() {
            return Ok(Runs { about, ..Runs::default() });
        }
        let runs = Runs::read(path)?;
        if runs.about.signature.is_empty() {
            return Ok(Runs { about: About { signature: String::new(), ..about }, ..runs });
        }
        runs.check_program(dag, path)?;
        match self.streams.filter(|&streams| streams != runs.about.streams) {
            Some(streams) => Err(Failure::error(format_args!(
                "{}: its runs are on {}, not on {streams}",
                path.display(),
                format::counted(runs.about.streams, "stream", "streams")
            ))),
            None => Ok(runs),
        }
    }
}

/// Runs `next`.
pub fn next(arguments: &Next) -> Result<(), Failure> {
    let dag = arguments.choice.dag()?;
    let runs = arguments.settings.runs(&dag, &arguments.runs, "")?;
    let streams = runs.about.streams;
    let seed = arguments.settings.seed.wrapping_add(runs.tried() as u64);
    let mut explorer = Explorer::new(&dag, streams, arguments.settings.search.strategy(), seed)?;
    for (seconds, traversal) in runs.rows() {
        let in_file = |error| Failure::error(format_args!("{}: {error}", arguments.runs.display()));
        let schedule = Schedule::parse(&dag, streams, &traversal.to_string()).map_err(in_file)?;
        match seconds {
            Some(seconds) => explorer.record(&schedule, seconds),
            None => explorer.record_failure(&schedule),
        }?;
    }
    for _ in 0..arguments.count {
        let Some(schedule) = explorer.propose() else { break };
        let line = if arguments.steps { external::question(&dag, &schedule) } else { schedule.text(&dag) };
        terminal::print(line)?;
        // It has no time yet, and isn't to be proposed again.
        explorer.record_failure(&schedule)?;
    }
    Ok(())
}

/// Runs `add`.
pub fn add(arguments: &Add) -> Result<(), Failure> {
    let dag = arguments.choice.dag()?;
    let destination = Files::reading(arguments.choice.file()).write(&arguments.runs)?;
    // The file is replaced as a whole, so that a lock on it would be one on a file that is gone.
    let folder = arguments.runs.parent().filter(|folder| *folder != Path::new("")).unwrap_or(Path::new("."));
    let folder = File::open(folder).and_then(|folder| folder.lock().map(|()| folder));
    let _lock = folder
        .map_err(|error| Failure::error(format_args!("{}: its folder can't be locked: {error}", arguments.runs.display())))?;
    let mut runs = arguments.settings.runs(&dag, &arguments.runs, &arguments.platform)?;
    if runs.about.signature.is_empty() {
        let text = "it is a table of your own, to which you add rows yourself";
        return Err(Failure::error(format_args!("{}: {text}", arguments.runs.display())));
    }
    let schedule = Schedule::parse(&dag, runs.about.streams, &arguments.schedule)?;
    let traversal: Traversal = schedule.text(&dag).parse().map_err(Failure::error)?;
    runs.push(arguments.seconds.0, traversal);
    Ok(runs.write(&destination)?)
}
