//! Measured schedules, and the file that holds them.

use std::collections::{BTreeMap, HashMap};
use std::fs::{self, File};
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::Timeline;
use crate::design_rules::schedule::{MAX_STREAMS, Space};
use crate::design_rules::{Dag, RulesError, Schedule, Traversal, error::check_time, statistics::percentile};
use crate::io::files::{Destination, FileError, Reason, lock};
use crate::io::{Lines, Table, brief, quoted, reserve};

/// The first line of a file of runs.
const MAGIC: &str = "# warpsmith rules 1";
/// The most ranks that runs may be of: more than any machine has.
pub(super) const MOST_RANKS: usize = 1 << 24;
/// The header of its table.
const HEADER: &str = "iteration,seconds,schedule";
/// The header where the noise of times is known.
const MEASURED: &str = "iteration,seconds,noise,times,schedule";

/// The text in place of a time for a schedule that failed.
const FAILED: &str = "failed";

/// The measured program, where and how it was measured.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct About {
    /// The program's name, such as `spmv`.
    pub program: String,
    /// Its input, such as `band matrix, 150,000 rows, 1,500,000 nonzeros, f32`; may be empty.
    #[serde(default)]
    pub input: String,
    /// Numbers that describe its input, by name.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub numbers: BTreeMap<String, f64>,
    /// The program's operations and edges: [`Dag::signature`].
    pub signature: String,
    /// [`Platform::description`](super::Platform::description).
    pub platform: String,
    /// Further conditions of the times: the statistic, the simulated machine's costs or the command; empty if unknown.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub conditions: String,
    /// Number of ranks.
    pub ranks: usize,
    /// The most streams that schedules might use.
    pub streams: usize,
    /// The search: `mcts`, `random`, `dfs`.
    pub search: String,
    /// The search's seed.
    pub seed: u64,
    /// The set that the schedules are of.
    #[serde(default, skip_serializing_if = "Space::is_default")]
    pub named_space: Space,
    /// Number of schedules in all, if it is known. It is text, since JSON's numbers are too short
    /// for it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub space: Option<String>,
    /// The relative standard error of a run's time, where it is known: the median over runs; 0 where times are exact.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub noise: Option<f64>,
    /// The fastest schedule's steps in time.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fastest: Option<Timeline>,
    /// The slowest schedule's.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub slowest: Option<Timeline>,
}

/// The part of [`About`] that reports have.
#[derive(Clone, Copy, Debug, Serialize)]
#[allow(missing_docs, reason = "the fields are those of `About`")]
pub struct Origin<'a> {
    pub program: &'a str,
    pub input: &'a str,
    pub platform: &'a str,
    pub ranks: usize,
    pub streams: usize,
    pub search: &'a str,
    pub seed: u64,
    pub space: Option<&'a str>,
}

impl About {
    /// About runs of this program; what else there is to say is empty.
    pub fn program(dag: &Dag) -> Self {
        About { program: dag.name().to_owned(), signature: dag.signature(), ..About::default() }
    }

    /// Returns what reports of commands say of it.
    pub fn origin(&self) -> Origin<'_> {
        let About { program, input, platform, search, space, .. } = self;
        Origin {
            program,
            input,
            platform,
            ranks: self.ranks,
            streams: self.streams,
            search,
            seed: self.seed,
            space: space.as_deref(),
        }
    }
}

/// A schedule and its time.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Run {
    /// In seconds.
    pub seconds: f64,
    /// The schedule.
    pub traversal: Traversal,
    /// The relative standard error of the time, where it is known.
    pub noise: Option<f64>,
    /// The measurements that the time is from.
    pub times: Vec<Measured>,
}

/// One measurement of a schedule.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Measured {
    /// When it ended, in seconds since the first measurement of all began.
    pub at: f64,
    /// The time of one invocation, in seconds, whatever the machine drifted.
    pub seconds: f64,
}

impl Run {
    /// A run with a time alone.
    pub fn new(seconds: f64, traversal: Traversal) -> Self {
        Run { seconds, traversal, noise: None, times: Vec::new() }
    }
}

/// A schedule that the program could not run to its end.
#[derive(Clone, Debug, PartialEq)]
pub struct Failed {
    /// When it was tried: how many schedules had been, measured or failed.
    pub iteration: usize,
    /// The schedule.
    pub traversal: Traversal,
}

/// Schedules of a program with their times, in the order of measurement.
///
/// As a file: a line that says what it is, a line of JSON with [`About`] and the number of rows, both behind `# `, and
/// a CSV table `iteration,seconds,schedule`, or `iteration,seconds,noise,times,schedule` where a run's noise is known.
/// Times are written so that they read back the same; a schedule that failed has `failed` in their place. The column
/// `times` has what was measured, as `at:seconds` with spaces between.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Runs {
    /// The measured program, and how.
    pub about: About,
    /// The runs.
    pub runs: Vec<Run>,
    /// The schedules that failed, by ascending iteration.
    pub failed: Vec<Failed>,
}

/// The second line of the file.
#[derive(Serialize, Deserialize)]
struct Head<A> {
    /// None while rows are still added: see `Journal`.
    #[serde(deserialize_with = "Option::deserialize")]
    runs: Option<usize>,
    #[serde(flatten)]
    about: A,
}

impl Runs {
    /// The times in seconds, in order.
    pub fn times(&self) -> Vec<f64> {
        self.runs.iter().map(|run| run.seconds).collect()
    }

    /// The run of the least time, the first of several; none where there are no runs.
    pub fn fastest(&self) -> Option<&Run> {
        self.runs.iter().min_by(|a, b| a.seconds.total_cmp(&b.seconds))
    }

    /// The run of the greatest time, the last of several.
    pub fn slowest(&self) -> Option<&Run> {
        self.runs.iter().max_by(|a, b| a.seconds.total_cmp(&b.seconds))
    }

    /// Returns runs of different schedules, to learn from: of several runs of one, the first, with the median of their times
    /// and all measurements.
    pub fn merged(mut self) -> Self {
        let mut places = HashMap::new();
        let mut groups: Vec<Vec<Run>> = Vec::new();
        for run in std::mem::take(&mut self.runs) {
            let place = *places.entry(run.traversal.to_string()).or_insert(groups.len());
            if place == groups.len() {
                groups.push(Vec::new());
            }
            groups[place].push(run);
        }
        let one = |mut group: Vec<Run>| {
            if group.len() > 1 {
                let seconds: Vec<f64> = group.iter().map(|run| run.seconds).collect();
                let times = group.iter().flat_map(|run| run.times.iter().copied()).collect();
                let median = percentile(&seconds, 50.0).unwrap_or(seconds[0]);
                group[0] = Run { times, ..Run::new(median, group[0].traversal.clone()) };
            }
            group.swap_remove(0)
        };
        self.runs = groups.into_iter().map(one).collect();
        self
    }

    /// Returns the index of the first schedule whose operations aren't those of the runs, or of the first schedule.
    pub fn first_other<'a>(&self, schedules: impl IntoIterator<Item = &'a Traversal>) -> Option<usize> {
        let mut names = Names::default();
        self.runs.iter().for_each(|run| _ = names.agree(&run.traversal));
        schedules.into_iter().position(|traversal| !names.agree(traversal))
    }

    /// Returns the number of schedules tried.
    pub fn tried(&self) -> usize {
        self.runs.len() + self.failed.len()
    }

    /// All schedules that were tried, in order, with their runs where they didn't fail.
    pub fn rows(&self) -> impl Iterator<Item = (Option<&Run>, &Traversal)> {
        let (mut runs, mut failed) = (self.runs.iter(), self.failed.iter().peekable());
        (0..self.tried()).map_while(move |iteration| match failed.next_if(|failed| failed.iteration <= iteration) {
            Some(failed) => Some((None, &failed.traversal)),
            None => match runs.next() {
                Some(run) => Some((Some(run), &run.traversal)),
                None => failed.next().map(|failed| (None, &failed.traversal)),
            },
        })
    }

    /// Takes in a schedule that was tried after all others; without a time it failed.
    pub fn push(&mut self, seconds: Option<f64>, traversal: Traversal) {
        match seconds {
            Some(seconds) => self.runs.push(Run::new(seconds, traversal)),
            None => self.failed.push(Failed { iteration: self.tried(), traversal }),
        }
    }

    /// Records the median of the runs' known noise.
    pub(in crate::design_rules) fn note_noise(&mut self) {
        let noises: Vec<f64> = self.runs.iter().filter_map(|run| run.noise).collect();
        self.about.noise = percentile(&noises, 50.0).or(self.about.noise);
    }

    /// Writes the file whole, beside its name first.
    pub fn write(&self, destination: &Destination) -> Result<(), RulesError> {
        let text = self.text(Some(self.tried()));
        Ok(destination.write(|file| file.write_all(text.as_bytes()))?)
    }

    fn write_journal(&self, path: &Path) -> Result<(), RulesError> {
        Ok(Destination::prepare(path)?.write(|file| file.write_all(self.text(None).as_bytes()))?)
    }

    /// The file, of this many rows.
    fn text(&self, runs: Option<usize>) -> String {
        let head = serde_json::to_string(&Head { runs, about: &self.about }).expect("its keys are strings");
        // A journal may still get measurements.
        let is_measured = runs.is_none() || self.runs.iter().any(|run| run.noise.is_some() || !run.times.is_empty());
        let mut text = format!("{MAGIC}\n# {head}\n{}\n", if is_measured { MEASURED } else { HEADER });
        for (iteration, (run, traversal)) in self.rows().enumerate() {
            text.push_str(&row_text(iteration, run, traversal, is_measured));
        }
        text
    }

    /// Reads a file that [`write`](Self::write) or an exploration wrote. If the last row of a
    /// journal was cut short, it is left out. Any CSV table with columns `schedule` and `seconds`
    /// or `time` will do, too; nothing else is known about its runs.
    ///
    /// # Errors
    /// [`RulesError::File`] where it can't be read, isn't such a file, was cut short, or has an invalid row: it names
    /// the line.
    pub fn read(path: &Path) -> Result<Self, RulesError> {
        Ok(Self::read_table(path).map_err(|reason| FileError::new(path, reason))?)
    }

    fn read_table(path: &Path) -> Result<Self, Reason> {
        let mut lines = Lines::open(path)?;
        let (mut all, mut is_own, mut expected) = (Runs::default(), true, None);
        if lines.next()? && lines.line() == MAGIC.as_bytes() {
            let head = if lines.next()? { lines.text()? } else { "" };
            let head = head.strip_prefix("# ").ok_or("it was cut short: the second line should say what was measured")?;
            let head: Head<About> = serde_json::from_str(head).map_err(|error| format!("line 2: {}", brief(error)))?;
            (all.about, is_own, expected) = (head.about, false, head.runs);
            // Whoever simulates or replays them takes memory by these.
            for (what, count, most) in [("ranks", all.about.ranks, MOST_RANKS), ("streams", all.about.streams, MAX_STREAMS)] {
                if count > most {
                    return Err(format!("line 2: there are {count} {what}, but at most {most} are possible").into());
                }
            }
        } else {
            lines.back();
        }
        let mut table = Table::open_any(lines)?;
        let header = table.header().join(",");
        if !is_own && header != HEADER && header != MEASURED {
            return Err(format!("line 3 is neither the header `{HEADER}` nor `{MEASURED}`").into());
        }
        let column = |names: &[&str]| table.header().iter().position(|column| names.contains(&&**column));
        if column(&["seconds"]).is_some() && column(&["time"]).is_some() {
            return Err("has the columns `seconds` and `time`: only one may be that of times".into());
        }
        let (Some(schedule), Some(seconds)) = (column(&["schedule"]), column(&["seconds", "time"])) else {
            return Err(format!(
                "it is not a file of runs: the first line is neither `{MAGIC}`, nor does it name columns `schedule` and `seconds` or `time`"
            )
            .into());
        };
        let mut names = Names::default();
        let mut is_ended = table.is_ended();
        loop {
            let next = table.next();
            if matches!(next, Ok(false)) {
                break;
            }
            is_ended = table.is_ended();
            if !is_own && !is_ended {
                // Whoever added rows was stopped in the last.
                break;
            }
            next?;
            let index = (!is_own).then(|| all.tried());
            let (run, traversal) =
                row(&table, [seconds, schedule], index, !is_own && header == MEASURED).map_err(|reason| table.error(reason))?;
            if !names.agree(&traversal) {
                return Err(table.error("the schedule has other operations than the first"));
            }
            reserve(&mut all.runs, 1).and_then(|()| reserve(&mut all.failed, 1))?;
            match run {
                Some((seconds, noise, times)) => all.runs.push(Run { seconds, traversal, noise, times }),
                None => all.push(None, traversal),
            }
        }
        match expected {
            Some(_) if !is_ended => Err("it was cut short: the last line has no end".into()),
            Some(expected) if expected != all.tried() => {
                let found = all.tried();
                Err(format!("it was cut short, or put together: it should have {expected} runs, but has {found}").into())
            }
            _ => Ok(all),
        }
    }

    /// Sees to it that these are runs of this program.
    ///
    /// # Errors
    /// [`RulesError::File`] where they are of another.
    pub fn check_program(&self, dag: &Dag, path: &Path) -> Result<(), RulesError> {
        if self.about.signature == dag.signature() {
            return Ok(());
        }
        let reason = if self.about.program == dag.name() {
            format!("it has runs of a program `{}` with other operations or edges", dag.name())
        } else {
            format!("it has runs of the program `{}`, not of `{}`", self.about.program, dag.name())
        };
        Err(FileError::new(path, reason).into())
    }

    /// Checks that all schedules tried are schedules of a program. Runs that don't state the number of streams
    /// may use `streams`.
    ///
    /// # Errors
    /// The first schedule that the program doesn't have, and errors of [`check_program`](Self::check_program).
    pub fn check_schedules(&self, dag: &Dag, streams: usize, path: &Path) -> Result<(), RulesError> {
        let mut most = streams;
        if !self.about.signature.is_empty() {
            self.check_program(dag, path)?;
            most = self.about.streams;
        }
        for (_, traversal) in self.rows() {
            Schedule::parse(dag, most, &traversal.to_string()).map_err(|error| FileError::new(path, error.to_string()))?;
        }
        Ok(())
    }
}

/// Runs that are written down as they are measured, a row each, so that they are there whatever comes.
///
/// The file is that of [`Runs`] without their number. It is made with the first run that is added.
#[derive(Debug)]
pub(in crate::design_rules) struct Journal {
    path: PathBuf,
    /// `true` if there is one already, which this one continues.
    continues: bool,
    /// The measurements that it begins with.
    before: Runs,
    file: Option<File>,
    /// The file that it continues, until there is `file`: one process has it locked.
    earlier: Option<File>,
    /// Number of rows of the file.
    len: usize,
}

impl Journal {
    /// A journal that is to be here, or one that is here and `continues`. It begins with the measurements `before`.
    ///
    /// # Errors
    /// Another process is writing the one that it continues.
    pub fn new(path: PathBuf, continues: bool, before: Runs) -> Result<Self, FileError> {
        let earlier = if continues { File::options().append(true).open(&path).ok() } else { None };
        earlier.iter().try_for_each(|file| lock(file, &path))?;
        Ok(Journal { path, continues, before, file: None, earlier, len: 0 })
    }

    /// Adds a measurement of a schedule, or `None` if it failed. The first call also writes those that it begins with.
    /// A file that it doesn't continue is an error, and is not touched. Earlier rows stay.
    pub fn add(&mut self, measured: Option<Measured>, traversal: &Traversal) -> Result<(), RulesError> {
        let cannot = |error: io::Error| FileError::unwritten(&self.path, error);
        let file = match &mut self.file {
            Some(file) => file,
            None => {
                if self.continues {
                    // Its last row may have been cut short.
                    self.before.write_journal(&self.path)?;
                }
                let mut options = File::options();
                let mut file = options.append(true).create_new(!self.continues).open(&self.path).map_err(cannot)?;
                lock(&file, &self.path)?;
                self.earlier = None;
                if !self.continues {
                    let started = file.write_all(self.before.text(None).as_bytes());
                    // Half a head is of no use to anybody.
                    started.inspect_err(|_| _ = fs::remove_file(&self.path)).map_err(cannot)?;
                }
                self.len = self.before.tried();
                self.file.insert(file)
            }
        };
        let run = measured.map(|time| Run { times: vec![time], ..Run::new(time.seconds, traversal.clone()) });
        file.write_all(row_text(self.len, run.as_ref(), traversal, true).as_bytes()).map_err(cannot)?;
        self.len += 1;
        Ok(())
    }

    /// Takes out all that was added since the journal was made.
    pub fn discard(&mut self) -> Result<(), RulesError> {
        match self.file.take() {
            Some(_) if self.continues => self.before.write_journal(&self.path),
            Some(_) => Ok(fs::remove_file(&self.path).map_err(|error| FileError::unwritten(&self.path, error))?),
            None => Ok(()),
        }
    }

    /// Returns its path, if measurements were added.
    pub fn path(&self) -> Option<&Path> {
        self.file.is_some().then_some(&self.path)
    }

    /// Removes the file, if there is one: its runs are elsewhere now.
    pub fn remove(&self) {
        if self.continues || self.file.is_some() {
            // It does no harm where it can't be removed.
            _ = fs::remove_file(&self.path);
        }
    }
}

/// A row of the table, without a run of a schedule that failed.
fn row_text(iteration: usize, run: Option<&Run>, traversal: &Traversal, is_measured: bool) -> String {
    let seconds = run.map_or(FAILED.to_owned(), |run| format!("{:e}", run.seconds));
    if !is_measured {
        return format!("{iteration},{seconds},{traversal}\n");
    }
    let noise = run.and_then(|run| run.noise).map_or(String::new(), |noise| format!("{noise:e}"));
    let times = run.map_or(&[][..], |run| &run.times).iter();
    let times: Vec<_> = times.map(|time| format!("{}:{:e}", time.at, time.seconds)).collect();
    format!("{iteration},{seconds},{noise},{},{traversal}\n", times.join(" "))
}

/// The seconds, noise and measurements of a run.
type Times = (f64, Option<f64>, Vec<Measured>);

/// Reads a row of a table, with its number if it has one, and the noise and what was measured in columns 2 and 3 if it
/// `is_measured`; no times where it failed.
fn row(
    table: &Table,
    [seconds, schedule]: [usize; 2],
    index: Option<usize>,
    is_measured: bool,
) -> Result<(Option<Times>, Traversal), String> {
    if let Some(index) = index.filter(|&index| table.text(0).parse() != Ok(index)) {
        return Err(format!("the iteration is {}, but {index} comes next", quoted(table.text(0))));
    }
    let traversal = table.text(schedule).parse()?;
    if table.text(seconds) == FAILED {
        return Ok((None, traversal));
    }
    let (mut noise, mut times) = (None, Vec::new());
    if is_measured {
        let number = |text: &str, what: &str| {
            let number = text.parse().ok().filter(|number: &f64| number.is_finite() && *number >= 0.0);
            number.ok_or_else(|| format!("{} is not {what}", quoted(text)))
        };
        if !table.text(2).is_empty() {
            noise = Some(number(table.text(2), "a relative standard error")?);
        }
        for measured in table.text(3).split(' ').filter(|text| !text.is_empty()) {
            let (at, seconds) = measured.split_once(':').ok_or_else(|| format!("{} is not AT:SECONDS", quoted(measured)))?;
            times.push(Measured { at: number(at, "a moment in seconds")?, seconds: time(seconds)? });
        }
    }
    Ok((Some((time(table.text(seconds))?, noise, times)), traversal))
}

/// Reads a time in seconds.
fn time(text: &str) -> Result<f64, String> {
    let seconds: f64 = text.parse().map_err(|_| format!("{} is not a time in seconds", quoted(text)))?;
    check_time(seconds).map_err(|_| format!("{} is not a time in seconds", quoted(text)))?;
    Ok(seconds)
}

/// The names of a program's operations, as its schedules have them.
#[derive(Default)]
struct Names {
    /// The choices of all schedules.
    choices: Option<Vec<String>>,
    /// By the alternatives that are taken, the operations.
    operations: HashMap<Vec<String>, Vec<String>>,
}

impl Names {
    /// Returns whether a schedule has the same choices as those before, and the same operations as
    /// those with the same alternatives.
    fn agree(&mut self, traversal: &Traversal) -> bool {
        let sorted = |names: &mut dyn Iterator<Item = &str>| {
            let mut names: Vec<_> = names.map(str::to_owned).collect();
            names.sort_unstable();
            names
        };
        let steps = || traversal.steps().iter();
        let choices = sorted(&mut steps().filter_map(|step| Some(step.chosen()?.0)));
        let alternatives = sorted(&mut steps().filter(|step| step.chosen().is_some()).map(|step| &*step.name));
        let operations = sorted(&mut steps().filter(|step| step.is_operation()).map(|step| &*step.name));
        *self.choices.get_or_insert_with(|| choices.clone()) == choices
            && *self.operations.entry(alternatives).or_insert_with(|| operations.clone()) == operations
    }
}
