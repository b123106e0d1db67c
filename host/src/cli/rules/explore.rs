//! `warpsmith rules explore`.

use std::{
    collections::HashSet,
    ffi::OsString,
    ops::ControlFlow,
    path::PathBuf,
    time::{Duration, Instant},
};

use clap::{Args, ValueEnum};
use warpsmith::design_rules::{
    About, Answer, Dag, LabelOptions, Labels, Measurer, Platform, Precision, RulesError, Runs, Schedule, Survey,
    external::External,
    schedule::{Schedules, count},
    search::{DepthFirst, Explorer, Mcts, Random, Strategy, Surrogate},
};

use super::{
    explored::{Best, Object},
    learning::Origin,
    platform::{Opened, Place, open_platform},
    program::{Choice, Program},
    session::{Kept, Session, beside},
};
use crate::cli::{
    Global,
    failure::Failure,
    format,
    interrupt::Interrupt,
    output::Files,
    progress::{Progress, ProgressLine},
    terminal,
};

/// How many schedules are measured where nothing is said.
const ITERATIONS: usize = 200;
/// More schedules than this can't all be measured.
const MOST: u128 = 10_000_000;
/// What the file says of the search where all schedules were measured, in passes.
const SURVEY: &str = "survey";

/// Options of `rules explore`.
#[derive(Args, Debug)]
#[command(
    long_about = "Measure schedules of a program, and write them with their times: RUNS.CSV.\n\n\
        By itself a model of the times chooses which: it learns what orders and shared streams take, and proposes what may be the fastest. \
        --search mcts is the paper's Monte-Carlo tree search, which goes where times differ most; random and dfs (depth first) are there to \
        compare with. The search ends early when there are no more.\n\n\
        A schedule is measured again until the interval of its time is narrow enough: twice at least, and as often as its noise takes. Its \
        time is the median. The first schedule is the reference. It is measured again after every four other measurements, and in turns \
        with schedules whose times jump, so that what the machine drifts meanwhile can be divided out. At the end, up to four schedules \
        that may be the fastest are measured again, in turns with it. RUNS.CSV has the noise of each time, and all times as they were \
        measured.\n\nWith --exhaustive, all schedules \
        are measured, --passes times over in random orders, and each has the median of its times, with what the machine drifted \
        meanwhile taken out.\n\n\
        Ctrl-C or SIGTERM ends the search: what was measured until then is written in the same way, with exit code 130 or 143; a second \
        one ends at once. Until the end, each measurement goes to RUNS.CSV.partial at once, and RUNS.CSV stays as it is. Where a search didn't come to \
        its end, --resume continues it from there as if it had never stopped: program, input, platform, search and seed must be the same. \
        Without such a file, it continues RUNS.CSV itself. Iterations and passes are counted with those that there are.\n\n\
        A program of your own is a file of JSON with its operations, and a command, behind `--`, that runs the schedules which it is \
        told, a line of JSON each, and answers with a time: docs/design-rules.md has an example. A schedule on which it fails \
        twice is written down as failed, and the search goes on.",
    after_help = "Examples:\n  \
        warpsmith rules explore spmv --output runs.csv                       200 schedules on 4 ranks\n  \
        warpsmith rules explore spmv --iterations 400 --resume --output runs.csv\n  \
        warpsmith rules explore spmv --platform sim --exhaustive --output full.csv\n  \
        warpsmith rules explore spmv --ranks 2 --matrix m.mtx --check --output runs.csv\n  \
        warpsmith rules explore halo --platform sim --ranks 64 --machine cluster.json --output runs.csv\n  \
        mpirun -n 4 warpsmith rules explore spmv --output runs.csv           ranks as processes\n  \
        warpsmith rules explore mine.json --output runs.csv -- mpirun -n 4 ./mine --large"
)]
pub struct Arguments {
    #[command(flatten)]
    choice: Choice,
    /// What measures the schedules of a program of your own: a command that answers on its standard output
    #[arg(last = true, value_name = "COMMAND")]
    command: Vec<OsString>,
    /// How long that may take to answer, in seconds [default: 60]
    #[arg(long, value_name = "S", value_parser = parse_limit, requires = "command")]
    limit: Option<Duration>,
    #[command(flatten)]
    place: Place,
    /// The most streams that a schedule may use
    #[arg(long, value_name = "S", default_value_t = 2)]
    streams: usize,
    /// How many schedules to measure [default: 200]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    iterations: Option<u64>,
    /// Measure all schedules
    #[arg(long, conflicts_with_all = ["iterations", "search"])]
    exhaustive: bool,
    /// With --exhaustive, how often to measure each [default: 1]
    #[arg(long, value_name = "N", requires = "exhaustive", value_parser = clap::value_parser!(u64).range(1..=1000))]
    passes: Option<u64>,
    /// With --exhaustive, also write the times of all passes, as they were measured: rows in order, with each schedule
    /// as often as it was measured. --resume then goes on from these, with more --passes, too
    #[arg(long, value_name = "RAW.CSV", requires = "exhaustive")]
    raw: Option<PathBuf>,
    /// How to choose schedules
    #[arg(long, value_enum, default_value_t = Search::Surrogate)]
    search: Search,
    /// Measure a schedule again until the 95 % interval of its time reaches no farther than so many percent to either
    /// side [default: 1]
    #[arg(long, value_name = "PERCENT", conflicts_with = "exhaustive", value_parser = parse_percent)]
    interval: Option<f64>,
    /// The most measurements to spend on that; with 1, each schedule is measured once, and noise stays unknown
    /// [default: 6]
    #[arg(long, value_name = "N", conflicts_with = "exhaustive", value_parser = clap::value_parser!(u16).range(1..=10_000))]
    repeats_at_most: Option<u16>,
    /// Seed of all that is random
    #[arg(long, value_name = "S", default_value_t = 0)]
    seed: u64,
    /// Continue the runs of RUNS.CSV.partial or of RUNS.CSV, if there are any
    #[arg(long)]
    resume: bool,
    /// Check the result of every schedule, too
    #[arg(long)]
    check: bool,
    /// The runs
    #[arg(long, value_name = "RUNS.CSV")]
    output: PathBuf,
    /// Print one JSON object instead of a table
    #[arg(long)]
    json: bool,
}

/// How schedules are chosen.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Search {
    /// By a model of the times, regression trees over orders and streams: what may be fast
    Surrogate,
    /// Monte-Carlo tree search, as in the paper: where times differ most
    Mcts,
    /// At random
    Random,
    /// One after the other, depth first
    Dfs,
}

impl Search {
    /// The strategy.
    pub fn strategy(self) -> Box<dyn Strategy> {
        match self {
            Search::Surrogate => Box::new(Surrogate::default()),
            Search::Mcts => Box::new(Mcts::default()),
            Search::Random => Box::new(Random),
            Search::Dfs => Box::new(DepthFirst),
        }
    }
}

/// The most schedules in a row that may fail.
const MOST_FAILED: usize = 20;
/// How long a program may take to answer where nothing is said.
const LIMIT: Duration = Duration::from_secs(60);

/// Reads a time of more than nothing.
fn parse_limit(text: &str) -> Result<Duration, String> {
    let seconds = text.parse().ok().filter(|&seconds: &f64| seconds > 0.0);
    let limit = seconds.and_then(|seconds| Duration::try_from_secs_f64(seconds).ok());
    limit.ok_or_else(|| "not a number of seconds above 0".to_owned())
}

/// Reads a percentage above 0.
pub fn parse_percent(text: &str) -> Result<f64, String> {
    let number = text.strip_suffix('%').unwrap_or(text).trim_end().parse();
    number
        .ok()
        .filter(|&percent: &f64| percent > 0.0 && percent <= 100.0)
        .ok_or_else(|| "not a percentage above 0, and at most 100".to_owned())
}

/// What came of a search.
#[derive(Default)]
struct Outcome {
    /// What it took besides measuring, and over how many runs.
    thought: (f64, usize),
    spread: Option<f64>,
    /// What went wrong, if something did.
    error: Option<RulesError>,
}

/// Runs the command.
pub fn run(global: &Global, arguments: &Arguments) -> Result<(), Failure> {
    let program = if let Program::File(path) = &arguments.choice.program { Some(path) } else { None };
    let inputs = [arguments.place.input.matrix.as_ref(), arguments.place.machine.as_ref(), program];
    let mut files = Files::reading(inputs.into_iter().flatten());
    let destination = files.write(&arguments.output)?;
    files.write(&beside(&arguments.output))?;
    let raw = arguments.raw.as_ref().map(|path| files.write(path)).transpose()?;
    let opened = match arguments.external()? {
        Some(external) => Some(Opened { platform: Box::new(external), input: String::new() }),
        None => open_platform(global, &arguments.choice, &arguments.place, arguments.streams, arguments.seed)?,
    };
    // Else another process does the rest.
    let Some(Opened { mut platform, input }) = opened else { return Ok(()) };
    let dag = platform.dag().clone();
    let space = match count(&dag, arguments.streams) {
        Ok(space) => Some(space),
        Err(RulesError::TooMany { .. }) if !arguments.exhaustive => None,
        Err(error) => return Err(error.into()),
    };
    if let Some(space) = space.filter(|&space| arguments.exhaustive && space > MOST) {
        let (space, most) = (format::grouped_digits(&space.to_string()), format::grouped_digits(&MOST.to_string()));
        return Err(Failure::error(format_args!(
            "{} has {space} schedules on {} streams: more than {most} can't all be measured",
            dag.name(),
            arguments.streams
        )));
    }
    let strategy = arguments.search.strategy();
    let about = About {
        input,
        platform: platform.description(),
        ranks: platform.ranks(),
        streams: arguments.streams,
        search: if arguments.exhaustive { SURVEY } else { strategy.name() }.to_owned(),
        seed: arguments.seed,
        space: space.map(|space| space.to_string()),
        noise: platform.is_exact().then_some(0.0),
        ..About::program(&dag)
    };
    let mut session = Session::start(destination, raw, about, arguments.resume, !arguments.exhaustive)?;
    let interrupt = Interrupt::first_sets("stopping with what was measured");

    let start = Instant::now();
    let progress = Progress::new(arguments.json || global.verbose > 0);
    let outcome = if arguments.exhaustive {
        arguments.survey(&mut session, &mut *platform, &interrupt, progress)?
    } else {
        arguments.search(&mut session, &mut *platform, &dag, strategy, &interrupt, progress)?
    };
    let seconds = start.elapsed().as_secs_f64();
    let cancelled = interrupt.cancel().is_cancelled();
    if session.runs.runs.is_empty() {
        let nothing = if cancelled { Failure::Cancelled } else { Failure::error("no schedule could be measured") };
        return Err(outcome.error.map_or(nothing, Failure::from));
    }
    // First of all what was measured: the platform may fail once more.
    session.write()?;
    let is_whole = outcome.error.is_none() && !cancelled && session.is_continued();
    // Of passes, the file has not all that was measured, and what is missing is for those who continue them.
    if is_whole || !arguments.exhaustive {
        session.end();
    }
    if let Some(error) = outcome.error {
        tracing::info!(runs = session.runs.runs.len(), "what was measured before is in {}", arguments.output.display());
        return Err(error.into());
    }
    // Of another program nobody knows when its steps are under way.
    if program.is_none() {
        session.trace(&mut *platform, &dag)?;
        session.write()?;
    }
    let Outcome { thought: (thought, runs), spread, .. } = outcome;
    let object = arguments.object(&session.runs, (runs > 0).then(|| thought / runs as f64), spread, seconds, cancelled)?;
    if arguments.json { terminal::print_json(&object) } else { object.print() }?;
    if cancelled { Err(Failure::Cancelled) } else { Ok(()) }
}

impl Arguments {
    /// The program of the user's, if that is to be measured.
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
        self.place.check_external(&self.choice)?;
        let dag = self.choice.dag()?;
        Ok(Some(External::start(&dag, self.streams, self.command.clone(), self.limit.unwrap_or(LIMIT))?))
    }

    /// Measures what a search proposes. Runs that there are already are what it proposed first.
    fn search(
        &self,
        session: &mut Session,
        platform: &mut dyn Platform,
        dag: &Dag,
        strategy: Box<dyn Strategy>,
        interrupt: &Interrupt,
        progress: Progress,
    ) -> Result<Outcome, Failure> {
        let wanted = self.iterations.map_or(ITERATIONS, |iterations| usize::try_from(iterations).unwrap_or(usize::MAX));
        let mut explorer = Explorer::new(dag, self.streams, strategy, self.seed)?;
        let work = bar(progress, wanted, platform);
        let mut outcome = Outcome::default();
        let mut fastest = f64::INFINITY;
        let mut failed = 0;
        let mut measurer = Measurer::new(self.precision(platform));
        let cancelled = || interrupt.cancel().is_cancelled();
        let mut kept = Kept { session, platform, check: self.check, checked: HashSet::new(), failures: Some(interrupt) };
        let measure = |kept: &mut Kept<'_>, schedule: &Schedule| {
            let stopped = || RulesError::Failed { schedule: schedule.text(dag), reason: "the search was stopped".to_owned() };
            if cancelled() { Err(stopped()) } else { kept.take(schedule) }
        };
        for iteration in 0..wanted {
            if cancelled() {
                break;
            }
            let start = Instant::now();
            let Some(schedule) = explorer.propose() else { break };
            outcome.thought.0 += start.elapsed().as_secs_f64();
            let seconds = match measurer.measure(&schedule, |schedule| measure(&mut kept, schedule)) {
                Ok(seconds) => seconds,
                // What was stopped didn't fail.
                Err(RulesError::Failed { .. }) if cancelled() => break,
                Err(error @ RulesError::Failed { .. }) => {
                    explorer.record_failure(&schedule)?;
                    measurer.fail(&schedule);
                    terminal::warn(&error);
                    work.reach(iteration + 1, wanted);
                    failed += 1;
                    if failed == MOST_FAILED {
                        terminal::warn(format_args!("{MOST_FAILED} schedules in a row have failed"));
                        outcome.error = Some(error);
                        break;
                    }
                    continue;
                }
                Err(error) if kept.session.is_continued() => {
                    outcome.error = Some(error);
                    break;
                }
                // The file is of another search, and stays as it is.
                Err(error) => return Err(error.into()),
            };
            let start = Instant::now();
            explorer.record(&schedule, seconds)?;
            outcome.thought.0 += start.elapsed().as_secs_f64();
            outcome.thought.1 += 1;
            failed = 0;
            tracing::debug!(iteration, seconds, "measured");
            work.reach(iteration + 1, wanted);
            if seconds < fastest {
                fastest = seconds;
                work.say(format!("{}: {}", kept.platform.description(), format::seconds(fastest)));
            }
        }
        if outcome.error.is_none() && !cancelled() {
            let finalists = measurer.finalists();
            match measurer.in_turns(&finalists, |schedule| measure(&mut kept, schedule), || !cancelled()) {
                Err(RulesError::Failed { .. }) if cancelled() => {}
                Err(error @ RulesError::Failed { .. }) => terminal::warn(&error),
                ended => outcome.error = ended.err(),
            }
        }
        for (text, measured) in session.unused() {
            let schedule = Schedule::parse(dag, self.streams, &text)?;
            match measured {
                Some(measured) => measurer.take(&schedule, measured),
                None => measurer.fail(&schedule),
            }
        }
        measurer.record(dag, &mut session.runs);
        Ok(outcome)
    }

    /// How sure times have to be.
    fn precision(&self, platform: &dyn Platform) -> Precision {
        let usual = Precision::default();
        Precision {
            interval: self.interval.map_or(usual.interval, |percent| percent / 100.0),
            repeats: match self.repeats_at_most {
                _ if platform.is_exact() => 1,
                repeats => repeats.map_or(usual.repeats, usize::from),
            },
        }
    }

    /// Measures all schedules, in passes.
    fn survey(
        &self,
        session: &mut Session,
        platform: &mut dyn Platform,
        interrupt: &Interrupt,
        progress: Progress,
    ) -> Result<Outcome, Failure> {
        let passes = self.passes.unwrap_or(1);
        let mut survey = Survey::new(platform, self.streams)?;
        let total = survey.len().saturating_mul(passes as usize);
        let work = bar(progress, total, platform);
        let mut outcome = Outcome::default();
        if self.check {
            for schedule in Schedules::new(&platform.dag().clone(), self.streams)? {
                if interrupt.cancel().is_cancelled() {
                    return Ok(outcome);
                }
                platform.check(&schedule)?;
            }
        }
        let mut done = 0;
        for pass in 0..passes {
            let each = || {
                done += 1;
                work.reach(done, total);
                if interrupt.cancel().is_cancelled() { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
            };
            let mut kept = Kept { session, platform, check: false, checked: HashSet::new(), failures: None };
            match survey.pass(&mut kept, self.seed.wrapping_add(pass), each) {
                Ok(ControlFlow::Continue(())) => {}
                Ok(ControlFlow::Break(())) => break,
                Err(error) if session.is_continued() => {
                    outcome.error = Some(error);
                    break;
                }
                Err(error) => return Err(error.into()),
            }
            tracing::debug!(pass, "measured");
        }
        session.runs.runs = survey.runs(platform);
        session.runs.note_noise();
        outcome.spread = (passes > 1).then(|| survey.spread());
        Ok(outcome)
    }

    fn object<'a>(
        &self,
        runs: &'a Runs,
        search_seconds_per_run: Option<f64>,
        spread: Option<f64>,
        seconds: f64,
        cancelled: bool,
    ) -> Result<Object<'a>, Failure> {
        let (fastest, slowest) = (Best::of(runs.fastest())?, Best::of(runs.slowest())?);
        Ok(Object {
            system: "rules",
            command: "explore",
            origin: Origin::of(runs),
            runs: runs.runs.len(),
            failed: runs.failed.len(),
            measurements: runs.runs.iter().map(|run| run.times.len().max(1)).sum(),
            noise: runs.about.noise,
            answer: Answer::of(runs, &Labels::with(&runs.times(), &LabelOptions::density(runs.about.noise))?),
            ratio: slowest.seconds / fastest.seconds,
            fastest,
            slowest,
            search_seconds_per_run,
            seconds,
            passes: self.exhaustive.then(|| self.passes.unwrap_or(1)),
            spread,
            checked: self.check,
            cancelled,
            output: self.output.display().to_string(),
        })
    }
}

fn bar(progress: Progress, total: usize, platform: &dyn Platform) -> ProgressLine {
    progress.costly_bar(total, usize::MAX, format!("measuring: {}", platform.description()))
}
