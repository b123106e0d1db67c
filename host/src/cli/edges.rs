//! Files of edges, as `tree` and `graph` read them.

use std::path::Path;

use warpsmith::graph::{EdgeList, io};

use super::{failure::Failure, progress::Progress};

/// Reads the edges of a file, between as many vertices as it says or, if that is not fewer, as `vertices` does.
pub fn read(path: &Path, vertices: Option<u32>, progress: Progress) -> Result<EdgeList, Failure> {
    // About as many edges as there may be.
    let size = std::fs::metadata(path).map_or(0, |metadata| metadata.len());
    let _work = progress.spinner((size / 8) as usize, format!("reading {}", path.display()));
    let mut graph = io::read(path)?;
    tracing::info!(vertices = graph.vertices, edges = graph.edges.len(), "read {}", path.display());
    if let Some(vertices) = vertices.map(|vertices| vertices as usize) {
        if vertices < graph.vertices {
            let (path, of_file) = (path.display(), graph.vertices);
            return Err(Failure::error(format_args!("--vertices {vertices} are too few: {path} has {of_file}")));
        }
        graph.vertices = vertices;
    }
    Ok(graph)
}
