//! `warpsmith rules report`.

use std::{io::Write as _, path::PathBuf};

use clap::Args;
use serde_json::json;
use warpsmith::design_rules::{Runs, report};

use super::learning::Learning;
use crate::{failure::Failure, format, output::Files, terminal};

#[derive(Args, Debug)]
#[command(
    long_about = "Write a page of HTML about runs: sorted times, classes and how they came about, the decision tree and how it was chosen, \
        rules by class, the fastest and the slowest schedule in time and as steps.\n\n\
        The page stands by itself: nothing is loaded, and it is light or dark as the browser is.",
    after_help = "Examples:\n  \
        warpsmith rules report runs.csv --output report.html\n  \
        warpsmith rules report runs.csv --output small.html --max-leaf-nodes 6    a tree that is read at a glance"
)]
pub struct ReportArgs {
    /// Runs that `warpsmith rules explore` wrote
    #[arg(value_name = "RUNS.CSV")]
    runs: PathBuf,
    /// The page
    #[arg(long, alias = "html", value_name = "REPORT.HTML")]
    output: PathBuf,
    #[command(flatten)]
    learning: Learning,
    /// Print one JSON object instead of a line
    #[arg(long)]
    json: bool,
}

pub fn run(arguments: &ReportArgs) -> Result<(), Failure> {
    let destination = Files::reading([&arguments.runs]).write(&arguments.output)?;
    let runs = Runs::read(&arguments.runs)?.merged();
    let (_, model) = arguments.learning.learn(&arguments.runs, &runs)?;
    let page = report::page(&runs, &model);
    destination.write(|file| file.write_all(page.as_bytes()))?;
    let (output, classes) = (arguments.output.display().to_string(), model.labels.count());
    if arguments.json {
        return terminal::print_json(&json!({
            "system": "rules",
            "command": "report",
            "input": arguments.runs.display().to_string(),
            "runs": runs.runs.len(),
            "classes": classes,
            "leaves": model.search.as_ref().map(|search| search.tree.leaves()),
            "output": output,
            "bytes": page.len(),
        }));
    }
    terminal::print(format_args!(
        "Written: {output} ({}, {}, {})",
        format::counted(runs.runs.len(), "run", "runs"),
        format::counted(classes, "class", "classes"),
        format::bytes(page.len() as u64)
    ))
}
