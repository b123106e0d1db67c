//! Design rules for CUDA+MPI programs: search the orderings and stream assignments of a program, and learn readable rules that tell
//! fast ones from slow ones, after Pearson, Javeed and Devine, *Machine Learning for CUDA+MPI Design Rules* (2022).

mod accuracy;
mod columns;
pub mod dag;
mod error;
mod features;
pub mod labels;
mod model;
pub mod platform;
pub mod programs;
mod replay;
pub mod report;
pub mod rules;
mod runs;
pub mod schedule;
pub mod search;
pub mod sim;
pub mod study;
mod survey;
mod table;
mod traversal;
pub mod tree;

pub use accuracy::Accuracy;
pub use columns::BitColumns;
pub use dag::{Dag, DagBuilder, Kind, OpId};
pub use error::RulesError;
pub use features::{Feature, FeatureSet, Rule};
pub use labels::{Class, LabelOptions, Labels};
pub use model::{LearnOptions, Model};
pub use platform::{Platform, Span, Timeline};
pub use replay::{Replay, program_of};
pub use rules::{Rules, Ruleset};
pub use runs::{About, Run, Runs};
pub use schedule::{Schedule, Step};
pub use survey::Survey;
pub use table::TraversalTable;
pub use traversal::{NamedStep, Traversal};
pub use tree::{Tree, TreeOptions};
