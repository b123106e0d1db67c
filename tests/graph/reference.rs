//! The plainest answers there are: union-find, and Hopcroft's and Tarjan's depth-first search.

use std::collections::HashMap;

use warpsmith::graph::EdgeList;

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
    if graph.arcs {
        return of_arcs(graph);
    }
    let (n, m) = (graph.vertices, graph.edges.len());
    let mut neighbours = vec![Vec::new(); n];
    for (edge, &[u, v]) in graph.edges.iter().enumerate().filter(|(_, [u, v])| u != v) {
        neighbours[u as usize].push((v as usize, edge));
        neighbours[v as usize].push((u as usize, edge));
    }
    let (mut seen, mut low) = (vec![0; n], vec![0; n]);
    let mut is_bridge = vec![false; m];
    let mut is_point = vec![false; n];
    let mut blocks = vec![-1; m];
    let mut time = 0;
    for root in 0..n {
        if seen[root] > 0 {
            continue;
        }
        time += 1;
        (seen[root], low[root]) = (time, time);
        // Vertices on the way, the edge that led to each, and how many of its neighbours were looked at.
        let mut path = vec![(root, usize::MAX, 0)];
        let mut edges = Vec::new();
        let mut children = 0;
        while let Some((vertex, from, next)) = path.last_mut() {
            let (vertex, from) = (*vertex, *from);
            if let Some(&(other, edge)) = neighbours[vertex].get(*next) {
                *next += 1;
                if edge == from {
                } else if seen[other] == 0 {
                    time += 1;
                    (seen[other], low[other]) = (time, time);
                    edges.push(edge);
                    path.push((other, edge, 0));
                } else if seen[other] < seen[vertex] {
                    edges.push(edge);
                    low[vertex] = low[vertex].min(seen[other]);
                }
                continue;
            }
            path.pop();
            let Some(&(above, ..)) = path.last() else { break };
            low[above] = low[above].min(low[vertex]);
            is_bridge[from] = low[vertex] > seen[above];
            if low[vertex] >= seen[above] {
                children += usize::from(above == root);
                is_point[above] |= above != root || children > 1;
                let start = edges.iter().rposition(|&edge| edge == from).unwrap();
                let block = edges.split_off(start);
                let ends = block.iter().flat_map(|&edge| graph.edges[edge]).filter(|&end| end as usize != above);
                let label = ends.min().unwrap();
                block.into_iter().for_each(|edge| blocks[edge] = label);
            }
        }
    }
    let places = |flags: &[bool]| (0..flags.len()).filter(|&place| flags[place]).map(|place| place as i32).collect();
    let kept = graph.edges.iter().zip(&is_bridge).filter(|(_, is_bridge)| !**is_bridge).map(|(edge, _)| edge);
    Answer {
        components: sets(n, graph.edges.iter()),
        bridges: places(&is_bridge),
        parts: sets(n, kept),
        blocks,
        points: places(&is_point),
    }
}

/// The same where edges between the same vertices are one.
fn of_arcs(graph: &EdgeList) -> Answer {
    let mut numbers = HashMap::new();
    let mut edges = Vec::new();
    let number_of: Vec<usize> = graph
        .edges
        .iter()
        .map(|&[u, v]| {
            *numbers.entry([u.min(v), u.max(v)]).or_insert_with(|| {
                edges.push([u, v]);
                edges.len() - 1
            })
        })
        .collect();
    let one = answer(&EdgeList { vertices: graph.vertices, edges, arcs: false });
    let mut is_bridge = vec![false; numbers.len()];
    one.bridges.iter().for_each(|&bridge| is_bridge[bridge as usize] = true);
    Answer {
        bridges: (0..graph.edges.len()).filter(|&edge| is_bridge[number_of[edge]]).map(|edge| edge as i32).collect(),
        blocks: number_of.iter().map(|&number| one.blocks[number]).collect(),
        ..one
    }
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
