//! Trees against a sequential depth-first search, on the backend that `WARPSMITH_BACKEND` names (by default whichever is
//! there).

#![cfg(feature = "trees")]

use cuda_std::I32x2;
use proptest::prelude::*;
use rand_chacha::{
    ChaCha8Rng,
    rand_core::{RngCore, SeedableRng},
};
use simt::{Executor, Schedule};
use warpsmith::{
    collectives::{SortWorkspace, sort},
    device::{Backend, Buffer, Device, Stream},
    trees::{Ancestors, Rooted, Rooter, Rooting, Roots, TreeError, TreeSums, Weight, root, root_parents},
};

type Edges = Vec<[i32; 2]>;

/// Random numbers: `below(n)` gives one below n.
struct Random(ChaCha8Rng);

impl Random {
    fn new(seed: u64) -> Self {
        Random(ChaCha8Rng::seed_from_u64(seed))
    }

    fn below(&mut self, n: usize) -> usize {
        (u128::from(self.0.next_u64()) * n as u128 >> 64) as usize
    }

    fn permutation(&mut self, n: usize) -> Vec<i32> {
        let mut labels: Vec<i32> = (0..n as i32).collect();
        self.shuffle(&mut labels);
        labels
    }

    fn shuffle<T>(&mut self, items: &mut [T]) {
        for i in (1..items.len()).rev() {
            items.swap(i, self.below(i + 1));
        }
    }
}

/// The edges from each vertex but the first to an earlier one, which `parent` picks, with random labels, in random order
/// and of random directions.
fn tree(n: usize, seed: u64, mut parent: impl FnMut(usize, &mut Random) -> usize) -> Edges {
    let mut random = Random::new(seed);
    let labels = random.permutation(n);
    let mut edges: Edges = (1..n).map(|v| [labels[v], labels[parent(v, &mut random)]]).collect();
    random.shuffle(&mut edges);
    edges.iter_mut().filter(|_| random.below(2) == 0).for_each(|edge| edge.reverse());
    edges
}

/// Trees of every shape.
fn shapes(n: usize, seed: u64) -> Vec<(&'static str, Edges)> {
    vec![
        ("attachment", tree(n, seed, |v, random| random.below(v))),
        ("path", tree(n, seed, |v, _| v - 1)),
        ("star", tree(n, seed, |_, _| 0)),
        ("caterpillar", tree(n, seed, |v, _| if v % 2 == 1 { v.saturating_sub(2) } else { v - 1 })),
        ("broom", tree(n, seed, |v, _| if v < n / 2 { v - 1 } else { (n / 2).saturating_sub(1) })),
        ("binary", tree(n, seed, |v, _| (v - 1) / 2)),
    ]
}

/// A forest: the tree without some of its edges.
fn forest(edges: &Edges, seed: u64) -> Edges {
    let mut random = Random::new(seed);
    edges.iter().copied().filter(|_| random.below(3) > 0).collect()
}

/// Both directions of all edges, in random order.
fn mirrored(edges: &Edges, seed: u64) -> Edges {
    let mut both: Edges = edges.iter().flat_map(|&[u, v]| [[u, v], [v, u]]).collect();
    Random::new(seed).shuffle(&mut both);
    both
}

/// A depth-first search from each root in turn that takes each vertex's neighbours in the order of their edges, beginning
/// after the one that it came by.
fn search(n: usize, edges: &[[i32; 2]], roots: &[usize]) -> Rooted {
    // The arcs out of each vertex: the edge, and where it leads.
    let mut arcs = vec![Vec::new(); n];
    for (edge, &[u, v]) in edges.iter().enumerate() {
        arcs[u as usize].push((edge, v as usize));
        arcs[v as usize].push((edge, u as usize));
    }
    let (mut parent, mut depth, mut size) = (vec![-1; n], vec![0; n], vec![1; n]);
    let [mut preorder, mut postorder, mut first, mut last] = [(); 4].map(|()| vec![-1; n]);
    let [mut entered, mut left, mut steps] = [0; 3];
    for &root in roots {
        // The vertex, the place among its arcs that comes next, and how many are left.
        let mut stack = vec![(root, 0, arcs[root].len())];
        (preorder[root], first[root]) = (entered, steps);
        (entered, steps) = (entered + 1, steps + 1);
        while let Some((v, place, more)) = stack.pop() {
            if more == 0 {
                (postorder[v], last[v]) = (left, steps);
                (left, steps) = (left + 1, steps + 1);
                if parent[v] >= 0 {
                    size[parent[v] as usize] += size[v];
                }
                continue;
            }
            stack.push((v, (place + 1) % arcs[v].len(), more - 1));
            let (edge, child) = arcs[v][place];
            (parent[child], depth[child]) = (v as i32, depth[v] + 1);
            (preorder[child], first[child]) = (entered, steps);
            (entered, steps) = (entered + 1, steps + 1);
            let came_by = arcs[child].partition_point(|arc| arc.0 < edge);
            let next = (came_by + 1) % arcs[child].len();
            stack.push((child, next, arcs[child].len() - 1));
        }
    }
    Rooted { trees: roots.len(), parent, depth, size, preorder, postorder, first, last }
}

/// The least vertex of each vertex's tree.
fn labels(n: usize, edges: &[[i32; 2]]) -> Vec<i32> {
    let mut labels: Vec<i32> = (0..n as i32).collect();
    let mut changed = true;
    while changed {
        changed = false;
        for &[u, v] in edges {
            let least = labels[u as usize].min(labels[v as usize]);
            for vertex in [u, v] {
                // The one that it names points to the least, too: the number of rounds is small.
                let named = labels[vertex as usize];
                changed |= named != least;
                labels[vertex as usize] = least;
                labels[named as usize] = labels[named as usize].min(least);
            }
        }
        for v in 0..n {
            labels[v] = labels[labels[v] as usize];
        }
    }
    labels
}

fn roots_of(labels: &[i32]) -> Vec<usize> {
    (0..labels.len()).filter(|&v| labels[v] == v as i32).collect()
}

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
            assert_eq!(of_parents, children_in_order(n, &down, &[at]), "parents of {name} of {n} at {at}");
            assert_eq!(root_parents(&device, &expected.parent, None).unwrap(), of_parents);
        }
    }
}

/// A search that takes children in order, whichever way it came.
fn children_in_order(n: usize, down: &[[i32; 2]], roots: &[usize]) -> Rooted {
    let mut children = vec![Vec::new(); n];
    down.iter().for_each(|&[parent, child]| children[parent as usize].push(child));
    // The search of `search` begins after the arc that it came by: with that in the last place, at the first child.
    let mut ordered = Edges::new();
    let mut stack: Vec<usize> = roots.iter().rev().copied().collect();
    let mut levels = Vec::new();
    while let Some(v) = stack.pop() {
        levels.push(v);
        stack.extend(children[v].iter().map(|&child| child as usize));
    }
    // Each vertex's edges to children come before the edge to its parent where the lower vertices' come first.
    for &v in levels.iter().rev() {
        ordered.extend(children[v].iter().map(|&child| [v as i32, child]));
    }
    search(n, &ordered, roots)
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
            assert_eq!(found, children_in_order(n, &down, &roots_of(&labels)), "parents of {name} of {n}");
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
fn sorts_as_the_standard_library_does() {
    let stream = Device::best().unwrap().stream().unwrap();
    let mut workspace = SortWorkspace::new(stream.device()).unwrap();
    // One tile and less, several, and all digits.
    for (n, bits) in [(0, 8), (1, 1), (31, 5), (4096, 12), (4097, 13), (20_000, 32), (20_000, 17), (9000, 1), (5000, 0)] {
        let mut random = Random::new(u64::from(bits) + n as u64);
        let most = (1u64 << bits) - 1;
        let keys: Vec<u32> = (0..n).map(|_| random.0.next_u32() & most as u32).collect();
        let mut order: Vec<u32> = (0..n as u32).collect();
        order.sort_by_key(|&i| keys[i as usize]);
        sort(&stream, &stream.device().upload(&keys).unwrap(), bits, &mut workspace).unwrap();
        assert!(stream.download_vec(workspace.order()).unwrap() == order, "{n} keys of {bits} bits");
        assert!(stream.download_vec(workspace.keys()).unwrap().into_iter().eq(order.iter().map(|&i| keys[i as usize])));
    }
    // One key, and the greatest.
    let keys = vec![u32::MAX; 10_000];
    sort(&stream, &stream.device().upload(&keys).unwrap(), 32, &mut workspace).unwrap();
    assert!(stream.download_vec(workspace.order()).unwrap().into_iter().eq(0..10_000));
}

/// A forest on the device, and the search that it should agree with.
fn on_device(stream: &Stream, n: usize, edges: &Edges) -> (Rooting, Rooted) {
    let device = stream.device();
    let mut rooting = Rooting::new(device);
    let buffer = upload(device, edges);
    Rooter::new(device).unwrap().edges(stream, n, &buffer, Roots::Each, &mut rooting).unwrap();
    (rooting, search(n, edges, &roots_of(&labels(n, edges))))
}

fn upload(device: &Device, edges: &[[i32; 2]]) -> Buffer<I32x2> {
    device.upload(&edges.iter().map(|&edge| edge.into()).collect::<Vec<_>>()).unwrap()
}

/// Compares all sums with those by parents, added up by `plus`.
fn check_sums<V: Weight + std::fmt::Debug>(
    n: usize,
    weight: impl Fn(usize) -> V,
    plus: impl Fn(V, V) -> V,
    agree: impl Fn(V, V) -> bool,
) {
    let stream = Device::best().unwrap().stream().unwrap();
    let mut sums = TreeSums::<V>::new(stream.device()).unwrap();
    for (name, edges) in shapes(n, 11) {
        for edges in [forest(&edges, 2), edges] {
            let (rooting, tree) = on_device(&stream, n, &edges);
            let weights: Vec<V> = (0..n).map(&weight).collect();
            let (mut paths, mut subtrees) = (weights.clone(), weights.clone());
            let mut order: Vec<usize> = (0..n).collect();
            order.sort_by_key(|&v| tree.preorder[v]);
            for &v in &order {
                if let Ok(parent) = usize::try_from(tree.parent[v]) {
                    paths[v] = plus(paths[parent], weights[v]);
                }
            }
            for &v in order.iter().rev() {
                if let Ok(parent) = usize::try_from(tree.parent[v]) {
                    subtrees[parent] = plus(subtrees[parent], subtrees[v]);
                }
            }
            let weights = stream.device().upload(&weights).unwrap();
            let mut found = stream.device().alloc(n).unwrap();
            sums.paths(&stream, &rooting, &weights, &mut found).unwrap();
            for (v, (found, &expected)) in stream.download_vec(&found).unwrap().into_iter().zip(&paths).enumerate() {
                assert!(agree(found, expected), "path to {v} in {name} of {n}: {found:?} for {expected:?}");
            }
            sums.subtrees(&stream, &rooting, &weights, &mut found).unwrap();
            for (v, (found, &expected)) in stream.download_vec(&found).unwrap().into_iter().zip(&subtrees).enumerate() {
                assert!(agree(found, expected), "subtree of {v} in {name} of {n}: {found:?} for {expected:?}");
            }
        }
    }
}

#[test]
fn sums_of_every_type() {
    let hash = |i: usize| (i as u32).wrapping_mul(2_654_435_769) >> 16;
    for n in [1, 2, 33, 1000] {
        // Wraps around often.
        check_sums::<i32>(n, |i| (hash(i) as i32).wrapping_mul(65_521), i32::wrapping_add, |a, b| a == b);
        check_sums::<i64>(n, |i| i64::from(hash(i)) << 47, i64::wrapping_add, |a, b| a == b);
        // Whole numbers are exact in any order.
        check_sums::<f32>(n, |i| (hash(i) % 256) as f32 - 99.0, |a, b| a + b, |a, b| a == b);
        check_sums::<f64>(n, |i| f64::from(hash(i)) - 9e4, |a, b| a + b, |a, b| a == b);
        // The bound of the documentation, and the reference's own error.
        let bound = n as f64 * (n + 64) as f64 * f64::EPSILON;
        check_sums::<f64>(n, |i| f64::from(hash(i)) / 65_536.0 - 0.5, |a, b| a + b, move |a, b| (a - b).abs() <= bound);
    }
}

#[test]
fn sums_want_a_weight_for_each_vertex() {
    let stream = Device::best().unwrap().stream().unwrap();
    let (rooting, _) = on_device(&stream, 2, &vec![[0, 1]]);
    let mut sums = TreeSums::<i32>::new(stream.device()).unwrap();
    let (weights, mut found) = (stream.device().upload(&[1, 2, 3]).unwrap(), stream.device().alloc(2).unwrap());
    let error = sums.paths(&stream, &rooting, &weights, &mut found).unwrap_err();
    assert_eq!(error, TreeError::Length { what: "weights", found: 3, expected: 2 });
}

#[test]
fn lowest_common_ancestors() {
    let stream = Device::best().unwrap().stream().unwrap();
    let device = stream.device();
    let mut ancestors = Ancestors::new(device).unwrap();
    for n in [1, 2, 31, 32, 33, 64, 65, 1000, 5000] {
        for (name, edges) in shapes(n, 13) {
            for edges in [forest(&edges, 2), edges] {
                let (rooting, tree) = on_device(&stream, n, &edges);
                ancestors.build(&stream, &rooting).unwrap();
                let mut random = Random::new(n as u64);
                // Of paths, fewer: the way up is long.
                let queries = if n > 1000 { 200 } else { 2000 };
                let mut pairs: Edges = (0..queries).map(|_| [(); 2].map(|()| random.below(n) as i32)).collect();
                pairs.extend((0..n.min(40) as i32).map(|v| [v, v]));
                pairs.extend((0..n).take(100).map(|v| [tree.parent[v].max(0), v as i32]));
                let mut found = device.alloc(pairs.len()).unwrap();
                ancestors.of(&stream, &upload(device, &pairs), &mut found).unwrap();
                for ([u, v], found) in pairs.into_iter().zip(stream.download_vec(&found).unwrap()) {
                    let (mut a, mut b) = (u, v);
                    while a != b && a >= 0 && b >= 0 {
                        let (depth_a, depth_b) = (tree.depth[a as usize], tree.depth[b as usize]);
                        if depth_a >= depth_b {
                            a = tree.parent[a as usize];
                        }
                        if depth_b >= depth_a {
                            b = tree.parent[b as usize];
                        }
                    }
                    let expected = if a == b { a } else { -1 };
                    assert_eq!(found, expected, "of {u} and {v} in {name} of {n}");
                }
            }
        }
    }
    let pairs = upload(device, &[[0, 4999], [5000, 1], [3, -1]]);
    let error = ancestors.of(&stream, &pairs, &mut device.alloc(3).unwrap()).unwrap_err();
    assert_eq!(error, TreeError::PairOutOfRange { pair: 1, ends: [5000, 1], n: 5000 });
    // A forest of nothing has no questions.
    let (rooting, _) = on_device(&stream, 0, &Edges::new());
    ancestors.build(&stream, &rooting).unwrap();
    ancestors.of(&stream, &upload(device, &[]), &mut device.alloc(0).unwrap()).unwrap();
    let error = ancestors.of(&stream, &upload(device, &[[0, 0]]), &mut device.alloc(1).unwrap()).unwrap_err();
    assert_eq!(error, TreeError::PairOutOfRange { pair: 0, ends: [0, 0], n: 0 });
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
    // Of both directions, one is there twice and another is missing.
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
    // Two circles that share vertex 0. Where they take turns around it, one tour goes around both. Two vertices of seven
    // are left over, so that the edges are as many as a tree's.
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
        return eprintln!("skipped: no GPU");
    }
    large(1_000_000);
}

#[test]
#[ignore = "takes a minute on a CPU"]
fn a_million_vertices() {
    large(1_000_000);
}
