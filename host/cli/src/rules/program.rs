//! The programs that the command has.

use std::{
    ffi::OsString,
    path::{Path, PathBuf},
};

use clap::{
    Args,
    builder::{OsStringValueParser, TypedValueParser},
};
use warpsmith::design_rules::{Dag, RulesError, programs};

/// A program whose schedules can be explored.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Program {
    /// Multiplication of a sparse matrix with a vector over ranks, as in the paper.
    Spmv,
    /// A step of the heat equation in three dimensions, with the exchange of ghost cells.
    Halo,
    /// One of the user's, from a file.
    File(PathBuf),
}

fn parse_program(text: OsString) -> Result<Program, String> {
    match text.to_str() {
        Some("spmv") => Ok(Program::Spmv),
        Some("halo") => Ok(Program::Halo),
        Some("-") => Ok(Program::File(text.into())),
        _ if Path::new(&text).extension().is_some_and(|extension| extension == "json") => Ok(Program::File(text.into())),
        _ => Err("it is neither spmv nor halo, nor the file of a program (.json, or `-`)".to_owned()),
    }
}

/// Reads which program is meant.
pub fn parser() -> impl TypedValueParser<Value = Program> {
    OsStringValueParser::new().try_map(parse_program)
}

/// The argument that names a program.
#[derive(Args, Clone, Debug)]
pub struct Choice {
    /// The program: spmv, halo, or a file with the operations of your own
    ///
    /// spmv is a sparse matrix times a vector over ranks, as in the paper; halo is a step of the heat equation in three
    /// dimensions.
    #[arg(value_name = "PROGRAM", value_parser = parser())]
    pub program: Program,
}

impl Program {
    /// Returns the program's file, if it is one of the user's.
    pub fn file(&self) -> Option<&Path> {
        if let Program::File(path) = self { Some(path) } else { None }
    }

    /// Returns the program's operations and dependences.
    pub fn dag(&self) -> Result<Dag, RulesError> {
        match self {
            Program::File(path) => Dag::read(path),
            Program::Spmv => Ok(programs::spmv::dag()),
            Program::Halo => Ok(programs::halo::dag()),
        }
    }
}
