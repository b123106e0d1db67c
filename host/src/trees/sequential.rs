//! Small forests, on the calling thread.

use super::{
    Rooted,
    check::{diagnose_edges, diagnose_parents},
    error::TreeError,
    roots::Roots,
};
use crate::device::{Backend, Device};

/// Returns the largest number of vertices and edges of a graph in host memory that one thread works on in less time than the
/// device, whose work takes many launches.
pub fn small(device: &Device) -> usize {
    if device.backend() == Backend::Cuda { 1 << 12 } else { 1 << 15 }
}

/// Roots a forest as [`root`](super::root) does, by a depth-first search on the calling thread.
pub fn root_sequentially(n: usize, edges: &[[i32; 2]], roots: Roots<&[i32]>) -> Result<Rooted, TreeError> {
    diagnose_edges(n, edges, roots)?;
    let mirrored = edges.first().is_some_and(|&[u, v]| edges.contains(&[v, u]));
    let once: Vec<_> = edges.iter().copied().filter(|[u, v]| !mirrored || u < v).collect();
    Ok(match roots {
        Roots::At(root) => search(n, &once, [root as usize]),
        Roots::Labels(labels) => search(n, &once, (0..n).filter(|&vertex| labels[vertex] == vertex as i32)),
        Roots::Each => search(n, &once, 0..n),
    })
}

/// Roots a forest as [`root_parents`](super::root_parents) does, by a depth-first search on the calling thread.
pub fn root_parents_sequentially(parents: &[i32], root: Option<i32>) -> Result<Rooted, TreeError> {
    diagnose_parents(parents, root)?;
    let n = parents.len();
    let mut children = vec![Vec::new(); n];
    let has_parent = |&vertex: &usize| parents[vertex] >= 0;
    (0..n).filter(has_parent).for_each(|vertex| children[parents[vertex] as usize].push(vertex));
    let mut order: Vec<usize> = (0..n).filter(|vertex| !has_parent(vertex)).collect();
    let roots = order.clone();
    for place in 0..n {
        order.extend(&children[order[place]]);
    }
    // Edges from the leaves up: each vertex's last one leads to its parent, after which the search begins with the first.
    let up = |&vertex: &usize| children[vertex].iter().map(move |&child| [vertex as i32, child as i32]);
    let edges: Vec<_> = order.iter().rev().flat_map(up).collect();
    Ok(search(n, &edges, roots))
}

/// Searches from each root that was not reached from one before. Takes each vertex's neighbours in the order of their edges,
/// beginning after the one that it came by.
fn search(n: usize, edges: &[[i32; 2]], roots: impl IntoIterator<Item = usize>) -> Rooted {
    // The arcs out of each vertex: the edge, and where it leads.
    let mut arcs = vec![Vec::new(); n];
    for (edge, &[u, v]) in edges.iter().enumerate() {
        arcs[u as usize].push((edge, v as usize));
        arcs[v as usize].push((edge, u as usize));
    }
    let (mut trees, mut parent, mut depth, mut size) = (0, vec![-1; n], vec![0; n], vec![1; n]);
    let [mut preorder, mut postorder, mut first, mut last] = [(); 4].map(|()| vec![-1; n]);
    let [mut entered, mut left, mut steps] = [0; 3];
    for root in roots {
        if preorder[root] >= 0 {
            continue;
        }
        trees += 1;
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
    Rooted { trees, parent, depth, size, preorder, postorder, first, last }
}

impl Rooted {
    /// Returns the lowest common ancestors of pairs as [`Ancestors`](super::Ancestors) does, by steps from vertex to parent.
    ///
    /// # Errors
    /// A pair isn't of vertices: the first such.
    pub fn ancestors(&self, pairs: &[[i32; 2]]) -> Result<Vec<i32>, TreeError> {
        let n = self.parent.len();
        let is_vertex = |vertex: &i32| (0..n as i32).contains(vertex);
        if let Some((pair, &ends)) = pairs.iter().enumerate().find(|(_, ends)| !ends.iter().all(is_vertex)) {
            return Err(TreeError::PairOutOfRange { pair, ends, n });
        }
        let of = |&[mut vertex, other]: &[i32; 2]| {
            let number = self.preorder[other as usize];
            while vertex >= 0 {
                let (first, size) = (self.preorder[vertex as usize], self.size[vertex as usize]);
                if (first..first + size).contains(&number) {
                    break;
                }
                vertex = self.parent[vertex as usize];
            }
            vertex
        };
        Ok(pairs.iter().map(of).collect())
    }
}
