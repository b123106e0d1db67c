//! Searches for the next schedule to measure: by a model of the times, by Monte-Carlo tree search,
//! and baselines.

mod explorer;
mod strategy;
mod surrogate;

pub use explorer::Explorer;
pub use strategy::{DepthFirst, Mcts, Random, Statistics, Strategy};
pub use surrogate::Surrogate;

/// The search strategies by name.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "clap", derive(clap::ValueEnum))]
pub enum SearchMethod {
    /// By a model of the times, regression trees over orders and streams: what may be fast
    #[default]
    Surrogate,
    /// Monte-Carlo tree search, as in the paper: where times differ most
    Mcts,
    /// At random
    Random,
    /// One after the other, depth first
    Dfs,
}

impl SearchMethod {
    /// Returns the strategy, with its default parameters.
    pub fn strategy(self) -> Box<dyn Strategy + Send> {
        match self {
            SearchMethod::Surrogate => Box::new(Surrogate::default()),
            SearchMethod::Mcts => Box::new(Mcts::default()),
            SearchMethod::Random => Box::new(Random),
            SearchMethod::Dfs => Box::new(DepthFirst),
        }
    }
}
