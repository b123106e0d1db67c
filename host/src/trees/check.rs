//! Diagnoses invalid forests on the host.

use rayon::prelude::*;

use super::{
    error::TreeError,
    roots::{Roots, check_roots},
};

/// The vertices' sets: each points to another of its set, or is its set's least vertex.
pub(crate) struct Sets(Vec<u32>);

impl Sets {
    pub fn new(n: usize) -> Self {
        Sets((0..n as u32).collect())
    }

    pub fn find(&mut self, mut v: usize) -> usize {
        while self.0[v] as usize != v {
            self.0[v] = self.0[self.0[v] as usize];
            v = self.0[v] as usize;
        }
        v
    }

    /// Joins two vertices' sets; false where they are one.
    pub fn join(&mut self, [u, v]: [i32; 2]) -> bool {
        let (u, v) = (self.find(u as usize), self.find(v as usize));
        self.0[u.max(v)] = u.min(v) as u32;
        u != v
    }
}

/// Returns the first flaw of the edges of a forest of `n` vertices: the first edge that is out of
/// range or joins a vertex with itself; otherwise the first that repeats another, unless all edges
/// are given in both directions; otherwise the first that closes a circle; otherwise the first
/// vertex that has no root, or more than one.
///
/// # Errors
/// The forest is invalid.
pub fn diagnose_edges(n: usize, edges: &[[i32; 2]], roots: Roots<&[i32]>) -> Result<(), TreeError> {
    if edges.len() > i32::MAX as usize {
        return Err(TreeError::TooManyEdges { m: edges.len() });
    }
    check_roots(n, roots.map(<[i32]>::len))?;
    let is_vertex = |vertex: i32| usize::try_from(vertex).is_ok_and(|vertex| vertex < n);
    for (edge, &ends) in edges.iter().enumerate() {
        if !ends.into_iter().all(is_vertex) {
            return Err(TreeError::EdgeOutOfRange { edge, ends, n });
        }
        if ends[0] == ends[1] {
            return Err(TreeError::SelfLoop { edge, vertex: ends[0] });
        }
    }
    // Edges of the same two ends, and then those of one direction first, in order.
    let key = |&edge: &u32| {
        let [u, v] = edges[edge as usize];
        (u.min(v), u.max(v), u > v, edge)
    };
    let mut order: Vec<u32> = (0..edges.len() as u32).collect();
    order.par_sort_unstable_by_key(key);
    let same = |pair: &[u32]| key(&pair[0]).0 == key(&pair[1]).0 && key(&pair[0]).1 == key(&pair[1]).1;
    let mirrored = !order.is_empty()
        && order.len().is_multiple_of(2)
        && order.chunks(2).all(|pair| same(pair) && !key(&pair[0]).2 && key(&pair[1]).2)
        && order.windows(2).skip(1).step_by(2).all(|pair| !same(pair));
    if !mirrored {
        let repeats = order.windows(2).filter(|pair| same(pair)).map(|pair| (pair[0].max(pair[1]), pair[0].min(pair[1])));
        if let Some((edge, earlier)) = repeats.min() {
            let (edge, earlier) = (edge as usize, earlier as usize);
            return Err(TreeError::Repeated { edge, ends: edges[edge], earlier });
        }
    }
    let mut sets = Sets::new(n);
    for (edge, &ends) in edges.iter().enumerate() {
        let is_mirror = mirrored && ends[0] > ends[1];
        if !is_mirror && !sets.join(ends) {
            return Err(TreeError::Circle { edge, ends });
        }
    }
    match roots {
        Roots::At(root) => {
            let root = root as usize;
            let of_root = sets.find(root);
            match (0..n).find(|&vertex| sets.find(vertex) != of_root) {
                Some(vertex) => Err(TreeError::Unreachable { vertex, root }),
                None => Ok(()),
            }
        }
        Roots::Labels(labels) => {
            let mut roots = vec![0; n];
            (0..n).filter(|&v| labels[v] == v as i32).for_each(|v| roots[sets.find(v)] += 1);
            match (0..n).find(|&v| sets.find(v) == v && roots[v] != 1) {
                Some(vertex) => Err(TreeError::RootsOfTree { vertex, roots: roots[vertex] }),
                None => Ok(()),
            }
        }
        Roots::Each => Ok(()),
    }
}

/// Returns the first flaw of the parents of a forest's vertices: the first parent that is out of
/// range or the vertex itself; otherwise a root that isn't the one asked for, or the lack of one;
/// otherwise the first vertex on a circle.
///
/// # Errors
/// The forest is invalid.
pub fn diagnose_parents(parents: &[i32], root: Option<i32>) -> Result<(), TreeError> {
    let n = parents.len();
    check_roots(n, root.map_or(Roots::Each, Roots::At))?;
    for (vertex, &parent) in parents.iter().enumerate() {
        if parent == vertex as i32 {
            return Err(TreeError::OwnParent { vertex });
        }
        if parent != -1 && !usize::try_from(parent).is_ok_and(|parent| parent < n) {
            return Err(TreeError::ParentOutOfRange { vertex, parent, n });
        }
    }
    if let Some(root) = root {
        let root = root as usize;
        if parents[root] != -1 {
            return Err(TreeError::RootHasParent { root, parent: parents[root] });
        }
        if let Some(vertex) = (0..n).find(|&vertex| vertex != root && parents[vertex] == -1) {
            return Err(TreeError::SecondRoot { vertex, root });
        }
    }
    // The number of the walk that came by, from 1.
    let mut seen = vec![0u32; n];
    let mut on_circle: Option<(usize, usize)> = None;
    for start in 0..n {
        let mut vertex = start;
        while seen[vertex] == 0 {
            seen[vertex] = start as u32 + 1;
            match usize::try_from(parents[vertex]) {
                Ok(parent) => vertex = parent,
                Err(_) => break,
            }
        }
        if parents[vertex] != -1 && seen[vertex] == start as u32 + 1 {
            let mut circle = vec![vertex];
            let mut next = parents[vertex] as usize;
            while next != vertex {
                circle.push(next);
                next = parents[next] as usize;
            }
            let least = circle.iter().copied().min().unwrap_or(vertex);
            if on_circle.is_none_or(|(earlier, _)| least < earlier) {
                on_circle = Some((least, circle.len()));
            }
        }
    }
    match on_circle {
        Some((vertex, length)) => Err(TreeError::Cycle { vertex, length }),
        None => Ok(()),
    }
}
