//! Which schedule to measure next: by a model of the times, by Monte-Carlo tree search, and baselines.

mod explorer;
mod strategy;
mod surrogate;

pub use explorer::Explorer;
pub use strategy::{DepthFirst, Mcts, Random, Statistics, Strategy};
pub use surrogate::Surrogate;
