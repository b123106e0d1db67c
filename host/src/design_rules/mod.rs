//! Design rules for CUDA+MPI programs: search the orderings and stream assignments of a program, and learn readable rules that tell
//! fast ones from slow ones, after Pearson, Javeed and Devine, *Machine Learning for CUDA+MPI Design Rules* (2022).

pub mod dag;
mod error;
pub mod platform;
pub mod programs;
mod runs;
pub mod schedule;
pub mod search;
pub mod sim;
mod traversal;

pub use dag::{Dag, DagBuilder, Kind, OpId};
pub use error::RulesError;
pub use platform::{Platform, Span, Timeline};
pub use runs::{About, Run, Runs};
pub use schedule::{Schedule, Step};
pub use traversal::{NamedStep, Traversal};
