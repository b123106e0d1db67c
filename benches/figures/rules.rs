//! Design rules on the CPU: the time that it takes to list, count and simulate schedules, and to search: `cargo bench --bench
//! figures -- rules`.
//!
//! All by one thread; wall times, medians of seven after two to warm up.

use std::{error::Error, hint::black_box, time::Instant};

use warpsmith::{
    design_rules::{
        Platform as _,
        programs::spmv,
        schedule::{Schedules, count},
        search::{Explorer, Mcts},
        sim::{Machine, SimPlatform, spmv::SpmvModel},
    },
    spmv::{Band, Traffic},
};

use crate::measure;

type Result<T = ()> = std::result::Result<T, Box<dyn Error>>;

fn wall<T>(name: &str, n: usize, mut work: impl FnMut() -> Result<T>) -> Result {
    measure(name, n, || {
        let start = Instant::now();
        black_box(work()?);
        Ok((1e3 * start.elapsed().as_secs_f64(), Vec::new()))
    })
}

/// The paper's program on two streams.
pub fn main(_: Vec<String>) -> Result {
    let dag = spmv::dag();
    let all: Vec<_> = Schedules::new(&dag, 2)?.collect();
    wall("list", all.len(), || Ok(Schedules::new(black_box(&dag), 2)?.count()))?;
    wall("count", all.len(), || Ok(count(black_box(&dag), 2)?))?;
    let matrix = Band::default().matrix::<f32>()?;
    let model = SpmvModel::new(Traffic::new(&matrix, 4)?);
    let mut platform = SimPlatform::new(&model, Machine::h200_node())?;
    wall("simulate on 4 ranks", all.len(), || {
        Ok(all.iter().map(|schedule| platform.measure(schedule)).sum::<std::result::Result<f64, _>>()?)
    })?;
    // Cost of a search besides measuring: an iteration is a proposal and its record.
    wall("search, 400 iterations", 400, || {
        let mut explorer = Explorer::new(&dag, 2, Mcts::default(), 1)?;
        for iteration in 0..400 {
            let schedule = explorer.propose().ok_or("there are more")?;
            explorer.record(&schedule, f64::from(iteration % 7))?;
        }
        Ok(explorer.statistics())
    })
}
