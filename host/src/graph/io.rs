//! Graphs from files: one reader for each format, by the file's extension.
//!
//! | extension | what |
//! | --- | --- |
//! | `.npy` | the edges, int32 or int64 of shape (m, 2), from 0 |
//! | `.mtx` | a square matrix in the Matrix Market format: an edge for each entry, whose value doesn't matter |
//! | `.gr` | the format of the 9th DIMACS challenge: `p sp N M`, then `a U V WEIGHT`, from 1; weights don't matter |
//! | any other | lines of two vertices from 0, separated by blanks or tabs; further words don't matter; lines that start with `#` or `%` are comments (SNAP, KONECT) |
//!
//! A vertex takes memory whether it has edges or not: there may be [`declared`] of them.

use std::path::Path;

use bytemuck::allocation::try_cast_vec;
use rayon::prelude::*;

use super::{EdgeList, MOST};
use crate::io::{
    Lines, Market, Reason, Symmetry, at, declared,
    files::FileError,
    npy::{Kind, Reader, tuple},
    number, push, quoted, reserve, words,
};

/// Reads a graph.
///
/// Graphs of `.gr` files, and of `.mtx` files that are not symmetric, are made of
/// [`arcs`](EdgeList::arcs).
///
/// # Errors
/// With the reason, and the line or the edge where it is one's fault.
pub fn read(path: impl AsRef<Path>) -> Result<EdgeList, FileError> {
    let path = path.as_ref();
    let extension = path.extension().and_then(|extension| extension.to_str()).unwrap_or_default();
    let read = match extension.to_ascii_lowercase().as_str() {
        "npy" => npy,
        "mtx" => market,
        "gr" => dimacs,
        _ => plain,
    };
    read(path).map_err(|reason| FileError::new(path, reason))
}

/// The edges of an array.
fn npy(path: &Path) -> Result<EdgeList, Reason> {
    let reader = Reader::open(path)?;
    let kind = reader.kind("edges", &[Kind::I32, Kind::I64])?;
    if !matches!(reader.shape(), [_, 2]) {
        let shape = tuple(reader.shape());
        return Err(format!("holds an array of shape {shape}, but edges have the shape (m, 2)").into());
    }
    let edges = match kind {
        Kind::I32 => pairs(reader.read(|_| {})?)?,
        _ => {
            let wide = pairs(reader.read::<i64>(|_| {})?)?;
            let fits = |&vertex: &i64| i32::try_from(vertex).is_ok();
            match wide.par_iter().position_first(|pair| !pair.iter().all(fits)) {
                Some(edge) => return Err(outside(edge, wide[edge])),
                None => {
                    let mut edges = Vec::new();
                    reserve(&mut edges, wide.len())?;
                    edges.par_extend(wide.par_iter().map(|pair| pair.map(|vertex| vertex as i32)));
                    edges
                }
            }
        }
    };
    if edges.len() > MOST {
        return Err(too_many("edges", edges.len() as u64).into());
    }
    if let Some(edge) = edges.par_iter().position_first(|pair| pair.iter().any(|&vertex| vertex < 0 || vertex as usize >= MOST)) {
        return Err(outside(edge, edges[edge].map(i64::from)));
    }
    let vertices = edges.par_iter().map(|&[u, v]| u.max(v) as usize + 1).max().unwrap_or(0);
    let most = declared(8 * edges.len() as u64);
    if vertices as u64 > most {
        let edge = edges.iter().position(|pair| pair.contains(&(vertices as i32 - 1))).unwrap_or(0);
        let [u, v] = edges[edge];
        return Err(format!("edges[{edge}] is ({u}, {v}): {}", out_of_proportion(vertices - 1, most)).into());
    }
    Ok(EdgeList { vertices, edges, arcs: false })
}

/// Two values each.
fn pairs<T: bytemuck::Pod>(values: Vec<T>) -> Result<Vec<[T; 2]>, Reason> {
    try_cast_vec(values).or_else(|(_, values): (_, Vec<T>)| {
        let mut pairs = Vec::new();
        reserve(&mut pairs, values.len() / 2)?;
        pairs.extend(values.chunks_exact(2).map(|pair| [pair[0], pair[1]]));
        Ok(pairs)
    })
}

fn outside(edge: usize, [u, v]: [i64; 2]) -> Reason {
    format!("edges[{edge}] is ({u}, {v}), but vertices are numbered from 0 to {} at most", MOST - 1).into()
}

/// An edge for each entry of a matrix.
fn market(path: &Path) -> Result<EdgeList, Reason> {
    let mut market = Market::open(path)?;
    let (vertices, columns) = market.shape();
    if vertices != columns {
        return Err(market.error(format_args!("a matrix of {vertices} rows and {columns} columns isn't that of a graph")));
    }
    if vertices > MOST {
        return Err(market.error(too_many("vertices", vertices as u64)));
    }
    let mut edges = Vec::new();
    while let Some((row, column, ())) = market.next(|_, _| Ok(()))? {
        add(&mut edges, [row.into(), column.into()])?;
    }
    Ok(EdgeList { vertices, edges, arcs: market.symmetry() == Symmetry::General })
}

/// The arcs of a file for shortest paths.
fn dimacs(path: &Path) -> Result<EdgeList, Reason> {
    let mut lines = Lines::open(path)?;
    let mut announced = None;
    let mut edges = Vec::new();
    while lines.next_filled()? {
        let mut words = words(lines.line());
        let mut word = || words.next().unwrap_or_default();
        match (word(), announced) {
            (b"p", None) => {
                let (problem, vertices, arcs) = (word(), number(word()), number(word()));
                let (b"sp", Some(vertices), Some(arcs), b"") = (problem, vertices, arcs, word()) else {
                    return Err(lines.error("the problem must be `p sp VERTICES ARCS`"));
                };
                if vertices > MOST as u64 {
                    return Err(lines.error(too_many("vertices", vertices)));
                }
                announced = Some((vertices, arcs));
            }
            (b"a", Some((vertices, arcs))) => {
                if edges.len() as u64 == arcs {
                    return Err(lines.error(format_args!("there is more after the {arcs} arcs that were announced")));
                }
                let mut end = || vertex(&lines, word(), 1, vertices).map(|vertex| vertex - 1);
                let arc = [end()?, end()?];
                if word().is_empty() || !word().is_empty() {
                    return Err(lines.error("an arc is `a U V WEIGHT`"));
                }
                add(&mut edges, arc)?;
            }
            (b"p", Some(_)) => return Err(lines.error("there is a second problem")),
            (b"a", None) => return Err(lines.error("there is an arc before the problem, `p sp VERTICES ARCS`")),
            (first, _) if first.starts_with(b"c") => {}
            (first, _) => {
                return Err(lines.error(format_args!("a line starts with `c`, `p` or `a`, and this one with {}", shown(first))));
            }
        }
    }
    let Some((vertices, arcs)) = announced else { return Err("ends before the problem, `p sp VERTICES ARCS`".into()) };
    if (edges.len() as u64) < arcs {
        return Err(format!("ends after {} of {arcs} arcs", edges.len()).into());
    }
    let most = declared(lines.bytes());
    if vertices > most {
        return Err(format!("declares {vertices} vertices, but in a file of this size there may be {most} at most").into());
    }
    Ok(EdgeList { vertices: vertices as usize, edges, arcs: true })
}

/// Two vertices in each line.
fn plain(path: &Path) -> Result<EdgeList, Reason> {
    let mut lines = Lines::open(path)?;
    let mut edges = Vec::new();
    // The last vertex, and where it is.
    let (mut vertices, mut line) = (0, 0);
    while lines.next_filled()? {
        let mut words = words(lines.line());
        let mut end = || vertex(&lines, words.next().unwrap_or_default(), 0, MOST as u64 - 1);
        match lines.line().trim_ascii_start() {
            [b'%', b'%', b'M', ..] if lines.number() == 1 => {
                return Err(lines.error("this is a Matrix Market file, whose name must end in `.mtx`"));
            }
            [b'#' | b'%', ..] => continue,
            _ => {}
        }
        let edge = [end()?, end()?];
        let last = edge[0].max(edge[1]);
        if last >= vertices {
            (vertices, line) = (last + 1, lines.number());
        }
        add(&mut edges, edge)?;
    }
    let most = declared(lines.bytes());
    if vertices > most {
        return Err(at(line, out_of_proportion(vertices as usize - 1, most)).into());
    }
    Ok(EdgeList { vertices: vertices as usize, edges, arcs: false })
}

/// The vertex of a word, which is to be from `first` to `last`.
fn vertex(lines: &Lines, word: &[u8], first: u64, last: u64) -> Result<u64, Reason> {
    match number(word) {
        Some(vertex) if (first..=last).contains(&vertex) => Ok(vertex),
        Some(vertex) => {
            Err(lines.error(format_args!("vertex {vertex} is out of range: they are numbered from {first} to {last}")))
        }
        None if word.is_empty() => Err(lines.error("an edge has two vertices, and here is less")),
        None => Err(lines.error(format_args!("{} is not the number of a vertex", shown(word)))),
    }
}

/// Adds an edge between vertices below [`MOST`].
fn add(edges: &mut Vec<[i32; 2]>, ends: [u64; 2]) -> Result<(), Reason> {
    if edges.len() == MOST {
        return Err(too_many("edges", MOST as u64 + 1).into());
    }
    push(edges, ends.map(|end| end as i32))
}

fn too_many(what: &str, count: u64) -> String {
    format!("{count} {what} are too many: at most 2^31 - 2 can be numbered")
}

fn out_of_proportion(vertex: usize, most: u64) -> String {
    format!("vertex {vertex} is too large: in a file of this size there may be {most} vertices at most")
}

fn shown(word: &[u8]) -> String {
    quoted(&String::from_utf8_lossy(word))
}
