//! The programs that the command has.

use clap::{Args, ValueEnum};
use warpsmith::design_rules::{Dag, RulesError, programs};

/// A program whose schedules can be explored.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Program {
    /// Multiplication of a sparse matrix with a vector over ranks, as in the paper
    Spmv,
    /// A step of the heat equation in three dimensions, with the exchange of ghost cells
    Halo,
    /// The double-buffered pipeline of pairwise matrices: compute, download and write blocks
    Pipeline,
}

/// Which program, and how large a graph it is.
#[derive(Args, Clone, Debug)]
pub struct Choice {
    /// The program
    pub program: Program,
    /// Blocks that a rank computes, for pipeline: each is three operations [default: 4]
    #[arg(long, value_name = "N")]
    blocks: Option<usize>,
}

impl Choice {
    /// How many blocks a pipeline has.
    pub fn blocks(&self) -> usize {
        self.blocks.unwrap_or(programs::pipeline::BLOCKS)
    }

    /// Its operations and dependences.
    pub fn dag(&self) -> Result<Dag, RulesError> {
        if self.blocks.is_some() && self.program != Program::Pipeline {
            return Err(RulesError::Setup("--blocks is for pipeline: other programs have none".to_owned()));
        }
        match self.program {
            Program::Spmv => Ok(programs::spmv::dag()),
            Program::Halo => Ok(programs::halo::dag()),
            Program::Pipeline => programs::pipeline::dag(self.blocks()),
        }
    }
}
