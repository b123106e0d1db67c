//! `warpsmith rules count`.

use std::io::{BufWriter, Write as _, stdout};

use clap::Args;
use serde_json::json;
use warpsmith::design_rules::{Dag, RulesError, Space, external::operation, schedule::check_streams};

use super::program::Choice;
use crate::{failure::Failure, format, terminal};

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
        warpsmith rules count spmv --space tenzing     schedules that tenzing enumerates: 2,036 on 2 streams\n  \
        warpsmith rules count spmv --json              one JSON object; numbers are text, since they may be long"
)]
pub struct CountArgs {
    #[command(flatten)]
    choice: Choice,
    /// The set of schedules
    #[arg(long, value_enum, default_value_t)]
    space: Space,
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

/// The number of schedules, or if there are too many to count, the power of ten that they exceed.
type Count = Result<u128, u32>;

pub fn run(arguments: &CountArgs) -> Result<(), Failure> {
    let dag = arguments.choice.program.dag()?;
    if arguments.list {
        return list(arguments.space, &dag, arguments.streams);
    }
    check_streams(arguments.streams)?;
    let mut counts = Vec::<Count>::new();
    for streams in 1..=arguments.streams {
        counts.push(match counts.last() {
            // On more streams there are more.
            Some(&Err(exponent)) => Err(exponent),
            _ => match arguments.space.count(&dag, streams) {
                Err(RulesError::TooMany { exponent, .. }) => Err(exponent),
                count => Ok(count?),
            },
        });
    }
    let counts = (1..).zip(&counts);
    let operations: Vec<_> = dag.operations().map(|op| operation(&dag, op)).collect();
    let edges: Vec<_> = dag.edges().map(|(u, v)| [dag.label(u), dag.label(v)]).collect();
    let choices = dag.choices();
    if arguments.json {
        let choices = choices
            .iter()
            .map(|choice| json!({ "choice": choice.name(), "alternatives": choice.alternatives().collect::<Vec<_>>() }));
        // Numbers as text: JSON's may be too short.
        let counts = counts.map(|(streams, count)| {
            json!({
                "streams": streams,
                "schedules": count.as_ref().ok().map(u128::to_string),
                "more_than_exponent": count.err(),
            })
        });
        return terminal::print_json(&json!({
            "system": "rules",
            "command": "count",
            "program": dag.name(),
            "operations": operations,
            "choices": choices.collect::<Vec<_>>(),
            "edges": edges,
            "counts": counts.collect::<Vec<_>>(),
        }));
    }
    let mut table = terminal::table(["streams", "schedules"], [0, 1]);
    for (streams, count) in counts {
        let exceeded = |exponent: &u32| format!("more than 10^{exponent}");
        table.add_row([
            streams.to_string(),
            count.as_ref().map_or_else(exceeded, |count| format::grouped_digits(&count.to_string())),
        ]);
    }
    terminal::print(table)?;
    // The end is no operation of the program.
    let (of_gpu, own) = (dag.gpu_operations().count(), operations.len() - 1);
    terminal::print(format_args!(
        "{}: {} of the GPU, {} of the host, {}{}.",
        dag.name(),
        format::counted(of_gpu, "operation", "operations"),
        own - of_gpu,
        if choices.is_empty() { String::new() } else { format!("{}, ", format::counted(choices.len(), "choice", "choices")) },
        format::counted(dag.dependences(), "dependence", "dependences")
    ))
}

/// Prints all schedules.
fn list(space: Space, dag: &Dag, streams: usize) -> Result<(), Failure> {
    let schedules = space.schedules(dag, streams)?;
    let mut out = BufWriter::new(stdout().lock());
    let print = || {
        for schedule in schedules {
            writeln!(out, "{}", schedule.text(dag))?;
        }
        out.flush()
    };
    print().map_err(|error| terminal::unprinted(&error))
}
