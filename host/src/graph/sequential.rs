//! Small graphs, on the calling thread: Tarjan's and Hopcroft's depth-first search.

use std::collections::HashMap;

use super::{EdgeList, GraphError, MOST};
use crate::{components::EdgeError, trees::Sets};

/// Labels vertices as [`components`](super::components) does, on the calling thread.
///
/// # Errors
/// An edge's end is no vertex: the first such edge.
pub fn components_sequentially(graph: &EdgeList) -> Result<Vec<i32>, GraphError> {
    check(graph)?;
    Ok(sets(graph.vertices, &graph.edges))
}

/// Finds bridges as [`bridges`](super::bridges) does, on the calling thread.
pub fn bridges_sequentially(graph: &EdgeList) -> Result<(Vec<i32>, Vec<i32>), GraphError> {
    check(graph)?;
    let (n, edges) = (graph.vertices, &graph.edges);
    let is_bridge = if graph.arcs {
        // Arcs between the same vertices are one edge.
        let (mut numbers, mut once) = (HashMap::new(), Vec::new());
        let mut number = |&[u, v]: &[i32; 2]| {
            *numbers.entry([u.min(v), u.max(v)]).or_insert_with(|| {
                once.push([u, v]);
                once.len() - 1
            })
        };
        let numbers: Vec<usize> = edges.iter().map(&mut number).collect();
        let is_bridge = search(n, &once).is_bridge;
        numbers.into_iter().map(|number| is_bridge[number]).collect()
    } else {
        search(n, edges).is_bridge
    };
    let others = edges.iter().zip(&is_bridge).filter(|(_, is_bridge)| !**is_bridge).map(|(edge, _)| edge);
    Ok((places(&is_bridge), sets(n, others)))
}

/// Finds biconnected components as [`biconnected`](super::biconnected) does, on the calling thread.
pub fn biconnected_sequentially(graph: &EdgeList) -> Result<(Vec<i32>, Vec<i32>), GraphError> {
    check(graph)?;
    let Search { blocks, is_point, .. } = search(graph.vertices, &graph.edges);
    Ok((blocks, places(&is_point)))
}

/// Checks that edges are between the vertices.
fn check(graph: &EdgeList) -> Result<(), GraphError> {
    let vertices = graph.vertices;
    for (what, count) in [("vertices", vertices), ("edges", graph.edges.len())] {
        if count > MOST {
            return Err(EdgeError::TooMany { what, count }.into());
        }
    }
    let is_vertex = |vertex: &i32| usize::try_from(*vertex).is_ok_and(|vertex| vertex < vertices);
    match graph.edges.iter().enumerate().find(|(_, ends)| !ends.iter().all(is_vertex)) {
        Some((edge, &[u, v])) => Err(EdgeError::OutOfRange { edge, u, v, vertices }.into()),
        None => Ok(()),
    }
}

/// Returns the smallest vertex of each vertex's set, where these edges unite.
fn sets<'a>(n: usize, edges: impl IntoIterator<Item = &'a [i32; 2]>) -> Vec<i32> {
    let mut sets = Sets::new(n);
    for &edge in edges {
        sets.join(edge);
    }
    (0..n).map(|vertex| sets.find(vertex) as i32).collect()
}

/// Returns the places of the flags that are true, ascending.
fn places(flags: &[bool]) -> Vec<i32> {
    (0..).zip(flags).filter(|&(_, &flag)| flag).map(|(place, _)| place).collect()
}

struct Search {
    is_bridge: Vec<bool>,
    is_point: Vec<bool>,
    /// The label of each edge's biconnected component.
    blocks: Vec<i32>,
}

/// Searches a graph whose edges each count.
fn search(n: usize, edges: &[[i32; 2]]) -> Search {
    let m = edges.len();
    let mut neighbours = vec![Vec::new(); n];
    for (edge, &[u, v]) in edges.iter().enumerate().filter(|(_, [u, v])| u != v) {
        neighbours[u as usize].push((v as usize, edge));
        neighbours[v as usize].push((u as usize, edge));
    }
    // The time at which a vertex is seen, and the earliest that is reached from below it.
    let (mut seen, mut low) = (vec![0; n], vec![0; n]);
    let mut found = Search { is_bridge: vec![false; m], is_point: vec![false; n], blocks: vec![-1; m] };
    let mut time = 0;
    for root in 0..n {
        if seen[root] > 0 {
            continue;
        }
        time += 1;
        (seen[root], low[root]) = (time, time);
        // Vertices on the way, the edge that led to each, and how many of its neighbours were looked at.
        let mut path = vec![(root, usize::MAX, 0)];
        let mut open = Vec::new();
        let mut children = 0;
        while let Some((vertex, from, next)) = path.last_mut() {
            let (vertex, from) = (*vertex, *from);
            if let Some(&(other, edge)) = neighbours[vertex].get(*next) {
                *next += 1;
                if edge == from {
                } else if seen[other] == 0 {
                    time += 1;
                    (seen[other], low[other]) = (time, time);
                    open.push(edge);
                    path.push((other, edge, 0));
                } else if seen[other] < seen[vertex] {
                    open.push(edge);
                    low[vertex] = low[vertex].min(seen[other]);
                }
                continue;
            }
            path.pop();
            let Some(&(above, ..)) = path.last() else { break };
            low[above] = low[above].min(low[vertex]);
            found.is_bridge[from] = low[vertex] > seen[above];
            if low[vertex] >= seen[above] {
                children += usize::from(above == root);
                found.is_point[above] |= above != root || children > 1;
                let start = open.iter().rposition(|&edge| edge == from).unwrap_or(0);
                let ends = open[start..].iter().flat_map(|&edge| edges[edge]).filter(|&end| end as usize != above);
                let label = ends.min().unwrap_or(-1);
                open.drain(start..).for_each(|edge| found.blocks[edge] = label);
            }
        }
    }
    found
}
