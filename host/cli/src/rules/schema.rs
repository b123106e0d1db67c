//! `warpsmith rules schema`.

use clap::Args;
use warpsmith::design_rules::Dag;

use crate::{failure::Failure, terminal};

#[derive(Args, Debug)]
#[command(
    long_about = "Print the JSON schema of a program's file, PROGRAM.json. Editors check and complete files by it.",
    after_help = "Examples:\n  \
        warpsmith rules schema > dag.schema.json"
)]
pub struct SchemaArgs {}

pub fn run(_: &SchemaArgs) -> Result<(), Failure> {
    terminal::print(Dag::SCHEMA.trim_end())
}
