//! Graphs from files. The extension tells the format; compressed texts (`.gz`, `.zst`) have that of the name without it.
//!
//! | extension | holds |
//! | --- | --- |
//! | `.npy` | the edges, int32 or int64 of shape (m, 2): numbers of vertices from 0, or 64-bit ids |
//! | `.npz` | a matrix that `scipy.sparse.save_npz` wrote: an arc for each entry |
//! | `.mtx` | a square matrix in the Matrix Market format: an edge for each entry, whose value is its weight |
//! | `.gr`, `.col` | DIMACS and PACE: `p sp N M`, then `a U V WEIGHT`; `p edge N M`, then `e U V`; `p tw N M`, then `U V` |
//! | `.graph`, `.metis` | METIS and 10th DIMACS: neighbours of each vertex, from 1 |
//! | `.graphml` | GraphML |
//! | `.geojson` | lines; their points are the vertices |
//! | `.csv`, `.tsv`, `.parquet` | a table with a row per edge, of vertices of any names |
//! | any other | lines of two vertices of any names, separated by blanks or tabs; a third word is the weight; if all lines have the same number of fields between tabs, two or three, these may have blanks; lines that start with `#` or `%` are comments (SNAP, KONECT). With other separators, or with options, it is a table |
//!
//! Only vertices with an edge count in tables, in lines and for 64-bit ids. In other formats a vertex takes memory whether it
//! has edges or not: there may be [`declared`](crate::io::declared) of them.

mod array;
mod dimacs;
mod documents;
mod ends;
mod metis;
mod text;
mod weights;

use std::{borrow::Cow, path::Path};

pub(super) use self::ends::whole;
pub use self::weights::Weights;
use self::{
    ends::Ends,
    weights::{Wanted, keep, none},
};
use super::{EdgeList, Graph, Ids, MOST};
use crate::io::{Lines, Names, Reason, TableOptions, collect, extension, files::FileError, push, quoted};

/// Reads a graph.
///
/// Graphs of `.gr` and `.npz` files, of directed GraphML and of `.mtx` files that are not symmetric are made of
/// [`arcs`](EdgeList::arcs).
///
/// # Errors
/// The file can't be read, or has another content. The error names the line or the edge.
pub fn read(path: impl AsRef<Path>) -> Result<Graph, FileError> {
    read_with(path, &TableOptions::default())
}

/// Reads a graph as [`read`] does, from a table with options.
pub fn read_with(path: impl AsRef<Path>, options: &TableOptions) -> Result<Graph, FileError> {
    Ok(read_noted(path, options, None, None)?.0)
}

/// Reads a graph as [`read_with`] does, and the weights of its edges: a table's column `weight`, the third word of a line,
/// an entry's value, GraphML's attribute or GeoJSON's property `weight`. The options' column `weight` gives another name.
///
/// # Errors
/// As [`read`], and if the file has no weights, or one of them isn't a number.
pub fn read_weighted(path: impl AsRef<Path>, options: &TableOptions) -> Result<(Graph, Weights), FileError> {
    let mut weights = Weights::default();
    Ok((read_noted(path, options, Some(&mut weights), None)?.0, weights))
}

/// Reads a graph as [`read_with`] does, with `weights` as [`read_weighted`] does, into weights that are empty. If their number
/// is given, `vertices` without edges count, too; those of lists and tables are then numbers from 0. Returns also a sentence that
/// says how the first row was taken, if it may be an edge as well as names of columns.
///
/// # Errors
/// As those.
pub fn read_noted(
    path: impl AsRef<Path>,
    options: &TableOptions,
    weights: Option<&mut Weights>,
    vertices: Option<usize>,
) -> Result<(Graph, Option<String>), FileError> {
    let path = path.as_ref();
    let found = edges(path, "edges", options, weights).and_then(|edges| match edges {
        Edges::Numbered(graph) => Ok((with_vertices(graph, vertices, false)?, None)),
        Edges::Named { ends, .. } if ends.len() == 0 && vertices.is_none() => Err("has no edges".into()),
        Edges::Named { ends, arcs, first } => {
            let graph = ends.graph(arcs)?;
            let note = first.note(&graph);
            Ok((with_vertices(graph, vertices, true)?, note))
        }
    });
    found.map_err(|reason| FileError::new(path, reason))
}

/// Reads pairs of vertices of a graph, in any format of edges. Arrays have their numbers, other files their names.
///
/// # Errors
/// As [`read`], and if a vertex isn't one of the graph.
pub fn read_pairs(path: impl AsRef<Path>, options: &TableOptions, graph: (&Ids, usize)) -> Result<Vec<[i32; 2]>, FileError> {
    let path = path.as_ref();
    let (ids, vertices) = graph;
    let within = |ends: Ends, no_edge| {
        ends.within(ids, vertices, no_edge)
            .map_err(|(pair, name)| Reason::from(format!("pair {pair}: {} is not a vertex of the tree", quoted(&name))))
    };
    let numbered = |edges: &[[i32; 2]], number: &dyn Fn(i32) -> i64| {
        within(Ends::Numbers(collect(edges.iter().map(|edge| edge.map(number)))?), false)
    };
    let found = edges(path, "pairs", options, None).and_then(|edges| match edges {
        Edges::Named { ends, first, .. } => within(ends, first == FirstRow::Edge { common: true }),
        // Vertices without numbers of their own are called by their places.
        Edges::Numbered(Graph { list, ids: own }) => match own {
            Ids::From(first) if own != *ids && matches!(ids, Ids::From(_) | Ids::Numbers(_)) => {
                numbered(&list.edges, &|end| i64::from(end) + first)
            }
            Ids::From(_) => Ok(list.edges),
            Ids::Numbers(numbers) => numbered(&list.edges, &|end| numbers[end as usize]),
            Ids::Names(names) => {
                let mut all = Names::default();
                names.iter().try_for_each(|name| all.number(name).map(drop))?;
                within(Ends::Names(all, list.edges), false)
            }
            Ids::Places(_) => Err("has points, but pairs are of vertices' names".into()),
        },
    });
    found.map_err(|reason| FileError::new(path, reason))
}

/// The same edges between so many vertices, if their number is given.
fn with_vertices(mut graph: Graph, count: Option<usize>, is_list: bool) -> Result<Graph, Reason> {
    let Some(count) = count else { return Ok(graph) };
    let numbers: Option<Cow<'_, [i64]>> = match &graph.ids {
        Ids::Numbers(numbers) => Some(numbers.into()),
        Ids::From(1) if is_list => Some((1..=graph.list.vertices as i64).collect()),
        Ids::From(_) => None,
        Ids::Names(_) | Ids::Places(_) => return Err("has vertices with names, and --vertices is for numbers from 0".into()),
    };
    if let Some(&first) = numbers.iter().flat_map(|numbers| numbers.iter()).next().filter(|first| **first < 0) {
        return Err(format!("has the vertex {first}, and --vertices is for numbers from 0").into());
    }
    let found =
        numbers.as_ref().map_or(graph.list.vertices as i64, |numbers| numbers.last().map_or(0, |last| last.saturating_add(1)));
    if found > count as i64 {
        return Err(format!("has vertices up to {}, and --vertices {count} ends before", found - 1).into());
    }
    if let Some(numbers) = numbers {
        graph.list.edges.iter_mut().flatten().for_each(|end| *end = numbers[*end as usize] as i32);
        graph.ids = Ids::From(0);
    }
    graph.list.vertices = count;
    Ok(graph)
}

/// Edges of a file.
enum Edges {
    /// Of numbered vertices.
    Numbered(Graph),
    /// Of vertices with any names.
    Named { ends: Ends, arcs: bool, first: FirstRow },
}

/// Meaning that a table's first row was given.
#[derive(PartialEq)]
enum FirstRow {
    /// For what it is.
    Known,
    /// For these names of columns.
    Names([String; 2]),
    /// For these words above a list of numbers.
    Heading([String; 2]),
    /// For an edge. `common` is true if columns often have such names.
    Edge { common: bool },
}

impl FirstRow {
    /// Returns the sentence that says so, unless it can't be anything else: ids recur, or are numbers.
    fn note(&self, graph: &Graph) -> Option<String> {
        match (self, &graph.ids) {
            (FirstRow::Names([u, v]), _) => {
                Some(format!("The first row, `{u},{v}`, names columns (--header no: it is an edge)."))
            }
            (FirstRow::Heading([u, v]), _) => Some(format!("The first row, `{u} {v}`, is a heading, and no edge.")),
            (FirstRow::Edge { .. }, Ids::Names(names)) => {
                let (&[u, v], others) = graph.list.edges.split_first()?;
                if others.as_flattened().iter().any(|end| [u, v].contains(end)) {
                    return None;
                }
                let [u, v] = [u, v].map(|end| &names[end as usize]);
                Some(format!("The first row, `{u},{v}`, is an edge (--header yes: it names columns)."))
            }
            _ => None,
        }
    }
}

/// Reads edges of any format. Errors on arrays call them `what`.
fn edges(path: &Path, what: &str, options: &TableOptions, weights: Wanted<'_>) -> Result<Edges, Reason> {
    let name = options.columns.iter().find(|(role, _)| role == "weight").map_or("weight", |(_, name)| name);
    // Properties have names, but no columns.
    let of_tables = || TableOptions {
        columns: options.columns.iter().filter(|(role, _)| role != "weight").cloned().collect(),
        ..options.clone()
    };
    match extension(path).as_str() {
        "npy" => none(&weights, "an array of edges has").and_then(|()| array::npy(path, what)),
        "npz" => array::sparse(path, weights).map(Edges::Numbered),
        "mtx" => {
            options.refuse("a Matrix Market file")?;
            text::market(path, weights).map(Edges::Numbered)
        }
        "gr" | "col" => {
            options.refuse("a DIMACS file")?;
            dimacs::read(Lines::open(path)?, weights).map(Edges::Numbered)
        }
        "graph" | "metis" => {
            options.refuse("a METIS file")?;
            metis::read(path, weights).map(Edges::Numbered)
        }
        "graphml" => {
            of_tables().refuse("GraphML")?;
            documents::graphml(path, name, weights).map(Edges::Numbered)
        }
        "geojson" | "json" => {
            of_tables().refuse("GeoJSON")?;
            documents::geojson(path, name, weights).map(Edges::Numbered)
        }
        "csv" | "tsv" | "parquet" => text::table(path, options, weights),
        _ => text::plain(path, options, weights),
    }
}

/// A graph of vertices that are numbered from `first` on in the file.
fn numbered(vertices: usize, edges: Vec<[i32; 2]>, arcs: bool, first: i64) -> Graph {
    Graph { list: EdgeList { vertices, edges, arcs }, ids: Ids::From(first) }
}

/// The vertex of a word, which is to be from `first` to `last`.
fn vertex(lines: &Lines, word: &[u8], first: u64, last: u64) -> Result<u64, Reason> {
    match crate::io::number(word) {
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

fn shown(word: &[u8]) -> String {
    quoted(&String::from_utf8_lossy(word))
}
