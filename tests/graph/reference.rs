//! The plainest answers there are: union-find, and Hopcroft's and Tarjan's depth-first search, of which small graphs are
//! tested by removing each edge and vertex.

use warpsmith::graph::{EdgeList, biconnected_sequentially, bridges_sequentially, components_sequentially};

/// All results for a graph.
#[derive(Debug, PartialEq)]
pub struct Answer {
    pub components: Vec<i32>,
    pub bridges: Vec<i32>,
    /// The smallest vertex of each vertex's 2-edge-connected component.
    pub parts: Vec<i32>,
    /// The label of each edge's biconnected component.
    pub blocks: Vec<i32>,
    pub points: Vec<i32>,
}

impl Answer {
    /// Returns the number of different labels of edges.
    pub fn count(&self) -> usize {
        let mut labels: Vec<_> = self.blocks.iter().filter(|&&label| label >= 0).collect();
        labels.sort_unstable();
        labels.dedup();
        labels.len()
    }
}

/// The smallest vertex of each vertex's set, where these edges unite.
pub fn sets<'a>(vertices: usize, edges: impl Iterator<Item = &'a [i32; 2]>) -> Vec<i32> {
    let mut parents: Vec<usize> = (0..vertices).collect();
    fn find(parents: &mut [usize], mut vertex: usize) -> usize {
        while parents[vertex] != vertex {
            parents[vertex] = parents[parents[vertex]];
            vertex = parents[vertex];
        }
        vertex
    }
    for &[u, v] in edges {
        let (a, b) = (find(&mut parents, u as usize), find(&mut parents, v as usize));
        parents[a.max(b)] = a.min(b);
    }
    (0..vertices).map(|vertex| find(&mut parents, vertex) as i32).collect()
}

/// Everything about a graph.
pub fn answer(graph: &EdgeList) -> Answer {
    let components = components_sequentially(graph).unwrap();
    assert_eq!(components, sets(graph.vertices, graph.edges.iter()));
    let (bridges, parts) = bridges_sequentially(graph).unwrap();
    let (blocks, points) = biconnected_sequentially(graph).unwrap();
    Answer { components, bridges, parts, blocks, points }
}

#[test]
fn the_reference_is_right_of_small_graphs() {
    // Bridges and articulation points by the components that are left without them.
    for seed in 0..300 {
        let n = 1 + seed as usize % 7;
        let graph = warpsmith::graph::generate::random(n, (seed as usize * 7) % 13, seed);
        let found = answer(&graph);
        let count = |labels: &[i32]| labels.iter().enumerate().filter(|&(vertex, &label)| label == vertex as i32).count();
        let components = count(&found.components);
        for edge in 0..graph.edges.len() {
            let others = graph.edges.iter().enumerate().filter(|&(other, _)| other != edge).map(|(_, edge)| edge);
            assert_eq!(found.bridges.contains(&(edge as i32)), count(&sets(n, others)) > components, "{graph:?}");
        }
        for vertex in 0..n as i32 {
            let others = graph.edges.iter().filter(|ends| !ends.contains(&vertex));
            // The vertex is a component of its own then.
            let is_alone = graph.edges.iter().all(|&[u, v]| u == v || (u != vertex && v != vertex));
            let left = count(&sets(n, others)) - usize::from(!is_alone);
            assert_eq!(found.points.contains(&vertex), left > components, "{vertex} {graph:?}");
        }
        // Two edges are in one component if they are on a cycle: no third vertex is between them.
        for (a, &[u, v]) in graph.edges.iter().enumerate().filter(|(_, [u, v])| u != v) {
            for (b, &[w, x]) in graph.edges.iter().enumerate().filter(|(_, [w, x])| w != x) {
                let mut together = found.components[u as usize] == found.components[w as usize];
                for vertex in 0..n as i32 {
                    let labels = sets(n, graph.edges.iter().filter(|ends| !ends.contains(&vertex)));
                    let end = |ends: [i32; 2]| labels[ends.into_iter().find(|&end| end != vertex).unwrap() as usize];
                    together &= end([u, v]) == end([w, x]);
                }
                assert_eq!(found.blocks[a] == found.blocks[b], together, "{a} {b} {graph:?}");
            }
        }
    }
}
