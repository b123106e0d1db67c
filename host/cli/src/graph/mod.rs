//! `warpsmith graph`.

mod random;
mod tables;

use std::{collections::HashSet, path::PathBuf};

use clap::{Args, Subcommand, ValueEnum};
use cuda_std::I32x2;
use warpsmith::{
    device::{Buffer, DeviceError},
    graph::{Components, Connectivity, Found, Graph, GraphError, MinimumForests, Weight, indices_of, io::Weights, repeats},
    list_rank::StepTime,
};

use super::{
    Global, count,
    edges::{Findings, RunArgs, Task, Total, Vertices},
    failure::Failure,
    output::{Arrays, Column, Files, Format},
};

#[derive(Args, Debug)]
#[command(
    long_about = "Components, bridges and biconnected components of undirected graphs.\n\n\
        A graph is read from a file of edges:\n  \
        .csv or .tsv, a table with the columns source and target\n  \
        .npy, int32 or int64 of shape (m, 2)\n  \
        .npz of SciPy, .mtx (Matrix Market), .gr (DIMACS, PACE), .graph (METIS), .graphml\n  \
        .geojson, of which lines are the edges\n  \
        any other, lines of two vertices, as SNAP's are\n\n\
        Texts may be compressed by gzip or Zstandard. Vertices of tables and lines may \
        have any names. Loops and double edges are allowed.\n\n\
        Arrays (.npz, or .npy files in a folder) number vertices and edges from 0; `vertices` has the file's names if they are others. \
        Tables (.csv) have these names, and .geojson has the lines that were read.",
    after_help = "Examples:\n  \
        warpsmith graph random --vertices 9e6 --output streets.npy\n  \
        warpsmith graph bridges streets.npy --repeat 7\n  \
        warpsmith graph components web-Google.txt --output labels.npz\n  \
        warpsmith graph bridges USA-road-d.NY.gr --output bridges.npz\n  \
        warpsmith graph bridges roads.geojson --output bridges.geojson\n  \
        warpsmith graph components links.csv.gz --columns source=from_id,target=to_id --output groups.csv\n  \
        warpsmith graph forest roads.csv --columns weight=km --output tree.csv\n  \
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
    /// Arrays (int32): `labels`, the smallest vertex of each vertex's component. Tables have a row per vertex.
    Components(Input),
    /// Bridges, and the 2-edge-connected components that they connect
    ///
    /// Arrays (int32): `bridges`, the numbers of the edges that are bridges, ascending, from 0; `labels`, the smallest
    /// vertex of each vertex's 2-edge-connected component. Tables have a row per bridge.
    Bridges {
        #[command(flatten)]
        input: Input,
        /// Treatment of several edges between two vertices [default: one in .gr files and general
        /// matrices, which have edges in both directions; else apart]
        #[arg(long, value_enum)]
        double: Option<Double>,
    },
    /// Biconnected components and articulation points
    ///
    /// Arrays (int32): `labels`, for each edge the number of its biconnected component, which is a vertex of it; -1 for
    /// loops. `points`, the articulation points, ascending. Tables have a row per edge.
    Bcc(Input),
    /// Minimum spanning forest
    ///
    /// The file has a weight for each edge: a column `weight` (or --columns weight=NAME), the third word of a line, the value
    /// of a matrix's entry, an attribute or property. Of edges of equal weight, the first counts as the lightest.
    ///
    /// Arrays (int32): `edges`, the numbers of the forest's edges, ascending, from 0; `labels`, the smallest vertex of each
    /// vertex's tree. Tables have a row per edge of the forest.
    Forest(Input),
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
    /// The number of vertices, if it is more than the file says; in lists, vertices are then numbers from 0
    #[arg(long, value_name = "N", value_parser = count::up_to(count::MAX as usize))]
    vertices: Option<usize>,
    /// Write the results: arrays (.npz, or a folder of .npy files), a table (.csv), or lines (.geojson)
    #[arg(long, value_name = "PATH")]
    output: Option<PathBuf>,
    #[command(flatten)]
    run: RunArgs,
}

pub fn run(global: &Global, arguments: &GraphArgs) -> Result<(), Failure> {
    match &arguments.command {
        Command::Components(input) => Job::prepare(global, Kind::Components, input)?.components(),
        Command::Forest(input) => Job::prepare(global, Kind::Forest, input)?.forest(),
        Command::Bridges { input, double } => {
            let mut job = Job::prepare(global, Kind::Bridges, input)?;
            job.graph.list.arcs = double.map_or(job.graph.list.arcs, |double| double == Double::One);
            job.bridges()
        }
        Command::Random(arguments) => random::run(arguments, global.verbose > 0),
        Command::Bcc(input) => Job::prepare(global, Kind::Biconnected, input)?.biconnected(),
    }
}

/// The results that a command finds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Components,
    Bridges,
    Biconnected,
    Forest,
}

impl Kind {
    /// The command's name, and those of its arrays.
    fn names(self) -> (&'static str, &'static [&'static str]) {
        match self {
            Kind::Components => ("components", &["labels", "vertices"]),
            Kind::Bridges => ("bridges", &["bridges", "labels", "vertices"]),
            Kind::Biconnected => ("bcc", &["labels", "points", "vertices"]),
            Kind::Forest => ("forest", &["edges", "labels", "vertices"]),
        }
    }

    /// The property of its lines on a map.
    fn property(self) -> &'static str {
        if matches!(self, Kind::Components | Kind::Biconnected) { "component" } else { "edge" }
    }
}

/// A graph to work on.
struct Job<'a> {
    kind: Kind,
    task: Task<'a>,
    graph: Graph,
    weights: Option<Weights>,
    edges: Buffer<I32x2>,
    /// The number of edges that repeat others, if there was the memory to find out.
    repeats: Option<usize>,
    output: Option<Arrays>,
}

impl<'a> Job<'a> {
    fn prepare(global: &Global, kind: Kind, input: &'a Input) -> Result<Self, Failure> {
        let (name, arrays) = kind.names();
        let mut files = Files::reading([&input.edges]);
        let prepare = |path: &PathBuf| Arrays::prepare(&mut files, path, arrays, &[Format::Csv, Format::GeoJson]);
        let output = input.output.as_ref().map(prepare).transpose()?;
        let mut task = Task::new(global, ["graph", name], &input.edges, &input.run)?;
        let mut weights = (kind == Kind::Forest).then(Weights::default);
        let graph = task.graph(input.vertices, weights.as_mut())?;
        if let Some((Format::GeoJson, destination)) = output.as_ref().and_then(Arrays::other) {
            let (output, edges) = (destination.name().display(), input.edges.display());
            let Some(drawing) = graph.ids.places() else {
                return Err(Failure::error(format_args!(
                    "{output}: {edges} has no coordinates, which only the lines of a .geojson file have"
                )));
            };
            let is_other = |(role, column): &(String, String)| role == "weight" && column != "weight";
            let has_other = kind == Kind::Forest && input.run.table(&input.edges)?.columns.iter().any(is_other);
            let added = &[kind.property(), "weight"][..if has_other { 2 } else { 1 }];
            for number in drawing.edges.iter().filter_map(|(feature, _)| *feature) {
                let properties = drawing.features[number as usize].get("properties");
                if let Some(key) = added.iter().find(|key| properties.is_some_and(|properties| properties.get(key).is_some())) {
                    return Err(Failure::error(format_args!(
                        "{edges}: features[{number}] has a property `{key}`, which {output} would replace: rename it, or write .csv \
                         or .npz"
                    )));
                }
            }
        }
        let edges = graph.list.upload(&task.device)?;
        let repeats = match repeats(&task.stream, &edges) {
            Ok(repeats) => Some(repeats),
            Err(DeviceError::OutOfMemory { .. }) => None,
            Err(error) => return Err(error.into()),
        };
        Ok(Job { kind, task, graph, weights, edges, repeats, output })
    }

    fn components(self) -> Result<(), Failure> {
        let (n, m) = (self.graph.list.vertices, self.edges.len());
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
        let (mut labels, mut bridges) = (device.alloc(self.graph.list.vertices)?, device.alloc(self.edges.len())?);
        let mut connectivity = Connectivity::new(device, true)?;
        let findings = self.task.repeat(self.edges.len(), || {
            let made = connectivity.bridges(stream, &self.edges, self.graph.list.arcs, &mut labels, &mut bridges)?;
            let more = [("bridges", "bridges", made.bridges), ("parts", "2-edge-connected components", made.parts())];
            Ok::<_, Failure>(self.findings(made.found, more, made.steps))
        })?;
        self.finish(&findings, Some(self.graph.list.arcs), || {
            Ok([self.once(indices_of(&stream.download_vec(&bridges)?)), stream.download_vec(&labels)?].into())
        })
    }

    fn biconnected(self) -> Result<(), Failure> {
        let Task { device, stream, .. } = &self.task;
        let (mut labels, mut points) = (device.alloc(self.edges.len())?, device.alloc(self.graph.list.vertices)?);
        let mut connectivity = Connectivity::new(device, true)?;
        let findings = self.task.repeat(self.edges.len(), || {
            let made = connectivity.biconnected(stream, &self.edges, &mut labels, &mut points)?;
            let components = ("biconnected", "biconnected components", made.components);
            let more = [components, ("points", "articulation points", made.points)];
            Ok::<_, Failure>(self.findings(made.found, more, made.steps))
        })?;
        self.finish(&findings, None, || Ok([stream.download_vec(&labels)?, indices_of(&stream.download_vec(&points)?)].into()))
    }

    fn forest(self) -> Result<(), Failure> {
        match &self.weights {
            Some(Weights::Integers(weights)) => self.forest_of(weights, Total::Integer),
            Some(Weights::Floats(weights)) => self.forest_of(weights, Total::Float),
            None => unreachable!("forests are made with weights"),
        }
    }

    fn forest_of<W: Weight>(&self, weights: &[W], total: impl Fn(W::Total) -> Total) -> Result<(), Failure> {
        let Task { device, stream, .. } = &self.task;
        let weights = device.upload(weights)?;
        let (mut labels, mut indices) = (device.alloc(self.graph.list.vertices)?, device.empty());
        let mut forests = MinimumForests::new(device, true)?;
        let findings = self.task.repeat(self.edges.len(), || {
            let made = forests.find(stream, &self.edges, &weights, &mut labels, &mut indices)?;
            let more = [("forest", "edges of the forest", self.graph.list.vertices - made.found.count)];
            Ok::<_, Failure>(Findings { total: Some(total(made.total)), ..self.findings(made.found, more, made.steps) })
        })?;
        self.finish(&findings, None, || {
            let indices = stream.download_vec(&indices)?.into_iter().map(|edge| edge as i32).collect();
            Ok([indices, stream.download_vec(&labels)?].into())
        })
    }

    fn findings<const N: usize>(
        &self,
        found: Found,
        more: [(&'static str, &'static str, usize); N],
        steps: Vec<StepTime>,
    ) -> Findings {
        let mut counts = vec![
            ("vertices", "vertices", Some(self.graph.list.vertices)),
            ("edges", "edges", Some(self.graph.list.edges.len())),
            ("repeats", "of these, repeating others", self.repeats),
            ("loops", "of these, loops", Some(found.loops)),
            ("components", "components", Some(found.count)),
        ];
        counts.extend(more.map(|(key, what, count)| (key, what, Some(count))));
        Findings { counts, total: None, steps }
    }

    /// Returns the edges of these, each once: of arcs between the same two vertices the first.
    fn once(&self, mut edges: Vec<i32>) -> Vec<i32> {
        if self.graph.list.arcs {
            let mut seen = HashSet::new();
            edges.retain(|&edge| {
                let [u, v] = self.graph.list.edges[edge as usize];
                seen.insert((u.min(v), u.max(v)))
            });
        }
        edges
    }

    /// Writes the results, and prints what was found.
    fn finish(
        &self,
        findings: &Findings,
        arcs: Option<bool>,
        arrays: impl FnOnce() -> Result<Vec<Vec<i32>>, Failure>,
    ) -> Result<(), Failure> {
        let edges = self.graph.list.edges.len();
        if let Some(output) = &self.output {
            let arrays = arrays()?;
            let _work = self.task.progress.spinner(edges, "writing");
            match output.other() {
                Some((format, file)) => {
                    file.write(|file| match self.graph.ids.places().filter(|_| format == Format::GeoJson) {
                        Some(drawing) => tables::geojson(self.kind, &self.graph, (drawing, self.weights.as_ref()), &arrays, file),
                        None => tables::csv(self.kind, &self.graph, self.weights.as_ref(), &arrays, file),
                    })?
                }
                None => {
                    let vertices = Vertices::of(&self.graph.ids, self.graph.list.vertices);
                    let named = self.kind.names().1.iter().zip(&arrays).map(|(&name, array)| (name, Column::I32(array)));
                    output.write(&named.chain(vertices.column()).collect::<Vec<_>>())?;
                }
            }
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
