//! Runs as they are measured, and the file that keeps them.

use std::{
    path::{Path, PathBuf},
    time::{Duration, Instant},
};

use warpsmith::{
    design_rules::{About, Dag, Platform, Run, Runs, Schedule, Timeline},
    files::Destination,
};

use crate::cli::{
    failure::Failure,
    output::{Files, Partial},
};

/// How often the file is written while there is something new.
const SAVE: Duration = Duration::from_secs(5);
/// Of the time, one part in so many may go into writing, where there are many runs.
const BUSY: u32 = 20;
/// Of more ranks, these and the last to be done are kept in timelines.
const RANKS: usize = 8;

/// Runs as they are measured.
pub struct Session {
    pub runs: Runs,
    destination: Destination,
    /// Where runs go until they are complete, where that isn't the destination.
    partial: Option<Partial>,
    saved: Instant,
    /// How long until it is saved again.
    pause: Duration,
}

impl Session {
    /// Runs that go to a file, from the start on or, with `resume`, from those that it has.
    ///
    /// A new file, or one that is resumed, is written every few seconds. One that is there and is to be replaced stays until the end;
    /// until then, runs go to a file beside it.
    pub fn start(destination: Destination, partial: Option<Partial>, about: About, resume: bool) -> Result<Self, Failure> {
        let path = destination.name().to_owned();
        let runs = if resume && path.exists() { resumed(&path, about)? } else { Runs { about, runs: Vec::new() } };
        Ok(Session { runs, destination, partial, saved: Instant::now(), pause: SAVE })
    }

    /// The file beside one that is to be replaced.
    pub fn partial(files: &mut Files, destination: &Destination, resume: bool) -> Result<Option<Partial>, Failure> {
        let path = destination.name();
        (path.exists() && !resume).then(|| Partial::prepare(files, &beside(path), false)).transpose()
    }

    /// Takes in a run, and writes the file if it is time to.
    pub fn add(&mut self, run: Run) -> Result<(), Failure> {
        self.runs.runs.push(run);
        self.save_in_time()
    }

    /// Writes the file if it is time to.
    pub fn save_in_time(&mut self) -> Result<(), Failure> {
        if self.saved.elapsed() >= self.pause {
            let start = Instant::now();
            self.runs.write(self.partial.as_mut().map_or(&self.destination, Partial::destination))?;
            tracing::debug!(runs = self.runs.runs.len(), "saved");
            self.saved = Instant::now();
            self.pause = SAVE.max(start.elapsed() * BUSY);
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

    /// Writes the file as it is to stay.
    pub fn finish(&mut self) -> Result<(), Failure> {
        self.runs.write(&self.destination)?;
        if let Some(partial) = self.partial.take() {
            partial.remove();
        }
        tracing::info!(runs = self.runs.runs.len(), "wrote {}", self.destination.name().display());
        Ok(())
    }
}

/// The file beside one that is to be replaced.
fn beside(path: &Path) -> PathBuf {
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
    Ok(Runs { about, runs: runs.runs })
}

/// The timeline of the first ranks, and of the last one to be done.
fn few_ranks(mut timeline: Timeline) -> Timeline {
    let last = timeline.spans.iter().max_by(|a, b| a.end.total_cmp(&b.end)).map_or(0, |span| span.rank);
    timeline.spans.retain(|span| span.rank < RANKS || span.rank == last);
    timeline
}
