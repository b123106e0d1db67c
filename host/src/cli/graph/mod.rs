//! `warpsmith graph`.

mod random;

use std::path::PathBuf;

use clap::{Args, Subcommand, ValueEnum};
use cuda_std::I32x2;
use serde::Serialize;
use warpsmith::{
    device::{Backend, Buffer, Device, DeviceError, Stream},
    graph::{Components, Connectivity, EdgeList, Found, GraphError, places, repeats},
};

use super::{
    Global, count, edges,
    failure::Failure,
    format,
    output::{Arrays, Column, Files},
    progress::Progress,
    repeat, size, terminal,
};

/// The most runs.
const MOST_RUNS: usize = 100_000;

/// Bytes for each vertex and each edge on the device, about.
const VERTEX_BYTES: usize = 200;
const EDGE_BYTES: usize = 16;

/// Options of `graph`.
#[derive(Args, Debug)]
#[command(
    long_about = "Components, bridges and biconnected components of undirected graphs.\n\n\
        A graph is read from a file of edges: .npy (int32 or int64 of shape (m, 2), vertices from 0), .mtx (Matrix Market), .gr \
        (DIMACS), or lines of two vertices from 0, as SNAP's are, in any other file. Loops and double edges are allowed.",
    after_help = "Examples:\n  \
        warpsmith graph random --vertices 9e6 --output streets.npy\n  \
        warpsmith graph bridges streets.npy --repeat 7\n  \
        warpsmith graph components web-Google.txt --output labels.npz\n  \
        warpsmith graph bridges USA-road-d.NY.gr --output bridges.npz\n  \
        warpsmith graph bcc edges.npy --output folder --json"
)]
pub struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Connected components
    ///
    /// Arrays (int32): `labels`, the smallest vertex of each vertex's component.
    Components(Input),
    /// Bridges, and the 2-edge-connected components that they connect
    ///
    /// Arrays (int32): `bridges`, the numbers of the edges that are bridges, ascending, from 0; `labels`, the smallest
    /// vertex of each vertex's 2-edge-connected component.
    Bridges {
        #[command(flatten)]
        input: Input,
        /// What edges between the same two vertices are [default: one in .gr files and general matrices, which have
        /// edges in both directions; else apart]
        #[arg(long, value_enum)]
        double: Option<Double>,
    },
    /// Biconnected components and articulation points
    ///
    /// Arrays (int32): `labels`, for each edge the number of its biconnected component, which is a vertex of it; -1 for
    /// loops. `points`, the articulation points, ascending.
    Bcc(Input),
    /// Draw a graph at random, to try the others
    Random(random::Arguments),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Double {
    /// Edges of their own, none of which is a bridge
    Apart,
    /// One edge, in whatever direction
    One,
}

#[derive(Args, Debug)]
struct Input {
    /// The edges
    #[arg(value_name = "EDGES")]
    edges: PathBuf,
    /// The number of vertices, if it is more than the file says
    #[arg(long, value_name = "N", value_parser = count::parse, allow_negative_numbers = true)]
    vertices: Option<u32>,
    /// Write the arrays: into an archive (.npz), or as .npy files into a folder
    #[arg(long, value_name = "PATH")]
    output: Option<PathBuf>,
    /// Measure so many runs after one warm-up; the steps of the one of median time are shown
    #[arg(long, value_name = "R", value_parser = count::up_to(MOST_RUNS), allow_negative_numbers = true)]
    repeat: Option<usize>,
    /// Print one JSON object instead of tables; times in ms
    #[arg(long)]
    json: bool,
}

/// A step, its time in ms, and the bytes that it moves at least.
#[derive(Clone, Serialize)]
struct Step {
    name: &'static str,
    ms: f64,
    bytes: u64,
}

/// What a run finds: in words and for JSON, and how long it took.
struct Made {
    counts: Vec<(&'static str, &'static str, usize)>,
    steps: Vec<Step>,
}

#[derive(Serialize)]
struct Object<'a> {
    system: &'static str,
    result: &'a str,
    backend: String,
    device: &'a str,
    input: String,
    vertices: usize,
    edges: usize,
    /// How many edges repeat others, if that is known.
    repeats: Option<usize>,
    /// Whether edges between the same two vertices are one.
    #[serde(skip_serializing_if = "Option::is_none")]
    arcs: Option<bool>,
    #[serde(flatten)]
    counts: serde_json::Map<String, serde_json::Value>,
    runs: Option<usize>,
    #[serde(skip_serializing_if = "<[Step]>::is_empty")]
    steps: &'a [Step],
    output: Option<String>,
}

/// Runs the command.
pub fn run(global: &Global, arguments: &Arguments) -> Result<(), Failure> {
    match &arguments.command {
        Command::Components(input) => Job::prepare(global, "components", input, &["labels"])?.components(),
        Command::Bridges { input, double } => {
            let mut job = Job::prepare(global, "bridges", input, &["bridges", "labels"])?;
            job.graph.arcs = double.map_or(job.graph.arcs, |double| double == Double::One);
            job.bridges()
        }
        Command::Random(arguments) => random::run(arguments, global.verbose > 0),
        Command::Bcc(input) => Job::prepare(global, "bcc", input, &["labels", "points"])?.biconnected(),
    }
}

/// What is to be done.
struct Job<'a> {
    name: &'static str,
    input: &'a Input,
    progress: Progress,
    device: Device,
    stream: Stream,
    graph: EdgeList,
    edges: Buffer<I32x2>,
    /// How many repeat others, if there was the memory to find out.
    repeats: Option<usize>,
    output: Option<Arrays>,
}

impl<'a> Job<'a> {
    fn prepare(global: &Global, name: &'static str, input: &'a Input, arrays: &'static [&'static str]) -> Result<Self, Failure> {
        let mut files = Files::reading([&input.edges]);
        let output = input.output.as_deref().map(|path| Arrays::prepare(&mut files, path, arrays)).transpose()?;
        let progress = Progress::new(input.json || global.verbose > 0);
        let device = global.open()?;
        let graph = edges::read(&input.edges, input.vertices, progress)?;
        if device.backend() == Backend::Cpu {
            let bytes = VERTEX_BYTES * graph.vertices + EDGE_BYTES * graph.edges.len();
            size::check_memory(format::counted(graph.vertices, "vertex", "vertices"), bytes as f64)?;
        }
        let stream = device.stream()?;
        let edges = graph.upload(&device)?;
        let repeats = match repeats(&stream, &edges) {
            Ok(repeats) => Some(repeats),
            Err(DeviceError::OutOfMemory { .. }) => None,
            Err(error) => return Err(error.into()),
        };
        Ok(Job { name, input, progress, device, stream, graph, edges, repeats, output })
    }

    fn components(self) -> Result<(), Failure> {
        let edges = &self.edges;
        let mut labels = self.device.alloc(self.graph.vertices)?;
        let mut components = Components::new(&self.device)?;
        let made = self.repeat(|| {
            let mut found = None;
            let ms = self.stream.time(|stream| {
                found = Some(components.label(stream, edges, &mut labels)?);
                Ok::<_, GraphError>(())
            })?;
            let bytes = 8 * self.graph.edges.len() as u64 + 8 * self.graph.vertices as u64;
            let counts = found.map_or_else(Vec::new, |found| counts(found).to_vec());
            Ok(Made { counts, steps: vec![Step { name: "components", ms, bytes }] })
        })?;
        self.finish(&made, None, || Ok([self.stream.download_vec(&labels)?].into()))
    }

    fn bridges(self) -> Result<(), Failure> {
        let edges = &self.edges;
        let (mut labels, mut bridges) = (self.device.alloc(self.graph.vertices)?, self.device.alloc(edges.len())?);
        let mut connectivity = Connectivity::new(&self.device, true)?;
        let made = self.repeat(|| {
            let made = connectivity.bridges(&self.stream, edges, self.graph.arcs, &mut labels, &mut bridges)?;
            let more = [("bridges", "bridges", made.bridges), ("parts", "2-edge-connected components", made.parts())];
            Ok(Made { counts: [&counts(made.found)[..], &more].concat(), steps: steps(&made.steps) })
        })?;
        self.finish(&made, Some(self.graph.arcs), || {
            Ok([places(&self.stream.download_vec(&bridges)?), self.stream.download_vec(&labels)?].into())
        })
    }

    fn biconnected(self) -> Result<(), Failure> {
        let edges = &self.edges;
        let (mut labels, mut points) = (self.device.alloc(edges.len())?, self.device.alloc(self.graph.vertices)?);
        let mut connectivity = Connectivity::new(&self.device, true)?;
        let made = self.repeat(|| {
            let made = connectivity.biconnected(&self.stream, edges, &mut labels, &mut points)?;
            let more =
                [("biconnected", "biconnected components", made.components), ("points", "articulation points", made.points)];
            Ok(Made { counts: [&counts(made.found)[..], &more].concat(), steps: steps(&made.steps) })
        })?;
        self.finish(&made, None, || Ok([self.stream.download_vec(&labels)?, places(&self.stream.download_vec(&points)?)].into()))
    }

    /// One run, or a warm-up and as many as are asked for; gives what that of median time has made.
    fn repeat(&self, run: impl FnMut() -> Result<Made, GraphError>) -> Result<Made, Failure> {
        let _work = self.progress.spinner(self.graph.edges.len(), format!("{} on {}", self.name, self.device));
        let mut made = repeat::median(self.input.repeat, run, Made::total_ms)?;
        if self.input.repeat.is_none() {
            made.steps.clear();
        }
        Ok(made)
    }

    /// Writes the arrays, and says what was found.
    fn finish(
        &self,
        made: &Made,
        arcs: Option<bool>,
        arrays: impl FnOnce() -> Result<Vec<Vec<i32>>, Failure>,
    ) -> Result<(), Failure> {
        if let Some(output) = &self.output {
            let arrays = arrays()?;
            let _work = self.progress.spinner(self.graph.edges.len(), "writing");
            output.write(&arrays.iter().map(|array| Column::I32(array)).collect::<Vec<_>>())?;
        }
        let (vertices, edges) = (self.graph.vertices, self.graph.edges.len());
        let (input, output) =
            (self.input.edges.display().to_string(), self.output.as_ref().map(|output| output.name().display()));
        if self.input.json {
            return terminal::print_json(&Object {
                system: "graph",
                result: self.name,
                backend: self.device.backend().to_string(),
                device: self.device.name(),
                input,
                vertices,
                edges,
                repeats: self.repeats,
                arcs,
                counts: made.counts.iter().map(|&(name, _, count)| (name.to_owned(), count.into())).collect(),
                runs: self.input.repeat,
                steps: &made.steps,
                output: output.map(|output| output.to_string()),
            });
        }
        terminal::print(format_args!("graph {}: {input} on {}", self.name, self.device))?;
        let mut table = terminal::table(["what", "count"], 1..2);
        let repeats = self.repeats.map(|repeats| ("", "of these, repeating others", repeats));
        for (_, what, count) in
            [("", "vertices", vertices), ("", "edges", edges)].into_iter().chain(repeats).chain(made.counts.clone())
        {
            table.add_row([what.to_owned(), format::grouped(count)]);
        }
        terminal::print(table)?;
        let twice = made
            .counts
            .iter()
            .any(|&(name, _, loops)| name == "loops" && self.repeats.map(|repeats| 2 * repeats) == Some(edges - loops));
        match arcs {
            Some(true) => {
                terminal::print("Edges between the same two vertices count as one (--double apart: as edges of their own).")?
            }
            Some(false) if twice && edges > 0 => {
                terminal::print("Each edge is there twice. If they are its two directions, use --double one.")?
            }
            _ => {}
        }
        if let Some(runs) = self.input.repeat {
            terminal::print(terminal::steps(made.steps.iter().map(|step| (step.name, step.ms, step.bytes))))?;
            let runs = repeat::in_words(runs);
            terminal::print(format_args!("{runs} after a warm-up: {}.", format::rate(edges, made.total_ms(), "edges")))?;
        }
        output.map_or(Ok(()), |output| terminal::print(format_args!("Written: {output}")))
    }
}

impl Made {
    fn total_ms(&self) -> f64 {
        self.steps.iter().map(|step| step.ms).sum()
    }
}

fn counts(found: Found) -> [(&'static str, &'static str, usize); 2] {
    [("loops", "of these, loops", found.loops), ("components", "components", found.count)]
}

fn steps(steps: &[warpsmith::list_rank::StepTime]) -> Vec<Step> {
    steps.iter().map(|step| Step { name: step.name, ms: step.ms, bytes: step.bytes }).collect()
}
