//! Design rules for CUDA+MPI programs: search the orderings and stream assignments of a program, and learn readable
//! rules that tell fast ones from slow ones, after Pearson, Javeed and Devine, *Machine Learning for CUDA+MPI Design
//! Rules* (2022).
//!
//! In: a [`Dag`] of operations, and a [`Platform`] that runs it. Out: [`Runs`] (schedules with their
//! times), rules as sentences, and the fastest schedule as code.
//!
//! - [`program`]: operations and their dependences, and [`programs`] that can be run.
//! - [`schedule`]: one way to run a program. Lists and counts schedules, and writes them as code
//!   ([`emit`]).
//! - [`measure`]: platforms on GPUs or the CPU ([`platform`]), or in another process ([`external`]);
//!   repeated measurements ([`Measurer`]), and files of runs.
//! - [`sim`]: a simulated machine as a platform.
//! - [`learn`]: a [`Model`] from runs: classes, features, a decision tree, and rules as sentences.
//! - [`explore`]: the schedules to measure: by a [`search`], or all of them. [`study`]
//!   judges searches by the rules that they lead to.
//! - [`report`]: a page about runs and rules.
//!
//! Modules import only from those above them in this list.
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
pub use explore::{Answer, offline, search, study};
pub use learn::{
    Accuracy, BitColumns, Class, DecisionTree, Feature, FeatureSet, LabelOptions, Labels, LearnOptions, Model, Rule, Rules,
    Ruleset, SpaceComparison, TraversalTable, program_of,
};
pub use measure::{About, Failed, Measured, Measurer, Platform, Precision, Run, Runs, Span, Timeline, external, platform};
pub use program::{Choice, Dag, DagBuilder, Kind, OpId, programs};
pub use schedule::{NamedStep, Schedule, Space, Step, Traversal, emit};
