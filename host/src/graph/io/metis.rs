//! The format of METIS, which the 10th DIMACS challenge has, too: the neighbours of each vertex.

use std::path::Path;

use rayon::prelude::*;

use super::{MOST, Wanted, Weights, add, keep, none, numbered, too_many, vertex};
use crate::{
    graph::Graph,
    io::{Lines, Reason, at, collect, declared, number, push, words},
};

/// Reads a graph. Each edge is in the lines of both its vertices, with one weight.
pub(super) fn read(path: &Path, mut wanted: Wanted<'_>) -> Result<Graph, Reason> {
    let mut lines = Lines::open(path)?;
    // A blank line is a vertex without neighbours, but none before the header.
    let next = |lines: &mut Lines| -> Result<bool, Reason> {
        while lines.next()? {
            if !lines.line().starts_with(b"%") {
                return Ok(true);
            }
        }
        Ok(false)
    };
    let mut header = Vec::new();
    while header.is_empty() && next(&mut lines)? {
        header = words(lines.line()).map(<[u8]>::to_vec).collect();
    }
    let numbers: Vec<_> = header.iter().map(|word| number(word)).collect();
    let (Some(&Some(vertices)), Some(&Some(edges)), 2..=4) = (numbers.first(), numbers.get(1), numbers.len()) else {
        return Err(lines.error("the header must be `VERTICES EDGES [FORMAT [WEIGHTS]]`"));
    };
    if vertices > MOST as u64 || edges > MOST as u64 / 2 {
        let (count, what) = if vertices > MOST as u64 { (vertices, "vertices") } else { (edges, "edges") };
        return Err(lines.error(too_many(what, count)));
    }
    let has = |digit: usize| header.get(2).is_some_and(|format| format.iter().rev().nth(digit) == Some(&b'1'));
    if header.get(2).is_some_and(|format| format.len() > 3 || format.iter().any(|digit| !b"01".contains(digit))) {
        return Err(lines.error("the format must be up to three digits 0 or 1: sizes, weights of vertices, weights of edges"));
    }
    if !has(0) {
        none(&wanted, "its edges have").map_err(|reason| lines.error(reason))?;
    }
    let weights = if has(1) { numbers.get(3).copied().flatten().unwrap_or(1) } else { 0 };
    let before = usize::from(has(2)).saturating_add(weights as usize);
    let mut found = Vec::new();
    // Edges from larger to smaller vertices: the line, and the ends in ascending order.
    let (mut others, mut of_others) = (Vec::new(), wanted.as_ref().map(|_| Weights::default()));
    for from in 1..=vertices {
        if !next(&mut lines)? {
            return Err(format!("ends after {} of {vertices} vertices", from - 1).into());
        }
        let mut words = words(lines.line()).skip(before);
        while let Some(word) = words.next() {
            let to = vertex(&lines, word, 1, vertices)?;
            let weight = if has(0) { words.next() } else { Some(&b""[..]) };
            let Some(weight) = weight else {
                return Err(lines.error(format_args!("the edge to vertex {to} has no weight")));
            };
            // Each edge once.
            let is_back = from > to;
            let mut weights = if is_back { of_others.as_mut() } else { wanted.as_deref_mut() };
            keep(&mut weights, std::str::from_utf8(weight).ok(), |reason| lines.error(reason))?;
            if is_back {
                push(&mut others, (lines.number(), [to - 1, from - 1].map(|end| end as i32)))?;
            } else {
                add(&mut found, [from - 1, to - 1])?;
            }
        }
    }
    while next(&mut lines)? {
        if !lines.line().trim_ascii().is_empty() {
            return Err(lines.error(format_args!("there is more after the {vertices} vertices that were announced")));
        }
    }
    let mut forth = collect(0..found.len())?;
    forth.retain(|&edge| found[edge][0] != found[edge][1]);
    if forth.len() != others.len() || found.len() as u64 != edges {
        return Err(format!(
            "has {} edges from smaller to larger vertices and {} back, but announces {edges}, each in both directions",
            found.len(),
            others.len()
        )
        .into());
    }
    let [of_found, of_others] = [wanted.as_deref(), of_others.as_ref()];
    let value = |weights: Option<&Weights>, edge| weights.map_or(0.0, |weights| weights.value(edge));
    let forth = sorted(forth, |edge| (found[edge], value(of_found, edge)));
    let back = sorted(collect(0..others.len())?, |edge| (others[edge].1, value(of_others, edge)));
    for (edge, other) in forth.into_iter().zip(back) {
        let (line, ends) = others[other];
        let [u, v] = ends.min(found[edge]).map(|end| end + 1);
        if ends != found[edge] {
            return Err(format!("has the edge of vertices {u} and {v} in one direction only").into());
        }
        if let (Some(of_found), Some(of_others)) = (of_found, of_others)
            && of_found.value(edge) != of_others.value(other)
        {
            let [forth, back] = [of_found.text(edge), of_others.text(other)];
            let reason = format!("the edge to vertex {u} has the weight {back}, but {forth} in the other direction");
            return Err(at(line, reason).into());
        }
    }
    let most = declared(lines.bytes());
    if vertices > most {
        return Err(format!("declares {vertices} vertices, but in a file of this size there may be {most} at most").into());
    }
    Ok(numbered(vertices as usize, found, false, 1))
}

/// Sorts edges by their ends and weights.
fn sorted(mut edges: Vec<usize>, key: impl Fn(usize) -> ([i32; 2], f64) + Sync) -> Vec<usize> {
    edges.par_sort_unstable_by(|&a, &b| {
        let ((a, weight), (b, other)) = (key(a), key(b));
        a.cmp(&b).then(weight.total_cmp(&other))
    });
    edges
}
