//! The demonstration of design rules.

use std::sync::Arc;

use super::{Checked, Error, Row, Setting, timed};
use crate::{
    design_rules::{
        LearnOptions, Model, Platform, Schedule, TraversalTable,
        platform::{Group, Staging},
        programs::spmv::{self, Multiplication},
        schedule::{Schedules, count},
        search::{Explorer, Mcts},
        sim::{Machine, SimPlatform, spmv::SpmvModel},
    },
    spmv::{Band, Traffic},
};

/// Number of ranks of the simulated machine.
const RANKS: usize = 4;
/// Number of ranks on the device.
const THREADS: usize = 2;
const STREAMS: usize = 2;
/// Number of schedules that the search measures.
const ITERATIONS: usize = 200;
/// Number of schedules, spread over all, that run on the device.
const RUN: usize = 8;
/// Matrix of the multiplications.
const MATRIX: Band = Band::new(20_000, 200_000, 1);

/// Simulates all schedules of a distributed multiplication, searches for the fastest, and runs some
/// on the device.
pub fn section(setting: &Setting) -> Result<Vec<Row>, Error> {
    let dag = spmv::dag();
    let schedules: Vec<Schedule> = Schedules::new(&dag, STREAMS)?.collect();
    let row = |what: &str, schedules: usize, ranks: usize, ms, checked| {
        let size = (schedules, format!("schedules, {ranks} ranks"));
        Row { what: what.to_owned(), size, work: (schedules, "schedules"), ms, checked }
    };

    let traffic = Traffic::new(&MATRIX.matrix::<f32>()?, RANKS)?;
    let mut machine = SimPlatform::new(&SpmvModel::new(traffic), Machine::h200_node())?;
    let (times, ms) = timed(|| schedules.iter().map(|schedule| machine.measure(schedule)).collect::<Result<Vec<_>, _>>())?;
    let mut checked = Checked::Reference;
    if schedules.len() as u128 != count(&dag, STREAMS)? {
        checked = Checked::Wrong(format!("{} schedules were listed, and {} counted", schedules.len(), count(&dag, STREAMS)?));
    }
    for schedule in &schedules {
        // No operation may start before what it depends on is done.
        if let Err(error) = machine.check(schedule) {
            checked = Checked::Wrong(error.to_string());
        }
    }
    let mut rows = vec![row("all of SpMV on simulated GPUs", schedules.len(), RANKS, ms, checked)];

    let start = std::time::Instant::now();
    let mut explorer = Explorer::new(&dag, STREAMS, Mcts::default(), 0)?;
    let (mut found, mut seen) = (Vec::new(), Vec::new());
    while let Some(schedule) = explorer.propose().filter(|_| found.len() < ITERATIONS) {
        let seconds = machine.measure(&schedule)?;
        explorer.record(&schedule, seconds)?;
        seen.push(schedule.text(&dag).parse()?);
        found.push(seconds);
    }
    let model = Model::learn_all(&TraversalTable::new(&seen), &found, &LearnOptions::default())?;
    let ms = 1e3 * start.elapsed().as_secs_f64();
    let least = |times: &[f64]| times.iter().copied().fold(f64::INFINITY, f64::min);
    let checked = match least(&found) / least(&times) {
        1.0 => Checked::Right,
        ..1.01 => Checked::Within("the best within 1 %"),
        ratio => Checked::Wrong(format!("the search's fastest takes {ratio:.3} times as long as the fastest of all")),
    };
    let what = format!("tree search, then {} rulesets", model.rules.all().len());
    rows.push(row(&what, found.len(), RANKS, ms, checked));

    let _turn = setting.turn();
    let setup = Arc::new(Multiplication::new(MATRIX.matrix::<f32>()?, Staging::Auto));
    let mut group = Group::threads(&vec![setting.device.clone(); THREADS], setup, STREAMS)?;
    let mut run = schedules.iter().step_by(schedules.len() / RUN).take(RUN);
    let (found, ms) = timed(|| Ok::<_, Error>(run.try_for_each(|schedule| group.check(schedule))))?;
    let checked = found.map_or_else(|error| Checked::Wrong(error.to_string()), |()| Checked::Near);
    rows.push(row("some, for real", RUN, THREADS, ms, checked));
    Ok(rows)
}
