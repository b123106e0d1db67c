//! `warpsmith tree`.

use std::path::{Path, PathBuf};

use clap::{Args, Subcommand};
use cuda_std::I32x2;
use serde::Serialize;
use serde_json::{Map, Value, json};
use warpsmith::{
    collectives::{Operator, ReduceWorkspace, reduce},
    device::{Backend, Buffer, Device, Stream},
    graph::io,
    trees::{Ancestors, Rooted, Rooter, Rooting, Roots, TreeError, TreeSums, Weight},
};

use super::{
    Global, count, edges,
    failure::Failure,
    format,
    npy::{self, Array, NUMBERS},
    output::{Arrays, Column, Files, write_array},
    progress::Progress,
    repeat, size, terminal,
};

/// The most runs.
const MOST_RUNS: usize = 100_000;
/// Bytes for each vertex on the device, about.
const VERTEX_BYTES: usize = 200;
/// What `root` writes.
const NUMBERS_OF_VERTICES: &[&str] = &["parent", "depth", "size", "preorder", "postorder", "first", "last"];

/// Options of `tree`.
#[derive(Args, Debug)]
#[command(
    long_about = "Trees and forests: rooting, traversals, lowest common ancestors, sums.\n\n\
        A forest is read from a file of edges, in any order and of any directions, each once or all of them in both directions: \
        .npy (int32 or int64 of shape (m, 2), vertices from 0), .mtx (Matrix Market), .gr (DIMACS), or lines of two vertices from 0 \
        in any other file. With --parents the file has the parent of each vertex.",
    after_help = "Examples:\n  \
        warpsmith tree root edges.npy --root 0 --output tree.npz\n  \
        warpsmith tree root parents.npy --parents --output folder\n  \
        warpsmith tree lca edges.npy pairs.npy --root 0 --output ancestors.npy\n  \
        warpsmith tree sums edges.npy weights.npy --output sums.npz --json"
)]
pub struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Root a tree or a forest: parents, depths, sizes of subtrees, orders
    ///
    /// Arrays (int32, an element for each vertex): `parent`, -1 for roots; `depth`, from 0; `size`, how many vertices
    /// the subtree has; `preorder` and `postorder` numbers; `first` and `last`, where the Euler tour, of two positions
    /// for each vertex, enters and leaves it.
    Root {
        #[command(flatten)]
        input: Input,
        /// Write the arrays: into an archive (.npz), or as .npy files into a folder
        #[arg(long, value_name = "PATH")]
        output: Option<PathBuf>,
    },
    /// The lowest common ancestors of pairs of vertices
    Lca {
        #[command(flatten)]
        input: Input,
        /// The pairs, in any format that edges may have
        #[arg(value_name = "PAIRS")]
        pairs: PathBuf,
        /// Write the ancestors (int32): -1 for vertices of different trees
        #[arg(long, value_name = "ANCESTORS.NPY")]
        output: Option<PathBuf>,
    },
    /// Sums of vertices' weights along the paths from the root, and over subtrees
    ///
    /// Arrays (of the weights' type, an element for each vertex): `paths`, the sum over all vertices from the root to
    /// this one; `subtrees`, that over this one and all below it.
    Sums {
        #[command(flatten)]
        input: Input,
        /// The weights: int32, int64, float32 or float64, one for each vertex
        #[arg(value_name = "WEIGHTS.NPY")]
        weights: PathBuf,
        /// Write the arrays: into an archive (.npz), or as .npy files into a folder
        #[arg(long, value_name = "PATH")]
        output: Option<PathBuf>,
    },
}

#[derive(Args, Debug)]
struct Input {
    /// The edges, or with --parents the parents
    #[arg(value_name = "TREE")]
    tree: PathBuf,
    /// TREE has the parent of each vertex, -1 for roots: .npy, int32 (or int64 of such values), 1-D
    #[arg(long)]
    parents: bool,
    /// The root of the one tree that there is [default: of each tree the least vertex; of parents, those without one]
    #[arg(long, value_name = "R", value_parser = clap::value_parser!(i32).range(0..), allow_negative_numbers = true)]
    root: Option<i32>,
    /// The number of vertices, if it is more than the file says
    #[arg(long, value_name = "N", value_parser = count::parse, allow_negative_numbers = true, conflicts_with = "parents")]
    vertices: Option<u32>,
    /// Measure so many runs after one warm-up; the steps of the one of median time are shown
    #[arg(long, value_name = "K", value_parser = count::up_to(MOST_RUNS), allow_negative_numbers = true)]
    repeat: Option<usize>,
    /// Print one JSON object instead of tables; times in ms
    #[arg(long)]
    json: bool,
}

/// Runs the command.
pub fn run(global: &Global, arguments: &Arguments) -> Result<(), Failure> {
    match &arguments.command {
        Command::Root { input, output } => {
            let mut files = Files::reading([&input.tree]);
            let output = prepare(&mut files, output.as_deref(), NUMBERS_OF_VERTICES)?;
            Job::new(global, "root", input)?.root(output)
        }
        Command::Lca { input, pairs, output } => {
            let mut files = Files::reading([&input.tree, pairs]);
            let output = output.as_deref().map(|path| files.write(path)).transpose()?;
            let job = Job::new(global, "lca", input)?;
            let found = job.ancestors(pairs)?;
            if let Some(output) = &output {
                write_array(output, &job.stream.download_vec(&found.1)?, &[found.1.len()])?;
            }
            job.finish(found.0, output.as_ref().map(|output| output.name()))
        }
        Command::Sums { input, weights, output } => {
            let mut files = Files::reading([&input.tree, weights]);
            let output = prepare(&mut files, output.as_deref(), &["paths", "subtrees"])?;
            let job = Job::new(global, "sums", input)?;
            match npy::read(weights, "the weights", NUMBERS, job.progress)? {
                Array::I32(values) => job.sums(weights, &values, |sums| Column::I32(sums), output),
                Array::I64(values) => job.sums(weights, &values, |sums| Column::I64(sums), output),
                Array::F32(values) => job.sums(weights, &values, |sums| Column::F32(sums), output),
                Array::F64(values) => job.sums(weights, &values, |sums| Column::F64(sums), output),
            }
        }
    }
}

fn prepare(files: &mut Files, path: Option<&Path>, names: &'static [&'static str]) -> Result<Option<Arrays>, Failure> {
    path.map(|path| Arrays::prepare(files, path, names)).transpose()
}

/// A forest on the device, as it was read.
enum Tree {
    Edges(usize, Buffer<I32x2>),
    Parents(Buffer<i32>),
}

impl Tree {
    fn n(&self) -> usize {
        match self {
            Tree::Edges(n, _) => *n,
            Tree::Parents(parents) => parents.len(),
        }
    }
}

/// A step, its time in ms, and the bytes that it moves at least.
type Step = (&'static str, f64, u64);

/// What is to be done.
struct Job<'a> {
    name: &'static str,
    input: &'a Input,
    progress: Progress,
    device: Device,
    stream: Stream,
    tree: Tree,
}

/// What was found: for JSON and in words, and how long it took.
struct Made {
    counts: Vec<(&'static str, usize)>,
    steps: Vec<Step>,
}

#[derive(Serialize)]
struct Object<'a> {
    system: &'static str,
    result: &'static str,
    backend: String,
    device: &'a str,
    input: String,
    #[serde(flatten)]
    counts: Map<String, Value>,
    runs: Option<usize>,
    #[serde(skip_serializing_if = "Option::is_none")]
    steps: Option<Value>,
    output: Option<String>,
}

impl<'a> Job<'a> {
    fn new(global: &Global, name: &'static str, input: &'a Input) -> Result<Self, Failure> {
        let progress = Progress::new(input.json || global.verbose > 0);
        let device = global.open()?;
        let tree = read(&device, input, progress)?;
        let stream = device.stream()?;
        Ok(Job { name, input, progress, device, stream, tree })
    }

    /// The rooted forest, and what `more` makes of it, in one run, or in a warm-up and as many as are asked for; with
    /// the steps of the one of median time.
    fn repeat(&self, mut more: impl FnMut(&Rooting, &mut Vec<Step>) -> Result<(), Failure>) -> Result<(Rooting, Made), Failure> {
        let n = self.tree.n();
        let _work = self.progress.spinner(n, format!("{} on {}", self.name, self.device));
        let mut rooter = Rooter::new(&self.device)?.timed();
        let mut rooting = Rooting::new(&self.device);
        let mut run = || {
            let report = match (&self.tree, self.input.root) {
                (Tree::Edges(n, edges), Some(root)) => rooter.edges(&self.stream, *n, edges, Roots::At(root), &mut rooting),
                (Tree::Edges(n, edges), None) => rooter.edges(&self.stream, *n, edges, Roots::Each, &mut rooting),
                (Tree::Parents(parents), root) => rooter.parents(&self.stream, parents, root, &mut rooting),
            };
            let report = report.map_err(|error| of_file(&self.input.tree, error))?;
            let mut steps = report.steps.iter().map(|step| (step.name, step.ms, step.bytes)).collect();
            more(&rooting, &mut steps)?;
            Ok::<_, Failure>(steps)
        };
        let steps = repeat::median(self.input.repeat, &mut run, |steps| total_ms(steps))?;
        let steps = if self.input.repeat.is_some() { steps } else { Vec::new() };
        let mut greatest = ReduceWorkspace::new(&self.device)?;
        reduce(&self.stream, rooting.depth(), Operator::Max, &mut greatest)?;
        let height = self.stream.download_vec(greatest.result())?[0].max(0);
        let counts = vec![("vertices", n), ("trees", rooting.trees()), ("height", height as usize)];
        Ok((rooting, Made { counts, steps }))
    }

    /// One more step, timed.
    fn step(
        &self,
        name: &'static str,
        bytes: usize,
        work: impl FnOnce(&Stream) -> Result<(), TreeError>,
    ) -> Result<Step, TreeError> {
        Ok((name, self.stream.time(work)?, bytes as u64))
    }

    fn root(self, output: Option<Arrays>) -> Result<(), Failure> {
        let (rooting, made) = self.repeat(|_, _| Ok(()))?;
        if let Some(output) = &output {
            let Rooted { parent, depth, size, preorder, postorder, first, last, .. } =
                Rooted::download(&self.stream, &rooting).map_err(|error| of_file(&self.input.tree, error))?;
            let arrays = [&parent, &depth, &size, &preorder, &postorder, &first, &last];
            self.write(output, &arrays.map(|array| Column::I32(array)))?;
        }
        self.finish(made, output.as_ref().map(Arrays::name))
    }

    fn ancestors(&self, path: &Path) -> Result<(Made, Buffer<i32>), Failure> {
        let pairs = io::read(path)?.upload(&self.device)?;
        let mut found = self.device.alloc(pairs.len())?;
        let mut ancestors = Ancestors::new(&self.device)?;
        let n = self.tree.n();
        let (_, mut made) = self.repeat(|rooting, steps| {
            let of_pairs = |error| of_file(path, error);
            let build = self.step("prepare", 28 * n, |stream| Ok(ancestors.build(stream, rooting)?)).map_err(of_pairs)?;
            let asked = self.step("ask", 36 * pairs.len(), |stream| ancestors.of(stream, &pairs, &mut found));
            steps.extend([build, asked.map_err(of_pairs)?]);
            Ok(())
        })?;
        made.counts.push(("pairs", pairs.len()));
        Ok((made, found))
    }

    fn sums<V: Weight>(
        self,
        path: &Path,
        weights: &[V],
        column: fn(&[V]) -> Column<'_>,
        output: Option<Arrays>,
    ) -> Result<(), Failure> {
        let (n, found) = (self.tree.n(), weights.len());
        if found != n {
            let (path, tree) = (path.display(), self.input.tree.display());
            let [found, n] =
                [(found, "weight", "weights"), (n, "vertex", "vertices")].map(|(n, one, many)| format::counted(n, one, many));
            return Err(Failure::error(format_args!("{path} has {found}, but {tree} has {n}")));
        }
        let weights = self.device.upload(weights)?;
        let (mut paths, mut subtrees) = (self.device.alloc(n)?, self.device.alloc(n)?);
        let mut sums = TreeSums::<V>::new(&self.device)?;
        let (weight, sum) = (size_of::<V>(), size_of::<V::Sum>());
        let (_, made) = self.repeat(|rooting, steps| {
            let of_weights = |error| of_file(path, error);
            let bytes = n * (20 + 3 * weight + 7 * sum);
            let along = self.step("paths", bytes, |stream| sums.paths(stream, rooting, &weights, &mut paths));
            let bytes = n * (12 + 2 * weight + 5 * sum);
            let below = self.step("subtrees", bytes, |stream| sums.subtrees(stream, rooting, &weights, &mut subtrees));
            steps.extend([along.map_err(of_weights)?, below.map_err(of_weights)?]);
            Ok(())
        })?;
        if let Some(output) = &output {
            let (paths, subtrees) = (self.stream.download_vec(&paths)?, self.stream.download_vec(&subtrees)?);
            self.write(output, &[column(&paths), column(&subtrees)])?;
        }
        self.finish(made, output.as_ref().map(Arrays::name))
    }

    fn write(&self, output: &Arrays, arrays: &[Column<'_>]) -> Result<(), Failure> {
        let _work = self.progress.spinner(self.tree.n(), "writing");
        output.write(arrays)
    }

    /// Says what was found.
    fn finish(&self, made: Made, output: Option<&Path>) -> Result<(), Failure> {
        let (input, output) = (self.input.tree.display(), output.map(|output| output.display().to_string()));
        if self.input.json {
            let step = |&(name, ms, bytes): &Step| json!({ "name": name, "ms": ms, "bytes": bytes });
            let object = Object {
                system: "tree",
                result: self.name,
                backend: self.device.backend().to_string(),
                device: self.device.name(),
                input: input.to_string(),
                counts: made.counts.iter().map(|&(name, count)| (name.to_owned(), count.into())).collect(),
                runs: self.input.repeat,
                steps: self.input.repeat.map(|_| made.steps.iter().map(step).collect()),
                output,
            };
            return terminal::print_json(&object);
        }
        terminal::print(format_args!("tree {}: {input} on {}", self.name, self.device))?;
        let mut table = terminal::table(["what", "count"], 1..2);
        for &(what, count) in &made.counts {
            table.add_row([what.to_owned(), format::grouped(count)]);
        }
        terminal::print(table)?;
        if let Some(runs) = self.input.repeat {
            terminal::print(terminal::steps(made.steps.iter().copied()))?;
            let runs = repeat::in_words(runs);
            let rate = format::rate(self.tree.n(), total_ms(&made.steps), "vertices");
            terminal::print(format_args!("{runs} after a warm-up: {rate}."))?;
        }
        output.map_or(Ok(()), |output| terminal::print(format_args!("Written: {output}")))
    }
}

fn total_ms(steps: &[Step]) -> f64 {
    steps.iter().map(|step| step.1).sum()
}

/// What is wrong with a file's forest, pairs or weights.
fn of_file(path: &Path, error: TreeError) -> Failure {
    match error {
        TreeError::Device(error) => error.into(),
        error => Failure::error(format_args!("{}: {error}", path.display())),
    }
}

fn read(device: &Device, input: &Input, progress: Progress) -> Result<Tree, Failure> {
    let path = &input.tree;
    let check = |n: usize| match device.backend() {
        Backend::Cpu => size::check_memory(format::counted(n, "vertex", "vertices"), (VERTEX_BYTES * n) as f64),
        Backend::Cuda => Ok(()),
    };
    if input.parents {
        let parents = npy::read_i32(path, "parent", "a vertex", progress)?;
        check(parents.len())?;
        return Ok(Tree::Parents(device.upload(&parents)?));
    }
    let list = edges::read(path, input.vertices, progress)?;
    check(list.vertices)?;
    Ok(Tree::Edges(list.vertices, list.upload(device)?))
}
