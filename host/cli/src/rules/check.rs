//! `warpsmith rules check`.

use std::path::{Path, PathBuf};

use clap::Args;
use serde_json::json;
use warpsmith::design_rules::{Runs, Schedule, schedule::check_streams};

use super::program::Choice;
use crate::{failure::Failure, format, terminal};

#[derive(Args, Debug)]
#[command(
    long_about = "Check that a file describes a program, and that schedules are schedules of it: the error names the file, the field, \
        and the first that is wrong.\n\n\
        If operations state what they read and write, two that access the same data need an order unless both only read it. A missing \
        order is an error. Orders that no data justify are listed: they may be guesses that exclude fast schedules.",
    after_help = "Examples:\n  \
        warpsmith rules check mine.json\n  \
        warpsmith rules check mine.json --schedule 'Pack@0;CER-after-Pack;CES-b4-Send;Send'\n  \
        warpsmith rules check mine.json --runs runs.csv      every schedule of a table"
)]
pub struct CheckArgs {
    #[command(flatten)]
    choice: Choice,
    /// A schedule of it
    #[arg(long, value_name = "SCHEDULE")]
    schedule: Option<String>,
    /// Runs of it
    #[arg(long, value_name = "RUNS.CSV")]
    runs: Option<PathBuf>,
    /// The most streams that a schedule may use
    #[arg(long, value_name = "S", default_value_t = 2)]
    streams: usize,
    /// Print one JSON object instead of a sentence
    #[arg(long)]
    json: bool,
}

pub fn run(arguments: &CheckArgs) -> Result<(), Failure> {
    let dag = arguments.choice.program.dag()?;
    check_streams(arguments.streams)?;
    let mut schedules = 0;
    if let Some(text) = &arguments.schedule {
        Schedule::parse(&dag, arguments.streams, text)?;
        schedules += 1;
    }
    if let Some(path) = &arguments.runs {
        let runs = Runs::read(path)?;
        runs.check_schedules(&dag, arguments.streams, path)?;
        schedules += runs.tried();
    }
    let file = arguments.choice.program.file().unwrap_or(Path::new(dag.name()));
    let unjustified = dag.unjustified().map_err(|reason| Failure::error(format_args!("{}: {reason}", file.display())))?;
    let (operations, choices, dependences) = (dag.len() - 1, dag.choices().len(), dag.dependences());
    if arguments.json {
        return terminal::print_json(&json!({
            "system": "rules",
            "command": "check",
            "program": dag.name(),
            "operations": operations,
            "choices": choices,
            "dependences": dependences,
            "unjustified": unjustified,
            "schedules": schedules,
        }));
    }
    let operations = format::counted(operations, "operation", "operations");
    let choices = match choices {
        0 => String::new(),
        choices => format!(", {}", format::counted(choices, "choice", "choices")),
    };
    let dependences = format::counted(dependences, "dependence", "dependences");
    let checked = match schedules {
        0 => String::new(),
        schedules => format!(" Checked: {}.", format::counted(schedules, "schedule", "schedules")),
    };
    terminal::print(format_args!("{}: {operations}{choices}, {dependences}.{checked}", dag.name()))?;
    let Some(unjustified) = unjustified.filter(|orders| !orders.is_empty()) else { return Ok(()) };
    terminal::print("Orders that no data justify:")?;
    unjustified.iter().try_for_each(|[u, v]| terminal::print(format_args!("  {u} before {v}")))
}
