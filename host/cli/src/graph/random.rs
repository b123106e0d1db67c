//! `warpsmith graph random`.

use std::path::PathBuf;

use clap::{Args, ValueEnum};
use serde_json::json;
use warpsmith::graph::{EdgeList, MOST, generate};

use crate::{
    count,
    failure::Failure,
    format,
    output::{Files, Format, write_array},
    progress::Progress,
    size, terminal,
};

#[derive(Args, Debug)]
pub struct GraphRandomArgs {
    /// Kind of graph
    #[arg(long, value_enum, default_value_t = Kind::Streets)]
    kind: Kind,
    /// Vertices, about
    #[arg(long, value_name = "N", value_parser = count::up_to(count::MAX as usize), default_value = "1e6")]
    vertices: usize,
    /// Edges for each vertex, but of streets [default: 16 of R-MAT, else 2]
    #[arg(long, value_name = "D", value_parser = count::up_to(MOST))]
    degree: Option<usize>,
    /// The share of the streets that are missing, from 0 to 1
    #[arg(long, value_name = "P", default_value_t = 0.1)]
    missing: f64,
    /// The seed
    #[arg(long, value_name = "S", default_value_t = 0)]
    seed: u64,
    /// Write the edges: int32 of shape (edges, 2)
    #[arg(long, value_name = "EDGES.NPY")]
    output: PathBuf,
    /// Print one JSON object
    #[arg(long)]
    json: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Kind {
    /// A square grid of streets with some missing
    Streets,
    /// R-MAT with the probabilities of Graph500: 2^k vertices; a few have most of the edges
    Rmat,
    /// Edges between any two vertices, all equally likely
    Uniform,
}

pub fn run(arguments: &GraphRandomArgs, quiet: bool) -> Result<(), Failure> {
    let n = arguments.vertices;
    if !(0.0..=1.0).contains(&arguments.missing) {
        return Err(Failure::error(format_args!("--missing must be from 0 to 1, and is {}", arguments.missing)));
    }
    let vertices = if arguments.kind == Kind::Rmat { n.next_power_of_two() } else { n };
    let degree = arguments.degree.unwrap_or(if arguments.kind == Kind::Rmat { 16 } else { 2 });
    let edges = if arguments.kind == Kind::Streets { 2 * vertices } else { vertices.saturating_mul(degree) };
    if vertices > MOST || edges > MOST {
        return Err(Failure::error(format_args!(
            "{vertices} vertices with {edges} edges are too many: 2^31 - 2 can be numbered"
        )));
    }
    size::check_memory(format::counted(edges, "edge", "edges"), 8.0 * edges as f64)?;
    Format::of(&arguments.output, &[Format::Npy])?;
    let destination = Files::reading([""; 0]).write(&arguments.output)?;

    let work = Progress::new(arguments.json || quiet).spinner(edges, "drawing and writing edges");
    let EdgeList { vertices, edges, .. } = match arguments.kind {
        Kind::Streets => generate::grid(n.isqrt(), n / n.isqrt(), arguments.missing, arguments.seed),
        Kind::Rmat => generate::rmat(vertices.ilog2(), degree, arguments.seed),
        Kind::Uniform => generate::random(vertices, edges, arguments.seed),
    };
    write_array::<i32>(&destination, edges.as_flattened(), &[edges.len(), 2])?;
    drop(work);
    let output = arguments.output.display().to_string();
    if arguments.json {
        let of = json!({"system": "graph", "vertices": vertices, "edges": edges.len(), "output": output});
        return terminal::print_json(&of);
    }
    let (vertices, edges) = (format::counted(vertices, "vertex", "vertices"), format::counted(edges.len(), "edge", "edges"));
    terminal::print(format_args!("Written: {output} ({vertices}, {edges})"))
}
