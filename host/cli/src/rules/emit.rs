//! `warpsmith rules emit`.

use std::{
    io::Write as _,
    path::{Path, PathBuf},
};

use clap::Args;
use warpsmith::design_rules::{
    Dag, Runs, Schedule,
    emit::{Language, differences, emit},
    program_of, programs,
    schedule::MAX_STREAMS,
};

use super::program::Program;
use crate::{failure::Failure, output::Files, terminal};

#[derive(Args, Debug)]
#[command(
    long_about = "Print a schedule as code: its streams and events, and a call of each operation, which is yours to write. With --against, \
        say what is different in it from another schedule instead.\n\n\
        SCHEDULE is a schedule's text, of the program that --program names; `textbook`, one stream with the operations in the order of \
        the program's file; or RUNS.CSV, whose fastest schedule it is then, of the program that the file names.",
    after_help = "Examples:\n  \
        warpsmith rules emit runs.csv --language cuda --output schedule.hpp\n  \
        warpsmith rules emit runs.csv --against textbook                what makes the fastest one different\n  \
        warpsmith rules emit textbook --program spmv --language dot\n  \
        warpsmith rules emit 'Pack@0;CER-after-Pack;CES-b4-Send;Send' --program mine.json --language dot"
)]
pub struct EmitArgs {
    /// A schedule, or runs
    #[arg(value_name = "SCHEDULE|RUNS.CSV")]
    schedule: String,
    /// The program: spmv, halo, or a file with the operations of your own
    #[arg(long, value_name = "PROGRAM", value_parser = super::program::parser())]
    program: Option<Program>,
    /// Language of the code
    #[arg(long, value_enum, default_value_t = Language::Cuda, conflicts_with = "against")]
    language: Language,
    /// Say what differs from this schedule
    #[arg(long, value_name = "SCHEDULE|RUNS.CSV")]
    against: Option<String>,
    /// Write the code here instead of printing it
    #[arg(long, value_name = "FILE", conflicts_with = "against")]
    output: Option<PathBuf>,
}

pub fn run(arguments: &EmitArgs) -> Result<(), Failure> {
    let named = arguments.program.as_ref().map(Program::dag).transpose()?;
    let (dag, schedule) = find(&arguments.schedule, named)?;
    if let Some(against) = &arguments.against {
        let (_, other) = find(against, Some(dag.clone()))?;
        let said = differences(&dag, &schedule, &other);
        let said = if said.is_empty() { vec!["No difference.".to_owned()] } else { said };
        return terminal::print(said.join("\n"));
    }
    let text = emit(&dag, &schedule, arguments.language);
    let Some(path) = &arguments.output else { return terminal::print(text.trim_end()) };
    let inputs = arguments.program.iter().filter_map(Program::file).chain(is_file(&arguments.schedule));
    let destination = Files::reading(inputs).write(path)?;
    destination.write(|file| file.write_all(text.as_bytes()))?;
    terminal::print(format_args!("Written: {}", path.display()))
}

/// The file that a schedule is to be taken from, if it is: schedules have no `/` in them, and none ends so.
fn is_file(text: &str) -> Option<&Path> {
    let path = Path::new(text);
    let is_table = path.extension().is_some_and(|extension| extension == "csv" || extension == "partial");
    (is_table || text.contains(std::path::MAIN_SEPARATOR)).then_some(path)
}

/// A schedule, and its program.
fn find(text: &str, program: Option<Dag>) -> Result<(Dag, Schedule), Failure> {
    if let Some(path) = is_file(text) {
        let runs = Runs::read(path)?;
        let in_file = |error: &dyn std::fmt::Display| Failure::error(format_args!("{}: {error}", path.display()));
        let is_own = runs.about.signature.is_empty();
        let dag = match program {
            Some(dag) => {
                if !is_own {
                    runs.check_program(&dag, path)?;
                }
                dag
            }
            None if is_own => return Err(in_file(&"it doesn't say of which program: name it with --program")),
            None => program_of(&runs.about).map_err(|error| in_file(&error))?,
        };
        let run = runs.fastest().ok_or_else(|| in_file(&"there are no runs in it"))?;
        let streams = if is_own { MAX_STREAMS } else { runs.about.streams };
        let schedule = Schedule::parse(&dag, streams, &run.traversal.to_string()).map_err(|error| in_file(&error))?;
        return Ok((dag, schedule));
    }
    let dag = program.ok_or_else(|| Failure::error("which program? Name it with --program"))?;
    let schedule = match text {
        // It is the paper's own program, whose usual order is known.
        "textbook" if dag == programs::spmv::dag() => Schedule::parse(&dag, 1, programs::spmv::TEXTBOOK)?,
        "textbook" => Schedule::textbook(&dag),
        text => Schedule::parse(&dag, MAX_STREAMS, text)?,
    };
    Ok((dag, schedule))
}
