//! Trees: the Euler tour of a forest, and what is read off it.
//!
//! The tour enters each vertex once and leaves it once: it is the sequence of 2n parentheses that a depth-first search
//! writes. As a list, the tour of an edge list ([`edges`]) or of a parent array ([`parents`]) takes a few local rules;
//! list ranking ([`list_rank`](super::list_rank)) gives each parenthesis its position. From the positions alone come
//! preorder numbers, depths and sizes ([`tour`]), sums ([`sums`]), and lowest common ancestors ([`lca`]).
//!
//! The positions that enter and leave vertex v are those of its two parentheses. With p = v's
//! preorder number, d its depth and s the size of its subtree, these are at 2p - d and 2p - d + 2s
//! - 1, and its postorder number is p - d + s - 1.
//!
//! Source: R. E. Tarjan and U. Vishkin, *An efficient parallel biconnectivity algorithm*, SIAM J. Comput. 14 (1985).

pub mod edges;
pub mod lca;
pub mod parents;
pub mod sums;
pub mod tour;

/// Findings about the input.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, bytemuck::Pod, bytemuck::Zeroable)]
pub struct Status {
    /// Entries that no tree has: indices out of range, and vertices joined with themselves.
    pub bad: u32,
    /// Edges (u, v) with u < v.
    pub ascending: u32,
    /// Vertices without a parent.
    pub roots: u32,
    /// Vertices without an edge that aren't roots.
    pub loose: u32,
    /// Edges that don't mirror one of the tree's.
    pub unmirrored: u32,
    /// Always 0: pads the structure.
    pub reserved: u32,
    /// The sum of a hash of each edge (u, v) with u < v, less those of the other edges: 0 if all
    /// edges are given in both directions.
    pub difference: u64,
}

/// The positions of vertex i's two parentheses, by element: the earlier, and the later.
#[inline(always)]
fn visits(positions: &[i32], i: usize) -> (u32, u32) {
    let (a, b) = (positions[2 * i] as u32, positions[2 * i + 1] as u32);
    (a.min(b), a.max(b))
}
