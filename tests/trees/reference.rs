//! Trees of every shape, and a depth-first search that does one thing after another.

use cuda_std::I32x2;
use rand_chacha::{
    ChaCha8Rng,
    rand_core::{RngCore, SeedableRng},
};
use warpsmith::{
    device::{Buffer, Device, Stream},
    trees::{Rooted, Rooter, Rooting, Roots},
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

/// A search that takes children in order, whichever way it came.
pub fn children_in_order(n: usize, down: &[[i32; 2]], roots: &[usize]) -> Rooted {
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
