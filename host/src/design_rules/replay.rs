//! A measured space as a platform, so that searches can be repeated without running anything.

use std::collections::HashMap;

use super::{Dag, Platform, RulesError, Runs, Schedule, Timeline};

/// Times looked up among runs. The program is that of the runs.
///
/// It measures what the runs have, and each time the same; of a schedule with several runs, the first. It can't check results, and
/// has the timelines of the fastest and the slowest run alone, where the runs came with them.
#[derive(Clone, Debug)]
pub struct Replay<'a> {
    dag: &'a Dag,
    runs: &'a Runs,
    /// The first run of each schedule, by its text.
    times: HashMap<String, f64>,
}

impl<'a> Replay<'a> {
    /// The runs, which are of this program.
    ///
    /// # Errors
    /// [`RulesError::Schedule`] where a run is no schedule of the program on as many streams as [`About`](super::About) says, or
    /// was made by another version of it: it says which.
    pub fn new(dag: &'a Dag, runs: &'a Runs) -> Result<Self, RulesError> {
        let mut times = HashMap::with_capacity(runs.runs.len());
        for run in &runs.runs {
            let schedule = Schedule::parse(dag, runs.about.streams, &run.traversal.to_string())?;
            times.entry(schedule.text(dag)).or_insert(run.seconds);
        }
        Ok(Replay { dag, runs, times })
    }

    /// How many different schedules there are among the runs.
    pub fn len(&self) -> usize {
        self.times.len()
    }

    /// Whether there are no runs.
    pub fn is_empty(&self) -> bool {
        self.times.is_empty()
    }

    /// The least time in seconds; infinity where there are no runs.
    pub fn fastest(&self) -> f64 {
        self.times.values().copied().fold(f64::INFINITY, f64::min)
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
        let found = self.times.get(&schedule.text(self.dag)).copied();
        found.ok_or_else(|| self.missing(schedule, "time"))
    }

    fn check(&mut self, schedule: &Schedule) -> Result<(), RulesError> {
        Err(self.missing(schedule, "result"))
    }

    fn timeline(&mut self, schedule: &Schedule) -> Result<Timeline, RulesError> {
        let text = schedule.text(self.dag);
        let is = |run: Option<&super::Run>| run.is_some_and(|run| run.traversal.to_string() == text);
        let about = &self.runs.about;
        let traced = [(self.runs.fastest(), &about.fastest), (self.runs.slowest(), &about.slowest)];
        let found = traced.into_iter().find(|(run, timeline)| is(*run) && timeline.is_some());
        found.and_then(|(_, timeline)| timeline.clone()).ok_or_else(|| self.missing(schedule, "timeline"))
    }
}

#[cfg(test)]
mod tests {
    use super::super::schedule::Schedules;
    use super::super::{About, Run, programs};
    use super::*;

    #[test]
    fn times_are_those_of_the_runs() {
        let dag = programs::spmv::dag();
        let all: Vec<_> = Schedules::new(&dag, 2).unwrap().step_by(100).collect();
        let run = |(index, schedule): (usize, &Schedule)| Run {
            seconds: (index + 1) as f64,
            traversal: schedule.text(&dag).parse().unwrap(),
        };
        let mut runs = Runs {
            about: About { streams: 2, ranks: 4, fastest: Some(Timeline::default()), ..About::program(&dag) },
            runs: all.iter().enumerate().map(run).collect(),
        };
        // A second run of a schedule doesn't count.
        runs.runs.push(Run { seconds: 0.5, ..runs.runs[1].clone() });
        let mut replay = Replay::new(&dag, &runs).unwrap();
        assert_eq!((replay.len(), replay.ranks(), replay.fastest()), (all.len(), 4, 1.0));
        for (index, schedule) in all.iter().enumerate() {
            assert_eq!(replay.measure(schedule).unwrap(), (index + 1) as f64);
        }
        let other = Schedules::new(&dag, 2).unwrap().nth(1).unwrap();
        assert!(replay.measure(&other).unwrap_err().to_string().contains("the runs have no time of it"));
        assert!(replay.check(&other).is_err() && replay.timeline(&other).is_err());
        assert!(replay.timeline(&all[1]).is_ok(), "it is the fastest run's");

        runs.about.streams = 1;
        assert!(Replay::new(&dag, &runs).unwrap_err().to_string().contains("can't come next"));
    }
}
