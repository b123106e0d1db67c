//! Rooting: from edges or parents to numbers.

use cuda_std::{I32x2, U32x4, launch::KernelInfo};
use gpu_kernels::{
    collectives::scan,
    trees::{Status, edges, parents, tour},
};

use super::{
    check,
    error::TreeError,
    rooting::Rooting,
    roots::{Roots, check_roots},
};
use crate::{
    collectives::{ScanWorkspace, SortWorkspace, exclusive_scan_in_place, sort},
    common::{Clock, StepTime},
    components::{self, Components, EdgeError, THREADS, grid},
    device::{Buffer, Device, DeviceError, Stream},
    launch,
    list_rank::{ListError, ListRanker, Options},
};

/// Report of a rooting.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Report {
    /// The number of vertices.
    pub n: usize,
    /// The number of trees.
    pub trees: usize,
    /// Its steps in order.
    pub steps: Vec<StepTime>,
}

impl Report {
    /// Returns the time of all steps together, in ms.
    pub fn total_ms(&self) -> f64 {
        StepTime::total_ms(&self.steps)
    }
}

/// Roots forests on one device, and keeps its arrays from call to call: rooting a forest of the same size again
/// allocates nothing. All arrays and streams must be of that device.
pub struct Rooter {
    timed: bool,
    ranker: ListRanker,
    sort: SortWorkspace,
    scan: ScanWorkspace,
    status: Buffer<Status>,
    components: Components,
    /// Of edges that are there in both directions, those that ascend.
    kept: Buffer<I32x2>,
    /// Keys to sort; earlier, flags and their scans.
    keys: Buffer<u32>,
    labels: Buffer<i32>,
    numbers: Buffer<u32>,
    roots: Buffer<i32>,
    firsts: Buffer<i32>,
    successors: Buffer<i32>,
    next: Buffer<i32>,
    positions: Buffer<i32>,
    /// A bit for each position, and how many are set before each block of them.
    entered: Buffer<U32x4>,
    before: Buffer<u32>,
    mirrored: Buffer<u32>,
    /// Each vertex, by the edge to its parent: the vertex, its parent, and where the tour enters and leaves it.
    families: [Buffer<i32>; 4],
    /// Number of roots so far, and each vertex's numbers, of [`spanning`](Self::spanning).
    #[cfg(feature = "graph")]
    count: Buffer<u32>,
    #[cfg(feature = "graph")]
    records: Buffer<cuda_std::I32x4>,
}

impl Rooter {
    /// A rooter on `device`. Its large arrays are allocated at the first call.
    pub fn new(device: &Device) -> Result<Self, DeviceError> {
        Ok(Rooter {
            timed: false,
            ranker: ListRanker::new(device, Options::default()),
            sort: SortWorkspace::new(device)?,
            scan: ScanWorkspace::new(device)?,
            status: device.alloc_zeroed(1)?,
            components: Components::new(device)?,
            kept: device.empty(),
            keys: device.empty(),
            labels: device.empty(),
            numbers: device.empty(),
            roots: device.empty(),
            firsts: device.empty(),
            successors: device.empty(),
            next: device.empty(),
            positions: device.empty(),
            entered: device.empty(),
            before: device.empty(),
            mirrored: device.empty(),
            families: [(); 4].map(|()| device.empty()),
            #[cfg(feature = "graph")]
            count: device.alloc(1)?,
            #[cfg(feature = "graph")]
            records: device.empty(),
        })
    }

    /// The same, measuring each step (by events on the stream).
    pub fn timed(self) -> Self {
        Rooter { timed: true, ..self }
    }

    /// Roots a forest of `n` vertices, from its edges in any order and of any directions, each once, or all of them in
    /// both directions.
    ///
    /// # Errors
    /// The edges are not those of a forest with such roots (the error names the first that offends:
    /// see [`diagnose_edges`](super::diagnose_edges)), or the device fails.
    pub fn edges(
        &mut self,
        stream: &Stream,
        n: usize,
        edges: &Buffer<I32x2>,
        roots: Roots<&Buffer<i32>>,
        rooting: &mut Rooting,
    ) -> Result<Report, TreeError> {
        check_roots(n, roots.map(Buffer::len))?;
        if edges.len() > i32::MAX as usize {
            return Err(TreeError::TooManyEdges { m: edges.len() });
        }
        if n > 0 {
            stream.device().preload(&self.kernels(n, matches!(roots, Roots::Each)));
        }
        let mut clock = Clock::start(stream, self.timed)?;
        let done = self.root_edges(&mut clock, stream, n, edges, roots, rooting);
        if !matches!(done, Ok(true)) {
            // The present content is no forest.
            rooting.ensure(0)?;
        }
        if done? {
            return Ok(Report { n, trees: rooting.trees, steps: clock.steps()? });
        }
        let edges: Vec<[i32; 2]> = stream.download_vec(edges)?.into_iter().map(I32x2::to_array).collect();
        let labels = match roots {
            Roots::Labels(labels) => stream.download_vec(labels)?,
            _ => Vec::new(),
        };
        check::diagnose_edges(n, &edges, roots.map(|_| &*labels))?;
        Err(TreeError::Miscounted { n })
    }

    /// [`edges`](Self::edges); returns false if the forest is bad.
    fn root_edges(
        &mut self,
        clock: &mut Clock<'_>,
        stream: &Stream,
        n: usize,
        edges: &Buffer<I32x2>,
        roots: Roots<&Buffer<i32>>,
        rooting: &mut Rooting,
    ) -> Result<bool, TreeError> {
        let labels = match roots {
            Roots::Labels(labels) => Some(labels),
            _ => None,
        };
        let Some((trees, mirrored)) = self.check_edges(stream, n, edges, roots)? else { return Ok(false) };
        rooting.ensure(n)?;
        if n == 0 {
            return Ok(true);
        }
        let (n_bytes, m_bytes) = (4 * n as u64, 8 * edges.len() as u64);
        clock.end("check", m_bytes + 4 * n_bytes)?;
        let arcs = self.link_edges(clock, stream, n, edges, (trees, mirrored), labels)?;
        if !self.rank(stream, arcs as i32)? {
            return Ok(false);
        }
        clock.end("ranks", 4 * n_bytes)?;
        if stream.download_vec(&self.status)?[0].loose > 0 {
            return Ok(false);
        }
        self.number_edges(stream, n, if mirrored { None } else { Some(edges) }, rooting)?;
        clock.end("numbers", 2 * n_bytes + 4 * arcs as u64 + 29 * n_bytes)?;
        if mirrored {
            self.mirrored.ensure(n.div_ceil(32))?;
            stream.fill_zero(&mut self.mirrored)?;
            // SAFETY: all edges are of vertices, and each vertex has a bit.
            unsafe {
                launch!(stream, edges::check_mirrored<<<grid(stream, edges.len()), THREADS>>>(
                    edges, &rooting.parent, &mut self.mirrored, &mut self.status
                ))?;
            }
            if stream.download_vec(&self.status)?[0].unmirrored > 0 {
                return Ok(false);
            }
            clock.end("mirror", m_bytes + n_bytes)?;
        }
        rooting.trees = trees;
        Ok(true)
    }

    /// Counts the trees, and finds out whether all edges are there in both directions. Returns nothing if the counts are
    /// not those of a forest.
    fn check_edges(
        &mut self,
        stream: &Stream,
        n: usize,
        edges: &Buffer<I32x2>,
        roots: Roots<&Buffer<i32>>,
    ) -> Result<Option<(usize, bool)>, TreeError> {
        let m = edges.len();
        if m >= 2 * n.max(1) {
            return Ok(None);
        }
        stream.fill_zero(&mut self.status)?;
        // SAFETY: blocks are whole warps, and the status is a buffer's only element.
        unsafe { launch!(stream, edges::check<<<grid(stream, m), THREADS>>>(edges, n as u32, &mut self.status))? };
        let status = stream.download_vec(&self.status)?[0];
        if status.bad > 0 {
            return Ok(None);
        }
        self.labels.ensure(n)?;
        let labels = match roots {
            Roots::Labels(labels) => labels,
            Roots::At(root) => {
                stream.fill(&mut self.labels, root)?;
                &self.labels
            }
            Roots::Each => match self.components.label(stream, edges, &mut self.labels) {
                Ok(_) => &self.labels,
                Err(EdgeError::Device(error)) => return Err(error.into()),
                Err(_) => return Ok(None),
            },
        };
        self.numbers.ensure(n)?;
        launch!(stream, edges::root_flags<<<grid(stream, n), THREADS>>>(labels, &mut self.numbers))?;
        exclusive_scan_in_place(stream, &mut self.numbers, &mut self.scan)?;
        let trees = stream.download_vec(self.scan.total())?[0] as usize;
        let mirrored = m > 0 && status.difference == 0 && status.ascending as usize * 2 == m;
        let kept = if mirrored { m / 2 } else { m };
        Ok((kept + trees == n).then_some((trees, mirrored)))
    }

    /// Makes the list of the Euler tour; returns the number of arcs, the first root's element. Of mirrored edges it keeps
    /// those that ascend. The labels are the rooter's unless others are given.
    fn link_edges(
        &mut self,
        clock: &mut Clock<'_>,
        stream: &Stream,
        n: usize,
        edges: &Buffer<I32x2>,
        (trees, mirrored): (usize, bool),
        labels: Option<&Buffer<i32>>,
    ) -> Result<usize, TreeError> {
        let m = edges.len();
        let edges = if mirrored {
            self.keys.ensure(m)?;
            self.kept.ensure(m / 2)?;
            launch!(stream, edges::ascending<<<grid(stream, m), THREADS>>>(edges, &mut self.keys))?;
            exclusive_scan_in_place(stream, &mut self.keys, &mut self.scan)?;
            // SAFETY: as many edges ascend as were counted.
            unsafe { launch!(stream, edges::keep_ascending<<<grid(stream, m), THREADS>>>(edges, &self.keys, &mut self.kept))? };
            &self.kept
        } else {
            edges
        };

        // The arcs in order of their sources.
        let arcs = 2 * edges.len();
        let (n_bytes, arc_bytes) = (4 * n as u64, 4 * arcs as u64);
        self.keys.ensure(arcs)?;
        launch!(stream, edges::sources<<<grid(stream, arcs), THREADS>>>(edges, &mut self.keys))?;
        sort(stream, &self.keys, bits(n - 1), &mut self.sort)?;
        clock.end("sort", 2 * arc_bytes + sort_bytes(arcs, bits(n - 1)))?;
        self.roots.ensure(trees)?;
        self.firsts.ensure(n)?;
        self.next.ensure(2 * n)?;
        stream.fill(&mut self.firsts, -1)?;
        let (keys, order, labels) = (self.sort.keys(), self.sort.order(), labels.unwrap_or(&self.labels));
        // SAFETY: sources are below n, and the labels have as many roots as were counted, so that there are two
        // elements for each edge and each root, 2 n in all. Blocks are whole warps.
        unsafe {
            launch!(stream, edges::list_roots<<<grid(stream, n), THREADS>>>(labels, &self.numbers, &mut self.roots))?;
            launch!(stream, edges::first_arcs<<<grid(stream, arcs), THREADS>>>(keys, order, &mut self.firsts))?;
            launch!(stream, edges::link_roots<<<grid(stream, n), THREADS>>>(
                &self.roots, labels, &self.firsts, arcs as u32, &mut self.next, &mut self.status
            ))?;
        }
        // The memory of the positions first holds the twins.
        self.positions.ensure(arcs)?;
        self.successors.ensure(arcs)?;
        launch!(stream, edges::link<<<grid(stream, arcs), THREADS>>>(
            keys, order, labels, &self.numbers, &self.firsts, &mut self.positions, &mut self.successors
        ))?;
        self.ranker.permute(stream, &self.positions, &self.successors, &mut self.next).map_err(of_device)?;
        clock.end("links", 10 * arc_bytes + 6 * n_bytes)?;
        Ok(arcs)
    }

    /// Numbers the vertices by the positions of the tour over `edges`, or over the ones that were kept.
    fn number_edges(
        &mut self,
        stream: &Stream,
        n: usize,
        edges: Option<&Buffer<I32x2>>,
        rooting: &mut Rooting,
    ) -> Result<(), TreeError> {
        self.mark(stream)?;
        let [child, up, first, last] = &mut self.families;
        for buffer in [&mut *child, &mut *up, &mut *first, &mut *last] {
            buffer.ensure(n)?;
        }
        launch!(stream, tour::of_edges<<<grid(stream, n), THREADS>>>(
            edges.unwrap_or(&self.kept), &self.roots, &self.positions, &mut *child, &mut *up, &mut *first, &mut *last
        ))?;
        let Rooting { parent, preorder, size, depth, .. } = rooting;
        for (values, of_vertices) in [(up, &mut *parent), (first, &mut *preorder), (last, &mut *size)] {
            self.ranker.permute(stream, child, values, of_vertices).map_err(of_device)?;
        }
        Ok(launch!(stream, tour::of_visits<<<grid(stream, n), THREADS>>>(&self.entered, preorder, size, depth))?)
    }

    /// Kernels that root a forest of `n` vertices from its edges, for [`Device::preload`]. With `components` the roots aren't
    /// given ([`Roots::Each`]).
    pub fn kernels(&self, n: usize, components: bool) -> Vec<&'static KernelInfo> {
        let own = [
            edges::check::kernel(),
            edges::root_flags::kernel(),
            edges::sources::kernel(),
            edges::list_roots::kernel(),
            edges::first_arcs::kernel(),
            edges::link_roots::kernel(),
            edges::link::kernel(),
            tour::of_edges::kernel(),
            tour::of_visits::kernel(),
        ];
        let components = if components { components::kernels() } else { Vec::new() };
        let (arcs, vertices) = (self.ranker.permute_kernels(n.saturating_mul(2)), self.ranker.permute_kernels(n));
        [self.kernels_with(n, &own), self.sort.kernels(), arcs, vertices, components].concat()
    }

    /// Kernels of [`spanning`](Self::spanning) for `n` vertices.
    #[cfg(feature = "graph")]
    pub(crate) fn spanning_kernels(&self, n: usize) -> Vec<&'static KernelInfo> {
        let own = [edges::chain::kernel(), edges::add_roots::kernel(), edges::close::kernel(), tour::of_families::kernel()];
        self.kernels_with(n, &own)
    }

    /// Kernels of one way of rooting `n` vertices: its `own`, and those of all ways.
    fn kernels_with(&self, n: usize, own: &[&'static KernelInfo]) -> Vec<&'static KernelInfo> {
        let tour =
            [scan::exclusive_in_place::kernel::<u32>(), tour::mark::kernel(), tour::count::kernel(), tour::set_before::kernel()];
        [own, &tour, &self.ranker.kernels(n.saturating_mul(2), false)].concat()
    }

    /// Roots a spanning forest that is known to be one, with children and trees in any order: `labels` has the root of each
    /// vertex, of `trees` trees. Returns parent (-1 for roots), preorder number and size of each vertex.
    #[cfg(feature = "graph")]
    pub(crate) fn spanning(
        &mut self,
        stream: &Stream,
        edges: &Buffer<I32x2>,
        labels: &Buffer<i32>,
        trees: usize,
    ) -> Result<&Buffer<cuda_std::I32x4>, TreeError> {
        let (n, arcs) = (labels.len(), 2 * edges.len());
        check_roots(n, Roots::Each)?;
        self.records.ensure(n)?;
        if n == 0 {
            return Ok(&self.records);
        }
        self.firsts.ensure(n)?;
        self.roots.ensure(trees)?;
        self.next.ensure(2 * n)?;
        stream.fill(&mut self.firsts, -1)?;
        stream.fill_zero(&mut self.count)?;
        let per_vertex = grid(stream, n);
        // SAFETY: the forest's edges are between the vertices, and two elements for each of them and each root are 2 n.
        // Blocks are whole warps.
        unsafe {
            launch!(stream, edges::chain<<<grid(stream, edges.len()), THREADS>>>(edges, &mut self.firsts, &mut self.next))?;
            launch!(stream, edges::add_roots<<<per_vertex, THREADS>>>(
                labels, arcs as u32, trees as u32, &mut self.firsts, &mut self.roots, &mut self.next, &mut self.count
            ))?;
        }
        let (of_arcs, _) = self.next.split_at_mut(arcs)?;
        launch!(stream, edges::close<<<grid(stream, arcs), THREADS>>>(&self.firsts, of_arcs))?;
        if !self.rank(stream, arcs as i32)? {
            return Err(TreeError::Miscounted { n });
        }
        self.mark(stream)?;
        // SAFETY: each vertex but the roots is the child of one of the forest's edges.
        unsafe {
            launch!(stream, tour::of_families<<<per_vertex, THREADS>>>(
                edges, &self.roots, &self.positions, &self.entered, &mut self.records
            ))?;
        }
        Ok(&self.records)
    }

    /// Roots a forest from the parent of each vertex, -1 for roots: of one tree where `root` is given, else any number.
    ///
    /// # Errors
    /// The parents are not those of such a forest (the error names the first that offends: see
    /// [`diagnose_parents`](super::diagnose_parents)), or the device fails.
    pub fn parents(
        &mut self,
        stream: &Stream,
        parents: &Buffer<i32>,
        root: Option<i32>,
        rooting: &mut Rooting,
    ) -> Result<Report, TreeError> {
        let n = parents.len();
        check_roots(n, root.map_or(Roots::Each, Roots::At))?;
        let own = [
            parents::check::kernel(),
            parents::keys::kernel(),
            parents::link::kernel(),
            parents::join::kernel(),
            tour::of_parents::kernel(),
        ];
        if n > 0 {
            stream.device().preload(&[self.kernels_with(n, &own), self.sort.kernels(), self.ranker.permute_kernels(n)].concat());
        }
        let mut clock = Clock::start(stream, self.timed)?;
        let done = self.root_parents(&mut clock, stream, parents, root, rooting);
        if !matches!(done, Ok(true)) {
            rooting.ensure(0)?;
        }
        if done? {
            return Ok(Report { n, trees: rooting.trees, steps: clock.steps()? });
        }
        check::diagnose_parents(&stream.download_vec(parents)?, root)?;
        Err(TreeError::Miscounted { n })
    }

    /// [`parents`](Self::parents); false where the forest is bad.
    fn root_parents(
        &mut self,
        clock: &mut Clock<'_>,
        stream: &Stream,
        parents: &Buffer<i32>,
        root: Option<i32>,
        rooting: &mut Rooting,
    ) -> Result<bool, TreeError> {
        let n = parents.len();
        rooting.ensure(n)?;
        if n == 0 {
            return Ok(true);
        }
        let per_vertex = grid(stream, n);
        stream.fill_zero(&mut self.status)?;
        // SAFETY: blocks are whole warps, and the status is a buffer's only element.
        unsafe { launch!(stream, parents::check<<<per_vertex, THREADS>>>(parents, &mut self.status))? };
        let status = stream.download_vec(&self.status)?[0];
        let trees = status.roots as usize;
        if status.bad > 0 || trees == 0 || root.is_some() && trees != 1 {
            return Ok(false);
        }
        let n_bytes = 4 * n as u64;
        clock.end("check", n_bytes)?;
        self.keys.ensure(n)?;
        self.firsts.ensure(n)?;
        // The positions' memory holds the vertices in order before.
        self.positions.ensure(n)?;
        self.successors.ensure(n)?;
        self.next.ensure(2 * n)?;
        launch!(stream, parents::keys<<<per_vertex, THREADS>>>(parents, &mut self.keys))?;
        sort(stream, &self.keys, bits(n), &mut self.sort)?;
        clock.end("sort", 2 * n_bytes + sort_bytes(n, bits(n)))?;
        stream.fill(&mut self.firsts, -1)?;
        let (keys, order) = (self.sort.keys(), self.sort.order());
        // SAFETY: keys are at most n, the order is a permutation of the vertices, and each has an element.
        unsafe {
            launch!(stream, parents::link<<<per_vertex, THREADS>>>(
                keys, order, &mut self.positions, &mut self.successors, &mut self.firsts
            ))?;
        }
        self.labels.ensure(n)?;
        self.ranker.permute(stream, &self.positions, &self.successors, &mut self.labels).map_err(of_device)?;
        launch!(stream, parents::join<<<grid(stream, 2 * n), THREADS>>>(&self.firsts, &self.labels, &mut self.next))?;
        // The roots come last.
        let first = stream.download_vec(order.view(n - trees..=n - trees)?)?[0] as i32;
        clock.end("links", 14 * n_bytes)?;
        if root.is_some_and(|root| root != first) || !self.rank(stream, 2 * first)? {
            return Ok(false);
        }
        clock.end("ranks", 4 * n_bytes)?;
        self.mark(stream)?;
        let Rooting { parent, preorder, size, depth, .. } = &mut *rooting;
        stream.copy(parents, &mut *parent)?;
        launch!(stream, tour::of_parents<<<per_vertex, THREADS>>>(
            &self.positions, &self.entered, preorder, size, depth
        ))?;
        clock.end("numbers", 10 * n_bytes)?;
        rooting.trees = trees;
        Ok(true)
    }

    /// The positions of the tour's elements; false where they don't all follow from its head.
    fn rank(&mut self, stream: &Stream, head: i32) -> Result<bool, TreeError> {
        self.positions.ensure(self.next.len())?;
        match self.ranker.rank(stream, &self.next, Some(head), &mut self.positions) {
            Ok(_) => Ok(true),
            Err(ListError::Device(error)) => Err(error.into()),
            Err(_) => Ok(false),
        }
    }

    /// Marks the positions that enter vertices, and counts them.
    fn mark(&mut self, stream: &Stream) -> Result<(), DeviceError> {
        let blocks = tour::blocks(self.positions.len());
        self.entered.ensure(blocks * tour::VECTORS)?;
        self.before.ensure(blocks)?;
        stream.fill_zero(&mut self.entered)?;
        let (per_vertex, per_block) = (grid(stream, self.positions.len() / 2), grid(stream, blocks));
        // SAFETY: all elements were ranked, so that the positions are a permutation; there is a bit for each.
        unsafe { launch!(stream, tour::mark<<<per_vertex, THREADS>>>(&self.positions, &mut self.entered))? };
        launch!(stream, tour::count<<<per_block, THREADS>>>(&self.entered, &mut self.before))?;
        exclusive_scan_in_place(stream, &mut self.before, &mut self.scan)?;
        // SAFETY: there are as many blocks.
        unsafe { launch!(stream, tour::set_before<<<per_block, THREADS>>>(&self.before, &mut self.entered)) }
    }
}

/// Returns the only error that a permutation can have.
pub(super) fn of_device(error: ListError) -> DeviceError {
    match error {
        ListError::Device(error) => error,
        other => unreachable!("{other}"),
    }
}

/// Returns the number of bits of numbers up to `most`.
fn bits(most: usize) -> u32 {
    usize::BITS - most.leading_zeros()
}

/// Returns the bytes that sorting by keys of so many bits moves.
fn sort_bytes(keys: usize, bits: u32) -> u64 {
    keys as u64 * (24 * u64::from(bits.div_ceil(8).max(1)) - 4)
}
