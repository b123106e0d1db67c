//! The figures of docs/performance.md on minimum spanning forests: `cargo bench --bench figures -- spanning`.
//!
//! Each time is of one call on edges and weights that are on the device, by events around it: medians of nine calls after
//! two to warm up. With `--peer PROGRAM`, each graph is also written as a file in ECL's format (`.egr`, in `--folder`, by
//! default the temporary one), the program is run with it between the fifth and the sixth call, and the medians of the
//! times that it prints (`Dev+: SECONDS s`) and its total weight (`weight: N`), if it prints one, are compared.
//!
//! With `--components` it is connected components, without weights, and the peer prints their number
//! (`number of connected components: N`). ECL-CC (burtscher/ECL-Suite, `ECL-CC_11.cu`) times one run, and CUDA 13 has no
//! clock rates. These edits make it a peer:
//!
//! ```sh
//! sed -e 's/deviceProp.[a-zA-Z]*lockRate/0/g' \
//!     -e 's/^  timer.start();/  double runtime = 0;\n  for (int i = 0; i < 11; i++) { timer.start();/' \
//!     -e 's/^  double \(runtime = timer.stop();\)/  \1 printf("Dev: %.9f s\\n", runtime); }/' \
//!     -e 's/^  .. verification code.*/  return 0;/' ECL-CC_11.cu
//! ```
//!
//! `--type f32|f64|i32|i64` is the type of weights (i32), `--lightest X` the number of edges per vertex that come first,
//! `--steps` prints the steps of a further call, `--quick` takes graphs of about a hundredth of the size. Other arguments
//! are the names of the cases to take.

use std::{
    error::Error,
    fs::File,
    io::{BufWriter, Write},
    path::{Path, PathBuf},
    process::Command,
};

use gpu_kernels::list_rank::generate::mix;
use rayon::prelude::*;
use warpsmith::{
    device::{Device, Stream},
    graph::{Components, EdgeList, GraphError, MinimumForests, Weight, generate},
};

use crate::median;

type Result<T = ()> = std::result::Result<T, Box<dyn Error>>;

/// Calls that count, and those before them.
const CALLS: usize = 9;
const WARM_UP: usize = 2;

/// Graphs of the kinds and sizes of ECL-MST's inputs.
const CASES: [&str; 10] = [
    "2d-2e20",
    "amazon0601",
    "as-skitter",
    "delaunay_n24",
    "europe_osm",
    "internet",
    "kron_g500-logn21",
    "r4-2e23",
    "rmat16",
    "rmat22",
];

/// The graph of a case, without loops and double edges, in the order of compressed sparse rows.
fn graph(case: &str, quick: bool) -> Result<EdgeList> {
    let (less, side, scale) = if quick { (100, 10, 6) } else { (1, 1, 0) };
    let mut graph = match case {
        "2d-2e20" => generate::grid(1024 / side, 1024 / side, 0.0, 1),
        "amazon0601" => attached(403_394 / less, 6),
        "as-skitter" => attached(1_696_415 / less, 7),
        "delaunay_n24" => triangles(4096 / side),
        "europe_osm" => roads(1414 / side, 13),
        "internet" => attached(124_651 / less, 2),
        "kron_g500-logn21" => generate::rmat(21 - scale, 48, 1),
        "r4-2e23" => generate::random((1 << 23) / less, (4 << 23) / less, 1),
        "rmat16" => generate::rmat(16 - scale, 8, 1),
        "rmat22" => generate::rmat(22 - scale, 8, 1),
        _ => return Err(format!("there is no case {case}").into()),
    };
    graph.edges.par_iter_mut().for_each(|edge| edge.sort_unstable());
    graph.edges.par_sort_unstable();
    graph.edges.dedup();
    graph.edges.retain(|[u, v]| u != v);
    Ok(graph)
}

/// A number from 0 to `end` - 1.
fn draw(index: u64, end: u64) -> u64 {
    ((mix(index.wrapping_add(0x5eed_0000_0000)) >> 32) * end) >> 32
}

/// Vertices with `degree` edges each to ends of earlier edges: a few vertices have many.
fn attached(vertices: usize, degree: usize) -> EdgeList {
    // The ends of edge e are its vertex, e / degree, and one of the 2 e ends before.
    let end = |mut edge: usize| loop {
        let place = draw(edge as u64, 2 * edge as u64 + 1) as usize;
        if place.is_multiple_of(2) {
            return place / 2 / degree;
        }
        edge = place / 2;
    };
    let edges = (0..vertices * degree).into_par_iter().map(|edge| [(edge / degree) as i32, end(edge) as i32]);
    EdgeList { vertices, edges: edges.collect(), arcs: false }
}

/// A square of triangles.
fn triangles(side: usize) -> EdgeList {
    let mut graph = generate::grid(side, side, 0.0, 1);
    let corner = |vertex: usize| vertex % side + 1 < side && vertex / side + 1 < side;
    let diagonals = (0..side * side).into_par_iter().filter(|&vertex| corner(vertex));
    graph.edges.par_extend(diagonals.map(|vertex| [vertex as i32, (vertex + side + 1) as i32]));
    graph
}

/// Streets with `bends` vertices of two edges on each.
fn roads(side: usize, bends: usize) -> EdgeList {
    let streets = generate::grid(side, side, 0.1, 1);
    let road = |(street, &[u, v]): (usize, &[i32; 2])| {
        let first = (streets.vertices + street * bends) as i32;
        let last = first + bends as i32 - 1;
        (first..last).map(|bend| [bend, bend + 1]).chain([[u, first], [v, last]])
    };
    let edges: Vec<_> = streets.edges.par_iter().enumerate().flat_map_iter(road).collect();
    EdgeList { vertices: streets.vertices + streets.edges.len() * bends, edges, arcs: false }
}

/// Writes the graph as ECL's programs read it: a row of neighbours for each vertex, and the weights, if there are any, in
/// the same order.
fn write_rows(graph: &EdgeList, weights: &[i32], path: &Path) -> Result {
    let mut starts = vec![0i32; graph.vertices + 1];
    graph.edges.iter().flatten().for_each(|&end| starts[end as usize + 1] += 1);
    for vertex in 0..graph.vertices {
        starts[vertex + 1] += starts[vertex];
    }
    let mut places = starts.clone();
    let (mut neighbours, mut of_arcs) = (vec![0; 2 * graph.edges.len()], vec![0; 2 * weights.len()]);
    // Edges ascend: smaller neighbours come first.
    for to in 0..2 {
        for (edge, &ends) in graph.edges.iter().enumerate() {
            let place = &mut places[ends[1 - to] as usize];
            neighbours[*place as usize] = ends[to];
            if let Some(&weight) = weights.get(edge) {
                of_arcs[*place as usize] = weight;
            }
            *place += 1;
        }
    }
    let mut file = BufWriter::new(File::create(path)?);
    for part in [&[graph.vertices as i32, neighbours.len() as i32], &starts[..], &neighbours, &of_arcs] {
        file.write_all(bytemuck::cast_slice(part))?;
    }
    Ok(file.flush()?)
}

/// Runs the peer, and returns its times in ms and the total weight or the number of components that it prints.
fn run_peer(program: &str, file: &Path) -> Result<(Vec<f64>, Option<i128>)> {
    let output = Command::new(program).arg(file).output()?;
    let text = String::from_utf8_lossy(&output.stdout);
    if !output.status.success() {
        return Err(format!("{program} ended with {}: {text}{}", output.status, String::from_utf8_lossy(&output.stderr)).into());
    }
    let after =
        |line: &'_ str, name: &str| line.strip_prefix(name).map(|rest| rest.trim_matches([' ', ':', 's', '+', '-']).to_owned());
    let mut times =
        text.lines().filter_map(|line| after(line, "Dev")?.parse::<f64>().ok()).map(|s| 1000.0 * s).collect::<Vec<_>>();
    // The first loads the program's code.
    times.drain(..times.len().saturating_sub(CALLS));
    let result = |line| after(line, "weight").or_else(|| after(line, "number of connected components"));
    Ok((times, text.lines().find_map(|line| result(line)?.parse().ok())))
}

#[derive(Default)]
struct Arguments {
    components: bool,
    peer: Option<String>,
    folder: PathBuf,
    lightest: Option<f64>,
    steps: bool,
    quick: bool,
}

fn measure<W: Weight<Total: Into128>>(arguments: &Arguments, stream: &Stream, case: &str, of: fn(i32) -> W) -> Result {
    let device = stream.device();
    let graph = graph(case, arguments.quick)?;
    let edges = graph.upload(device)?;
    let mut labels = device.alloc(graph.vertices)?;
    if arguments.components {
        let mut components = Components::new(device)?;
        return compare(arguments, case, &graph, &[], || {
            let mut count = 0;
            let ms = stream.time(|stream| {
                count = components.label(stream, &edges, &mut labels)?.count as i128;
                Ok::<_, GraphError>(())
            })?;
            Ok((ms, count))
        });
    }
    let weights: Vec<i32> = (0..graph.edges.len() as u64).into_par_iter().map(|edge| 1 + draw(!edge, 1 << 23) as i32).collect();
    let on_device = device.upload(&weights.iter().map(|&weight| of(weight)).collect::<Vec<_>>())?;
    let mut indices = device.empty();
    let new = |timed| -> Result<_> {
        let forests = MinimumForests::new(device, timed)?;
        Ok(match arguments.lightest {
            Some(lightest) => forests.with_lightest(lightest),
            None => forests,
        })
    };
    let mut call = |forests: &mut MinimumForests| {
        let (mut total, mut steps) = (0, Vec::new());
        let ms = stream.time(|stream| {
            let found = forests.find(stream, &edges, &on_device, &mut labels, &mut indices)?;
            (total, steps) = (found.total.into_128(), found.steps);
            Ok::<_, GraphError>(())
        })?;
        Ok::<_, Box<dyn Error>>((ms, total, steps))
    };
    let mut forests = new(false)?;
    compare(arguments, case, &graph, &weights, || call(&mut forests).map(|(ms, total, _)| (ms, total)))?;
    if arguments.steps {
        drop(forests);
        let mut timed = new(true)?;
        call(&mut timed)?;
        let steps = call(&mut timed)?.2;
        let steps: Vec<_> = steps.iter().map(|step| format!("{} {:.3}", step.name, step.ms)).collect();
        println!("    {}", steps.join(", "));
    }
    Ok(())
}

/// Measures `call`, which returns its time in ms and its result, with the peer between two of its runs, and prints a line.
fn compare(
    arguments: &Arguments,
    case: &str,
    graph: &EdgeList,
    weights: &[i32],
    mut call: impl FnMut() -> Result<(f64, i128)>,
) -> Result {
    let mut result = 0;
    for _ in 0..WARM_UP {
        result = call()?.1;
    }
    let mut times = Vec::new();
    for _ in 0..CALLS / 2 + 1 {
        times.push(call()?.0);
    }
    let peer = match &arguments.peer {
        Some(program) => {
            let file = arguments.folder.join(format!("{case}.egr"));
            write_rows(graph, weights, &file)?;
            let found = run_peer(program, &file);
            std::fs::remove_file(&file)?;
            Some(found?)
        }
        None => None,
    };
    while times.len() < CALLS {
        times.push(call()?.0);
    }
    let (ours, spread) = median(times);
    print!("| {case} | {} | {} | {ours:.3} | {:.0} % |", graph.vertices, graph.edges.len(), 100.0 * spread);
    if let Some((times, of_peer)) = peer {
        let (theirs, spread) = median(times);
        print!(" {theirs:.3} | {:.0} % | {:.2} |", 100.0 * spread, ours / theirs);
        if of_peer.is_some_and(|of_peer| of_peer != result) {
            return Err(format!("the result is {result}, but the peer's is {of_peer:?}").into());
        }
        print!(" {} |", if of_peer.is_some() { "equal" } else { "" });
    }
    println!();
    Ok(())
}

/// A total as an integer, which it is here.
trait Into128 {
    fn into_128(self) -> i128;
}
impl Into128 for i128 {
    fn into_128(self) -> i128 {
        self
    }
}
impl Into128 for f64 {
    fn into_128(self) -> i128 {
        self as i128
    }
}

pub fn main(arguments: Vec<String>) -> Result {
    let mut rest = arguments.into_iter();
    let mut given = Arguments { folder: std::env::temp_dir(), ..Arguments::default() };
    let (mut kind, mut cases) = ("i32".to_owned(), Vec::new());
    while let Some(argument) = rest.next() {
        let mut value = || rest.next().ok_or_else(|| format!("{argument} takes a value"));
        match &*argument {
            "--peer" => given.peer = Some(value()?),
            "--folder" => given.folder = value()?.into(),
            "--lightest" => given.lightest = Some(value()?.parse()?),
            "--type" => kind = value()?,
            "--steps" => given.steps = true,
            "--components" => given.components = true,
            "--quick" => given.quick = true,
            _ => cases.push(argument),
        }
    }
    if cases.is_empty() {
        cases = CASES.map(str::to_owned).into();
    }
    let device = Device::best()?;
    let stream = device.stream()?;
    println!("{device}, {kind}, ms, medians of {CALLS}\n");
    println!("| input | vertices | edges | warpsmith | spread | peer | spread | ratio | results |");
    println!("| --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: | --- |");
    for case in &cases {
        match &*kind {
            "f32" => measure(&given, &stream, case, |weight| weight as f32)?,
            "f64" => measure(&given, &stream, case, f64::from)?,
            "i32" => measure(&given, &stream, case, |weight| weight)?,
            "i64" => measure(&given, &stream, case, i64::from)?,
            _ => return Err(format!("weights are f32, f64, i32 or i64, not {kind}").into()),
        }
    }
    Ok(())
}
