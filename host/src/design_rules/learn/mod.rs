//! From measured times to rules.
//!
//! In: a [`TraversalTable`] (schedules by the positions of their steps) and the time of each schedule,
//! in seconds. Out: a [`Model`]: classes ([`labels`]), the features that tell schedules apart
//! ([`FeatureSet`]), a decision tree ([`tree`]) and its [`rules`] as sentences. [`Accuracy`] says how
//! well a model holds over a measured space. [`Across`] learns from several inputs of a program at once.

mod accuracy;
mod across;
mod columns;
mod features;
pub mod labels;
mod model;
mod numbers;
pub mod rules;
mod signature;
mod table;
pub mod tree;

pub use accuracy::{Accuracy, SpaceComparison};
pub use across::{Across, Input, Judged, Region};
pub use columns::BitColumns;
pub use features::{Feature, FeatureSet, Limit, Rule};
pub use labels::{Class, LabelOptions, Labels};
pub use model::{LearnOptions, Model};
pub use numbers::InputTable;
pub use rules::{Rules, Ruleset};
pub use signature::program_of;
pub use table::TraversalTable;
pub use tree::DecisionTree;
