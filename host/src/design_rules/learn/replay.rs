//! A measured space as a platform, so that searches can be repeated without running anything.
//!
//! In: a program and the runs of a file. Out: a [`Replay`], a platform that looks times up.

use std::collections::HashMap;

use crate::design_rules::{About, Dag, DagBuilder, Kind, Platform, RulesError, Runs, Schedule, Timeline, program};

/// A platform that looks times up among runs.
///
/// Each schedule of the runs has a single time, that of its first run. The platform can't check
/// results. It has the timelines of the fastest and the slowest run, if the file has them.
#[derive(Clone, Debug)]
pub struct Replay<'a> {
    dag: &'a Dag,
    runs: &'a Runs,
    /// The first run of each schedule, by its text.
    rows: HashMap<String, usize>,
}

impl<'a> Replay<'a> {
    /// Creates a platform from the runs of a program.
    ///
    /// # Errors
    /// [`RulesError::Schedule`] where a run is no schedule of the program on as many streams as [`About`](crate::design_rules::About)
    /// says, or was made by another version of it: it says which.
    pub fn new(dag: &'a Dag, runs: &'a Runs) -> Result<Self, RulesError> {
        let mut rows = HashMap::with_capacity(runs.runs.len());
        for (row, run) in runs.runs.iter().enumerate() {
            let schedule = Schedule::parse(dag, runs.about.streams, &run.traversal.to_string())?;
            rows.entry(schedule.text(dag)).or_insert(row);
        }
        Ok(Replay { dag, runs, rows })
    }

    /// Returns the number of different schedules.
    pub fn len(&self) -> usize {
        self.rows.len()
    }

    /// Returns true if there are no runs.
    pub fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    /// Returns the index of the run of a schedule, if there is one.
    pub fn row(&self, schedule: &Schedule) -> Option<usize> {
        self.rows.get(&schedule.text(self.dag)).copied()
    }

    /// Returns the least time in seconds, or infinity if there are no runs.
    pub fn fastest(&self) -> f64 {
        self.rows.values().map(|&row| self.runs.runs[row].seconds).fold(f64::INFINITY, f64::min)
    }

    fn missing(&self, schedule: &Schedule, what: &str) -> RulesError {
        RulesError::Schedule {
            program: self.dag.name().to_owned(),
            schedule: schedule.text(self.dag),
            reason: format!("the runs have no {what} of it"),
        }
    }
}

impl Platform for Replay<'_> {
    fn dag(&self) -> &Dag {
        self.dag
    }

    fn ranks(&self) -> usize {
        self.runs.about.ranks
    }

    fn description(&self) -> String {
        format!("{}, replayed", self.runs.about.platform)
    }

    fn measure(&mut self, schedule: &Schedule) -> Result<f64, RulesError> {
        let found = self.row(schedule).map(|row| self.runs.runs[row].seconds);
        found.ok_or_else(|| self.missing(schedule, "time"))
    }

    fn is_exact(&self) -> bool {
        true
    }

    fn check(&mut self, schedule: &Schedule) -> Result<(), RulesError> {
        Err(self.missing(schedule, "result"))
    }

    fn timeline(&mut self, schedule: &Schedule) -> Result<Timeline, RulesError> {
        let text = schedule.text(self.dag);
        let is = |run: Option<&crate::design_rules::Run>| run.is_some_and(|run| run.traversal.to_string() == text);
        let about = &self.runs.about;
        let traced = [(self.runs.fastest(), &about.fastest), (self.runs.slowest(), &about.slowest)];
        let found = traced.into_iter().find(|(run, timeline)| is(*run) && timeline.is_some());
        found.and_then(|(_, timeline)| timeline.clone()).ok_or_else(|| self.missing(schedule, "timeline"))
    }
}

/// Reconstructs the program of runs from its [signature](Dag::signature).
///
/// # Errors
/// [`RulesError::Dag`] where the signature is invalid.
pub fn program_of(about: &About) -> Result<Dag, RulesError> {
    let wrong = || RulesError::Dag {
        program: about.program.clone(),
        reason: format!("`{}` does not say what its operations and edges are", about.signature),
    };
    let (operations, edges) = about.signature.split_once(' ').ok_or_else(wrong)?;
    let mut builder = Dag::builder(&about.program);
    for operation in operations.split(',') {
        builder = match operation.rsplit_once(':') {
            Some((program::END, "c")) => builder,
            Some((label, "c")) => labelled(builder, label, Kind::Cpu),
            Some((label, "g")) => labelled(builder, label, Kind::Gpu),
            _ => return Err(wrong()),
        };
    }
    for edge in edges.split(',').filter(|edge| !edge.is_empty()) {
        let (before, after) = edge.split_once('>').ok_or_else(wrong)?;
        builder = builder.edge(before, after);
    }
    let dag = builder.build()?;
    if dag.signature() == about.signature { Ok(dag) } else { Err(wrong()) }
}

/// Adds the operation with this [label](Dag::label).
fn labelled(builder: DagBuilder, label: &str, kind: Kind) -> DagBuilder {
    let part = label.split_once('=').and_then(|(choice, rest)| Some((choice, rest.split_once('/')?)));
    match part {
        Some((choice, (alternative, name))) => builder.part(choice, alternative, name, kind),
        None => builder.operation(label, kind),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::design_rules::schedule::Schedules;
    use crate::design_rules::{Run, programs};

    #[test]
    fn programs_from_their_signatures() {
        let choice = Dag::builder("c").gpu("b").alternative("a", "x", Kind::Cpu).part("a", "y", "p", Kind::Gpu);
        let choice = choice.part("a", "y", "q", Kind::Cpu).edge("a=y/p", "a=y/q").edge("b", "a").build().unwrap();
        for dag in [programs::spmv::dag(), programs::halo::dag(), choice] {
            assert_eq!(program_of(&About::program(&dag)).unwrap(), dag);
        }
        for signature in ["", "a:g", "a:g,end:c a>b", "a:x,end:c a>end", "a:g,end:c", "a:g,end:c a-end", "end:c,a:g a>end"] {
            let about = About { program: "p".to_owned(), signature: signature.to_owned(), ..About::default() };
            assert!(program_of(&about).is_err(), "{signature}");
        }
    }

    #[test]
    fn times_are_those_of_the_runs() {
        let dag = programs::spmv::dag();
        let all: Vec<_> = Schedules::new(&dag, 2).unwrap().step_by(100).collect();
        let run = |(index, schedule): (usize, &Schedule)| Run::new((index + 1) as f64, schedule.text(&dag).parse().unwrap());
        let mut runs = Runs {
            about: About { streams: 2, ranks: 4, fastest: Some(Timeline::default()), ..About::program(&dag) },
            runs: all.iter().enumerate().map(run).collect(),
            failed: Vec::new(),
        };
        // A second run of a schedule doesn't count.
        runs.runs.push(Run { seconds: 0.5, ..runs.runs[1].clone() });
        let mut replay = Replay::new(&dag, &runs).unwrap();
        assert_eq!((replay.len(), replay.ranks(), replay.fastest()), (all.len(), 4, 1.0));
        for (index, schedule) in all.iter().enumerate() {
            assert_eq!((replay.row(schedule), replay.measure(schedule).unwrap()), (Some(index), (index + 1) as f64));
        }
        let other = Schedules::new(&dag, 2).unwrap().nth(1).unwrap();
        assert!(replay.measure(&other).unwrap_err().to_string().contains("the runs have no time of it"));
        assert!(replay.check(&other).is_err() && replay.timeline(&other).is_err());
        assert!(replay.timeline(&all[1]).is_ok(), "it is the fastest run's");

        runs.about.streams = 1;
        assert!(Replay::new(&dag, &runs).unwrap_err().to_string().contains("can't come next"));
    }
}
