//! Results on a device, against the reference.

use cuda_std::I32x2;
use proptest::prelude::*;
use simt::{Executor, Schedule};
use warpsmith::{
    device::{Backend, Device},
    graph::{self, Components, Connectivity, EdgeError, EdgeList, GraphError, generate},
};

use crate::reference::{answer, sets};

pub fn edges(vertices: usize, edges: impl IntoIterator<Item = [i32; 2]>) -> EdgeList {
    EdgeList { vertices, edges: edges.into_iter().collect(), arcs: false }
}

/// Compares everything, of the graph and of the same as arcs.
fn check(device: &Device, graph: &EdgeList, name: &str) {
    for arcs in [false, true] {
        let graph = EdgeList { arcs, ..graph.clone() };
        let expected = answer(&graph);
        assert!(graph::components(device, &graph).unwrap() == expected.components, "{name}: components");
        let (bridges, parts) = graph::bridges(device, &graph).unwrap();
        assert!(bridges == expected.bridges, "{name}: bridges, arcs {arcs}");
        assert!(parts == expected.parts, "{name}: parts, arcs {arcs}");
        let (blocks, points) = graph::biconnected(device, &graph).unwrap();
        assert!(blocks == expected.blocks, "{name}: biconnected components");
        assert!(points == expected.points, "{name}: articulation points");
    }
}

/// Graphs of all kinds, small ones.
pub fn small() -> Vec<(&'static str, EdgeList)> {
    let path = |n: i32| (1..n).map(|v| [v - 1, v]);
    let complete = |n: i32| (0..n).flat_map(move |u| (u + 1..n).map(move |v| [u, v]));
    vec![
        ("nothing", edges(0, [])),
        ("one vertex", edges(1, [])),
        ("one loop", edges(1, [[0, 0]])),
        ("two vertices", edges(2, [])),
        ("one edge", edges(2, [[1, 0]])),
        ("a double edge", edges(2, [[0, 1], [1, 0]])),
        ("a double edge and a bridge", edges(3, [[2, 1], [0, 1], [0, 1]])),
        ("isolated vertices", edges(1000, [[500, 3], [3, 999]])),
        ("loops", edges(40, (0..40).map(|v| [v, v]))),
        ("a path", edges(100, path(100))),
        ("a path backwards", edges(70, path(70).map(|[u, v]| [69 - u, 69 - v]))),
        ("a star", edges(50, (1..50).map(|v| [v, 0]))),
        ("a star around the last", edges(50, (0..49).map(|v| [v, 49]))),
        ("a cycle", edges(65, path(65).chain([[64, 0]]))),
        ("two cycles at a vertex", edges(9, [[0, 1], [1, 2], [2, 3], [3, 0], [3, 4], [4, 5], [5, 6], [6, 7], [7, 3], [8, 8]])),
        ("two cycles and a bridge", edges(6, [[0, 1], [1, 2], [2, 0], [2, 3], [3, 4], [4, 5], [5, 3]])),
        ("a theta", edges(5, [[0, 1], [1, 4], [0, 2], [2, 4], [0, 3], [3, 4]])),
        ("complete", edges(33, complete(33))),
        ("complete, apart", edges(20, complete(8).chain(complete(9).map(|[u, v]| [u + 10, v + 10])))),
        ("cliques", generate::cliques(10, 7)),
        ("cliques of two", generate::cliques(20, 2)),
        ("a ladder", edges(80, (0..40).map(|v| [v, v + 40]).chain(path(40)).chain(path(40).map(|[u, v]| [u + 40, v + 40])))),
        ("streets", generate::grid(17, 23, 0.3, 5)),
        ("many missing streets", generate::grid(30, 30, 0.55, 6)),
        ("R-MAT", generate::rmat(9, 4, 7)),
        ("random, sparse", generate::random(700, 500, 8)),
        ("random", generate::random(700, 1000, 9)),
        ("random, dense", generate::random(100, 3000, 10)),
    ]
}

#[test]
fn graphs_of_all_kinds() {
    let device = Device::best().unwrap();
    for (name, graph) in small() {
        check(&device, &graph, name);
    }
}

#[test]
fn no_order_of_threads_makes_a_difference() {
    for seed in 0..5 {
        let device = Device::cpu_with(Executor::default().with_schedule(Schedule::Random { seed }));
        check(&device, &generate::random(60, 75, seed), "random");
        check(&device, &generate::grid(8, 9, 0.2, seed), "streets");
        check(&device, &generate::rmat(5, 3, seed), "R-MAT");
    }
}

#[test]
fn larger_graphs() {
    let device = Device::best().unwrap();
    let large = if device.backend() == Backend::Cuda { 30 } else { 1 };
    for (name, graph) in [
        ("streets", generate::grid(100 * large, 151, 0.1, 1)),
        ("many missing streets", generate::grid(150, 100 * large, 0.45, 2)),
        ("R-MAT", generate::rmat(12 + large.ilog2(), 16, 3)),
        ("random", generate::random(20_000 * large, 26_000 * large, 4)),
        // Both sides of the density of graphs that begin with a sample of their edges.
        ("3.9998 edges per vertex", generate::random(5000 * large, 20_000 * large - 1, 5)),
        ("4 edges per vertex", generate::random(5000 * large, 20_000 * large, 5)),
        // Densities just below and above the one where a part of the sample comes first.
        ("7.9998 edges per vertex", generate::random(5000 * large, 40_000 * large - 1, 5)),
        ("8 edges per vertex", generate::random(5000 * large, 40_000 * large, 5)),
        ("a path", edges(20_000 * large, (1..20_000 * large as i32).map(|v| [v, v - 1]))),
        ("cliques", generate::cliques(200 * large, 12)),
    ] {
        check(&device, &graph, name);
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 60, ..ProptestConfig::default() })]

    #[test]
    fn random_graphs(n in 1usize..60, density in 0usize..400, seed: u64) {
        check(&Device::best().unwrap(), &generate::random(n, n * density / 100, seed), &format!("{n} {density} {seed}"));
    }
}

/// Both sides of the size of a window of `start_windows`.
#[test]
fn windows_of_vertices() {
    let device = Device::best().unwrap();
    let stream = device.stream().unwrap();
    let mut components = Components::new(&device).unwrap().with_windows(true);
    let mut labels_of = |graph: &EdgeList| {
        let mut labels = device.alloc(graph.vertices).unwrap();
        components.label(&stream, &graph.upload(&device).unwrap(), &mut labels).unwrap();
        stream.download_vec(&labels).unwrap()
    };
    for n in [8191, 8192, 8193, 16_385] {
        let mut path = edges(n, (1..n as i32).map(|v| [v - 1, v]));
        assert_eq!(labels_of(&path), vec![0; n], "{n}");
        path.edges.reverse();
        assert_eq!(labels_of(&path), vec![0; n], "{n}");
        // Half of the vertices apart, and the last one alone if there is one more.
        let half = n as i32 / 2;
        let pairs = edges(n, (0..half).map(|v| [v, v + half]));
        let expected: Vec<i32> = (0..n as i32).map(|v| if v < 2 * half { v % half } else { v }).collect();
        assert_eq!(labels_of(&pairs), expected, "{n}");
    }
}

#[test]
fn forests_span() {
    let device = Device::best().unwrap();
    let stream = device.stream().unwrap();
    let mut components = Components::new(&device).unwrap();
    let (mut forest, mut indices) = (device.empty(), device.empty());
    for (name, graph) in small() {
        let on_device = graph.upload(&device).unwrap();
        let mut labels = device.alloc(graph.vertices).unwrap();
        let found = components.forest(&stream, &on_device, &mut labels, &mut forest, &mut indices).unwrap();
        let labels = stream.download_vec(&labels).unwrap();
        assert_eq!(found.count, labels.iter().enumerate().filter(|&(v, &label)| v as i32 == label).count(), "{name}");
        assert_eq!(found.loops, graph.edges.iter().filter(|[u, v]| u == v).count(), "{name}");
        let forest: Vec<[i32; 2]> = stream.download_vec(&forest).unwrap().into_iter().map(I32x2::to_array).collect();
        assert_eq!(forest.len(), graph.vertices - found.count, "{name}");
        assert!(sets(graph.vertices, forest.iter()) == labels, "{name}");
        let indices = stream.download_vec(&indices).unwrap();
        assert!(indices.iter().map(|&edge| graph.edges[edge as usize]).eq(forest), "{name}");
    }
}

#[test]
fn edges_that_repeat_others() {
    let device = Device::best().unwrap();
    let stream = device.stream().unwrap();
    for (name, graph) in small() {
        let mut pairs: Vec<_> = graph.edges.iter().filter(|[u, v]| u != v).map(|&[u, v]| [u.min(v), u.max(v)]).collect();
        let all = pairs.len();
        pairs.sort_unstable();
        pairs.dedup();
        let edges = graph.upload(&device).unwrap();
        assert_eq!(graph::repeats(&stream, &edges).unwrap(), all - pairs.len(), "{name}");
    }
}

#[test]
fn counts() {
    let device = Device::best().unwrap();
    let stream = device.stream().unwrap();
    let mut connectivity = Connectivity::new(&device, true).unwrap();
    for (name, graph) in small() {
        let on_device = graph.upload(&device).unwrap();
        let (mut of_vertices, mut of_edges) = (device.alloc(graph.vertices).unwrap(), device.alloc(graph.edges.len()).unwrap());
        let expected = answer(&graph);
        let made = connectivity.bridges(&stream, &on_device, false, &mut of_vertices, &mut of_edges).unwrap();
        assert_eq!(made.bridges, expected.bridges.len(), "{name}");
        assert_eq!(made.parts(), expected.parts.iter().enumerate().filter(|&(v, &label)| v as i32 == label).count(), "{name}");
        assert_eq!(made.found.loops, graph.edges.iter().filter(|[u, v]| u == v).count(), "{name}");
        let arcs = EdgeList { arcs: true, ..graph.clone() };
        let made = connectivity.bridges(&stream, &on_device, true, &mut of_vertices, &mut of_edges).unwrap();
        let mut pairs: Vec<_> = answer(&arcs).bridges.iter().map(|&edge| graph.edges[edge as usize]).collect();
        pairs.iter_mut().for_each(|pair| pair.sort_unstable());
        pairs.sort_unstable();
        pairs.dedup();
        assert_eq!(made.bridges, pairs.len(), "{name}");

        let (mut of_edges, mut of_vertices) = (device.alloc(graph.edges.len()).unwrap(), device.alloc(graph.vertices).unwrap());
        let made = connectivity.biconnected(&stream, &on_device, &mut of_edges, &mut of_vertices).unwrap();
        assert_eq!((made.components, made.points), (expected.count(), expected.points.len()), "{name}");
    }
}

#[test]
fn what_is_no_graph() {
    let device = Device::best().unwrap();
    for (ends, u, v) in [([3, 1], 3, 1), ([1, -1], 1, -1), ([i32::MIN, 0], i32::MIN, 0), ([0, i32::MAX], 0, i32::MAX)] {
        let graph = edges(3, [[0, 1], [2, 2], ends, [7, 7]]);
        let expected = GraphError::Edges(EdgeError::OutOfRange { edge: 2, u, v, vertices: 3 });
        assert_eq!(graph::components(&device, &graph), Err(expected.clone()));
        assert_eq!(graph::bridges(&device, &graph), Err(expected.clone()));
        assert_eq!(graph::biconnected(&device, &graph), Err(expected.clone()));
        assert_eq!(expected.to_string(), format!("edge 2 is ({u}, {v}), but there are 3 vertices, from 0"));
    }
    assert_eq!(
        graph::components(&device, &edges(0, [[0, 0]])),
        Err(GraphError::Edges(EdgeError::OutOfRange { edge: 0, u: 0, v: 0, vertices: 0 }))
    );
    let stream = device.stream().unwrap();
    let on_device = edges(2, [[0, 1]]).upload(&device).unwrap();
    let mut connectivity = Connectivity::new(&device, false).unwrap();
    let (mut labels, mut flags) = (device.alloc(2).unwrap(), device.alloc(2).unwrap());
    let error = connectivity.bridges(&stream, &on_device, false, &mut labels, &mut flags).unwrap_err();
    assert_eq!(error.to_string(), "bridges has 2 elements, but there are 1 edges");
    let error = connectivity.biconnected(&stream, &on_device, &mut labels, &mut flags).unwrap_err();
    assert_eq!(error.to_string(), "labels has 2 elements, but there are 1 edges");
}

#[test]
fn matrices_in_rows() {
    let device = Device::best().unwrap();
    let stream = device.stream().unwrap();
    // On the host and on the device.
    let both = |row_ptr: &[i32], columns: &[i32]| {
        let mut edges = device.empty();
        let found = graph::edges_of_rows(&stream, &device.upload(row_ptr).unwrap(), &device.upload(columns).unwrap(), &mut edges);
        let on_host = EdgeList::from_rows(row_ptr, columns);
        assert_eq!(found, on_host.as_ref().map(|_| ()).map_err(Clone::clone));
        on_host.inspect(|graph| {
            assert!(graph.arcs);
            assert_eq!(stream.download_vec(&edges).unwrap(), graph.edges.iter().map(|&edge| edge.into()).collect::<Vec<_>>());
        })
    };
    let graph = both(&[0, 2, 2, 3], &[1, 2, 0]).unwrap();
    assert_eq!((graph.vertices, graph.edges), (3, vec![[0, 1], [0, 2], [2, 0]]));
    assert_eq!(both(&[], &[]).unwrap().vertices, 0);
    assert_eq!(both(&[0], &[]).unwrap().vertices, 0);
    assert_eq!(both(&[0, 0, 0, 2, 2, 2], &[7, 9]).unwrap().edges, [[2, 7], [2, 9]]);
    let starts: Vec<i32> = (0..1000).map(|row| row * row / 1000).collect();
    both(&starts, &vec![3; starts[999] as usize]).unwrap();
    for (row_ptr, text) in [
        (&[][..], "columns has 3 elements, but there are 0 rows"),
        (&[0], "row_ptr[0] is 0, but it must be from 3 to 3"),
        (&[1, 3], "row_ptr[0] is 1, but it must be from 0 to 0"),
        (&[0, 2, 1, 3], "row_ptr[2] is 1, but it must be from 2 to 3"),
        (&[0, 4], "row_ptr[1] is 4, but it must be from 0 to 3"),
        (&[0, -1, 3], "row_ptr[1] is -1, but it must be from 0 to 3"),
        (&[0, 1, 2], "row_ptr[2] is 2, but it must be from 3 to 3"),
    ] {
        assert_eq!(both(row_ptr, &[0, 0, 0]).unwrap_err().to_string(), text);
    }
}
