//! The files of an exploration: runs, the journal of all measurements, and what an earlier exploration has left in them.

use std::collections::{HashMap, VecDeque};
use std::path::{Path, PathBuf};

use crate::design_rules::measure::{About, Journal, Measured, Runs};
use crate::design_rules::{RulesError, Traversal};
use crate::io::files::{self, Destination, FileError};

/// Measurements as they are made.
///
/// Each is added at once to a journal beside the file of runs, which is removed when the file has them all. Measurements
/// of an exploration that is resumed are replayed: the search comes to them again, and none is repeated.
pub(super) struct Session {
    /// The runs that go to the file, with what is known of the exploration.
    pub runs: Runs,
    destination: Destination,
    /// The file of all measurements in order, if one is written.
    raw: Option<(Destination, Runs)>,
    pub journal: Journal,
    /// Their schedules, in the order of first measurement.
    order: Vec<String>,
    /// Number of schedules of `order` that this exploration has come to again.
    again: usize,
    /// The file that has the measurements of before.
    before: PathBuf,
    /// Measurements of each schedule that are not replayed yet; `None` for a failure.
    unused: HashMap<String, VecDeque<Option<Measured>>>,
    /// Time from the first measurement to the last one of before, in seconds.
    pub elapsed: f64,
    /// True if it must be known when the measurements of before were, but isn't.
    lacks_times: bool,
}

impl Session {
    /// Starts with no measurements or, with `resume`, with those of the journal. If there is no journal, measurements are
    /// resumed from `raw` or, if `in_file` says that the file of runs has all of them, from there. `timed` says that it
    /// must be known when they were measured.
    pub fn start(
        destination: Destination,
        raw: Option<Destination>,
        about: About,
        resume: bool,
        (in_file, timed): (bool, bool),
    ) -> Result<Self, RulesError> {
        let path = destination.name().to_owned();
        let journal = destination.partial_path();
        // A link to nothing is in the way, too.
        let unfinished = journal.symlink_metadata().is_ok();
        if unfinished && !resume {
            return Err(RulesError::Setup(files::unfinished(&journal)));
        }
        let none = Runs { about: about.clone(), ..Runs::default() };
        let measured = raw.as_ref().map(Destination::name).filter(|raw| raw.exists());
        let (from, before) = match (resume, measured) {
            (true, _) if unfinished => resumed(&journal, about)?,
            (true, Some(raw)) => resumed(raw, about)?,
            (true, None) if path.exists() && !in_file => {
                let reason = "it can't be resumed: it has each schedule once, whatever was measured of it";
                return Err(FileError::new(&path, reason).into());
            }
            (true, None) if path.exists() => resumed(&path, about)?,
            _ => (path, none.clone()),
        };
        let raw = raw.map(|raw| (raw, none.clone()));
        let (mut order, mut unused) = (Vec::new(), HashMap::<String, VecDeque<_>>::new());
        for (run, traversal) in before.rows() {
            let text = traversal.to_string();
            let measured = unused.entry(text.clone()).or_insert_with(|| {
                order.push(text);
                VecDeque::new()
            });
            match run {
                Some(run) if !run.times.is_empty() => measured.extend(run.times.iter().copied().map(Some)),
                run => measured.push_back(run.map(|run| Measured { at: 0.0, seconds: run.seconds })),
            }
        }
        let elapsed = unused.values().flatten().flatten().map(|measured| measured.at).fold(0.0, f64::max);
        let lacks_times = timed && before.runs.iter().any(|run| run.times.is_empty());
        let journal = Journal::new(journal, unfinished, before)?;
        Ok(Session { runs: none, destination, raw, journal, order, again: 0, before: from, unused, elapsed, lacks_times })
    }

    /// Returns whether all schedules of before were measured or replayed again.
    pub fn is_continued(&self) -> bool {
        self.again == self.order.len()
    }

    /// Returns the next measurement of before of a schedule: `None` if there is no more, `Some(None)` for a failure.
    ///
    /// # Errors
    /// [`RulesError::File`] if the schedules of before are in another order: they are of another search.
    pub fn replay(&mut self, text: &str) -> Result<Option<Option<Measured>>, RulesError> {
        if let Some(next) = self.order.get(self.again) {
            if next == text {
                self.again += 1;
            } else if !self.order[..self.again].iter().any(|before| before == text) {
                let reason = format!(
                    "it can't be resumed: in iteration {} this search measures `{text}`, and the file has another schedule",
                    self.again
                );
                return Err(FileError::new(&self.before, reason).into());
            }
        }
        let next = self.unused.get_mut(text).and_then(VecDeque::pop_front);
        if self.lacks_times && next.is_some() {
            let reason = "it can't be resumed with repeats, as it doesn't tell when its schedules were measured";
            return Err(FileError::new(&self.before, reason).into());
        }
        Ok(next)
    }

    /// Takes all measurements of before that were not replayed.
    pub fn take_unused(&mut self) -> Vec<(String, Option<Measured>)> {
        let mut all = Vec::new();
        for text in &self.order {
            let unused = self.unused.remove(text).unwrap_or_default();
            all.extend(unused.into_iter().map(|measured| (text.clone(), measured)));
        }
        all
    }

    /// Adds a time to the file of all measurements.
    pub fn note(&mut self, seconds: f64, traversal: &Traversal) {
        if let Some((_, raw)) = &mut self.raw {
            raw.push(Some(seconds), traversal.clone());
        }
    }

    /// Writes the file of runs, and that of all measurements.
    pub fn write(&self) -> Result<(), RulesError> {
        if let Some((destination, raw)) = &self.raw {
            raw.write(destination)?;
        }
        self.runs.write(&self.destination)?;
        tracing::info!(runs = self.runs.runs.len(), "wrote {}", self.destination.name().display());
        Ok(())
    }
}

/// Reads the runs that an exploration of this kind continues. Returns their file, too.
fn resumed(path: &Path, about: About) -> Result<(PathBuf, Runs), RulesError> {
    let runs = Runs::read(path)?;
    let theirs = &runs.about;
    let number = |number: usize, what: &str| format!("{number} {what}{}", if number == 1 { "" } else { "s" });
    let quoted = |text: &str| format!("`{text}`");
    // A file may lack conditions. The error names the first of a machine's costs that differs.
    let ours = if theirs.conditions.is_empty() { "" } else { &about.conditions };
    let mut parts = theirs.conditions.split(',').zip(ours.split(','));
    let conditions = parts.find(|(theirs, ours)| theirs != ours).unwrap_or((&theirs.conditions, ours));
    let differences = [
        (quoted(&theirs.program), quoted(&about.program), "the program"),
        (theirs.signature.clone(), about.signature.clone(), "a program with these operations and edges:"),
        (number(theirs.ranks, "rank"), number(about.ranks, "rank"), ""),
        (number(theirs.streams, "stream"), number(about.streams, "stream"), ""),
        (quoted(&theirs.platform), quoted(&about.platform), "the platform"),
        (quoted(&theirs.input), quoted(&about.input), "the input"),
        (quoted(&theirs.search), quoted(&about.search), "the search"),
        (quoted(theirs.named_space.name()), quoted(about.named_space.name()), "the space"),
        (theirs.seed.to_string(), about.seed.to_string(), "the seed"),
        (quoted(conditions.0), quoted(conditions.1), "times by"),
    ];
    if let Some((theirs, ours, what)) = differences.into_iter().find(|(theirs, ours, _)| theirs != ours) {
        let what = if what.is_empty() { String::new() } else { format!("{what} ") };
        let reason = format!("it can't be resumed: its runs are of {what}{theirs}, and this search is of {ours}");
        return Err(FileError::new(path, reason).into());
    }
    Ok((path.to_owned(), Runs { about, ..runs }))
}
