//! Edges in arrays of NumPy, and sparse matrices of SciPy.

use std::path::Path;

use bytemuck::allocation::try_cast_vec;
use rayon::prelude::*;

use super::{Edges, Ends, FirstRow, MOST, Wanted, Weights, numbered, too_many};
use crate::{
    graph::Graph,
    io::{
        Reason,
        archive::{Archive, in_array},
        declared,
        files::FileError,
        npy::{Kind, Reader, tuple},
        reserve,
    },
};

/// Reads the edges of an array. Errors call them `what`. Vertices are numbers from 0, unless there are too many for a file of
/// this size: then they are ids.
pub(super) fn npy(path: &Path, what: &str) -> Result<Edges, Reason> {
    let reader = Reader::open(path)?;
    let kind = reader.kind(what, &[Kind::I32, Kind::I64])?;
    if !matches!(reader.shape(), [_, 2]) {
        let shape = tuple(reader.shape());
        return Err(format!("holds an array of shape {shape}, but {what} have the shape (m, 2)").into());
    }
    let (numbers, ends) = match kind {
        Kind::I32 => (Some(pairs(reader.read(|_| {})?)?), Vec::new()),
        _ => {
            let wide: Vec<[i64; 2]> = pairs(reader.read::<i64>(|_| {})?)?;
            let most = wide.par_iter().map(|&[u, v]| u.max(v)).max().unwrap_or(0);
            if most < declared(8 * wide.len() as u64) as i64 && most < MOST as i64 {
                let mut edges = Vec::new();
                reserve(&mut edges, wide.len())?;
                // Those below 32 bits are refused below as negative numbers.
                let narrow = |end: i64| i32::try_from(end).unwrap_or(i32::MIN);
                edges.par_extend(wide.par_iter().map(|edge| edge.map(narrow)));
                (Some(edges), wide)
            } else {
                (None, wide)
            }
        }
    };
    let count = numbers.as_ref().map_or(ends.len(), Vec::len);
    if count > MOST {
        return Err(too_many(what, count as u64).into());
    }
    let Some(edges) = numbers else { return Ok(Edges::Named { ends: Ends::Numbers(ends), arcs: false, first: FirstRow::Known }) };
    if let Some(edge) = edges.par_iter().position_first(|pair| pair.iter().any(|&vertex| vertex < 0)) {
        let [u, v] = ends.get(edge).copied().unwrap_or_else(|| edges[edge].map(i64::from));
        return Err(format!("{what}[{edge}] is ({u}, {v}), but vertices are numbered from 0").into());
    }
    let vertices = edges.par_iter().map(|&[u, v]| u.max(v) as usize + 1).max().unwrap_or(0);
    if vertices as u64 > declared(8 * edges.len() as u64) || vertices > MOST {
        let wide = edges.into_iter().map(|edge| edge.map(i64::from)).collect();
        return Ok(Edges::Named { ends: Ends::Numbers(wide), arcs: false, first: FirstRow::Known });
    }
    Ok(Edges::Numbered(numbered(vertices, edges, false, 0)))
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

/// Reads a sparse matrix: an arc for each entry.
pub(super) fn sparse(path: &Path, weights: Wanted<'_>) -> Result<Graph, Reason> {
    let reason = |error: FileError| error.into_reason();
    let mut archive = Archive::open(path).map_err(reason)?;
    let mut indices = |name: &'static str| archive.indices(name).map_err(reason);
    let shape = indices("shape")?;
    let &[rows, columns] = &shape[..] else {
        return Err(format!("has the shape {}, but a matrix has two extents", tuple(&shape)).into());
    };
    if rows != columns {
        return Err(format!("a matrix of {rows} rows and {columns} columns isn't that of a graph").into());
    }
    let by_rows = archive.has("indptr");
    let [first, second] = if by_rows { ["indptr", "indices"] } else { ["row", "col"] };
    let mut indices = |name: &'static str| archive.indices(name).map_err(reason);
    let (starts, ends) = (indices(first)?, indices(second)?);
    if rows > MOST || ends.len() > MOST {
        let (count, what) = if rows > MOST { (rows, "vertices") } else { (ends.len(), "edges") };
        return Err(too_many(what, count as u64).into());
    }
    if let Some(entry) = ends.iter().chain(if by_rows { &[][..] } else { &starts }).find(|&&end| end >= rows) {
        return Err(format!("has an entry in row or column {entry}, but there are {rows}").into());
    }
    let mut edges = Vec::new();
    reserve(&mut edges, ends.len())?;
    if by_rows {
        let ascends = starts.first() == Some(&0) && starts.is_sorted() && starts.last() == Some(&ends.len());
        if starts.len() != rows + 1 || !ascends {
            return Err(
                "has an array `indptr` that doesn't divide `indices` among the rows; block matrices (bsr) can't be read".into()
            );
        }
        for (row, range) in starts.windows(2).enumerate() {
            edges.extend(ends[range[0]..range[1]].iter().map(|&column| [row as i32, column as i32]));
        }
    } else {
        if starts.len() != ends.len() {
            return Err(format!("has {} elements in `row`, but {} in `col`", starts.len(), ends.len()).into());
        }
        edges.extend(starts.iter().zip(&ends).map(|(&row, &column)| [row as i32, column as i32]));
    }
    if rows as u64 > declared(8 * edges.len() as u64) {
        return Err(format!("declares {rows} vertices, which are too many for a file of this size").into());
    }
    if let Some(weights) = weights {
        *weights = values(path, &mut archive, edges.len()).map_err(reason)?;
    }
    Ok(numbered(rows, edges, true, 0))
}

/// Reads the values of a sparse matrix.
fn values(path: &Path, archive: &mut Archive<'_>, count: usize) -> Result<Weights, FileError> {
    let fail = |reason: Reason| in_array(path, "data", reason);
    let reader = archive.array("data")?;
    let kind = reader.kind("weights", &[Kind::I32, Kind::I64, Kind::U32, Kind::F32, Kind::F64]).map_err(fail)?;
    if reader.shape() != [count] {
        return Err(fail(format!("has the shape {}, but there are {count} entries", tuple(reader.shape())).into()));
    }
    let advance = |_| {};
    let weights = match kind {
        Kind::I32 => Weights::Integers(reader.read::<i32>(advance).map_err(fail)?.into_iter().map(i64::from).collect()),
        Kind::U32 => Weights::Integers(reader.read::<u32>(advance).map_err(fail)?.into_iter().map(i64::from).collect()),
        Kind::I64 => Weights::Integers(reader.read(advance).map_err(fail)?),
        Kind::F32 => Weights::Floats(reader.read::<f32>(advance).map_err(fail)?.into_iter().map(f64::from).collect()),
        _ => Weights::Floats(reader.read(advance).map_err(fail)?),
    };
    if let Weights::Floats(values) = &weights
        && let Some(edge) = values.iter().position(|value| value.is_nan())
    {
        return Err(fail(format!("the weight of edge {edge} is NaN").into()));
    }
    Ok(weights)
}
