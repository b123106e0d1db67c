//! `warpsmith rules`: schedules of CUDA+MPI programs, and what makes them fast.

mod across;
mod check;
mod count;
mod draw;
mod emit;
mod explore;
mod init;
mod learn;
mod learning;
mod offline;
mod platform;
mod program;
mod report;
mod schema;
mod study;

use std::path::Path;

use clap::{Args, Subcommand};
use warpsmith::io::files::is_standard;

use super::{Global, failure::Failure};

/// Commands of `rules`.
#[derive(Args, Debug)]
#[command(
    long_about = "Search the schedules of a CUDA+MPI program, and learn rules that tell fast ones from slow ones, after Pearson, \
        Javeed and Devine, Machine Learning for CUDA+MPI Design Rules (2022).\n\n\
        A program is a graph of operations of the host and of the GPU. A schedule is an order of them, with a stream for each \
        operation of the GPU, and the events that this takes: `CER-after-Pack` records one behind Pack, with `CES-b4-PostSend` the \
        host waits for it, and with `CSWE-b4-add` a stream. `explore` measures schedules and writes RUNS.CSV, which the other \
        commands read.",
    after_help = "Examples:\n  \
        warpsmith rules count spmv                                  how many schedules there are\n  \
        warpsmith rules explore spmv --output runs.csv              measure 200 of them, found by a search\n  \
        warpsmith rules learn runs.csv                              rules of the fast ones\n  \
        warpsmith rules report runs.csv --output report.html        all of that as a page\n  \
        warpsmith rules explore spmv --exhaustive --output full.csv\n  \
        warpsmith rules learn runs.csv --against full.csv           how well they hold in all\n  \
        warpsmith rules study full.csv                              by iterations and search\n  \
        warpsmith rules emit runs.csv --language cuda               the fastest schedule as code"
)]
pub struct Arguments {
    #[command(subcommand)]
    command: Command,
}

// Their one-line descriptions in the list of commands. Doc comments would also replace the longer
// texts of the arguments.
#[derive(Debug, Subcommand)]
enum Command {
    #[command(about = "Measure schedules of a program: search for those that matter, or all")]
    Explore(explore::ExploreArgs),
    #[command(about = "Count the schedules of a program, or list them")]
    Count(count::CountArgs),
    #[command(about = "Check a program's file, and schedules of it")]
    Check(check::CheckArgs),
    #[command(about = "Write a program's file, from a profile or by questions")]
    Init(init::InitArgs),
    #[command(about = "Draw a program as a graph")]
    Draw(draw::DrawArgs),
    #[command(about = "Print what a search would measure next")]
    Next(offline::NextArgs),
    #[command(about = "Add the time of a schedule to runs")]
    Add(offline::AddArgs),
    #[command(about = "Write a schedule as code, or say what differs from another")]
    Emit(emit::EmitArgs),
    #[command(about = "Print the JSON schema of programs")]
    Schema(schema::SchemaArgs),
    #[command(about = "Learn rules from runs; compare them with those of a whole space")]
    Learn(learn::LearnArgs),
    #[command(about = "Repeat searches on a measured space: how good their rules and schedules are")]
    Study(study::StudyArgs),
    #[command(about = "Write a page of HTML about runs and rules")]
    Report(report::ReportArgs),
}

/// Checks that runs are in a file, where they are continued.
fn check_named(path: &Path) -> Result<(), Failure> {
    if is_standard(path) { Err(Failure::error("runs are continued in their file: give it a name, not `-`")) } else { Ok(()) }
}

pub fn run(global: &Global, arguments: &Arguments) -> Result<(), Failure> {
    match &arguments.command {
        Command::Explore(arguments) => explore::run(global, arguments),
        Command::Study(arguments) => study::run(global, arguments),
        Command::Count(arguments) => count::run(arguments),
        Command::Check(arguments) => check::run(arguments),
        Command::Init(arguments) => init::run(arguments),
        Command::Draw(arguments) => draw::run(arguments),
        Command::Next(arguments) => offline::next(arguments),
        Command::Add(arguments) => offline::add(arguments),
        Command::Emit(arguments) => emit::run(arguments),
        Command::Schema(arguments) => schema::run(arguments),
        Command::Learn(arguments) => learn::run(arguments),
        Command::Report(arguments) => report::run(arguments),
    }
}
