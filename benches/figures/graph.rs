//! The figures of docs/performance.md on graphs: `cargo bench --bench figures -- graph`.
//!
//! Each time is of one call on edges that are on the device, by events around it, medians of seven calls after two to
//! warm up; beside it, the steps of the call of median time. `--quick` takes graphs of a hundredth of the size; other
//! arguments are the names of the cases to take, or files of edges.

use std::{error::Error, path::Path};

use warpsmith::{
    device::Device,
    graph::{Components, Connectivity, EdgeList, GraphError, generate, io},
};

use crate::{RUNS, measure};

type Result<T = ()> = std::result::Result<T, Box<dyn Error>>;

const CASES: [&str; 5] = ["streets", "rmat", "random", "cliques", "path"];

fn graph(case: &str, quick: bool) -> Result<EdgeList> {
    let less = if quick { 100 } else { 1 };
    Ok(match case {
        "streets" if quick => generate::grid(300, 300, 0.1, 1),
        "streets" => generate::grid(3000, 3000, 0.1, 1),
        "rmat" => generate::rmat(if quick { 15 } else { 22 }, 16, 1),
        "random" => generate::random(10_000_000 / less, 20_000_000 / less, 1),
        "cliques" => generate::cliques(1_000_000 / less, 8),
        "path" => {
            let vertices = 10_000_000 / less;
            EdgeList { vertices, edges: (1..vertices as i32).map(|v| [v - 1, v]).collect(), arcs: false }
        }
        file if Path::new(file).exists() => io::read(file)?.list,
        _ => return Err(format!("there is no case {case}").into()),
    })
}

pub fn main(arguments: Vec<String>) -> Result {
    let quick = arguments.iter().any(|argument| argument == "--quick");
    let named: Vec<_> = arguments.iter().map(String::as_str).filter(|argument| !argument.starts_with("--")).collect();
    let device = Device::best()?;
    let stream = device.stream()?;
    println!("{device}, medians of {RUNS}");
    for case in if named.is_empty() { CASES.to_vec() } else { named } {
        let graph = graph(case, quick)?;
        let (n, m) = (graph.vertices, graph.edges.len());
        let edges = graph.upload(&device)?;
        let (mut of_vertices, mut of_edges) = (device.alloc(n)?, device.alloc(m)?);
        let mut components = Components::new(&device)?;
        let found = components.label(&stream, &edges, &mut of_vertices)?;
        println!("\n{case}: {n} vertices, {m} edges, {} components, {} loops", found.count, found.loops);
        measure("components", m, || {
            Ok((stream.time(|stream| components.label(stream, &edges, &mut of_vertices).map(drop))?, Vec::new()))
        })?;
        let (mut forest, mut indices) = (device.empty(), device.empty());
        measure("forest", m, || {
            let mut work = |stream: &_| components.forest(stream, &edges, &mut of_vertices, &mut forest, &mut indices).map(drop);
            Ok((stream.time(&mut work)?, Vec::new()))
        })?;
        drop((components, forest, indices));

        let mut connectivity = Connectivity::new(&device, true)?;
        let mut counts = (0, 0);
        measure("bridges", m, || {
            let mut steps = Vec::new();
            let ms = stream.time(|stream| {
                let made = connectivity.bridges(stream, &edges, graph.arcs, &mut of_vertices, &mut of_edges)?;
                (counts, steps) = ((made.bridges, made.parts()), made.steps);
                Ok::<_, GraphError>(())
            })?;
            Ok((ms, steps))
        })?;
        println!("  {} bridges, {} parts", counts.0, counts.1);
        let (mut of_vertices, mut of_edges) = (device.alloc(n)?, device.alloc(m)?);
        measure("biconnected", m, || {
            let mut steps = Vec::new();
            let ms = stream.time(|stream| {
                let made = connectivity.biconnected(stream, &edges, &mut of_edges, &mut of_vertices)?;
                (counts, steps) = ((made.components, made.points), made.steps);
                Ok::<_, GraphError>(())
            })?;
            Ok((ms, steps))
        })?;
        println!("  {} biconnected components, {} articulation points", counts.0, counts.1);
    }
    Ok(())
}
