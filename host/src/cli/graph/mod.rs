//! `warpsmith graph`.

mod random;

use std::path::PathBuf;

use clap::{Args, Subcommand, ValueEnum};
use cuda_std::I32x2;
use warpsmith::{
    device::{Buffer, DeviceError},
    graph::{Components, Connectivity, EdgeList, Found, GraphError, indices_of, repeats},
    list_rank::StepTime,
};

use super::{
    Global, count,
    edges::{Findings, RunArgs, Task},
    failure::Failure,
    output::{Arrays, Column, Files},
};

/// Options of `graph`.
#[derive(Args, Debug)]
#[command(
    long_about = "Components, bridges and biconnected components of undirected graphs.\n\n\
        A graph is read from a file of edges: .npy (int32 or int64 of shape (m, 2), vertices from 0), .mtx (Matrix Market), .gr \
        (DIMACS), or lines of two vertices from 0, as SNAP's are, in any other file. Loops and double edges are allowed.\n\n\
        Results number vertices and edges from 0 in the order of the file, so vertex 1 of a .gr or .mtx file is 0 in arrays. Where \
        both arcs of an edge count as one, a bridge is one in the table and two in the array.",
    after_help = "Examples:\n  \
        warpsmith graph random --vertices 9e6 --output streets.npy\n  \
        warpsmith graph bridges streets.npy --repeat 7\n  \
        warpsmith graph components web-Google.txt --output labels.npz\n  \
        warpsmith graph bridges USA-road-d.NY.gr --output bridges.npz\n  \
        warpsmith graph bcc edges.npy --output folder --json"
)]
pub struct GraphArgs {
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
        /// How to count edges between the same two vertices [default: one in .gr files and general
        /// matrices, which have edges in both directions; else apart]
        #[arg(long, value_enum)]
        double: Option<Double>,
    },
    /// Biconnected components and articulation points
    ///
    /// Arrays (int32): `labels`, for each edge the number of its biconnected component, which is a vertex of it; -1 for
    /// loops. `points`, the articulation points, ascending.
    Bcc(Input),
    /// Draw a graph at random, to try the others
    Random(random::GraphRandomArgs),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Double {
    /// As edges of their own; none is a bridge
    Apart,
    /// As one edge, in either direction
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
    #[command(flatten)]
    run: RunArgs,
}

/// Runs the command.
pub fn run(global: &Global, arguments: &GraphArgs) -> Result<(), Failure> {
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

/// A graph to work on.
struct Job<'a> {
    task: Task<'a>,
    graph: EdgeList,
    edges: Buffer<I32x2>,
    /// The number of edges that repeat others, if there was the memory to find out.
    repeats: Option<usize>,
    output: Option<Arrays>,
}

impl<'a> Job<'a> {
    fn prepare(global: &Global, name: &'static str, input: &'a Input, arrays: &'static [&'static str]) -> Result<Self, Failure> {
        let mut files = Files::reading([&input.edges]);
        let output = input.output.as_deref().map(|path| Arrays::prepare(&mut files, path, arrays)).transpose()?;
        let task = Task::new(global, ["graph", name], &input.edges, &input.run)?;
        let graph = task.edges(input.vertices)?;
        let edges = graph.upload(&task.device)?;
        let repeats = match repeats(&task.stream, &edges) {
            Ok(repeats) => Some(repeats),
            Err(DeviceError::OutOfMemory { .. }) => None,
            Err(error) => return Err(error.into()),
        };
        Ok(Job { task, graph, edges, repeats, output })
    }

    fn components(self) -> Result<(), Failure> {
        let (n, m) = (self.graph.vertices, self.edges.len());
        let mut labels = self.task.device.alloc(n)?;
        let mut components = Components::new(&self.task.device)?;
        let findings = self.task.repeat(m, || {
            let mut found = Found { count: 0, loops: 0 };
            let step = StepTime::of(&self.task.stream, "components", 8 * (m + n), |stream| {
                found = components.label(stream, &self.edges, &mut labels)?;
                Ok::<_, GraphError>(())
            })?;
            Ok::<_, Failure>(self.findings(found, [], vec![step]))
        })?;
        self.finish(&findings, None, || Ok([self.task.stream.download_vec(&labels)?].into()))
    }

    fn bridges(self) -> Result<(), Failure> {
        let Task { device, stream, .. } = &self.task;
        let (mut labels, mut bridges) = (device.alloc(self.graph.vertices)?, device.alloc(self.edges.len())?);
        let mut connectivity = Connectivity::new(device, true)?;
        let findings = self.task.repeat(self.edges.len(), || {
            let made = connectivity.bridges(stream, &self.edges, self.graph.arcs, &mut labels, &mut bridges)?;
            let more = [("bridges", "bridges", made.bridges), ("parts", "2-edge-connected components", made.parts())];
            Ok::<_, Failure>(self.findings(made.found, more, made.steps))
        })?;
        self.finish(&findings, Some(self.graph.arcs), || {
            Ok([indices_of(&stream.download_vec(&bridges)?), stream.download_vec(&labels)?].into())
        })
    }

    fn biconnected(self) -> Result<(), Failure> {
        let Task { device, stream, .. } = &self.task;
        let (mut labels, mut points) = (device.alloc(self.edges.len())?, device.alloc(self.graph.vertices)?);
        let mut connectivity = Connectivity::new(device, true)?;
        let findings = self.task.repeat(self.edges.len(), || {
            let made = connectivity.biconnected(stream, &self.edges, &mut labels, &mut points)?;
            let components = ("biconnected", "biconnected components", made.components);
            let more = [components, ("points", "articulation points", made.points)];
            Ok::<_, Failure>(self.findings(made.found, more, made.steps))
        })?;
        self.finish(&findings, None, || Ok([stream.download_vec(&labels)?, indices_of(&stream.download_vec(&points)?)].into()))
    }

    fn findings<const N: usize>(
        &self,
        found: Found,
        more: [(&'static str, &'static str, usize); N],
        steps: Vec<StepTime>,
    ) -> Findings {
        let mut counts = vec![
            ("vertices", "vertices", Some(self.graph.vertices)),
            ("edges", "edges", Some(self.graph.edges.len())),
            ("repeats", "of these, repeating others", self.repeats),
            ("loops", "of these, loops", Some(found.loops)),
            ("components", "components", Some(found.count)),
        ];
        counts.extend(more.map(|(key, what, count)| (key, what, Some(count))));
        Findings { counts, steps }
    }

    /// Writes the arrays, and prints what was found.
    fn finish(
        &self,
        findings: &Findings,
        arcs: Option<bool>,
        arrays: impl FnOnce() -> Result<Vec<Vec<i32>>, Failure>,
    ) -> Result<(), Failure> {
        let edges = self.graph.edges.len();
        if let Some(output) = &self.output {
            let arrays = arrays()?;
            let _work = self.task.progress.spinner(edges, "writing");
            output.write(&arrays.iter().map(|array| Column::I32(array)).collect::<Vec<_>>())?;
        }
        let loops = findings.counts.iter().find_map(|&(key, _, count)| count.filter(|_| key == "loops")).unwrap_or(0);
        let note = match arcs {
            Some(true) => Some("Edges between the same two vertices count as one (--double apart: as edges of their own)."),
            Some(false) if edges > 0 && self.repeats.map(|repeats| 2 * repeats) == Some(edges - loops) => {
                Some("Each edge is there twice. If they are its two directions, use --double one.")
            }
            _ => None,
        };
        self.task.print(findings, (arcs, note), (edges, "edges"), self.output.as_ref().map(Arrays::name))
    }
}
