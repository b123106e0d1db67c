//! Trees of every shape, and a depth-first search that does one thing after another.

use cuda_std::I32x2;
use rand_chacha::{
    ChaCha8Rng,
    rand_core::{RngCore, SeedableRng},
};
use warpsmith::{
    device::{Buffer, Device, Stream},
    trees::{Rooted, Rooter, Rooting, Roots, root_parents_sequentially, root_sequentially},
};

pub type Edges = Vec<[i32; 2]>;

/// Random numbers: `below(n)` gives one below n.
pub struct Random(pub ChaCha8Rng);

impl Random {
    pub fn new(seed: u64) -> Self {
        Random(ChaCha8Rng::seed_from_u64(seed))
    }

    pub fn below(&mut self, n: usize) -> usize {
        ((u128::from(self.0.next_u64()) * n as u128) >> 64) as usize
    }

    pub fn permutation(&mut self, n: usize) -> Vec<i32> {
        let mut labels: Vec<i32> = (0..n as i32).collect();
        self.shuffle(&mut labels);
        labels
    }

    pub fn shuffle<T>(&mut self, items: &mut [T]) {
        for i in (1..items.len()).rev() {
            items.swap(i, self.below(i + 1));
        }
    }
}

/// The edges from each vertex but the first to an earlier one, which `parent` picks, with random labels, in random order
/// and of random directions.
pub fn tree(n: usize, seed: u64, mut parent: impl FnMut(usize, &mut Random) -> usize) -> Edges {
    let mut random = Random::new(seed);
    let labels = random.permutation(n);
    let mut edges: Edges = (1..n).map(|v| [labels[v], labels[parent(v, &mut random)]]).collect();
    random.shuffle(&mut edges);
    edges.iter_mut().filter(|_| random.below(2) == 0).for_each(|edge| edge.reverse());
    edges
}

/// Trees of every shape.
pub fn shapes(n: usize, seed: u64) -> Vec<(&'static str, Edges)> {
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
pub fn forest(edges: &Edges, seed: u64) -> Edges {
    let mut random = Random::new(seed);
    edges.iter().copied().filter(|_| random.below(3) > 0).collect()
}

/// Both directions of all edges, in random order.
pub fn mirrored(edges: &Edges, seed: u64) -> Edges {
    let mut both: Edges = edges.iter().flat_map(|&[u, v]| [[u, v], [v, u]]).collect();
    Random::new(seed).shuffle(&mut both);
    both
}

/// A depth-first search from each root in turn that takes each vertex's neighbours in the order of their edges, beginning
/// after the one that it came by.
pub fn search(n: usize, edges: &[[i32; 2]], roots: &[usize]) -> Rooted {
    let mut labels = vec![-1; n];
    roots.iter().for_each(|&root| labels[root] = root as i32);
    root_sequentially(n, edges, Roots::Labels(&labels)).unwrap()
}

/// The least vertex of each vertex's tree.
pub fn labels(n: usize, edges: &[[i32; 2]]) -> Vec<i32> {
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

pub fn roots_of(labels: &[i32]) -> Vec<usize> {
    (0..labels.len()).filter(|&v| labels[v] == v as i32).collect()
}

/// A search that takes children in order, whichever way it came. Other vertices than children are the roots.
pub fn children_in_order(n: usize, down: &[[i32; 2]]) -> Rooted {
    let mut parents = vec![-1; n];
    down.iter().for_each(|&[parent, child]| parents[child as usize] = parent);
    root_parents_sequentially(&parents, None).unwrap()
}

/// A forest on the device, and the search that it should agree with.
pub fn on_device(stream: &Stream, n: usize, edges: &Edges) -> (Rooting, Rooted) {
    let device = stream.device();
    let mut rooting = Rooting::new(device);
    let buffer = upload(device, edges);
    Rooter::new(device).unwrap().edges(stream, n, &buffer, Roots::Each, &mut rooting).unwrap();
    (rooting, search(n, edges, &roots_of(&labels(n, edges))))
}

pub fn upload(device: &Device, edges: &[[i32; 2]]) -> Buffer<I32x2> {
    device.upload(&edges.iter().map(|&edge| edge.into()).collect::<Vec<_>>()).unwrap()
}
