//! Runs as they are measured, and the files that keep them.

use std::{
    collections::{HashMap, HashSet, VecDeque},
    path::{Path, PathBuf},
    time::Instant,
};

use warpsmith::{
    design_rules::{About, Dag, Journal, Measured, Platform, RulesError, Run, Runs, Schedule, Timeline},
    io::files::{Destination, FileError},
};

use crate::cli::{failure::Failure, interrupt::Interrupt};

/// Of more ranks, these and the last to be done are kept in timelines.
const RANKS: usize = 8;

/// Runs as they are measured. Each is written to a journal beside the file at once, which then goes when all are in the
/// file.
pub struct Session {
    /// What is known of the search, and its runs. Where these are of another kind than what is measured, only the
    /// search knows them.
    pub runs: Runs,
    destination: Destination,
    /// Where all measurements go, in order, if they do.
    raw: Option<(Destination, Runs)>,
    journal: Journal,
    /// What a search that this one continues has measured.
    before: Runs,
    /// Its schedules in the order in which it came to them.
    order: Vec<String>,
    /// How many of these the search has come to again.
    again: usize,
    /// Of each, what was measured, or that it failed, and isn't used yet.
    unused: HashMap<String, VecDeque<Option<Measured>>>,
    /// When the first measurement began; that of the search that this one continues, as if there were no time between.
    start: Option<Instant>,
    /// How long it had taken then, in seconds.
    elapsed: f64,
}

impl Session {
    /// Runs that go to a file, from the start on or, with `resume`, after those that are in its journal, or in the file
    /// where `in_file` says that it has what is measured.
    ///
    /// All measurements go to `raw`, too, where it is named, and are resumed from there where there is no journal.
    pub fn start(
        destination: Destination,
        raw: Option<Destination>,
        about: About,
        resume: bool,
        in_file: bool,
    ) -> Result<Self, Failure> {
        let path = destination.name().to_owned();
        let journal = beside(&path);
        // Also where it is a link to nothing.
        let unfinished = journal.symlink_metadata().is_ok();
        if unfinished && !resume {
            return Err(Failure::error(format_args!(
                "{} is there: it may have the runs of a search that did not end, or of one that hasn't ended yet; continue it with \
                 --resume, or remove it",
                journal.display()
            )));
        }
        let none = Runs { about: about.clone(), ..Runs::default() };
        let measured = raw.as_ref().map(Destination::name).filter(|raw| raw.exists());
        let before = match (resume, measured) {
            (true, _) if unfinished => resumed(&journal, about.clone())?,
            (true, Some(raw)) => resumed(raw, about.clone())?,
            (true, None) if path.exists() && !in_file => {
                let text = "it can't be resumed: it has each schedule once, whatever was measured of it";
                return Err(Failure::error(format_args!("{}: {text}", path.display())));
            }
            (true, None) if path.exists() => resumed(&path, about.clone())?,
            _ => none.clone(),
        };
        let raw = raw.map(|raw| (raw, none.clone()));
        let (mut order, mut unused) = (Vec::new(), HashMap::<String, VecDeque<_>>::new());
        let mut runs = before.runs.iter();
        for (seconds, traversal) in before.rows() {
            let text = traversal.to_string();
            let measured = unused.entry(text.clone()).or_insert_with(|| {
                order.push(text);
                VecDeque::new()
            });
            match (seconds, seconds.and_then(|_| runs.next())) {
                (Some(_), Some(run)) if !run.times.is_empty() => measured.extend(run.times.iter().copied().map(Some)),
                (seconds, _) => measured.push_back(seconds.map(|seconds| Measured { at: 0.0, seconds })),
            }
        }
        let elapsed = unused.values().flatten().flatten().map(|measured| measured.at).fold(0.0, f64::max);
        let journal = Journal::new(journal, unfinished);
        Ok(Session { runs: none, destination, raw, journal, before, order, again: 0, unused, start: None, elapsed })
    }

    /// Whether the search has come to all schedules of before again.
    pub fn is_continued(&self) -> bool {
        self.again == self.order.len()
    }

    /// What was measured before and is not used yet, or that a schedule failed.
    pub fn unused(&mut self) -> Vec<(String, Option<Measured>)> {
        let mut all = Vec::new();
        for text in &self.order {
            let unused = self.unused.remove(text).unwrap_or_default();
            all.extend(unused.into_iter().map(|measured| (text.clone(), measured)));
        }
        all
    }

    /// Takes in a measurement, or that a schedule failed. It is in the journal from now on.
    fn keep(&mut self, measured: Option<Measured>, text: &str) -> Result<(), RulesError> {
        self.journal.add(&self.before, measured, &text.parse().map_err(RulesError::Setup)?)
    }

    /// Takes in a time for the file of all measurements.
    fn note(&mut self, seconds: f64, text: &str) -> Result<(), RulesError> {
        if let Some((_, raw)) = &mut self.raw {
            raw.push(Some(seconds), text.parse().map_err(RulesError::Setup)?);
        }
        Ok(())
    }

    /// Traces the fastest and the slowest schedule, on a platform that still works.
    pub fn trace(&mut self, platform: &mut dyn Platform, dag: &Dag) -> Result<(), Failure> {
        let streams = self.runs.about.streams;
        let mut trace = |run: Option<&Run>| -> Result<Option<Timeline>, Failure> {
            let Some(run) = run else { return Ok(None) };
            let schedule = Schedule::parse(dag, streams, &run.traversal.to_string())?;
            Ok(Some(few_ranks(platform.timeline(&schedule)?)))
        };
        let (fastest, slowest) = (trace(self.runs.fastest())?, trace(self.runs.slowest())?);
        (self.runs.about.fastest, self.runs.about.slowest) = (fastest, slowest);
        Ok(())
    }

    /// Writes the file, and that of all measurements.
    pub fn write(&self) -> Result<(), Failure> {
        if let Some((destination, raw)) = &self.raw {
            raw.write(destination)?;
        }
        self.runs.write(&self.destination)?;
        tracing::info!(runs = self.runs.runs.len(), "wrote {}", self.destination.name().display());
        Ok(())
    }

    /// Ends the journal: all that was measured is in the file.
    pub fn end(&self) {
        self.journal.remove();
    }
}

/// A platform whose measurements a session keeps. What was measured before is not measured again.
pub struct Kept<'a> {
    pub session: &'a mut Session,
    pub platform: &'a mut dyn Platform,
    /// Check each schedule before it is measured for the first time.
    pub check: bool,
    /// Those that were.
    pub checked: HashSet<String>,
    /// Whether a schedule that fails is kept, too: unless this says that it was stopped.
    pub failures: Option<&'a Interrupt>,
}

impl Kept<'_> {
    /// Measures a schedule once, or has its next measurement of before.
    pub fn take(&mut self, schedule: &Schedule) -> Result<Measured, RulesError> {
        let text = schedule.text(self.platform.dag());
        let Session { order, again, unused, destination, start, elapsed, .. } = &mut *self.session;
        if let Some(next) = order.get(*again) {
            if *next == text {
                *again += 1;
            } else if !order[..*again].contains(&text) {
                let reason = format!(
                    "it can't be resumed: in iteration {again} this search measures `{text}`, and the file has another schedule"
                );
                return Err(FileError::new(destination.name(), reason).into());
            }
        }
        if let Some(measured) = unused.get_mut(&text).and_then(VecDeque::pop_front) {
            let failed = || RulesError::Failed { schedule: text.clone(), reason: "it failed before".to_owned() };
            let measured = measured.ok_or_else(failed)?;
            self.session.note(measured.seconds, &text)?;
            return Ok(measured);
        }
        let start = *start.get_or_insert_with(Instant::now);
        let elapsed = *elapsed;
        if self.check && self.checked.insert(text.clone()) {
            self.platform.check(schedule)?;
        }
        let seconds = match self.platform.measure(schedule) {
            Ok(seconds) => seconds,
            Err(error) => {
                let failed = matches!(error, RulesError::Failed { .. });
                if failed && self.failures.is_some_and(|interrupt| !interrupt.cancel().is_cancelled()) {
                    self.session.keep(None, &text)?;
                }
                return Err(error);
            }
        };
        // To the microsecond.
        let at = ((elapsed + start.elapsed().as_secs_f64()) * 1e6).round() / 1e6;
        let measured = Measured { at, seconds };
        self.session.keep(Some(measured), &text)?;
        self.session.note(seconds, &text)?;
        Ok(measured)
    }
}

impl Platform for Kept<'_> {
    fn dag(&self) -> &Dag {
        self.platform.dag()
    }

    fn ranks(&self) -> usize {
        self.platform.ranks()
    }

    fn description(&self) -> String {
        self.platform.description()
    }

    fn measure(&mut self, schedule: &Schedule) -> Result<f64, RulesError> {
        Ok(self.take(schedule)?.seconds)
    }

    fn is_exact(&self) -> bool {
        self.platform.is_exact()
    }

    fn check(&mut self, schedule: &Schedule) -> Result<(), RulesError> {
        self.platform.check(schedule)
    }

    fn timeline(&mut self, schedule: &Schedule) -> Result<Timeline, RulesError> {
        self.platform.timeline(schedule)
    }
}

/// The journal beside a file.
pub fn beside(path: &Path) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(".partial");
    name.into()
}

/// The runs of a file that are to be continued by a search of which this is known.
fn resumed(path: &Path, about: About) -> Result<Runs, Failure> {
    let runs = Runs::read(path)?;
    let theirs = &runs.about;
    let number = |number: usize, what: &str| format!("{number} {what}{}", if number == 1 { "" } else { "s" });
    let quoted = |text: &str| format!("`{text}`");
    let differences = [
        (quoted(&theirs.program), quoted(&about.program), "the program"),
        (theirs.signature.clone(), about.signature.clone(), "a program with these operations and edges:"),
        (number(theirs.ranks, "rank"), number(about.ranks, "rank"), ""),
        (number(theirs.streams, "stream"), number(about.streams, "stream"), ""),
        (quoted(&theirs.platform), quoted(&about.platform), "the platform"),
        (quoted(&theirs.input), quoted(&about.input), "the input"),
        (quoted(&theirs.search), quoted(&about.search), "the search"),
        (theirs.seed.to_string(), about.seed.to_string(), "the seed"),
    ];
    if let Some((theirs, ours, what)) = differences.into_iter().find(|(theirs, ours, _)| theirs != ours) {
        let what = if what.is_empty() { String::new() } else { format!("{what} ") };
        let text = format!("it can't be resumed: its runs are of {what}{theirs}, and this search is of {ours}");
        return Err(Failure::error(format_args!("{}: {text}", path.display())));
    }
    Ok(Runs { about, ..runs })
}

/// The timeline of the first ranks, and of the last one to be done.
fn few_ranks(mut timeline: Timeline) -> Timeline {
    let last = timeline.spans.iter().max_by(|a, b| a.end.total_cmp(&b.end)).map_or(0, |span| span.rank);
    timeline.spans.retain(|span| span.rank < RANKS || span.rank == last);
    timeline
}
