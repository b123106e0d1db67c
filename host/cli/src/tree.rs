//! `warpsmith tree`.

use std::{
    borrow::Cow,
    io::{self as stdio, Write},
    path::{Path, PathBuf},
};

use clap::{Args, Subcommand};
use cuda_std::I32x2;
use warpsmith::{
    collectives::{Operator, ReduceWorkspace, reduce},
    device::Buffer,
    graph::{EdgeList, Graph, Ids, io},
    io::TableOptions,
    list_rank::StepTime,
    trees::{Ancestors, Rooted, Rooter, Rooting, Roots, TreeError, TreeSums, Weight},
};

use super::{
    Global, count,
    edges::{Findings, RunArgs, Task, Vertices},
    failure::Failure,
    format,
    npy::{self, Array, NUMBERS},
    output::{Arrays, Column, Files, Format, write_array},
};

/// The arrays that `root` writes.
const ROOTED: &[&str] = &["parent", "depth", "size", "preorder", "postorder", "first", "last", "vertices"];
/// The arrays that `sums` writes.
const SUMS: &[&str] = &["paths", "subtrees", "vertices"];

#[derive(Args, Debug)]
#[command(
    long_about = "Trees and forests: rooting, traversals, lowest common ancestors, sums.\n\n\
        A forest is read from a file of edges, in any order and of any directions, each once or all of them in both directions: \
        a table (.csv) with the columns source and target, .npy (int32 or int64 of shape (m, 2)), or any other that `warpsmith graph` \
        reads. Vertices of tables and lines may have any names. With --parents the file has the parent of each vertex.\n\n\
        Arrays (.npz, or .npy files in a folder) number vertices from 0; `vertices` has the file's names if they are others. Tables \
        (.csv) have these names.",
    after_help = "Examples:\n  \
        warpsmith tree root edges.npy --root 0 --output tree.npz\n  \
        warpsmith tree root parents.npy --parents --output folder\n  \
        warpsmith tree lca edges.npy pairs.npy --root 0 --output ancestors.npy\n  \
        warpsmith tree sums edges.npy weights.npy --output sums.npz --json"
)]
pub struct TreeArgs {
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
        /// Write the results: arrays (.npz, or a folder of .npy files), or a table (.csv)
        #[arg(long, value_name = "PATH")]
        output: Option<PathBuf>,
    },
    /// The lowest common ancestors of pairs of vertices
    Lca {
        #[command(flatten)]
        input: Input,
        /// The pairs, in any format that edges may have. Arrays have the tree's whole numbers; if it has other names, their places
        #[arg(value_name = "PAIRS")]
        pairs: PathBuf,
        /// Write the ancestors: .npy (int32) or .csv; -1 or nothing for vertices of different trees
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
        /// Write the results: arrays (.npz, or a folder of .npy files), or a table (.csv)
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
    #[arg(long, value_name = "R", allow_hyphen_values = true)]
    root: Option<String>,
    /// The number of vertices, if it is more than the file says
    #[arg(long, value_name = "N", value_parser = count::up_to(count::MAX as usize), conflicts_with = "parents")]
    vertices: Option<usize>,
    #[command(flatten)]
    run: RunArgs,
}

pub fn run(global: &Global, arguments: &TreeArgs) -> Result<(), Failure> {
    match &arguments.command {
        Command::Root { input, output } => {
            let mut files = Files::reading([&input.tree]);
            let output = prepare(&mut files, output.as_deref(), ROOTED)?;
            Job::new(global, "root", input)?.root(output)
        }
        Command::Lca { input, pairs, output } => {
            let mut files = Files::reading([&input.tree, pairs]);
            let format = output.as_deref().map(|path| Format::of(path, &[Format::Npy, Format::Csv])).transpose()?;
            let output = output.as_deref().map(|path| files.write(path)).transpose()?;
            let job = Job::new(global, "lca", input)?;
            let asked = io::read_pairs(pairs, &TableOptions::default(), (&job.ids, job.n()))?;
            let asked = EdgeList { vertices: job.n(), edges: asked, arcs: false };
            let (findings, found) = job.ancestors(pairs, &asked)?;
            if let Some(output) = &output {
                let found = job.task.stream.download_vec(&found)?;
                match format {
                    Some(Format::Csv) => output.write(|file| job.ancestors_table(&asked.edges, &found, file))?,
                    _ => write_array(output, &found, &[found.len()])?,
                }
            }
            job.print(&findings, output.as_ref().map(|output| output.name()))
        }
        Command::Sums { input, weights, output } => {
            let mut files = Files::reading([&input.tree, weights]);
            let output = prepare(&mut files, output.as_deref(), SUMS)?;
            let job = Job::new(global, "sums", input)?;
            match npy::read(weights, "the weights", NUMBERS, job.task.progress)? {
                Array::I32(values) => job.sums(weights, &values, |sums| Column::I32(sums), output),
                Array::I64(values) => job.sums(weights, &values, |sums| Column::I64(sums), output),
                Array::F32(values) => job.sums(weights, &values, |sums| Column::F32(sums), output),
                Array::F64(values) => job.sums(weights, &values, |sums| Column::F64(sums), output),
            }
        }
    }
}

fn prepare(files: &mut Files, path: Option<&Path>, names: &'static [&'static str]) -> Result<Option<Arrays>, Failure> {
    path.map(|path| Arrays::prepare(files, path, names, &[Format::Csv])).transpose()
}

/// A forest on the device, as it was read.
enum Forest {
    Edges(usize, Buffer<I32x2>),
    Parents(Buffer<i32>),
}

/// A forest to work on.
struct Job<'a> {
    task: Task<'a>,
    input: &'a Input,
    forest: Forest,
    /// The file's names of vertices.
    ids: Ids,
    /// The root that was asked for.
    root: Option<i32>,
}

impl<'a> Job<'a> {
    fn new(global: &Global, name: &'static str, input: &'a Input) -> Result<Self, Failure> {
        let mut task = Task::new(global, ["tree", name], &input.tree, &input.run)?;
        let (forest, ids, n) = if input.parents {
            input.run.table(&input.tree)?;
            let parents = npy::read_i32(&input.tree, "parent", "a vertex", task.progress)?;
            task.check_memory(parents.len(), 0)?;
            (Forest::Parents(task.device.upload(&parents)?), Ids::From(0), parents.len())
        } else {
            let Graph { list, ids } = task.graph(input.vertices, None)?;
            (Forest::Edges(list.vertices, list.upload(&task.device)?), ids, list.vertices)
        };
        let root = input.root.as_ref().map(|name| {
            ids.find(name, n).map(|root| root as i32).ok_or_else(|| {
                Failure::error(format_args!("--root {name} is not a vertex of {} (there are {n})", input.tree.display()))
            })
        });
        Ok(Job { task, input, forest, ids, root: root.transpose()? })
    }

    /// The number of vertices.
    fn n(&self) -> usize {
        match &self.forest {
            Forest::Edges(n, _) => *n,
            Forest::Parents(parents) => parents.len(),
        }
    }

    /// Roots the forest and does `more` with it, once or as often as asked.
    fn repeat(
        &self,
        mut more: impl FnMut(&Rooting, &mut Vec<StepTime>) -> Result<(), Failure>,
    ) -> Result<(Rooting, Findings), Failure> {
        let Task { device, stream, .. } = &self.task;
        let mut rooter = Rooter::new(device)?.timed();
        let mut rooting = Rooting::new(device);
        let mut findings = self.task.repeat(self.n(), || {
            let report = match (&self.forest, self.root) {
                (Forest::Edges(n, edges), root) => {
                    rooter.edges(stream, *n, edges, root.map_or(Roots::Each, Roots::At), &mut rooting)
                }
                (Forest::Parents(parents), root) => rooter.parents(stream, parents, root, &mut rooting),
            };
            let mut steps = report.map_err(|error| self.failure(error))?.steps;
            more(&rooting, &mut steps)?;
            Ok::<_, Failure>(Findings { counts: Vec::new(), total: None, steps })
        })?;
        let mut greatest = ReduceWorkspace::new(device)?;
        reduce(stream, rooting.depth(), Operator::Max, &mut greatest)?;
        let height = stream.download_vec(greatest.result())?[0].max(0) as usize;
        findings.counts = [("vertices", self.n()), ("trees", rooting.trees()), ("height", height)]
            .map(|(what, count)| (what, what, Some(count)))
            .into();
        Ok((rooting, findings))
    }

    /// The failure of the forest, with the file's names of vertices.
    fn failure(&self, error: TreeError) -> Failure {
        let name = |vertex: i32| self.ids.name(vertex as usize);
        let path = self.input.tree.display();
        match error {
            TreeError::SelfLoop { edge, vertex } => {
                Failure::error(format_args!("{path}: edge {edge} joins vertex {} with itself", name(vertex)))
            }
            TreeError::Repeated { edge, ends: [u, v], earlier } => Failure::error(format_args!(
                "{path}: edge {edge}, ({}, {}), repeats edge {earlier}: edges are given once each, or all of them \
                 in both directions",
                name(u),
                name(v)
            )),
            TreeError::Circle { edge, ends: [u, v] } => Failure::error(format_args!(
                "{path}: edge {edge}, ({}, {}), closes a circle with edges before it",
                name(u),
                name(v)
            )),
            TreeError::Unreachable { vertex, root } => Failure::error(format_args!(
                "{path}: vertex {} is not connected with root {}",
                name(vertex as i32),
                name(root as i32)
            )),
            error => of_file(&self.input.tree, error),
        }
    }

    fn root(self, output: Option<Arrays>) -> Result<(), Failure> {
        let (rooting, findings) = self.repeat(|_, _| Ok(()))?;
        if let Some(output) = &output {
            let Rooted { parent, depth, size, preorder, postorder, first, last, .. } =
                Rooted::download(&self.task.stream, &rooting).map_err(|error| of_file(&self.input.tree, error))?;
            let arrays = [&parent, &depth, &size, &preorder, &postorder, &first, &last];
            self.write(output, ROOTED, &arrays.map(|array| Column::I32(array)))?;
        }
        self.print(&findings, output.as_ref().map(Arrays::name))
    }

    fn ancestors(&self, path: &Path, pairs: &EdgeList) -> Result<(Findings, Buffer<i32>), Failure> {
        let Task { device, stream, .. } = &self.task;
        let pairs = pairs.upload(device)?;
        let mut found = device.alloc(pairs.len())?;
        let mut ancestors = Ancestors::new(device)?;
        let findings = self.repeat(|rooting, steps| {
            let of_pairs = |error| of_file(path, error);
            let build = |stream: &_| Ok(ancestors.build(stream, rooting)?);
            steps.push(StepTime::of(stream, "prepare", 28 * self.n(), build).map_err(of_pairs)?);
            let ask = |stream: &_| ancestors.of(stream, &pairs, &mut found);
            steps.push(StepTime::of(stream, "ask", 36 * pairs.len(), ask).map_err(of_pairs)?);
            Ok(())
        });
        // As if the two files had changed places.
        let mut findings = findings
            .map_err(|failure| match failure {
                Failure::Error(text) => Failure::Error(format!("{text} (the tree's file comes before that of the pairs)")),
                other => other,
            })?
            .1;
        findings.counts.push(("pairs", "pairs", Some(pairs.len())));
        Ok((findings, found))
    }

    /// Writes a row for each pair, with the file's names.
    fn ancestors_table(&self, pairs: &[[i32; 2]], found: &[i32], file: impl Write) -> stdio::Result<()> {
        let mut table = csv::Writer::from_writer(file);
        table.write_record(["u", "v", "ancestor"])?;
        for (pair, &ancestor) in pairs.iter().zip(found) {
            let names = [pair[0], pair[1], ancestor].map(|vertex| self.name(vertex));
            table.write_record(names.iter().map(|name| name.as_bytes()))?;
        }
        table.flush()
    }

    /// The file's name of a vertex; nothing for -1.
    fn name(&self, vertex: i32) -> Cow<'_, str> {
        usize::try_from(vertex).map_or("".into(), |vertex| self.ids.name(vertex))
    }

    fn sums<V: Weight>(
        self,
        path: &Path,
        weights: &[V],
        column: fn(&[V]) -> Column<'_>,
        output: Option<Arrays>,
    ) -> Result<(), Failure> {
        let Task { device, stream, .. } = &self.task;
        let (n, found) = (self.n(), weights.len());
        if found != n {
            let (path, tree) = (path.display(), self.input.tree.display());
            let [found, n] =
                [(found, "weight", "weights"), (n, "vertex", "vertices")].map(|(n, one, many)| format::counted(n, one, many));
            return Err(Failure::error(format_args!("{path} has {found}, but {tree} has {n}")));
        }
        match column(weights) {
            Column::F32(values) => check_finite(path, values.iter().map(|&value| f64::from(value)))?,
            Column::F64(values) => check_finite(path, values.iter().copied())?,
            Column::I32(_) | Column::I64(_) | Column::Text(_) => {}
        }
        let weights = device.upload(weights)?;
        let (mut paths, mut subtrees) = (device.alloc(n)?, device.alloc(n)?);
        let mut sums = TreeSums::<V>::new(device)?;
        let (weight, sum) = (size_of::<V>(), size_of::<V::Sum>());
        let (_, findings) = self.repeat(|rooting, steps| {
            let of_weights = |error| of_file(path, error);
            let along = |stream: &_| sums.paths(stream, rooting, &weights, &mut paths);
            steps.push(StepTime::of(stream, "paths", n * (20 + 3 * weight + 7 * sum), along).map_err(of_weights)?);
            let below = |stream: &_| sums.subtrees(stream, rooting, &weights, &mut subtrees);
            steps.push(StepTime::of(stream, "subtrees", n * (12 + 2 * weight + 5 * sum), below).map_err(of_weights)?);
            Ok(())
        })?;
        if let Some(output) = &output {
            let (paths, subtrees) = (stream.download_vec(&paths)?, stream.download_vec(&subtrees)?);
            self.write(output, SUMS, &[column(&paths), column(&subtrees)])?;
        }
        self.print(&findings, output.as_ref().map(Arrays::name))
    }

    /// Writes arrays of these names with an element for each vertex, or a table with a row for each.
    fn write(&self, output: &Arrays, names: &[&'static str], arrays: &[Column<'_>]) -> Result<(), Failure> {
        let _work = self.task.progress.spinner(self.n(), "writing");
        let Some((_, file)) = output.other() else {
            let vertices = Vertices::of(&self.ids, self.n());
            let named = names.iter().copied().zip(arrays.iter().copied());
            return output.write(&named.chain(vertices.column()).collect::<Vec<_>>());
        };
        Ok(file.write(|file| {
            let mut table = csv::Writer::from_writer(file);
            table.write_field("vertex")?;
            table.write_record(&names[..arrays.len()])?;
            for vertex in 0..self.n() {
                table.write_field(&*self.ids.name(vertex))?;
                let field = |(name, column): (&&str, &Column<'_>)| match (*name, column) {
                    ("parent", Column::I32(parents)) => self.name(parents[vertex]).into_owned(),
                    (_, column) => column.text(vertex),
                };
                table.write_record(names.iter().zip(arrays).map(field))?;
            }
            table.flush()
        })?)
    }

    fn print(&self, findings: &Findings, output: Option<&Path>) -> Result<(), Failure> {
        self.task.print(findings, (None, None), (self.n(), "vertices"), output)
    }
}

/// Refuses weights whose prefix sums over the forest may not be finite. All sums are differences of
/// prefix sums.
fn check_finite(path: &Path, weights: impl Iterator<Item = f64>) -> Result<(), Failure> {
    let mut sum = 0.0;
    for (index, weight) in weights.enumerate() {
        sum += weight.abs();
        if !f64::is_finite(sum) {
            let path = path.display();
            return Err(Failure::error(match weight.is_finite() {
                false => format!("{path}: weight {index} is {weight}, but sums in trees are of finite weights"),
                true => format!(
                    "{path}: the magnitudes of weights 0 to {index} add up to more than {:.1e}, the most of an f64",
                    f64::MAX
                ),
            }));
        }
    }
    Ok(())
}

/// The failure of a file's forest, pairs or weights.
fn of_file(path: &Path, error: TreeError) -> Failure {
    match error {
        TreeError::Device(error) => error.into(),
        error => Failure::error(format_args!("{}: {error}", path.display())),
    }
}
