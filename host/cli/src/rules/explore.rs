//! `warpsmith rules explore`.

use std::{collections::BTreeMap, ffi::OsString, fmt, path::PathBuf, time::Duration};

use clap::Args;
use serde::Serialize;
use warpsmith::design_rules::{
    Answer, Precision, Space,
    explore::{Exploration, ExploreOptions, Method, Observer, Summary},
    external::External,
    measure::Origin,
    search::SearchMethod,
};

use super::{
    check_named,
    learning::parse_percent,
    platform::{Opened, Place, first_signal_stops, open_platform},
    program::{Choice, Program},
};
use crate::{
    Global,
    failure::Failure,
    format,
    interrupt::Interrupt,
    output::{Files, Format},
    progress::{Progress, ProgressLine},
    terminal,
};

/// Default number of schedules to measure.
const ITERATIONS: u64 = 200;
/// Default timeout of a program's answer.
const LIMIT: Duration = Duration::from_secs(60);

#[derive(Args, Debug)]
#[command(
    override_usage = "warpsmith rules explore [OPTIONS] --output <RUNS.CSV> <PROGRAM>\n       [-- <COMMAND>...]",
    long_about = "Measure schedules of a program, and write them with their times: RUNS.CSV.\n\n\
        By default, a model of the times chooses the schedules. It learns how orders and shared streams affect the time, and proposes \
        schedules that may be the fastest. --search mcts is the paper's Monte-Carlo tree search, which explores where times differ most. \
        random and dfs (depth first) are baselines. The search ends early if no schedules are left.\n\n\
        A schedule is measured until the confidence interval of its time is narrow enough: at least twice, and more often if its times \
        vary. Its time is the median. The first schedule is the reference, by which the machine's drift is divided out. It is measured \
        again after every four other measurements, and between those of a schedule whose times jump. At the end, up to four schedules \
        that may be the fastest are measured again, in turns with the reference. RUNS.CSV contains the noise of each time, and all \
        measurements.\n\n\
        With --exhaustive, all schedules are measured, in --passes passes, each in a random order. The time of a schedule is the median \
        of its passes without the machine's drift.\n\n\
        Ctrl-C or SIGTERM ends the search and writes what was measured, with exit code 130 or 143; a second signal ends at once. Until \
        the end, each measurement is added to RUNS.CSV.partial at once, and RUNS.CSV stays as it is. If a search did not come to its \
        end, --resume continues it as if it had never stopped: program, input, platform, command, search and seed must be the same. \
        Without RUNS.CSV.partial, it continues RUNS.CSV. --iterations and --passes include those of before.\n\n\
        A program of your own takes two things: a file of JSON with its operations, and a command behind `--`. The command reads \
        schedules, one line of JSON each, runs them, and answers with their times: docs/design-rules.md has an example. A schedule on \
        which it fails twice is recorded as failed, and the search goes on.",
    after_help = "Examples:\n  \
        warpsmith rules explore spmv --output runs.csv                       200 schedules on 4 ranks\n  \
        warpsmith rules explore spmv --iterations 400 --resume --output runs.csv\n  \
        warpsmith rules explore spmv --platform sim --exhaustive --output full.csv\n  \
        warpsmith rules explore spmv --ranks 2 --matrix m.mtx --check --output runs.csv\n  \
        warpsmith rules explore halo --platform sim --ranks 64 --machine cluster.json --output runs.csv\n  \
        mpirun -n 4 warpsmith rules explore spmv --output runs.csv           ranks as processes\n  \
        warpsmith rules explore mine.json --output runs.csv -- mpirun -n 4 ./mine --large"
)]
pub struct ExploreArgs {
    #[command(flatten)]
    choice: Choice,
    /// The program that measures schedules of PROGRAM.json: a command that answers on its standard
    /// output
    #[arg(last = true, value_name = "COMMAND")]
    command: Vec<OsString>,
    /// Timeout of an answer, in seconds [default: 60]
    #[arg(long, value_name = "S", value_parser = parse_limit, requires = "command")]
    limit: Option<Duration>,
    #[command(flatten)]
    place: Place,
    /// The set that schedules are chosen from
    #[arg(long, value_enum, default_value_t)]
    space: Space,
    /// The most streams that a schedule may use
    #[arg(long, value_name = "S", default_value_t = 2)]
    streams: usize,
    /// Number of schedules to measure [default: 200]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    iterations: Option<u64>,
    /// Measure all schedules
    #[arg(long, conflicts_with_all = ["iterations", "search"])]
    exhaustive: bool,
    /// With --exhaustive, how often to measure each [default: 1]
    #[arg(long, value_name = "N", requires = "exhaustive", value_parser = clap::value_parser!(u64).range(1..=1000), hide_short_help = true)]
    passes: Option<u64>,
    /// With --exhaustive, also write every single measurement, one per row, in order. --resume continues from these, also
    /// with more --passes
    #[arg(long, value_name = "RAW.CSV", requires = "exhaustive", hide_short_help = true)]
    raw: Option<PathBuf>,
    /// Search strategy
    #[arg(long, value_enum, default_value_t = SearchMethod::Surrogate)]
    search: SearchMethod,
    /// Half-width of the 95 % confidence interval of a time, in percent, until which a schedule is measured again
    /// [default: 1]
    #[arg(long, value_name = "PERCENT", conflicts_with = "exhaustive", value_parser = parse_percent, hide_short_help = true)]
    interval: Option<f64>,
    /// The most measurements of a schedule for that; with 1, each is measured once, and its noise is unknown [default: 6]
    #[arg(long, value_name = "N", conflicts_with = "exhaustive", value_parser = clap::value_parser!(u16).range(1..=10_000), hide_short_help = true)]
    repeats_at_most: Option<u16>,
    /// Seed of all that is random
    #[arg(long, value_name = "S", default_value_t = 0)]
    seed: u64,
    /// Continue the runs of RUNS.CSV.partial or of RUNS.CSV, if there are any
    #[arg(long)]
    resume: bool,
    /// Replace RUNS.CSV and RAW.CSV if they exist; --resume continues them all the same
    #[arg(long)]
    force: bool,
    /// Check the result of every schedule, including those that --resume finds
    #[arg(long)]
    check: bool,
    /// The runs
    #[arg(long, value_name = "RUNS.CSV")]
    output: PathBuf,
    /// Print one JSON object instead of a table
    #[arg(long)]
    json: bool,
}

/// Reads a time of more than nothing.
fn parse_limit(text: &str) -> Result<Duration, String> {
    let seconds = text.parse().ok().filter(|&seconds: &f64| seconds > 0.0);
    let limit = seconds.and_then(|seconds| Duration::try_from_secs_f64(seconds).ok());
    limit.ok_or_else(|| "not a number of seconds above 0".to_owned())
}

/// Shows the exploration on the terminal, and ends it after a signal.
struct Watch {
    interrupt: Interrupt,
    line: ProgressLine,
    platform: String,
}

impl Observer for Watch {
    fn is_cancelled(&self) -> bool {
        self.interrupt.cancel().is_cancelled()
    }

    fn progress(&self, done: usize, total: usize) {
        self.line.reach(done, total);
    }

    fn fastest(&self, seconds: f64) {
        self.line.say(format!("{}: {}", self.platform, format::seconds(seconds)));
    }

    fn warn(&self, text: &dyn fmt::Display) {
        terminal::warn(text);
    }
}

pub fn run(global: &Global, arguments: &ExploreArgs) -> Result<(), Failure> {
    let inputs = [arguments.place.matrix.as_deref(), arguments.place.machine.as_deref(), arguments.choice.program.file()];
    let mut files = Files::reading(inputs.into_iter().flatten());
    let mut write = |path: &PathBuf| {
        check_named(path)?;
        let destination = files.write(path)?;
        Format::of(path, &[Format::Csv])?;
        if path.exists() && !arguments.resume && !arguments.force {
            let path = path.display();
            return Err(Failure::error(format_args!(
                "{path} exists: continue its runs with --resume, or replace it with --force"
            )));
        }
        Ok(destination)
    };
    let destination = write(&arguments.output)?;
    let raw = arguments.raw.as_ref().map(write).transpose()?;
    files.write(&destination.partial_path())?;
    let opened = match arguments.external()? {
        Some(external) => Some(Opened { platform: Box::new(external), input: String::new(), numbers: BTreeMap::new() }),
        None => open_platform(global, &arguments.choice.program, &arguments.place, arguments.streams, arguments.seed)?,
    };
    // Otherwise another process does the rest.
    let Some(Opened { mut platform, input, numbers }) = opened else { return Ok(()) };
    let description = platform.description();
    let exploration = Exploration::start(&mut *platform, arguments.options(input, numbers), destination, raw, arguments.resume)?;
    let progress = Progress::new(arguments.json || global.verbose > 0);
    let watch = Watch {
        interrupt: first_signal_stops(),
        line: progress.costly_bar(1, usize::MAX, format!("measuring: {description}")),
        platform: description,
    };
    let explored = exploration.run(&watch)?.ok_or(Failure::Cancelled)?;
    let printed = Printed {
        system: "rules",
        command: "explore",
        origin: explored.runs.about.origin(),
        summary: &explored.summary,
        output: arguments.output.display().to_string(),
        is_simulated: arguments.place.is_simulated(),
    };
    if arguments.json { terminal::print_json(&printed) } else { printed.print() }?;
    if explored.summary.cancelled { Err(Failure::Cancelled) } else { Ok(()) }
}

impl ExploreArgs {
    /// Starts the user's program, if that is to be measured.
    fn external(&self) -> Result<Option<External>, Failure> {
        if self.command.is_empty() {
            return Ok(None);
        }
        if !matches!(self.choice.program, Program::File(_)) {
            return Err(Failure::error(
                "a command behind `--` measures a program of your own, which a file describes: PROGRAM.json",
            ));
        }
        if self.check {
            return Err(Failure::error("--check is for spmv and halo: a program of your own checks its results itself"));
        }
        let dag = self.choice.program.dag()?;
        self.place.check_external(&self.choice.program)?;
        // A signal ends the program as well.
        let cancel = first_signal_stops().cancel();
        let started = External::start(&dag, self.streams, self.command.clone(), self.limit.unwrap_or(LIMIT), cancel);
        cancel.check()?;
        Ok(Some(started?))
    }

    fn options(&self, input: String, numbers: BTreeMap<String, f64>) -> ExploreOptions {
        let usual = Precision::default();
        let method = if self.exhaustive {
            Method::Survey { passes: self.passes.unwrap_or(1) }
        } else {
            Method::Search {
                search: self.search,
                iterations: usize::try_from(self.iterations.unwrap_or(ITERATIONS)).unwrap_or(usize::MAX),
                precision: Precision {
                    interval: self.interval.map_or(usual.interval, |percent| percent / 100.0),
                    repeats: self.repeats_at_most.map_or(usual.repeats, usize::from),
                },
            }
        };
        ExploreOptions { space: self.space, streams: self.streams, seed: self.seed, method, check: self.check, input, numbers }
    }
}

/// The output of `--json`.
#[derive(Serialize)]
struct Printed<'a> {
    system: &'static str,
    command: &'static str,
    #[serde(flatten)]
    origin: Origin<'a>,
    #[serde(flatten)]
    summary: &'a Summary,
    output: String,
    #[serde(skip)]
    is_simulated: bool,
}

/// When a schedule of the fastest class was known.
fn answer_text(answer: &Answer) -> String {
    let schedules = format::counted(answer.iterations, "schedule", "schedules");
    let after = answer.seconds.map_or(String::new(), |seconds| format!(", {}", format::seconds(seconds)));
    format!("Time to answer: {schedules}{after}. Then one was known to be of the fastest class, with 95 % confidence.")
}

impl Printed<'_> {
    /// As a table.
    fn print(&self) -> Result<(), Failure> {
        let Summary { fastest, slowest, .. } = self.summary;
        let header = ["runs", "of all", "fastest", "slowest", "ratio", "search, each", "in all"];
        let mut table = terminal::table(header, 0..header.len());
        let share = self.origin.space.and_then(|space| space.parse::<f64>().ok()).map(|space| self.summary.runs as f64 / space);
        table.add_row([
            format::grouped(self.summary.runs),
            share.map_or(String::new(), format::percent),
            format::seconds(fastest.seconds),
            format::seconds(slowest.seconds),
            format!("{:.3}", self.summary.ratio),
            self.summary.search_seconds_per_run.map_or(String::new(), format::seconds),
            format::seconds(self.summary.seconds),
        ]);
        let comma = if self.origin.input.is_empty() { "" } else { ", " };
        terminal::print(format_args!("{}{comma}{}: {}", self.origin.program, self.origin.input, self.origin.platform))?;
        terminal::print(table)?;
        if self.summary.failed > 0 {
            terminal::print(format_args!("Failed: {}.", format::counted(self.summary.failed, "schedule", "schedules")))?;
        }
        if let Some(spread) = self.summary.spread {
            terminal::print(format_args!("Passes lie {:.2} % apart (median over schedules).", 100.0 * spread))?;
        }
        if let Some(noise) = self.summary.noise.filter(|&noise| noise > 0.0) {
            let measurements = format::counted(self.summary.measurements, "measurement", "measurements");
            terminal::print(format_args!("Times have a standard error of {:.2} % (median), by {measurements}.", 100.0 * noise))?;
        }
        if let Some(answer) = &self.summary.answer {
            terminal::print(answer_text(answer))?;
        }
        let checked = match self.summary.checked {
            false => "",
            true if self.is_simulated => "; no operation started before those that it depends on",
            true => "; every result was right",
        };
        terminal::print(format_args!("Fastest: {}{checked}", fastest.schedule.replace(';', " ")))?;
        terminal::print(format_args!("Written: {}", self.output))
    }
}
