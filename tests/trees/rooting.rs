//! Rooting, and what is wrong with what is no forest.

use proptest::prelude::*;
use simt::{Executor, Schedule};
use warpsmith::{
    device::{Backend, Device},
    trees::{Rooted, Rooter, Rooting, Roots, TreeError, root, root_parents},
};

use crate::reference::{Edges, Random, children_in_order, forest, labels, mirrored, roots_of, search, shapes, upload};
use crate::skip::skip;

const SIZES: [usize; 8] = [1, 2, 3, 31, 32, 33, 100, 1000];

#[test]
fn every_shape_from_every_form() {
    let device = Device::best().unwrap();
    for n in SIZES {
        for (name, edges) in shapes(n, n as u64) {
            let at = Random::new(n as u64).below(n);
            let expected = search(n, &edges, &[at]);
            let found = root(&device, n, &edges, Roots::At(at as i32)).unwrap();
            assert_eq!(found, expected, "{name} of {n} at {at}");
            // All edges in both directions: those that ascend count.
            let both = mirrored(&edges, 5);
            let ascending: Edges = both.iter().copied().filter(|[u, v]| u < v).collect();
            let found = root(&device, n, &both, Roots::At(at as i32)).unwrap();
            assert_eq!(found, search(n, &ascending, &[at]), "{name} of {n} at {at}, in both directions");
            // Children of parents are in their own order: as of edges to them, in order of the children.
            let mut down: Edges = (0..n).filter(|&v| v != at).map(|v| [expected.parent[v], v as i32]).collect();
            down.sort_unstable_by_key(|edge| edge[1]);
            let of_parents = root_parents(&device, &expected.parent, Some(at as i32)).unwrap();
            assert_eq!(of_parents, children_in_order(n, &down), "parents of {name} of {n} at {at}");
            assert_eq!(root_parents(&device, &expected.parent, None).unwrap(), of_parents);
        }
    }
}

#[test]
fn forests() {
    let device = Device::best().unwrap();
    for n in SIZES {
        for (name, edges) in shapes(n, 7 + n as u64) {
            let edges = forest(&edges, 3);
            let least = labels(n, &edges);
            let expected = search(n, &edges, &roots_of(&least));
            assert_eq!(root(&device, n, &edges, Roots::Each).unwrap(), expected, "{name} of {n}");
            assert_eq!(root(&device, n, &edges, Roots::Labels(&least)).unwrap(), expected, "{name} of {n}");
            // Other roots: the greatest vertex of each tree.
            let mut greatest = vec![0; n];
            (0..n).for_each(|v| greatest[least[v] as usize] = v as i32);
            let labels: Vec<i32> = least.iter().map(|&least| greatest[least as usize]).collect();
            let expected = search(n, &edges, &roots_of(&labels));
            assert_eq!(root(&device, n, &edges, Roots::Labels(&labels)).unwrap(), expected, "{name} of {n}");
            let found = root_parents(&device, &expected.parent, None).unwrap();
            let mut down: Edges = (0..n).map(|v| [expected.parent[v], v as i32]).filter(|edge| edge[0] >= 0).collect();
            down.sort_unstable_by_key(|edge| edge[1]);
            assert_eq!(found, children_in_order(n, &down), "parents of {name} of {n}");
        }
    }
}

#[test]
fn no_vertices_and_single_ones() {
    let device = Device::best().unwrap();
    let none = root(&device, 0, &[], Roots::Each).unwrap();
    assert_eq!((none.trees, none.parent.len()), (0, 0));
    assert_eq!(root_parents(&device, &[], None).unwrap(), none);
    assert_eq!(root(&device, 0, &[], Roots::At(0)), Err(TreeError::RootOutOfRange { root: 0, n: 0 }));
    for n in [1, 2, 33, 1000] {
        let apart = root(&device, n, &[], Roots::Each).unwrap();
        assert_eq!(apart, search(n, &[], &(0..n).collect::<Vec<_>>()));
        assert_eq!(root_parents(&device, &vec![-1; n], None).unwrap(), apart);
    }
}

#[test]
fn errors_name_the_first_offender() {
    let device = Device::best().unwrap();
    let at = |n, edges: &[[i32; 2]]| root(&device, n, edges, Roots::At(0)).unwrap_err();
    let each = |n, edges: &[[i32; 2]]| root(&device, n, edges, Roots::Each).unwrap_err();
    for n in [4, 5] {
        let out = [[0, 1], [1, 2], [3, n as i32]];
        assert_eq!(at(n, &out), TreeError::EdgeOutOfRange { edge: 2, ends: [3, n as i32], n });
        assert_eq!(each(n, &out), TreeError::EdgeOutOfRange { edge: 2, ends: [3, n as i32], n });
    }
    assert_eq!(at(3, &[[0, 1], [1, -2]]), TreeError::EdgeOutOfRange { edge: 1, ends: [1, -2], n: 3 });
    assert_eq!(at(3, &[[0, 1], [2, 2]]), TreeError::SelfLoop { edge: 1, vertex: 2 });
    assert_eq!(each(9, &[[0, 1], [2, 2]]), TreeError::SelfLoop { edge: 1, vertex: 2 });
    assert_eq!(at(3, &[[0, 1], [1, 0]]), TreeError::Unreachable { vertex: 2, root: 0 });
    assert_eq!(at(4, &[[0, 1], [2, 3], [1, 0]]), TreeError::Repeated { edge: 2, ends: [1, 0], earlier: 0 });
    assert_eq!(each(4, &[[0, 1], [2, 3], [0, 1]]), TreeError::Repeated { edge: 2, ends: [0, 1], earlier: 0 });
    // One direction is repeated, and another one is missing.
    let skewed = [[0, 1], [1, 2], [1, 2], [1, 0]];
    assert_eq!(at(3, &skewed), TreeError::Repeated { edge: 2, ends: [1, 2], earlier: 1 });
    assert_eq!(at(4, &[[1, 2], [2, 3], [3, 1]]), TreeError::Circle { edge: 2, ends: [3, 1] });
    assert_eq!(each(4, &[[1, 2], [2, 3], [3, 1]]), TreeError::Circle { edge: 2, ends: [3, 1] });
    let both = [[1, 2], [2, 1], [2, 3], [3, 1], [3, 2], [1, 3]];
    assert_eq!(each(9, &both), TreeError::Circle { edge: 5, ends: [1, 3] });
    assert_eq!(at(2, &[]), TreeError::Unreachable { vertex: 1, root: 0 });
    assert_eq!(root(&device, 2, &[], Roots::At(2)), Err(TreeError::RootOutOfRange { root: 2, n: 2 }));
    assert_eq!(root(&device, 2, &[], Roots::At(-1)), Err(TreeError::RootOutOfRange { root: -1, n: 2 }));
    let labels = |labels: &[i32]| root(&device, 4, &[[0, 1], [2, 3]], Roots::Labels(labels)).unwrap_err();
    assert_eq!(labels(&[0, 1, 0, 0]), TreeError::RootsOfTree { vertex: 0, roots: 2 });
    assert_eq!(labels(&[0, 0, 0, 0]), TreeError::RootsOfTree { vertex: 2, roots: 0 });
    assert_eq!(labels(&[7, -1, i32::MIN, 2]), TreeError::RootsOfTree { vertex: 0, roots: 0 });
    assert_eq!(labels(&[0]), TreeError::Length { what: "the labels", found: 1, expected: 4 });

    let parents = |parents: &[i32], root| root_parents(&device, parents, root).unwrap_err();
    assert_eq!(parents(&[-1, 0, 3], None), TreeError::ParentOutOfRange { vertex: 2, parent: 3, n: 3 });
    assert_eq!(parents(&[-1, -2, 0], None), TreeError::ParentOutOfRange { vertex: 1, parent: -2, n: 3 });
    assert_eq!(parents(&[-1, 0, 2], None), TreeError::OwnParent { vertex: 2 });
    assert_eq!(parents(&[-1, 0, -1], Some(0)), TreeError::SecondRoot { vertex: 2, root: 0 });
    assert_eq!(parents(&[-1, 0, 1], Some(1)), TreeError::RootHasParent { root: 1, parent: 0 });
    assert_eq!(parents(&[-1, 0, 1], Some(3)), TreeError::RootOutOfRange { root: 3, n: 3 });
    assert_eq!(parents(&[1, 2, 0], None), TreeError::Cycle { vertex: 0, length: 3 });
    assert_eq!(parents(&[-1, 0, 4, 2, 3, 3, 5], None), TreeError::Cycle { vertex: 2, length: 3 });
    assert_eq!(parents(&[3, 5, 5, 0, -1, 6, 5], None), TreeError::Cycle { vertex: 0, length: 2 });
}

/// Edges that pass every count: a graph with a circle whose tour comes by all arcs, and vertices without an edge.
#[test]
fn a_tour_around_a_circle_is_no_tree() {
    let device = Device::best().unwrap();
    // Two circles that share vertex 0. If they take turns around it, one tour goes around both. Two
    // vertices of seven are left over, so that the edges are as many as a tree's.
    let circles = [[0, 1], [0, 3], [0, 2], [0, 4], [1, 2], [3, 4]];
    let error = root(&device, 7, &circles, Roots::At(0)).unwrap_err();
    assert_eq!(error, TreeError::Circle { edge: 4, ends: [1, 2] });
    for seed in 0..40 {
        let mut random = Random::new(seed);
        let mut edges = circles.to_vec();
        random.shuffle(&mut edges);
        for root_at in [0, 3] {
            let error = root(&device, 7, &edges, Roots::At(root_at)).unwrap_err();
            assert!(matches!(error, TreeError::Circle { edge: 2..6, .. }), "{error}");
        }
    }
}

#[test]
fn a_rooter_is_used_again_after_an_error() {
    let stream = Device::best().unwrap().stream().unwrap();
    let device = stream.device();
    let (mut rooter, mut rooting) = (Rooter::new(device).unwrap(), Rooting::new(device));
    let good = shapes(500, 1).remove(0).1;
    let mut bad = good.clone();
    bad[7] = bad[400];
    for _ in 0..2 {
        rooter.edges(&stream, 500, &upload(device, &good), Roots::At(3), &mut rooting).unwrap();
        assert_eq!(Rooted::download(&stream, &rooting).unwrap(), search(500, &good, &[3]));
        let error = rooter.edges(&stream, 500, &upload(device, &bad), Roots::At(3), &mut rooting).unwrap_err();
        assert_eq!(error, TreeError::Repeated { edge: 400, ends: bad[400], earlier: 7 });
        assert_eq!((rooting.n(), rooting.trees()), (0, 0));
    }
}

/// Whatever the order of threads, the same numbers.
#[test]
fn random_orders_of_threads() {
    for seed in 0..10 {
        let device = Device::cpu_with(Executor::default().with_schedule(Schedule::Random { seed }));
        let edges = forest(&shapes(300, seed).remove(0).1, seed);
        let expected = search(300, &edges, &roots_of(&labels(300, &edges)));
        assert_eq!(root(&device, 300, &edges, Roots::Each).unwrap(), expected);
        assert_eq!(root_parents(&device, &expected.parent, None).unwrap().size, expected.size);
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 60, failure_persistence: None, ..ProptestConfig::default() })]

    /// Any graph is a forest or has an error that is true.
    #[test]
    fn any_edges(n in 1usize..12, pairs in prop::collection::vec((0i32..12, 0i32..12), 0..14), both in any::<bool>()) {
        let device = Device::best().unwrap();
        let mut edges: Edges = pairs.into_iter().map(|(u, v)| [u % n as i32, v % n as i32]).collect();
        if both {
            edges = mirrored(&edges, 1);
        }
        // Chance may have all edges in both directions, too.
        let [mut forth, mut back] = [edges.clone(), edges.iter().map(|&[u, v]| [v, u]).collect()];
        forth.sort_unstable();
        back.sort_unstable();
        let both = forth == back;
        let directed: Edges = if both { edges.iter().copied().filter(|[u, v]| u < v).collect() } else { edges.clone() };
        let loops = edges.iter().any(|[u, v]| u == v);
        // A forest joins two trees by each edge.
        let least = labels(n, &directed);
        let is_forest = !loops && directed.len() + roots_of(&least).len() == n;
        match root(&device, n, &edges, Roots::Each) {
            Ok(found) => {
                prop_assert!(is_forest);
                prop_assert_eq!(found, search(n, &directed, &roots_of(&least)));
            }
            Err(error) => {
                prop_assert!(!is_forest, "{}", error);
                let is_true = match error {
                    TreeError::SelfLoop { edge, vertex } => edges[edge] == [vertex; 2],
                    TreeError::Repeated { edge, ends: [u, v], earlier } => {
                        earlier < edge && edges[edge] == [u, v] && (edges[earlier] == [u, v] || edges[earlier] == [v, u])
                    }
                    TreeError::Circle { edge, ends } => {
                        let before: Edges = edges[..edge].iter().copied().filter(|[u, v]| !both || u < v).collect();
                        let least = labels(n, &before);
                        edges[edge] == ends && least[ends[0] as usize] == least[ends[1] as usize]
                    }
                    _ => false,
                };
                prop_assert!(is_true, "{}", error);
            }
        }
    }

    /// Any parents are a forest or lead around in a circle.
    #[test]
    fn any_parents(parents in prop::collection::vec(-1i32..20, 1..20)) {
        let device = Device::best().unwrap();
        let n = parents.len();
        let parents: Vec<i32> = parents.into_iter().map(|parent| parent.min(n as i32 - 1)).collect();
        // After as many steps as vertices, a way up is over, or never will be.
        let top = |v: usize| (0..=n).try_fold(v as i32, |v, _| if v < 0 { Err(()) } else { Ok(parents[v as usize]) });
        match root_parents(&device, &parents, None) {
            Ok(found) => {
                prop_assert!((0..n).all(|v| top(v).is_err() || top(v) == Ok(-1)));
                prop_assert_eq!(&found.parent, &parents);
                for v in 0..n {
                    let depth = (0..).scan(v as i32, |v, _| { *v = parents[*v as usize]; (*v >= 0).then_some(()) }).count();
                    prop_assert_eq!(found.depth[v], depth as i32);
                }
            }
            Err(TreeError::OwnParent { vertex }) => {
                prop_assert_eq!((0..n).find(|&v| parents[v] == v as i32), Some(vertex));
            }
            Err(TreeError::Cycle { vertex, length }) => {
                let back = (0..length).fold(vertex, |v, _| parents[v] as usize);
                prop_assert_eq!(back, vertex);
            }
            Err(error) => prop_assert!(false, "{}", error),
        }
    }
}

/// On the CPU it takes half a minute.
fn large(n: usize) {
    let device = Device::best().unwrap();
    for (name, edges) in shapes(n, 5) {
        let expected = search(n, &edges, &[0]);
        let found = root(&device, n, &edges, Roots::At(0)).unwrap();
        assert!(found.parent == expected.parent, "{name}");
        assert!(found == expected, "{name}");
        let forest = root(&device, n, &forest(&edges, 3), Roots::Each).unwrap();
        assert!(forest.parent.iter().filter(|&&parent| parent < 0).count() == forest.trees, "{name}");
        let found = root_parents(&device, &expected.parent, None).unwrap();
        assert!(found.depth == expected.depth && found.size == expected.size, "{name}");
    }
}

#[test]
fn a_million_vertices_on_a_gpu() {
    if Device::best().unwrap().backend() == Backend::Cpu {
        return skip("gpu", "no GPU");
    }
    large(1_000_000);
}

#[test]
#[ignore = "takes a minute on a CPU"]
fn a_million_vertices() {
    large(1_000_000);
}
