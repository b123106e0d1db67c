//! Design rules for CUDA+MPI programs: search the orderings and stream assignments of a program, and learn readable
//! rules that tell fast ones from slow ones, after Pearson, Javeed and Devine, *Machine Learning for CUDA+MPI Design
//! Rules* (2022).
//!
//! - A [`Dag`] is a program, and a [`Schedule`] one way to run it: [`schedule`] lists and counts them.
//! - [`search`] chooses which to measure, or [`Survey`] measures all; a [`Platform`] measures: [`platform`] on GPUs or
//!   the CPU, with ranks as threads or processes; [`external`] through somebody else's program; [`sim`] on a simulated
//!   machine; [`Replay`] from a file of [`Runs`]. A [`Measurer`] measures each as often as its noise takes.
//! - [`Model`] learns from times: classes ([`labels`](learn::labels)), features ([`FeatureSet`]), a [`tree`](learn::tree), and
//!   [`rules`](learn::rules) as
//!   sentences; [`Accuracy`] and [`study`] say how well they hold, [`report`] makes a page of all.
//! - [`emit`] writes a schedule as code.
//! - [`programs`] has some to begin with.
//!
//! ```
//! use warpsmith::design_rules::{LearnOptions, Model, Platform, TraversalTable, programs::spmv};
//! use warpsmith::design_rules::search::{Explorer, Mcts};
//! use warpsmith::design_rules::sim::{Machine, SimPlatform, spmv::SpmvModel};
//! use warpsmith::spmv::{Band, Traffic};
//!
//! // The paper's program and matrix, on four simulated GPUs.
//! let traffic = Traffic::new(&Band::default().matrix::<f32>()?, 4)?;
//! let mut platform = SimPlatform::new(&SpmvModel::new(traffic), Machine::h200_node())?;
//! let dag = spmv::dag();
//! let mut explorer = Explorer::new(&dag, 2, Mcts::default(), 1)?;
//! let (mut seen, mut times) = (Vec::new(), Vec::new());
//! for _ in 0..200 {
//!     let Some(schedule) = explorer.propose() else { break };
//!     let seconds = platform.measure(&schedule)?;
//!     explorer.record(&schedule, seconds)?;
//!     seen.push(schedule.text(&dag).parse()?);
//!     times.push(seconds);
//! }
//! let model = Model::learn_all(&TraversalTable::new(&seen), &times, &LearnOptions::default())?;
//! for ruleset in model.rules.all() {
//!     let rules: Vec<_> = ruleset.rules.iter().map(ToString::to_string).collect();
//!     println!("class {}, {} schedules: {}", ruleset.class, ruleset.samples, rules.join("; "));
//! }
//! # assert!(model.labels.count() > 1);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod error;
pub mod explore;
mod json;
pub mod learn;
pub mod measure;
pub mod program;
pub mod report;
pub mod schedule;
pub mod sim;
mod statistics;

pub use error::RulesError;
pub use explore::{Answer, Survey, offline, search, study};
pub use learn::{
    Accuracy, BitColumns, Class, DecisionTree, Feature, FeatureSet, LabelOptions, Labels, LearnOptions, Model, Replay, Rule,
    Rules, Ruleset, SpaceComparison, TraversalTable, TreeOptions, program_of,
};
pub use measure::{
    About, Failed, Journal, Measured, Measurer, Platform, Precision, Run, Runs, Span, Timeline, external, platform,
};
pub use program::{Choice, Dag, DagBuilder, Kind, OpId, programs};
pub use schedule::{NamedStep, Schedule, Step, Traversal, emit};
