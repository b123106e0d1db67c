//! The programs that the command has.

use std::{
    ffi::OsString,
    path::{Path, PathBuf},
};

use clap::{
    Args,
    builder::{OsStringValueParser, TypedValueParser},
};
use warpsmith::design_rules::{Dag, RulesError, Runs, program_of, programs};

use crate::cli::failure::Failure;

/// A program whose schedules can be explored.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Program {
    /// Multiplication of a sparse matrix with a vector over ranks, as in the paper.
    Spmv,
    /// A step of the heat equation in three dimensions, with the exchange of ghost cells.
    Halo,
    /// The double-buffered pipeline of pairwise matrices: compute, download and write blocks.
    Pipeline,
    /// One of the user's, from a file.
    File(PathBuf),
}

fn parse_program(text: OsString) -> Result<Program, String> {
    match text.to_str() {
        Some("spmv") => Ok(Program::Spmv),
        Some("halo") => Ok(Program::Halo),
        Some("pipeline") => Ok(Program::Pipeline),
        _ if Path::new(&text).extension().is_some_and(|extension| extension == "json") => Ok(Program::File(text.into())),
        _ => Err("it is none of spmv, halo and pipeline, and no file of a program (.json)".to_owned()),
    }
}

/// Reads which program is meant.
pub fn parser() -> impl TypedValueParser<Value = Program> {
    OsStringValueParser::new().try_map(parse_program)
}

/// Which program, and how large a graph it is.
#[derive(Args, Clone, Debug)]
pub struct Choice {
    /// The program: spmv (a sparse matrix times a vector over ranks, as in the paper), halo (a step of the heat equation
    /// in three dimensions), pipeline (pairwise matrices: compute, download and write blocks), or a file with the
    /// operations of your own
    #[arg(value_name = "PROGRAM", value_parser = parser())]
    pub program: Program,
    /// Blocks that a rank computes, for pipeline: each is three operations [default: 4]
    #[arg(long, value_name = "N")]
    blocks: Option<usize>,
}

impl Choice {
    /// The program of these runs, which are in this file.
    pub fn of(runs: &Runs, path: &Path) -> Result<Self, Failure> {
        let (program, blocks) = match &*runs.about.program {
            "spmv" => (Program::Spmv, None),
            "halo" => (Program::Halo, None),
            "pipeline" => {
                let in_file = |error| Failure::error(format_args!("{}: {error}", path.display()));
                let dag = program_of(&runs.about).map_err(in_file)?;
                let blocks = dag.operations().filter(|&op| dag.name_of(op).starts_with("Compute_")).count();
                (Program::Pipeline, Some(blocks))
            }
            other => {
                let text = format!("its runs are of the program `{other}`; known are spmv, halo and pipeline");
                return Err(Failure::error(format_args!("{}: {text}", path.display())));
            }
        };
        let choice = Choice { program, blocks };
        runs.check_program(&choice.dag()?, path)?;
        Ok(choice)
    }

    /// This program, as large as it is by itself.
    pub fn of_program(program: Program) -> Self {
        Choice { program, blocks: None }
    }

    /// The program's file, where it is one of the user's.
    pub fn file(&self) -> Option<&Path> {
        if let Program::File(path) = &self.program { Some(path) } else { None }
    }

    /// How many blocks a pipeline has.
    pub fn blocks(&self) -> usize {
        self.blocks.unwrap_or(programs::pipeline::BLOCKS)
    }

    /// Its operations and dependences.
    pub fn dag(&self) -> Result<Dag, RulesError> {
        if self.blocks.is_some() && self.program != Program::Pipeline {
            return Err(RulesError::Setup("--blocks is for pipeline: other programs have none".to_owned()));
        }
        match &self.program {
            Program::File(path) => Dag::read(path),
            Program::Spmv => Ok(programs::spmv::dag()),
            Program::Halo => Ok(programs::halo::dag()),
            Program::Pipeline => programs::pipeline::dag(self.blocks()),
        }
    }
}
