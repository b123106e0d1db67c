//! Measured schedules, and the file that holds them.

use std::io::Write as _;
use std::path::Path;

use serde::{Deserialize, Serialize};

use super::{Dag, RulesError, Timeline, Traversal};
use crate::files::Destination;
use crate::read::{Lines, push, quoted};

/// The first line of a file of runs.
const MAGIC: &str = "# warpsmith rules 1";
/// The header of its table.
const HEADER: &str = "iteration,seconds,schedule";

/// What was measured, where and how.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct About {
    /// The program's name, such as `spmv`.
    pub program: String,
    /// Its input, such as `band matrix, 150,000 rows, 1,500,000 nonzeros, f32`; may be empty.
    #[serde(default)]
    pub input: String,
    /// The program's operations and edges: [`Dag::signature`].
    pub signature: String,
    /// [`Platform::description`](super::Platform::description).
    pub platform: String,
    /// How many ranks.
    pub ranks: usize,
    /// The most streams that schedules might use.
    pub streams: usize,
    /// The search: `mcts`, `random`, `dfs`.
    pub search: String,
    /// The search's seed.
    pub seed: u64,
    /// How many schedules there are in all, where that is known. As text, since JSON's numbers are too short for it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub space: Option<String>,
    /// The fastest schedule's steps in time.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fastest: Option<Timeline>,
    /// The slowest schedule's.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub slowest: Option<Timeline>,
}

impl About {
    /// About runs of this program; what else there is to say is empty.
    pub fn program(dag: &Dag) -> Self {
        About { program: dag.name().to_owned(), signature: dag.signature(), ..About::default() }
    }
}

/// A schedule and its time.
#[derive(Clone, Debug, PartialEq)]
pub struct Run {
    /// In seconds.
    pub seconds: f64,
    /// The schedule.
    pub traversal: Traversal,
}

/// Schedules of a program with their times, in the order in which they were measured.
///
/// As a file: a line that says what it is, a line of JSON with [`About`] and the number of runs, both behind `# `, and a CSV table
/// `iteration,seconds,schedule`. Times are written so that they read back the same.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Runs {
    /// What was measured.
    pub about: About,
    /// The runs.
    pub runs: Vec<Run>,
}

/// The second line of the file.
#[derive(Serialize, Deserialize)]
struct Head<A> {
    runs: usize,
    #[serde(flatten)]
    about: A,
}

impl Runs {
    /// The times in seconds, in order.
    pub fn times(&self) -> Vec<f64> {
        self.runs.iter().map(|run| run.seconds).collect()
    }

    /// The traversals, in order.
    pub fn traversals(&self) -> Vec<Traversal> {
        self.runs.iter().map(|run| run.traversal.clone()).collect()
    }

    /// The run of the least time, the first of several; none where there are no runs.
    pub fn fastest(&self) -> Option<&Run> {
        self.runs.iter().min_by(|a, b| a.seconds.total_cmp(&b.seconds))
    }

    /// The run of the greatest time, the last of several.
    pub fn slowest(&self) -> Option<&Run> {
        self.runs.iter().max_by(|a, b| a.seconds.total_cmp(&b.seconds))
    }

    /// Writes the file whole, beside its name first.
    ///
    /// # Errors
    /// [`RulesError::File`].
    pub fn write(&self, destination: &Destination) -> Result<(), RulesError> {
        let head = Head { runs: self.runs.len(), about: &self.about };
        let head = serde_json::to_string(&head).expect("its keys are strings");
        let mut text = format!("{MAGIC}\n# {head}\n{HEADER}\n");
        for (iteration, run) in self.runs.iter().enumerate() {
            text.push_str(&format!("{iteration},{:e},{}\n", run.seconds, run.traversal));
        }
        let mut file = destination.temporary()?;
        file.write_all(text.as_bytes()).and_then(|()| file.flush()).map_err(|error| destination.error(&error))?;
        Ok(destination.persist(file)?)
    }

    /// Reads a file that [`write`](Self::write) wrote.
    ///
    /// # Errors
    /// [`RulesError::Runs`] where it can't be read, is no such file, was cut short, or has a row that is none: it names the line.
    pub fn read(path: &Path) -> Result<Self, RulesError> {
        let wrong = |reason: String| RulesError::Runs { path: path.to_owned(), reason };
        let mut lines = Lines::open(path).map_err(wrong)?;
        if !lines.next().map_err(wrong)? || lines.line() != MAGIC.as_bytes() {
            return Err(wrong(format!("it is no file of runs: the first line isn't `{MAGIC}`")));
        }
        let cut = "it was cut short: the second line should say what was measured";
        let head = if lines.next().map_err(wrong)? { lines.text().map_err(wrong)? } else { "" };
        let head = head.strip_prefix("# ").ok_or_else(|| wrong(cut.to_owned()))?;
        let Head { runs: expected, about } =
            serde_json::from_str::<Head<About>>(head).map_err(|error| wrong(format!("line 2: {error}")))?;
        if !lines.next().map_err(wrong)? || lines.line() != HEADER.as_bytes() {
            return Err(wrong(format!("line 3 isn't the header `{HEADER}`")));
        }
        let mut runs: Vec<Run> = Vec::new();
        let mut ended = lines.is_ended();
        while lines.next().map_err(wrong)? {
            ended = lines.is_ended();
            let index = runs.len();
            let run = row(lines.text().map_err(wrong)?, index).map_err(|reason| {
                let cut = if index + 1 == expected || !ended { "; was the file cut short?" } else { "" };
                wrong(lines.error(format_args!("{reason}{cut}")))
            })?;
            push(&mut runs, run).map_err(wrong)?;
        }
        if !ended {
            return Err(wrong("it was cut short: the last line has no end".to_owned()));
        }
        if runs.len() != expected {
            return Err(wrong(format!(
                "it was cut short, or put together: it should have {expected} runs, but has {}",
                runs.len()
            )));
        }
        let signature = |run: &Run| {
            let mut names: Vec<_> =
                run.traversal.steps().iter().filter(|step| !step.is_synchronisation()).map(|step| step.name.clone()).collect();
            names.sort_unstable();
            names
        };
        if let Some(first) = runs.first() {
            let names = signature(first);
            if let Some(odd) = runs.iter().position(|run| signature(run) != names) {
                return Err(wrong(format!("line {}: the schedule has other operations than the first", odd + 4)));
            }
        }
        Ok(Runs { about, runs })
    }

    /// Sees to it that these are runs of this program.
    ///
    /// # Errors
    /// [`RulesError::Runs`] where they are of another.
    pub fn check_program(&self, dag: &Dag, path: &Path) -> Result<(), RulesError> {
        if self.about.signature == dag.signature() {
            return Ok(());
        }
        let reason = if self.about.program == dag.name() {
            format!("it has runs of a program `{}` with other operations or edges", dag.name())
        } else {
            format!("it has runs of the program `{}`, not of `{}`", self.about.program, dag.name())
        };
        Err(RulesError::Runs { path: path.to_owned(), reason })
    }
}

/// Reads a row of the table.
fn row(line: &str, index: usize) -> Result<Run, String> {
    let mut fields = line.splitn(3, ',');
    let (Some(iteration), Some(seconds), Some(schedule)) = (fields.next(), fields.next(), fields.next()) else {
        return Err(format!("{} has fewer than 3 fields", quoted(line)));
    };
    if iteration.parse() != Ok(index) {
        return Err(format!("the iteration is {}, but {index} comes next", quoted(iteration)));
    }
    let seconds: f64 = seconds.parse().map_err(|_| format!("{} is no time in seconds", quoted(seconds)))?;
    if !(seconds.is_finite() && seconds >= 0.0) {
        return Err(format!("{seconds} s is no time"));
    }
    Ok(Run { seconds, traversal: schedule.parse()? })
}
