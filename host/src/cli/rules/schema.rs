//! `warpsmith rules schema`.

use clap::{Args, ValueEnum};
use warpsmith::design_rules::{Dag, external};

use crate::cli::{failure::Failure, terminal};

#[derive(Args, Debug)]
#[command(
    long_about = "Print the JSON schema of a program's file, PROGRAM.json, or of the messages between `rules explore` and a program of \
        your own. Editors check and complete files by it.",
    after_help = "Examples:\n  \
        warpsmith rules schema > dag.schema.json\n  \
        warpsmith rules schema protocol"
)]
pub struct SchemaArgs {
    /// Files or messages to describe
    #[arg(value_enum, default_value_t = Subject::Program)]
    subject: Subject,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum Subject {
    /// The operations of a program
    Program,
    /// The messages
    Protocol,
}

pub fn run(arguments: &SchemaArgs) -> Result<(), Failure> {
    let text = match arguments.subject {
        Subject::Program => Dag::SCHEMA,
        Subject::Protocol => external::SCHEMA,
    };
    terminal::print(text.trim_end())
}
