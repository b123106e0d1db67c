//! The programs that the command has.

use clap::ValueEnum;
use warpsmith::design_rules::{Dag, programs};

/// A program whose schedules can be explored.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Program {
    /// Distributed sparse matrix-vector multiplication, as in the paper
    Spmv,
}

impl Program {
    /// Its operations and dependences.
    pub fn dag(self) -> Dag {
        match self {
            Program::Spmv => programs::spmv::dag(),
        }
    }

    /// The program of this name.
    pub fn named(name: &str) -> Option<Self> {
        Self::value_variants().iter().copied().find(|program| program.dag().name() == name)
    }
}
