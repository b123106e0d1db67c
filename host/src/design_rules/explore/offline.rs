//! A search whose schedules are measured elsewhere, and whose times are added to a file one by one.
//!
//! In: the file of runs, if there is one yet. Out: the schedules to measure next, or the file with one
//! more time.

use std::path::Path;

use super::search::{Explorer, SearchMethod};
use crate::design_rules::measure::{About, Runs};
use crate::design_rules::schedule::{Schedule, check_streams, count as count_schedules};
use crate::design_rules::{Dag, RulesError};
use crate::io::files::{Destination, FileError};

/// Reads the runs of a file, or starts with none if there is no such file.
///
/// `about` describes new runs. If it has no number of streams (0), that of the file counts, or 2.
///
/// # Errors
/// [`RulesError::Streams`], and [`RulesError::File`] if the file can't be read or has runs of another
/// program or on another number of streams.
pub fn open(dag: &Dag, path: &Path, about: About) -> Result<Runs, RulesError> {
    let streams = if about.streams == 0 { 2 } else { about.streams };
    check_streams(streams)?;
    let space = count_schedules(dag, streams).ok().map(|space| space.to_string());
    let wanted = about.streams;
    let about = About { ranks: 1, streams, space, ..about };
    if !path.exists() {
        return Ok(Runs { about, ..Runs::default() });
    }
    let runs = Runs::read(path)?;
    if runs.about.signature.is_empty() {
        return Ok(Runs { about: About { signature: String::new(), ..about }, ..runs });
    }
    runs.check_program(dag, path)?;
    let found = runs.about.streams;
    if wanted != 0 && wanted != found {
        let plural = if found == 1 { "stream" } else { "streams" };
        return Err(FileError::new(path, format!("its runs are on {found} {plural}, not on {wanted}")).into());
    }
    Ok(runs)
}

/// Returns up to `count` schedules that a search proposes after the runs of the file `path`. Equal runs
/// and seeds give equal schedules.
///
/// # Errors
/// As [`Explorer::new`], and [`RulesError::File`] if a run is no schedule of the program.
pub fn next(
    dag: &Dag,
    runs: &Runs,
    path: &Path,
    search: SearchMethod,
    seed: u64,
    count: usize,
) -> Result<Vec<Schedule>, RulesError> {
    let streams = runs.about.streams;
    let mut explorer =
        Explorer::new(dag, streams, search.strategy(), seed.wrapping_add(runs.tried() as u64))?.in_space(runs.about.named_space);
    for (run, traversal) in runs.rows() {
        let parsed = Schedule::parse(dag, streams, &traversal.to_string());
        let schedule = parsed.map_err(|error| FileError::new(path, error.to_string()))?;
        match run {
            Some(run) => explorer.record(&schedule, run.seconds),
            None => explorer.record_failure(&schedule),
        }?;
    }
    let mut proposed = Vec::new();
    while proposed.len() < count
        && let Some(schedule) = explorer.propose()
    {
        // It has no time yet, and must not be proposed again.
        explorer.record_failure(&schedule)?;
        proposed.push(schedule);
    }
    Ok(proposed)
}

/// Adds the time of a schedule to a file of runs, or that it failed. Several processes may add to the
/// same file at once: each locks the file's folder.
///
/// # Errors
/// As [`open`], [`RulesError::Schedule`] if the text is no schedule of the program, and
/// [`RulesError::File`] if the file can't be written or is a table without a header of runs.
pub fn add(dag: &Dag, destination: &Destination, about: About, schedule: &str, seconds: Option<f64>) -> Result<(), RulesError> {
    let path = destination.name();
    let _lock = destination.lock_folder()?;
    let mut runs = open(dag, path, about)?;
    if runs.about.signature.is_empty() {
        let reason = "it is a table of your own, to which you add rows yourself".to_owned();
        return Err(FileError::new(path, reason).into());
    }
    let schedule = Schedule::parse(dag, runs.about.streams, schedule)?;
    runs.push(seconds, schedule.text(dag).parse().map_err(RulesError::Setup)?);
    runs.write(destination)
}
