//! `warpsmith rules count`.

use std::io::{BufWriter, Write as _, stdout};

use clap::Args;
use serde::Serialize;
use warpsmith::design_rules::{
    Dag, RulesError,
    external::Operation,
    schedule::{Schedules, check_streams, count},
};

use super::program::Choice;
use crate::cli::{failure::Failure, format, terminal};

/// Options of `rules count`.
#[derive(Args, Debug)]
#[command(
    long_about = "Count the schedules of a program: orders of its operations, with streams for those of the GPU, and the \
        synchronisation between them. Schedules that differ only in the names of streams count once.\n\n\
        The number is exact, and does not take a list. If it has 39 digits or more, or would take long, the output is a lower bound, a \
        power of ten. With --list, each schedule is a line: names with `;` between them, and \
        `@` and the stream behind those that name one.",
    after_help = "Examples:\n  \
        warpsmith rules count spmv                     on 1 and on 2 streams\n  \
        warpsmith rules count halo --streams 4         on 1 to 4 streams\n  \
        warpsmith rules count spmv --list | head       the first ten schedules on 2 streams\n  \
        warpsmith rules count spmv --json              one JSON object; numbers are text, since they may be long"
)]
pub struct CountArgs {
    #[command(flatten)]
    choice: Choice,
    /// The most streams that a schedule may use
    #[arg(long, value_name = "S", default_value_t = 2)]
    streams: usize,
    /// Print the schedules instead, one per line, in the order of a depth-first search
    #[arg(long, conflicts_with = "json")]
    list: bool,
    /// Print one JSON object instead of a table
    #[arg(long)]
    json: bool,
}

#[derive(Serialize)]
struct Object<'a> {
    system: &'static str,
    command: &'static str,
    program: &'a str,
    operations: Vec<Operation<'a>>,
    choices: Vec<Alternatives<'a>>,
    edges: Vec<[String; 2]>,
    counts: Vec<Count>,
}

#[derive(Serialize)]
struct Alternatives<'a> {
    choice: &'a str,
    alternatives: Vec<&'a str>,
}

#[derive(Serialize)]
struct Count {
    streams: usize,
    /// As text: JSON's numbers may be too short. None where there are too many to count.
    schedules: Option<String>,
    /// Then there are more than ten to the power of this.
    more_than_exponent: Option<u32>,
}

impl Count {
    fn of(dag: &Dag, streams: usize) -> Result<Self, RulesError> {
        Ok(match count(dag, streams) {
            Err(RulesError::TooMany { exponent, .. }) => Count { streams, schedules: None, more_than_exponent: Some(exponent) },
            schedules => Count { streams, schedules: Some(schedules?.to_string()), more_than_exponent: None },
        })
    }

    fn text(&self) -> String {
        let exponent = self.more_than_exponent.map(|exponent| format!("more than 10^{exponent}"));
        self.schedules.as_deref().map(format::grouped_digits).or(exponent).unwrap_or_default()
    }
}

/// Runs the command.
pub fn run(arguments: &CountArgs) -> Result<(), Failure> {
    let dag = arguments.choice.dag()?;
    if arguments.list {
        return list(&dag, arguments.streams);
    }
    check_streams(arguments.streams)?;
    let mut counts = Vec::<Count>::new();
    for streams in 1..=arguments.streams {
        // On more streams there are more.
        let too_many = counts.last().and_then(|count| count.more_than_exponent);
        let known = too_many.map(|exponent| Count { streams, schedules: None, more_than_exponent: Some(exponent) });
        counts.push(known.map_or_else(|| Count::of(&dag, streams), Ok)?);
    }
    let operations: Vec<_> = dag.operations().map(|op| Operation::of(&dag, op)).collect();
    let edges: Vec<_> = dag.edges().map(|(u, v)| [dag.label(u), dag.label(v)]).collect();
    let choices = dag.choices().iter();
    let choices: Vec<_> =
        choices.map(|choice| Alternatives { choice: choice.name(), alternatives: choice.alternatives().collect() }).collect();
    if arguments.json {
        let program = dag.name();
        return terminal::print_json(&Object { system: "rules", command: "count", program, operations, choices, edges, counts });
    }
    let mut table = terminal::table(["streams", "schedules"], [0, 1]);
    for count in &counts {
        table.add_row([count.streams.to_string(), count.text()]);
    }
    terminal::print(table)?;
    let of_gpu = dag.gpu_operations().count();
    terminal::print(format_args!(
        "{}: {} of the GPU, {} of the host, {}{}.",
        dag.name(),
        format::counted(of_gpu, "operation", "operations"),
        operations.len() - of_gpu,
        if choices.is_empty() { String::new() } else { format!("{}, ", format::counted(choices.len(), "choice", "choices")) },
        format::counted(edges.len(), "dependence", "dependences")
    ))
}

/// Prints all schedules.
fn list(dag: &Dag, streams: usize) -> Result<(), Failure> {
    let schedules = Schedules::new(dag, streams)?;
    let mut out = BufWriter::new(stdout().lock());
    let print = || {
        for schedule in schedules {
            writeln!(out, "{}", schedule.text(dag))?;
        }
        out.flush()
    };
    print().map_err(|error| terminal::unprinted(&error))
}
