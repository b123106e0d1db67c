//! Minimum spanning forests against Kruskal's algorithm.

use std::{cmp::Ordering, fmt::Debug};

use proptest::prelude::*;
use rand_chacha::{
    ChaCha8Rng,
    rand_core::{RngCore, SeedableRng},
};
use simt::{Executor, Schedule};
use warpsmith::{
    device::{Backend, Device},
    graph::{EdgeError, EdgeList, GraphError, MinimumForests, Weight, generate},
};

use crate::{
    answers::{edges, small},
    reference::sets,
};

/// A weight whose sums of at most a million are exact.
trait Exact: Weight<Total: PartialEq + Debug> + PartialOrd + Debug {
    fn sum(weights: impl Iterator<Item = Self>) -> Self::Total;
    fn of(small: i32) -> Self;
}

macro_rules! exact {
    ($($type:ident $total:ident;)*) => {$(
        impl Exact for $type {
            fn sum(weights: impl Iterator<Item = Self>) -> $total {
                weights.map(<$total>::from).sum()
            }
            fn of(small: i32) -> Self {
                small as $type
            }
        }
    )*};
}
exact! { f32 f64; f64 f64; i32 i128; i64 i128; }

/// The edges of the forest, by weight and number.
fn kruskal<W: Exact>(graph: &EdgeList, weights: &[W]) -> Vec<u32> {
    let mut order: Vec<usize> = (0..weights.len()).collect();
    order.sort_by(|&a, &b| weights[a].partial_cmp(&weights[b]).unwrap_or(Ordering::Equal).then(a.cmp(&b)));
    let mut parents: Vec<usize> = (0..graph.vertices).collect();
    let mut root = |mut vertex: usize, new: Option<usize>| {
        while parents[vertex] != vertex {
            parents[vertex] = parents[parents[vertex]];
            vertex = parents[vertex];
        }
        parents[vertex] = new.unwrap_or(vertex);
        vertex
    };
    let mut found = Vec::new();
    for edge in order {
        let [a, b] = graph.edges[edge].map(|end| root(end as usize, None));
        if a != b {
            root(a, Some(b));
            found.push(edge as u32);
        }
    }
    found.sort_unstable();
    found
}

/// Compares the forest of these weights, whole and by the lightest first.
#[track_caller]
fn check<W: Exact>(device: &Device, graph: &EdgeList, weights: &[W], name: &str) {
    let stream = device.stream().unwrap();
    let on_device = (graph.upload(device).unwrap(), device.upload(weights).unwrap());
    let expected = kruskal(graph, weights);
    let labels = sets(graph.vertices, graph.edges.iter());
    let total = W::sum(expected.iter().map(|&edge| weights[edge as usize]));
    let mut indices = device.empty();
    for lightest in [0.1, 1.5, f64::INFINITY] {
        let mut forests = MinimumForests::new(device, false).unwrap().with_lightest(lightest);
        let mut of_vertices = device.alloc(graph.vertices).unwrap();
        let found = forests.find(&stream, &on_device.0, &on_device.1, &mut of_vertices, &mut indices).unwrap();
        assert!(stream.download_vec(&indices).unwrap() == expected, "{name}, {lightest}: edges");
        assert!(stream.download_vec(&of_vertices).unwrap() == labels, "{name}, {lightest}: labels");
        assert_eq!(found.total, total, "{name}, {lightest}");
        assert_eq!(found.found.count, graph.vertices - expected.len(), "{name}, {lightest}");
        assert_eq!(found.found.loops, graph.edges.iter().filter(|[u, v]| u == v).count(), "{name}, {lightest}");
    }
}

/// Weights from 0 to `most`, at random.
fn random<W: Exact>(count: usize, most: u32, seed: u64) -> Vec<W> {
    let mut random = ChaCha8Rng::seed_from_u64(seed);
    (0..count).map(|_| W::of((random.next_u32() % (most + 1)) as i32)).collect()
}

fn check_all<W: Exact>(device: &Device, graph: &EdgeList, name: &str) {
    let m = graph.edges.len();
    for most in [0, 1, 5, 1 << 20] {
        check::<W>(device, graph, &random(m, most, m as u64), &format!("{name}, to {most}"));
    }
    check(device, graph, &(0..m).map(|edge| W::of(edge as i32)).collect::<Vec<_>>(), &format!("{name}, ascending"));
    check(device, graph, &(0..m).map(|edge| W::of(-(edge as i32))).collect::<Vec<_>>(), &format!("{name}, descending"));
}

#[test]
fn graphs_of_all_kinds() {
    let device = Device::best().unwrap();
    for (name, graph) in small() {
        check_all::<f32>(&device, &graph, name);
        check_all::<f64>(&device, &graph, name);
        check_all::<i32>(&device, &graph, name);
        check_all::<i64>(&device, &graph, name);
    }
}

#[test]
fn extreme_weights() {
    let device = Device::best().unwrap();
    let of = |count: usize| generate::random(30, count, 3);
    let pick = |values: &[f64], seed| {
        let places: Vec<i32> = random(400, 1000, seed);
        places.into_iter().map(|place| values[place as usize % values.len()]).collect::<Vec<_>>()
    };
    let tiny = f64::from_bits(1);
    // No sum is both inf and -inf, and no other one is inexact.
    for (seed, values) in [
        &[0.0, -0.0][..],
        &[f64::INFINITY, 1.0, 2.0],
        &[f64::INFINITY, f64::MAX, -1.0, tiny],
        &[f64::NEG_INFINITY, 0.0, -0.0, 5.0],
        &[0.0, -0.0, tiny, -tiny, 2.0 * tiny, f64::MIN_POSITIVE],
    ]
    .into_iter()
    .enumerate()
    {
        let weights = pick(values, seed as u64);
        check(&device, &of(400), &weights, &format!("{values:?}"));
        let narrow: Vec<f32> = weights.iter().map(|&weight| weight as f32).collect();
        check(&device, &of(400), &narrow, &format!("{values:?}, narrow"));
    }
    let tiny = f32::from_bits(1);
    let weights: Vec<f32> = (0..400).map(|i| [0.0, -0.0, tiny, -tiny, 3.0 * tiny][i * 7 % 5]).collect();
    check(&device, &of(400), &weights, "subnormal");

    let ends = [i64::MIN, i64::MAX, 0, -1, i64::MIN + 1, i64::MAX - 1];
    let weights: Vec<i64> = (0..400).map(|i| ends[i * i % 6]).collect();
    check(&device, &of(400), &weights, "64 bits");
    check(&device, &of(29), &[i64::MAX; 29], "the greatest");
    check(&device, &of(29), &[i64::MIN; 29], "the least");
    let weights: Vec<i32> = (0..400).map(|i| [i32::MIN, i32::MAX, 0, -1][i * i % 4]).collect();
    check(&device, &of(400), &weights, "32 bits");
    // Both sides of the range that is not sorted, and of each digit of the upper half.
    for span in [u32::MAX as i64, 1 << 32, 1 << 40, (1 << 40) + 1, 1 << 62] {
        let weights: Vec<i64> = (0..400).map(|i| [7, 7 + span, 7 + span / 3, 8, 6 + span][i * i % 5]).collect();
        check(&device, &of(400), &weights, &format!("a span of {span}"));
    }
}

#[test]
fn both_sides_of_the_number_of_edges_that_are_divided() {
    let device = Device::best().unwrap();
    for m in [4095, 4096, 4097, 8192] {
        for n in [2, 50, m * 3 / 8, m / 2 - 1, m / 2, m / 2 + 1, 2 * m] {
            let graph = generate::random(n, m, m as u64);
            check::<f32>(&device, &graph, &random(m, 1 << 20, 1), &format!("{n}, {m}"));
            check::<i64>(&device, &graph, &random(m, 3, 1), &format!("{n}, {m}, few weights"));
        }
    }
}

#[test]
fn larger_graphs() {
    let device = Device::best().unwrap();
    let large = if device.backend() == Backend::Cuda { 30 } else { 1 };
    for (name, graph) in [
        ("streets", generate::grid(100 * large, 151, 0.1, 1)),
        ("R-MAT", generate::rmat(12 + large.ilog2(), 16, 3)),
        ("random", generate::random(20_000 * large, 80_000 * large, 4)),
        ("a path", edges(20_000 * large, (1..20_000 * large as i32).map(|v| [v, v - 1]))),
        ("a star", edges(20_000 * large, (1..20_000 * large as i32).map(|v| [0, v]))),
        ("complete", edges(300, (0..300).flat_map(|u| (u + 1..300).map(move |v| [u, v])))),
    ] {
        let m = graph.edges.len();
        check::<f32>(&device, &graph, &random(m, 1 << 23, 5), name);
        check::<i64>(&device, &graph, &random(m, 100, 6), name);
        // Each round unites few sets: weights ascend along the path.
        check(&device, &graph, &(0..m as i32).collect::<Vec<_>>(), name);
    }
}

#[test]
fn no_order_of_threads_makes_a_difference() {
    for seed in 0..5 {
        let device = Device::cpu_with(Executor::default().with_schedule(Schedule::Random { seed }));
        for graph in [generate::random(60, 150, seed), generate::grid(8, 9, 0.2, seed), generate::rmat(5, 8, seed)] {
            check::<f32>(&device, &graph, &random(graph.edges.len(), 9, seed), "random");
        }
    }
}

#[test]
fn what_is_no_weighted_graph() {
    let device = Device::best().unwrap();
    let stream = device.stream().unwrap();
    fn find<W: Weight>(device: &Device, graph: &EdgeList, weights: &[W]) -> GraphError {
        let mut forests = MinimumForests::new(device, true).unwrap();
        let (mut labels, mut indices) = (device.alloc(graph.vertices).unwrap(), device.empty());
        let (edges, weights) = (graph.upload(device).unwrap(), device.upload(weights).unwrap());
        let found = forests.find(&device.stream().unwrap(), &edges, &weights, &mut labels, &mut indices);
        found.map(drop).unwrap_err()
    }
    let graph = edges(3, [[0, 1], [2, 2], [3, 1], [7, 7]]);
    let expected = GraphError::Edges(EdgeError::OutOfRange { edge: 2, u: 3, v: 1, vertices: 3 });
    assert_eq!(find(&device, &graph, &[1i32, 2, 3, 4]), expected);
    assert_eq!(find(&device, &graph, &[4i64, 3, 2, 1]), expected);
    assert_eq!(find(&device, &graph, &[1.0f32, 2.0, f32::NAN, -f32::NAN]).to_string(), "the weight of edge 2 is NaN");
    assert_eq!(find(&device, &graph, &[1.0, f64::NAN, 2.0, -f64::NAN]), GraphError::Unordered { edge: 1 });
    let error = find(&device, &graph, &[1.0f32, 2.0]);
    assert_eq!(error.to_string(), "weights has 2 elements, but there are 4 edges");
    // Among the lightest and among the others, behind good edges.
    for (at, weight) in [(4999, 0), (4998, 1 << 20), (0, 0), (1, 1 << 20)] {
        let mut graph = generate::random(100, 5000, 1);
        let mut weights: Vec<i32> = random(5000, 1 << 20, 1);
        (graph.edges[at], weights[at]) = ([5, -1], weight);
        let expected = GraphError::Edges(EdgeError::OutOfRange { edge: at, u: 5, v: -1, vertices: 100 });
        assert_eq!(find(&device, &graph, &weights), expected);
        let mut weights: Vec<f32> = random(5000, 1 << 20, 1);
        weights[at] = f32::NAN;
        assert_eq!(find(&device, &graph, &weights), GraphError::Unordered { edge: at });
    }
    // The next call is right.
    let mut forests = MinimumForests::new(&device, true).unwrap();
    let (mut labels, mut indices) = (device.alloc(2).unwrap(), device.empty());
    for (graph, is_right) in [(edges(2, [[0, 2]]), false), (edges(2, [[1, 0]]), true)] {
        let (on_device, weights) = (graph.upload(&device).unwrap(), device.upload(&[0.5f32]).unwrap());
        assert_eq!(forests.find(&stream, &on_device, &weights, &mut labels, &mut indices).is_ok(), is_right);
    }
    assert_eq!(stream.download_vec(&indices).unwrap(), [0]);
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 100, ..ProptestConfig::default() })]

    #[test]
    fn random_graphs(n in 1usize..60, density in 0usize..400, most in 0u32..100, seed: u64) {
        let graph = generate::random(n, n * density / 100, seed);
        let m = graph.edges.len();
        let device = Device::best().unwrap();
        check::<f32>(&device, &graph, &random(m, most, seed), &format!("{n} {density} {most} {seed}"));
        check::<i64>(&device, &graph, &random(m, most, seed), &format!("{n} {density} {most} {seed}"));
    }
}
