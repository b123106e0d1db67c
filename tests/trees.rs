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
            let came_by = arcs[child].iter().position(|arc| arc.0 == edge).unwrap();
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
