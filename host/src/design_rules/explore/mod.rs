//! Explorations: which schedules of a program to measure, and how often.
//!
//! An [`Exploration`] takes a [`Platform`] and the names of its files, and gives [`Explored`] runs: those that a
//! [`search`] proposes, each repeated by a [`Measurer`], or all of them. [`study`] repeats searches on runs that
//! were measured.
//!
//! ```
//! use warpsmith::{
//!     design_rules::{
//!         explore::{Exploration, ExploreOptions},
//!         sim::{Machine, SimPlatform, spmv::SpmvModel},
//!     },
//!     io::files::Destination,
//!     spmv::{Band, Traffic},
//! };
//!
//! let traffic = Traffic::new(&Band::default().matrix::<f32>()?, 4)?;
//! let mut platform = SimPlatform::new(&SpmvModel::new(traffic), Machine::h200_node())?;
//! # let folder = tempfile::tempdir()?;
//! # let path = folder.path().join("runs.csv");
//! let output = Destination::prepare(&path)?;
//! let exploration = Exploration::start(&mut platform, ExploreOptions::default(), output, None, false)?;
//! let explored = exploration.run(&())?.expect("nobody cancelled it");
//! assert_eq!(explored.runs.runs.len(), 200);
//! assert!(explored.summary.ratio > 1.0);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod answer;
pub mod offline;
pub mod search;
mod session;
pub mod study;
mod survey;

use std::{
    collections::{BTreeMap, HashSet},
    fmt,
    ops::ControlFlow,
    time::Instant,
};

use serde::Serialize;

use super::measure::{About, Measured, Measurer, Platform, Precision, Run, Runs, Timeline};
use super::{Dag, LabelOptions, Labels, RulesError, Schedule, schedule::Space};
use crate::io::files::Destination;
use search::{Explorer, SearchMethod};
use session::Session;
use survey::Survey;

pub use answer::Answer;

/// The most schedules that a survey measures.
const MOST: u128 = 10_000_000;
/// [`About::search`] of a survey.
const SURVEY: &str = "survey";
/// Number of schedules that may fail in a row before a search gives up.
const MOST_FAILED: usize = 20;
/// Number of ranks whose timelines are kept, beside the last one to be done.
const RANKS: usize = 8;

/// The options of an [`Exploration`].
#[derive(Clone, Debug, PartialEq)]
pub struct ExploreOptions {
    /// The set that schedules are chosen from.
    pub space: Space,
    /// The most streams that a schedule may use.
    pub streams: usize,
    /// Seed of all random choices.
    pub seed: u64,
    /// The method that chooses and repeats schedules.
    pub method: Method,
    /// `true` to check the result of each schedule before it is first measured, or its measurement is resumed.
    pub check: bool,
    /// The program's input in words, for [`About::input`].
    pub input: String,
    /// Numbers that describe the input, for [`About::numbers`].
    pub numbers: BTreeMap<String, f64>,
}

/// The method by which an [`Exploration`] chooses and repeats schedules.
#[derive(Clone, Debug, PartialEq)]
pub enum Method {
    /// A search proposes them one by one.
    Search {
        /// The strategy.
        search: SearchMethod,
        /// Number of schedules to measure, those of a resumed exploration included.
        iterations: usize,
        /// When a schedule's time is known well enough. On an exact platform, each schedule is measured once.
        precision: Precision,
    },
    /// All schedules, several times over, each pass in a random order.
    Survey {
        /// Number of passes, those of a resumed exploration included.
        passes: u64,
    },
}

impl Default for ExploreOptions {
    /// A search of 200 schedules on 2 streams.
    fn default() -> Self {
        let method = Method::Search { search: SearchMethod::default(), iterations: 200, precision: Precision::default() };
        ExploreOptions {
            space: Space::default(),
            streams: 2,
            seed: 0,
            method,
            check: false,
            input: String::new(),
            numbers: BTreeMap::new(),
        }
    }
}

/// Watches an exploration, and may end it.
pub trait Observer {
    /// Returns whether the exploration should end: it is asked between measurements.
    fn is_cancelled(&self) -> bool {
        false
    }

    /// Hears that `done` of `total` schedules are measured or failed.
    fn progress(&self, _done: usize, _total: usize) {}

    /// Hears the least time until now, in seconds.
    fn fastest(&self, _seconds: f64) {}

    /// Hears what went wrong and does not end the exploration.
    fn warn(&self, _text: &dyn fmt::Display) {}
}

/// Watches nothing.
impl Observer for () {}

/// The runs of an exploration.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Explored {
    /// The runs, as the file has them.
    pub runs: Runs,
    /// The outcome in numbers.
    pub summary: Summary,
}

/// The outcome of an exploration in numbers. Times are in seconds.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[non_exhaustive]
pub struct Summary {
    /// Number of schedules that have a time.
    pub runs: usize,
    /// Number of schedules on which the program failed.
    pub failed: usize,
    /// Number of measurements of all schedules.
    pub measurements: usize,
    /// Median over runs of the relative standard error of their times, if it is known.
    pub noise: Option<f64>,
    /// When a schedule of the fastest class was known.
    pub answer: Option<Answer>,
    /// The schedule of the least time.
    pub fastest: Best,
    /// The schedule of the greatest time.
    pub slowest: Best,
    /// Time of the slowest schedule over that of the fastest.
    pub ratio: f64,
    /// Time that the search takes per schedule, beside measuring.
    pub search_seconds_per_run: Option<f64>,
    /// Time of the whole exploration.
    pub seconds: f64,
    /// Number of passes of a survey.
    pub passes: Option<u64>,
    /// Median over schedules of (greatest - least) / median of a survey's passes, if there are several.
    pub spread: Option<f64>,
    /// `true` if the results of all these schedules were checked.
    pub checked: bool,
    /// `true` if it was cancelled.
    pub cancelled: bool,
}

/// A schedule and its time.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Best {
    /// Time of one invocation, in seconds.
    pub seconds: f64,
    /// The schedule's text.
    pub schedule: String,
}

impl Best {
    fn of(run: &Run) -> Self {
        Best { seconds: run.seconds, schedule: run.traversal.to_string() }
    }
}

/// Measures schedules of a platform's program, and writes them to a file as runs.
///
/// Until it ends, each measurement is added at once to a [journal](Destination::partial_path) beside the file, which stays as it
/// is. If the exploration does not come to its end, it can be resumed from the journal: it goes on as if it had never stopped.
pub struct Exploration<'a> {
    platform: &'a mut dyn Platform,
    dag: Dag,
    options: ExploreOptions,
    session: Session,
    /// When the first measurement began, and whether there was one.
    start: Option<Instant>,
    /// Schedules whose results were checked.
    checked: HashSet<String>,
}

/// The end of measuring.
#[derive(Default)]
struct Outcome {
    /// Time that the search took beside measuring, in seconds, and for how many schedules.
    thought: (f64, usize),
    spread: Option<f64>,
    /// Why it ended early, if it did.
    error: Option<RulesError>,
}

impl<'a> Exploration<'a> {
    /// Prepares an exploration whose runs go to `output`. With `raw`, the times of all passes of a
    /// survey go there, in the order of measurement. With `resume`, it continues the measurements
    /// of an exploration of the same program, platform and options, if there are any.
    ///
    /// # Errors
    /// - [`RulesError::Streams`].
    /// - [`RulesError::Setup`] if a survey would have more than 10 million schedules, or there is a journal that is not
    ///   to be resumed.
    /// - [`RulesError::File`] if the measurements to be resumed can't be read or are of another exploration.
    pub fn start(
        platform: &'a mut dyn Platform,
        mut options: ExploreOptions,
        output: Destination,
        raw: Option<Destination>,
        resume: bool,
    ) -> Result<Self, RulesError> {
        let dag = platform.dag().clone();
        let is_survey = matches!(options.method, Method::Survey { .. });
        let streams = options.streams;
        let space = match options.space.count(&dag, streams) {
            Ok(space) => Some(space),
            Err(RulesError::TooMany { .. }) if !is_survey => None,
            Err(error) => return Err(error),
        };
        if let Some(space) = space.filter(|&space| is_survey && space > MOST) {
            let (name, most) = (dag.name(), MOST / 1_000_000);
            return Err(RulesError::Setup(format!(
                "{name} has {space} schedules on {streams} streams: more than {most} million can't all be measured"
            )));
        }
        let about = About {
            input: options.input.clone(),
            numbers: options.numbers.clone(),
            platform: platform.description(),
            conditions: platform.conditions(),
            ranks: platform.ranks(),
            streams,
            search: match options.method {
                Method::Search { search, .. } => search.strategy().name(),
                Method::Survey { .. } => SURVEY,
            }
            .to_owned(),
            seed: options.seed,
            named_space: options.space,
            space: space.map(|space| space.to_string()),
            noise: platform.is_exact().then_some(0.0),
            ..About::program(&dag)
        };
        let mut repeats = false;
        if let Method::Search { precision, .. } = &mut options.method {
            // Exact times stay the same.
            precision.repeats = if platform.is_exact() { 1 } else { precision.repeats };
            repeats = precision.repeats > 1;
        }
        let session = Session::start(output, raw, about, resume, (!is_survey, repeats))?;
        Ok(Exploration { platform, dag, options, session, start: None, checked: HashSet::new() })
    }

    /// Measures, and writes the runs. Returns `None` if it was cancelled before anything was measured.
    ///
    /// # Errors
    /// The error of the platform, or of a file. The file of runs is as it was then; measurements are in the journal, except
    /// after [`RulesError::Unasked`].
    pub fn run(mut self, observer: &dyn Observer) -> Result<Option<Explored>, RulesError> {
        let start = Instant::now();
        let mut outcome = match self.options.method.clone() {
            Method::Search { search, iterations, precision } => self.search(search, iterations, precision, observer)?,
            Method::Survey { passes } => self.survey(passes, observer)?,
        };
        let seconds = start.elapsed().as_secs_f64();
        if outcome.error.is_none() {
            outcome.error = self.platform.finish().err();
        }
        let cancelled = observer.is_cancelled();
        match outcome.error.take() {
            Some(error @ RulesError::Unasked { .. }) => {
                self.session.journal.discard()?;
                return Err(error);
            }
            Some(error) => {
                if let Some(journal) = self.session.journal.path() {
                    observer.warn(&format_args!("{} has what was measured; go on from it with --resume", journal.display()));
                }
                return Err(error);
            }
            None => {}
        }
        let is_survey = matches!(self.options.method, Method::Survey { .. });
        let is_continued = self.session.is_continued();
        if self.session.runs.runs.is_empty() || is_survey && !is_continued {
            // The files of a survey that is resumed have more than it has come to again.
            if cancelled {
                return Ok(None);
            }
            self.session.journal.discard()?;
            return Err(RulesError::Setup("no schedule could be measured".to_owned()));
        }
        // The runs are written before they are traced, since the platform may fail once more.
        self.session.write()?;
        // The file of a survey has only the medians of its passes: to continue it takes the
        // journal.
        if !is_survey || !cancelled {
            self.session.journal.remove();
        }
        if self.platform.has_timelines() {
            self.trace()?;
            self.session.write()?;
        }
        let summary = self.summary(&outcome, seconds, cancelled)?;
        Ok(Some(Explored { runs: self.session.runs, summary }))
    }

    /// Measures the schedules that a search proposes.
    fn search(
        &mut self,
        method: SearchMethod,
        wanted: usize,
        precision: Precision,
        observer: &dyn Observer,
    ) -> Result<Outcome, RulesError> {
        let mut measurer = Measurer::new(precision);
        let mut explorer =
            Explorer::new(&self.dag, self.options.streams, method.strategy(), self.options.seed)?.in_space(self.options.space);
        let mut outcome = Outcome::default();
        let (mut fastest, mut failed) = (f64::INFINITY, 0);
        for iteration in 0..wanted {
            if observer.is_cancelled() {
                break;
            }
            let start = Instant::now();
            let Some(schedule) = explorer.propose() else { break };
            outcome.thought.0 += start.elapsed().as_secs_f64();
            let measured = measurer.measure(&schedule, |schedule| self.measure_unless_cancelled(schedule, observer));
            let seconds = match measured {
                Ok(seconds) => seconds,
                // A schedule that was stopped did not fail.
                Err(RulesError::Failed { .. }) if observer.is_cancelled() => break,
                Err(mut error @ RulesError::Failed { .. }) => {
                    explorer.record_failure(&schedule)?;
                    measurer.fail(&schedule);
                    observer.warn(&error);
                    observer.progress(iteration + 1, wanted);
                    failed += 1;
                    if failed == MOST_FAILED {
                        if let RulesError::Failed { reason, .. } = &mut error {
                            *reason += &format!("; {MOST_FAILED} schedules in a row have failed");
                        }
                        outcome.error = Some(error);
                        break;
                    }
                    continue;
                }
                Err(error) => {
                    outcome.error = Some(error);
                    break;
                }
            };
            let start = Instant::now();
            explorer.record(&schedule, seconds)?;
            outcome.thought.0 += start.elapsed().as_secs_f64();
            outcome.thought.1 += 1;
            failed = 0;
            tracing::debug!(iteration, seconds, "measured");
            observer.progress(iteration + 1, wanted);
            if seconds < fastest {
                fastest = seconds;
                observer.fastest(fastest);
            }
        }
        if outcome.error.is_none() && !observer.is_cancelled() {
            outcome.error = self.repeat_finalists(&mut measurer, observer);
        }
        for (text, measured) in self.session.take_unused() {
            let schedule = Schedule::parse(&self.dag, self.options.streams, &text)?;
            match measured {
                Some(measured) => measurer.take(&schedule, measured),
                None => measurer.fail(&schedule),
            }
        }
        measurer.record(&self.dag, &mut self.session.runs);
        Ok(outcome)
    }

    /// Measures the schedules that may be the fastest again, in turns. Returns the error that ends the exploration.
    fn repeat_finalists(&mut self, measurer: &mut Measurer, observer: &dyn Observer) -> Option<RulesError> {
        let finalists = measurer.finalists();
        let measure = |schedule: &Schedule| self.measure_unless_cancelled(schedule, observer);
        match measurer.in_turns(&finalists, measure, || !observer.is_cancelled()) {
            Err(RulesError::Failed { .. }) if observer.is_cancelled() => None,
            Err(error @ RulesError::Failed { .. }) => {
                observer.warn(&error);
                None
            }
            ended => ended.err(),
        }
    }

    /// Measures all schedules, in passes.
    fn survey(&mut self, passes: u64, observer: &dyn Observer) -> Result<Outcome, RulesError> {
        let mut survey = Survey::new(self.options.space, &self.dag, self.options.streams)?;
        let total = survey.len().saturating_mul(usize::try_from(passes).unwrap_or(usize::MAX));
        let (mut outcome, mut done) = (Outcome::default(), 0);
        let seed = self.options.seed;
        for pass in 0..passes {
            let each = || {
                done += 1;
                observer.progress(done, total);
                if observer.is_cancelled() { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
            };
            let measure = |schedule: &Schedule| Ok(self.measure(schedule, observer)?.seconds);
            match survey.pass(seed.wrapping_add(pass), measure, each) {
                Ok(ControlFlow::Continue(())) => {}
                Ok(ControlFlow::Break(())) => break,
                Err(RulesError::Failed { .. }) if observer.is_cancelled() => break,
                Err(error) => {
                    outcome.error = Some(error);
                    break;
                }
            }
            tracing::debug!(pass, "measured");
        }
        // Passes of before that are not asked for stay in the file of all measurements.
        for (text, measured) in self.session.take_unused() {
            if let Some(measured) = measured {
                self.session.note(measured.seconds, &text.parse().map_err(RulesError::Setup)?);
            }
        }
        self.session.runs.runs = survey.runs();
        self.session.runs.note_noise();
        outcome.spread = (passes > 1).then(|| survey.spread());
        Ok(outcome)
    }

    fn measure_unless_cancelled(&mut self, schedule: &Schedule, observer: &dyn Observer) -> Result<Measured, RulesError> {
        if observer.is_cancelled() {
            let reason = "the search was stopped".to_owned();
            return Err(RulesError::Failed { schedule: schedule.text(&self.dag), reason });
        }
        self.measure(schedule, observer)
    }

    /// Measures a schedule once, or replays its next measurement of before.
    fn measure(&mut self, schedule: &Schedule, observer: &dyn Observer) -> Result<Measured, RulesError> {
        let text = schedule.text(&self.dag);
        let traversal = text.parse().map_err(RulesError::Setup)?;
        let replayed = self.session.replay(&text)?;
        if let Some(None) = replayed {
            return Err(RulesError::Failed { schedule: text, reason: "it failed before".to_owned() });
        }
        if self.options.check && self.checked.insert(text) {
            self.platform.check(schedule)?;
        }
        if let Some(Some(measured)) = replayed {
            self.session.note(measured.seconds, &traversal);
            return Ok(measured);
        }
        let start = *self.start.get_or_insert_with(Instant::now);
        let keeps_failures = matches!(self.options.method, Method::Search { .. });
        let measured = self.platform.measure(schedule);
        if let Err(RulesError::Failed { .. }) = measured
            && keeps_failures
            && !observer.is_cancelled()
        {
            self.session.journal.add(None, &traversal)?;
        }
        let seconds = measured?;
        // To the microsecond.
        let at = ((self.session.elapsed + start.elapsed().as_secs_f64()) * 1e6).round() / 1e6;
        let measured = Measured { at, seconds };
        self.session.journal.add(Some(measured), &traversal)?;
        self.session.note(seconds, &traversal);
        Ok(measured)
    }

    /// Traces the fastest and the slowest schedule.
    fn trace(&mut self) -> Result<(), RulesError> {
        let Exploration { platform, dag, options, session, .. } = self;
        let mut trace = |run: Option<&Run>| -> Result<Option<Timeline>, RulesError> {
            let Some(run) = run else { return Ok(None) };
            let schedule = Schedule::parse(dag, options.streams, &run.traversal.to_string())?;
            let mut timeline = platform.timeline(&schedule)?;
            // The spans of the first ranks, and of the last one to be done.
            let last = timeline.spans.iter().max_by(|a, b| a.end.total_cmp(&b.end)).map_or(0, |span| span.rank);
            timeline.spans.retain(|span| span.rank < RANKS || span.rank == last);
            Ok(Some(timeline))
        };
        let (fastest, slowest) = (trace(session.runs.fastest())?, trace(session.runs.slowest())?);
        (session.runs.about.fastest, session.runs.about.slowest) = (fastest, slowest);
        Ok(())
    }

    fn summary(&self, outcome: &Outcome, seconds: f64, cancelled: bool) -> Result<Summary, RulesError> {
        let runs = &self.session.runs;
        let best = |run: Option<&Run>| run.map(Best::of).ok_or_else(|| RulesError::Setup("there are no runs".to_owned()));
        let (fastest, slowest) = (best(runs.fastest())?, best(runs.slowest())?);
        let (thought, thoughts) = outcome.thought;
        Ok(Summary {
            runs: runs.runs.len(),
            failed: runs.failed.len(),
            measurements: runs.runs.iter().map(|run| run.times.len().max(1)).sum(),
            noise: runs.about.noise,
            answer: Answer::of(runs, &Labels::with(&runs.times(), &LabelOptions::density(runs.about.noise, None))?),
            ratio: slowest.seconds / fastest.seconds,
            fastest,
            slowest,
            search_seconds_per_run: (thoughts > 0).then(|| thought / thoughts as f64),
            seconds,
            passes: match self.options.method {
                Method::Survey { passes } => Some(passes),
                Method::Search { .. } => None,
            },
            spread: outcome.spread,
            checked: runs.runs.iter().all(|run| self.checked.contains(&run.traversal.to_string())),
            cancelled,
        })
    }
}
