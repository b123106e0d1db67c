//! Graphs to measure and to test with. A seed gives the same ones everywhere.

use rayon::prelude::*;

use super::EdgeList;
use gpu_kernels::list_rank::generate::mix;

/// A number from 0 to 2^64 - 1 for each pair of numbers.
fn hash(seed: u64, index: u64) -> u64 {
    mix(mix(seed ^ 0x9e37_79b9_7f4a_7c15).wrapping_add(index))
}

/// A street map: `rows` times `columns` crossings in a grid, with streets between neighbours,
/// except for the share `missing`, which is left out at random. Crossings are numbered by rows.
///
/// # Panics
/// Where there are 2^31 crossings or more.
pub fn grid(rows: usize, columns: usize, missing: f64, seed: u64) -> EdgeList {
    let vertices = checked(rows.checked_mul(columns));
    let left_out = |street: usize| ((hash(seed, street as u64) >> 11) as f64) < missing * (1u64 << 53) as f64;
    let streets = |vertex: usize| {
        let right = (vertex % columns + 1 < columns).then_some((2 * vertex, vertex + 1));
        let down = (vertex / columns + 1 < rows).then_some((2 * vertex + 1, vertex + columns));
        let there = right.into_iter().chain(down).filter(|&(street, _)| !left_out(street));
        there.map(move |(_, other)| [vertex as i32, other as i32])
    };
    EdgeList { vertices, edges: (0..vertices).into_par_iter().flat_map_iter(streets).collect(), arcs: false }
}

/// R-MAT (D. Chakrabarti, Y. Zhan and C. Faloutsos, SDM 2004) with the probabilities of Graph500,
/// 0.57, 0.19, 0.19 and 0.05: 2^`scale` vertices and `degree` times as many edges, with loops and
/// double edges. Few vertices have many edges, and many have none.
///
/// # Panics
/// Where there are 2^31 vertices or edges, or more.
pub fn rmat(scale: u32, degree: usize, seed: u64) -> EdgeList {
    let vertices = checked(1usize.checked_shl(scale));
    let count = checked(vertices.checked_mul(degree));
    let edge = |edge: usize| {
        let (mut u, mut v, mut bits) = (0, 0, 0);
        for level in 0..scale {
            // 16 bits each: a 65,536th more or less in 0.57.
            bits = if level % 4 == 0 { hash(seed, edge as u64 * 8 + u64::from(level / 4)) } else { bits >> 16 };
            let (down, right) = match bits as u16 {
                0..37_356 => (0, 0),
                37_356..49_808 => (0, 1),
                49_808..62_260 => (1, 0),
                _ => (1, 1),
            };
            (u, v) = (2 * u + down, 2 * v + right);
        }
        [u, v]
    };
    EdgeList { vertices, edges: (0..count).into_par_iter().map(edge).collect(), arcs: false }
}

/// `edges` edges between any two of `vertices`, all equally likely, with loops and double edges.
///
/// # Panics
/// Where there are 2^31 vertices or edges, or more; or edges and no vertices.
pub fn random(vertices: usize, edges: usize, seed: u64) -> EdgeList {
    let (n, m) = (checked(Some(vertices)) as u64, checked(Some(edges)));
    assert!(n > 0 || m == 0, "there are {m} edges and no vertices");
    let edge = |edge: usize| {
        let bits = hash(seed, edge as u64);
        [bits >> 32, bits & 0xffff_ffff].map(|half| ((half * n) >> 32) as i32)
    };
    EdgeList { vertices, edges: (0..m).into_par_iter().map(edge).collect(), arcs: false }
}

/// `count` cliques of `size` vertices with an edge from each clique to the next: the edges between
/// them are bridges.
///
/// # Panics
/// Where there are 2^31 vertices or edges, or more.
pub fn cliques(count: usize, size: usize) -> EdgeList {
    let vertices = checked(count.checked_mul(size));
    checked(vertices.checked_mul(size));
    let of_vertex = |vertex: usize| {
        let end = (vertex / size + 1) * size;
        // The last of a clique and the first of the next one.
        let end = if vertex + 1 == end && end < vertices { end + 1 } else { end };
        (vertex + 1..end).map(move |other| [vertex as i32, other as i32])
    };
    EdgeList { vertices, edges: (0..vertices).into_par_iter().flat_map_iter(of_vertex).collect(), arcs: false }
}

fn checked(count: Option<usize>) -> usize {
    match count {
        Some(count) if i32::try_from(count).is_ok() => count,
        _ => panic!("there are too many vertices or edges for 31 bits"),
    }
}
