//! Programs and schedules as graphs, in Graphviz's language.

use std::fmt::{self, Write as _};

use super::{before, is_gpu, operations, printable};
use crate::design_rules::program::bits;
use crate::design_rules::{Dag, OpId, Schedule};

/// Fill colours of operations, by stream.
const COLOURS: [&str; 8] = ["#cfe3f5", "#fde3c8", "#d5efd0", "#f3d3e3", "#e2d9f3", "#fff3bf", "#d0efef", "#e6e6e6"];

/// Writes a program.
pub fn program(dag: &Dag, text: &mut String) -> fmt::Result {
    start(dag, text)?;
    for op in dag.operations().filter(|&op| dag.alternative_of(op).is_none()) {
        node(dag, op, dag.name_of(op), "", text)?;
    }
    for (index, choice) in dag.choices().iter().enumerate() {
        writeln!(text, "    subgraph cluster_{index} {{\n        label=\"{}, one of\"; style=dashed;", choice.name())?;
        for (way, alternative) in choice.alternatives().enumerate() {
            writeln!(text, "        subgraph cluster_{index}_{way} {{\n            label=\"{alternative}\"; style=solid;")?;
            let is_part = |op: &OpId| dag.alternative_of(*op) == Some((choice.name(), alternative));
            for op in dag.operations().filter(is_part) {
                text.push_str("        ");
                node(dag, op, dag.name_of(op), "", text)?;
            }
            text.push_str("        }\n");
        }
        text.push_str("    }\n");
    }
    for (u, v) in dag.edges() {
        writeln!(text, "    op{} -> op{};", u.index(), v.index())?;
    }
    text.push_str("}\n");
    Ok(())
}

/// Writes a schedule: an edge for each pair of operations if one is done before the other starts,
/// except edges that others imply. These are the edges of a CUDA graph of the schedule; boxes of
/// one colour are in one stream.
pub fn schedule(dag: &Dag, schedule: &Schedule, text: &mut String) -> fmt::Result {
    start(dag, text)?;
    let before = before(dag, schedule);
    let all = operations(dag, schedule);
    for &op in &all {
        let name = dag.name_of(op);
        let name = match dag.alternative_of(op) {
            Some((choice, alternative)) if choice == name => format!("{name} as {alternative}"),
            _ => name.to_owned(),
        };
        match schedule.stream_of(op) {
            Some(stream) => {
                let colour = COLOURS[usize::from(stream) % COLOURS.len()];
                let more = format!(", style=filled, fillcolor=\"{colour}\"");
                node(dag, op, &format!("{name}\\nstream {stream}"), &more, text)?;
            }
            None => node(dag, op, &name, "", text)?,
        }
    }
    for &op in &all {
        let earlier = before[op.index()];
        let implied = bits(earlier).fold(0, |set, index| set | before[index]);
        for index in bits(earlier & !implied) {
            writeln!(text, "    op{index} -> op{};", op.index())?;
        }
    }
    text.push_str("}\n");
    Ok(())
}

fn start(dag: &Dag, text: &mut String) -> fmt::Result {
    let name = printable(dag.name()).replace('\\', "\\\\").replace('"', "\\\"");
    writeln!(text, "digraph \"{name}\" {{\n    node [fontname=\"sans-serif\"];")
}

fn node(dag: &Dag, op: OpId, label: &str, more: &str, text: &mut String) -> fmt::Result {
    let shape = if is_gpu(dag, op) { "box" } else { "ellipse" };
    writeln!(text, "    op{} [label=\"{label}\", shape={shape}{more}];", op.index())
}
