//! Bridges and biconnected components on a device.

use cuda_std::{I32x2, U32x2, U32x4};
use gpu_kernels::{
    components::Status,
    graph::{self as kernels, BLOCK, BRIDGE, Counts, FENCE, ReachesArgs},
};

use super::{Components, Found, GraphError};
use crate::{
    common::{Clock, StepTime},
    components::{self, THREADS, flatten, grid, in_parts, start},
    device::{Buffer, Device, DeviceError, LaunchConfig, Stream},
    launch,
    trees::Rooter,
};

/// Report of a search for bridges.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Bridges {
    /// The graph's components and loops.
    pub found: Found,
    /// The number of bridges. Arcs between the same vertices count as one.
    pub bridges: usize,
    /// The steps in order.
    pub steps: Vec<StepTime>,
}

impl Bridges {
    /// The number of 2-edge-connected components: each bridge divides one in two.
    pub fn parts(&self) -> usize {
        self.found.count + self.bridges
    }
}

/// Report of a search for biconnected components.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Biconnected {
    /// The graph's components and loops.
    pub found: Found,
    /// The number of biconnected components that have edges.
    pub components: usize,
    /// The number of articulation points.
    pub points: usize,
    /// The steps in order.
    pub steps: Vec<StepTime>,
}

/// Finds bridges and biconnected components on one device, and keeps its arrays from call to call. All arrays and
/// streams must be of its device.
pub struct Connectivity {
    components: Components,
    rooter: Rooter,
    timed: bool,
    /// Sets of vertices: components at first.
    sets: Buffer<i32>,
    status: Buffer<Status>,
    forest: Buffer<I32x2>,
    indices: Buffer<u32>,
    /// See [`kernels::order()`].
    parents: Buffer<i32>,
    positions: Buffer<i32>,
    sizes: Buffer<i32>,
    spans: Buffer<U32x4>,
    /// A bit for each edge.
    in_forest: Buffer<u32>,
    reaches: Buffer<U32x2>,
    before: Buffer<U32x2>,
    table: Buffer<U32x2>,
    bits: Buffer<u8>,
    /// The heads by their components' labels.
    heads: Buffer<i32>,
    headed: Buffer<u32>,
    counts: Buffer<Counts>,
}

impl Connectivity {
    /// For graphs on `device`. With `timed`, steps are measured by events on the stream.
    pub fn new(device: &Device, timed: bool) -> Result<Self, DeviceError> {
        Ok(Connectivity {
            components: Components::new(device)?,
            rooter: Rooter::new(device)?,
            timed,
            sets: device.empty(),
            status: device.empty(),
            forest: device.empty(),
            indices: device.empty(),
            parents: device.empty(),
            positions: device.empty(),
            sizes: device.empty(),
            spans: device.empty(),
            in_forest: device.empty(),
            reaches: device.empty(),
            before: device.empty(),
            table: device.empty(),
            bits: device.empty(),
            heads: device.empty(),
            headed: device.empty(),
            counts: device.empty(),
        })
    }

    /// Finds the bridges of a graph, and the components that are left without them. `labels` has
    /// one element per vertex, and gets the smallest vertex of each vertex's 2-edge-connected
    /// component. `bridges` gets 1 for each edge that is a bridge, otherwise 0.
    ///
    /// With `arcs`, edges between the same two vertices, in either direction, count as one edge,
    /// and all of them are bridges if that edge is one. Otherwise they are not bridges. Loops never
    /// are.
    ///
    /// # Errors
    /// [`GraphError`]: an edge's end is no vertex, a length doesn't fit, or the device fails.
    pub fn bridges(
        &mut self,
        stream: &Stream,
        edges: &Buffer<I32x2>,
        arcs: bool,
        labels: &mut Buffer<i32>,
        bridges: &mut Buffer<u8>,
    ) -> Result<Bridges, GraphError> {
        let (n, m) = (labels.len(), edges.len());
        same_length("bridges", bridges.len(), m, "edges")?;
        let mut clock = Clock::start(stream, self.timed)?;
        let found = self.judge(stream, edges, Some(arcs), n, &mut clock)?;
        start(stream, labels, &mut self.status)?;
        let parents = &self.parents;
        // SAFETY: there are as many sets as vertices, which have been started.
        unsafe { launch!(stream, kernels::hook_tree<<<grid(stream, n), THREADS>>>(parents, &self.bits, BRIDGE, &mut *labels))? };
        flatten(stream, labels)?;
        clock.end("parts", 13 * n as u64)?;
        launch!(stream, kernels::bridges<<<grid(stream, m), THREADS>>>(edges, &*labels, bridges))?;
        clock.end("bridges", (9 * m + 4 * n) as u64)?;
        let counts = stream.download_vec(&self.counts)?[0];
        Ok(Bridges { found, bridges: counts.bridges as usize, steps: clock.steps()? })
    }

    /// The biconnected components of a graph, and its articulation points. `labels` gets a number
    /// for each edge, the same for those of one component: the smallest of the component's vertices
    /// but for the one that is nearest to the smallest vertex of the graph's component. Loops are
    /// in none, and get -1. `points` has one element per vertex, and gets 1 for each articulation
    /// point, otherwise 0.
    ///
    /// # Errors
    /// [`GraphError`]: an edge's end is no vertex, a length doesn't fit, or the device fails.
    pub fn biconnected(
        &mut self,
        stream: &Stream,
        edges: &Buffer<I32x2>,
        labels: &mut Buffer<i32>,
        points: &mut Buffer<u8>,
    ) -> Result<Biconnected, GraphError> {
        let (n, m) = (points.len(), edges.len());
        same_length("labels", labels.len(), m, "edges")?;
        let mut clock = Clock::start(stream, self.timed)?;
        let found = self.judge(stream, edges, None, n, &mut clock)?;

        let (of_edges, of_vertices) = (grid(stream, m), grid(stream, n));
        let (parents, positions) = (&self.parents, &self.positions);
        // SAFETY: there are as many sets as vertices, which `judge` has started.
        unsafe { launch!(stream, kernels::hook_tree<<<of_vertices, THREADS>>>(parents, &self.bits, FENCE, &mut self.sets))? };
        flatten(stream, &mut self.sets)?;
        clock.end("connect", 13 * n as u64)?;

        launch!(stream, kernels::edge_labels<<<of_edges, THREADS>>>(edges, positions, &self.sets, labels))?;
        clock.end("labels", (12 * m + 12 * n) as u64)?;
        self.heads.ensure(n)?;
        self.headed.ensure(n)?;
        stream.fill_zero(&mut self.headed)?;
        // SAFETY: heads and their counts are of the vertices, as sets are; the counts are 0.
        unsafe {
            launch!(stream, kernels::find_heads<<<of_vertices, THREADS>>>(parents, &self.sets, &mut self.heads))?;
            launch!(stream, kernels::count_heads<<<of_vertices, THREADS>>>(
                parents, &self.sets, &self.heads, &mut self.headed, &mut self.counts
            ))?;
            launch!(stream, kernels::cut_vertices<<<of_vertices, THREADS>>>(parents, &self.headed, points, &mut self.counts))?;
        }
        clock.end("points", 42 * n as u64)?;
        let counts = stream.download_vec(&self.counts)?[0];
        let (components, points) = (counts.components as usize, counts.cuts as usize);
        Ok(Biconnected { found, components, points, steps: clock.steps()? })
    }

    /// Roots a spanning forest, and finds what its edges are. Without `arcs` it is for biconnected components: the
    /// forest's edges are not left out of the reaches, and the sets have the ends of edges between branches united.
    fn judge(
        &mut self,
        stream: &Stream,
        edges: &Buffer<I32x2>,
        arcs: Option<bool>,
        n: usize,
        clock: &mut Clock<'_>,
    ) -> Result<Found, GraphError> {
        let m = edges.len();
        let mut own = vec![
            kernels::order::kernel(),
            kernels::blocks::kernel(),
            kernels::level::kernel(),
            kernels::judge::kernel(),
            kernels::hook_tree::kernel(),
        ];
        own.extend(match arcs {
            Some(_) => [kernels::reach::kernel(), kernels::bridges::kernel()],
            None => [kernels::hook_across::kernel(), kernels::edge_labels::kernel()],
        });
        stream.device().preload(&[own, components::kernels(), self.rooter.spanning_kernels(n)].concat());
        self.sets.ensure(n)?;
        let found = self.components.forest(stream, edges, &mut self.sets, &mut self.forest, &mut self.indices)?;
        clock.end("forest", (8 * m + 40 * n) as u64)?;
        let records = self.rooter.spanning(stream, &self.forest, &self.sets, found.count)?;
        clock.end("rooting", 24 * n as u64)?;

        let blocks = n.div_ceil(BLOCK);
        let levels = blocks.checked_ilog2().map_or(0, |last| last as usize + 1);
        for buffer in [&mut self.parents, &mut self.positions, &mut self.sizes] {
            buffer.ensure(n)?;
        }
        self.spans.ensure(n)?;
        self.reaches.ensure(n)?;
        self.before.ensure(n)?;
        self.bits.ensure(n)?;
        self.table.ensure(levels * blocks)?;
        self.counts.ensure(1)?;
        stream.fill_zero(&mut self.counts)?;
        let (of_edges, of_vertices) = (grid(stream, m), grid(stream, n));
        // SAFETY: all arrays have an element for each of the `n` vertices; the records are the rooter's.
        unsafe {
            launch!(stream, kernels::order<<<of_vertices, THREADS>>>(
                records, &mut self.parents, &mut self.positions, &mut self.sizes, &mut self.spans, &mut self.reaches
            ))?;
        }
        let words = if arcs == Some(false) { m.div_ceil(32) } else { 0 };
        self.in_forest.ensure(words)?;
        if words > 0 {
            let grid = grid(stream, self.indices.len());
            stream.fill_zero(&mut self.in_forest)?;
            // SAFETY: there is a bit for each edge.
            unsafe { launch!(stream, kernels::mark<<<grid, THREADS>>>(&self.indices, &mut self.in_forest))? };
        }
        clock.end("order", (52 * n + if words > 0 { m / 8 + 4 * n } else { 0 }) as u64)?;
        let (parents, positions) = (&self.parents, &self.positions);
        match arcs {
            Some(arcs) => {
                let left_out = parents.as_view().view(..if arcs { n } else { 0 })?;
                // SAFETY: edges are between the vertices, which `forest` has checked.
                unsafe {
                    launch!(stream, kernels::reach<<<of_edges, THREADS>>>(
                        edges, &self.in_forest, left_out, positions, &mut self.reaches
                    ))?;
                }
            }
            None => {
                start(stream, &mut self.sets, &mut self.status)?;
                let (sizes, reaches) = (&self.sizes, &mut self.reaches);
                in_parts(stream, m, &mut self.sets, |sample, sets| {
                    let grid = grid(stream, sample.count as usize);
                    // SAFETY: sets and reaches are of the vertices, which edges are between: `forest` has checked it.
                    unsafe {
                        launch!(stream, kernels::hook_across<<<grid, THREADS>>>(
                            edges, sample, positions, sizes, &mut *reaches, sets
                        ))
                    }
                })?;
            }
        }
        clock.end("reach", (8 * m + 12 * n) as u64)?;

        let of_positions = LaunchConfig::for_elements(n, THREADS).grid.x;
        // SAFETY: the table's first level has an element for each block.
        unsafe {
            launch!(stream, kernels::blocks<<<of_positions, THREADS>>>(&self.reaches, &mut self.before, &mut self.table))?;
        }
        for level in 1..levels {
            let (below, mut above) = self.table.split_at_mut(level * blocks)?;
            let (below, above) = (below.as_view().view((level - 1) * blocks..)?, above.view_mut(..blocks)?);
            launch!(stream, kernels::level<<<grid(stream, blocks), THREADS>>>(below, 1 << (level - 1), above))?;
        }
        let reaches = ReachesArgs { own: &self.reaches, before: &self.before, table: &self.table };
        // SAFETY: there are bits for each vertex; the rest is of the kernels before.
        unsafe {
            launch!(stream, kernels::judge<<<of_positions, THREADS>>>(
                reaches, &self.spans, &mut self.bits, &mut self.counts
            ))?;
        }
        clock.end("ranges", (37 * n + 16 * levels * blocks) as u64)?;
        Ok(found)
    }
}

pub(super) fn same_length(what: &'static str, found: usize, expected: usize, of: &'static str) -> Result<(), GraphError> {
    if found == expected { Ok(()) } else { Err(GraphError::Length { what, found, expected, of }) }
}
