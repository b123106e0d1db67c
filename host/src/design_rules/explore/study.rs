//! Searches repeated on a measured space: how well their rules hold in all of it (the paper's Table V), and how near
//! they get to its fastest schedule.

use std::{collections::HashMap, time::Instant};

use rayon::prelude::*;
use serde::Serialize;

use super::search::{Explorer, SearchMethod};
use crate::common::Cancel;
use crate::design_rules::{Accuracy, Dag, Labels, LearnOptions, Model, RulesError, Runs, Schedule, TraversalTable};

/// A time so near to the least one counts as found: 1 %.
pub const NEAR: f64 = 0.01;

/// A measured space, for searches that see a part of it.
#[derive(Debug)]
pub struct Study<'a> {
    dag: &'a Dag,
    runs: &'a Runs,
    /// The first run of each schedule, by its text.
    rows: HashMap<String, usize>,
    table: TraversalTable,
    times: Vec<f64>,
    /// By which the schedules that are found are judged.
    judge: Vec<f64>,
}

/// Of values of several seeds.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Spread {
    /// Their mean.
    pub mean: f64,
    /// Their standard deviation, with n - 1; 0 where there is one.
    pub deviation: f64,
    /// The least.
    pub least: f64,
    /// The greatest.
    pub greatest: f64,
}

/// After this many iterations.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Point {
    /// Number of schedules measured.
    pub iterations: usize,
    /// Share of the space that was measured.
    pub share: f64,
    /// Number of classes of the measured schedules.
    pub classes: Spread,
    /// The class accuracy over the whole space, of the seeds with more than one class; `None` if there
    /// are none, or if the space has only one class.
    pub accuracy: Option<Spread>,
    /// The time of the fastest schedule found, over that of the fastest of the space, less 1; where the space was
    /// measured again ([`Study::judged_by`]), both by that.
    pub slower: Spread,
}

/// A search on the space, repeated with several seeds.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[non_exhaustive]
pub struct Repeated {
    /// The strategy's name.
    pub search: &'static str,
    /// Results by number of iterations, in the requested order.
    pub points: Vec<Point>,
    /// After how many iterations a schedule within [`NEAR`] of the fastest was found.
    pub near: Spread,
    /// That, as a share of the space.
    pub near_share: Spread,
    /// Time of a proposal and its record, in seconds.
    pub seconds_per_iteration: f64,
}

/// Results of one seed after some iterations.
struct Reached {
    classes: usize,
    accuracy: Option<f64>,
    slower: f64,
}

/// The result of one seed.
struct One {
    points: Vec<Reached>,
    near: f64,
    seconds: f64,
    iterations: usize,
}

impl<'a> Study<'a> {
    /// Runs of the whole space of a program.
    ///
    /// # Errors
    /// [`RulesError::Schedule`] where a run is no schedule of the program, and [`RulesError::Learning`] where some are missing.
    pub fn new(dag: &'a Dag, runs: &'a Runs) -> Result<Self, RulesError> {
        let rows = rows_of(dag, runs)?;
        let all = runs.about.named_space.count(dag, runs.about.streams)?;
        if rows.len() as u128 != all {
            let found = rows.len();
            return Err(RulesError::Learning(format!("there are runs of {found} schedules, and it takes all {all}")));
        }
        let table = TraversalTable::new(runs.runs.iter().map(|run| &run.traversal));
        Ok(Study { dag, runs, rows, table, times: runs.times(), judge: runs.times() })
    }

    /// Lets the schedules that searches find be judged by a second measurement of the space.
    ///
    /// The least of many times is less than the true time of its schedule: it was lucky. By the
    /// times that it saw, a search can't be told from its luck. A second measurement removes the
    /// luck, both of the search and of the fastest schedule of the whole space.
    ///
    /// # Errors
    /// [`RulesError::Schedule`] as [`new`](Self::new), and [`RulesError::Learning`] where a schedule has no second time.
    pub fn judged_by(mut self, second: &Runs) -> Result<Self, RulesError> {
        let rows = rows_of(self.dag, second)?;
        for (judge, run) in self.judge.iter_mut().zip(&self.runs.runs) {
            let schedule = Schedule::parse(self.dag, self.runs.about.streams, &run.traversal.to_string())?;
            let row = rows.get(&schedule.text(self.dag));
            let row = row.ok_or_else(|| RulesError::Learning(format!("there is no second time of `{}`", run.traversal)))?;
            *judge = second.runs[*row].seconds;
        }
        Ok(self)
    }

    /// Repeats a search with the seeds 0, 1, ... Seeds share the machine's cores. Calls `done` after each one.
    ///
    /// # Errors
    /// [`RulesError::Learning`] without seeds, for no iterations or fewer than can be learned from. More iterations
    /// than there are schedules count as all of these. [`RulesError::Cancelled`] if `cancel` is set.
    pub fn repeat(
        &self,
        search: SearchMethod,
        iterations: &[usize],
        seeds: u64,
        options: &LearnOptions,
        cancel: &Cancel,
        done: impl Fn() + Sync,
    ) -> Result<Repeated, RulesError> {
        if seeds == 0 || iterations.is_empty() {
            return Err(RulesError::Learning("it takes at least one seed and one number of iterations".to_owned()));
        }
        let has_classes = Labels::with(&self.times, &options.labels)?.count() > 1;
        let all: Vec<One> = (0..seeds)
            .into_par_iter()
            .map(|seed| {
                let one = self.once(search, iterations, seed, options, cancel);
                done();
                one
            })
            .collect::<Result<_, _>>()?;
        let spread = |value: &dyn Fn(&One) -> f64| Spread::of(&all.iter().map(value).collect::<Vec<_>>());
        let whole = self.rows.len() as f64;
        let point = |(index, &iterations): (usize, &usize)| {
            let iterations = iterations.min(self.rows.len());
            let accuracies: Vec<f64> = all.iter().filter_map(|one| one.points[index].accuracy.filter(|_| has_classes)).collect();
            Point {
                iterations,
                share: iterations as f64 / whole,
                classes: spread(&|one| one.points[index].classes as f64),
                accuracy: (!accuracies.is_empty()).then(|| Spread::of(&accuracies)),
                slower: spread(&|one| one.points[index].slower),
            }
        };
        let (seconds, steps) = all.iter().fold((0.0, 0), |(a, b), one| (a + one.seconds, b + one.iterations));
        Ok(Repeated {
            search: search.strategy().name(),
            points: iterations.iter().enumerate().map(point).collect(),
            near: spread(&|one| one.near),
            near_share: spread(&|one| one.near / whole),
            seconds_per_iteration: seconds / steps.max(1) as f64,
        })
    }

    /// One seed's search. It goes on until it is near, too.
    fn once(
        &self,
        search: SearchMethod,
        iterations: &[usize],
        seed: u64,
        options: &LearnOptions,
        cancel: &Cancel,
    ) -> Result<One, RulesError> {
        // By the times that a search sees it would choose this one, could it see all.
        let chosen = (0..self.times.len()).min_by(|&a, &b| self.times[a].total_cmp(&self.times[b]));
        let fastest = chosen.map_or(0.0, |row| self.judge[row]);
        let longest = iterations.iter().copied().max().unwrap_or(0).min(self.rows.len());
        let mut explorer =
            Explorer::new(self.dag, self.runs.about.streams, search.strategy(), seed)?.in_space(self.runs.about.named_space);
        let (mut rows, mut best) = (Vec::new(), Vec::new());
        let (mut least, mut found, mut near, mut seconds) = (f64::INFINITY, f64::INFINITY, None, 0.0);
        while rows.len() < longest || near.is_none() {
            cancel.check().map_err(|_| RulesError::Cancelled)?;
            let start = Instant::now();
            let Some(schedule) = explorer.propose() else { break };
            seconds += start.elapsed().as_secs_f64();
            let row = self.rows[&schedule.text(self.dag)];
            let start = Instant::now();
            explorer.record(&schedule, self.times[row])?;
            seconds += start.elapsed().as_secs_f64();
            rows.push(row);
            if self.times[row] < least {
                (least, found) = (self.times[row], self.judge[row]);
            }
            best.push(found);
            if near.is_none() && found <= fastest * (1.0 + NEAR) {
                near = Some(rows.len());
            }
        }
        let point = |&iterations: &usize| {
            cancel.check().map_err(|_| RulesError::Cancelled)?;
            let seen = iterations.min(rows.len());
            let model = Model::learn(&self.table, &self.times, &rows[..seen], options)?;
            let accuracy = Accuracy::of(&model, &self.table, &self.times)?.map(Accuracy::share);
            let slower = if fastest > 0.0 { best[seen - 1] / fastest - 1.0 } else { 0.0 };
            Ok(Reached { classes: model.labels.count(), accuracy, slower })
        };
        Ok(One {
            points: iterations.iter().map(point).collect::<Result<_, RulesError>>()?,
            near: near.unwrap_or(rows.len()) as f64,
            seconds,
            iterations: rows.len(),
        })
    }
}

/// Returns the first run of each schedule, by its text.
fn rows_of(dag: &Dag, runs: &Runs) -> Result<HashMap<String, usize>, RulesError> {
    let mut rows = HashMap::with_capacity(runs.runs.len());
    for (row, run) in runs.runs.iter().enumerate() {
        let schedule = Schedule::parse(dag, runs.about.streams, &run.traversal.to_string())?;
        rows.entry(schedule.text(dag)).or_insert(row);
    }
    Ok(rows)
}

impl Spread {
    /// Computes the spread of these values; there is at least one.
    fn of(values: &[f64]) -> Self {
        let n = values.len() as f64;
        let mean = values.iter().sum::<f64>() / n;
        let squares: f64 = values.iter().map(|value| (value - mean).powi(2)).sum();
        Spread {
            mean,
            deviation: if values.len() > 1 { (squares / (n - 1.0)).sqrt() } else { 0.0 },
            least: values.iter().copied().fold(f64::INFINITY, f64::min),
            greatest: values.iter().copied().fold(f64::NEG_INFINITY, f64::max),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::design_rules::schedule::Schedules;
    use crate::design_rules::{About, Run, programs};

    /// The whole space of a small program, with these times.
    fn space(dag: &Dag, time: impl Fn(usize) -> f64) -> Runs {
        let run = |(index, schedule): (usize, Schedule)| Run::new(time(index), schedule.text(dag).parse().unwrap());
        let about = About { streams: 2, ..About::program(dag) };
        Runs { about, runs: Schedules::new(dag, 2).unwrap().enumerate().map(run).collect(), failed: Vec::new() }
    }

    #[test]
    fn depth_first_meets_schedules_in_order() {
        let dag = programs::spmv::dag();
        // The tenth is the fastest, and the third is within 1 %.
        let runs = space(&dag, |index| match index {
            9 => 1.0,
            2 => 1.005,
            index => 2.0 + (index % 2) as f64,
        });
        let study = Study::new(&dag, &runs).unwrap();
        let found = study.repeat(SearchMethod::Dfs, &[2, 8, 10], 3, &LearnOptions::PAPER, &Cancel::new(), || {});
        // Two runs are too few to learn from as in the paper.
        assert!(found.unwrap_err().to_string().contains("takes 4 runs"));
        let found = study.repeat(SearchMethod::Dfs, &[8, 10], 3, &LearnOptions::default(), &Cancel::new(), || {}).unwrap();
        assert_eq!((found.search, found.near.mean, found.near.deviation), ("dfs", 3.0, 0.0));
        assert_eq!(found.points.iter().map(|point| point.iterations).collect::<Vec<_>>(), [8, 10]);
        assert!((found.points[0].slower.mean - 0.005).abs() < 1e-12 && found.points[1].slower.mean == 0.0);
        assert!((found.points[1].share - 10.0 / runs.runs.len() as f64).abs() < 1e-15);
    }

    #[test]
    fn a_second_measurement_judges() {
        let dag = programs::spmv::dag();
        // By the first, the fifth is the fastest and was lucky; by the second, all but the third take the same.
        let first = space(&dag, |index| if index == 4 { 1.0 } else { 2.0 + (index % 3) as f64 });
        let second = space(&dag, |index| if index == 2 { 5.0 } else { 2.0 });
        let study = Study::new(&dag, &first).unwrap().judged_by(&second).unwrap();
        let found = study.repeat(SearchMethod::Dfs, &[8], 1, &LearnOptions::default(), &Cancel::new(), || {}).unwrap();
        assert_eq!((found.near.mean, found.points[0].slower.mean), (1.0, 0.0));
        let mut short = second;
        short.runs.pop();
        let error = Study::new(&dag, &first).unwrap().judged_by(&short).unwrap_err().to_string();
        assert!(error.contains("no second time of"), "{error}");
    }

    #[test]
    fn one_class_has_no_accuracy() {
        let dag = programs::spmv::dag();
        let study = |levels: f64| {
            let runs = space(&dag, |index| if index % 2 == 0 { 1.0 } else { levels } + 1e-3 * (index % 7) as f64);
            let study = Study::new(&dag, &runs).unwrap();
            let found = study.repeat(SearchMethod::Random, &[60], 2, &LearnOptions::default(), &Cancel::new(), || {}).unwrap();
            (found.points[0].classes.mean, found.points[0].accuracy.map(|spread| spread.least > 0.0))
        };
        assert_eq!((study(1.0), study(2.0)), ((1.0, None), (2.0, Some(true))));
        // Two slow schedules are a class among 24, but not among all.
        let runs = space(&dag, |index| if [3, 5].contains(&index) { 1.2 } else { 1.0 } + 1e-6 * (index % 7) as f64);
        let study = Study::new(&dag, &runs).unwrap();
        let found = study.repeat(SearchMethod::Dfs, &[24], 1, &LearnOptions::default(), &Cancel::new(), || {}).unwrap();
        assert_eq!((found.points[0].classes.mean, found.points[0].accuracy), (2.0, None));
    }

    #[test]
    fn spreads() {
        let spread = Spread::of(&[1.0, 3.0]);
        assert_eq!((spread.mean, spread.least, spread.greatest), (2.0, 1.0, 3.0));
        assert!((spread.deviation - 2f64.sqrt()).abs() < 1e-15);
    }
}
