//! The commands on files of edges, `tree` and `graph`: they read them, repeat their work and print what they find.

use std::{
    borrow::Cow,
    fmt::{self, Display},
    path::Path,
};

use clap::Args;
use serde::Serialize;
use serde_json::{Map, Value};
use warpsmith::{
    device::{Backend, Device, Stream},
    graph::{
        Graph, Ids,
        io::{self, Weights},
    },
    io::{TableOptions, files::FileError},
    list_rank::StepTime,
};

use super::{
    Global, count,
    failure::Failure,
    format,
    output::{Column, Format},
    progress::Progress,
    repeat, size,
    table::TableArgs,
    terminal,
};

/// Bytes per vertex and per edge on the device, about.
const VERTEX_BYTES: usize = 200;
const EDGE_BYTES: usize = 16;

/// Options of each of the commands.
#[derive(Args, Debug)]
pub struct RunArgs {
    /// Measure so many runs after one warm-up; the steps of the one of median time are shown
    #[arg(long, value_name = "R", value_parser = count::up_to(repeat::MOST))]
    repeat: Option<usize>,
    /// Print one JSON object instead of tables; times in ms
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    table: TableArgs,
}

impl RunArgs {
    /// Layout of this file, if it is a table.
    pub fn table(&self, file: &Path) -> Result<TableOptions, FileError> {
        self.table.options(&[file.to_owned()])
    }
}

/// A command at work.
pub struct Task<'a> {
    /// The command, as in `tree`, and its subcommand, as in `root`.
    system: &'static str,
    name: &'static str,
    pub input: &'a Path,
    options: &'a RunArgs,
    pub progress: Progress,
    pub device: Device,
    pub stream: Stream,
    /// Sentences on the vertices' numbers, and on those in arrays.
    numbers: [Option<String>; 2],
    /// Sentence on the meaning of the first row.
    first: Option<String>,
}

/// Results of a run.
#[derive(Debug)]
pub struct Findings {
    /// For each count its key in JSON, its words in a table, and its value if it is known.
    pub counts: Vec<(&'static str, &'static str, Option<usize>)>,
    /// The total weight, if there are weights.
    pub total: Option<Total>,
    pub steps: Vec<StepTime>,
}

/// A sum of weights. JSON has null for infinity.
#[derive(Clone, Copy, Debug, Serialize)]
#[serde(untagged)]
pub enum Total {
    Integer(i128),
    Float(f64),
}

impl Display for Total {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Total::Integer(total) => write!(f, "{total}"),
            Total::Float(total) => write!(f, "{total:?}"),
        }
    }
}

#[derive(Serialize)]
struct FindingsReport<'a> {
    system: &'static str,
    result: &'static str,
    backend: String,
    device: &'a str,
    input: String,
    #[serde(flatten)]
    counts: Map<String, Value>,
    #[serde(skip_serializing_if = "Option::is_none")]
    total: Option<Total>,
    runs: Option<usize>,
    #[serde(skip_serializing_if = "<[StepTime]>::is_empty")]
    steps: &'a [StepTime],
    output: Option<String>,
    #[serde(skip_serializing_if = "<[&str]>::is_empty")]
    notes: &'a [&'a str],
}

impl<'a> Task<'a> {
    pub fn new(
        global: &Global,
        [system, name]: [&'static str; 2],
        input: &'a Path,
        options: &'a RunArgs,
    ) -> Result<Self, Failure> {
        let progress = Progress::new(options.json || global.verbose > 0);
        let device = global.open()?;
        let stream = device.stream()?;
        Ok(Task { system, name, input, options, progress, device, stream, numbers: [None, None], first: None })
    }

    /// Reads the graph of the input. With `vertices`, they are numbered in the file, and there are this many.
    /// Keeps the weights of its edges, if they are wanted, and notes what to know of the vertices' names.
    pub fn graph(&mut self, vertices: Option<usize>, weights: Option<&mut Weights>) -> Result<Graph, Failure> {
        let path = self.input.display();
        // About as many edges as there may be.
        let size = std::fs::metadata(self.input).map_or(0, |metadata| metadata.len());
        let _work = self.progress.spinner((size / 8) as usize, format!("reading {path}"));
        let (graph, first) = io::read_noted(self.input, &self.options.table(self.input)?, weights, vertices)?;
        tracing::info!(vertices = graph.list.vertices, edges = graph.list.edges.len(), "read {path}");
        self.check_memory(graph.list.vertices, graph.list.edges.len())?;
        self.numbers = graph.ids.in_words(graph.list.vertices);
        self.first = first;
        Ok(graph)
    }

    /// Refuses a graph that would not fit into the host's memory.
    pub fn check_memory(&self, vertices: usize, edges: usize) -> Result<(), Failure> {
        match self.device.backend() {
            Backend::Cuda => Ok(()),
            Backend::Cpu => {
                let bytes = VERTEX_BYTES * vertices + EDGE_BYTES * edges;
                size::check_memory(format::counted(vertices, "vertex", "vertices"), bytes as f64)
            }
        }
    }

    /// Runs once, or as often as asked after a warm-up; returns what the run of median time has found.
    pub fn repeat<E>(&self, n: usize, run: impl FnMut() -> Result<Findings, E>) -> Result<Findings, E> {
        let _work = self.progress.spinner(n, format!("{} on {}", self.name, self.device));
        let mut findings = repeat::median(self.options.repeat, run, |findings| StepTime::total_ms(&findings.steps))?;
        if self.options.repeat.is_none() {
            findings.steps.clear();
        }
        Ok(findings)
    }

    /// Prints what was found of `n` things (as in "edges"): counts, in JSON also `arcs` if that is given, otherwise also
    /// a `note`, and the steps.
    pub fn print(
        &self,
        findings: &Findings,
        (arcs, note): (Option<bool>, Option<&str>),
        (n, things): (usize, &str),
        output: Option<&Path>,
    ) -> Result<(), Failure> {
        let Findings { counts, total, steps } = findings;
        let has_arrays = output.is_some_and(|output| Format::of(output, &[Format::Csv, Format::GeoJson]).is_err());
        let [vertices, arrays] = &self.numbers;
        let numbers: Vec<_> = vertices.iter().chain(arrays.iter().filter(|_| has_arrays)).map(String::as_str).collect();
        let numbers = Some(numbers.join(" ")).filter(|numbers| !numbers.is_empty());
        let notes: Vec<&str> = numbers.iter().chain(&self.first).map(String::as_str).collect();
        let (input, output) = (self.input.display().to_string(), output.map(|output| output.display().to_string()));
        if self.options.json {
            let mut counts: Map<_, _> = counts.iter().map(|&(key, _, count)| (key.to_owned(), count.into())).collect();
            counts.extend(arcs.map(|arcs| ("arcs".to_owned(), arcs.into())));
            return terminal::print_json(&FindingsReport {
                system: self.system,
                result: self.name,
                backend: self.device.backend().to_string(),
                device: self.device.name(),
                input,
                counts,
                total: *total,
                runs: self.options.repeat,
                steps,
                output,
                notes: &notes,
            });
        }
        terminal::print(format_args!("{} {}: {input} on {}", self.system, self.name, self.device))?;
        let mut table = terminal::table(["what", "count"], 1..2);
        for &(_, what, count) in counts {
            count.into_iter().for_each(|count| table.add_row([what.to_owned(), format::grouped(count)]));
        }
        total.iter().for_each(|total| table.add_row(["total weight".to_owned(), total.to_string()]));
        terminal::print(table)?;
        note.into_iter().chain(notes).try_for_each(terminal::print)?;
        if let Some(runs) = self.options.repeat {
            terminal::print(terminal::steps(steps))?;
            terminal::print(repeat::in_words(runs, n, StepTime::total_ms(steps), things))?;
        }
        output.map_or(Ok(()), |output| terminal::print(format_args!("Written: {output}")))
    }
}

/// The names of vertices as an array, unless they are the numbers from 0 on.
#[derive(Debug)]
pub enum Vertices<'a> {
    Numbers,
    Ids(Cow<'a, [i64]>),
    Names(Cow<'a, [String]>),
}

impl<'a> Vertices<'a> {
    pub fn of(ids: &'a Ids, count: usize) -> Self {
        match ids {
            Ids::From(0) => Vertices::Numbers,
            Ids::From(first) => Vertices::Ids((0..count as i64).map(|vertex| first + vertex).collect()),
            Ids::Numbers(numbers) => Vertices::Ids(numbers.into()),
            Ids::Names(names) => Vertices::Names(names.into()),
            Ids::Places(_) => Vertices::Names((0..count).map(|vertex| ids.name(vertex).into_owned()).collect()),
        }
    }

    /// The array, to be written as `vertices`.
    pub fn column(&self) -> Option<(&'static str, Column<'_>)> {
        match self {
            Vertices::Numbers => None,
            Vertices::Ids(ids) => Some(("vertices", Column::I64(ids))),
            Vertices::Names(names) => Some(("vertices", Column::Text(names))),
        }
    }
}
